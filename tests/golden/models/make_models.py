#!/usr/bin/env python3
"""Writes the golden models and what transformers says about them.

  make_models.py           tiny random models of every family, one folder each, with expected.json
  make_models.py --real    real.json, from the real models in ../shared (needs sentencepiece, gguf)

Run from the repository's root with torch, transformers and safetensors installed. The same versions
write the same bytes. Weights are BF16 (F32 in one) so that files stay small; the reference is float32
arithmetic on these weights.

expected.json: the tokens are token_at(i) for i < length; for each position, the log probability of the
token that follows it in the sequence and the five most probable tokens.
"""
import json
import os
import shutil
import sys

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = 5


def token_at(i, vocab):
    """Formula, not data: the C test has the same."""
    return (((i + 1) * 2654435761) & 0xFFFFFFFF) // 65536 % vocab


BASE = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=1024,
            rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2, tie_word_embeddings=False)


def llama(**more):
    return transformers.LlamaConfig(**{**BASE, **more})


def plain(theta):
    return {"rope_type": "default", "rope_theta": theta}


# name -> configuration, tokens, how config.json and the weights are stored
MODELS = {
    "llama-plain": (llama(rope_parameters=plain(5e5)), 600, {"old": True, "dtype": torch.float32,
                                                             "shards": True}),
    "llama-linear": (llama(head_dim=20, tie_word_embeddings=True,
                           rope_parameters={"rope_type": "linear", "factor": 2.5, "rope_theta": 1e4}),
                     600, {"old": True}),
    "llama-llama3": (llama(max_position_embeddings=16384, num_attention_heads=2,
                           num_key_value_heads=1, head_dim=20,
                           rope_parameters={"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0,
                                            "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                            "original_max_position_embeddings": 1024}), 8400, {}),
    "llama-yarn": (llama(max_position_embeddings=8192, num_attention_heads=2, num_key_value_heads=2,
                         head_dim=36,
                         rope_parameters={"rope_type": "yarn", "rope_theta": 1e4, "factor": 16.0,
                                          "original_max_position_embeddings": 512}), 5000, {}),
    "llama-dynamic": (llama(max_position_embeddings=512, num_attention_heads=2, num_key_value_heads=1,
                            rope_parameters={"rope_type": "dynamic", "factor": 4.0,
                                             "rope_theta": 1e4}), 4500, {"old": True}),
    "llama-bias": (llama(attention_bias=True, mlp_bias=True, hidden_act="gelu_pytorch_tanh",
                         num_attention_heads=6, num_key_value_heads=3, head_dim=12, hidden_size=36,
                         rope_parameters=plain(1e4)), 300, {}),
    "mistral-window": (transformers.MistralConfig(**{**BASE, "num_attention_heads": 3,
                                                     "num_key_value_heads": 1, "hidden_size": 36,
                                                     "head_dim": 20, "sliding_window": 48,
                                                     "max_position_embeddings": 32768,
                                                     "rope_parameters": plain(1e6)}), 4500, {}),
    "qwen2-bias": (transformers.Qwen2Config(**{**BASE, "tie_word_embeddings": True,
                                               "rope_parameters": plain(1e6)}), 600, {}),
    "qwen2-late-window": (transformers.Qwen2Config(**{**BASE, "num_hidden_layers": 3,
                                                      "use_sliding_window": True,
                                                      "sliding_window": 20, "max_window_layers": 1,
                                                      "rope_parameters": plain(1e4)}), 600, {}),
    "qwen3-qk-norm": (transformers.Qwen3Config(**{**BASE, "head_dim": 24,
                                                  "rope_parameters": plain(1e6)}), 600, {}),
}


def randomise(model, seed):
    """Weights of a size at which attention is sharp and logits spread, unlike at initialisation."""
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in model.named_parameters():
        noise = torch.randn(tensor.shape, generator=generator)
        if "norm" in name:
            tensor.data = 1 + 0.2 * noise
        elif tensor.dim() == 1:
            tensor.data = 0.3 * noise
        else:
            scale = {"q_proj": 1.4, "k_proj": 1.4, "lm_head": 2.0, "embed_tokens": 2.0}
            factor = next((v for k, v in scale.items() if k in name), 1.0)
            tensor.data = factor * noise / tensor.shape[1] ** 0.5


def old_spelling(path):
    """Rewrites config.json as releases before rope_parameters wrote it."""
    with open(path) as f:
        config = json.load(f)
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type")
    config["rope_scaling"] = None if kind == "default" else {"type": kind, **rope}
    config["torch_dtype"] = config.pop("dtype")
    with open(path, "w") as f:
        json.dump(config, f, indent=1, sort_keys=True)
        f.write("\n")


def logprobs_of(model, ids):
    """[length][vocab] of float32; in the model's eager attention, a few queries at a time."""
    with torch.no_grad():
        return torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)


def positions(length):
    some = {0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 100, 255, 256, 299, 511, 512, 513,
            598, 1023, 1024, 2047, 2048, 4095, 4096, 4097, 4498, 4998, 8191, 8192, 8193, 8300, 8398}
    return sorted(p for p in some if p < length - 1)


def write_model(name, config, length, how, seed):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    model = transformers.AutoModelForCausalLM.from_config(config)
    randomise(model, seed)
    model = model.to(how.get("dtype", torch.bfloat16))
    model.save_pretrained(folder, max_shard_size="60KB" if how.get("shards") else "10MB")
    generation = os.path.join(folder, "generation_config.json")
    if os.path.exists(generation):
        os.remove(generation)
    if how.get("old"):
        old_spelling(os.path.join(folder, "config.json"))
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="sdpa").eval()
    ids = [token_at(i, config.vocab_size) for i in range(length)]
    logprobs = logprobs_of(model, ids)
    expected = []
    for p in positions(length):
        top = torch.topk(logprobs[p], TOP)
        expected.append({"position": p, "next": round(logprobs[p][ids[p + 1]].item(), 6),
                         "ids": top.indices.tolist(),
                         "logprobs": [round(x, 6) for x in top.values.tolist()]})
    with open(os.path.join(folder, "expected.json"), "w") as f:
        f.write('{"length": %d, "positions": [\n' % length)
        f.write(",\n".join(json.dumps(e) for e in expected))
        f.write("\n]}\n")
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
    print(f"{name}: {size} bytes, {len(expected)} positions, spread "
          f"{logprobs.max(-1).values.mean().item():.2f}")


STORY = ("Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One "
         "day, she saw a big, shiny rock on the ground. Lily picked it up and showed it to her mommy. "
         "\"Look, Mommy! I found a pretty rock!\" she said. Her mommy smiled and said, \"Wow, Lily, that's a "
         "very nice rock. You can keep it in your room.\" Lily was very happy. She put the rock in her "
         "pocket and went back to play with her friends.")
REAL_TOKENS = 95
GREEDY_TOKENS = 60


def rounded(model, kind):
    """The model with its matrices replaced by what BF16, Q8_0 or Q4_0 leave of them."""
    from gguf import quants, GGMLQuantizationType
    for name, tensor in model.named_parameters():
        if tensor.dim() != 2:
            continue
        if kind == "BF16":
            tensor.data = tensor.data.bfloat16().float()
        else:
            packed = quants.quantize(tensor.detach().numpy(), GGMLQuantizationType[kind])
            tensor.data = torch.from_numpy(
                quants.dequantize(packed, GGMLQuantizationType[kind]).copy())
    return model


def tokenize(path):
    if os.path.exists(os.path.join(path, "tokenizer.model")):
        import sentencepiece
        return [1] + sentencepiece.SentencePieceProcessor(
            model_file=os.path.join(path, "tokenizer.model")).encode(STORY)
    return transformers.AutoTokenizer.from_pretrained(path)(STORY)["input_ids"]


def real_model(path):
    def load():
        return transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()

    model, ids = load(), tokenize(path)[:REAL_TOKENS]
    assert len(ids) == REAL_TOKENS, len(ids)

    def next_logprobs(m):
        logprobs = logprobs_of(m, ids)
        return [round(logprobs[i][ids[i + 1]].item(), 6) for i in range(len(ids) - 1)]

    out = {"path": path, "ids": ids, "f32": next_logprobs(model)}
    sequence = ids[:12]
    for _ in range(GREEDY_TOKENS):
        with torch.no_grad():
            sequence.append(model(torch.tensor([sequence])).logits[0, -1].argmax().item())
    out["greedy_prompt"], out["greedy"] = sequence[:12], sequence[12:]
    for kind in ("BF16", "Q8_0", "Q4_0"):
        out[kind.lower()] = next_logprobs(rounded(load(), kind))
    return out


def main():
    torch.set_num_threads(1)
    if "--real" in sys.argv:
        models = [real_model(f"../shared/models/{m}") for m in ("stories15M", "minimind2-small")]
        with open(os.path.join(HERE, "real.json"), "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(m) for m in models) + "\n]\n")
        return
    for seed, (name, (config, length, how)) in enumerate(MODELS.items()):
        write_model(name, config, length, how, seed)


if __name__ == "__main__":
    main()
