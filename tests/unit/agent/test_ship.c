/* SPDX-License-Identifier: Apache-2.0 */
/* Shipping on one thread, a clock that jumps and a network that loses calls. */
#include <string.h>

#include "agent/master_link.h"
#include "agent/task/output/ship.h"
#include "agent/task/output/spool.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/thread/executor.h"
#include "data/json/json.h"
#include "net/memory/net_memory.h"
#include "net/net.h"
#include "tests/support/test.h"

struct world {
    struct clock_manual clock;
    struct executor *exec;
    struct net *net;
    struct net_server *server;
    struct master_link *link;
    struct io *io;
    struct lane *lane;
    struct spool *spool[SHIP_STREAMS];
    struct ship *ship;
    bool is_over;

    /* what the master has */
    struct buf text[SHIP_STREAMS];
    int64_t offset[SHIP_STREAMS];
    char live[SHIP_STREAMS][64]; /* "": no line is being rewritten */
    int64_t arrived_us;          /* the last time something new came, monotonic */
    int batches;
    size_t largest;
    const char *refusal;
    const char *problem;
    bool takes_gaps; /* as an answer to a loss */
};

static void take(struct world *w, const char *body, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct json *tree;
    int stream;
    int64_t offset;

    CHECK_OK(json_parse(body, len, &mem, &tree, &test_err));
    stream = strcmp(json_str(json_get(tree, "stream"), ""), "stderr") == 0;
    offset = json_i64(json_get(tree, "offset"), -1);
    w->batches++;
    w->largest = MAX(w->largest, len);
    if (offset > w->offset[stream] && !w->takes_gaps)
        w->problem = "a gap";
    if (offset < w->offset[stream] &&
        json_i64(json_get(tree, "endOffset"), -1) > w->offset[stream])
        w->problem = "an overlap";
    if (offset != w->offset[stream])
        return; /* repeated */
    snprintf(w->live[stream], sizeof(w->live[stream]), "%s",
             json_get(tree, "live")
                 ? json_str(json_first(json_get(tree, "live"))->next, "?")
                 : "");
    w->arrived_us = w->clock.mono_us;
    json_each(line, json_get(tree, "lines")) {
        buf_puts(&w->text[stream], json_str(json_first(line)->next, "?"));
        buf_putc(&w->text[stream], '\n');
    }
    w->offset[stream] = json_i64(json_get(tree, "endOffset"), -1);
}

static void handle(void *arg, struct net_exchange *x)
{
    struct world *w = arg;
    struct buf reply = BUF_INIT;
    size_t len;
    const char *body = net_request_body(x, &len);

    if (strcmp(net_request_path(x), "/info") == 0) { /* after a call that failed */
        net_answer(x, 200, "application/json", NULL, NULL);
        return;
    }
    if (w->refusal) {
        buf_puts(&reply, w->refusal);
        net_answer(x, 400, "application/json", NULL, &reply);
        return;
    }
    take(w, body, len);
    buf_printf(&reply, "{\"offset\":%lld}",
               (long long)w->offset[strstr(body, "\"stream\":\"stderr\"") != NULL]);
    net_answer(x, 200, "application/json", NULL, &reply);
}

static void on_over(void *arg)
{
    struct world *w = arg;

    w->is_over = true;
}

static void open_spools(struct world *w)
{
    for (int i = 0; i < SHIP_STREAMS; i++) {
        struct spool_config config = {.io = w->io,
                                      .dir = "/t",
                                      .name = ship_streams[i],
                                      .segment_bytes = 1 << 20};

        CHECK_OK(spool_open(&config, &w->spool[i], &test_err));
    }
}

static void open_ship(struct world *w)
{
    const struct ship_config config = {.exec = w->exec,
                                       .lane = w->lane,
                                       .link = w->link,
                                       .spool = {w->spool[0], w->spool[1]},
                                       .allocation = "3.u.1",
                                       .on_over = on_over,
                                       .arg = w};

    CHECK_OK(ship_new(&config, &w->ship, &test_err));
}

static void world_init(struct world *w, uint64_t seed)
{
    struct net_server_config server = {.host = "127.0.0.1",
                                       .port = 8080,
                                       .max_body_bytes = 16 << 20,
                                       .threads = 1,
                                       .max_connections = 8,
                                       .mark = "c1",
                                       .handler = handle,
                                       .arg = w};

    *w = (struct world){.text = {BUF_INIT, BUF_INIT}};
    log_setup(LOG_ERROR, -1);
    clock_manual_init(&w->clock, 1000);
    CHECK_OK(executor_single_new(&w->clock, seed, &w->exec, &test_err));
    CHECK_OK(net_memory_new(w->exec, seed, &w->net, &test_err));
    CHECK_OK(net_serve(w->net, &server, &w->server, &test_err));
    CHECK_OK(master_link_new(w->net, "http://127.0.0.1:8080", LINK_TASK, "t", &w->link,
                             &test_err));
    CHECK_OK(lane_new(w->exec, "ship", 1, &w->lane, &test_err));
    CHECK_OK(io_memory_new(&w->io, &test_err));
    CHECK_OK(io_mkdir(w->io, "/t", true, &test_err));
    open_spools(w);
    open_ship(w);
}

static void world_done(struct world *w)
{
    ship_free(w->ship);
    master_link_free(w->link);
    net_server_free(w->server);
    executor_free(w->exec);
    net_free(w->net);
    for (int i = 0; i < SHIP_STREAMS; i++) {
        spool_close(w->spool[i]);
        buf_done(&w->text[i]);
    }
    io_free(w->io);
}

static void put(struct world *w, int stream, const char *text)
{
    spool_write(w->spool[stream], w->clock.wall_us, text, strlen(text));
    ship_wake(w->ship);
}

static void end(struct world *w)
{
    spool_end(w->spool[0], 0);
    spool_end(w->spool[1], 0);
    ship_wake(w->ship);
    CHECK(executor_pump_until(w->exec, &w->is_over));
    CHECK(ship_is_over(w->ship));
}

TEST(what_comes_together_is_sent_together)
{
    struct world w;

    world_init(&w, 1);
    put(&w, 0, "one\n");
    put(&w, 0, "two\n");
    put(&w, 1, "error\n");
    while (executor_pump(w.exec))
        continue;

    CHECK_STR(w.text[0].data, "one\ntwo\n");
    CHECK_STR(w.text[1].data, "error\n");
    CHECK_EQ(w.batches, 2);
    CHECK(!w.is_over);
    end(&w);
    CHECK_OK(ship_outcome(w.ship, &test_err));
    world_done(&w);
}

TEST(a_line_without_its_end_is_sent_after_some_silence)
{
    struct world w;
    int64_t begin_us;

    world_init(&w, 2);
    put(&w, 0, "loading ");
    begin_us = w.clock.mono_us;
    clock_manual_advance(&w.clock, 2000000);
    executor_pump(w.exec);
    CHECK_STR(w.text[0].data, "");
    put(&w, 0, "the data ...");
    while (executor_pump(w.exec))
        continue;

    CHECK_STR(w.text[0].data, "loading the data ...\n");
    CHECK(w.arrived_us - begin_us >= 7000000);
    put(&w, 0, " done\n");
    end(&w);
    CHECK_STR(w.text[0].data, "loading the data ...\n done\n");
    world_done(&w);
}

TEST(a_line_that_is_rewritten_is_told_now_and_then_and_stored_once)
{
    struct world w;
    int64_t begin_us;

    world_init(&w, 6);
    begin_us = w.clock.mono_us;
    for (int i = 0; i < 1000; i++) { /* ten seconds */
        char shown[32];

        snprintf(shown, sizeof(shown), "\r%d of 1000", i);
        put(&w, 1, shown);
        clock_manual_advance(&w.clock, 10000);
        executor_pump(w.exec);
    }
    while (executor_pump(w.exec))
        continue;

    CHECK_STR(w.text[1].data, "");
    CHECK_STR(w.live[1], "999 of 1000");
    CHECK((w.clock.mono_us - begin_us) / 1000000 >= 10);
    CHECK(w.batches >= 5);
    CHECK(w.batches <= (w.clock.mono_us - begin_us) / 1000000 + 2);
    CHECK(w.offset[1] > 10000); /* overwritten states need not be kept */
    put(&w, 1, "\r1000 of 1000\nafter it\n");
    while (executor_pump(w.exec))
        continue;
    CHECK_STR(w.text[1].data, "1000 of 1000\nafter it\n");
    CHECK_STR(w.live[1], "");
    put(&w, 1, "\rhalf of another");
    end(&w);
    CHECK_STR(w.text[1].data, "1000 of 1000\nafter it\nhalf of another\n");
    CHECK_STR(w.live[1], "");
    CHECK_NULL(w.problem);
    world_done(&w);
}

/* A program may erase a bar, or end its lines with "\n\r", as the last thing it does. */
TEST(blanks_after_the_last_line_do_not_keep_the_shipping)
{
    static const char *const rests[] = {"\r", "\r        \r"};

    for (size_t i = 0; i < ARRAY_LEN(rests); i++) {
        struct world w;

        world_init(&w, 12);
        put(&w, 1, "done\n");
        put(&w, 1, rests[i]);
        while (executor_pump(w.exec))
            continue;
        CHECK_STR(w.text[1].data, "done\n");
        end(&w);
        CHECK_OK(ship_outcome(w.ship, &test_err));
        CHECK_STR(w.text[1].data, "done\n");
        CHECK_NULL(w.problem);
        world_done(&w);
    }
}

TEST(a_slow_bar_stays_one_line)
{
    struct world w;

    world_init(&w, 7);
    for (int i = 1; i <= 3; i++) {
        char shown[32];

        snprintf(shown, sizeof(shown), "\r%d of 3", i);
        put(&w, 0, shown);
        clock_manual_advance(&w.clock, 60 * 1000000);
        while (executor_pump(w.exec))
            continue;
        CHECK_STR(w.live[0], shown + 1);
        CHECK_EQ(w.batches, i);
    }
    put(&w, 0, "\n");
    end(&w);

    CHECK_STR(w.text[0].data, "3 of 3\n");
    world_done(&w);
}

TEST(a_network_that_loses_calls_stores_each_bar_once)
{
    static const struct net_faults faults = {200, 200, 200};

    for (uint64_t seed = 1; seed <= 20; seed++) {
        CLEANUP(buf_done) struct buf want = BUF_INIT;
        struct world w;

        world_init(&w, seed);
        net_memory_faults(w.net, &faults);
        for (int bar = 0; bar < 20; bar++) {
            for (int i = 0; i <= 30; i++) {
                char shown[64];

                snprintf(shown, sizeof(shown), "\rbar %d: %d of 30%s", bar, i,
                         i == 30 ? "\n" : "");
                put(&w, 0, shown);
                clock_manual_advance(&w.clock, 100000);
                executor_pump(w.exec);
            }
            buf_printf(&want, "bar %d: 30 of 30\n", bar);
        }
        end(&w);

        CHECK_NULL(w.problem);
        CHECK_STR(w.text[0].data, want.data);
        world_done(&w);
    }
}

TEST(a_network_that_loses_and_repeats_calls_stores_each_line_once)
{
    static const struct net_faults faults = {200, 200, 200};

    for (uint64_t seed = 1; seed <= 20; seed++) {
        CLEANUP(buf_done) struct buf want = BUF_INIT;
        struct world w;

        world_init(&w, seed);
        net_memory_faults(w.net, &faults);
        for (int i = 0; i < 200; i++) {
            char line[64];

            snprintf(line, sizeof(line), "line %d of seed %d\n", i, (int)seed);
            buf_puts(&want, line);
            put(&w, i % 3 == 0, line);
            executor_pump(w.exec);
        }
        end(&w);

        CHECK_NULL(w.problem);
        CHECK_EQ(w.text[0].len + w.text[1].len, want.len);
        CHECK_EQ(w.offset[0], w.text[0].len);
        CHECK_HAS(w.text[0].data, "line 199 of seed");
        world_done(&w);
    }
}

TEST(a_master_that_lost_lines_takes_the_following_ones)
{
    struct world w;

    world_init(&w, 4);
    put(&w, 0, "one\n");
    put(&w, 0, "two\n");
    while (executor_pump(w.exec))
        continue;
    CHECK_EQ(w.offset[0], 8);
    w.offset[0] = 4; /* restored from a backup */
    w.takes_gaps = true;
    put(&w, 0, "three\n");
    while (executor_pump(w.exec))
        continue;
    CHECK_EQ(w.offset[0], 10);
    put(&w, 0, "four\n");
    end(&w);
    CHECK_OK(ship_outcome(w.ship, &test_err));
    CHECK_STR(w.text[0].data, "one\ntwo\nthree\nfour\n");
    CHECK_EQ(w.offset[0], 15);
    world_done(&w);
}

TEST(batches_have_a_limit)
{
    struct world w;
    char line[1025];

    world_init(&w, 3);
    memset(line, 'x', 1023);
    line[1023] = '\n';
    line[1024] = '\0';
    for (int i = 0; i < 2000; i++)
        put(&w, 0, line);
    end(&w);

    CHECK_EQ(w.offset[0], 2000 * 1024);
    CHECK(w.batches >= 8);
    CHECK(w.largest < SHIP_BATCH + SHIP_BATCH / 4);
    CHECK_NULL(w.problem);
    world_done(&w);
}

TEST(a_refusal_ends_the_shipping)
{
    struct world w;

    world_init(&w, 4);
    w.refusal = "{\"error\":{\"code\":9,\"error\":\"over\"}}";
    put(&w, 0, "one\n");
    CHECK(executor_pump_until(w.exec, &w.is_over));

    CHECK_EQ(ship_outcome(w.ship, &test_err), DET_STATE);
    CHECK_HAS(test_err.text, "over");
    world_done(&w);
}

TEST(a_later_shipper_goes_on_where_the_master_is)
{
    struct world w;

    world_init(&w, 5);
    put(&w, 0, "one\n");
    while (executor_pump(w.exec))
        continue;
    /* Its supervisor dies before this is sent. */
    spool_write(w.spool[0], 0, "two\n", 4);
    ship_free(w.ship);
    spool_close(w.spool[0]);
    spool_close(w.spool[1]);
    open_spools(&w);
    open_ship(&w);
    spool_end(w.spool[0], 0);
    spool_end(w.spool[1], 0);
    CHECK_OK(ship_rest(w.ship, &test_err));

    CHECK_STR(w.text[0].data, "one\ntwo\n");
    CHECK_EQ(w.offset[0], 8);
    CHECK_NULL(w.problem);
    world_done(&w);
}
