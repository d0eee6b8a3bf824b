/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - the log of a program: one line per event, on stderr or in a file.
 *
 *   LOG_SCOPE("trial", 7);
 *   log_warn("agent %s lost, rescheduling %u trials", name, count);
 *   -> 2026-11-15T10:00:00.123Z WARN  agent a1 lost, rescheduling 3 trials trial=7
 *   -> {"time":"2026-11-15T10:00:00.123Z","level":"warn","process":"master",
 *       "message":"agent a1 lost, rescheduling 3 trials","trial":7}      (LOG_JSON, one line)
 *
 * Levels: error (somebody must act), warn (we continue, and say so), info (a state
 * changed), debug, trace.  Library layers (base to libdet) never log; they return
 * errors.
 *
 * A *scope* is a field of every line that its thread logs until the block ends.  Scopes cost
 * a few instructions; their values are formatted only when a line is written. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

/* Writes lines at or above `level`.  Borrows `fd`; -1 silences.  Before the first call:
 * LOG_INFO, on stderr. */
void log_setup(enum log_level level, int fd);

/* Before the first call: LOG_TEXT without colours.  Borrows `process`, the program's part in
 * the platform ("master"), for LOG_JSON.  Colours are for a terminal. */
enum log_format { LOG_TEXT, LOG_JSON };
void log_set_format(enum log_format format, const char *process, bool has_colors);

/* Gets each line beside the descriptor, on the thread that logs: when, and the sentence with
 * its scopes as text.  It must not log.  Borrows `tap`; NULL: nobody listens any more. */
struct log_tap {
    void (*add)(void *arg, enum log_level level, int64_t time_us, const char *text,
                size_t len);
    void *arg;
};
void log_set_tap(const struct log_tap *tap);

/* The level of that name; LOG_INFO if there is none. */
enum log_level log_level_named(const char *name);

/* One write per line: lines of several threads and processes do not mix.  In LOG_TEXT line
 * breaks and other control characters become spaces.  A LOG_JSON line is one valid JSON
 * object; bytes that are not UTF-8 become U+FFFD.  A sentence that is too long ends in
 * "...". */
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_trace(...) log_line(LOG_TRACE, __VA_ARGS__)

/* ---- scopes ---------------------------------------------------------------------- */

struct log_scope {
    const char *name; /* a static word: a name of a JSON field; NULL: no field */
    const char *text; /* borrowed; NULL: the number alone */
    int64_t number;   /* -1 beside a text: the text alone; else "text-number in hex" */
    struct log_scope *outer;
};

/* In the order of a stack, on one thread. */
void log_scope_push(struct log_scope *scope);
void log_scope_pop(struct log_scope *scope);

#define LOG_SCOPE_AT2(at, name_, text_, number_)                                       \
    CLEANUP(log_scope_pop)                                                             \
    struct log_scope log_scope_##at = {name_, text_, number_, NULL};                   \
    log_scope_push(&log_scope_##at)
#define LOG_SCOPE_AT(at, name_, text_, number_) LOG_SCOPE_AT2(at, name_, text_, number_)
#define LOG_SCOPE(name, number)                 LOG_SCOPE_AT(__LINE__, name, NULL, number)
#define LOG_SCOPE_TEXT(name, text)              LOG_SCOPE_AT(__LINE__, name, text, -1)

#endif
