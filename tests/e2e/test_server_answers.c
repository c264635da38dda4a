/*
 * test_server_answers.c - what the real program answers with a real model: stream and whole answer
 * are the same bytes, stop strings, logprobs, token ids, choices, usage. Skips without ../shared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/api_client.h"
#include "tests/support/http_client.h"
#include "tests/support/server_process.h"

static struct server_process server;
static bool running;

static int set_up(void **state)
{
    if (access(SERVER_TEST_MODEL "/config.json", R_OK)) return 0;
    running = server_start(&server, PENSTOCK_PROGRAM,
                           SERVER_TEST_MODEL " --served-model-name mini --max-model-len 2048 "
                                             "--kv-cache-memory-bytes 64M --threads 2") &&
              server_wait_ready(&server);
    return running ? 0 : -1;
}

static int tear_down(void **state)
{
    server_kill(&server);
    return 0;
}

#define NEED_SERVER()                                                                              \
    do {                                                                                           \
        if (!running) skip();                                                                      \
    } while (0)

/* Asks twice, whole and streamed, and compares everything but chunking. */
static void ask_both(const char *path, const char *fields, struct api_answer *out)
{
    struct api_answer stream;
    assert_true(api_ask(server.port, path, fields, false, out));
    assert_true(api_ask(server.port, path, fields, true, &stream));
    if (out->status != 200) print_message("%s\n", out->raw.data);
    assert_int_equal(out->status, 200);
    assert_int_equal(stream.status, 200);
    assert_true(stream.done);
    assert_int_equal(out->choice_count, stream.choice_count);
    for (int i = 0; i < out->choice_count; i++) {
        assert_string_equal(out->text[i].data, stream.text[i].data);
        assert_string_equal(out->reasoning[i].data, stream.reasoning[i].data);
        assert_string_equal(out->logprobs[i].data, stream.logprobs[i].data);
        assert_string_equal(out->token_ids[i].data, stream.token_ids[i].data);
        assert_string_equal(out->finish[i], stream.finish[i]);
        assert_string_equal(out->stop_reason[i], stream.stop_reason[i]);
    }
    assert_int_equal(out->prompt_tokens, stream.prompt_tokens);
    assert_int_equal(out->completion_tokens, stream.completion_tokens);
    assert_string_equal(out->prompt_ids.data, stream.prompt_ids.data);
    api_answer_free(&stream);
}

#define CHAT       "/v1/chat/completions"
#define COMPLETION "/v1/completions"
#define QUESTION   "\"messages\":[{\"role\":\"user\",\"content\":\"Why is the sky blue?\"}]"

static int count_of(const char *text, char c)
{
    int count = 0;
    for (; *text; text++) count += *text == c;
    return count;
}

static void test_chat_greedy(void **state)
{
    NEED_SERVER();
    struct api_answer answer;
    ask_both(CHAT, QUESTION ",\"temperature\":0,\"max_tokens\":40,\"return_token_ids\":true",
             &answer);
    assert_true(answer.text[0].len > 10);
    assert_int_equal(count_of(answer.token_ids[0].data, ','), answer.completion_tokens);
    assert_int_equal(count_of(answer.prompt_ids.data, ','), answer.prompt_tokens);
    api_answer_free(&answer);
}

static void test_seeded_choices(void **state)
{
    NEED_SERVER();
    struct api_answer answer;
    ask_both(CHAT,
             QUESTION ",\"temperature\":1.2,\"seed\":7,\"n\":4,\"max_completion_tokens\":30,"
                      "\"logprobs\":true,\"top_logprobs\":3,\"return_token_ids\":true",
             &answer);
    assert_int_equal(answer.choice_count, 4);
    assert_string_not_equal(answer.text[0].data, answer.text[1].data);
    assert_int_equal(count_of(answer.logprobs[0].data, '{') / 4,
                     count_of(answer.token_ids[0].data, ','));
    api_answer_free(&answer);
}

static void test_prompt_shapes(void **state)
{
    NEED_SERVER();
    static const char *const prompts[] = {"\"One\"", "[\"One\",\"Two three\"]", "[50,60,70]",
                                          "[[50,60],[70,80,90]]"};
    static const int counts[] = {1, 2, 1, 2};
    for (int i = 0; i < 4; i++) {
        struct api_answer answer;
        char fields[256];
        snprintf(fields, sizeof(fields),
                 "\"prompt\":%s,\"temperature\":0,\"max_tokens\":6,\"echo\":true,\"logprobs\":2,"
                 "\"ignore_eos\":true,\"n\":2,\"return_token_ids\":true",
                 prompts[i]);
        ask_both(COMPLETION, fields, &answer);
        assert_int_equal(answer.choice_count, 2 * counts[i]);
        assert_int_equal(answer.completion_tokens, 12 * counts[i]);
        assert_string_equal(answer.finish[0], "length");
        assert_string_equal(answer.text[0].data, answer.text[1].data); /* greedy */
        api_answer_free(&answer);
    }
}

static void test_echo_only(void **state)
{
    NEED_SERVER();
    struct api_answer answer;
    ask_both(COMPLETION, "\"prompt\":\"Once upon\",\"max_tokens\":0,\"echo\":true,\"logprobs\":1",
             &answer);
    assert_string_equal(answer.text[0].data, "Once upon");
    assert_int_equal(answer.completion_tokens, 0);
    assert_non_null(strstr(answer.logprobs[0].data, "null"));
    api_answer_free(&answer);
}

/* Cuts the answer at every place with a stop string of every length: whatever the token borders,
 * the text ends just before it, and nothing of the stop string was ever streamed. */
static void test_stop_strings_across_tokens(void **state)
{
    NEED_SERVER();
    struct api_answer whole, answer;
    ask_both(CHAT, QUESTION ",\"temperature\":0,\"max_tokens\":24", &whole);
    const char *text = whole.text[0].data;
    for (size_t at = 3; at + 12 < whole.text[0].len && at < 60; at += 7) {
        for (size_t len = 1; len <= 9; len += 4) {
            char stop[16], fields[512];
            if (((unsigned char)text[at] | (unsigned char)text[at + len]) & 0x80) continue;
            snprintf(stop, sizeof(stop), "%.*s", (int)len, text + at);
            if (strpbrk(stop, "\"\\\n")) continue;
            snprintf(fields, sizeof(fields),
                     QUESTION ",\"temperature\":0,\"max_tokens\":24,\"stop\":[\"%s\",\"@@\"]",
                     stop);
            ask_both(CHAT, fields, &answer);
            size_t expected = (size_t)(strstr(text, stop) - text);
            assert_int_equal(answer.text[0].len, expected);
            assert_memory_equal(answer.text[0].data, text, expected);
            assert_string_equal(answer.finish[0], "stop");
            assert_memory_equal(answer.stop_reason[0] + 1, stop, strlen(stop));
            api_answer_free(&answer);
        }
    }
    api_answer_free(&whole);
}

static void test_stop_variants(void **state)
{
    NEED_SERVER();
    struct api_answer whole, answer;
    char fields[512], stop[8];
    ask_both(CHAT, QUESTION ",\"temperature\":0,\"max_tokens\":16,\"return_token_ids\":true",
             &whole);
    snprintf(stop, sizeof(stop), "%.3s", whole.text[0].data + 4);
    snprintf(fields, sizeof(fields),
             QUESTION ",\"temperature\":0,\"max_tokens\":16,\"stop\":\"%s\","
                      "\"include_stop_str_in_output\":true",
             stop);
    ask_both(CHAT, fields, &answer);
    assert_int_equal(answer.text[0].len, 7);
    api_answer_free(&answer);
    /* The third token as a stop token: not part of the text, but counted. */
    int ids[3] = {0};
    sscanf(whole.token_ids[0].data, "%d,%d,%d", &ids[0], &ids[1], &ids[2]);
    snprintf(fields, sizeof(fields),
             QUESTION ",\"temperature\":0,\"max_tokens\":16,\"stop_token_ids\":[%d]", ids[2]);
    ask_both(CHAT, fields, &answer);
    assert_string_equal(answer.finish[0], "stop");
    assert_int_equal(atoi(answer.stop_reason[0]), ids[2]);
    assert_true(answer.completion_tokens <= 3);
    api_answer_free(&answer);
    /* min_tokens keeps stop strings from stopping. */
    snprintf(fields, sizeof(fields),
             QUESTION ",\"temperature\":0,\"max_tokens\":16,\"min_tokens\":16,\"stop\":\"%s\"",
             stop);
    ask_both(CHAT, fields, &answer);
    assert_int_equal(answer.completion_tokens, 16);
    api_answer_free(&answer);
    api_answer_free(&whole);
}

static void test_biases_and_penalties(void **state)
{
    NEED_SERVER();
    struct api_answer answer;
    ask_both(COMPLETION,
             "\"prompt\":\"Say\",\"max_tokens\":5,\"logit_bias\":{\"321\":100},\"temperature\":0,"
             "\"return_token_ids\":true",
             &answer);
    assert_string_equal(answer.token_ids[0].data, "321,321,321,321,321,");
    api_answer_free(&answer);
    ask_both(COMPLETION,
             "\"prompt\":\"Say\",\"max_tokens\":12,\"seed\":3,\"top_p\":0.9,\"top_k\":40,"
             "\"min_p\":0.02,\"presence_penalty\":0.5,\"frequency_penalty\":0.7,"
             "\"repetition_penalty\":1.1,\"ignore_eos\":true,\"skip_special_tokens\":false",
             &answer);
    assert_int_equal(answer.completion_tokens, 12);
    api_answer_free(&answer);
}

static void test_prompt_logprobs(void **state)
{
    NEED_SERVER();
    struct api_answer answer;
    assert_true(api_ask(server.port, COMPLETION,
                        "\"prompt\":\"The cat sat\",\"max_tokens\":1,\"prompt_logprobs\":0", false,
                        &answer));
    assert_int_equal(answer.status, 200);
    char *list = strstr(answer.raw.data, "\"prompt_logprobs\":[null,{");
    assert_non_null(list);
    assert_int_equal(count_of(list, '{') - count_of(strstr(list, "]"), '{'),
                     2 * (answer.prompt_tokens - 1));
    api_answer_free(&answer);
    assert_true(api_ask(server.port, CHAT, QUESTION ",\"max_tokens\":1,\"prompt_logprobs\":2",
                        false, &answer));
    assert_non_null(strstr(answer.raw.data, "\"prompt_logprobs\":[null,{"));
    api_answer_free(&answer);
}

static void test_continue_final_message(void **state)
{
    NEED_SERVER();
    struct api_answer answer;
    ask_both(CHAT,
             "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]},"
             "{\"role\":\"assistant\",\"content\":\"The answer is \"}],"
             "\"continue_final_message\":true,\"temperature\":0,\"max_tokens\":4,"
             "\"return_token_ids\":true",
             &answer);
    struct http_reply reply = {0};
    struct buffer body = {0};
    answer.prompt_ids.data[answer.prompt_ids.len - 1] = 0; /* the last comma */
    buffer_printf(&body, "{\"tokens\":[%s]}", answer.prompt_ids.data);
    assert_true(http_call(server.port, "/detokenize", body.data, &reply));
    assert_non_null(strstr(reply.body.data, "The answer is"));
    assert_null(strstr(strstr(reply.body.data, "The answer is"), "im_end"));
    buffer_free(&body);
    http_reply_free(&reply);
    api_answer_free(&answer);
}

static void test_prefix_cache_in_usage(void **state)
{
    NEED_SERVER();
    struct api_answer answer;
    struct buffer fields = {0};
    buffer_printf(&fields, "\"prompt\":[");
    for (int i = 0; i < 200; i++) buffer_printf(&fields, "%s%d", i ? "," : "", 300 + i);
    buffer_printf(&fields, "],\"max_tokens\":2");
    assert_true(api_ask(server.port, COMPLETION, fields.data, false, &answer));
    api_answer_free(&answer);
    assert_true(api_ask(server.port, COMPLETION, fields.data, false, &answer));
    assert_int_equal(answer.prompt_tokens, 200);
    assert_true(answer.cached_tokens >= 176);
    buffer_free(&fields);
    api_answer_free(&answer);
}

static void test_tokenize_round_trip(void **state)
{
    NEED_SERVER();
    struct http_reply reply = {0};
    assert_true(http_call(server.port, "/tokenize",
                          "{\"prompt\":\"Hello w\\u00f6rld\",\"return_token_strs\":true}", &reply));
    assert_int_equal(reply.status, 200);
    yyjson_doc *doc = yyjson_read(reply.body.data, reply.body.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    size_t count = yyjson_arr_size(yyjson_obj_get(root, "tokens"));
    assert_int_equal(yyjson_get_int(yyjson_obj_get(root, "count")), count);
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(root, "token_strs")), count);
    assert_int_equal(yyjson_get_int(yyjson_obj_get(root, "max_model_len")), 2048);
    char *ids = yyjson_val_write(yyjson_obj_get(root, "tokens"), 0, NULL);
    struct buffer body = {0};
    buffer_printf(&body, "{\"tokens\":%s}", ids);
    assert_true(http_call(server.port, "/detokenize", body.data, &reply));
    assert_string_equal(reply.body.data, "{\"prompt\":\"Hello w\xc3\xb6rld\"}");
    free(ids);
    yyjson_doc_free(doc);
    buffer_free(&body);
    http_reply_free(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat_greedy),
        cmocka_unit_test(test_seeded_choices),
        cmocka_unit_test(test_prompt_shapes),
        cmocka_unit_test(test_echo_only),
        cmocka_unit_test(test_stop_strings_across_tokens),
        cmocka_unit_test(test_stop_variants),
        cmocka_unit_test(test_biases_and_penalties),
        cmocka_unit_test(test_prompt_logprobs),
        cmocka_unit_test(test_continue_final_message),
        cmocka_unit_test(test_prefix_cache_in_usage),
        cmocka_unit_test(test_tokenize_round_trip),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
