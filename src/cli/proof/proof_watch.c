/* SPDX-License-Identifier: Apache-2.0 */
/* proof_watch.c - see proof_watch.h.
 *
 * A kill goes through the master (/api/v1/allocations/ID/kill), so it works for any
 * agent.  All processes of the task get SIGKILL without warning.  A kill has landed if a
 * new run follows.  A kill that came after the end of the program is not followed by one,
 * and does not count. */
#include "cli/proof/proof_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/interrupt.h"
#include "cli/nouns/experiment_control.h"
#include "cli/output/format.h"
#include "cli/proof/proof.h"
#include "cli/proof/proof_plan.h"
#include "cli/proof/proof_show.h"
#include "data/json/json.h"

enum {
    NAME_BYTES = 256,
    TREE_BYTES = 64 << 20,
    PAUSE_LEAST_US = 5 * 1000,
    PAUSE_MOST_US = 250 * 1000,
    PAUSES_A_RUN = 500, /* looks at an undisturbed run */
    TRIES_MOST = 60,
    TRY_AGAIN_US = 500 * 1000,
    END_ROUNDS = 600, /* looks at a killed experiment before we give up */
};

/* The current state of the experiment. */
struct glance {
    bool has_trial;
    bool is_over;
    bool is_running; /* the program runs */
    int64_t trial_id;
    int64_t steps;
    char allocation[NAME_BYTES];
};

struct watching {
    struct proof *proof;
    struct proof_outcome *outcome;
    struct proof_kill *kill; /* NULL: undisturbed */
    size_t kills;
    size_t next;
    struct proof_run run;
    char allocation[NAME_BYTES]; /* of the run; "": none yet */
    bool is_running;
    bool is_killing;
    int64_t killed_steps;
    int64_t first_us; /* its program started for the first time; 0: not yet */
};

static int64_t now_us(void)
{
    return clock_mono_us(&clock_system);
}

/* ---- looking --------------------------------------------------------------------- */

static int64_t run_number(const char *allocation)
{
    const char *dot = strrchr(allocation, '.');

    return dot ? strtoll(dot + 1, NULL, 10) : 0;
}

/* The last run of the trial's task. */
static det_status glance_at_run(struct cli *cli, const char *task, struct arena *mem,
                                struct glance *glance)
{
    struct json *reply;
    det_status st = cli_get_in(cli, mem, &reply, "/api/v1/tasks/%s", task);
    int64_t last = -1;

    if (st == DET_NOT_FOUND)
        return DET_OK; /* its first run has not started */
    json_each(row, st ? NULL : json_path(reply, "task.allocations")) {
        const char *name = json_str(json_get(row, "allocationId"), "");

        if (run_number(name) <= last)
            continue;
        last = run_number(name);
        (void)snprintf(glance->allocation, sizeof(glance->allocation), "%s", name);
        glance->is_running = !strcmp(format_state(json_get(row, "state")), "RUNNING");
    }
    return st;
}

static det_status glance_at(struct cli *cli, int64_t id, struct glance *ret_glance)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TREE_BYTES);
    struct glance glance = {0};
    struct json *reply;
    const struct json *trial = NULL;
    det_status st = cli_get_in(cli, &mem, &reply,
                               "/api/v1/experiments/%" PRId64 "/trials?limit=1", id);

    if (!st)
        trial = json_first(json_get(reply, "trials"));
    if (!st && !trial) {
        st = cli_get_in(cli, &mem, &reply, "/api/v1/experiments/%" PRId64, id);
        if (!st)
            glance.is_over = format_state_is_final(
                format_state(json_path(reply, "experiment.state")));
    } else if (!st) {
        glance.has_trial = true;
        glance.trial_id = json_i64(json_get(trial, "id"), 0);
        glance.steps = json_i64(json_get(trial, "totalBatchesProcessed"), 0);
        glance.is_over = format_state_is_final(format_state(json_get(trial, "state")));
        st = glance_at_run(cli, json_str(json_get(trial, "taskId"), ""), &mem, &glance);
    }
    *ret_glance = glance;
    return st;
}

/* False when a signal came. */
static bool pause_us(struct proof *proof, int64_t us)
{
    if (interrupt_pause(&proof->hold, us))
        proof->is_interrupted = true;
    return !proof->is_interrupted;
}

static det_status interrupted(struct proof *proof)
{
    return cli_fail(proof->cli, DET_FAILED, "interrupted");
}

/* Waits for a master that restarts. */
static det_status glance_patiently(struct proof *proof, int64_t id,
                                   struct glance *glance)
{
    det_status st = glance_at(proof->cli, id, glance);

    for (int i = 0; i < TRIES_MOST &&
                    (st == DET_UNREACHABLE || st == DET_BUSY || st == DET_TIMEOUT);
         i++) {
        if (!pause_us(proof, TRY_AGAIN_US))
            return interrupted(proof);
        st = glance_at(proof->cli, id, glance);
    }
    return st;
}

/* ---- killing --------------------------------------------------------------------- */

/* The steps of the latest checkpoint; 0: there is none. */
static det_status saved_steps(struct cli *cli, int64_t trial_id, int64_t *ret_steps)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TREE_BYTES);
    struct json *reply;
    det_status st = cli_get_in(cli, &mem, &reply,
                               "/api/v1/trials/%" PRId64 "/checkpoints", trial_id);

    *ret_steps = 0;
    json_each(row, st ? NULL : json_get(reply, "checkpoints"))
        *ret_steps =
            MAX(*ret_steps, json_i64(json_path(row, "metadata.steps_completed"), 0));
    return st;
}

static void print_landed(const struct watching *watching)
{
    const struct proof *proof = watching->proof;
    char at[PROOF_COUNT], from[PROOF_COUNT];

    proof_show_count(MAX(watching->killed_steps, watching->run.from_steps), at);
    proof_show_count(watching->run.from_steps, from);
    if (watching->run.from_steps)
        cli_note(proof->cli,
                 "kill %" PRId64 " of %" PRId64 " at batch %s, resumed from batch %s",
                 proof->landed, proof->kills, at, from);
    else
        cli_note(proof->cli,
                 "kill %" PRId64 " of %" PRId64 " at batch %s, started again",
                 proof->landed, proof->kills, at);
}

/* A new run has started. */
static det_status note_next_run(struct watching *watching, const struct glance *glance)
{
    struct proof *proof = watching->proof;
    det_status st = DET_OK;

    watching->run = (struct proof_run){0};
    if (*watching->allocation)
        st = saved_steps(proof->cli, glance->trial_id, &watching->run.from_steps);
    (void)snprintf(watching->allocation, sizeof(watching->allocation), "%s",
                   glance->allocation);
    watching->is_running = false;
    if (st || !watching->is_killing)
        return st;
    watching->is_killing = false;
    watching->next++;
    proof->landed++;
    proof->resumed += watching->run.from_steps > 0;
    if (watching->next == 1)
        proof->first_resume = watching->run.from_steps;
    print_landed(watching);
    return DET_OK;
}

static det_status kill_if_due(struct watching *watching)
{
    struct proof *proof = watching->proof;
    det_status st;

    if (watching->is_killing || watching->next >= watching->kills ||
        !proof_is_due(&proof->timeline, &watching->kill[watching->next], &watching->run,
                      now_us()))
        return DET_OK;
    st = cli_send(proof->cli, "POST", NULL, NULL, "/api/v1/allocations/%s/kill",
                  cli_url(proof->cli, watching->allocation));
    if (st == DET_STATE)
        return DET_OK; /* it has ended meanwhile */
    watching->is_killing = !st;
    watching->killed_steps = watching->run.seen_steps;
    return st;
}

/* ---- watching -------------------------------------------------------------------- */

static det_status handle_glance(struct watching *watching, const struct glance *glance)
{
    struct proof *proof = watching->proof;
    struct proof_run *run = &watching->run;
    det_status st = DET_OK;

    watching->outcome->trial_id = glance->trial_id;
    if (strcmp(glance->allocation, watching->allocation) != 0)
        st = note_next_run(watching, glance);
    if (st || !glance->is_running)
        return st;
    if (!watching->is_running) {
        watching->is_running = true;
        proof_run_begin(run, run->from_steps, glance->steps, now_us());
        if (!watching->first_us)
            watching->first_us = run->began_us;
    }
    proof_run_see(run, glance->steps, now_us());
    if (watching->kill)
        return kill_if_due(watching);
    if (watching->outcome->role == PROOF_FIRST &&
        !proof_timeline_see(&proof->timeline, now_us() - watching->first_us,
                            glance->steps))
        return cli_nomem(proof->cli);
    return DET_OK;
}

static int64_t usual_pause_us(const struct watching *watching)
{
    int64_t length_us = watching->outcome->role != PROOF_FIRST
                            ? watching->proof->timeline.end_us
                        : watching->first_us ? now_us() - watching->first_us
                                             : 0;

    return MAX(MIN(length_us / PAUSES_A_RUN, (int64_t)PAUSE_MOST_US),
               (int64_t)PAUSE_LEAST_US);
}

static det_status check_end(struct proof *proof, const struct proof_outcome *outcome)
{
    static const char *const roles[] = {"undisturbed", "killed and resumed",
                                        "undisturbed again"};
    int64_t id = outcome->experiment_id;
    const char *state;
    det_status st = experiment_control_wait(proof->cli, id, NULL, &state);

    if (st || !strcmp(state, "COMPLETED"))
        return st;
    (void)cli_fail(proof->cli, DET_FAILED,
                   "experiment %" PRId64
                   " (%s) ended as %s: a proof needs an experiment "
                   "that completes",
                   id, roles[outcome->role], state);
    return cli_hint(proof->cli, "its output: det experiment logs %" PRId64, id);
}

static det_status watch_until_end(struct watching *watching)
{
    struct proof *proof = watching->proof;
    struct glance glance = {0};
    det_status st = DET_OK;

    while (!st && !glance.is_over) {
        st = glance_patiently(proof, watching->outcome->experiment_id, &glance);
        if (!st && glance.has_trial)
            st = handle_glance(watching, &glance);
        if (!st && !glance.is_over && !pause_us(proof, usual_pause_us(watching)))
            st = interrupted(proof);
    }
    if (!st && watching->outcome->role == PROOF_FIRST)
        proof->timeline.end_us = watching->first_us ? now_us() - watching->first_us : 0;
    return st ? st : check_end(proof, watching->outcome);
}

det_status proof_watch(struct proof *proof, struct proof_outcome *outcome)
{
    struct watching watching = {.proof = proof, .outcome = outcome};

    if (outcome->role == PROOF_KILLED) {
        proof->first_resume = 0;
        watching.kills = (size_t)(proof->kills - proof->landed);
        watching.kill =
            arena_array(&proof->cli->mem, struct proof_kill, watching.kills);
        if (!watching.kill)
            return cli_nomem(proof->cli);
        proof_plan(&proof->timeline, proof->seed + (uint64_t)proof->landed,
                   watching.kill, watching.kills);
    }
    return watch_until_end(&watching);
}

void proof_watch_clean_up(struct proof *proof, int64_t experiment_id)
{
    struct err kept = *proof->cli->err;
    struct cli *cli = proof->cli;
    const char *state = "";

    if (!experiment_control_state(cli, "experiment", experiment_id, &state) &&
        !format_state_is_final(state)) {
        (void)cli_send(cli, "POST", NULL, NULL, "/api/v1/experiments/%" PRId64 "/kill",
                       experiment_id);
        for (int i = 0; i < END_ROUNDS && !format_state_is_final(state); i++) {
            cli_sleep(PAUSE_MOST_US / 5000);
            if (experiment_control_state(cli, "experiment", experiment_id, &state))
                break;
        }
    }
    if (format_state_is_final(state))
        (void)cli_send(cli, "POST", NULL, NULL,
                       "/api/v1/experiments/%" PRId64 "/archive", experiment_id);
    *proof->cli->err = kept;
}
