/* SPDX-License-Identifier: Apache-2.0 */
/* inside.c - what a task's own script says and asks: report, hparam, preempted.
 *
 * They know their task by the variables the platform sets, and speak with its token. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/ctx.h"
#include "cli/options.h"
#include "cli/run.h"
#include "data/text.h"

/* ---- where we are ---------------------------------------------------------------- */

static det_status need_text(struct cli *cli, const char *name, const char **ret_value)
{
    const char *value = getenv(name);

    if (!value || !*value)
        return cli_fail(cli, DET_INVALID,
                        "'det %s' works inside a task only: %s is not set",
                        cli_words(cli->in), name);
    *ret_value = value;
    return DET_OK;
}

static det_status need_number(struct cli *cli, const char *name, int64_t *ret_value)
{
    const char *text;
    det_status st = need_text(cli, name, &text);

    if (!st && !parse_i64(text, ret_value))
        st = cli_fail(cli, DET_INVALID, "%s is '%s'; expected a number", name, text);
    return st;
}

static det_status begin(struct cli *cli)
{
    const char *ignored;
    det_status st = need_text(cli, "DET_MASTER", &ignored);

    if (!st)
        st = need_text(cli, "DET_SESSION_TOKEN", &ignored);
    cli->identity = DET_AS_TASK;
    return st;
}

/* ---- report ---------------------------------------------------------------------- */

/* "nan", "inf", "-Infinity", in any case. */
static bool parse_odd(const char *text, double *ret_value)
{
    bool is_negative = *text == '-';

    text += *text == '-' || *text == '+';
    if (!strcasecmp(text, "nan")) {
        *ret_value = NAN;
        return true;
    }
    if (strcasecmp(text, "inf") && strcasecmp(text, "infinity"))
        return false;
    *ret_value = is_negative ? -INFINITY : INFINITY;
    return true;
}

static det_status add_metric(struct cli *cli, struct json_writer *w, const char *pair)
{
    const char *equals = strchr(pair, '=');
    const char *name, *value;
    int64_t whole;
    double real;

    if (!equals || equals == pair)
        return cli_fail(cli, DET_INVALID, "'%s' is not of the form NAME=VALUE", pair);
    name = arena_strndup(&cli->mem, pair, (size_t)(equals - pair));
    value = equals + 1;
    if (!name)
        return cli_nomem(cli);
    if (parse_i64(value, &whole))
        jw_i64(w, name, whole);
    else if (parse_real(value, &real) || parse_odd(value, &real))
        jw_real(w, name, real);
    else
        jw_str(w, name, value);
    return DET_OK;
}

static const char *group_of(const struct report_options *options)
{
    if (options->group)
        return options->group;
    return options->validation ? "validation" : "training";
}

static det_status write_report(struct cli *cli, const struct cli_invocation *in,
                               int64_t trial_id, struct buf *body)
{
    const struct report_options *options = in->options;
    struct json_writer w = JSON_WRITER(body);
    int64_t run_id;
    det_status st = need_number(cli, "DET_TRIAL_RUN_ID", &run_id);

    jw_object(&w, NULL);
    jw_str(&w, "group", group_of(options));
    jw_object(&w, "metrics");
    jw_i64(&w, "trialId", trial_id);
    jw_i64(&w, "trialRunId", run_id);
    if (options->steps != CLI_UNSET)
        jw_i64(&w, "stepsCompleted", options->steps);
    jw_time(&w, "reportTime", clock_wall_us(&clock_system));
    jw_object(&w, "metrics");
    jw_object(&w, "avgMetrics");
    for (size_t i = 0; i < in->arg_count && !st; i++)
        st = add_metric(cli, &w, in->args[i]);
    jw_end_object(&w);
    jw_end_object(&w);
    jw_end_object(&w);
    jw_end_object(&w);
    return st || !body->status ? st : cli_nomem(cli);
}

static det_status report_progress(struct cli *cli, int64_t trial_id, double progress)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);

    if (!(progress >= 0 && progress <= 1))
        return cli_fail(cli, DET_INVALID, "--progress is %g; expected 0 to 1",
                        progress);
    jw_object(&w, NULL);
    jw_real(&w, "progress", progress);
    jw_bool(&w, "isRaw", true);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    return cli_send(cli, "POST", body.data, NULL, "/api/v1/trials/%" PRId64 "/progress",
                    trial_id);
}

det_status run_report(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct report_options *options = in->options;
    int64_t trial_id;
    det_status st = begin(cli);

    if (!st)
        st = need_number(cli, "DET_TRIAL_ID", &trial_id);
    if (st)
        return st;
    if (!in->arg_count && isnan(options->progress))
        return cli_fail(cli, DET_INVALID,
                        "there is nothing to report: no NAME=VALUE and "
                        "no --progress");
    if (options->validation && options->group)
        return cli_fail(cli, DET_INVALID,
                        "--validation and --group exclude each other");
    if (in->arg_count) {
        st = write_report(cli, in, trial_id, &body);
        if (!st)
            st = cli_send(cli, "POST", body.data, NULL,
                          "/api/v1/trials/%" PRId64 "/metrics", trial_id);
    }
    if (!st && !isnan(options->progress))
        st = report_progress(cli, trial_id, options->progress);
    return st;
}

/* ---- hparam ---------------------------------------------------------------------- */

det_status run_hparam(struct cli *cli, const struct cli_invocation *in)
{
    const char *text, *plain;
    struct json *hparams;
    const struct json *value;
    det_status st = need_text(cli, "DET_HPARAMS", &text);

    if (!st)
        st = json_parse(text, strlen(text), &cli->mem, &hparams, cli->err);
    if (st)
        return st;
    /* a name with a dot in it wins over a path */
    value = json_get(hparams, in->args[0]);
    if (!value)
        value = json_path(hparams, in->args[0]);
    if (!value) {
        const char *names[128] = {0};
        const char *nearest;
        size_t count = 0;

        json_each(each, hparams)
            if (count + 1 < sizeof(names) / sizeof(names[0]))
                names[count++] = each->key;
        (void)cli_fail(cli, DET_NOT_FOUND, "there is no hyperparameter '%s'",
                       in->args[0]);
        nearest = nearest_word(in->args[0], names);
        return nearest ? cli_hint(cli, "did you mean '%s'?", nearest) : DET_NOT_FOUND;
    }
    plain = json_str(value, NULL);
    if (!plain)
        plain = json_text(&cli->mem, value);
    if (!plain)
        return cli_nomem(cli);
    cli_put(cli, "%s\n", plain);
    return DET_OK;
}

/* ---- preempted ------------------------------------------------------------------- */

det_status run_preempted(struct cli *cli, const struct cli_invocation *in)
{
    const char *allocation;
    struct json *reply;
    det_status st = begin(cli);

    (void)in;
    if (!st)
        st = need_text(cli, "DET_ALLOCATION_ID", &allocation);
    if (!st)
        st = cli_get(cli, &reply,
                     "/api/v1/allocations/%s/signals/preemption?timeoutSeconds=0",
                     cli_url(cli, allocation));
    if (st)
        return st;
    if (!json_bool(json_get(reply, "preempt"), false)) {
        cli->exit_code = 1;
        return DET_OK;
    }
    return cli_send(cli, "POST", NULL, NULL,
                    "/api/v1/allocations/%s/signals/ack_preemption",
                    cli_url(cli, allocation));
}
