/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - builds each line on the stack and writes it with one write(2).
 *
 * The two variables below are the only state: the level and the descriptor. */
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Atomic, since the level may change while other threads log.  Nothing is ordered by
 * them: readers need no barrier. */
static _Atomic int log_least = LOG_INFO;
static _Atomic int log_fd = STDERR_FILENO;

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

static void PRINTF_LIKE(2, 0)
    line_vprintf(struct line *line, const char *fmt, va_list args)
{
    /* The tail stays free: a cut line can still say so and end. */
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

/* Always UTC: the logs of several machines can be merged by sorting. */
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

static void line_end(struct line *line)
{
    bool is_cut = line->len >= LINE_SIZE - LINE_TAIL - 1;

    /* One event is one line, even if it quotes text of users. */
    for (size_t i = 0; i < line->len; i++)
        if ((unsigned char)line->text[i] < ' ' || line->text[i] == 0x7f)
            line->text[i] = ' ';
    if (is_cut) {
        memcpy(line->text + line->len, "...", 3);
        line->len += 3;
    }
    line->text[line->len++] = '\n';
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

void log_line(enum log_level level, const char *fmt, ...)
{
    int fd = atomic_load_explicit(&log_fd, memory_order_relaxed);
    /* Callers often log before they report errno. */
    int code = errno;
    struct line line;
    va_list args;

    assert((size_t)level < ARRAY_LEN(level_labels));
    if (fd < 0 || (int)level > atomic_load_explicit(&log_least, memory_order_relaxed))
        return;

    line.len = 0;
    line_time(&line);
    line_printf(&line, " %s ", level_labels[level]);
    va_start(args, fmt);
    line_vprintf(&line, fmt, args);
    va_end(args);
    line_end(&line);
    line_write(&line, fd);
    errno = code;
}
