/*
 * kv_cache.h - who holds which page of the KV cache: references, per-sequence tables, prefix index.
 *
 * Owns page numbers, never their contents: those lie on the devices. Thread: the engine thread
 * makes every call, except kv_hash_pages, which any thread may. Pure bookkeeping: no clock, no
 * allocation after kv_cache_create, and the same calls always give the same page numbers.
 *
 * A page is in one of three roles: free (nothing worth keeping), used (references > 0), or cached
 * (no references, but indexed by its tokens, and evicted least recently used first). Page 0 is
 * PAGE_SCRAP and has no role. Only full pages are indexed, so a shared page is never written to.
 */
#ifndef KVCACHE_KV_CACHE_H
#define KVCACHE_KV_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct kv_cache;

struct kv_cache_options {
    int64_t page_count; /* page 0 included */
    int page_tokens;
    bool prefix_caching; /* false: nothing is indexed, nothing is found */
    uint64_t hash_mask;  /* of the block hash's bits; 0: all. Tests force collisions with few. */
};

/* A sequence's pages: token i lies in pages[i / page_tokens]. */
struct kv_table {
    int32_t *pages; /* [pages_max], the caller's */
    int page_count, pages_max;
    int indexed_count; /* leading pages that are in the index, or equal one that is */
    uint64_t chain;    /* identity of the last of those; see kv_cache.c */
};

struct kv_counts {
    int64_t free, cached, used, total; /* total = free + cached + used; without page 0 */
};

/* NULL only when out of memory. page_count >= 2, page_tokens >= 1 (CHECK). */
struct kv_cache *kv_cache_create(const struct kv_cache_options *options);
void kv_cache_destroy(struct kv_cache *cache);

struct kv_counts kv_cache_counts(const struct kv_cache *cache);
int kv_cache_page_refs(const struct kv_cache *cache, int32_t page);
/* Counts whenever pages lost their last reference, so that a failed kv_table_open need not be tried
 * again before. */
uint64_t kv_cache_releases(const struct kv_cache *cache);
/* Checks that every page has one role and that list, index and counts agree (CHECK). O(pages). */
void kv_cache_verify(const struct kv_cache *cache);

/* Extends hashes[0, count) to all full pages of tokens[0, token_count): hashes[i] stands for tokens
 * [0, (i + 1) page_tokens). Returns the new count. */
int kv_hash_pages(int page_tokens, const int32_t *tokens, int token_count, uint64_t *hashes,
                  int count);

/* Fills an empty table with pages for `token_count` tokens: the longest indexed prefix of at most
 * `hit_max` tokens is shared, the rest is new. `hashes` covers the full pages within hit_max. At
 * least keep_free pages stay available. Returns the tokens found (a multiple of page_tokens), or -1
 * and no change when there are too few pages. */
int kv_table_open(struct kv_cache *cache, struct kv_table *table, const int32_t *tokens,
                  const uint64_t *hashes, int hit_max, int token_count, int64_t keep_free);

/* Grows the table to hold token_count tokens; false and no change when there are too few pages. */
bool kv_table_reserve(struct kv_cache *cache, struct kv_table *table, int token_count);

/* Makes the full pages of tokens[0, token_count) findable. Their contents must be written by a
 * batch that was planned before any that will find them. `hashes` covers them. */
void kv_table_index(struct kv_cache *cache, struct kv_table *table, const int32_t *tokens,
                    const uint64_t *hashes, int token_count);

/* Gives all pages back; indexed ones nobody else holds become cached, the first page to be evicted
 * last. */
void kv_table_close(struct kv_cache *cache, struct kv_table *table);

#endif
