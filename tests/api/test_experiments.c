/* SPDX-License-Identifier: Apache-2.0 */
/* Experiments as things people make, look at, change and delete. */
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "data/archive/archive.h"
#include "data/base64.h"
#include "tests/api/script.h"

static const char uuid_a[] = "11111111-1111-4111-8111-111111111111";

/* ---- making ---------------------------------------------------------------------- */

TEST(an_experiment_is_made_paused_unless_it_is_told_to_start)
{
    static const struct step steps[] = {
        POST("create", "/api/v1/experiments", "{'config': $[single]}", 200,
             "experiment.id=1; experiment.state=STATE_PAUSED; experiment.name=one; "
             "experiment.username=determined; experiment.projectId=1; "
             "experiment.searcherType=single; experiment.jobId?; "
             "config.max_restarts=2; config.searcher.metric=loss; "
             "config.checkpoint_storage.type=shared_fs"),
        GET("show", "/api/v1/experiments/1", 200,
            "experiment.originalConfig~name: one; experiment.trialIds#1; "
            "config.name=one"),
        GET("trials", "/api/v1/experiments/1/trials", 200,
            "trials#1; trials.0.state=STATE_PAUSED; trials.0.experimentId=1; "
            "pagination.total=1"),
        GET("trials of none", "/api/v1/experiments/9/trials", 404, NULL),
        GET("trials by state", "/api/v1/experiments/1/trials?states=STATE_COMPLETED",
            200, "trials#0"),
        GET("trials by no state", "/api/v1/experiments/1/trials?states=STATE_ODD", 400,
            NULL),
        GET("unknown", "/api/v1/experiments/9", 404,
            "error.error=experiment '9' not found"),
        GET("unknown trial", "/api/v1/trials/9", 404, NULL),
        GET("no metric yet",
            "/api/v1/experiments/1/searcher/best_searcher_validation_metric", 404,
            NULL),
        GET("names of none", "/api/v1/det/experiments/9/metric-names", 404, NULL),
        END_STEPS};
    BED(bed, "launch_error: false\n");

    bed_play(bed, steps);
}

TEST(a_configuration_that_is_wrong_says_where)
{
    static const struct {
        const char *yaml;
        const char *part;
    } wrong[] = {
        {"", "expected a map"},
        {"entrypoint: x\nsearcher: {name: single, metric: loss}\nmax_restart: 1\n",
         "max_restart"},
        {"entrypoint: x\nsearcher: {name: singel, metric: loss}\n", "singel"},
        {"entrypoint: [x\n", "2:1"},
        {"entrypoint: x\nsearcher: {name: single, metric: loss}\n"
         "resources: {resource_pool: nowhere}\n",
         "nowhere"},
    };
    BED(bed, "launch_error: false\n");

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct step step =
            POST("wrong", "/api/v1/experiments", "{'config': $[wanted]}", 400,
                 arena_printf(&bed->mem, "error.error~%s", wrong[i].part));

        bed_let(bed, "wanted", wrong[i].yaml);
        (void)bed_step(bed, &step);
    }
}

TEST(what_is_not_there_yet_says_so)
{
    static const struct step steps[] = {
        POST("template", "/api/v1/experiments",
             "{'config': $[single], 'template': 't'}", 501,
             "error.error~send the whole configuration"),
        POST("project", "/api/v1/experiments", "{'config': $[single], 'projectId': 7}",
             404, NULL),
        POST("parent", "/api/v1/experiments", "{'config': $[single], 'parentId': 7}",
             404, NULL),
        END_STEPS};
    BED(bed, "launch_error: false\n");

    bed_play(bed, steps);
}

/* ---- files ----------------------------------------------------------------------- */

TEST(the_model_definition_comes_back_as_it_was_sent)
{
    static const struct step steps[] = {
        POST("create", "/api/v1/experiments",
             "{'config': $[single], 'modelDefinition': ["
             "{'path': 'sub', 'type': 53, 'content': '', 'mode': 16877, 'mtime': '5',"
             " 'uid': 0, 'gid': 0},"
             "{'path': 'sub/a.txt', 'type': 48, 'content': 'aGVsbG8=', 'mode': 33188,"
             " 'mtime': '5', 'uid': 0, 'gid': 0}]}",
             200, NULL),
        GET("model", "/api/v1/experiments/1/model_def", 200, "b64Tgz?"),
        POST("fork", "/api/v1/experiments", "{'config': $[single], 'parentId': 1}", 200,
             "experiment.forkedFrom=1"),
        GET("inherited", "/api/v1/experiments/2/model_def", 200,
            "b64Tgz=${model.b64Tgz}"),
        GET("of none", "/api/v1/experiments/9/model_def", 404, NULL),
        END_STEPS};
    CLEANUP(buf_done) struct buf tgz = BUF_INIT, text = BUF_INIT;
    BED(bed, "launch_error: false\n");
    const char *out = arena_printf(&bed->mem, "%s/out", bed->dir);
    const char *encoded;

    bed_play(bed, steps);
    encoded = bed_get(bed, "model.b64Tgz");
    CHECK_OK(base64_decode(&tgz, encoded, strlen(encoded), &test_err));
    CHECK_OK(io_mkdir(io_system(), out, true, &test_err));
    CHECK_OK(archive_unpack(tgz.data, tgz.len, out, &test_err));
    CHECK_OK(io_read_file(io_system(), arena_printf(&bed->mem, "%s/sub/a.txt", out),
                          &text, &test_err));
    CHECK_STR(text.data, "hello");
}

TEST(a_path_that_leads_out_of_the_folder_is_refused)
{
    static const char *const paths[] = {"../evil", "/etc/passwd", "a/../../evil",
                                        "..",      "a/..//../x",  ""};
    BED(bed, "launch_error: false\n");

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct step step =
            POST("escape", "/api/v1/experiments",
                 arena_printf(&bed->mem,
                              "{'config': $[single], 'modelDefinition': [{'path': '%s',"
                              " 'type': 48, 'content': 'aGk=', 'mode': 420}]}",
                              paths[i]),
                 400, "error.error~path");

        (void)bed_step(bed, &step);
    }
}

TEST(files_that_are_none_are_refused)
{
    static const struct step steps[] = {
        POST("no list", "/api/v1/experiments",
             "{'config': $[single], 'modelDefinition': {'a': 1}}", 400,
             "error.error~model"),
        POST("a number", "/api/v1/experiments",
             "{'config': $[single], 'modelDefinition': 3}", 400, "error.error~model"),
        POST("a text", "/api/v1/experiments",
             "{'config': $[single], 'modelDefinition': 'x'}", 400, "error.error~model"),
        POST("a list of numbers", "/api/v1/experiments",
             "{'config': $[single], 'modelDefinition': [1]}", 400,
             "error.error~no path"),
        POST("not base64", "/api/v1/experiments",
             "{'config': $[single], 'modelDefinition': [{'path': 'a', 'type': 48,"
             " 'content': '!!!'}]}",
             400, "error.error~'a'"),
        END_STEPS};
    BED(bed, "launch_error: false\n");

    bed_play(bed, steps);
}

/* ---- lists ----------------------------------------------------------------------- */

TEST(experiments_are_listed_filtered_and_paged)
{
    static const struct step steps[] = {
        POST("one", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        POST("two", "/api/v1/experiments", "{'config': $[grid]}", 200, NULL),
        POST("three", "/api/v1/experiments", "{'config': $[random]}", 200, NULL,
             .who = ADMIN),
        GET("all", "/api/v1/experiments", 200, "experiments#3; pagination.total=3"),
        GET("a page", "/api/v1/experiments?offset=1&limit=1", 200,
            "experiments#1; experiments.0.name=grid; pagination.startIndex=1; "
            "pagination.endIndex=2; pagination.total=3"),
        GET("count only", "/api/v1/experiments?limit=-2", 200,
            "experiments#0; pagination.total=3"),
        GET("from the end", "/api/v1/experiments?offset=-1", 200,
            "experiments#1; experiments.0.name=random"),
        GET("beyond", "/api/v1/experiments?offset=50", 200, "experiments#0"),
        GET("backwards", "/api/v1/experiments?orderBy=ORDER_BY_DESC&sortBy=SORT_BY_ID",
            200, "experiments.0.name=random"),
        GET("by name", "/api/v1/experiments?name=GRI", 200, "experiments#1"),
        GET("by user", "/api/v1/experiments?users=admin", 200,
            "experiments#1; experiments.0.name=random"),
        GET("by user id", "/api/v1/experiments?userIds=2", 200, "experiments#2"),
        GET("by state", "/api/v1/experiments?states=STATE_PAUSED", 200,
            "experiments#3"),
        GET("by other state", "/api/v1/experiments?states=STATE_COMPLETED", 200,
            "experiments#0"),
        GET("by odd state", "/api/v1/experiments?states=STATE_ODD", 400, NULL),
        GET("by ids",
            "/api/v1/experiments?experimentIdFilter.incl=1&experimentIdFilter.incl=3",
            200, "experiments#2"),
        GET("above", "/api/v1/experiments?experimentIdFilter.gt=1", 200,
            "experiments#2"),
        GET("not archived", "/api/v1/experiments?archived=false", 200, "experiments#3"),
        GET("of an unknown project", "/api/v1/experiments?projectId=2", 404, NULL),
        END_STEPS};
    BED(bed, "launch_error: false\n");

    bed_play(bed, steps);
}

/* ---- changing -------------------------------------------------------------------- */

TEST(people_name_label_and_describe_experiments)
{
    static const struct step steps[] = {
        POST("create", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        PATCH("patch", "/api/v1/experiments/1",
              "{'name': 'new', 'description': 'why', 'notes': 'how', 'labels': ['a', "
              "'b']}",
              200,
              "experiment.name=new; experiment.description=why; experiment.notes=how; "
              "experiment.labels#2"),
        PATCH("the rest stays", "/api/v1/experiments/1", "{'notes': ''}", 200,
              "experiment.name=new; experiment.notes="),
        PATCH("no name", "/api/v1/experiments/1", "{'name': ''}", 400, NULL),
        PATCH("blank name", "/api/v1/experiments/1", "{'name': ' '}", 400, NULL),
        PATCH("no labels", "/api/v1/experiments/1", "{'labels': 'a'}", 400, NULL),
        PATCH("empty label", "/api/v1/experiments/1", "{'labels': ['']}", 400, NULL),
        PATCH("unknown", "/api/v1/experiments/9", "{'name': 'x'}", 404, NULL),
        PUT("label", "/api/v1/experiments/1/labels/c%20d", NULL, 200,
            "labels#3; labels.2=c d"),
        PUT("label again", "/api/v1/experiments/1/labels/c%20d", NULL, 200, "labels#3"),
        DELETE("unlabel", "/api/v1/experiments/1/labels/a", 200,
               "labels#2; labels.0=b"),
        DELETE("not there", "/api/v1/experiments/1/labels/zz", 200, "labels#2"),
        PUT("label unknown", "/api/v1/experiments/9/labels/x", NULL, 404, NULL),
        DELETE("unlabel unknown", "/api/v1/experiments/9/labels/x", 404, NULL),
        GET("by labels", "/api/v1/experiments?labels=b&labels=c%20d", 200,
            "experiments#1"),
        GET("by others", "/api/v1/experiments?labels=b&labels=a", 200, "experiments#0"),
        PATCH("what is kept", "/api/v1/experiments/1",
              "{'checkpointStorage': {'saveTrialBest': 3}}", 200,
              "config.checkpoint_storage.save_trial_best=3; "
              "config.checkpoint_storage.save_trial_latest=1"),
        PATCH("place in the queue", "/api/v1/experiments/1",
              "{'resources': {'priority': 5, 'weight': 2.5, 'maxSlots': 4}}", 200,
              "experiment.priority=5"),
        PATCH("odd priority", "/api/v1/experiments/1",
              "{'resources': {'priority': 100}}", 400, NULL),
        PATCH("odd weight", "/api/v1/experiments/1", "{'resources': {'weight': -1}}",
              400, NULL),
        PUT("logs", "/api/v1/experiments/1/retain_logs", "{'numDays': 30}", 200, NULL),
        PUT("logs for ever", "/api/v1/experiments/1/retain_logs", "{'numDays': -1}",
            200, NULL),
        PUT("odd days", "/api/v1/experiments/1/retain_logs", "{'numDays': -2}", 400,
            NULL),
        PUT("logs unknown", "/api/v1/experiments/9/retain_logs", "{'numDays': 1}", 404,
            NULL),
        PUT("of a trial", "/api/v1/trials/1/retain_logs", "{'numDays': 1}", 200, NULL),
        PUT("of no trial", "/api/v1/trials/9/retain_logs", "{'numDays': 1}", 404, NULL),
        POST("archive too early", "/api/v1/experiments/1/archive", NULL, 400,
             "error.error~not in terminal state: it is PAUSED"),
        DELETE("delete too early", "/api/v1/experiments/1", 400,
               "error.error~cannot delete experiment in STATE_PAUSED state"),
        POST("kill", "/api/v1/experiments/1/kill", NULL, 200, NULL),
        GET("over", "/api/v1/experiments/1", 200, "experiment.state=STATE_CANCELED",
            .until = true),
        POST("unarchive", "/api/v1/experiments/1/unarchive", NULL, 400,
             "error.error=Experiment is not archived."),
        POST("archive", "/api/v1/experiments/1/archive", NULL, 200, NULL),
        POST("again", "/api/v1/experiments/1/archive", NULL, 400,
             "error.error=Experiment is already archived."),
        GET("hidden", "/api/v1/experiments?archived=false", 200, "experiments#0"),
        POST("back", "/api/v1/experiments/1/unarchive", NULL, 200, NULL),
        GET("shown", "/api/v1/experiments?archived=false", 200, "experiments#1"),
        POST("archive unknown", "/api/v1/experiments/9/archive", NULL, 404, NULL),
        END_STEPS};
    BED(bed, "launch_error: false\n");

    bed_play(bed, steps);
}

TEST(what_people_changed_survives_the_heart_s_own_writes_and_a_restart)
{
    static const struct step before[] = {
        PATCH("patch", "/api/v1/experiments/${share.experiment}",
              "{'name': 'kept', 'resources': {'priority': 7}}", 200, NULL),
        PUT("label", "/api/v1/experiments/${share.experiment}/labels/mine", NULL, 200,
            NULL),
        END_STEPS};
    static const struct step after[] = {
        GET("kept", "/api/v1/experiments/${share.experiment}", 200,
            "experiment.name=kept; experiment.labels.0=mine; experiment.priority=7"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, before);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, share.experiment, "COMPLETED");
    bed_play(bed, after);
    bed_restart(bed);
    bed_play(bed, after);
}

/* ---- deleting -------------------------------------------------------------------- */

TEST(a_deleted_experiment_is_gone_with_its_rows_and_files)
{
    static const struct step steps[] = {
        GET("gone", "/api/v1/experiments/${share.experiment}", 404, NULL,
            .until = true),
        GET("its trial", "/api/v1/trials/${share.trial}", 404, NULL),
        GET("its checkpoint",
            "/api/v1/checkpoints/11111111-1111-4111-8111-111111111111", 404, NULL),
        GET("its task", "/api/v1/tasks/${share.task_id}", 404, NULL),
        GET("its lines", "/api/v1/trials/${share.trial}/logs", 404, NULL),
        DELETE("twice", "/api/v1/experiments/${share.experiment}", 404, NULL),
        GET("the other is there", "/api/v1/experiments/2", 200, NULL),
        END_STEPS};
    static const struct step begin[] = {
        DELETE("delete", "/api/v1/experiments/${share.experiment}", 200, NULL),
        GET("waits", "/api/v1/experiments/${share.experiment}", 200,
            "experiment.state=STATE_DELETING"),
        END_STEPS};
    BED(bed, NULL);
    const char *root = arena_printf(&bed->mem, "%s/checkpoints", bed->data_dir);
    const char *folder = arena_printf(&bed->mem, "%s/%s", root, uuid_a);
    const char *other =
        arena_printf(&bed->mem, "%s/99999999-9999-4999-8999-999999999999", root);
    struct agent agent = {0};
    struct io_stat stat;
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    CHECK_OK(io_mkdir(io_system(), arena_printf(&bed->mem, "%s/sub", folder), false,
                      &test_err));
    CHECK_OK(io_mkdir(io_system(), other, false, &test_err));
    share_checkpoint(&share, uuid_a, 3);
    share_report(&share, "training", 3, "{'loss': 1}", 200);
    share_log(&share, "a line");
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, share.experiment, "COMPLETED");
    (void)create(bed, config_single);
    bed_play(bed, begin);
    agent_clean(&agent, NULL); /* the master itself removes no files */
    bed_play(bed, steps);
    CHECK_EQ(io_stat(io_system(), folder, &stat, NULL), DET_NOT_FOUND);
    CHECK_OK(io_stat(io_system(), other, &stat, &test_err)); /* not its own */
}

/* ---- preview --------------------------------------------------------------------- */

TEST(a_search_can_be_previewed)
{
    static const struct step steps[] = {
        POST("preview", "/api/v1/preview-hp-search",
             "{'config': {'entrypoint': 'x', 'searcher': {'name': 'grid', 'metric': "
             "'loss',"
             " 'max_length': {'batches': 10}},"
             " 'hyperparameters': {'a': {'type': 'categorical', 'vals': [1, 2]}}}}",
             200, "summary.config.name=grid; summary.trials?"),
        POST("nothing", "/api/v1/preview-hp-search", "{}", 400, NULL),
        POST("wrong", "/api/v1/preview-hp-search", "{'config': {'searcher': 3}}", 400,
             NULL),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}
