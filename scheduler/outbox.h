/*
 * outbox.h - events on their way from the engine thread to the server thread.
 *
 * A block holds what one step produced: its tokens, then the requests that ended. Blocks are made
 * at start and go round: free -> filled by the engine -> ready -> emptied by the server -> free.
 * With none free the engine waits, so a server that stands still costs no memory. Thread: each call
 * names its own; the caller holds `lock` where it says so.
 */
#ifndef SCHEDULER_OUTBOX_H
#define SCHEDULER_OUTBOX_H

#include <pthread.h>

#include "runtime/base/list.h"
#include "scheduler/engine.h"
#include "scheduler/scheduler.h"

struct outbox_block {
    struct list_node node;
    struct scheduler_event *events; /* [events_max] */
    int event_count, taken;
    struct list_node finished; /* requests, in order; after all events */
};

enum { OUTBOX_BLOCKS = 32 };

struct outbox {
    pthread_mutex_t *lock; /* the engine's; guards free and ready */
    pthread_cond_t freed;
    struct list_node free, ready;
    struct list_node polled; /* the server thread's */
    struct outbox_block blocks[OUTBOX_BLOCKS];
};

bool outbox_init(struct outbox *outbox, pthread_mutex_t *lock, int events_max);
/* Both threads have stopped: requests whose end was not taken are destroyed. */
void outbox_close(struct outbox *outbox);

/* Engine thread, lock held: an empty block; waits for one unless *stop, and then returns NULL. */
struct outbox_block *outbox_take_free(struct outbox *outbox, const bool *stop);
/* Engine thread, lock held. */
void outbox_put_ready(struct outbox *outbox, struct outbox_block *block);

/* Server thread, lock not held. `failure` is copied into FINISH_ERROR events. */
int outbox_poll(struct outbox *outbox, const struct error *failure, struct engine_event *out,
                int max);

#endif
