/*
 * test_model_logits.c - log probabilities of every family against transformers' float32
 * (tests/golden/models/make_models.py), past 8,192 positions, at several precisions and widths.
 *
 * An argument names one model to run alone.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include "tests/support/logits_run.h"

#define FOLDER "tests/golden/models/"

enum { POSITIONS_MAX = 128, LENGTH_MAX = 9000, VOCAB = 96, CHUNK = 300 };

struct golden { /* expected.json */
    yyjson_doc *doc;
    int length, count;
    int positions[POSITIONS_MAX];
    int32_t *ids;
};

static int32_t token_at(int i, int vocab)
{
    return (int32_t)(((uint32_t)i + 1) * 2654435761U / 65536 % (uint32_t)vocab);
}

static struct golden read_golden(const char *name)
{
    char path[256];
    struct golden golden = {0};
    snprintf(path, sizeof path, FOLDER "%s/expected.json", name);
    golden.doc = yyjson_read_file(path, 0, NULL, NULL);
    assert_non_null(golden.doc);
    yyjson_val *root = yyjson_doc_get_root(golden.doc), *item;
    golden.length = yyjson_get_int(yyjson_obj_get(root, "length"));
    size_t i, count;
    yyjson_arr_foreach(yyjson_obj_get(root, "positions"), i, count, item)
    {
        assert_true(i < POSITIONS_MAX);
        golden.positions[i] = yyjson_get_int(yyjson_obj_get(item, "position"));
    }
    golden.count = (int)count;
    golden.ids = malloc((size_t)golden.length * sizeof *golden.ids);
    for (int t = 0; t < golden.length; t++) golden.ids[t] = token_at(t, VOCAB);
    return golden;
}

struct difference {
    double max, sum;
    int count, position;
};

static void add(struct difference *difference, double got, double wanted, int position)
{
    double off = fabs(got - wanted);
    if (!(off <= difference->max)) difference->max = off, difference->position = position;
    difference->sum += off, difference->count++;
}

/* Adds what differs at one position: the next token's and the five most probable ones'. */
static void compare(const struct logits_result *result, yyjson_val *item,
                    struct difference *difference)
{
    int position = yyjson_get_int(yyjson_obj_get(item, "position"));
    yyjson_val *ids = yyjson_obj_get(item, "ids"), *id;
    size_t i, count;
    add(difference, result->logprob, yyjson_get_num(yyjson_obj_get(item, "next")), position);
    yyjson_arr_foreach(ids, i, count, id)
    {
        int at = 0;
        while (at < result->top_count && result->top_ids[at] != yyjson_get_int(id)) at++;
        if (at == result->top_count)
            fail_msg("position %d: token %d is not among the first %d", position,
                     yyjson_get_int(id), result->top_count);
        add(difference, result->top_logprobs[at],
            yyjson_get_num(yyjson_arr_get(yyjson_obj_get(item, "logprobs"), i)), position);
    }
}

static struct difference run_model(const char *name, const struct executor_options *more)
{
    char path[256];
    struct golden golden = read_golden(name);
    struct difference difference = {0};
    struct logits_result *results = calloc((size_t)golden.count, sizeof *results);
    struct executor_options options = *more;
    options.max_model_len = golden.length; /* what fixes dynamic scaling */
    snprintf(path, sizeof path, FOLDER "%s", name);
    struct logits_model opened = logits_open(path, &options);
    logits_run(opened.executor, golden.ids, golden.length, CHUNK, golden.positions, golden.count,
               results);
    size_t i, count;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(golden.doc), "positions"), i, count, item)
        compare(&results[i], item, &difference);
    logits_close(&opened);
    free(results);
    free(golden.ids);
    yyjson_doc_free(golden.doc);
    return difference;
}

static const char *const MODELS[] = {
    "llama-plain", "llama-linear",   "llama-llama3", "llama-yarn",        "llama-dynamic",
    "llama-bias",  "mistral-window", "qwen2-bias",   "qwen2-late-window", "qwen3-qk-norm"};
static const char *only;

/* Every model that was asked for, at these options: at most `max` anywhere, `mean` on average. */
static void run_models(const char *label, const struct executor_options *options, double max,
                       double mean, int width)
{
    int bad = 0;
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++) {
        if (only && strcmp(only, MODELS[i]) != 0) continue;
        if (width > 1 && (!strcmp(MODELS[i], "mistral-window") || !strcmp(MODELS[i], "llama-bias")))
            continue; /* 3 heads, 3 KV heads */
        struct difference d = run_model(MODELS[i], options);
        print_message("%s %s: max %.2g at position %d, mean %.2g\n", label, MODELS[i], d.max,
                      d.position, d.sum / d.count);
        bad += !(d.max <= max) || !(d.sum / d.count <= mean);
    }
    assert_int_equal(bad, 0);
}

static void test_float32(void **state)
{
    struct executor_options options = logits_options(0);
    options.dtype = DTYPE_F32;
    run_models("f32", &options, 1e-3, 1e-3, 1);
}

static void test_float32_two_ranks(void **state)
{
    struct executor_options options = logits_options(0);
    options.dtype = DTYPE_F32, options.tensor_parallel = 2;
    run_models("f32 tp 2", &options, 1e-3, 1e-3, 2);
}

static void test_bfloat16(void **state)
{
    struct executor_options options = logits_options(0);
    options.dtype = DTYPE_BF16;
    run_models("bf16", &options, INFINITY, 0.02, 1);
}

/* --- the real models of ../shared ----------------------------------------------------------- */

static int read_ids(yyjson_val *array, int32_t *out)
{
    size_t i, count;
    yyjson_val *id;
    assert_true(yyjson_arr_size(array) <= POSITIONS_MAX);
    yyjson_arr_foreach(array, i, count, id) out[i] = yyjson_get_int(id);
    return (int)count;
}

/* Mean difference of the next token's log probability over the text. */
static double real_mean(yyjson_val *model, const char *reference,
                        const struct executor_options *options, double *max)
{
    int32_t ids[POSITIONS_MAX];
    int count = read_ids(yyjson_obj_get(model, "ids"), ids), positions[POSITIONS_MAX];
    struct logits_result results[POSITIONS_MAX];
    struct difference difference = {0};
    struct logits_model opened =
        logits_open(yyjson_get_str(yyjson_obj_get(model, "path")), options);
    for (int i = 0; i < count - 1; i++) positions[i] = i;
    for (int i = 0; i < count - 1; i += 32) { /* as many logits as there are sequences */
        int some = count - 1 - i < 32 ? count - 1 - i : 32;
        logits_run(opened.executor, ids, i + some + 1, CHUNK, positions + i, some, results + i);
    }
    for (int i = 0; i < count - 1; i++)
        add(&difference, results[i].logprob,
            yyjson_get_num(yyjson_arr_get(yyjson_obj_get(model, reference), (size_t)i)), i);
    logits_close(&opened);
    *max = difference.max;
    return difference.sum / difference.count;
}

static void check_greedy(yyjson_val *model, const struct executor_options *options)
{
    int32_t tokens[2 * POSITIONS_MAX], wanted[POSITIONS_MAX];
    int len = read_ids(yyjson_obj_get(model, "greedy_prompt"), tokens);
    int count = read_ids(yyjson_obj_get(model, "greedy"), wanted);
    struct logits_model opened =
        logits_open(yyjson_get_str(yyjson_obj_get(model, "path")), options);
    logits_greedy(opened.executor, tokens, len, count, tokens + len);
    for (int i = 0; i < count; i++) assert_int_equal(tokens[len + i], wanted[i]);
    logits_close(&opened);
}

static const struct {
    const char *reference; /* key in real.json */
    int dtype, quantization;
    double max, mean[2]; /* bounds; of stories15M and of minimind2-small, whose logits are sharper
                            and to which the text is foreign */
} REAL[] = {
    {"f32", DTYPE_F32, DTYPE_AUTO, 1e-3, {1e-3, 1e-3}},
    {"bf16", DTYPE_BF16, DTYPE_AUTO, INFINITY, {0.02, 0.08}},
    {"f32", DTYPE_AUTO, DTYPE_AUTO, INFINITY, {0.02, 0.05}}, /* F16 */
    {"q8_0", DTYPE_AUTO, DTYPE_Q8_0, INFINITY, {0.017, 0.3}},
    {"q4_0", DTYPE_AUTO, DTYPE_Q4_0, INFINITY, {0.019, 0.3}},
};

static void test_real_models(void **state)
{
    if (access("../shared/models/stories15M", R_OK) != 0) {
        print_message("skipped: ../shared/models is not here\n");
        skip();
    }
    yyjson_doc *doc = yyjson_read_file(FOLDER "real.json", 0, NULL, NULL);
    assert_non_null(doc);
    int bad = 0;
    for (size_t m = 0; m < yyjson_arr_size(yyjson_doc_get_root(doc)); m++) {
        yyjson_val *model = yyjson_arr_get(yyjson_doc_get_root(doc), m);
        struct executor_options options = logits_options(256);
        for (size_t i = 0; i < sizeof REAL / sizeof *REAL; i++) {
            options.dtype = REAL[i].dtype, options.quantization = REAL[i].quantization;
            double max, mean = real_mean(model, REAL[i].reference, &options, &max);
            print_message("%s %s (dtype %d, quantization %d): mean %.2g, max %.2g\n",
                          yyjson_get_str(yyjson_obj_get(model, "path")), REAL[i].reference,
                          options.dtype, options.quantization, mean, max);
            bad += !(max <= REAL[i].max) || !(mean <= REAL[i].mean[m]);
        }
        options.dtype = DTYPE_F32, options.quantization = DTYPE_AUTO;
        check_greedy(model, &options);
        options.dtype = DTYPE_AUTO;
        check_greedy(model, &options);
        options.dtype = DTYPE_F32, options.tensor_parallel = m ? 4 : 2; /* 2 KV heads, 4 ranks */
        check_greedy(model, &options);
    }
    yyjson_doc_free(doc);
    assert_int_equal(bad, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float32),
        cmocka_unit_test(test_float32_two_ranks),
        cmocka_unit_test(test_bfloat16),
        cmocka_unit_test(test_real_models),
    };
    only = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
