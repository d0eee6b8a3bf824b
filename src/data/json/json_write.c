/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.c - the streaming writer of json.h.
 *
 * begin_value() begins every value: it puts the comma, the line break and the key.
 * Whether a comma is due is the only state between values.  Strings are searched for
 * characters to escape, and the runs between are copied whole.  The output is always
 * valid UTF-8: invalid bytes are written as U+FFFD. */
#include <math.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "data/number.h"
#include "data/time.h"
#include "data/utf8.h"

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static void put_escape(struct buf *out, unsigned char c)
{
    static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    const char *at = NULL;

    for (size_t i = 0; i + 1 < sizeof(names); i += 2) {
        if ((unsigned char)names[i] == c)
            at = &names[i + 1];
    }
    if (at) {
        char pair[2] = {'\\', *at};

        buf_add(out, pair, sizeof(pair));
    } else {
        buf_printf(out, "\\u%04x", c);
    }
}

static void put_quoted(struct buf *out, const char *text, size_t len)
{
    size_t run = 0; /* where the bytes begin that are not copied yet */
    size_t at = 0;

    buf_putc(out, '"');
    while (at < len) {
        unsigned char c = (unsigned char)text[at];
        size_t step;

        if (is_plain(c)) {
            at++;
            continue;
        }
        step = c >= 0x80 ? utf8_char(text + at, len - at) : 0;
        if (step) {
            at += step;
            continue;
        }
        buf_add(out, text + run, at - run);
        if (c >= 0x80)
            buf_puts(out, "\\ufffd");
        else
            put_escape(out, c);
        run = ++at;
    }
    buf_add(out, text + run, len - run);
    buf_putc(out, '"');
}

static void new_line(struct json_writer *w)
{
    buf_putc(w->out, '\n');
    for (uint32_t i = 0; i < w->depth; i++)
        buf_add(w->out, "  ", 2);
}

static void begin_value(struct json_writer *w, const char *key)
{
    if (w->needs_comma)
        buf_putc(w->out, ',');
    if (w->is_pretty && w->depth)
        new_line(w);
    if (key) {
        put_quoted(w->out, key, strlen(key));
        buf_putc(w->out, ':');
        if (w->is_pretty)
            buf_putc(w->out, ' ');
    }
    w->needs_comma = true;
}

static void put_word(struct json_writer *w, const char *key, const char *text,
                     size_t len)
{
    begin_value(w, key);
    buf_add(w->out, text, len);
}

static void open_list(struct json_writer *w, const char *key, char bracket)
{
    begin_value(w, key);
    buf_putc(w->out, bracket);
    w->depth++;
    w->needs_comma = false;
}

static void close_list(struct json_writer *w, char bracket)
{
    w->depth--;
    if (w->is_pretty && w->needs_comma)
        new_line(w);
    buf_putc(w->out, bracket);
    w->needs_comma = true;
}

void jw_object(struct json_writer *w, const char *key)
{
    open_list(w, key, '{');
}

void jw_end_object(struct json_writer *w)
{
    close_list(w, '}');
}

void jw_array(struct json_writer *w, const char *key)
{
    open_list(w, key, '[');
}

void jw_end_array(struct json_writer *w)
{
    close_list(w, ']');
}

void jw_strn(struct json_writer *w, const char *key, const char *text, size_t len)
{
    begin_value(w, key);
    put_quoted(w->out, text, len);
}

void jw_base64(struct json_writer *w, const char *key, const void *bytes, size_t len)
{
    begin_value(w, key);
    buf_putc(w->out, '"');
    base64_encode(w->out, bytes, len);
    buf_putc(w->out, '"');
}

void jw_str(struct json_writer *w, const char *key, const char *text)
{
    if (text)
        jw_strn(w, key, text, strlen(text));
    else
        jw_null(w, key);
}

void jw_i64(struct json_writer *w, const char *key, int64_t value)
{
    char text[NUMBER_I64_TEXT];
    const char *from = number_from_i64(value, text);

    put_word(w, key, from, (size_t)(text + sizeof(text) - from));
}

void jw_i64s(struct json_writer *w, const char *key, const int64_t *values,
             size_t count)
{
    jw_array(w, key);
    for (size_t i = 0; i < count; i++)
        jw_i64(w, NULL, values[i]);
    jw_end_array(w);
}

void jw_i64_str(struct json_writer *w, const char *key, int64_t value)
{
    char text[NUMBER_I64_TEXT];
    const char *from = number_from_i64(value, text);

    jw_strn(w, key, from, (size_t)(text + sizeof(text) - from));
}

void jw_real(struct json_writer *w, const char *key, double value)
{
    char text[32];
    size_t len = json_format_real(value, text);

    if (isfinite(value))
        put_word(w, key, text, len);
    else
        jw_strn(w, key, text, len);
}

void jw_bool(struct json_writer *w, const char *key, bool value)
{
    if (value)
        put_word(w, key, "true", 4);
    else
        put_word(w, key, "false", 5);
}

void jw_null(struct json_writer *w, const char *key)
{
    put_word(w, key, "null", 4);
}

void jw_time(struct json_writer *w, const char *key, int64_t wall_us)
{
    char text[TIME_TEXT];

    if (!wall_us) {
        jw_null(w, key);
        return;
    }
    time_format(wall_us, text);
    jw_strn(w, key, text, strlen(text));
}

void jw_raw(struct json_writer *w, const char *key, const char *text)
{
    if (text && *text)
        put_word(w, key, text, strlen(text));
    else
        jw_null(w, key);
}

void jw_rawn(struct json_writer *w, const char *key, const char *text, size_t len)
{
    put_word(w, key, text, len);
}

void jw_json(struct json_writer *w, const char *key, const struct json *value)
{
    switch (value ? value->kind : JSON_NULL) {
    case JSON_NULL:
        jw_null(w, key);
        break;
    case JSON_BOOL:
        jw_bool(w, key, value->boolean);
        break;
    case JSON_INT:
        jw_i64(w, key, value->integer);
        break;
    case JSON_REAL:
        jw_real(w, key, value->real);
        break;
    case JSON_STRING:
        jw_strn(w, key, value->string.text, value->string.len);
        break;
    case JSON_ARRAY:
        jw_array(w, key);
        json_each(item, value)
            jw_json(w, NULL, item);
        jw_end_array(w);
        break;
    case JSON_OBJECT:
        jw_object(w, key);
        json_each(item, value)
            jw_json(w, item->key, item);
        jw_end_object(w);
        break;
    }
}

void json_write(struct buf *out, const struct json *value)
{
    struct json_writer w = JSON_WRITER(out);

    jw_json(&w, NULL, value);
}

char *json_text(struct arena *mem, const struct json *value)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    json_write(&out, value);
    if (out.status) {
        mem->has_failed = true;
        return NULL;
    }
    return arena_strndup(mem, out.data, out.len);
}

/* ---- doubles ------------------------------------------------------------------- */

/* 0.DIGITS times 10^point, without an exponent. */
static char *put_plain(char *to, const char *digits, int count, int point)
{
    if (point <= 0) {
        *to++ = '0';
        *to++ = '.';
    }
    for (int i = point; i < 0; i++)
        *to++ = '0';
    for (int i = 0; i < count; i++) {
        if (i == point && i > 0)
            *to++ = '.';
        *to++ = digits[i];
    }
    for (int i = count; i < point; i++)
        *to++ = '0';
    return to;
}

static char *put_scientific(char *to, const char *digits, int count, int point)
{
    *to++ = digits[0];
    if (count > 1)
        *to++ = '.';
    for (int i = 1; i < count; i++)
        *to++ = digits[i];
    return to + snprintf(to, 8, "e%+d", point - 1);
}

/* An exponent only below 1e-6 and from 1e21 on, as in JavaScript and Go. */
size_t json_format_real(double value, char text[32])
{
    char digits[NUMBER_DIGITS];
    char *to = text;
    int count;
    int point;

    if (isnan(value) || isinf(value))
        return (size_t)snprintf(text, 32, "%s",
                                isnan(value) ? "NaN"
                                : value > 0  ? "Infinity"
                                             : "-Infinity");
    if (signbit(value))
        *to++ = '-';
    if (value == 0) {
        *to++ = '0';
    } else {
        count = (int)number_digits(fabs(value), digits, &point);
        to = point > -6 && point <= 21 ? put_plain(to, digits, count, point)
                                       : put_scientific(to, digits, count, point);
    }
    *to = '\0';
    return (size_t)(to - text);
}
