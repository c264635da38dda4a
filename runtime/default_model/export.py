#!/usr/bin/env python3
"""Turns a checkpoint of train.py into the file the server embeds.

    export.py --run DIR --gguf default_model.gguf [--hf DIR]

Matrices become Q8_0, norms stay F32; the tokenizer and the chat template are inside. --hf also
writes the unquantised weights as a directory that transformers loads (Qwen3ForCausalLM).
"""

import argparse
import json
import os

import gguf
import numpy
import torch
from safetensors.torch import save_file

from model import Config

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

GGUF_NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down"}


def gguf_name(name):
    """'layers.3.mlp.up_proj.weight' -> 'blk.3.ffn_up.weight'"""
    if name == "embed_tokens.weight":
        return "token_embd.weight"
    if name == "norm.weight":
        return "output_norm.weight"
    _, number, rest = name.split(".", 2)
    return f"blk.{number}.{GGUF_NAMES[rest.removesuffix('.weight')]}.weight"


def add_metadata(writer, cfg):
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name("penstock-default")
    writer.add_author("The Penstock project")
    writer.add_description("The small chat model built into Penstock, trained on text of its own.")
    writer.add_license("mit")
    writer.add_languages(["en"])
    # So small a model says sensible things when it takes the likeliest token, and not when it guesses.
    writer.add_float32("general.sampling.temp", 0.0)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_context_length(cfg.max_position_embeddings)
    writer.add_embedding_length(cfg.hidden_size)
    writer.add_block_count(cfg.num_hidden_layers)
    writer.add_feed_forward_length(cfg.intermediate_size)
    writer.add_head_count(cfg.num_attention_heads)
    writer.add_head_count_kv(cfg.num_key_value_heads)
    writer.add_key_length(cfg.head_dim)
    writer.add_value_length(cfg.head_dim)
    writer.add_layer_norm_rms_eps(cfg.rms_norm_eps)
    writer.add_rope_freq_base(cfg.rope_theta)
    writer.add_vocab_size(cfg.vocab_size)


def add_tokenizer(writer, description):
    vocab = {index: token for token, index in description["model"]["vocab"].items()}
    special = {token["id"]: token["content"] for token in description["added_tokens"]}
    vocab.update(special)
    kinds = [gguf.TokenType.CONTROL if i in special else gguf.TokenType.NORMAL
             for i in range(len(vocab))]
    ids = {content: index for index, content in special.items()}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([vocab[i] for i in range(len(vocab))])
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in description["model"]["merges"]])
    writer.add_bos_token_id(ids["<|endoftext|>"])
    writer.add_eos_token_id(ids["<|im_end|>"])
    writer.add_pad_token_id(ids["<|endoftext|>"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def write_gguf(path, cfg, weights, description):
    writer = gguf.GGUFWriter(path, "qwen3")
    add_metadata(writer, cfg)
    add_tokenizer(writer, description)
    for name, weight in weights.items():
        data = weight.float().numpy()
        if data.ndim == 1:
            writer.add_tensor(gguf_name(name), numpy.ascontiguousarray(data))
            continue
        packed = gguf.quants.quantize(data, gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor(gguf_name(name), packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def hf_config(cfg, description):
    ids = {token["content"]: token["id"] for token in description["added_tokens"]}
    return {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_act": "silu",
        "tie_word_embeddings": True, "attention_bias": False, "torch_dtype": "float32",
        "bos_token_id": ids["<|endoftext|>"], "eos_token_id": ids["<|im_end|>"],
        "vocab_size": cfg.vocab_size, "hidden_size": cfg.hidden_size,
        "intermediate_size": cfg.intermediate_size, "num_hidden_layers": cfg.num_hidden_layers,
        "num_attention_heads": cfg.num_attention_heads,
        "num_key_value_heads": cfg.num_key_value_heads, "head_dim": cfg.head_dim,
        "rope_theta": cfg.rope_theta, "rms_norm_eps": cfg.rms_norm_eps,
        "max_position_embeddings": cfg.max_position_embeddings}


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(value, out, indent=2)


def write_hf(path, cfg, weights, description):
    os.makedirs(path, exist_ok=True)
    save_file({"model." + name: weight.contiguous() for name, weight in weights.items()},
              os.path.join(path, "model.safetensors"), metadata={"format": "pt"})
    write_json(os.path.join(path, "config.json"), hf_config(cfg, description))
    write_json(os.path.join(path, "tokenizer.json"), description)
    write_json(os.path.join(path, "tokenizer_config.json"), {
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>", "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", required=True, help="the --out directory of train.py")
    parser.add_argument("--gguf", required=True)
    parser.add_argument("--hf")
    parser.add_argument("--blend", help="another such directory, to mix weights with")
    parser.add_argument("--share", type=float, default=0.4, help="of --run in that mix")
    args = parser.parse_args()
    state = torch.load(os.path.join(args.run, "checkpoint.pt"))
    weights = state["model"]
    if args.blend:
        other = torch.load(os.path.join(args.blend, "checkpoint.pt"))["model"]
        weights = {name: other[name].lerp(weights[name], args.share) for name in weights}
    with open(os.path.join(args.run, "tokenizer.json"), encoding="utf-8") as text:
        description = json.load(text)
    write_gguf(args.gguf, Config(), weights, description)
    if args.hf:
        write_hf(args.hf, Config(), weights, description)
    print(f"step {state['step']}: {os.path.getsize(args.gguf)} bytes")


if __name__ == "__main__":
    main()
