/*
 * hub_download.c - one file from the Hub: resumed, retried, and checked before it gets its name.
 *
 * What is on disk as ETAG.incomplete was hashed again before it is added to, so a resumed file is
 * checked as a whole. A server that ignores the range starts the file over; one that sends too much
 * is cut off.
 */
#include <curl/curl.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/check.h"
#include "server/hub_internal.h"

enum { STALL_SECONDS = 30, CONNECT_SECONDS = 20 };

struct transfer {
    const struct hub_file *file;
    const struct hub_options *options;
    FILE *out;
    EVP_MD_CTX *hash;
    CURL *curl;
    int64_t at; /* bytes of the file on disk and hashed */
    int64_t done, total;
    bool checked_status, too_long, write_failed;
};

static bool is_sha256(const struct hub_file *file)
{
    return strlen(file->etag) == 64;
}

/* A git blob's hash begins with a header. */
static void start_hash(struct transfer *transfer)
{
    char header[48];
    EVP_DigestInit_ex(transfer->hash, is_sha256(transfer->file) ? EVP_sha256() : EVP_sha1(), NULL);
    transfer->at = 0;
    if (is_sha256(transfer->file)) return;
    int len = snprintf(header, sizeof(header), "blob %lld", (long long)transfer->file->size);
    EVP_DigestUpdate(transfer->hash, header, (size_t)len + 1);
}

static bool hash_matches(struct transfer *transfer)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    char hex[2 * EVP_MAX_MD_SIZE + 1] = "";
    EVP_DigestFinal_ex(transfer->hash, digest, &len);
    for (unsigned i = 0; i < len; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    return !strcmp(hex, transfer->file->etag);
}

static void restart(struct transfer *transfer)
{
    rewind(transfer->out);
    if (ftruncate(fileno(transfer->out), 0)) transfer->write_failed = true;
    start_hash(transfer);
}

/* Takes in what an earlier run left. */
static void read_partial(struct transfer *transfer)
{
    char part[1 << 16];
    start_hash(transfer);
    rewind(transfer->out);
    for (size_t n; (n = fread(part, 1, sizeof(part), transfer->out)) > 0;) {
        EVP_DigestUpdate(transfer->hash, part, n);
        transfer->at += (int64_t)n;
    }
    if (transfer->at > transfer->file->size) restart(transfer);
}

static size_t take_part(char *data, size_t size, size_t count, void *arg)
{
    struct transfer *transfer = arg;
    size_t len = size * count;
    if (!transfer->checked_status) {
        long http = 0;
        curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &http);
        if (http == 200 && transfer->at > 0) restart(transfer); /* it ignored the range */
        transfer->checked_status = true;
    }
    if (transfer->at + (int64_t)len > transfer->file->size) {
        transfer->too_long = true;
        return 0;
    }
    if (fwrite(data, 1, len, transfer->out) != len) {
        transfer->write_failed = true;
        return 0;
    }
    EVP_DigestUpdate(transfer->hash, data, len);
    transfer->at += (int64_t)len;
    const struct hub_options *options = transfer->options;
    if (options->progress)
        options->progress(options->progress_arg, transfer->file->name,
                          transfer->done + transfer->at, transfer->total);
    return len;
}

static void set_options(struct transfer *transfer, const char *url, const char *range)
{
    CURL *curl = transfer->curl;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 8L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "penstock/" PENSTOCK_VERSION);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_part);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_RANGE, transfer->at > 0 ? range : NULL);
    if (transfer->options->token) { /* never passed on to another host by a redirect */
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, transfer->options->token);
    }
}

enum outcome { OUTCOME_DONE, OUTCOME_RETRY, OUTCOME_FAILED };

/* One request; what it did not bring, the next one may. */
static enum outcome try_once(struct transfer *transfer, const char *url, struct error *error)
{
    char range[32];
    const char *name = transfer->file->name;
    snprintf(range, sizeof(range), "%lld-", (long long)transfer->at);
    transfer->checked_status = transfer->too_long = false;
    set_options(transfer, url, range);
    CURLcode code = curl_easy_perform(transfer->curl);
    long http = 0;
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &http);
    if (transfer->write_failed) {
        error_set(error, STATUS_IO, NULL, "%s: cannot write: %s", name, strerror(errno));
        return OUTCOME_FAILED;
    }
    if (transfer->at == transfer->file->size && !transfer->too_long &&
        (code == CURLE_OK || http == 416)) {
        if (hash_matches(transfer)) return OUTCOME_DONE;
        restart(transfer);
        error_set(error, STATUS_CORRUPT, NULL, "%s: what was received does not match its checksum",
                  name);
        return OUTCOME_RETRY;
    }
    if (transfer->too_long || http == 416) {
        restart(transfer);
        error_set(error, STATUS_CORRUPT, NULL,
                  "%s: the server's file is not the %lld bytes it lists", name,
                  (long long)transfer->file->size);
        return OUTCOME_RETRY;
    }
    if (code == CURLE_OK)
        error_set(error, STATUS_IO, NULL, "%s: the transfer ended after %lld of %lld bytes", name,
                  (long long)transfer->at, (long long)transfer->file->size);
    else if (http >= 400)
        error_set(error, STATUS_IO, NULL, "%s: HTTP %ld", name, http);
    else
        error_set(error, STATUS_IO, NULL, "%s: %s", name, curl_easy_strerror(code));
    bool hopeless = http >= 400 && http < 500 && http != 408 && http != 429;
    return hopeless ? OUTCOME_FAILED : OUTCOME_RETRY;
}

static enum status transfer_file(struct transfer *transfer, const char *url, struct error *error)
{
    const struct hub_options *options = transfer->options;
    int retries = options->retries > 0 ? options->retries : 5;
    int64_t pause_ms = options->retry_ms > 0 ? options->retry_ms : 500;
    read_partial(transfer);
    for (int attempt = 0;; attempt++) {
        int64_t before = transfer->at;
        enum outcome outcome = try_once(transfer, url, error);
        if (outcome == OUTCOME_DONE) return STATUS_OK;
        if (outcome == OUTCOME_FAILED || attempt >= retries)
            return error ? error->status : STATUS_IO;
        if (transfer->at > before) attempt = 0; /* it moves: patience */
        nanosleep(&(struct timespec){pause_ms / 1000, pause_ms % 1000 * 1000000}, NULL);
        if (pause_ms < 16000) pause_ms *= 2;
    }
}

enum status hub_make_parents(const char *path, struct error *error)
{
    char copy[2048];
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *p = strchr(copy + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        if (mkdir(copy, 0777) && errno != EEXIST)
            return error_set(error, STATUS_IO, NULL, "cannot make the folder %s: %s", copy,
                             strerror(errno));
        *p = '/';
    }
    return STATUS_OK;
}

/* Path segments as the Hub wants them; slashes stay. */
static void append_escaped(struct buffer *url, const char *path)
{
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-_.~/", c);
        buffer_printf(url, plain ? "%c" : "%%%02X", c);
    }
}

enum status hub_download(const struct hub_repo *repo, const struct hub_file *file,
                         const struct hub_options *options, int64_t done, int64_t total,
                         struct error *error)
{
    char final_path[1200], partial_path[1220];
    struct stat info;
    snprintf(final_path, sizeof(final_path), "%s/blobs/%s", repo->folder, file->etag);
    snprintf(partial_path, sizeof(partial_path), "%s.incomplete", final_path);
    if (!stat(final_path, &info) && info.st_size == file->size) return STATUS_OK;
    enum status status = hub_make_parents(final_path, error);
    if (status) return status;
    FILE *out = fopen(partial_path, "a+b");
    if (!out)
        return error_set(error, STATUS_IO, NULL, "cannot write %s: %s", partial_path,
                         strerror(errno));

    struct transfer transfer = {
        .file = file, .options = options, .out = out, .done = done, .total = total};
    struct buffer url = {0};
    transfer.hash = EVP_MD_CTX_new();
    transfer.curl = curl_easy_init();
    CHECK(transfer.hash && transfer.curl);
    buffer_printf(&url, "%s/%s/resolve/%s/", options->endpoint, repo->name, repo->commit);
    append_escaped(&url, file->name);
    status = transfer_file(&transfer, url.data, error);
    if (fclose(out) && !status)
        status =
            error_set(error, STATUS_IO, NULL, "cannot write %s: %s", partial_path, strerror(errno));
    if (!status && rename(partial_path, final_path))
        status = error_set(error, STATUS_IO, NULL, "cannot rename %s: %s", partial_path,
                           strerror(errno));
    curl_easy_cleanup(transfer.curl);
    EVP_MD_CTX_free(transfer.hash);
    buffer_free(&url);
    return status;
}
