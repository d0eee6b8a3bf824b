/* SPDX-License-Identifier: Apache-2.0 */
/* metric_add.c - stores a report as a row of the tail.
 *
 * The usual case costs one insert: the cache (writer_cache.h) has the trial's run, its
 * groups and names, and the end of its blocks.  Two rare cases cost more:
 *
 *   - A run that goes on from a checkpoint archives the reports of older runs beyond
 *     it, and so does its first report (a program may go back further than its
 *     checkpoint, or have none).
 *   - A report that repeats a key is merged into its row.  If that row is in a block,
 *     the block is unpacked first. */
#include "store/metric/metric_add.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "data/json/json_index.h"
#include "store/blob.h"
#include "store/engine/db.h"
#include "store/metric/metric.h"
#include "store/metric/metric_admit.h"
#include "store/metric/metric_compact.h"
#include "store/metric/metric_parts.h"
#include "store/metric/metric_rows.h"
#include "store/metric/validation.h"
#include "store/setting.h"
#include "store/sql_tables.h"
#include "store/writer_cache.h"
#include "wire/report.h"

enum { ID_STRETCH = 4096, RESUME_BYTES = 64 << 20, NO_GROUP = -1 };

enum {
    TRIAL_RUN,
    GROUP_GET,
    GROUP_ADD,
    RUN_ADD,
    RUN_CUT,
    RUN_TOP,
    BLOCK_END,
    TAIL_COUNT,
    TAIL_BELOW,
    SHAPE_ADD,
    TAIL_PUT,
    TAIL_REPLACE,
};

static const struct sql metric_add_sql[] = {
    SQL(TRIAL_RUN, "SELECT run_id FROM trials WHERE id = $1"),
    SQL(GROUP_GET, "SELECT id FROM metric_groups WHERE name = $1"),
    SQL(GROUP_ADD, "INSERT INTO metric_groups (id, name)"
                   " VALUES ((SELECT COALESCE(MAX(id), 0) + 1 FROM metric_groups), $1)"
                   " RETURNING id"),
    SQL(RUN_ADD, "INSERT INTO metric_runs (trial_id, group_id, run_id, cut)"
                 " VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"),
    SQL(RUN_CUT,
        "UPDATE metric_runs SET cut = CASE WHEN group_id = $3 THEN $4 ELSE $4 + 1 END"
        " WHERE trial_id = $1 AND run_id < $2"
        "  AND cut > CASE WHEN group_id = $3 THEN $4 ELSE $4 + 1 END"
        " RETURNING group_id, run_id, cut"),
    SQL(RUN_TOP, "UPDATE metric_runs SET top = $4 WHERE " METRIC_OF_KEY),
    SQL(BLOCK_END, "SELECT last_steps, last_nth FROM metric_blocks WHERE " METRIC_OF_KEY
                   " ORDER BY first_steps DESC, first_nth DESC LIMIT 1"),
    SQL(TAIL_COUNT, "SELECT COUNT(*) FROM metric_tail WHERE " METRIC_OF_KEY),
    SQL(TAIL_BELOW,
        "SELECT MAX(steps) FROM metric_tail WHERE " METRIC_OF_KEY " AND steps < $4"),
    SQL(SHAPE_ADD, "INSERT INTO metric_shapes (trial_id, group_id, shape, names)"
                   " VALUES ($1, $2, $3, $4)"),
    SQL(TAIL_PUT, "INSERT INTO metric_tail (trial_id, group_id, run_id, steps, nth, id,"
                  "  report_us, data)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING"),
    SQL(TAIL_REPLACE, "UPDATE metric_tail SET id = $6, report_us = $7, data = $8"
                      " WHERE " METRIC_OF_KEY " AND steps = $4 AND nth = $5"),
};
const struct sql_table metric_add_sql_table = SQL_TABLE(metric_add_sql);

struct metric_text {
    const char *text; /* need not end with a NUL */
    size_t len;       /* 0: none */
};

struct writing {
    struct db *db;
    const struct metric_key *key;
    struct metric_group *group;
    struct arena *mem;
    struct metric_admission *names; /* NULL: all are admitted */
};

/* ---- names ----------------------------------------------------------------------- */

static det_status shape_store(struct db *db, const struct metric_key *key,
                              const struct metric_shape *shape, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_add_sql[SHAPE_ADD], err);

    jw_object(&w, NULL);
    jw_array(&w, "n");
    for (uint32_t i = 0; i < shape->numbers; i++)
        jw_str(&w, NULL, shape->name[i]);
    jw_end_array(&w);
    jw_array(&w, "o");
    for (uint32_t i = 0; i < shape->others; i++)
        jw_str(&w, NULL, shape->name[shape->numbers + i]);
    jw_end_array(&w);
    jw_end_object(&w);
    if (text.status)
        return err_default(err, DET_NOMEM);
    db_bind_i64(&q, key->trial_id);
    db_bind_i64(&q, key->group_id);
    db_bind_i64(&q, shape->id);
    db_bind_str(&q, text.data);
    return db_run(&q);
}

static det_status shape_add(const struct writing *to, const struct metric_parts *parts,
                            struct metric_shape **ret_shape, struct err *err)
{
    struct metric_shape *shape = metric_parts_shape(parts, to->group->shape_count + 1,
                                                    &writer_cache_of(to->db)->mem);
    det_status st =
        shape ? shape_store(to->db, to->key, shape, err) : err_default(err, DET_NOMEM);

    if (st)
        return st;
    to->group->shape_count++;
    if (to->names)
        to->names->fresh = (struct metric_parts){0};
    *ret_shape = shape;
    return DET_OK;
}

/* The shapes of a trial have all its names, also when the rows are JSON. */
static det_status keep_fresh_names(const struct writing *to, struct err *err)
{
    struct metric_shape *shape;

    if (!to->names || (!to->names->fresh.numbers && !to->names->fresh.others))
        return DET_OK;
    return shape_add(to, &to->names->fresh, &shape, err);
}

/* *ret_id is 0 if this trial has too many shapes: then everything is JSON. */
static det_status shape_of(const struct writing *to, const struct metric_parts *parts,
                           int64_t *ret_id, struct err *err)
{
    struct metric_group *group = to->group;
    struct metric_shape **link = &group->shapes;
    struct metric_shape *shape;
    det_status st;

    while (*link && !metric_parts_fit(parts, *link))
        link = &(*link)->next;
    shape = *link;
    if (shape) {
        *link = shape->next;
    } else {
        /* Names that fit a shape were checked when it was made. */
        st = metric_parts_check(parts, err);
        if (st)
            return st;
        if (group->shape_count >= METRIC_SHAPES) {
            *ret_id = 0;
            return keep_fresh_names(to, err);
        }
        st = shape_add(to, parts, &shape, err);
        if (st)
            return st;
    }
    shape->next = group->shapes;
    group->shapes = shape;
    *ret_id = shape->id;
    return DET_OK;
}

/* ---- rows ------------------------------------------------------------------------ */

static void write_part(struct json_writer *w, const struct metric_part *part,
                       struct arena *mem)
{
    const char *key =
        part->json ? part->json->key : arena_strndup(mem, part->name, part->len);

    if (part->json)
        jw_json(w, key, part->json);
    else if (key)
        jw_real(w, key, part->value);
    else
        w->out->status = DET_NOMEM;
}

static void tail_encode(const struct metric_parts *parts, int64_t shape,
                        const struct metric_text *batch, struct arena *mem,
                        struct buf *out, struct buf *scratch)
{
    struct json_writer w = JSON_WRITER(scratch);
    bool has_rest = parts->others || (!shape && parts->numbers);

    buf_put_varint(out, (uint64_t)shape);
    for (uint32_t i = 0; shape && i < parts->numbers; i++)
        buf_put_f64(out, parts->number[i].value);
    if (!has_rest && !batch->len)
        return;
    if (has_rest) {
        jw_object(&w, NULL);
        for (uint32_t i = 0; !shape && i < parts->numbers; i++)
            write_part(&w, &parts->number[i], mem);
        for (uint32_t i = 0; i < parts->others; i++)
            write_part(&w, &parts->other[i], mem);
        jw_end_object(&w);
    }
    buf_put_bytes(out, scratch->data, scratch->len);
    if (batch->len)
        buf_put_bytes(out, batch->text, batch->len);
    if (scratch->status && !out->status)
        out->status = scratch->status;
}

/* A row without its values. */
struct slot {
    struct metric_place place;
    int64_t id;
    int64_t report_us;
    struct metric_text batch;
};

/* *ret_changed is false if TAIL_PUT found the key taken. */
static det_status tail_write(struct db *db, int which, const struct metric_key *key,
                             const struct slot *slot, const struct buf *data,
                             bool *ret_changed, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_add_sql[which], err);

    metric_key_bind(&q, key);
    db_bind_i64(&q, slot->place.steps);
    db_bind_i64(&q, slot->place.nth);
    db_bind_i64(&q, slot->id);
    db_bind_i64(&q, slot->report_us);
    db_bind_blob(&q, data->data, data->len);
    if (!db_run(&q))
        *ret_changed = db_changes(db) > 0;
    return q.status;
}

static det_status parts_write(const struct writing *to, int which,
                              const struct slot *slot, const struct metric_parts *parts,
                              bool *ret_changed, struct err *err)
{
    struct writer_cache *cache = writer_cache_of(to->db);
    int64_t shape = 0;
    det_status st = shape_of(to, parts, &shape, err);

    if (st)
        return st;
    buf_clear(&cache->row);
    buf_clear(&cache->rest);
    tail_encode(parts, shape, &slot->batch, to->mem, &cache->row, &cache->rest);
    if (cache->row.status)
        return err_default(err, DET_NOMEM);
    st = tail_write(to->db, which, to->key, slot, &cache->row, ret_changed, err);
    if (!st && which == TAIL_PUT && *ret_changed)
        to->group->tail_rows++;
    return st;
}

static det_status object_write(const struct writing *to, int which,
                               const struct slot *slot, const struct json *object,
                               bool *ret_changed, struct err *err)
{
    struct metric_parts parts = {0};
    det_status st = metric_parts_of_json(object, to->mem, &parts, err);

    return st ? st : parts_write(to, which, slot, &parts, ret_changed, err);
}

static struct metric_text text_of(const char *text)
{
    return (struct metric_text){text, text ? strlen(text) : 0};
}

det_status metric_tail_put(struct db *db, const struct metric_key *key,
                           struct metric_group *group, const struct metric_cells *row,
                           struct arena *mem, struct err *err)
{
    struct writing to = {.db = db, .key = key, .group = group, .mem = mem};
    struct slot slot = {metric_place_of(row), row->id, row->report_us,
                        text_of(row->batch)};
    struct json *object = NULL;
    bool changed = false;
    det_status st = metric_cells_json(row, mem, &object, err);

    if (!st)
        st = object_write(&to, TAIL_PUT, &slot, object, &changed, err);
    if (!st && !changed)
        return err_set(err, DET_CORRUPT, "a row of metrics exists twice");
    return st;
}

/* ---- merging --------------------------------------------------------------------- */

static bool same_value(const struct json *a, const struct json *b)
{
    double x;
    double y;

    if (json_number(a, &x) && json_number(b, &y))
        return x == y || (isnan(x) && isnan(y));
    return json_equal(a, b);
}

static det_status merge_members(const struct writing *to, struct json *into,
                                const struct metric_report *report, struct err *err)
{
    CLEANUP(json_index_done) struct json_index index = {0};
    const struct json *avg = report->avg;
    struct arena *mem = to->mem;

    /* This case is rare, so converting the numbers to a tree is fine. */
    if (report->values) {
        struct json *tree = NULL;
        det_status st = metric_values_json(report->values, mem, &tree, err);

        if (st)
            return st;
        avg = tree;
    }
    json_index_init(&index, into, avg ? avg->list.count : 0);
    json_each(item, avg) {
        const struct json *old = json_index_get(&index, item->key);

        if (to->names && to->names->dropped &&
            !metric_is_admitted(to->db, to->key, item->key))
            continue;
        if (old && !same_value(old, item))
            return err_set(err, DET_EXISTS,
                           "metric '%s' of group '%s' was already reported at %" PRId64
                           " steps with another value",
                           item->key, report->group, report->steps);
        if (!old && !json_add(mem, into, item->key, json_copy(mem, item)))
            return err_default(err, DET_NOMEM);
    }
    return DET_OK;
}

/* The row of this key is in the tail. */
static det_status merge_row(const struct writing *to,
                            const struct metric_report *report,
                            struct metric_text batch, struct err *err)
{
    struct metric_place before = {report->steps, -1};
    struct metric_rows rows = {0};
    struct json *object = NULL;
    struct slot slot = {.place = {report->steps, 0}, .batch = batch};
    bool changed = false;
    det_status st = metric_tail_load(to->db, to->key, before, 1, to->mem, &rows, err);

    if (!st && !rows.count)
        st = err_set(err, DET_CORRUPT, "a row of metrics vanished");
    if (!st)
        st = metric_cells_json(&rows.row[0], to->mem, &object, err);
    if (st)
        return st;
    if (batch.len && rows.row[0].batch)
        return err_set(err, DET_EXISTS,
                       "batch metrics of group '%s' were already reported at %" PRId64
                       " steps",
                       report->group, report->steps);
    st = merge_members(to, object, report, err);
    if (st)
        return st;
    slot.id = rows.row[0].id;
    slot.report_us = rows.row[0].report_us;
    if (!batch.len)
        slot.batch = text_of(rows.row[0].batch);
    return object_write(to, TAIL_REPLACE, &slot, object, &changed, err);
}

/* ---- what is remembered ---------------------------------------------------------- */

static det_status one_number(struct db_query *q, int64_t fallback, int64_t *ret_number)
{
    *ret_number = db_next(q) && !db_col_is_null(q) ? db_col_i64(q) : fallback;
    return q->status;
}

static det_status group_id_of(struct db *db, const char *name, int64_t *ret_id,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_add_sql[GROUP_GET], err);
    CLEANUP(db_query_done)
    struct db_query add = db_query(db, &metric_add_sql[GROUP_ADD], err);

    db_bind_str(&q, name);
    if (one_number(&q, 0, ret_id) || *ret_id)
        return q.status;
    db_bind_str(&add, name);
    (void)one_number(&add, 0, ret_id);
    return db_run(&add);
}

static det_status run_add(struct db *db, const struct metric_key *key, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_add_sql[RUN_ADD], err);

    metric_key_bind(&q, key);
    db_bind_i64(&q, key->run_id < 0 ? METRIC_ALL_CUT : METRIC_UNCUT);
    return db_run(&q);
}

static det_status group_fill(struct db *db, const struct metric_key *key,
                             struct metric_group *group, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query end = db_query(db, &metric_add_sql[BLOCK_END], err);
    CLEANUP(db_query_done)
    struct db_query tail = db_query(db, &metric_add_sql[TAIL_COUNT], err);
    int64_t rows = 0;

    metric_key_bind(&end, key);
    group->block_end = (struct metric_place){-2, 0};
    if (db_next(&end)) {
        group->block_end.steps = db_col_i64(&end);
        group->block_end.nth = db_col_i64(&end);
    }
    if (end.status)
        return end.status;
    metric_key_bind(&tail, key);
    if (one_number(&tail, 0, &rows))
        return tail.status;
    group->tail_rows = (uint32_t)rows;
    return metric_shapes_load(db, key, &writer_cache_of(db)->mem, &group->shapes, err);
}

static det_status group_load(struct db *db, struct metric_key *key, const char *name,
                             struct metric_group **ret_group, struct err *err)
{
    struct arena *mem = &writer_cache_of(db)->mem;
    struct metric_group *group = arena_new(mem, struct metric_group);
    det_status st;

    if (group)
        group->name = arena_strdup(mem, name);
    if (!group || !group->name)
        return err_default(err, DET_NOMEM);
    st = group_id_of(db, name, &group->group_id, err);
    key->group_id = group->group_id;
    if (!st)
        st = metric_admit_group(db, key, err);
    if (!st)
        st = run_add(db, key, err);
    if (!st)
        st = group_fill(db, key, group, err);
    for (struct metric_shape *shape = group->shapes; shape; shape = shape->next)
        group->shape_count++;
    *ret_group = group;
    return st;
}

static det_status check_run(struct db *db, const struct metric_report *report,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_add_sql[TRIAL_RUN], err);
    int64_t run_id;

    db_bind_i64(&q, report->trial_id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND, "trial '%" PRId64 "' not found",
                                  report->trial_id);
    run_id = db_col_i64(&q);
    if (run_id != report->run_id && !report->is_late)
        return err_set(err, DET_STATE,
                       "run %" PRId64 " of trial %" PRId64 " is over, its run is now "
                       "%" PRId64,
                       report->run_id, report->trial_id, run_id);
    return DET_OK;
}

/* Finds the trial and checks that the report is of its current run, or late.  The row is
 * read once; a change of the row drops it from the cache. */
static det_status trial_of(struct db *db, struct writer_cache *cache,
                           const struct metric_report *report,
                           const struct metric_key *key,
                           struct metric_trial **ret_trial, struct err *err)
{
    struct metric_trial *trial = writer_cache_trial(cache, key);
    det_status st;

    if (trial) {
        *ret_trial = trial;
        return DET_OK;
    }
    st = check_run(db, report, err);
    if (st)
        return st;
    trial = arena_new(&cache->mem, struct metric_trial);
    if (!trial || !map_put(&cache->trials, writer_cache_place(key), trial))
        return err_default(err, DET_NOMEM);
    trial->run_id = key->run_id;
    trial->floor = INT64_MAX;
    *ret_trial = trial;
    return DET_OK;
}

static det_status group_of(struct db *db, struct metric_trial *trial,
                           struct metric_key *key, const char *name,
                           struct metric_group **ret_group, struct err *err)
{
    struct metric_group *group = trial->groups;
    det_status st;

    while (group && strcmp(group->name, name) != 0)
        group = group->next;
    if (!group) {
        st = group_load(db, key, name, &group, err);
        if (st)
            return st;
        group->next = trial->groups;
        trial->groups = group;
    }
    key->group_id = group->group_id;
    *ret_group = group;
    return DET_OK;
}

/* Ids are reserved in stretches; a crash loses the unused rest of one. */
static det_status next_id(struct db *db, struct writer_cache *cache, int64_t *ret_id,
                          struct err *err)
{
    if (cache->next_id >= cache->id_end) {
        int64_t end = 0;
        det_status st = store_number_next(db, "store.metric", ID_STRETCH, &end, err);

        if (st)
            return st;
        cache->next_id = end - ID_STRETCH + 1;
        cache->id_end = end + 1;
    }
    *ret_id = cache->next_id++;
    return DET_OK;
}

/* ---- rollback -------------------------------------------------------------------- */

/* The highest steps below the cut; -1: none. */
static det_status find_top(struct db *db, const struct metric_key *key, int64_t cut,
                           struct arena *mem, int64_t *ret_top, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_add_sql[TAIL_BELOW], err);
    struct metric_block block = {0};
    int64_t top = -1;
    det_status st;

    metric_key_bind(&q, key);
    db_bind_i64(&q, cut);
    st = one_number(&q, -1, &top);
    if (!st)
        st = metric_block_upto(db, key, (struct metric_place){cut, -1}, mem, &block,
                               err);
    if (st)
        return st;
    for (uint32_t i = 0; block.id && i < block.rows.count; i++) {
        if (block.rows.row[i].steps < cut)
            top = MAX(top, block.rows.row[i].steps);
    }
    *ret_top = top;
    return DET_OK;
}

static det_status set_top(struct db *db, const struct metric_key *key, int64_t top,
                          struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_add_sql[RUN_TOP], err);

    metric_key_bind(&q, key);
    db_bind_i64(&q, top);
    return db_run(&q);
}

struct cut {
    struct metric_key key;
    int64_t cut;
};

/* Cuts the earlier runs of all groups after `steps`; in the group of `at` also the rows
 * with the same steps.  Returns the cuts in `mem`. */
static det_status cut_runs(struct db *db, const struct metric_key *at, int64_t steps,
                           struct arena *mem, struct cut **ret_cuts,
                           uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_add_sql[RUN_CUT], err);
    VEC(struct cut) cuts = {0};

    db_bind_i64(&q, at->trial_id);
    db_bind_i64(&q, at->run_id);
    db_bind_i64(&q, at->group_id);
    db_bind_i64(&q, steps);
    while (db_next(&q)) {
        struct cut cut = {.key.trial_id = at->trial_id};

        cut.key.group_id = db_col_i64(&q);
        cut.key.run_id = db_col_i64(&q);
        cut.cut = db_col_i64(&q);
        if (!vec_push(&cuts, cut))
            q.status = err_default(err, DET_NOMEM);
    }
    *ret_cuts = arena_array(mem, struct cut, cuts.count + 1);
    if (!*ret_cuts)
        q.status = err_default(err, DET_NOMEM);
    else if (cuts.count)
        memcpy(*ret_cuts, cuts.at, cuts.count * sizeof(*cuts.at));
    *ret_count = (uint32_t)cuts.count;
    vec_done(&cuts);
    return q.status;
}

static det_status archive_beyond(struct db *db, const struct metric_key *at,
                                 int64_t steps, struct arena *mem, struct err *err)
{
    struct cut *cuts = NULL;
    uint32_t count = 0;
    det_status st = cut_runs(db, at, steps, mem, &cuts, &count, err);

    for (uint32_t i = 0; i < count && !st; i++) {
        int64_t top = -1;

        st = find_top(db, &cuts[i].key, cuts[i].cut, mem, &top, err);
        if (!st)
            st = set_top(db, &cuts[i].key, top, err);
    }
    if (!st && count)
        st = validation_recompute(db, at->trial_id, err);
    return st;
}

/* Archives all reports of older runs beyond this one.  Later reports of this run with
 * more steps cannot archive more: `floor` skips them. */
static det_status roll_back(struct db *db, struct metric_trial *trial,
                            const struct metric_report *report,
                            const struct metric_key *at, struct arena *mem,
                            struct err *err)
{
    det_status st;

    if (report->is_late || !report->has_steps || report->steps > trial->floor)
        return DET_OK;
    st = archive_beyond(db, at, report->steps, mem, err);
    if (!st)
        trial->floor = report->steps;
    return st;
}

det_status metric_resumes(struct db *db, int64_t trial_id, int64_t run_id,
                          int64_t steps, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(RESUME_BYTES);
    struct metric_key at = {
        .trial_id = trial_id, .group_id = NO_GROUP, .run_id = run_id};

    return archive_beyond(db, &at, steps, &mem, err);
}

/* ---- adding ---------------------------------------------------------------------- */

static det_status check_report(const struct metric_report *report, struct err *err)
{
    if (!report->group || !*report->group)
        return err_set(err, DET_INVALID, "the metric group has no name");
    if (strchr(report->group, '.'))
        return err_set(err, DET_INVALID, "the metric group '%s' must not contain '.'",
                       report->group);
    if (report->avg && report->avg->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "metrics must be an object, not %s",
                       json_kind_name(report->avg->kind));
    if (report->has_steps && report->steps < 0)
        return err_set(err, DET_INVALID, "%" PRId64 " is not a valid number of steps",
                       report->steps);
    return DET_OK;
}

static void note_full(struct writer_cache *cache, const struct metric_key *key,
                      const struct metric_group *group)
{
    /* Without memory the hint is lost until the next start finds the tail. */
    if (group->tail_rows % METRIC_BLOCK_ROWS == 0)
        (void)vec_push(&cache->full, *key);
}

/* Splits the values, from JSON or from a ring, and gets the text of the batch
 * metrics. */
static det_status split_values(const struct metric_report *report, struct arena *mem,
                               struct metric_parts *ret_parts,
                               struct metric_text *ret_batch, struct err *err)
{
    const struct report_metrics *values = report->values;
    const struct json *batch = report->batch;
    struct json *tree = NULL;
    det_status st = DET_OK;

    if (values && values->batch_len) {
        st = json_parse(values->batch, values->batch_len, mem, &tree, err);
        if (st)
            return err_prefix(err, "the batch metrics are not JSON");
        batch = tree;
    }
    if (batch && batch->kind == JSON_ARRAY && batch->list.count) {
        *ret_batch = text_of(json_text(mem, batch));
        if (!ret_batch->text)
            return err_default(err, DET_NOMEM);
    }
    return values ? metric_parts_of_values(values, mem, ret_parts, err)
                  : metric_parts_of_json(report->avg, mem, ret_parts, err);
}

static det_status add_row(const struct writing *to, struct writer_cache *cache,
                          const struct metric_report *report, bool *ret_is_new,
                          struct err *err)
{
    struct slot slot = {.report_us = report->report_us};
    struct metric_parts parts = {0};
    bool changed = false;
    det_status st = split_values(report, to->mem, &parts, &slot.batch, err);

    *ret_is_new = false;
    if (!st)
        st = metric_admit(to->names, report, to->group->shapes, &parts, err);
    if (!st && to->names->dropped && !parts.numbers && !parts.others && !slot.batch.len)
        return DET_OK; /* nothing is left of it */
    if (!st)
        st = next_id(to->db, cache, &slot.id, err);
    slot.place.steps = report->has_steps ? report->steps : -1;
    slot.place.nth = report->has_steps ? 0 : slot.id;
    if (!st && metric_place_compare(slot.place, to->group->block_end) <= 0)
        st = metric_block_unpack(to->db, to->key, to->group, slot.place, to->mem, err);
    if (!st)
        st = parts_write(to, TAIL_PUT, &slot, &parts, &changed, err);
    if (st)
        return st;
    *ret_is_new = changed;
    if (!changed)
        return merge_row(to, report, slot.batch, err);
    note_full(cache, to->key, to->group);
    return DET_OK;
}

det_status store_metric_add(struct db *db, const struct metric_report *report,
                            struct arena *mem, bool *ret_is_new, struct err *err)
{
    struct writer_cache *cache = writer_cache_of(db);
    struct metric_key key = {.trial_id = report->trial_id,
                             .run_id = report->is_late ? metric_late_run(report->run_id)
                                                       : report->run_id};
    struct metric_admission names = {
        .db = db, .key = &key, .mem = mem, .most = report->names_most};
    struct writing to = {.db = db, .key = &key, .mem = mem, .names = &names};
    struct metric_trial *trial = NULL;
    det_status st = check_report(report, err);

    if (st)
        return st;
    if (!cache)
        return err_default(err, DET_NOMEM);
    writer_cache_trim(cache);
    st = trial_of(db, cache, report, &key, &trial, err);
    if (!st)
        st = group_of(db, trial, &key, report->group, &to.group, err);
    if (!st)
        st = roll_back(db, trial, report, &key, mem, err);
    names.trial = trial;
    if (!st)
        st = add_row(&to, cache, report, ret_is_new, err);
    return st;
}
