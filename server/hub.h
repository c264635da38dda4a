/*
 * hub.h - models on the Hugging Face Hub and in its standard local cache.
 *
 * The cache is the one that the Hub's own tools use, and is shared with them:
 * CACHE/models--ORG--REPO with blobs/ETAG, snapshots/COMMIT/FILE (links) and refs/REVISION. ETAG is
 * a file's SHA-256 for large files and its git SHA-1 for small ones, and every download is checked
 * against it before it gets its name. Thread: any one at a time; calls block.
 */
#ifndef SERVER_HUB_H
#define SERVER_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"

struct hub_options {
    const char *endpoint; /* NULL: the Hub */
    const char *revision; /* NULL: main */
    const char *token;    /* NULL: none */
    const char *cache;    /* NULL: HF_HUB_CACHE, HF_HOME/hub or ~/.cache/huggingface/hub */
    int retries;          /* of a failed transfer; 5 */
    int retry_ms;         /* before the first, doubled each time; 500 */
    /* Bytes of all files; name is the one in progress. NULL: no reports. */
    void (*progress)(void *arg, const char *name, int64_t done, int64_t total);
    void *progress_arg;
};

/* "org/repo" or "org/repo:quant". Downloads what serving needs, resuming what was begun, and
 * appends the path to serve (a snapshot directory, or a .gguf file in one) to `path`. */
enum status hub_pull(const char *name, const struct hub_options *options, struct buffer *path,
                     struct error *error);

/* The path of a model that was pulled before; STATUS_NOT_FOUND says how to get it. Touches no
 * network. */
enum status hub_find(const char *name, const struct hub_options *options, struct buffer *path,
                     struct error *error);

/* Whether `name` looks like org/repo[:quant] and is no existing path. */
bool hub_is_name(const char *name);

#endif
