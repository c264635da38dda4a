/*
 * hub_internal.h - what the files of the Hub client share: one repository's files and where they
 * go.
 *
 * Thread: the caller's, as hub.h says.
 */
#ifndef SERVER_HUB_INTERNAL_H
#define SERVER_HUB_INTERNAL_H

#include "server/hub.h"

struct hub_file {
    char *name;    /* relative path in the repository, checked to stay inside it */
    char etag[72]; /* lower-case hex: SHA-256 (64) or git SHA-1 (40) */
    int64_t size;
    bool wanted;
};

struct hub_repo {
    char name[200], quant[32], folder[1024]; /* folder: in the cache */
    char commit[48];
    struct hub_file *files;
    int file_count;
};

/* Splits the name and finds the cache; STATUS_INVALID for what is no org/repo. */
enum status hub_repo_init(struct hub_repo *repo, const char *name,
                          const struct hub_options *options, struct error *error);
void hub_repo_free(struct hub_repo *repo);

/* Asks the Hub which files there are (of the revision), and marks those to be served. */
enum status hub_list(struct hub_repo *repo, const struct hub_options *options, struct error *error);
enum status hub_choose(struct hub_repo *repo, struct error *error);

/* Downloads one file into blobs/, checked. `done` and `total` are for the progress report. */
enum status hub_download(const struct hub_repo *repo, const struct hub_file *file,
                         const struct hub_options *options, int64_t done, int64_t total,
                         struct error *error);

/* mkdir -p for everything before the last slash. */
enum status hub_make_parents(const char *path, struct error *error);

#endif
