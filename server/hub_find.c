/* hub_find.c - models that are in the Hub's local cache already. See hub.h. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/hub_internal.h"

static bool read_ref(struct hub_repo *repo, const char *revision)
{
    char path[1400];
    snprintf(path, sizeof(path), "%s/refs/%s", repo->folder, revision);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    bool found = fscanf(file, "%40s", repo->commit) == 1;
    fclose(file);
    return found;
}

/* The first .gguf of the snapshot that fits the quantisation, by name. */
static bool find_gguf(const char *folder, const char *quant, char *out, size_t size)
{
    DIR *dir = opendir(folder);
    bool found = false;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t len = strlen(entry->d_name);
        if (len < 5 || strcasecmp(entry->d_name + len - 5, ".gguf") != 0) continue;
        if (!strcasestr(entry->d_name, quant)) continue;
        if (found && strcmp(entry->d_name, out) > 0) continue;
        snprintf(out, size, "%s", entry->d_name);
        found = true;
    }
    if (dir) closedir(dir);
    return found;
}

enum status hub_find(const char *name, const struct hub_options *options, struct buffer *path,
                     struct error *error)
{
    struct hub_repo repo;
    char folder[1200], file[300], config[1300];
    enum status status = hub_repo_init(&repo, name, options, error);
    if (status) return status;
    if (read_ref(&repo, options->revision ? options->revision : "main")) {
        snprintf(folder, sizeof(folder), "%s/snapshots/%s", repo.folder, repo.commit);
        snprintf(config, sizeof(config), "%s/config.json", folder);
        FILE *whole = repo.quant[0] ? NULL : fopen(config, "r");
        if (whole) {
            fclose(whole);
            buffer_append_string(path, folder);
            return STATUS_OK;
        }
        if (find_gguf(folder, repo.quant, file, sizeof(file))) {
            buffer_printf(path, "%s/%s", folder, file);
            return STATUS_OK;
        }
    }
    return error_set(error, STATUS_NOT_FOUND, "model",
                     "%s is no file or directory, and not in the local cache: 'penstock pull %s' "
                     "downloads it",
                     name, name);
}
