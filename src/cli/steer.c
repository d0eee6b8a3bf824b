/* SPDX-License-Identifier: Apache-2.0 */
/* steer.c - pausing, stopping, deleting and waiting. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "cli/ctx.h"
#include "cli/follow.h"
#include "cli/options.h"
#include "cli/run.h"

enum { POLL_FIRST_MS = 200, POLL_LAST_MS = 2000, TRIES_MOST = 30 };

/* One call for each id.  The first failure is the result; the others are still tried.
 */
static det_status act_on_all(struct cli *cli, const char *what, const char *path,
                             const char *verb, const char *done)
{
    const struct cli_invocation *in = cli->in;
    struct err first = {0};
    struct cli_ids ids;
    det_status st = cli_ids(cli, what, in->args, in->arg_count, &ids);

    if (st)
        return st;
    for (size_t i = 0; i < ids.count; i++) {
        st = cli_send(cli, "POST", NULL, NULL, "/api/v1/%s/%" PRId64 "/%s", path,
                      ids.at[i], verb);
        if (!st) {
            cli_put(cli, "%s %s %" PRId64 "\n", done, what, ids.at[i]);
        } else if (!first.status) {
            first = *cli->err;
            if (st == DET_UNREACHABLE)
                break;
        } else {
            cli_note(cli, "det: %s", cli->err->text);
        }
    }
    if (first.status)
        *cli->err = first;
    return first.status;
}

static det_status act(struct cli *cli, const char *verb, const char *done)
{
    return act_on_all(cli, "experiment", "experiments", verb, done);
}

det_status run_experiment_pause(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return act(cli, "pause", "Paused");
}

det_status run_experiment_activate(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return act(cli, "activate", "Activated");
}

det_status run_experiment_cancel(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return act(cli, "cancel", "Canceled");
}

det_status run_experiment_kill(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return act(cli, "kill", "Killed");
}

det_status run_experiment_archive(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return act(cli, "archive", "Archived");
}

det_status run_experiment_unarchive(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return act(cli, "unarchive", "Unarchived");
}

det_status run_trial_kill(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return act_on_all(cli, "trial", "trials", "kill", "Killed");
}

/* ---- deleting -------------------------------------------------------------------- */

static det_status confirm_delete(struct cli *cli, const struct cli_ids *ids)
{
    char question[160];
    bool yes;
    det_status st;

    if (ids->count == 1)
        snprintf(question, sizeof(question),
                 "Delete experiment %" PRId64 " with all its checkpoints?", ids->at[0]);
    else
        snprintf(question, sizeof(question),
                 "Delete %zu experiments with all their checkpoints?", ids->count);
    st = cli_confirm(cli, question, &yes);
    if (!st && !yes)
        st = cli_fail(cli, DET_FAILED, "nothing was deleted");
    return st;
}

det_status run_experiment_delete(struct cli *cli, const struct cli_invocation *in)
{
    const struct yes_options *options = in->options;
    struct cli_ids ids;
    det_status st = cli_ids(cli, "experiment", in->args, in->arg_count, &ids);

    if (!st && !options->yes)
        st = confirm_delete(cli, &ids);
    for (size_t i = 0; i < ids.count && !st; i++) {
        st = cli_send(cli, "DELETE", NULL, NULL, "/api/v1/experiments/%" PRId64,
                      ids.at[i]);
        if (!st)
            cli_put(cli, "Deleted experiment %" PRId64 "\n", ids.at[i]);
    }
    return st;
}

/* ---- waiting --------------------------------------------------------------------- */

void follow_sleep(int64_t milliseconds)
{
    struct timespec time = {.tv_sec = milliseconds / 1000,
                            .tv_nsec = milliseconds % 1000 * 1000000};

    nanosleep(&time, NULL);
}

/* The state, where it is one that nothing follows; else NULL. */
static const char *end_state(const char *state)
{
    static const char *const ends[] = {"COMPLETED", "CANCELED", "ERROR", "DELETED",
                                       "DELETE_FAILED"};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (!strcmp(ends[i], state))
            return ends[i];
    return NULL;
}

/* A master that restarts is waited for; that it forgot the experiment is news. */
static bool may_retry(det_status st, int *tries)
{
    if (st != DET_UNREACHABLE && st != DET_BUSY && st != DET_TIMEOUT)
        return false;
    return ++*tries < TRIES_MOST;
}

/* NULL in `ret_state`: it goes on. */
static det_status look(struct cli *cli, int64_t id, bool *said_paused,
                       const char **ret_state)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    const char *state;
    struct json *reply;
    det_status st = cli_get_in(cli, &mem, &reply, "/api/v1/experiments/%" PRId64, id);

    if (st)
        return st;
    state = cli_state(json_path(reply, "experiment.state"));
    *ret_state = end_state(state);
    if (!strcmp(state, "PAUSED") && !*said_paused) {
        cli_note(cli, "experiment %" PRId64 " is paused; waiting", id);
        *said_paused = true;
    }
    return DET_OK;
}

det_status follow_experiment(struct cli *cli, int64_t id, int64_t timeout_s,
                             const char **ret_state)
{
    int64_t start_us = clock_mono_us(&clock_system);
    int64_t pause_ms = POLL_FIRST_MS;
    bool said_paused = false;
    int tries = 0;

    for (;;) {
        const char *state = NULL;
        det_status st = look(cli, id, &said_paused, &state);

        if (st && !may_retry(st, &tries))
            return st;
        if (!st)
            tries = 0;
        if (state) {
            *ret_state = state;
            return DET_OK;
        }
        if (timeout_s != CLI_UNSET &&
            clock_mono_us(&clock_system) - start_us > timeout_s * 1000000)
            return cli_fail(cli, DET_TIMEOUT,
                            "experiment %" PRId64 " is not over after %" PRId64
                            " seconds",
                            id, timeout_s);
        follow_sleep(pause_ms);
        pause_ms = MIN(pause_ms * 3 / 2, (int64_t)POLL_LAST_MS);
    }
}

det_status run_experiment_wait(struct cli *cli, const struct cli_invocation *in)
{
    const struct wait_options *options = in->options;
    const char *state;
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (!st)
        st = follow_experiment(cli, id, options->timeout, &state);
    if (st)
        return st;
    cli_put(cli, "experiment %" PRId64 " is %s\n", id, state);
    cli->exit_code = strcmp(state, "COMPLETED") != 0;
    return DET_OK;
}
