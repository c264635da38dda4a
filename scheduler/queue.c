/*
 * queue.c - the waiting requests, most senior first. See scheduler_state.h.
 *
 * A heap serves both policies, and puts a preempted request back to its place. Arrivals of one
 * priority are pushed in order, so under fcfs a push costs one comparison.
 */
#include <stdlib.h>

#include "runtime/base/check.h"
#include "scheduler/scheduler_state.h"

bool queue_init(struct queue *queue, int capacity)
{
    queue->count = 0, queue->capacity = capacity;
    queue->entries = calloc((size_t)capacity, sizeof(*queue->entries));
    return queue->entries != NULL;
}

static bool entry_before(const struct queue_entry *a, const struct queue_entry *b)
{
    return a->priority != b->priority ? a->priority < b->priority : a->arrival < b->arrival;
}

static struct queue_entry entry_of(struct request *request, bool by_priority)
{
    return (struct queue_entry){by_priority ? request->priority : 0, request->arrival, request};
}

bool request_is_senior(const struct request *a, const struct request *b, bool by_priority)
{
    if (by_priority && a->priority != b->priority) return a->priority < b->priority;
    return a->arrival < b->arrival;
}

static void put(struct queue *queue, int at, struct queue_entry entry)
{
    queue->entries[at] = entry;
    entry.request->queue_index = at;
}

static void sift_up(struct queue *queue, int at, struct queue_entry entry)
{
    for (; at > 0; at = (at - 1) / 2) {
        struct queue_entry *parent = &queue->entries[(at - 1) / 2];
        if (!entry_before(&entry, parent)) break;
        put(queue, at, *parent);
    }
    put(queue, at, entry);
}

static void sift_down(struct queue *queue, int at, struct queue_entry entry)
{
    for (int child; (child = 2 * at + 1) < queue->count; at = child) {
        if (child + 1 < queue->count &&
            entry_before(&queue->entries[child + 1], &queue->entries[child]))
            child++;
        if (!entry_before(&queue->entries[child], &entry)) break;
        put(queue, at, queue->entries[child]);
    }
    put(queue, at, entry);
}

void queue_push(struct queue *queue, struct request *request, bool by_priority)
{
    CHECK(queue->count < queue->capacity);
    sift_up(queue, queue->count++, entry_of(request, by_priority));
}

void queue_remove(struct queue *queue, struct request *request)
{
    int at = request->queue_index;
    CHECK(at >= 0 && at < queue->count && queue->entries[at].request == request);
    struct queue_entry last = queue->entries[--queue->count];
    request->queue_index = -1;
    if (at == queue->count) return;
    if (at > 0 && entry_before(&last, &queue->entries[(at - 1) / 2]))
        sift_up(queue, at, last);
    else
        sift_down(queue, at, last);
}

struct request *queue_first(const struct queue *queue)
{
    return queue->count ? queue->entries[0].request : NULL;
}
