/* options_table.c - see options_table.h. */
#include "server/options_table.h"

#include <limits.h>

#include "server/options.h"

#define AT(member) offsetof(struct options, member)

enum { E = OPTION_ENGINE, S = OPTION_SERVER, BOTH = OPTION_ENGINE | OPTION_SERVER };

const struct option_spec option_specs[] = {
    {OPTION_GROUP, BOTH, "Model", .help = ""},
    {OPTION_STRING, BOTH, "--model", "-m", "PATH", AT(model), 0, 0,
     "a directory (Hugging Face layout) or a .gguf file; also the argument without a flag. Without "
     "one the "
     "small model inside the program is served"},
    {OPTION_STRING, BOTH, "--tokenizer", NULL, "PATH", AT(tokenizer), 0, 0,
     "directory or file of the tokenizer, where it does not lie beside the model"},
    {OPTION_STRINGS, S, "--served-model-name", NULL, "NAME...", AT(served_model_names), 0, 0,
     "names that requests may use; the first one is shown. Default: the model's path as given"},
    {OPTION_STRING, BOTH, "--chat-template", NULL, "PATH", AT(chat_template), 0, 0,
     "a Jinja file, or the template itself, instead of the model's own"},
    {OPTION_BOOL, S, "--trust-request-chat-template", NULL, NULL, AT(trust_request_chat_template),
     0, 0, "let requests bring their own chat_template"},
    {OPTION_STRING, BOTH, "--generation-config", NULL, "auto|vllm", AT(generation_config), 0, 0,
     "auto: sampling defaults from the model's generation_config.json; vllm: OpenAI's defaults "
     "(temperature 1)"},
    {OPTION_STRING, BOTH, "--reasoning-parser", NULL, "NAME", AT(reasoning_parser), 0, 0,
     "split <think>...</think> from chat answers into reasoning_content: deepseek_r1 (the answer "
     "begins inside "
     "of it) or qwen3 (it begins with <think>)"},

    {OPTION_GROUP, S, "HTTP", .help = ""},
    {OPTION_STRING, S, "--host", NULL, "ADDRESS", AT(host), 0, 0,
     "address to listen on; default 0.0.0.0 (every interface), as vLLM. 127.0.0.1 for this machine "
     "only"},
    {OPTION_INT, S, "--port", NULL, "N", AT(port), 0, 65535,
     "default 8000; 0: any free one, which is logged"},
    {OPTION_STRING, S, "--uds", NULL, "PATH", AT(uds), 0, 0,
     "listen on a Unix socket instead of host and port"},
    {OPTION_STRINGS, S, "--api-key", NULL, "KEY...", AT(api_keys), 0, 0,
     "/v1, /tokenize and /detokenize then want 'Authorization: Bearer KEY' with one of them"},
    {OPTION_STRING, S, "--ssl-keyfile", NULL, "PATH", AT(ssl_keyfile), 0, 0,
     "PEM private key: serve HTTPS"},
    {OPTION_STRING, S, "--ssl-certfile", NULL, "PATH", AT(ssl_certfile), 0, 0,
     "PEM certificate chain"},
    {OPTION_JSON_LIST, S, "--allowed-origins", NULL, "JSON", AT(allowed_origins), 0, 0,
     "origins that browsers may call from; default [\"*\"]"},
    {OPTION_JSON_LIST, S, "--allowed-methods", NULL, "JSON", AT(allowed_methods), 0, 0,
     "default [\"*\"]"},
    {OPTION_JSON_LIST, S, "--allowed-headers", NULL, "JSON", AT(allowed_headers), 0, 0,
     "default [\"*\"]"},
    {OPTION_BOOL, S, "--allow-credentials", NULL, NULL, AT(allow_credentials), 0, 0,
     "browsers may send cookies and keys along"},
    {OPTION_INT64, S, "--max-body-bytes", NULL, "N", AT(max_body_bytes), 1024, 1e12,
     "larger request bodies are answered 413; default 32M"},
    {OPTION_BOOL, S, "--access-log", NULL, NULL, AT(access_log), 0, 0, "a log line per request"},
    {OPTION_FLOAT, S, "--shutdown-timeout", NULL, "SECONDS", AT(shutdown_timeout), 0, 86400,
     "how long SIGTERM lets running requests finish; default 30"},

    {OPTION_GROUP, BOTH, "Engine", .help = ""},
    {OPTION_CHOICE, BOTH, "--device", NULL, "auto|cpu|cuda", AT(device), 0, 0,
     "default auto: cuda where there is one"},
    {OPTION_INT, BOTH, "--threads", NULL, "N", AT(threads), 0, 4096,
     "CPU compute threads; default 0: one per core"},
    {OPTION_INT, BOTH, "--tensor-parallel-size", "-tp", "N", AT(tensor_parallel_size), 1, 64,
     "ranks; default 1, or all of mpirun's"},
    {OPTION_CHOICE, BOTH, "--dtype", NULL, "auto|float32|float|bfloat16|float16|half", AT(dtype), 0,
     0, "of weights and activations; default auto: as stored"},
    {OPTION_CHOICE, BOTH, "--quantization", "-q", "none|q8_0|q4_0", AT(quantization), 0, 0,
     "quantise plain weights at load; default none: as stored"},
    {OPTION_CHOICE, BOTH, "--kv-cache-dtype", NULL, "auto|float32|bfloat16", AT(kv_cache_dtype), 0,
     0, "default auto"},
    {OPTION_INT, BOTH, "--max-model-len", NULL, "N", AT(max_model_len), -1, INT_MAX,
     "longest prompt plus answer in tokens (4k = 4000, 4K = 4096); default: what the model was "
     "made for and "
     "the cache holds"},
    {OPTION_INT, BOTH, "--max-num-seqs", NULL, "N", AT(max_num_seqs), 1, 65536,
     "sequences in one step; default 64 on the CPU, 256 on GPUs"},
    {OPTION_INT, BOTH, "--max-num-batched-tokens", NULL, "N", AT(max_num_batched_tokens), 1,
     1 << 20, "tokens in one step; default 512 on the CPU, 8192 on GPUs"},
    {OPTION_INT, S, "--max-num-queued-reqs", NULL, "N", AT(max_num_queued_reqs), 1, 1 << 20,
     "waiting sequences; more are answered 429 with Retry-After; default 1024"},
    {OPTION_INT, BOTH, "--block-size", NULL, "N", AT(block_size), 1, 1024,
     "tokens in a KV page; default 16"},
    {OPTION_BOOL, BOTH, "--enable-prefix-caching", NULL, NULL, AT(enable_prefix_caching), 0, 0,
     "keep the KV pages of prompts for the next ones that begin alike; default on"},
    {OPTION_FLOAT, BOTH, "--gpu-memory-utilization", NULL, "F", AT(gpu_memory_utilization), 0.01, 1,
     "share of the free memory of the device to use; default 0.92"},
    {OPTION_INT64, BOTH, "--kv-cache-memory-bytes", NULL, "N", AT(kv_cache_memory_bytes), 0, 1e15,
     "size of the KV cache; default: from --gpu-memory-utilization"},
    {OPTION_CHOICE, S, "--scheduling-policy", NULL, "fcfs|priority", AT(scheduling_policy), 0, 0,
     "priority: requests with a lower `priority` go first; default fcfs"},
    {OPTION_INT64, BOTH, "--seed", NULL, "N", AT(seed), 0, 9e15,
     "seed of requests that bring none; default: a new random one each"},
    {OPTION_INT, S, "--max-logprobs", NULL, "N", AT(max_logprobs), 0, 20,
     "most alternatives a request may ask for; default 20"},
    {OPTION_BOOL, BOTH, "--deterministic", NULL, NULL, AT(deterministic), 0, 0,
     "the same tokens whatever else runs, on GPUs too (on the CPU always so)"},
    {OPTION_BOOL, BOTH, "--enforce-eager", NULL, NULL, AT(enforce_eager), 0, 0,
     "no CUDA graphs; the CPU has none"},
    {OPTION_CHOICE, BOTH, "--isa", NULL, "auto|scalar|avx2|avx512|vnni|bf16|amx|neon", AT(isa), 0,
     0, "the most the CPU kernels may use; default auto: what the machine has"},
    {OPTION_STRING, BOTH, "--trace", NULL, "PATH", AT(trace), 0, 0,
     "write a Chrome trace of steps and ops"},
    {OPTION_STRING, BOTH, "--inject-fault", NULL, "KIND:RANK:STEP", AT(inject_fault), 0, 0,
     "for tests: stall or die, that rank, from that step on"},
    {OPTION_INT, BOTH, "--stall-timeout", NULL, "MS", AT(stall_timeout), 100, 3600000,
     "a rank silent for so long ends everything; default 4000"},
    {OPTION_BOOL, BOTH, "--profile", NULL, NULL, AT(profile), 0, 0,
     "print a table of times per op at the end"},

    {OPTION_GROUP, BOTH, "Log", .help = ""},
    {OPTION_CHOICE, BOTH, "--log-level", NULL, "debug|info|warning|error", AT(log_level), 0, 0,
     "default info"},
    {OPTION_BOOL, BOTH, "--log-json", NULL, NULL, AT(log_json), 0, 0, "log lines as JSON"},
};
const int option_spec_count = sizeof(option_specs) / sizeof(*option_specs);

#define NO_LORA        "LoRA adapters are not supported"
#define NO_MULTIMODAL  "only text goes in and out"
#define NO_STRUCTURED  "structured output is not supported yet"
#define NO_SPECULATION "speculative decoding is not supported"
#define NO_PROCESSES   "there is one engine in one process; run more servers behind a load balancer"
#define NO_PYTHON      "there is no Python in this program"

const struct option_refusal option_refusals[] = {
    {"--pipeline-parallel-size",
     "pipeline parallelism is not supported; --tensor-parallel-size is"},
    {"-pp", "pipeline parallelism is not supported; --tensor-parallel-size is"},
    {"--data-parallel-size", NO_PROCESSES},
    {"-dp", NO_PROCESSES},
    {"--api-server-count", NO_PROCESSES},
    {"--enable-expert-parallel", "experts are split by --tensor-parallel-size only"},
    {"--distributed-executor-backend",
     "ranks are threads of this process, or processes under mpirun"},
    {"--enable-lora", NO_LORA},
    {"--lora-modules", NO_LORA},
    {"--max-loras", NO_LORA},
    {"--max-lora-rank", NO_LORA},
    {"--enable-auto-tool-choice", "tool calls are not supported yet"},
    {"--tool-call-parser", "tool calls are not supported yet"},
    {"--tool-parser-plugin", NO_PYTHON},
    {"--guided-decoding-backend", NO_STRUCTURED},
    {"--structured-outputs-config", NO_STRUCTURED},
    {"--speculative-config", NO_SPECULATION},
    {"--limit-mm-per-prompt", NO_MULTIMODAL},
    {"--mm-processor-kwargs", NO_MULTIMODAL},
    {"--trust-remote-code", NO_PYTHON ", so a model cannot bring code"},
    {"--middleware", NO_PYTHON},
    {"--logits-processors", NO_PYTHON},
    {"--worker-cls", NO_PYTHON},
    {"--swap-space", "preempted sequences are recomputed, never swapped"},
    {"--cpu-offload-gb", "weights stay on one device"},
    {"--kv-transfer-config", "prefill and decode are not split between servers"},
    {"--hf-token", "serve downloads nothing; use `penstock pull`"},
    {"--revision", "serve downloads nothing; `penstock pull` takes a revision"},
    {"--download-dir", "serve downloads nothing; use `penstock pull`"},
    {"--load-format", "the format is known from the files"},
    {"--runner", "only text generation is served"},
    {"--task", "only text generation is served"},
    {"--convert", "only text generation is served"},
    {"--enable-chunked-prefill", "prefill is always chunked by --max-num-batched-tokens"},
    {"--no-enable-chunked-prefill", "prefill is always chunked by --max-num-batched-tokens"},
    {"--override-generation-config",
     "set the fields in the requests, or edit generation_config.json"},
    {"--hf-overrides", "edit the model's config.json"},
    {"--root-path", "strip the prefix in the proxy"},
    {"--ssl-ca-certs", "client certificates are not checked"},
    {"--ssl-cert-reqs", "client certificates are not checked"},
    {"--config", "give the flags themselves"},
    {"--compilation-config", "nothing is compiled at run time; --enforce-eager turns graphs off"},
    {"--enable-sleep-mode", "memory is reserved for as long as the server runs"},
};
const int option_refusal_count = sizeof(option_refusals) / sizeof(*option_refusals);
