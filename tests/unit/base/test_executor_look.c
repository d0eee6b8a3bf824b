/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"
#include "base/thread/executor.h"

#include "tests/support/test.h"

struct looking {
    struct work work;
    struct work behind;
    struct executor *exec;
    struct lane *lane;
    struct gate *gate;
    struct lane_state inside;
};

static void look_at_lane(struct work *work)
{
    struct looking *looking = CONTAINER_OF(work, struct looking, work);

    lane_post(looking->lane, &looking->behind);
    (void)executor_look(looking->exec, &looking->inside, 1);
}

static void end_look(struct work *work)
{
    gate_open(CONTAINER_OF(work, struct looking, behind)->gate);
}

TEST(a_lane_tells_what_waits_and_runs_and_for_how_long_it_worked)
{
    struct looking looking = {.work = WORK_INIT(look_at_lane),
                              .behind = WORK_INIT(end_look)};
    struct lane_state states[2];
    struct executor *exec;

    CHECK_OK(executor_threads_new(&clock_system, &exec, &test_err));
    looking.exec = exec;
    CHECK_OK(gate_new(exec, &looking.gate, &test_err));
    CHECK_OK(lane_new(exec, "looked at", 1, &looking.lane, &test_err));
    lane_post(looking.lane, &looking.work);
    CHECK(gate_wait(looking.gate, 0));

    CHECK_EQ(executor_look(exec, states, 2), 1);
    CHECK_STR(states[0].name, "looked at");
    CHECK_EQ(states[0].width, 1);
    CHECK_EQ(states[0].waiting, 0);
    CHECK_EQ(histogram_total(states[0].wait), 2);
    CHECK_EQ(looking.inside.waiting, 1);
    CHECK_EQ(looking.inside.running, 1);
    gate_free(looking.gate);
    executor_free(exec);
}
