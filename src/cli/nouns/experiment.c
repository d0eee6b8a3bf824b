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
#include "cli/trials/trial_list.h"
#include "data/json/json.h"
#include "model/states.h"

enum { IDS_PER_CALL = 200 };

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
    for (const char *const *name = active_names; *name; name++)
        buf_printf(&known, ", %s", *name);
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
    bool has_filters = options->states.count || options->labels.count ||
                       options->name || options->query;

    if (cli->local && !has_filters) {
        const char *dir = cli->in->globals.local;

        cli_note(cli, "no offline runs%s%s", *dir ? " in " : "", dir);
        return;
    }
    cli_note(cli, "no experiments%s%s%s", options->all ? "" : " of yours",
             options->query ? " match the query"
             : has_filters  ? " match --state, --label and --name"
                            : "",
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
static const struct table_column with_project_columns[] = {
    {"ID", TABLE_RIGHT},     {"NAME", TABLE_FLEX},
    {"STATE", TABLE_LEFT},   {"PROGRESS", TABLE_RIGHT},
    {"TRIALS", TABLE_RIGHT}, {"SEARCHER", TABLE_LEFT},
    {"BEST", TABLE_RIGHT},   {"STARTED", TABLE_LEFT},
    {"TOOK", TABLE_RIGHT},   {"OWNER", TABLE_FLEX},
    {"POOL", TABLE_FLEX},    {"WORKSPACE", TABLE_FLEX},
    {"PROJECT", TABLE_FLEX}, {0}};

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

static det_status print_experiments(struct cli *cli, const struct json *experiments,
                                    bool shows_project)
{
    struct table table;

    table_init(&table, &cli->mem,
               shows_project ? with_project_columns : experiment_columns);
    json_each(e, experiments) {
        add_experiment(cli, &table, e);
        if (!shows_project)
            continue;
        table_add(&table, json_str(json_get(e, "workspaceName"), ""));
        table_add(&table, json_str(json_get(e, "projectName"), ""));
    }
    return cli_print_table(cli, &table);
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

/* The newest N come in descending order, and are reversed before they are shown. */
static void add_page(const struct list_options *options, struct buf *query)
{
    bool is_all = options->limit == CLI_UNSET || !options->limit ||
                  (options->pages && !strcmp(options->pages, "all"));

    buf_printf(query, "limit=%" PRId64, is_all ? -1 : options->limit);
    if (options->offset != CLI_UNSET)
        buf_printf(query, "&offset=%" PRId64, options->offset);
}

static void append_list(struct json *to, struct json *from)
{
    if (!json_first(from))
        return;
    if (to->list.last)
        to->list.last->next = from->list.first;
    else
        to->list.first = from->list.first;
    to->list.last = from->list.last;
    to->list.count += from->list.count;
}

/* The next experiments of `id` and its neighbours, at most IDS_PER_CALL of them. */
static det_status get_some(struct cli *cli, const char *more, const struct json **id,
                           struct json *list)
{
    CLEANUP(buf_done) struct buf query = BUF_INIT;
    struct json *reply;
    det_status st;

    buf_printf(&query, "limit=-1%s", more);
    for (int i = 0; *id && i < IDS_PER_CALL; i++, *id = (*id)->next)
        buf_printf(&query, "&experimentIdFilter.incl=%" PRId64,
                   json_i64(json_get(*id, "id"), 0));
    if (query.status)
        return cli_nomem(cli);
    st = cli_get(cli, &reply, "/api/v1/experiments?%s", query.data);
    if (!st)
        append_list(list, json_get(reply, "experiments"));
    return st;
}

/* The experiments that match --query, by id: the master finds their ids with the query of
 * its table, and then shows them as it does without a query. */
static det_status get_matches(struct cli *cli, const struct list_options *options,
                              const char *more, struct json **ret_list)
{
    CLEANUP(buf_done) struct buf query = BUF_INIT;
    struct json *reply, *list = json_new(&cli->mem, JSON_ARRAY);
    const struct json *id;
    det_status st;

    if (options->name)
        return cli_fail(cli, DET_INVALID,
                        "--name does not go with --query; write name ~ '%s' in the "
                        "query",
                        options->name);
    add_page(options, &query);
    buf_printf(&query, "&columns=id&sort=-id&query=%s%s", cli_url(cli, options->query),
               options->all ? "&archived=both" : "");
    st = add_filters(cli, options, &query);
    if (!st && !options->all)
        st = add_owner(cli, &query);
    if (!st && (query.status || !list))
        st = cli_nomem(cli);
    if (!st)
        st = cli_get(cli, &reply, "/api/v1/det/experiments?%s", query.data);
    if (st)
        return st;
    reverse_list(json_get(reply, "experiments"));
    id = json_first(json_get(reply, "experiments"));
    while (!st && id)
        st = get_some(cli, more, &id, list);
    *ret_list = list;
    return st;
}

static det_status show_list(struct cli *cli, const struct cli_invocation *in,
                            struct json *list)
{
    if (in->format == CLI_JSON)
        return cli_print_json(cli, list);
    if (in->format == CLI_TEXT && !json_first(list)) {
        note_empty_list(cli, in->options);
        return DET_OK;
    }
    return print_experiments(cli, list,
                             ((const struct list_options *)in->options)->show_project);
}

det_status run_experiment_list(struct cli *cli, const struct cli_invocation *in)
{
    /* JSON shows everything */
    const char *more = in->format == CLI_JSON ? "" : "&excludeConfig=true";
    CLEANUP(buf_done) struct buf query = BUF_INIT;
    const struct list_options *options = in->options;
    struct json *reply, *list = NULL;
    det_status st = DET_OK;

    if (options->query) {
        st = get_matches(cli, options, more, &list);
        return st ? st : show_list(cli, in, list);
    }
    add_page(options, &query);
    buf_printf(&query, "&sortBy=SORT_BY_ID&orderBy=ORDER_BY_DESC%s", more);
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
    reverse_list(list);
    return show_list(cli, in, list);
}

det_status experiment_print_table(struct cli *cli, const struct json *experiments)
{
    return print_experiments(cli, experiments, false);
}

/* ---- trials ---------------------------------------------------------------------- */

det_status run_experiment_list_trials(struct cli *cli, const struct cli_invocation *in)
{
    struct trial_list list;
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (!st)
        st = trial_list_get(cli, id, in->options, 0, &list);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, list.trials);
    return trial_list_print(cli, &list);
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

/* Of several trials the first that failed: it may have caused the other failures.
 * *ret_first is this trial, or NULL. */
static det_status put_failure(struct cli *cli, const struct json *e,
                              const struct json **ret_first)
{
    int64_t count = json_i64(json_get(e, "numTrials"), 0);
    int64_t failed = 0;
    char who[80];
    det_status st =
        trial_list_failed(cli, json_i64(json_get(e, "id"), 0), ret_first, &failed);

    if (st)
        return st;
    if (count > 1)
        (void)snprintf(who, sizeof(who),
                       "%" PRId64 " of %" PRId64 " trials; trial %" PRId64 ": ", failed,
                       count, json_i64(json_get(*ret_first, "id"), 0));
    trial_print_failure(cli, count > 1 ? who : "", *ret_first);
    return DET_OK;
}

/* A run that ended too soon is followed by a wait. */
static void put_wait(struct cli *cli, const struct json *summary)
{
    const char *reason = json_str(json_get(summary, "waitReason"), NULL);

    if (reason)
        cli_print_field(cli, "waits",
                        arena_printf(&cli->mem, "until %s: %s",
                                     format_time(cli, json_get(summary, "retryTime")),
                                     reason));
}

static size_t count_lines(const char *text, size_t len)
{
    size_t lines = 0;

    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    return lines;
}

static det_status describe_as_json(struct cli *cli, int64_t id, struct json *all)
{
    struct json *reply;
    struct trial_list list;
    struct json *copy;
    det_status st = cli_get(cli, &reply, "/api/v1/experiments/%" PRId64, id);

    if (!st)
        st = trial_list_get(cli, id, cli->in->options, 0, &list);
    if (st)
        return st;
    copy = json_push(all, json_copy(&cli->mem, json_get(reply, "experiment")));
    json_set(&cli->mem, copy, "trials", json_copy(&cli->mem, list.trials));
    if (json_get(reply, "metricDoubt"))
        json_set(&cli->mem, copy, "metricDoubt",
                 json_copy(&cli->mem, json_get(reply, "metricDoubt")));
    return cli->mem.has_failed ? cli_nomem(cli) : DET_OK;
}

/* The metrics of each trial of the list. */
static det_status put_trial_metrics(struct cli *cli, const struct trial_list *list)
{
    det_status st = DET_OK;

    json_each(t, list->trials)
        if (!st)
            st = trial_print_metrics(cli, t, true);
    return st;
}

static det_status put_trials(struct cli *cli, int64_t id, size_t lines_taken)
{
    const struct trial_list_options *options = cli->in->options;
    struct trial_list list;
    det_status st = trial_list_get(cli, id, options, lines_taken, &list);

    if (st || !list.total)
        return st;
    cli_put(cli, "\n");
    st = trial_list_print(cli, &list);
    return st || !options->metrics ? st : put_trial_metrics(cli, &list);
}

static det_status describe_experiment(struct cli *cli, int64_t id)
{
    size_t begin = cli->out.len;
    const struct json *failed = NULL;
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/experiments/%" PRId64, id);

    if (st)
        return st;
    put_experiment(cli, json_get(reply, "experiment"));
    cli_print_field(cli, "warning", json_str(json_get(reply, "metricDoubt"), ""));
    put_wait(cli, json_get(reply, "jobSummary"));
    st = put_failure(cli, json_get(reply, "experiment"), &failed);
    if (!st)
        st = put_trials(cli, id,
                        count_lines(cli->out.data + begin, cli->out.len - begin) +
                            (failed ? TRIAL_END_LINES : 0));
    return st ? st : trial_print_end(cli, failed);
}

/* CSV is one table: the trials of all experiments. */
static det_status describe_csv(struct cli *cli, const struct cli_ids *ids)
{
    struct table table;
    det_status st = DET_OK;

    table_init(&table, &cli->mem, trial_columns);
    for (size_t i = 0; i < ids->count && !st; i++) {
        struct trial_list list;

        st = trial_list_get(cli, ids->at[i], cli->in->options, 0, &list);
        if (!st)
            json_each(t, list.trials)
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

    if (!st)
        st = trial_list_check(cli, in->options);
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
        st = all ? describe_as_json(cli, ids.at[i], all)
                 : describe_experiment(cli, ids.at[i]);
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
