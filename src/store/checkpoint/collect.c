/* SPDX-License-Identifier: Apache-2.0 */
/* collect.c - decides which checkpoints are removed; see collect.h. */
#include "store/checkpoint/collect.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/vec.h"
#include "config/experiment_config.h"
#include "data/json/json.h"
#include "model/checkpoint_keep.h"
#include "model/field.h"
#include "model/records.h"
#include "model/states.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

enum {
    TRIALS_AT_ONCE = 64,   /* examined in one step */
    TRIALS_MOVED = 500,    /* of an experiment, noted in one step */
    REMOVED_AT_ONCE = 500, /* of an experiment that is deleted */
    CONFIG_MEM = 64 << 20,
};

/* The uuids of the best checkpoints of an experiment, found by an index. */
#define TOP(order)                                                                     \
    "(SELECT b.uuid FROM checkpoints b WHERE b.experiment_id = $1"                     \
    "  AND b.state = 'COMPLETED' AND b.searcher_metric IS NOT NULL"                    \
    "  ORDER BY b.searcher_metric " order                                              \
    ", b.steps_completed, b.trial_id, b.uuid LIMIT $2)"
#define NOTE_PUSHED(order)                                                             \
    "INSERT INTO collect_trials (experiment_id, trial_id)"                             \
    " SELECT DISTINCT c.experiment_id, c.trial_id FROM checkpoints c"                  \
    "  WHERE c.experiment_id = $1 AND c.is_top AND c.uuid NOT IN " TOP(                \
        order) " ON CONFLICT DO NOTHING"
#define DROP_PUSHED(order)                                                             \
    "UPDATE checkpoints SET is_top = FALSE"                                            \
    " WHERE experiment_id = $1 AND is_top AND uuid NOT IN " TOP(order)
#define ADD_TOP(order)                                                                 \
    "UPDATE checkpoints SET is_top = TRUE WHERE uuid IN " TOP(order) " AND NOT is_top"

enum {
    COLLECT_IS_DUE,
    COLLECT_FIRST,
    COLLECT_TRIALS,
    COLLECT_TRIAL_DONE,
    COLLECT_TRIAL_DUE,
    COLLECT_TRIAL_CHANGES,
    COLLECT_FORGET,
    COLLECT_EXPERIMENT_ADD,
    COLLECT_EXPERIMENT_FIRST,
    COLLECT_EXPERIMENT_NEXT,
    COLLECT_EXPERIMENT_MOVE,
    COLLECT_EXPERIMENT_MARK,
    COLLECT_EXPERIMENT_DONE,
    COLLECT_SCOPE,
    COLLECT_TRIAL,
    COLLECT_ITEMS,
    COLLECT_WITH_SOME,
    COLLECT_REST,
    CHECKPOINT_HOLD,
    CHECKPOINT_STATE,
    CHECKPOINT_GOING,
    REMOVAL_ADD,
    NOTE_PUSHED_SMALLER,
    NOTE_PUSHED_LARGER,
    DROP_PUSHED_SMALLER,
    DROP_PUSHED_LARGER,
    ADD_TOP_SMALLER,
    ADD_TOP_LARGER,
    TOP_SMALLER,
    TOP_LARGER,
};

static const struct sql collect_sql[] = {
    SQL(COLLECT_IS_DUE, "SELECT EXISTS (SELECT 1 FROM collect_trials)"
                        " OR EXISTS (SELECT 1 FROM collect_experiments)"),
    SQL(COLLECT_FIRST, "SELECT experiment_id FROM collect_trials"
                       " ORDER BY experiment_id, trial_id LIMIT 1"),
    SQL(COLLECT_TRIALS, "SELECT trial_id FROM collect_trials WHERE experiment_id = $1"
                        " ORDER BY trial_id LIMIT $2"),
    SQL(COLLECT_TRIAL_DONE,
        "DELETE FROM collect_trials WHERE experiment_id = $1 AND trial_id = $2"),
    SQL(COLLECT_TRIAL_DUE, "INSERT INTO collect_trials (experiment_id, trial_id)"
                           " SELECT experiment_id, id FROM trials"
                           "  WHERE id = $1 AND checkpoint_count > 0"
                           " ON CONFLICT DO NOTHING"),
    SQL(COLLECT_TRIAL_CHANGES,
        "INSERT INTO collect_trials (experiment_id, trial_id)"
        " SELECT experiment_id, id FROM trials WHERE id = $1 AND checkpoint_count > 0"
        "  AND ($2 OR COALESCE(latest_checkpoint, '') <> COALESCE($3, ''))"
        " ON CONFLICT DO NOTHING"),
    SQL(COLLECT_FORGET, "DELETE FROM collect_trials WHERE experiment_id = $1"),
    SQL(COLLECT_EXPERIMENT_ADD,
        "INSERT INTO collect_experiments (experiment_id, after_trial) VALUES ($1, 0)"
        " ON CONFLICT (experiment_id) DO UPDATE SET after_trial = 0"),
    SQL(COLLECT_EXPERIMENT_FIRST, "SELECT experiment_id, after_trial"
                                  "  FROM collect_experiments ORDER BY experiment_id"
                                  " LIMIT 1"),
    SQL(COLLECT_EXPERIMENT_NEXT, "SELECT MAX(id) FROM (SELECT id FROM trials WHERE "
                                 "experiment_id = $1 AND id > $2"
                                 " ORDER BY id LIMIT $3)"),
    SQL(COLLECT_EXPERIMENT_MOVE,
        "INSERT INTO collect_trials (experiment_id, trial_id)"
        " SELECT experiment_id, id FROM trials WHERE experiment_id = $1 AND id > $2"
        "  AND id <= $3 AND checkpoint_count > 0 ON CONFLICT DO NOTHING"),
    SQL(COLLECT_EXPERIMENT_MARK,
        "UPDATE collect_experiments SET after_trial = $2 WHERE experiment_id = $1"),
    SQL(COLLECT_EXPERIMENT_DONE,
        "DELETE FROM collect_experiments WHERE experiment_id = $1"),
    SQL(COLLECT_SCOPE, "SELECT e.state, e.smaller_is_better, e.resource_pool, c.config"
                       "  FROM experiments e"
                       "  JOIN experiment_configs c ON c.id = e.id WHERE e.id = $1"),
    SQL(COLLECT_TRIAL, "SELECT state NOT IN ('COMPLETED', 'CANCELED', 'ERROR'),"
                       "  latest_checkpoint, latest_steps, latest_validation_steps,"
                       "  latest_validation_us"
                       "  FROM trials WHERE id = $1"),
    SQL(COLLECT_ITEMS, "SELECT uuid, steps_completed, report_us, is_held, is_top,"
                       "  searcher_metric FROM checkpoints"
                       " WHERE trial_id = $1 AND state = 'COMPLETED'"
                       "  AND NOT is_archived"), /* people decide about these */
    SQL(COLLECT_WITH_SOME,
        "SELECT DISTINCT trial_id FROM checkpoints"
        " WHERE experiment_id = $1 AND state = 'COMPLETED' ORDER BY trial_id"),
    SQL(COLLECT_REST, "SELECT uuid FROM checkpoints WHERE experiment_id = $1"
                      " AND state NOT IN ('DELETING', 'DELETED') LIMIT $2"),
    SQL(CHECKPOINT_HOLD, "UPDATE checkpoints SET is_held = TRUE"
                         " WHERE uuid = $1 AND state = 'COMPLETED' AND NOT EXISTS"
                         "  (SELECT 1 FROM experiments e WHERE e.state = 'DELETING'"
                         "    AND e.id = checkpoints.experiment_id)"),
    SQL(CHECKPOINT_STATE,
        "SELECT c.state, c.experiment_id, COALESCE(t.id, CASE WHEN c.is_held THEN"
        "   (SELECT w.id FROM trials w WHERE w.warm_start = c.uuid"
        "     AND w.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR') LIMIT 1) END)"
        "  FROM checkpoints c"
        " LEFT JOIN trials t ON t.id = c.trial_id"
        "  AND t.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR')"
        "  AND (t.latest_checkpoint IS NULL OR t.latest_checkpoint = c.uuid"
        "   OR c.steps_completed >= t.latest_steps)" /* checkpoint_keep.h, rule 5 */
        "  AND NOT c.is_archived"
        " WHERE c.uuid = $1"),
    SQL(CHECKPOINT_GOING, "UPDATE checkpoints SET state = 'DELETING', is_top = FALSE"
                          " WHERE uuid = $1 AND state NOT IN ('DELETING', 'DELETED')"),
    SQL(REMOVAL_ADD,
        "INSERT INTO removals (uuid, experiment_id, agent, resource_pool, is_shared,"
        "  since_us, tries, next_us)"
        " SELECT c.uuid, c.experiment_id, COALESCE((SELECT s.agent FROM allocations a"
        "   JOIN shares s ON s.allocation_id = a.id WHERE a.name = c.allocation_id"
        "   ORDER BY a.id DESC, s.rank LIMIT 1), ''), $2, $3, $4, 0, 0"
        "  FROM checkpoints c WHERE c.uuid = $1"
        " ON CONFLICT DO NOTHING"),
    SQL(NOTE_PUSHED_SMALLER, NOTE_PUSHED("")),
    SQL(NOTE_PUSHED_LARGER, NOTE_PUSHED("DESC")),
    SQL(DROP_PUSHED_SMALLER, DROP_PUSHED("")),
    SQL(DROP_PUSHED_LARGER, DROP_PUSHED("DESC")),
    SQL(ADD_TOP_SMALLER, ADD_TOP("")),
    SQL(ADD_TOP_LARGER, ADD_TOP("DESC")),
    SQL(TOP_SMALLER, "SELECT uuid FROM checkpoints WHERE uuid IN " TOP("")),
    SQL(TOP_LARGER, "SELECT uuid FROM checkpoints WHERE uuid IN " TOP("DESC")),
};
const struct sql_table collect_sql_table = SQL_TABLE(collect_sql);

/* ---- noting trials --------------------------------------------------------------- */

det_status collect_trial(struct db *db, int64_t trial_id, struct err *err)
{
    return run_with_id(db, &collect_sql[COLLECT_TRIAL_DUE], trial_id, err);
}

det_status collect_trial_put(struct db *db, const struct trial *row, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_TRIAL_CHANGES], err);

    db_bind_i64(&q, row->id);
    db_bind_bool(&q, trial_is_terminal(row->state));
    db_bind_str(&q, row->latest_checkpoint);
    return db_run(&q);
}

det_status store_collect_experiment(struct db *db, int64_t experiment_id,
                                    struct err *err)
{
    return run_with_id(db, &collect_sql[COLLECT_EXPERIMENT_ADD], experiment_id, err);
}

det_status store_collect_is_due(struct db *db, bool *ret_is_due, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_IS_DUE], err);

    if (db_next(&q))
        *ret_is_due = db_col_bool(&q);
    return q.status;
}

/* ---- one experiment's policy ----------------------------------------------------- */

struct scope {
    int64_t experiment_id;
    bool is_there; /* and its checkpoints are in a directory */
    bool is_deleting;
    struct checkpoint_keep_policy policy;
    const char *resource_pool;
    bool is_shared;
};

static det_status scope_open(struct db *db, int64_t experiment_id,
                             const struct collect_place *place, struct arena *mem,
                             struct scope *ret_scope, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_SCOPE], err);
    struct scope scope = {.experiment_id = experiment_id};
    struct experiment_config config = {0};
    const char *state, *text;
    det_status st;

    *ret_scope = scope;
    db_bind_i64(&q, experiment_id);
    if (!db_next(&q))
        return q.status;
    state = db_col_str(&q, mem);
    scope.policy.smaller_is_better = db_col_bool(&q);
    scope.resource_pool = db_col_str(&q, mem);
    text = db_col_str(&q, mem);
    if (q.status)
        return q.status;
    st = experiment_config_open(text ? text : "", text ? strlen(text) : 0, mem, &config,
                                err);
    if (st == DET_NOMEM)
        return st;
    if (st || !config.storage_directory)
        return DET_OK; /* the storage is unknown: remove nothing */
    scope.is_there = true;
    scope.is_deleting = state && !strcmp(state, "DELETING");
    scope.is_shared = config.storage_kind == STORAGE_SHARED_FS &&
                      (!place->local_directory ||
                       strcmp(place->local_directory, config.storage_directory) != 0);
    scope.policy.experiment_best = config.save_experiment_best;
    scope.policy.trial_best = config.save_trial_best;
    scope.policy.trial_latest = config.save_trial_latest;
    if (!scope.resource_pool)
        scope.resource_pool = "";
    *ret_scope = scope;
    return DET_OK;
}

_Static_assert(NOTE_PUSHED_LARGER == NOTE_PUSHED_SMALLER + 1 &&
                   DROP_PUSHED_LARGER == DROP_PUSHED_SMALLER + 1 &&
                   ADD_TOP_LARGER == ADD_TOP_SMALLER + 1,
               "run_top() chooses by adding 1");

static det_status run_top(struct db *db, int which, const struct scope *scope,
                          struct err *err)
{
    /* The next statement in the table is the same for "larger is better". */
    CLEANUP(db_query_done)
    struct db_query q =
        db_query(db, &collect_sql[which + !scope->policy.smaller_is_better], err);

    db_bind_i64(&q, scope->experiment_id);
    db_bind_i64(&q, scope->policy.experiment_best);
    return db_run(&q);
}

/* Computes the best checkpoints of the experiment.  If one is no longer among them, its
 * trial is noted. */
static det_status refresh_top(struct db *db, const struct scope *scope, struct err *err)
{
    det_status st = run_top(db, NOTE_PUSHED_SMALLER, scope, err);

    if (!st)
        st = run_top(db, DROP_PUSHED_SMALLER, scope, err);
    if (!st)
        st = run_top(db, ADD_TOP_SMALLER, scope, err);
    return st;
}

/* ---- one trial ------------------------------------------------------------------- */

struct items {
    struct checkpoint_keep_item *at;
    size_t count;
};

static det_status load_trial(struct db *db, int64_t trial_id, struct arena *mem,
                             struct checkpoint_keep_trial *ret_trial, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_TRIAL], err);

    db_bind_i64(&q, trial_id);
    if (!db_next(&q))
        return q.status;
    ret_trial->is_live = db_col_bool(&q);
    ret_trial->resumes_from = db_col_str(&q, mem);
    ret_trial->resumes_steps = db_col_i64(&q);
    ret_trial->validated_steps = db_col_i64(&q);
    ret_trial->validated_us = db_col_i64(&q);
    return q.status;
}

static det_status load_items(struct db *db, int64_t trial_id, struct arena *mem,
                             struct items *ret_items, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_ITEMS], err);
    VEC(struct checkpoint_keep_item) found = {0};
    struct checkpoint_keep_item *copy = NULL;
    bool is_whole = true;

    db_bind_i64(&q, trial_id);
    while (is_whole && db_next(&q)) {
        struct checkpoint_keep_item item = {.trial_id = trial_id};

        item.uuid = db_col_str(&q, mem);
        item.steps = db_col_i64(&q);
        item.report_us = db_col_i64(&q);
        item.is_held = db_col_bool(&q);
        item.is_top = db_col_bool(&q);
        item.has_metric = !db_col_is_null(&q);
        item.metric = item.has_metric ? db_col_f64(&q) : 0;
        is_whole = vec_push(&found, item);
    }
    if (is_whole && !q.status)
        copy = arena_array(mem, struct checkpoint_keep_item, found.count + 1);
    if (copy && found.count)
        memcpy(copy, found.at, found.count * sizeof(*copy));
    *ret_items = (struct items){copy, found.count};
    vec_done(&found);
    if (q.status)
        return q.status;
    return copy ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status judge_trial(struct db *db, const struct scope *scope,
                              int64_t trial_id, struct arena *mem,
                              struct items *ret_items, struct err *err)
{
    struct checkpoint_keep_trial trial = {0};
    det_status st = load_trial(db, trial_id, mem, &trial, err);

    if (!st)
        st = load_items(db, trial_id, mem, ret_items, err);
    if (!st)
        checkpoint_keep_judge(&scope->policy, &trial, ret_items->at, ret_items->count);
    return st;
}

static det_status remove_one(struct db *db, const struct scope *scope, const char *uuid,
                             int64_t now_us, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query going = db_query(db, &collect_sql[CHECKPOINT_GOING], err);
    CLEANUP(db_query_done)
    struct db_query add = db_query(db, &collect_sql[REMOVAL_ADD], err);

    db_bind_str(&going, uuid);
    if (db_run(&going))
        return going.status;
    if (!db_changes(db))
        return DET_OK;
    db_bind_str(&add, uuid);
    db_bind_str(&add, scope->resource_pool);
    db_bind_bool(&add, scope->is_shared);
    db_bind_i64(&add, now_us);
    return db_run(&add);
}

static det_status collect_one(struct db *db, const struct scope *scope,
                              int64_t trial_id, int64_t now_us, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(CONFIG_MEM);
    struct items items = {0};
    det_status st = judge_trial(db, scope, trial_id, &mem, &items, err);

    for (size_t i = 0; i < items.count && !st; i++)
        if (items.at[i].may_go)
            st = remove_one(db, scope, items.at[i].uuid, now_us, err);
    return st;
}

/* ---- steps ----------------------------------------------------------------------- */

static det_status first_due(struct db *db, int64_t *ret_experiment, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_FIRST], err);

    *ret_experiment = 0;
    if (db_next(&q))
        *ret_experiment = db_col_i64(&q);
    return q.status;
}

static det_status due_trials(struct db *db, int64_t experiment_id, struct arena *mem,
                             struct field_i64s *ret_trials, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_TRIALS], err);

    db_bind_i64(&q, experiment_id);
    db_bind_i64(&q, TRIALS_AT_ONCE);
    return numbers_get(&q, mem, ret_trials);
}

static det_status trial_done(struct db *db, int64_t experiment_id, int64_t trial_id,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_TRIAL_DONE], err);

    db_bind_i64(&q, experiment_id);
    db_bind_i64(&q, trial_id);
    return db_run(&q);
}

static det_status collect_trials(struct db *db, int64_t experiment_id,
                                 const struct collect_place *place, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(CONFIG_MEM);
    struct field_i64s trials = {0};
    struct scope scope;
    det_status st = scope_open(db, experiment_id, place, &mem, &scope, err);

    if (st)
        return st;
    if (!scope.is_there || scope.is_deleting)
        return run_with_id(db, &collect_sql[COLLECT_FORGET], experiment_id, err);
    st = refresh_top(db, &scope, err); /* first: it may note some of these trials */
    if (!st)
        st = due_trials(db, experiment_id, &mem, &trials, err);
    for (size_t i = 0; i < trials.count && !st; i++) {
        st = collect_one(db, &scope, trials.at[i], place->now_us, err);
        if (!st)
            st = trial_done(db, experiment_id, trials.at[i], err);
    }
    return st;
}

/* Finds the last of the next trials after `after`; 0: there are none. */
static det_status next_trials(struct db *db, int64_t experiment_id, int64_t after,
                              int64_t *ret_upto, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_EXPERIMENT_NEXT], err);

    db_bind_i64(&q, experiment_id);
    db_bind_i64(&q, after);
    db_bind_i64(&q, TRIALS_MOVED);
    *ret_upto = 0;
    if (db_next(&q) && !db_col_is_null(&q))
        *ret_upto = db_col_i64(&q);
    return q.status;
}

static det_status note_trials(struct db *db, int64_t experiment_id, int64_t after,
                              int64_t upto, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query move = db_query(db, &collect_sql[COLLECT_EXPERIMENT_MOVE], err);
    CLEANUP(db_query_done)
    struct db_query mark = db_query(db, &collect_sql[COLLECT_EXPERIMENT_MARK], err);

    db_bind_i64(&move, experiment_id);
    db_bind_i64(&move, after);
    db_bind_i64(&move, upto);
    if (db_run(&move))
        return move.status;
    db_bind_i64(&mark, experiment_id);
    db_bind_i64(&mark, upto);
    return db_run(&mark);
}

static det_status spread_experiment(struct db *db, int64_t *ret_experiment,
                                    struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_EXPERIMENT_FIRST], err);
    int64_t experiment_id, after, upto;
    det_status st;

    if (!db_next(&q))
        return q.status;
    experiment_id = db_col_i64(&q);
    after = db_col_i64(&q);
    if (q.status)
        return q.status;
    *ret_experiment = experiment_id;
    st = next_trials(db, experiment_id, after, &upto, err);
    if (st)
        return st;
    if (!upto)
        return run_with_id(db, &collect_sql[COLLECT_EXPERIMENT_DONE], experiment_id,
                           err);
    return note_trials(db, experiment_id, after, upto, err);
}

det_status store_collect_step(struct db *db, const struct collect_place *place,
                              int64_t *ret_experiment, struct err *err)
{
    det_status st;

    *ret_experiment = 0;
    st = first_due(db, ret_experiment, err);
    if (st)
        return st;
    if (*ret_experiment)
        return collect_trials(db, *ret_experiment, place, err);
    return spread_experiment(db, ret_experiment, err);
}

/* ---- preview --------------------------------------------------------------------- */

static det_status load_top(struct db *db, const struct scope *scope, struct arena *mem,
                           struct map *ret_top, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q =
        db_query(db, &collect_sql[TOP_SMALLER + !scope->policy.smaller_is_better], err);

    db_bind_i64(&q, scope->experiment_id);
    db_bind_i64(&q, scope->policy.experiment_best);
    while (db_next(&q)) {
        char *uuid = arena_strdup(mem, db_col_str(&q, mem));

        if (!uuid || !smap_put(ret_top, uuid, uuid))
            return err_default(err, DET_NOMEM);
    }
    return q.status;
}

static det_status trials_with_some(struct db *db, int64_t experiment_id,
                                   struct arena *mem, struct field_i64s *ret_trials,
                                   struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_WITH_SOME], err);

    db_bind_i64(&q, experiment_id);
    return numbers_get(&q, mem, ret_trials);
}

typedef VEC(const char *) names_vec;

static det_status preview_trial(struct db *db, const struct scope *scope,
                                int64_t trial_id, const struct map *top,
                                names_vec *names, struct arena *mem, struct err *err)
{
    struct checkpoint_keep_trial trial = {0};
    struct items items = {0};
    det_status st = load_trial(db, trial_id, mem, &trial, err);

    if (!st)
        st = load_items(db, trial_id, mem, &items, err);
    if (st)
        return st;
    for (size_t i = 0; i < items.count; i++)
        items.at[i].is_top = smap_get(top, items.at[i].uuid) != NULL;
    checkpoint_keep_judge(&scope->policy, &trial, items.at, items.count);
    for (size_t i = 0; i < items.count; i++)
        if (items.at[i].may_go && !vec_push(names, items.at[i].uuid))
            return err_default(err, DET_NOMEM);
    return DET_OK;
}

static void apply_preview(struct checkpoint_keep_policy *policy,
                          const struct collect_preview *in)
{
    if (in->save_experiment_best >= 0)
        policy->experiment_best = (uint32_t)MIN(in->save_experiment_best, UINT32_MAX);
    if (in->save_trial_best >= 0)
        policy->trial_best = (uint32_t)MIN(in->save_trial_best, UINT32_MAX);
    if (in->save_trial_latest >= 0)
        policy->trial_latest = (uint32_t)MIN(in->save_trial_latest, UINT32_MAX);
}

det_status store_collect_preview(struct db *db, int64_t experiment_id,
                                 const struct collect_preview *policy,
                                 struct arena *mem, struct field_strs *ret_uuids,
                                 struct err *err)
{
    struct collect_place nowhere = {0};
    struct field_i64s trials = {0};
    struct map top = {0};
    names_vec names = {0};
    struct scope scope;
    det_status st = scope_open(db, experiment_id, &nowhere, mem, &scope, err);

    apply_preview(&scope.policy, policy);
    if (!st && scope.is_there)
        st = load_top(db, &scope, mem, &top, err);
    if (!st && scope.is_there)
        st = trials_with_some(db, experiment_id, mem, &trials, err);
    for (size_t i = 0; i < trials.count && !st; i++)
        st = preview_trial(db, &scope, trials.at[i], &top, &names, mem, err);
    if (!st) {
        ret_uuids->count = names.count;
        ret_uuids->at = arena_array(mem, const char *, names.count + 1);
        if (!ret_uuids->at)
            st = err_default(err, DET_NOMEM);
        else if (names.count)
            memcpy(ret_uuids->at, names.at, names.count * sizeof(*names.at));
    }
    map_done(&top);
    vec_done(&names);
    return st;
}

/* ---- by hand --------------------------------------------------------------------- */

struct standing {
    const char *state;
    int64_t experiment_id;
    int64_t resumed_by; /* a live trial; 0: none */
};

static det_status standing_of(struct db *db, const char *uuid, struct arena *mem,
                              struct standing *ret_standing, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[CHECKPOINT_STATE], err);

    db_bind_str(&q, uuid);
    if (!db_next(&q))
        return q.status
                   ? q.status
                   : err_set(err, DET_NOT_FOUND, "checkpoint '%s' not found", uuid);
    ret_standing->state = db_col_str(&q, mem);
    ret_standing->experiment_id = db_col_i64(&q);
    ret_standing->resumed_by = db_col_is_null(&q) ? 0 : db_col_i64(&q);
    return q.status;
}

det_status store_checkpoint_hold(struct db *db, const char *uuid, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[CHECKPOINT_HOLD], err);
    struct standing standing = {0};
    det_status st;

    db_bind_str(&q, uuid);
    if (db_run(&q))
        return q.status;
    if (db_changes(db))
        return DET_OK;
    st = standing_of(db, uuid, &mem, &standing, err);
    if (st)
        return st;
    return err_set(err, DET_STATE, "no trial can begin from checkpoint '%s': it is %s",
                   uuid,
                   strcmp(standing.state, "COMPLETED") ? standing.state
                                                       : "deleted with its experiment");
}

static bool is_going(const struct standing *standing)
{
    return !strcmp(standing->state, "DELETING") || !strcmp(standing->state, "DELETED");
}

static det_status may_remove(const struct standing *standing, const char *uuid,
                             struct err *err)
{
    if (is_going(standing) || !standing->resumed_by)
        return DET_OK;
    return err_set(err, DET_STATE,
                   "checkpoint '%s' cannot be deleted: trial %" PRId64
                   " is not over and would resume from it",
                   uuid, standing->resumed_by);
}

det_status store_checkpoint_may_remove(struct db *db, const char *uuid, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct standing standing = {0};
    det_status st = standing_of(db, uuid, &mem, &standing, err);

    return st ? st : may_remove(&standing, uuid, err);
}

det_status store_checkpoint_remove(struct db *db, const char *uuid,
                                   const struct collect_place *place, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(CONFIG_MEM);
    struct standing standing = {0};
    struct scope scope = {0};
    det_status st = standing_of(db, uuid, &mem, &standing, err);

    if (!st)
        st = may_remove(&standing, uuid, err);
    if (!st)
        st = scope_open(db, standing.experiment_id, place, &mem, &scope, err);
    if (!st && !scope.is_there)
        st = err_set(err, DET_UNSUPPORTED,
                     "checkpoint '%s' does not lie in a directory: remove it by hand",
                     uuid);
    return st ? st : remove_one(db, &scope, uuid, place->now_us, err);
}

static det_status rest_of(struct db *db, int64_t experiment_id, struct arena *mem,
                          names_vec *ret_names, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &collect_sql[COLLECT_REST], err);

    db_bind_i64(&q, experiment_id);
    db_bind_i64(&q, REMOVED_AT_ONCE);
    while (db_next(&q))
        if (!vec_push(ret_names, db_col_str(&q, mem)))
            return err_default(err, DET_NOMEM);
    return q.status;
}

det_status store_experiment_remove_step(struct db *db, int64_t experiment_id,
                                        const struct collect_place *place,
                                        bool *ret_did, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(CONFIG_MEM);
    struct scope scope = {0};
    names_vec names = {0};
    det_status st = scope_open(db, experiment_id, place, &mem, &scope, err);

    if (!st && !scope.is_there)
        st = err_set(err, DET_UNSUPPORTED,
                     "its checkpoints do not lie in a directory, and are not removed");
    if (!st)
        st = rest_of(db, experiment_id, &mem, &names, err);
    for (size_t i = 0; i < names.count && !st; i++)
        st = remove_one(db, &scope, names.at[i], place->now_us, err);
    *ret_did = !st && names.count > 0;
    vec_done(&names);
    return st;
}
