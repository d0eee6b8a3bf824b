/* SPDX-License-Identifier: Apache-2.0 */
/* test_searcher.c - the searcher's operation and the notes of a trial, in a task with a
 * master in memory, and without a master. */
#include "det/searcher.h"

#include <math.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/thread/executor.h"
#include "det/metadata.h"
#include "net/memory/net_memory.h"
#include "net/net.h"
#include "tests/unit/libdet/world.h"

struct place {
    struct world w;
    struct executor *exec;
    struct net *net;
    struct net_server *server;
    det_context *det;
    char url[64];
    char asked[256]; /* the last call: method, path and body */
    int status;
    const char *answer;
};

static void handle(void *arg, struct net_exchange *x)
{
    struct place *p = arg;
    struct buf body = BUF_INIT;
    size_t len;
    const char *text = net_request_body(x, &len);

    snprintf(p->asked, sizeof(p->asked), "%s %s %.*s",
             net_request_method(x) == NET_GET ? "GET" : "POST", net_request_path(x),
             (int)len, text);
    buf_puts(&body, p->answer);
    net_answer(x, p->status, "application/json", NULL, &body);
}

/* Makes a place inside a task. */
static void task_make(struct place *p, const char *config)
{
    struct net_server_config server = {.host = "127.0.0.1",
                                       .max_body_bytes = 1 << 20,
                                       .threads = 1,
                                       .mark = "0badcafe-0000",
                                       .handler = handle,
                                       .arg = p};

    memset(p, 0, sizeof(*p));
    world_make(&p->w);
    CHECK_OK(executor_single_new(&p->w.clock, 1, &p->exec, &test_err));
    CHECK_OK(net_memory_new(p->exec, 1, &p->net, &test_err));
    CHECK_OK(net_serve(p->net, &server, &p->server, &test_err));
    snprintf(p->url, sizeof(p->url), "http://127.0.0.1:%u", net_server_port(p->server));
    world_set(&p->w, "DET_MASTER", p->url);
    if (config)
        world_set(&p->w, "DET_EXPERIMENT_CONFIG", config);
    p->w.at.exec = p->exec;
    p->w.at.net = p->net;
    p->det = world_open(&p->w);
    p->status = 200;
}

/* Makes a place outside a task; `io` NULL: in a new world. */
static void offline_make(struct place *p, const char *config)
{
    memset(p, 0, sizeof(*p));
    world_make(&p->w);
    world_set(&p->w, "DET_ALLOCATION_ID", "");
    world_set(&p->w, "DET_OFFLINE_DIR", "/run");
    world_set(&p->w, "DET_EXPERIMENT_CONFIG", config);
    p->det = world_open(&p->w);
}

static void place_end(struct place *p)
{
    det_close(p->det);
    if (p->server) {
        net_server_free(p->server);
        net_free(p->net);
        executor_free(p->exec);
    }
    world_end(&p->w);
}

TEST(the_length_is_what_the_configuration_says)
{
    static const struct {
        const char *config;
        int unit;
        int64_t count;
    } cases[] = {
        {"{\"searcher\":{\"max_length\":{\"batches\":100}}}", DET_BATCHES, 100},
        {"{\"searcher\":{\"max_length\":{\"epochs\":3}}}", DET_EPOCHS, 3},
        {"{\"searcher\":{\"max_length\":{\"records\":5}}}", DET_RECORDS, 5},
        {"{\"searcher\":{\"max_length\":7}}", DET_NO_UNIT, 7},
        {"{}", DET_EPOCHS, 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        det_operation operation = {sizeof(operation)};
        struct place p;

        offline_make(&p, cases[i].config);
        CHECK_OK(det_searcher_operation(p.det, &operation));
        CHECK_EQ(operation.length.unit, cases[i].unit);
        CHECK_EQ(operation.length.count, cases[i].count);
        place_end(&p);
    }
}

TEST(without_a_length_a_trial_decides_itself_and_a_wrong_one_is_told)
{
    det_operation operation = {sizeof(operation)};
    struct place p;

    task_make(&p, NULL);
    CHECK_EQ(det_searcher_operation(p.det, &operation), DET_NOT_FOUND);
    CHECK_HAS(det_context_error(p.det), "has no max_length: set searcher.max_length");
    CHECK_EQ(det_operation_progress(p.det, &operation, 1), DET_INVALID);
    operation.size = 0;
    CHECK_EQ(det_searcher_operation(p.det, &operation), DET_INVALID);
    CHECK_EQ(det_searcher_operation(p.det, NULL), DET_INVALID);
    place_end(&p);
    operation.size = sizeof(operation);
    offline_make(&p, "{\"searcher\":{\"max_length\":{\"hours\":1}}}");
    CHECK_EQ(det_searcher_operation(p.det, &operation), DET_INVALID);
    CHECK_HAS(det_context_error(p.det), "searcher.max_length is not a length");
    place_end(&p);
}

TEST(progress_is_a_share_of_the_length_and_an_operation_ends_once)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    det_operation operation = {sizeof(operation)};
    static const struct {
        double done;
        const char *text;
    } cases[] = {{50, "0.25"}, {-3, "0"}, {1000, "1"}};
    struct ring_reader *reader;
    struct place p;

    offline_make(&p, "{\"searcher\":{\"max_length\":{\"batches\":200}}}");
    CHECK_OK(det_searcher_operation(p.det, &operation));
    reader = world_reader(&p.w, "/run/reports");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct report report;

        CHECK_OK(det_operation_progress(p.det, &operation, cases[i].done));
        report = world_next(reader, &bytes);
        CHECK_EQ(report.kind, REPORT_PROGRESS);
        CHECK(memmem(report.payload, report.len, cases[i].text, strlen(cases[i].text)));
    }
    CHECK_EQ(det_operation_progress(p.det, &operation, NAN), DET_INVALID);
    CHECK_OK(det_operation_complete(p.det, &operation));
    CHECK_EQ(det_operation_complete(p.det, &operation), DET_STATE);
    ring_reader_close(reader);
    place_end(&p);
}

TEST(the_best_of_the_experiment_is_asked_for)
{
    struct place p;
    double best = 0;

    task_make(&p, NULL);
    p.answer = "{\"metric\":0.125}";
    CHECK_OK(det_searcher_best(p.det, &best));
    CHECK(best == 0.125);
    CHECK_STR(p.asked,
              "GET /api/v1/experiments/3/searcher/best_searcher_validation_metric ");
    p.status = 404;
    p.answer = "{\"error\":{\"code\":5,\"error\":\"none yet\"}}";
    CHECK_EQ(det_searcher_best(p.det, &best), DET_NOT_FOUND);
    p.status = 200;
    p.answer = "nonsense";
    CHECK_EQ(det_searcher_best(p.det, &best), DET_CORRUPT);
    place_end(&p);
    offline_make(&p, "{}");
    CHECK_EQ(det_searcher_best(p.det, &best), DET_NOT_FOUND);
    place_end(&p);
}

TEST(notes_are_kept_by_the_master)
{
    char text[64] = "", few[4];
    struct place p;
    size_t len = 0;

    task_make(&p, NULL);
    p.answer = "{\"metadata\":{\"a\":{\"b\":1}}}";
    CHECK_OK(det_metadata_get(p.det, text, sizeof(text), &len));
    CHECK_STR(text, "{\"a\":{\"b\":1}}");
    CHECK_EQ(len, strlen(text));
    CHECK_STR(p.asked, "GET /api/v1/runs/7/metadata ");
    CHECK_OK(det_metadata_set(p.det, "{\"c\": [1]}", few, sizeof(few), &len));
    CHECK_STR(few, "{\"a");
    CHECK_EQ(len, strlen(text));
    CHECK_STR(p.asked,
              "POST /api/v1/runs/7/metadata {\"runId\":7,\"metadata\":{\"c\":[1]}}");
    p.status = 503;
    CHECK_EQ(det_metadata_get(p.det, NULL, 0, NULL), DET_BUSY);
    place_end(&p);
}

TEST(notes_without_a_platform_outlive_the_run)
{
    char text[128] = "";
    struct place p;
    det_init_options again = {.size = sizeof(again)};

    offline_make(&p, "{}");
    CHECK_OK(det_metadata_get(p.det, text, sizeof(text), NULL));
    CHECK_STR(text, "{}");
    CHECK_OK(
        det_metadata_set(p.det, "{\"a\":{\"x\":1,\"y\":2},\"b\":1}", NULL, 0, NULL));
    det_close(p.det);
    CHECK_OK(context_open(&p.w.at, &again, &p.det, &test_err));
    CHECK_OK(det_metadata_set(p.det, "{\"a\":{\"y\":3},\"b\":[2]}", text, sizeof(text),
                              NULL));
    CHECK_STR(text, "{\"a\":{\"x\":1,\"y\":3},\"b\":[2]}");
    text[0] = '\0';
    CHECK_OK(det_metadata_get(p.det, text, sizeof(text), NULL));
    CHECK_STR(text, "{\"a\":{\"x\":1,\"y\":3},\"b\":[2]}");
    CHECK_EQ(det_metadata_set(p.det, "[1]", NULL, 0, NULL), DET_INVALID);
    CHECK_EQ(det_metadata_set(p.det, "{", NULL, 0, NULL), DET_INVALID);
    CHECK_EQ(det_metadata_set(p.det, NULL, NULL, 0, NULL), DET_INVALID);
    world_file(&p.w, "/run/metadata.json", "{\"half");
    CHECK_EQ(det_metadata_get(p.det, text, sizeof(text), NULL), DET_CORRUPT);
    /* a list in the file is refused, not taken for empty notes */
    world_file(&p.w, "/run/metadata.json", "[1]");
    CHECK_EQ(det_metadata_set(p.det, "{\"a\":1}", NULL, 0, NULL), DET_CORRUPT);
    place_end(&p);
}

TEST(running_out_of_memory_loses_no_notes)
{
    char text[64] = "";
    struct place p;

    offline_make(&p, "{}");
    CHECK_OK(det_metadata_set(p.det, "{\"a\":1}", NULL, 0, NULL));
    EACH_ALLOCATION_FAILS() {
        det_status st = det_metadata_set(p.det, "{\"b\":2}", NULL, 0, NULL);

        CHECK(fault_fired() ? st == DET_NOMEM : st == DET_OK);
    }
    CHECK_OK(det_metadata_get(p.det, text, sizeof(text), NULL));
    CHECK_STR(text, "{\"a\":1,\"b\":2}");
    place_end(&p);
}

TEST(running_out_of_memory_fails_a_call_to_the_master_and_the_next_one_works)
{
    struct place p;

    /* the master runs out of memory too, and says so */
    task_make(&p, "{\"searcher\":{\"max_length\":{\"batches\":8}}}");
    EACH_ALLOCATION_FAILS() {
        det_operation operation = {.size = sizeof(operation)};
        double best = -1;
        det_status st;

        p.answer = "{\"metric\":0.5}";
        st = det_searcher_operation(p.det, &operation);
        if (!st)
            st = det_operation_progress(p.det, &operation, 4);
        if (!st)
            st = det_searcher_best(p.det, &best);
        if (!st)
            st = det_metadata_set(p.det, "{\"a\":1}", NULL, 0, NULL);
        CHECK(fault_fired() || !st);
        if (st)
            CHECK(*det_context_error(p.det));
        else
            CHECK(best > 0.49 && best < 0.51);
    }
    place_end(&p);
}

TEST(a_follower_takes_the_run_as_it_is)
{
    det_init_options follow = {.size = sizeof(follow),
                               .flags = DET_INIT_QUIET | DET_INIT_FOLLOW};
    det_context *follower;
    struct place p;

    offline_make(&p, "{}");
    CHECK_OK(context_open(&p.w.at, &follow, &follower, &test_err));
    CHECK_EQ(det_get_info(follower)->run_id, det_get_info(p.det)->run_id);
    CHECK_EQ(det_get_info(follower)->seed, det_get_info(p.det)->seed);
    det_close(follower);
    follow.directory = "/elsewhere";
    CHECK_EQ(context_open(&p.w.at, &follow, &follower, &test_err), DET_NOT_FOUND);
    CHECK_HAS(test_err.text, "no run was started in '/elsewhere'");
    place_end(&p);
}
