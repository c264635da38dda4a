/*
 * base64.h - Base64 (RFC 4648) decoding, for blobs in tokenizer files.
 *
 * Thread: any; a pure function.
 */
#ifndef SERVER_TEXT_BASE64_H
#define SERVER_TEXT_BASE64_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

/* Appends the bytes; false if the text is not Base64. Padding may be missing. */
bool base64_append_decoded(struct buffer *out, const char *text, size_t len);

#endif
