/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce.c - what a trial ran on, the same trial again, and whether that gave the
 * same.
 *
 * A trial is its code, its complete configuration, its hyperparameters and its seed;
 * the rest is what it ran on.  `reproduce` submits the first four as an experiment of
 * one trial; `compare` tells what differs in the last, and every metric, to the bit. */
#include <inttypes.h>
#include <string.h>

#include "base/vec.h"
#include "cli/ctx.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/show.h"
#include "data/yaml.h"

enum { METRIC_MEMORY = 1 << 30, LINE_MEMORY = 256 << 20, LISTED = 8 };

static det_status get_environment(struct cli *cli, int64_t trial,
                                  struct json **ret_reply)
{
    return cli_get(cli, ret_reply, "/api/v1/det/trials/%" PRId64 "/environment", trial);
}

/* The record of the last run that has one, rank 0; NULL: there is none. */
static const struct json *last_record(const struct json *environment)
{
    const struct json *record = NULL;

    json_each(run, json_get(environment, "runs"))
        if (json_i64(json_get(run, "rank"), 0) == 0)
            record = json_get(run, "record");
    return record;
}

/* ---- det trial environment ------------------------------------------------------- */

/* One a line. */
static void show_packages(struct cli *cli, const struct json *packages)
{
    const char *name = "packages";

    json_each(package, packages) {
        show_field(
            cli, name,
            arena_printf(&cli->mem, "%s==%s", package->key, json_str(package, "")));
        name = "";
    }
}

static const char *gpus_text(struct cli *cli, const struct json *gpus)
{
    const char *text = "";

    json_each(gpu, gpus) {
        text = arena_printf(&cli->mem, "%s%s%s", text ? text : "",
                            text && *text ? ", " : "", json_str(gpu, ""));
    }
    return text;
}

static void put_record(struct cli *cli, const struct json *run)
{
    const struct json *record = json_get(run, "record");
    const struct json *cpu = json_get(record, "cpu");
    const struct json *python = json_get(record, "python");
    int64_t memory = json_i64(json_get(record, "memoryBytes"), 0);

    cli_put(cli, "\nrun %" PRId64 ", rank %" PRId64 " (agent %s)\n",
            json_i64(json_get(run, "runId"), 0), json_i64(json_get(run, "rank"), 0),
            json_str(json_get(run, "agent"), "?"));
    show_field(cli, "det", json_str(json_get(record, "det"), ""));
    show_field(cli, "host", json_str(json_get(record, "host"), ""));
    show_field(cli, "system", json_str(json_get(record, "os"), ""));
    show_field(cli, "kernel", json_str(json_get(record, "kernel"), ""));
    show_field(cli, "libc", json_str(json_get(record, "libc"), ""));
    show_field(cli, "processor",
               arena_printf(&cli->mem, "%s, %" PRId64 " cores",
                            json_str(json_get(cpu, "model"), ""),
                            json_i64(json_get(cpu, "cores"), 0)));
    show_field(cli, "memory", cli_size(cli, (uint64_t)memory));
    show_field(cli, "gpus", gpus_text(cli, json_get(record, "gpus")));
    show_field(cli, "code", json_str(json_get(record, "code"), ""));
    show_field(cli, "environment", json_str(json_get(record, "environment"), ""));
    if (python)
        show_field(cli, "python",
                   arena_printf(&cli->mem, "%s (%s)",
                                json_str(json_get(python, "version"), ""),
                                json_str(json_get(python, "executable"), "")));
    show_packages(cli, json_get(record, "packages"));
}

det_status run_trial_environment(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    int64_t id;
    det_status st = cli_id(cli, "trial", in->args[0], &id);

    if (!st)
        st = get_environment(cli, id, &reply);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, reply);
    cli_put(cli, "trial %" PRId64 " of experiment %" PRId64 "\n", id,
            json_i64(json_get(reply, "experimentId"), 0));
    show_field(cli, "seed", cli_i64(cli, json_i64(json_get(reply, "trialSeed"), 0)));
    show_field(cli, "of search",
               cli_i64(cli, json_i64(json_get(reply, "experimentSeed"), 0)));
    show_field(cli, "hparams", show_hparams(cli, json_get(reply, "hparams")));
    if (!json_first(json_get(reply, "runs")))
        cli_note(cli, "no run has said yet what it runs on");
    json_each(run, json_get(reply, "runs"))
        put_record(cli, run);
    return cli->mem.has_failed ? cli_nomem(cli) : DET_OK;
}

/* ---- what it ran on, compared ---------------------------------------------------- */

struct differences {
    struct cli *cli;
    size_t count; /* in all; only so many are listed */
};

static const char *text_of(struct cli *cli, const struct json *value)
{
    const char *text = json_is_null(value) ? "none" : json_str(value, NULL);

    if (!text)
        text = json_text(&cli->mem, value);
    return text ? text : "?";
}

static void differ(struct differences *d, const char *what, const struct json *then,
                   const struct json *now)
{
    if (json_equal(then, now) || (json_is_null(then) && json_is_null(now)))
        return;
    if (d->count++ < LISTED)
        cli_put(d->cli, "  %-12s %s then, %s now\n", what, text_of(d->cli, then),
                text_of(d->cli, now));
}

static void differ_packages(struct differences *d, const struct json *then,
                            const struct json *now)
{
    json_each(package, then)
        differ(d, package->key, package, json_get(now, package->key));
    json_each(package, now)
        if (!json_get(then, package->key))
            differ(d, package->key, NULL, package);
}

/* False: one of the two has said nothing. */
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
        cli_put(cli, "What %s ran on is not recorded.\n",
                !then ? "the first" : "the second");
        return false;
    }
    cli_put(cli, "They ran on different things:\n");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        differ(&d, parts[i][1], json_get(then, parts[i][0]),
               json_get(now, parts[i][0]));
    differ(&d, "python", json_path(then, "python.version"),
           json_path(now, "python.version"));
    differ_packages(&d, json_get(then, "packages"), json_get(now, "packages"));
    if (d.count > LISTED)
        cli_put(cli, "  ... and %zu more\n", d.count - LISTED);
    if (!d.count) {
        buf_cut(&cli->out, mark);
        cli_put(cli, "Machine, packages and code are the same.\n");
    }
    return true;
}

/* ---- metrics, compared ----------------------------------------------------------- */

struct metric {
    const char *group;
    const char *name;
    const char *value; /* JSON: the shortest that reads back as the same bits */
    int64_t steps;
};

struct metrics {
    struct arena mem;  /* what is kept */
    struct arena line; /* one line of the stream */
    VEC(struct metric) list;
    const char *group; /* the last, which the next often has too */
    struct cli *cli;
    det_status status;
};

static void metrics_done(struct metrics *m)
{
    arena_done(&m->mem);
    arena_done(&m->line);
    vec_done(&m->list);
}

static void keep(struct metrics *m, const struct json *report)
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
            keep(m, report);
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
    size_t other;           /* in both, with another value */
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

static struct verdict judge(const struct metrics *then, const struct metrics *now)
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

static det_status compare(struct cli *cli, int64_t one, int64_t other)
{
    CLEANUP(metrics_done) struct metrics then = {0};
    CLEANUP(metrics_done) struct metrics now = {0};
    struct json *first, *second;
    struct verdict verdict;
    det_status st = get_environment(cli, one, &first);

    if (!st)
        st = get_environment(cli, other, &second);
    if (!st)
        st = read_metrics(cli, one, &then);
    if (!st)
        st = read_metrics(cli, other, &now);
    if (st)
        return st;
    (void)compare_records(cli, last_record(first), last_record(second));
    verdict = judge(&then, &now);
    put_verdict(cli, one, other, &verdict);
    return DET_OK;
}

det_status run_trial_compare(struct cli *cli, const struct cli_invocation *in)
{
    int64_t one, other;
    det_status st = cli_id(cli, "trial", in->args[0], &one);

    if (!st)
        st = cli_id(cli, "trial", in->args[1], &other);
    return st ? st : compare(cli, one, other);
}

/* ---- det trial reproduce --------------------------------------------------------- */

/* Every hyperparameter as the one value that the trial had. */
static struct json *fixed(struct cli *cli, const struct json *hparams)
{
    struct json *all = json_new(&cli->mem, JSON_OBJECT);

    json_each(value, hparams) {
        struct json *one =
            json_set(&cli->mem, all, value->key, json_new(&cli->mem, JSON_OBJECT));

        json_set(&cli->mem, one, "type", json_new_str(&cli->mem, "const"));
        json_set(&cli->mem, one, "val", json_copy(&cli->mem, value));
    }
    return all;
}

/* "": it began from nothing. */
static struct json *single(struct cli *cli, const struct json *searcher,
                           const char *checkpoint)
{
    static const char *const kept[] = {"metric", "smaller_is_better", "max_length"};
    struct json *now = json_new(&cli->mem, JSON_OBJECT);

    json_set(&cli->mem, now, "name", json_new_str(&cli->mem, "single"));
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const struct json *value = json_get(searcher, kept[i]);

        if (!json_is_null(value))
            json_set(&cli->mem, now, kept[i], json_copy(&cli->mem, value));
    }
    if (*checkpoint)
        json_set(&cli->mem, now, "source_checkpoint_uuid",
                 json_new_str(&cli->mem, checkpoint));
    return now;
}

static det_status write_config(struct cli *cli, int64_t id, const struct json *was,
                               const char *checkpoint, struct buf *text)
{
    struct arena *mem = &cli->mem;
    struct json *config = json_copy(mem, json_get(was, "config"));
    struct json *seeds = json_new(mem, JSON_OBJECT);
    const char *name =
        arena_printf(mem, "%s (trial %" PRId64 " again)",
                     json_str(json_get(config, "name"), "experiment"), id);

    json_set(mem, seeds, "experiment_seed",
             json_new_i64(mem, json_i64(json_get(was, "experimentSeed"), 0)));
    json_set(mem, seeds, "trial_seed",
             json_new_i64(mem, json_i64(json_get(was, "trialSeed"), 0)));
    json_set(mem, config, "reproducibility", seeds);
    json_set(mem, config, "name", json_new_str(mem, name));
    json_set(mem, config, "hyperparameters", fixed(cli, json_get(was, "hparams")));
    json_set(mem, config, "searcher",
             single(cli, json_get(config, "searcher"), checkpoint));
    yaml_write(text, config);
    return mem->has_failed || text->status ? cli_nomem(cli) : DET_OK;
}

static det_status submit(struct cli *cli, int64_t parent, const struct buf *config,
                         int64_t *ret_experiment)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct json *reply;
    det_status st;

    jw_object(&w, NULL);
    jw_strn(&w, "config", config->data, config->len);
    jw_bool(&w, "activate", true);
    jw_i64(&w, "parentId", parent);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", body.data, &reply, "/api/v1/experiments");
    if (!st)
        *ret_experiment = json_i64(json_path(reply, "experiment.id"), 0);
    return st;
}

static det_status only_trial(struct cli *cli, int64_t experiment, int64_t *ret_trial)
{
    struct json *reply;
    det_status st = cli_get(
        cli, &reply, "/api/v1/experiments/%" PRId64 "/trials?limit=1", experiment);

    *ret_trial =
        st ? 0 : json_i64(json_get(json_first(json_get(reply, "trials")), "id"), 0);
    if (!st && !*ret_trial)
        st = cli_fail(cli, DET_FAILED, "experiment %" PRId64 " ended without a trial",
                      experiment);
    return st;
}

static det_status follow(struct cli *cli, int64_t trial, int64_t experiment)
{
    struct log_options options = {.follow = true, .tail = CLI_UNSET, .head = CLI_UNSET};
    struct farewell *farewell;
    const char *state;
    char words[200];
    int64_t again;
    det_status st;

    snprintf(words, sizeof(words),
             "experiment %" PRId64 " goes on; once it has ended, 'det trial compare "
             "%" PRId64 " TRIAL' compares them",
             experiment, trial);
    farewell_begin(words, &farewell);
    st = follow_first_trial(cli, experiment, &options);
    if (!st)
        st = follow_experiment(cli, experiment, CLI_UNSET, &state);
    farewell_end(farewell);
    if (!st)
        st = only_trial(cli, experiment, &again);
    if (st)
        return st;
    cli_note(cli, "experiment %" PRId64 " is %s", experiment, state);
    st = compare(cli, trial, again);
    if (!st && strcmp(state, "COMPLETED"))
        cli->exit_code = 1;
    return st;
}

det_status run_trial_reproduce(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf config = BUF_INIT;
    const struct reproduce_options *options = in->options;
    struct json *was, *trial;
    int64_t id, parent, experiment = 0;
    det_status st = cli_id(cli, "trial", in->args[0], &id);

    if (!st)
        st = get_environment(cli, id, &was);
    if (!st)
        st = cli_get(cli, &trial, "/api/v1/trials/%" PRId64, id);
    if (st)
        return st;
    parent = json_i64(json_get(was, "experimentId"), 0);
    st = write_config(cli, id, was,
                      json_str(json_path(trial, "trial.warmStartCheckpointUuid"), ""),
                      &config);
    if (!st)
        st = submit(cli, parent, &config, &experiment);
    if (st)
        return st;
    cli_put(cli, "Created experiment %" PRId64 ": trial %" PRId64 " again\n",
            experiment, id);
    st = cli_flush(cli);
    if (st || options->follow)
        return st ? st : follow(cli, id, experiment);
    cli_note(cli,
             "once it has ended, 'det trial compare %" PRId64 " TRIAL' says whether it "
             "gave the same; --follow does both",
             id);
    return DET_OK;
}
