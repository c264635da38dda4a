/* test_kv_cache.c - pages, references, the prefix index and its eviction order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kvcache/kv_cache.h"

enum { PAGE_TOKENS = 4, TABLE_MAX = 32 };

struct sequence_of_tokens {
    int32_t tokens[TABLE_MAX * PAGE_TOKENS], pages[TABLE_MAX];
    uint64_t hashes[TABLE_MAX];
    struct kv_table table;
};

static struct kv_cache *create(int64_t pages, uint64_t hash_mask)
{
    return kv_cache_create(&(struct kv_cache_options){.page_count = pages + 1,
                                                      .page_tokens = PAGE_TOKENS,
                                                      .prefix_caching = true,
                                                      .hash_mask = hash_mask});
}

/* Tokens first, first + 1, ... */
static void fill(struct sequence_of_tokens *s, int first)
{
    memset(s, 0, sizeof(*s));
    for (int i = 0; i < TABLE_MAX * PAGE_TOKENS; i++) s->tokens[i] = first + i;
    kv_hash_pages(PAGE_TOKENS, s->tokens, TABLE_MAX * PAGE_TOKENS, s->hashes, 0);
    s->table.pages = s->pages, s->table.pages_max = TABLE_MAX;
}

static int open_table(struct kv_cache *cache, struct sequence_of_tokens *s, int len)
{
    return kv_table_open(cache, &s->table, s->tokens, s->hashes, len - 1, len, 0);
}

static void index_table(struct kv_cache *cache, struct sequence_of_tokens *s, int len)
{
    kv_table_index(cache, &s->table, s->tokens, s->hashes, len);
    kv_cache_verify(cache);
}

static void expect_counts(const struct kv_cache *cache, int64_t free, int64_t cached, int64_t used)
{
    struct kv_counts counts = kv_cache_counts(cache);
    kv_cache_verify(cache);
    assert_int_equal(counts.free, free);
    assert_int_equal(counts.cached, cached);
    assert_int_equal(counts.used, used);
    assert_int_equal(counts.total, free + cached + used);
}

static void test_prefix_is_shared(void **state)
{
    struct kv_cache *cache = create(10, 0);
    struct sequence_of_tokens a, b;
    fill(&a, 0), fill(&b, 0);
    assert_int_equal(open_table(cache, &a, 10), 0);
    assert_int_equal(a.table.page_count, 3);
    assert_int_equal(a.pages[0], 1); /* page 0 is never handed out */
    index_table(cache, &a, 10);      /* two full pages */
    b.tokens[9] = 77;
    assert_int_equal(open_table(cache, &b, 10), 8);
    assert_int_equal(b.pages[0], a.pages[0]);
    assert_int_equal(b.pages[1], a.pages[1]);
    assert_int_not_equal(b.pages[2], a.pages[2]);
    assert_int_equal(kv_cache_page_refs(cache, a.pages[0]), 2);
    expect_counts(cache, 6, 0, 4);
    kv_table_close(cache, &a.table);
    expect_counts(cache, 7, 0, 3);
    kv_table_close(cache, &b.table);
    expect_counts(cache, 8, 2, 0);
    assert_int_equal(open_table(cache, &a, 8), 4); /* the last token is left to compute */
    kv_table_close(cache, &a.table);
    kv_cache_destroy(cache);
}

static void test_oldest_tail_is_evicted_first(void **state)
{
    struct kv_cache *cache = create(8, 0);
    struct sequence_of_tokens a, b, c;
    fill(&a, 0), fill(&b, 1000), fill(&c, 2000);
    open_table(cache, &a, 16), index_table(cache, &a, 16);
    open_table(cache, &b, 16), index_table(cache, &b, 16);
    kv_table_close(cache, &a.table);
    kv_table_close(cache, &b.table);
    expect_counts(cache, 0, 8, 0);
    assert_int_equal(open_table(cache, &c, 8), 0); /* takes the last two pages of a */
    expect_counts(cache, 0, 6, 2);
    assert_int_equal(open_table(cache, &a, 9), 8);
    expect_counts(cache, 0, 3, 5); /* with one more evicted: the last of b */
    assert_int_equal(kv_table_open(cache, &b.table, b.tokens, b.hashes, 12, 12, 0), 12);
    expect_counts(cache, 0, 0, 8);
    kv_table_close(cache, &a.table);
    kv_table_close(cache, &b.table);
    kv_table_close(cache, &c.table);
    kv_cache_destroy(cache);
}

static void test_too_few_pages_change_nothing(void **state)
{
    struct kv_cache *cache = create(6, 0);
    struct sequence_of_tokens a, b;
    fill(&a, 0), fill(&b, 0);
    open_table(cache, &a, 12), index_table(cache, &a, 12);
    uint64_t releases = kv_cache_releases(cache);
    assert_int_equal(open_table(cache, &b, 28), -1); /* 3 shared + 4, and 3 are free */
    assert_int_equal(b.table.page_count, 0);
    assert_int_equal(kv_cache_page_refs(cache, a.pages[0]), 1);
    assert_int_equal(kv_table_open(cache, &b.table, b.tokens, b.hashes, 23, 24, 1), -1);
    assert_int_equal(kv_table_open(cache, &b.table, b.tokens, b.hashes, 23, 24, 0), 12);
    assert_false(kv_table_reserve(cache, &b.table, 25));
    assert_int_equal(b.table.page_count, 6);
    assert_int_equal(kv_cache_releases(cache), releases);
    kv_table_close(cache, &b.table);
    assert_int_equal(kv_cache_releases(cache), releases + 3);
    /* What is cached and to be shared cannot be evicted for the same table. */
    kv_table_close(cache, &a.table);
    expect_counts(cache, 3, 3, 0);
    assert_int_equal(open_table(cache, &b, 28), -1);
    assert_int_equal(open_table(cache, &b, 24), 12);
    kv_table_close(cache, &b.table);
    kv_cache_destroy(cache);
}

static void test_collisions_are_harmless(void **state)
{
    struct kv_cache *cache = create(20, 1); /* every hash is 0 or 1 */
    struct sequence_of_tokens a, b, c;
    fill(&a, 0), fill(&b, 500), fill(&c, 900);
    open_table(cache, &a, 16), index_table(cache, &a, 16);
    assert_int_equal(open_table(cache, &b, 16), 0);
    index_table(cache, &b, 16);
    /* A page of the same tokens behind another prefix holds another K and V. */
    memcpy(c.tokens + 4, a.tokens + 4, 12 * sizeof(int32_t));
    memcpy(c.hashes, a.hashes, sizeof(c.hashes));
    assert_int_equal(open_table(cache, &c, 16), 0);
    index_table(cache, &c, 16);
    kv_table_close(cache, &c.table);
    assert_int_equal(open_table(cache, &c, 16), 12);
    assert_int_not_equal(c.pages[1], a.pages[1]);
    kv_table_close(cache, &a.table);
    kv_table_close(cache, &b.table);
    kv_table_close(cache, &c.table);
    expect_counts(cache, 8, 12, 0);
    kv_cache_destroy(cache);
}

static void test_same_block_twice_is_indexed_once(void **state)
{
    struct kv_cache *cache = create(20, 0);
    struct sequence_of_tokens a, b, c;
    fill(&a, 0), fill(&b, 0), fill(&c, 0);
    open_table(cache, &a, 16), open_table(cache, &b, 16); /* both compute, as decoding does */
    index_table(cache, &a, 8), index_table(cache, &b, 16);
    index_table(cache, &a, 16);
    kv_table_close(cache, &a.table);
    kv_table_close(cache, &b.table);
    expect_counts(cache, 16, 4, 0);
    assert_int_equal(open_table(cache, &c, 17), 16);
    kv_table_close(cache, &c.table);
    kv_cache_destroy(cache);
}

static void test_switched_off(void **state)
{
    struct kv_cache *cache =
        kv_cache_create(&(struct kv_cache_options){.page_count = 9, .page_tokens = PAGE_TOKENS});
    struct sequence_of_tokens a, b;
    fill(&a, 0), fill(&b, 0);
    open_table(cache, &a, 16), index_table(cache, &a, 16);
    assert_int_equal(open_table(cache, &b, 16), 0);
    kv_table_close(cache, &a.table);
    kv_table_close(cache, &b.table);
    expect_counts(cache, 8, 0, 0);
    kv_cache_destroy(cache);
}

static void test_hashes_extend(void **state)
{
    struct sequence_of_tokens a;
    uint64_t hashes[TABLE_MAX];
    fill(&a, 3);
    int count = 0;
    for (int len = 0; len <= TABLE_MAX * PAGE_TOKENS; len += 3)
        count = kv_hash_pages(PAGE_TOKENS, a.tokens, len, hashes, count);
    assert_int_equal(count, TABLE_MAX - 1 + (TABLE_MAX * PAGE_TOKENS % 3 == 0));
    assert_memory_equal(hashes, a.hashes, (size_t)count * sizeof(*hashes));
    for (int i = 1; i < TABLE_MAX; i++) assert_true(a.hashes[i] != a.hashes[i - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefix_is_shared),
        cmocka_unit_test(test_oldest_tail_is_evicted_first),
        cmocka_unit_test(test_too_few_pages_change_nothing),
        cmocka_unit_test(test_collisions_are_harmless),
        cmocka_unit_test(test_same_block_twice_is_indexed_once),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_hashes_extend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
