/* SPDX-License-Identifier: Apache-2.0 */
/* trial.c - trials, in tables and one by one. */
#include <inttypes.h>
#include <string.h>

#include "cli/ctx.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/table.h"
#include "model/profile.h"

const struct table_column show_trial_columns[] = {{"ID", TABLE_RIGHT},
                                                  {"STATE", TABLE_LEFT},
                                                  {"BATCHES", TABLE_RIGHT},
                                                  {"BEST", TABLE_RIGHT},
                                                  {"RESTARTS", TABLE_RIGHT},
                                                  {"CHECKPOINTS", TABLE_RIGHT},
                                                  {"STARTED", TABLE_LEFT},
                                                  {"TOOK", TABLE_RIGHT},
                                                  {"HYPERPARAMETERS", TABLE_FLEX},
                                                  {0}};

static const char *on_slots(struct cli *cli, const struct json *t)
{
    double seconds = 0;

    (void)json_number(json_get(t, "wallClockTime"), &seconds);
    return cli_duration(cli,
                        seconds >= 0 && seconds < INT32_MAX ? (int64_t)seconds : 0);
}

void show_trial_row(struct cli *cli, struct table *table, const struct json *t)
{
    const char *state = cli_state(json_get(t, "state"));

    table_add(table, cli_i64(cli, json_i64(json_get(t, "id"), 0)));
    table_add_colored(table, state, cli_state_color(state));
    table_add(table, cli_i64(cli, json_i64(json_get(t, "totalBatchesProcessed"), 0)));
    table_add_raw(table, cli_number(cli, json_get(t, "searcherMetricValue")),
                  show_raw(cli, json_get(t, "searcherMetricValue")));
    table_add(table, cli_i64(cli, json_i64(json_get(t, "restarts"), 0)));
    table_add(table, cli_i64(cli, json_i64(json_get(t, "checkpointCount"), 0)));
    table_add_raw(table, cli_time(cli, json_get(t, "startTime")),
                  json_str(json_get(t, "startTime"), ""));
    table_add_raw(table, on_slots(cli, t), show_raw(cli, json_get(t, "wallClockTime")));
    table_add_raw(table, show_hparams(cli, json_get(t, "hparams")),
                  show_raw(cli, json_get(t, "hparams")));
}

det_status show_trials(struct cli *cli, const struct json *trials)
{
    struct table table;

    table_init(&table, &cli->mem, show_trial_columns);
    json_each(t, trials)
        show_trial_row(cli, &table, t);
    return cli_print_table(cli, &table);
}

/* ---- one trial ------------------------------------------------------------------- */

/* Every metric of every group: its last, lowest and highest value. */
static det_status put_metrics(struct cli *cli, const struct json *summary)
{
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
                continue; /* `det trial profile` shows those */
            table_add(&table, metric->key);
            table_add(&table, name);
            table_add(&table, *cli_number(cli, last) ? cli_number(cli, last)
                                                     : show_raw(cli, last));
            table_add(&table, cli_number(cli, json_get(metric, "min")));
            table_add(&table, cli_number(cli, json_get(metric, "max")));
        }
    }
    cli_put(cli, "\n");
    return cli_print_table(cli, &table);
}

/* Where no checkpoint was validated the master names the latest: nothing tells which is
 * best. */
static void put_best_checkpoint(struct cli *cli, const char *uuid)
{
    struct json *reply = NULL;
    bool is_best =
        *uuid && !cli_get(cli, &reply, "/api/v1/checkpoints/%s", uuid) &&
        !json_is_null(json_path(reply, "checkpoint.training.searcherMetric"));

    show_field(cli, is_best ? "best saved" : "last saved", uuid);
}

void show_failure(struct cli *cli, const char *who, const struct json *trial)
{
    int64_t id = json_i64(json_get(trial, "id"), 0);
    const char *reason = json_str(json_get(trial, "exitReason"), "");

    if (!trial || strcmp(cli_state(json_get(trial, "state")), "ERROR") != 0)
        return;
    cli_put(cli, "  %-12s %s", "failed", who);
    term_put(&cli->out, *reason ? reason : "for a reason that nobody told", SIZE_MAX);
    cli_put(cli, "; more in: det trial logs %" PRId64 "\n", id);
}

static det_status put_trial(struct cli *cli, const struct json *t)
{
    const char *state = cli_state(json_get(t, "state"));
    enum term_color color = cli->term.has_color ? cli_state_color(state) : COLOR_NONE;

    cli_put(cli, "trial %" PRId64 " of experiment %" PRId64 "\n",
            json_i64(json_get(t, "id"), 0), json_i64(json_get(t, "experimentId"), 0));
    cli_put(cli, "  %-12s %s%s%s\n", "state", term_color_on(color), state,
            term_color_off(color));
    if (json_is_null(json_get(t, "endTime")))
        show_field(cli, "doing", json_str(json_get(t, "runnerState"), ""));
    show_field(cli, "batches",
               cli_i64(cli, json_i64(json_get(t, "totalBatchesProcessed"), 0)));
    show_field(cli, "best", cli_number(cli, json_get(t, "searcherMetricValue")));
    show_field(cli, "restarts", cli_i64(cli, json_i64(json_get(t, "restarts"), 0)));
    show_field(cli, "started", cli_time(cli, json_get(t, "startTime")));
    show_field(cli, "ended", cli_time(cli, json_get(t, "endTime")));
    show_field(cli, "took", on_slots(cli, t));
    show_failure(cli, "", t);
    show_field(cli, "checkpoints",
               cli_i64(cli, json_i64(json_get(t, "checkpointCount"), 0)));
    put_best_checkpoint(cli, json_str(json_path(t, "bestCheckpoint.uuid"), ""));
    show_field(cli, "began from", json_str(json_get(t, "warmStartCheckpointUuid"), ""));
    show_field(cli, "task", json_str(json_get(t, "taskId"), ""));
    show_field(cli, "log policy", json_str(json_get(t, "logPolicyMatched"), ""));
    show_field(cli, "hparams", show_hparams(cli, json_get(t, "hparams")));
    return put_metrics(cli, json_get(t, "summaryMetrics"));
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
        return show_trials(cli, all);
    json_each(t, all) {
        if (t != json_first(all))
            cli_put(cli, "\n");
        st = put_trial(cli, t);
        if (st)
            return st;
    }
    return DET_OK;
}
