/* SPDX-License-Identifier: Apache-2.0 */
/* proof_plan.h - when `det resume-proof` kills: pure arithmetic, no clock.
 *
 * The undisturbed run leaves a timeline: how far it was at which time after its program
 * had begun.  Kills are spread over it, one at a random place of each of N equal
 * stretches; some come early instead, while the program still loads.  A run that was
 * resumed is at the place of the timeline that its steps say, and goes on from there
 * with the clock, but not past the place where it must have said more: so a slower or
 * faster machine moves kills a little, leaves none out, and has none come sooner than
 * the work that it was planned behind.  Every resumed run begins at or before the place
 * of the last kill, and the next kill lies behind it, so that N kills are N runs more
 * and never an endless circle. */
#ifndef CLI_PROOF_PLAN_H
#define CLI_PROOF_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct proof_point {
    int64_t at_us; /* since the program began */
    int64_t steps;
};

struct proof_timeline {
    VEC(struct proof_point) points; /* both ascending */
    int64_t end_us;
};
void proof_timeline_done(struct proof_timeline *timeline);

/* Notes that the steps have grown; anything else is left out.  False: no memory. */
bool proof_timeline_see(struct proof_timeline *timeline, int64_t at_us, int64_t steps);
/* How long the program loads before it trains; 0 where nothing was ever reported. */
int64_t proof_timeline_startup_us(const struct proof_timeline *timeline);
/* When the undisturbed run was there. */
int64_t proof_timeline_time_of(const struct proof_timeline *timeline, int64_t steps);

struct proof_kill {
    bool is_early;
    int64_t at_us; /* a place on the timeline; early: since the run began */
};
/* Fills `count` kills, ascending but for early ones. */
void proof_plan(const struct proof_timeline *timeline, uint64_t seed,
                struct proof_kill *ret_kills, size_t count);

/* A run under way. */
struct proof_run {
    int64_t began_us;   /* its program began */
    int64_t from_steps; /* of the checkpoint it went on from; 0: none */
    int64_t seen_steps; /* the last it has said */
    int64_t seen_us;    /* when that was seen */
    int64_t left_steps; /* what the trial's earlier runs had said when it began */
};
/* It began, from `from_steps`, while the trial stood at `steps`.  A trial that has
 * saved nothing stands where its killed run was until the new one has said something:
 * that number says nothing of this run. */
void proof_run_begin(struct proof_run *run, int64_t from_steps, int64_t steps,
                     int64_t now_us);
/* The trial stands at `steps` now. */
void proof_run_see(struct proof_run *run, int64_t steps, int64_t now_us);
bool proof_is_due(const struct proof_timeline *timeline, const struct proof_kill *kill,
                  const struct proof_run *run, int64_t now_us);

#endif
