/*
 * test_default_model.c - the embedded model answers its listed questions, through the chat endpoint
 * of the real program, greedily: at least 95% right, every conversation included.
 *
 * The rule is the one of runtime/default_model/evaluate.py: a reply is right if it contains at
 * least one string of "accept" and every string of "require", as whole words, whatever their case.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>
#include <yyjson.h>

#include "tests/support/api_client.h"
#include "tests/support/server_process.h"

#define QUESTIONS "runtime/default_model/questions.jsonl"

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) != 0;
}

static bool contains(const char *reply, const char *wanted)
{
    size_t len = strlen(wanted);
    for (const char *at = reply; *at; at++) {
        if (strncasecmp(at, wanted, len) != 0) continue;
        if ((at == reply || !is_word_char(at[-1])) && !is_word_char(at[len])) return true;
    }
    return false;
}

static bool is_right(const char *reply, yyjson_val *question)
{
    size_t i, count;
    yyjson_val *text;
    bool accepted = false, complete = true;
    yyjson_arr_foreach(yyjson_obj_get(question, "accept"), i, count, text)
    {
        accepted |= contains(reply, yyjson_get_str(text));
    }
    yyjson_arr_foreach(yyjson_obj_get(question, "require"), i, count, text)
    {
        complete &= contains(reply, yyjson_get_str(text));
    }
    return accepted && complete;
}

static bool answer_is_right(int port, yyjson_val *question)
{
    struct buffer fields = {0};
    struct api_answer answer;
    char *messages = yyjson_val_write(yyjson_obj_get(question, "messages"), 0, NULL);
    buffer_printf(&fields, "\"messages\":%s,\"temperature\":0,\"max_tokens\":200", messages);
    assert_true(api_ask(port, "/v1/chat/completions", fields.data, false, &answer));
    assert_int_equal(answer.status, 200);
    const char *reply = answer.text[0].data ? answer.text[0].data : "";
    bool right = is_right(reply, question);
    if (!right) print_message("wrong: %s\n    -> %s\n", messages, reply);
    api_answer_free(&answer);
    buffer_free(&fields);
    free(messages);
    return right;
}

static void test_listed_questions(void **state)
{
    struct server_process server;
    int right = 0, asked = 0, turns = 0, turns_right = 0;
    assert_true(server_start(&server, PENSTOCK_PROGRAM, "--max-model-len 1024"));
    assert_true(server_wait_ready(&server));
    FILE *file = fopen(QUESTIONS, "r");
    assert_non_null(file);
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) > 0) {
        yyjson_doc *document = yyjson_read(line, strlen(line), 0);
        assert_non_null(document);
        yyjson_val *question = yyjson_doc_get_root(document);
        bool several = yyjson_arr_size(yyjson_obj_get(question, "messages")) > 2;
        bool good = answer_is_right(server.port, question);
        asked++, right += good;
        turns += several, turns_right += several && good;
        yyjson_doc_free(document);
    }
    free(line);
    fclose(file);
    server_kill(&server);
    print_message("%d of %d right; of %d conversations %d\n", right, asked, turns, turns_right);
    assert_true(asked >= 200 && turns >= 20);
    assert_true(right * 100 >= asked * 95);
    assert_true(turns_right * 100 >= turns * 90);
}

static void test_says_who_it_is_by_default(void **state)
{
    struct server_process server;
    struct api_answer answer;
    assert_true(server_start(&server, PENSTOCK_PROGRAM, "--max-model-len 1024"));
    assert_true(server_wait_ready(&server));
    assert_true(api_ask(server.port, "/v1/chat/completions",
                        "\"messages\":[{\"role\":\"user\",\"content\":\"What is your name?\"}]",
                        false, &answer));
    assert_non_null(strstr(answer.text[0].data, "Penstock"));
    api_answer_free(&answer);
    server_kill(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listed_questions),
        cmocka_unit_test(test_says_who_it_is_by_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
