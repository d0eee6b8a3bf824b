/* SPDX-License-Identifier: Apache-2.0 */
/* pacer.h - when the listeners of changes are woken: shortly after the first note, and
 * regularly, so that streams can send a sign of life.
 *
 *   note --150 ms--> waiters of PACER_KEY read --150 ms after the next note--> ...
 *
 * A person sees a change at once, and a burst of changes costs its readers one read.  With
 * many listeners the delay grows, so their share of the processor stays bounded.  Nothing
 * runs while nobody listens; a minute after the last listener has left, the notes are
 * dropped.
 *
 * Threading: pacer_join() from any thread; the rest is on the worker lane. */
#ifndef MASTER_CHANGES_PACER_H
#define MASTER_CHANGES_PACER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct master;
struct pacer;

#define PACER_KEY "changes" /* a key of `struct waits` */
enum { PACER_IDLE_US = 15 * 1000000 };

/* Also creates master->changes; pacer_free() frees both. */
det_status pacer_new(struct master *master, struct pacer **ret_pacer, struct err *err);
void pacer_free(struct pacer *pacer);

/* As changes_join(). */
bool pacer_join(struct pacer *pacer, uint64_t since, uint64_t *ret_cursor);
void pacer_leave(struct pacer *pacer);

#endif
