/*
 * tokenizer_unicode_tables.h - the tables behind tokenizer_unicode.c and nothing else.
 *
 * Thread: any; constant. Ranges are inclusive and ascending.
 */
#ifndef SERVER_TEXT_TOKENIZER_UNICODE_TABLES_H
#define SERVER_TEXT_TOKENIZER_UNICODE_TABLES_H

#include <stdint.h>

struct unicode_range {
    uint32_t first, last;
};

struct unicode_twin_range {
    uint32_t first, last;
    uint32_t twin; /* of every character in the range */
};

/* What came with Unicode 15, 15.1 and 16. */
extern const struct unicode_twin_range unicode_twin_ranges[];
extern const int unicode_twin_range_count;

/* What came after Unicode 9, or has not come yet. */
extern const struct unicode_range unicode_late_ranges[];
extern const int unicode_late_range_count;

#endif
