/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - what programs say to whoever runs them: one line an event, on stderr or in a
 * file, with the fields of the scopes around it.
 *
 *   LOG_SCOPE("trial", "%" PRId64, id);
 *   log_warn("agent %s lost, rescheduling %u trials", name, count);
 *   -> 2026-11-15T10:00:00.123Z WARN  agent a1 lost, rescheduling 3 trials trial=7
 *
 * Levels: error (somebody must act), warn (continuing; says so), info (a state
 * changed), debug, trace.  Library layers (base to libdet) never log; they return. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/compiler.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

/* What is written is at or above `level`.  `fd` borrows; -1 silences.  Until it is
 * called: LOG_INFO, on stderr. */
void log_setup(enum log_level level, int fd);
/* "error", "warn" (or "warning"), "info", "debug", "trace", in any case. */
bool log_level_parse(const char *name, enum log_level *ret_level);

/* One write, so that lines of several threads and processes do not mix; line breaks
 * and other control characters become spaces; what is too long ends in "...". */
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_trace(...) log_line(LOG_TRACE, __VA_ARGS__)

/* A field on every line of this thread until the block ends. */
struct log_scope {
    struct log_scope *outer;
    char text[96];
};
void log_scope_push(struct log_scope *scope, const char *key, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
void log_scope_pop(struct log_scope *scope);

/* Each gets a variable of its own name, so that scopes nest without shadowing. */
#define LOG_SCOPE(...)                  LOG_SCOPE_NUMBERED(__COUNTER__, __VA_ARGS__)
#define LOG_SCOPE_NUMBERED(number, ...) LOG_SCOPE_NAMED(number, __VA_ARGS__)
#define LOG_SCOPE_NAMED(number, ...)                                                   \
    CLEANUP(log_scope_pop) struct log_scope log_scope_##number;                        \
    log_scope_push(&log_scope_##number, __VA_ARGS__)

#endif
