/* http_tls.c - TLS over memory BIOs, so that libuv keeps doing the reading and writing. */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>

#include "runtime/base/check.h"
#include "server/http_connection.h"

struct http_tls_context {
    SSL_CTX *ssl;
};

struct http_tls {
    SSL *ssl;
    BIO *in, *out;
};

static enum status load_failed(struct error *error, const char *flag, const char *path)
{
    char reason[160];
    unsigned long code = ERR_get_error();
    ERR_error_string_n(code, reason, sizeof(reason));
    const char *text = ERR_reason_error_string(code);
    return error_set(error, STATUS_INVALID, flag, "%s: cannot use %s: %s", flag, path,
                     text ? text : reason);
}

/* Clients that offer protocols by ALPN get http/1.1, so that none of them speaks HTTP/2 to us. */
static int select_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *selected;
    if (SSL_select_next_proto(&selected, out_len, ours, sizeof(ours) - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = selected;
    return SSL_TLSEXT_ERR_OK;
}

enum status http_tls_context_create(const char *keyfile, const char *certfile,
                                    struct http_tls_context **out, struct error *error)
{
    SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
    CHECK(ssl);
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(ssl, select_protocol, NULL);
    enum status status = STATUS_OK;
    if (SSL_CTX_use_certificate_chain_file(ssl, certfile) != 1)
        status = load_failed(error, "--ssl-certfile", certfile);
    else if (SSL_CTX_use_PrivateKey_file(ssl, keyfile, SSL_FILETYPE_PEM) != 1)
        status = load_failed(error, "--ssl-keyfile", keyfile);
    else if (SSL_CTX_check_private_key(ssl) != 1)
        status = load_failed(error, "--ssl-keyfile", keyfile);
    if (status) {
        SSL_CTX_free(ssl);
        return status;
    }
    *out = malloc(sizeof(**out));
    CHECK(*out);
    (*out)->ssl = ssl;
    return STATUS_OK;
}

void http_tls_context_destroy(struct http_tls_context *context)
{
    if (!context) return;
    SSL_CTX_free(context->ssl);
    free(context);
}

struct http_tls *http_tls_create(struct http_tls_context *context)
{
    struct http_tls *tls = calloc(1, sizeof(*tls));
    CHECK(tls);
    tls->ssl = SSL_new(context->ssl);
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    CHECK(tls->ssl && tls->in && tls->out);
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    SSL_set_accept_state(tls->ssl);
    return tls;
}

void http_tls_destroy(struct http_tls *tls)
{
    SSL_free(tls->ssl); /* and its BIOs */
    free(tls);
}

static void take_cipher(struct http_tls *tls, struct buffer *cipher)
{
    size_t pending = BIO_ctrl_pending(tls->out);
    if (!pending) return;
    buffer_reserve(cipher, pending);
    int n = BIO_read(tls->out, cipher->data + cipher->len, (int)pending);
    if (n > 0) cipher->len += (size_t)n, cipher->data[cipher->len] = 0;
}

bool http_tls_receive(struct http_tls *tls, const void *data, size_t len, struct buffer *plain,
                      struct buffer *cipher)
{
    CHECK(BIO_write(tls->in, data, (int)len) == (int)len);
    bool fine = true;
    for (;;) {
        char piece[16384];
        ERR_clear_error();
        int n = SSL_read(tls->ssl, piece, sizeof(piece));
        if (n > 0) {
            buffer_append(plain, piece, (size_t)n);
            continue;
        }
        int reason = SSL_get_error(tls->ssl, n);
        fine = reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE;
        break;
    }
    take_cipher(tls, cipher);
    return fine;
}

void http_tls_send(struct http_tls *tls, const void *data, size_t len, struct buffer *cipher)
{
    const char *at = data;
    while (len) {
        ERR_clear_error();
        int piece = len > 1 << 20 ? 1 << 20 : (int)len;
        int n = SSL_write(tls->ssl, at, piece);
        if (n <= 0) break; /* the connection is broken: the next read or write will tell */
        at += n, len -= (size_t)n;
    }
    take_cipher(tls, cipher);
}
