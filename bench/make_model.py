#!/usr/bin/env python3
"""Writes a GGUF of random weights in a real model's shape: what speed is measured on where no weights are.

    pip install gguf numpy
    bench/make_model.py --shape qwen3-0.6b --type q8_0 --tokenizer ../shared/tokenizers/qwen3 OUT.gguf

Both Penstock and llama.cpp read the file. Every matrix has the same type, so that both multiply the same
bytes (llama-quantize would mix types). The tokenizer is real, the text that comes out is not.
"""
import argparse
import json
import pathlib

import gguf
import numpy as np

SHAPES = {  # hidden, layers, heads, KV heads, head size, ffn, vocabulary, tied
    "qwen3-0.6b": (1024, 28, 16, 8, 128, 3072, 151936, True),
    "qwen3-1.7b": (2048, 28, 16, 8, 128, 6144, 151936, True),
    "qwen3-4b": (2560, 36, 32, 8, 128, 9728, 151936, True),
    "tiny": (256, 4, 8, 4, 64, 768, 151936, True),
}
TYPES = {
    "f32": gguf.GGMLQuantizationType.F32,
    "f16": gguf.GGMLQuantizationType.F16,
    "bf16": gguf.GGMLQuantizationType.BF16,
    "q8_0": gguf.GGMLQuantizationType.Q8_0,
    "q4_0": gguf.GGMLQuantizationType.Q4_0,
}


def add_tokenizer(writer, folder, vocab):
    model = json.loads((folder / "tokenizer.json").read_text())
    tokens = [f"[unused{i}]" for i in range(vocab)]
    kinds = [gguf.TokenType.UNUSED] * vocab
    for token, index in model["model"]["vocab"].items():
        tokens[index], kinds[index] = token, gguf.TokenType.NORMAL
    for added in model["added_tokens"]:
        tokens[added["id"]] = added["content"]
        kinds[added["id"]] = gguf.TokenType.CONTROL if added["special"] else gguf.TokenType.USER_DEFINED
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_add_bos_token(False)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    if isinstance(config.get("chat_template"), str):
        writer.add_chat_template(config["chat_template"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="qwen3-0.6b")
    parser.add_argument("--type", choices=TYPES, default="q8_0")
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--context", type=int, default=40960)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("out")
    args = parser.parse_args()

    hidden, layers, heads, kv_heads, size, ffn, vocab, tied = SHAPES[args.shape]
    rng = np.random.default_rng(args.seed)
    writer = gguf.GGUFWriter(args.out, "qwen3")
    writer.add_name(f"random {args.shape}")
    writer.add_context_length(args.context)
    writer.add_embedding_length(hidden)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(ffn)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(size)
    writer.add_value_length(size)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    add_tokenizer(writer, args.tokenizer, vocab)

    kind = TYPES[args.type]

    def matrix(name, rows, cols):
        values = rng.standard_normal((rows, cols), dtype=np.float32) * np.float32(0.6 / cols**0.5)
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)

    def vector(name, count):
        writer.add_tensor(name, np.ones(count, dtype=np.float32))

    matrix("token_embd.weight", vocab, hidden)
    for i in range(layers):
        vector(f"blk.{i}.attn_norm.weight", hidden)
        matrix(f"blk.{i}.attn_q.weight", heads * size, hidden)
        matrix(f"blk.{i}.attn_k.weight", kv_heads * size, hidden)
        matrix(f"blk.{i}.attn_v.weight", kv_heads * size, hidden)
        vector(f"blk.{i}.attn_q_norm.weight", size)
        vector(f"blk.{i}.attn_k_norm.weight", size)
        matrix(f"blk.{i}.attn_output.weight", hidden, heads * size)
        vector(f"blk.{i}.ffn_norm.weight", hidden)
        matrix(f"blk.{i}.ffn_gate.weight", ffn, hidden)
        matrix(f"blk.{i}.ffn_up.weight", ffn, hidden)
        matrix(f"blk.{i}.ffn_down.weight", hidden, ffn)
    vector("output_norm.weight", hidden)
    if not tied:
        matrix("output.weight", vocab, hidden)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
