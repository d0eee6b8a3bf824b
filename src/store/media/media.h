/* SPDX-License-Identifier: Apache-2.0 */
/* media.h - the media that trials have reported (det/media.h).
 *
 * Invariants:
 *
 *   1. A trial has one item per name and steps: that of the latest run, and of this the
 *      last one.  So a run that trains steps again replaces what it reports again.
 *   2. An item of an earlier run behind the checkpoint that a later run started from is
 *      archived, until it is replaced.  Items of a run that was given up are archived and
 *      replace nothing.
 *   3. Every row of `media` has its bytes in `media_bytes`, with the same id.
 *
 * Items are in the database, not in files: one transaction commits them with the mark of
 * their sender, and a backup has them. */
#ifndef STORE_MEDIA_MEDIA_H
#define STORE_MEDIA_MEDIA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/field.h"

struct arena;
struct buf;
struct db;

struct media_item {
    int64_t id;
    int64_t trial_id;
    const char *name;
    int64_t steps;
    int64_t run_id;
    int64_t type; /* enum det_media_type */
    int64_t size_bytes;
    int64_t report_us;
    bool is_archived;
};
extern const struct field media_item_fields[];

struct media_new {
    struct media_item item; /* its id and size are ignored */
    const void *bytes;
    size_t len;
    int64_t bytes_most; /* that the trial may have */
    bool is_late;       /* its run was given up */
};

/* DET_TOO_LARGE: the trial would have more bytes than it may, or too many items. */
det_status store_media_add(struct db *db, const struct media_new *media,
                           struct err *err);
/* All items of a trial by name and steps, in `mem`. */
det_status store_media_of_trial(struct db *db, int64_t trial_id, struct arena *mem,
                                struct media_item **ret_items, uint32_t *ret_count,
                                struct err *err);
/* One item; appends its bytes to `ret_bytes`.  DET_NOT_FOUND: the trial has no such item. */
det_status store_media_get(struct db *db, int64_t trial_id, int64_t id,
                           struct arena *mem, struct media_item *ret_item,
                           struct buf *ret_bytes, struct err *err);

/* The trial's next run goes on from a checkpoint of `steps`: archives later items of
 * earlier runs. */
det_status media_resumes(struct db *db, int64_t trial_id, int64_t run_id, int64_t steps,
                         struct err *err);
/* Removes a bounded part of a trial's items.  *ret_more: call again. */
det_status media_delete_step(struct db *db, int64_t trial_id, bool *ret_more,
                             struct err *err);
/* Removes a bounded number of items that were reported before `before_us`. */
det_status store_media_expire(struct db *db, int64_t before_us, int64_t *ret_removed,
                              struct err *err);

#endif
