/* SPDX-License-Identifier: Apache-2.0 */
/* media.c - see media.h. */
#include "store/media/media.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "model/media.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

enum { STEP_ITEMS = 16 }; /* removed at a time: up to 64 MB */

#define MEDIA_COLUMNS                                                                  \
    "id, trial_id, name, steps, run_id, type, size_bytes, report_us, is_archived"

enum {
    MEDIA_SUM,
    MEDIA_SUM_ADD,
    MEDIA_SUM_TAKE,
    MEDIA_SUM_DROP,
    MEDIA_FIND,
    MEDIA_OF_RUN,
    MEDIA_PUT,
    MEDIA_PUT_BYTES,
    MEDIA_DROP,
    MEDIA_DROP_BYTES,
    MEDIA_ARCHIVE,
    MEDIA_LIST,
    MEDIA_GET,
    MEDIA_GET_BYTES,
    MEDIA_SOME_OF_TRIAL,
    MEDIA_SOME_OLD,
};

static const struct sql media_sql[] = {
    SQL(MEDIA_SUM, "SELECT items, size_bytes FROM media_sums WHERE trial_id = $1"),
    SQL(MEDIA_SUM_ADD,
        "INSERT INTO media_sums (trial_id, items, size_bytes)"
        " SELECT trial_id, 1, size_bytes FROM media WHERE id = $1"
        " ON CONFLICT (trial_id) DO UPDATE SET items = media_sums.items + 1,"
        "  size_bytes = media_sums.size_bytes + excluded.size_bytes"),
    SQL(MEDIA_SUM_TAKE,
        "UPDATE media_sums SET items = items - 1, size_bytes = size_bytes -"
        "  (SELECT m.size_bytes FROM media m WHERE m.id = $1)"
        " WHERE trial_id = (SELECT m.trial_id FROM media m WHERE m.id = $1)"),
    SQL(MEDIA_SUM_DROP,
        "DELETE FROM media_sums WHERE items = 0"
        "  AND trial_id = (SELECT m.trial_id FROM media m WHERE m.id = $1)"),
    SQL(MEDIA_FIND, "SELECT id, run_id, size_bytes FROM media"
                    " WHERE trial_id = $1 AND name = $2 AND steps = $3"),
    SQL(MEDIA_OF_RUN,
        "SELECT 1 FROM media WHERE trial_id = $1 AND run_id = $2 LIMIT 1"),
    SQL(MEDIA_PUT, "INSERT INTO media (" MEDIA_COLUMNS ")"
                   " VALUES ((SELECT COALESCE(MAX(id), 0) + 1 FROM media),"
                   "  $1, $2, $3, $4, $5, $6, $7, $8) RETURNING id"),
    SQL(MEDIA_PUT_BYTES, "INSERT INTO media_bytes (id, data) VALUES ($1, $2)"),
    SQL(MEDIA_DROP, "DELETE FROM media WHERE id = $1"),
    SQL(MEDIA_DROP_BYTES, "DELETE FROM media_bytes WHERE id = $1"),
    SQL(MEDIA_ARCHIVE, "UPDATE media SET is_archived = TRUE"
                       " WHERE trial_id = $1 AND run_id < $2 AND steps > $3"
                       "  AND NOT is_archived"),
    SQL(MEDIA_LIST, "SELECT " MEDIA_COLUMNS " FROM media WHERE trial_id = $1"
                    " ORDER BY name, steps"),
    SQL(MEDIA_GET,
        "SELECT " MEDIA_COLUMNS " FROM media WHERE trial_id = $1 AND id = $2"),
    SQL(MEDIA_GET_BYTES, "SELECT data FROM media_bytes WHERE id = $1"),
    SQL(MEDIA_SOME_OF_TRIAL,
        "SELECT id FROM media WHERE trial_id = $1 ORDER BY name, steps LIMIT $2"),
    SQL(MEDIA_SOME_OLD, "SELECT id FROM media WHERE report_us < $1"
                        " ORDER BY report_us LIMIT $2"),
};
const struct sql_table media_sql_table = SQL_TABLE(media_sql);

const struct field media_item_fields[] = {
    FIELD(I64, media_item, id, "its number"),
    FIELD(I64, media_item, trial_id, "the trial that reported it"),
    FIELD(STR, media_item, name, "its name"),
    FIELD(I64, media_item, steps, "the batches trained so far"),
    FIELD(I64, media_item, run_id, "the run that reported it"),
    FIELD(I64, media_item, type, "enum det_media_type"),
    FIELD(I64, media_item, size_bytes, "the bytes it has"),
    FIELD(TIME, media_item, report_us, "when it was reported"),
    FIELD(BOOL, media_item, is_archived, "a later run started before its steps"),
    FIELD_END,
};

/* ---- adding ---------------------------------------------------------------------- */

struct media_place {
    int64_t id; /* of the item that is there; 0: none */
    int64_t run_id;
    int64_t size_bytes;
};

static det_status find_place(struct db *db, const struct media_item *item,
                             struct media_place *ret_place, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &media_sql[MEDIA_FIND], err);

    db_bind_i64(&q, item->trial_id);
    db_bind_str(&q, item->name);
    db_bind_i64(&q, item->steps);
    if (db_next(&q)) {
        ret_place->id = db_col_i64(&q);
        ret_place->run_id = db_col_i64(&q);
        ret_place->size_bytes = db_col_i64(&q);
    }
    return q.status;
}

static det_status check_room(struct db *db, const struct media_new *media,
                             const struct media_place *place, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &media_sql[MEDIA_SUM], err);
    const struct media_item *item = &media->item;
    int64_t count = 0;
    int64_t sum = 0;

    db_bind_i64(&q, item->trial_id);
    if (db_next(&q)) {
        count = db_col_i64(&q) - (place->id != 0);
        sum = db_col_i64(&q) - place->size_bytes;
    }
    if (q.status)
        return q.status;
    if (count >= MEDIA_ITEMS_MOST)
        return err_set(err, DET_TOO_LARGE,
                       "'%s' of step %" PRId64 " is not stored: trial %" PRId64
                       " has %d media items, the most it may have",
                       item->name, item->steps, item->trial_id, MEDIA_ITEMS_MOST);
    if (sum + (int64_t)media->len > media->bytes_most)
        return err_set(
            err, DET_TOO_LARGE,
            "'%s' of step %" PRId64 " is not stored: its %zu bytes would make "
            "the media of trial %" PRId64 " larger than %" PRId64
            " bytes (max_media_bytes in the master's configuration)",
            item->name, item->steps, media->len, item->trial_id, media->bytes_most);
    return DET_OK;
}

static det_status drop_item(struct db *db, int64_t id, struct err *err)
{
    det_status st = run_with_id(db, &media_sql[MEDIA_SUM_TAKE], id, err);

    if (!st)
        st = run_with_id(db, &media_sql[MEDIA_SUM_DROP], id, err);
    if (!st)
        st = run_with_id(db, &media_sql[MEDIA_DROP], id, err);
    return st ? st : run_with_id(db, &media_sql[MEDIA_DROP_BYTES], id, err);
}

static det_status put_row(struct db *db, const struct media_new *media, int64_t *ret_id,
                          struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &media_sql[MEDIA_PUT], err);
    const struct media_item *item = &media->item;

    db_bind_i64(&q, item->trial_id);
    db_bind_str(&q, item->name);
    db_bind_i64(&q, item->steps);
    db_bind_i64(&q, item->run_id);
    db_bind_i64(&q, item->type);
    db_bind_i64(&q, (int64_t)media->len);
    db_bind_i64(&q, item->report_us);
    db_bind_bool(&q, media->is_late);
    if (db_next(&q))
        *ret_id = db_col_i64(&q);
    return q.status;
}

static det_status put_bytes(struct db *db, int64_t id, const struct media_new *media,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &media_sql[MEDIA_PUT_BYTES], err);

    db_bind_i64(&q, id);
    db_bind_blob(&q, media->bytes, media->len);
    return db_run(&q);
}

/* The first item of a run archives, too: a program may go back further than its
 * checkpoint, or have none. */
static det_status archive_if_first(struct db *db, const struct media_item *item,
                                   struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &media_sql[MEDIA_OF_RUN], err);

    if (item->run_id <= 1)
        return q.status;
    db_bind_i64(&q, item->trial_id);
    db_bind_i64(&q, item->run_id);
    if (db_next(&q) || q.status)
        return q.status;
    return media_resumes(db, item->trial_id, item->run_id, item->steps, err);
}

det_status store_media_add(struct db *db, const struct media_new *media,
                           struct err *err)
{
    const struct media_item *item = &media->item;
    struct media_place place = {0};
    int64_t id = 0;
    det_status st = find_place(db, item, &place, err);

    if (st || (place.id && (media->is_late || place.run_id > item->run_id)))
        return st;
    st = check_room(db, media, &place, err);
    if (!st && place.id)
        st = drop_item(db, place.id, err);
    if (!st && !media->is_late)
        st = archive_if_first(db, item, err);
    if (!st)
        st = put_row(db, media, &id, err);
    if (!st)
        st = run_with_id(db, &media_sql[MEDIA_SUM_ADD], id, err);
    return st ? st : put_bytes(db, id, media, err);
}

det_status media_resumes(struct db *db, int64_t trial_id, int64_t run_id, int64_t steps,
                         struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &media_sql[MEDIA_ARCHIVE], err);

    db_bind_i64(&q, trial_id);
    db_bind_i64(&q, run_id);
    db_bind_i64(&q, steps);
    return db_run(&q);
}

/* ---- reading --------------------------------------------------------------------- */

det_status store_media_of_trial(struct db *db, int64_t trial_id, struct arena *mem,
                                struct media_item **ret_items, uint32_t *ret_count,
                                struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &media_sql[MEDIA_LIST], err);
    struct row_list rows = {0};
    det_status st;

    db_bind_i64(&q, trial_id);
    st = rows_get(&q, media_item_fields, sizeof(struct media_item), mem, &rows);
    if (!st) {
        *ret_items = rows.at;
        *ret_count = rows.count;
    }
    return st;
}

static det_status read_bytes(struct db *db, int64_t id, struct buf *ret_bytes,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &media_sql[MEDIA_GET_BYTES], err);
    const void *bytes;
    size_t len;

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_CORRUPT, "a media item has no bytes");
    bytes = db_col_blob(&q, &len);
    if (q.status)
        return q.status;
    buf_add(ret_bytes, bytes, len);
    return ret_bytes->status ? err_default(err, ret_bytes->status) : DET_OK;
}

det_status store_media_get(struct db *db, int64_t trial_id, int64_t id,
                           struct arena *mem, struct media_item *ret_item,
                           struct buf *ret_bytes, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &media_sql[MEDIA_GET], err);
    bool found = false;
    det_status st;

    db_bind_i64(&q, trial_id);
    db_bind_i64(&q, id);
    st = row_get(&q, media_item_fields, mem, ret_item, &found);
    if (!st && !found)
        return err_set(err, DET_NOT_FOUND,
                       "trial %" PRId64 " has no media item %" PRId64
                       ": it was replaced or deleted",
                       trial_id, id);
    return st ? st : read_bytes(db, id, ret_bytes, err);
}

/* ---- removing -------------------------------------------------------------------- */

static det_status drop_some(struct db *db, int which, int64_t value, size_t *ret_count,
                            struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct field_i64s ids = {0};
    det_status st;

    {
        CLEANUP(db_query_done) struct db_query q = db_query(db, &media_sql[which], err);

        db_bind_i64(&q, value);
        db_bind_i64(&q, STEP_ITEMS);
        st = numbers_get(&q, &mem, &ids);
    }
    for (size_t i = 0; i < ids.count && !st; i++)
        st = drop_item(db, ids.at[i], err);
    *ret_count = st ? 0 : ids.count;
    return st;
}

det_status media_delete_step(struct db *db, int64_t trial_id, bool *ret_more,
                             struct err *err)
{
    size_t count;
    det_status st = drop_some(db, MEDIA_SOME_OF_TRIAL, trial_id, &count, err);

    *ret_more = count == STEP_ITEMS;
    return st;
}

det_status store_media_expire(struct db *db, int64_t before_us, int64_t *ret_removed,
                              struct err *err)
{
    size_t count;
    det_status st = drop_some(db, MEDIA_SOME_OLD, before_us, &count, err);

    *ret_removed = (int64_t)count;
    return st;
}
