/*
 * log.h - one line per event on stderr, for people or as JSON for machines.
 *
 * Thread: any; a line is written by one write(). log_configure is called once, by main, before
 * threads.
 */
#ifndef RUNTIME_BASE_LOG_H
#define RUNTIME_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

/* Lines below `level` are dropped. */
void log_configure(enum log_level level, bool json);

/* `component` is the folder or module that speaks ("server", "worker"). */
void log_line(enum log_level level, const char *component, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_info(component, ...)    log_line(LOG_INFO, component, __VA_ARGS__)
#define log_warning(component, ...) log_line(LOG_WARNING, component, __VA_ARGS__)
#define log_error(component, ...)   log_line(LOG_ERROR, component, __VA_ARGS__)

#endif
