/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/load_watch.h"

#include "tests/support/test.h"
#include "tests/unit/agent/stage.h"

#define S INT64_C(1000000)

/* How often a run of so many seconds is measured. */
static int count_of(int64_t seconds)
{
    int64_t at_us = 0;
    int count = 0;

    while ((at_us += load_watch_pause_us(at_us)) <= seconds * S)
        count++;
    return count;
}

TEST(a_short_run_has_values_and_a_long_one_not_too_many)
{
    CHECK_EQ(count_of(1), 0);
    CHECK_EQ(count_of(2), 1);
    CHECK_EQ(count_of(12), 3);
    CHECK(count_of(3600) < 200);
    CHECK(count_of(86400) < 700);
    CHECK_EQ(load_watch_pause_us(60 * S), LOAD_WATCH_LEAST_US);
    CHECK_EQ(load_watch_pause_us(1000000 * S), LOAD_WATCH_MOST_US);
}

/* Runs a task until its first load has come, and then to its end. */
static void run_measured(struct fake_master *m, char dir[128])
{
    char entrypoint[256];
    char go[160];
    pid_t pid;

    snprintf(go, sizeof(go), "%s/go", m->dir);
    snprintf(entrypoint, sizeof(entrypoint),
             "\"while [ ! -e %s ]; do sleep 0.05; done\"", go);
    fake_place(m, entrypoint, ",\"measuresLoad\":true", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_count(m, "/load", "cpu_util_simple") > 0);
    CHECK_OK(io_replace(io_system(), go, "", 0, false, &test_err));
    CHECK_EQ(fake_wait(m, pid), 0);
    check_exit(dir, "CLEAN", 0, "exited with code 0");
}

TEST(the_load_is_sent_while_the_task_runs_and_is_not_a_report)
{
    struct fake_master *m = fake_new();
    CLEANUP(buf_done) struct buf loads = BUF_INIT;
    char dir[128];

    run_measured(m, dir);
    fake_bodies(m, "/load", &loads);
    CHECK_HAS(loads.data, "{\"rank\":0,\"timeUs\":");
    CHECK_HAS(loads.data, "\"memory\":{\"memory_free\":");
    CHECK_EQ(m->reports, 0);
    CHECK(fake_place_of(m, "/load") < fake_place_of(m, "/exit"));
    fake_free(m);
}

TEST(a_master_that_refuses_the_load_does_not_disturb_the_task)
{
    struct fake_master *m = fake_new();
    char dir[128];

    m->load_refusal = "{\"error\":{\"code\":5,\"error\":\"no such call\"}}";
    run_measured(m, dir);
    fake_free(m);
}

TEST(a_master_that_does_not_answer_does_not_delay_the_end)
{
    struct fake_master *m = fake_new();
    char dir[128];

    m->holds_loads = true;
    run_measured(m, dir);
    CHECK_EQ(fake_held(m), 1);
    fake_free(m);
}
