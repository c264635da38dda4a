"""Short stories from parts: who, where, what was wanted, what went wrong, who helped, the end.

A story is returned with the facts a reader may be asked about afterwards (name, animal, place,
the thing that was found).
"""

import dataclasses

ANIMALS = ("fox bear rabbit mouse cat dog owl frog duck hedgehog squirrel turtle lion elephant "
           "penguin "
           "horse pig goat sheep wolf deer otter badger bee butterfly dragon robot bird fish "
           "monkey "
           "snail hen tiger whale giraffe panda kitten puppy cow crab camel parrot pony spider "
           "lamb "
           "goose unicorn donkey seal beaver rooster koala kangaroo crow swan ant dinosaur").split()
PEOPLE = ("girl boy baker farmer king queen princess knight teacher painter sailor gardener "
          "fisherman wizard doctor pirate giant cloud star teapot snowman train tree").split()
NAMES = ("Pip Milo Luna Tilly Bruno Daisy Otto Ruby Finn Hazel Max Nora Leo Rosie Toby Ivy Oscar "
         "Poppy "
         "Sam Bella Hugo Molly Felix Lily Benny Clara Teddy Willow Jack Mia Rufus Stella").split()
ADJECTIVES = ("small little brave kind shy curious clever cheerful gentle quiet old young lonely "
              "hungry sleepy").split()
PLACES = ["in a deep forest", "near a blue lake", "on a green hill", "in a small village",
          "by the sea", "in a quiet garden", "on a farm", "beside a river", "under an old oak tree",
          "in a house with a red door", "at the edge of a town", "on a little island"]
THINGS = ["a golden key", "a red kite", "a shiny shell", "a small silver bell", "a map", "a lost "
                                                                                         "hat",
          "a warm blanket", "a blue button", "a paper boat", "a bright lantern", "a little drum",
          "a jar of honey", "a smooth white stone", "an old book", "a yellow balloon"]
WISHES = ["wanted to see the sea", "wanted to find a friend", "wanted to learn to sing",
          "wanted to see the stars", "wanted to bake a cake", "wanted to find the end of the "
                                                              "rainbow",
          "wanted to climb the highest hill", "wanted to plant a garden", "wanted to fly",
          "wanted to cross the river", "wanted to build a boat", "wanted to see the snow"]
STARTS = ["One morning", "One sunny day", "One day", "Early one morning", "One evening",
          "One rainy day", "On the first day of spring", "One windy night"]
TROUBLES = ["it began to rain and the path was full of mud", "a strong wind began to blow",
            "the way was long and it grew dark", "the bridge was broken",
            "there was a big rock in the way", "thick fog came down", "the river was too wide",
            "nobody knew the way"]
HELPS = ["showed the way", "shared some bread", "sang a happy song", "gave good advice",
         "held up a light", "carried the heavy bag", "told a funny joke", "brought a warm cup of "
                                                                          "tea"]
ENDINGS = ["From that day on they were the best of friends.",
           "They laughed all the way home.",
           "That night {n} slept well and dreamed of new adventures.",
           "And {n} was never lonely again.",
           "They walked home together, tired and happy.",
           "Everybody in the village was proud of {n}.",
           "And they all lived happily ever after."]
LESSONS = ["{n} learned that a good friend makes every road shorter.",
           "{n} learned that it is good to ask for help.",
           "{n} learned that small steps can take you far.",
           "{n} learned that being kind is always worth it.",
           "{n} learned that you must never give up."]


@dataclasses.dataclass
class Story:
    text: str
    hero: str
    name: str
    helper: str
    thing: str
    place: str


def tell(rng, hero, size="normal", name=None):
    """size: short (3 sentences), normal (5-7) or long (8-9)."""
    name = name or rng.choice(NAMES)
    adjective, place = rng.choice(ADJECTIVES), rng.choice(PLACES)
    kind = ("an " if adjective[0] in "aeiou" else "a ") + f"{adjective} {hero}"
    helper = rng.choice([animal for animal in ANIMALS if animal != hero])
    friend = ("an " if helper[0] in "aeiou" else "a ") + helper
    thing = rng.choice(THINGS)
    opening = rng.choice([f"Once upon a time there was {kind} named {name} who lived {place}.",
                          f"Once upon a time, {kind} named {name} lived {place}."])
    found = f"{rng.choice(STARTS)}, {name} found {thing}."
    wish = f"{name} {rng.choice(WISHES)}."
    trouble = f"But {rng.choice(TROUBLES)}."
    help_came = f"Then {friend} came by and {rng.choice(HELPS)}."
    thanks = f'"Thank you!" said {name}. "You are very kind."'
    gift = f"{name} gave the {helper} the {thing.split(' ', 1)[1]} as a gift."
    ending = rng.choice(ENDINGS).format(n=name)
    lesson = rng.choice(LESSONS).format(n=name)
    if size == "short":
        parts = [opening, found, ending]
    elif size == "long":
        parts = [opening, wish, found, trouble, f"{name} sat down and did not know what to do.",
                 help_came, thanks, gift, lesson, ending]
    else:
        parts = [opening, wish if rng.random() < 0.5 else "", found, trouble, help_came, thanks,
                 gift if rng.random() < 0.5 else "", ending]
    if "friends" in ending and size == "short":
        parts.insert(2, help_came)
    text = " ".join(part for part in parts if part)
    return Story(text, hero, name, helper, thing, place)


ASKS = ("Tell me a story|Tell me a short story|Can you tell me a story?|Write a story|Tell a story|"
        "Tell me a bedtime story|I want to hear a story|Please tell me a story|Write a short story|"
        "Do you know a story?|A story please|Story please|Once upon a time").split("|")
ASKS_ABOUT = ("Tell me a story about {a}|Tell me a short story about {a}|Write a story about {a}|"
              "Can you tell me a story about {a}?|A story about {a}, please|Story about {a}|"
              "Write a short story about {a}|I want a story about {a}|Make up a story about {a}|"
              "Give me a story about {a}|I would like to hear a story about {a}|"
              "Do you know a story about {a}?").split("|")
ASKS_NAMED = ("Tell me a story about {a} named {n}|Write a story about {a} called {n}|"
              "Tell me a short story about {a} named {n}").split("|")
ASKS_SHORT = ("Tell me a very short story about {a}|Tell me a tiny story about {a}|"
              "A very short story about {a}, please").split("|")
ASKS_LONG = ("Tell me a long story about {a}|Tell me a longer story about {a}|"
             "Write a long story about {a}").split("|")
ANOTHER = ("Tell another|Tell me another|Another one|Tell me another story|Another story please|"
           "One more|One more story|Again|Can you tell another?|Another|More|"
           "And another one").split("|")
ANOTHER_ABOUT = ("And one about {a}?|Now one about {a}|Tell me one about {a}|What about {a}?|"
                 "Another one about {a}|Now tell one about {a}").split("|")


def request(rng, plain_chance=0.3):
    """Returns (question, Story)."""
    hero = rng.choice(ANIMALS if rng.random() < 0.75 else PEOPLE)
    a = ("an " if hero[0] in "aeiou" else "a ") + hero
    roll = rng.random()
    if roll < plain_chance:
        return rng.choice(ASKS), tell(rng, hero)
    roll = rng.random()
    if roll < 0.1:
        return rng.choice(ASKS_SHORT).format(a=a), tell(rng, hero, "short")
    if roll < 0.2:
        return rng.choice(ASKS_LONG).format(a=a), tell(rng, hero, "long")
    if roll < 0.35:
        name = rng.choice(NAMES)
        return rng.choice(ASKS_NAMED).format(a=a, n=name), tell(rng, hero, name=name)
    return rng.choice(ASKS_ABOUT).format(a=a), tell(rng, hero)


def another(rng, earlier):
    """'Tell another': a story about somebody else."""
    hero = rng.choice([animal for animal in ANIMALS if animal != earlier.hero])
    name = rng.choice([name for name in NAMES if name != earlier.name])
    if rng.random() < 0.5:
        return rng.choice(ANOTHER), tell(rng, hero, name=name)
    a = ("an " if hero[0] in "aeiou" else "a ") + hero
    return rng.choice(ANOTHER_ABOUT).format(a=a), tell(rng, hero, name=name)


def question_about(rng, story):
    """A question on the story just told -> (question, answer, accept)."""
    kind = rng.randrange(5)
    if kind == 0 and "came by" in story.text:
        helper = ("an " if story.helper[0] in "aeiou" else "a ") + story.helper
        user = rng.choice(["Who helped?", f"Who helped {story.name}?", "Who came by?"])
        return user, f"{helper} helped {story.name}.".capitalize().replace(
            story.name.lower(), story.name), [story.helper]
    if kind == 1:
        user = rng.choice([f"What did {story.name} find?", f"What did the {story.hero} find?",
                           "What was found?"])
        return user, f"{story.name} found {story.thing}.", [story.thing.split()[-1]]
    if kind == 2:
        user = rng.choice([f"Where did {story.name} live?", f"Where did the {story.hero} live?"])
        return user, f"{story.name} lived {story.place}.", [story.place]
    if kind == 3:
        user = rng.choice(["Who was the story about?", "What was the story about?",
                           f"Who was {story.name}?"])
        hero = ("an " if story.hero[0] in "aeiou" else "a ") + story.hero
        return user, f"It was about {hero} named {story.name}.", [story.hero]
    user = rng.choice([f"What was the name of the {story.hero}?", f"What was the {story.hero} "
                                                                  f"called?",
                       "What was the name in the story?"])
    return user, f"The {story.hero} was called {story.name}.", [story.name]
