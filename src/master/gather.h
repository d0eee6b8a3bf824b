/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h - processes of one allocation that meet: rendezvous and all_gather.
 *
 * A meeting has a name, a number of seats, and what each guest brought; when the last
 * has come, everybody gets everything, in the order of their names.  Whoever is new
 * after that begins the next round; what the round before gave can still be asked for.
 */
#ifndef MASTER_GATHER_H
#define MASTER_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct gathers;

det_status gathers_new(struct gathers **ret_gathers, struct err *err);
void gathers_free(struct gathers *gathers);

/* `guest` (again) takes a seat with `data` (copied).  *ret_full: all seats are taken.
 */
det_status gathers_join(struct gathers *gathers, const char *meeting, uint32_t seats,
                        const char *guest, const char *data, bool *ret_full,
                        struct err *err);
/* What all of the guest's round brought, in `mem`; no data while somebody is missing.
 */
struct gathered {
    const char **data;
    uint32_t count;
};
det_status gathers_read(struct gathers *gathers, const char *meeting, const char *guest,
                        struct arena *mem, struct gathered *ret_gathered,
                        struct err *err);
/* Meetings whose names begin so are over: "<allocation> ". */
void gathers_drop(struct gathers *gathers, const char *prefix);

#endif
