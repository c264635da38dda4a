/*
 * line_editor.h - one line from a terminal, with editing keys and history.
 *
 * Left, right, home, end, backspace, delete, up and down through history, Ctrl-A/E/K/U/W/L, Ctrl-C
 * (clears the line), Ctrl-D (ends input on an empty line). Characters are UTF-8; widths are
 * utf8proc's. Thread: main; one editor at a time. The terminal is raw only while line_editor_read
 * runs.
 */
#ifndef SERVER_LINE_EDITOR_H
#define SERVER_LINE_EDITOR_H

#include <stdbool.h>

#include "runtime/base/buffer.h"

enum { LINE_HISTORY_MAX = 500 };

struct line_editor {
    char *history[LINE_HISTORY_MAX]; /* oldest first; owned */
    int history_count;
};

/* Reads a line (without its end) into `line`. False at the end of input. Where stdin or stdout is
 * no terminal it reads plainly and prints no prompt. */
bool line_editor_read(struct line_editor *editor, const char *prompt, struct buffer *line);

void line_editor_remember(struct line_editor *editor, const char *line);
void line_editor_free(struct line_editor *editor);

#endif
