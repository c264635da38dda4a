/* log.c - see log.h. */
#include "runtime/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };

static enum log_level configured_level = LOG_INFO;
static bool configured_json;

void log_configure(enum log_level level, bool json)
{
    configured_level = level;
    configured_json = json;
}

/* Appends text with JSON's escapes; returns the new length. */
static size_t append_escaped(char *out, size_t len, size_t max, const char *text)
{
    for (; *text && len + 7 < max; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            out[len++] = '\\', out[len++] = (char)c;
        } else if (c < 0x20) {
            len += (size_t)snprintf(out + len, max - len, "\\u%04x", c);
        } else {
            out[len++] = (char)c;
        }
    }
    return len;
}

void log_line(enum log_level level, const char *component, const char *format, ...)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    if (level < configured_level) return;
    char text[LINE_MAX_BYTES / 2], line[LINE_MAX_BYTES], stamp[40];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);

    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    size_t n = strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(stamp + n, sizeof(stamp) - n, ".%03ldZ", now.tv_nsec / 1000000);

    size_t len;
    if (configured_json) {
        len = (size_t)snprintf(
            line, sizeof(line),
            "{\"time\":\"%s\",\"level\":\"%s\",\"component\":\"%s\",\"message\":\"", stamp,
            names[level], component);
        len = append_escaped(line, len, sizeof(line) - 4, text);
        len += (size_t)snprintf(line + len, sizeof(line) - len, "\"}\n");
    } else {
        len = (size_t)snprintf(line, sizeof(line), "%s %-7s %s: %s\n", stamp, names[level],
                               component, text);
    }
    if (len >= sizeof(line)) len = sizeof(line) - 1;
    ssize_t written = write(STDERR_FILENO, line, len);
    (void)written; /* nobody is left to tell */
}
