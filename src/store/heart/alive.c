/* SPDX-License-Identifier: Apache-2.0 */
/* alive.c - see alive.h. */
#include "store/heart/alive.h"

#include "base/compiler.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"
#include "store/task/agent.h"
#include "store/task/allocation.h"
#include "store/task/job.h"

#define EXPERIMENT_IS_ALIVE                                                            \
    "e.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED')"   \
    " AND NOT e.is_unmanaged"

enum { ALIVE_EXPERIMENTS, ALIVE_TRIALS, ALIVE_SHARES, ALIVE_SNAPSHOTS, ALIVE_INPUTS };

static const struct sql alive_sql[] = {
    SQL(ALIVE_EXPERIMENTS,
        "SELECT e.id, e.state, e.job_id, e.owner_id, e.project_id, e.parent_id, "
        "c.config,"
        "  c.original_config, e.resource_pool, e.priority, e.weight, e.max_slots,"
        "  e.submitted_us, e.start_us, e.end_us, e.progress, e.trials, e.search_seq,"
        "  e.snapshot_seq, e.starter_id, e.paused_us, e.paused_since_us"
        "  FROM experiments e LEFT JOIN experiment_configs c ON c.id = e.id"
        " WHERE " EXPERIMENT_IS_ALIVE " ORDER BY e.id"),
    SQL(ALIVE_TRIALS,
        "SELECT id, experiment_id, number, state, request_id, task_id, seed, hparams,"
        "  restarts, run_id, start_us, end_us, latest_checkpoint, latest_steps,"
        "  warm_start, is_stopped_by_searcher, has_invalid_hparams, is_retry_cancelled,"
        "  blocked_agents, progress, is_metric_checked, lacks_metric"
        "  FROM trials WHERE state NOT IN ('COMPLETED', 'CANCELED', 'ERROR')"
        "  AND NOT (SELECT e.is_unmanaged FROM experiments e"
        "   WHERE e.id = experiment_id) ORDER BY id"),
    SQL(ALIVE_SHARES,
        "SELECT s.allocation_id, s.rank, s.agent_id, s.agent, s.container_id, s.slots,"
        "  s.is_running, s.has_exited, s.exit, s.exit_code"
        "  FROM shares s WHERE s.allocation_id IN"
        "  (SELECT a.id FROM allocations a WHERE a.state <> 'TERMINATED')"
        " ORDER BY s.allocation_id, s.rank"),
    SQL(ALIVE_SNAPSHOTS,
        "SELECT s.experiment_id, s.seq, s.state FROM search_snapshots s"
        "  JOIN experiments e ON e.id = s.experiment_id"
        " WHERE " EXPERIMENT_IS_ALIVE " ORDER BY s.experiment_id"),
    SQL(ALIVE_INPUTS,
        "SELECT i.experiment_id, i.seq, i.kind, i.trial, i.why, i.progress, i.metrics"
        "  FROM search_inputs i JOIN experiments e ON e.id = i.experiment_id"
        " WHERE " EXPERIMENT_IS_ALIVE " ORDER BY i.experiment_id, i.seq"),
};
const struct sql_table alive_sql_table = SQL_TABLE(alive_sql);

static det_status load_rows(struct db *db, int which, const struct field *fields,
                            size_t size, struct arena *mem, struct row_list *ret_rows,
                            struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &alive_sql[which], err);

    return rows_get(&q, fields, size, mem, ret_rows);
}

/* One per table that is loaded unchanged. */
struct part {
    int which;
    const struct field *fields;
    size_t size;
    struct row_list rows;
};

det_status store_load_alive(struct db *db, struct arena *mem,
                            struct store_alive *ret_alive, struct err *err)
{
    struct part part[] = {
        {ALIVE_EXPERIMENTS, experiment_fields, sizeof(struct experiment), {0}},
        {ALIVE_TRIALS, trial_fields, sizeof(struct trial), {0}},
        {ALIVE_SHARES, share_fields, sizeof(struct share), {0}},
        {ALIVE_SNAPSHOTS, search_snapshot_fields, sizeof(struct search_snapshot), {0}},
        {ALIVE_INPUTS, search_input_fields, sizeof(struct search_input), {0}},
    };
    struct store_alive alive = {0};
    det_status st = DET_OK;

    for (size_t i = 0; i < ARRAY_LEN(part) && !st; i++)
        st = load_rows(db, part[i].which, part[i].fields, part[i].size, mem,
                       &part[i].rows, err);
    if (!st)
        st =
            store_allocations_live(db, mem, &alive.allocation, &alive.allocations, err);
    if (!st)
        st = store_jobs_alive(db, mem, &alive.job, &alive.jobs, err);
    if (!st)
        st = store_agent_list(db, mem, &alive.agent, &alive.agents, err);
    if (st)
        return st;
    alive.experiment = part[ALIVE_EXPERIMENTS].rows.at;
    alive.experiments = part[ALIVE_EXPERIMENTS].rows.count;
    alive.trial = part[ALIVE_TRIALS].rows.at;
    alive.trials = part[ALIVE_TRIALS].rows.count;
    alive.share = part[ALIVE_SHARES].rows.at;
    alive.shares = part[ALIVE_SHARES].rows.count;
    alive.snapshot = part[ALIVE_SNAPSHOTS].rows.at;
    alive.snapshots = part[ALIVE_SNAPSHOTS].rows.count;
    alive.input = part[ALIVE_INPUTS].rows.at;
    alive.inputs = part[ALIVE_INPUTS].rows.count;
    *ret_alive = alive;
    return DET_OK;
}
