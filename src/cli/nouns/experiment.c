/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.c - `det experiment`: lists and describes experiments. */
#include "cli/nouns/experiment.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/nouns/checkpoint.h"
#include "cli/nouns/trial.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/output/term.h"
#include "data/json/json.h"
#include "model/states.h"

/* ---- lists ----------------------------------------------------------------------- */

/* States that lists show for an active experiment. */
static const char *const active_names[] = {"QUEUED", "PULLING", "STARTING", "RUNNING",
                                           NULL};

static const char *find_state(const char *const *names, const char *word)
{
    for (; *names; names++)
        if (!strcasecmp(*names, word))
            return *names;
    return NULL;
}

static det_status add_state(struct cli *cli, const char *word, struct buf *query)
{
    CLEANUP(buf_done) struct buf known = BUF_INIT;
    const char *bare = strncasecmp(word, "STATE_", 6) ? word : word + 6;
    const char *state = find_state(experiment_state_names, bare);

    if (!state)
        state = find_state(active_names, bare);
    if (state) {
        buf_printf(query, "&states=STATE_%s", state);
        return DET_OK;
    }
    for (const char *const *name = experiment_state_names; *name; name++)
        buf_printf(&known, "%s%s", known.len ? ", " : "", *name);
    if (known.status)
        return cli_nomem(cli);
    return cli_fail(cli, DET_INVALID, "--state is '%s'; expected one of %s", word,
                    known.data);
}

static det_status add_filters(struct cli *cli, const struct list_options *options,
                              struct buf *query)
{
    for (size_t i = 0; i < options->states.count; i++) {
        det_status st = add_state(cli, options->states.at[i], query);

        if (st)
            return st;
    }
    for (size_t i = 0; i < options->labels.count; i++)
        buf_printf(query, "&labels=%s", cli_url(cli, options->labels.at[i]));
    if (options->name)
        buf_printf(query, "&name=%s", cli_url(cli, options->name));
    return DET_OK;
}

/* Explains an empty list. */
static void note_empty_list(struct cli *cli, const struct list_options *options)
{
    bool has_filters = options->states.count || options->labels.count || options->name;

    if (cli->local && !has_filters) {
        const char *dir = cli->in->globals.local;

        cli_note(cli, "no offline runs%s%s", *dir ? " in " : "", dir);
        return;
    }
    cli_note(cli, "no experiments%s%s%s", options->all ? "" : " of yours",
             has_filters ? " match --state, --label and --name" : "",
             options->all ? ""
                          : "; -a also shows archived ones and those of other users");
}

/* Asks for the caller's experiments only. */
static det_status add_owner(struct cli *cli, struct buf *query)
{
    struct json *me;
    det_status st = cli_get(cli, &me, "/api/v1/me");

    if (!st)
        buf_printf(query, "&archived=false&users=%s",
                   cli_url(cli, json_str(json_path(me, "user.username"), "")));
    return st;
}

static const struct table_column experiment_columns[] = {
    {"ID", TABLE_RIGHT},       {"NAME", TABLE_FLEX},    {"STATE", TABLE_LEFT},
    {"PROGRESS", TABLE_RIGHT}, {"TRIALS", TABLE_RIGHT}, {"SEARCHER", TABLE_LEFT},
    {"BEST", TABLE_RIGHT},     {"STARTED", TABLE_LEFT}, {"TOOK", TABLE_RIGHT},
    {"OWNER", TABLE_FLEX},     {"POOL", TABLE_FLEX},    {0}};

static void add_experiment(struct cli *cli, struct table *table, const struct json *e)
{
    const char *state = format_state(json_get(e, "state"));
    const char *start = json_str(json_get(e, "startTime"), "");

    table_add(table, format_i64(cli, json_i64(json_get(e, "id"), 0)));
    table_add(table, json_str(json_get(e, "name"), ""));
    table_add_colored(table, state, format_state_color(state));
    table_add_raw(table, format_percent(cli, json_get(e, "progress")),
                  format_json(cli, json_get(e, "progress")));
    table_add(table, format_i64(cli, json_i64(json_get(e, "numTrials"), 0)));
    table_add(table, json_str(json_get(e, "searcherType"), ""));
    table_add_raw(table, format_number(cli, json_get(e, "bestTrialSearcherMetric")),
                  format_json(cli, json_get(e, "bestTrialSearcherMetric")));
    table_add_raw(table, format_time(cli, json_get(e, "startTime")), start);
    table_add_raw(table, format_duration(cli, json_i64(json_get(e, "duration"), 0)),
                  format_json(cli, json_get(e, "duration")));
    table_add(table, json_str(json_get(e, "username"), ""));
    table_add(table, json_str(json_get(e, "resourcePool"), ""));
}

/* The last element first. */
static void reverse_list(struct json *list)
{
    struct json *turned = NULL;

    if (!list || (list->kind != JSON_ARRAY && list->kind != JSON_OBJECT))
        return;
    list->list.last = list->list.first;
    for (struct json *at = list->list.first, *next; at; at = next) {
        next = at->next;
        at->next = turned;
        turned = at;
    }
    list->list.first = turned;
}

det_status run_experiment_list(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf query = BUF_INIT;
    const struct list_options *options = in->options;
    struct json *reply, *list;
    det_status st = DET_OK;

    /* the newest N come in descending order, and are reversed before they are shown */
    if (options->limit == CLI_UNSET)
        buf_puts(&query, "limit=-1");
    else
        buf_printf(&query, "limit=%" PRId64 "&sortBy=SORT_BY_ID&orderBy=ORDER_BY_DESC",
                   options->limit);
    if (in->format != CLI_JSON) /* JSON shows everything */
        buf_puts(&query, "&excludeConfig=true");
    st = add_filters(cli, options, &query);
    if (!st && !options->all)
        st = add_owner(cli, &query);
    if (!st && query.status)
        st = cli_nomem(cli);
    if (!st)
        st = cli_get(cli, &reply, "/api/v1/experiments?%s", query.data);
    if (st)
        return st;
    list = json_get(reply, "experiments");
    if (options->limit != CLI_UNSET)
        reverse_list(list);
    if (in->format == CLI_JSON)
        return cli_print_json(cli, list);
    if (in->format == CLI_TEXT && !json_first(list)) {
        note_empty_list(cli, options);
        return DET_OK;
    }
    return experiment_print_table(cli, list);
}

det_status experiment_print_table(struct cli *cli, const struct json *experiments)
{
    struct table table;

    table_init(&table, &cli->mem, experiment_columns);
    json_each(e, experiments)
        add_experiment(cli, &table, e);
    return cli_print_table(cli, &table);
}

/* ---- trials ---------------------------------------------------------------------- */

static det_status get_trials(struct cli *cli, int64_t id, struct json **ret_trials)
{
    struct json *reply;
    det_status st =
        cli_get(cli, &reply, "/api/v1/experiments/%" PRId64 "/trials?limit=-1", id);

    if (!st)
        *ret_trials = json_get(reply, "trials");
    return st;
}

det_status run_experiment_list_trials(struct cli *cli, const struct cli_invocation *in)
{
    struct json *trials;
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (!st)
        st = get_trials(cli, id, &trials);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, trials);
    return trial_print_table(cli, trials);
}

/* ---- checkpoints ----------------------------------------------------------------- */

det_status run_experiment_list_checkpoints(struct cli *cli,
                                           const struct cli_invocation *in)
{
    const struct checkpoint_options *options = in->options;
    const char *query = "sortByAttr=SORT_BY_END_TIME";
    struct json *reply;
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (options->best != CLI_UNSET)
        query = arena_printf(&cli->mem,
                             "limit=%" PRId64 "&sortByAttr=SORT_BY_SEARCHER_METRIC",
                             options->best);
    if (!st && !query)
        st = cli_nomem(cli);
    if (!st)
        st = cli_get(cli, &reply, "/api/v1/experiments/%" PRId64 "/checkpoints?%s", id,
                     query);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "checkpoints"));
    return checkpoint_print_table(cli, json_get(reply, "checkpoints"));
}

/* ---- one experiment -------------------------------------------------------------- */

static void put_labels(struct cli *cli, const struct json *labels)
{
    if (!json_first(labels))
        return;
    cli_put(cli, "  labels       ");
    json_each(label, labels) {
        cli_put(cli, "%s", label == json_first(labels) ? "" : ", ");
        term_put(&cli->out, json_str(label, ""), SIZE_MAX);
    }
    cli_put(cli, "\n");
}

static void put_best(struct cli *cli, const struct json *e)
{
    const char *metric = json_str(json_get(e, "searcherMetric"), "");
    const char *best = format_number(cli, json_get(e, "bestTrialSearcherMetric"));

    if (!json_is_null(json_get(e, "bestTrialId")))
        cli_put(cli, "  best         %s%s%s, trial %" PRId64 "\n", metric,
                *metric ? " " : "", best, json_i64(json_get(e, "bestTrialId"), 0));
}

/* Its parent and its forks. */
static void put_lineage(struct cli *cli, const struct json *e)
{
    const char *forks = "";

    if (!json_is_null(json_get(e, "forkedFrom")))
        cli_print_field(cli, "forked from",
                        format_i64(cli, json_i64(json_get(e, "forkedFrom"), 0)));
    json_each(fork, json_get(e, "forks"))
        if (forks)
            forks = arena_printf(&cli->mem, "%s%s%" PRId64, forks, *forks ? ", " : "",
                                 json_i64(fork, 0));
    cli_print_field(cli, "forks", forks);
}

static void put_experiment(struct cli *cli, const struct json *e)
{
    const char *state = format_state(json_get(e, "state"));
    enum term_color color =
        cli->term.has_color ? format_state_color(state) : COLOR_NONE;

    cli_put(cli, "experiment %" PRId64 ": ", json_i64(json_get(e, "id"), 0));
    term_put(&cli->out, json_str(json_get(e, "name"), ""), SIZE_MAX);
    cli_put(cli, "\n  state        %s%s%s%s\n", term_color_on(color), state,
            term_color_off(color),
            json_bool(json_get(e, "archived"), false) ? ", archived" : "");
    cli_print_field(cli, "progress", format_percent(cli, json_get(e, "progress")));
    cli_print_field(cli, "description", json_str(json_get(e, "description"), ""));
    put_labels(cli, json_get(e, "labels"));
    cli_print_field(cli, "owner", json_str(json_get(e, "username"), ""));
    cli_print_field(cli, "workspace", json_str(json_get(e, "workspaceName"), ""));
    cli_print_field(cli, "project", json_str(json_get(e, "projectName"), ""));
    cli_print_field(cli, "searcher", json_str(json_get(e, "searcherType"), ""));
    cli_print_field(cli, "pool", json_str(json_get(e, "resourcePool"), ""));
    cli_print_field(cli, "started", format_time(cli, json_get(e, "startTime")));
    cli_print_field(cli, "ended", format_time(cli, json_get(e, "endTime")));
    cli_print_field(cli, "took",
                    format_duration(cli, json_i64(json_get(e, "duration"), 0)));
    put_lineage(cli, e);
    put_best(cli, e);
}

static const char *end_of(const struct json *trial)
{
    return json_str(json_get(trial, "endTime"), "");
}

/* Of several trials the first that failed: it may have caused the other failures. */
static void put_failure(struct cli *cli, const struct json *trials)
{
    const struct json *first = NULL;
    size_t failed = 0;
    size_t count = 0;
    char who[80];

    json_each(t, trials) {
        count++;
        if (strcmp(format_state(json_get(t, "state")), "ERROR") != 0)
            continue;
        failed++;
        if (!first || strcmp(end_of(t), end_of(first)) < 0)
            first = t;
    }
    if (count > 1)
        (void)snprintf(who, sizeof(who), "%zu of %zu trials; trial %" PRId64 ": ",
                       failed, count, json_i64(json_get(first, "id"), 0));
    trial_print_failure(cli, count > 1 ? who : "", first);
}

static det_status describe_experiment(struct cli *cli, int64_t id, struct json *all)
{
    struct json *reply, *trials;
    struct json *e;
    det_status st = cli_get(cli, &reply, "/api/v1/experiments/%" PRId64, id);

    if (!st)
        st = get_trials(cli, id, &trials);
    if (st)
        return st;
    e = json_get(reply, "experiment");
    if (all) {
        struct json *copy = json_push(all, json_copy(&cli->mem, e));

        json_set(&cli->mem, copy, "trials", json_copy(&cli->mem, trials));
        return cli->mem.has_failed ? cli_nomem(cli) : DET_OK;
    }
    put_experiment(cli, e);
    put_failure(cli, trials);
    if (!json_first(trials))
        return DET_OK;
    cli_put(cli, "\n");
    st = trial_print_table(cli, trials);
    return st;
}

/* CSV is one table: the trials of all experiments. */
static det_status describe_csv(struct cli *cli, const struct cli_ids *ids)
{
    struct table table;
    det_status st = DET_OK;

    table_init(&table, &cli->mem, trial_columns);
    for (size_t i = 0; i < ids->count && !st; i++) {
        struct json *trials;

        st = get_trials(cli, ids->at[i], &trials);
        if (!st)
            json_each(t, trials)
                trial_add_row(cli, &table, t);
    }
    if (st) {
        table_done(&table);
        return st;
    }
    return cli_print_table(cli, &table);
}

det_status run_experiment_describe(struct cli *cli, const struct cli_invocation *in)
{
    struct json *all = NULL;
    struct cli_ids ids;
    det_status st = cli_ids(cli, "experiment", in->args, in->arg_count, &ids);

    if (st)
        return st;
    if (in->format == CLI_CSV)
        return describe_csv(cli, &ids);
    if (in->format == CLI_JSON) {
        all = json_new(&cli->mem, JSON_ARRAY);
        if (!all)
            return cli_nomem(cli);
    }
    for (size_t i = 0; i < ids.count && !st; i++) {
        if (i && !all)
            cli_put(cli, "\n");
        st = describe_experiment(cli, ids.at[i], all);
    }
    return st || !all ? st : cli_print_json(cli, all);
}

det_status run_experiment_config(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/experiments/%" PRId64, id);
    return st ? st : cli_print_tree(cli, json_get(reply, "config"));
}
