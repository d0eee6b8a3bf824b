/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - lines are put together on the stack and leave in one write(2).
 *
 * The three variables below are the only state: the level and the descriptor belong to
 * the process, the innermost scope to the thread. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Atomic since a level may be changed while other threads log; nothing is ordered by
 * them, so that readers need no barrier. */
static _Atomic int log_least = LOG_INFO;
static _Atomic int log_fd = STDERR_FILENO;
static _Thread_local struct log_scope *log_innermost;

static const struct level_name {
    const char *name;
    enum log_level level;
} level_names[] = {
    {"error", LOG_ERROR}, {"warn", LOG_WARN},   {"warning", LOG_WARN},
    {"info", LOG_INFO},   {"debug", LOG_DEBUG}, {"trace", LOG_TRACE},
};

/* As printed, padded to one width. */
static const char *const level_labels[] = {"ERROR", "WARN ", "INFO ", "DEBUG", "TRACE"};

enum { LINE_SIZE = 4096, LINE_TAIL = 4 /* room for "..." and the line break */ };

struct line {
    size_t len;
    char text[LINE_SIZE];
};

void log_setup(enum log_level level, int fd)
{
    atomic_store(&log_least, (int)level);
    atomic_store(&log_fd, fd);
}

/* People write levels into configurations by hand; case is no reason to refuse. */
bool log_level_parse(const char *name, enum log_level *ret_level)
{
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++)
        if (strcasecmp(level_names[i].name, name) == 0) {
            *ret_level = level_names[i].level;
            return true;
        }
    return false;
}

static void PRINTF_LIKE(2, 0)
    line_vprintf(struct line *line, const char *fmt, va_list args)
{
    /* The tail stays free, so that a cut line can still say so and end. */
    size_t room = LINE_SIZE - LINE_TAIL - line->len;
    int len = vsnprintf(line->text + line->len, room, fmt, args);

    if (len > 0)
        line->len += MIN((size_t)len, room - 1);
}

static void PRINTF_LIKE(2, 3) line_printf(struct line *line, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    line_vprintf(line, fmt, args);
    va_end(args);
}

/* Always UTC, so that the logs of several machines can be merged by sorting them. */
static void line_time(struct line *line)
{
    int64_t now_us = clock_wall_us(&clock_system);
    time_t now_s = (time_t)(now_us / 1000000);
    struct tm day;

    gmtime_r(&now_s, &day);
    line_printf(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", day.tm_year + 1900,
                day.tm_mon + 1, day.tm_mday, day.tm_hour, day.tm_min, day.tm_sec,
                (int)(now_us / 1000 % 1000));
}

/* Outermost first, as a reader would tell it. */
static void line_scopes(struct line *line, const struct log_scope *scope)
{
    if (!scope)
        return;
    line_scopes(line, scope->outer);
    line_printf(line, " %s", scope->text);
}

static void line_end(struct line *line)
{
    bool is_cut = line->len >= LINE_SIZE - LINE_TAIL - 1;

    /* One event is one line, whatever text of users it quotes. */
    for (size_t i = 0; i < line->len; i++)
        if ((unsigned char)line->text[i] < ' ' || line->text[i] == 0x7f)
            line->text[i] = ' ';
    if (is_cut) {
        memcpy(line->text + line->len, "...", 3);
        line->len += 3;
    }
    line->text[line->len++] = '\n';
}

/* A log that cannot be written has nobody to tell. */
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

void log_line(enum log_level level, const char *fmt, ...)
{
    int fd = atomic_load_explicit(&log_fd, memory_order_relaxed);
    /* Callers often log before they report errno. */
    int code = errno;
    struct line line;
    va_list args;

    if (fd < 0 || (int)level > atomic_load_explicit(&log_least, memory_order_relaxed))
        return;

    line.len = 0;
    line_time(&line);
    line_printf(&line, " %s ", level_labels[level]);
    va_start(args, fmt);
    line_vprintf(&line, fmt, args);
    va_end(args);
    line_scopes(&line, log_innermost);
    line_end(&line);
    line_write(&line, fd);
    errno = code;
}

void log_scope_push(struct log_scope *scope, const char *key, const char *fmt, ...)
{
    /* Formatted once here, not at every line; a long value is cut. */
    int len = snprintf(scope->text, sizeof(scope->text), "%s=", key);
    size_t at = MIN((size_t)MAX(len, 0), sizeof(scope->text) - 1);
    va_list args;

    va_start(args, fmt);
    vsnprintf(scope->text + at, sizeof(scope->text) - at, fmt, args);
    va_end(args);
    scope->outer = log_innermost;
    log_innermost = scope;
}

void log_scope_pop(struct log_scope *scope)
{
    log_innermost = scope->outer;
}
