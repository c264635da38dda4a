/*
 * kv_cache.c - see kv_cache.h.
 *
 * The index is a hash table of chains over page numbers. A hash only says where to look: a page
 * matches when its tokens are equal and its parent is the very block that was matched before.
 * Blocks are told apart by an identity that is given once and never again, so a chain of collisions
 * cannot put a page behind a prefix that it was not computed for. An identity outlives its page: a
 * child whose parent was evicted is merely unreachable, and evicted in its turn.
 */
#include "kvcache/kv_cache.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

enum { PAGE_NONE = 0 }; /* page 0 is never handed out, so it ends lists */

struct page {
    uint64_t hash;     /* masked */
    uint64_t identity; /* of the block it holds; 0: not indexed */
    uint64_t parent;   /* identity of the block before it; 0: it is the first */
    int32_t refs;
    int32_t bucket_next;        /* chain of the index */
    int32_t lru_prev, lru_next; /* neighbours while cached; next free page while free */
};

struct kv_cache {
    struct kv_cache_options options;
    struct page *pages;
    int32_t *tokens;  /* [page_count][page_tokens] of indexed pages */
    int32_t *buckets; /* [bucket_mask + 1] */
    uint64_t bucket_mask;
    int32_t free_first;
    int32_t lru_first, lru_last; /* first is evicted next */
    int64_t free_count, cached_count;
    uint64_t identities, releases;
};

struct kv_cache *kv_cache_create(const struct kv_cache_options *options)
{
    CHECK(options->page_count >= 2 && options->page_count <= INT32_MAX);
    CHECK(options->page_tokens >= 1);
    struct kv_cache *cache = calloc(1, sizeof(*cache));
    if (!cache) return NULL;
    cache->options = *options;
    if (!cache->options.hash_mask) cache->options.hash_mask = UINT64_MAX;
    size_t count = (size_t)options->page_count, buckets = 16;
    while (buckets < count) buckets *= 2;
    cache->bucket_mask = buckets - 1;
    cache->pages = calloc(count, sizeof(*cache->pages));
    cache->tokens = calloc(count * (size_t)options->page_tokens, sizeof(*cache->tokens));
    cache->buckets = calloc(buckets, sizeof(*cache->buckets));
    if (!cache->pages || !cache->tokens || !cache->buckets) {
        kv_cache_destroy(cache);
        return NULL;
    }
    for (size_t i = count - 1; i > 0; i--) { /* the lowest number is handed out first */
        cache->pages[i].lru_next = cache->free_first;
        cache->free_first = (int32_t)i;
    }
    cache->free_count = options->page_count - 1;
    return cache;
}

void kv_cache_destroy(struct kv_cache *cache)
{
    if (!cache) return;
    free(cache->buckets);
    free(cache->tokens);
    free(cache->pages);
    free(cache);
}

struct kv_counts kv_cache_counts(const struct kv_cache *cache)
{
    int64_t total = cache->options.page_count - 1;
    return (struct kv_counts){.free = cache->free_count,
                              .cached = cache->cached_count,
                              .used = total - cache->free_count - cache->cached_count,
                              .total = total};
}

int kv_cache_page_refs(const struct kv_cache *cache, int32_t page)
{
    CHECK(page > 0 && page < cache->options.page_count);
    return cache->pages[page].refs;
}

uint64_t kv_cache_releases(const struct kv_cache *cache)
{
    return cache->releases;
}

static int pages_for(const struct kv_cache *cache, int token_count)
{
    return (token_count + cache->options.page_tokens - 1) / cache->options.page_tokens;
}

static int32_t *page_tokens_of(const struct kv_cache *cache, int32_t page)
{
    return cache->tokens + (size_t)page * (size_t)cache->options.page_tokens;
}

static int32_t *bucket_of(const struct kv_cache *cache, uint64_t hash)
{
    return &cache->buckets[(hash ^ hash >> 32) & cache->bucket_mask];
}

static void lru_append(struct kv_cache *cache, int32_t page)
{
    struct page *p = &cache->pages[page];
    p->lru_prev = cache->lru_last, p->lru_next = PAGE_NONE;
    *(cache->lru_last ? &cache->pages[cache->lru_last].lru_next : &cache->lru_first) = page;
    cache->lru_last = page;
    cache->cached_count++;
}

static void lru_remove(struct kv_cache *cache, int32_t page)
{
    struct page *p = &cache->pages[page];
    *(p->lru_prev ? &cache->pages[p->lru_prev].lru_next : &cache->lru_first) = p->lru_next;
    *(p->lru_next ? &cache->pages[p->lru_next].lru_prev : &cache->lru_last) = p->lru_prev;
    cache->cached_count--;
}

static void index_insert(struct kv_cache *cache, int32_t page, uint64_t hash, uint64_t parent,
                         const int32_t *tokens)
{
    struct page *p = &cache->pages[page];
    int32_t *bucket = bucket_of(cache, hash);
    p->hash = hash, p->parent = parent, p->identity = ++cache->identities;
    p->bucket_next = *bucket;
    *bucket = page;
    memcpy(page_tokens_of(cache, page), tokens,
           (size_t)cache->options.page_tokens * sizeof(*tokens));
}

static void index_remove(struct kv_cache *cache, int32_t page)
{
    struct page *p = &cache->pages[page];
    int32_t *at = bucket_of(cache, p->hash);
    while (*at != page) {
        CHECK(*at != PAGE_NONE);
        at = &cache->pages[*at].bucket_next;
    }
    *at = p->bucket_next;
    p->identity = 0;
}

/* The page that holds `tokens` after the block `parent`, or PAGE_NONE. */
static int32_t index_find(const struct kv_cache *cache, uint64_t hash, uint64_t parent,
                          const int32_t *tokens)
{
    size_t bytes = (size_t)cache->options.page_tokens * sizeof(*tokens);
    for (int32_t i = *bucket_of(cache, hash); i != PAGE_NONE; i = cache->pages[i].bucket_next) {
        const struct page *p = &cache->pages[i];
        if (p->hash == hash && p->parent == parent &&
            memcmp(page_tokens_of(cache, i), tokens, bytes) == 0)
            return i;
    }
    return PAGE_NONE;
}

/* A page with one reference. There must be one free or cached. */
static int32_t page_take(struct kv_cache *cache)
{
    int32_t page = cache->free_first;
    if (page != PAGE_NONE) {
        cache->free_first = cache->pages[page].lru_next;
        cache->free_count--;
    } else {
        page = cache->lru_first;
        CHECK(page != PAGE_NONE);
        lru_remove(cache, page);
        index_remove(cache, page);
    }
    cache->pages[page].refs = 1;
    return page;
}

static void page_share(struct kv_cache *cache, int32_t page)
{
    if (cache->pages[page].refs++ == 0) lru_remove(cache, page);
}

static void page_release(struct kv_cache *cache, int32_t page)
{
    struct page *p = &cache->pages[page];
    CHECK(p->refs > 0);
    if (--p->refs > 0) return;
    cache->releases++;
    if (p->identity) {
        lru_append(cache, page);
        return;
    }
    p->lru_next = cache->free_first;
    cache->free_first = page;
    cache->free_count++;
}

int kv_hash_pages(int page_tokens, const int32_t *tokens, int token_count, uint64_t *hashes,
                  int count)
{
    uint64_t hash = count ? hashes[count - 1] : 0x9e3779b97f4a7c15u;
    for (; count < token_count / page_tokens; count++) {
        const int32_t *block = tokens + (size_t)count * (size_t)page_tokens;
        for (int i = 0; i < page_tokens; i++) {
            hash = (hash ^ (uint32_t)block[i]) * 0xd6e8feb86659fd93u;
            hash ^= hash >> 32;
        }
        hashes[count] = hash;
    }
    return count;
}

int kv_table_open(struct kv_cache *cache, struct kv_table *table, const int32_t *tokens,
                  const uint64_t *hashes, int hit_max, int token_count, int64_t keep_free)
{
    CHECK(table->page_count == 0 && table->indexed_count == 0);
    int need = pages_for(cache, token_count), hits = 0;
    CHECK(need <= table->pages_max && hit_max <= token_count);
    int hits_max = cache->options.prefix_caching ? hit_max / cache->options.page_tokens : 0;
    int64_t cached_hits = 0;
    uint64_t chain = 0;
    for (; hits < hits_max; hits++) {
        int32_t page = index_find(cache, hashes[hits] & cache->options.hash_mask, chain,
                                  tokens + (size_t)hits * (size_t)cache->options.page_tokens);
        if (page == PAGE_NONE) break;
        table->pages[hits] = page;
        chain = cache->pages[page].identity;
        cached_hits += cache->pages[page].refs == 0;
    }
    int64_t available = cache->free_count + cache->cached_count - cached_hits;
    if (need - hits > available - keep_free) return -1;
    for (int i = 0; i < hits; i++) page_share(cache, table->pages[i]); /* before any is evicted */
    for (int i = hits; i < need; i++) table->pages[i] = page_take(cache);
    table->page_count = need, table->indexed_count = hits, table->chain = chain;
    return hits * cache->options.page_tokens;
}

bool kv_table_reserve(struct kv_cache *cache, struct kv_table *table, int token_count)
{
    int need = pages_for(cache, token_count);
    CHECK(need <= table->pages_max);
    if (need - table->page_count > cache->free_count + cache->cached_count) return false;
    while (table->page_count < need) table->pages[table->page_count++] = page_take(cache);
    return true;
}

void kv_table_index(struct kv_cache *cache, struct kv_table *table, const int32_t *tokens,
                    const uint64_t *hashes, int token_count)
{
    if (!cache->options.prefix_caching) return;
    int full = token_count / cache->options.page_tokens;
    CHECK(full <= table->page_count);
    for (; table->indexed_count < full; table->indexed_count++) {
        int i = table->indexed_count;
        const int32_t *block = tokens + (size_t)i * (size_t)cache->options.page_tokens;
        uint64_t hash = hashes[i] & cache->options.hash_mask;
        int32_t page = index_find(cache, hash, table->chain, block);
        if (page == PAGE_NONE) { /* else two computed the same: the first one stays the indexed */
            page = table->pages[i];
            index_insert(cache, page, hash, table->chain, block);
        }
        table->chain = cache->pages[page].identity;
    }
}

void kv_table_close(struct kv_cache *cache, struct kv_table *table)
{
    while (table->page_count > 0) page_release(cache, table->pages[--table->page_count]);
    table->indexed_count = 0, table->chain = 0;
}

void kv_cache_verify(const struct kv_cache *cache)
{
    int64_t free_count = 0, cached_count = 0, indexed = 0, linked = 0, used = 0;
    for (int32_t i = cache->free_first; i != PAGE_NONE; i = cache->pages[i].lru_next) {
        CHECK(cache->pages[i].refs == 0 && cache->pages[i].identity == 0);
        CHECK(++free_count <= cache->free_count);
    }
    for (int32_t i = cache->lru_first; i != PAGE_NONE; i = cache->pages[i].lru_next) {
        CHECK(cache->pages[i].refs == 0 && cache->pages[i].identity != 0);
        CHECK(cache->pages[i].lru_next || cache->lru_last == i);
        CHECK(++cached_count <= cache->cached_count);
    }
    for (uint64_t bucket = 0; bucket <= cache->bucket_mask; bucket++)
        for (int32_t i = cache->buckets[bucket]; i != PAGE_NONE; i = cache->pages[i].bucket_next) {
            CHECK(cache->pages[i].identity != 0);
            CHECK(bucket_of(cache, cache->pages[i].hash) == &cache->buckets[bucket]);
            CHECK(++linked < cache->options.page_count);
        }
    for (int64_t i = 1; i < cache->options.page_count; i++) {
        indexed += cache->pages[i].identity != 0;
        used += cache->pages[i].refs > 0;
    }
    CHECK(free_count == cache->free_count && cached_count == cache->cached_count);
    CHECK(linked == indexed && free_count + cached_count + used == cache->options.page_count - 1);
}
