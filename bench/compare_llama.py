#!/usr/bin/env python3
"""Penstock against llama.cpp on the same GGUF files, both sides alternately in one run on one machine.

    bench/compare_llama.py --llama FOLDER --rounds 5 Q8_0.gguf Q4_0.gguf BF16.gguf
    bench/compare_llama.py --llama FOLDER --rounds 5 --depth 8192 --tests depth Q4_0.gguf

FOLDER holds llama-bench and llama-batched-bench. Penstock is measured over HTTP (`penstock serve`, loaded by
`penstock bench serve`), llama.cpp inside its own benchmarks, without a server: the comparison favours it.
Behind --depth tokens llama.cpp runs with the better of -fa 0 and 1, found in a first round.
Prints the median of each side, its smallest and largest, and the ratio of the medians. Only the standard
library is used. Leave the machine alone while it runs.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Server:
    """`penstock serve` on one file, for the time of a with block."""

    def __init__(self, args, model, context):
        self.url = f"http://127.0.0.1:{args.port}"
        self.command = [args.penstock, "serve", model, "--host", "127.0.0.1", "--port", str(args.port),
                        "--threads", str(args.threads), "--max-num-seqs", "32", "--max-model-len", str(context)]
        if args.max_num_batched_tokens:
            self.command += ["--max-num-batched-tokens", str(args.max_num_batched_tokens)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            if self.process.poll() is not None:
                sys.exit(f"the server ended: {' '.join(self.command)}")
            try:
                urllib.request.urlopen(self.url + "/ready", timeout=5).close()
                return self
            except OSError:
                time.sleep(0.1)
        sys.exit("the server did not become ready")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def load(args, server, *options):
    """One run of `penstock bench serve`; its JSON. A seed of its own: nothing is in the prefix cache."""
    with tempfile.TemporaryDirectory() as folder:
        command = [args.penstock, "bench", "serve", "--base-url", server.url, "--ignore-eos", "--disable-tqdm",
                   "--seed", str(int.from_bytes(os.urandom(4), "big")), "--result-dir", folder,
                   "--result-filename", "r.json", "--percentile-metrics", "ttft,tpot,itl,e2el", *map(str, options)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        result = json.loads((pathlib.Path(folder) / "r.json").read_text())
    if result["failed"]:
        sys.exit(f"requests failed: {' '.join(command)}")
    return result


def single(prompt, new):
    return ["--num-prompts", 1, "--max-concurrency", 1, "--random-input-len", prompt, "--random-output-len", new]


def ours_prefill(args, server):
    return 512e3 / load(args, server, *single(512, 1))["mean_ttft_ms"]


def ours_decode(args, server):
    return 1e3 / load(args, server, *single(1, args.generate + 1))["mean_tpot_ms"]


def ours_streams(args, server):
    result = load(args, server, "--num-prompts", 16, "--max-concurrency", 16, "--random-input-len", 128,
                  "--random-output-len", 32)
    return 16 * (128 + 32) / result["duration"]


def behind(args, suffix, new):
    return ["--dataset-name", "prefix_repetition", "--prefix-repetition-prefix-len", args.depth,
            "--prefix-repetition-num-prefixes", 1, "--prefix-repetition-suffix-len", suffix,
            "--prefix-repetition-output-len", new, "--num-warmups", 1, "--num-prompts", 1, "--max-concurrency", 1]


def ours_depth_prefill(args, server):
    return 512e3 / load(args, server, *behind(args, 512, 1))["mean_ttft_ms"]


def ours_depth_decode(args, server):
    return 1e3 / load(args, server, *behind(args, 1, args.generate + 1))["mean_tpot_ms"]


def llama_bench(args, model, *options):
    command = [str(args.llama / "llama-bench"), "-m", model, "-t", str(args.threads), "-r", "1", "-o", "json",
               *map(str, options)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return [row["avg_ts"] for row in json.loads(run.stdout)]


def llama_streams(args, model):
    command = [str(args.llama / "llama-batched-bench"), "-m", model, "-t", str(args.threads), "-tb",
               str(args.threads), "-c", "4096", "-b", "2048", "-npp", "128", "-ntg", "32", "-npl", "16",
               "--output-format", "jsonl"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return rows[-1]["speed"]


def spread(values):
    return f"{statistics.median(values):8.1f} ({min(values):.1f}-{max(values):.1f})"


def report(model, test, ours, theirs):
    ratio = statistics.median(ours) / statistics.median(theirs)
    pairs = sorted(a / b for a, b in zip(ours, theirs))
    print(f"| {pathlib.Path(model).stem} | {test} | {spread(ours)} | {spread(theirs)} | {ratio:.2f} "
          f"| {pairs[0]:.2f}-{pairs[-1]:.2f} |", flush=True)


def compare_short(args, model):
    ours = {"prefill": [], "decode": [], "streams": []}
    theirs = {"prefill": [], "decode": [], "streams": []}
    for _ in range(args.rounds):
        with Server(args, model, 2048) as server:
            ours_prefill(args, server)  # warm: first use touches every weight
            ours["prefill"].append(ours_prefill(args, server))
            ours["decode"].append(ours_decode(args, server))
            ours["streams"].append(ours_streams(args, server))
        prefill, decode = llama_bench(args, model, "-p", 512, "-n", args.generate)
        theirs["prefill"].append(prefill)
        theirs["decode"].append(decode)
        theirs["streams"].append(llama_streams(args, model))
    report(model, "prefill 512", ours["prefill"], theirs["prefill"])
    report(model, f"decode {args.generate}", ours["decode"], theirs["decode"])
    report(model, "16 x (128 + 32)", ours["streams"], theirs["streams"])


def compare_depth(args, model):
    options = ["-d", args.depth, "-p", 512, "-n", args.generate]
    choice = [args.fa, args.fa]
    if args.fa is None:
        both = [llama_bench(args, model, *options, "-fa", fa) for fa in (0, 1)]
        choice = [0 if both[0][i] >= both[1][i] else 1 for i in range(2)]
        print(f"llama.cpp behind {args.depth}: -fa 0 {both[0]}, -fa 1 {both[1]} (prefill, decode)", flush=True)
    ours, theirs = ([], []), ([], [])
    for _ in range(args.rounds):
        with Server(args, model, args.depth + 2048) as server:
            ours[0].append(ours_depth_prefill(args, server))
            ours[1].append(ours_depth_decode(args, server))
        for fa in sorted(set(choice)):
            result = llama_bench(args, model, *options, "-fa", fa)
            for i in range(2):
                if choice[i] == fa:
                    theirs[i].append(result[i])
        print(f"round: ours {ours[0][-1]:.1f} {ours[1][-1]:.1f}, llama.cpp {theirs[0][-1]:.1f} {theirs[1][-1]:.1f}",
              file=sys.stderr, flush=True)
    report(model, f"prefill 512 @ {args.depth}", ours[0], theirs[0])
    report(model, f"decode {args.generate} @ {args.depth}", ours[1], theirs[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--llama", type=pathlib.Path, required=True, help="folder of llama.cpp's programs")
    parser.add_argument("--penstock", default=str(ROOT / "build/release/penstock"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--generate", type=int, default=64)
    parser.add_argument("--depth", type=int, default=8192)
    parser.add_argument("--fa", type=int, choices=[0, 1], help="llama.cpp's -fa, where the better one is known")
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--max-num-batched-tokens", type=int)
    parser.add_argument("--tests", choices=["short", "depth", "all"], default="short")
    parser.add_argument("models", nargs="+")
    args = parser.parse_args()
    print("| file | test | Penstock, tokens/s | llama.cpp, tokens/s | ratio | pairs |\n|---|---|---|---|---|---|")
    for model in args.models:
        if args.tests in ("short", "all"):
            compare_short(args, model)
        if args.tests in ("depth", "all"):
            compare_depth(args, model)


if __name__ == "__main__":
    main()
