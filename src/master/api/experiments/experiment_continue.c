/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_continue.c - continues an experiment that has ended, perhaps with changes.
 *
 *   rows, overrides --> configuration --> checkpoints are held --> event to the heart
 *
 * The rows may be outdated when the heart applies the event.  Then the heart refuses it, or
 * the store does at the commit (core/continue.c), and nothing changes.  A checkpoint that a
 * trial continues from is held for good, like every checkpoint that a trial starts from: it
 * must not be collected before the heart knows about it. */
#include "master/api/experiments/experiment_continue.h"

#include <inttypes.h>
#include <string.h>

#include "config/config_load.h"
#include "config/config_report.h"
#include "config/experiment_config.h"
#include "config/merge.h"
#include "data/json/json.h"
#include "data/json/json_index.h"
#include "data/yaml/yaml.h"
#include "master/api/api.h"
#include "master/api/experiments/experiment_create.h"
#include "master/api/submit.h"
#include "master/request/access.h"
#include "master/storage_roots.h"
#include "store/checkpoint/collect.h"
#include "store/experiment/experiment.h"
#include "store/experiment/experiment_continue.h"
#include "store/store.h"
#include "wire/bodies.h"

struct continue_state {
    struct experiment_view view;
    struct trial *past;
    uint32_t past_count;
    const struct json *over; /* the changes; an object */
    struct experiment_config config;
    bool is_single;
};

/* ---- the changes ---------------------------------------------------------------- */

static det_status read_override(struct request *req, const char *text,
                                const struct json **ret_over)
{
    struct json *over = NULL;
    det_status st = DET_OK;

    if (text && *text)
        st = yaml_parse(text, strlen(text), "overrideConfig", &req->mem, &over,
                        req->err);
    if (st)
        return st;
    if (json_is_null(over))
        over = json_new(&req->mem, JSON_OBJECT);
    if (!over)
        return err_default(req->err, DET_NOMEM);
    if (over->kind != JSON_OBJECT)
        return err_set(req->err, DET_INVALID,
                       "overrideConfig is %s; expected keys and values",
                       json_kind_name(over->kind));
    *ret_over = over;
    return DET_OK;
}

/* Refuses changes that would make it another experiment. */
static det_status check_override(struct request *req,
                                 const struct continue_state *state)
{
    static const char *const fixed[] = {"project", "workspace",
                                        "searcher.source_trial_id",
                                        "searcher.source_checkpoint_uuid"};

    if (!state->is_single && state->over->list.count)
        return err_set(req->err, DET_INVALID,
                       "experiment %" PRId64 " is a %s search, which continues without "
                       "changes; only a single trial can be continued with changes",
                       state->view.row.id, state->view.searcher_type);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (json_path(state->over, fixed[i]))
            return err_set(req->err, DET_INVALID,
                           "%s cannot change when an experiment is continued",
                           fixed[i]);
    return DET_OK;
}

/* `over` wins.  A hyperparameter with a new type, and a length, replace the old one as a
 * whole, because the keys of one kind are invalid in another. */
static struct json *merge_changes(struct arena *mem, const struct json *over,
                                  const struct json *base)
{
    struct json *merged = config_merge(mem, over, base);
    struct json *length = json_path(over, "searcher.max_length");
    struct json *space = json_get(merged, "hyperparameters");
    CLEANUP(json_index_done) struct json_index index = {0};

    if (merged && length)
        json_set(mem, json_get(merged, "searcher"), "max_length",
                 json_copy(mem, length));
    json_index_init(&index, space, SIZE_MAX);
    json_each(hparam, json_get(over, "hyperparameters"))
        if (json_get(hparam, "type"))
            json_replace(json_index_get(&index, hparam->key), json_copy(mem, hparam));
    return merged;
}

static det_status check_config(struct request *req, const struct continue_state *state)
{
    const struct experiment_config *config = &state->config;
    const char *metric = state->view.searcher_metric;

    if (strcmp(config->searcher_name, state->view.searcher_type) != 0)
        return err_set(
            req->err, DET_INVALID,
            "searcher.name cannot change when an experiment is continued: it "
            "is '%s'",
            state->view.searcher_type);
    if (strcmp(config->metric ? config->metric : "", metric ? metric : "") != 0 ||
        config->smaller_is_better != state->view.smaller_is_better)
        return err_set(
            req->err, DET_INVALID,
            "searcher.metric and searcher.smaller_is_better cannot change "
            "when an experiment is continued: its validations were ranked by "
            "them");
    return DET_OK;
}

static det_status load_config(struct request *req, struct continue_state *state,
                              struct config_report *report)
{
    struct master *master = req->master;
    struct experiment_defaults defaults = {
        .checkpoint_directory = master->checkpoint_directory,
        .name = state->view.name,
    };
    const char *text = state->view.row.config;
    struct json *base = NULL;
    struct json *merged = NULL;
    det_status st = json_parse(text, strlen(text), &req->mem, &base, req->err);

    if (st)
        return st;
    if (!state->over->list.count) {
        st = experiment_config_open(text, strlen(text), &req->mem, &state->config,
                                    req->err);
        return st ? st
                  : storage_roots_check(master, &state->config, &req->mem, req->err);
    }
    merged = merge_changes(&req->mem, state->over, base);
    if (!merged || req->mem.has_failed)
        return err_default(req->err, DET_NOMEM);
    st = experiment_config_load_tree(merged, &defaults, &req->mem, report,
                                     &state->config, req->err);
    if (!st)
        st = storage_roots_check(master, &state->config, &req->mem, req->err);
    if (st)
        return err_prefix(req->err, "invalid experiment configuration");
    st = submit_check_size("DET_EXPERIMENT_CONFIG", state->config.json, req->err);
    return st ? st : check_config(req, state);
}

/* The submitted text with the changes; a fork starts from it. */
static det_status merge_original(struct request *req, struct continue_state *state)
{
    CLEANUP(buf_done) struct buf yaml = BUF_INIT;
    const char *text = state->view.row.original_config;
    struct json *base = NULL;
    struct json *merged;
    det_status st;

    if (!state->over->list.count || !text)
        return DET_OK;
    st = yaml_parse(text, strlen(text), NULL, &req->mem, &base, req->err);
    if (st)
        return st;
    merged = merge_changes(&req->mem, state->over, base);
    if (!merged)
        return err_default(req->err, DET_NOMEM);
    yaml_write(&yaml, merged);
    state->view.row.original_config =
        yaml.status ? NULL : arena_strndup(&req->mem, yaml.data, yaml.len);
    return state->view.row.original_config ? DET_OK : err_default(req->err, DET_NOMEM);
}

/* ---- the event -------------------------------------------------------------------- */

static det_status submit_continued(struct request *req)
{
    struct continue_state *state = req->state;
    struct core_event event = {.kind = EVENT_EXPERIMENT_CONTINUED};
    const struct json *over = state->over;

    state->view.row.config = state->config.json;
    state->view.row.starter_id = req->caller.user_id;
    event.continued.row = &state->view.row;
    event.continued.past = state->past;
    event.continued.past_count = state->past_count;
    event.continued.takes_resources = json_get(over, "resources") != NULL;
    if (json_get(over, "name"))
        event.continued.name = state->config.name;
    if (json_get(over, "description"))
        event.continued.description = state->config.description;
    if (json_get(over, "labels"))
        event.continued.labels = json_text(&req->mem, state->config.labels);
    if (req->mem.has_failed)
        return err_default(req->err, DET_NOMEM);
    return request_event(req, &event, experiment_create_reply_created);
}

static det_status hold_past(struct write_job *job, struct db *db, struct err *err)
{
    const struct continue_state *state = REQUEST_OF(job)->state;
    det_status st = DET_OK;

    for (uint32_t i = 0; i < state->past_count && !st; i++) {
        const struct trial *trial = &state->past[i];

        if (trial->latest_checkpoint &&
            (state->is_single || trial->state != TRIAL_COMPLETED))
            st = store_checkpoint_hold(db, trial->latest_checkpoint, err);
    }
    return st;
}

static det_status read_rows(struct request *req, int64_t id,
                            struct continue_state *state)
{
    struct experiment *row = &state->view.row;
    det_status st =
        store_experiment_get(req->db, id, &req->mem, &state->view, req->err);

    if (st)
        return st;
    if (state->view.is_unmanaged)
        return err_set(req->err, DET_STATE,
                       "experiment %" PRId64 " cannot be continued: it was not run "
                       "here; create one that starts from its checkpoint instead "
                       "('det experiment create --checkpoint')",
                       row->id);
    if (!experiment_is_terminal(row->state) || row->state > EXPERIMENT_ERROR)
        return err_set(req->err, DET_STATE,
                       "experiment %" PRId64 " cannot be continued: it is %s; it must "
                       "be COMPLETED, CANCELED or ERROR",
                       row->id, experiment_state_names[row->state]);
    state->is_single = !strcmp(state->view.searcher_type, "single");
    return store_experiment_past(req->db, id, &req->mem, &state->past,
                                 &state->past_count, req->err);
}

/* ---- a check without an event ---------------------------------------------------------------- */

static det_status check_changes(struct request *req, const char *changes,
                                struct config_report *report,
                                struct continue_state *state)
{
    struct json *over = NULL;
    det_status st = config_parse(changes, strlen(changes), report, &over, req->err);

    if (!st && !json_is_null(over) && over->kind == JSON_OBJECT)
        state->over = over;
    else if (!st) /* not a map: the same error as on submission */
        st = read_override(req, changes, &state->over);
    if (!st)
        st = check_override(req, state);
    return st ? st : load_config(req, state, report);
}

det_status experiment_continue_check(struct request *req, int64_t id,
                                     const char *changes, struct config_report *report,
                                     struct experiment_config *ret_config)
{
    struct continue_state *state = arena_new(&req->mem, struct continue_state);
    det_status st;

    if (!state)
        return err_default(req->err, DET_NOMEM);
    st = read_rows(req, id, state);
    if (st)
        return st;
    st = check_changes(req, changes, report, state);
    if ((st == DET_INVALID || st == DET_TOO_LARGE) && !report->errors)
        config_report_error(report, NULL, "", "%s", req->err->text);
    *ret_config = state->config;
    return st;
}

/* ---- the call -------------------------------------------------------------------- */

det_status api_continue_experiment(struct request *req)
{
    const struct continue_experiment_body *body = req->body;
    struct config_report report = CONFIG_REPORT(&req->mem, NULL);
    struct continue_state *state = arena_new(&req->mem, struct continue_state);
    det_status st;

    if (!state)
        return err_default(req->err, DET_NOMEM);
    st = access_check_id(req, ROUTE_OBJECT_experiment, body->id);
    if (!st)
        st = read_rows(req, body->id, state);
    if (!st)
        st = read_override(req, body->override_config, &state->over);
    if (!st)
        st = check_override(req, state);
    if (!st)
        st = load_config(req, state, &report);
    if (!st)
        st = merge_original(req, state);
    if (st)
        return st;
    req->state = state;
    return request_write(req, hold_past, submit_continued);
}
