/* SPDX-License-Identifier: Apache-2.0 */
/* read_view.c - see read_view.h. */
#include "store/engine/read_view.h"

#include "store/engine/db.h"
#include "store/engine/db_impl.h"

det_status read_view_begin(struct read_view *view, struct db *db, struct err *err)
{
    det_status st;

    if (db_is_in_transaction(db))
        return DET_OK;
    st = db_snapshot(db, err);
    if (!st)
        view->db = db;
    return st;
}

void read_view_done(struct read_view *view)
{
    if (view->db)
        db_snapshot_end(view->db);
    view->db = NULL;
}
