/*
 * load_client.h - one HTTP connection that sends a streaming completion and times what comes back.
 *
 * Thread: the loop's. A client serves one request at a time and is used again for the next, over
 * the same connection while the server keeps it.
 */
#ifndef BENCH_LOAD_CLIENT_H
#define BENCH_LOAD_CLIENT_H

#include <uv.h>

#include "bench/load.h"

struct load_client;

struct load_target { /* where to, resolved once; shared by all clients */
    struct sockaddr_storage address;
    char host[256], path[512]; /* for the Host header and the request line */
    const char *api_key;
};

/* Only http:// URLs: TLS belongs to a proxy when measuring. */
enum status load_target_resolve(struct load_target *target, const char *base_url,
                                const char *endpoint, const char *api_key, struct error *error);

struct load_client *load_client_create(uv_loop_t *loop, const struct load_target *target);

/* Fills `record` and calls done(arg, client) at the end, whatever the end is. */
void load_client_send(struct load_client *client, const struct load_request *request,
                      struct load_record *record,
                      void (*done)(void *arg, struct load_client *client), void *arg);

/* Closes the connection; memory is freed when the loop has run. */
void load_client_close(struct load_client *client);

#endif
