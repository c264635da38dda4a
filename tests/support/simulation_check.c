/* simulation_check.c - what must hold of scheduler and cache at every moment. See simulation.h. */
#include <string.h>

#include "runtime/base/check.h"
#include "tests/support/simulation_state.h"

/* Every page's references are exactly the tables that hold it. */
static void check_pages(const struct scheduler *s)
{
    int refs[SIM_PAGES_MAX] = {0};
    int64_t used = 0;
    for (int i = 0; i < s->options.limits.rows_max; i++) {
        const struct kv_table *table = &s->sequences[i].table;
        for (int j = 0; j < table->page_count; j++) refs[table->pages[j]]++;
    }
    for (int32_t page = 1; page < s->options.page_count; page++) {
        CHECK(kv_cache_page_refs(s->cache, page) == refs[page]);
        used += refs[page] > 0;
    }
    CHECK(refs[PAGE_SCRAP] == 0);
    CHECK(kv_cache_counts(s->cache).used == used);
    kv_cache_verify(s->cache);
}

/* What batches in flight name is still held by the sequence that they were planned for. */
static void check_in_flight(const struct life *l)
{
    const struct scheduler *s = l->scheduler;
    int rows[SIM_ROWS_MAX] = {0}, samples[SIM_ROWS_MAX] = {0};
    for (int i = 0; i < l->in_flight; i++) {
        const struct plan *plan = &s->plans[(s->plan_first + i) % SCHEDULER_IN_FLIGHT_MAX];
        const struct batch *batch = l->batches[(l->first + i) % 2];
        CHECK(plan->step == batch->step && plan->row_count == batch->row_count);
        for (int j = 0; j < plan->row_count; j++) {
            const struct batch_row *row = &batch->rows[j];
            const struct sequence *sequence = plan->rows[j].sequence;
            CHECK(sequence->slot == row->slot && sequence->table.page_count >= row->page_count);
            CHECK(memcmp(sequence->table.pages, batch->pages + row->page_start,
                         (size_t)row->page_count * sizeof(int32_t)) == 0);
            rows[row->slot]++;
            samples[row->slot] += plan->rows[j].samples;
        }
    }
    for (int i = 0; i < s->options.limits.rows_max; i++)
        CHECK(s->sequences[i].in_flight == rows[i] && s->sequences[i].sampling == samples[i]);
}

static int list_count(const struct list_node *head)
{
    int count = 0;
    for (const struct list_node *node = head->next; node != head; node = node->next) count++;
    return count;
}

static void check_lists(const struct scheduler *s)
{
    bool by_priority = s->options.priority_policy;
    int running = list_count(&s->running), attached = 0;
    CHECK(running == s->running_count);
    CHECK(running + list_count(&s->leaving) + list_count(&s->idle) == s->options.limits.rows_max);
    for (struct list_node *node = s->running.next; node != &s->running; node = node->next) {
        const struct sequence *sequence = LIST_ITEM(node, struct sequence, node);
        CHECK(sequence->request && !sequence->leaving && sequence->table.page_count > 0);
        CHECK(sequence->planned <= sequence_len(sequence));
        if (node->next != &s->running)
            CHECK(request_is_senior(sequence->request,
                                    LIST_ITEM(node->next, struct sequence, node)->request,
                                    by_priority));
    }
    for (struct list_node *node = s->leaving.next; node != &s->leaving; node = node->next)
        CHECK(LIST_ITEM(node, struct sequence, node)->in_flight > 0);
    for (struct list_node *node = s->idle.next; node != &s->idle; node = node->next) {
        const struct sequence *sequence = LIST_ITEM(node, struct sequence, node);
        CHECK(!sequence->request && sequence->table.page_count == 0 && sequence->in_flight == 0);
    }
    for (int i = 0; i < s->options.limits.rows_max; i++) {
        const struct request *request = s->sequences[i].request;
        if (!request) continue;
        attached++;
        CHECK(request->state == REQUEST_RUNNING && request->sequence == &s->sequences[i]);
    }
    for (int i = 0; i < s->waiting.count; i++) {
        const struct request *request = s->waiting.entries[i].request;
        CHECK(request->state == REQUEST_WAITING && request->queue_index == i);
        CHECK(!request->sequence);
    }
    CHECK(s->live_count == attached + s->waiting.count);
}

void simulation_check(const struct life *l)
{
    check_pages(l->scheduler);
    check_in_flight(l);
    check_lists(l->scheduler);
}

void simulation_check_plan(struct life *l, const struct batch *batch)
{
    const struct scheduler *s = l->scheduler;
    const struct plan *plan =
        &s->plans[(s->plan_first + s->in_flight - 1) % SCHEDULER_IN_FLIGHT_MAX];
    for (int i = 0; i < batch->row_count; i++) {
        const struct request *request = plan->rows[i].sequence->request;
        const struct batch_row *row = &batch->rows[i];
        CHECK(request); /* nothing that has ended is planned */
        CHECK(i >= batch->decode_count || row->kv_len > request->prompt_len);
        CHECK(row->kv_len <= request->token_max);
        /* Nobody overtakes: whoever begins is senior to all that still wait. */
        if (request->scheduled_ns != l->now) continue;
        for (int j = 0; j < l->submitted; j++) {
            const struct request *other = l->requests[j].live ? l->requests[j].request : NULL;
            if (!other || (other->sequence && !other->sequence->leaving)) continue;
            CHECK(request_is_senior(request, other, s->options.priority_policy));
        }
    }
    for (int i = 0; i < l->in_flight - 1; i++) { /* rows of requests that ended meanwhile */
        const struct plan *earlier = &s->plans[(s->plan_first + i) % SCHEDULER_IN_FLIGHT_MAX];
        for (int j = 0; j < earlier->row_count; j++)
            l->totals->late_rows += !earlier->rows[j].sequence->request;
    }
}
