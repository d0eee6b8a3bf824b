/* SPDX-License-Identifier: Apache-2.0 */
/* store_trial_table.c - all trials of an experiment in one statement, and its family.
 */
#include "store/trial_table.h"

#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "model/states.h"
#include "store/store_impl.h"
#include "store/views.h"

enum { TABLE, TABLE_VALIDATIONS, KIN_ONE, KIN_CHILDREN, WARM_STARTS };

#define COLUMNS                                                                        \
    "SELECT t.id, t.state, t.restarts, t.start_us, t.end_us, t.hparams,"               \
    " t.best_metric, t.latest_metric, " TRIAL_STEPS_SQL ","                            \
    " CASE WHEN t.state <> 'ACTIVE' THEN 0 WHEN e.is_unmanaged THEN 4"                 \
    "  ELSE COALESCE((SELECT MAX(CASE a.state WHEN 'RUNNING' THEN 4"                   \
    "   WHEN 'STARTING' THEN 3 WHEN 'PULLING' THEN 2 ELSE 1 END) FROM allocations a"   \
    "   WHERE a.experiment_id = t.experiment_id AND a.trial_id = t.id"                 \
    "   AND a.state <> 'TERMINATED'), 1) END, " TRIAL_ON_SLOTS_SQL
#define OF_EXPERIMENT                                                                  \
    " FROM trials t JOIN experiments e ON e.id = t.experiment_id"                      \
    " WHERE t.experiment_id = $1 ORDER BY t.id"

static const struct sql trial_table_sql[] = {
    SQL(TABLE, COLUMNS OF_EXPERIMENT),
    SQL(TABLE_VALIDATIONS,
        COLUMNS ", t.best_validation, t.latest_validation" OF_EXPERIMENT),
    SQL(KIN_ONE, "SELECT id, name, state, parent_id FROM experiments WHERE id = $1"),
    SQL(KIN_CHILDREN, "SELECT id, name, state, parent_id FROM experiments"
                      " WHERE parent_id = $1 ORDER BY id LIMIT $2"),
    SQL(WARM_STARTS, "SELECT DISTINCT warm_start FROM trials"
                     " WHERE experiment_id = $1 AND warm_start IS NOT NULL LIMIT $2"),
};
const struct sql_table trial_table_sql_table = SQL_TABLE(trial_table_sql);

/* ---- trials ---------------------------------------------------------------------- */

static uint32_t read_state(struct db_query *q, const char *const *names,
                           struct arena *mem)
{
    const char *text = db_col_str(q, mem);
    uint32_t state = 0;

    while (text && names[state] && strcmp(names[state], text) != 0)
        state++;
    return text && names[state] ? state : 0;
}

static bool read_metric(struct db_query *q, double *ret_metric)
{
    bool is_there = !db_col_is_null(q);

    *ret_metric = db_col_f64(q);
    return is_there;
}

static void read_line(struct db_query *q, bool with_validations, struct arena *mem,
                      struct trial_line *line)
{
    line->id = db_col_i64(q);
    line->state = read_state(q, trial_state_names, mem);
    line->restarts = db_col_i64(q);
    line->start_us = db_col_i64(q);
    line->end_us = db_col_i64(q);
    line->hparams = db_col_str(q, mem);
    line->has_best = read_metric(q, &line->best);
    line->has_latest = read_metric(q, &line->latest);
    line->steps = db_col_i64(q);
    line->live_state = (uint32_t)db_col_i64(q);
    line->on_slots_us = db_col_i64(q);
    if (with_validations) {
        line->best_validation = db_col_str(q, mem);
        line->latest_validation = db_col_str(q, mem);
    }
}

det_status store_trial_table(struct db *db, int64_t experiment_id,
                             bool with_validations, struct arena *mem,
                             struct trial_line **ret_lines, uint32_t *ret_count,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(
        db, &trial_table_sql[with_validations ? TABLE_VALIDATIONS : TABLE], err);
    VEC(struct trial_line) lines = {0};
    struct trial_line *copy;
    bool is_full = false;

    db_bind_i64(&q, experiment_id);
    while (!is_full && db_next(&q)) {
        struct trial_line line = {0};

        read_line(&q, with_validations, mem, &line);
        is_full = !vec_push(&lines, line);
    }
    copy = arena_array(mem, struct trial_line, lines.count + 1);
    if (copy && lines.count)
        memcpy(copy, lines.at, lines.count * sizeof(*copy));
    *ret_count = (uint32_t)lines.count;
    vec_done(&lines);
    *ret_lines = copy;
    if (q.status)
        return q.status;
    return is_full || mem->has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}

/* ---- family ---------------------------------------------------------------------- */

static void read_kin(struct db_query *q, struct arena *mem, struct kin *ret_kin)
{
    ret_kin->id = db_col_i64(q);
    ret_kin->name = db_col_str(q, mem);
    ret_kin->state = read_state(q, experiment_state_names, mem);
    ret_kin->parent_id = db_col_i64(q);
}

static det_status find_kin(struct db *db, int64_t id, struct arena *mem,
                           struct kin *ret_kin, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &trial_table_sql[KIN_ONE], err);

    *ret_kin = (struct kin){.id = id, .is_gone = true};
    db_bind_i64(&q, id);
    if (db_next(&q)) {
        ret_kin->is_gone = false;
        read_kin(&q, mem, ret_kin);
    }
    return q.status;
}

det_status store_experiment_ancestors(struct db *db, int64_t id, uint32_t most,
                                      struct arena *mem, struct kin **ret_kin,
                                      uint32_t *ret_count, struct err *err)
{
    struct kin *kin = arena_array(mem, struct kin, (size_t)most + 1);
    struct kin at;
    uint32_t count = 0;
    det_status st = find_kin(db, id, mem, &at, err);

    if (!kin)
        return err_default(err, DET_NOMEM);
    while (!st && at.parent_id && count < most) {
        st = find_kin(db, at.parent_id, mem, &at, err);
        kin[count++] = at;
    }
    if (!st && mem->has_failed)
        st = err_default(err, DET_NOMEM);
    *ret_kin = kin;
    *ret_count = count;
    return st;
}

det_status store_experiment_children(struct db *db, int64_t id, uint32_t most,
                                     struct arena *mem, struct kin **ret_kin,
                                     uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &trial_table_sql[KIN_CHILDREN], err);
    struct kin *kin = arena_array(mem, struct kin, (size_t)most + 1);
    uint32_t count = 0;

    if (!kin)
        return err_default(err, DET_NOMEM);
    db_bind_i64(&q, id);
    db_bind_i64(&q, most);
    while (count < most && db_next(&q))
        read_kin(&q, mem, &kin[count++]);
    *ret_kin = kin;
    *ret_count = count;
    if (!q.status && mem->has_failed)
        return err_default(err, DET_NOMEM);
    return q.status;
}

det_status store_experiment_warm_starts(struct db *db, int64_t id, uint32_t most,
                                        struct arena *mem, struct field_strs *ret_uuids,
                                        struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &trial_table_sql[WARM_STARTS], err);
    const char **uuids = arena_array(mem, const char *, (size_t)most + 1);

    if (!uuids)
        return err_default(err, DET_NOMEM);
    *ret_uuids = (struct field_strs){.at = uuids};
    db_bind_i64(&q, id);
    db_bind_i64(&q, most);
    while (ret_uuids->count < most && db_next(&q))
        uuids[ret_uuids->count++] = db_col_str(&q, mem);
    if (!q.status && mem->has_failed)
        return err_default(err, DET_NOMEM);
    return q.status;
}
