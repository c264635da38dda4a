/* status.c - see status.h. */
#include "runtime/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum status error_set(struct error *error, enum status status, const char *param,
                      const char *format, ...)
{
    if (!error) return status;
    va_list args;
    va_start(args, format);
    error->status = status;
    snprintf(error->param, sizeof(error->param), "%s", param ? param : "");
    vsnprintf(error->message, sizeof(error->message), format, args);
    va_end(args);
    return status;
}

enum status error_prefix(struct error *error, enum status status, const char *format, ...)
{
    if (!error) return status;
    char prefix[ERROR_MESSAGE_MAX], whole[2 * ERROR_MESSAGE_MAX + 2];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof(prefix), format, args);
    va_end(args);
    snprintf(whole, sizeof(whole), "%s: %s", prefix, error->message);
    memcpy(error->message, whole, sizeof(error->message));
    error->message[sizeof(error->message) - 1] = 0;
    return status;
}

const char *status_name(enum status status)
{
    static const char *const names[] = {"ok",        "invalid",     "unauthorized", "not found",
                                        "too large", "unsupported", "queue full",   "unavailable",
                                        "cancelled", "no memory",   "io",           "corrupt",
                                        "device"};
    return (unsigned)status < sizeof(names) / sizeof(*names) ? names[status] : "unknown";
}
