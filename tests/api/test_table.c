/* SPDX-License-Identifier: Apache-2.0 */
/* The table of experiments for the WebUI, and bulk actions. */
#include "base/compiler.h"
#include "base/memory/buf.h"
#include "tests/api/script.h"

/* ---- pages ----------------------------------------------------------------------- */

TEST(a_page_of_the_table_has_small_rows_and_counts)
{
    static const struct step steps[] = {
        GET("empty", "/api/v1/det/experiments", 200,
            "experiments#0; total=0; all=0; offset=0"),
        POST("one", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        POST("two", "/api/v1/experiments", "{'config': $[grid]}", 200, NULL),
        PATCH("name", "/api/v1/experiments/2",
              "{'name': '<b>Two</b>', 'description': 'what it is', 'notes': 'abcd',"
              " 'labels': ['l1', 'l2']}",
              200, NULL),
        GET("all", "/api/v1/det/experiments", 200,
            "experiments#2; total=2; all=2; states.PAUSED=2; values!; "
            "experiments.0.id=2; experiments.0.name=<b>Two</b>; "
            "experiments.0.description=what it is; experiments.0.notesLength=4; "
            "experiments.0.labels#2; experiments.0.state=PAUSED; "
            "experiments.0.username=determined; experiments.0.searcherType=grid; "
            "experiments.0.searcherMetric=loss; experiments.0.bestMetric!; "
            "experiments.0.parentId!; experiments.0.archived=false; "
            "experiments.0.unmanaged=false; experiments.0.priority=42; "
            "experiments.0.config!; experiments.1.id=1"),
        GET("by name", "/api/v1/det/experiments?sort=name&limit=1&offset=1", 200,
            "experiments#1; experiments.0.id=1; total=2; offset=1"),
        GET("few columns", "/api/v1/det/experiments?columns=name,state&sort=id", 200,
            "experiments.0.id=1; experiments.0.name=one; experiments.0.state=PAUSED; "
            "experiments.0.labels!; experiments.0.username!"),
        GET("ids", "/api/v1/det/experiments?columns=id&limit=-1", 200,
            "experiments#2; experiments.0.id=2; experiments.0.name!"),
        GET("search", "/api/v1/det/experiments?search=WHAT%20it", 200,
            "experiments#1; experiments.0.id=2; total=1; all=2"),
        GET("label", "/api/v1/det/experiments?labels=l1&labels=l2", 200,
            "experiments#1; experiments.0.id=2"),
        GET("state", "/api/v1/det/experiments?states=ACTIVE,STATE_COMPLETED", 200,
            "experiments#0; total=0; states.PAUSED=2"),
        GET("searcher", "/api/v1/det/experiments?searcher=single", 200, "total=1"),
        GET("pool", "/api/v1/det/experiments?pool=default", 200, "total=2"),
        GET("user", "/api/v1/det/experiments?users=admin", 200, "total=0"),
        GET("values", "/api/v1/det/experiments?limit=0&values=true", 200,
            "experiments#0; total=2; values.users.0.name=determined; "
            "values.users.0.count=2; values.labels#2; values.searchers#2; "
            "values.pools.0.name=default"),
        GET("no such order", "/api/v1/det/experiments?sort=colour", 400,
            "error.error~'colour'"),
        GET("no such state", "/api/v1/det/experiments?states=ODD", 400, NULL),
        GET("no such column", "/api/v1/det/experiments?columns=id,odd", 400,
            "error.error~'odd'"),
        GET("no such archive", "/api/v1/det/experiments?archived=maybe", 400, NULL),
        {"nobody", NET_GET, "/api/v1/det/experiments", NULL, 401, NULL, NOBODY},
        END_STEPS};
    BED(bed, "launch_error: false\n");

    bed_play(bed, steps);
}

TEST(the_table_follows_what_runs)
{
    static const struct step steps[] = {
        GET("queued", "/api/v1/det/experiments?states=QUEUED", 200,
            "experiments#1; experiments.0.state=QUEUED; states.QUEUED=1"),
        END_STEPS};
    static const struct step running[] = {
        GET("running", "/api/v1/det/experiments?states=RUNNING", 200,
            "experiments#1; experiments.0.state=RUNNING; states.RUNNING=1",
            .until = true),
        END_STEPS};
    static const struct step best[] = {
        GET("best", "/api/v1/det/experiments?sort=bestMetric", 200,
            "experiments.0.bestMetric=0.25; experiments.0.bestTrialId=1",
            .until = true),
        END_STEPS};
    static const struct step ended[] = {
        GET("ended", "/api/v1/det/experiments", 200,
            "experiments.0.state=COMPLETED; experiments.0.endTime?", .until = true),
        END_STEPS};
    BED(bed, "launch_error: false\n");
    struct agent agent = {0};
    struct share share;

    (void)create(bed, config_single);
    bed_play(bed, steps);
    agent_join(&agent, bed, "one", 1);
    share = agent_run(&agent);
    share_speak(&share);
    bed_play(bed, running);
    share_report(&share, "validation", 10, "{'loss': 0.25}", 200);
    bed_play(bed, best);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    bed_play(bed, ended);
}

TEST(a_new_master_shows_the_same_table)
{
    static const struct step steps[] = {
        POST("one", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        GET("before", "/api/v1/det/experiments", 200, "total=1"), DO(bed_restart),
        GET("after", "/api/v1/det/experiments", 200, "total=1; experiments.0.name=one"),
        END_STEPS};
    BED(bed, "launch_error: false\n");

    bed_play(bed, steps);
}

/* ---- one thing with many --------------------------------------------------------- */

TEST(each_of_many_is_steered_by_itself)
{
    static const struct step steps[] = {
        POST("one", "/api/v1/experiments", "{'config': $[single], 'activate': true}",
             200, NULL),
        POST("two", "/api/v1/experiments", "{'config': $[single], 'activate': true}",
             200, NULL),
        POST("three", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        POST("pause", "/api/v1/det/experiments/actions",
             "{'action': 'pause', 'ids': [1, 2, 9]}", 200,
             "results#3; results.0.id=1; results.0.error=; results.1.error=; "
             "results.2.error=experiment '9' not found"),
        GET("paused", "/api/v1/det/experiments", 200, "states.PAUSED=3"),
        POST("activate", "/api/v1/det/experiments/actions",
             "{'action': 'activate', 'ids': [1]}", 200, "results.0.error="),
        GET("active", "/api/v1/det/experiments", 200,
            "states.PAUSED=2; states.QUEUED=1"),
        POST("cancel", "/api/v1/det/experiments/actions",
             "{'action': 'cancel', 'ids': [1]}", 200, "results.0.error="),
        POST("kill", "/api/v1/det/experiments/actions",
             "{'action': 'kill', 'ids': [2, 1]}", 200,
             "results.0.error=; results.1.error="),
        GET("over", "/api/v1/det/experiments", 200,
            "states.PAUSED=1; states.CANCELED=2", .until = true),
        POST("too late", "/api/v1/det/experiments/actions",
             "{'action': 'pause', 'ids': [1, 3]}", 200,
             "results.0.error=experiment in terminal state; results.1.error="),
        POST("none", "/api/v1/det/experiments/actions", "{'action': 'kill', 'ids': []}",
             200, "results#0"),
        POST("odd", "/api/v1/det/experiments/actions", "{'action': 'eat', 'ids': [1]}",
             400, "error.error~'eat'"),
        POST("no label", "/api/v1/det/experiments/actions",
             "{'action': 'label', 'ids': [1]}", 400, "error.error~needs a label"),
        POST("no ids", "/api/v1/det/experiments/actions", "{'action': 'kill'}", 400,
             "error.error~ids"),
        END_STEPS};
    BED(bed, "launch_error: false\n");

    bed_play(bed, steps);
}

TEST(each_of_many_is_changed_by_itself)
{
    static const struct step steps[] = {
        POST("one", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        POST("two", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        POST("kill", "/api/v1/det/experiments/actions",
             "{'action': 'kill', 'ids': [1]}", 200, NULL),
        GET("killed", "/api/v1/det/experiments?states=CANCELED", 200, "total=1",
            .until = true),
        POST("label", "/api/v1/det/experiments/actions",
             "{'action': 'label', 'label': 'x\\\"y', 'ids': [2, 1, 7]}", 200,
             "results.0.error=; results.1.error=; results.2.error~not found"),
        POST("again", "/api/v1/det/experiments/actions",
             "{'action': 'label', 'label': 'x\\\"y', 'ids': [2]}", 200, NULL),
        GET("labelled", "/api/v1/det/experiments?labels=x%22y&sort=id", 200,
            "total=2; experiments.1.labels#1; experiments.1.labels.0=x\"y"),
        POST("unlabel", "/api/v1/det/experiments/actions",
             "{'action': 'unlabel', 'label': 'x\\\"y', 'ids': [2]}", 200,
             "results.0.error="),
        GET("fewer", "/api/v1/det/experiments?labels=x%22y", 200, "total=1"),
        POST("archive", "/api/v1/det/experiments/actions",
             "{'action': 'archive', 'ids': [1, 2]}", 200,
             "results.0.error=; results.1.error~not in terminal state"),
        GET("archived", "/api/v1/det/experiments?archived=yes", 200,
            "total=1; experiments.0.archived=true"),
        GET("not archived", "/api/v1/det/experiments", 200, "total=1; all=2"),
        GET("both", "/api/v1/det/experiments?archived=both", 200, "total=2"),
        POST("unarchive", "/api/v1/det/experiments/actions",
             "{'action': 'unarchive', 'ids': [1, 1]}", 200,
             "results.0.error=; results.1.error~not archived"),
        POST("delete", "/api/v1/det/experiments/actions",
             "{'action': 'delete', 'ids': [1, 2]}", 200,
             "results.0.error=; results.1.error~cannot delete"),
        GET("deleted", "/api/v1/det/experiments", 200,
            "total=1; all=1; "
            "experiments.0.id=2",
            .until = true),
        END_STEPS};
    BED(bed, "launch_error: false\n");

    bed_play(bed, steps);
}

TEST(what_somebody_else_runs_can_be_given_up_among_many)
{
    static const struct step steps[] = {
        PUT("other", "/api/v1/experiments/by-external-id/theirs",
            "{'createExperimentRequest': {'config': $[single], 'unmanaged': true}}",
            200, NULL),
        POST("own", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        GET("shown", "/api/v1/det/experiments?sort=id", 200,
            "experiments.0.unmanaged=true"),
        POST("pause", "/api/v1/det/experiments/actions",
             "{'action': 'pause', 'ids': [1, 2]}", 200,
             "results.0.error~unmanaged; results.1.error="),
        POST("kill", "/api/v1/det/experiments/actions",
             "{'action': 'kill', 'ids': [1, 2]}", 200,
             "results.0.error=; results.1.error="),
        GET("over", "/api/v1/det/experiments", 200, "states.CANCELED=2", .until = true),
        END_STEPS};
    BED(bed, "launch_error: false\n");

    bed_play(bed, steps);
}

TEST(ten_thousand_ids_are_one_call)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct reply reply;
    BED(bed, "launch_error: false\n");

    for (int i = 0; i < 3; i++)
        (void)bed_call(bed, USER, NET_POST, "/api/v1/experiments",
                       bed_fill(bed, "{'config': $[single]}", true));
    buf_puts(&body, "{\"action\": \"label\", \"label\": \"many\", \"ids\": [");
    for (int i = 1; i <= 10000; i++)
        buf_printf(&body, "%s%d", i > 1 ? "," : "", i);
    buf_puts(&body, "]}");
    reply = bed_call(bed, USER, NET_POST, "/api/v1/det/experiments/actions", body.data);
    CHECK_EQ(reply.status, 200);
    CHECK_STR(json_str(json_at(reply.json, "results.2.error"), NULL), "");
    CHECK_STR(json_str(json_at(reply.json, "results.9999.error"), NULL),
              "experiment '10000' not found");
    memcpy(body.data, "{\"action\": \"kill\" ", 18);
    reply = bed_call(bed, USER, NET_POST, "/api/v1/det/experiments/actions", body.data);
    CHECK_EQ(reply.status, 200);
    CHECK_STR(json_str(json_at(reply.json, "results.2.error"), NULL), "");
    CHECK_STR(json_str(json_at(reply.json, "results.9999.error"), NULL),
              "experiment '10000' not found");
}
