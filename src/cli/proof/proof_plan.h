/* SPDX-License-Identifier: Apache-2.0 */
/* proof_plan.h - when `det resume-proof` kills: pure arithmetic, no clock.
 *
 * The undisturbed run gives a timeline: the steps it had reported at each time since its
 * program started.  The timeline is divided into N equal parts, with one kill at a random
 * place of each part.  Some kills come early instead, while the program still loads.
 *
 * The steps of a resumed run say where it is on the timeline.  Between reports its place
 * moves with the clock, but not past the next report.  So a slower or faster machine
 * moves kills a little, but none is left out, and none comes before the work that it was
 * planned after.
 *
 * A resumed run starts at or before the place of the last kill, and the next kill comes
 * after that place.  So N kills need N more runs, and the proof always ends. */
#ifndef CLI_PROOF_PROOF_PLAN_H
#define CLI_PROOF_PROOF_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/vec.h"

struct proof_point {
    int64_t at_us; /* since the program started */
    int64_t steps;
};

struct proof_timeline {
    VEC(struct proof_point) points; /* both ascending */
    int64_t end_us;
};
void proof_timeline_done(struct proof_timeline *timeline);

/* Adds a point if the steps have grown.  False: no memory. */
bool proof_timeline_see(struct proof_timeline *timeline, int64_t at_us, int64_t steps);
/* How long the program loads before it trains; 0 if nothing was reported. */
int64_t proof_timeline_startup_us(const struct proof_timeline *timeline);
/* When the undisturbed run had these steps. */
int64_t proof_timeline_time_of(const struct proof_timeline *timeline, int64_t steps);

struct proof_kill {
    bool is_early;
    int64_t at_us; /* on the timeline; early kills: since the run started */
};
/* Fills `count` kills, in ascending order except for early ones. */
void proof_plan(const struct proof_timeline *timeline, uint64_t seed,
                struct proof_kill *ret_kills, size_t count);

/* A current run. */
struct proof_run {
    int64_t began_us;   /* its program started */
    int64_t from_steps; /* of the checkpoint it resumed from; 0: none */
    int64_t seen_steps; /* its last report */
    int64_t seen_us;    /* when that was seen */
    int64_t left_steps; /* of the trial when this run started */
};
/* It started from `from_steps` while the trial had `steps`.  Without a checkpoint, the
 * trial keeps the steps of its killed run until the new run reports: they say nothing
 * about this run. */
void proof_run_begin(struct proof_run *run, int64_t from_steps, int64_t steps,
                     int64_t now_us);
/* The trial has `steps` now. */
void proof_run_see(struct proof_run *run, int64_t steps, int64_t now_us);
bool proof_is_due(const struct proof_timeline *timeline, const struct proof_kill *kill,
                  const struct proof_run *run, int64_t now_us);

#endif
