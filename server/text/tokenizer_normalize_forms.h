/*
 * tokenizer_normalize_forms.h - Unicode's normalisation forms and lower case, as the published
 * libraries do them.
 *
 * Thread: any; the scratch belongs to one call at a time.
 */
#ifndef SERVER_TEXT_TOKENIZER_NORMALIZE_FORMS_H
#define SERVER_TEXT_TOKENIZER_NORMALIZE_FORMS_H

#include "server/text/tokenizer_normalize.h"

/* A quick look: true only if the text is in the form already. */
bool normalize_form_is(enum normalize_kind form, const char *text, size_t len);

/* Appends the text in the form (one of NORMALIZE_NFC .. NORMALIZE_NFKD). */
void normalize_form(enum normalize_kind form, struct normalize_scratch *scratch, const char *text,
                    size_t len, struct buffer *out);

/* The lower case of one character, up to 3 of them. */
size_t normalize_lowercase(uint32_t c, char out[16]);

#endif
