#!/usr/bin/env python3
"""Stands in for llama-server in llama.cpp's own server tests: takes its flags, starts penstock, translates.

llama.cpp's tests (tools/server/tests) start the program named by LLAMA_SERVER_BIN_PATH. This one starts
penstock on a free port and listens on the port it was given. What both servers speak passes through with
llama.cpp's sampling defaults filled in; its native endpoints (/completion, /tokenize with `content`,
/apply-template, /slots) become calls of penstock's. tests/clients/llama_cpp.sh runs it.

Environment: PENSTOCK_PROGRAM, PENSTOCK_TEST_MODEL (stories260K.gguf).
"""

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHATML = ("{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
          "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
LLAMA3 = ("{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content }}<|eot_id|>"
          "{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}")
COMMAND_R = ("{% for m in messages %}<|START_OF_TURN_TOKEN|><|{{ {'system': 'SYSTEM', 'user': 'USER', "
             "'assistant': 'CHATBOT'}[m.role] }}_TOKEN|>{{ m.content }}<|END_OF_TURN_TOKEN|>{% endfor %}"
             "{% if add_generation_prompt %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{% endif %}")
TEMPLATES = {"chatml": CHATML, "llama3": LLAMA3, "command-r": COMMAND_R}
FINGERPRINT = "b0-penstock"
MODEL_CONTEXT = 512  # of stories260K

options = None
upstream_port = 0


def parse_flags(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--temp", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=-1)
    parser.add_argument("--ctx-size", type=int, default=512)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--n-predict", type=int, default=-1)
    parser.add_argument("--alias", default="stories")
    parser.add_argument("--api-key")
    parser.add_argument("--chat-template")
    parser.add_argument("--chat-template-file")
    parser.add_argument("--kv-unified", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_known_args(argv)[0]


def context():
    """llama.cpp splits its context between slots; and it lets a model run on past its own."""
    size = options.ctx_size if options.kv_unified else options.ctx_size // max(1, options.parallel)
    return min(size, MODEL_CONTEXT)


def start_penstock():
    """Returns the process and its port."""
    template = options.chat_template_file or TEMPLATES.get(options.chat_template, options.chat_template) or CHATML
    if "{" not in template and not os.path.exists(template):
        template = "{# literal #}" + template
    args = [os.environ.get("PENSTOCK_PROGRAM", "penstock"), "serve", os.environ["PENSTOCK_TEST_MODEL"], "--host",
            "127.0.0.1", "--port", "0", "--served-model-name", options.alias, "--max-model-len", str(context()),
            "--max-num-seqs", str(max(1, options.parallel)), "--chat-template", template, "--allow-credentials",
            "--allowed-methods", '["GET", "POST", "DELETE", "OPTIONS"]', "--threads", "1"]
    if options.api_key:
        args += ["--api-key", options.api_key]
    process = subprocess.Popen(args, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        sys.stderr.write(line)
        found = re.search(r"listening on \S+:(\d+)", line)
        if found:
            return process, int(found.group(1))
    sys.exit(process.wait())


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(body)
        self.status, self.body = status, body


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    # ---- to penstock ----

    def open(self, method, path, body=None):
        """Sends a request on with the client's own headers."""
        connection = http.client.HTTPConnection("127.0.0.1", upstream_port, timeout=600)
        headers = {name: value for name, value in self.headers.items()
                   if name.lower() not in ("host", "content-length", "connection", "transfer-encoding",
                                           "accept-encoding")}
        if "X-Api-Key" in headers and "Authorization" not in headers:
            headers["Authorization"] = "Bearer " + headers["X-Api-Key"]
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()

    def ask(self, path, body):
        response = self.open("POST", path, body)
        text = response.read()
        if response.status != 200:
            raise Refused(response.status, text)
        return json.loads(text)

    # ---- to the client ----

    def reply(self, status, body, headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name.lower() == "content-type" for name, _ in headers):
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, text):
        """llama.cpp has an error type of its own for prompts that are too long."""
        body = json.loads(text)
        found = re.search(r"context length is (\d+) tokens\D*(\d+)", body["error"]["message"])
        if found and body["error"]["param"] in ("prompt", "messages"):
            body["error"].update(type="exceed_context_size_error", n_ctx=int(found.group(1)),
                                 n_prompt_tokens=int(found.group(2)))
        self.reply(status, body)

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, data):
        self.wfile.write(b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n")
        self.wfile.flush()

    # ---- requests ----

    def do_GET(self):
        if self.path == "/slots":
            return self.slots()
        path = "/v1" + self.path if self.path.startswith("/models") else self.path
        self.forward("GET", path)

    def do_OPTIONS(self):
        self.forward("OPTIONS", self.path.replace("/completions", "/v1/completions"))

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            body = json.loads(data or b"{}")
            path = self.path.removeprefix("/v1")
            native = self.path in ("/completion", "/completions")
            if native:
                self.completion(body)
            elif path in ("/completions", "/chat/completions"):
                self.openai("/v1" + path, body)
            elif path == "/chat/completions/input_tokens":
                self.reply(200, {"input_tokens": self.ask("/tokenize", {"messages": body["messages"]})["count"]})
            elif path == "/tokenize":
                self.tokenize(body)
            elif path == "/detokenize":
                self.reply(200, {"content": self.ask("/detokenize", {"tokens": body["tokens"]})["prompt"]})
            elif path == "/apply-template":
                self.reply(200, {"prompt": self.rendered(body)})
            else:
                self.forward("POST", self.path, body)
        except Refused as refused:
            self.refuse(refused.status, refused.body)

    def forward(self, method, path, body=None):
        response = self.open(method, path, body)
        headers = [(name, value) for name, value in response.getheaders()
                   if name.lower() not in ("content-length", "connection", "transfer-encoding")]
        self.reply(response.status, response.read(), headers)

    def slots(self):
        text = self.open("GET", "/metrics").read().decode()
        busy = int(float(re.search(r"^vllm:num_requests_running\{.*\} (\S+)$", text, re.M).group(1)))
        self.reply(200, [{"id": i, "is_processing": i < busy} for i in range(max(1, options.parallel))])

    def rendered(self, body):
        fields = {key: body[key] for key in ("messages", "chat_template_kwargs", "add_generation_prompt",
                                             "continue_final_message") if key in body}
        tokens = self.ask("/tokenize", fields)["tokens"]
        return self.ask("/detokenize", {"tokens": tokens})["prompt"]

    def tokenize(self, body):
        answer = self.ask("/tokenize", {"prompt": body.get("content", ""), "return_token_strs": True,
                                        "add_special_tokens": body.get("add_special", False)})
        tokens = answer["tokens"]
        if body.get("with_pieces"):
            tokens = [{"id": id, "piece": piece} for id, piece in zip(tokens, answer["token_strs"])]
        self.reply(200, {"tokens": tokens})

    def defaults(self, body):
        """llama.cpp's sampling defaults, and its flags for what a request leaves out."""
        out = {"temperature": options.temp, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
        out.update({key: body[key] for key in ("temperature", "top_k", "top_p", "min_p", "stop", "presence_penalty",
                                               "frequency_penalty", "seed", "ignore_eos") if body.get(key) is not None})
        if "seed" not in out and options.seed >= 0:
            out["seed"] = options.seed
        if "repeat_penalty" in body:
            out["repetition_penalty"] = body["repeat_penalty"]
        return out

    def limit(self, wanted):
        """What the request says, else the flag; None: up to the context's end."""
        limits = [n for n in (wanted, options.n_predict) if n is not None and n >= 0]
        return limits[0] if limits else None

    def openai(self, path, body):
        body = {**body, **self.defaults(body)}
        body.pop("model", None)
        chat = path.endswith("chat/completions")
        wanted = body.pop("max_tokens", None)
        wanted = body.pop("max_completion_tokens", wanted)
        if self.limit(wanted) is not None:
            body["max_tokens"] = self.limit(wanted)
        body["add_special_tokens"] = True
        messages = body.get("messages")
        if (chat and isinstance(messages, list) and messages and isinstance(messages[-1], dict) and
                messages[-1].get("role") == "assistant" and "add_generation_prompt" not in body):
            body["continue_final_message"] = True  # llama.cpp guesses that
        if not body.get("stream"):
            response = self.open("POST", path, body)
            text = response.read()
            if response.status != 200:
                raise Refused(response.status, text)
            answer = json.loads(text)
            answer["system_fingerprint"] = FINGERPRINT
            if chat and (options.verbose or body.get("verbose")):
                answer["__verbose"] = {"prompt": "<s> " + self.rendered(body)}
            return self.reply(200, answer)
        if chat:
            body["stream_options"] = {"include_usage": True}
        response = self.open("POST", path, body)
        if response.status != 200:
            raise Refused(response.status, response.read())
        self.begin_stream()
        for line in response:
            if not line.startswith(b"data: "):
                continue
            if line.strip() == b"data: [DONE]":
                self.event(b"[DONE]")
                break
            self.event_openai(json.loads(line[6:]))

    def event_openai(self, chunk):
        """llama.cpp ends a stream with an empty delta, and begins a chat with a null content."""
        chunk["system_fingerprint"] = FINGERPRINT
        if not chunk["choices"]:
            chunk["timings"] = {"prompt_per_second": 1.0, "predicted_per_second": 1.0,
                                "predicted_n": chunk["usage"]["completion_tokens"]}
            return self.event(chunk)
        choice = chunk["choices"][0]
        delta = choice.get("delta")
        if delta is not None and "role" in delta:
            delta["content"] = None
        elif choice["finish_reason"] and (delta or {}).get("content", choice.get("text")):
            last = json.loads(json.dumps(chunk))
            choice["finish_reason"] = None
            self.event(chunk)
            (last["choices"][0].get("delta", {})).pop("content", None)
            if "text" in last["choices"][0]:
                last["choices"][0]["text"] = ""
            last["choices"][0]["logprobs"] = None
            return self.event(last)
        elif delta is not None and choice["finish_reason"]:
            delta.pop("content", None)
        self.event(chunk)

    # ---- /completion ----

    def ids_of(self, prompt, first=True):
        """A prompt of strings, ids, lists of both and {"prompt_string"} as ids."""
        if isinstance(prompt, dict):
            if "multimodal_data" in prompt:
                raise Refused(400, json.dumps({"error": {"message": "text only", "type": "invalid_request_error",
                                                         "param": "prompt", "code": 400}}))
            prompt = prompt["prompt_string"]
        if isinstance(prompt, str):
            return self.ask("/tokenize", {"prompt": prompt, "add_special_tokens": first})["tokens"]
        if isinstance(prompt, int):
            return [prompt]
        return [id for i, part in enumerate(prompt) for id in self.ids_of(part, first and i == 0)]

    def bias_of(self, bias):
        """[[id or text, value]] or {id or text: value} -> {id: value}"""
        out = {}
        for key, value in bias.items() if isinstance(bias, dict) else bias:
            text = isinstance(key, str) and not key.isdigit()
            for id in self.ids_of(key, False) if text else [int(key)]:
                out[str(id)] = -100 if value is False else value
        return out

    def completion(self, body):
        prompt = body.get("prompt", "")
        nested = isinstance(prompt, list) and any(not isinstance(part, (int, str)) for part in prompt)
        prompts = [self.ids_of(part) for part in prompt] if nested else [self.ids_of(prompt)]
        fields = {**self.defaults(body), "return_token_ids": True, "return_tokens_as_token_ids": True}
        limit = self.limit(body.get("n_predict"))
        if body.get("logit_bias"):
            fields["logit_bias"] = self.bias_of(body["logit_bias"])
        if body.get("n_probs"):
            fields["logprobs"] = body["n_probs"]
        if len(prompts) == 1 and body.get("stream"):
            return self.stream(prompts[0], fields, limit, body)
        answers = [self.one(ids, fields, limit, body) for ids in prompts]
        wanted = body.get("response_fields")
        if wanted:
            answers = [{name: self.pick(answer, name) for name in wanted} for answer in answers]
        self.reply(200, answers if nested else answers[0])

    def pick(self, answer, name):
        for part in name.split("/"):
            answer = answer[part]
        return answer

    def with_limit(self, ids, fields, limit):
        room = context() - len(ids)
        wanted = room if limit is None else min(limit, room)
        return {**fields, "prompt": ids, "max_tokens": max(1, wanted)}

    def probabilities(self, logprobs, ids):
        """Of completions' logprobs, whose tokens are spelled token_id:N."""
        def entry(id, logprob):
            text = self.ask("/detokenize", {"tokens": [id]})["prompt"]
            return {"id": id, "token": text, "bytes": list(text.encode()), "logprob": logprob}

        out = []
        for id, logprob, top in zip(ids, logprobs["token_logprobs"], logprobs["top_logprobs"]):
            best = sorted(((int(name.removeprefix("token_id:")), value) for name, value in top.items()),
                          key=lambda pair: -pair[1])[:10]
            out.append({**entry(id, logprob), "top_logprobs": [entry(*pair) for pair in best]})
        return out

    def summary(self, ids, usage, fields, limit, body, finish):
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        return {"stop": True, "stop_type": {"length": "limit", "stop": "eos"}[finish], "truncated": False,
                "has_new_line": False, "model": options.alias,
                "prompt": "<s> " + self.ask("/detokenize", {"tokens": ids[1:]})["prompt"],
                "generation_settings": {"n_predict": -1 if limit is None else limit, "seed": fields.get("seed"),
                                        "temperature": fields["temperature"], "adaptive_target": -1,
                                        "adaptive_decay": 0},
                "timings": {"prompt_n": usage["prompt_tokens"] - cached, "cache_n": cached,
                            "predicted_n": usage["completion_tokens"]}}

    def one(self, ids, fields, limit, body):
        answer = self.ask("/v1/completions", self.with_limit(ids, fields, limit))
        choice = answer["choices"][0]
        out = {"content": choice["text"], "tokens": choice["token_ids"] if body.get("return_tokens") else [],
               **self.summary(ids, answer["usage"], fields, limit, body, choice["finish_reason"])}
        out["has_new_line"] = "\n" in choice["text"]
        if choice["logprobs"]:
            out["completion_probabilities"] = self.probabilities(choice["logprobs"], choice["token_ids"])
        return out

    def stream(self, ids, fields, limit, body):
        request = {**self.with_limit(ids, fields, limit), "stream": True, "stream_options": {"include_usage": True}}
        response = self.open("POST", "/v1/completions", request)
        if response.status != 200:
            raise Refused(response.status, response.read())
        self.begin_stream()
        finish = "length"
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            chunk = json.loads(line[6:])
            if chunk["choices"]:
                choice = chunk["choices"][0]
                finish = choice["finish_reason"] or finish
                tokens = choice["token_ids"]
                found = self.probabilities(choice["logprobs"], tokens) if choice["logprobs"] else []
                for i, token in enumerate(tokens):  # llama.cpp has an event per token
                    piece = {"content": choice["text"] if i == len(tokens) - 1 else "", "tokens": [token],
                             "stop": False}
                    if found:
                        piece["completion_probabilities"] = [found[i]]
                    self.event(piece)
            elif "usage" in chunk:
                self.event({"content": "", "tokens": [],
                            **self.summary(ids, chunk["usage"], fields, limit, body, finish)})


def wait_ready(process):
    while process.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", upstream_port)
            connection.request("GET", "/ready")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.02)


def main():
    global options, upstream_port
    options = parse_flags(sys.argv[1:])
    process, upstream_port = start_penstock()

    def stop(*_):
        process.terminate()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    wait_ready(process)
    if process.poll() is not None:
        sys.exit(1)
    ThreadingHTTPServer((options.host, options.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
