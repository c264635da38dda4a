/*
 * metrics.h - what Prometheus scrapes: vLLM's names, labels and histogram bounds (and finer ones).
 *
 * Thread: the server thread. Counters of the engine are read from engine_stats when scraped.
 */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "runtime/base/buffer.h"
#include "server/completion.h"

struct metrics;
struct service;
struct engine_event;

struct metrics *metrics_create(const char *model_name);
void metrics_destroy(struct metrics *metrics);

/* `completion` was handed to the engine. */
void metrics_request_started(struct metrics *metrics, const struct completion *completion);
/* Hook of the service: every event of the engine before it is taken. */
void metrics_observe(struct metrics *metrics, const struct completion_choice *choice,
                     const struct engine_event *event);
void metrics_http_finished(struct metrics *metrics, int status);

/* The text format; `service` NULL while loading: its gauges are 0. */
void metrics_write(const struct metrics *metrics, struct service *service, struct buffer *out);

#endif
