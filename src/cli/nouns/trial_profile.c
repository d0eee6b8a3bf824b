/* SPDX-License-Identifier: Apache-2.0 */
/* trial_profile.c - `det trial profile`: a trial's use of the machine, and where its time
 * went.
 *
 *   AGENT  GROUP    NAME              LAST   MEAN    MAX  OVER TIME
 *   a1     cpu      cpu_util_simple   48 %   51 %   97 %  ▃▄▄▅▄▄▆▄
 *   ...
 *   where the time on a1 went (2m 10s):
 *     step        80.1 %  ████████████████  12.3 ms each
 *     data wait   12.0 %  ██▍               1.8 ms each
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/output/chart.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "data/json/json.h"
#include "model/profile.h"

enum { REPORT_TREE = 64 << 20, BAR = 20 };

/* ---- reading --------------------------------------------------------------------- */

struct reading {
    struct cli *cli;
    struct profile *profile;
    const char *group;
    struct arena mem; /* of one line */
    det_status status;
};

static int on_line(void *arg, const char *text, size_t len)
{
    struct reading *reading = arg;
    struct err *err = reading->cli->err;
    struct json *tree;

    arena_clear(&reading->mem);
    reading->status = json_parse(text, len, &reading->mem, &tree, err);
    if (reading->status)
        return 1;
    json_each(report, json_path(tree, "result.metrics")) {
        reading->status = profile_add(reading->profile, reading->group,
                                      json_path(report, "metrics.avg_metrics"), 0, err);
        if (reading->status)
            return 1;
    }
    return 0;
}

/* What supervisors have measured counts for agents without measurements of the program
 * itself, which are finer. */
static det_status read_loads(struct cli *cli, int64_t id, struct profile *profile)
{
    const char *agent = "";
    bool has_own = false;
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/det/trials/%" PRId64 "/load", id);

    if (st)
        return st;
    json_each(row, json_get(reply, "loads")) {
        const char *next = json_str(json_get(row, "agent"), "");

        if (strcmp(next, agent) != 0)
            has_own = profile_has_load(profile, next);
        agent = next;
        if (!st && !has_own)
            st = profile_add_load(profile, agent, json_get(row, "load"), 0, cli->err);
    }
    return st;
}

static det_status read_profile(struct cli *cli, int64_t id, struct profile *profile)
{
    det_status st = DET_OK;

    for (size_t i = 0; profile_groups[i] && !st; i++) {
        struct reading reading = {.cli = cli,
                                  .profile = profile,
                                  .group = profile_groups[i],
                                  .mem = ARENA_INIT(REPORT_TREE)};
        const char *path = arena_printf(
            &cli->mem,
            "/api/v1/trials/metrics/trial_metrics?group=%s&trialIds=%" PRId64,
            profile_groups[i], id);

        st = path ? cli_stream(cli, path, on_line, &reading) : cli_nomem(cli);
        if (!st)
            st = reading.status;
        arena_done(&reading.mem);
    }
    if (!st)
        st = read_loads(cli, id, profile);
    profile_sort(profile);
    return st;
}

/* ---- words ----------------------------------------------------------------------- */

static bool is_percent(const struct profile_line *line)
{
    return !strcmp(line->group, "timing") || strstr(line->name, "_util");
}

/* A program may report any number. */
static const char *bytes_text(struct cli *cli, double value)
{
    return format_size(cli, (uint64_t)fmin(fmax(value, 0), 1e18));
}

/* "48 %", "2.5KB/s", "1.2GB", "31" */
static const char *value_text(struct cli *cli, const struct profile_line *line,
                              double value)
{
    char number[CHART_NUMBER];
    const char *text;

    if (is_percent(line))
        text = arena_printf(&cli->mem, "%.1f %%", value);
    else if (strstr(line->name, "throughput"))
        text = arena_printf(&cli->mem, "%s/s", bytes_text(cli, value));
    else if (strstr(line->name, "memory"))
        text = bytes_text(cli, value);
    else {
        chart_number(value, number);
        text = arena_strdup(&cli->mem, number);
    }
    return text ? text : "";
}

static const char *raw_text(struct cli *cli, double value)
{
    const char *text = arena_printf(&cli->mem, "%.10g", value);

    return text ? text : "";
}

static const char *kind_text(const char *kind)
{
    return strcmp(kind, "data") ? kind : "data wait";
}

static const char *curve_text(struct cli *cli, const struct profile_line *line)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const char *copy;

    chart_spark(line->curve.point, line->curve.count,
                is_percent(line) ? 100 : line->max, &text);
    copy = arena_strdup(&cli->mem, text.data);
    return copy && !text.status ? copy : "";
}

/* "12.5 13 14" */
static const char *points_text(struct cli *cli, const struct profile_line *line)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const char *copy;

    for (uint32_t i = 0; i < line->curve.count; i++)
        buf_printf(&text, "%s%.6g", i ? " " : "", line->curve.point[i]);
    copy = arena_strdup(&cli->mem, text.data);
    return copy && !text.status ? copy : "";
}

/* ---- showing --------------------------------------------------------------------- */

static det_status put_lines(struct cli *cli, const struct profile *profile)
{
    static const struct table_column columns[] = {
        {"AGENT", TABLE_LEFT},     {"GROUP", TABLE_LEFT},
        {"NAME", TABLE_FLEX},      {"LAST", TABLE_RIGHT},
        {"MEAN", TABLE_RIGHT},     {"MAX", TABLE_RIGHT},
        {"OVER TIME", TABLE_LEFT}, {0}};
    struct table table;

    table_init(&table, &cli->mem, columns);
    for (size_t i = 0; i < profile->lines.count; i++) {
        const struct profile_line *line = profile->lines.at[i];
        double mean = line->sum / (double)line->count;

        table_add(&table, line->agent);
        table_add(&table, line->group);
        table_add(&table, line->name);
        table_add_raw(&table, value_text(cli, line, line->last),
                      raw_text(cli, line->last));
        table_add_raw(&table, value_text(cli, line, mean), raw_text(cli, mean));
        table_add_raw(&table, value_text(cli, line, line->max),
                      raw_text(cli, line->max));
        table_add_raw(&table, curve_text(cli, line), points_text(cli, line));
    }
    return cli_print_table(cli, &table);
}

static void put_bar(struct cli *cli, const char *name, double percent,
                    const char *behind)
{
    CLEANUP(buf_done) struct buf bar = BUF_INIT;
    /* A program may report any timing; a bar has at most 100 %. */
    int length = percent > 0 ? (int)lround(fmin(percent, 100) / 100 * BAR) : 0;

    for (int i = 0; i < length; i++)
        buf_puts(&bar, "█");
    if (*behind)
        buf_printf(&bar, "%*s  %s", BAR - length, "", behind);
    cli_put(cli, "  %-10s %5.1f %%%s%s\n", name, percent, bar.len ? "  " : "",
            bar.len ? bar.data : "");
}

/* The timing of one agent, whose lines begin at `at`; returns the end of its lines. */
static size_t put_times(struct cli *cli, const struct profile *profile, size_t at)
{
    const char *agent = profile->lines.at[at]->agent;
    double all = profile_seconds(profile, agent);
    struct profile_cause cause;
    double rest = all;

    if (all > 0)
        cli_put(cli, "\nwhere the time on %s went (%s):\n", agent,
                format_duration(cli, (int64_t)lround(all)));
    for (; at < profile->lines.count && !strcmp(profile->lines.at[at]->agent, agent);
         at++) {
        const struct profile_line *line = profile->lines.at[at];
        const char *each;

        if (!(all > 0) || strcmp(line->group, "timing") != 0)
            continue;
        rest -= line->seconds;
        each =
            arena_printf(&cli->mem, "%" PRIu64 " times %.3g ms", line->events,
                         line->events ? 1e3 * line->seconds / (double)line->events : 0);
        put_bar(cli, kind_text(line->name), fmin(100 * line->seconds / all, 100),
                each ? each : "");
    }
    if (all > 0 && rest > 0)
        put_bar(cli, "other", 100 * rest / all, "");
    profile_find_cause(profile, agent, &cause);
    if (cause.is_trouble)
        cli_put(cli, "hint: %s\n", cause.text);
    return at;
}

static det_status put_json(struct cli *cli, const struct profile *profile)
{
    struct arena *mem = &cli->mem;
    struct json *all = json_new(mem, JSON_ARRAY);

    for (size_t i = 0; i < profile->lines.count; i++) {
        const struct profile_line *line = profile->lines.at[i];
        struct json *item = json_new(mem, JSON_OBJECT);
        double covered = profile_seconds(profile, line->agent);

        json_set(mem, item, "agent", json_new_str(mem, line->agent));
        json_set(mem, item, "group", json_new_str(mem, line->group));
        json_set(mem, item, "name", json_new_str(mem, line->name));
        json_set(mem, item, "last", json_new_real(mem, line->last));
        json_set(mem, item, "mean",
                 json_new_real(mem, line->sum / (double)line->count));
        json_set(mem, item, "max", json_new_real(mem, line->max));
        json_set(mem, item, "reports", json_new_i64(mem, (int64_t)line->count));
        if (!strcmp(line->group, "timing")) {
            json_set(mem, item, "seconds", json_new_real(mem, line->seconds));
            json_set(mem, item, "count", json_new_i64(mem, (int64_t)line->events));
            json_set(mem, item, "share",
                     json_new_real(mem, covered > 0 ? line->seconds / covered : 0));
        }
        json_push(all, item);
    }
    return mem->has_failed ? cli_nomem(cli) : cli_print_json(cli, all);
}

static bool has_timings(const struct profile *profile)
{
    for (size_t i = 0; i < profile->lines.count; i++)
        if (!strcmp(profile->lines.at[i]->group, "timing"))
            return true;
    return false;
}

static det_status print_profile(struct cli *cli, int64_t id,
                                const struct profile *profile)
{
    det_status st;

    if (cli->in->format == CLI_JSON)
        return put_json(cli, profile);
    if (!profile->lines.count && cli->in->format == CLI_TEXT) {
        cli_note(cli,
                 "trial %" PRId64 " has no profile: it ran for less than two seconds, "
                 "or `profiling: {enabled: false}` in its experiment's configuration "
                 "turned it off",
                 id);
        return DET_OK;
    }
    st = put_lines(cli, profile);
    if (!st && cli->in->format == CLI_TEXT && !has_timings(profile))
        cli_note(cli, "hint: `profiling: {enabled: true}` in the configuration also "
                      "measures where the time goes");
    for (size_t at = 0;
         !st && cli->in->format == CLI_TEXT && at < profile->lines.count;)
        at = put_times(cli, profile, at);
    return st;
}

det_status run_trial_profile(struct cli *cli, const struct cli_invocation *in)
{
    struct profile profile = PROFILE_INIT(&cli->mem);
    int64_t id;
    det_status st = cli_id(cli, "trial", in->args[0], &id);

    if (!st)
        st = read_profile(cli, id, &profile);
    if (!st)
        st = print_profile(cli, id, &profile);
    profile_done(&profile);
    return st;
}
