/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - builds each line on the stack and writes it with one write(2).
 *
 *   sentence (vsnprintf) --> text: control characters become spaces
 *                        \-> JSON: escaped, and cut before the line is full
 *   then the scopes, outermost first, while there is room
 *
 * The variables below are the only state. */
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Atomic, since the level may change while other threads log.  Nothing is ordered by
 * them: readers need no barrier. */
static _Atomic int log_least = LOG_INFO;
static _Atomic int log_fd = STDERR_FILENO;
static _Atomic int log_format = LOG_TEXT;
static _Atomic bool log_has_colors;
static const char *_Atomic log_process = "det";
static const struct log_tap *_Atomic log_tap;
static _Thread_local struct log_scope *log_scopes;

static const struct {
    const char *label; /* as printed, padded to one width */
    const char *name;
    const char *color;
} levels[] = {
    [LOG_ERROR] = {"ERROR", "error", "\033[31m"},
    [LOG_WARN] = {"WARN ", "warn", "\033[33m"},
    [LOG_INFO] = {"INFO ", "info", "\033[32m"},
    [LOG_DEBUG] = {"DEBUG", "debug", "\033[36m"},
    [LOG_TRACE] = {"TRACE", "trace", "\033[90m"},
};

enum {
    SENTENCE_SIZE = 3072,
    LINE_SIZE = 4096,                 /* PIPE_BUF: a pipe takes such a line whole */
    SCOPE_TEXT = 64,                  /* bytes of a scope's text that are shown */
    SCOPE_ROOM = 6 * SCOPE_TEXT + 32, /* the most that a scope needs, escaped */
    SCOPES_ROOM = 2 * SCOPE_ROOM,
    LINE_TAIL = 8, /* "...", a quote, a brace and the line break */
};

struct line {
    size_t len;
    char text[LINE_SIZE];
};

void log_setup(enum log_level level, int fd)
{
    atomic_store(&log_least, (int)level);
    atomic_store(&log_fd, fd);
}

void log_set_format(enum log_format format, const char *process, bool has_colors)
{
    atomic_store(&log_format, (int)format);
    atomic_store(&log_process, process);
    atomic_store(&log_has_colors, has_colors);
}

void log_set_tap(const struct log_tap *tap)
{
    atomic_store(&log_tap, tap);
}

enum log_level log_level_named(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        if (!strcmp(name, levels[i].name))
            return (enum log_level)i;
    return LOG_INFO;
}

void log_scope_push(struct log_scope *scope)
{
    scope->outer = log_scopes;
    log_scopes = scope;
}

void log_scope_pop(struct log_scope *scope)
{
    assert(log_scopes == scope);
    log_scopes = scope->outer;
}

/* ---- parts of a line ------------------------------------------------------------- */

static void PRINTF_LIKE(2, 3) line_printf(struct line *line, const char *fmt, ...)
{
    size_t room = LINE_SIZE - line->len;
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(line->text + line->len, room, fmt, args);
    va_end(args);
    if (len > 0)
        line->len += MIN((size_t)len, room - 1);
}

static void line_put(struct line *line, const char *bytes, size_t len)
{
    len = MIN(len, LINE_SIZE - line->len);
    memcpy(line->text + line->len, bytes, len);
    line->len += len;
}

/* Always UTC: the logs of several machines can be merged by sorting. */
static void line_time(struct line *line, int64_t now_us)
{
    time_t now_s = (time_t)(now_us / 1000000);
    struct tm day;

    gmtime_r(&now_s, &day);
    line_printf(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", day.tm_year + 1900,
                day.tm_mon + 1, day.tm_mday, day.tm_hour, day.tm_min, day.tm_sec,
                (int)(now_us / 1000 % 1000));
}

/* One event is one line, even if it quotes text of users. */
static void line_plain(struct line *line, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        line_put(line, (unsigned char)c < ' ' || c == 0x7f ? " " : &c, 1);
    }
}

/* The forms of UTF-8, by their first byte and the bounds of the second; overlong forms and
 * surrogates are none. */
static const struct {
    unsigned char first, last; /* of the first byte */
    unsigned char least, most; /* of the second */
    unsigned char len;
} utf8_forms[] = {
    {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2},
    {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
    {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* The length of the character at `at`; 0: not UTF-8. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
    size_t form = 0;
    size_t len;

    while (form < ARRAY_LEN(utf8_forms) && *at > utf8_forms[form].last)
        form++;
    if (form == ARRAY_LEN(utf8_forms) || *at < utf8_forms[form].first)
        return 0;
    len = utf8_forms[form].len;
    if (len > left)
        return 0;
    if (len > 1 && (at[1] < utf8_forms[form].least || at[1] > utf8_forms[form].most))
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

/* Without quotes.  False: cut before `most` bytes of the line were used. */
static bool line_json(struct line *line, const char *text, size_t len, size_t most)
{
    for (size_t i = 0; i < len;) {
        const unsigned char *at = (const unsigned char *)text + i;
        size_t width = utf8_length(at, len - i);

        if (line->len + sizeof("\\u0000") > most)
            return false;
        if (!width)
            line_put(line, "\xef\xbf\xbd", 3);
        else if (*at < ' ' || *at == 0x7f)
            line_printf(line, "\\u%04x", *at);
        else if (*at == '"' || *at == '\\')
            line_printf(line, "\\%c", *at);
        else
            line_put(line, text + i, width);
        i += MAX(width, 1u);
    }
    return true;
}

/* ---- scopes ---------------------------------------------------------------------- */

static void scope_value(const struct log_scope *scope, char text[SCOPE_TEXT])
{
    if (scope->text && scope->number != -1)
        snprintf(text, SCOPE_TEXT, "%s-%" PRIx64, scope->text, (uint64_t)scope->number);
    else
        snprintf(text, SCOPE_TEXT, "%s", scope->text);
}

/* logfmt: a value with other characters than these is quoted. */
static bool is_plain_word(const char *text)
{
    for (; *text > ' ' && *text < 0x7f && *text != '"' && *text != '='; text++)
        ;
    return *text == '\0';
}

static void line_scope_text(struct line *line, const char *value)
{
    if (*value && is_plain_word(value)) {
        line_put(line, value, strlen(value));
        return;
    }
    line_put(line, "\"", 1);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            line_put(line, "\\", 1);
        line_plain(line, value, 1);
    }
    line_put(line, "\"", 1);
}

static void line_scope(struct line *line, const struct log_scope *scope, bool is_json)
{
    char value[SCOPE_TEXT];

    if (scope->outer)
        line_scope(line, scope->outer, is_json);
    if (!scope->name || LINE_SIZE - line->len < SCOPE_ROOM + LINE_TAIL)
        return;
    line_printf(line, is_json ? ",\"%s\":" : " %s=", scope->name);
    if (!scope->text) {
        line_printf(line, "%" PRId64, scope->number);
        return;
    }
    scope_value(scope, value);
    if (is_json) {
        line_put(line, "\"", 1);
        (void)line_json(line, value, strlen(value), LINE_SIZE);
        line_put(line, "\"", 1);
    } else {
        line_scope_text(line, value);
    }
}

/* ---- lines ----------------------------------------------------------------------- */

/* The sentence and its scopes. */
static void line_sentence(struct line *line, const char *sentence, size_t len)
{
    line_plain(line, sentence, len);
    if (len == SENTENCE_SIZE - 1)
        line_put(line, "...", 3);
    if (log_scopes)
        line_scope(line, log_scopes, false);
}

static void line_as_text(struct line *line, int64_t now_us, enum log_level level,
                         const char *sentence, size_t len)
{
    bool has_colors = atomic_load_explicit(&log_has_colors, memory_order_relaxed);

    line_time(line, now_us);
    line_printf(line, " %s%s%s ", has_colors ? levels[level].color : "",
                levels[level].label, has_colors ? "\033[0m" : "");
    line_sentence(line, sentence, len);
    line_put(line, "\n", 1);
}

static void line_as_json(struct line *line, int64_t now_us, enum log_level level,
                         const char *sentence, size_t len)
{
    line_put(line, "{\"time\":\"", 9);
    line_time(line, now_us);
    line_printf(line, "\",\"level\":\"%s\",\"process\":\"%s\",\"message\":\"",
                levels[level].name,
                atomic_load_explicit(&log_process, memory_order_relaxed));
    if (!line_json(line, sentence, len, LINE_SIZE - SCOPES_ROOM - LINE_TAIL) ||
        len == SENTENCE_SIZE - 1)
        line_put(line, "...", 3);
    line_put(line, "\"", 1);
    if (log_scopes)
        line_scope(line, log_scopes, true);
    line_put(line, "}\n", 2);
}

/* A failure to write the log cannot be reported anywhere. */
static void line_write(const struct line *line, int fd)
{
    size_t done = 0;

    while (done < line->len) {
        ssize_t wrote = write(fd, line->text + done, line->len - done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return;
        done += (size_t)wrote;
    }
}

static void tell_tap(const struct log_tap *tap, int64_t now_us, enum log_level level,
                     const char *sentence, size_t len)
{
    struct line line;

    line.len = 0;
    line_sentence(&line, sentence, len);
    tap->add(tap->arg, level, now_us, line.text, line.len);
}

void log_line(enum log_level level, const char *fmt, ...)
{
    int fd = atomic_load_explicit(&log_fd, memory_order_relaxed);
    const struct log_tap *tap = atomic_load_explicit(&log_tap, memory_order_acquire);
    /* Callers often log before they report errno. */
    int code = errno;
    int64_t now_us;
    char sentence[SENTENCE_SIZE];
    struct line line;
    va_list args;
    int len;

    assert((size_t)level < ARRAY_LEN(levels));
    if ((fd < 0 && !tap) ||
        (int)level > atomic_load_explicit(&log_least, memory_order_relaxed))
        return;

    line.len = 0;
    va_start(args, fmt);
    len = vsnprintf(sentence, sizeof(sentence), fmt, args);
    va_end(args);
    len = len < 0 ? 0 : MIN(len, SENTENCE_SIZE - 1);
    now_us = clock_wall_us(&clock_system);
    if (tap)
        tell_tap(tap, now_us, level, sentence, (size_t)len);
    if (atomic_load_explicit(&log_format, memory_order_relaxed) == LOG_JSON)
        line_as_json(&line, now_us, level, sentence, (size_t)len);
    else
        line_as_text(&line, now_us, level, sentence, (size_t)len);
    if (fd >= 0)
        line_write(&line, fd);
    errno = code;
}
