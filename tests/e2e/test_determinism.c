/*
 * test_determinism.c - one request's tokens and log probabilities are the same bits alone, in a
 * batch, with any chunk size, after preemption, after a prefix hit, with one thread or many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/engine_runner.h"
#include "tests/support/tiny_model.h"

enum { REQUESTS = 9, VOCAB = 320, PROMPT_MAX = 150, TOKENS = 40 };

static const struct tiny_model tiny = {
    .family = "qwen3",
    .hidden = 64,
    .layers = 3,
    .heads = 4,
    .kv_heads = 2,
    .head_dim = 32,
    .ffn = 96,
    .vocab = VOCAB,
    .tied = true,
    .dtype = DTYPE_BF16,
    .extra = "\"max_position_embeddings\": 512,",
};

static int32_t prompts[REQUESTS][PROMPT_MAX];
static struct run_request requests[REQUESTS];

static void make_requests(void)
{
    uint64_t state = 7;
    for (int r = 0; r < REQUESTS; r++) {
        for (int i = 0; i < PROMPT_MAX; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            prompts[r][i] = (int32_t)((state >> 33) % VOCAB);
        }
        if (r % 3 == 2)
            memcpy(prompts[r], prompts[r - 1], 70 * sizeof(int32_t)); /* share a prefix */
        requests[r] = (struct run_request){
            .prompt = prompts[r],
            .prompt_len = r ? 5 + 16 * r : 1,
            .max_tokens = TOKENS - r,
            .temperature = r % 2 ? 0.9f : 0,
            .seed = 1000u + (uint64_t)r,
            .repetition_penalty = r == 3 || r == 4 ? 1.2f : 1,
        };
    }
}

/* The reference: each alone, big chunks, one thread, no prefix cache. */
static void run_alone(const char *path, struct executor_options options, struct run_result *out)
{
    struct runner runner;
    options.threads = 1, options.max_num_seqs = 1, options.max_num_batched_tokens = 512;
    runner_open(&runner, path, &options, false);
    for (int r = 0; r < REQUESTS; r++) runner_run(&runner, &requests[r], 1, &out[r]);
    runner_close(&runner);
}

static void compare(const char *path, const struct executor_options *options, bool prefix_caching,
                    int rounds, const struct run_result *expected, int *preempted, int *cached)
{
    struct runner runner;
    struct run_result results[REQUESTS];
    runner_open(&runner, path, options, prefix_caching);
    *preempted = *cached = 0;
    for (int round = 0; round < rounds; round++) {
        runner_run(&runner, requests, REQUESTS, results);
        for (int r = 0; r < REQUESTS; r++) {
            assert_same_run(&results[r], &expected[r]);
            *preempted += results[r].preempted_count, *cached += results[r].cached_len;
        }
    }
    runner_close(&runner);
}

static void check_model(const char *path, int dtype, int quantization, int kv_dtype)
{
    struct run_result expected[REQUESTS];
    int preempted, cached;
    struct executor_options base = {.device = "cpu",
                                    .dtype = dtype,
                                    .quantization = quantization,
                                    .kv_dtype = kv_dtype,
                                    .page_tokens = 16,
                                    .max_model_len = 256,
                                    .kv_cache_bytes = 32 << 20};
    run_alone(path, base, expected);
    for (int r = 0; r < REQUESTS; r++) assert_int_equal(expected[r].count, TOKENS - r);

    struct executor_options batched = base;
    batched.threads = 3;
    compare(path, &batched, false, 1, expected, &preempted, &cached);

    struct executor_options chunked = base;
    chunked.threads = 2, chunked.max_num_seqs = 8, chunked.max_num_batched_tokens = 13;
    compare(path, &chunked, false, 1, expected, &preempted, &cached);

    struct executor_options hits = base;
    hits.threads = 2, hits.page_tokens = 32;
    compare(path, &hits, true, 2, expected, &preempted, &cached);
    assert_true(cached > 0);

    struct executor_options scarce = base; /* room for one sequence and a little */
    struct runner probe;
    runner_open(&probe, path, &base, false);
    const struct executor_info *info = executor_info(probe.executor);
    scarce.kv_cache_bytes = (int64_t)(info->kv_bytes / (size_t)info->page_count) * 21;
    runner_close(&probe);
    scarce.threads = 2;
    compare(path, &scarce, false, 1, expected, &preempted, &cached);
    assert_true(preempted > 0);
    compare(path, &scarce, true, 2, expected, &preempted, &cached);
}

static void test_tiny_model(void **state)
{
    char path[64];
    tiny_directory(&tiny, path);
    check_model(path, DTYPE_AUTO, DTYPE_AUTO, DTYPE_AUTO);
    check_model(path, DTYPE_F32, DTYPE_AUTO, DTYPE_AUTO);
    check_model(path, DTYPE_AUTO, DTYPE_Q8_0, DTYPE_AUTO);
    check_model(path, DTYPE_AUTO, DTYPE_Q4_0, DTYPE_F32);
    tiny_remove(path);
}

static void test_real_model(void **state)
{
    const char *path = "../shared/models/minimind2-small";
    if (access(path, R_OK)) {
        print_message("skipped: %s is not there\n", path);
        skip();
    }
    check_model(path, DTYPE_AUTO, DTYPE_Q8_0, DTYPE_AUTO);
}

int main(void)
{
    make_requests();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_model),
        cmocka_unit_test(test_real_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
