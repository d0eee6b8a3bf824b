/* SPDX-License-Identifier: Apache-2.0 */
/* metric_compact.c - see metric_compact.h.
 *
 * A step takes one (trial, group, run) whose tail is full and packs its oldest rows up
 * to the next block.  If these overlap a block, or follow one that is less than half
 * full, that block is unpacked first, so blocks never overlap and short ones do not
 * pile up. If no tail is full, a step packs a finished tail: of a trial that has ended,
 * or of a run before the current one. */
#include "store/metric/metric_compact.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "store/engine/db.h"
#include "store/engine/db_impl.h"
#include "store/engine/row.h"
#include "store/metric/metric.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_rows.h"
#include "store/series/level_page.h"
#include "store/sql_tables.h"
#include "store/writer_cache.h"

enum {
    TAIL_FULL,
    TAIL_ANY,
    TAIL_NEXT,
    TAIL_DROP,
    DELETE_TAIL,
    DELETE_BLOCKS,
    DELETE_LEVELS,
    DELETE_SHAPES,
    DELETE_RUNS
};

enum { STILL_TAILS = 64 };

static const struct sql metric_compact_sql[] = {
    SQL(TAIL_FULL, "SELECT trial_id, group_id, run_id FROM metric_tail"
                   " GROUP BY trial_id, group_id, run_id HAVING COUNT(*) >= $1"),
    SQL(TAIL_ANY, "SELECT trial_id, group_id, run_id FROM metric_tail"
                  " ORDER BY trial_id, group_id, run_id LIMIT 1"),
    /* the next tail, and whether it is finished */
    SQL(TAIL_NEXT,
        "SELECT m.trial_id, m.group_id, m.run_id,"
        "  t.state IN ('COMPLETED', 'CANCELED', 'ERROR') OR m.run_id < t.run_id"
        " FROM metric_tail m JOIN trials t ON t.id = m.trial_id"
        " WHERE (m.trial_id, m.group_id, m.run_id) > ($1, $2, $3)"
        " ORDER BY m.trial_id, m.group_id, m.run_id LIMIT 1"),
    SQL(TAIL_DROP, "DELETE FROM metric_tail"
                   " WHERE trial_id = $1 AND group_id = $2 AND run_id = $3"
                   "  AND (steps, nth) >= ($4, $5) AND (steps, nth) <= ($6, $7)"),
    SQL(DELETE_TAIL, "DELETE FROM metric_tail WHERE trial_id = $1"),
    SQL(DELETE_BLOCKS,
        "DELETE FROM metric_blocks WHERE id IN (SELECT id FROM metric_blocks"
        "  WHERE trial_id = $1 LIMIT 64)"),
    SQL(DELETE_LEVELS,
        "DELETE FROM metric_levels WHERE id IN (SELECT id FROM metric_levels"
        "  WHERE trial_id = $1 LIMIT 64)"),
    SQL(DELETE_SHAPES, "DELETE FROM metric_shapes WHERE trial_id = $1"),
    SQL(DELETE_RUNS, "DELETE FROM metric_runs WHERE trial_id = $1"),
};
const struct sql_table metric_compact_sql_table = SQL_TABLE(metric_compact_sql);

static struct metric_key read_key(struct db_query *q)
{
    struct metric_key key;

    key.trial_id = db_col_i64(q);
    key.group_id = db_col_i64(q);
    key.run_id = db_col_i64(q);
    return key;
}

/* The cached group of this tail; NULL: not cached. */
static struct metric_group *cached_group(struct writer_cache *cache,
                                         const struct metric_key *key)
{
    struct metric_trial *trial = writer_cache_trial(cache, key);
    struct metric_group *group = trial ? trial->groups : NULL;

    while (group && group->group_id != key->group_id)
        group = group->next;
    return group;
}

/* ---- packing --------------------------------------------------------------------- */

static det_status drop_tail(struct db *db, const struct metric_key *key,
                            const struct metric_rows *rows, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_compact_sql[TAIL_DROP], err);
    struct metric_place first = metric_place_of(&rows->row[0]);
    struct metric_place last = metric_place_of(&rows->row[rows->count - 1]);

    db_bind_i64(&q, key->trial_id);
    db_bind_i64(&q, key->group_id);
    db_bind_i64(&q, key->run_id);
    db_bind_i64(&q, first.steps);
    db_bind_i64(&q, first.nth);
    db_bind_i64(&q, last.steps);
    db_bind_i64(&q, last.nth);
    return db_run(&q);
}

static det_status merge_rows(const struct metric_rows *a, const struct metric_rows *b,
                             struct arena *mem, struct metric_rows *ret_rows,
                             struct err *err)
{
    uint32_t i = 0;
    uint32_t k = 0;

    ret_rows->count = 0;
    ret_rows->row = arena_array(mem, struct metric_cells, a->count + b->count + 1);
    if (!ret_rows->row)
        return err_default(err, DET_NOMEM);
    while (i < a->count || k < b->count) {
        bool takes_a =
            k == b->count ||
            (i < a->count && metric_place_compare(metric_place_of(&a->row[i]),
                                                  metric_place_of(&b->row[k])) < 0);

        ret_rows->row[ret_rows->count++] = takes_a ? a->row[i++] : b->row[k++];
    }
    return DET_OK;
}

static det_status put_blocks(struct db *db, const struct metric_key *key,
                             const struct metric_rows *rows, struct arena *mem,
                             struct err *err)
{
    uint32_t half = METRIC_BLOCK_ROWS / 2;
    det_status st = DET_OK;

    for (uint32_t at = 0; at < rows->count && !st;) {
        uint32_t left = rows->count - at;
        struct metric_rows part = {rows->row + at, left};

        if (left > METRIC_BLOCK_ROWS + half)
            part.count = METRIC_BLOCK_ROWS;
        st = metric_block_put(db, key, &part, mem, err);
        at += part.count;
    }
    return st;
}

/* The rows to pack: the tail up to the next block. */
struct stretch {
    struct metric_rows rows;   /* of the tail */
    struct metric_block block; /* to be unpacked into it; id 0: none */
    bool is_full;              /* the tail has a block's worth of rows */
};

static det_status find_stretch(struct db *db, const struct metric_key *key,
                               struct arena *mem, struct stretch *ret_stretch,
                               struct err *err)
{
    struct metric_place start = {-2, 0};
    struct metric_block next = {0};
    struct metric_rows *rows = &ret_stretch->rows;
    struct metric_block *block = &ret_stretch->block;
    struct metric_place first;
    det_status st = metric_tail_load(db, key, start, METRIC_BLOCK_ROWS, mem, rows, err);

    if (st || !rows->count)
        return st;
    ret_stretch->is_full = rows->count == METRIC_BLOCK_ROWS;
    first = metric_place_of(&rows->row[0]);
    st = metric_block_upto(db, key, first, mem, block, err);
    if (!st && block->id && metric_place_compare(block->last, first) < 0 &&
        block->count >= METRIC_BLOCK_ROWS / 2)
        block->id = 0;
    if (!st)
        st = metric_block_behind(db, key, block->id ? block->last : first, NULL, &next,
                                 err);
    while (!st && next.id && rows->count > 1 &&
           metric_place_compare(metric_place_of(&rows->row[rows->count - 1]),
                                next.first) > 0)
        rows->count--;
    return st;
}

/* *ret_did: something was packed. */
static det_status pack_tail(struct db *db, const struct metric_key *key,
                            bool is_short_fine, bool *ret_did, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(512 << 20);
    struct writer_cache *cache = writer_cache_of(db);
    struct metric_group *group = cached_group(cache, key);
    struct stretch stretch = {0};
    struct metric_rows all = {0};
    det_status st = find_stretch(db, key, &mem, &stretch, err);

    *ret_did = false;
    if (st || !stretch.rows.count)
        return st;
    if (!is_short_fine && !stretch.is_full)
        return DET_OK;
    st = merge_rows(stretch.block.id ? &stretch.block.rows : &(struct metric_rows){0},
                    &stretch.rows, &mem, &all, err);
    if (!st && stretch.block.id)
        st = metric_block_drop(db, key, &stretch.block, err);
    if (!st)
        st = drop_tail(db, key, &stretch.rows, err);
    if (!st)
        st = put_blocks(db, key, &all, &mem, err);
    if (!st)
        st = level_grow(db, key, err);
    if (st)
        return st;
    *ret_did = true;
    if (group) {
        struct metric_place end = metric_place_of(&all.row[all.count - 1]);

        group->tail_rows -= MIN(group->tail_rows, stretch.rows.count);
        if (metric_place_compare(end, group->block_end) > 0)
            group->block_end = end;
    }
    return DET_OK;
}

/* ---- unpacking ------------------------------------------------------------------- */

static bool rows_hold(const struct metric_rows *rows, struct metric_place place)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        if (!metric_place_compare(metric_place_of(&rows->row[i]), place))
            return true;
    }
    return false;
}

det_status metric_block_unpack(struct db *db, const struct metric_key *key,
                               struct metric_group *group, struct metric_place place,
                               struct arena *mem, struct err *err)
{
    struct metric_block block = {0};
    det_status st = metric_block_upto(db, key, place, mem, &block, err);

    if (st || !block.id || !rows_hold(&block.rows, place))
        return st;
    st = metric_block_drop(db, key, &block, err);
    for (uint32_t i = 0; i < block.rows.count && !st; i++)
        st = metric_tail_put(db, key, group, &block.rows.row[i], mem, err);
    return st;
}

/* ---- steps ----------------------------------------------------------------------- */

static det_status scan_tails(struct db *db, struct writer_cache *cache, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_compact_sql[TAIL_FULL], err);

    db_bind_i64(&q, METRIC_BLOCK_ROWS);
    while (db_next(&q)) {
        if (!vec_push(&cache->full, read_key(&q)))
            return err_default(err, DET_NOMEM);
    }
    cache->has_scanned = !q.status;
    return q.status;
}

static det_status pack_any(struct db *db, bool *ret_did, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_compact_sql[TAIL_ANY], err);
    struct metric_key key;

    *ret_did = false;
    if (!db_next(&q))
        return q.status;
    key = read_key(&q);
    db_query_done(&q);
    return pack_tail(db, &key, true, ret_did, err);
}

/* *ret_is_still: the tail is finished.  Sets trial_id to 0 at the end. */
static det_status next_tail(struct db *db, struct metric_key *key, bool *ret_is_still,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_compact_sql[TAIL_NEXT], err);

    db_bind_i64(&q, key->trial_id);
    db_bind_i64(&q, key->group_id);
    db_bind_i64(&q, key->run_id);
    *key = (struct metric_key){0};
    if (db_next(&q)) {
        *key = read_key(&q);
        *ret_is_still = db_col_bool(&q);
    }
    return q.status;
}

/* Packs finished tails into short blocks, so readers need not read their rows one by
 * one.  Examines a few tails per step and goes on from there. */
static det_status pack_still(struct db *db, struct writer_cache *cache, bool *ret_did,
                             struct err *err)
{
    det_status st = DET_OK;

    for (int i = 0; i < STILL_TAILS && !st && !*ret_did; i++) {
        bool is_still = false;

        st = next_tail(db, &cache->still, &is_still, err);
        if (st || !cache->still.trial_id)
            return st;
        if (is_still)
            st = pack_tail(db, &cache->still, true, ret_did, err);
        if (*ret_did)
            cache->still.run_id--; /* it may have rows for another block */
    }
    *ret_did = !st;
    return st;
}

/* Packs the next full tail of those that were noted. */
static det_status pack_full(struct db *db, struct writer_cache *cache, bool *ret_did,
                            struct err *err)
{
    det_status st = cache->has_scanned ? DET_OK : scan_tails(db, cache, err);

    while (!st && !*ret_did && cache->full.count) {
        struct metric_key key = vec_pop(&cache->full);

        st = pack_tail(db, &key, false, ret_did, err);
    }
    return st;
}

det_status store_metric_compact(struct db *db, bool everything, bool *ret_did,
                                struct err *err)
{
    struct writer_cache *cache = writer_cache_of(db);
    det_status st;

    *ret_did = false;
    if (!cache)
        return err_default(err, DET_NOMEM);
    st = everything ? pack_any(db, ret_did, err) : pack_full(db, cache, ret_did, err);
    if (!st && !*ret_did)
        st = pack_still(db, cache, ret_did, err);
    if (!st && !*ret_did)
        st = level_fill_step(db, ret_did, err);
    if (!st && !*ret_did)
        st = db_shrink(db, everything, ret_did, err);
    return st;
}

det_status metric_delete_step(struct db *db, int64_t trial_id, bool *ret_more,
                              struct err *err)
{
    static const int small[] = {DELETE_TAIL, DELETE_SHAPES, DELETE_RUNS};
    det_status st = run_with_id(db, &metric_compact_sql[DELETE_BLOCKS], trial_id, err);

    *ret_more = !st && db_changes(db) > 0;
    if (!st)
        st = run_with_id(db, &metric_compact_sql[DELETE_LEVELS], trial_id, err);
    *ret_more = *ret_more || (!st && db_changes(db) > 0);
    writer_cache_drop_trial(db, trial_id);
    for (size_t i = 0; i < ARRAY_LEN(small) && !st && !*ret_more; i++)
        st = run_with_id(db, &metric_compact_sql[small[i]], trial_id, err);
    return st;
}
