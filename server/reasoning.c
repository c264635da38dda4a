/* reasoning.c - see reasoning.h. */
#include "server/reasoning.h"

#include <string.h>

#include "server/stop.h"

static const struct stop_string open_tag = {"<think>", 7}, close_tag = {"</think>", 8};

static bool is_blank(char c)
{
    return c == '\n' || c == ' ' || c == '\r' || c == '\t';
}

/* Where the reasoning's text begins; len if there is none (or none yet: *undecided). */
static size_t find_begin(const char *parser, const char *text, size_t len, bool complete,
                         bool *undecided)
{
    size_t at = 0;
    while (at < len && is_blank(text[at])) at++;
    size_t rest = len - at, most = rest < open_tag.len ? rest : open_tag.len;
    bool maybe = !memcmp(text + at, open_tag.text, most);
    *undecided = maybe && rest < open_tag.len && !complete;
    if (maybe && rest >= open_tag.len) return at + open_tag.len;
    return !strcmp(parser, "deepseek_r1") ? 0 : len + 1;
}

void reasoning_split(const char *parser, const char *text, size_t len, size_t from, bool complete,
                     struct reasoning_parts *out)
{
    bool undecided;
    *out = (struct reasoning_parts){.reasoning = "", .content = "", .used = from};
    if (!text) return;
    size_t begin = find_begin(parser, text, len, complete, &undecided);
    if (undecided) return;
    out->used = len;
    if (begin > len) {
        out->content = text + from, out->content_len = len - from;
        return;
    }
    struct stop_match match;
    bool closed = stop_find(&close_tag, 1, text + begin, len - begin, 0, &match);
    size_t end = closed ? begin + match.start : len;
    if (!closed && !complete) end -= stop_held_bytes(&close_tag, 1, text + begin, len - begin);
    size_t told = from > begin ? from : begin;
    if (told < end) out->reasoning = text + told, out->reasoning_len = end - told;
    if (!closed) {
        out->used = end > from ? end : from;
        return;
    }
    size_t content = begin + match.end;
    while (content < len && text[content] == '\n') content++; /* the blank line after the tag */
    if (content == len && !complete) {
        out->used = end > from ? end : from; /* more newlines may follow: tell them none */
        return;
    }
    if (from > content) content = from;
    out->content = text + content, out->content_len = len - content;
}
