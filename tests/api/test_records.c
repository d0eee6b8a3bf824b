/* SPDX-License-Identifier: Apache-2.0 */
/* The record of each run's machine, final exits, and given seeds. */
#include "base/compiler.h"
#include "tests/api/script.h"

#define RECORD "/api/v1/det/allocations/${share.allocation}/environment"
#define SHOWN  "/api/v1/det/trials/${share.trial}/environment"

TEST(what_a_run_runs_on_is_kept_and_shown)
{
    static const struct step steps[] = {
        GET("nothing yet", SHOWN, 200,
            "runs#0; trialId=1; config.searcher.name=single"),
        POST("record", "/api/v1/det/allocations/${share.allocation}/environment",
             "{'rank': 0, 'record': {'det': '1', 'packages': "
             "{'numpy': '1.26.4'}}}",
             200, NULL, TASK),
        GET("shown", SHOWN, 200,
            "runs#1; runs.0.rank=0; runs.0.runId=1; "
            "runs.0.record.packages.numpy=1.26.4"),
        POST("again", RECORD, "{'rank': 0, 'record': {'det': '2'}}", 200, NULL, TASK),
        GET("the last counts", SHOWN, 200, "runs#1; runs.0.record.det=2"),
        POST("no object", RECORD, "{'rank': 0, 'record': [1]}", 400, NULL, TASK),
        POST("no record", RECORD, "{'rank': 0}", 400, NULL, TASK),
        POST("no such rank", RECORD, "{'rank': 3, 'record': {}}", 400, NULL, TASK),
        GET("no such trial", "/api/v1/det/trials/99/environment", 404, NULL),
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

TEST(an_exit_that_is_final_costs_no_restarts)
{
    static const struct step steps[] = {
        POST("exit", "/api/v1/det/allocations/${share.allocation}/exit",
             "{'rank': 0, 'exit': 'FAILED', 'code': 1, 'reason': 'no such package', "
             "'isFinal': true}",
             200, NULL, TASK),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, steps);
    await_trial(bed, share.trial, "ERROR");
    CHECK_EQ(bed_i64(bed, "awaited.trial.restarts"), 0);
}
