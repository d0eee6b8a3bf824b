/* SPDX-License-Identifier: Apache-2.0 */
/* Projects as tables: actions on many experiments, and the columns that there can be. */
#include <string.h>

#include "tests/api/script.h"

#define QUEUES "launch_error: false\n" /* without agents, things wait */

/* Project 2 with the experiments 1 and 2 of determined and 3 of admin, all paused; 4 is
 * elsewhere. */
static void fill_project(struct bed *bed)
{
    static const struct step steps[] = {
        POST("ws", "/api/v1/workspaces", "{'name': 'w'}", 200, NULL),
        POST("p", "/api/v1/workspaces/2/projects", "{'name': 'p'}", 200, NULL),
        POST("one", "/api/v1/experiments", "{'config': $[single], 'projectId': 2}", 200,
             NULL),
        POST("two", "/api/v1/experiments", "{'config': $[single], 'projectId': 2}", 200,
             NULL),
        POST("three", "/api/v1/experiments", "{'config': $[single], 'projectId': 2}",
             200, NULL, ADMIN),
        POST("four", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        END_STEPS};

    bed_play(bed, steps);
}

TEST(the_experiments_of_a_project_are_acted_on_together)
{
    static const struct step steps[] = {
        POST("activate", "/api/v1/projects/2/experiments/activate",
             "{'experimentIds': [1, 3, 4, 9]}", 200,
             "results#4; results.0.id=1; results.0.error=; results.1.error~owner; "
             "results.2.error=experiment '4' not found; "
             "results.3.error=experiment '9' not found"),
        GET("one is active", "/api/v1/experiments/1", 200,
            "experiment.state=STATE_QUEUED"),
        GET("three is not", "/api/v1/experiments/3", 200,
            "experiment.state=STATE_PAUSED"),
        POST("pause by filter", "/api/v1/projects/2/experiments/pause",
             "{'filters': {}}", 200, "results#1; results.0.id=1; results.0.error="),
        POST("paused by filter", "/api/v1/projects/2/experiments/activate",
             "{'filters': {'excludedExperimentIds': [1, 3]}}", 200,
             "results#1; results.0.id=2; results.0.error="),
        POST("cancel", "/api/v1/projects/2/experiments/cancel",
             "{'experimentIds': [2]}", 200, "results.0.error="),
        POST("kill", "/api/v1/projects/2/experiments/kill",
             "{'filters': {'userIds': [2]}}", 200, "results.0.id=1; results.0.error="),
        GET("killed", "/api/v1/experiments/1", 200, "experiment.state=STATE_CANCELED",
            USER, true),
        GET("canceled", "/api/v1/experiments/2", 200, "experiment.state=STATE_CANCELED",
            USER, true),
        GET("another project", "/api/v1/experiments/4", 200,
            "experiment.state=STATE_PAUSED"),
        POST("kill again", "/api/v1/projects/2/experiments/kill",
             "{'experimentIds': [1]}", 200, "results.0.error="),
        POST("pause an ended one", "/api/v1/projects/2/experiments/pause",
             "{'experimentIds': [1]}", 200,
             "results.0.error~is CANCELED already: there is nothing to pause"),
        POST("any project", "/api/v1/projects/-1/experiments/kill",
             "{'experimentIds': [4, 3]}", 200,
             "results.0.error=; results.1.error~owner"),
        POST("an administrator", "/api/v1/projects/-1/experiments/kill",
             "{'experimentIds': [3]}", 200, "results.0.error=", ADMIN),
        POST("no such project", "/api/v1/projects/x/experiments/kill",
             "{'experimentIds': [3]}", 400, NULL),
        POST("odd states", "/api/v1/projects/2/experiments/kill",
             "{'filters': {'states': ['ODD']}}", 400, "error.error~ODD"),
        END_STEPS};
    BED(bed, QUEUES);

    fill_project(bed);
    bed_play(bed, steps);
}

TEST(the_ended_experiments_of_a_project_are_archived_and_deleted_together)
{
    static const struct step steps[] = {
        POST("kill", "/api/v1/projects/2/experiments/kill", "{'experimentIds': [1, 2]}",
             200, NULL),
        GET("killed", "/api/v1/det/experiments?states=CANCELED", 200, "total=2", USER,
            true),
        POST("archive", "/api/v1/projects/2/experiments/archive",
             "{'experimentIds': [1, 3]}", 200,
             "results.0.error=; results.1.error~owner"),
        POST("too early", "/api/v1/projects/2/experiments/archive",
             "{'experimentIds': [3]}", 200,
             "results.0.error~not in terminal state: it is ", ADMIN),
        POST("the rest", "/api/v1/projects/2/experiments/archive", "{'filters': {}}",
             200, "results#1; results.0.id=2; results.0.error="),
        POST("archived ones cannot be killed", "/api/v1/projects/2/experiments/kill",
             "{'experimentIds': [1]}", 200, "results.0.error=experiment '1' not found"),
        POST("nor moved", "/api/v1/projects/2/experiments/move",
             "{'experimentIds': [1], 'destinationProjectId': 1}", 200,
             "results.0.error~archived"),
        POST("unarchive", "/api/v1/projects/2/experiments/unarchive", "{'filters': {}}",
             200, "results#2; results.0.error=; results.1.error="),
        PUT("logs", "/api/v1/projects/2/experiments/retain_logs",
            "{'experimentIds': [1, 3], 'numDays': 5}", 200,
            "results.0.error=; results.1.error~owner"),
        PUT("odd days", "/api/v1/projects/2/experiments/retain_logs",
            "{'experimentIds': [1], 'numDays': -2}", 400, "error.error~numDays"),
        PUT("no days", "/api/v1/projects/2/experiments/retain_logs",
            "{'experimentIds': [1]}", 400, NULL),
        GET("kept", "/api/v1/experiments/1", 200, "experiment.id=1"),
        END_STEPS};
    static const struct step after[] = {
        GET("one is gone", "/api/v1/experiments/1", 404, NULL, USER, true),
        GET("two is gone", "/api/v1/experiments/2", 404, NULL, USER, true),
        GET("three is alive", "/api/v1/experiments/3", 200,
            "experiment.state=STATE_PAUSED"),
        END_STEPS};
    BED(bed, QUEUES);
    struct reply reply;

    fill_project(bed);
    bed_play(bed, steps);
    reply = bed_call(bed, USER, NET_DELETE, "/api/v1/projects/2/experiments/delete",
                     "{\"experimentIds\": [1, 2, 3]}");
    CHECK_EQ(reply.status, 200);
    CHECK_STR(json_str(json_at(reply.json, "results.0.error"), NULL), "");
    CHECK_STR(json_str(json_at(reply.json, "results.1.error"), NULL), "");
    CHECK(strstr(json_str(json_at(reply.json, "results.2.error"), ""), "owner"));
    bed_play(bed, after);
}

/* One call of the WebUI can do all of it. */
TEST(the_table_moves_experiments_and_keeps_logs)
{
    static const struct step steps[] = {
        POST("move", "/api/v1/det/experiments/actions",
             "{'action': 'move', 'projectId': 2, 'ids': [4, 3]}", 200,
             "results.0.error=; results.1.error~owner"),
        GET("moved", "/api/v1/experiments/4", 200, "experiment.projectId=2"),
        POST("nowhere", "/api/v1/det/experiments/actions",
             "{'action': 'move', 'ids': [4]}", 404, NULL),
        POST("logs", "/api/v1/det/experiments/actions",
             "{'action': 'retain_logs', 'numDays': 7, 'ids': [4]}", 200,
             "results.0.error="),
        END_STEPS};
    BED(bed, QUEUES);

    fill_project(bed);
    bed_play(bed, steps);
}

/* ---- columns --------------------------------------------------------------------- */

#define SEARCHED                                                                       \
    "name: s\\nentrypoint: sleep 9\\n"                                                 \
    "searcher: {name: random, metric: loss, max_trials: 1, max_length: 1}\\n"          \
    "hyperparameters:\\n  lr: {type: double, minval: 0, maxval: 1}\\n  kind: sgd\\n"   \
    "  net: {depth: 3, wide: [1, 2], none: {}}\\n"

static void report_something(struct bed *bed, struct agent *agent)
{
    static const struct step metadata[] = {
        POST("metadata", "/api/v1/runs/1/metadata",
             "{'metadata': {'site': 'north', 'tags': ['a'], 'deep': {'n': 1}}}", 200,
             NULL),
        END_STEPS};
    struct share share = agent_run(agent);

    share_speak(&share);
    share_report(&share, "training", 1, "{\"loss\": 3.0}", 200);
    share_report(&share, "training", 2, "{\"loss\": 1.0}", 200);
    share_report(&share, "validation", 2, "{\"loss\": 2.0, \"note\": \"x\"}", 200);
    share_report(&share, "mine", 2, "{\"speed\": 7}", 200);
    bed_play(bed, metadata);
}

TEST(a_project_has_columns_ranges_and_values_of_metadata)
{
    static const struct step search[] = {
        POST("search", "/api/v1/experiments",
             "{'config': '" SEARCHED "', 'activate': true}", 200, NULL),
        END_STEPS};
    static const struct step steps[] = {
        GET("columns", "/api/v1/projects/1/columns?tableType=TABLE_TYPE_EXPERIMENT",
            200,
            "columns.0.column=id; columns.0.location=LOCATION_TYPE_EXPERIMENT; "
            "columns.0.type=COLUMN_TYPE_NUMBER; columns.5.column=startTime; "
            "columns.5.type=COLUMN_TYPE_DATE; columns.19.column=archived; "
            "columns.20.column=mine.speed.last; "
            "columns.20.location=LOCATION_TYPE_CUSTOM_METRIC; "
            "columns.23.column=mine.speed.min; columns.24.column=training.loss.last; "
            "columns.24.location=LOCATION_TYPE_TRAINING; "
            "columns.28.column=validation.loss.last; "
            "columns.28.location=LOCATION_TYPE_VALIDATIONS; "
            "columns.32.column=validation.note.last; "
            "columns.32.type=COLUMN_TYPE_TEXT; columns.33.column=hp.kind; "
            "columns.33.type=COLUMN_TYPE_TEXT; columns.34.column=hp.lr; "
            "columns.34.type=COLUMN_TYPE_NUMBER; "
            "columns.34.location=LOCATION_TYPE_HYPERPARAMETERS; "
            "columns.35.column=hp.net.depth; columns.36.column=hp.net.wide; "
            "columns.36.type=COLUMN_TYPE_UNSPECIFIED; columns#37"),
        GET("runs", "/api/v1/projects/1/columns?tableType=TABLE_TYPE_RUN", 200,
            "columns.0.location=LOCATION_TYPE_RUN; columns.23.column=localId; "
            "columns.24.column=archived; "
            "columns.25.column=mine.speed.last; "
            "columns.39.location=LOCATION_TYPE_RUN_HYPERPARAMETERS; "
            "columns.42.column=metadata.deep.n; "
            "columns.42.location=LOCATION_TYPE_RUN_METADATA; "
            "columns.42.type=COLUMN_TYPE_NUMBER; columns.43.column=metadata.site; "
            "columns.43.type=COLUMN_TYPE_TEXT; columns.44.column=metadata.tags; "
            "columns.44.type=COLUMN_TYPE_ARRAY; columns#45"),
        GET("odd", "/api/v1/projects/1/columns?tableType=X", 400,
            "error.error~TABLE_TYPE_RUN"),
        GET("none", "/api/v1/projects/9/columns", 404, NULL),
        GET("ranges", "/api/v1/projects/1/experiments/metric-ranges", 200,
            "ranges#13; ranges.0.metricsName=mine.speed.last; ranges.0.min=7; "
            "ranges.0.max=7; ranges.4.metricsName=searcherMetricsVal; "
            "ranges.4.min=2; ranges.5.metricsName=training.loss.last; "
            "ranges.5.min=1; ranges.6.metricsName=training.loss.max; ranges.6.max=3; "
            "ranges.7.metricsName=training.loss.mean; ranges.7.min=2; "
            "ranges.12.metricsName=validation.loss.min"),
        GET("no ranges", "/api/v1/projects/9/experiments/metric-ranges", 404, NULL),
        GET("values", "/api/v1/projects/1/metadata/site", 200,
            "values#1; values.0=north"),
        GET("not a text", "/api/v1/projects/1/metadata/deep.n", 200, "values#0"),
        GET("unknown", "/api/v1/projects/1/metadata/nothing", 200, "values#0"),
        GET("no values", "/api/v1/projects/9/metadata/site", 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a", 1);
    bed_play(bed, search);
    report_something(bed, &agent);
    bed_play(bed, steps);
}

/* ---- the numbers of trials ------------------------------------------------------- */

TEST(trials_are_numbered_in_their_project)
{
    static const struct step steps[] = {
        POST("ws", "/api/v1/workspaces", "{'name': 'w'}", 200, NULL),
        POST("p", "/api/v1/workspaces/2/projects", "{'name': 'p', 'key': 'dig'}", 200,
             NULL),
        POST("one", "/api/v1/experiments", "{'config': $[single], 'projectId': 2}", 200,
             NULL),
        POST("two", "/api/v1/experiments", "{'config': $[single], 'projectId': 2}", 200,
             NULL),
        POST("three", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        GET("first", "/api/v1/trials/1", 200, "trial.localId=DIG-1"),
        GET("second", "/api/v1/experiments/2/trials", 200, "trials.0.localId=DIG-2"),
        GET("elsewhere", "/api/v1/trials/3", 200, "trial.localId=UNCAT-1"),
        POST("move", "/api/v1/experiments/2/move", "{'destinationProjectId': 1}", 200,
             NULL),
        GET("a new number", "/api/v1/trials/2", 200, "trial.localId=UNCAT-2"),
        POST("nowhere else", "/api/v1/experiments/2/move",
             "{'destinationProjectId': 1}", 200, NULL),
        GET("the same number", "/api/v1/trials/2", 200, "trial.localId=UNCAT-2"),
        POST("back", "/api/v1/experiments/2/move", "{'destinationProjectId': 2}", 200,
             NULL),
        GET("never the old one", "/api/v1/trials/2", 200, "trial.localId=DIG-3"),
        PATCH("another key", "/api/v1/projects/2", "{'key': 'num'}", 200, NULL),
        GET("follows", "/api/v1/trials/2", 200, "trial.localId=NUM-3"),
        PUT("unmanaged", "/api/v1/experiments/by-external-id/x",
            "{'createExperimentRequest': {'config': $[single], 'unmanaged': true}, "
            "'externalExperimentId': 'x'}",
            200, NULL),
        POST("its trial", "/api/v1/trials",
             "{'experimentId': ${unmanaged.experiment.id}, 'unmanaged': true}", 200,
             NULL),
        GET("is numbered, too", "/api/v1/trials/${its trial.trial.id}", 200,
            "trial.localId=UNCAT-3"),
        END_STEPS};
    BED(bed, QUEUES);

    bed_play(bed, steps);
}

TEST(an_empty_project_has_only_the_fixed_columns)
{
    static const struct step steps[] = {
        GET("columns", "/api/v1/projects/1/columns", 200, "columns#20"),
        GET("runs", "/api/v1/projects/1/columns?tableType=TABLE_TYPE_RUN", 200,
            "columns#25"),
        GET("ranges", "/api/v1/projects/1/experiments/metric-ranges", 200, "ranges#0"),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}
