/* test_options.c - the command line: vLLM's spellings, aliases, refusals by name, help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/options.h"

static struct options options;
static struct error error;

static enum status parse(const char *line)
{
    static char text[512];
    static char *argv[40];
    int argc = 0;
    snprintf(text, sizeof(text), "serve %s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    options_free(&options);
    options_init(&options);
    memset(&error, 0, sizeof(error));
    return options_parse(&options, OPTION_ENGINE | OPTION_SERVER, argc, argv, &error);
}

static void test_defaults(void **state)
{
    assert_int_equal(parse(""), STATUS_OK);
    assert_null(options.model);
    assert_int_equal(options.port, 8000);
    assert_int_equal(options.max_num_queued_reqs, 1024);
    assert_true(options.enable_prefix_caching);
    assert_true(options.gpu_memory_utilization == 0.92);
    assert_true(options.shutdown_timeout == 30);
}

static void test_spellings(void **state)
{
    assert_int_equal(parse("some/model --port 9001 --host=127.0.0.1 -tp 2 --max-model-len 4K "
                           "--no-enable-prefix-caching --served-model-name a b --api-key k1 "
                           "--api-key k2 --max_num_seqs 7 --seed=12 "
                           "--allowed-origins [\"http://x\",\"http://y\"]"),
                     STATUS_OK);
    assert_string_equal(options.model, "some/model");
    assert_int_equal(options.port, 9001);
    assert_string_equal(options.host, "127.0.0.1");
    assert_int_equal(options.tensor_parallel_size, 2);
    assert_int_equal(options.max_model_len, 4096);
    assert_false(options.enable_prefix_caching);
    assert_int_equal(options.served_model_names.count, 2);
    assert_string_equal(options.served_model_names.items[1], "b");
    assert_int_equal(options.api_keys.count, 2);
    assert_int_equal(options.max_num_seqs, 7);
    assert_int_equal(options.seed, 12);
    assert_int_equal(options.allowed_origins.count, 2);
    assert_string_equal(options.allowed_origins.items[1], "http://y");
    assert_int_equal(parse("--max-model-len 32k --kv-cache-memory-bytes 2G"), STATUS_OK);
    assert_int_equal(options.max_model_len, 32000);
    assert_true(options.kv_cache_memory_bytes == 2147483648ll);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *line, *param, *text;
        enum status status;
    } cases[] = {
        {"--prot 1", "--prot", "no flag --prot", STATUS_INVALID},
        {"--port abc", "--port", "'abc'", STATUS_INVALID},
        {"--port 70000", "--port", "65535", STATUS_INVALID},
        {"--port", "--port", "needs a value", STATUS_INVALID},
        {"--port --host x", "--port", "needs a value", STATUS_INVALID},
        {"--enforce-eager=1", "--enforce-eager", "takes no value", STATUS_INVALID},
        {"--dtype int3", "--dtype", "int3", STATUS_INVALID},
        {"--device c", "--device", "none of", STATUS_INVALID},
        {"a b", "model", "already", STATUS_INVALID},
        {"--enable-lora", "--enable-lora", "LoRA", STATUS_UNSUPPORTED},
        {"--pipeline-parallel-size=2", "--pipeline-parallel-size", "pipeline", STATUS_UNSUPPORTED},
        {"--ssl-keyfile k", "--ssl-certfile", "together", STATUS_INVALID},
        {"--allowed-origins [1]", "--allowed-origins", "JSON array", STATUS_INVALID},
        {"--gpu-memory-utilization 1.5", "--gpu-memory-utilization", "between", STATUS_INVALID},
        {"--max-num-seqs 600 --max-num-batched-tokens 100", "--max-num-batched-tokens", "600",
         STATUS_INVALID},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(parse(cases[i].line), cases[i].status);
        assert_string_equal(error.param, cases[i].param);
        assert_non_null(strstr(error.message, cases[i].text));
    }
}

static void test_scope(void **state)
{
    char *argv[] = {"run", "--port", "80"};
    options_free(&options);
    options_init(&options);
    assert_int_equal(options_parse(&options, OPTION_ENGINE, 3, argv, &error), STATUS_INVALID);
    assert_string_equal(error.param, "--port");
}

static void test_help_names_every_flag(void **state)
{
    assert_int_equal(parse("--port 1 --help --nonsense"), STATUS_OK);
    assert_true(options.help);
    char text[32768] = "";
    FILE *file = fmemopen(text, sizeof(text), "w");
    options_print_help(OPTION_ENGINE | OPTION_SERVER, file);
    fclose(file);
    static const char *const names[] = {
        "--port",      "--max-num-batched-tokens",   "-tp",
        "--log-level", "--no-enable-prefix-caching", "--shutdown-timeout"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_non_null(strstr(text, names[i]));
    options_free(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_scope),
        cmocka_unit_test(test_help_names_every_flag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
