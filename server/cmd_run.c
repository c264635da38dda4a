/*
 * cmd_run.c - `penstock run [MODEL]`: a chat in the terminal, on the engine in this process.
 *
 * The main thread is the service's server thread. Ctrl-C stops the answer and not the program; the
 * conversation so far, the cut-off answer included, stays.
 */
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "server/api_request.h"
#include "server/commands.h"
#include "server/line_editor.h"
#include "server/service.h"

static const char usage[] =
    "Usage: penstock run [MODEL] [OPTIONS]\n\n"
    "Chats with a model in the terminal; without MODEL, the embedded one. MODEL is a directory, a "
    ".gguf\n"
    "file, or org/repo that was pulled. Text piped in is one message, and only its answer is "
    "printed.\n\n"
    "  penstock run\n"
    "  penstock run model.gguf --prompt 'Name three rivers.'\n"
    "  git diff | penstock run model.gguf --prompt 'Explain this change:'\n\n"
    "Options:\n"
    "  --prompt TEXT     ask this, print the answer and leave\n"
    "  --system TEXT     begin the conversation with a system message\n"
    "  --set NAME=VALUE  a field of the chat API: temperature, top_p, max_tokens, seed, stop, ...\n"
    "  --stats           after each answer, its tokens and speed\n";

static const char commands_help[] =
    "  /help              this\n"
    "  /clear             forget the conversation\n"
    "  /system TEXT       begin anew with a system message\n"
    "  /retry             answer the last message again\n"
    "  /undo              take the last message and its answer back\n"
    "  /set NAME VALUE    a field of the chat API: temperature 0.2, max_tokens 100, seed 7, ...\n"
    "  /show              settings and the conversation so far\n"
    "  /stats             tokens and speed after each answer, on or off\n"
    "  /exit              leave (or Ctrl-D)\n"
    "  Ctrl-C stops an answer. A line that ends in \\ goes on in the next.\n";

struct chat {
    struct options options;
    struct service *service;
    yyjson_mut_doc *body; /* the request: messages and settings */
    yyjson_mut_val *messages;
    struct line_editor editor;
    const char *prompt, *system;
    const char *settings[32];
    int setting_count;
    bool stats, interactive;
};

static sem_t woken;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
    sem_post(&woken); /* async-signal-safe */
}

static void on_wake(void *arg)
{
    (void)arg;
    sem_post(&woken);
}

static void on_failed(void *arg, const struct error *error)
{
    (void)arg;
    fprintf(stderr, "\npenstock run: %s\n", error->message);
    _exit(1);
}

static void on_progress(void *arg, int64_t done, int64_t total)
{
    static atomic_llong read; /* parts arrive from the loader's threads */
    long long all = atomic_fetch_add(&read, done) + done;
    (void)arg;
    if (total > 0) fprintf(stderr, "\rloading %3.0f%%\033[K", 100 * (double)all / (double)total);
}

/* ---- the conversation ---- */

static void add_message(struct chat *chat, const char *role, const char *text, size_t len)
{
    yyjson_mut_val *message = yyjson_mut_arr_add_obj(chat->body, chat->messages);
    yyjson_mut_obj_add_strcpy(chat->body, message, "role", role);
    yyjson_mut_obj_add_strncpy(chat->body, message, "content", text ? text : "", len);
}

static void begin(struct chat *chat, const char *system)
{
    yyjson_mut_arr_clear(chat->messages);
    if (system && *system) add_message(chat, "system", system, strlen(system));
}

static bool last_role_is(const struct chat *chat, const char *role)
{
    yyjson_mut_val *last = yyjson_mut_arr_get_last(chat->messages);
    return last && yyjson_mut_equals_str(yyjson_mut_obj_get(last, "role"), role);
}

/* VALUE is JSON, or else a string. The API says what is wrong with it. */
static void set_field(struct chat *chat, const char *name, const char *value)
{
    yyjson_doc *parsed = yyjson_read(value, strlen(value), 0);
    yyjson_mut_val *copy = parsed ? yyjson_val_mut_copy(chat->body, yyjson_doc_get_root(parsed))
                                  : yyjson_mut_strcpy(chat->body, value);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(chat->body);
    yyjson_mut_obj_put(root, yyjson_mut_strcpy(chat->body, name), copy);
    yyjson_doc_free(parsed);
}

/* ---- an answer ---- */

struct reading {
    size_t printed;
    int64_t start_ns, first_ns;
};

static void print_new(struct completion_choice *choice, struct reading *reading)
{
    if (choice->ready_len == reading->printed) return;
    if (!reading->first_ns) reading->first_ns = clock_ns();
    fwrite(choice->text.data + reading->printed, 1, choice->ready_len - reading->printed, stdout);
    fflush(stdout);
    reading->printed = choice->ready_len;
}

static void on_updated(struct completion *completion)
{
    print_new(&completion->choices[0], completion->user);
}

static void print_stats(const struct completion *completion, const struct reading *reading)
{
    const struct completion_choice *choice = &completion->choices[0];
    struct completion_usage used = completion_usage(completion);
    double first = (double)(reading->first_ns - reading->start_ns) * 1e-9;
    double rest = (double)(choice->last_token_ns - reading->first_ns) * 1e-9;
    fprintf(stderr, "[%lld prompt tokens, %lld of them cached, %lld new; first after %.0f ms",
            (long long)used.prompt_tokens, (long long)used.cached_tokens,
            (long long)used.completion_tokens, reading->first_ns ? first * 1e3 : 0);
    if (used.completion_tokens > 1 && rest > 0)
        fprintf(stderr, ", then %.1f tokens/s", (double)(used.completion_tokens - 1) / rest);
    fprintf(stderr, "]\n");
}

/* Streams the answer to what was said last; false where there is none. */
static bool answer(struct chat *chat)
{
    struct arena arena = {0};
    struct error error = {0};
    struct api_request request;
    struct reading reading = {.start_ns = clock_ns()};
    size_t len;
    char *body = yyjson_mut_write(chat->body, 0, &len);
    CHECK(body);
    enum status status = api_parse_chat(chat->service, body, len, &arena, &request, &error);
    struct completion *completion = NULL;
    if (!status) {
        request.params.n = 1;
        completion = completion_create(chat->service, &request.params, request.prompts, 1);
        completion->updated = on_updated, completion->user = &reading;
        status = completion_start(completion, &error);
    }
    interrupted = 0;
    while (!status && completion->open_count && !interrupted) {
        sem_wait(&woken);
        service_dispatch(chat->service);
    }
    if (!status) {
        struct completion_choice *choice = &completion->choices[0];
        if (choice->finish == FINISH_ERROR) status = choice->error.status, error = choice->error;
        print_new(choice, &reading);
        add_message(chat, "assistant", choice->text.data, choice->ready_len);
        fputs(interrupted ? " [stopped]\n" : "\n", stdout);
        if (chat->stats) print_stats(completion, &reading);
    }
    if (status) fprintf(stderr, "penstock run: %s\n", error.message);
    if (completion) completion_release(completion);
    service_dispatch(chat->service);
    fflush(stdout);
    free(body);
    arena_free(&arena);
    return !status;
}

static bool say(struct chat *chat, const char *text)
{
    add_message(chat, "user", text, strlen(text));
    if (answer(chat)) return true;
    yyjson_mut_arr_remove_last(chat->messages); /* as if it had not been said */
    return false;
}

/* ---- commands ---- */

static void undo(struct chat *chat, bool keep_question)
{
    if (last_role_is(chat, "assistant")) yyjson_mut_arr_remove_last(chat->messages);
    if (!keep_question && last_role_is(chat, "user")) yyjson_mut_arr_remove_last(chat->messages);
}

static void show(const struct chat *chat)
{
    char *text = yyjson_mut_write(chat->body, YYJSON_WRITE_PRETTY, NULL);
    printf("%s\n", text ? text : "");
    free(text);
}

static void set_command(struct chat *chat, char *arguments)
{
    char *value = strchr(arguments, ' ');
    if (!value) {
        printf("/set needs a name and a value\n");
        return;
    }
    *value++ = 0;
    set_field(chat, arguments, value);
}

/* False: leave. */
static bool command(struct chat *chat, char *line)
{
    char *arguments = strchr(line, ' ');
    if (arguments)
        *arguments++ = 0;
    else
        arguments = line + strlen(line);
    if (!strcmp(line, "/exit") || !strcmp(line, "/quit") || !strcmp(line, "/bye")) return false;
    if (!strcmp(line, "/help"))
        fputs(commands_help, stdout);
    else if (!strcmp(line, "/clear"))
        begin(chat, chat->system);
    else if (!strcmp(line, "/system"))
        begin(chat, arguments);
    else if (!strcmp(line, "/undo"))
        undo(chat, false);
    else if (!strcmp(line, "/show"))
        show(chat);
    else if (!strcmp(line, "/set"))
        set_command(chat, arguments);
    else if (!strcmp(line, "/stats"))
        chat->stats = !chat->stats;
    else if (!strcmp(line, "/retry")) {
        undo(chat, true);
        if (last_role_is(chat, "user")) answer(chat);
    } else
        printf("there is no %s; /help lists the commands\n", line);
    return true;
}

/* A line that ends in a backslash goes on. */
static bool read_message(struct chat *chat, struct buffer *message)
{
    struct buffer line = {0};
    bool more = true, read = false;
    buffer_clear(message);
    while (more && line_editor_read(&chat->editor, read ? "... " : "> ", &line)) {
        line_editor_remember(&chat->editor, line.data);
        more = line.len && line.data[line.len - 1] == '\\';
        buffer_append(message, line.data, line.len - more);
        if (more) buffer_append_char(message, '\n');
        read = true;
    }
    buffer_free(&line);
    return read;
}

static void talk(struct chat *chat)
{
    struct buffer message = {0};
    printf("%s - /help for commands, Ctrl-D to leave\n", service_model_name(&chat->options));
    while (read_message(chat, &message)) {
        if (!message.len) continue;
        if (message.data[0] == '/' && !strchr(message.data, '\n')) {
            if (!command(chat, message.data)) break;
        } else {
            say(chat, message.data);
        }
    }
    buffer_free(&message);
}

/* ---- start ---- */

static int ask_once(struct chat *chat)
{
    struct buffer text = {0};
    char part[4096];
    if (chat->prompt) buffer_append_string(&text, chat->prompt);
    if (!isatty(STDIN_FILENO)) {
        size_t n = fread(part, 1, sizeof(part), stdin);
        if (n && text.len) buffer_append_string(&text, "\n\n");
        for (; n; n = fread(part, 1, sizeof(part), stdin)) buffer_append(&text, part, n);
    }
    while (text.len && text.data[text.len - 1] == '\n') text.data[--text.len] = 0;
    bool answered = text.len ? say(chat, text.data) : true;
    buffer_free(&text);
    return answered ? 0 : 1;
}

/* Own options out of argv, the rest to the engine's. */
static enum status parse(struct chat *chat, int argc, char **argv, struct error *error)
{
    char **rest = calloc((size_t)argc + 1, sizeof(*rest));
    int count = 0;
    enum status status = STATUS_OK;
    CHECK(rest);
    for (int i = 0; i < argc && !status; i++) {
        bool prompt = !strcmp(argv[i], "--prompt"), system = !strcmp(argv[i], "--system");
        bool set = !strcmp(argv[i], "--set");
        if (!strcmp(argv[i], "--stats")) {
            chat->stats = true;
        } else if (!prompt && !system && !set) {
            rest[count++] = argv[i];
        } else if (i + 1 >= argc ||
                   (set && (!strchr(argv[i + 1], '=') || chat->setting_count == 32))) {
            status = error_set(error, STATUS_INVALID, argv[i], "%s needs %s", argv[i],
                               set ? "NAME=VALUE, 32 times at most" : "a text");
        } else {
            const char *value = argv[++i];
            if (prompt)
                chat->prompt = value;
            else if (system)
                chat->system = value;
            else
                chat->settings[chat->setting_count++] = value;
        }
    }
    if (!status) status = options_parse(&chat->options, OPTION_ENGINE, count, rest, error);
    free(rest);
    return status;
}

static void create_body(struct chat *chat)
{
    chat->body = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(chat->body);
    yyjson_mut_doc_set_root(chat->body, root);
    chat->messages = yyjson_mut_obj_add_arr(chat->body, root, "messages");
    begin(chat, chat->system);
    for (int i = 0; i < chat->setting_count; i++) {
        char name[64];
        const char *equals = strchr(chat->settings[i], '=');
        snprintf(name, sizeof(name), "%.*s", (int)(equals - chat->settings[i]), chat->settings[i]);
        set_field(chat, name, equals + 1);
    }
}

int command_run(int argc, char **argv)
{
    struct chat chat = {0};
    struct error error = {0};
    options_init(&chat.options);
    if (parse(&chat, argc, argv, &error)) {
        fprintf(stderr, "penstock run: %s\n", error.message);
        return 2;
    }
    if (chat.options.help) {
        fputs(usage, stdout);
        options_print_help(OPTION_ENGINE, stdout);
        return 0;
    }
    sem_init(&woken, 0, 0);
    chat.interactive = !chat.prompt && isatty(STDIN_FILENO);
    struct service_hooks hooks = {.wake = on_wake, .failed = on_failed};
    if (isatty(STDERR_FILENO)) hooks.progress = on_progress;
    if (service_open(&chat.options, &hooks, &chat.service, &error)) {
        fprintf(stderr, "penstock run: %s\n", error.message);
        return 1;
    }
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    signal(SIGINT, on_interrupt);
    create_body(&chat);
    int code = 0;
    if (chat.interactive)
        talk(&chat);
    else
        code = ask_once(&chat);
    yyjson_mut_doc_free(chat.body);
    line_editor_free(&chat.editor);
    service_close(chat.service);
    options_free(&chat.options);
    return code;
}
