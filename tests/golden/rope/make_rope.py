#!/usr/bin/env python3
"""Writes rope.json: rotary frequencies and attention factors as transformers computes them.

Run with torch and transformers installed: tests/golden/rope/make_rope.py
Every case holds a whole config.json, so the C test also covers reading both spellings.
"""
import json
import os

import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192}
YARN = {"factor": 4.0, "original_max_position_embeddings": 32768}

# name, head size, max_position_embeddings, served length, settings
CASES = [
    ("plain old", 64, 2048, 0, {"rope_theta": 500000.0}),
    ("plain new", 128, 2048, 0, {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}),
    ("plain without theta", 20, 2048, 0, {}),
    ("linear old", 36, 8192, 0, {"rope_theta": 1e4, "rope_scaling": {"type": "linear", "factor": 2.5}}),
    ("linear new", 64, 8192, 0,
     {"rope_parameters": {"rope_type": "linear", "factor": 3, "rope_theta": 1e5}}),
    ("llama3 old", 128, 131072, 0,
     {"rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", **LLAMA3}}),
    ("llama3 new", 64, 131072, 0,
     {"rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, **LLAMA3, "factor": 32.0}}),
    ("llama3 odd head", 20, 1024, 0,
     {"rope_parameters": {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0,
                          "low_freq_factor": 1.0, "high_freq_factor": 3.0,
                          "original_max_position_embeddings": 64}}),
    ("yarn old", 128, 32768, 0, {"rope_theta": 1e6, "rope_scaling": {"type": "yarn", **YARN}}),
    ("yarn new", 64, 131072, 0, {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, **YARN}}),
    ("yarn attention_factor", 64, 131072, 0,
     {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "attention_factor": 1.25, **YARN}}),
    ("yarn mscale", 64, 163840, 0,
     {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 40.0, "mscale": 1.0,
                          "mscale_all_dim": 0.7, "beta_fast": 32, "beta_slow": 1,
                          "original_max_position_embeddings": 4096}}),
    ("yarn betas", 36, 4096, 0,
     {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 16.0, "beta_fast": 24.0,
                          "beta_slow": 2.0, "original_max_position_embeddings": 256}}),
    ("yarn not truncated", 64, 131072, 0,
     {"rope_parameters": {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0,
                          "truncate": False, "original_max_position_embeddings": 4096}}),
    ("dynamic within", 64, 2048, 2048,
     {"rope_theta": 1e4, "rope_scaling": {"type": "dynamic", "factor": 2.0}}),
    ("dynamic beyond old", 64, 2048, 8192,
     {"rope_theta": 1e4, "rope_scaling": {"type": "dynamic", "factor": 2.0}}),
    ("dynamic beyond new", 20, 512, 5000,
     {"rope_parameters": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e6}}),
]


def case(name, head_dim, max_position, served, settings):
    config = {"architectures": ["LlamaForCausalLM"], "hidden_size": head_dim * 4,
              "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": head_dim,
              "num_hidden_layers": 1, "intermediate_size": 64, "vocab_size": 128,
              "max_position_embeddings": max_position, **settings}
    parsed = transformers.LlamaConfig(**json.loads(json.dumps(config)))
    if served:
        inv_freq, factor = ROPE_INIT_FUNCTIONS["dynamic"](parsed, "cpu", seq_len=served)
    else:
        rope = LlamaRotaryEmbedding(parsed)
        inv_freq, factor = rope.inv_freq, rope.attention_scaling
    return {"name": name, "served_len": served or max_position, "config": config,
            "attention_factor": factor, "inv_freq": [float(f"{x:.9g}") for x in inv_freq.tolist()]}


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rope.json")
    cases = [case(*c) for c in CASES]
    with open(path, "w") as out:
        out.write('{"transformers": "%s", "cases": [\n' % transformers.__version__)
        out.write(",\n".join(json.dumps(c) for c in cases))
        out.write("\n]}\n")


if __name__ == "__main__":
    main()
