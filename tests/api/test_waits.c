/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait: preemption, rendezvous, all_gather; and what ends the waiting. */
#include "base/compiler.h"
#include "tests/api/script.h"

static const char config_two_nodes[] = "entrypoint: x\n"
                                       "searcher: {name: single, metric: loss}\n"
                                       "resources: {slots_per_trial: 4}\n"
                                       "max_restarts: 1\n";

static struct share one_running(struct bed *bed, struct agent *agent)
{
    agent_join(agent, bed, "a1", 1);
    (void)create(bed, config_single);
    return agent_run(agent);
}

/* Starts to wait for this share as its owner.  The owner's token outlives the
 * allocation, so the call may arrive late. */
static struct pending *wait_as(struct share *share, enum net_method method,
                               const char *what, const char *body)
{
    struct bed *bed = share->bed;

    return bed_begin(
        bed, USER, method,
        arena_printf(&bed->mem, "/api/v1/allocations/%s/%s", share->allocation, what),
        body);
}

/* ---- allocations ----------------------------------------------------------------- */

TEST(an_allocation_is_shown_from_its_start_to_its_end)
{
    static const struct step starting[] = {
        GET("queued", "/api/v1/allocations/${share.allocation}", 200,
            "allocation.state=STATE_QUEUED; allocation.isReady=false; "
            "allocation.slots=1; "
            "allocation.taskId=${share.task_id}"),
        POST("pulling", "/api/v1/det/allocations/${share.allocation}/state",
             "{'rank': 0, 'state': 'PULLING'}", 200, NULL, TASK),
        GET("pulls", "/api/v1/trials/${share.trial}", 200, "trial.state=STATE_PULLING"),
        POST("starting", "/api/v1/det/allocations/${share.allocation}/state",
             "{'rank': 0, 'state': 'STARTING'}", 200, NULL, TASK),
        GET("starts", "/api/v1/experiments/${share.experiment}", 200,
            "experiment.state=STATE_STARTING; jobSummary.state=STATE_SCHEDULED"),
        POST("odd", "/api/v1/det/allocations/${share.allocation}/state",
             "{'rank': 0, 'state': 'DANCING'}", 400, NULL, TASK),
        POST("too far", "/api/v1/det/allocations/${share.allocation}/state",
             "{'rank': 0, 'state': 'TERMINATED'}", 400, NULL, TASK),
        POST("accelerators", "/api/v1/allocations/${share.allocation}/acceleratorData",
             "{'acceleratorData': {'containerId': 'c', 'acceleratorType': 'cpu'}}", 200,
             NULL, TASK),
        POST("waits", "/api/v1/allocations/${share.allocation}/waiting", NULL, 200,
             NULL, TASK),
        POST("ready", "/api/v1/allocations/${share.allocation}/ready", NULL, 200, NULL,
             TASK),
        GET("runs", "/api/v1/allocations/${share.allocation}", 200,
            "allocation.state=STATE_RUNNING; allocation.isReady=true; "
            "allocation.startTime?; allocation.endTime!"),
        GET("its task", "/api/v1/tasks/${share.task_id}", 200,
            "task.taskId=${share.task_id}; task.allocations#1; "
            "task.allocations.0.isReady=true; task.endTime!"),
        GET("all tasks", "/api/v1/tasks", 200, "allocationIdToSummary#1"),
        GET("no id", "/api/v1/allocations/x", 400, NULL),
        GET("unknown", "/api/v1/allocations/9.x.1", 404, NULL),
        GET("unknown task", "/api/v1/tasks/9.x", 404, NULL),
        POST("waits for none", "/api/v1/allocations/9.x.1/waiting", NULL, 404, NULL),
        POST("none is ready", "/api/v1/allocations/9.x.1/ready", NULL, 404, NULL),
        POST("odd exit", "/api/v1/det/allocations/${share.allocation}/exit",
             "{'exit': 'NONE'}", 400, NULL, TASK),
        POST("no exit", "/api/v1/det/allocations/${share.allocation}/exit", "{}", 400,
             NULL, TASK),
        POST("exit of none", "/api/v1/det/allocations/9.x.1/exit", "{'exit': 'CLEAN'}",
             403, NULL),
        END_STEPS};
    static const struct step over[] = {
        GET("over", "/api/v1/allocations/${share.allocation}", 200,
            "allocation.state=STATE_TERMINATED; allocation.statusCode=3; "
            "allocation.exitReason~so it ended; allocation.endTime?"),
        GET("its next run", "/api/v1/tasks/${share.task_id}", 200,
            "task.allocations#2"),
        POST("late", "/api/v1/det/allocations/${share.allocation}/state",
             "{'rank': 0, 'state': 'RUNNING'}", 403, "error.error~ended", TASK),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_start(&agent);
    bed_play(bed, starting);
    share_exit(&share, "FAILED", 3);
    share_exit(&share, "CLEAN", 0); /* the first word counts */
    (void)agent_start(&agent);
    share_speak(&share);
    bed_play(bed, over);
}

/* ---- preemption ------------------------------------------------------------------ */

TEST(who_waits_for_preemption_is_told_at_once)
{
    static const struct step pause[] = {
        POST("pause", "/api/v1/experiments/${share.experiment}/pause", NULL, 200, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct pending *waiter =
        wait_as(&share, NET_GET, "signals/preemption?timeoutSeconds=100", NULL);
    struct reply reply;

    bed_play(bed, pause);
    reply = bed_end(bed, waiter);
    CHECK_EQ(reply.status, 200);
    CHECK(json_bool(json_get(reply.json, "preempt"), false));
}

TEST(who_waits_in_vain_is_told_so_at_the_end)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    CHECK(!share_is_preempted(&share, 1));
}

TEST(the_end_of_the_allocation_ends_the_waiting)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct pending *waiter =
        wait_as(&share, NET_GET, "signals/preemption?timeoutSeconds=100", NULL);
    struct reply reply;

    share_exit(&share, "CLEAN", 0);
    reply = bed_end(bed, waiter);
    CHECK_EQ(reply.status, 200);
    CHECK(json_bool(json_get(reply.json, "preempt"), false));
}

TEST(the_end_of_the_master_ends_the_waiting)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct pending *follower;
    struct reply reply;

    share_log(&share, "a line");
    follower = bed_begin(bed, USER, NET_GET, "/api/v1/trials/1/logs?follow=true", NULL);
    bed_await_bytes(follower); /* it is there */
    bed_stop_master(bed);
    reply = bed_end(bed, follower); /* and does not look like the end of the log */
    CHECK_EQ(reply.status, 0);
}

TEST(a_task_can_ask_to_be_preempted)
{
    static const struct step ask[] = {
        POST("ask",
             "/api/v1/allocations/${share.allocation}/signals/pending_preemption", NULL,
             200, NULL, TASK),
        POST("ask for none", "/api/v1/allocations/9.x.1/signals/pending_preemption",
             NULL, 404, NULL),
        POST("acknowledge for none", "/api/v1/allocations/9.x.1/signals/ack_preemption",
             NULL, 404, NULL),
        GET("wait for none", "/api/v1/allocations/9.x.1/signals/preemption", 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    bed_play(bed, ask);
    CHECK(share_is_preempted(&share, 60));
    share_acknowledge(&share);
    share_exit(&share, "CLEAN", 0);
    share = agent_run(&agent); /* preempted, not done */
    CHECK_EQ(share.run, 2);
}

TEST(a_task_that_does_not_stop_in_time_is_killed)
{
    static const struct step pause[] = {
        POST("pause", "/api/v1/experiments/${share.experiment}/pause", NULL, 200, NULL),
        END_STEPS};
    static const struct step later[] = {POST("progress",
                                             "/api/v1/trials/${share.trial}/progress",
                                             "{'progress': 0.5}", 200, NULL, TASK),
                                        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    bed_play(bed, pause);
    CHECK(agent_is_idle(&agent));
    bed_pass(bed, 3601);
    bed_play(bed, later);
    share_await_kill(&share);
    share_exit(&share, "KILLED", 137);
    await_trial(bed, share.trial, "PAUSED");
}

/* ---- meetings -------------------------------------------------------------------- */

static void two_nodes(struct bed *bed, struct agent agents[2], struct share shares[2])
{
    agent_join(&agents[0], bed, "a1", 2);
    agent_join(&agents[1], bed, "a2", 2);
    (void)create(bed, config_two_nodes);
    for (int i = 0; i < 2; i++) {
        struct share share = agent_run(&agents[i]);

        CHECK(share.rank == 0 || share.rank == 1);
        shares[share.rank] = share;
    }
    CHECK_STR(shares[0].allocation, shares[1].allocation);
    CHECK(strcmp(shares[0].container, shares[1].container));
}

static struct pending *rendezvous(struct share *share)
{
    return wait_as(
        share, NET_GET,
        arena_printf(&share->bed->mem, "resources/%s/rendezvous", share->container),
        NULL);
}

TEST(the_nodes_of_a_trial_find_one_another)
{
    static const struct step odd[] = {
        GET("unknown resources",
            "/api/v1/allocations/${share.allocation}/resources/x/rendezvous", 400, NULL,
            TASK),
        GET("unknown allocation", "/api/v1/allocations/9.x.1/resources/x/rendezvous",
            404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agents[2] = {0};
    struct share shares[2];
    struct pending *first;
    struct reply replies[2];

    two_nodes(bed, agents, shares);
    bed_play(bed, odd);
    first = rendezvous(&shares[1]);
    replies[0] = bed_end(bed, rendezvous(&shares[0]));
    replies[1] = bed_end(bed, first);
    for (int i = 0; i < 2; i++) {
        const struct json *info = json_get(replies[i].json, "rendezvousInfo");

        CHECK_EQ(replies[i].status, 200);
        CHECK_EQ(json_i64(json_get(info, "rank"), -1), i);
        CHECK_EQ(json_get(info, "addresses")->list.count, 2);
        CHECK_EQ(json_i64(json_at(info, "slots.0"), -1), 2);
        CHECK_EQ(json_i64(json_at(info, "slots.1"), -1), 2);
        CHECK_STR(
            json_str(json_at(info, arena_printf(&bed->mem, "addresses.%d", i)), ""),
            arena_printf(&bed->mem, "10.0.0.%s", shares[i].agent->name + 1));
    }
    /* who lost the reply asks again */
    CHECK_EQ(bed_end(bed, rendezvous(&shares[0])).status, 200);
}

TEST(a_meeting_ends_with_its_allocation)
{
    BED(bed, NULL);
    struct agent agents[2] = {0};
    struct share shares[2];
    struct pending *waiter;

    two_nodes(bed, agents, shares);
    waiter = rendezvous(&shares[0]);
    share_exit(&shares[1], "FAILED", 1);
    share_await_kill(&shares[0]);
    share_exit(&shares[0], "KILLED", 137);
    CHECK_EQ(bed_end(bed, waiter).status, 400);
    (void)agent_run(&agents[0]); /* both start again */
    (void)agent_run(&agents[1]);
}

static struct pending *gather(struct share *share, int round, const char *data)
{
    return wait_as(
        share, NET_POST, "all_gather",
        arena_printf(&share->bed->mem,
                     "{\"requestUuid\":\"%d-%d\",\"numPeers\":2,\"data\":%s}",
                     (int)share->rank, round, data));
}

TEST(processes_exchange_data_as_often_as_they_like)
{
    static const struct step odd[] = {
        POST("nothing", "/api/v1/allocations/${share.allocation}/all_gather", "{}", 400,
             NULL, TASK),
        POST("no peers", "/api/v1/allocations/${share.allocation}/all_gather",
             "{'requestUuid': 'u', 'numPeers': 0, 'data': {}}", 400, NULL, TASK),
        POST("unknown", "/api/v1/allocations/9.x.1/all_gather",
             "{'requestUuid': 'u', 'numPeers': 2, 'data': {}}", 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agents[2] = {0};
    struct share shares[2];

    two_nodes(bed, agents, shares);
    bed_play(bed, odd);
    for (int round = 0; round < 3; round++) {
        const char *data = arena_printf(&bed->mem, "{\"round\":%d}", round);
        struct pending *first = gather(&shares[0], round, data);
        struct pending *second = gather(&shares[1], round, data);
        struct reply a = bed_end(bed, first), b = bed_end(bed, second);

        CHECK_EQ(a.status, 200);
        CHECK_EQ(b.status, 200);
        CHECK_STR(a.text, b.text);
        CHECK_EQ(json_get(a.json, "data")->list.count, 2);
        CHECK_EQ(json_i64(json_at(a.json, "data.0.round"), -1), round);
        CHECK_EQ(json_i64(json_at(a.json, "data.1.round"), -1), round);
    }
}
