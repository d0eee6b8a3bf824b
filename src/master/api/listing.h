/* SPDX-License-Identifier: Apache-2.0 */
/* listing.h - queries of lists: pages, order and states. */
#ifndef MASTER_API_LISTING_H
#define MASTER_API_LISTING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct field_strs;
struct page;

/* Sets the start and end of a page of a list with `total` entries; limit 0 means all.
 * DET_INVALID for an offset outside of the list. */
det_status listing_cut_page(struct page *page, int64_t total, struct err *err);
bool listing_is_descending(const char *order_by);

/* The bit set of named states ("STATE_ACTIVE" or "ACTIVE"). */
det_status listing_states(const struct field_strs *names, const char *const *known,
                          uint32_t *ret_set, struct err *err);
/* The same for experiments and trials, with LIVE_BIT() for what active ones do (QUEUED,
 * RUNNING, ...). */
det_status listing_live_states(const struct field_strs *names, const char *const *known,
                               uint32_t *ret_set, struct err *err);

#endif
