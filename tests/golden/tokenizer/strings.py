"""Random, multilingual, code and emoji strings for comparing tokenizers; the same seed, the same strings."""
import random

WORDS = """the of and to in is you that it he was for on are as with his they at be this have from or one had by
word but not what all were we when your can said there use an each which she do how their if will up other about
out many then them these so some her would make like him into time has look two more write go see number no way
could people my than first water been call who oil its now find long down day did get come made may part""".split()
SENTENCES = [
    "The quick brown fox jumps over the lazy dog.", "It's what we've always wanted, isn't it? They'll say I'd WON'T.",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.", "Voix ambiguë d’un cœur qui préfère les jattes de kiwis.",
    "El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío.", "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.", "Pijamalı hasta, yağız şoföre çabucak güvendi. İIıi",
    "我能吞下玻璃而不伤身体。今天天气很好,我们去公园吧!", "私はガラスを食べられます。それは私を傷つけません。カタカナとひらがな",
    "나는 유리를 먹을 수 있어요. 그래도 아프지 않아요", "मैं काँच खा सकता हूँ और मुझे उससे कोई चोट नहीं पहुंचती.",
    "أنا قادر على أكل الزجاج و هذا لا يؤلمني.", "אני יכול לאכול זכוכית וזה לא מזיק לי.", "ฉันกินกระจกได้ แต่มันไม่ทำให้ฉันเจ็บ",
    "Tôi có thể ăn thủy tinh mà không hại gì.", "Մենք կարող ենք ապակի ուտել", "მინას ვჭამ და არა მტკივა.", "நான் கண்ணாடி சாப்பிடுவேன்",
    "আমি কাঁচ খেতে পারি", "ខ្ញុំអាចញុំកញ្ចក់បាន", "ກິນແກ້ວ", "မှန်စားနိုင်တယ်", "ኣነ ብርጭቆ ክበልዕ", "ᚠᛇᚻ᛫ᛒᛦᚦ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝒻𝒶𝓃𝒸𝓎 ⅷ ½ ² ⒜ Ⓐ",
]
CODE = [
    "int main(void)\n{\n    printf(\"%d\\n\", x++);\n\treturn 0;\n}\n", "def f(x, *args, **kw):\n    return [i**2 for i in range(10) if i % 2 == 0]\n",
    "SELECT * FROM users WHERE id = 'abc' AND x >= 1.5e-10;", "<div class=\"a b\">\r\n  <p>&nbsp;text</p>\r\n</div>",
    "{\"key\": [1, 2.5, null, true], \"nested\": {\"a\": \"b\\u00e9\"}}", "#!/bin/sh\nset -eu\nfor f in *.c; do echo \"$f\" | sed 's/a/b/g'; done",
    "fn main() -> Result<(), Box<dyn Error>> { let v: Vec<u8> = vec![0; 1024]; Ok(()) }", "https://example.com/path?q=1&r=%20#frag",
    "user@example.org +1 (555) 123-4567 $1,234.56 €99 100% 2026-11-20T12:34:56Z", "camelCase snake_case SCREAMING_CASE kebab-case XMLHttpRequest2",
    "\\alpha + \\frac{a}{b} \\leq \\sum_{i=0}^{n} x_i^2", "a\tb\t\tc\n\n\n   d\r\r\n  \u3000e\u00a0f\u2003g\u200bh\u180ei\x85j",
]
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇺🇳🇩🇪", "❤️", "☺", "🤷🏻‍♂️", "5️⃣", "🪿", "🫨", "\U0001fae9", "©", "™", "→", "■", "∀x∈ℝ"]
SPACES = [" ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", " \n ", "        ", "\u00a0", "\u3000", "\u2028", "\x0b", "\x0c", "\u2003", "\u1680"]
BLOCKS = [(0x20, 0x7f), (0x0, 0x100), (0x100, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xe00), (0xe00, 0x1200),
          (0x1e00, 0x2000), (0x2000, 0x2c00), (0x3040, 0x3400), (0x4e00, 0xa000), (0xa000, 0xd800), (0xac00, 0xd7a4), (0xe000, 0x10000),
          (0x10000, 0x20000), (0x1f300, 0x1fb00), (0x20000, 0x33000), (0xe0000, 0xe0200), (0x1, 0x110000)]
MARKS = "\u0300\u0301\u0308\u0327\u0323\u0345\u093c\u05b0\u064e\u3099\u20dd\u0f71\u1ab0\u0898\u1dfa\U0001d165\U00011099\u11a8\u1161"
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>", "</s>", "<unk>", "<bos>", "<eos>", "<pad>", "<|begin_of_text|>",
            "<|eot_id|>", "<think>", "</think>", "[INST]", "[/INST]", "<｜begin▁of▁sentence｜>", "<｜User｜>", "<|tool▁calls|>",
            "<start_of_turn>", "<end_of_turn>", "<0x0A>", "<0xE4>", "▁", "▁▁", "Ġ", "Ċ", "<|fim_prefix|>", "<unused7>", "<mask>", "\u2581a"]


def random_char(r):
    while True:
        low, high = r.choice(BLOCKS)
        c = r.randrange(low, high)
        if c and not 0xD800 <= c < 0xE000:
            return chr(c)


def piece(r):
    k = r.random()
    if k < 0.22:
        return " ".join(r.choice(WORDS) for _ in range(r.randint(1, 8)))
    if k < 0.40:
        s = r.choice(SENTENCES)
        i = r.randrange(len(s))
        return s if r.random() < 0.4 else s[i:i + r.randint(1, 20)]
    if k < 0.52:
        s = r.choice(CODE)
        i = r.randrange(len(s))
        return s if r.random() < 0.3 else s[i:i + r.randint(1, 30)]
    if k < 0.58:
        return r.choice(EMOJI) * r.choice([1, 1, 1, 2, 5])
    if k < 0.66:
        return r.choice(SPACES) * r.choice([1, 1, 2, 3, 7, 20])
    if k < 0.72:
        return "".join(r.choice("0123456789") for _ in range(r.randint(1, 12)))
    if k < 0.76:
        return r.choice(SPECIALS)
    if k < 0.80:
        return r.choice("aeAEnNuUcoOszZ") + "".join(r.choice(MARKS) for _ in range(r.randint(1, 4)))
    if k < 0.84:
        return "".join(r.choice("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") for _ in range(r.randint(1, 8)))
    if k < 0.87:
        return r.choice(["'s", "'T", "'re", "'VE", "'m", "'ll", "'D", "'ſ", "’s", "\u212aelvin"])
    if k < 0.89:
        w = r.choice(WORDS)
        return r.choice([w.upper(), w.title(), w * r.randint(2, 6), w[0] * r.randint(2, 40)])
    if k < 0.96:
        low, high = r.choice(BLOCKS)
        out = [chr(r.randrange(low, high)) for _ in range(r.randint(1, 12))]
        return "".join(c for c in out if c != "\0" and not 0xD800 <= ord(c) < 0xE000)
    return "".join(random_char(r) for _ in range(r.randint(1, 12)))


def make(count, seed=1):
    r = random.Random(seed)
    out = ["", " ", "  ", "\n", "a", " a", "a ", "Hello, world!"]
    while len(out) < count:
        parts = [piece(r) for _ in range(r.choice([1, 1, 2, 3, 4, 6, 10]))]
        out.append(r.choice(["", " "]).join(parts))
    return out[:count]
