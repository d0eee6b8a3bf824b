/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.c - experiments, their trials and checkpoints, listed and described. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/ctx.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/table.h"
#include "data/text.h"
#include "model/states.h"

/* ---- lists ----------------------------------------------------------------------- */

/* As lists show them: an active experiment also says what its trials wait for. */
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

/* Why there is nothing to see. */
static void note_empty_list(struct cli *cli, const struct list_options *options)
{
    bool has_filters = options->states.count || options->labels.count || options->name;

    if (cli->local && !has_filters) {
        const char *dir = cli->in->globals.local;

        cli_note(cli, "no runs without a master%s%s", *dir ? " in " : "", dir);
        return;
    }
    cli_note(cli, "no experiments%s%s%s", options->all ? "" : " of yours",
             has_filters ? " that --state, --label and --name let through" : "",
             options->all ? ""
                          : "; -a also looks among archived ones and those of "
                            "other users");
}

/* Those of the caller, unless all are wanted. */
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
    const char *state = cli_state(json_get(e, "state"));
    const char *start = json_str(json_get(e, "startTime"), "");

    table_add(table, cli_i64(cli, json_i64(json_get(e, "id"), 0)));
    table_add(table, json_str(json_get(e, "name"), ""));
    table_add_colored(table, state, cli_state_color(state));
    table_add_raw(table, cli_percent(cli, json_get(e, "progress")),
                  show_raw(cli, json_get(e, "progress")));
    table_add(table, cli_i64(cli, json_i64(json_get(e, "numTrials"), 0)));
    table_add(table, json_str(json_get(e, "searcherType"), ""));
    table_add_raw(table, cli_number(cli, json_get(e, "bestTrialSearcherMetric")),
                  show_raw(cli, json_get(e, "bestTrialSearcherMetric")));
    table_add_raw(table, cli_time(cli, json_get(e, "startTime")), start);
    table_add_raw(table, cli_duration(cli, json_i64(json_get(e, "duration"), 0)),
                  show_raw(cli, json_get(e, "duration")));
    table_add(table, json_str(json_get(e, "username"), ""));
    table_add(table, json_str(json_get(e, "resourcePool"), ""));
}

det_status run_experiment_list(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf query = BUF_INIT;
    const struct list_options *options = in->options;
    struct json *reply, *list;
    struct table table;
    det_status st = DET_OK;

    /* the newest are asked for backwards, and turned round when they are shown */
    if (options->limit == CLI_UNSET)
        buf_puts(&query, "limit=-1");
    else
        buf_printf(&query, "limit=%" PRId64 "&sortBy=SORT_BY_ID&orderBy=ORDER_BY_DESC",
                   options->limit);
    if (in->format != CLI_JSON) /* which shows everything */
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
        show_reverse(list);
    if (in->format == CLI_JSON)
        return cli_print_json(cli, list);
    if (in->format == CLI_TEXT && !json_first(list)) {
        note_empty_list(cli, options);
        return DET_OK;
    }
    table_init(&table, &cli->mem, experiment_columns);
    json_each(e, list)
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
    return show_trials(cli, trials);
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
    return show_checkpoints(cli, json_get(reply, "checkpoints"));
}

/* ---- one experiment -------------------------------------------------------------- */

static void put_labels(struct cli *cli, const struct json *labels)
{
    if (!json_first(labels))
        return;
    cli_put(cli, "  labels       ");
    json_each(label, labels)
        cli_put(cli, "%s%s", label == json_first(labels) ? "" : ", ",
                json_str(label, ""));
    cli_put(cli, "\n");
}

static void put_best(struct cli *cli, const struct json *e)
{
    const char *metric = json_str(json_get(e, "searcherMetric"), "");
    const char *best = cli_number(cli, json_get(e, "bestTrialSearcherMetric"));

    if (!json_is_null(json_get(e, "bestTrialId")))
        cli_put(cli, "  best         %s%s%s, trial %" PRId64 "\n", metric,
                *metric ? " " : "", best, json_i64(json_get(e, "bestTrialId"), 0));
}

/* Where it comes from, and what came from it. */
static void put_lineage(struct cli *cli, const struct json *e)
{
    const char *forks = "";

    if (!json_is_null(json_get(e, "forkedFrom")))
        show_field(cli, "forked from",
                   cli_i64(cli, json_i64(json_get(e, "forkedFrom"), 0)));
    json_each(fork, json_get(e, "forks"))
        if (forks)
            forks = arena_printf(&cli->mem, "%s%s%" PRId64, forks, *forks ? ", " : "",
                                 json_i64(fork, 0));
    show_field(cli, "forks", forks);
}

static void put_experiment(struct cli *cli, const struct json *e)
{
    const char *state = cli_state(json_get(e, "state"));
    enum term_color color = cli->term.has_color ? cli_state_color(state) : COLOR_NONE;

    cli_put(cli, "experiment %" PRId64 ": ", json_i64(json_get(e, "id"), 0));
    term_put(&cli->out, json_str(json_get(e, "name"), ""), SIZE_MAX);
    cli_put(cli, "\n  state        %s%s%s%s\n", term_color_on(color), state,
            term_color_off(color),
            json_bool(json_get(e, "archived"), false) ? ", archived" : "");
    show_field(cli, "progress", cli_percent(cli, json_get(e, "progress")));
    show_field(cli, "description", json_str(json_get(e, "description"), ""));
    put_labels(cli, json_get(e, "labels"));
    show_field(cli, "owner", json_str(json_get(e, "username"), ""));
    show_field(cli, "searcher", json_str(json_get(e, "searcherType"), ""));
    show_field(cli, "pool", json_str(json_get(e, "resourcePool"), ""));
    show_field(cli, "started", cli_time(cli, json_get(e, "startTime")));
    show_field(cli, "ended", cli_time(cli, json_get(e, "endTime")));
    show_field(cli, "took", cli_duration(cli, json_i64(json_get(e, "duration"), 0)));
    put_lineage(cli, e);
    put_best(cli, e);
}

static const char *end_of(const struct json *trial)
{
    return json_str(json_get(trial, "endTime"), "");
}

/* Of several trials the first that failed: others may have gone down with it. */
static void put_failure(struct cli *cli, const struct json *trials)
{
    const struct json *first = NULL;
    size_t failed = 0;
    size_t count = 0;
    char who[80];

    json_each(t, trials) {
        count++;
        if (strcmp(cli_state(json_get(t, "state")), "ERROR") != 0)
            continue;
        failed++;
        if (!first || strcmp(end_of(t), end_of(first)) < 0)
            first = t;
    }
    if (count > 1)
        (void)snprintf(who, sizeof(who), "%zu of %zu trials; trial %" PRId64 ": ",
                       failed, count, json_i64(json_get(first, "id"), 0));
    show_failure(cli, count > 1 ? who : "", first);
}

static det_status describe(struct cli *cli, int64_t id, struct json *all)
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
    st = show_trials(cli, trials);
    return st;
}

/* CSV has one table: the trials of all the experiments. */
static det_status describe_csv(struct cli *cli, const struct cli_ids *ids)
{
    struct table table;
    det_status st = DET_OK;

    table_init(&table, &cli->mem, show_trial_columns);
    for (size_t i = 0; i < ids->count && !st; i++) {
        struct json *trials;

        st = get_trials(cli, ids->at[i], &trials);
        if (!st)
            json_each(t, trials)
                show_trial_row(cli, &table, t);
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
        st = describe(cli, ids.at[i], all);
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
