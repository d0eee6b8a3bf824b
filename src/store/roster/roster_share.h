/* SPDX-License-Identifier: Apache-2.0 */
/* roster_share.h - how much of the roster's memory the experiments of one owner may hold.
 *
 * A row may be some 280 KB: labels of 64 KB, twice, and 512 cells with texts.  Most are
 * below ROSTER_ROW_FREE bytes, which nobody counts; what is above counts for the owner of
 * the experiment.  Whoever has more than ROSTER_OWNER_MOST adds no experiments and no long
 * texts until some are gone. */
#ifndef STORE_ROSTER_ROSTER_SHARE_H
#define STORE_ROSTER_ROSTER_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;
struct roster;
struct roster_row;
struct store;

enum { ROSTER_ROW_FREE = 2048, ROSTER_OWNER_MOST = 32 << 20 };

/* With `look` held: the row has been read again.  False: out of memory. */
bool roster_share_count(struct roster *roster, struct roster_row *row);
/* The row is about to go. */
void roster_share_drop(struct roster *roster, const struct roster_row *row);

/* DET_TOO_LARGE: the experiments of this user hold as much as they may.  `db` is a
 * reader. */
det_status store_roster_check_share(struct store *store, struct db *db,
                                    int64_t owner_id, struct err *err);

#endif
