/*
 * cmd_render.c - `penstock render`: what a conversation becomes, one JSON object a line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <yyjson.h>

#include "runtime/base/buffer.h"
#include "runtime/gguf.h"
#include "server/commands.h"
#include "server/text/chat_template.h"

static const char help[] =
    "Usage: penstock render MODEL|FILE.jinja [OPTIONS]\n"
    "\n"
    "Reads one JSON object a line from standard input and writes what the chat template makes of\n"
    "it, one JSON string a line, or {\"error\": \"...\"} where the template raises.\n"
    "\n"
    "The object's members are the template's variables: messages, tools, documents,\n"
    "add_generation_prompt, enable_thinking and any other it reads. What is not given is\n"
    "undefined; bos_token and the like come from the model's tokenizer_config.json.\n"
    "\n"
    "  MODEL          a folder with chat_template.jinja, chat_template.json or\n"
    "                 tokenizer_config.json, or a file.gguf\n"
    "  FILE.jinja     a template\n"
    "  --name NAME    which template, of a model with several (default: default)\n"
    "  --now SECONDS  what strftime_now() takes for now, in seconds since 1970\n"
    "  --help         this text\n";

struct source {
    struct buffer text;     /* the template */
    yyjson_mut_doc *tokens; /* an object: bos_token and the like -> text */
    char path[4096 + 64];   /* of the file the template came from, for messages */
};

static const char *const token_names[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                          "pad_token", "cls_token", "mask_token"};
enum { TOKEN_NAMES = sizeof(token_names) / sizeof(*token_names) };

static bool read_file(const char *path, struct buffer *out)
{
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    char block[16384];
    size_t count;
    while ((count = fread(block, 1, sizeof(block), file)) > 0) buffer_append(out, block, count);
    bool ok = !ferror(file);
    fclose(file);
    return ok;
}

static yyjson_doc *read_json(const char *path)
{
    struct buffer text = {0};
    yyjson_doc *doc = NULL;
    if (read_file(path, &text)) doc = yyjson_read(text.data, text.len, 0);
    buffer_free(&text);
    return doc;
}

/* The template of a chat_template member: a string, or a list of {name, template}. */
static bool take_template(yyjson_val *value, const char *name, struct buffer *out)
{
    size_t i, count;
    yyjson_val *item;
    if (yyjson_is_str(value)) {
        buffer_append(out, yyjson_get_str(value), yyjson_get_len(value));
        return true;
    }
    yyjson_arr_foreach(value, i, count, item)
    {
        const char *called = yyjson_get_str(yyjson_obj_get(item, "name"));
        yyjson_val *text = yyjson_obj_get(item, "template");
        if (called && !strcmp(called, name) && yyjson_is_str(text))
            return take_template(text, name, out);
    }
    return false;
}

static void add_token(struct source *source, const char *name, const char *text, size_t len)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(source->tokens);
    yyjson_mut_obj_add_val(source->tokens, root, name,
                           yyjson_mut_strncpy(source->tokens, text, len));
}

static void add_config_tokens(struct source *source, yyjson_val *config)
{
    for (int i = 0; i < TOKEN_NAMES; i++) {
        yyjson_val *token = yyjson_obj_get(config, token_names[i]);
        if (yyjson_is_obj(token)) token = yyjson_obj_get(token, "content");
        if (yyjson_is_str(token))
            add_token(source, token_names[i], yyjson_get_str(token), yyjson_get_len(token));
    }
}

/* The "chat_template" member of a JSON file. */
static bool take_member(struct source *source, const char *folder, const char *file,
                        const char *name)
{
    snprintf(source->path, sizeof(source->path), "%s/%s", folder, file);
    yyjson_doc *doc = read_json(source->path);
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool found = take_template(yyjson_obj_get(root, "chat_template"), name, &source->text);
    yyjson_doc_free(doc);
    return found;
}

static bool open_folder(struct source *source, const char *folder, const char *name)
{
    snprintf(source->path, sizeof(source->path), "%s/tokenizer_config.json", folder);
    yyjson_doc *config = read_json(source->path);
    add_config_tokens(source, yyjson_doc_get_root(config));
    yyjson_doc_free(config);
    if (!strcmp(name, "default"))
        snprintf(source->path, sizeof(source->path), "%s/chat_template.jinja", folder);
    else
        snprintf(source->path, sizeof(source->path), "%s/additional_chat_templates/%s.jinja",
                 folder, name);
    return read_file(source->path, &source->text) ||
           take_member(source, folder, "chat_template.json", name) ||
           take_member(source, folder, "tokenizer_config.json", name);
}

static void add_gguf_token(struct source *source, const struct gguf *gguf, const char *name,
                           const char *key)
{
    struct gguf_array tokens;
    struct gguf_string text;
    int64_t id;
    size_t offset = 0;
    if (!gguf_get_int(gguf, key, &id) || id < 0 ||
        !gguf_get_array(gguf, "tokenizer.ggml.tokens", &tokens) || tokens.type != GGUF_STRING)
        return;
    for (int64_t i = 0; gguf_array_next_string(&tokens, &offset, &text); i++)
        if (i == id) add_token(source, name, text.data, text.len);
}

static bool open_gguf(struct source *source, const char *path, const char *name)
{
    struct gguf *gguf;
    struct error error;
    struct gguf_string text;
    char key[256] = "tokenizer.chat_template";
    if (gguf_open(path, &gguf, &error)) {
        fprintf(stderr, "penstock render: %s: %s\n", path, error.message);
        return false;
    }
    if (strcmp(name, "default")) snprintf(key, sizeof(key), "tokenizer.chat_template.%s", name);
    bool found = gguf_get_string(gguf, key, &text);
    if (found)
        buffer_append(&source->text, text.data, text.len);
    else
        fprintf(stderr, "penstock render: %s has no chat template '%s' (%s)\n", path, name, key);
    add_gguf_token(source, gguf, "bos_token", "tokenizer.ggml.bos_token_id");
    add_gguf_token(source, gguf, "eos_token", "tokenizer.ggml.eos_token_id");
    gguf_close(gguf);
    return found;
}

static bool open_source(struct source *source, const char *model, const char *name)
{
    struct stat info;
    if (stat(model, &info)) {
        fprintf(stderr, "penstock render: %s: %s\n", model, strerror(errno));
        return false;
    }
    if (S_ISDIR(info.st_mode)) {
        if (open_folder(source, model, name)) return true;
        fprintf(stderr,
                "penstock render: %s has no chat template '%s' (looked for chat_template.jinja, "
                "chat_template.json and tokenizer_config.json)\n",
                model, name);
        return false;
    }
    size_t len = strlen(model);
    snprintf(source->path, sizeof(source->path), "%s", model);
    if (len > 5 && !strcmp(model + len - 5, ".gguf")) return open_gguf(source, model, name);
    if (read_file(model, &source->text)) return true;
    fprintf(stderr, "penstock render: %s: %s\n", model, strerror(errno));
    return false;
}

/* Special tokens of the model that the line does not give itself. */
static void add_tokens(yyjson_mut_doc *doc, yyjson_mut_val *line, yyjson_mut_doc *tokens)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(tokens);
    for (int i = 0; i < TOKEN_NAMES; i++) {
        yyjson_mut_val *token = yyjson_mut_obj_get(root, token_names[i]);
        if (token && !yyjson_mut_obj_get(line, token_names[i]))
            yyjson_mut_obj_add_val(doc, line, token_names[i], yyjson_mut_val_mut_copy(doc, token));
    }
}

static void print_json(yyjson_mut_val *value)
{
    size_t len;
    char *text = yyjson_mut_val_write(value, 0, &len);
    if (text) fwrite(text, 1, len, stdout), fputc('\n', stdout);
    free(text);
}

static void print_error(const char *message)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_str(doc, object, "error", message);
    print_json(object);
    yyjson_mut_doc_free(doc);
}

static void render_line(const struct chat_template *chat_template, const struct source *source,
                        const char *line, size_t len)
{
    struct error error;
    struct buffer out = {0};
    yyjson_read_err why;
    yyjson_doc *given = yyjson_read_opts((char *)(uintptr_t)line, len, YYJSON_READ_BIGNUM_AS_RAW,
                                         NULL, &why),
               *all = NULL;
    if (!given || !yyjson_is_obj(yyjson_doc_get_root(given))) {
        print_error(given ? "the line is not a JSON object" : why.msg);
        yyjson_doc_free(given);
        return;
    }
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(given, NULL);
    add_tokens(doc, yyjson_mut_doc_get_root(doc), source->tokens);
    all = yyjson_mut_doc_imut_copy(doc, NULL);
    if (chat_template_render(chat_template, yyjson_doc_get_root(all), &out, &error)) {
        print_error(error.message);
    } else {
        yyjson_mut_val *text = yyjson_mut_strn(doc, out.data ? out.data : "", out.len);
        print_json(text);
    }
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(all), yyjson_doc_free(given);
    buffer_free(&out);
}

static int render(const char *model, const char *name, int64_t now)
{
    struct source source = {0};
    struct chat_template *chat_template = NULL;
    struct error error;
    int exit_status = 1;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t len;
    source.tokens = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(source.tokens, yyjson_mut_obj(source.tokens));
    if (!open_source(&source, model, name)) goto close;
    if (chat_template_parse(source.text.data ? source.text.data : "", source.text.len,
                            &chat_template, &error)) {
        fprintf(stderr, "penstock render: %s: %s\n", source.path, error.message);
        goto close;
    }
    chat_template_set_now(chat_template, now);
    while ((len = getline(&line, &capacity, stdin)) > 0) {
        if (line[len - 1] == '\n') len--;
        if (len) render_line(chat_template, &source, line, (size_t)len);
    }
    free(line);
    chat_template_destroy(chat_template);
    exit_status = fflush(stdout) || ferror(stdout) || ferror(stdin) ? 1 : 0;
close:
    yyjson_mut_doc_free(source.tokens);
    buffer_free(&source.text);
    return exit_status;
}

int command_render(int argc, char **argv)
{
    const char *model = NULL, *name = "default";
    int64_t now = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return fputs(help, stdout), 0;
        if (!strcmp(argv[i], "--name") && i + 1 < argc) {
            name = argv[++i];
        } else if (!strcmp(argv[i], "--now") && i + 1 < argc) {
            char *end;
            now = strtoll(argv[++i], &end, 10);
            if (*end || end == argv[i]) {
                fprintf(stderr, "penstock render: --now needs a number of seconds, not '%s'\n",
                        argv[i]);
                return 2;
            }
        } else if (argv[i][0] == '-' || model) {
            fprintf(stderr, "penstock render: unexpected argument '%s'\n", argv[i]);
            return 2;
        } else {
            model = argv[i];
        }
    }
    if (!model) return fputs(help, stderr), 2;
    return render(model, name, now);
}
