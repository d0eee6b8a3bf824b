/* SPDX-License-Identifier: Apache-2.0 */
/* trial.c - `det trial describe`, and trials as rows of tables. */
#include "cli/nouns/trial.h"

#include <inttypes.h>
#include <string.h>

#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/nouns/logs.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/output/term.h"
#include "data/json/json.h"
#include "model/profile.h"

enum { LAST_LINES = TRIAL_END_LINES - 2 };

const struct table_column trial_columns[] = {{"ID", TABLE_RIGHT},
                                             {"STATE", TABLE_LEFT},
                                             {"BATCHES", TABLE_RIGHT},
                                             {"BEST", TABLE_RIGHT},
                                             {"RESTARTS", TABLE_RIGHT},
                                             {"CHECKPOINTS", TABLE_RIGHT},
                                             {"STARTED", TABLE_LEFT},
                                             {"TOOK", TABLE_RIGHT},
                                             {"HYPERPARAMETERS", TABLE_FLEX},
                                             {0}};

static const char *slot_time(struct cli *cli, const struct json *t)
{
    double seconds = 0;

    (void)json_number(json_get(t, "wallClockTime"), &seconds);
    return format_duration(cli,
                           seconds >= 0 && seconds < INT32_MAX ? (int64_t)seconds : 0);
}

void trial_add_row(struct cli *cli, struct table *table, const struct json *t)
{
    const char *state = format_state(json_get(t, "state"));

    table_add(table, format_i64(cli, json_i64(json_get(t, "id"), 0)));
    table_add_colored(table, state, format_state_color(state));
    table_add(table,
              format_i64(cli, json_i64(json_get(t, "totalBatchesProcessed"), 0)));
    table_add_raw(table, format_number(cli, json_get(t, "searcherMetricValue")),
                  format_json(cli, json_get(t, "searcherMetricValue")));
    table_add(table, format_i64(cli, json_i64(json_get(t, "restarts"), 0)));
    table_add(table, format_i64(cli, json_i64(json_get(t, "checkpointCount"), 0)));
    table_add_raw(table, format_time(cli, json_get(t, "startTime")),
                  json_str(json_get(t, "startTime"), ""));
    table_add_raw(table, slot_time(cli, t),
                  format_json(cli, json_get(t, "wallClockTime")));
    table_add_raw(table, format_hparams(cli, json_get(t, "hparams")),
                  format_json(cli, json_get(t, "hparams")));
}

det_status trial_print_table(struct cli *cli, const struct json *trials)
{
    struct table table;

    table_init(&table, &cli->mem, trial_columns);
    json_each(t, trials)
        trial_add_row(cli, &table, t);
    return cli_print_table(cli, &table);
}

/* ---- one trial ------------------------------------------------------------------- */

det_status trial_print_metrics(struct cli *cli, const struct json *trial, bool is_named)
{
    const struct json *summary = json_get(trial, "summaryMetrics");
    static const struct table_column columns[] = {
        {"METRIC", TABLE_LEFT},  {"GROUP", TABLE_LEFT},    {"LAST", TABLE_RIGHT},
        {"LOWEST", TABLE_RIGHT}, {"HIGHEST", TABLE_RIGHT}, {0}};
    struct table table;

    if (!json_first(summary))
        return DET_OK;
    table_init(&table, &cli->mem, columns);
    json_each(group, summary) {
        const char *name = group->key;

        if (!strcmp(name, "avg_metrics"))
            name = "training";
        else if (!strcmp(name, "validation_metrics"))
            name = "validation";
        json_each(metric, group) {
            const struct json *last = json_get(metric, "last");

            if (profile_is_report(name, last))
                continue; /* shown by `det trial profile` */
            table_add(&table, metric->key);
            table_add(&table, name);
            table_add(&table, *format_number(cli, last) ? format_number(cli, last)
                                                        : format_json(cli, last));
            table_add(&table, format_number(cli, json_get(metric, "min")));
            table_add(&table, format_number(cli, json_get(metric, "max")));
        }
    }
    cli_put(cli, "\n");
    if (is_named)
        cli_put(cli, "metrics of trial %" PRId64 ":\n",
                json_i64(json_get(trial, "id"), 0));
    return cli_print_table(cli, &table);
}

/* If no checkpoint was validated, the master returns the latest one as the best. */
static void put_best_checkpoint(struct cli *cli, const char *uuid)
{
    struct json *reply = NULL;
    bool is_best =
        *uuid && !cli_get(cli, &reply, "/api/v1/checkpoints/%s", uuid) &&
        !json_is_null(json_path(reply, "checkpoint.training.searcherMetric"));

    cli_print_field(cli, is_best ? "best saved" : "last saved", uuid);
}

void trial_print_failure(struct cli *cli, const char *who, const struct json *trial)
{
    int64_t id = json_i64(json_get(trial, "id"), 0);
    const char *reason = json_str(json_get(trial, "exitReason"), "");

    if (!trial || strcmp(format_state(json_get(trial, "state")), "ERROR") != 0)
        return;
    cli_put(cli, "  %-12s %s", "failed", who);
    term_put(&cli->out, *reason ? reason : "for an unknown reason", SIZE_MAX);
    cli_put(cli, "; more in: det trial logs %" PRId64 "\n", id);
}

det_status trial_print_end(struct cli *cli, const struct json *trial)
{
    int64_t id = json_i64(json_get(trial, "id"), 0);

    if (!trial || strcmp(format_state(json_get(trial, "state")), "ERROR") != 0)
        return DET_OK;
    cli_put(cli, "\nlast lines of trial %" PRId64 ":\n", id);
    return logs_print_end(cli, id, LAST_LINES);
}

static det_status put_trial(struct cli *cli, const struct json *t)
{
    const char *state = format_state(json_get(t, "state"));
    enum term_color color =
        cli->term.has_color ? format_state_color(state) : COLOR_NONE;
    det_status st;

    cli_put(cli, "trial %" PRId64 " of experiment %" PRId64 "\n",
            json_i64(json_get(t, "id"), 0), json_i64(json_get(t, "experimentId"), 0));
    cli_put(cli, "  %-12s %s%s%s\n", "state", term_color_on(color), state,
            term_color_off(color));
    cli_print_field(cli, "local id", json_str(json_get(t, "localId"), ""));
    if (json_is_null(json_get(t, "endTime")))
        cli_print_field(cli, "doing", json_str(json_get(t, "runnerState"), ""));
    cli_print_field(cli, "batches",
                    format_i64(cli, json_i64(json_get(t, "totalBatchesProcessed"), 0)));
    cli_print_field(cli, "best",
                    format_number(cli, json_get(t, "searcherMetricValue")));
    cli_print_field(cli, "restarts",
                    format_i64(cli, json_i64(json_get(t, "restarts"), 0)));
    cli_print_field(cli, "started", format_time(cli, json_get(t, "startTime")));
    cli_print_field(cli, "ended", format_time(cli, json_get(t, "endTime")));
    cli_print_field(cli, "took", slot_time(cli, t));
    trial_print_failure(cli, "", t);
    cli_print_field(cli, "checkpoints",
                    format_i64(cli, json_i64(json_get(t, "checkpointCount"), 0)));
    put_best_checkpoint(cli, json_str(json_path(t, "bestCheckpoint.uuid"), ""));
    cli_print_field(cli, "began from",
                    json_str(json_get(t, "warmStartCheckpointUuid"), ""));
    cli_print_field(cli, "task", json_str(json_get(t, "taskId"), ""));
    cli_print_field(cli, "log policy", json_str(json_get(t, "logPolicyMatched"), ""));
    cli_print_field(cli, "hparams", format_hparams(cli, json_get(t, "hparams")));
    st = trial_print_metrics(cli, t, false);
    return st ? st : trial_print_end(cli, t);
}

det_status run_trial_describe(struct cli *cli, const struct cli_invocation *in)
{
    struct json *all = json_new(&cli->mem, JSON_ARRAY);
    struct cli_ids ids;
    det_status st = cli_ids(cli, "trial", in->args, in->arg_count, &ids);

    for (size_t i = 0; !st && i < ids.count; i++) {
        struct json *reply;

        st = cli_get(cli, &reply, "/api/v1/trials/%" PRId64, ids.at[i]);
        if (!st)
            json_push(all, json_copy(&cli->mem, json_get(reply, "trial")));
    }
    if (st)
        return st;
    if (cli->mem.has_failed)
        return cli_nomem(cli);
    if (in->format == CLI_JSON)
        return cli_print_json(cli, all);
    if (in->format == CLI_CSV)
        return trial_print_table(cli, all);
    json_each(t, all) {
        if (t != json_first(all))
            cli_put(cli, "\n");
        st = put_trial(cli, t);
        if (st)
            return st;
    }
    return DET_OK;
}
