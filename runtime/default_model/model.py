"""The network of the embedded default model: Qwen3 (GQA, QK-norm, SwiGLU, tied embeddings).

Written out in plain PyTorch because the training loop needs two things the library class does
not give cheaply on a CPU: packed rows (several conversations in one row, kept apart by a mask)
and logits for the assistant's tokens alone. Parameter names are those of transformers'
Qwen3ForCausalLM without the "model." prefix, so export.py only has to add it.
"""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass
class Config:
    vocab_size: int = 3072
    hidden_size: int = 256
    intermediate_size: int = 768
    num_hidden_layers: int = 6
    num_attention_heads: int = 8
    num_key_value_heads: int = 4
    head_dim: int = 64
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-6
    max_position_embeddings: int = 4096


def rope_tables(cfg, length):
    """Returns cos, sin [length, head_dim] in the rotate-half layout."""
    exponent = torch.arange(0, cfg.head_dim, 2, dtype=torch.float32) / cfg.head_dim
    angle = torch.arange(length, dtype=torch.float32)[:, None] * cfg.rope_theta ** -exponent
    angle = torch.cat([angle, angle], dim=-1)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return x * cos + turned * sin


class Norm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Attention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        q_size = cfg.num_attention_heads * cfg.head_dim
        kv_size = cfg.num_key_value_heads * cfg.head_dim
        self.q_proj = nn.Linear(cfg.hidden_size, q_size, bias=False)
        self.k_proj = nn.Linear(cfg.hidden_size, kv_size, bias=False)
        self.v_proj = nn.Linear(cfg.hidden_size, kv_size, bias=False)
        self.o_proj = nn.Linear(q_size, cfg.hidden_size, bias=False)
        self.q_norm = Norm(cfg.head_dim, cfg.rms_norm_eps)
        self.k_norm = Norm(cfg.head_dim, cfg.rms_norm_eps)

    def forward(self, x, cos, sin, mask):
        cfg = self.cfg
        rows, length, _ = x.shape
        q = self.q_proj(x).view(rows, length, cfg.num_attention_heads, cfg.head_dim)
        k = self.k_proj(x).view(rows, length, cfg.num_key_value_heads, cfg.head_dim)
        v = self.v_proj(x).view(rows, length, cfg.num_key_value_heads, cfg.head_dim)
        q = rotate(self.q_norm(q).transpose(1, 2), cos, sin).to(v.dtype)
        k = rotate(self.k_norm(k).transpose(1, 2), cos, sin).to(v.dtype)
        group = cfg.num_attention_heads // cfg.num_key_value_heads
        q = q.reshape(rows, cfg.num_key_value_heads, group * length, cfg.head_dim)
        scores = q @ k.transpose(2, 3) * cfg.head_dim ** -0.5
        scores = scores.float().view(rows, -1, group, length, length) + mask
        weights = scores.softmax(-1).to(v.dtype).view(rows, -1, group * length, length)
        out = (weights @ v.transpose(1, 2)).view(rows, -1, length, cfg.head_dim)
        return self.o_proj(out.transpose(1, 2).reshape(rows, length, -1))


class Mlp(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.gate_proj = nn.Linear(cfg.hidden_size, cfg.intermediate_size, bias=False)
        self.up_proj = nn.Linear(cfg.hidden_size, cfg.intermediate_size, bias=False)
        self.down_proj = nn.Linear(cfg.intermediate_size, cfg.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.input_layernorm = Norm(cfg.hidden_size, cfg.rms_norm_eps)
        self.self_attn = Attention(cfg)
        self.post_attention_layernorm = Norm(cfg.hidden_size, cfg.rms_norm_eps)
        self.mlp = Mlp(cfg)

    def forward(self, x, cos, sin, mask):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed_tokens = nn.Embedding(cfg.vocab_size, cfg.hidden_size)
        self.layers = nn.ModuleList(Layer(cfg) for _ in range(cfg.num_hidden_layers))
        self.norm = Norm(cfg.hidden_size, cfg.rms_norm_eps)
        cos, sin = rope_tables(cfg, cfg.max_position_embeddings)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                nn.init.normal_(weight, std=0.02 / (2 * cfg.num_hidden_layers) ** 0.5)

    def hidden(self, tokens, mask):
        """tokens [rows, length], additive mask [rows, 1, 1, length, length] -> [rows, length, d]"""
        length = tokens.shape[1]
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, self.cos[:length], self.sin[:length], mask)
        return self.norm(x)

    def loss(self, tokens, targets, mask):
        """Mean cross entropy over the positions whose target is >= 0."""
        x = self.hidden(tokens, mask).flatten(0, 1)
        targets = targets.flatten()
        chosen = (targets >= 0).nonzero().squeeze(1)
        logits = F.linear(x[chosen], self.embed_tokens.weight)
        return F.cross_entropy(logits.float(), targets[chosen])


def document_mask(documents):
    """Document numbers [rows, length] -> additive causal mask that keeps documents apart."""
    length = documents.shape[1]
    same = documents[:, :, None] == documents[:, None, :]
    allowed = same & torch.ones(length, length, dtype=torch.bool).tril()
    mask = torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf"))
    return mask[:, None, None]
