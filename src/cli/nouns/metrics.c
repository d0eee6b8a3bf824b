/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - metrics as curves for people and as rows for programs.
 *
 * Curves are drawn from the master's downsampled series, a few hundred points each.
 * --csv and --json stream every report. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/output/chart.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/output/term.h"
#include "data/json/json.h"

enum {
    POINTS_MOST = 400,
    WIDTH_MOST = 100,
    CHARTS_MOST = 12,
    NAMES_MOST = 30, /* listed in an error */
    REPORT_TREE = 256 << 20,
    TRIALS_AT_ONCE = 200
};

/* The experiment and its trials that are shown. */
struct subject {
    int64_t experiment_id;
    struct cli_ids trials;
    const char *metric; /* the searcher's; "": none */
    bool smaller_is_better;
    bool is_over; /* the experiment */
};

/* ---- experiment, trials, names --------------------------------------------------- */

static det_status load_experiment(struct cli *cli, int64_t id, struct subject *subject)
{
    struct json *reply;
    const struct json *searcher;
    det_status st = cli_get(cli, &reply, "/api/v1/experiments/%" PRId64, id);

    if (st)
        return st;
    searcher = json_path(reply, "config.searcher");
    subject->experiment_id = id;
    subject->metric = json_str(json_get(searcher, "metric"), "");
    subject->smaller_is_better =
        json_bool(json_get(searcher, "smaller_is_better"), true);
    subject->is_over =
        format_state_is_final(format_state(json_path(reply, "experiment.state")));
    return DET_OK;
}

/* `count` -1: all of them. */
static det_status best_trials(struct cli *cli, int64_t count, struct subject *subject)
{
    struct json *reply, *trials;
    det_status st = cli_get(
        cli, &reply,
        "/api/v1/experiments/%" PRId64 "/trials?limit=%" PRId64
        "&sortBy=SORT_BY_BEST_VALIDATION_METRIC&orderBy=ORDER_BY_%s",
        subject->experiment_id, count, subject->smaller_is_better ? "ASC" : "DESC");

    if (st)
        return st;
    trials = json_get(reply, "trials");
    subject->trials.at =
        arena_array(&cli->mem, int64_t, json_first(trials) ? trials->list.count : 1);
    if (!subject->trials.at)
        return cli_nomem(cli);
    json_each(trial, trials)
        subject->trials.at[subject->trials.count++] =
            json_i64(json_get(trial, "id"), 0);
    if (!subject->trials.count)
        return cli_fail(cli, DET_NOT_FOUND, "experiment %" PRId64 " has no trials yet",
                        subject->experiment_id);
    return DET_OK;
}

/* All trials must belong to one experiment: else their metrics cannot be compared. */
static det_status load_trials(struct cli *cli, struct subject *subject)
{
    for (size_t i = 0; i < subject->trials.count; i++) {
        struct json *reply;
        int64_t of;
        det_status st =
            cli_get(cli, &reply, "/api/v1/trials/%" PRId64, subject->trials.at[i]);

        if (st)
            return st;
        of = json_i64(json_path(reply, "trial.experimentId"), 0);
        if (i && of != subject->experiment_id)
            return cli_fail(cli, DET_INVALID,
                            "trials %" PRId64 " and %" PRId64
                            " belong to different experiments",
                            subject->trials.at[0], subject->trials.at[i]);
        subject->experiment_id = of;
    }
    return load_experiment(cli, subject->experiment_id, subject);
}

static bool is_wanted(const struct metric_options *options, const char *group,
                      const char *name)
{
    if (options->group && strcmp(options->group, group))
        return false;
    if (!options->names.count)
        return true;
    for (size_t i = 0; i < options->names.count; i++)
        if (!strcmp(options->names.at[i], name))
            return true;
    return false;
}

static bool has_metric(const struct json *there, const char *group, const char *name)
{
    json_each(row, there)
        if ((!group || !strcmp(group, json_str(json_get(row, "group"), ""))) &&
            (!name || !strcmp(name, json_str(json_get(row, "name"), ""))))
            return true;
    return false;
}

/* If there are metrics, an unknown name is probably a typing mistake.  The sentence lists
 * the known ones: "...; it has training: loss; validation: loss, accuracy". */
static det_status unknown_metric(struct cli *cli, const struct subject *subject,
                                 const struct json *there, const char *name)
{
    const struct metric_options *options = cli->in->options;
    CLEANUP(buf_done) struct buf list = BUF_INIT;
    const char *last = "";
    size_t count = 0;

    json_each(row, there) {
        const char *group = json_str(json_get(row, "group"), "");
        bool is_next = strcmp(group, last) != 0;

        buf_printf(&list, "%s%s%s%s",
                   !list.len ? ""
                   : is_next ? "; "
                             : ", ",
                   is_next ? group : "", is_next ? ": " : "",
                   json_str(json_get(row, "name"), ""));
        last = group;
        if (++count == NAMES_MOST && row->next) {
            buf_printf(&list, ", and %zu more", there->list.count - count);
            break;
        }
    }
    if (list.status)
        return cli_nomem(cli);
    if (!name)
        return cli_fail(cli, DET_NOT_FOUND,
                        "experiment %" PRId64
                        " has no metrics of group '%s'; it has %s",
                        subject->experiment_id, options->group, list.data);
    return cli_fail(cli, DET_NOT_FOUND,
                    "experiment %" PRId64 " has no metric '%s'%s%s; it has %s",
                    subject->experiment_id, name, options->group ? " of group " : "",
                    options->group ? options->group : "", list.data);
}

static det_status check_names(struct cli *cli, const struct subject *subject,
                              const struct json *there)
{
    const struct metric_options *options = cli->in->options;

    if (!json_first(there))
        return DET_OK;
    if (options->group && !has_metric(there, options->group, NULL))
        return unknown_metric(cli, subject, there, NULL);
    for (size_t i = 0; i < options->names.count; i++)
        if (!has_metric(there, options->group, options->names.at[i]))
            return unknown_metric(cli, subject, there, options->names.at[i]);
    return DET_OK;
}

/* ---- curves ---------------------------------------------------------------------- */

static const char *summary_group(const char *group)
{
    if (!strcmp(group, "training"))
        return "avg_metrics";
    return strcmp(group, "validation") ? group : "validation_metrics";
}

/* "trial 3  last 0.02, best 0.0123" */
static const char *series_label(struct cli *cli, const struct subject *subject,
                                const struct json *trial, const char *group,
                                const char *name)
{
    const struct json *summary = json_get(
        json_get(json_get(trial, "summaryMetrics"), summary_group(group)), name);
    const char *last = format_number(cli, json_get(summary, "last"));
    const char *low = format_number(cli, json_get(summary, "min"));
    const char *high = format_number(cli, json_get(summary, "max"));
    int64_t id = json_i64(json_get(trial, "id"), 0);

    if (!*low)
        return arena_printf(&cli->mem, "trial %" PRId64, id);
    if (!strcmp(name, subject->metric) && !strcmp(group, "validation"))
        return arena_printf(&cli->mem, "trial %" PRId64 "  last %s, best %s", id, last,
                            subject->smaller_is_better ? low : high);
    return arena_printf(&cli->mem, "trial %" PRId64 "  last %s, lowest %s, highest %s",
                        id, last, low, high);
}

static det_status read_points(struct cli *cli, const struct json *data,
                              const char *name, struct chart_series *series)
{
    size_t count = data && data->kind == JSON_ARRAY ? data->list.count : 0;
    struct chart_point *points = arena_array(&cli->mem, struct chart_point, count + 1);

    if (!points)
        return cli_nomem(cli);
    series->point = points;
    json_each(point, data) {
        struct chart_point *to = &points[series->count];

        to->x = (double)json_i64(json_get(point, "batches"), 0);
        if (json_number(json_get(json_get(point, "values"), name), &to->y))
            series->count++;
    }
    return DET_OK;
}

static const char *chart_title(struct cli *cli, const struct subject *subject,
                               const char *group, const char *name)
{
    const char *note = "";

    if (!strcmp(name, subject->metric) && !strcmp(group, "validation"))
        note =
            subject->smaller_is_better ? ", smaller is better" : ", larger is better";
    return arena_printf(&cli->mem, "%s (%s%s)", name, group, note);
}

/* No trial has a number for the metric. */
static bool is_empty(const struct chart *chart)
{
    for (size_t i = 0; i < chart->count; i++)
        if (chart->series[i].count)
            return false;
    return true;
}

static det_status draw_metric(struct cli *cli, const struct subject *subject,
                              const char *group, const char *name, size_t *drawn)
{
    static const enum term_color colors[] = {COLOR_CYAN,    COLOR_YELLOW, COLOR_GREEN,
                                             COLOR_MAGENTA, COLOR_RED,    COLOR_BLUE};
    const struct metric_options *options = cli->in->options;
    CLEANUP(buf_done) struct buf query = BUF_INIT;
    struct chart_series *series =
        arena_array(&cli->mem, struct chart_series, subject->trials.count);
    struct chart chart = {.title = chart_title(cli, subject, group, name),
                          .x_name = "batches",
                          .series = series,
                          .width = MIN(cli->term.width, (size_t)WIDTH_MOST),
                          .height = (size_t)options->height,
                          .has_color = cli->term.has_color};
    struct json *reply;
    det_status st;

    buf_printf(&query, "maxDatapoints=%d&group=%s&metricNames=%s", POINTS_MOST,
               cli_url(cli, group), cli_url(cli, name));
    for (size_t i = 0; i < subject->trials.count; i++)
        buf_printf(&query, "&trialIds=%" PRId64, subject->trials.at[i]);
    if (!series || !chart.title || query.status)
        return cli_nomem(cli);
    st = cli_get(cli, &reply, "/api/v1/trials/time-series?%s", query.data);
    json_each(item, st ? NULL : json_get(reply, "trials")) {
        const struct json *metric = json_first(json_get(item, "metrics"));
        struct chart_series *to = &series[chart.count];

        to->color = colors[chart.count++ % ARRAY_LEN(colors)];
        to->label = series_label(cli, subject, json_get(item, "trial"), group, name);
        st = to->label ? read_points(cli, json_get(metric, "data"), name, to)
                       : cli_nomem(cli);
        if (st || chart.count >= subject->trials.count)
            break;
    }
    /* A metric that the user named is drawn even if it is empty. */
    if (st || (!options->names.count && !options->group && is_empty(&chart)))
        return st;
    if ((*drawn)++)
        cli_put(cli, "\n");
    return chart_draw(&chart, &cli->out, cli->err);
}

static det_status draw_all(struct cli *cli, const struct subject *subject,
                           const struct json *there)
{
    const struct metric_options *options = cli->in->options;
    size_t drawn = 0, left = 0;
    det_status st;

    json_each(row, there) {
        const char *group = json_str(json_get(row, "group"), "");
        const char *name = json_str(json_get(row, "name"), "");

        if (!is_wanted(options, group, name))
            continue;
        if (drawn >= CHARTS_MOST && !options->names.count) {
            left++;
            continue;
        }
        st = draw_metric(cli, subject, group, name, &drawn);
        if (!st)
            st = cli_flush(cli);
        if (st)
            return st;
    }
    if (left)
        cli_note(cli, "%zu more metrics are not drawn; choose with --group and --name",
                 left);
    if (!drawn)
        cli_note(cli, "no metrics were reported%s", subject->is_over ? "" : " yet");
    return DET_OK;
}

/* ---- rows ------------------------------------------------------------------------ */

struct rows {
    struct cli *cli;
    struct arena mem;
    size_t count;
    det_status status;
};

static void put_csv_rows(struct rows *rows, const struct json *report,
                         const char *group, const struct json *values)
{
    const struct metric_options *options = rows->cli->in->options;
    struct buf *out = &rows->cli->out;
    bool is_lost = json_bool(json_get(report, "archived"), false);

    json_each(value, values) {
        const char *text = json_str(value, NULL);

        if (!is_wanted(options, group, value->key))
            continue;
        cli_put(rows->cli, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,",
                json_i64(json_get(report, "trialId"), 0),
                json_i64(json_get(report, "trialRunId"), 0),
                json_i64(json_get(report, "totalBatches"), 0),
                json_str(json_get(report, "endTime"), ""));
        table_csv_field(out, group);
        buf_putc(out, ',');
        table_csv_field(out, value->key);
        buf_putc(out, ',');
        if (!text)
            text = json_text(&rows->mem, value);
        table_csv_field(out, text ? text : "");
        if (options->lost)
            buf_puts(out, is_lost ? ",true" : ",false");
        buf_putc(out, '\n');
    }
}

static void put_report(struct rows *rows, const struct json *report)
{
    const struct metric_options *options = rows->cli->in->options;
    const char *group = json_str(json_get(report, "group"), "");
    const struct json *metrics = json_get(report, "metrics");
    const struct json *values = json_get(metrics, "validation_metrics");

    if (options->group && strcmp(options->group, group))
        return;
    if (!values)
        values = json_get(metrics, "avg_metrics");
    if (rows->cli->in->format == CLI_CSV) {
        put_csv_rows(rows, report, group, values);
        return;
    }
    cli_put(rows->cli, "%s\n  ", rows->count++ ? "," : "[");
    json_write(&rows->cli->out, report);
}

static int on_line(void *arg, const char *line, size_t len)
{
    struct rows *rows = arg;
    struct json *tree;

    arena_clear(&rows->mem);
    rows->status = json_parse(line, len, &rows->mem, &tree, rows->cli->err);
    if (!rows->status)
        json_each(report, json_path(tree, "result.metrics"))
            put_report(rows, report);
    if (!rows->status)
        rows->status = cli_flush(rows->cli);
    return rows->status != DET_OK;
}

/* The length of a request line is limited: TRIALS_AT_ONCE trials per call. */
static det_status stream_rows(struct rows *rows, const struct subject *subject,
                              size_t from)
{
    struct cli *cli = rows->cli;
    const struct metric_options *options = cli->in->options;
    size_t end = MIN(subject->trials.count, from + TRIALS_AT_ONCE);
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    det_status st;

    buf_puts(&path, "/api/v1/trials/metrics/trial_metrics?");
    if (options->group)
        buf_printf(&path, "group=%s", cli_url(cli, options->group));
    if (options->lost)
        buf_puts(&path, "&withArchived=true");
    for (size_t i = from; i < end; i++)
        buf_printf(&path, "&trialIds=%" PRId64, subject->trials.at[i]);
    if (path.status)
        return cli_nomem(cli);
    st = cli_stream(cli, path.data, on_line, rows);
    return st ? st : rows->status;
}

static det_status print_rows(struct cli *cli, const struct subject *subject)
{
    const struct metric_options *options = cli->in->options;
    struct rows rows = {.cli = cli, .mem = ARENA_INIT(REPORT_TREE)};
    det_status st = DET_OK;

    if (cli->in->format == CLI_CSV)
        cli_put(cli, "trial,run,batches,time,group,name,value%s\n",
                options->lost ? ",lost" : "");
    for (size_t i = 0; i < subject->trials.count && !st; i += TRIALS_AT_ONCE)
        st = stream_rows(&rows, subject, i);
    arena_done(&rows.mem);
    if (!st && cli->in->format == CLI_JSON)
        cli_put(cli, "%s]\n", rows.count ? "\n" : "[");
    return st;
}

/* ---- commands -------------------------------------------------------------------- */

static det_status print_metrics(struct cli *cli, const struct subject *subject)
{
    const struct metric_options *options = cli->in->options;
    struct json *reply;
    const struct json *there;
    det_status st;

    if (options->lost && cli->in->format == CLI_TEXT)
        return cli_fail(cli, DET_INVALID,
                        "--lost needs --csv or --json: charts leave out lost reports");
    st = cli_get(cli, &reply, "/api/v1/det/experiments/%" PRId64 "/metric-names",
                 subject->experiment_id);

    if (st)
        return st;
    there = json_get(reply, "metricNames");
    st = check_names(cli, subject, there);
    if (st)
        return st;
    return cli->in->format == CLI_TEXT ? draw_all(cli, subject, there)
                                       : print_rows(cli, subject);
}

det_status run_experiment_metrics(struct cli *cli, const struct cli_invocation *in)
{
    const struct metric_options *options = in->options;
    struct subject subject = {0};
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (!st)
        st = load_experiment(cli, id, &subject);
    if (!st)
        st = best_trials(cli, in->format == CLI_TEXT ? options->trials : -1, &subject);
    return st ? st : print_metrics(cli, &subject);
}

det_status run_trial_metrics(struct cli *cli, const struct cli_invocation *in)
{
    struct subject subject = {0};
    det_status st = cli_ids(cli, "trial", in->args, in->arg_count, &subject.trials);

    if (!st)
        st = load_trials(cli, &subject);
    return st ? st : print_metrics(cli, &subject);
}
