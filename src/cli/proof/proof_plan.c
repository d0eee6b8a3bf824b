/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/proof/proof_plan.h"

#include <assert.h>

#include "base/compiler.h"
#include "base/rng.h"

enum { ONE_IN_EARLY = 8 };

/* No kill at the very end: a kill takes a moment to arrive. */
#define LAST_PART 0.98

void proof_timeline_done(struct proof_timeline *timeline)
{
    vec_done(&timeline->points);
}

bool proof_timeline_see(struct proof_timeline *timeline, int64_t at_us, int64_t steps)
{
    size_t count = timeline->points.count;

    if (steps <= (count ? timeline->points.at[count - 1].steps : 0))
        return true;
    assert(!count || at_us >= timeline->points.at[count - 1].at_us);
    return vec_push(&timeline->points, ((struct proof_point){at_us, steps}));
}

/* The first report comes one interval after the program has loaded. */
int64_t proof_timeline_startup_us(const struct proof_timeline *timeline)
{
    size_t count = timeline->points.count;
    const struct proof_point *point = timeline->points.at;
    int64_t usual_us;

    if (!count)
        return 0;
    usual_us = count > 1
                   ? (point[count - 1].at_us - point[0].at_us) / (int64_t)(count - 1)
                   : point[0].at_us / 2;
    return MAX(point[0].at_us - usual_us, INT64_C(0));
}

int64_t proof_timeline_time_of(const struct proof_timeline *timeline, int64_t steps)
{
    struct proof_point before = {proof_timeline_startup_us(timeline), 0};

    for (size_t i = 0; i < timeline->points.count; i++) {
        struct proof_point point = timeline->points.at[i];

        if (steps < point.steps) {
            double part =
                (double)(steps - before.steps) / (double)(point.steps - before.steps);

            return before.at_us +
                   (int64_t)((double)(point.at_us - before.at_us) * part);
        }
        before = point;
    }
    return before.at_us;
}

void proof_plan(const struct proof_timeline *timeline, uint64_t seed,
                struct proof_kill *ret_kills, size_t count)
{
    struct rng64 rng = {.state = seed};
    int64_t startup_us = proof_timeline_startup_us(timeline);
    double training_us = (double)(timeline->end_us - startup_us) * LAST_PART;

    for (size_t i = 0; i < count; i++) {
        double part = (double)(rng64_next(&rng) >> 11) * 0x1p-53;
        bool is_early = !rng64_below(&rng, ONE_IN_EARLY);
        uint64_t early_us = rng64_below(&rng, (uint64_t)startup_us + 1);

        ret_kills[i].is_early = is_early;
        ret_kills[i].at_us =
            is_early ? (int64_t)early_us
                     : startup_us +
                           (int64_t)(training_us * ((double)i + part) / (double)count);
    }
}

void proof_run_begin(struct proof_run *run, int64_t from_steps, int64_t steps,
                     int64_t now_us)
{
    *run = (struct proof_run){.began_us = now_us,
                              .from_steps = from_steps,
                              .seen_steps = from_steps,
                              .seen_us = now_us,
                              .left_steps = steps};
}

void proof_run_see(struct proof_run *run, int64_t steps, int64_t now_us)
{
    bool is_old = steps == run->left_steps && run->seen_steps == run->from_steps;

    if (steps <= run->seen_steps || is_old)
        return;
    run->seen_steps = steps;
    run->seen_us = now_us;
}

/* The time of the next report on the timeline.  Skips the steps that the trial kept from
 * its earlier run. */
static int64_t next_report_us(const struct proof_timeline *timeline,
                              const struct proof_run *run)
{
    for (size_t i = 0; i < timeline->points.count; i++) {
        int64_t steps = timeline->points.at[i].steps;

        if (steps > run->seen_steps && steps != run->left_steps)
            return timeline->points.at[i].at_us;
    }
    return INT64_MAX;
}

bool proof_is_due(const struct proof_timeline *timeline, const struct proof_kill *kill,
                  const struct proof_run *run, int64_t now_us)
{
    int64_t since_us = now_us - run->began_us;
    int64_t place_us;

    if (kill->is_early)
        return since_us >= kill->at_us;
    if (run->seen_steps > run->from_steps)
        place_us =
            proof_timeline_time_of(timeline, run->seen_steps) + (now_us - run->seen_us);
    else
        place_us = proof_timeline_time_of(timeline, run->from_steps) +
                   MAX(since_us - proof_timeline_startup_us(timeline), INT64_C(0));
    return MIN(place_us, next_report_us(timeline, run)) >= kill->at_us;
}
