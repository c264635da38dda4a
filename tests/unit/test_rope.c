/* test_rope.c - rotary frequencies against transformers' (tests/golden/rope/make_rope.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "runtime/hf_config.h"
#include "runtime/rope.h"

enum { PAIRS_MAX = 64 };

/* Units in the last place between two positive floats. */
static int64_t ulps(float a, float b)
{
    int32_t x, y;
    memcpy(&x, &a, sizeof x), memcpy(&y, &b, sizeof y);
    return llabs((int64_t)x - y);
}

static void check_case(yyjson_val *item)
{
    const struct family *family;
    struct model_config config;
    struct generation_config generation;
    struct error error = {0};
    size_t len;
    char *text = yyjson_val_write(yyjson_obj_get(item, "config"), 0, &len);
    const char *name = yyjson_get_str(yyjson_obj_get(item, "name"));
    if (hf_config_parse(text, len, &family, &config, &generation, &error) != STATUS_OK)
        fail_msg("%s: %s", name, error.message);
    free(text);
    float inv_freq[PAIRS_MAX], factor;
    yyjson_val *wanted = yyjson_obj_get(item, "inv_freq"), *value;
    assert_int_equal(yyjson_arr_size(wanted), config.rope.rotary_dim / 2);
    rope_frequencies(&config.rope, config.max_position,
                     (int)yyjson_get_int(yyjson_obj_get(item, "served_len")), inv_freq, &factor);
    assert_float_equal(factor, yyjson_get_num(yyjson_obj_get(item, "attention_factor")), 1e-6);
    size_t i, count;
    int64_t worst = 0;
    yyjson_arr_foreach(wanted, i, count, value)
    {
        int64_t off = ulps(inv_freq[i], (float)yyjson_get_num(value));
        if (off > worst) worst = off;
    }
    print_message("%s: within %lld ulp\n", name, (long long)worst);
    assert_true(worst <= 2);
}

static void test_against_transformers(void **state)
{
    yyjson_doc *doc = yyjson_read_file("tests/golden/rope/rope.json", 0, NULL, NULL);
    assert_non_null(doc);
    size_t i, count;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "cases"), i, count, item)
        check_case(item);
    assert_true(count >= 17);
    yyjson_doc_free(doc);
}

/* GGUF's rope_freqs.weight divides. */
static void test_factors(void **state)
{
    const float factors[4] = {1, 2, 4, 8};
    struct rope_config rope = {.theta = 10000, .rotary_dim = 8, .factor = 1};
    float plain[4], divided[4], factor;
    rope_frequencies(&rope, 2048, 2048, plain, &factor);
    rope.factors = factors;
    rope_frequencies(&rope, 2048, 2048, divided, &factor);
    for (int i = 0; i < 4; i++) assert_float_equal(divided[i] * factors[i], plain[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_transformers),
        cmocka_unit_test(test_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
