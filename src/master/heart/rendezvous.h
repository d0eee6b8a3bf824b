/* SPDX-License-Identifier: Apache-2.0 */
/* rendezvous.h - exchange of data between the processes of one allocation: rendezvous and
 * all_gather.
 *
 * A meeting has a name, a number of seats, and the data of each guest.  Once all seats are
 * taken, each guest can read all data, ordered by the guests' names.  The next new guest
 * begins the next round; the data of the round before stays readable.
 */
#ifndef MASTER_HEART_RENDEZVOUS_H
#define MASTER_HEART_RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct rendezvous;

det_status rendezvous_new(struct rendezvous **ret_rendezvous, struct err *err);
void rendezvous_free(struct rendezvous *rendezvous);

/* `guest` takes a seat with `data` (copied), or repeats its call.  *ret_full: all seats
 * are taken. */
det_status rendezvous_join(struct rendezvous *rendezvous, const char *meeting,
                           uint32_t seats, const char *guest, const char *data,
                           bool *ret_full, struct err *err);
/* The data of all guests of this guest's round, in `mem`; none while a seat is free. */
struct gathered {
    const char **data;
    uint32_t count;
};
det_status rendezvous_read(struct rendezvous *rendezvous, const char *meeting,
                           const char *guest, struct arena *mem,
                           struct gathered *ret_gathered, struct err *err);
/* Removes the meetings whose names begin with `prefix`: "<allocation> ". */
void rendezvous_drop(struct rendezvous *rendezvous, const char *prefix);

#endif
