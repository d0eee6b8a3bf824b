/* SPDX-License-Identifier: Apache-2.0 */
/* config_check.c - checks a configuration without submitting it.
 *
 * The text takes the same path through config/ as a submitted file, so the problems are
 * those of `det experiment create`, word for word.  A text with only the changes for a
 * continued experiment is merged first (experiment_continue.c); problems of the changes have
 * line numbers, other problems have none. */
#include <string.h>

#include "config/config_report.h"
#include "config/experiment_config.h"
#include "config/job_config.h"
#include "data/json/json.h"
#include "data/yaml/yaml.h"
#include "master/api/api.h"
#include "master/api/experiments/experiment_continue.h"
#include "master/request/access.h"
#include "master/storage_roots.h"
#include "search/preview.h"
#include "search/searcher.h"
#include "wire/page_bodies.h"

/* The result for both kinds of configuration. */
struct checked {
    const struct json *tree;
    const struct json *searcher; /* NULL: there is none */
    const struct json *hyperparameters;
};

static det_status check_experiment(struct request *req, const char *text,
                                   struct config_report *report,
                                   struct checked *ret_checked)
{
    struct master *master = req->master;
    const struct experiment_defaults defaults = {
        .checkpoint_storage =
            json_is_null(json_get(master->config, "checkpoint_storage"))
                ? NULL
                : json_get(master->config, "checkpoint_storage"),
        .checkpoint_directory = master->checkpoint_directory,
        .task_container_defaults = json_get(master->config, "task_container_defaults"),
        .name = "experiment",
    };
    struct experiment_config config = {0};
    det_status st = experiment_config_load(text, strlen(text), &defaults, &req->mem,
                                           report, &config, req->err);

    *ret_checked =
        (struct checked){config.tree, config.searcher, config.hyperparameters};
    if (!st) {
        struct err err = {0};

        st = storage_roots_check(master, &config, &req->mem, &err);
        if (st)
            config_report_error(report, NULL, "checkpoint_storage", "%s",
                                err.text + strcspn(err.text, " ") + 1);
        st = st ? config_report_status(report, req->err) : DET_OK;
    }
    return st;
}

static det_status check_job(struct request *req, const char *text,
                            struct config_report *report, struct checked *ret_checked)
{
    const struct job_defaults defaults = {
        .task_container_defaults =
            json_get(req->master->config, "task_container_defaults"),
        .name = "job",
    };
    struct job_config config = {0};
    det_status st = job_config_load(text, strlen(text), &defaults, &req->mem, report,
                                    &config, req->err);

    ret_checked->tree = config.tree;
    return st;
}

static det_status check_text(struct request *req, struct config_report *report,
                             struct checked *ret_checked)
{
    const struct check_body *body = req->body;
    const char *kind = body->kind ? body->kind : "experiment";
    struct experiment_config config = {0};
    det_status st;

    if (body->continues && strcmp(kind, "experiment") != 0)
        return err_set(req->err, DET_INVALID, "only an experiment can be continued");
    if (body->continues) {
        st = access_check_id(req, ROUTE_OBJECT_experiment, body->continues);
        if (!st)
            st = experiment_continue_check(req, body->continues, body->config, report,
                                           &config);
        *ret_checked =
            (struct checked){config.tree, config.searcher, config.hyperparameters};
        return st;
    }
    access_names_nothing(req);
    if (!strcmp(kind, "experiment"))
        return check_experiment(req, body->config, report, ret_checked);
    if (!strcmp(kind, "job"))
        return check_job(req, body->config, report, ret_checked);
    return err_set(req->err, DET_INVALID,
                   "kind is '%s'; expected 'experiment' or 'job'", kind);
}

/* ---- the answer ------------------------------------------------------------------ */

static void render_problem(struct json_writer *w, const struct config_problem *problem)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    if (problem->path[0])
        buf_printf(&text, "%s: ", problem->path);
    buf_puts(&text, problem->text);
    jw_object(w, NULL);
    jw_i64(w, "line", problem->line);
    jw_i64(w, "column", problem->column);
    jw_str(w, "severity", problem->severity == CONFIG_ERROR ? "error" : "notice");
    jw_str(w, "path", problem->path);
    jw_strn(w, "text", text.data, text.len);
    jw_end_object(w);
    if (text.status && !w->out->status)
        w->out->status = text.status;
}

/* The complete configuration, and the number of trials that the search makes. */
static det_status render_completed(struct request *req, const struct checked *checked)
{
    CLEANUP(buf_done) struct buf yaml = BUF_INIT;
    struct json *trials = NULL;
    det_status st = DET_OK;

    yaml_write(&yaml, checked->tree);
    jw_strn(&req->w, "completed", yaml.data, yaml.len);
    if (checked->searcher)
        st = search_preview(checked->searcher, checked->hyperparameters, &req->mem,
                            &trials, NULL);
    if (!st && trials)
        jw_json(&req->w, "trials", trials);
    return st == DET_NOMEM ? err_default(req->err, st) : yaml.status;
}

static det_status reply_checked(struct request *req, const struct config_report *report,
                                const struct checked *checked)
{
    struct json_writer *w = &req->w;
    det_status st = DET_OK;

    jw_object(w, NULL);
    jw_array(w, "problems");
    for (const struct config_problem *p = report->first; p; p = p->next)
        render_problem(w, p);
    jw_end_array(w);
    jw_i64(w, "errors", report->errors);
    jw_i64(w, "notices", report->notices);
    if (checked->tree)
        st = render_completed(req, checked);
    jw_end_object(w);
    return st;
}

det_status api_check_config(struct request *req)
{
    struct config_report report = CONFIG_REPORT(&req->mem, NULL);
    struct checked checked = {0};
    det_status st = check_text(req, &report, &checked);

    if (req->mem.has_failed)
        return err_default(req->err, DET_NOMEM);
    if (st && !report.errors)
        return st; /* the error is not in the text */
    if (st)
        checked = (struct checked){0};
    return reply_checked(req, &report, &checked);
}
