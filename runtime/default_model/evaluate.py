#!/usr/bin/env python3
"""Asks a model the questions of a file, greedily, and counts the right answers.

    evaluate.py default_model.gguf questions.jsonl [--show-all]

The model is a GGUF of export.py (weights dequantised, tokenizer and template taken from the file)
or a directory for transformers; either way it runs in transformers, float32, on one thread.

The rule, the same as in the test suite: a reply is right if at least one string of "accept" and
every string of "require" occurs in it, ignoring ASCII case, as whole words: the characters next
to the match, if any, are neither ASCII letters nor digits.
"""

import argparse
import collections
import json
import os
import re

import jinja2
import torch
from tokenizers import Tokenizer
from transformers import Qwen3Config, Qwen3ForCausalLM

MAX_NEW_TOKENS = 320
BATCH = 48


def contains(reply, wanted):
    pattern = r"(?<![A-Za-z0-9])" + re.escape(wanted) + r"(?![A-Za-z0-9])"
    return re.search(pattern, reply, re.IGNORECASE | re.ASCII) is not None


def is_right(reply, question):
    return (any(contains(reply, text) for text in question["accept"])
            and all(contains(reply, text) for text in question.get("require", [])))


def load_hf(path):
    model = Qwen3ForCausalLM.from_pretrained(path, dtype=torch.float32)
    with open(os.path.join(path, "tokenizer_config.json"), encoding="utf-8") as text:
        template = json.load(text)["chat_template"]
    return model, Tokenizer.from_file(os.path.join(path, "tokenizer.json")), template


def field(reader, name):
    return reader.get_field(name).contents()


def gguf_tokenizer(reader):
    from train import QWEN2_PATTERN
    from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers
    tokens = field(reader, "tokenizer.ggml.tokens")
    kinds = field(reader, "tokenizer.ggml.token_type")
    merges = [tuple(line.split(" ")) for line in field(reader, "tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2_PATTERN), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([token for token, kind in zip(tokens, kinds) if kind == 3])
    return tokenizer


def load_gguf(path):
    import gguf
    from export import gguf_name
    reader = gguf.GGUFReader(path)
    get = lambda key: field(reader, "qwen3." + key)
    config = Qwen3Config(
        vocab_size=len(field(reader, "tokenizer.ggml.tokens")), hidden_size=get("embedding_length"),
        intermediate_size=get("feed_forward_length"), num_hidden_layers=get("block_count"),
        num_attention_heads=get("attention.head_count"),
        num_key_value_heads=get("attention.head_count_kv"), head_dim=get("attention.key_length"),
        rms_norm_eps=get("attention.layer_norm_rms_epsilon"),
        max_position_embeddings=get("context_length"), tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": get("rope.freq_base")},
        bos_token_id=field(reader, "tokenizer.ggml.bos_token_id"),
        eos_token_id=field(reader, "tokenizer.ggml.eos_token_id"))
    model = Qwen3ForCausalLM(config)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    with torch.no_grad():
        for name, parameter in model.model.named_parameters():
            tensor = tensors.pop(gguf_name(name))
            data = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            parameter.copy_(torch.from_numpy(data.copy()).view_as(parameter))
    if tensors:
        raise SystemExit(f"unused tensors: {sorted(tensors)}")
    model.tie_weights()
    return model, gguf_tokenizer(reader), field(reader, "tokenizer.chat_template")


@torch.no_grad()
def generate(model, prompts, stop):
    """Greedy decoding of several prompts at once, padded on the left -> lists of new tokens."""
    width = max(len(ids) for ids in prompts)
    feed = torch.tensor([[stop] * (width - len(ids)) + ids for ids in prompts])
    mask = torch.tensor([[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts])
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    replies, cache = [[] for _ in prompts], None
    open_rows = set(range(len(prompts)))
    for _ in range(MAX_NEW_TOKENS):
        out = model(feed, attention_mask=mask, position_ids=positions, past_key_values=cache,
                    use_cache=True, logits_to_keep=1)
        cache = out.past_key_values
        tokens = out.logits[:, -1].argmax(-1)
        for row in list(open_rows):
            if tokens[row] == stop:
                open_rows.remove(row)
            else:
                replies[row].append(int(tokens[row]))
        if not open_rows:
            break
        feed, positions = tokens[:, None], positions[:, -1:] + 1
        mask = torch.cat([mask, torch.ones_like(feed)], dim=1)
    return replies


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("questions")
    parser.add_argument("--show-all", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    load = load_hf if os.path.isdir(args.model) else load_gguf
    model, tokenizer, template = load(args.model)
    model.eval()
    template = jinja2.Template(template, trim_blocks=True, lstrip_blocks=True)
    stop = tokenizer.token_to_id("<|im_end|>")
    right, asked = collections.Counter(), collections.Counter()
    with open(args.questions, encoding="utf-8") as lines:
        questions = [json.loads(line) for line in lines]
    questions.sort(key=lambda question: "stor" in question["category"])  # long replies together
    for start in range(0, len(questions), BATCH):
        batch = questions[start:start + BATCH]
        prompts = [tokenizer.encode(template.render(messages=question["messages"],
                                                    add_generation_prompt=True)).ids
                   for question in batch]
        for question, ids in zip(batch, generate(model, prompts, stop)):
            reply = tokenizer.decode(ids)
            good = is_right(reply, question)
            asked[question["category"]] += 1
            right[question["category"]] += good
            if args.show_all or not good:
                last = question["messages"][-1]["content"]
                print(f"{'ok   ' if good else 'WRONG'} {last!r} -> {reply!r}", flush=True)
    for category in asked:
        print(f"{category:20} {right[category]:4} of {asked[category]:4}")
    total, count = sum(right.values()), sum(asked.values())
    print(f"{'all':20} {total:4} of {count:4} = {100 * total / count:.1f} %")


if __name__ == "__main__":
    main()
