#!/usr/bin/env python3
"""Compares `penstock tokenize` with the published libraries on many random strings.

Usage: compare_full.py PENSTOCK MODEL... [--count N] [--seed S]
A MODEL is a directory with a tokenizer.json or tokenizer.model, one of these files, a GGUF file with a
SentencePiece tokenizer, or GGUF=MODEL: a GGUF file and what it was made from. Encoding is
compared on COUNT strings, and on a tenth of them with special tokens put around and as plain text
(tokenizer.json); decoding with and without skipping them, on those ids and on random ids. Exits 1 if anything differs. Needs the
`tokenizers` and `sentencepiece` packages, and `gguf` for GGUF files.
"""
import argparse
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import strings  # noqa: E402


def run(program, model, options, lines):
    done = subprocess.run([program, "tokenize", model, *options], input="\n".join(map(json.dumps, lines)) + "\n",
                          capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"{model} {options}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


class Json:
    def __init__(self, path):
        from tokenizers import Tokenizer
        self.tokenizer = Tokenizer.from_file(path)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.size = self.tokenizer.get_vocab_size()
        self.variants = [("", []), ("with BOS/EOS", ["--add-special"]), ("special as text", ["--no-parse-special"])]

    def encode(self, texts, variant):
        self.tokenizer.encode_special_tokens = "--no-parse-special" in variant
        return [e.ids for e in self.tokenizer.encode_batch(texts, add_special_tokens="--add-special" in variant)]

    def decode(self, ids, skip):
        return self.tokenizer.decode_batch(ids, skip_special_tokens=skip)

    def valid(self, i):
        return self.tokenizer.id_to_token(i) is not None


class SentencePiece:
    def __init__(self, path):
        import sentencepiece
        if path.endswith(".gguf"):
            self.model = sentencepiece.SentencePieceProcessor(model_proto=model_of_gguf(path))
        else:
            self.model = sentencepiece.SentencePieceProcessor(model_file=path)
        self.size = self.model.get_piece_size()
        self.variants = [("", [])]

    def encode(self, texts, variant):
        return [self.model.encode(t) for t in texts]

    def decode(self, ids, skip):
        return [self.model.decode(i) for i in ids] if skip else None

    def valid(self, i):
        return True


def model_of_gguf(path):
    """The tokenizer.model that a GGUF file's tokenizer was made from."""
    from gguf import GGUFReader
    from sentencepiece import sentencepiece_model_pb2
    fields = GGUFReader(path).fields

    def get(key, default):
        return fields["tokenizer.ggml." + key].contents() if "tokenizer.ggml." + key in fields else default

    model = sentencepiece_model_pb2.ModelProto()
    for text, score, kind in zip(get("tokens", []), get("scores", []), get("token_type", [])):
        model.pieces.add(piece=text, score=score, type=kind)
    unigram = get("model", "") == "t5"
    model.trainer_spec.model_type = 1 if unigram else 2
    model.trainer_spec.byte_fallback = any(p.type == 6 for p in model.pieces)
    model.normalizer_spec.add_dummy_prefix = get("add_space_prefix", True)
    model.normalizer_spec.remove_extra_whitespaces = get("remove_extra_whitespaces", unigram)
    model.normalizer_spec.precompiled_charsmap = bytes(get("precompiled_charsmap", b""))
    return model.SerializeToString()


def open_reference(model):
    for name in ("", "/tokenizer.json", "/tokenizer.model"):
        if os.path.isfile(model + name):
            return (Json if (model + name).endswith(".json") else SentencePiece)(model + name)
    sys.exit(f"{model}: no tokenizer.json or tokenizer.model")


def check(what, inputs, expected, got):
    bad = [i for i in range(len(inputs)) if expected[i] != got[i]]
    print(f"  {what}: {len(inputs)} compared, {len(bad)} differ", flush=True)
    for i in bad[:5]:
        print(f"    {inputs[i]!r}\n      expected {expected[i]!r}\n      got      {got[i]!r}")
    return len(bad)


def compare(program, model, texts, seed):
    model, _, original = model.partition("=")
    reference = open_reference(original or model)
    if original and isinstance(reference, Json):
        reference.variants = [v for v in reference.variants if "--add-special" not in v[1]]
    print(f"{model}:", flush=True)
    bad, ids = 0, None
    for name, options in reference.variants:
        some = texts if ids is None else texts[:len(texts) // 10]
        expected = reference.encode(some, options)
        ids = ids or expected
        bad += check(f"encode {name}".strip(), some, expected, run(program, model, options, some))
    r = random.Random(seed)
    good = [i for i in range(reference.size) if reference.valid(i)]
    ids = ids[:len(texts) // 4] + [[r.choice(good) for _ in range(r.randint(0, 12))] for _ in range(len(texts) // 4)]
    for skip in (True, False):
        expected = reference.decode(ids, skip)
        if expected is not None:
            options = ["--decode"] + ([] if skip else ["--keep-special"])
            bad += check(f"decode{' skipping special' if skip else ''}", ids, expected,
                         run(program, model, options, ids))
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    texts = strings.make(args.count, args.seed)
    bad = sum(compare(args.penstock, m.rstrip("/"), texts, args.seed) for m in args.models)
    sys.exit(bad > 0)


main()
