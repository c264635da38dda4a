/*
 * tokenizer_bytelevel.h - how vocabularies write single bytes: byte-level BPE as a printable
 * character, SentencePiece as <0xXX>.
 *
 * Thread: any; pure functions.
 */
#ifndef SERVER_TEXT_TOKENIZER_BYTELEVEL_H
#define SERVER_TEXT_TOKENIZER_BYTELEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

/* Printable Latin-1 stands for itself, the other 68 bytes for U+0100 upwards in order. */
uint32_t bytelevel_char(unsigned char byte);

/* The byte that a character stands for, or -1. */
int bytelevel_byte(uint32_t c);

/* Appends the bytes that a token's characters stand for; false and nothing appended if one stands
 * for none. The text is well-formed. */
bool bytelevel_append_bytes(struct buffer *out, const char *text, size_t len);

/* The byte of SentencePiece's "<0xXX>", or -1. */
int bytelevel_hex_token(const char *text, size_t len);

#endif
