/* SPDX-License-Identifier: Apache-2.0 */
/* trial_table.c - all trials of an experiment in one statement. */
#include "store/experiment/trial_table.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "model/states.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/experiment/trial_sql.h"
#include "store/sql_tables.h"

enum { TABLE, TABLE_VALIDATIONS };

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
};
const struct sql_table trial_table_sql_table = SQL_TABLE(trial_table_sql);

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
    line->state = row_state(q, trial_state_names, mem);
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
