/* SPDX-License-Identifier: Apache-2.0 */
/* script.c - commands for a task's own script: report, hparam, preempted.
 *
 * They find their task by the variables of the supervisor.  Reports go through libdet
 * into the task's ring, from which the supervisor sends them. */
#include "cli/task/script.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "data/json/json.h"
#include "data/text.h"
#include "data/utf8.h"
#include "libdet/train/hparam.h"

/* ---- the task -------------------------------------------------------------------- */

static det_status need_variable(struct cli *cli, const char *name,
                                const char **ret_value)
{
    const char *value = getenv(name);

    if (!value || !*value)
        return cli_fail(cli, DET_INVALID,
                        "'det %s' works inside a task only: %s is not set",
                        cli_words(cli->in), name);
    *ret_value = value;
    return DET_OK;
}

static det_status call_as_task(struct cli *cli)
{
    const char *ignored;
    det_status st = need_variable(cli, "DET_MASTER", &ignored);

    if (!st)
        st = need_variable(cli, "DET_SESSION_TOKEN", &ignored);
    cli->identity = DET_AS_TASK;
    return st;
}

det_status script_open(struct cli *cli, det_context **ret_context)
{
    char error[1024] = "";
    det_init_options options = {.size = sizeof(options),
                                .flags = DET_INIT_QUIET | DET_INIT_TASK_ONLY,
                                .error = error,
                                .error_size = sizeof(error)};
    const char *ignored;
    det_status st = need_variable(cli, "DET_ALLOCATION_ID", &ignored);

    if (st)
        return st;
    st = det_init(&options, ret_context);
    return st ? cli_fail(cli, st, "%s", error) : DET_OK;
}

det_status script_done(struct cli *cli, det_context *context, det_status status)
{
    return status ? cli_fail(cli, status, "%s", det_context_error(context)) : DET_OK;
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

/* NAME=NUMBER, or NAME:=TEXT.  Text needs another operator because a value that is not a
 * number is usually a mistake. */
struct pair {
    const char *name;
    const char *value;
    bool is_text;
};

static det_status split_pair(struct cli *cli, const char *arg, struct pair *ret_pair)
{
    const char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg) : 0;
    bool is_text = len && arg[len - 1] == ':';

    len -= is_text;
    if (!len)
        return cli_fail(cli, DET_INVALID, "'%s' is not of the form NAME=VALUE", arg);
    if (utf8_valid(arg, strlen(arg)) < strlen(arg))
        return cli_fail(cli, DET_INVALID, "a metric's name or value is not UTF-8 text");
    ret_pair->name = arena_strndup(&cli->mem, arg, len);
    ret_pair->value = equals + 1;
    ret_pair->is_text = is_text;
    if (!ret_pair->name)
        return cli_nomem(cli);
    if (!*ret_pair->value)
        return cli_fail(cli, DET_INVALID, "'%s' has no value; was a variable empty?",
                        arg);
    return DET_OK;
}

static det_status add_metric(struct cli *cli, struct json_writer *w,
                             const struct pair *pair)
{
    int64_t whole;
    double real;

    if (pair->is_text)
        jw_str(w, pair->name, pair->value);
    else if (parse_i64(pair->value, &whole))
        jw_i64(w, pair->name, whole);
    else if (parse_real(pair->value, &real) || parse_odd(pair->value, &real))
        jw_real(w, pair->name, real);
    else
        return cli_fail(cli, DET_INVALID,
                        "the value '%.100s' of '%.100s' is not a number that a double "
                        "can hold; text is reported as '%.100s:=%.100s'",
                        pair->value, pair->name, pair->name, pair->value);
    return DET_OK;
}

static det_status add_metrics(struct cli *cli, const struct cli_invocation *in,
                              struct json_writer *w)
{
    struct pair *pairs = arena_array(&cli->mem, struct pair, in->arg_count);
    det_status st = pairs ? DET_OK : cli_nomem(cli);

    for (size_t i = 0; i < in->arg_count && !st; i++) {
        st = split_pair(cli, in->args[i], &pairs[i]);
        for (size_t k = 0; k < i && !st; k++)
            if (!strcmp(pairs[k].name, pairs[i].name))
                st = cli_fail(cli, DET_INVALID, "the metric '%.100s' is given twice",
                              pairs[i].name);
        if (!st)
            st = add_metric(cli, w, &pairs[i]);
    }
    return st;
}

static const char *group_of(const struct report_options *options)
{
    if (options->group)
        return options->group;
    return options->validation ? DET_GROUP_VALIDATION : DET_GROUP_TRAINING;
}

static det_status report_metrics(struct cli *cli, const struct cli_invocation *in,
                                 det_context *context)
{
    const struct report_options *options = in->options;
    CLEANUP(buf_done) struct buf metrics = BUF_INIT;
    struct json_writer w = JSON_WRITER(&metrics);
    det_status st;

    jw_object(&w, NULL);
    st = add_metrics(cli, in, &w);
    jw_end_object(&w);
    if (st)
        return st;
    if (metrics.status)
        return cli_nomem(cli);
    return script_done(
        cli, context,
        det_report_json(context, group_of(options),
                        options->steps == CLI_UNSET ? -1 : options->steps, metrics.data,
                        NULL));
}

static det_status report_all(struct cli *cli, const struct cli_invocation *in,
                             det_context *context)
{
    const struct report_options *options = in->options;
    det_status st = DET_OK;

    if (in->arg_count)
        st = report_metrics(cli, in, context);
    if (!st && !isnan(options->progress))
        st = script_done(cli, context, det_report_progress(context, options->progress));
    if (!st && options->status)
        st = script_done(cli, context, det_set_status(context, options->status));
    if (!st && options->invalid_hp)
        st = script_done(cli, context,
                         det_report_early_exit(context, DET_EXIT_INVALID_HP));
    if (!st && options->wait)
        st = script_done(cli, context, det_flush(context, -1));
    return st;
}

det_status run_report(struct cli *cli, const struct cli_invocation *in)
{
    const struct report_options *options = in->options;
    det_context *context;
    det_status st;

    if (!in->arg_count && isnan(options->progress) && !options->status &&
        !options->invalid_hp && !options->wait)
        return cli_fail(cli, DET_INVALID,
                        "there is nothing to report: give NAME=VALUE, --progress or "
                        "--status");
    if (options->validation && options->group)
        return cli_fail(cli, DET_INVALID,
                        "--validation and --group cannot be used together");
    if (!isnan(options->progress) &&
        !(options->progress >= 0 && options->progress <= 1))
        return cli_fail(cli, DET_INVALID, "--progress is %g; expected 0 to 1",
                        options->progress);
    st = script_open(cli, &context);
    if (st)
        return st;
    st = report_all(cli, in, context);
    det_close(context);
    return st;
}

/* ---- hparam ---------------------------------------------------------------------- */

det_status run_hparam(struct cli *cli, const struct cli_invocation *in)
{
    const char *text, *plain;
    struct json *hparams;
    const struct json *value;
    det_status st = need_variable(cli, "DET_HPARAMS", &text);

    if (!st)
        st = json_parse(text, strlen(text), &cli->mem, &hparams, cli->err);
    if (st)
        return st;
    value = hparam_find(hparams, in->args[0]);
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

/* The master is unreachable: it cannot have asked the task to stop. */
static bool is_unreachable(det_status status)
{
    return status == DET_UNREACHABLE || status == DET_TIMEOUT || status == DET_BUSY;
}

static det_status clear_error(struct cli *cli)
{
    *cli->err = (struct err){0};
    return DET_OK;
}

det_status run_preempted(struct cli *cli, const struct cli_invocation *in)
{
    const char *allocation;
    struct json *reply;
    det_status st = call_as_task(cli);

    (void)in;
    if (!st)
        st = need_variable(cli, "DET_ALLOCATION_ID", &allocation);
    if (!st)
        st = cli_get(cli, &reply,
                     "/api/v1/allocations/%s/signals/preemption?timeoutSeconds=0",
                     cli_url(cli, allocation));
    if (st && !is_unreachable(st))
        return st;
    if (st || !json_bool(json_get(reply, "preempt"), false)) {
        cli->exit_code = 1;
        return clear_error(cli);
    }
    st = cli_send(cli, "POST", NULL, NULL,
                  "/api/v1/allocations/%s/signals/ack_preemption",
                  cli_url(cli, allocation));
    return is_unreachable(st) ? clear_error(cli) : st; /* it must stop anyway */
}
