/* SPDX-License-Identifier: Apache-2.0 */
/* fault_agent.c - the files of an agent and its supervisors in a task's directory, and
 * their reports, while each operation fails in turn.
 *
 * The master is a ledger behind the network in memory: it takes batches of lines and
 * exits as the real one does.  No fault strikes the ledger itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/master_link.h"
#include "agent/task/output/ship.h"
#include "agent/task/output/spool.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "agent/tasks.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/thread/executor.h"
#include "data/json/json.h"
#include "net/memory/net_memory.h"
#include "net/net.h"

#include "tests/fault/sweep.h"

enum { LINES = 24, TRIES = 40 };

struct ledger {
    struct buf text[SHIP_STREAMS];
    int64_t offset[SHIP_STREAMS];
    char exits[512]; /* "allocation=EXIT " each, once */
    const char *problem;
};

struct world {
    struct sweep *sweep;
    struct ledger ledger;
    struct io *io;
    struct clock_manual clock;
    struct executor *exec;
    struct net *net;
    struct net_server *server;
    struct master_link *link;
    struct lane *lane;
    struct spool *spool[SHIP_STREAMS];
    struct ship *ship;
    bool is_over;
};

/* ---- the master ---------------------------------------------------------------------
 */

static void take_lines(struct ledger *ledger, const struct json *tree)
{
    int stream = strcmp(json_str(json_get(tree, "stream"), ""), "stderr") == 0;
    int64_t offset = json_i64(json_get(tree, "offset"), -1);
    int64_t end = json_i64(json_get(tree, "endOffset"), -1);

    if (offset > ledger->offset[stream])
        ledger->problem = "a gap";
    if (offset < ledger->offset[stream] && end > ledger->offset[stream])
        ledger->problem = "an overlap";
    if (offset != ledger->offset[stream])
        return; /* it is there already */
    json_each(line, json_get(tree, "lines")) {
        buf_puts(&ledger->text[stream], json_str(json_first(line)->next, "?"));
        buf_putc(&ledger->text[stream], '\n');
    }
    ledger->offset[stream] = end;
}

static void take_exit(struct ledger *ledger, const char *path, const struct json *tree)
{
    const char *name = strstr(path, "/allocations/") + strlen("/allocations/");
    char word[64];

    (void)snprintf(word, sizeof(word), "%.*s=%s ", (int)strcspn(name, "/"), name,
                   json_str(json_get(tree, "exit"), "?"));
    if (!strstr(ledger->exits, word))
        (void)strncat(ledger->exits, word, sizeof(ledger->exits) - 100);
}

static void handle(void *arg, struct net_exchange *x)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct ledger *ledger = arg;
    struct buf reply = BUF_INIT;
    int64_t left = fault_state.left[FAULT_MEMORY];
    struct json *tree;
    size_t len;
    const char *body = net_request_body(x, &len);

    fault_state.left[FAULT_MEMORY] = 0;              /* this is another machine */
    if (strcmp(net_request_path(x), "/info") == 0) { /* after a call that failed */
        net_answer(x, 200, "application/json", NULL, NULL);
        fault_state.left[FAULT_MEMORY] = left;
        return;
    }
    if (json_parse(body, len, &mem, &tree, NULL)) {
        ledger->problem = "a body that is no JSON";
        tree = NULL;
    } else if (strstr(net_request_path(x), "/exit")) {
        take_exit(ledger, net_request_path(x), tree);
    } else {
        take_lines(ledger, tree);
    }
    buf_printf(
        &reply, "{\"offset\":%" PRId64 "}",
        ledger->offset[!strcmp(json_str(json_get(tree, "stream"), ""), "stderr")]);
    fault_state.left[FAULT_MEMORY] = left;
    net_answer(x, 200, "application/json", NULL, &reply);
}

/* ---- the world ----------------------------------------------------------------------
 */

static void on_over(void *arg)
{
    struct world *w = arg;

    w->is_over = true;
}

static void world_init(struct world *w, struct sweep *sweep)
{
    *w = (struct world){.sweep = sweep, .ledger.text = {BUF_INIT, BUF_INIT}};
    log_setup(LOG_ERROR, getenv("SWEEP_ONLY") ? 2 : -1);
    clock_manual_init(&w->clock, 1000);
    CHECK_OK(io_memory_new(&w->io, &test_err));
    CHECK_OK(io_mkdir(w->io, "/t", true, &test_err));
    CHECK_OK(io_sync_dir(w->io, "/", &test_err));
}

/* The machine is there; its processes are not. */
static void world_boot(struct world *w)
{
    struct net_server_config server = {.host = "127.0.0.1",
                                       .port = 8080,
                                       .max_body_bytes = 16 << 20,
                                       .threads = 1,
                                       .max_connections = 8,
                                       .mark = "c1",
                                       .handler = handle,
                                       .arg = &w->ledger};

    CHECK_OK(executor_single_new(&w->clock, 1, &w->exec, &test_err));
    CHECK_OK(net_memory_new(w->exec, 1, &w->net, &test_err));
    CHECK_OK(net_serve(w->net, &server, &w->server, &test_err));
    CHECK_OK(lane_new(w->exec, "ship", 1, &w->lane, &test_err));
    CHECK_OK(master_link_new(w->net, "http://127.0.0.1:8080", LINK_TASK, "t", &w->link,
                             &test_err));
    w->is_over = false;
}

static void close_ship(struct world *w)
{
    ship_free(w->ship);
    w->ship = NULL;
    for (int i = 0; i < SHIP_STREAMS; i++) {
        spool_close(w->spool[i]);
        w->spool[i] = NULL;
    }
}

static void world_halt(struct world *w)
{
    master_link_free(w->link);
    if (w->server)
        net_server_free(w->server);
    executor_free(w->exec);
    close_ship(w);
    net_free(w->net);
    w->link = NULL;
    w->server = NULL;
}

static void world_done(struct world *w)
{
    for (int i = 0; i < SHIP_STREAMS; i++)
        buf_done(&w->ledger.text[i]);
    io_free(w->io);
}

static void check_refusal(struct world *w, det_status status, const struct err *err)
{
    if (!sweep_has_struck(w->sweep))
        fail_msg("%s", err->text);
    sweep_check_sentence(err->text);
    if (w->sweep->kind == FAULT_MEMORY)
        CHECK_EQ(status, DET_NOMEM);
    else if (w->sweep->how == FAULT_FULL)
        CHECK_EQ(status, DET_FULL);
    else
        CHECK_EQ(status, DET_IO);
}

/* ---- a supervisor's output ----------------------------------------------------------
 */

static det_status try_ship(struct world *w, struct err *err)
{
    struct ship_config config = {.exec = w->exec,
                                 .lane = w->lane,
                                 .link = w->link,
                                 .allocation = "3.u.1",
                                 .on_over = on_over,
                                 .arg = w};
    det_status st = DET_OK;

    for (int i = 0; i < SHIP_STREAMS && !st; i++) {
        struct spool_config spool = {
            .io = w->io, .dir = "/t", .name = ship_streams[i], .segment_bytes = 256};

        st = spool_open(&spool, &w->spool[i], err);
        config.spool[i] = w->spool[i];
    }
    return st ? st : ship_new(&config, &w->ship, err);
}

static void open_ship(struct world *w)
{
    for (int i = 0; i < TRIES && !fault_is_dark(); i++) {
        struct err err = {0};
        det_status st = try_ship(w, &err);

        if (!st)
            return;
        if (!fault_is_dark())
            check_refusal(w, st, &err);
        close_ship(w);
    }
    if (!fault_is_dark())
        fail_msg("the spools never open");
}

/* Prints and ships; how many lines were printed before the light went out. */
static int supervise(struct world *w)
{
    int printed = 0;

    open_ship(w);
    for (int i = 0; i < LINES && w->ship && !fault_is_dark(); i++) {
        char line[32];
        int len = snprintf(line, sizeof(line), "line %d\n", i);

        spool_write(w->spool[0], 1000 + i, line, (size_t)len);
        if (fault_is_dark())
            break;
        printed++;
        ship_wake(w->ship);
        for (int k = 0; k < i % 4; k++)
            (void)executor_pump(w->exec);
    }
    if (!w->ship || fault_is_dark())
        return printed;
    for (int i = 0; i < SHIP_STREAMS; i++)
        spool_end(w->spool[i], 2000);
    ship_wake(w->ship);
    if (!executor_pump_until(w->exec, &w->is_over) && !fault_is_dark())
        fail_msg("the output is never sent");
    if (!fault_is_dark())
        CHECK_OK(ship_outcome(w->ship, &test_err));
    return printed;
}

/* The agent sends what a dead supervisor has left. */
static void send_rest(struct world *w)
{
    world_boot(w);
    open_ship(w);
    for (int i = 0; i < SHIP_STREAMS; i++)
        spool_end(w->spool[i], 2000);
    CHECK_OK(ship_rest(w->ship, &test_err));
    world_halt(w);
}

/* Every line once and in order; where some are missing a notice counts them. */
static int check_lines(struct world *w, int *ret_dropped)
{
    const char *at = w->ledger.text[0].data;
    int next = 0;

    *ret_dropped = 0;
    while (*at) {
        int number;

        if (sscanf(at, "line %d\n", &number) == 1) {
            CHECK_EQ(number, next);
            next = number + 1;
        } else if (sscanf(at, "[det] %d ", &number) == 1) {
            *ret_dropped += number;
            next += number;
        } else {
            fail_msg("this was never printed: %.60s", at);
        }
        at += strcspn(at, "\n") + 1;
    }
    if (w->ledger.problem)
        fail_msg("the master sees %s", w->ledger.problem);
    return next;
}

static void tell_of_output(struct sweep *sweep)
{
    struct world w;
    int printed;
    int told;
    int dropped;

    world_init(&w, sweep);
    world_boot(&w);
    sweep_begin(sweep);
    printed = supervise(&w);
    world_halt(&w);
    sweep_end(sweep);
    if (sweep->was_dark) {
        io_abandon(w.io);
        send_rest(&w);
    }
    told = check_lines(&w, &dropped);
    if (!sweep->was_dark)
        CHECK_EQ(told, LINES);
    else if (sweep->how ==
             FAULT_DEATH) /* after a loss of power the task is gone, too */
        CHECK(told >= printed && told <= printed + 1);
    CHECK(dropped <= 1);
    if (dropped && sweep->how == FAULT_FULL)
        CHECK_HAS(w.ledger.text[0].data, "1 line was dropped here: the disk was full");
    world_done(&w);
}

/* ---- a task's directory -------------------------------------------------------------
 */

static const struct task_exit an_exit = {
    .exit = "CLEAN", .code = 0, .reason = "exited with code 0", .boot_id = "b"};

/* In the order of a supervisor's life: its lock, its pid twice, the exit. */
static det_status write_place(struct io *io, int step, struct err *err)
{
    struct task_dir_pid pid = {
        .supervisor = 7, .group = step == 2 ? 8 : 0, .boot_id = "b"};

    return step < 3 ? task_dir_write_pid(io, "/t", &pid, err)
                    : task_dir_write_exit(io, "/t", &an_exit, err);
}

/* The file is whole, and at least as new as the last acknowledged write. */
static void check_place(struct io *io, int done)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct task_dir_pid pid;
    struct task_exit exit;
    struct io_file *lock = NULL;
    enum task_dir_state state;
    det_status st = task_dir_read_pid(io, "/t", &mem, &pid, &test_err);

    CHECK(st == DET_OK || (st == DET_NOT_FOUND && done < 1));
    if (!st)
        CHECK(pid.supervisor == 7 && (done < 2 || pid.group == 8));
    st = task_dir_read_exit(io, "/t", &mem, &exit, &test_err);
    CHECK(st == DET_OK || (st == DET_NOT_FOUND && done < 3));
    if (!st)
        CHECK_STR(exit.reason, an_exit.reason);
    CHECK_OK(task_dir_look(io, "/t", &state, &lock, &test_err));
    CHECK_EQ(state, st ? TASK_DIR_VANISHED : TASK_DIR_ENDED);
    io_close(lock);
}

static void tell_of_a_place(struct sweep *sweep)
{
    struct world w;
    int done = 0;

    world_init(&w, sweep);
    sweep_begin(sweep);
    while (done < 3) {
        struct err err = {0};
        det_status st = write_place(w.io, done + 1, &err);

        if (fault_is_dark())
            break;
        if (st)
            check_refusal(&w, st, &err);
        else
            done++;
        if (st && sweep->kind != FAULT_SYNC) { /* the name may be there, unsynced */
            int64_t left = fault_state.left[sweep->kind];

            fault_state.left[sweep->kind] = 0;
            check_place(w.io, done);
            fault_state.left[sweep->kind] = left;
        }
    }
    sweep_end(sweep);
    check_place(w.io, done);
    io_crash(w.io);
    check_place(w.io, done);
    world_done(&w);
}

/* ---- an agent that finds tasks that have ended
 * ---------------------------------------
 */

static const char spec[] =
    "{\"allocation\":\"a1\",\"rank\":0,\"task_id\":\"1.r\",\"container_id\":\"c\","
    "\"slots\":[0],\"device_type\":\"cpu\",\"entrypoint\":\"x\","
    "\"environment\":{\"DET_SESSION_TOKEN\":\"t\"},"
    "\"master_url\":\"http://127.0.0.1:8080\"}";

/* a1 ended properly with output left; a2 vanished. */
static void lay_down(struct world *w)
{
    struct spool_config config = {.io = w->io, .dir = "/t/a1-0", .name = "stdout"};
    struct task_dir_pid pid = {.supervisor = 7, .boot_id = "another"};
    struct spool *spool;

    CHECK_OK(io_mkdir(w->io, "/t/a1-0", true, &test_err));
    CHECK_OK(io_mkdir(w->io, "/t/a2-0", true, &test_err));
    CHECK_OK(
        io_replace(w->io, "/t/a1-0/spec.json", spec, strlen(spec), true, &test_err));
    CHECK_OK(task_dir_write_exit(w->io, "/t/a1-0", &an_exit, &test_err));
    CHECK_OK(task_dir_write_pid(w->io, "/t/a2-0", &pid, &test_err));
    CHECK_OK(spool_open(&config, &spool, &test_err));
    spool_write(spool, 1, "line 0\nline 1\n", 14);
    spool_close(spool);
    CHECK_OK(io_sync_dir(w->io, "/t", &test_err));
    CHECK_OK(io_sync_dir(w->io, "/t/a1-0", &test_err));
    CHECK_OK(io_sync_dir(w->io, "/t/a2-0", &test_err));
}

static bool are_all_gone(struct io *io)
{
    struct io_stat found;

    return io_stat(io, "/t/a1-0", &found, NULL) && io_stat(io, "/t/a2-0", &found, NULL);
}

static bool have_both_ended(const struct world *w)
{
    return strstr(w->ledger.exits, "a1=CLEAN ") &&
           strstr(w->ledger.exits, "a2=TRANSIENT ");
}

/* One life of an agent: until everything was told, or the light goes out. */
static void be_agent(struct world *w)
{
    struct tasks_config config = {.io = w->io,
                                  .root = "/t",
                                  .master_url = "http://127.0.0.1:8080",
                                  .program = "/bin/false",
                                  .agent_id = "agent"};
    struct tasks *tasks = NULL;
    struct err err = {0};
    det_status st = tasks_new(&config, &tasks, &err);

    if (st && !fault_is_dark())
        check_refusal(w, st, &err);
    for (int i = 0; !st && i < 10 && !fault_is_dark(); i++)
        (void)tasks_look(tasks, w->link);
    tasks_free(tasks);
}

static void tell_of_ends(struct sweep *sweep)
{
    struct world w;
    int dropped;

    world_init(&w, sweep);
    lay_down(&w);
    world_boot(&w);
    sweep_begin(sweep);
    be_agent(&w);
    sweep_end(sweep);
    if (sweep->was_dark)
        io_abandon(w.io);
    /* Nothing is removed before it was told. */
    CHECK(!are_all_gone(w.io) || have_both_ended(&w));
    be_agent(&w); /* what was not told, or not removed, is found by the next */
    world_halt(&w);
    CHECK(have_both_ended(&w));
    CHECK(!strstr(w.ledger.exits, "a1=TRANSIENT"));
    CHECK(are_all_gone(w.io));
    if (sweep->how != FAULT_POWER) {
        CHECK_EQ(check_lines(&w, &dropped), 2);
        CHECK_EQ(dropped, 0);
    }
    world_done(&w);
}

TEST(every_line_is_told_once_or_counted_as_dropped)
{
    sweep_run("output", tell_of_output, SWEEP_FILES | SWEEP_NET | SWEEP_MEMORY, 300);
}

TEST(a_tasks_files_are_whole_or_not_there)
{
    sweep_run("place", tell_of_a_place, SWEEP_FILES | SWEEP_MEMORY, 300);
}

TEST(every_end_is_told_before_its_directory_goes)
{
    sweep_run("ends", tell_of_ends, SWEEP_FILES | SWEEP_NET | SWEEP_MEMORY, 300);
}

/* ---- damage -------------------------------------------------------------------------
 */

typedef det_status read_fn(struct io *io, struct arena *mem, struct err *err);

static det_status read_exit(struct io *io, struct arena *mem, struct err *err)
{
    struct task_exit exit;

    return task_dir_read_exit(io, "/t", mem, &exit, err);
}

static det_status read_pid(struct io *io, struct arena *mem, struct err *err)
{
    struct task_dir_pid pid;

    return task_dir_read_pid(io, "/t", mem, &pid, err);
}

static det_status read_spec(struct io *io, struct arena *mem, struct err *err)
{
    struct task_spec spec_of;

    return spec_load(io, "/t", mem, &spec_of, err);
}

/* It reads as something that is possible, or it is damaged, and which file is said. */
static bool is_noticed(struct io *io, read_fn *read, const char *path)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct err err = {0};
    det_status st = read(io, &mem, &err);

    if (!st)
        return false;
    if (st != DET_CORRUPT)
        fail_msg("%s: %s", det_status_name(st), err.text);
    CHECK_HAS(err.text, path);
    CHECK_HAS(err.text, "damaged");
    sweep_check_sentence(err.text);
    return true;
}

/* Without its checksum line the file reads as before; the same holds if only the line
 * break before it is left, or an ending that a file without a checksum may have. */
static bool is_whole_but_for_check(const struct buf *whole, size_t len)
{
    const char *check = strstr(whole->data, "\ncheck ");
    size_t end = check ? (size_t)(check - whole->data) : whole->len - 2;

    return len == end || len == end + 1;
}

/* Cut at every length, and with every bit flipped. */
static void damage(struct io *io, const char *path, read_fn *read)
{
    CLEANUP(buf_done) struct buf whole = BUF_INIT;

    CHECK_OK(io_read_file(io, path, &whole, &test_err));
    for (size_t len = 0; len + 2 < whole.len; len++) {
        CHECK_OK(io_replace(io, path, whole.data, len, true, &test_err));
        CHECK(is_noticed(io, read, path) || is_whole_but_for_check(&whole, len));
    }
    for (size_t i = 0; i < 8 * whole.len; i++) {
        whole.data[i / 8] ^= (char)(1 << i % 8);
        CHECK_OK(io_replace(io, path, whole.data, whole.len, true, &test_err));
        (void)is_noticed(io, read, path);
        whole.data[i / 8] ^= (char)(1 << i % 8);
    }
    CHECK_OK(io_replace(io, path, whole.data, whole.len, true, &test_err));
    CHECK(!is_noticed(io, read, path));
}

TEST(damaged_files_of_a_task_are_said_to_be_so)
{
    const struct task_dir_pid pid = {.supervisor = 7, .group = 8, .boot_id = "b"};
    struct sweep sweep = {.story = "damage"};
    struct world w;

    world_init(&w, &sweep);
    CHECK_OK(task_dir_write_exit(w.io, "/t", &an_exit, &test_err));
    CHECK_OK(task_dir_write_pid(w.io, "/t", &pid, &test_err));
    CHECK_OK(io_replace(w.io, "/t/spec.json", spec, strlen(spec), true, &test_err));
    damage(w.io, "/t/exit.json", read_exit);
    damage(w.io, "/t/pid", read_pid);
    damage(w.io, "/t/spec.json", read_spec);
    world_done(&w);
}

static struct spool *open_spool(struct world *w)
{
    struct spool_config config = {.io = w->io, .dir = "/t", .name = "stdout"};
    struct spool *spool;

    CHECK_OK(spool_open(&config, &spool, &test_err));
    return spool;
}

/* The bytes that are read are a prefix of the bytes that were written. */
static size_t read_prefix(struct world *w, const char *whole)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct spool *spool = open_spool(w);
    struct spool_record record;

    while (!spool_read(spool, &text, &record, NULL))
        continue;
    if (strncmp(text.data, whole, text.len) != 0)
        fail_msg("this was never printed: %.60s", text.data);
    spool_close(spool);
    return text.len;
}

TEST(a_damaged_spool_ends_before_the_damage)
{
    static const char path[] = "/t/stdout.spool.00000000000000000000";
    static const char text[] = "one\ntwo\nthree\nfour\n";
    CLEANUP(buf_done) struct buf whole = BUF_INIT;
    struct sweep sweep = {.story = "damage"};
    struct spool *spool;
    struct world w;

    world_init(&w, &sweep);
    spool = open_spool(&w);
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
        spool_write(spool, 1, at, strcspn(at, "\n") + 1);
    spool_close(spool);
    CHECK_OK(io_read_file(w.io, path, &whole, &test_err));
    for (size_t i = 0; i < 8 * whole.len; i++) {
        whole.data[i / 8] ^= (char)(1 << i % 8);
        CHECK_OK(io_replace(w.io, path, whole.data, whole.len, true, &test_err));
        CHECK(read_prefix(&w, text) < strlen(text));
        whole.data[i / 8] ^= (char)(1 << i % 8);
    }
    for (size_t len = 0; len < whole.len; len++) {
        CHECK_OK(io_replace(w.io, path, whole.data, len, true, &test_err));
        CHECK(read_prefix(&w, text) < strlen(text));
    }
    world_done(&w);
}

/* ---- a full disk --------------------------------------------------------------------
 */

TEST(a_task_that_finds_no_room_says_so_and_the_next_one_runs_on)
{
    struct sweep sweep = {.story = "full"};
    struct err err = {0};
    struct world w;
    struct spool *spool;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct spool_record record;

    world_init(&w, &sweep);
    CHECK_OK(task_dir_write_exit(w.io, "/t", &an_exit, &test_err));
    spool = open_spool(&w);
    spool_write(spool, 1, "before\n", 7);
    for (int round = 0; round < 3; round++) {
        io_memory_limit(w.io, 1);
        for (int i = 0; i < 5; i++)
            spool_write(spool, 1, "lost\n", 5);
        CHECK_EQ(task_dir_write_exit(w.io, "/t", &an_exit, &err), DET_FULL);
        CHECK_HAS(err.text, "/t/.exit.json");
        sweep_check_sentence(err.text);
        CHECK(!is_noticed(w.io, read_exit, "/t/exit.json")); /* what is there stays */
        io_memory_limit(w.io, 0);
        spool_write(spool, 1, "after\n", 6);
        CHECK_OK(task_dir_write_exit(w.io, "/t", &an_exit, &test_err));
    }
    while (!spool_read(spool, &text, &record, NULL))
        continue;
    CHECK_STR(text.data, "before\n"
                         "[det] 5 lines were dropped here: the disk was full\nafter\n"
                         "[det] 5 lines were dropped here: the disk was full\nafter\n"
                         "[det] 5 lines were dropped here: the disk was full\nafter\n");
    spool_close(spool);
    world_done(&w);
}

TEST(a_start_on_a_full_disk_is_a_lack_of_the_machine)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct sweep sweep = {.story = "full"};
    struct tasks_config config = {.root = "/t",
                                  .master_url = "http://127.0.0.1:8080",
                                  .program = "/bin/false",
                                  .agent_id = "agent"};
    struct tasks *tasks;
    struct json *tree;
    struct world w;

    world_init(&w, &sweep);
    world_boot(&w);
    config.io = w.io;
    CHECK_OK(json_parse(spec, strlen(spec), &mem, &tree, &test_err));
    CHECK_OK(tasks_new(&config, &tasks, &test_err));
    io_memory_limit(w.io, 1);
    CHECK_OK(tasks_start(tasks, tree, &test_err));
    CHECK_EQ(tasks_running(tasks), 0);
    CHECK(tasks_look(tasks, w.link));
    CHECK_STR(w.ledger.exits, "a1=LACKING ");

    io_memory_limit(w.io, 0);
    CHECK_OK(tasks_start(tasks, tree, &test_err));
    CHECK(
        tasks_look(tasks, w.link)); /* begins; /bin/false is a short-lived supervisor */
    CHECK_STR(w.ledger.exits, "a1=LACKING a1=TRANSIENT ");
    CHECK(are_all_gone(w.io));
    tasks_free(tasks);
    world_halt(&w);
    world_done(&w);
}
