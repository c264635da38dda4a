/*
 * options_table.h - the flags: names, kinds, bounds, what they teach.
 *
 * Thread: any; constant.
 */
#ifndef SERVER_OPTIONS_TABLE_H
#define SERVER_OPTIONS_TABLE_H

#include <stddef.h>

enum option_kind {
    OPTION_GROUP, /* a heading of --help */
    OPTION_STRING,
    OPTION_CHOICE, /* one of the words of `argument`, separated by | */
    OPTION_INT,    /* also 4k = 4000, 4K = 4096, and so on */
    OPTION_INT64,
    OPTION_FLOAT,
    OPTION_BOOL,      /* also --no-NAME */
    OPTION_STRINGS,   /* one or more values; may be repeated */
    OPTION_JSON_LIST, /* a JSON array of strings, as vLLM's; or plain values */
};

struct option_spec {
    enum option_kind kind;
    int scope;
    const char *name;     /* "--port" */
    const char *alias;    /* "-tp" or NULL */
    const char *argument; /* as shown: "N", "PATH"; the words of a choice */
    size_t offset;        /* in struct options */
    double min, max;
    const char *help;
};

extern const struct option_spec option_specs[];
extern const int option_spec_count;

/* Flags of vLLM that mean something this program does not do. */
struct option_refusal {
    const char *name, *reason;
};

extern const struct option_refusal option_refusals[];
extern const int option_refusal_count;

#endif
