#!/usr/bin/env python3
"""Writes the goldens of the tokenizer tests: models/ (small tokenizers) and expected/.

Usage: make_goldens.py SHARED   (the folder with tokenizers/ and models/)
Needs the `tokenizers` and `sentencepiece` packages. expected/strings.jsonl holds the texts; for each
tokenizer, expected/NAME.ids holds what its library makes of them: first the ids of the empty text with
special tokens, then a line of ids per text without; expected/NAME.decode holds lines of ids, a tab and
the decoded JSON string, special tokens kept (SentencePiece: as decode() does). Training with
`tokenizers` gives a slightly different vocabulary each time, so every run rewrites some files.
"""
import json
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import strings  # noqa: E402

import sentencepiece  # noqa: E402
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,  # noqa: E402
                        processors, trainers)

MODELS = os.path.join(HERE, "models")
EXPECTED = os.path.join(HERE, "expected")


def corpus():
    r = random.Random(11)
    return [r.choice(strings.SENTENCES) if r.random() < 0.4 else
            " ".join(r.choice(strings.WORDS) for _ in range(r.randint(3, 14))) for _ in range(3000)]


def added(tokenizer):
    tokenizer.add_tokens([AddedToken("Day", normalized=True), AddedToken("[L]", lstrip=True, normalized=False),
                          AddedToken("[R]", rstrip=True, normalized=False),
                          AddedToken("the", single_word=True, normalized=False), "foo bar", "日本"])
    tokenizer.add_special_tokens([AddedToken("<s>", special=True), AddedToken("</s>", special=True, lstrip=True)])
    s, e = tokenizer.token_to_id("<s>"), tokenizer.token_to_id("</s>")
    return processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", s), ("</s>", e)])


def byte_level(lines):
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.post_processor = processors.Sequence([processors.ByteLevel(), added(t)])
    return t


def splits(lines):
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip(), normalizers.Replace(Regex("o{2,}"), "0"),
                                         normalizers.Replace("ab", "BA")])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split("e", "merged_with_next"), pre_tokenizers.Split(Regex("[aeiou]{1,2}+|\\bw\\w"), "merged_with_previous"),
        pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.Split(Regex("[^\\S\\r\\n]+"), "removed"), pre_tokenizers.Split(Regex("\\h+"), "isolated", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def llama_like(lines):
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    bytes_ = [f"<0x{b:02X}>" for b in range(256)]
    t.train_from_iterator([s.replace(" ", "▁") for s in lines], trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<unk>"] + bytes_, limit_alphabet=120, max_token_length=12))
    t = without_added(t)
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.post_processor = added(t)
    return t


def affixes(lines):
    t = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.NFKD()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation()])
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=500, special_tokens=["[UNK]"], limit_alphabet=80,
                                                     continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    return t


def without_added(t):
    """The trainer's special tokens as plain tokens of the model."""
    content = json.loads(t.to_str())
    content["added_tokens"] = [a for a in content["added_tokens"] if not a["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(content))


def unigram(lines, byte_fallback, prepend, normalizer):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend, split=not byte_fallback)
    t.train_from_iterator(lines, trainers.UnigramTrainer(vocab_size=500, special_tokens=["<unk>"], unk_token="<unk>"))
    content = json.loads(t.to_str())
    content["added_tokens"] = []
    if byte_fallback:
        content["model"]["byte_fallback"] = True
        content["model"]["vocab"] += [[f"<0x{b:02X}>", 0.0] for b in range(256)]
    t = Tokenizer.from_str(json.dumps(content))
    meta = decoders.Metaspace(prepend_scheme=prepend)
    t.decoder = decoders.Sequence([decoders.ByteFallback(), meta]) if byte_fallback else meta
    t.post_processor = added(t)
    return t


def train_sentencepiece(name, lines, **options):
    folder = os.path.join(MODELS, name)
    os.makedirs(folder, exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=os.path.join(folder, "tokenizer"), num_threads=1, minloglevel=2,
        hard_vocab_limit=False, character_coverage=0.98, **options)
    os.remove(os.path.join(folder, "tokenizer.vocab"))


def make_models():
    lines = corpus()
    rules = os.path.join(HERE, "rules.tsv")
    with open(rules, "w", encoding="utf-8") as f:
        for source, target in [("ﬁ", "fi"), ("①", "1"), ("①②", "twelve"), ("Ⅷ", "VIII"), ("\u3000", " "), ("\u00a0", " "), ("\t", " "),
                               ("\n", " "), ("e\u0301", "é"), ("\u200b", ""), ("Ａ", "A"), ("㌀", "アパート"), ("カ\u3099", "ガ"), ("½", "1/2")]:
            f.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
    train_sentencepiece("spm_unigram", lines, vocab_size=700, model_type="unigram", normalization_rule_name="nmt_nfkc")
    train_sentencepiece("spm_unigram_bytes", lines, vocab_size=800, model_type="unigram", byte_fallback=True,
                        normalization_rule_tsv=rules, add_dummy_prefix=False, remove_extra_whitespaces=False,
                        user_defined_symbols=["<tool>", "foo bar", "ab"], control_symbols=["<ctl>"])
    train_sentencepiece("spm_bpe", lines, vocab_size=700, model_type="bpe", normalization_rule_tsv=rules,
                        user_defined_symbols=["<tool>", "the of"])
    train_sentencepiece("spm_suffix", lines, vocab_size=800, model_type="bpe", byte_fallback=True,
                        normalization_rule_name="identity", treat_whitespace_as_suffix=True)
    from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto()
    with open(os.path.join(MODELS, "spm_bpe", "tokenizer.model"), "rb") as f:
        proto.ParseFromString(f.read())
    os.remove(rules)
    charsmap = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    built = {
        "byte_level": byte_level(lines), "splits": splits(lines), "llama_like": llama_like(lines), "affixes": affixes(lines),
        "unigram": unigram(lines, False, "first", normalizers.Sequence([charsmap, normalizers.Replace(Regex(" {2,}"), " ")])),
        "unigram_bytes": unigram(lines, True, "always", normalizers.Sequence([normalizers.Nmt(), normalizers.NFC()])),
    }
    for name, t in built.items():
        os.makedirs(os.path.join(MODELS, name), exist_ok=True)
        t.save(os.path.join(MODELS, name, "tokenizer.json"), pretty=False)


def open_tokenizer(folder):
    if os.path.exists(os.path.join(folder, "tokenizer.json")):
        t = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        t.no_padding()
        t.no_truncation()
        return (lambda s: t.encode(s, add_special_tokens=False).ids, lambda ids: t.decode(ids, skip_special_tokens=False),
                t.encode("", add_special_tokens=True).ids, [i for i in range(t.get_vocab_size()) if t.id_to_token(i) is not None])
    sp = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "tokenizer.model"))
    # what transformers' LlamaTokenizer adds unless tokenizer_config.json says otherwise
    return sp.encode, sp.decode, [sp.bos_id()], [i for i in range(sp.get_piece_size()) if not sp.is_control(i)]


def write(name, folder, texts):
    encode, decode, empty, ids = open_tokenizer(folder)
    r = random.Random(5)
    with open(os.path.join(EXPECTED, name + ".ids"), "w", encoding="utf-8") as f:
        f.write(" ".join(map(str, empty)) + "\n")
        for text in texts:
            f.write(" ".join(map(str, encode(text))) + "\n")
    with open(os.path.join(EXPECTED, name + ".decode"), "w", encoding="utf-8") as f:
        for _ in range(60):
            some = [r.choice(ids) for _ in range(r.randint(1, 10))]
            f.write(" ".join(map(str, some)) + "\t" + json.dumps(decode(some)) + "\n")


def main():
    shared = sys.argv[1]
    os.makedirs(EXPECTED, exist_ok=True)
    make_models()
    r = random.Random(2)
    texts = []
    for text in strings.make(3000, 7):
        start = r.randrange(max(1, len(text) - 50))
        texts.append(text[start:start + r.randint(1, 50)])
    texts = strings.make(8) + sorted(set(texts[8:]))[::7][:280]
    with open(os.path.join(EXPECTED, "strings.jsonl"), "w", encoding="utf-8") as f:
        for text in texts:
            f.write(json.dumps(text) + "\n")
    for name in sorted(os.listdir(MODELS)):
        write(name, os.path.join(MODELS, name), texts)
    for name in sorted(os.listdir(os.path.join(shared, "tokenizers"))):
        write("shared_" + name, os.path.join(shared, "tokenizers", name), texts)
    for name in ("minimind2-small", "stories15M"):
        write("shared_" + name, os.path.join(shared, "models", name), texts)


main()
