/*
 * api_client.h - completions over HTTP for tests: whole answers and collected streams in one shape.
 *
 * Thread: its owner's.
 */
#ifndef TESTS_SUPPORT_API_CLIENT_H
#define TESTS_SUPPORT_API_CLIENT_H

#include <stdbool.h>
#include <yyjson.h>

#include "runtime/base/buffer.h"

enum { API_CHOICES = 16 };

/* One answer, of a stream or whole: per choice what its pieces join to. */
struct api_answer {
    int status;
    int choice_count, chunk_count;
    struct buffer text[API_CHOICES], reasoning[API_CHOICES];
    struct buffer logprobs[API_CHOICES];  /* JSON of the joined entries */
    struct buffer token_ids[API_CHOICES]; /* "1,2,3," */
    char finish[API_CHOICES][16];
    char stop_reason[API_CHOICES][64];
    struct buffer prompt_ids;
    int prompt_tokens, completion_tokens, cached_tokens; /* -1: no usage */
    bool done;                                           /* a stream ended with [DONE] */
    struct buffer raw;                                   /* the whole body */
};

/* `fields` is the inside of a JSON object without "stream", e.g. "\"prompt\":\"a\"". */
bool api_ask(int port, const char *path, const char *fields, bool stream,
             struct api_answer *answer);
void api_answer_free(struct api_answer *answer);

#endif
