/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_removals.c - deletes checkpoints on demand, previews a policy, and serves the
 * two calls by which agents fetch removals and report results; see
 * master/background/collector.h. */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/rng.h"
#include "config/experiment_config.h"
#include "master/api/api.h"
#include "master/background/collector.h"
#include "master/background/janitor.h"
#include "master/changes/change_notes.h"
#include "master/request/access.h"
#include "master/rm/run_user.h"
#include "master/storage_roots.h"
#include "store/checkpoint/checkpoint.h"
#include "store/checkpoint/collect.h"
#include "store/checkpoint/removal.h"
#include "store/experiment/experiment.h"
#include "store/metric/metric_rows.h"
#include "store/store.h"
#include "store/task/agent.h"
#include "wire/bodies.h"
#include "wire/queries.h"

enum {
    REMOVALS_AT_ONCE = 100, /* approximately */
    SENTENCE_MOST = 500,
};
static const int64_t sweep_again_us = (int64_t)600 * 1000000;

/* ---- on demand ------------------------------------------------------------------- */

/* Some per job, so a long list does not block the writer. */
static det_status write_deletion(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct collect_place place = collector_place(req->master);
    const struct json *item = req->state;

    for (uint32_t i = 0; item && i < REMOVALS_AT_ONCE; i++, item = item->next) {
        det_status st = store_checkpoint_remove(db, json_str(item, ""), &place, err);

        if (st)
            return st;
    }
    req->state = (void *)(uintptr_t)item;
    return DET_OK;
}

static det_status continue_deletion(struct request *req)
{
    collector_wake(req->master->collector);
    if (req->state)
        return request_write(req, write_deletion, continue_deletion);
    change_notes_checkpoints(req, json_first(json_find(req->tree, "checkpointUuids")),
                             UINT32_MAX);
    return DET_OK;
}

static det_status check_deletion(struct request *req)
{
    json_each(item, json_find(req->tree, "checkpointUuids")) {
        const char *uuid = json_str(item, "");
        det_status st;

        if (!uuid_is_valid(uuid))
            return err_set(req->err, DET_INVALID, "'%.100s' is not a checkpoint's uuid",
                           uuid);
        st = access_check(req, ROUTE_OBJECT_checkpoint, uuid);
        if (!st)
            st = store_checkpoint_may_remove(req->db, uuid, req->err);
        if (st == DET_NOT_FOUND) /* the reference says 400 */
            return err_set(req->err, DET_INVALID, "checkpoint '%s' not found", uuid);
        if (st)
            return st;
    }
    return DET_OK;
}

static det_status begin_deletion(struct request *req)
{
    req->state = json_first(json_find(req->tree, "checkpointUuids"));
    return continue_deletion(req);
}

static det_status recheck_deletion(struct request *req)
{
    det_status st = check_deletion(req);

    return st ? st : begin_deletion(req);
}

/* A checkpoint that a trial would resume from cannot be deleted.  A newer one may wait in
 * the journal, so the heart gets an empty event: it reads the journal first.  Then the check
 * runs again. */
det_status api_delete_checkpoints(struct request *req)
{
    const struct core_event nothing = {.kind = EVENT_TICK};
    const struct json *list = json_find(req->tree, "checkpointUuids");
    det_status st;

    if (!list || list->kind != JSON_ARRAY)
        return err_set(req->err, DET_INVALID, "the body needs a list checkpointUuids");
    access_names_nothing(req); /* until check_deletion() finds a name */
    st = check_deletion(req);
    if (st == DET_STATE)
        return request_event(req, &nothing, recheck_deletion);
    return st ? st : begin_deletion(req);
}

/* ---- preview of a policy ------------------------------------------------ */

static det_status render_previewed(struct request *req, const char *uuid)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct json_writer *w = &req->w;
    struct json *metrics = NULL;
    struct checkpoint row;
    char state[64];
    det_status st = store_checkpoint_get(req->db, uuid, &mem, &row, req->err);

    if (!st)
        st = store_metric_at(req->db, row.trial_id, "validation", row.steps_completed,
                             &mem, &metrics, req->err);
    if (st)
        return st;
    snprintf(state, sizeof(state), "STATE_%s", checkpoint_wire_state(row.state));
    jw_object(w, NULL);
    jw_i64(w, "TrialID", row.trial_id);
    jw_i64(w, "StepsCompleted", row.steps_completed);
    jw_str(w, "State", state);
    if (metrics) {
        jw_object(w, "ValidationMetrics");
        jw_json(w, "validation_metrics", metrics);
        jw_end_object(w);
    } else {
        jw_null(w, "ValidationMetrics");
    }
    jw_str(w, "UUID", row.uuid);
    jw_raw(w, "Resources", row.resources);
    jw_time(w, "ReportTime", row.report_us);
    jw_end_object(w);
    return DET_OK;
}

det_status api_preview_gc(struct request *req)
{
    const struct preview_gc_query *in = req->query;
    struct collect_preview policy = {
        in->has_save_experiment_best ? in->save_experiment_best : -1,
        in->has_save_trial_best ? in->save_trial_best : -1,
        in->has_save_trial_latest ? in->save_trial_latest : -1};
    struct experiment_view view;
    struct field_strs uuids;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_experiment_get(req->db, id, &req->mem, &view, req->err);
    if (!st)
        st = store_collect_preview(req->db, id, &policy, &req->mem, &uuids, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "checkpoints");
    for (size_t i = 0; i < uuids.count && !st; i++)
        st = render_previewed(req, uuids.at[i]);
    jw_end_array(&req->w);
    jw_str(&req->w, "metric_name", view.searcher_metric ? view.searcher_metric : "");
    jw_end_object(&req->w);
    return st;
}

/* ---- removals for an agent -------------------------------------------------- */

/* The checkpoint directory of the last experiment looked up. */
struct storage_place {
    int64_t experiment_id;
    const char *directory; /* NULL: unknown */
    struct storage_root root;
    struct run_user user;
    const char *refused; /* why nothing is removed there; NULL: it may be */
};

static det_status find_place(struct request *req, int64_t experiment_id,
                             struct storage_place *place)
{
    struct experiment_config config;
    struct experiment_view view;
    det_status st;

    if (place->experiment_id == experiment_id)
        return DET_OK;
    *place = (struct storage_place){.experiment_id = experiment_id};
    st = store_experiment_get(req->db, experiment_id, &req->mem, &view, req->err);
    if (!st)
        st = experiment_config_open(view.row.config, strlen(view.row.config), &req->mem,
                                    &config, req->err);
    if (st == DET_NOMEM)
        return st;
    if (st || !config.storage_directory)
        return DET_OK;
    st = run_user_of_experiment(req->master, req->db, &view, &req->mem, &place->user,
                                req->err);
    if (st)
        return st;
    place->directory = config.storage_directory;
    if (storage_roots_find(req->master, place->directory, &req->mem, &place->root,
                           req->err))
        place->refused = arena_strdup(&req->mem, req->err->text);
    return DET_OK;
}

/* The agent removes with the rights of the experiment's tasks, below the root. */
static void write_place(struct request *req, const struct storage_place *place)
{
    jw_str(&req->w, "directory", place->directory);
    if (!place->directory)
        return;
    if (place->refused) {
        jw_str(&req->w, "refused", place->refused);
        return;
    }
    jw_str(&req->w, "root", place->root.root);
    jw_str(&req->w, "below", place->root.below);
    run_user_write(&req->w, &place->user);
}

static det_status render_removals(struct request *req,
                                  const struct removal_group *group,
                                  uint32_t *ret_shown)
{
    struct storage_place place = {0};
    struct removal *rows;
    uint32_t count;
    det_status st = store_removals_of(req->db, group, master_now_us(req->master),
                                      &req->mem, &rows, &count, req->err);

    if (st)
        return st;
    *ret_shown += count;
    for (uint32_t i = 0; i < count && !st; i++) {
        st = find_place(req, rows[i].experiment_id, &place);
        if (st || !place.directory)
            continue;
        jw_object(&req->w, NULL);
        jw_str(&req->w, "uuid", rows[i].uuid);
        write_place(req, &place);
        jw_end_object(&req->w);
    }
    return st;
}

static det_status render_sweeps(struct request *req)
{
    struct storage_place place = {0};
    struct sweep *rows;
    uint32_t count;
    det_status st = store_sweeps_of(req->db, req->arg[0], master_now_us(req->master),
                                    &req->mem, &rows, &count, req->err);

    if (st)
        return st;
    jw_array(&req->w, "sweeps");
    for (uint32_t i = 0; i < count && !st; i++) {
        st = find_place(req, rows[i].experiment_id, &place);
        if (st)
            continue;
        jw_object(&req->w, NULL);
        jw_i64(&req->w, "trial", rows[i].trial_id);
        jw_i64(&req->w, "run", rows[i].run_id);
        write_place(req, &place);
        jw_end_object(&req->w);
    }
    jw_end_array(&req->w);
    jw_str(&req->w, "cluster", req->master->cluster_id);
    return st;
}

static det_status find_pool(struct request *req, const char **ret_pool)
{
    struct agent *rows;
    uint32_t count;
    det_status st = store_agent_list(req->db, &req->mem, &rows, &count, req->err);

    if (st)
        return st;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(rows[i].name, req->arg[0])) {
            *ret_pool = rows[i].resource_pool;
            return DET_OK;
        }
    return err_set(req->err, DET_NOT_FOUND, "agent '%s' not found", req->arg[0]);
}

det_status api_agent_removals(struct request *req)
{
    struct removal_group *groups;
    const char *pool = NULL;
    uint32_t count, shown = 0;
    det_status st = find_pool(req, &pool);

    if (!st)
        st = store_removal_groups(req->db, master_now_us(req->master), &req->mem,
                                  &groups, &count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "removals");
    for (uint32_t i = 0; i < count && !st && shown < REMOVALS_AT_ONCE; i++)
        if (collector_may(req->master, req->arg[0], pool, &groups[i]))
            st = render_removals(req, &groups[i], &shown);
    jw_end_array(&req->w);
    if (!st)
        st = render_sweeps(req);
    jw_end_object(&req->w);
    return st;
}

/* ---- results of an agent ----------------------------------------------------- */

static det_status write_result(struct request *req, struct db *db,
                               const struct json *item, struct err *err)
{
    const char *uuid = json_str(json_find(item, "uuid"), "");
    const char *error = json_str(json_find(item, "error"), NULL);
    char sentence[SENTENCE_MOST];
    bool is_news = false;
    det_status st;

    if (!error)
        return store_removal_done(db, uuid, err);
    snprintf(sentence, sizeof(sentence), "agent %s: %s", req->arg[0], error);
    st = store_removal_failed(db, uuid, sentence, master_now_us(req->master), &is_news,
                              err);
    if (!st && is_news)
        log_warn("checkpoint %s could not be removed, retrying later: %s", uuid,
                 sentence);
    return st;
}

static det_status write_results(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    det_status st;

    json_each(item, json_find(req->tree, "results")) {
        st = write_result(req, db, item, err);
        if (st)
            return st;
    }
    json_each(item, json_find(req->tree, "swept")) {
        struct sweep sweep = {.agent = req->arg[0],
                              .trial_id = json_i64(json_find(item, "trial"), 0),
                              .run_id = json_i64(json_find(item, "run"), 0)};

        if (!json_is_null(json_find(item, "error")))
            sweep.next_us = master_now_us(req->master) + sweep_again_us;
        st = store_sweep_done(db, &sweep, err);
        if (st)
            return st;
    }
    return DET_OK;
}

static det_status results_written(struct request *req)
{
    janitor_wake(
        req->master->janitor); /* a deleted experiment may wait for its files */
    collector_wake(req->master->collector);
    change_notes_checkpoints(req, json_first(json_find(req->tree, "results")),
                             UINT32_MAX);
    return DET_OK;
}

det_status api_agent_removed(struct request *req)
{
    const struct json *results = json_find(req->tree, "results");

    if (!results || results->kind != JSON_ARRAY)
        return err_set(req->err, DET_INVALID, "the body needs a list of results");
    json_each(item, results)
        if (!uuid_is_valid(json_str(json_find(item, "uuid"), "")))
            return err_set(req->err, DET_INVALID, "a result needs a checkpoint's uuid");
    return request_write(req, write_results, results_written);
}
