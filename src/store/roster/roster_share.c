/* SPDX-License-Identifier: Apache-2.0 */
#include "store/roster/roster_share.h"

#include <inttypes.h>

#include "store/roster/roster.h"
#include "store/store.h"

static uint64_t excess_of(const struct roster *roster, const struct roster_row *row)
{
    uint64_t bytes = (uint64_t)row->text_len + row->labels_len +
                     row->cell_count * sizeof(struct roster_cell);

    for (uint32_t i = 0; i < row->cell_count; i++)
        if (row->cells[i].text)
            bytes += sizeof(struct roster_name) +
                     roster->cells.texts.at[row->cells[i].text - 1]->len;
    return bytes - MIN(bytes, (uint64_t)ROSTER_ROW_FREE);
}

void roster_share_drop(struct roster *roster, const struct roster_row *row)
{
    if (row->counted_owner < roster->owner_bytes.count)
        roster->owner_bytes.at[row->counted_owner] -= row->counted;
}

bool roster_share_count(struct roster *roster, struct roster_row *row)
{
    while (roster->owner_bytes.count <= row->owner)
        if (!vec_push(&roster->owner_bytes, (uint64_t)0))
            return false;
    roster_share_drop(roster, row);
    row->counted = excess_of(roster, row);
    row->counted_owner = row->owner;
    roster->owner_bytes.at[row->owner] += row->counted;
    return true;
}

det_status store_roster_check_share(struct store *store, struct db *db,
                                    int64_t owner_id, struct err *err)
{
    struct roster *roster = store_roster(store);
    uint64_t bytes = 0;
    uintptr_t known;
    det_status st;

    lock_take(&roster->look);
    st = roster_catch_up(roster, db, err);
    known = st ? 0 : (uintptr_t)map_get(&roster->owner_ids, owner_id);
    if (known && known - 1 < roster->owner_bytes.count)
        bytes = roster->owner_bytes.at[known - 1];
    lock_give(&roster->look);
    if (st || bytes <= ROSTER_OWNER_MOST)
        return st;
    return err_set(err, DET_TOO_LARGE,
                   "the labels, descriptions and hyperparameters of your experiments "
                   "are too long: the master keeps %" PRIu64 " MB of them in memory, "
                   "and %d MB at most; shorten some, or delete experiments",
                   bytes >> 20, ROSTER_OWNER_MOST >> 20);
}
