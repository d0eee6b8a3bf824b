/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of people before and after a search: checking a configuration, the overview of
 * trials, the files, the origin of an experiment, the notes. */
#include <string.h>

#include "base/compiler.h"
#include "tests/api/script.h"

static const char uuid_a[] = "11111111-1111-4111-8111-111111111111";

/* ---- checking -------------------------------------------------------------------- */

#define CHECKS(name, body, expect) POST(name, "/api/v1/det/check", body, 200, expect)

TEST(a_configuration_is_checked_with_the_sentences_of_the_command_line)
{
    static const struct step steps[] = {
        CHECKS("good", "{'config': $[single]}",
               "problems#0; errors=0; completed~max_restarts: 2; completed~seed; "
               "completed~python3 train.py; trials#1; trials.0.count=1"),
        CHECKS("wrong", "{'config': $[wrong]}",
               "errors=3; problems#3; completed!; "
               "problems.0.line=3; problems.0.column=24; problems.0.severity=error; "
               "problems.0.path=searcher.max_trials; "
               "problems.0.text~searcher.max_trials: found 'many'; "
               "problems.1.line=4; problems.1.text~max_restart; "
               "problems.1.text~max_restarts; "
               "problems.2.line=5; problems.2.text~slots_per_trial"),
        CHECKS("no yaml", "{'config': 'a: [1'}",
               "errors=1; problems#1; problems.0.line?; problems.0.severity=error"),
        CHECKS("a key that comes twice", "{'config': $[twice]}",
               "errors=0; notices=1; problems#1; problems.0.severity=notice; "
               "problems.0.line=4; completed~max_restarts: 2"),
        CHECKS("a search", "{'config': $[random], 'kind': 'experiment'}",
               "errors=0; trials.0.count=2"),
        CHECKS("nothing", "{'config': ''}", "errors?; completed!"),
        CHECKS("a job", "{'config': 'entrypoint: echo hello', 'kind': 'job'}",
               "errors=0; completed~echo hello; trials!"),
        CHECKS("no job", "{'config': 'searcher: {name: single}', 'kind': 'job'}",
               "errors=2; problems.1.text~searcher: is for experiments; completed!"),
        POST("neither", "/api/v1/det/check", "{'config': '', 'kind': 'shell'}", 400,
             "error.error~expected 'experiment' or 'job'"),
        POST("no text", "/api/v1/det/check", "{}", 400, "error.error~config"),
        POST("nobody", "/api/v1/det/check", "{'config': ''}", 401, NULL, .who = NOBODY),
        GET("nothing was made", "/api/v1/experiments", 200, "experiments#0"),
        END_STEPS};
    BED(bed, NULL);

    bed_let(bed, "wrong",
            "entrypoint: x\n"
            "searcher: {name: random, metric: loss,\n"
            "           max_trials: many}\n"
            "max_restart: 1\n"
            "resources: {slots_per_trial: -1}\n");
    bed_let(bed, "twice",
            "entrypoint: x\n"
            "searcher: {name: single, metric: loss}\n"
            "max_restarts: 1\n"
            "max_restarts: 2\n");
    bed_play(bed, steps);
}

TEST(changes_to_a_continued_experiment_are_checked_at_their_lines)
{
    static const struct step steps[] = {
        CHECKS("good", "{'config': 'max_restarts: 4', 'continues': 1}",
               "errors=0; completed~max_restarts: 4; completed~python3 train.py"),
        CHECKS("nothing changes", "{'config': '', 'continues': 1}", "errors=0"),
        CHECKS("wrong", "{'config': 'name: x\\nmax_restarts: many', 'continues': 1}",
               "errors=1; problems.0.line=2; problems.0.text~max_restarts: found"),
        CHECKS("no yaml", "{'config': 'a: [', 'continues': 1}", "errors=1"),
        CHECKS("no map", "{'config': '[1]', 'continues': 1}",
               "errors=1; problems.0.text~expected keys and values"),
        CHECKS("another", "{'config': 'project: p', 'continues': 1}",
               "errors=1; problems.0.text~project cannot change"),
        POST("not over", "/api/v1/det/check", "{'config': '', 'continues': 2}", 400,
             "error.error~it is PAUSED"),
        POST("not there", "/api/v1/det/check", "{'config': '', 'continues': 9}", 404,
             NULL),
        POST("no job", "/api/v1/det/check",
             "{'config': '', 'continues': 1, 'kind': 'job'}", 400, NULL),
        GET("it rests", "/api/v1/experiments/1", 200,
            "experiment.state=STATE_COMPLETED; config.max_restarts=2"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    (void)bed_call(bed, USER, NET_POST, "/api/v1/experiments",
                   bed_fill(bed, "{'config': $[single]}", true));
    bed_play(bed, steps);
}

/* ---- the trials at a glance ------------------------------------------------------ */

TEST(all_trials_come_in_small_rows_with_what_mattered)
{
    static const struct step steps[] = {
        GET("searcher's", "/api/v1/det/experiments/1/trials-table", 200,
            "metric=loss; smallerIsBetter=true; hparams#3; hparams.0=net.kind; "
            "hparams.1=net.width; hparams.2=steps; trials#4; trials.0.0=1; "
            "trials.0.1=COMPLETED; trials.0.2=20; trials.0.3=3; trials.0.4=2; "
            "trials.0.5=0; trials.0.6?; trials.0.7?; trials.0.8#3; "
            "trials.0.8.0=b; trials.0.8.1=2; trials.0.8.2=5; "
            "importance#3; importance.0.share=0.7; importance.0.correlation!; "
            "importance.1.trials=4; importance.1.groups=2; importance.2.share!; "
            "importance.2.groups=1; fewTrials=20"),
        GET("by name", "/api/v1/det/experiments/1/trials-table?metric=validation.loss",
            200, "metric=loss; trials.0.4=2"),
        GET("another", "/api/v1/det/experiments/1/trials-table?metric=validation.acc",
            200, "metric=acc; trials.0.3=0.5; trials.0.4=0.75; trials.3.4=NaN"),
        GET("unknown", "/api/v1/det/experiments/1/trials-table?metric=validation.x",
            200, "metric=x; trials.0.4!; importance.0.trials=0; importance.0.share!"),
        GET("less", "/api/v1/det/experiments/1/trials-table?withoutImportance=true",
            200, "trials#4; importance!"),
        GET("no group", "/api/v1/det/experiments/1/trials-table?metric=loss", 400,
            "error.error~expected validation.NAME"),
        GET("none yet", "/api/v1/det/experiments/2/trials-table", 200,
            "trials#1; trials.0.1=PAUSED; trials.0.3!; trials.0.4!; trials.0.7!; "
            "importance.0.share!"),
        GET("not there", "/api/v1/det/experiments/9/trials-table", 404, NULL),
        END_STEPS};
    static const char config[] =
        "name: search\n"
        "entrypoint: x\n"
        "searcher: {name: grid, metric: loss, max_concurrent_trials: 1}\n"
        "hyperparameters:\n"
        "  net:\n"
        "    kind: {type: categorical, vals: [a, b]}\n"
        "    width: {type: categorical, vals: [1, 2]}\n"
        "  steps: 5\n";
    static const char *const second[] = {
        "{'loss': 3, 'acc': 0.5}", "{'loss': 9, 'acc': 0.5}", "{'loss': 9, 'acc': 1}",
        "{'loss': 9, 'acc': 1}"};
    static const char *const first[] = {
        "{'loss': 2, 'acc': 0.75}", "{'loss': 4, 'acc': 0.5}", "{'loss': 6, 'acc': 1}",
        "{'loss': 8, 'acc': 'NaN'}"};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config);
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        struct share share = agent_run(&agent);

        share_report(&share, "validation", 10, first[i], 200);
        share_report(&share, "validation", 20, second[i], 200);
        share_exit(&share, "CLEAN", 0);
    }
    await_experiment(bed, 1, "COMPLETED");
    (void)bed_call(bed, USER, NET_POST, "/api/v1/experiments",
                   bed_fill(bed, "{'config': $[single]}", true));
    bed_play(bed, steps);
}

/* ---- files ----------------------------------------------------------------------- */

TEST(the_submitted_files_are_shown_one_by_one)
{
    static const struct step steps[] = {
        POST("create", "/api/v1/experiments",
             "{'config': $[single], 'modelDefinition': ["
             "{'path': 'b.py', 'type': 48, 'content': 'cHJpbnQoKQ==', 'mode': 420,"
             " 'mtime': '1000'},"
             "{'path': 'a', 'type': 53, 'mode': 493},"
             "{'path': 'a/z', 'type': 48, 'content': 'eno='},"
             "{'path': 'a-1', 'type': 48, 'content': '',"
             " 'mtime': '9223372036854775807'},"
             "{'path': 'deep/er/x', 'type': 48, 'content': 'eA=='}]}",
             200, NULL),
        GET("tree", "/api/v1/experiments/1/file_tree", 200,
            "files#4; files.0.name=a; files.0.isDir=true; files.0.files#1; "
            "files.0.files.0.path=a/z; files.0.files.0.name=z; "
            "files.0.files.0.contentLength=2; files.1.name=a-1; "
            "files.2.path=b.py; files.2.isDir=false; files.2.files#0; "
            "files.2.modifiedTime~1970-01-01T00:16:40; files.3.name=deep; "
            "files.3.files.0.path=deep/er; files.3.files.0.files.0.path=deep/er/x"),
        POST("file", "/api/v1/experiments/1/file", "{'path': 'b.py'}", 200,
             "file=cHJpbnQoKQ=="),
        POST("deep", "/api/v1/experiments/1/file", "{'path': 'deep/er/x'}", 200,
             "file=eA=="),
        POST("folder", "/api/v1/experiments/1/file", "{'path': 'a'}", 404, NULL),
        POST("outside", "/api/v1/experiments/1/file", "{'path': '../../etc/passwd'}",
             404, "error.error~there is no file"),
        POST("no path", "/api/v1/experiments/1/file", "{}", 400, NULL),
        POST("nobody", "/api/v1/experiments/9/file", "{'path': 'a'}", 404, NULL),
        GET("nowhere", "/api/v1/experiments/9/file_tree", 404, NULL),
        POST("a fork that sends none", "/api/v1/experiments",
             "{'config': $[single], 'parentId': 1}", 200, "experiment.forkedFrom=1"),
        POST("a fork with an empty list", "/api/v1/experiments",
             "{'config': $[single], 'parentId': 1, 'modelDefinition': []}", 200,
             "experiment.forkedFrom=1"),
        GET("has them", "/api/v1/experiments/2/file_tree", 200, "files#4"),
        GET("too", "/api/v1/experiments/3/file_tree", 200, "files#4"),
        POST("none at all", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        GET("is empty", "/api/v1/experiments/4/file_tree", 200, "files#0"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);
}

/* ---- lineage --------------------------------------------------------------------- */

TEST(an_experiment_knows_where_it_came_from)
{
    static const struct step steps[] = {
        POST("fork", "/api/v1/experiments",
             "{'config': $[from], 'parentId': 1, 'activate': true}", 200, NULL),
        POST("its fork", "/api/v1/experiments", "{'config': $[single], 'parentId': 2}",
             200, NULL),
        GET("first", "/api/v1/det/experiments/1/lineage", 200,
            "ancestors#0; forks#1; forks.0.id=2; forks.0.state=ACTIVE; checkpoints#0"),
        GET("second", "/api/v1/det/experiments/2/lineage", 200,
            "ancestors#1; ancestors.0.id=1; ancestors.0.name=one; "
            "ancestors.0.isGone=false; forks.0.id=3; checkpoints#1; "
            "checkpoints.0.uuid=11111111-1111-4111-8111-111111111111; "
            "checkpoints.0.trialId=1; checkpoints.0.experimentId=1; "
            "checkpoints.0.steps=10; checkpoints.0.state=COMPLETED"),
        GET("third", "/api/v1/det/experiments/3/lineage", 200,
            "ancestors#2; ancestors.0.id=2; ancestors.1.id=1; forks#0"),
        GET("not there", "/api/v1/det/experiments/9/lineage", 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    bed_let(bed, "from",
            "entrypoint: x\n"
            "searcher: {name: single, metric: loss, source_trial_id: 1}\n");
    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_checkpoint(&share, uuid_a, 10);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    bed_play(bed, steps);
}

TEST(a_parent_that_was_deleted_is_only_a_number)
{
    static const struct step steps[] = {
        POST("parent", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        POST("fork", "/api/v1/experiments", "{'config': $[single], 'parentId': 1}", 200,
             NULL),
        POST("over", "/api/v1/experiments/1/kill", NULL, 200, NULL),
        GET("is over", "/api/v1/experiments/1", 200, "experiment.state=STATE_CANCELED",
            .until = true),
        DELETE("delete", "/api/v1/experiments/1", 200, NULL),
        GET("is gone", "/api/v1/experiments/1", 404, NULL, .until = true),
        GET("fork stays", "/api/v1/det/experiments/2/lineage", 200,
            "ancestors#1; ancestors.0.id=1; ancestors.0.isGone=true; "
            "ancestors.0.name!"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);
}

/* ---- notes ----------------------------------------------------------------------- */

TEST(notes_that_somebody_else_has_changed_are_not_written_over)
{
    static const struct step steps[] = {
        POST("create", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        PATCH("first", "/api/v1/experiments/1", "{'notes': 'a', 'notesBefore': ''}",
              200, "experiment.notes=a"),
        PATCH("too late", "/api/v1/experiments/1",
              "{'notes': 'b', 'notesBefore': '', 'name': 'other'}", 409,
              "error.error~another user has changed the notes of experiment 1"),
        GET("as it was", "/api/v1/experiments/1", 200,
            "experiment.notes=a; experiment.name=one"),
        PATCH("seen", "/api/v1/experiments/1", "{'notes': 'b', 'notesBefore': 'a'}",
              200, "experiment.notes=b"),
        PATCH("whatever", "/api/v1/experiments/1", "{'notes': 'c'}", 200,
              "experiment.notes=c"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);
}
