/*
 * hub.c - see hub.h. Owns the cache's layout and the choice of files; hub_download.c moves the
 * bytes.
 */
#include "server/hub.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#include "runtime/base/check.h"
#include "server/hub_internal.h"

enum { LISTING_MAX_BYTES = 32 << 20 };

/* ---- names and places ---- */

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || strchr("-_.", c);
}

bool hub_is_name(const char *name)
{
    struct stat info;
    int slashes = 0;
    if (!name || !stat(name, &info)) return false;
    for (const char *p = name; *p && *p != ':'; p++) {
        if (*p == '/')
            slashes++;
        else if (!is_name_char(*p))
            return false;
    }
    return slashes == 1 && name[0] != '/' && name[0] != '.' && name[strlen(name) - 1] != '/';
}

static void find_cache(const struct hub_options *options, char *out, size_t size)
{
    const char *cache = options->cache ? options->cache : getenv("HF_HUB_CACHE");
    const char *home = getenv("HF_HOME"), *xdg = getenv("XDG_CACHE_HOME"), *user = getenv("HOME");
    if (cache && *cache)
        snprintf(out, size, "%s", cache);
    else if (home && *home)
        snprintf(out, size, "%s/hub", home);
    else if (xdg && *xdg)
        snprintf(out, size, "%s/huggingface/hub", xdg);
    else
        snprintf(out, size, "%s/.cache/huggingface/hub", user ? user : ".");
}

enum status hub_repo_init(struct hub_repo *repo, const char *name,
                          const struct hub_options *options, struct error *error)
{
    char cache[700];
    *repo = (struct hub_repo){0};
    const char *colon = strchr(name, ':'), *slash = strchr(name, '/');
    size_t len = colon ? (size_t)(colon - name) : strlen(name);
    if (!hub_is_name(name) || len >= sizeof(repo->name) ||
        (colon && strlen(colon + 1) >= sizeof(repo->quant)))
        return error_set(error, STATUS_INVALID, "model", "%s is not of the form org/repo[:quant]",
                         name);
    snprintf(repo->name, sizeof(repo->name), "%.*s", (int)len, name);
    if (colon) snprintf(repo->quant, sizeof(repo->quant), "%s", colon + 1);
    find_cache(options, cache, sizeof(cache));
    snprintf(repo->folder, sizeof(repo->folder), "%s/models--%.*s--%s", cache, (int)(slash - name),
             name, repo->name + (slash - name) + 1);
    return STATUS_OK;
}

void hub_repo_free(struct hub_repo *repo)
{
    for (int i = 0; i < repo->file_count; i++) free(repo->files[i].name);
    free(repo->files);
    repo->files = NULL, repo->file_count = 0;
}

/* ---- what the Hub lists ---- */

struct listing {
    struct buffer text;
    bool too_large;
};

static size_t take_listing(char *data, size_t size, size_t count, void *arg)
{
    struct listing *listing = arg;
    listing->too_large = listing->text.len + size * count > LISTING_MAX_BYTES;
    if (listing->too_large) return 0;
    buffer_append(&listing->text, data, size * count);
    return size * count;
}

/* A name from the server becomes a path here: it must stay inside the snapshot. */
static bool is_safe_path(const char *path)
{
    if (!*path || *path == '/' || strlen(path) > 300 || strchr(path, '\\')) return false;
    for (const char *p = path; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
        if (!strncmp(p, "../", 3) || !strcmp(p, "..") || *p == '/') return false;
    for (const char *p = path; *p; p++)
        if ((unsigned char)*p < 0x20) return false;
    return true;
}

static bool is_hex(const char *text, size_t len)
{
    if (!text || strlen(text) != len) return false;
    for (; *text; text++)
        if (!strchr("0123456789abcdef", *text)) return false;
    return true;
}

static bool take_file(struct hub_file *file, yyjson_val *entry)
{
    yyjson_val *lfs = yyjson_obj_get(entry, "lfs");
    const char *name = yyjson_get_str(yyjson_obj_get(entry, "rfilename"));
    const char *etag =
        yyjson_get_str(lfs ? yyjson_obj_get(lfs, "sha256") : yyjson_obj_get(entry, "blobId"));
    yyjson_val *size = lfs ? yyjson_obj_get(lfs, "size") : yyjson_obj_get(entry, "size");
    if (!name || !is_safe_path(name) || !is_hex(etag, lfs ? 64 : 40) || !yyjson_is_uint(size))
        return false;
    file->name = strdup(name);
    CHECK(file->name);
    snprintf(file->etag, sizeof(file->etag), "%s", etag);
    file->size = (int64_t)yyjson_get_uint(size);
    return file->size >= 0;
}

static enum status parse_listing(struct hub_repo *repo, const struct buffer *text,
                                 struct error *error)
{
    yyjson_doc *document = yyjson_read(text->data ? text->data : "", text->len, 0);
    yyjson_val *root = yyjson_doc_get_root(document), *entry;
    yyjson_val *siblings = yyjson_obj_get(root, "siblings");
    const char *commit = yyjson_get_str(yyjson_obj_get(root, "sha"));
    enum status status = STATUS_OK;
    if (!is_hex(commit, 40) || !yyjson_is_arr(siblings)) {
        status = error_set(error, STATUS_CORRUPT, NULL,
                           "%s: the Hub's answer names no commit and files", repo->name);
    } else {
        snprintf(repo->commit, sizeof(repo->commit), "%s", commit);
        repo->files = calloc(yyjson_arr_size(siblings) + 1, sizeof(*repo->files));
        CHECK(repo->files);
        size_t i, count;
        yyjson_arr_foreach(siblings, i, count, entry)
        {
            struct hub_file file = {0};
            if (take_file(&file, entry))
                repo->files[repo->file_count++] = file;
            else
                free(file.name); /* not one that we could want: checked again by hub_choose */
        }
    }
    yyjson_doc_free(document);
    return status;
}

enum status hub_list(struct hub_repo *repo, const struct hub_options *options, struct error *error)
{
    struct buffer url = {0};
    struct listing listing = {0};
    CURL *curl = curl_easy_init();
    CHECK(curl);
    buffer_printf(&url, "%s/api/models/%s/revision/%s?blobs=true", options->endpoint, repo->name,
                  options->revision);
    curl_easy_setopt(curl, CURLOPT_URL, url.data);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 8L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "penstock/" PENSTOCK_VERSION);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_listing);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &listing);
    if (options->token) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, options->token);
    }
    CURLcode code = curl_easy_perform(curl);
    long http = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http);
    curl_easy_cleanup(curl);
    enum status status;
    if (listing.too_large)
        status = error_set(error, STATUS_CORRUPT, NULL, "%s: the list of files is over 32 MiB",
                           repo->name);
    else if (code)
        status = error_set(error, STATUS_IO, NULL, "%s: %s", options->endpoint,
                           curl_easy_strerror(code));
    else if (http == 401 || http == 403)
        status =
            error_set(error, STATUS_UNAUTHORIZED, "model",
                      "%s is private, gated or does not exist (HTTP %ld): accept its terms on its "
                      "page and pass --token or set HF_TOKEN",
                      repo->name, http);
    else if (http == 404)
        status = error_set(error, STATUS_NOT_FOUND, "model", "there is no %s at revision %s",
                           repo->name, options->revision);
    else if (http != 200)
        status = error_set(error, STATUS_IO, NULL, "%s: HTTP %ld", options->endpoint, http);
    else
        status = parse_listing(repo, &listing.text, error);
    buffer_free(&url), buffer_free(&listing.text);
    return status;
}

/* ---- which files ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && !strcasecmp(text + a - b, end);
}

/* What serving an HF directory reads, top level only. */
static bool is_model_file(const char *name)
{
    static const char *const names[] = {
        "config.json",         "generation_config.json", "tokenizer.json",
        "tokenizer.model",     "tokenizer_config.json",  "special_tokens_map.json",
        "chat_template.jinja", "chat_template.json",     "model.safetensors.index.json",
    };
    if (strchr(name, '/')) return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(name, names[i])) return true;
    return ends_with(name, ".safetensors") && !strncmp(name, "model", 5);
}

static int mark(struct hub_repo *repo, const char *quant)
{
    int count = 0;
    for (int i = 0; i < repo->file_count; i++) {
        struct hub_file *file = &repo->files[i];
        bool gguf = ends_with(file->name, ".gguf") && !strstr(file->name, "mmproj");
        file->wanted = quant ? gguf && strcasestr(file->name, quant) : is_model_file(file->name);
        count += file->wanted;
    }
    return count;
}

enum status hub_choose(struct hub_repo *repo, struct error *error)
{
    static const char *const preferred[] = {"Q8_0", "Q4_0", "BF16", "F16"};
    bool safetensors = false;
    for (int i = 0; i < repo->file_count; i++)
        safetensors |= !strncmp(repo->files[i].name, "model", 5) &&
                       ends_with(repo->files[i].name, ".safetensors");
    if (repo->quant[0]) {
        if (mark(repo, repo->quant)) return STATUS_OK;
        return error_set(error, STATUS_NOT_FOUND, "model",
                         "%s has no .gguf file with %s in its name", repo->name, repo->quant);
    }
    if (safetensors && mark(repo, NULL)) return STATUS_OK;
    for (size_t i = 0; i < sizeof(preferred) / sizeof(*preferred); i++) {
        if (!mark(repo, preferred[i])) continue;
        snprintf(repo->quant, sizeof(repo->quant), "%s", preferred[i]);
        return STATUS_OK;
    }
    return error_set(error, STATUS_UNSUPPORTED, "model",
                     "%s has neither model*.safetensors nor a .gguf in Q8_0, Q4_0, BF16 or F16",
                     repo->name);
}

/* ---- the snapshot ---- */

static enum status link_file(const struct hub_repo *repo, const struct hub_file *file,
                             struct error *error)
{
    char path[1600], target[400] = "../../";
    snprintf(path, sizeof(path), "%s/snapshots/%s/%s", repo->folder, repo->commit, file->name);
    for (const char *p = strchr(file->name, '/'); p; p = strchr(p + 1, '/'))
        strncat(target, "../", sizeof(target) - strlen(target) - 1);
    strncat(target, "blobs/", sizeof(target) - strlen(target) - 1);
    strncat(target, file->etag, sizeof(target) - strlen(target) - 1);
    enum status status = hub_make_parents(path, error);
    if (status) return status;
    unlink(path);
    if (symlink(target, path))
        return error_set(error, STATUS_IO, NULL, "cannot link %s: %s", path, strerror(errno));
    return STATUS_OK;
}

static enum status write_ref(const struct hub_repo *repo, const char *revision, struct error *error)
{
    char path[1400];
    snprintf(path, sizeof(path), "%s/refs/%s", repo->folder, revision);
    enum status status = hub_make_parents(path, error);
    FILE *file = status ? NULL : fopen(path, "w");
    if (status) return status;
    if (!file || fputs(repo->commit, file) < 0 || fclose(file))
        return error_set(error, STATUS_IO, NULL, "cannot write %s: %s", path, strerror(errno));
    return STATUS_OK;
}

/* A directory of safetensors is served as such, GGUF by its (first) file. */
static void append_path(const struct hub_repo *repo, struct buffer *path)
{
    buffer_printf(path, "%s/snapshots/%s", repo->folder, repo->commit);
    if (!repo->quant[0]) return;
    const char *first = NULL;
    for (int i = 0; i < repo->file_count; i++)
        if (repo->files[i].wanted && (!first || strcmp(repo->files[i].name, first) < 0))
            first = repo->files[i].name;
    if (first) buffer_printf(path, "/%s", first);
}

static struct hub_options with_defaults(const struct hub_options *options)
{
    struct hub_options full = *options;
    if (!full.endpoint) full.endpoint = "https://huggingface.co";
    if (!full.revision) full.revision = "main";
    return full;
}

enum status hub_pull(const char *name, const struct hub_options *given, struct buffer *path,
                     struct error *error)
{
    struct hub_options options = with_defaults(given);
    struct hub_repo repo;
    int64_t total = 0, done = 0;
    enum status status = hub_repo_init(&repo, name, &options, error);
    if (!status) status = hub_list(&repo, &options, error);
    if (!status) status = hub_choose(&repo, error);
    for (int i = 0; i < repo.file_count && !status; i++)
        if (repo.files[i].wanted) total += repo.files[i].size;
    for (int i = 0; i < repo.file_count && !status; i++) {
        if (!repo.files[i].wanted) continue;
        status = hub_download(&repo, &repo.files[i], &options, done, total, error);
        if (!status) status = link_file(&repo, &repo.files[i], error);
        done += repo.files[i].size;
    }
    if (!status) status = write_ref(&repo, options.revision, error);
    if (!status) append_path(&repo, path);
    hub_repo_free(&repo);
    return status;
}
