"""The tables of facts.py and the questions of computed.py as weighted topics."""

import computed
import facts
from topic import Computed, Table, article


def last_word(value):
    return [value.split()[-1]]


def world_topics():
    capitals = [pair for group in facts.CAPITALS.values() for pair in group]
    continents = [(x, area) for area, group in facts.CAPITALS.items() for x, _ in group]
    reverse = [(city, x) for x, city in capitals if x not in ("England", city)]
    bare_city = lambda city: ["Washington"] if city.startswith("Washington") else [city]
    return [
        (9, Table("capitals", capitals,
                  "What is the capital of {x}?|What is the capital of {x}?|What is the capital "
                  "city of "
                  "{x}?|Which city is the capital of {x}?|Tell me the capital of {x}|Capital of "
                  "{x}?|"
                  "The capital of {x}?|What city is the capital of {x}?|Do you know the capital "
                  "of {x}?|"
                  "Name the capital of {x}|Can you tell me the capital of {x}?|Capital city of {x}|"
                  "{x} capital?|The capital of {x} is?|I want to know the capital of {x}|"
                  "Give me the capital of {x}|~Which city is {x}'s capital?|"
                  "~Please name the capital city of {x}|What is {x}'s capital?|capital of {x}",
                  "The capital of {x} is {y}.",
                  "And of {x}?|And {x}?|What about {x}?|And the capital of {x}?|How about {x}?|"
                  "Now {x}|And for {x}?|and {x}|{x}?|And what about {x}?|Of {x}?|Same for {x}?",
                  bare_city)),
        (3, Table("capitals", reverse,
                  "{x} is the capital of which country?|Which country has {x} as its capital?|"
                  "What country is {x} the capital of?|{x} is the capital of what country?|"
                  "Of which country is {x} the capital?|Which country's capital is {x}?|"
                  "In which country is {x}?|Where is {x}?|~What country has the capital {x}?",
                  "{x} is the capital of {y}.", "And {x}?|What about {x}?|How about {x}?")),
        (3, Table("continents", continents,
                  "Which continent is {x} in?|What continent is {x} in?|On which continent is {x}?|"
                  "Where is {x}?|In which continent is {x}?|Where in the world is {x}?|"
                  "What continent is {x} on?|Where can I find {x}?|~Which part of the world is "
                  "{x} in?",
                  "{x} is in {y}.", "And {x}?|What about {x}?|How about {x}?")),
        (1, Table("languages", facts.LANGUAGES,
                  "What language do they speak in {x}?|Which language is spoken in {x}?|"
                  "What language do people speak in {x}?|What is the language of {x}?|"
                  "~What do people speak in {x}?", "People in {x} speak {y}.",
                  "And in {x}?|What about {x}?|How about in {x}?",
                  lambda value: [value.split(" and ")[0]])),
    ]


def nature_topics():
    young = [(article(y), article(x)) for x, y in facts.YOUNG
             if y not in ("cub", "calf", "chick", "joey", "pup", "kid", "fry", "kit")]
    return [
        (6, Table("opposites", facts.OPPOSITES,
                  "What is the opposite of {x}?|What is the opposite of {x}?|Opposite of {x}?|"
                  "Tell me the opposite of {x}|What's the opposite of \"{x}\"?|"
                  "Give me the opposite of {x}|What word means the opposite of {x}?|"
                  "The opposite of {x} is?|Which word is the opposite of {x}?|"
                  "What is the antonym of {x}?|Do you know the opposite of {x}?|"
                  "~Can you tell me the opposite of {x}?|~What word is opposite to {x}?",
                  "The opposite of {x} is {y}.",
                  "And of {x}?|And {x}?|What about {x}?|How about {x}?|And the opposite of "
                  "{x}?|{x}?")),
        (4, Table("colours", facts.COLOURS,
                  "What colour is {x}?|What colour is {x}?|Which colour is {x}?|What is the "
                  "colour of "
                  "{x}?|Tell me the colour of {x}|Colour of {x}?|What colour does {x} have?|"
                  "What colour would {x} be?|~Can you tell me what colour {x} is?",
                  "{x} is {y}.", "And {x}?|What about {x}?|How about {x}?|{x}?",
                  lambda value: value.split(" or ") if " or " in value else [value.split()[-1]])),
        (1, Table("colours", facts.MIXES,
                  "What colour do you get if you mix {x}?|What do {x} make?|Mix {x}|"
                  "What colour do {x} make?|If I mix {x}, what colour do I get?|"
                  "What happens if I mix {x}?|~What do I get from mixing {x}?",
                  "{x} make {y}.", "And {x}?|What about {x}?")),
        (2, Table("animals", facts.SOUNDS,
                  "What sound does {x} make?|What does {x} say?|What noise does {x} make?|"
                  "Which sound does {x} make?|How does {x} sound?|"
                  "~What is the sound of {x}?", "{x} says {y}.",
                  "And {x}?|What about {x}?|How about {x}?")),
        (2, Table("animals", facts.YOUNG,
                  "What is a baby {x} called?|What do you call a baby {x}?|What is a young {x} "
                  "called?|"
                  "What is the name for a baby {x}?|What is the young of a {x} called?|"
                  "~What do you call a young {x}?", "A baby {x} is called a {y}.",
                  "And a baby {x}?|What about a {x}?|And a {x}?")),
        (1, Table("animals", young,
                  "What animal is {x}?|{x} is the young of which animal?|What does {x} grow into?|"
                  "What will {x} become?", "{x} grows into {y}.", "And {x}?",
                  last_word)),
        (2, Table("animals", facts.LEGS,
                  "How many legs does {x} have?|How many legs has {x} got?|How many legs are on "
                  "{x}?|"
                  "Number of legs of {x}?|~Can you tell me how many legs {x} has?",
                  "{x} has {y} legs.", "And {x}?|What about {x}?|How about {x}?")),
        (1, Table("animals", facts.HOMES,
                  "Where does {x} live?|What is the home of {x}?|Where would I find {x}?|"
                  "~Where does {x} have its home?", "{x} lives in {y}.",
                  "And {x}?|What about {x}?", lambda value: [value.split()[1] if " " in value
                                                             else value])),
        (1, Table("animals", facts.FOODS,
                  "What does {x} eat?|What is the food of {x}?|What should I feed {x}?|"
                  "~What food does {x} like?", "{x} eats {y}.", "And {x}?|What about {x}?",
                  lambda value: [value.split()[0]])),
    ]


def word_topics():
    return [
        (3, Table("units", facts.UNITS,
                  "How many {x}?|How many {x} are there?|Tell me how many {x}|"
                  "Do you know how many {x}?|~Can you say how many {x}?",
                  "There are {y} {x}.", "And {x}?|And how many {x}?|What about {x}?")),
        (2, Table("shapes", facts.SIDES,
                  "How many sides does {x} have?|How many sides has {x} got?|How many corners "
                  "does {x} "
                  "have?|How many sides are on {x}?|~Tell me the number of sides of {x}",
                  "{x} has {y} sides.", "And {x}?|What about {x}?|How about {x}?")),
        (4, Table("plurals", facts.PLURALS,
                  "What is the plural of {x}?|What is the plural of {x}?|Plural of {x}?|"
                  "Give me the plural of {x}|How do you say more than one {x}?|Tell me the plural "
                  "of {x}|"
                  "One {x}, two...?|What's the plural form of {x}?|~What is more than one {x} "
                  "called?",
                  "The plural of {x} is {y}.", "And of {x}?|And {x}?|What about {x}?|{x}?")),
        (3, Table("past tense", facts.PAST,
                  "What is the past tense of {x}?|Past tense of {x}?|What is the past of {x}?|"
                  "Tell me the past tense of {x}|Give me the past tense of {x}|"
                  "~What does {x} become in the past tense?",
                  "The past tense of {x} is {y}.", "And of {x}?|And {x}?|What about {x}?|{x}?")),
        (1, Table("comparatives", facts.COMPARE,
                  "What is the comparative of {x}?|How do you say more {x}?|Comparative of {x}?|"
                  "Give me the comparative of {x}", "The comparative of {x} is {y}.",
                  "And of {x}?|And {x}?|What about {x}?")),
        (1, Table("translations", facts.HELLO,
                  "How do you say {x}?|What is {x}?|Say {x}|Can you say {x}?|~How would I say {x}?",
                  "{y} is {x}.", "And {x}?|What about {x}?")),
        (2, Table("places", facts.PLACES,
                  "Where can I {x}?|Where do you {x}?|Where do people {x}?|Where should I go to "
                  "{x}?|"
                  "Where would I {x}?|~I want to {x}. Where do I go?", "You can {x} at {y}.",
                  "And where can I {x}?|Where can I {x}?", lambda value: [value.split(" ", 1)[1]])),
        (3, Table("meanings", facts.DEFINITIONS,
                  "What is {x}?|What is {x}?|What does {b} mean?|Tell me what {x} is|Define {b}|"
                  "Can you explain what {x} is?|Do you know what {x} is?|Explain {b}|"
                  "What is the meaning of {b}?|~Please tell me what {x} is",
                  "{y}.", "And {x}?|And what is {x}?|What about {x}?",
                  lambda value: [" ".join(value.split()[-3:])])),
    ]


def easy_sum(rng):
    return computed.make_sum(rng, easy=0.5)


def build():
    """Returns [(weight, topic)] for everything that is one question and one answer."""
    return world_topics() + nature_topics() + word_topics() + [
        (16, Computed("sums", computed.make_sum, computed.follow_sum)),
        (2, Computed("word problems", computed.make_word_problem)),
        (4, Computed("numbers", computed.make_number)),
        (2, Computed("counting", computed.make_count)),
        (4, Computed("spelling", computed.make_spelling)),
        (4, Computed("calendar", computed.make_calendar, holds_out=False)),
        (2, Computed("kinds", computed.make_kind, holds_out=False)),
    ]
