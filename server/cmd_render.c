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
    "                 tokenizer_config.json\n"
    "  FILE.jinja     a template\n"
    "  --name NAME    which template, of a model with several (default: default)\n"
    "  --now SECONDS  what strftime_now() takes for now, in seconds since 1970\n"
    "  --help         this text\n";

struct source {
    struct buffer text;   /* the template */
    yyjson_doc *config;   /* tokenizer_config.json, or NULL */
    char path[4096 + 64]; /* of the file the template came from, for messages */
};

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

static bool open_folder(struct source *source, const char *folder, const char *name)
{
    snprintf(source->path, sizeof(source->path), "%s/tokenizer_config.json", folder);
    source->config = read_json(source->path);
    snprintf(source->path, sizeof(source->path), "%s/chat_template.jinja", folder);
    if (read_file(source->path, &source->text)) return true;
    snprintf(source->path, sizeof(source->path), "%s/chat_template.json", folder);
    yyjson_doc *doc = read_json(source->path);
    bool found = take_template(yyjson_obj_get(yyjson_doc_get_root(doc), "chat_template"), name,
                               &source->text);
    yyjson_doc_free(doc);
    if (found) return true;
    snprintf(source->path, sizeof(source->path), "%s/tokenizer_config.json", folder);
    return take_template(yyjson_obj_get(yyjson_doc_get_root(source->config), "chat_template"), name,
                         &source->text);
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
    snprintf(source->path, sizeof(source->path), "%s", model);
    if (read_file(model, &source->text)) return true;
    fprintf(stderr, "penstock render: %s: %s\n", model, strerror(errno));
    return false;
}

/* Special tokens of the model that the line does not give itself. */
static void add_tokens(yyjson_mut_doc *doc, yyjson_mut_val *line, yyjson_doc *config)
{
    static const char *const names[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};
    yyjson_val *root = yyjson_doc_get_root(config);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        yyjson_val *token = yyjson_obj_get(root, names[i]);
        if (yyjson_is_obj(token)) token = yyjson_obj_get(token, "content");
        if (!yyjson_is_str(token) || yyjson_mut_obj_get(line, names[i])) continue;
        yyjson_mut_obj_add_val(doc, line, names[i], yyjson_val_mut_copy(doc, token));
    }
}

static void print_json(yyjson_mut_doc *doc, yyjson_mut_val *value)
{
    size_t len;
    char *text = yyjson_mut_val_write(value, 0, &len);
    if (text) fwrite(text, 1, len, stdout), fputc('\n', stdout);
    free(text);
    (void)doc;
}

static void print_error(const char *message)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_str(doc, object, "error", message);
    print_json(doc, object);
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
    add_tokens(doc, yyjson_mut_doc_get_root(doc), source->config);
    all = yyjson_mut_doc_imut_copy(doc, NULL);
    if (chat_template_render(chat_template, yyjson_doc_get_root(all), &out, &error)) {
        print_error(error.message);
    } else {
        yyjson_mut_val *text = yyjson_mut_strn(doc, out.data ? out.data : "", out.len);
        print_json(doc, text);
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
    yyjson_doc_free(source.config);
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
