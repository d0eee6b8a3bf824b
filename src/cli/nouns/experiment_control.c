/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_control.c - pauses, stops, deletes and awaits experiments. */
#include "cli/nouns/experiment_control.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/frame/prompt.h"
#include "cli/output/format.h"
#include "cli/trials/search_progress.h"
#include "data/json/json.h"

enum { POLL_FIRST_MS = 200, POLL_LAST_MS = 2000, TRIES_MOST = 30 };

/* ---- changing states ------------------------------------------------------------- */

/* What a command does to each id.  The master answers "kill" and "cancel" of an ended
 * experiment with success.  We look at the state first, and tell the user. */
struct control {
    const char *what;  /* "experiment" */
    const char *path;  /* of its kind: "experiments" */
    const char *verb;  /* NULL: deletes */
    const char *done;  /* "Killed" */
    const char *there; /* states that need no change; NULL: the master decides */
    bool refuses_ended;
    bool needs_end; /* only ended ones can be changed so */
};

static bool is_ended(const char *state)
{
    return format_state_is_final(state) || !strncmp(state, "DELET", 5);
}

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

det_status experiment_control_refuse_ended(struct cli *cli, const char *what,
                                           int64_t id, const char *state)
{
    if (!is_ended(state))
        return DET_OK;
    return cli_fail(cli, DET_STATE, "%s %" PRId64 " had already ended (%s)", what, id,
                    state);
}

det_status experiment_control_state(struct cli *cli, const char *what, int64_t id,
                                    const char **ret_state)
{
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/%ss/%" PRId64, what, id);

    if (!st)
        *ret_state = format_state(json_get(json_get(reply, what), "state"));
    return st;
}

/* True: nothing is left to do; *st is the result, and a line was printed. */
static bool is_settled(struct cli *cli, const struct control *how, int64_t id,
                       det_status *st)
{
    const char *state = "";

    *st = experiment_control_state(cli, how->what, id, &state);
    if (!*st && how->refuses_ended)
        *st = experiment_control_refuse_ended(cli, how->what, id, state);
    if (*st == DET_STATE && how->verb && !strcmp(how->verb, "activate"))
        *st = cli_fail(cli, DET_STATE,
                       "%s %" PRId64 " had already ended (%s); 'det e continue %" PRId64
                       "' goes on with it",
                       how->what, id, state, id);
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

/* The master's sentence names states, but not always what to do.  Replaces it where we
 * know a better one. */
static det_status explain_refusal(struct cli *cli, const struct control *how,
                                  int64_t id)
{
    struct err refusal = *cli->err;
    const char *state = "";
    char done[16];

    snprintf(done, sizeof(done), "%s", how->verb ? how->done : "deleted");
    done[0] = (char)tolower((unsigned char)done[0]);
    if (experiment_control_state(cli, how->what, id, &state)) {
        *cli->err = refusal;
        return err_prefix(cli->err, "%s %" PRId64, how->what, id);
    }
    *cli->err = refusal;
    if (!strncmp(state, "DELETING", 8))
        return cli_fail(cli, DET_STATE, "%s %" PRId64 " is being deleted", how->what,
                        id);
    if (!strncmp(state, "STOPPING", 8))
        return cli_fail(
            cli, DET_STATE, "%s %" PRId64 " is stopping (%s) and cannot be %s %s",
            how->what, id, state, done, how->needs_end ? "yet" : "any more");
    if (how->needs_end && !is_ended(state))
        return cli_fail(cli, DET_STATE,
                        "%s %" PRId64 " is %s and cannot be %s; stop it first with "
                        "'det e kill %" PRId64 "'",
                        how->what, id, state, done, id);
    return err_prefix(cli->err, "%s %" PRId64, how->what, id);
}

static det_status change_one(struct cli *cli, const struct control *how, int64_t id)
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

/* One call per id.  After a failure the others are still tried; the first failure is the
 * result. */
static det_status change_ids(struct cli *cli, const struct control *how,
                             const struct cli_ids *ids)
{
    struct err first = {0};

    for (size_t i = 0; i < ids->count && first.status != DET_UNREACHABLE; i++)
        if (change_one(cli, how, ids->at[i]))
            cli_keep_first(cli, &first);
    if (first.status)
        *cli->err = first;
    return first.status;
}

static det_status change_arguments(struct cli *cli, const struct control *how)
{
    const struct cli_invocation *in = cli->in;
    struct cli_ids ids;
    det_status st = cli_ids(cli, how->what, in->args, in->arg_count, &ids);

    return st ? st : change_ids(cli, how, &ids);
}

#define EXPERIMENTS .what = "experiment", .path = "experiments"

det_status run_experiment_pause(struct cli *cli, const struct cli_invocation *in)
{
    static const struct control how = {EXPERIMENTS, .verb = "pause", .done = "Paused",
                                       .there = "PAUSED", .refuses_ended = true};

    (void)in;
    return change_arguments(cli, &how);
}

det_status run_experiment_activate(struct cli *cli, const struct cli_invocation *in)
{
    static const struct control how = {
        EXPERIMENTS, .verb = "activate", .done = "Activated",
        .there = "ACTIVE QUEUED PULLING STARTING RUNNING", .refuses_ended = true};

    (void)in;
    return change_arguments(cli, &how);
}

det_status run_experiment_cancel(struct cli *cli, const struct cli_invocation *in)
{
    static const struct control how = {
        EXPERIMENTS, .verb = "cancel", .done = "Canceled",
        .there = "STOPPING_CANCELED STOPPING_KILLED STOPPING_COMPLETED STOPPING_ERROR"};

    (void)in;
    return change_arguments(cli, &how);
}

det_status run_experiment_kill(struct cli *cli, const struct cli_invocation *in)
{
    static const struct control how = {EXPERIMENTS, .verb = "kill", .done = "Killed",
                                       .there = "STOPPING_KILLED"};

    (void)in;
    return change_arguments(cli, &how);
}

det_status run_experiment_archive(struct cli *cli, const struct cli_invocation *in)
{
    static const struct control how = {EXPERIMENTS, .verb = "archive",
                                       .done = "Archived", .needs_end = true};

    (void)in;
    return change_arguments(cli, &how);
}

det_status run_experiment_unarchive(struct cli *cli, const struct cli_invocation *in)
{
    static const struct control how = {EXPERIMENTS, .verb = "unarchive",
                                       .done = "Unarchived", .needs_end = true};

    (void)in;
    return change_arguments(cli, &how);
}

det_status run_trial_kill(struct cli *cli, const struct cli_invocation *in)
{
    static const struct control how = {.what = "trial",
                                       .path = "trials",
                                       .verb = "kill",
                                       .done = "Killed",
                                       .there = "STOPPING_KILLED"};

    (void)in;
    return change_arguments(cli, &how);
}

/* ---- deleting -------------------------------------------------------------------- */

/* "experiment 3 'mnist' of ann (12 checkpoints)" */
static det_status name_experiment(struct cli *cli, int64_t id, const char **ret_words)
{
    const struct json *e;
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/experiments/%" PRId64, id);
    int64_t count;

    if (st)
        return st;
    e = json_get(reply, "experiment");
    count = json_i64(json_get(e, "checkpointCount"), 0);
    *ret_words = arena_printf(
        &cli->mem, "experiment %" PRId64 " '%s' of %s (%" PRId64 " checkpoint%s)", id,
        json_str(json_get(e, "name"), ""), json_str(json_get(e, "username"), ""), count,
        count == 1 ? "" : "s");
    return *ret_words ? DET_OK : cli_nomem(cli);
}

static det_status ask_delete(struct cli *cli, const struct cli_ids *ids, bool *ret_yes)
{
    const char *words = NULL;
    char question[64];
    det_status st = DET_OK;

    for (size_t i = 0; !st && i < ids->count; i++) {
        st = name_experiment(cli, ids->at[i], &words);
        if (!st)
            cli_note(cli, "%s", words);
    }
    snprintf(question, sizeof(question), "Delete %s with all checkpoints?",
             ids->count == 1 ? "it" : "them");
    return st ? st : cli_confirm(cli, question, ret_yes);
}

static det_status confirm_delete(struct cli *cli, const struct cli_ids *ids)
{
    bool yes = false;
    det_status st = ask_delete(cli, ids, &yes);

    if (!st && !yes)
        st = cli_fail(cli, DET_FAILED, "nothing was deleted");
    return st;
}

det_status run_experiment_delete(struct cli *cli, const struct cli_invocation *in)
{
    /* the master deletes the checkpoints after it has answered */
    static const struct control how = {EXPERIMENTS, .done = "Deleting",
                                       .needs_end = true};
    const struct yes_options *options = in->options;
    struct cli_ids ids;
    det_status st = cli_ids(cli, "experiment", in->args, in->arg_count, &ids);

    if (!st && !options->yes)
        st = confirm_delete(cli, &ids);
    return st ? st : change_ids(cli, &how, &ids);
}

/* ---- waiting --------------------------------------------------------------------- */

/* A final state as a constant; NULL: the state is not final. */
static const char *end_state(const char *state)
{
    static const char *const ends[] = {"COMPLETED", "CANCELED", "ERROR", "DELETED",
                                       "DELETE_FAILED"};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (!strcmp(ends[i], state))
            return ends[i];
    return NULL;
}

/* Waits for a master that restarts.  Other errors, like "not found", are final. */
static bool may_retry(det_status st, int *tries)
{
    if (st != DET_UNREACHABLE && st != DET_BUSY && st != DET_TIMEOUT)
        return false;
    return ++*tries < TRIES_MOST;
}

/* *ret_state is NULL if the experiment has not ended. */
static det_status get_end_state(struct cli *cli, int64_t id, bool *said_paused,
                                const char **ret_state)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    const char *state;
    struct json *reply;
    det_status st = cli_get_in(cli, &mem, &reply, "/api/v1/experiments/%" PRId64, id);

    if (st)
        return st;
    state = format_state(json_path(reply, "experiment.state"));
    *ret_state = end_state(state);
    if (*ret_state && json_bool(json_get(reply, "metricIsMissing"), false))
        cli_note(cli, "warning: %s", json_str(json_get(reply, "metricDoubt"), ""));
    if (!strcmp(state, "PAUSED") && !*said_paused) {
        cli_note(cli, "experiment %" PRId64 " is paused; waiting", id);
        *said_paused = true;
    }
    return DET_OK;
}

static det_status wait_for_end(struct cli *cli, int64_t id,
                               const struct wait_options *options,
                               struct search_progress *progress, const char **ret_state)
{
    int64_t start_us = clock_mono_us(&clock_system);
    int64_t most_ms =
        options->interval == CLI_UNSET ? POLL_LAST_MS : options->interval * 1000;
    int64_t pause_ms = options->interval == CLI_UNSET ? POLL_FIRST_MS : most_ms;
    bool said_paused = false;
    int tries = 0;

    for (;;) {
        const char *state = NULL;
        det_status st = get_end_state(cli, id, &said_paused, &state);

        if (st && !may_retry(st, &tries))
            return st;
        if (!st)
            tries = 0;
        if (state) {
            *ret_state = state;
            return DET_OK;
        }
        if (!progress->cli)
            search_progress_begin(progress, cli, id);
        search_progress_look(progress);
        if (options->timeout != CLI_UNSET &&
            clock_mono_us(&clock_system) - start_us > options->timeout * 1000000)
            return cli_fail(cli, DET_TIMEOUT,
                            "experiment %" PRId64 " has not ended after %" PRId64
                            " second%s",
                            id, options->timeout, options->timeout == 1 ? "" : "s");
        cli_sleep(pause_ms);
        pause_ms = MIN(pause_ms * 3 / 2, most_ms);
    }
}

det_status experiment_control_wait(struct cli *cli, int64_t id,
                                   const struct wait_options *options,
                                   const char **ret_state)
{
    static const struct wait_options usual = {.timeout = CLI_UNSET,
                                              .interval = CLI_UNSET};
    struct search_progress progress = {0};
    det_status st =
        wait_for_end(cli, id, options ? options : &usual, &progress, ret_state);

    if (progress.cli)
        search_progress_end(&progress);
    return st;
}

det_status run_experiment_wait(struct cli *cli, const struct cli_invocation *in)
{
    const char *state;
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (!st)
        st = experiment_control_wait(cli, id, in->options, &state);
    if (st)
        return st;
    cli_put(cli, "experiment %" PRId64 " is %s\n", id, state);
    cli->exit_code = strcmp(state, "COMPLETED") != 0;
    return DET_OK;
}
