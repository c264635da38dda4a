#!/usr/bin/env python3
"""Trains the default model on the conversations of make_corpus.py; resumable, fixed seeds.

    train.py --corpus corpus.jsonl --out DIR [--steps N]

DIR receives tokenizer.json (trained first, on the same text), CORPUS.pt (the packed rows) and
checkpoint.pt (rewritten every --save-every steps; a second run continues from it, with the same
or another corpus). Same corpus, arguments, processor and library versions: same weights.

Two processes can share the work: start both with --workers 2, one with --worker 1.

Rows hold several conversations kept apart by a mask. Matrices are updated by Muon (momentum,
orthogonalised by Newton-Schulz iterations), embedding and norms by AdamW; the learning rate rises
over 40 steps and falls linearly to zero over the last --decay of the run.
"""

import argparse
import json
import os
import random
import time

import torch
import torch.distributed as dist
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from model import Config, Model, document_mask

# The pre-tokenizer pattern of Qwen2, so that the GGUF's tokenizer.ggml.pre = "qwen2" is true.
QWEN2_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
                 r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
ROW_LENGTHS = (128, 256, 1024)
BATCH_TOKENS = 4096


def train_tokenizer(corpus, vocab_size, path):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2_PATTERN), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(SPECIAL), show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    texts = (m["content"] for chat in corpus[:60000] for m in chat)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens(SPECIAL)
    if tokenizer.get_vocab_size() != vocab_size:
        raise SystemExit(f"the text gives a vocabulary of {tokenizer.get_vocab_size()} only")
    tokenizer.save(path)


def encode(tokenizer, messages):
    """ChatML -> (tokens, targets); targets are -1 but where the assistant speaks."""
    start, end = tokenizer.token_to_id("<|im_start|>"), tokenizer.token_to_id("<|im_end|>")
    newline = tokenizer.encode("\n").ids
    tokens, spoken = [], []
    for message in messages:
        head = [start] + tokenizer.encode(message["role"] + "\n").ids
        body = tokenizer.encode(message["content"]).ids + [end]
        own = message["role"] == "assistant"
        tokens += head + body + newline
        spoken += [False] * len(head) + [own] * len(body) + [False] * len(newline)
    targets = [t if s else -1 for t, s in zip(tokens[1:], spoken[1:])] + [-1]
    return tokens, targets


def pack(chats, fillers, length):
    """First-fit packing of (tokens, targets) into rows -> tokens, targets, documents [n, length].

    Every chat is placed; fillers (shorter chats) are taken from the end of their list to close
    the gaps that are left.
    """
    rows, open_rows = [], []
    for chat in chats:
        size = len(chat[0])
        row = next((row for row in open_rows if row["free"] >= size), None)
        if row is None:
            row = {"free": length, "chats": []}
            rows.append(row)
            open_rows.append(row)
        row["chats"].append(chat)
        row["free"] -= size
        open_rows = [row for row in open_rows[-200:] if row["free"] >= 12]
    for row in rows:
        while fillers and row["free"] >= len(fillers[-1][0]):
            row["free"] -= len(fillers[-1][0])
            row["chats"].append(fillers.pop())
    tokens = torch.zeros(len(rows), length, dtype=torch.int16)
    targets = torch.full((len(rows), length), -1, dtype=torch.int16)
    documents = torch.zeros(len(rows), length, dtype=torch.int16)
    for i, row in enumerate(rows):
        at = 0
        for number, (ids, wanted) in enumerate(row["chats"], 1):
            tokens[i, at:at + len(ids)] = torch.tensor(ids, dtype=torch.int16)
            targets[i, at:at + len(ids)] = torch.tensor(wanted, dtype=torch.int16)
            documents[i, at:at + len(ids)] = number
            at += len(ids)
    return tokens, targets, documents


def build_rows(corpus, tokenizer, path):
    buckets = {length: [] for length in ROW_LENGTHS}
    total = 0
    for messages in corpus:
        tokens, targets = encode(tokenizer, messages)
        total += len(tokens)
        fits = [length for length in ROW_LENGTHS if len(tokens) <= length]
        if fits:
            buckets[fits[0]].append((tokens, targets))
    rows = {}
    for length in reversed(ROW_LENGTHS):
        fillers = buckets[ROW_LENGTHS[0]] if length > ROW_LENGTHS[0] else []
        rows[length] = pack(buckets[length], fillers, length)
    torch.save(rows, path)
    shape = {length: len(row[0]) for length, row in rows.items()}
    print(f"{len(corpus)} conversations, {total} tokens; rows by length: {shape}", flush=True)


def plan_batches(rows, seed):
    """A shuffled list of (length, row numbers), every row once."""
    rng = random.Random(seed)
    batches = []
    for length, (tokens, _, _) in rows.items():
        order = list(range(len(tokens)))
        rng.shuffle(order)
        size = BATCH_TOKENS // length
        batches += [(length, order[i:i + size]) for i in range(0, len(order) - size + 1, size)]
    rng.shuffle(batches)
    return batches


class Muon(torch.optim.Optimizer):
    """Momentum whose update is orthogonalised, for the matrices inside the layers.

    With several workers each orthogonalises its share of the matrices and the rest are received.
    """

    def __init__(self, params, lr, worker, workers):
        super().__init__(params, {"lr": lr, "momentum": 0.95})
        self.worker, self.workers = worker, workers

    @torch.no_grad()
    def step(self):
        group = self.param_groups[0]
        updates = []
        for i, p in enumerate(group["params"]):
            state = self.state[p]
            if "m" not in state:
                state["m"] = torch.zeros_like(p)
            state["m"].lerp_(p.grad, 1 - group["momentum"])
            update = torch.zeros_like(p)
            if i % self.workers == self.worker:
                update.copy_(orthogonalise(p.grad.lerp(state["m"], group["momentum"])))
            updates.append(update)
        if self.workers > 1:
            sum_over_workers(updates)
        for p, update in zip(group["params"], updates):
            p.mul_(1 - group["lr"] * 0.05)
            p.add_(update, alpha=-group["lr"] * max(1.0, p.shape[0] / p.shape[1]) ** 0.5)


def sum_over_workers(tensors):
    flat = torch.cat([t.flatten() for t in tensors])
    dist.all_reduce(flat)
    for t, part in zip(tensors, flat.split([t.numel() for t in tensors])):
        t.copy_(part.view_as(t))


def orthogonalise(g):
    x = g.bfloat16()
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.T.contiguous()
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return x.T if tall else x


class Trainer:
    def __init__(self, args):
        self.args = args
        torch.manual_seed(args.seed)
        self.model = Model(Config())
        matrices = [p for n, p in self.model.named_parameters() if p.dim() == 2 and "layers" in n]
        others = [p for n, p in self.model.named_parameters() if p.dim() != 2 or "layers" not in n]
        self.optimizers = [Muon(matrices, args.lr, args.worker, args.workers),
                           torch.optim.AdamW(others, lr=args.lr / 5, betas=(0.9, 0.95),
                                             weight_decay=0.0)]
        self.step = 0
        self.path = os.path.join(args.out, "checkpoint.pt")
        if os.path.exists(self.path):
            self.load()

    def load(self):
        state = torch.load(self.path)
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"]):
            optimizer.load_state_dict(saved)
        self.step = state["step"]

    def save(self):
        if self.args.worker > 0:
            return
        state = {"model": self.model.state_dict(), "step": self.step,
                 "optimizers": [optimizer.state_dict() for optimizer in self.optimizers]}
        torch.save(state, self.path + ".part")
        os.replace(self.path + ".part", self.path)

    def rate(self):
        """The learning rate at this step, as a fraction of its peak."""
        left = (self.args.steps - self.step) / (self.args.steps * self.args.decay)
        return min(1.0, (self.step + 1) / 40, left)

    def update(self, tokens, targets, documents):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = self.model.loss(tokens, targets, document_mask(documents))
        loss.backward()
        if self.args.workers > 1:
            gradients = [p.grad for p in self.model.parameters()]
            torch._foreach_div_(gradients, self.args.workers)
            sum_over_workers(gradients)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer, peak in zip(self.optimizers, (self.args.lr, self.args.lr / 5)):
            optimizer.param_groups[0]["lr"] = peak * self.rate()
            optimizer.step()
            optimizer.zero_grad()
        self.step += 1
        return loss.item()

    def run(self, rows):
        batches = plan_batches(rows, self.args.seed)
        print(f"{len(batches)} batches of {BATCH_TOKENS} tokens; from step {self.step}", flush=True)
        for layer in self.model.layers:
            layer.compile(dynamic=False)
        began, first, losses = time.time(), self.step, []
        while self.step < min(self.args.steps, self.args.stop_at):
            length, numbers = batches[self.step % len(batches)]
            numbers = numbers[self.args.worker::self.args.workers]
            tokens, targets, documents = (part[numbers].long() for part in rows[length])
            losses.append(self.update(tokens, targets, documents))
            if self.step % 25 == 0:
                speed = (self.step - first) * BATCH_TOKENS / (time.time() - began)
                print(f"step {self.step} loss {sum(losses) / len(losses):.4f} "
                      f"{speed:.0f} tokens/s {time.time() - began:.0f} s", flush=True)
                losses = []
            if self.step % self.args.save_every == 0:
                self.save()
        self.save()


def prepare(args, rows_path):
    """Reads the corpus; trains the tokenizer if there is none yet; packs the rows."""
    with open(args.corpus, encoding="utf-8") as lines:
        corpus = [json.loads(line)["messages"] for line in lines]
    tokenizer_path = os.path.join(args.out, "tokenizer.json")
    if not os.path.exists(tokenizer_path):
        train_tokenizer(corpus, Config().vocab_size, tokenizer_path)
    build_rows(corpus, Tokenizer.from_file(tokenizer_path), rows_path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--decay", type=float, default=0.5, help="share of the run that decays")
    parser.add_argument("--lr", type=float, default=0.02, help="of Muon; AdamW has a fifth")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--save-every", type=int, default=100)
    parser.add_argument("--stop-at", type=int, default=1 << 30, help="leave after this step")
    parser.add_argument("--workers", type=int, default=1, help="processes that share each batch")
    parser.add_argument("--worker", type=int, default=0, help="the number of this process")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    os.makedirs(args.out, exist_ok=True)
    rows_path = os.path.join(args.out, os.path.basename(args.corpus) + ".pt")
    if args.worker == 0 and not os.path.exists(rows_path):
        prepare(args, rows_path)
    if args.workers > 1:  # the others wait here until worker 0 has prepared the rows
        dist.init_process_group("gloo", init_method=f"file://{os.path.abspath(args.out)}/meeting",
                                rank=args.worker, world_size=args.workers)
    Trainer(args).run(torch.load(rows_path))


if __name__ == "__main__":
    main()
