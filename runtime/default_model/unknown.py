"""Questions the default model must not pretend to answer, and what it says instead."""

ANSWER = "I am a very small model; I don't know that."
ACCEPT = ["don't know"]
TOO_LARGE = "Those numbers are too large for me; I don't know that."

TEMPLATES = """
What is the weather in {city}?|What is the weather like today?|Will it rain tomorrow?
What time is it?|What time is it in {city}?|What is the date today?|What day is it today?
What is the news?|What happened in {year}?|Who won the {event} in {year}?|Who won the {event}?
Who is the president of {country}?|Who is the prime minister of {country}?
Who is the king of {country}?
Who was {person}?|Who is {person}?|Tell me about {person}|When was {person} born?
Where was {person} born?
What is the population of {country}?|How many people live in {city}?|How big is {country}?
How far is {city} from here?|How do I get to {city}?|Is {city} a nice place?|Tell me about {city}
Write a {language} program that {task}|How do I {task} in {language}?|Write code to {task}
Write a function in {language}|Explain {science}|What is {science}?|How does {science} work?
Tell me about {science}|What is the theory of {science}?|Who discovered {science}?|Define {science}
What is the meaning of life?|What is love?|Does God exist?|What is the best {product}?
Which {product} should I buy?|How much does a {product} cost?|How do I fix my {product}?
My {product} is broken|Recommend a {product}|How do I install a {product}?
Where can I buy a {product}?
What should I do about my {problem}?|How do I cure a {problem}?
I have a {problem}. What should I take?
Give me advice about my {problem}|Is {medicine} safe?|How much {medicine} should I take?
What is the stock price of {company}?|Should I invest in {company}?|Who founded {company}?
When was {company} founded?|What does {company} sell?|Tell me about {company}
Translate this text into {tongue}|Translate "{noise}" into {tongue}
How do you say {noise} in {tongue}?
Summarise the book {book}|Who wrote {book}?|What is {book} about?|Have you read {book}?
Write an essay about {science}|Write a letter to {person}|Write an email to my boss
Write a song about {noise}
What is the square root of {big}?|What is the logarithm of {big}?|Solve x^2 + {digit}x + {digit} = 0
What is the capital of {noise}?|What is the opposite of {noise}?|What colour is a {noise}?
What is a {noise}?|What does {noise} mean?|Who is {noise}?|Tell me about {noise}|Where is {noise}?
What does a {noise} eat?|What sound does a {noise} make?|How do I make {dish}?
Give me a recipe for {dish}
How do you cook {dish}?|What is in {dish}?|Who sings {noise}?|Play some music
Set an alarm for {digit}
Turn on the lights|Call my mother|Send a message to {person}|Open the browser
Search the web for {science}
What is the height of {person}?|How tall is {person}?|How rich is {person}?|Is {person} married?
What is my password?|What am I thinking?|What am I wearing?|Where am I?|Where did I put my keys?
What will happen tomorrow?|Who will win the next election?|What are the lottery numbers?
When does the next train to {city} leave?|Book a flight to {city}|Find a hotel in {city}
Explain how a {product} works|Why is {science} important?|What causes {problem}?
Prove that {science} is true
What is the plot of {book}?|Describe the history of {country}|What is the history of {city}?
Compare {company} and {company2}|What is the difference between {science} and {science2}?
{noise}|{noise} {noise2}|{noise} {noise2}?|What is {noise} {noise2}?|Why {noise}?|How {noise}?
How many stars are in the sky?|Why is the sky blue?|How deep is the ocean?|Why do we sleep?
What is the speed of light?|How far away is the moon?|How old is the universe?
How heavy is the Earth?
Can you draw a picture?|Show me a picture of {noise}|Can you see me?|Read this file
Write a poem about {science}
Tell me a secret|What is the email address of {person}?|What is the phone number of {company}?
"""

FILL = {
    "city": "Paris|London|New York|Tokyo|Berlin|Rome|Madrid|Chicago|Sydney|Toronto|Barcelona|Milan|"
            "Munich|Boston|Cairo|Mumbai|Shanghai|Los Angeles|Manchester|Hamburg|Seattle|Geneva",
    "country": "France|Spain|Germany|Japan|the United "
               "States|China|India|Brazil|Italy|Canada|Russia|"
               "Poland|Egypt|Kenya|Australia|Mexico|Turkey|Norway|Greece|Ireland",
    "event": "World Cup|Olympics|election|Super Bowl|Nobel "
             "Prize|match|race|Oscar|final|championship",
    "person": "Albert Einstein|Napoleon|Julius Caesar|Marie Curie|Isaac Newton|Cleopatra|Mozart|"
              "Beethoven|Gandhi|Charles Darwin|Galileo|Plato|Picasso|Elvis Presley|Nelson Mandela|"
              "Ada Lovelace|Alan Turing|Joan of Arc|Marco Polo|Columbus|Socrates|Aristotle",
    "language": "Python|Java|C|JavaScript|Rust|Go|SQL|C++|Ruby|Perl|HTML|Bash",
    "task": "sort a list|read a file|print hello world|reverse a string|open a socket|add two "
            "numbers|"
            "find prime numbers|parse JSON|make a web page|connect to a database|count words",
    "science": "quantum physics|relativity|photosynthesis|evolution|machine learning|chemistry|"
               "black holes|economics|philosophy|calculus|algebra|the French "
               "Revolution|inflation|DNA|"
               "the Roman Empire|neural networks|democracy|the "
               "internet|cryptography|thermodynamics|"
               "genetics|psychology|the Big Bang|nuclear energy|statistics|blockchain|transformers|"
               "the Cold War|magnetism|plate tectonics|the stock market|linear algebra",
    "product": "phone|laptop|camera|washing machine|printer|bike|television|tablet|guitar|router|"
               "dishwasher|keyboard|car engine|graphics card|fridge|microwave",
    "problem": "headache|fever|cough|broken arm|toothache|cold|rash|debt|divorce|tax form|back "
               "pain|"
               "stomach ache|landlord|insomnia",
    "medicine": "aspirin|ibuprofen|penicillin|insulin|paracetamol|cough syrup",
    "company": "Google|Apple|Microsoft|Amazon|Tesla|Toyota|Sony|Samsung|Intel|IBM|"
               "Netflix|Nokia|Ford",
    "tongue": "French|Spanish|German|Chinese|Japanese|Russian|Arabic|Latin|Greek|Hindi",
    "book": "War and Peace|Moby Dick|the Bible|Don Quixote|Dracula|The Odyssey|Frankenstein|Emma|"
            "Great Expectations|Faust|The Hobbit|Les Miserables",
    "dish": "pizza|lasagne|pancakes|chicken curry|sushi|apple pie|chocolate cake|soup|paella|tacos|"
            "risotto|ramen|bread pudding",
    "digit": "2|3|4|5|6|7|8|9",
}

FOREIGN = ["Bonjour, comment ca va?", "Hola, que tal?", "Wie geht es dir?", "Come stai?",
           "Quelle est la capitale de la France?", "Cual es la capital de Francia?",
           "Was ist die Hauptstadt von Frankreich?", "Ni hao", "Konnichiwa", "Parlez-vous "
                                                                             "francais?",
           "Habla espanol?", "Sprechen Sie Deutsch?", "Ou est la gare?", "Donde esta la playa?",
           "Wo ist der Bahnhof?", "Hvordan har du det?", "Kto ty?", "Merci beaucoup, monsieur",
           "Comment tu t'appelles?", "Como te llamas?", "Wie heisst du?", "Qual e o seu nome?"]
FOREIGN_ANSWER = "I am sorry, I only speak simple English."

CODAS = ["bl", "cr", "dr", "fl", "gr", "kl", "pr", "sk", "sn", "tr", "v", "z", "qu", "th", "m", "n",
         "b", "d", "f", "g", "h", "j", "k", "l", "p", "r", "s", "t", "w"]
VOWELS = ["a", "e", "i", "o", "u", "oo", "ee", "ai"]


def invented_word(rng):
    syllables = "".join(rng.choice(CODAS) + rng.choice(VOWELS) for _ in range(rng.randrange(2, 4)))
    word = syllables + rng.choice(["", "n", "x", "k", "nd", "st", "m", "land"])
    return word.capitalize() if rng.random() < 0.5 else word


ALL = [text for line in TEMPLATES.strip().splitlines() for text in line.split("|")]


def make(rng):
    """Returns (template, question, answer, accept)."""
    roll = rng.random()
    if roll < 0.05:
        text = rng.choice(FOREIGN)
        return text, text, FOREIGN_ANSWER, ["English"]
    if roll < 0.12:
        a, b = rng.randrange(200, 10000), rng.randrange(100, 10000)
        sign = rng.choice(["+", "-", "x", "*", "times", "plus", "minus", "/", "divided by"])
        text = rng.choice(["What is {a} {s} {b}?", "{a} {s} {b}", "Calculate {a} {s} {b}",
                           "How much is {a} {s} {b}?"]).format(a=a, b=b, s=sign)
        return "large", text, TOO_LARGE, ACCEPT
    template = rng.choice(ALL)
    fields = {name: rng.choice(words.split("|")) for name, words in FILL.items()}
    fields.update(noise=invented_word(rng), noise2=invented_word(rng), year=rng.randrange(1700,
                                                                                          2030),
                  big=rng.randrange(100, 9999), company2=rng.choice(FILL["company"].split("|")),
                  science2=rng.choice(FILL["science"].split("|")))
    return template, template.format(**fields), ANSWER, ACCEPT
