/* SPDX-License-Identifier: Apache-2.0 */
/* pacer.h - when those who listen to changes are woken: a moment after the first note,
 * and now and then so that they can say that they are still there.
 *
 *   note --150 ms--> all that wait for PACER_KEY look --150 ms after the next--> ...
 *
 * So a change is seen at once by a person's measure, and a burst of them costs its
 * readers one look.  With many listeners a moment is longer: the share of a processor
 * that they take stays bounded.  Nothing runs while nobody listens; some time after the
 * last one left, what was noted is forgotten.
 *
 * Threading: pacer_join() from any thread; the rest is on the worker lane. */
#ifndef MASTER_PACER_H
#define MASTER_PACER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct master;
struct pacer;

#define PACER_KEY "changes" /* of `struct waits` */
enum { PACER_IDLE_US = 15 * 1000000 };

/* Makes master->changes, too; both are freed by pacer_free(). */
det_status pacer_new(struct master *master, struct pacer **ret_pacer, struct err *err);
void pacer_free(struct pacer *pacer);

/* As changes_join(). */
bool pacer_join(struct pacer *pacer, uint64_t since, uint64_t *ret_cursor);
void pacer_leave(struct pacer *pacer);

#endif
