/* SPDX-License-Identifier: Apache-2.0 */
/* read_view.h - several reads of the same moment.
 *
 * Without it, a reader could see rows twice or not at all while the writer moves them
 * from tails into blocks.  Inside a transaction or another view, nothing happens:
 * the reads already see one moment.
 *
 *   CLEANUP(read_view_done) struct read_view view = {0};
 *   det_status st = read_view_begin(&view, db, err); */
#ifndef STORE_ENGINE_READ_VIEW_H
#define STORE_ENGINE_READ_VIEW_H

#include "base/err.h"

struct db;

struct read_view {
    struct db *db; /* NULL: not ours to end */
};
det_status read_view_begin(struct read_view *view, struct db *db, struct err *err);
void read_view_done(struct read_view *view);

#endif
