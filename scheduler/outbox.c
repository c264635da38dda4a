/* outbox.c - see outbox.h. */
#include "scheduler/outbox.h"

#include <stdlib.h>

#include "runtime/base/check.h"
#include "scheduler/request_state.h"

bool outbox_init(struct outbox *outbox, pthread_mutex_t *lock, int events_max)
{
    outbox->lock = lock;
    CHECK(pthread_cond_init(&outbox->freed, NULL) == 0);
    list_init(&outbox->free), list_init(&outbox->ready), list_init(&outbox->polled);
    for (int i = 0; i < OUTBOX_BLOCKS; i++) {
        struct outbox_block *block = &outbox->blocks[i];
        list_init(&block->finished);
        list_push_back(&outbox->free, &block->node);
        block->events = calloc((size_t)events_max, sizeof(*block->events));
    }
    for (int i = 0; i < OUTBOX_BLOCKS; i++)
        if (!outbox->blocks[i].events) return false;
    return true;
}

void outbox_close(struct outbox *outbox)
{
    for (int i = 0; i < OUTBOX_BLOCKS; i++) {
        struct list_node *node;
        while ((node = list_pop_front(&outbox->blocks[i].finished)))
            request_destroy(LIST_ITEM(node, struct request, node));
        free(outbox->blocks[i].events);
    }
    pthread_cond_destroy(&outbox->freed);
}

struct outbox_block *outbox_take_free(struct outbox *outbox, const bool *stop)
{
    while (list_empty(&outbox->free) && !*stop) pthread_cond_wait(&outbox->freed, outbox->lock);
    struct list_node *node = list_pop_front(&outbox->free);
    return node ? LIST_ITEM(node, struct outbox_block, node) : NULL;
}

void outbox_put_ready(struct outbox *outbox, struct outbox_block *block)
{
    list_push_back(&outbox->ready, &block->node);
}

static void token_event(const struct scheduler_event *from, struct engine_event *out)
{
    *out = (struct engine_event){.kind = from->kind,
                                 .request = from->request,
                                 .user = from->request->user,
                                 .token = from->token,
                                 .index = from->index,
                                 .has_logprobs = from->has_logprobs};
    if (from->has_logprobs) out->logprobs = from->logprobs;
}

static void finished_event(struct outbox *outbox, struct request *request,
                           const struct error *failure, struct engine_event *out)
{
    if (atomic_load(&request->cancelled)) { /* the engine may still be about to look at it */
        pthread_mutex_lock(outbox->lock);
        list_remove(&request->cancel_node);
        pthread_mutex_unlock(outbox->lock);
    }
    *out = (struct engine_event){
        .kind = EVENT_FINISHED,
        .request = request,
        .user = request->user,
        .token = request->finish == FINISH_STOP ? request->stop_token : 0,
        .finish = request->finish,
        .prompt_len = request->prompt_len,
        .cached_len = request->cached_len,
        .generated_len = request_generated(request),
        .preempted_count = request->preempted_count,
        .submitted_ns = request->submitted_ns,
        .scheduled_ns = request->scheduled_ns,
        .first_token_ns = request->first_token_ns,
        .finished_ns = request->finished_ns,
    };
    if (request->finish == FINISH_ERROR) out->error = *failure;
}

/* Takes the next event of the block; false when it is empty. */
static bool take_event(struct outbox *outbox, struct outbox_block *block,
                       const struct error *failure, struct engine_event *out)
{
    if (block->taken < block->event_count) {
        token_event(&block->events[block->taken++], out);
        return true;
    }
    struct list_node *node = list_pop_front(&block->finished);
    if (node) finished_event(outbox, LIST_ITEM(node, struct request, node), failure, out);
    return node != NULL;
}

int outbox_poll(struct outbox *outbox, const struct error *failure, struct engine_event *out,
                int max)
{
    int count = 0;
    while (count < max) {
        if (list_empty(&outbox->polled)) {
            pthread_mutex_lock(outbox->lock);
            list_splice(&outbox->polled, &outbox->ready);
            pthread_mutex_unlock(outbox->lock);
            if (list_empty(&outbox->polled)) break;
        }
        struct outbox_block *block = LIST_ITEM(outbox->polled.next, struct outbox_block, node);
        if (take_event(outbox, block, failure, &out[count])) {
            count++;
            continue;
        }
        block->event_count = block->taken = 0;
        pthread_mutex_lock(outbox->lock);
        list_remove(&block->node);
        list_push_back(&outbox->free, &block->node);
        pthread_cond_signal(&outbox->freed);
        pthread_mutex_unlock(outbox->lock);
    }
    return count;
}
