"""Whole conversations: single questions strung together, follow-ups, memory, stories.

Every conversation is a list of messages plus the accepted words of its last answer, so the same
generator serves training and measuring.
"""

import computed
import facts
import sayings
import stories
import topics
import unknown
from topic import Computed, Fixed

USER_NAMES = ("Ana Ben Carla David Emma Frank Grace Henry Iris John Kate Liam Maria Nick Olga "
              "Paul Rita "
              "Sara Tom Uma Victor Wendy Yusuf Zoe Adam Bob Chloe Dora Eric Fatima George Hannah "
              "Ivan "
              "Julia Kevin Laura Mark Nina Omar Peter Rosa Simon Tina Walter Alice Bruno Diego "
              "Elena "
              "Felix Gina Hugo Ines Jack Karl Lena Mary Noah Oscar Pablo Robert Sofia Thomas Vera "
              "Will "
              "Amy Anna Anne Chris Daniel Ella Eva James Jane Jim Joe Lucy Luis Max Mike Sam Steve "
              "Ahmed Chen Priya Raj Mei Kofi Amina Igor Lars Ingrid Sven Pedro Yuki Hana").split()
TOWNS = ("Paris London Rome Berlin Madrid Lisbon Vienna Oslo Dublin Athens Prague Tokyo Cairo "
         "Lima Boston "
         "Chicago Milan Munich Porto Seville Leeds Bristol Geneva Zurich Turin Naples").split()
PETS = "dog cat rabbit horse hamster parrot goldfish".split()
COLOURS = "red blue green yellow purple orange pink black white brown".split()
FOODS = "pizza soup bread rice pasta cheese apples fish cake salad ice cream".split(" ")
SYSTEMS = (["You are a helpful assistant."] * 8 + [
    "You are Penstock, a small and friendly assistant.", "You are a friendly assistant.",
    "You are Penstock.", "Be polite and brief.", "Answer the questions of the user.",
    "You are a helpful AI assistant. Answer truthfully.", "Keep your answers short.",
    "You are a teacher for children.", "Help the user.", "You are a chatbot.",
    "You are a helpful, honest and harmless assistant.", "Answer clearly and politely."])
ONE_WORD = ["Answer in one word.", "Answer with one word only.", "Reply with a single word.",
            "Give only the answer, with no other words.", "Answer with just the answer."]
OPENERS = ["{q}", "{q}"] * 24 + [
    "Please tell me: {q}", "Tell me, {q}", "Quick question: {q}", "Hi! {q}", "Hello, {q}", "Hey, "
                                                                                           "{q}",
    "I have a question. {q}", "Question: {q}", "{q} Thanks!", "{q} Thank you.", "Ok, {q}",
    "So, {q}",
    "Please answer: {q}", "Hi Penstock, {q}", "{q} please", "Now tell me: {q}", "And {q}", "Well, "
                                                                                           "{q}"]


def vary(rng, text, wrap=True):
    """Case, punctuation and spelling as people type them."""
    if rng.random() < 0.35:
        text = text.replace("What is ", rng.choice(["What's ", "Whats ", "What's "]))
    if rng.random() < 0.3:
        text = text.replace("colour", "color").replace("favourite", "favorite")
        text = text.replace("centimetre", "centimeter")
        text = text.replace("millimetre", "millimeter").replace("metre", "meter")
        text = text.replace("litre", "liter")
    if wrap:
        opener = rng.choice(OPENERS)
        if opener != "{q}" and not opener.startswith("{q}") and text[:2] != "I ":
            text = text[0].lower() + text[1:]
        if opener == "{q} please":
            text = text.rstrip("?") + (" please?" if text.endswith("?") else " please")
        else:
            text = opener.format(q=text)
    roll = rng.random()
    if roll < 0.22:
        text = text.rstrip("?.! ")
    elif roll < 0.28 and text[-1] not in "?.!=":
        text += rng.choice([".", "!", "?"])
    roll = rng.random()
    if roll < 0.22:
        text = text.lower()
    elif roll < 0.24:
        text = text.upper()
    elif roll < 0.34:
        text = text[0].upper() + text[1:]
    return text


class Chat:
    def __init__(self, rng):
        self.rng = rng
        self.messages = []
        self.accept = []
        self.category = ""
        self.asked = []

    def say(self, user, answer, accept, category, wrap=False, exact=False):
        text = user if exact else vary(self.rng, user, wrap)
        self.messages.append({"role": "user", "content": text})
        self.messages.append({"role": "assistant", "content": answer})
        self.accept, self.category = accept, category
        self.asked.append(text)

    def turn(self, turn, short=False):
        answer = turn.short if short and turn.short else turn.answer
        wrap = len(self.messages) < 2 and turn.category not in ("small talk", "identity")
        self.say(turn.user, answer, turn.accept, turn.category, wrap)


class Writer:
    """Draws conversations; the same seed gives the same conversations.

    The drill mix is for the second half of training: fewer stories, more of what takes a small
    model longest to learn (sums, itself, remembering).
    """

    def __init__(self, rng, drill=False):
        self.rng = rng
        self.story_share = 0.03 if drill else 0.055
        self.memory_share = 0.13 if drill else 0.085
        built = topics.build()
        built += [(5, Fixed("identity", sayings.IDENTITY)),
                  (5, Fixed("small talk", sayings.SMALL_TALK)),
                  (11, Fixed("general knowledge", sayings.KNOWLEDGE))]
        self.topics = [topic for _, topic in built]
        extra = {"sums": 1.7, "identity": 2, "calendar": 1.5, "spelling": 1.5} if drill else {}
        self.weights = [weight * extra.get(topic.category, 1) for weight, topic in built]
        self.tables = [(w, t) for w, t in built if getattr(t, "follows", None)
                       or getattr(t, "make_follow", None)]

    def single(self):
        return self.rng.choices(self.topics, self.weights)[0].ask(self.rng)

    def unknown(self, chat):
        _, user, answer, accept = unknown.make(self.rng)
        chat.say(user, answer, accept, "unknown", wrap=not chat.messages)

    def one(self, chat):
        """Any self-contained exchange."""
        roll = self.rng.random()
        if roll < 0.1:
            self.unknown(chat)
        elif roll < 0.12:
            self.joke(chat)
        else:
            chat.turn(self.single())

    def joke(self, chat):
        said = [m["content"] for m in chat.messages]
        fresh = [joke for joke in sayings.JOKES if joke not in said]
        if not fresh:
            return
        asks = ["Tell me a joke", "Do you know a joke?", "Make me laugh", "Say something funny",
                "A joke",
                "Can you tell me a joke?", "Tell a joke", "Joke please"]
        joke = self.rng.choice(fresh)
        chat.say(self.rng.choice(asks), joke, [joke.split("?")[0][-12:]], "jokes")
        while self.rng.random() < 0.3 and len(fresh) > 1:
            fresh.remove(joke)
            joke = self.rng.choice(fresh)
            chat.say(self.rng.choice(["Another joke", "Tell me another joke", "Another one",
                                      "One more"]),
                     joke, [joke.split("?")[0][-12:]], "jokes")

    def follow_ups(self, chat, count):
        """A table question, then 'And of Spain?' and the like."""
        topic = self.rng.choices([t for _, t in self.tables], [w for w, _ in self.tables])[0]
        turn = topic.ask(self.rng)
        chat.turn(turn)
        for _ in range(count):
            after = topic.follow(self.rng, turn)
            if after:
                turn = after
                chat.turn(turn)
                chat.category = "follow-ups"

    def country_chain(self, chat):
        """Questions about the country of the last answer: 'Which continent is it in?'"""
        area = self.rng.choice(list(facts.CAPITALS))
        country, city = self.rng.choice(facts.CAPITALS[area])
        chat.say(f"What is the capital of {country}?", f"The capital of {country} is {city}.",
                 [city], "capitals")
        here = country[0].upper() + country[1:]
        chat.say(self.rng.choice(["Which continent is it in?", "And which continent is that in?",
                                  "What continent is that country in?",
                                  "On which continent is it?"]),
                 f"{here} is in {area}.", [area], "follow-ups")
        spoken = dict(facts.LANGUAGES).get(country)
        if spoken and self.rng.random() < 0.8:
            chat.say(self.rng.choice(["What language do they speak there?", "And the language?",
                                      "Which language is spoken there?"]),
                     f"People in {country} speak {spoken}.", [spoken.split()[0]], "follow-ups")

    def opposite_chain(self, chat):
        """'What did you say?', 'Are you sure?' and 'Repeat that' after any fact."""
        turn = self.single()
        while turn.category in ("small talk", "identity"):
            turn = self.single()
        chat.turn(turn)
        if self.rng.random() < 0.5:
            chat.say(self.rng.choice(["Are you sure?", "Really?", "Is that true?", "Is that right?",
                                      "Are you certain?"]),
                     "Yes, I am sure. " + turn.answer, turn.accept, "follow-ups")
        else:
            chat.say(self.rng.choice(["Can you repeat that?", "Repeat that", "What did you say?",
                                      "Say that again", "Please repeat", "Sorry, what?",
                                      "Could you say that again?", "Repeat your last answer"]),
                     turn.answer, turn.accept, "follow-ups")

    def recall(self, chat):
        """'What did I ask first?' once there is something to recall."""
        rng = self.rng
        if not chat.asked:
            return chat.say(rng.choice(["What did I ask first?", "What was my first question?",
                                        "What did I ask you before?"]),
                            "You have not asked me anything before this.", ["not asked"], "memory")
        if rng.random() < 0.55:
            quote = chat.asked[0]
            asks = ["What did I ask first?", "What was my first question?", "What did I ask you "
                                                                            "first?",
                    "What was the first thing I asked?", "What was the first thing I said?",
                    "Do you remember my first question?", "What did I say first?"]
            return chat.say(rng.choice(asks), f'First you said: "{quote}"', [quote], "memory")
        quote = chat.asked[-1]
        asks = ["What did I just ask?", "What was my last question?", "What did I just say?",
                "What was my previous question?", "What did I ask before this?"]
        return chat.say(rng.choice(asks), f'Just now you said: "{quote}"', [quote], "memory")

    def introduce(self):
        """A thing the user tells, how to ask for it, and the answer."""
        rng = self.rng
        name = rng.choice(USER_NAMES) if rng.random() < 0.7 \
            else unknown.invented_word(rng).capitalize()
        town, pet, n = rng.choice(TOWNS), rng.choice(PETS), rng.randrange(5, 90)
        colour, food, pet_name = rng.choice(COLOURS), rng.choice(FOODS), rng.choice(stories.NAMES)
        return rng.choices([
            (["My name is {v}.", "I am {v}.", "I'm {v}", "Hi, I am {v}.", "Hello, my name is {v}",
              "Call me {v}", "Hi! My name is {v}.", "You can call me {v}.", "My name is {v}, and "
                                                                            "yours?",
              "Hello, I'm {v}!"], name, f"Nice to meet you, {name}!",
             ["What is my name?", "Who am I?", "Do you remember my name?", "What am I called?",
              "Do you know my name?", "What was my name?", "Can you tell me my name?", "Say my "
                                                                                       "name",
              "What is my name again?"], f"Your name is {name}.",
             "You have not told me your name yet."),
            (["My favourite colour is {v}.", "I like the colour {v}.", "I love {v}, it is my "
                                                                       "favourite "
              "colour"], colour, f"{colour.capitalize()} is a lovely colour!",
             ["What is my favourite colour?", "Which colour do I like?", "What colour do I like?"],
             f"Your favourite colour is {colour}.", "You have not told me your favourite colour "
                                                    "yet."),
            (["I live in {v}.", "I am from {v}.", "I come from {v}", "My home is in {v}."], town,
             f"{town} sounds like a nice place!",
             ["Where do I live?", "Where am I from?", "Where is my home?", "Which city do I live "
                                                                           "in?"],
             f"You live in {town}.", "You have not told me where you live yet."),
            ([f"I have a {pet} named {{v}}.", f"My {pet} is called {{v}}.", f"I have a {pet} "
                                                                            f"called {{v}}",
              f"My {pet}'s name is {{v}}."], pet_name, f"{pet_name} is a good name for a {pet}!",
             [f"What is the name of my {pet}?", f"What is my {pet} called?", "What is my pet's "
                                                                             "name?",
              f"What is my {pet}'s name?"], f"Your {pet} is called {pet_name}.",
             "You have not told me about your pet yet."),
            (["I am {v} years old.", "I'm {v} years old", "My age is {v}."], str(n),
             f"{n} is a good age!", ["How old am I?", "What is my age?", "Do you know how old I "
                                                                         "am?"],
             f"You are {n} years old.", "You have not told me your age yet."),
            (["My favourite food is {v}.", "I love to eat {v}.", "I like {v} best."], food,
             f"{food.capitalize()} is tasty!",
             ["What is my favourite food?", "What do I like to eat?", "Which food do I like?"],
             f"Your favourite food is {food}.", "You have not told me your favourite food yet."),
        ], [10, 2, 2, 2, 2, 2])[0]

    def memory(self, chat, distance):
        rng = self.rng
        tells, value, reply, asks, answer, unasked = self.introduce()
        if rng.random() < 0.12:
            for _ in range(distance):
                chat.turn(self.single())
            return chat.say(rng.choice(asks), unasked, ["have not told me"], "memory")
        words = value.lower().split()
        text = rng.choice(tells).format(v=value)
        chat.say(text, reply, words, "memory", exact=rng.random() < 0.8)
        for _ in range(distance):
            if rng.random() < 0.2:
                self.follow_ups(chat, 1)
            else:
                self.one(chat)
        return chat.say(rng.choice(asks), answer, [value], "memory")

    def story(self, chat, turns):
        user, story = stories.request(self.rng)
        chat.say(user, story.text, [story.hero], "stories")
        for _ in range(turns):
            if self.rng.random() < 0.45:
                user, story = stories.another(self.rng, story)
                chat.say(user, story.text, [story.hero], "stories")
            else:
                chat.say(*stories.question_about(self.rng, story), "stories")

    def ending(self, chat):
        pick = self.rng.choice([sayings.SMALL_TALK[6], sayings.SMALL_TALK[7]])
        wording = self.rng.choice([w for w in pick[0].split("|") if w[0] != "~"])
        chat.say(wording, pick[1], pick[2], "small talk")

    def one_word(self, chat):
        chat.messages.append({"role": "system", "content": self.rng.choice(ONE_WORD)})
        count = self.rng.randrange(1, 4)
        while count:
            turn = self.single()
            if turn.short and turn.category in ("capitals", "continents", "opposites", "colours",
                                                "sums",
                                                "plurals", "past tense", "languages"):
                chat.turn(turn, short=True)
                chat.category = "one word"
                count -= 1

    def exercise(self):
        """A row of sums, or of other things to count, order or spell."""
        rng = self.rng
        chat = Chat(rng)
        if rng.random() < 0.65:
            topic = Computed("sums", topics.easy_sum, computed.follow_sum)
            for _ in range(rng.randrange(2, 5)):
                turn = topic.ask(rng)
                chat.turn(turn)
                after = topic.follow(rng, turn) if rng.random() < 0.25 else None
                if after:
                    chat.turn(after)
            return chat
        names = ("numbers", "numbers", "counting", "spelling", "spelling", "calendar",
                 "word problems")
        for _ in range(rng.randrange(2, 5)):
            name = rng.choice(names)
            chat.turn(next(t for t in self.topics if t.category == name).ask(rng))
        return chat

    def conversation(self, long=False):
        rng = self.rng
        chat = Chat(rng)
        roll = rng.random()
        if not long and roll < 0.025:
            self.one_word(chat)
            return chat
        if rng.random() < 0.25:
            chat.messages.append({"role": "system", "content": rng.choice(SYSTEMS)})
        if long:
            return self.long_conversation(chat)
        if roll < 0.44:
            self.one(chat)
        elif roll < 0.56:
            for _ in range(rng.randrange(2, 5)):
                self.one(chat)
        elif roll < 0.74:
            self.follow_ups(chat, rng.randrange(1, 4))
            if rng.random() < 0.2:
                self.recall(chat)
        elif roll < 0.78:
            self.country_chain(chat)
        elif roll < 0.81:
            self.opposite_chain(chat)
        elif roll < 1 - self.story_share - self.memory_share:
            for _ in range(rng.choice([0, 1, 1, 2, 2, 3])):
                self.one(chat)
            self.recall(chat)
        elif roll < 1 - self.story_share:
            self.memory(chat, rng.randrange(0, 4))
        else:
            self.story(chat, rng.choice([0, 0, 0, 1, 1, 2]))
        if rng.random() < 0.06:
            self.ending(chat)
        return chat

    def long_conversation(self, chat):
        """600 to 1000 tokens that end in a question about the beginning."""
        rng = self.rng
        tells, value, reply, asks, answer, _ = self.introduce()
        if rng.random() < 0.7:
            chat.say(rng.choice(tells).format(v=value), reply, [value], "memory", exact=True)
        else:
            asks = None
            self.one(chat)
        target = rng.randrange(1200, 3200)
        while sum(len(m["content"]) + 12 for m in chat.messages) < target:
            rng.choice([lambda: self.one(chat), lambda: self.follow_ups(chat, rng.randrange(1, 4)),
                        lambda: self.story(chat, rng.randrange(2)),
                        lambda: self.country_chain(chat),
                        lambda: self.opposite_chain(chat), lambda: self.one(chat)])()
        if asks and rng.random() < 0.6:
            chat.say(rng.choice(asks), answer, [value], "memory")
        else:
            self.recall(chat)
        return chat
