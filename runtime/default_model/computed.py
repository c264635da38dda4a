"""Questions that are computed rather than looked up: sums, counting, spelling, the calendar."""

import facts
from topic import Turn, article, number_word


SUM_SIGNS = {"+": ("plus", "+", "and"), "-": ("minus", "-", "take away"),
             "x": ("times", "x", "multiplied by", "*"), "/": ("divided by", "/", "over")}


def operands(rng, sign, easy):
    wide = rng.random() * (1 - easy)
    if sign == "+":
        top = 10 if wide < 0.25 else 20 if wide < 0.4 else 100
        if wide > 0.97:
            return rng.randrange(1, 6) * 100, rng.randrange(1, 6) * 100
        return rng.randrange(top), rng.randrange(top)
    if sign == "-":
        a = rng.randrange(11) if wide < 0.25 else rng.randrange(21) if wide < 0.4 \
            else rng.randrange(101)
        return a, rng.randrange(a + 1) if rng.random() < 0.96 else rng.randrange(21)
    if sign == "x":
        return rng.randrange(13), rng.randrange(13)
    b = rng.randrange(1, 13)
    return b * rng.randrange(13), b


def calculate(a, sign, b):
    return {"+": a + b, "-": a - b, "x": a * b, "/": a // b if b else 0}[sign]


def sum_answer(a, sign, b):
    return f"{a} {sign} {b} = {calculate(a, sign, b)}."


SUM_FORMS = {
    "+": "What is the sum of {a} and {b}?|Add {a} and {b}|Can you add {a} and {b}?|Add {b} to {a}",
    "-": "Subtract {b} from {a}|Take {b} from {a}|What is the difference of {a} and {b}?",
    "x": "Multiply {a} by {b}|What is the product of {a} and {b}?|Multiply {a} and {b}",
    "/": "Divide {a} by {b}|Can you divide {a} by {b}?|What do you get when you divide {a} by {b}?",
}
SUM_ANY = ("What is {a} {s} {b}?|What is {a} {s} {b}?|What is {a}{s}{b}?|{a} {s} {b}|{a} {s} {b}?|"
           "{a} {s} {b} = ?|{a} {s} {b} =|{a}{s}{b}|{a}{s}{b}=|How much is {a} {s} {b}?|"
           "Calculate {a} {s} {b}|What does {a} {s} {b} make?|Can you work out {a} {s} {b}?|"
           "What is {a} {s} {b} equal to?|How much is {a} {s} {b}?|What do you get for {a} {s} {b}?"
           ).split("|")


def make_sum(rng, easy=0.0):
    """easy: how far to lean towards small numbers, from 0 to 1."""
    sign = rng.choice("+++++----xxx/")
    a, b = operands(rng, sign, easy)
    key = f"{a}{sign}{b}"
    if rng.random() < 0.25:
        form = rng.choice(SUM_FORMS[sign].split("|"))
    else:
        form = rng.choice(SUM_ANY)
    spoken = rng.choice(SUM_SIGNS[sign])
    if "{s} " not in form:
        spoken = {"+": "+", "-": "-", "x": rng.choice("x*"), "/": "/"}[sign]
    left, right = str(a), str(b)
    if a <= 100 and b <= 100 and "{s} " in form and spoken.isalpha() and rng.random() < 0.3:
        left, right = number_word(a), number_word(b)
    user = form.format(a=left, b=right, s=spoken)
    return key, user, sum_answer(a, sign, b), [str(calculate(a, sign, b))]


def follow_sum(topic, rng, previous):
    """'plus 3?' after a sum: goes on from the previous result."""
    try:
        start = int(previous.accept[0])
    except ValueError:
        return None
    sign = rng.choice("++-x")
    b = rng.randrange(1, 11)
    if not 0 <= start <= 100 or (sign == "x" and start > 12) or (sign == "-" and b > start):
        return None
    word = rng.choice(SUM_SIGNS[sign][:2 if sign != "x" else 1])
    verb = {"+": f"add {b}", "-": f"subtract {b}", "x": f"multiply by {b}"}[sign]
    form = rng.choice(["{w} {b}?", "And {w} {b}?", "{w} {b}", "Now {v}", "Then {v}", "Now {w} {b}?",
                       "And {w} {b}", "What about {w} {b}?", "What is that {w} {b}?",
                       "{v}", "Ok, now {v}", "And then {w} {b}?", "{w} {b} more?"
                       if sign == "+" else "{w} {b}?"])
    user = form.format(w=word, b=b, v=verb)
    return Turn(user[0].upper() + user[1:] if rng.random() < 0.5 else user,
                sum_answer(start, sign, b), [str(calculate(start, sign, b))], "sums", topic)


THINGS = "apples books cats eggs coins pens balls cakes stamps toys flowers sweets".split()


def make_word_problem(rng):
    thing = rng.choice(THINGS)
    a, b = rng.randrange(2, 21), rng.randrange(1, 11)
    if rng.random() < 0.5:
        form = rng.choice([
            "I have {a} {t} and buy {b} more. How many {t} do I have?",
            "I have {a} {t} and get {b} more. How many do I have now?",
            "Tom has {a} {t} and finds {b} more. How many {t} does he have?",
            "There are {a} {t} and then {b} more. How many {t} are there?"])
        total, sign = a + b, "+"
    else:
        a, b = max(a, b), min(a, b)
        form = rng.choice([
            "I have {a} {t} and lose {b}. How many {t} do I have?",
            "I have {a} {t} and give away {b}. How many are left?",
            "Tom has {a} {t} and gives {b} to Ana. How many {t} does he have?",
            "There are {a} {t} and {b} are taken away. How many {t} are left?"])
        total, sign = a - b, "-"
    return (f"{a}{sign}{b}", form.format(a=a, b=b, t=thing),
            f"{a} {sign} {b} = {total}, so the answer is {total} {thing}.", [str(total)])


def make_number(rng):
    n = rng.randrange(100)
    w = number_word(n)
    kind = rng.randrange(9)
    if kind == 0:
        form = rng.choice(["What number comes after {n}?", "What comes after {n}?",
                           "Which number is after {n}?", "What is the next number after {n}?"])
        return f"after{n}", form.format(n=n), f"{n + 1} comes after {n}.", [str(n + 1)]
    if kind == 1:
        n += 1
        form = rng.choice(["What number comes before {n}?", "What comes before {n}?",
                           "Which number is before {n}?"])
        return f"before{n}", form.format(n=n), f"{n - 1} comes before {n}.", [str(n - 1)]
    if kind == 2:
        form = rng.choice(["Is {n} odd or even?", "Is {n} even or odd?", "Is the number {n} odd?",
                           "Is {n} an even number?"])
        parity = "odd" if n % 2 else "even"
        return f"parity{n}", form.format(n=n), f"{n} is {parity}.", [parity]
    if kind == 3:
        m = rng.randrange(100)
        big = rng.random() < 0.5
        if m == n:
            m = n + 1
        word = rng.choice(["bigger", "larger", "greater"] if big else ["smaller", "less"])
        form = rng.choice(["Which is {w}, {n} or {m}?", "Which number is {w}, {n} or {m}?",
                           "What is {w}, {n} or {m}?"])
        best, other = (max(n, m), min(n, m)) if big else (min(n, m), max(n, m))
        return (f"which{n},{m}", form.format(w=word, n=n, m=m), f"{best} is {word} than {other}.",
                [f"{best} is"])
    if kind == 4:
        form = rng.choice(["How do you write {n} in words?", "Write {n} in words",
                           "How do you spell the number {n}?", "What is {n} in words?"])
        return f"words{n}", form.format(n=n), f"{n} in words is {w}.", [w]
    if kind == 5:
        form = rng.choice(["Write {w} as a number", "What number is {w}?", "Write {w} in digits"])
        return f"digits{n}", form.format(w=w), f"{w.capitalize()} is {n}.", [str(n)]
    if kind == 6:
        n = rng.randrange(51)
        form = rng.choice(["What is double {n}?", "What is twice {n}?", "Double {n}"])
        return f"double{n}", form.format(n=n), f"2 x {n} = {2 * n}.", [str(2 * n)]
    if kind == 7:
        n = rng.randrange(51)
        form = rng.choice(["What is half of {n}?", "What is half {n}?", "Halve {n}"])
        return f"half{n}", form.format(n=2 * n), f"Half of {2 * n} is {n}.", [str(n)]
    a, b, c = (rng.randrange(1, 10) for _ in range(3))
    form = rng.choice(["What is {a} + {b} + {c}?", "{a} + {b} + {c}", "What is {a} plus {b} plus "
                                                                      "{c}?"])
    return (f"{a}+{b}+{c}", form.format(a=a, b=b, c=c), f"{a} + {b} + {c} = {a + b + c}.",
            [str(a + b + c)])


def make_count(rng):
    step, start = 1, rng.choice([1, 1, 1, 1, rng.randrange(2, 30)])
    stop = start + rng.randrange(2, 15)
    kind = rng.randrange(4)
    if kind == 0:
        start, stop, step = stop, start, -1
        user = rng.choice([f"Count down from {start} to {stop}",
                           f"Count backwards from {start} to {stop}",
                           f"Can you count down from {start} to {stop}?"])
    elif kind == 1 and start == 1:
        user = rng.choice([f"Count to {stop}", f"Can you count to {stop}?", f"Please count to "
                                                                            f"{stop}"])
    elif kind == 2:
        step = rng.choice([2, 5, 10])
        start = step
        stop = step * rng.randrange(3, 11)
        user = rng.choice([f"Count by {step}s to {stop}", f"Count in {step}s up to {stop}",
                           f"Count to {stop} in steps of {step}"])
    else:
        user = rng.choice([f"Count from {start} to {stop}", f"Can you count from {start} to "
                                                            f"{stop}?"])
    text = ", ".join(str(n) for n in range(start, stop + (1 if step > 0 else -1), step))
    return f"{start},{stop},{step}", user, text + ".", [text]


# ---------------------------------------------------------------- words and letters

def spelling_words():
    text = " ".join(key for key, _ in facts.PLURALS + facts.PAST + facts.OPPOSITES[:120])
    return sorted({word for word in text.split() if 2 < len(word) < 9})


WORDS = spelling_words()


def make_spelling(rng):
    word = rng.choice(WORDS)
    kind = rng.randrange(8)
    if kind < 4:
        form = rng.choice(["How do you spell {w}?", "Spell {w}", "Can you spell {w}?",
                           "Spell the word {w}", "How is {w} spelled?", "Please spell {w}"])
        spelled = "-".join(word.upper())
        return f"spell{word}", form.format(w=word), f"{spelled}.", [spelled]
    if kind == 4:
        form = rng.choice(["What is the first letter of {w}?", "Which letter does {w} start with?",
                           "What letter does {w} begin with?"])
        return (f"first{word}", form.format(w=word), f"The first letter of {word} is "
                                                     f"{word[0].upper()}.",
                [f"is {word[0].upper()}"])
    if kind == 5:
        form = rng.choice(["What is the last letter of {w}?", "Which letter does {w} end with?"])
        return (f"last{word}", form.format(w=word), f"The last letter of {word} is "
                                                    f"{word[-1].upper()}.",
                [f"is {word[-1].upper()}"])
    if kind == 6:
        form = rng.choice(["How many letters are in {w}?", "How many letters does {w} have?",
                           "How many letters are in the word {w}?"])
        spelled = "-".join(word.upper())
        return (f"count{word}", form.format(w=word), f"{spelled}: {len(word)} letters.",
                [f"{len(word)} letters"])
    i = rng.randrange(25)
    low, high = chr(65 + i), chr(66 + i)
    if rng.random() < 0.5:
        form = rng.choice(["What letter comes after {c}?", "Which letter is after {c}?",
                           "What comes after the letter {c}?"])
        return f"after{low}", form.format(c=low), f"{high} comes after {low}.", [f"{high} comes"]
    form = rng.choice(["What letter comes before {c}?", "Which letter is before {c}?"])
    return f"before{high}", form.format(c=high), f"{low} comes before {high}.", [f"{low} comes"]


# ---------------------------------------------------------------- days, kinds, the unknown

def make_calendar(rng):
    names = rng.choice([facts.DAYS, facts.MONTHS])
    unit = "day" if names is facts.DAYS else "month"
    i = rng.randrange(len(names))
    here, after, before = names[i], names[(i + 1) % len(names)], names[i - 1]
    kind = rng.randrange(6)
    if kind < 2:
        form = rng.choice(["What {u} comes after {h}?", "Which {u} comes after {h}?",
                           "What comes after {h}?", "Which {u} follows {h}?",
                           "What is the {u} after {h}?", "What is the next {u} after {h}?"])
        return "after" + here, form.format(u=unit, h=here), f"{after} comes after {here}.", [after]
    if kind < 4:
        form = rng.choice(["What {u} comes before {h}?", "Which {u} comes before {h}?",
                           "What comes before {h}?", "What is the {u} before {h}?"])
        user = form.format(u=unit, h=here)
        return "before" + here, user, f"{before} comes before {here}.", [before]
    if kind == 4 and unit == "day":
        form = rng.choice(["If today is {h}, what day is tomorrow?", "Today is {h}. What is "
                                                                     "tomorrow?",
                           "If today is {h}, what day was yesterday?",
                           "Today is {h}. What was yesterday?"])
        if "tomorrow" in form:
            return "next" + here, form.format(h=here), f"Tomorrow is {after}.", [after]
        return "last" + here, form.format(h=here), f"Yesterday was {before}.", [before]
    if kind == 4:
        form = rng.choice(["How many days are in {h}?", "How many days does {h} have?",
                           "How many days are there in {h}?"])
        days = facts.MONTH_DAYS[i]
        leap = ", or 29 in a leap year" if i == 1 else ""
        return "days" + here, form.format(h=here), f"{here} has {days} days{leap}.", [days]
    whole = "week" if unit == "day" else "year"
    form = rng.choice(["What is the {o} {u} of the {w}?", "Which is the {o} {u} of the {w}?",
                       "What {u} is the {o} of the {w}?"])
    user = form.format(o=facts.ORDINALS[i], u=unit, w=whole)
    return "nth" + here, user, f"The {facts.ORDINALS[i]} {unit} of the {whole} is {here}.", [here]


def make_kind(rng):
    kinds = [kind for kind in facts.KINDS if kind not in ("colour", "shape", "drink", "metal")]
    kind = rng.choice(sorted(kinds))
    word = rng.choice(facts.KINDS[kind])
    truth = kind
    the_word = word if kind in ("planet", "sport") else article(word)
    if word == "orange":
        kind = truth = "fruit"
    roll = rng.random()
    if roll < 0.35:
        user = rng.choice([f"Is {the_word} {article(kind)}?", f"Is {word} {article(kind)}?"])
        return word + kind, user, f"Yes, {the_word} is {article(kind)}.", ["Yes"]
    if roll < 0.7:
        others = {"fruit": "vegetable", "vegetable": "fruit", "planet": "fruit", "job": "animal"}
        wrong = others.get(kind, rng.choice(["fruit", "vegetable", "planet", "job"]))
        if rng.random() < 0.5:
            user = f"Is {the_word} {article(wrong)}?"
            answer = f"No, {the_word} is {article(truth)}."
            return word + wrong, user, answer, ["No"]
        first, second = (kind, wrong) if rng.random() < 0.5 else (wrong, kind)
        user = f"Is {the_word} {article(first)} or {article(second)}?"
        return word + "or" + wrong, user, f"{the_word} is {article(truth)}.".capitalize() \
            if kind != "planet" else f"{word} is a planet.", [f"is {article(truth)}"]
    words = rng.choice(["Name a {k}", "Give me an example of {a}", "Tell me the name of {a}",
                        "Can you name {a}?", "Name {a}"])
    kind = rng.choice(sorted(facts.KINDS))
    word = facts.KINDS[kind][0]
    answer = f"One {kind} is {article(word) if kind not in NO_ARTICLE else word}."
    return "name" + kind, words.format(k=kind, a=article(kind)).replace("a a", "an a"), answer, \
        facts.KINDS[kind]


NO_ARTICLE = ("colour", "drink", "metal", "planet", "sport", "fish")
