#!/usr/bin/env python3
"""Writes the training text of the default model: one chat conversation a line, JSON.

    make_corpus.py --count 130000 --seed 1 corpus.jsonl      training conversations
    make_corpus.py --count 60000 --seed 2 --drill drill.jsonl  more of the harder ones
    make_corpus.py --count 28000 --seed 3 --drill --exercises exercises.jsonl  mostly sums
    make_corpus.py --held-out held_out.jsonl                 questions that are never trained on

The same arguments give the same bytes. All of the text is our own: it comes from the tables and
sentence patterns in the modules next to this file.
"""

import argparse
import json
import random
import sys

import dialogues

LONG_EVERY = 80  # one conversation in eighty is a long one


def write_corpus(path, count, seed, drill, exercises):
    rng = random.Random(seed)
    writer = dialogues.Writer(rng, drill)
    with open(path, "w", encoding="utf-8") as out:
        for i in range(count):
            if exercises and rng.random() < 0.7:
                chat = writer.exercise()
            else:
                chat = writer.conversation(long=i % LONG_EVERY == LONG_EVERY - 1)
            out.write(json.dumps({"messages": chat.messages}, ensure_ascii=False) + "\n")


def write_held_out(path, per_topic, seed):
    """At most per_topic unseen questions of each topic, in the form of questions.jsonl."""
    rng = random.Random(seed)
    writer = dialogues.Writer(rng)
    with open(path, "w", encoding="utf-8") as out:
        for topic in writer.topics:
            turns = list(topic.held_out_questions())
            rng.shuffle(turns)
            for turn in turns[:per_topic]:
                record = {"category": f"{turn.category}, {turn.unseen}",
                          "messages": [{"role": "user", "content": turn.user}],
                          "accept": turn.accept}
                out.write(json.dumps(record, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path")
    parser.add_argument("--count", type=int, default=130000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drill", action="store_true", help="the mix of the second half")
    parser.add_argument("--exercises", action="store_true", help="mostly sums and the like")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--per-topic", type=int, default=15, help="held-out questions a topic")
    args = parser.parse_args()
    if args.held_out:
        write_held_out(args.path, args.per_topic, args.seed)
    else:
        write_corpus(args.path, args.count, args.seed, args.drill, args.exercises)
    return 0


if __name__ == "__main__":
    sys.exit(main())
