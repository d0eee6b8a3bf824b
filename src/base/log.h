/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - the log of a program: one line per event, on stderr or in a file.
 *
 *   log_warn("agent %s lost, rescheduling %u trials", name, count);
 *   -> 2026-11-15T10:00:00.123Z WARN  agent a1 lost, rescheduling 3 trials
 *
 * Levels: error (somebody must act), warn (we continue, and say so), info (a state
 * changed), debug, trace.  Library layers (base to libdet) never log; they return
 * errors. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/compiler.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

/* Writes lines at or above `level`.  Borrows `fd`; -1 silences.  Before the first call:
 * LOG_INFO, on stderr. */
void log_setup(enum log_level level, int fd);

/* One write per line: lines of several threads and processes do not mix.  Line breaks
 * and other control characters become spaces; a line that is too long ends in "...". */
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_trace(...) log_line(LOG_TRACE, __VA_ARGS__)

#endif
