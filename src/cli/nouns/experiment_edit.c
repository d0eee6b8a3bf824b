/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_edit.c - changes labels, names and settings of an experiment, and downloads
 * its files. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/frame/prompt.h"
#include "cli/nouns/experiment_control.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "data/archive/archive.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "data/text.h"

/* ---- labels ---------------------------------------------------------------------- */

static det_status change_label(struct cli *cli, const char *method, const char *done)
{
    const struct cli_invocation *in = cli->in;
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (!st && !*in->args[1])
        st = cli_fail(cli, DET_INVALID, "a label must not be empty");
    if (!st)
        st = cli_send(cli, method, NULL, NULL,
                      "/api/v1/experiments/%" PRId64 "/labels/%s", id,
                      cli_url(cli, in->args[1]));
    if (!st)
        cli_put(cli, "%s label '%s' %s experiment %" PRId64 "\n", done, in->args[1],
                strcmp(method, "PUT") ? "from" : "to", id);
    return st;
}

det_status run_experiment_label_add(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return change_label(cli, "PUT", "Added");
}

det_status run_experiment_label_remove(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return change_label(cli, "DELETE", "Removed");
}

/* ---- set ------------------------------------------------------------------------- */

/* Changes one member of the experiment; `around` is the object that contains it, or
 * NULL. */
static det_status patch_member(struct cli *cli, const char *around, const char *member,
                               struct json *value)
{
    const struct cli_invocation *in = cli->in;
    struct json *body = json_new(&cli->mem, JSON_OBJECT);
    const char *text, *state = "";
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (!st && around && !strcmp(around, "resources")) { /* no use after its end */
        st = experiment_control_state(cli, "experiment", id, &state);
        if (!st)
            st = experiment_control_refuse_ended(cli, "experiment", id, state);
    }
    if (st)
        return st;
    json_set(&cli->mem, body, "id", json_new_i64(&cli->mem, id));
    if (around)
        json_set(&cli->mem,
                 json_set(&cli->mem, body, around, json_new(&cli->mem, JSON_OBJECT)),
                 member, value);
    else
        json_set(&cli->mem, body, member, value);
    text = json_text(&cli->mem, body);
    if (!text || cli->mem.has_failed)
        return cli_nomem(cli);
    st = cli_send(cli, "PATCH", text, NULL, "/api/v1/experiments/%" PRId64, id);
    if (!st)
        cli_put(cli, "Changed experiment %" PRId64 "\n", id);
    return st;
}

det_status run_experiment_set_name(struct cli *cli, const struct cli_invocation *in)
{
    return patch_member(cli, NULL, "name", json_new_str(&cli->mem, in->args[1]));
}

det_status run_experiment_set_description(struct cli *cli,
                                          const struct cli_invocation *in)
{
    return patch_member(cli, NULL, "description", json_new_str(&cli->mem, in->args[1]));
}

det_status run_experiment_set_priority(struct cli *cli, const struct cli_invocation *in)
{
    int64_t value;

    if (!parse_i64(in->args[1], &value) || value < 1 || value > 99)
        return cli_fail(cli, DET_INVALID,
                        "the priority is '%s'; expected a whole number from 1 to 99",
                        in->args[1]);
    return patch_member(cli, "resources", "priority", json_new_i64(&cli->mem, value));
}

det_status run_experiment_set_weight(struct cli *cli, const struct cli_invocation *in)
{
    double value;

    if (!parse_real(in->args[1], &value) || !(value > 0))
        return cli_fail(cli, DET_INVALID,
                        "the weight is '%s'; expected a number above 0", in->args[1]);
    return patch_member(cli, "resources", "weight", json_new_real(&cli->mem, value));
}

det_status run_experiment_set_max_slots(struct cli *cli,
                                        const struct cli_invocation *in)
{
    int64_t value = -1; /* no limit */

    if (strcmp(in->args[1], "none") && (!parse_i64(in->args[1], &value) || value < 0))
        return cli_fail(cli, DET_INVALID,
                        "the slots are '%s'; expected a whole number >= 0, or none",
                        in->args[1]);
    return patch_member(cli, "resources", "maxSlots", json_new_i64(&cli->mem, value));
}

static const struct table_column deleted_columns[] = {{"UUID", TABLE_LEFT},
                                                      {"TRIAL", TABLE_RIGHT},
                                                      {"BATCHES", TABLE_RIGHT},
                                                      {"SIZE", TABLE_RIGHT},
                                                      {0}};

static det_status print_deleted(struct cli *cli, const struct json *list)
{
    struct table table;

    table_init(&table, &cli->mem, deleted_columns);
    json_each(c, list) {
        int64_t size = 0;

        json_each(file, json_get(c, "Resources"))
            size += json_i64(file, 0);
        table_add(&table, json_str(json_get(c, "UUID"), ""));
        table_add(&table, format_i64(cli, json_i64(json_get(c, "TrialID"), 0)));
        table_add(&table, format_i64(cli, json_i64(json_get(c, "StepsCompleted"), 0)));
        table_add(&table, format_size(cli, (uint64_t)size));
    }
    return cli_print_table(cli, &table);
}

static void add_number(struct buf *query, const char *name, int64_t value)
{
    if (value != CLI_UNSET)
        buf_printf(query, "%s%s=%" PRId64, query->len ? "&" : "?", name, value);
}

/* Lists the checkpoints that would be deleted, and asks. */
static det_status preview_gc(struct cli *cli, int64_t id,
                             const struct gc_options *options)
{
    CLEANUP(buf_done) struct buf query = BUF_INIT;
    struct json *reply, *list;
    char question[120];
    bool yes;
    det_status st;

    add_number(&query, "save_experiment_best", options->save_experiment_best);
    add_number(&query, "save_trial_best", options->save_trial_best);
    add_number(&query, "save_trial_latest", options->save_trial_latest);
    if (query.status)
        return cli_nomem(cli);
    st = cli_get(cli, &reply, "/experiments/%" PRId64 "/preview_gc%s", id, query.data);
    if (st)
        return st;
    list = json_get(reply, "checkpoints");
    if (!json_first(list))
        return DET_OK; /* nothing is deleted: no need to ask */
    st = print_deleted(cli, list);
    if (!st)
        st = cli_flush(cli);
    snprintf(question, sizeof(question),
             "Delete %s now, and others later by the same policy?",
             list->list.count == 1 ? "this checkpoint" : "these checkpoints");
    if (!st)
        st = cli_confirm(cli, question, &yes);
    if (!st && !yes)
        st = cli_fail(cli, DET_FAILED, "nothing was changed");
    return st;
}

det_status run_experiment_set_gc_policy(struct cli *cli,
                                        const struct cli_invocation *in)
{
    const struct gc_options *options = in->options;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (st)
        return st;
    if (options->save_experiment_best == CLI_UNSET &&
        options->save_trial_best == CLI_UNSET &&
        options->save_trial_latest == CLI_UNSET)
        return cli_fail(cli, DET_INVALID,
                        "at least one of --save-experiment-best, "
                        "--save-trial-best and --save-trial-latest is needed");
    if (!options->yes)
        st = preview_gc(cli, id, options);
    if (st)
        return st;
    jw_object(&w, NULL);
    jw_i64(&w, "id", id);
    jw_object(&w, "checkpointStorage");
    if (options->save_experiment_best != CLI_UNSET)
        jw_i64(&w, "saveExperimentBest", options->save_experiment_best);
    if (options->save_trial_best != CLI_UNSET)
        jw_i64(&w, "saveTrialBest", options->save_trial_best);
    if (options->save_trial_latest != CLI_UNSET)
        jw_i64(&w, "saveTrialLatest", options->save_trial_latest);
    jw_end_object(&w);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    st = cli_send(cli, "PATCH", body.data, NULL, "/api/v1/experiments/%" PRId64, id);
    if (!st)
        cli_put(cli, "Changed experiment %" PRId64 "\n", id);
    return st;
}

static det_status set_log_retention(struct cli *cli, const char *what)
{
    const struct retention_options *options = cli->in->options;
    const char *body;
    int64_t id;
    det_status st = cli_id(cli, what, cli->in->args[0], &id);

    if (st)
        return st;
    if ((options->days == CLI_UNSET) == !options->forever)
        return cli_fail(cli, DET_INVALID, "either --days or --forever is needed");
    body = arena_printf(&cli->mem, "{\"%sId\":%" PRId64 ",\"numDays\":%" PRId64 "}",
                        what, id, options->forever ? -1 : options->days);
    if (!body)
        return cli_nomem(cli);
    st = cli_send(cli, "PUT", body, NULL, "/api/v1/%ss/%" PRId64 "/retain_logs", what,
                  id);
    if (!st)
        cli_put(cli, "Changed %s %" PRId64 "\n", what, id);
    return st;
}

det_status run_experiment_set_log_retention(struct cli *cli,
                                            const struct cli_invocation *in)
{
    (void)in;
    return set_log_retention(cli, "experiment");
}

det_status run_trial_set_log_retention(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return set_log_retention(cli, "trial");
}

/* ---- files ----------------------------------------------------------------------- */

/* Creates the folder, or accepts an empty one: nothing is overwritten. */
static det_status make_folder(struct cli *cli, const char *folder)
{
    const char **names;
    det_status st = io_mkdir(io_system(), folder, false, cli->err);

    if (!st)
        st = io_list(io_system(), folder, &cli->mem, &names, cli->err);
    if (!st && *names)
        st = cli_fail(cli, DET_EXISTS, "the folder '%s' is not empty", folder);
    return st;
}

det_status run_experiment_download(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;
    const struct download_options *options = in->options;
    const char *folder = options->output;
    const struct json *text;
    struct json *reply;
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/experiments/%" PRId64 "/model_def", id);
    if (st)
        return st;
    if (!folder)
        folder = arena_printf(&cli->mem, "experiment_%" PRId64 "_model_def", id);
    if (!folder)
        return cli_nomem(cli);
    text = json_find(reply, "b64_tgz");
    if (!text || text->kind != JSON_STRING || !text->string.len)
        return cli_fail(cli, DET_NOT_FOUND,
                        "experiment %" PRId64 " was submitted without files", id);
    st = base64_decode(&tgz, text->string.text, text->string.len, cli->err);
    if (!st)
        st = make_folder(cli, folder);
    if (!st)
        st = archive_unpack(tgz.data, tgz.len, folder, cli->err);
    if (!st)
        cli_put(cli, "Wrote the files of experiment %" PRId64 " to %s\n", id, folder);
    return st;
}
