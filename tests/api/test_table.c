/* SPDX-License-Identifier: Apache-2.0 */
/* The table of experiments for the WebUI, and bulk actions. */
#include <string.h>

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
            "experiments.0.duration=0; experiments.0.parentId!; "
            "experiments.0.archived=false; "
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
        GET("a pause does not count", "/api/v1/det/experiments?query=duration=0", 200,
            "total=2"),
        GET("nor in the list", "/api/v1/experiments/1", 200, "experiment.duration=0"),
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

/* ---- hyperparameters and metrics as columns --------------------------------------- */

/* One experiment, from its configuration to its end. */
static void run_one(struct bed *bed, struct agent *agent, int64_t id,
                    const char *config, const char *metrics)
{
    struct share share;

    (void)create(bed, config);
    share = agent_run(agent);
    share_speak(&share);
    share_report(&share, "validation", 10, metrics, 200);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, id, "COMPLETED");
}

#define CONFIG(hparams)                                                                \
    "name: Seeds\nentrypoint: run\nsearcher: {name: single, metric: loss}\n"           \
    "hyperparameters: " hparams "\n"

/* Four runs: two of lr 0.1 with two seeds, one of lr 0.01, one without lr. */
static void run_some(struct bed *bed, struct agent *agent)
{
    agent_join(agent, bed, "one", 1);
    run_one(bed, agent, 1, CONFIG("{lr: 0.1, seed: 1, opt: adam, net: {depth: 2}}"),
            "{'loss': 0.25, 'acc': 0.5}");
    run_one(bed, agent, 2, CONFIG("{lr: 0.1, seed: 2, opt: sgd, net: {depth: 3}}"),
            "{'loss': 0.75, 'acc': 0.7}");
    run_one(bed, agent, 3, CONFIG("{lr: 0.01, seed: 1, opt: adam, net: {depth: 4}}"),
            "{'loss': 0.5}");
    run_one(bed, agent, 4, CONFIG("{seed: 3, loss: l2}"), "{'loss': 2}");
}

TEST(hyperparameters_and_metrics_are_columns_of_the_table)
{
    static const struct step steps[] = {
        GET("columns", "/api/v1/det/experiments?columns=hp.lr,hp.opt,validation.acc",
            200, "experiments#4; experiments.3.name!"),
        GET("sorted", "/api/v1/det/experiments?sort=-validation.loss&columns=id", 200,
            "experiments.0.id=4; experiments.1.id=2; experiments.2.id=3; "
            "experiments.3.id=1"),
        GET("without a value last", "/api/v1/det/experiments?sort=hp.lr&columns=id",
            200,
            "experiments.0.id=3; experiments.1.id=1; experiments.2.id=2; "
            "experiments.3.id=4"),
        GET("also downwards", "/api/v1/det/experiments?sort=-hp.lr&columns=id", 200,
            "experiments.0.id=2; experiments.3.id=4"),
        GET("texts", "/api/v1/det/experiments?sort=hp.opt&columns=id", 200,
            "experiments.0.id=1; experiments.1.id=3; experiments.2.id=2; "
            "experiments.3.id=4"),
        GET("no such column", "/api/v1/det/experiments?sort=hp.lrr", 400,
            "error.error~did you mean 'hp.lr'"),
        GET("which", "/api/v1/det/experiments/columns", 200,
            "columns.0.name=id; columns.0.kind=number; columns.1.name=name; "
            "columns.17.name=hp.loss; columns.17.kind=text; columns.17.count=1; "
            "columns.18.name=hp.lr; columns.18.kind=number; columns.18.count=3; "
            "columns.18.min=0.01; columns.18.max=0.1; columns.19.name=hp.net.depth; "
            "columns.20.name=hp.opt; columns.21.name=hp.seed; "
            "columns.22.name=validation.acc; columns.23.name=validation.loss; "
            "columns#24; isCut=false"),
        GET("of no project", "/api/v1/det/experiments/columns?projectIds=77", 200,
            "columns#17"),
        END_STEPS};
    BED(bed, "launch_error: false\n");
    struct agent agent = {0};

    struct reply reply;

    run_some(bed, &agent);
    bed_play(bed, steps);
    reply =
        bed_call(bed, USER, NET_GET,
                 "/api/v1/det/experiments?columns=hp.lr,hp.opt,validation.acc", NULL);
    CHECK(strstr(reply.text, "{\"id\":1,\"cells\":{\"hp.lr\":0.1,\"hp.opt\":\"adam\","
                             "\"validation.acc\":0.5}}"));
    CHECK(strstr(reply.text, "{\"id\":4,\"cells\":{\"hp.lr\":null,"));
}

#define QUERY(text) "/api/v1/det/experiments?sort=id&columns=id&query=" text

TEST(a_query_filters_by_any_column)
{
    static const struct step steps[] = {
        GET("two", QUERY("acc%20%3C%200.6%20and%20lr%20%3E=%201e-3"), 200,
            "total=1; experiments.0.id=1; all=4"),
        GET("either", QUERY("opt:sgd%20or%20seed=3"), 200,
            "total=2; experiments.0.id=2; experiments.1.id=4"),
        GET("nested", QUERY("hp.net.depth%20in"), 400,
            "error.error~column 'hp.net.depth' at character 1 has no comparison"),
        GET("deep", QUERY("hp.net.depth%20%3E%202"), 200, "total=2"),
        GET("missing", QUERY("lr=none"), 200, "total=1; experiments.0.id=4"),
        GET("fixed", QUERY("state:COMPLETED%20and%20owner:determined%20and%20id%3C3"),
            200, "total=2"),
        GET("anywhere", QUERY("%22SEEDS%22%20and%20not%20id=1"), 200, "total=3"),
        GET("active", QUERY("state!=ACTIVE"), 200, "total=4"),
        GET("with a filter", QUERY("lr%3E0&states=ERROR"), 200,
            "total=0; states.COMPLETED=3"),
        GET("both", QUERY("loss%20%3C%201"), 400,
            "error.error~column 'loss' at character 1: it is a hyperparameter and a "
            "metric"),
        GET("unknown", QUERY("id=1%20and%20lrr%20%3C%201"), 400,
            "error.error~column 'lrr' at character 10"),
        GET("of no project", QUERY("lr%20%3C%201") "&projectIds=77", 400,
            "error.error~there is no such column"),
        END_STEPS};
    BED(bed, "launch_error: false\n");
    struct agent agent = {0};

    run_some(bed, &agent);
    bed_play(bed, steps);
}

#define GROUPS "/api/v1/det/experiments?by="

TEST(experiments_with_equal_values_form_groups)
{
    static const struct step steps[] = {
        GET("by lr", GROUPS "hp.lr&metrics=validation.loss", 200,
            "groups#3; total=3; matches=4; groups.0.count=2; groups.0.values.0=0.1; "
            "groups.0.stats.0.count=2; groups.0.stats.0.mean=0.5; "
            "groups.0.stats.0.min=0.25; groups.0.stats.0.max=0.75; "
            "groups.0.stats.0.deviation~0.3535"),
        GET("by mean",
            GROUPS "hp.lr&metrics=validation.loss&sort=-validation.loss&limit=1", 200,
            "groups#1; total=3; groups.0.values.0=null; groups.0.stats.0.mean=2"),
        GET("by value", GROUPS "hp.opt&sort=hp.opt", 200,
            "groups.0.values.0=adam; groups.1.values.0=sgd; groups.2.values.0=null"),
        GET("by two", GROUPS "hp.lr&by=hp.opt", 200, "total=4"),
        GET("by name", GROUPS "name", 200,
            "total=1; groups.0.values.0=Seeds; groups.0.count=4; groups.0.example=1"),
        GET("filtered", GROUPS "state&query=seed%3C3", 200,
            "total=1; matches=3; groups.0.values.0=COMPLETED"),
        GET("few values", GROUPS "hp.lr&metrics=validation.acc&sort=-hp.lr", 200,
            "groups.0.stats.0.count=2; groups.1.stats.0.count=0; "
            "groups.1.stats.0.mean!"),
        PATCH("label", "/api/v1/experiments/1", "{'labels': ['a', 'b']}", 200, NULL),
        GET("by label", GROUPS "label&sort=label", 200,
            "total=3; matches=4; groups.0.values.0=a; groups.1.values.0=b; "
            "groups.2.values.0=null; groups.2.count=3"),
        GET("not by more", GROUPS "label&by=hp.lr", 400, "error.error~label alone"),
        GET("no mean", GROUPS "hp.lr&metrics=name", 400,
            "error.error~column 'name' has no mean"),
        GET("no such", GROUPS "hp.odd", 400, "error.error~column 'hp.odd'"),
        GET("no such order", GROUPS "hp.lr&sort=odd", 400, "error.error~'odd'"),
        GET("too many", GROUPS "id&by=id&by=id&by=id&by=id", 400,
            "error.error~expected 1 to 4"),
        GET("not both", GROUPS "id&columns=name", 400,
            "error.error~are for experiments"),
        GET("no groups", "/api/v1/det/experiments?metrics=validation.loss", 400,
            "error.error~needs by"),
        END_STEPS};
    BED(bed, "launch_error: false\n");
    struct agent agent = {0};

    run_some(bed, &agent);
    bed_play(bed, steps);
}

#define TRIALS(n) "/api/v1/det/experiments/" n "/trials-table?withoutImportance=true"

TEST(the_table_of_trials_takes_the_same_query)
{
    static const struct step steps[] = {
        GET("plain", TRIALS("1"), 200, "trials#1; metrics!; trials.0#10"),
        GET("metrics", TRIALS("1") "&withMetrics=true", 200,
            "metrics.0=loss; metrics.1=acc; trials.0#11; trials.0.10.0=0.25; "
            "trials.0.10.1=0.5"),
        GET("match", TRIALS("1") "&query=lr%3C0.5%20and%20acc=0.5%20and%20steps=10",
            200, "trials#1; trials.0#10"),
        GET("no match", TRIALS("1") "&query=best%3E0.25%20or%20state:ERROR", 200,
            "trials#0"),
        GET("unknown", TRIALS("1") "&query=acu%3C1", 400,
            "error.error~column 'acu' at character 1: there is no such column"),
        GET("no such state", TRIALS("1") "&query=state=BOGUS", 400,
            "error.error~there is no 'BOGUS' (character 7)"),
        GET("live states", TRIALS("1") "&query=state=running,QUEUED", 200, "trials#0"),
        END_STEPS};
    BED(bed, "launch_error: false\n");
    struct agent agent = {0};

    run_some(bed, &agent);
    bed_play(bed, steps);
}

TEST(the_same_value_is_the_same_cell_in_either_table)
{
#define BOTH(name, query)                                                              \
    GET(name, "/api/v1/det/experiments?query=" query, 200, "experiments#1"),           \
        GET(name " of trials", TRIALS("1") "&query=" query, 200, "trials#1")
    static const struct step steps[] = {
        BOTH("escapes", "opt='a%22b'"), BOTH("a list", "size='[1,2]'"),
        BOTH("a number", "lr%3C0.5"),   BOTH("a switch", "fast=true"),
        BOTH("infinity", "loss=inf"),   END_STEPS};
    BED(bed, "launch_error: false\n");
    struct agent agent = {0};

    agent_join(&agent, bed, "one", 1);
    run_one(bed, &agent, 1, CONFIG("{opt: 'a\"b', size: [1, 2], lr: 1e-1, fast: true}"),
            "{'loss': 'Infinity'}");
    bed_play(bed, steps);
}

TEST(a_hyperparameter_that_is_null_has_no_value_in_either_table)
{
    static const struct step steps[] = {
        GET("experiments", "/api/v1/det/experiments?query=hp.drop=none", 200,
            "experiments#1"),
        GET("trials", TRIALS("1") "&query=hp.drop=none", 200, "trials#1"),
        GET("no text", TRIALS("1") "&query=hp.drop=null", 200, "trials#0"), END_STEPS};
    BED(bed, "launch_error: false\n");
    struct agent agent = {0};

    agent_join(&agent, bed, "one", 1);
    run_one(bed, &agent, 1, CONFIG("{drop: null, lr: 1}"), "{'loss': 1}");
    run_one(bed, &agent, 2, CONFIG("{drop: 0.5, lr: 1}"), "{'loss': 1}");
    bed_play(bed, steps);
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
             "results.0.error~is CANCELED already; results.1.error="),
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
