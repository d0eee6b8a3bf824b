/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_write.c - writes the tree as YAML in block style.
 *
 * A string is written plain only when every reader takes it for that string: our own
 * rules tell other kinds, and words that begin like a number or a date are quoted as
 * well, since other readers know more kinds.  Text of several lines becomes a literal
 * block.  Text that neither plain style nor single quotes can hold is escaped in double
 * quotes. */
#include <math.h>
#include <string.h>

#include "base/memory/buf.h"
#include "data/utf8.h"
#include "data/yaml/yaml.h"
#include "data/yaml/yaml_scalar.h"

enum {
    STEP = 2,
    SHORT_KEY = 128, /* readers look for a ':' in 1,024 characters, some are escapes */
};

static void put_spaces(struct buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_putc(out, ' ');
}

/* The code point of a valid character. */
static uint32_t code_of(const char *text, size_t step)
{
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = (unsigned char)text[0] & masks[step];

    for (size_t i = 1; i < step; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3F);
    return code;
}

/* Bytes of a character that stands for itself in YAML; 0 for control characters, odd
 * line breaks, the byte order mark and invalid UTF-8. */
static size_t printable_len(const char *text, size_t len)
{
    size_t step = utf8_char(text, len);
    uint32_t code = code_of(text, step);
    bool is_odd = code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 ||
                  code == 0x2029 || code == 0xFEFF || code == 0xFFFE || code == 0xFFFF;

    return is_odd ? 0 : step;
}

static bool is_printable(const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t step = printable_len(text + at, len - at);

        if (!step)
            return false;
        at += step;
    }
    return true;
}

static bool is_plain(const char *text, size_t len)
{
    struct json value;

    if (!len || strchr("+-.0123456789!&*?|>%@`\"'#,[]{}:=<~ ", text[0]) ||
        text[len - 1] == ' ' || text[len - 1] == ':' || strpbrk(text, ",[]{}"))
        return false;
    if (strstr(text, ": ") || strstr(text, " #") || !is_printable(text, len))
        return false;
    yaml_resolve(text, len, &value);
    return value.kind == JSON_STRING;
}

static void put_double_quoted(struct buf *out, const char *text, size_t len)
{
    buf_putc(out, '"');
    for (size_t at = 0; at < len;) {
        size_t step = utf8_char(text + at, len - at);

        if (text[at] == '"' || text[at] == '\\')
            buf_putc(out, '\\');
        if (text[at] == '\n')
            buf_puts(out, "\\n");
        else if (text[at] == '\t')
            buf_puts(out, "\\t");
        else if (!step)
            buf_puts(out, "\\ufffd");
        else if (!printable_len(text + at, len - at))
            buf_printf(out, "\\u%04x", code_of(text + at, step));
        else
            buf_add(out, text + at, step);
        at += step ? step : 1;
    }
    buf_putc(out, '"');
}

static void put_string(struct buf *out, const char *text, size_t len)
{
    if (is_plain(text, len)) {
        buf_add(out, text, len);
        return;
    }
    if (!is_printable(text, len) || memchr(text, '\'', len)) {
        put_double_quoted(out, text, len);
        return;
    }
    buf_putc(out, '\'');
    buf_add(out, text, len);
    buf_putc(out, '\'');
}

/* Text of several lines that a literal block holds without further marks: it neither
 * begins with a space nor ends a line with one. */
static bool is_literal(const char *text, size_t len)
{
    const char *end = text + len;
    const char *at = text;

    if (!memchr(text, '\n', len) || text[0] == ' ' || text[0] == '\n')
        return false;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t line = (size_t)((stop ? stop : end) - at);

        if (!is_printable(at, line) || (line && at[line - 1] == ' '))
            return false;
        at += line + (stop != NULL);
    }
    return true;
}

static void put_literal(struct buf *out, const char *text, size_t len, size_t indent)
{
    const char *end = text + len;
    bool has_end = text[len - 1] == '\n';
    bool has_more = len > 1 && has_end && text[len - 2] == '\n';

    buf_puts(out, has_more ? "|+\n" : has_end ? "|\n" : "|-\n");
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t line = (size_t)((stop ? stop : end) - text);

        if (line)
            put_spaces(out, indent);
        buf_add(out, text, line);
        buf_putc(out, '\n');
        text += line + (stop != NULL);
    }
}

/* Always with a point: every reader then sees a real, and not an integer or, with an
 * exponent, a string. */
static void put_real(struct buf *out, double real)
{
    char text[32];
    size_t len = json_format_real(real, text);
    size_t mantissa = strcspn(text, "e");

    if (!isfinite(real)) {
        put_string(out, text, len);
        return;
    }
    buf_add(out, text, mantissa);
    if (!memchr(text, '.', mantissa))
        buf_puts(out, ".0");
    buf_add(out, text + mantissa, len - mantissa);
}

/* `indent` is that of the lines of a literal block. */
static void put_scalar(struct buf *out, const struct json *value, size_t indent)
{
    switch (value ? value->kind : JSON_NULL) {
    case JSON_NULL:
        buf_puts(out, "null");
        break;
    case JSON_BOOL:
        buf_puts(out, value->boolean ? "true" : "false");
        break;
    case JSON_INT:
        buf_printf(out, "%lld", (long long)value->integer);
        break;
    case JSON_REAL:
        put_real(out, value->real);
        break;
    case JSON_STRING:
        if (is_literal(value->string.text, value->string.len)) {
            put_literal(out, value->string.text, value->string.len, indent);
            return;
        }
        put_string(out, value->string.text, value->string.len);
        break;
    case JSON_ARRAY:
        buf_puts(out, "[]");
        break;
    case JSON_OBJECT:
        buf_puts(out, "{}");
        break;
    }
    buf_putc(out, '\n');
}

/* Up to its ':'. */
static void put_key(struct buf *out, const char *key, size_t indent)
{
    size_t len = strlen(key);

    if (len > SHORT_KEY)
        buf_puts(out, "? ");
    put_string(out, key, len);
    if (len > SHORT_KEY) {
        buf_putc(out, '\n');
        put_spaces(out, indent);
    }
    buf_putc(out, ':');
}

/* The first line continues where the caller stopped; the others begin with `indent`. */
static void put_list(struct buf *out, const struct json *list, size_t indent)
{
    bool is_object = list->kind == JSON_OBJECT;

    json_each(item, list) {
        if (item != list->list.first)
            put_spaces(out, indent);
        if (is_object)
            put_key(out, item->key, indent);
        else
            buf_putc(out, '-');
        if (!json_first(item)) {
            buf_putc(out, ' ');
            put_scalar(out, item, indent + STEP);
            continue;
        }
        if (is_object) {
            /* A list in a mapping stands below its key, not to the right of it. */
            size_t inner = item->kind == JSON_OBJECT ? indent + STEP : indent;

            buf_putc(out, '\n');
            put_spaces(out, inner);
            put_list(out, item, inner);
        } else {
            buf_putc(out, ' ');
            put_list(out, item, indent + STEP);
        }
    }
}

void yaml_write(struct buf *out, const struct json *value)
{
    if (json_first(value))
        put_list(out, value, 0);
    else
        put_scalar(out, value, STEP);
}
