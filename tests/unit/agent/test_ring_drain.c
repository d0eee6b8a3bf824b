/* SPDX-License-Identifier: Apache-2.0 */
/* Reports from a ring to a master, on one thread, a clock that jumps and a network that
 * loses calls. */
#include <string.h>

#include "agent/master_link.h"
#include "agent/task/ring_drain.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/vec.h"
#include "base/thread/executor.h"
#include "data/json/json.h"
#include "libdet/ring/ring.h"
#include "net/memory/net_memory.h"
#include "net/net.h"
#include "tests/support/test.h"
#include "wire/batch.h"
#include "wire/report.h"

enum { SECOND = 1000000 };

struct world {
    struct clock_manual clock;
    struct executor *exec;
    struct net *net;
    struct net_server *server;
    struct master_link *link;
    struct io *io;
    struct lane *lane;
    struct lane *trainer_lane;
    struct work trainer;
    struct ring *ring;
    struct ring_drain *drain;
    bool is_over;

    /* the training process */
    uint64_t put;
    uint64_t busy; /* puts that found the ring full */
    uint64_t puts_wanted;
    bool has_trained;

    /* what the master has */
    uint32_t numbers_most;
    uint64_t mark;
    VEC(uint64_t) numbers; /* that came in records */
    uint64_t holes;        /* numbers that came in no record */
    int batches;
    size_t largest;
    const char *refusal; /* answers 400 with it */
    bool is_strange;     /* answers 401: it does not know the token */
    uint64_t bad;        /* refuses this record for its own sake; 0: none */
    uint64_t unreadable; /* and the whole batch with this one; 0: none */
    const char *problem;
};

/* ---- the master ------------------------------------------------------------------ */

static bool has_number(const char *at, size_t len, uint64_t number)
{
    struct report report;
    size_t used;

    while (!report_decode(at, len, &report, &used, NULL)) {
        if (report.number == number)
            return true;
        at += used;
        len -= used;
    }
    return false;
}

static void take(struct world *w, const struct batch_head *head, const char *at,
                 size_t len)
{
    uint64_t before = w->numbers.count;

    for (uint32_t i = 0; i < head->count; i++) {
        struct report report;
        size_t used = 0;

        if (report_decode(at, len, &report, &used, NULL)) {
            w->problem = "a damaged record was sent";
            return;
        }
        if (report.number > w->mark)
            CHECK(vec_push(&w->numbers, report.number));
        at += used;
        len -= used;
    }
    if (len)
        w->problem = "there is something behind the records";
    w->holes += head->last - w->mark - (w->numbers.count - before);
    w->mark = head->last;
}

static void handle(void *arg, struct net_exchange *x)
{
    struct world *w = arg;
    struct buf reply = BUF_INIT;
    struct batch_head head;
    size_t len;
    const char *body = net_request_body(x, &len);
    int status = 200;

    if (strcmp(net_request_path(x), "/info") == 0) { /* after a call that failed */
        CHECK_NULL(net_request_header(x, "Grpc-Metadata-x-allocation-token"));
        net_answer(x, 200, "application/json", NULL, NULL);
        return;
    }
    CHECK_STR(net_request_path(x), "/api/v1/allocations/3.u.1/reports");
    CHECK_OK(batch_head_decode(body, len, &head, &test_err));
    CHECK_EQ(head.source, 2);
    body += BATCH_HEAD;
    len -= BATCH_HEAD;
    w->batches++;
    w->largest = MAX(w->largest, len);
    if (w->is_strange) {
        buf_puts(&reply, "{\"error\":{\"code\":16,\"error\":\"who are you\"}}");
        status = 401;
    } else if (w->refusal || (w->unreadable && has_number(body, len, w->unreadable))) {
        buf_puts(&reply, w->refusal ? w->refusal
                                    : "{\"error\":{\"code\":3,\"error\":\"what?\"}}");
        status = 400;
    } else {
        bool is_refused = w->bad > w->mark && has_number(body, len, w->bad);

        if (head.first <= w->mark + 1 && head.last > w->mark)
            take(w, &head, body, len);
        buf_printf(
            &reply, "{\"stored\":%llu,\"refused\":[%s]}", (unsigned long long)w->mark,
            is_refused ? "{\"number\":2,\"status\":\"EXISTS\",\"error\":\"it is bad\"}"
                       : "");
    }
    net_answer(x, status, "application/json", NULL, &reply);
}

static void serve(struct world *w)
{
    struct net_server_config server = {.host = "127.0.0.1",
                                       .port = 8080,
                                       .max_body_bytes = 16 << 20,
                                       .threads = 1,
                                       .max_connections = 8,
                                       .mark = "c1",
                                       .handler = handle,
                                       .arg = w};

    CHECK_OK(net_serve(w->net, &server, &w->server, &test_err));
}

/* ---- the training process -------------------------------------------------------- */

static det_status put_one(struct world *w, const char *name)
{
    const struct report_value value = {
        .name = name, .name_len = strlen(name), .number = (double)w->put};
    const struct report_metrics metrics = {.steps = (int64_t)w->put,
                                           .group = "training",
                                           .group_len = 8,
                                           .count = 1,
                                           .value = &value};
    det_status status =
        ring_put_metrics(w->ring, 1, w->clock.wall_us, &metrics, &test_err);

    if (!status)
        w->put++;
    return status;
}

static void put(struct world *w, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        CHECK_OK(put_one(w, "loss"));
}

/* One report every tenth of a second, whoever listens. */
static void train(struct work *task)
{
    struct world *w = CONTAINER_OF(task, struct world, trainer);

    if (put_one(w, "loss"))
        w->busy++;
    if (w->put < w->puts_wanted)
        lane_post_at(w->trainer_lane, task, w->clock.mono_us + SECOND / 10);
    else
        w->has_trained = true;
}

/* ---- life ------------------------------------------------------------------------ */

static void on_change(void *arg)
{
    struct world *w = arg;

    w->is_over = ring_drain_is_over(w->drain);
}

static void open_ring(struct world *w)
{
    const struct ring_config config = {
        .io = w->io, .dir = "/t/reports", .segment_bytes = 64 << 10};

    CHECK_OK(ring_open(&config, &w->ring, &test_err));
}

static void open_drain(struct world *w, bool on_lane)
{
    const struct ring_drain_config config = {.io = w->io,
                                             .exec = on_lane ? w->exec : NULL,
                                             .lane = on_lane ? w->lane : NULL,
                                             .link = w->link,
                                             .dir = "/t/reports",
                                             .allocation = "3.u.1",
                                             .rank = 2,
                                             .numbers_most = w->numbers_most,
                                             .on_change = on_lane ? on_change : NULL,
                                             .arg = w};

    CHECK_OK(ring_drain_new(&config, &w->drain, &test_err));
    if (on_lane)
        ring_drain_start(w->drain);
}

/* `numbers_most` as in ring_drain.h; 0: the default. */
static void world_init_with(struct world *w, uint64_t seed, uint32_t numbers_most)
{
    *w = (struct world){.trainer = WORK_INIT(train), .numbers_most = numbers_most};
    log_setup(LOG_ERROR, -1);
    clock_manual_init(&w->clock, 1000);
    CHECK_OK(executor_single_new(&w->clock, seed, &w->exec, &test_err));
    CHECK_OK(net_memory_new(w->exec, seed, &w->net, &test_err));
    serve(w);
    CHECK_OK(master_link_new(w->net, "http://127.0.0.1:8080", LINK_TASK, "t", &w->link,
                             &test_err));
    CHECK_OK(lane_new(w->exec, "drain", 1, &w->lane, &test_err));
    CHECK_OK(lane_new(w->exec, "trainer", 1, &w->trainer_lane, &test_err));
    CHECK_OK(io_memory_new(&w->io, &test_err));
    CHECK_OK(io_mkdir(w->io, "/t", true, &test_err));
    open_ring(w);
    open_drain(w, true);
}

static void world_init(struct world *w, uint64_t seed)
{
    world_init_with(w, seed, 0);
}

static void world_done(struct world *w)
{
    master_link_free(w->link);
    if (w->server)
        net_server_free(w->server);
    executor_free(w->exec);
    ring_drain_free(w->drain);
    ring_close(w->ring);
    net_free(w->net);
    vec_done(&w->numbers);
    io_free(w->io);
}

static void pass(struct world *w, int64_t time_us)
{
    int64_t until_us = w->clock.mono_us + time_us;

    while (w->clock.mono_us < until_us)
        CHECK(executor_pump(w->exec));
}

static void end(struct world *w)
{
    ring_drain_end(w->drain);
    CHECK(executor_pump_until(w->exec, &w->is_over));
}

/* Everything that was accepted is there, once, in order. */
static void check_all(struct world *w)
{
    CHECK_NULL(w->problem);
    CHECK_EQ(w->numbers.count, w->put);
    for (size_t i = 0; i < w->numbers.count; i++)
        CHECK_EQ(w->numbers.at[i], i + 1);
    CHECK_EQ(w->holes, 0);
}

static void check_note(struct world *w, const char *part)
{
    char text[ERR_TEXT_SIZE];

    CHECK(ring_drain_take_note(w->drain, text));
    CHECK_HAS(text, part);
}

static void check_no_note(struct world *w)
{
    char text[ERR_TEXT_SIZE];

    CHECK(!ring_drain_take_note(w->drain, text));
}

/* ---- tests ----------------------------------------------------------------------- */

TEST(what_comes_together_is_sent_together)
{
    struct world w;

    world_init(&w, 1);
    put(&w, 100);
    pass(&w, SECOND);
    CHECK_EQ(w.mark, 100);
    CHECK(w.batches <= 2);
    CHECK(!w.is_over);
    put(&w, 1);
    end(&w);
    CHECK_OK(ring_drain_outcome(w.drain, &test_err));
    check_all(&w);
    check_no_note(&w);
    world_done(&w);
}

TEST(a_network_that_loses_and_repeats_calls_stores_each_report_once)
{
    static const struct net_faults faults = {200, 200, 200};

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world w;

        world_init(&w, seed);
        net_memory_faults(w.net, &faults);
        for (int i = 0; i < 50; i++) {
            put(&w, seed * 7);
            executor_pump(w.exec);
        }
        end(&w);
        check_all(&w);
        world_done(&w);
    }
}

TEST(batches_have_a_limit_and_stored_segments_go)
{
    struct world w;
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char **names;
    size_t files = 0;

    world_init(&w, 2);
    put(&w, 20000);
    end(&w);
    check_all(&w);
    CHECK(w.batches >= 4);
    CHECK(w.largest <= DRAIN_BATCH);
    CHECK_OK(io_list(w.io, "/t/reports", &mem, &names, &test_err));
    for (; *names; names++)
        files++;
    CHECK(files <= 4); /* of more than 20 */
    world_done(&w);
}

TEST(a_trial_whose_master_is_away_for_ten_minutes_trains_on_and_loses_nothing)
{
    struct world w;
    int64_t begin_us;

    world_init(&w, 3);
    w.puts_wanted = 10 * 60 * 10;
    lane_post(w.trainer_lane, &w.trainer);
    pass(&w, 10 * SECOND);
    CHECK(w.mark > 0);
    net_server_free(w.server);
    w.server = NULL;
    begin_us = w.clock.mono_us;
    pass(&w, 600 * (int64_t)SECOND);

    CHECK_EQ(w.busy, 0);
    CHECK(w.has_trained || w.put >= 5900); /* at full speed, all the while */
    CHECK(w.mark < 200);
    CHECK(!w.is_over);
    serve(&w);
    CHECK(executor_pump_until(w.exec, &w.has_trained));
    end(&w);
    CHECK(w.clock.mono_us - begin_us < 700 * (int64_t)SECOND);
    check_all(&w);
    check_no_note(&w);
    world_done(&w);
}

TEST(a_run_that_is_over_stops_it)
{
    struct world w;

    world_init(&w, 4);
    w.refusal = "{\"error\":{\"code\":9,\"error\":\"over\"}}";
    put(&w, 1);
    CHECK(executor_pump_until(w.exec, &w.is_over));
    CHECK_EQ(ring_drain_outcome(w.drain, &test_err), DET_STATE);
    CHECK_HAS(test_err.text, "over");
    world_done(&w);
}

TEST(a_token_that_is_not_taken_may_be_taken_later)
{
    struct world w;

    world_init(&w, 4);
    w.is_strange = true;
    put(&w, 3);
    pass(&w, 600 * (int64_t)SECOND);
    CHECK(!w.is_over);
    CHECK_EQ(w.mark, 0);
    check_no_note(&w);
    w.is_strange = false;
    pass(&w, 10 * SECOND);
    CHECK_EQ(w.mark, 3);
    end(&w);
    CHECK_OK(ring_drain_outcome(w.drain, &test_err));
    check_all(&w);
    world_done(&w);
}

TEST(a_token_that_is_not_taken_at_the_end_leaves_the_rest_to_the_agent)
{
    struct world w;
    size_t batches;

    world_init(&w, 4);
    put(&w, 2);
    pass(&w, SECOND);
    w.is_strange = true;
    put(&w, 2);
    end(&w);
    CHECK_EQ(ring_drain_outcome(w.drain, &test_err), DET_UNAUTHENTICATED);
    check_no_note(&w); /* nothing is lost */
    batches = (size_t)w.batches;
    w.is_strange = false;
    CHECK_OK(
        ring_drain_rest(w.drain, &test_err)); /* as the agent does, with its token */
    CHECK((size_t)w.batches > batches);
    check_all(&w);
    world_done(&w);
}

TEST(a_refused_report_is_said_and_does_not_stop_the_others)
{
    struct ring_refusal refusal;
    struct world w;
    uint64_t last;

    world_init(&w, 5);
    w.bad = 2;
    put(&w, 3);
    pass(&w, SECOND);
    CHECK_EQ(w.mark, 3);
    check_note(&w, "it is bad");
    check_no_note(&w);
    CHECK(ring_refused(w.ring, 0, &refusal, &last)); /* who waits for it hears of it */
    CHECK_EQ(refusal.number, 2);
    CHECK_EQ(refusal.status, DET_EXISTS);
    CHECK_STR(refusal.text, "it is bad");
    for (uint64_t i = 4; i < 30; i++) {
        w.bad = i;
        put(&w, 1);
        pass(&w, SECOND);
    }
    for (int i = 0; i < 9; i++)
        check_note(&w, "it is bad");
    check_note(&w, "they are not listed here");
    check_no_note(&w);
    end(&w);
    check_all(&w);
    world_done(&w);
}

TEST(a_batch_that_the_master_cannot_read_is_passed_over)
{
    struct world w;

    world_init(&w, 6);
    w.unreadable = 2;
    put(&w, 3);
    pass(&w, SECOND);
    check_note(&w, "3 reports are lost");
    CHECK_EQ(w.mark, 3);
    CHECK_EQ(w.numbers.count, 0);
    put(&w, 2);
    end(&w);
    CHECK_EQ(w.mark, 5);
    CHECK_EQ(w.numbers.count, 2);
    CHECK_EQ(w.holes, 3);
    world_done(&w);
}

static void damage_a_record(struct world *w)
{
    const char wrong = 0x55;
    struct io_file *file;

    CHECK_OK(
        io_open(w->io, "/t/reports/segment-000000000001", IO_WRITE, &file, &test_err));
    CHECK_OK(io_write_at(file, 500, &wrong, 1, &test_err));
    io_close(file);
}

TEST(damaged_records_are_said_once_and_skipped)
{
    struct world w;

    world_init(&w, 7);
    put(&w, 10);
    damage_a_record(&w);
    end(&w);
    CHECK_EQ(w.mark, 10);
    CHECK_EQ(w.numbers.count, 9);
    CHECK_EQ(w.holes, 1);
    check_note(&w, "damaged");
    check_no_note(&w);
    CHECK_NULL(w.problem);
    world_done(&w);
}

/* As when an agent comes back to what a dead supervisor left, time and again. */
TEST(damage_is_said_when_the_master_has_the_rest)
{
    struct world w;

    world_init(&w, 14);
    end(&w);
    ring_drain_free(w.drain);
    put(&w, 10);
    damage_a_record(&w);
    net_server_free(w.server);
    w.server = NULL;
    open_drain(&w, false);
    CHECK(master_link_may_retry(ring_drain_rest(w.drain, &test_err)));
    check_no_note(&w);
    serve(&w);
    CHECK_OK(ring_drain_rest(w.drain, &test_err));
    check_note(&w, "1 reports were damaged");
    check_no_note(&w);
    CHECK_EQ(w.holes, 1);
    world_done(&w);
}

TEST(a_ring_that_cannot_be_opened_yet_is_drained_later)
{
    struct world w;

    world_init(&w, 15);
    end(&w);
    w.is_over = false;
    ring_drain_free(w.drain);
    ring_close(w.ring);
    CHECK_OK(io_remove_tree(w.io, "/t/reports", &test_err));
    io_memory_limit(w.io, 1);
    open_drain(&w, true);
    pass(&w, 60 * SECOND);
    CHECK(!w.is_over);
    io_memory_limit(w.io, 0);
    open_ring(&w);
    put(&w, 3);
    ring_drain_hurry(w.drain);
    pass(&w, SECOND);
    CHECK_EQ(w.mark, 3);
    end(&w);
    check_all(&w);
    check_no_note(&w);
    world_done(&w);
}

TEST(a_ring_that_can_never_be_opened_does_not_keep_the_task)
{
    struct world w;

    world_init(&w, 16);
    end(&w);
    w.is_over = false;
    ring_drain_free(w.drain);
    ring_close(w.ring);
    w.ring = NULL;
    CHECK_OK(io_remove_tree(w.io, "/t/reports", &test_err));
    CHECK_OK(io_replace(w.io, "/t/reports", "", 0, true, &test_err));
    open_drain(&w, true);
    pass(&w, 60 * SECOND);
    end(&w);
    CHECK_OK(ring_drain_outcome(w.drain, &test_err));
    check_note(&w, "cannot be read and is lost");
    world_done(&w);
}

TEST(a_full_ring_is_said_once)
{
    struct world w;
    char name[3000];

    world_init(&w, 12);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    net_server_free(w.server);
    w.server = NULL;
    ring_close(w.ring);
    CHECK_OK(ring_open(&(struct ring_config){.io = w.io,
                                             .dir = "/t/reports",
                                             .segment_bytes = 64 << 10,
                                             .limit_bytes = 128 << 10},
                       &w.ring, &test_err));
    while (!put_one(&w, name))
        continue;
    pass(&w, 60 * SECOND);
    CHECK_EQ(put_one(&w, name), DET_BUSY);
    pass(&w, 60 * SECOND);
    check_note(&w, "full");
    check_no_note(&w);
    serve(&w);
    pass(&w, 60 * SECOND);
    put(&w, 1); /* there is room again */
    end(&w);
    check_all(&w);
    world_done(&w);
}

TEST(a_refusal_of_everything_is_said)
{
    struct world w;

    world_init(&w, 13);
    w.refusal = "{\"error\":{\"code\":3,\"error\":\"I do not speak this\"}}";
    put(&w, 1);
    CHECK(executor_pump_until(w.exec, &w.is_over));
    CHECK_EQ(ring_drain_outcome(w.drain, &test_err), DET_INVALID);
    check_note(&w, "1 reports are lost");
    check_note(&w, "not sent any more");
    world_done(&w);
}

/* A master that was set back to an older copy of its data. */
TEST(a_master_that_lacks_something_gets_it_again_or_hears_that_it_is_lost)
{
    struct world w;

    world_init(&w, 8);
    put(&w, 5);
    pass(&w, SECOND);
    CHECK_EQ(w.mark, 5);
    w.mark = 2;
    w.numbers.count = 2;
    put(&w, 1);
    end(&w);
    CHECK_EQ(w.mark, 6);
    CHECK_EQ(w.numbers.count, 3);
    CHECK_EQ(w.numbers.at[2], 6);
    CHECK_EQ(w.holes, 3);
    check_note(&w, "reports 3 to 5 are lost");
    world_done(&w);
}

TEST(a_large_loss_is_said_in_several_batches)
{
    struct world w;

    world_init_with(&w, 9, 2);
    put(&w, 2);
    pass(&w, SECOND);
    put(&w, 2);
    pass(&w, SECOND);
    put(&w, 2);
    pass(&w, SECOND);
    CHECK_EQ(w.mark, 6);
    w.mark = 1;
    w.numbers.count = 1;
    put(&w, 2);
    end(&w);
    CHECK_EQ(w.mark, 8);
    CHECK_EQ(w.numbers.count, 3);
    CHECK_EQ(w.numbers.at[1], 7);
    CHECK_EQ(w.numbers.at[2], 8);
    check_note(&w, "reports 2 to 3 are lost");
    check_note(&w, "reports 4 to 5 are lost");
    check_note(&w, "reports 6 to 6 are lost");
    check_no_note(&w);
    world_done(&w);
}

TEST(a_later_supervisor_goes_on_where_the_master_is)
{
    struct world w;

    world_init(&w, 9);
    put(&w, 5);
    pass(&w, SECOND);
    put(&w, 5); /* its supervisor dies before these are sent */
    executor_free(w.exec);
    ring_drain_free(w.drain);
    net_server_free(w.server);
    net_free(w.net);
    master_link_free(w.link);
    CHECK_OK(executor_single_new(&w.clock, 1, &w.exec, &test_err));
    CHECK_OK(net_memory_new(w.exec, 1, &w.net, &test_err));
    serve(&w);
    CHECK_OK(master_link_new(w.net, "http://127.0.0.1:8080", LINK_TASK, "t", &w.link,
                             &test_err));
    open_drain(&w, false);
    CHECK_OK(ring_drain_rest(w.drain, &test_err));
    check_all(&w);
    net_server_free(w.server); /* nobody is there: it says so, and keeps what it has */
    w.server = NULL;
    put(&w, 1);
    CHECK(master_link_may_retry(ring_drain_rest(w.drain, &test_err)));
    serve(&w);
    CHECK_OK(ring_drain_rest(w.drain, &test_err));
    check_all(&w);
    world_done(&w);
}

static void say_no_page(void *arg, struct net_exchange *x)
{
    struct buf reply = BUF_INIT;

    buf_puts(&reply, "no such page\n");
    net_answer(x, *(int *)arg, "text/plain", NULL, &reply);
}

TEST(another_program_on_the_masters_port_does_not_end_the_reports)
{
    int statuses[] = {404, 401, 200, 400, 413};

    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        const struct net_server_config config = {.host = "127.0.0.1",
                                                 .port = 8080,
                                                 .max_body_bytes = 16 << 20,
                                                 .threads = 1,
                                                 .max_connections = 8,
                                                 .handler = say_no_page,
                                                 .arg = &statuses[i]};
        struct world w;

        world_init(&w, 12 + i);
        put(&w, 5);
        pass(&w, SECOND);
        net_server_free(w.server);
        CHECK_OK(net_serve(w.net, &config, &w.server, &test_err));
        put(&w, 5);
        pass(&w, 10 * (int64_t)SECOND);
        CHECK(!w.is_over);
        net_server_free(w.server);
        serve(&w);
        put(&w, 5);
        end(&w);
        CHECK_OK(ring_drain_outcome(w.drain, &test_err));
        check_all(&w);
        check_no_note(&w);
        world_done(&w);
    }
}

TEST(a_task_that_never_began_has_nothing_to_report)
{
    struct world w;

    world_init(&w, 10);
    end(&w);
    ring_drain_free(w.drain);
    w.is_over = false;
    const struct ring_drain_config config = {.io = w.io,
                                             .exec = w.exec,
                                             .lane = w.lane,
                                             .link = w.link,
                                             .dir = "/nowhere/reports",
                                             .allocation = "3.u.1",
                                             .on_change = on_change,
                                             .arg = &w};

    CHECK_OK(ring_drain_new(&config, &w.drain, &test_err));
    end(&w);
    CHECK_OK(ring_drain_outcome(w.drain, &test_err));
    check_no_note(&w);
    world_done(&w);
}

TEST(memory_that_runs_out_is_an_ordinary_error)
{
    struct world w;

    world_init(&w, 11);
    put(&w, 3);
    EACH_ALLOCATION_FAILS() {
        const struct ring_drain_config config = {
            .io = w.io, .dir = "/t/reports", .allocation = "a"};
        struct ring_drain *drain = NULL;
        det_status status = ring_drain_new(&config, &drain, &test_err);

        if (status)
            CHECK_EQ(status, DET_NOMEM);
        ring_drain_free(drain);
    }
    world_done(&w);
}
