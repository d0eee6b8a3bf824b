/* SPDX-License-Identifier: Apache-2.0 */
/* log_tail.h - the last lines of the master's log, kept in memory for administrators.
 *
 * A ring of entries: the oldest ones go when there are too many, or too many bytes of them.
 * Every entry has a number; numbers start at 0 and leave no gap, so a reader continues
 * after the last one it has seen.
 *
 * It holds what the log holds: the log never contains passwords, tokens or configurations,
 * and so this does not either.
 *
 * Threading: everything from any thread.  log_tail_add() must not log. */
#ifndef MASTER_WATCH_LOG_TAIL_H
#define MASTER_WATCH_LOG_TAIL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"

struct arena;
struct log_tail;

enum { LOG_TAIL_LINES = 5000, LOG_TAIL_BYTES = 2 << 20 };

struct log_tail_entry {
    int64_t id;
    int64_t time_us;
    enum log_level level;
    const char *text;
};

det_status log_tail_new(struct log_tail **ret_tail, struct err *err);
void log_tail_free(struct log_tail *tail); /* NULL does nothing */

/* Adds each line of this process's log, until the tail is freed. */
void log_tail_listen(struct log_tail *tail);
/* Fits struct log_tap; `arg` is the tail.  Without memory the line is left out. */
void log_tail_add(void *arg, enum log_level level, int64_t time_us, const char *text,
                  size_t len);
/* Calls `fn` after each new entry; NULL: no longer.  There is one such function.  When it
 * returns, the old one is not running and will not be called again. */
void log_tail_set_watch(struct log_tail *tail, void (*fn)(void *arg), void *arg);

/* The number of the next entry. */
int64_t log_tail_next(struct log_tail *tail);
/* Copies at most `most` entries from number `from` on, or from the oldest one if that is
 * newer, into `mem`.  DET_NOMEM is the only failure. */
det_status log_tail_read(struct log_tail *tail, int64_t from, uint32_t most,
                         struct arena *mem, struct log_tail_entry **ret_entries,
                         uint32_t *ret_count, struct err *err);

#endif
