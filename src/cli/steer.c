/* SPDX-License-Identifier: Apache-2.0 */
/* steer.c - pausing, stopping, deleting and waiting. */
#include <ctype.h>
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

/* ---- steering -------------------------------------------------------------------- */

/* What a command does to each id.  The master answers kill and cancel of what is over
 * with success, since there is nothing left to do; people are told what they find. */
struct steering {
    const char *what;  /* "experiment" */
    const char *path;  /* of its kind: "experiments" */
    const char *verb;  /* NULL: deletes */
    const char *done;  /* "Killed" */
    const char *there; /* states in which it is so already; NULL: the master decides */
    bool refuses_ended;
};

static bool is_ended(const char *state)
{
    return !strcmp(state, "COMPLETED") || !strcmp(state, "CANCELED") ||
           !strcmp(state, "ERROR") || !strncmp(state, "DELET", 5);
}

/* Whether `state` is one of the words. */
static bool is_one_of(const char *state, const char *words)
{
    size_t len = strlen(state);

    while (*words) {
        size_t word = strcspn(words, " ");

        if (word == len && !strncmp(words, state, len))
            return true;
        words += word + (words[word] == ' ');
    }
    return false;
}

det_status steer_refuse_ended(struct cli *cli, const char *what, int64_t id,
                              const char *state)
{
    if (!is_ended(state))
        return DET_OK;
    return cli_fail(cli, DET_STATE, "%s %" PRId64 " had already ended (%s)", what, id,
                    state);
}

det_status steer_state(struct cli *cli, const char *what, int64_t id,
                       const char **ret_state)
{
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/%ss/%" PRId64, what, id);

    if (!st)
        *ret_state = cli_state(json_get(json_get(reply, what), "state"));
    return st;
}

/* True: that was all, `st` and what is printed say how it went. */
static bool is_settled(struct cli *cli, const struct steering *how, int64_t id,
                       det_status *st)
{
    const char *state = "";

    *st = steer_state(cli, how->what, id, &state);
    if (!*st && how->refuses_ended)
        *st = steer_refuse_ended(cli, how->what, id, state);
    if (*st)
        return true;
    if (is_ended(state))
        cli_put(cli, "%s %" PRId64 " had already ended (%s)\n", how->what, id, state);
    else if (is_one_of(state, how->there))
        cli_put(cli, "%s %" PRId64 " was already %s\n", how->what, id, state);
    else
        return false;
    return true;
}

/* The master's sentence names states and not always what to do about them; people are
 * told in words.  Where this finds no better ones, those of the master stay. */
static det_status explain_refusal(struct cli *cli, const struct steering *how,
                                  int64_t id)
{
    struct err refusal = *cli->err;
    const char *state = "";
    char done[16];

    snprintf(done, sizeof(done), "%s", how->verb ? how->done : "deleted");
    done[0] = (char)tolower((unsigned char)done[0]);
    if (steer_state(cli, how->what, id, &state)) {
        *cli->err = refusal;
        return err_prefix(cli->err, "%s %" PRId64, how->what, id);
    }
    *cli->err = refusal;
    if (!strncmp(state, "DELETING", 8))
        return cli_fail(cli, DET_STATE, "%s %" PRId64 " is being deleted", how->what,
                        id);
    if (!strncmp(state, "STOPPING", 8))
        return cli_fail(cli, DET_STATE,
                        "%s %" PRId64 " is about to end (%s) and cannot be %s %s",
                        how->what, id, state, done, how->verb ? "any more" : "yet");
    if (!how->verb && !is_ended(state))
        return cli_fail(cli, DET_STATE,
                        "%s %" PRId64
                        " is %s and cannot be deleted; end it first, with "
                        "'det e kill %" PRId64 "'",
                        how->what, id, state, id);
    return err_prefix(cli->err, "%s %" PRId64, how->what, id);
}

static det_status steer_one(struct cli *cli, const struct steering *how, int64_t id)
{
    det_status st = DET_OK;

    if (how->there && is_settled(cli, how, id, &st))
        return st;
    if (how->verb)
        st = cli_send(cli, "POST", NULL, NULL, "/api/v1/%s/%" PRId64 "/%s", how->path,
                      id, how->verb);
    else
        st = cli_send(cli, "DELETE", NULL, NULL, "/api/v1/%s/%" PRId64, how->path, id);
    if (st == DET_STATE)
        return explain_refusal(cli, how, id);
    if (!st)
        cli_put(cli, "%s %s %" PRId64 "\n", how->done, how->what, id);
    return st;
}

/* One call for each id.  The first failure is the result; the others are still tried.
 */
static det_status steer_ids(struct cli *cli, const struct steering *how,
                            const struct cli_ids *ids)
{
    struct err first = {0};

    for (size_t i = 0; i < ids->count && first.status != DET_UNREACHABLE; i++)
        if (steer_one(cli, how, ids->at[i]))
            cli_keep_first(cli, &first);
    if (first.status)
        *cli->err = first;
    return first.status;
}

static det_status steer(struct cli *cli, const struct steering *how)
{
    const struct cli_invocation *in = cli->in;
    struct cli_ids ids;
    det_status st = cli_ids(cli, how->what, in->args, in->arg_count, &ids);

    return st ? st : steer_ids(cli, how, &ids);
}

#define EXPERIMENTS .what = "experiment", .path = "experiments"

det_status run_experiment_pause(struct cli *cli, const struct cli_invocation *in)
{
    static const struct steering how = {EXPERIMENTS, .verb = "pause", .done = "Paused",
                                        .there = "PAUSED", .refuses_ended = true};

    (void)in;
    return steer(cli, &how);
}

det_status run_experiment_activate(struct cli *cli, const struct cli_invocation *in)
{
    static const struct steering how = {
        EXPERIMENTS, .verb = "activate", .done = "Activated",
        .there = "ACTIVE QUEUED PULLING STARTING RUNNING", .refuses_ended = true};

    (void)in;
    return steer(cli, &how);
}

det_status run_experiment_cancel(struct cli *cli, const struct cli_invocation *in)
{
    static const struct steering how = {
        EXPERIMENTS, .verb = "cancel", .done = "Canceled",
        .there = "STOPPING_CANCELED STOPPING_KILLED STOPPING_COMPLETED STOPPING_ERROR"};

    (void)in;
    return steer(cli, &how);
}

det_status run_experiment_kill(struct cli *cli, const struct cli_invocation *in)
{
    static const struct steering how = {EXPERIMENTS, .verb = "kill", .done = "Killed",
                                        .there = "STOPPING_KILLED"};

    (void)in;
    return steer(cli, &how);
}

det_status run_experiment_archive(struct cli *cli, const struct cli_invocation *in)
{
    static const struct steering how = {EXPERIMENTS, .verb = "archive",
                                        .done = "Archived"};

    (void)in;
    return steer(cli, &how);
}

det_status run_experiment_unarchive(struct cli *cli, const struct cli_invocation *in)
{
    static const struct steering how = {EXPERIMENTS, .verb = "unarchive",
                                        .done = "Unarchived"};

    (void)in;
    return steer(cli, &how);
}

det_status run_trial_kill(struct cli *cli, const struct cli_invocation *in)
{
    static const struct steering how = {.what = "trial",
                                        .path = "trials",
                                        .verb = "kill",
                                        .done = "Killed",
                                        .there = "STOPPING_KILLED"};

    (void)in;
    return steer(cli, &how);
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
    /* the master goes on after its answer: checkpoints take their time */
    static const struct steering how = {EXPERIMENTS, .done = "Deleting"};
    const struct yes_options *options = in->options;
    struct cli_ids ids;
    det_status st = cli_ids(cli, "experiment", in->args, in->arg_count, &ids);

    if (!st && !options->yes)
        st = confirm_delete(cli, &ids);
    return st ? st : steer_ids(cli, &how, &ids);
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
                            " second%s",
                            id, timeout_s, timeout_s == 1 ? "" : "s");
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
