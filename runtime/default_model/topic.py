"""What a topic is: a source of single questions with their answers.

A topic offers ask(rng) -> Turn for a fresh question and, where a short "And of Spain?" makes
sense, follow(rng, turn) -> Turn or None for a question that leans on the previous one. Wordings
that start with "~" are never trained on; nor are the (wording, subject) pairs that held_out()
picks. Both are asked by held_out_questions() alone, to measure what the model has generalised.
"""

import dataclasses
import random
import re
import zlib


@dataclasses.dataclass
class Turn:
    user: str
    answer: str
    accept: list
    category: str
    topic: object = None
    key: str = ""
    short: str = ""  # the bare answer, for "answer in one word"
    unseen: str = ""  # why training never met it: "new wording", "new pair", "new numbers"


def held_out(*parts):
    """True for one pair in twelve, by content, so that every run agrees."""
    return zlib.crc32("|".join(parts).encode()) % 12 == 0


def number_word(n):
    small = ("zero one two three four five six seven eight nine ten eleven twelve thirteen "
             "fourteen "
             "fifteen sixteen seventeen eighteen nineteen").split()
    tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
    if n < 20:
        return small[n]
    if n == 100:
        return "one hundred"
    return tens[n // 10 - 2] + ("-" + small[n % 10] if n % 10 else "")


def article(word):
    return ("an " if word[0].lower() in "aeiou" else "a ") + word


def fix_articles(text):
    return re.sub(r"\b([Aa]) (?=[aeioAEIO][a-z])", r"\1n ", text)


class Table:
    """A topic over a table: key -> value, with wordings that hold {x} (and maybe {X})."""

    def __init__(self, category, entries, asks, answer, follows="", accept=None):
        self.category = category
        self.entries = list(entries)
        self.asks = asks.split("|")
        self.follows = [text for text in follows.split("|") if text]
        self.answer = answer
        self.accept = accept or (lambda value: [value])

    def turn(self, wording, key, value):
        fields = {"x": key, "y": value, "b": key.split(" ", 1)[-1] if key[:2] in ("a ", "an")
                  else key}
        answer = self.answer.format(**fields)
        answer = fix_articles(answer[0].upper() + answer[1:])
        text = fix_articles(wording.lstrip("~").format(**fields))
        return Turn(text, answer, self.accept(value), self.category, self, key, value)

    def ask(self, rng):
        while True:
            wording = rng.choice(self.asks)
            key, value = rng.choice(self.entries)
            if wording[0] != "~" and not held_out(self.category, wording, key):
                return self.turn(wording, key, value)

    def follow(self, rng, previous):
        if not self.follows:
            return None
        key, value = rng.choice(self.entries)
        return None if key == previous.key else self.turn(rng.choice(self.follows), key, value)

    def held_out_questions(self):
        for wording in self.asks:
            for key, value in self.entries:
                if wording[0] == "~" or held_out(self.category, wording, key):
                    turn = self.turn(wording, key, value)
                    turn.unseen = "new wording" if wording[0] == "~" else "new pair"
                    yield turn


class Fixed:
    """A list of (wordings, answer, accepted words)."""

    def __init__(self, category, entries):
        self.category = category
        self.entries = entries

    def ask(self, rng):
        wordings, answer, accept = rng.choice(self.entries)
        while True:
            wording = rng.choice(wordings.split("|"))
            if wording[0] != "~":
                return Turn(wording, answer, accept, self.category, self, wording)

    def follow(self, rng, previous):
        return None

    def held_out_questions(self):
        for wordings, answer, accept in self.entries:
            for wording in wordings.split("|"):
                if wording[0] == "~":
                    yield Turn(wording[1:], answer, accept, self.category, self, wording,
                               unseen="new wording")


class Computed:
    """A topic whose questions come from a function rng -> (wording key, user, answer, accept)."""

    def __init__(self, category, make, follow=None, holds_out=True):
        self.category = category
        self.make = make
        self.make_follow = follow
        self.holds_out = holds_out

    def ask(self, rng, wanted=False):
        while True:
            key, user, answer, accept = self.make(rng)
            if not self.holds_out or held_out(self.category, key) == wanted:
                short = accept[0] if len(accept[0]) < 12 else ""
                return Turn(user, answer, accept, self.category, self, key, short)

    def follow(self, rng, previous):
        return self.make_follow(self, rng, previous) if self.make_follow else None

    def held_out_questions(self):
        rng = random.Random(7)
        for _ in range(150 if self.holds_out else 0):
            turn = self.ask(rng, wanted=True)
            turn.unseen = "new numbers or words"
            yield turn
