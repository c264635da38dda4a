/*
 * status.h - whose fault it is, and a sentence that says what to do.
 *
 * Thread: any; a struct error belongs to its caller. Fallible functions return enum status and take
 * a struct error as their last argument, which may be NULL; on STATUS_OK the error is left
 * untouched. Faults of our own are no status: CHECK (check.h) ends the process.
 */
#ifndef RUNTIME_BASE_STATUS_H
#define RUNTIME_BASE_STATUS_H

enum status {
    STATUS_OK = 0,
    STATUS_INVALID,      /* a request, flag or file says something that cannot be meant: 400 */
    STATUS_UNAUTHORIZED, /* 401 */
    STATUS_NOT_FOUND,    /* no such model, file or route: 404 */
    STATUS_TOO_LARGE,    /* over a limit that the message names: 413 over HTTP */
    STATUS_UNSUPPORTED,  /* known, and not supported here: 400; at start: refused */
    STATUS_QUEUE_FULL,   /* 429 with Retry-After */
    STATUS_UNAVAILABLE,  /* loading, draining or broken: 503 */
    STATUS_CANCELLED,    /* the client went away: no answer is owed */
    STATUS_NO_MEMORY,
    STATUS_IO,      /* the operating system refused; the message has its reason */
    STATUS_CORRUPT, /* a file contradicts itself */
    STATUS_DEVICE,  /* a device or rank failed: fatal for the process: 500 */
};

enum { ERROR_PARAM_MAX = 64, ERROR_MESSAGE_MAX = 512 };

struct error {
    enum status status;
    char param[ERROR_PARAM_MAX];     /* the field, flag, key or tensor at fault; may be empty */
    char message[ERROR_MESSAGE_MAX]; /* one sentence, no trailing newline */
};

/* Fills `error` (unless NULL) and returns `status`. `param` may be NULL. Over-long text is cut. */
enum status error_set(struct error *error, enum status status, const char *param,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts "prefix: " before the message of an error already set; returns its status. */
enum status error_prefix(struct error *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A short lower-case name: "ok", "invalid", ... */
const char *status_name(enum status status);

#endif
