/* SPDX-License-Identifier: Apache-2.0 */
/* Agents, slots, the queue and the pools. */
#include "base/compiler.h"
#include "base/memory/buf.h"
#include "tests/api/script.h"

/* ---- joining --------------------------------------------------------------------- */

TEST(agents_join_and_are_shown)
{
    static const struct step steps[] = {
        GET("list", "/api/v1/agents", 200,
            "agents#2; agents.0.id=a1; agents.0.slots#2; agents.0.enabled=true; "
            "agents.0.resourcePools.0=default; "
            "agents.0.slotStats.typeStats.TYPE_CPU.total=2; "
            "agents.0.addresses.0=10.0.0.1; agents.0.containers#0; pagination.total=2"),
        GET("page", "/api/v1/agents?limit=1&offset=1", 200, "agents#1; agents.0.id=a2"),
        GET("beyond", "/api/v1/agents?offset=7", 400, NULL),
        GET("one", "/api/v1/agents/a2", 200, "agent.id=a2; agent.version=t"),
        GET("unknown", "/api/v1/agents/zz", 404, NULL),
        GET("slots", "/api/v1/agents/a1/slots", 200,
            "slots#2; slots.1.id=1; slots.1.device.type=TYPE_CPU; slots.1.container!"),
        GET("slots of none", "/api/v1/agents/zz/slots", 404, NULL),
        GET("slot", "/api/v1/agents/a1/slots/1", 200, "slot.id=1; slot.enabled=true"),
        GET("no slot", "/api/v1/agents/a1/slots/9", 404, NULL),
        GET("odd slot", "/api/v1/agents/a1/slots/x", 400, NULL),
        GET("slot of none", "/api/v1/agents/zz/slots/1", 404, NULL),
        GET("pools", "/api/v1/resource-pools", 200,
            "resourcePools#1; resourcePools.0.name=default; "
            "resourcePools.0.numAgents=2; "
            "resourcePools.0.slotsAvailable=3; resourcePools.0.slotsUsed=0; "
            "resourcePools.0.defaultComputePool=true; "
            "resourcePools.0.schedulerType=SCHEDULER_TYPE_PRIORITY"),
        GET("pools beyond", "/api/v1/resource-pools?offset=7", 400, NULL),
        POST("no devices", "/api/v1/det/agents/a3/hello", "{}", 400, NULL, AGENT),
        POST("odd devices", "/api/v1/det/agents/a3/hello", "{'devices': 3}", 400, NULL,
             AGENT),
        POST("too new", "/api/v1/det/agents/a3/hello",
             "{'devices': [], 'version': '9.9', 'protocol': 99}", 400, NULL, AGENT),
        POST("too old", "/api/v1/det/agents/a3/hello",
             "{'devices': [], 'protocol': -1}", 400, NULL, AGENT),
        POST("odd name", "/api/v1/det/agents/a%20b/hello", "{'devices': []}", 400, NULL,
             AGENT),
        POST("no pool", "/api/v1/det/agents/a3/hello",
             "{'devices': [], 'resourcePool': 'nowhere'}", 400, NULL, AGENT),
        GET("an old epoch", "/api/v1/det/agents/a1/commands?after=5&epoch=old", 200,
            "epoch?; commands#0", AGENT),
        END_STEPS};
    BED(bed, NULL);
    struct agent first = {0}, second = {0};

    agent_join(&first, bed, "a1", 2);
    agent_join(&second, bed, "a2", 1);
    bed_play(bed, steps);
}

TEST(commands_come_again_until_they_are_acknowledged)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct command first, again;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    first = agent_next(&agent);
    agent.after = 0; /* the reply was lost, say */
    again = agent_next(&agent);
    CHECK(first.is_start && again.is_start);
    CHECK_STR(first.allocation, again.allocation);
    CHECK(agent_is_idle(&agent));
}

TEST(an_agent_that_comes_back_without_its_task_has_lost_it)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    agent_hello(&agent, arena_printf(&bed->mem, "[\"%s/0\"]", share.allocation));
    CHECK(agent_is_idle(&agent)); /* it has it still */
    agent_hello(&agent, "[]");
    share = agent_run(&agent);
    CHECK_EQ(share.run, 2);
    await_trial(bed, share.trial, "RUNNING");
    CHECK_EQ(bed_i64(bed, "awaited.trial.restarts"), 0); /* it costs no restart */
}

TEST(a_task_that_is_nobody_s_is_to_be_killed)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct command command;

    agent_join(&agent, bed, "a1", 1);
    agent_hello(&agent, "[\"7.lost.1/3\"]");
    command = agent_next(&agent);
    CHECK(!command.is_start);
    CHECK_STR(command.allocation, "7.lost.1");
    CHECK_EQ(command.rank, 3);
}

TEST(an_agent_reports_the_end_of_a_task_whose_supervisor_is_gone)
{
    static const struct step steps[] = {
        POST("exit", "/api/v1/det/agents/a1/allocations/${share.allocation}/exit",
             "{'rank': 0, 'exit': 'TRANSIENT', 'code': 0, 'reason': 'the machine "
             "restarted'}",
             200, NULL, AGENT),
        POST("of none", "/api/v1/det/agents/a1/allocations/9.x.1/exit",
             "{'rank': 0, 'exit': 'TRANSIENT'}", 200, NULL, AGENT),
        POST("odd", "/api/v1/det/agents/a1/allocations/${share.allocation}/exit",
             "{'rank': 0, 'exit': 'ODD'}", 400, NULL, AGENT),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, steps);
    share = agent_run(&agent);
    CHECK_EQ(share.run, 2);
}

TEST(the_exit_of_a_rank_that_does_not_exist_changes_nothing)
{
    static const struct step steps[] = {
        POST("exit", "/api/v1/det/allocations/${share.allocation}/exit",
             "{'rank': 7, 'exit': 'FAILED', 'code': 1}", 400, NULL, TASK),
        POST("negative", "/api/v1/det/allocations/${share.allocation}/exit",
             "{'rank': -1, 'exit': 'FAILED', 'code': 1}", 400, NULL, TASK),
        POST("progress", "/api/v1/trials/${share.trial}/progress", "{'progress': 0.1}",
             200, NULL, TASK),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, steps);
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
}

/* ---- who is heard ---------------------------------------------------------------- */

TEST(a_supervisor_speaks_for_an_agent_that_is_away)
{
    static const struct step away[] = {
        POST("bye of another", "/api/v1/det/agents/a1/bye", "{'instance': 'x'}", 200,
             NULL, AGENT),
        POST("bye", "/api/v1/det/agents/a1/bye", "{}", 200, NULL, AGENT),
        {"gone", NET_GET, "/api/v1/agents/a1", NULL, 200, "agent.connected=false", USER,
         true, NULL},
        END_STEPS};
    static const struct step alive[] = {
        POST("alive", "/api/v1/det/allocations/${share.allocation}/alive",
             "{'rank': 0}", 200, "mustEnd=false; againMs=8333", TASK),
        POST("no such rank", "/api/v1/det/allocations/${share.allocation}/alive",
             "{'rank': 3}", 400, NULL, TASK),
        {"silent", NET_GET, "/api/v1/agents/a1", NULL, 200, "agent.connected=false",
         USER, true, NULL},
        END_STEPS};
    static const struct step report[] = {POST("progress",
                                              "/api/v1/trials/${share.trial}/progress",
                                              "{'progress': 0.5}", 200, NULL, TASK),
                                         END_STEPS};
    static const struct step over[] = {
        {"lost", NET_GET, "/api/v1/agents/a1", NULL, 404, NULL, USER, true, NULL},
        POST("alive", "/api/v1/det/allocations/${share.allocation}/alive",
             "{'rank': 0}", 400, "error.code=9", TASK),
        POST("state", "/api/v1/det/allocations/${share.allocation}/state",
             "{'rank': 0, 'state': 'RUNNING'}", 400, "error.code=9", TASK),
        /* rows are seen a moment before tokens are forgotten */
        {"metrics", NET_POST, "/api/v1/trials/${share.trial}/progress",
         "{'progress': 0.6}", 401, NULL, TASK, true, NULL},
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, away);
    for (int i = 0; i < 10; i++) {
        bed_pass(bed, 12);
        bed_play(bed, alive);
    }
    bed_pass(bed, 20);
    bed_play(bed, report); /* which does not count as a sign of life */
    bed_pass(bed, 10);
    bed_play(bed, over);
    agent_hello(&agent, arena_printf(&bed->mem, "[\"%s/0\"]", share.allocation));
    share_await_kill(
        &share); /* the agent is back as a new one: its tasks are orphans */
    share = agent_run(&agent);
    CHECK_EQ(share.run, 2);
    await_trial(bed, share.trial, "RUNNING");
    CHECK_EQ(bed_i64(bed, "awaited.trial.restarts"), 0);
}

TEST(a_supervisor_is_told_of_a_kill_that_its_agent_cannot_pass_on)
{
    static const struct step steps[] = {
        POST("kill", "/api/v1/experiments/${share.experiment}/kill", NULL, 200, NULL),
        {"alive", NET_POST, "/api/v1/det/allocations/${share.allocation}/alive",
         "{'rank': 0}", 200, "mustEnd=true", TASK, true, NULL},
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, steps);
    share_exit(&share, "KILLED", 137);
}

TEST(two_agents_of_one_name_are_kept_apart)
{
    static const struct step steps[] = {
        POST("first", "/api/v1/det/agents/a1/hello",
             "{'devices': [], 'instance': 'one', 'bootId': 'b'}", 200, "epoch?", AGENT),
        POST("second", "/api/v1/det/agents/a1/hello",
             "{'devices': [], 'instance': 'two', 'bootId': 'b'}", 409, NULL, AGENT),
        GET("its commands",
            "/api/v1/det/agents/a1/commands?epoch=${first.epoch}&instance=two", 409,
            NULL, AGENT),
        GET("commands",
            "/api/v1/det/agents/a1/commands?epoch=${first.epoch}&instance=one", 200,
            "commands#0", AGENT),
        GET("unknown", "/api/v1/det/agents/zz/commands?epoch=${first.epoch}", 404, NULL,
            AGENT),
        POST("bye", "/api/v1/det/agents/a1/bye", "{'instance': 'one'}", 200, NULL,
             AGENT),
        {"second again", NET_POST, "/api/v1/det/agents/a1/hello",
         "{'devices': [], 'instance': 'two', 'bootId': 'b'}", 200, "epoch?", AGENT,
         true, NULL},
        GET("old commands",
            "/api/v1/det/agents/a1/commands?epoch=${first.epoch}&instance=one", 409,
            NULL, AGENT),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(a_master_that_starts_gives_silent_agents_their_time_again)
{
    static const struct step away[] = {
        POST("bye", "/api/v1/det/agents/a1/bye", "{}", 200, NULL, AGENT),
        {"gone", NET_GET, "/api/v1/agents/a1", NULL, 200, "agent.connected=false", USER,
         true, NULL},
        END_STEPS};
    static const struct step still[] = {
        POST("alive", "/api/v1/det/allocations/${share.allocation}/alive",
             "{'rank': 0}", 200, NULL, TASK),
        GET("expected", "/api/v1/agents/a1", 200, "agent.connected=false"), END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    (void)agent_run(&agent);
    bed_play(bed, away);
    bed_stop(bed);
    bed->wall_offset_us += 3600LL * 1000000;
    CHECK_OK(bed_start(bed, &test_err));
    bed_play(bed, still);
}

/* ---- switching ------------------------------------------------------------------- */

TEST(a_disabled_agent_loses_its_tasks_and_takes_no_more)
{
    static const struct step disable[] = {
        POST("disable", "/api/v1/agents/a1/disable", NULL, 200, "agent.enabled=false",
             ADMIN),
        POST("unknown", "/api/v1/agents/zz/disable", NULL, 404, NULL, ADMIN),
        END_STEPS};
    static const struct step enable[] = {
        POST("enable", "/api/v1/agents/a1/enable", NULL, 200, "agent.enabled=true",
             ADMIN),
        POST("unknown", "/api/v1/agents/zz/enable", NULL, 404, NULL, ADMIN), END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, disable);
    share_await_kill(&share);
    share_exit(&share, "KILLED", 137);
    await_trial(bed, share.trial, "QUEUED");
    CHECK(agent_is_idle(&agent));
    bed_play(bed, enable);
    share = agent_run(&agent);
    CHECK_EQ(share.run, 2);
    await_trial(bed, share.trial, "RUNNING");
    CHECK_EQ(bed_i64(bed, "awaited.trial.restarts"), 0);
}

TEST(a_draining_agent_lets_its_tasks_end)
{
    static const struct step drain[] = {POST("drain", "/api/v1/agents/a1/disable",
                                             "{'drain': true}", 200,
                                             "agent.draining=true", ADMIN),
                                        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 2);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, drain);
    CHECK(agent_is_idle(&agent));
    (void)create(bed, config_single);
    CHECK(agent_is_idle(&agent));
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
    CHECK(agent_is_idle(&agent));
}

TEST(a_disabled_slot_is_left_alone)
{
    static const struct step disable[] = {
        POST("disable", "/api/v1/agents/a1/slots/0/disable", NULL, 200,
             "slot.enabled=false; slot.id=0", ADMIN),
        POST("no slot", "/api/v1/agents/a1/slots/9/disable", NULL, 404, NULL, ADMIN),
        POST("no agent", "/api/v1/agents/zz/slots/0/disable", NULL, 404, NULL, ADMIN),
        END_STEPS};
    static const struct step enable[] = {
        POST("enable", "/api/v1/agents/a1/slots/0/enable", "{}", 200,
             "slot.enabled=true", ADMIN),
        POST("no slot", "/api/v1/agents/a1/slots/9/enable", NULL, 404, NULL, ADMIN),
        GET("held", "/api/v1/agents/a1/slots/1", 200,
            "slot.container.state=STATE_RUNNING"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 2);
    bed_play(bed, disable);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    CHECK_STR(json_text(&bed->mem, json_get(share.spec, "slots")), "[1]");
    (void)create(bed, config_single);
    CHECK(agent_is_idle(&agent));
    bed_play(bed, enable);
    share = agent_run(&agent);
    CHECK_STR(json_text(&bed->mem, json_get(share.spec, "slots")), "[0]");
}

TEST(a_slot_drains_as_an_agent_does)
{
    static const struct step drain[] = {
        POST("drain", "/api/v1/agents/a1/slots/0/disable", "{'drain': true}", 200,
             "slot.enabled=false; slot.draining=true", ADMIN),
        POST("idle", "/api/v1/agents/a1/slots/1/disable", "{'drain': true}", 200,
             "slot.enabled=false; slot.draining=false", ADMIN),
        GET("agent", "/api/v1/agents/a1", 200,
            "agent.draining=false; agent.slotStats.typeStats.TYPE_CPU.draining=1; "
            "agent.slotStats.typeStats.TYPE_CPU.disabled=2"),
        GET("pool", "/api/v1/resource-pools", 200,
            "resourcePools.0.slotsAvailable=2; resourcePools.0.slotsUsed=1; "
            "resourcePools.0.slotsDisabled=1"),
        END_STEPS};
    static const struct step drained[] = {
        {"drained", NET_GET, "/api/v1/agents/a1/slots/0", NULL, 200,
         "slot.draining=false; slot.container!", USER, true, NULL},
        GET("pool", "/api/v1/resource-pools", 200,
            "resourcePools.0.slotsUsed=0; resourcePools.0.slotsDisabled=2"),
        POST("off", "/api/v1/agents/a1/disable", NULL, 200, NULL, ADMIN),
        GET("all off", "/api/v1/resource-pools", 200,
            "resourcePools.0.slotsAvailable=2; resourcePools.0.slotsDisabled=2"),
        POST("on", "/api/v1/agents/a1/slots/0/enable", "{}", 200, NULL, ADMIN),
        POST("agent on", "/api/v1/agents/a1/enable", "{}", 200, NULL, ADMIN),
        GET("some off", "/api/v1/resource-pools", 200,
            "resourcePools.0.slotsDisabled=1"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 2);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, drain);
    CHECK(agent_is_idle(&agent)); /* it is not told to kill */
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
    bed_play(bed, drained);
}

TEST(slots_are_in_use_until_all_nodes_of_a_task_are_over)
{
    static const char config[] = "entrypoint: x\n"
                                 "searcher: {name: single, metric: loss}\n"
                                 "resources: {slots_per_trial: 4}\n";
    static const struct step drain[] = {
        POST("one", "/api/v1/agents/a1/disable", "{'drain': true}", 200, NULL, ADMIN),
        POST("other", "/api/v1/agents/a2/slots/1/disable", "{'drain': true}", 200, NULL,
             ADMIN),
        END_STEPS};
    static const struct step half[] = {
        GET("pool", "/api/v1/resource-pools", 200,
            "resourcePools.0.slotsAvailable=4; resourcePools.0.slotsUsed=4; "
            "resourcePools.0.slotsDisabled=0"),
        END_STEPS};
    static const struct step exited[] = {{"exited", NET_GET,
                                          "/api/v1/agents/a1/slots/0", NULL, 200,
                                          "slot.container!", USER, true, NULL},
                                         END_STEPS};
    static const struct step over[] = {
        GET("pool", "/api/v1/resource-pools", 200,
            "resourcePools.0.slotsAvailable=4; resourcePools.0.slotsUsed=0; "
            "resourcePools.0.slotsDisabled=3"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agents[2] = {0};
    struct share shares[2];

    agent_join(&agents[0], bed, "a1", 2);
    agent_join(&agents[1], bed, "a2", 2);
    (void)create(bed, config);
    for (int i = 0; i < 2; i++)
        shares[i] = agent_run(&agents[i]);
    bed_play(bed, drain);
    bed_play(bed, half);
    share_exit(&shares[0], "CLEAN", 0);
    bed_play(bed, exited);
    bed_play(bed, half);
    share_exit(&shares[1], "CLEAN", 0);
    await_trial(bed, shares[1].trial, "COMPLETED");
    bed_play(bed, over);
}

/* ---- the queue ------------------------------------------------------------------- */

TEST(the_queue_is_shown_and_changed)
{
    static const struct step steps[] = {
        POST("first", "/api/v1/experiments", "{'config': $[single], 'activate': true}",
             200, NULL),
        POST("second", "/api/v1/experiments", "{'config': $[single], 'activate': true}",
             200, NULL),
        POST("third", "/api/v1/experiments", "{'config': $[grid], 'activate': true}",
             200, NULL),
        GET("queue", "/api/v1/job-queues-v2?resourcePool=default", 200,
            "jobs#3; jobs.0.full.entityId=1; "
            "jobs.0.full.summary.state=STATE_SCHEDULED; "
            "jobs.1.full.entityId=2; jobs.1.full.summary.state=STATE_QUEUED; "
            "jobs.1.full.summary.jobsAhead=0; jobs.2.full.summary.jobsAhead=1; "
            "jobs.0.full.type=TYPE_EXPERIMENT; jobs.2.full.requestedSlots=3; "
            "pagination.total=3"),
        GET("backwards", "/api/v1/job-queues-v2?orderBy=ORDER_BY_DESC&limit=1", 200,
            "jobs#1; jobs.0.full.entityId=3"),
        GET("another pool", "/api/v1/job-queues-v2?resourcePool=x", 200, "jobs#0"),
        GET("beyond", "/api/v1/job-queues-v2?offset=9", 400, NULL),
        POST("forward", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${third.experiment.jobId}', 'priority': 1}]}",
             200, NULL),
        GET("changed", "/api/v1/job-queues-v2", 200,
            "jobs.0.full.entityId=3; jobs.0.full.priority=1"),
        POST("two at once", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}', 'weight': 3},"
             " {'jobId': '${second.experiment.jobId}', 'priority': 50}]}",
             200, NULL),
        GET("both", "/api/v1/experiments/2", 200, "experiment.priority=50"),
        POST("nothing to do", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}'}]}", 400, NULL),
        POST("two actions", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}', 'priority': 1,"
             " 'weight': 2}]}",
             400, NULL),
        POST("odd priority", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}', 'priority': 0}]}",
             400, NULL),
        POST("odd weight", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}', 'weight': 0}]}", 400,
             NULL),
        POST("ahead of", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}', 'aheadOf': 'x'}]}",
             400, NULL),
        POST("no job", "/api/v1/job-queues",
             "{'updates': [{'jobId': 'x', 'priority': 1}]}", 404, NULL),
        POST("no updates", "/api/v1/job-queues", "{}", 400, NULL),
        POST("a number", "/api/v1/job-queues", "{'updates': [3]}", 400, NULL),
        POST("no such pool", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}', 'resourcePool': "
             "'x'}]}",
             400, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);
}

TEST(a_job_moves_to_another_pool)
{
    static const char yaml[] = "launch_error: false\n"
                               "resource_pools:\n"
                               "  - pool_name: one\n"
                               "  - pool_name: two\n"
                               "resource_manager:\n"
                               "  type: agent\n"
                               "  default_compute_resource_pool: one\n"
                               "  default_aux_resource_pool: one\n";
    static const struct step steps[] = {
        GET("pools", "/api/v1/resource-pools", 200,
            "resourcePools#2; resourcePools.0.defaultComputePool=true; "
            "resourcePools.1.defaultComputePool=false"),
        POST("create", "/api/v1/experiments", "{'config': $[single], 'activate': true}",
             200, "experiment.resourcePool=one"),
        POST("move", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${create.experiment.jobId}', 'resourcePool': "
             "'two'}]}",
             200, NULL),
        GET("moved", "/api/v1/experiments/1", 200, "experiment.resourcePool=two"),
        END_STEPS};
    BED(bed, yaml);
    static const struct step other[] = {GET("without a pool of its own",
                                            "/api/v1/agents/a2", 200,
                                            "agent.resourcePools.0=one"),
                                        END_STEPS};
    struct agent agent = {.pool = "two"}, without = {0};

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);
    agent_join(&without, bed, "a2", 1);
    bed_play(bed, other);
    (void)agent_run(&agent);
}

TEST(a_more_important_job_takes_the_slots_where_preemption_is_on)
{
    static const char yaml[] = "resource_manager:\n"
                               "  type: agent\n"
                               "  scheduler: {type: priority, preemption: true}\n";
    BED(bed, yaml);
    struct agent agent = {0};
    struct share low, high;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    low = agent_run(&agent);
    (void)create(bed, "entrypoint: x\nsearcher: {name: single, metric: loss}\n"
                      "resources: {priority: 1}\n");
    CHECK(share_is_preempted(&low, 60));
    share_acknowledge(&low);
    share_exit(&low, "CLEAN", 0);
    high = agent_run(&agent);
    CHECK(high.trial != low.trial);
    share_exit(&high, "CLEAN", 0);
    low = agent_run(&agent);
    CHECK_EQ(low.run, 2);
}

/* Thirty configurations of 100 KB: one reply with all of them would be larger than an agent
 * takes, if there were enough. */
TEST(commands_that_do_not_fit_into_one_reply_come_with_the_next)
{
    enum { RUNS = 30, REPLY_MOST = 3 << 19 };
    BED(bed, NULL);
    CLEANUP(buf_done) struct buf config = BUF_INIT;
    struct agent agent = {0};
    const char *path;
    int64_t after = 0;
    int started = 0;

    agent_join(&agent, bed, "a1", RUNS);
    buf_puts(&config,
             "entrypoint: x\nsearcher: {name: single, metric: loss}\ndata: {a: ");
    for (int i = 0; i < 6000; i++)
        buf_puts(&config, "0123456789abcdef");
    buf_puts(&config, "}\n");
    for (int i = 0; i < RUNS; i++)
        (void)create(bed, config.data);
    while (started < RUNS) {
        struct reply reply;

        path = arena_printf(&bed->mem,
                            "/api/v1/det/agents/a1/commands?after=%d&"
                            "timeoutSeconds=20&epoch=%s",
                            (int)after, agent.epoch);
        reply = bed_call(bed, AGENT, NET_GET, path, NULL);
        CHECK_EQ(reply.status, 200);
        CHECK(reply.len < REPLY_MOST);
        json_each(command, json_get(reply.json, "commands"))
            started++;
        CHECK(json_i64(json_get(reply.json, "last"), 0) > after);
        after = json_i64(json_get(reply.json, "last"), 0);
    }
}
