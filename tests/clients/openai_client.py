#!/usr/bin/env python3
"""The official OpenAI Python client against a running server, with every field the server takes.

Usage: openai_client.py [BASE_URL] [API_KEY], e.g. http://127.0.0.1:8000/v1. Needs `pip install openai`.
Without arguments it starts build/release/penstock itself on ../shared/models/minimind2-small. Prints one
line per check and ends with status 0 if all held.
"""

import os
import re
import subprocess
import sys
import time
import urllib.request

import openai

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUESTION = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": "Why is the sky blue?"}]
checks = []


def check(function):
    checks.append(function)
    return function


def raw(client, path, body=None):
    """A request outside of the client's vocabulary."""
    url = str(client.base_url).rstrip("/").removesuffix("/v1") + path
    if body is None:
        with urllib.request.urlopen(url) as response:
            return response.read().decode()
    return client.post(url, body=body, cast_to=object)


@check
def models(client, model):
    found = client.models.list().data
    assert found[0].id == model and found[0].max_model_len > 0 and found[0].root
    assert client.models.retrieve(model).id == model


@check
def chat_stream_equals_whole(client, model):
    fields = dict(model=model, messages=QUESTION, temperature=0.8, seed=11, max_completion_tokens=40, n=2,
                  logprobs=True, top_logprobs=5, top_p=0.95, presence_penalty=0.2, frequency_penalty=0.3,
                  user="someone", logit_bias={"5": -10},
                  extra_body={"top_k": 50, "min_p": 0.01, "repetition_penalty": 1.05, "priority": 1,
                              "return_token_ids": True, "min_tokens": 2, "skip_special_tokens": True})
    whole = client.chat.completions.create(**fields)
    text, tokens, ids, finish, usage = {}, {}, {}, {}, None
    for chunk in client.chat.completions.create(**fields, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            i = choice.index
            text[i] = text.get(i, "") + (choice.delta.content or "")
            ids.setdefault(i, []).extend(getattr(choice, "token_ids", None) or [])
            if choice.logprobs:
                tokens.setdefault(i, []).extend(choice.logprobs.content)
            finish[i] = choice.finish_reason or finish.get(i)
    for choice in whole.choices:
        assert choice.message.role == "assistant"
        assert choice.message.content == text[choice.index]
        assert choice.token_ids == ids[choice.index]
        assert choice.logprobs.content == tokens[choice.index]
        assert all(len(entry.top_logprobs) == 5 and entry.bytes for entry in choice.logprobs.content)
        assert choice.finish_reason == finish[choice.index]
    assert usage.completion_tokens == whole.usage.completion_tokens == sum(len(i) for i in ids.values())
    assert usage.prompt_tokens == len(whole.prompt_token_ids)
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
    assert whole.usage.prompt_tokens_details.cached_tokens >= 0


@check
def chat_template_fields(client, model):
    parts = [{"role": "user", "content": [{"type": "text", "text": "Say"}, {"type": "text", "text": "yes."}]}]
    answer = client.chat.completions.create(
        model=model, messages=parts, max_tokens=4, temperature=0, tools=[], tool_choice="none",
        response_format={"type": "text"},
        extra_body={"chat_template_kwargs": {"enable_thinking": False}, "add_generation_prompt": True})
    assert answer.choices[0].message.content
    go_on = parts + [{"role": "assistant", "content": "The answer is"}]
    answer = client.chat.completions.create(model=model, messages=go_on, max_tokens=3, temperature=0,
                                            extra_body={"continue_final_message": True, "return_token_ids": True})
    prompt = raw(client, "/detokenize", {"tokens": answer.prompt_token_ids})["prompt"]
    assert prompt.endswith("The answer is"), prompt


@check
def completions(client, model):
    answer = client.completions.create(model=model, prompt=["One two", "Three"], max_tokens=5, temperature=0, n=2,
                                       echo=True, logprobs=2, seed=3, best_of=2, extra_body={"ignore_eos": True})
    assert len(answer.choices) == 4 and answer.usage.completion_tokens == 20
    for choice in answer.choices:
        assert choice.text.startswith(["One two", "Three"][choice.index // 2])
        logprobs = choice.logprobs
        assert logprobs.token_logprobs[0] is None and logprobs.top_logprobs[0] is None
        assert len(logprobs.tokens) == len(logprobs.token_logprobs) == len(logprobs.text_offset)
        assert all(2 <= len(top) <= 3 for top in logprobs.top_logprobs[1:])
    ids = raw(client, "/tokenize", {"model": model, "prompt": "One two"})["tokens"]
    for prompt in (ids, [ids, ids]):
        again = client.completions.create(model=model, prompt=prompt, max_tokens=5, temperature=0, echo=True,
                                          extra_body={"ignore_eos": True})
        assert all(choice.text == answer.choices[0].text for choice in again.choices)


@check
def completion_stream_equals_whole(client, model):
    fields = dict(model=model, prompt="Once upon a time", max_tokens=20, temperature=1, seed=5, logprobs=1, echo=True,
                  extra_body={"return_token_ids": True, "ignore_eos": True})
    whole = client.completions.create(**fields).choices[0]
    text, tokens, ids = "", [], []
    for chunk in client.completions.create(**fields, stream=True):
        text += chunk.choices[0].text
        tokens += chunk.choices[0].logprobs.tokens
        ids += chunk.choices[0].token_ids
    assert (text, tokens, ids) == (whole.text, whole.logprobs.tokens, whole.token_ids)


@check
def stops(client, model):
    whole = client.chat.completions.create(model=model, messages=QUESTION, max_tokens=20, temperature=0,
                                           extra_body={"return_token_ids": True}).choices[0]
    text = whole.message.content
    stop = text[7:12]
    for stream in (False, True):
        fields = dict(model=model, messages=QUESTION, max_tokens=20, temperature=0, stop=["@@@", stop])
        if stream:
            pieces = [chunk.choices[0] for chunk in client.chat.completions.create(**fields, stream=True)]
            got, reason = "".join(piece.delta.content or "" for piece in pieces), pieces[-1].stop_reason
        else:
            choice = client.chat.completions.create(**fields).choices[0]
            got, reason = choice.message.content, choice.stop_reason
        assert got == text[:text.index(stop)] and reason == stop, (got, reason)
    answer = client.chat.completions.create(model=model, messages=QUESTION, max_tokens=20, temperature=0, stop=stop,
                                            extra_body={"include_stop_str_in_output": True}).choices[0]
    assert answer.message.content == text[:text.index(stop) + len(stop)]
    answer = client.chat.completions.create(model=model, messages=QUESTION, max_tokens=20, temperature=0,
                                            extra_body={"stop_token_ids": [whole.token_ids[2]]}).choices[0]
    assert answer.finish_reason == "stop" and answer.stop_reason == whole.token_ids[2]


@check
def prompt_logprobs(client, model):
    answer = client.completions.create(model=model, prompt="The cat sat on", max_tokens=1,
                                       extra_body={"prompt_logprobs": 2})
    found = answer.choices[0].prompt_logprobs
    assert found[0] is None and len(found) == answer.usage.prompt_tokens
    for entry in found[1:]:
        assert 2 <= len(entry) <= 3
        assert all(set(value) == {"logprob", "rank", "decoded_token"} for value in entry.values())
    only = client.completions.create(model=model, prompt="The cat sat on", max_tokens=1,
                                     extra_body={"prompt_logprobs": 0}).choices[0].prompt_logprobs
    assert all(len(entry) == 1 for entry in only[1:])


@check
def refusals(client, model):
    cases = [dict(temperature=-1), dict(top_p=0), dict(n=0), dict(max_tokens=10**6), dict(stop=[""]),
             dict(tools=[{"type": "function", "function": {"name": "f"}}]),
             dict(response_format={"type": "json_object"}), dict(logit_bias={"x": 1}), dict(top_logprobs=3),
             dict(modalities=["text", "audio"])]
    for case in cases:
        try:
            client.chat.completions.create(model=model, messages=QUESTION, **case)
        except openai.BadRequestError as error:
            assert error.param == next(iter(case)), (case, error.param)
        else:
            raise AssertionError(f"{case} was taken")
    try:
        client.chat.completions.create(model="nobody", messages=QUESTION)
    except openai.NotFoundError as error:
        assert error.param == "model"
    try:
        client.embeddings.create(model=model, input="x")
    except openai.NotFoundError as error:
        assert "embeddings" in str(error)


@check
def text_endpoints(client, model):
    text = "Grüße, 世界 🤗"
    tokens = raw(client, "/tokenize", {"prompt": text, "add_special_tokens": False, "return_token_strs": True})
    assert tokens["count"] == len(tokens["tokens"]) == len(tokens["token_strs"])
    assert raw(client, "/detokenize", {"tokens": tokens["tokens"]})["prompt"] == text
    chat = raw(client, "/tokenize", {"messages": QUESTION})
    usage = client.chat.completions.create(model=model, messages=QUESTION, max_tokens=1).usage
    assert chat["count"] == usage.prompt_tokens


@check
def operations(client, model):
    for path in ("/health", "/ready", "/version", "/openapi.json"):
        assert raw(client, path)
    metrics = raw(client, "/metrics")
    for name in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "prefix_cache_queries_total",
                 "prefix_cache_hits_total", "num_preemptions_total", "prompt_tokens_total", "generation_tokens_total",
                 "request_success_total", "iteration_tokens_total_bucket", "request_prompt_tokens_bucket",
                 "request_generation_tokens_bucket", "request_params_max_tokens_bucket", "request_params_n_bucket",
                 "time_to_first_token_seconds_bucket", "inter_token_latency_seconds_bucket",
                 "request_time_per_output_token_seconds_bucket", "e2e_request_latency_seconds_bucket",
                 "request_queue_time_seconds_bucket", "request_inference_time_seconds_bucket",
                 "request_prefill_time_seconds_bucket", "request_decode_time_seconds_bucket", "cache_config_info"):
        assert re.search(rf'^vllm:{name}{{model_name="[^"]*",engine="0"', metrics, re.M), name


def run(base_url, key):
    client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=300)
    model = client.models.list().data[0].id
    failures = 0
    for function in checks:
        try:
            function(client, model)
            print("ok    ", function.__name__)
        except Exception as error:  # a check that throws has failed, whatever it threw
            failures += 1
            print("FAILED", function.__name__, type(error).__name__, error)
    print(f"{len(checks) - failures} passed, {failures} failed")
    return failures


def main():
    if len(sys.argv) > 1:
        return run(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "none")
    model = os.path.join(os.path.dirname(ROOT), "shared", "models", "minimind2-small")
    program = os.environ.get("PENSTOCK_PROGRAM", os.path.join(ROOT, "build", "release", "penstock"))
    server = subprocess.Popen([program, "serve", model, "--host", "127.0.0.1", "--port", "8765", "--api-key", "secret",
                               "--served-model-name", "mini", "--max-model-len", "2048"])
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen("http://127.0.0.1:8765/ready").read()
                break
            except OSError:
                time.sleep(0.1)
        return run("http://127.0.0.1:8765/v1", "secret")
    finally:
        server.terminate()
        server.wait(60)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
