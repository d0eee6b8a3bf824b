/* SPDX-License-Identifier: Apache-2.0 */
/* test_context.c - contexts inside and outside a task: environment, hyperparameters, reports. */
#include "libdet/context.h"

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "tests/unit/libdet/world.h"
#include "wire/report.h"

/* ---- where we are ---------------------------------------------------------------- */

TEST(a_task_knows_who_and_where_it_is)
{
    struct world w;
    det_context *det;
    const det_info *info;

    world_make(&w);
    world_set(&w, "DET_LATEST_CHECKPOINT", "d9a1c1f0-0000-4000-8000-000000000001");
    world_set(&w, "RANK", "3");
    world_set(&w, "WORLD_SIZE", "4");
    CHECK_OK(io_mkdir(w.io, "/task/run/info", false, &test_err));
    world_file(&w, "/task/run/info/rendezvous.json",
               "{\"container_addrs\":[\"a\",\"b\"],\"container_rank\":1}");
    det = world_open(&w);

    info = det_get_info(det);
    CHECK(info->is_on_cluster && info->is_trial);
    CHECK_EQ(info->experiment_id, 3);
    CHECK_EQ(info->trial_id, 7);
    CHECK_EQ(info->run_id, 2);
    CHECK_EQ(info->seed, 99);
    CHECK_EQ(info->steps_completed, 40);
    CHECK_STR(info->latest_checkpoint, "d9a1c1f0-0000-4000-8000-000000000001");
    CHECK_STR(info->allocation_id, "3.abc.2");
    CHECK_STR(info->data, "{\"url\":\"x\"}");
    CHECK_EQ(info->slot_count, 2);
    CHECK_EQ(info->slot_ids[1], 3);
    CHECK_EQ(info->node_count, 2);
    CHECK_EQ(info->node_rank, 1);
    CHECK_EQ(info->rank, 3);
    CHECK_EQ(info->world_size, 4);
    CHECK_EQ(info->local_size, 1);
    CHECK_NULL(info->directory);

    det_close(det);
    world_end(&w);
}

TEST(what_is_missing_or_makes_no_sense_is_named)
{
    static const struct variable cases[] = {
        {"DET_MASTER", NULL},
        {"DET_SESSION_TOKEN", ""},
        {"DET_TASK_ID", NULL},
        {"DET_TRIAL_ID", "seven"},
        {"DET_TRIAL_RUN_ID", NULL},
        {"DET_EXPERIMENT_ID", "-1"},
        {"DET_HPARAMS", "{\"lr\":"},
        {"DET_HPARAMS", "[]"},
        {"DET_EXPERIMENT_CONFIG", "1"},
        {"DET_REPORT_RING", NULL},
        {"DET_SLOT_IDS", "0,1"},
        {"DET_STEPS_COMPLETED", "many"},
        {"WORLD_SIZE", "0"},
        {"RANK", "99999999999"},
    };
    det_init_options options = {.size = sizeof(options), .flags = DET_INIT_QUIET};
    struct world w;
    det_context *det;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};

        world_make(&w);
        world_set(&w, cases[i].name, cases[i].value);
        CHECK_EQ(context_open(&w.at, &options, &det, &err), DET_INVALID);
        CHECK_HAS(err.text, cases[i].name);
        world_end(&w);
    }
}

TEST(a_task_that_is_no_trial_has_a_context_but_nothing_to_report)
{
    det_metric loss = {"loss", 1};
    struct world w;
    det_context *det;

    world_make(&w);
    world_set(&w, "DET_TASK_TYPE", "COMMAND");
    world_set(&w, "DET_REPORT_RING", NULL);
    det = world_open(&w);

    CHECK_EQ(det_report_training(det, 1, &loss, 1), DET_STATE);
    CHECK_STR(det_context_error(det), "this task is a COMMAND; only trials report");

    det_close(det);
    world_end(&w);
}

TEST(a_job_has_its_configuration_and_trains_nothing)
{
    det_init_options options = {.size = sizeof(options), .flags = DET_INIT_QUIET};
    det_metric loss = {"loss", 1};
    struct err err = {0};
    struct world w;
    det_context *det;

    world_make(&w);
    world_set(&w, "DET_TASK_TYPE", "GENERIC");
    world_set(&w, "DET_TASK_CONFIG", "{\"data\":{\"trial_id\":777},\"name\":\"x\"}");
    CHECK_OK(context_open(&w.at, &options, &det, &err));
    CHECK_STR(det_get_info(det)->task_type, "GENERIC");
    CHECK_STR(det_get_info(det)->data, "{\"trial_id\":777}");
    CHECK_HAS(det_get_info(det)->config, "\"name\":\"x\"");
    CHECK(!det_get_info(det)->is_trial);
    CHECK(det_get_info(det)->is_on_cluster);
    CHECK_EQ(det_preempted(det), 0);
    CHECK_EQ(det_report_training(det, 1, &loss, 1), DET_STATE);
    CHECK_HAS(det_context_error(det), "this task is a job, not a trial");
    det_close(det);

    world_set(&w, "DET_TASK_CONFIG", "{");
    CHECK_EQ(context_open(&w.at, &options, &det, &err), DET_INVALID);
    CHECK_HAS(err.text, "DET_TASK_CONFIG is not JSON");
    world_end(&w);
}

TEST(a_context_apart_has_nothing_of_the_task_around_it)
{
    det_init_options options = {
        .size = sizeof(options), .flags = DET_INIT_APART, .directory = "/apart"};
    struct world w;
    det_context *det;

    world_make(&w);
    CHECK_OK(context_open(&w.at, &options, &det, &test_err));

    CHECK(!det_get_info(det)->is_on_cluster);
    CHECK(det_get_info(det)->is_trial);
    CHECK_STR(det_get_info(det)->directory, "/apart");

    det_close(det);
    world_end(&w);
}

TEST(the_public_door_gives_the_sentence_and_refuses_strange_options)
{
    char error[100] = "";
    det_init_options options = {.size = sizeof(options),
                                .flags = DET_INIT_TASK_ONLY,
                                .error = error,
                                .error_size = sizeof(error)};
    det_context *det;

    unsetenv("DET_ALLOCATION_ID");
    CHECK_EQ(det_init(&options, &det), DET_STATE);
    CHECK_STR(error, "this is not inside a task: DET_ALLOCATION_ID is not set");
    options.size = sizeof(options) + 8;
    CHECK_EQ(det_init(&options, &det), DET_INVALID);
    CHECK_EQ(det_init(NULL, NULL), DET_INVALID);
    det_close(NULL);
    CHECK_STR(det_context_error(NULL), "there is no context");
}

/* ---- hyperparameters ------------------------------------------------------------- */

TEST(hyperparameters_are_found_by_path_and_type)
{
    struct world w;
    det_context *det;
    double real;
    int64_t whole;
    int yes;
    const char *text;
    enum det_type type;
    size_t count;
    char json[64];

    world_make(&w);
    det = world_open(&w);

    CHECK_EQ(det_hparam_double(det, "lr", &real), DET_OK);
    CHECK(real == 0.5);
    CHECK_EQ(det_hparam_double(det, "n", &real), DET_OK);
    CHECK(real == 3);
    CHECK_EQ(det_hparam_double(det, "opt.lr", &real), DET_OK);
    CHECK(real == 0.25);
    CHECK_EQ(det_hparam_double(det, "opt.betas[1]", &real), DET_OK);
    CHECK(real == 0.999);
    CHECK_EQ(det_hparam_int(det, "layers[1].units", &whole), DET_OK);
    CHECK_EQ(whole, 16);
    CHECK_EQ(det_hparam_int(det, "layers.0.units", &whole), DET_OK);
    CHECK_EQ(whole, 8);
    CHECK_EQ(det_hparam_int(det, "a.b", &whole), DET_OK);
    CHECK_EQ(whole, 1);
    CHECK_EQ(det_hparam_int(det, "whole", &whole), DET_OK);
    CHECK_EQ(whole, 4);
    CHECK_EQ(det_hparam_bool(det, "on", &yes), DET_OK);
    CHECK_EQ(yes, 1);
    CHECK_EQ(det_hparam_string(det, "name", &text), DET_OK);
    CHECK_STR(text, "sgd");
    CHECK_EQ(det_hparam_type(det, "layers", &type, &count), DET_OK);
    CHECK_EQ(type, DET_TYPE_LIST);
    CHECK_EQ(count, 2);
    CHECK_EQ(det_hparam_type(det, "none", &type, NULL), DET_OK);
    CHECK_EQ(type, DET_TYPE_NULL);
    CHECK_EQ(det_hparam_json(det, "opt.betas", json, sizeof(json), &count), DET_OK);
    CHECK_STR(json, "[0.9,0.999]");
    CHECK_EQ(count, 11);
    CHECK_EQ(det_hparam_json(det, "opt.betas", json, 5, &count), DET_OK);
    CHECK_STR(json, "[0.9");
    CHECK_EQ(det_hparam_json(det, "", NULL, 0, &count), DET_OK);
    CHECK(count > 100);

    det_close(det);
    world_end(&w);
}

TEST(what_is_wrong_with_a_hyperparameter_is_said_with_its_path)
{
    struct world w;
    det_context *det;
    double real = 7;
    int64_t whole;
    int yes;
    const char *text;

    world_make(&w);
    det = world_open(&w);

    CHECK_EQ(det_hparam_double(det, "name", &real), DET_INVALID);
    CHECK_STR(det_context_error(det),
              "hyperparameter 'name' is a string; expected a number");
    CHECK_EQ(det_hparam_int(det, "lr", &whole), DET_INVALID);
    CHECK_STR(det_context_error(det),
              "hyperparameter 'lr' is 0.5; expected a whole number");
    CHECK_EQ(det_hparam_bool(det, "opt.lr", &yes), DET_INVALID);
    CHECK_HAS(det_context_error(det), "'opt.lr'");
    CHECK_EQ(det_hparam_string(det, "layers", &text), DET_INVALID);
    CHECK_EQ(det_hparam_double(det, "lrr", &real), DET_NOT_FOUND);
    CHECK_STR(det_context_error(det),
              "there is no hyperparameter 'lrr'; did you mean 'lr'?");
    CHECK_EQ(det_hparam_double(det, "layers[2].units", &real), DET_NOT_FOUND);
    CHECK_EQ(det_hparam_double(det, "layers[-1]", &real), DET_NOT_FOUND);
    CHECK_EQ(det_hparam_double(det, "layers[0", &real), DET_NOT_FOUND);
    CHECK_EQ(det_hparam_double(det, "opt.", &real), DET_NOT_FOUND);
    CHECK_EQ(det_hparam_double(det, ".lr", &real), DET_NOT_FOUND);
    CHECK_EQ(det_hparam_double(det, NULL, &real), DET_INVALID);
    CHECK_EQ(det_hparam_double(NULL, "lr", &real), DET_INVALID);
    CHECK(real == 7);

    det_close(det);
    world_end(&w);
}

/* ---- reports --------------------------------------------------------------------- */

TEST(numbers_reach_the_ring_as_they_are)
{
    static const det_metric metrics[] = {{"loss", 0.25}, {"acc", NAN}};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    struct report_metrics seen;
    struct ring_reader *reader;
    struct report report;
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    reader = world_reader(&w, "/task/reports");

    CHECK_OK(det_report_validation(det, 12, metrics, 2));
    report = world_next(reader, &bytes);
    CHECK_EQ(report.kind, REPORT_METRICS);
    CHECK_EQ(report.run, 2);
    CHECK_EQ(report.time_us, 1700000000000000);
    CHECK_OK(report_metrics_decode(report.payload, report.len, &mem, &seen, &test_err));
    CHECK_EQ(seen.steps, 12);
    CHECK(seen.group_len == 10 && !memcmp(seen.group, "validation", 10));
    CHECK_EQ(seen.count, 2);
    CHECK(seen.value[0].number == 0.25 && isnan(seen.value[1].number));

    ring_reader_close(reader);
    det_close(det);
    world_end(&w);
}

TEST(values_of_any_kind_reach_the_ring_as_json)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    struct report_metrics seen;
    struct ring_reader *reader;
    struct report report;
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    reader = world_reader(&w, "/task/reports");

    CHECK_OK(det_report_json(det, "mine", -1,
                             "{\"a\":1,\"b\":\"word\",\"c\":[1,{\"d\":null}],\"e\":"
                             "\"Infinity\",\"f\":9007199254740993}",
                             "[{\"x\":1},{\"x\":2}]"));
    report = world_next(reader, &bytes);
    CHECK_OK(report_metrics_decode(report.payload, report.len, &mem, &seen, &test_err));
    CHECK_EQ(seen.steps, -1);
    CHECK_EQ(seen.count, 5);
    CHECK(seen.value[0].type == REPORT_NUMBER && seen.value[0].number == 1);
    CHECK_EQ(seen.value[1].type, REPORT_JSON);
    CHECK(seen.value[1].json_len == 6 && !memcmp(seen.value[1].json, "\"word\"", 6));
    CHECK_EQ(seen.value[2].type, REPORT_JSON);
    CHECK(seen.value[3].type == REPORT_NUMBER && isinf(seen.value[3].number));
    CHECK_EQ(seen.value[4].type, REPORT_JSON);
    CHECK_EQ(seen.batch_len, 17);

    ring_reader_close(reader);
    det_close(det);
    world_end(&w);
}

TEST(everything_else_is_the_body_of_its_call)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    struct ring_reader *reader;
    struct report report;
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    reader = world_reader(&w, "/task/reports");

    CHECK_OK(det_report_progress(det, 0.5));
    CHECK_OK(det_set_status(det, "validating"));
    CHECK_OK(det_report_early_exit(det, DET_EXIT_INVALID_HP));
    CHECK_OK(det_alert(det, DET_ALERT_WARN, "hot", NULL));
    report = world_next(reader, &bytes);
    CHECK_EQ(report.kind, REPORT_PROGRESS);
    CHECK_HAS(report.payload, "\"progress\":0.5");
    report = world_next(reader, &bytes);
    CHECK_EQ(report.kind, REPORT_STATUS);
    CHECK_HAS(report.payload, "{\"state\":\"validating\"}");
    report = world_next(reader, &bytes);
    CHECK_EQ(report.kind, REPORT_EARLY_EXIT);
    CHECK_HAS(report.payload, "EXITED_REASON_INVALID_HP");
    report = world_next(reader, &bytes);
    CHECK_EQ(report.kind, REPORT_ALERT);
    CHECK_HAS(report.payload,
              "\"title\":\"hot\",\"description\":\"\",\"level\":\"warn\"");

    ring_reader_close(reader);
    det_close(det);
    world_end(&w);
}

static void world_names(det_context *det)
{
    char name[2000];
    det_metric named = {name, 1};
    det_metric loss = {"loss", 1};

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    CHECK_EQ(det_report(det, "x", 1, &named, 1), DET_INVALID);
    CHECK_HAS(det_context_error(det), "a metric's name has 1999 bytes");
    CHECK_EQ(det_report(det, name, 1, &loss, 1), DET_INVALID);
    CHECK_HAS(det_context_error(det), "a group's name has 1999 bytes");
    CHECK_EQ(det_set_status(det, name), DET_INVALID);
    CHECK_HAS(det_context_error(det), "the status has 1999 bytes");
    CHECK_EQ(det_report_json(det, "x", 1, "{\"a\\nb\":1}", NULL), DET_INVALID);
    CHECK_HAS(det_context_error(det), "control character");
}

TEST(what_the_searcher_goes_by_is_a_number)
{
    struct world w;
    det_context *det;

    world_make(&w);
    world_set(&w, "DET_EXPERIMENT_CONFIG", "{\"searcher\":{\"metric\":\"loss\"}}");
    det = world_open(&w);
    CHECK_EQ(det_report_json(det, "validation", 1, "{\"loss\":\"abc\"}", NULL),
             DET_INVALID);
    CHECK_HAS(det_context_error(det), "the metric 'loss' is a string");
    CHECK_OK(det_report_json(det, "validation", 1, "{\"loss\":\"NaN\"}", NULL));
    CHECK_OK(
        det_report_json(det, "validation", 2, "{\"loss\":9007199254740995}", NULL));
    CHECK_OK(det_report_json(det, "validation", 3, "{\"note\":\"abc\"}", NULL));
    CHECK_OK(det_report_json(det, "training", 1, "{\"loss\":\"abc\"}", NULL));
    det_close(det);
    world_end(&w);
}

TEST(a_report_that_makes_no_sense_is_refused_in_a_sentence)
{
    det_metric loss = {"loss", 1};
    det_metric nameless = {"", 1};
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);

    CHECK_EQ(det_report(det, "a.b", 1, &loss, 1), DET_INVALID);
    CHECK_HAS(det_context_error(det), "'a.b' has a dot");
    CHECK_EQ(det_report(det, "", 1, &loss, 1), DET_INVALID);
    CHECK_EQ(det_report(det, NULL, 1, &loss, 1), DET_INVALID);
    CHECK_EQ(det_report(det, "x", -2, &loss, 1), DET_INVALID);
    CHECK_EQ(det_report(det, "x", 1, &loss, 0), DET_INVALID);
    CHECK_EQ(det_report(det, "x", 1, NULL, 1), DET_INVALID);
    CHECK_EQ(det_report(det, "x", 1, &nameless, 1), DET_INVALID);
    CHECK_HAS(det_context_error(det), "metric number 1 has no name");
    CHECK_EQ(det_report_json(det, "x", 1, "{", NULL), DET_INVALID);
    CHECK_HAS(det_context_error(det), "the metrics are not JSON");
    CHECK_EQ(det_report_json(det, "x", 1, "{}", NULL), DET_INVALID);
    CHECK_EQ(det_report_json(det, "x", 1, "{\"a\":1}", "[1]"), DET_INVALID);
    CHECK_EQ(det_report_json(det, "validation", 1, "{\"a\":null}", NULL), DET_INVALID);
    CHECK_HAS(det_context_error(det), "the validation metric 'a' is null");
    world_names(det);
    CHECK_EQ(det_report_progress(det, 1.5), DET_INVALID);
    CHECK_EQ(det_report_progress(det, NAN), DET_INVALID);
    CHECK_EQ(det_set_status(det, ""), DET_INVALID);
    CHECK_EQ(det_report_early_exit(det, (enum det_exit_reason)9), DET_INVALID);
    CHECK_EQ(det_alert(det, DET_ALERT_INFO, NULL, "x"), DET_INVALID);
    CHECK_EQ(det_preempt_ack(det, 0), DET_STATE);

    det_close(det);
    world_end(&w);
}

TEST(more_metrics_than_fit_on_the_stack_are_reported_too)
{
    enum { MANY = 500 };
    static det_metric metrics[MANY];
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    struct report_metrics seen;
    struct ring_reader *reader;
    struct report report;
    struct world w;
    det_context *det;

    for (size_t i = 0; i < MANY; i++)
        metrics[i] = (det_metric){"m", (double)i};
    world_make(&w);
    det = world_open(&w);
    reader = world_reader(&w, "/task/reports");

    CHECK_OK(det_report_training(det, 1, metrics, MANY));
    report = world_next(reader, &bytes);
    CHECK_OK(report_metrics_decode(report.payload, report.len, &mem, &seen, &test_err));
    CHECK_EQ(seen.count, MANY);
    CHECK(seen.value[MANY - 1].number == MANY - 1);

    ring_reader_close(reader);
    det_close(det);
    world_end(&w);
}

TEST(a_process_uses_as_many_names_as_the_master_keeps)
{
    const det_metric few[] = {{"a", 1}, {"b", 2}};
    const det_metric more[] = {{"a", 1}, {"c", 2}};
    const det_metric known[] = {{"b", 1}, {"a", 2}};
    struct world w;
    det_context *det;

    world_make(&w);
    world_set(&w, "DET_MAX_METRIC_NAMES", "3");
    det = world_open(&w);
    CHECK_OK(det_report_training(det, 1, few, 2));
    CHECK_OK(det_report_training(det, 2, few, 2));
    CHECK_OK(det_report_validation(det, 2, few, 1));
    CHECK_EQ(det_report_training(det, 3, more, 2), DET_INVALID);
    CHECK_HAS(det_context_error(det), "has used 3 names of metrics");
    CHECK_HAS(det_context_error(det), "'c' is new");
    CHECK_OK(det_report_training(det, 3, known, 2));
    CHECK_EQ(det_report_json(det, "training", 4, "{\"d\": \"x\"}", NULL), DET_INVALID);
    CHECK_OK(det_report_json(det, "training", 4, "{\"a\": \"x\"}", NULL));
    det_close(det);
    world_end(&w);
}

/* The names of a report that is refused do not count. */
TEST(a_process_uses_as_many_groups_as_the_master_keeps)
{
    const det_metric loss = {"loss", 1}, other = {"other", 1};
    char group[16];
    struct world w;
    det_context *det;

    world_make(&w);
    world_set(&w, "DET_MAX_METRIC_NAMES", "257");
    det = world_open(&w);
    for (int i = 0; i < REPORT_GROUPS_MOST; i++) {
        (void)snprintf(group, sizeof(group), "g%d", i);
        CHECK_OK(det_report(det, group, 1, &loss, 1));
    }
    CHECK_EQ(det_report(det, "more", 1, &loss, 1), DET_INVALID);
    CHECK_HAS(det_context_error(det), "has used 256 groups of metrics");
    CHECK_HAS(det_context_error(det), "'more' is new");
    CHECK_OK(det_report(det, "g0", 2, &other, 1));
    CHECK_EQ(det_report(det, "g1", 2, &other, 1), DET_INVALID);
    det_close(det);
    world_end(&w);
}

TEST(flush_waits_until_the_reader_says_stored)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    det_metric loss = {"loss", 1};
    struct ring_reader *reader;
    struct ring_batch batch;
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    reader = world_reader(&w, "/task/reports");

    CHECK_OK(det_flush(det, 0));
    CHECK_OK(det_report_training(det, 1, &loss, 1));
    CHECK_EQ(det_flush(det, 500), DET_TIMEOUT);
    CHECK_HAS(det_context_error(det), "nothing is lost");
    CHECK(w.clock.mono_us >= 500000);
    CHECK_OK(ring_read(reader, 1 << 20, &bytes, &batch, &test_err));
    CHECK_OK(ring_stored(reader, batch.last, &test_err));
    CHECK_OK(det_flush(det, 0));

    ring_reader_close(reader);
    det_close(det);
    world_end(&w);
}

/* Two processes: each is told of its own refusals, each refusal once. */
TEST(flush_tells_of_reports_that_the_master_has_refused)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    det_metric loss = {"loss", 1};
    struct ring_reader *reader;
    struct ring_batch batch;
    struct world w;
    det_context *det, *other;
    char text[400];

    world_make(&w);
    det = world_open(&w);
    other = world_open(&w);
    reader = world_reader(&w, "/task/reports");
    CHECK_OK(det_report_training(det, 1, &loss, 1));   /* 1 */
    CHECK_OK(det_report_training(other, 1, &loss, 1)); /* 2 */
    CHECK_OK(det_report_training(det, 2, &loss, 1));   /* 3 */
    CHECK_OK(ring_read(reader, 1 << 20, &bytes, &batch, &test_err));
    ring_refuse(reader, 2, DET_EXISTS, "it was 7 before");
    CHECK_OK(ring_stored(reader, batch.last, &test_err));
    CHECK_OK(det_flush(det, 0));
    CHECK_EQ(det_flush(other, 0), DET_EXISTS);
    CHECK_STR(det_context_error(other), "the master refused a report: it was 7 before");
    CHECK_OK(det_flush(other, 0));

    memset(text, 'y', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int64_t i = 4; i <= 100; i++) {
        CHECK_OK(det_report_training(det, i, &loss, 1));
        CHECK_OK(ring_read(reader, 1 << 20, &bytes, &batch, &test_err));
        ring_refuse(reader, (uint64_t)i, (det_status)(i == 93 ? 77 : DET_INVALID),
                    text);
        CHECK_OK(ring_stored(reader, batch.last, &test_err));
    }
    CHECK_EQ(det_flush(det, 0), DET_FAILED); /* an unknown status */
    CHECK_HAS(det_context_error(det), "the master refused a report, and 7 more: yyy");
    CHECK_OK(det_flush(det, 0));
    CHECK_OK(det_flush(other, 0));

    ring_reader_close(reader);
    det_close(other);
    det_close(det);
    world_end(&w);
}

/* ---- without a master ------------------------------------------------------------ */

TEST(without_a_master_reports_stay_in_a_directory_and_runs_are_counted)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    det_init_options options = {
        .size = sizeof(options), .directory = "/mine", .hparams = "{\"lr\":0.125}"};
    det_metric loss = {"loss", 1};
    struct ring_reader *reader;
    struct world w;
    det_context *det;
    int64_t seed;
    double lr;

    world_make(&w);
    world_set(&w, "DET_ALLOCATION_ID", "");
    world_set(&w, "DET_TRIAL_SEED", "");
    CHECK_OK(context_open(&w.at, &options, &det, &test_err));
    CHECK(!det_get_info(det)->is_on_cluster && det_get_info(det)->is_trial);
    CHECK_EQ(det_get_info(det)->run_id, 1);
    CHECK_STR(det_get_info(det)->directory, "/mine");
    CHECK_OK(det_hparam_double(det, "lr", &lr));
    CHECK(lr == 0.125);
    CHECK_OK(det_report_training(det, 1, &loss, 1));
    CHECK_OK(det_flush(det, -1));
    CHECK_EQ(det_preempted(det), 0);
    seed = det_get_info(det)->seed;
    det_close(det);

    CHECK_OK(context_open(&w.at, &options, &det, &test_err));
    CHECK_EQ(det_get_info(det)->run_id, 2);
    CHECK_EQ(det_get_info(det)->seed, seed);
    reader = world_reader(&w, "/mine/reports");
    CHECK_EQ(world_next(reader, &bytes).kind, REPORT_METRICS);
    ring_reader_close(reader);
    det_close(det);
    world_end(&w);
}

TEST(a_damaged_run_file_is_named)
{
    det_init_options options = {.size = sizeof(options), .directory = "/mine"};
    struct world w;
    det_context *det;
    struct err err = {0};

    world_make(&w);
    world_set(&w, "DET_ALLOCATION_ID", "");
    CHECK_OK(io_mkdir(w.io, "/mine", false, &test_err));
    world_file(&w, "/mine/run.json", "{\"format\":1,");
    CHECK_EQ(context_open(&w.at, &options, &det, &err), DET_CORRUPT);
    CHECK_HAS(err.text, "'/mine/run.json' is damaged");
    world_file(&w, "/mine/run.json", "{}");
    world_file(&w, "/mine/latest.json", "{\"uuid\":\"../../etc\"}");
    CHECK_EQ(context_open(&w.at, &options, &det, &err), DET_CORRUPT);
    CHECK_HAS(err.text, "latest.json");
    world_end(&w);
}

/* ---- memory, forks, threads ------------------------------------------------------ */

TEST(a_context_that_cannot_be_made_leaves_nothing_behind)
{
    det_init_options options = {.size = sizeof(options), .flags = DET_INIT_QUIET};

    EACH_ALLOCATION_FAILS() {
        struct world w;
        det_context *det = NULL;
        det_status st;
        int64_t armed = fault_state.left[FAULT_MEMORY];

        fault_state.left[FAULT_MEMORY] = 0;
        world_make(&w);
        fault_state.left[FAULT_MEMORY] = armed;
        st = context_open(&w.at, &options, &det, &test_err);
        if (st)
            CHECK_EQ(st, DET_NOMEM);
        if (!st)
            det_close(det);
        world_end(&w);
    }
}

TEST(reports_without_memory_are_refused_and_later_ones_accepted)
{
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    EACH_ALLOCATION_FAILS() {
        det_status st = det_report_json(det, "x", 1, "{\"a\":[1,2],\"b\":\"c\"}", NULL);

        if (st)
            CHECK_EQ(st, DET_NOMEM);
        st = det_report_progress(det, 0.5);
        if (st)
            CHECK_EQ(st, DET_NOMEM);
    }
    CHECK_OK(det_report_progress(det, 0.5));
    det_close(det);
    world_end(&w);
}

static int child_says(det_context *det)
{
    det_metric loss = {"loss", 1};
    det_checkpoint *checkpoint;
    double lr;

    if (det_report_training(det, 1, &loss, 1) != DET_STATE ||
        det_hparam_double(det, "lr", &lr) != DET_STATE ||
        det_checkpoint_begin(det, 1, NULL, &checkpoint) != DET_STATE ||
        det_flush(det, -1) != DET_STATE || det_preempted(det) || det_get_info(det) ||
        !strstr(det_context_error(det), "forked"))
        return 1;
    det_close(det);
    return 0;
}

TEST(a_forked_child_is_inert_and_its_parent_goes_on)
{
    char dir[] = "/tmp/det-fork-XXXXXX";
    det_init_options options = {.size = sizeof(options)};
    det_metric loss = {"loss", 1};
    det_context *det;
    int status;
    pid_t pid;

    CHECK(mkdtemp(dir));
    unsetenv("DET_ALLOCATION_ID");
    options.directory = dir;
    CHECK_OK(det_init(&options, &det));
    CHECK_OK(det_report_training(det, 1, &loss, 1));
    pid = fork();
    if (pid == 0)
        _exit(child_says(det));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_OK(det_report_training(det, 2, &loss, 1));
    CHECK_EQ(det_report(det, "", 2, &loss, 1), DET_INVALID);
    CHECK_HAS(det_context_error(det), "needs a group");
    det_close(det);
    CHECK_OK(io_remove_tree(io_system(), dir, &test_err));
}

struct speaker {
    struct work task;
    det_context *det;
    struct gate *gate;
    int failures;
};

static void speak(struct work *task)
{
    struct speaker *speaker = CONTAINER_OF(task, struct speaker, task);
    det_metric loss = {"loss", 1};
    char name[32], wanted[64];

    snprintf(name, sizeof(name), "no%p", (void *)speaker);
    snprintf(wanted, sizeof(wanted), "there is no hyperparameter '%s'", name);
    for (int i = 0; i < 200; i++) {
        double value;

        speaker->failures += det_report_training(speaker->det, i, &loss, 1) != DET_OK;
        speaker->failures +=
            det_hparam_double(speaker->det, name, &value) != DET_NOT_FOUND;
        speaker->failures += strcmp(det_context_error(speaker->det), wanted) != 0;
    }
    gate_open(speaker->gate);
}

TEST(threads_report_at_once_and_each_reads_its_own_sentence)
{
    enum { THREADS = 8 };
    char dir[] = "/tmp/det-threads-XXXXXX";
    det_init_options options = {.size = sizeof(options)};
    struct speaker speakers[THREADS];
    struct executor *exec;
    struct lane *lane;
    det_context *det;

    CHECK(mkdtemp(dir));
    unsetenv("DET_ALLOCATION_ID");
    options.directory = dir;
    CHECK_OK(det_init(&options, &det));
    CHECK_OK(executor_threads_new(&clock_system, &exec, &test_err));
    CHECK_OK(lane_new(exec, "speak", THREADS, &lane, &test_err));
    for (size_t i = 0; i < THREADS; i++) {
        speakers[i] = (struct speaker){.task = WORK_INIT(speak), .det = det};
        CHECK_OK(gate_new(exec, &speakers[i].gate, &test_err));
        lane_post(lane, &speakers[i].task);
    }
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(gate_wait(speakers[i].gate, 0));
        CHECK_EQ(speakers[i].failures, 0);
    }
    executor_free(exec);
    for (size_t i = 0; i < THREADS; i++)
        gate_free(speakers[i].gate);
    det_close(det);
    CHECK_OK(io_remove_tree(io_system(), dir, &test_err));
}
