/* SPDX-License-Identifier: Apache-2.0 */
/* level_page.c - see level_page.h. */
#include "store/series/level_page.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/metric/metric_block.h"
#include "store/metric/metric_rows.h"
#include "store/series/level.h"
#include "store/series/series_pen.h"
#include "store/sql_tables.h"
#include "store/writer_cache.h"

enum {
    PAGE_MOST = 4 << 20, /* bytes: larger pages get no page above them */
    GROW_BYTES = 512 << 20,
    GROW_LIST = 4 * LEVEL_PAGES, /* pages examined for new ones */
    FILL_BLOCKS = 4,             /* per step */
};

/* How many nodes become one of the next level: 32, 128, 1024 and 8192 rows. */
static const uint32_t nodes_of_one[LEVELS - 1] = {4, 8, 8};

enum {
    PAGES,
    BLOCKS,
    BLOCK_OLD,
    PAGE_DATA,
    PAGE_PUT,
    PAGE_DROP,
    PAGE_OVER,
    PAGE_REMOVE,
    PAGES_END,
    FILL_GET,
    FILL_BLOCK,
    FILL_SET,
    FILL_END,
};

static const struct sql level_page_sql[] = {
    SQL(PAGES,
        "SELECT id, first_steps, first_nth, last_steps, last_nth, min_us, max_us, count"
        "  FROM metric_levels WHERE " METRIC_OF_KEY " AND level = $4"
        "  AND (first_steps, first_nth) >= ($5, $6)"
        "  AND (first_steps, first_nth) < ($7, $8)"
        " ORDER BY first_steps, first_nth LIMIT $9"),
    /* only columns that the index of blocks has */
    SQL(BLOCKS,
        "SELECT b.id, b.first_steps, b.first_nth, l.id, l.last_steps, l.last_nth,"
        "  l.min_us, l.max_us, l.count"
        " FROM metric_blocks b LEFT JOIN metric_levels l ON l.trial_id = b.trial_id"
        "  AND l.group_id = b.group_id AND l.run_id = b.run_id AND l.level = 0"
        "  AND l.first_steps = b.first_steps AND l.first_nth = b.first_nth"
        " WHERE b.trial_id = $1 AND b.group_id = $2 AND b.run_id = $3"
        "  AND (b.first_steps, b.first_nth) >= ($4, $5)"
        "  AND (b.first_steps, b.first_nth) < ($6, $7)"
        " ORDER BY b.first_steps, b.first_nth LIMIT $8"),
    SQL(BLOCK_OLD, "SELECT last_steps, last_nth, count, data FROM metric_blocks"
                   " WHERE id = $1"),
    SQL(PAGE_DATA, "SELECT data FROM metric_levels WHERE id = $1"),
    SQL(PAGE_PUT,
        "INSERT INTO metric_levels (trial_id, group_id, run_id, level, first_steps,"
        "  first_nth, last_steps, last_nth, min_us, max_us, count, data)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
        " ON CONFLICT DO NOTHING"),
    SQL(PAGE_DROP, "DELETE FROM metric_levels WHERE " METRIC_OF_KEY " AND level = 0"
                   "  AND first_steps = $4 AND first_nth = $5"),
    /* the last page that begins at or before a place */
    SQL(PAGE_OVER,
        "SELECT id, last_steps, last_nth FROM metric_levels WHERE " METRIC_OF_KEY
        "  AND level = $4 AND (first_steps, first_nth) <= ($5, $6)"
        " ORDER BY first_steps DESC, first_nth DESC LIMIT 1"),
    SQL(PAGE_REMOVE, "DELETE FROM metric_levels WHERE id = $1"),
    SQL(PAGES_END,
        "SELECT last_steps, last_nth FROM metric_levels WHERE " METRIC_OF_KEY
        "  AND level = $4 ORDER BY first_steps DESC, first_nth DESC LIMIT 1"),
    SQL(FILL_GET, "SELECT done, upto FROM metric_level_fill"),
    SQL(FILL_BLOCK, "SELECT id, trial_id, group_id, run_id, data FROM metric_blocks"
                    " WHERE id > $1 AND id <= $2 ORDER BY id LIMIT 1"),
    SQL(FILL_SET, "UPDATE metric_level_fill SET done = $1"),
    SQL(FILL_END, "DELETE FROM metric_level_fill"),
};
const struct sql_table level_page_sql_table = SQL_TABLE(level_page_sql);

static void bind_place(struct db_query *q, struct metric_place place)
{
    db_bind_i64(q, place.steps);
    db_bind_i64(q, place.nth);
}

static struct metric_place get_place(struct db_query *q)
{
    struct metric_place place;

    place.steps = db_col_i64(q);
    place.nth = db_col_i64(q);
    return place;
}

static struct metric_place place_after(struct metric_place place)
{
    place.nth++;
    return place;
}

/* ---- which pages there are ------------------------------------------------------- */

/* A list that grows in an arena. */
struct listing {
    struct db *db;
    const struct metric_key *key;
    struct arena *mem;
    uint32_t most;   /* pages, about */
    bool is_growing; /* for new pages: blocks without a page are only a gap */
    VEC(struct level_page) all;
};

static void get_rest(struct db_query *q, struct level_page *page)
{
    page->last = get_place(q);
    page->min_us = db_col_i64(q);
    page->max_us = db_col_i64(q);
    page->count = db_col_i64(q);
}

/* Sets the bounds of a block that has no page. */
static det_status look_into(struct listing *l, struct level_page *page, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(256 << 20);
    CLEANUP(db_query_done)
    struct db_query q = db_query(l->db, &level_page_sql[BLOCK_OLD], err);
    struct metric_columns columns = {0};
    const void *data;
    size_t len;
    det_status st;

    db_bind_i64(&q, page->block);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_CORRUPT, "a block of metrics vanished");
    page->last = get_place(&q);
    page->count = db_col_i64(&q);
    data = db_col_blob(&q, &len);
    st = metric_block_columns(data, len, NULL, 0, &scratch, &columns, err);
    for (uint32_t i = 0; i < columns.rows && !st; i++) {
        int64_t us = columns.report_us[i];

        page->min_us = i ? MIN(page->min_us, us) : us;
        page->max_us = i ? MAX(page->max_us, us) : us;
    }
    return st;
}

static det_status list_blocks(struct listing *l, struct level_range range,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(l->db, &level_page_sql[BLOCKS], err);
    size_t first = l->all.count;
    det_status st = DET_OK;

    metric_key_bind(&q, l->key);
    bind_place(&q, range.from);
    bind_place(&q, range.to);
    db_bind_i64(&q, l->most);
    while (db_next(&q)) {
        struct level_page page = {.block = db_col_i64(&q), .first = get_place(&q)};

        page.id = db_col_is_null(&q) ? 0 : db_col_i64(&q);
        if (page.id)
            get_rest(&q, &page);
        if (!vec_push(&l->all, page))
            return err_default(err, DET_NOMEM);
    }
    st = q.status;
    db_query_done(&q);
    for (size_t i = first; i < l->all.count && !st && !l->is_growing; i++) {
        if (!l->all.at[i].id)
            st = look_into(l, &l->all.at[i], err);
    }
    return st;
}

static det_status list_level(struct listing *l, int level, struct level_range range,
                             struct level_pages *ret_pages, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(l->db, &level_page_sql[PAGES], err);
    VEC(struct level_page) pages = {0};

    metric_key_bind(&q, l->key);
    db_bind_i64(&q, level);
    bind_place(&q, range.from);
    bind_place(&q, range.to);
    db_bind_i64(&q, l->most);
    while (db_next(&q)) {
        struct level_page page = {.id = db_col_i64(&q), .level = level};

        page.first = get_place(&q);
        get_rest(&q, &page);
        if (!vec_push(&pages, page))
            q.status = err_default(err, DET_NOMEM);
    }
    ret_pages->count = (uint32_t)pages.count;
    ret_pages->at = arena_array(l->mem, struct level_page, pages.count + 1);
    if (!ret_pages->at)
        q.status = err_default(err, DET_NOMEM);
    else if (pages.count)
        memcpy(ret_pages->at, pages.at, pages.count * sizeof(*pages.at));
    vec_done(&pages);
    return q.status;
}

/* Lists the pages of this level, and in the gaps those of the levels below. */
static det_status list_range(struct listing *l, int level, struct level_range range,
                             struct err *err)
{
    struct level_pages pages = {0};
    det_status st;

    if (l->all.count >= l->most)
        return DET_OK;
    if (!level)
        return list_blocks(l, range, err);
    st = list_level(l, level, range, &pages, err);
    for (uint32_t i = 0; i < pages.count && !st; i++) {
        struct level_range before = {range.from, pages.at[i].first};

        st = list_range(l, level - 1, before, err);
        if (!st && !vec_push(&l->all, pages.at[i]))
            st = err_default(err, DET_NOMEM);
        range.from = place_after(pages.at[i].last);
    }
    return st ? st : list_range(l, level - 1, range, err);
}

static det_status list_end(struct listing *l, det_status st,
                           struct level_pages *ret_pages, struct err *err)
{
    ret_pages->count = (uint32_t)l->all.count;
    ret_pages->at = arena_array(l->mem, struct level_page, l->all.count + 1);
    if (!st && !ret_pages->at)
        st = err_default(err, DET_NOMEM);
    if (!st && l->all.count)
        memcpy(ret_pages->at, l->all.at, l->all.count * sizeof(*l->all.at));
    vec_done(&l->all);
    return st;
}

det_status level_pages_load(struct db *db, const struct metric_key *key, int top,
                            struct level_range range, struct arena *mem,
                            struct level_pages *ret_pages, struct err *err)
{
    struct listing l = {.db = db, .key = key, .mem = mem, .most = UINT32_MAX};
    det_status st;

    assert(top >= 0 && top < LEVELS);
    st = list_range(&l, top, range, err);
    return list_end(&l, st, ret_pages, err);
}

det_status level_page_load(struct db *db, const struct level_page *page,
                           const char *const *name, uint32_t names, struct arena *mem,
                           struct level *ret_level, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &level_page_sql[PAGE_DATA], err);
    const void *data;
    size_t len;

    db_bind_i64(&q, page->id);
    if (!db_next(&q))
        return q.status
                   ? q.status
                   : err_set(err, DET_CORRUPT, "a page of summed up metrics vanished");
    data = db_col_blob(&q, &len);
    return level_decode(data, len, name, names, mem, ret_level, err);
}

/* ---- writing --------------------------------------------------------------------- */

/* Drops the pages above level 0 that cover, or would cover, blocks of this range. */
static det_status drop_over(struct db *db, const struct metric_key *key, int level,
                            struct metric_place first, struct metric_place last,
                            bool *ret_did, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &level_page_sql[PAGE_OVER], err);
    int64_t id;

    *ret_did = false;
    metric_key_bind(&q, key);
    db_bind_i64(&q, level);
    bind_place(&q, last);
    if (!db_next(&q))
        return q.status;
    id = db_col_i64(&q);
    if (metric_place_compare(get_place(&q), first) < 0)
        return q.status;
    db_query_done(&q);
    *ret_did = true;
    return run_with_id(db, &level_page_sql[PAGE_REMOVE], id, err);
}

static det_status drop_above(struct db *db, const struct metric_key *key,
                             struct metric_place first, struct metric_place last,
                             struct err *err)
{
    det_status st = DET_OK;

    for (int level = 1; level < LEVELS && !st; level++) {
        bool did = true;

        while (did && !st)
            st = drop_over(db, key, level, first, last, &did, err);
    }
    return st;
}

static det_status page_put(struct db *db, const struct metric_key *key,
                           const struct level_page *page, const struct level *level,
                           struct err *err)
{
    CLEANUP(buf_done) struct buf data = BUF_INIT;
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &level_page_sql[PAGE_PUT], err);
    int64_t rows = 0, min_us = INT64_MAX, max_us = INT64_MIN;

    level_encode(level, &data);
    if (data.status)
        return err_default(err, data.status);
    for (uint32_t i = 0; i < level->nodes; i++) {
        rows += level->node[i].rows;
        min_us = MIN(min_us, level->node[i].min_us);
        max_us = MAX(max_us, level->node[i].max_us);
    }
    metric_key_bind(&q, key);
    db_bind_i64(&q, page->level);
    bind_place(&q, page->first);
    bind_place(&q, page->last);
    db_bind_i64(&q, min_us);
    db_bind_i64(&q, max_us);
    db_bind_i64(&q, rows);
    db_bind_blob(&q, data.data, data.len);
    return db_run(&q);
}

det_status level_block_put(struct db *db, const struct metric_key *key,
                           const struct metric_rows *rows, struct arena *mem,
                           struct err *err)
{
    struct level level = {0};
    struct level_page page = {.first = metric_place_of(&rows->row[0]),
                              .last = metric_place_of(&rows->row[rows->count - 1])};
    det_status st = drop_above(db, key, page.first, page.last, err);

    if (!st)
        st = level_of_rows(rows, mem, &level, err);
    return st ? st : page_put(db, key, &page, &level, err);
}

det_status level_block_drop(struct db *db, const struct metric_key *key,
                            struct metric_place first, struct metric_place last,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &level_page_sql[PAGE_DROP], err);
    det_status st;

    metric_key_bind(&q, key);
    bind_place(&q, first);
    st = db_run(&q);
    return st ? st : drop_above(db, key, first, last, err);
}

/* ---- growing --------------------------------------------------------------------- */

/* Finds the end of the pages of a level. */
static det_status end_of(struct db *db, const struct metric_key *key, int level,
                         struct metric_place *ret_end, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &level_page_sql[PAGES_END], err);

    *ret_end = (struct metric_place){INT64_MIN, 0};
    metric_key_bind(&q, key);
    db_bind_i64(&q, level);
    if (db_next(&q))
        *ret_end = place_after(get_place(&q));
    return q.status;
}

/* Finds LEVEL_PAGES consecutive pages of one level and returns the first; NULL: none.
 * The last block does not count: it may be short, and is then replaced. */
static const struct level_page *find_row(const struct level_pages *pages, int level)
{
    uint32_t row = 0;
    uint32_t count = pages->count;

    if (count && !level)
        count--;
    for (uint32_t i = 0; i < count; i++) {
        row = pages->at[i].level == level && pages->at[i].id ? row + 1 : 0;
        if (row == LEVEL_PAGES)
            return &pages->at[i + 1 - LEVEL_PAGES];
    }
    return NULL;
}

static det_status join_pages(struct db *db, const struct metric_key *key,
                             const struct level_page *page, struct arena *mem,
                             struct err *err)
{
    struct level_page joined = {.level = page->level + 1,
                                .first = page[0].first,
                                .last = page[LEVEL_PAGES - 1].last};
    struct level *part = arena_array(mem, struct level, LEVEL_PAGES);
    struct level level = {0};
    uint64_t sums = 0;
    det_status st = part ? DET_OK : err_default(err, DET_NOMEM);

    for (int i = 0; i < LEVEL_PAGES && !st; i++) {
        st = level_page_load(db, &page[i], NULL, 0, mem, &part[i], err);
        sums += (uint64_t)part[i].columns * part[i].nodes;
        /* Too many metrics: merging them would hold the writer up. */
        if (sums * sizeof(struct series_sum) > PAGE_MOST * (uint64_t)LEVEL_PAGES)
            return DET_OK;
    }
    if (!st)
        st =
            level_merge(part, LEVEL_PAGES, nodes_of_one[page->level], mem, &level, err);
    return st ? st : page_put(db, key, &joined, &level, err);
}

det_status level_grow(struct db *db, const struct metric_key *key, struct err *err)
{
    det_status st = DET_OK;

    for (int level = 0; level < LEVELS - 1 && !st; level++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(GROW_BYTES);
        struct listing l = {
            .db = db, .key = key, .mem = &mem, .most = GROW_LIST, .is_growing = true};
        struct level_range range = LEVEL_EVERYTHING;
        struct level_pages pages = {0};
        const struct level_page *first;

        st = end_of(db, key, level + 1, &range.from, err);
        if (!st)
            st = list_range(&l, level, range, err);
        st = list_end(&l, st, &pages, err);
        first = st ? NULL : find_row(&pages, level);
        if (!first)
            break;
        st = join_pages(db, key, first, &mem, err);
    }
    return st;
}

/* ---- what an older version left -------------------------------------------------- */

static det_status fill_block(struct db *db, struct db_query *q, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(GROW_BYTES);
    struct metric_rows rows = {0};
    struct metric_key key;
    const void *data;
    size_t len;
    det_status st;

    key.trial_id = db_col_i64(q);
    key.group_id = db_col_i64(q);
    key.run_id = db_col_i64(q);
    data = db_col_blob(q, &len);
    st = metric_block_decode(data, len, &mem, &rows.row, &rows.count, err);
    db_query_done(q);
    if (st == DET_CORRUPT) /* readers get the error; housekeeping goes on */
        return DET_OK;
    if (!st && rows.count)
        st = level_block_put(db, &key, &rows, &mem, err);
    return st ? st : level_grow(db, &key, err);
}

/* *ret_done is the examined block; unchanged if there is none. */
static det_status fill_next(struct db *db, int64_t *ret_done, int64_t upto,
                            struct err *err)
{
    struct db_query q = db_query(db, &level_page_sql[FILL_BLOCK], err);
    det_status st;

    db_bind_i64(&q, *ret_done);
    db_bind_i64(&q, upto);
    if (!db_next(&q)) {
        st = q.status;
        db_query_done(&q);
        return st;
    }
    *ret_done = db_col_i64(&q);
    st = fill_block(db, &q, err);
    db_query_done(&q);
    return st;
}

static det_status fill_more(struct db *db, int64_t done, int64_t upto, struct err *err)
{
    int64_t before = done - 1;
    det_status st = DET_OK;

    for (int i = 0; i < FILL_BLOCKS && !st && before != done; i++) {
        before = done;
        st = fill_next(db, &done, upto, err);
    }
    if (!st && before == done) {
        CLEANUP(db_query_done)
        struct db_query q = db_query(db, &level_page_sql[FILL_END], err);

        return db_run(&q);
    }
    return st ? st : run_with_id(db, &level_page_sql[FILL_SET], done, err);
}

det_status level_fill_step(struct db *db, bool *ret_did, struct err *err)
{
    struct writer_cache *cache = writer_cache_of(db);
    struct db_query q;
    int64_t done, upto;
    det_status st;

    *ret_did = false;
    if (!cache)
        return err_default(err, DET_NOMEM);
    if (cache->has_levels)
        return DET_OK;
    q = db_query(db, &level_page_sql[FILL_GET], err);
    if (!db_next(&q)) {
        st = q.status;
        cache->has_levels = !st;
        db_query_done(&q);
        return st;
    }
    done = db_col_i64(&q);
    upto = db_col_i64(&q);
    db_query_done(&q);
    *ret_did = true;
    return fill_more(db, done, upto, err);
}
