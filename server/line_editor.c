/* line_editor.c - see line_editor.h. */
#include "server/line_editor.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <utf8proc.h>

#include "runtime/base/check.h"

enum key {
    KEY_NONE = 0x110000,
    KEY_END_OF_INPUT,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_UP,
    KEY_DOWN,
    KEY_HOME,
    KEY_END,
    KEY_DELETE,
};
#define CONTROL(C) ((C) - 'A' + 1)

struct edit {
    struct line_editor *editor;
    const char *prompt;
    struct buffer *line;
    size_t cursor; /* bytes */
    int entry;     /* of history being shown; history_count: the new line */
    char *draft;   /* the new line while an old one is shown */
};

/* ---- text ---- */

static size_t next_char(const struct buffer *line, size_t at)
{
    if (at < line->len) at++;
    while (at < line->len && ((unsigned char)line->data[at] & 0xc0) == 0x80) at++;
    return at;
}

static size_t previous_char(const struct buffer *line, size_t at)
{
    if (at > 0) at--;
    while (at > 0 && ((unsigned char)line->data[at] & 0xc0) == 0x80) at--;
    return at;
}

static int width_of(const char *text, size_t len)
{
    int width = 0;
    for (size_t at = 0; at < len;) {
        utf8proc_int32_t code;
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                              (utf8proc_ssize_t)(len - at), &code);
        width += n > 0 ? utf8proc_charwidth(code) : 1;
        at += n > 0 ? (size_t)n : 1;
    }
    return width;
}

static void cut(struct edit *edit, size_t from, size_t to)
{
    struct buffer *line = edit->line;
    memmove(line->data + from, line->data + to, line->len - to + 1);
    line->len -= to - from;
    edit->cursor = from;
}

static void insert(struct edit *edit, const char *text, size_t len)
{
    struct buffer *line = edit->line;
    buffer_reserve(line, len);
    memmove(line->data + edit->cursor + len, line->data + edit->cursor, line->len - edit->cursor);
    memcpy(line->data + edit->cursor, text, len);
    line->len += len;
    line->data[line->len] = 0;
    edit->cursor += len;
}

static void replace(struct edit *edit, const char *text)
{
    buffer_clear(edit->line);
    buffer_append_string(edit->line, text);
    edit->cursor = edit->line->len;
}

/* ---- screen and keys ---- */

/* The part of the line around the cursor that fits the terminal's width. */
static void draw(const struct edit *edit)
{
    struct winsize size;
    int columns = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col > 20 ? size.ws_col : 80;
    int room = columns - width_of(edit->prompt, strlen(edit->prompt)) - 1;
    size_t from = 0, to = edit->line->len;
    while (width_of(edit->line->data + from, edit->cursor - from) > room)
        from = next_char(edit->line, from);
    while (width_of(edit->line->data + from, to - from) > room) to = previous_char(edit->line, to);
    struct buffer out = {0};
    buffer_printf(&out, "\r%s%.*s\033[K\r", edit->prompt, (int)(to - from),
                  edit->line->data + from);
    int column = columns - 1 - room + width_of(edit->line->data + from, edit->cursor - from);
    if (column > 0) buffer_printf(&out, "\033[%dC", column);
    fwrite(out.data, 1, out.len, stdout);
    fflush(stdout);
    buffer_free(&out);
}

static int read_byte(int timeout_ms)
{
    unsigned char byte;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (timeout_ms >= 0 && poll(&input, 1, timeout_ms) <= 0) return -1;
    return read(STDIN_FILENO, &byte, 1) == 1 ? byte : -1;
}

/* What follows an escape byte. */
static int read_escape(void)
{
    enum { ESCAPE_WAIT_MS = 30 };
    int first = read_byte(ESCAPE_WAIT_MS),
        code = first == '[' || first == 'O' ? read_byte(ESCAPE_WAIT_MS) : -1;
    switch (code) {
    case 'A': return KEY_UP;
    case 'B': return KEY_DOWN;
    case 'C': return KEY_RIGHT;
    case 'D': return KEY_LEFT;
    case 'H': return KEY_HOME;
    case 'F': return KEY_END;
    default: break;
    }
    int number = 0;
    for (; code >= '0' && code <= '9'; code = read_byte(ESCAPE_WAIT_MS))
        number = number * 10 + code - '0';
    while (code == ';' || (code >= '0' && code <= '9')) code = read_byte(ESCAPE_WAIT_MS);
    if (code != '~') return KEY_NONE;
    return number == 3                  ? KEY_DELETE
           : number == 1 || number == 7 ? KEY_HOME
           : number == 4 || number == 8 ? KEY_END
                                        : KEY_NONE;
}

static void show_entry(struct edit *edit, int entry)
{
    struct line_editor *editor = edit->editor;
    if (entry < 0 || entry > editor->history_count || entry == edit->entry) return;
    if (edit->entry == editor->history_count) {
        free(edit->draft);
        edit->draft = strdup(edit->line->data);
    }
    edit->entry = entry;
    replace(edit, entry < editor->history_count ? editor->history[entry]
                  : edit->draft                 ? edit->draft
                                                : "");
}

static void delete_word(struct edit *edit)
{
    size_t from = edit->cursor;
    while (from > 0 && edit->line->data[from - 1] == ' ') from--;
    while (from > 0 && edit->line->data[from - 1] != ' ') from--;
    cut(edit, from, edit->cursor);
}

static void insert_byte(struct edit *edit, int byte)
{
    char text[4] = {(char)byte};
    size_t len = 1, want = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    for (int next; len < want && (next = read_byte(-1)) >= 0; len++) text[len] = (char)next;
    insert(edit, text, len);
}

static void apply(struct edit *edit, int key)
{
    struct buffer *line = edit->line;
    switch (key) {
    case KEY_LEFT: edit->cursor = previous_char(line, edit->cursor); break;
    case KEY_RIGHT: edit->cursor = next_char(line, edit->cursor); break;
    case KEY_HOME:
    case CONTROL('A'): edit->cursor = 0; break;
    case KEY_END:
    case CONTROL('E'): edit->cursor = line->len; break;
    case KEY_UP: show_entry(edit, edit->entry - 1); break;
    case KEY_DOWN: show_entry(edit, edit->entry + 1); break;
    case 127:
    case CONTROL('H'): cut(edit, previous_char(line, edit->cursor), edit->cursor); break;
    case KEY_DELETE:
    case CONTROL('D'): cut(edit, edit->cursor, next_char(line, edit->cursor)); break;
    case CONTROL('K'): cut(edit, edit->cursor, line->len); break;
    case CONTROL('U'): cut(edit, 0, edit->cursor); break;
    case CONTROL('W'): delete_word(edit); break;
    case CONTROL('C'): replace(edit, ""); break;
    case CONTROL('L'): fputs("\033[H\033[2J", stdout); break;
    default:
        if (key >= 32 && key < KEY_NONE) insert_byte(edit, key);
    }
}

static int read_key(void)
{
    int byte = read_byte(-1);
    if (byte < 0) return KEY_END_OF_INPUT;
    return byte == 27 ? read_escape() : byte;
}

static bool edit_line(struct edit *edit)
{
    for (;;) {
        draw(edit);
        int key = read_key();
        if (key == KEY_END_OF_INPUT || (key == CONTROL('D') && !edit->line->len)) return false;
        if (key == '\r' || key == '\n') return true;
        apply(edit, key);
    }
}

/* ---- from outside ---- */

static bool read_plain(struct buffer *line)
{
    int c = getchar();
    if (c == EOF) return false;
    for (; c != EOF && c != '\n'; c = getchar()) buffer_append_char(line, (char)c);
    if (!line->data) buffer_append(line, "", 0);
    return true;
}

bool line_editor_read(struct line_editor *editor, const char *prompt, struct buffer *line)
{
    struct termios before, raw;
    buffer_clear(line);
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before))
        return read_plain(line);
    raw = before;
    raw.c_iflag &= (tcflag_t) ~(ICRNL | IXON);
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_cc[VMIN] = 1, raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    buffer_append(line, "", 0);
    struct edit edit = {
        .editor = editor, .prompt = prompt, .line = line, .entry = editor->history_count};
    bool read = edit_line(&edit);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    fputs("\n", stdout);
    free(edit.draft);
    return read;
}

void line_editor_remember(struct line_editor *editor, const char *line)
{
    if (!*line) return;
    if (editor->history_count && !strcmp(editor->history[editor->history_count - 1], line)) return;
    if (editor->history_count == LINE_HISTORY_MAX) {
        free(editor->history[0]);
        memmove(editor->history, editor->history + 1,
                (LINE_HISTORY_MAX - 1) * sizeof(*editor->history));
        editor->history_count--;
    }
    char *copy = strdup(line);
    CHECK(copy);
    editor->history[editor->history_count++] = copy;
}

void line_editor_free(struct line_editor *editor)
{
    for (int i = 0; i < editor->history_count; i++) free(editor->history[i]);
    editor->history_count = 0;
}
