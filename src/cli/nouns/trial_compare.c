/* SPDX-License-Identifier: Apache-2.0 */
/* trial_compare.c - `det trial compare`: what two trials ran on, and every metric, bit by
 * bit. */
#include "cli/nouns/trial_compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/vec.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/nouns/trial_environment.h"
#include "data/json/json.h"

enum { METRIC_MEMORY = 1 << 30, LINE_MEMORY = 256 << 20, LISTED = 8 };

/* The record of rank 0 of the last run that has one; NULL: there is none. */
static const struct json *last_record(const struct json *environment)
{
    const struct json *record = NULL;

    json_each(run, json_get(environment, "runs"))
        if (json_i64(json_get(run, "rank"), 0) == 0)
            record = json_get(run, "record");
    return record;
}

/* ---- what they ran on ------------------------------------------------------------ */

struct differences {
    struct cli *cli;
    size_t count; /* of all; the first LISTED are printed */
};

static const char *text_of(struct cli *cli, const struct json *value)
{
    const char *text = json_is_null(value) ? "none" : json_str(value, NULL);

    if (!text)
        text = json_text(&cli->mem, value);
    return text ? text : "?";
}

static void compare_value(struct differences *d, const char *what,
                          const struct json *then, const struct json *now)
{
    if (json_equal(then, now) || (json_is_null(then) && json_is_null(now)))
        return;
    if (d->count++ < LISTED)
        cli_put(d->cli, "  %-12s %s then, %s now\n", what, text_of(d->cli, then),
                text_of(d->cli, now));
}

static void compare_packages(struct differences *d, const struct json *then,
                             const struct json *now)
{
    json_each(package, then)
        compare_value(d, package->key, package, json_get(now, package->key));
    json_each(package, now)
        if (!json_get(then, package->key))
            compare_value(d, package->key, NULL, package);
}

/* False: one of them has no record. */
static bool compare_records(struct cli *cli, const struct json *then,
                            const struct json *now)
{
    static const char *const parts[][2] = {
        {"det", "det"},       {"host", "host"},          {"os", "system"},
        {"kernel", "kernel"}, {"libc", "libc"},          {"cpu", "processor"},
        {"gpus", "gpus"},     {"memoryBytes", "memory"}, {"code", "code"},
    };
    struct differences d = {.cli = cli};
    size_t mark = cli->out.len;

    if (!then || !now) {
        cli_put(cli, "There is no record of what %s ran on.\n",
                !then ? "the first" : "the second");
        return false;
    }
    cli_put(cli, "They ran on different machines, packages or code:\n");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        compare_value(&d, parts[i][1], json_get(then, parts[i][0]),
                      json_get(now, parts[i][0]));
    compare_value(&d, "python", json_path(then, "python.version"),
                  json_path(now, "python.version"));
    compare_packages(&d, json_get(then, "packages"), json_get(now, "packages"));
    if (d.count > LISTED)
        cli_put(cli, "  ... and %zu more\n", d.count - LISTED);
    if (!d.count) {
        buf_cut(&cli->out, mark);
        cli_put(cli, "Machine, packages and code are the same.\n");
    }
    return true;
}

/* ---- metrics --------------------------------------------------------------------- */

struct metric {
    const char *group;
    const char *name;
    const char *value; /* JSON: the shortest text with the same bits */
    int64_t steps;
};

struct metrics {
    struct arena mem;  /* of `list` */
    struct arena line; /* one line of the stream */
    VEC(struct metric) list;
    const char *group; /* of the last report; the next one often has the same */
    struct cli *cli;
    det_status status;
};

static void metrics_done(struct metrics *m)
{
    arena_done(&m->mem);
    arena_done(&m->line);
    vec_done(&m->list);
}

static void keep_report(struct metrics *m, const struct json *report)
{
    const char *group = json_str(json_get(report, "group"), "");
    const struct json *parts = json_get(report, "metrics");
    const struct json *values = json_get(parts, "validation_metrics");

    if (!m->group || strcmp(m->group, group))
        m->group = arena_strdup(&m->mem, group);
    json_each(value, values ? values : json_get(parts, "avg_metrics")) {
        struct metric one = {.group = m->group,
                             .name = arena_strdup(&m->mem, value->key),
                             .value = json_text(&m->mem, value),
                             .steps = json_i64(json_get(report, "totalBatches"), 0)};

        if (m->mem.has_failed || !vec_push(&m->list, one))
            m->status = cli_nomem(m->cli);
    }
}

static int on_line(void *arg, const char *line, size_t len)
{
    struct metrics *m = arg;
    struct json *tree;

    arena_clear(&m->line);
    m->status = json_parse(line, len, &m->line, &tree, m->cli->err);
    if (!m->status)
        json_each(report, json_path(tree, "result.metrics"))
            keep_report(m, report);
    return m->status != DET_OK;
}

static int compare_metric(const void *a, const void *b)
{
    const struct metric *x = a, *y = b;
    int order = strcmp(x->group, y->group);

    if (!order && x->steps != y->steps)
        return x->steps < y->steps ? -1 : 1;
    return order ? order : strcmp(x->name, y->name);
}

static det_status read_metrics(struct cli *cli, int64_t trial, struct metrics *m)
{
    const char *path = arena_printf(
        &cli->mem, "/api/v1/trials/metrics/trial_metrics?trialIds=%" PRId64, trial);
    det_status st;

    *m = (struct metrics){
        .mem = ARENA_INIT(METRIC_MEMORY), .line = ARENA_INIT(LINE_MEMORY), .cli = cli};
    if (!path)
        return cli_nomem(cli);
    st = cli_stream(cli, path, on_line, m);
    if (!st)
        st = m->status;
    if (!st && m->list.count)
        qsort(m->list.at, m->list.count, sizeof(*m->list.at), compare_metric);
    return st;
}

struct verdict {
    size_t same;
    size_t other;           /* in both, with different values */
    size_t alone;           /* in one of them only */
    struct metric first[2]; /* the first that differs; value NULL: it has none */
};

static void note_first(struct verdict *v, const struct metric *then,
                       const struct metric *now)
{
    if (v->first[0].group || v->first[1].group)
        return;
    v->first[0] = then ? *then : *now;
    v->first[1] = now ? *now : *then;
    if (!then)
        v->first[0].value = NULL;
    if (!now)
        v->first[1].value = NULL;
}

static struct verdict compare_lists(const struct metrics *then,
                                    const struct metrics *now)
{
    struct verdict v = {0};
    size_t i = 0, j = 0;

    while (i < then->list.count || j < now->list.count) {
        const struct metric *a = i < then->list.count ? &then->list.at[i] : NULL;
        const struct metric *b = j < now->list.count ? &now->list.at[j] : NULL;
        int order = !a ? 1 : !b ? -1 : compare_metric(a, b);

        if (!order && !strcmp(a->value, b->value)) {
            v.same++;
        } else if (!order) {
            v.other++;
            note_first(&v, a, b);
        } else {
            v.alone++;
            note_first(&v, order < 0 ? a : NULL, order < 0 ? NULL : b);
        }
        i += order <= 0;
        j += order >= 0;
    }
    return v;
}

static void put_verdict(struct cli *cli, int64_t one, int64_t other,
                        const struct verdict *v)
{
    const struct metric *a = &v->first[0], *b = &v->first[1];

    if (!v->other && !v->alone) {
        cli_put(cli, "Trials %" PRId64 " and %" PRId64 " have the same %zu metric%s.\n",
                one, other, v->same, v->same == 1 ? "" : "s");
        return;
    }
    cli->exit_code = 1;
    cli_put(cli,
            "Trials %" PRId64 " and %" PRId64 " differ: %zu metric%s the same, %zu %s "
            "another value, %zu %s only in one of them.\n",
            one, other, v->same, v->same == 1 ? " is" : "s are", v->other,
            v->other == 1 ? "has" : "have", v->alone, v->alone == 1 ? "is" : "are");
    cli_put(cli,
            "The first that differs is %s %s at batch %" PRId64 ": %s then, %s "
            "now.\n",
            a->group, a->name, a->steps, a->value ? a->value : "none",
            b->value ? b->value : "none");
}

det_status trial_compare(struct cli *cli, int64_t one, int64_t other)
{
    CLEANUP(metrics_done) struct metrics then = {0};
    CLEANUP(metrics_done) struct metrics now = {0};
    struct json *first, *second;
    struct verdict verdict;
    det_status st = trial_environment_get(cli, one, &first);

    if (!st)
        st = trial_environment_get(cli, other, &second);
    if (!st)
        st = read_metrics(cli, one, &then);
    if (!st)
        st = read_metrics(cli, other, &now);
    if (st)
        return st;
    (void)compare_records(cli, last_record(first), last_record(second));
    verdict = compare_lists(&then, &now);
    put_verdict(cli, one, other, &verdict);
    return DET_OK;
}

det_status run_trial_compare(struct cli *cli, const struct cli_invocation *in)
{
    int64_t one, other;
    det_status st = cli_id(cli, "trial", in->args[0], &one);

    if (!st)
        st = cli_id(cli, "trial", in->args[1], &other);
    return st ? st : trial_compare(cli, one, other);
}
