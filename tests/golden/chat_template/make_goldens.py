#!/usr/bin/env python3
"""Records what Jinja2 under transformers' settings makes of conversations and of snippets.

    python3 tests/golden/chat_template/make_goldens.py [SHARED]

Needs transformers and jinja2. SHARED (default ../shared) has the templates. Writes next to itself:
  cases.jsonl     the variables of every render: [name, variables]
  goldens.jsonl   {"template": path in SHARED}, then a line for each case:
                  [same bytes at the start, same bytes at the end, text between], against the result
                  before; or {"error": message} when the template raises, with null for other errors
  snippets.jsonl  [template, result or {"error": ...}] for every template in snippets.txt, rendered
                  with the variables in snippets.json
"""

import datetime
import glob
import json
import os
import sys

import jinja2
import transformers.utils.chat_template_utils as utils

import conversations

NOW = 1750000000  # 2025-06-15 15:06:40 UTC; the test sets it too, and TZ=UTC
HERE = os.path.dirname(os.path.abspath(__file__))


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc)


utils.datetime = Clock


def compile_template(text):
    return utils._compile_jinja_template.__wrapped__(text)


def render(template, variables):
    try:
        return template.render(**variables)
    except jinja2.exceptions.TemplateError as error:
        raised = type(error) is jinja2.exceptions.TemplateError
        return {"error": str(error) if raised else None}
    except Exception:
        return {"error": None}


def delta(before, after):
    """Bytes that `after` shares with `before` at the start and at the end, and what is between."""
    a, b = before.encode(), after.encode()
    most = min(len(a), len(b))
    start = next((i for i in range(most) if a[i] != b[i]), most)
    while start and start < len(b) and b[start] & 0xC0 == 0x80:
        start -= 1
    most -= start
    end = next((i for i in range(most) if a[len(a) - 1 - i] != b[len(b) - 1 - i]), most)
    while end and b[len(b) - end] & 0xC0 == 0x80:
        end -= 1
    return [start, end, b[start : len(b) - end].decode()]


def templates(shared):
    for path in sorted(glob.glob(os.path.join(shared, "templates", "*.jinja"))):
        yield os.path.relpath(path, shared), open(path, newline="").read()
    for path in sorted(glob.glob(os.path.join(shared, "*", "*", "tokenizer_config.json"))):
        text = json.load(open(path)).get("chat_template")
        if isinstance(text, str):
            yield os.path.relpath(path, shared), text


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def main():
    shared = sys.argv[1] if len(sys.argv) > 1 else "../shared"
    cases = [(name, {"bos_token": "<s>", "eos_token": "</s>", **given}) for name, given in conversations.cases()]
    with open(os.path.join(HERE, "cases.jsonl"), "w") as file:
        file.writelines(dump(case) for case in cases)
    with open(os.path.join(HERE, "goldens.jsonl"), "w") as file:
        for path, text in templates(shared):
            template, before = compile_template(text), ""
            file.write(dump({"template": path}))
            for _, variables in cases:
                result = render(template, variables)
                file.write(dump(result if isinstance(result, dict) else delta(before, result)))
                before = before if isinstance(result, dict) else result
    variables = json.load(open(os.path.join(HERE, "snippets.json")))
    with open(os.path.join(HERE, "snippets.jsonl"), "w") as file:
        for text in open(os.path.join(HERE, "snippets.txt"), newline="").read().split("\n----\n"):
            try:
                result = render(compile_template(text), variables)
            except jinja2.exceptions.TemplateSyntaxError:
                result = {"error": None}
            file.write(dump([text, result]))


if __name__ == "__main__":
    main()
