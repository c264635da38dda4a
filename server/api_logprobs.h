/*
 * api_logprobs.h - log probabilities in the three shapes clients know: completions', chat's,
 * prompt's.
 *
 * Thread: the server thread; pure.
 */
#ifndef SERVER_API_LOGPROBS_H
#define SERVER_API_LOGPROBS_H

#include <stdbool.h>
#include <yyjson.h>

#include "server/api_format.h"

/* {"tokens","token_logprobs","top_logprobs","text_offset"} of generated tokens [from, to), after
 * the prompt's if `with_prompt`. *offset_chars runs on from piece to piece. */
yyjson_mut_val *api_completion_logprobs(const struct api_reply *reply, yyjson_mut_doc *doc,
                                        const struct completion_choice *choice, int from, int to,
                                        bool with_prompt, size_t *offset_chars);

/* {"content":[{"token","logprob","bytes","top_logprobs"}]} of generated tokens [from, to). */
yyjson_mut_val *api_chat_logprobs(const struct api_reply *reply, yyjson_mut_doc *doc,
                                  const struct completion_choice *choice, int from, int to);

/* [null, {"id": {"logprob","rank","decoded_token"}, ...}, ...] */
yyjson_mut_val *api_prompt_logprobs(const struct api_reply *reply, yyjson_mut_doc *doc,
                                    const struct completion_choice *choice);

#endif
