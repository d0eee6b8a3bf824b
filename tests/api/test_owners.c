/* SPDX-License-Identifier: Apache-2.0 */
/* What only an owner or an administrator may do to an experiment and its parts, and as whom
 * a continued run acts. */
#include "base/compiler.h"
#include "base/memory/arena.h"
#include "tests/api/script.h"

static const char uuid_a[] = "11111111-1111-4111-8111-111111111111";

#define ONE_CHECKPOINT "{'checkpointUuids': ['11111111-1111-4111-8111-111111111111']}"
#define OWNERS_ONLY    "error.error~owner"

/* OTHER is ann from now on, who owns nothing. */
static void add_ann(struct bed *bed)
{
    static const struct step steps[] = {
        POST("ann", "/api/v1/users",
             "{'user': {'username': 'ann'}, 'password': 'Word-Of-Ann'}", 200,
             "user.id=3", ADMIN),
        END_STEPS};

    bed_play(bed, steps);
    bed->other = bed_login(bed, "ann", "Word-Of-Ann", 200);
}

/* Experiment 1, of determined, is over and has a checkpoint. */
static void finish_one(struct bed *bed, struct agent *agent)
{
    struct share share;

    agent_join(agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(agent);
    share_checkpoint(&share, uuid_a, 10);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
}

TEST(others_change_nothing_of_an_experiment_that_is_over)
{
    static const struct step steps[] = {
        PATCH("rename", "/api/v1/experiments/1", "{'name': 'mine'}", 403, OWNERS_ONLY,
              OTHER),
        POST("archive", "/api/v1/experiments/1/archive", NULL, 403, NULL, OTHER),
        POST("continue", "/api/v1/experiments/continue",
             "{'id': 1, 'overrideConfig': 'entrypoint: id'}", 403, OWNERS_ONLY, OTHER),
        {"a checkpoint", NET_DELETE, "/api/v1/checkpoints", ONE_CHECKPOINT, 403,
         OWNERS_ONLY, OTHER, false, NULL},
        POST("its notes",
             "/api/v1/checkpoints/11111111-1111-4111-8111-111111111111/metadata",
             "{'checkpoint': {'metadata': {'x': 1}}}", 403, NULL, OTHER),
        DELETE("delete", "/api/v1/experiments/1", 403, OWNERS_ONLY, OTHER),
        POST("several", "/api/v1/det/experiments/actions",
             "{'action': 'delete', 'ids': [1]}", 200, "results.0.error~owner", OTHER),
        GET("as it was", "/api/v1/experiments/1", 200,
            "experiment.state=STATE_COMPLETED; experiment.archived=false; "
            "experiment.numTrials=1; experiment.name=one",
            OTHER),
        GET("so is its checkpoint",
            "/api/v1/checkpoints/11111111-1111-4111-8111-111111111111", 200,
            "checkpoint.state=STATE_COMPLETED", OTHER),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    finish_one(bed, &agent);
    add_ann(bed);
    bed_play(bed, steps);
}

TEST(others_stop_nothing_that_runs)
{
    static const struct step steps[] = {
        POST("kill", "/api/v1/experiments/1/kill", NULL, 403, OWNERS_ONLY, OTHER),
        POST("cancel", "/api/v1/experiments/1/cancel", NULL, 403, NULL, OTHER),
        POST("pause", "/api/v1/experiments/1/pause", NULL, 403, NULL, OTHER),
        POST("its trial", "/api/v1/trials/1/kill", NULL, 403, OWNERS_ONLY, OTHER),
        POST("its run", "/api/v1/allocations/${share.allocation}/kill", NULL, 403,
             OWNERS_ONLY, OTHER),
        POST("several", "/api/v1/det/experiments/actions",
             "{'action': 'kill', 'ids': [1]}", 200, "results.0.error~owner", OTHER),
        GET("it runs", "/api/v1/experiments/1", 200, "experiment.state=STATE_RUNNING",
            OTHER),
        POST("an administrator does", "/api/v1/experiments/1/kill", NULL, 200, NULL,
             ADMIN),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_speak(&share);
    add_ann(bed);
    bed_play(bed, steps);
    share_await_kill(&share);
}

TEST(owners_and_administrators_may)
{
    static const struct step steps[] = {
        PATCH("rename", "/api/v1/experiments/1", "{'name': 'ours'}", 200,
              "experiment.name=ours"),
        PATCH("an administrator too", "/api/v1/experiments/1", "{'name': 'theirs'}",
              200, "experiment.name=theirs", ADMIN),
        {"a checkpoint", NET_DELETE, "/api/v1/checkpoints", ONE_CHECKPOINT, 200, NULL,
         ADMIN, false, NULL},
        DELETE("delete", "/api/v1/experiments/1", 200, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    finish_one(bed, &agent);
    bed_play(bed, steps);
}

/* ---- as whom a run acts ------------------------------------------------------------ */

static struct share continue_as(struct bed *bed, struct agent *agent, enum who who)
{
    struct share share;

    CHECK_EQ(bed_call(bed, who, NET_POST, "/api/v1/experiments/continue", "{\"id\":1}")
                 .status,
             200);
    share = agent_run(agent);
    share_speak(&share);
    return share;
}

TEST(a_continued_run_acts_as_whoever_continued_it)
{
    static const struct step by_admin[] = {
        /* The code is determined's: it must not get the rights of the administrator. */
        GET("whose token", "/api/v1/me", 200, "user.username=admin", OWNER),
        POST("not with all rights", "/api/v1/users",
             "{'user': {'username': 'eve', 'admin': true}}", 403, NULL, OWNER),
        END_STEPS};
    static const struct step by_owner[] = {
        GET("whose token then", "/api/v1/me", 200, "user.username=determined", OWNER),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    finish_one(bed, &agent);
    share = continue_as(bed, &agent, ADMIN);
    bed_play(bed, by_admin);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    share = continue_as(bed, &agent, USER);
    bed_play(bed, by_owner);
    share_exit(&share, "CLEAN", 0);
}

TEST(no_run_of_an_administrator_is_continued_by_others)
{
    static const struct step steps[] = {POST("of admin", "/api/v1/experiments",
                                             "{'config': $[single], 'activate': true}",
                                             200, "experiment.id=1", ADMIN),
                                        END_STEPS};
    static const struct step refused[] = {
        POST("continue", "/api/v1/experiments/continue",
             "{'id': 1, 'overrideConfig': 'entrypoint: det user create eve --admin'}",
             403, OWNERS_ONLY),
        GET("as it was", "/api/v1/experiments/1", 200,
            "experiment.state=STATE_COMPLETED; config.entrypoint=python3 train.py"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);
    share = agent_run(&agent);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    bed_play(bed, refused);
    CHECK(agent_is_idle(&agent));
}
