/* SPDX-License-Identifier: Apache-2.0 */
/* test_runfile.c - the run file of a master, and when it is believed. */
#include "libdet/client/runfile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/thread/executor.h"
#include "net/memory/net_memory.h"
#include "net/net.h"
#include "tests/support/test.h"

#define DIR "/data"

/* A disk, a network, and a master on it that says who it is. */
struct world {
    struct clock_manual clock;
    struct executor *exec;
    struct net *net;
    struct net_server *server;
    struct io *io;
    struct io_file *lock;
    struct arena mem;
    const char *answer;
};

static void answer(void *arg, struct net_exchange *x)
{
    struct world *w = arg;
    struct buf body = BUF_INIT;

    buf_puts(&body, w->answer);
    net_answer(x, 200, "application/json", NULL, &body);
}

static struct runfile run_of(struct world *w)
{
    return (struct runfile){.url = "http://127.0.0.1:8080",
                            .host = "127.0.0.1",
                            .port = net_server_port(w->server),
                            .pid = getpid(),
                            .cluster_id = "c-1",
                            .master_id = "m-1",
                            .agent_token_file = "/data/agent.token"};
}

static void world_init(struct world *w)
{
    struct net_server_config config = {.host = "127.0.0.1",
                                       .max_body_bytes = 1 << 20,
                                       .threads = 1,
                                       .max_connections = 8,
                                       .handler = answer,
                                       .arg = w};
    struct runfile run;

    memset(w, 0, sizeof(*w));
    w->mem = (struct arena)ARENA_INIT(1 << 20);
    w->answer = "{\"cluster_id\":\"c-1\"}";
    clock_manual_init(&w->clock, 0);
    CHECK_OK(executor_single_new(&w->clock, 1, &w->exec, &test_err));
    CHECK_OK(net_memory_new(w->exec, 1, &w->net, &test_err));
    CHECK_OK(net_serve(w->net, &config, &w->server, &test_err));
    CHECK_OK(io_memory_new(&w->io, &test_err));
    CHECK_OK(io_mkdir(w->io, DIR, true, &test_err));
    CHECK_OK(io_open(w->io, DIR "/" RUNFILE_LOCK, IO_WRITE | IO_CREATE, &w->lock,
                     &test_err));
    CHECK_OK(io_lock(w->lock, &test_err));
    run = run_of(w);
    CHECK_OK(runfile_write(w->io, DIR, &run, &test_err));
}

static void world_done(struct world *w)
{
    io_close(w->lock);
    net_server_free(w->server);
    net_free(w->net);
    io_free(w->io);
    executor_free(w->exec);
    arena_done(&w->mem);
}

static det_status find(struct world *w, struct runfile *run)
{
    return runfile_find(w->io, w->net, DIR, &w->mem, run, &test_err);
}

TEST(a_master_that_runs_is_found)
{
    struct runfile run;
    struct world w;

    world_init(&w);

    CHECK_OK(find(&w, &run));
    CHECK_STR(run.cluster_id, "c-1");
    CHECK_STR(run.master_id, "m-1");
    CHECK_STR(run.agent_token_file, "/data/agent.token");
    CHECK_EQ(run.port, net_server_port(w.server));
    world_done(&w);
}

TEST(without_a_run_file_there_is_no_master)
{
    struct runfile run;
    struct world w;

    world_init(&w);
    CHECK_OK(runfile_remove(w.io, DIR, &test_err));
    CHECK_OK(runfile_remove(w.io, DIR, &test_err)); /* twice is fine */

    CHECK_EQ(find(&w, &run), DET_NOT_FOUND);
    world_done(&w);
}

TEST(a_run_file_whose_lock_nobody_holds_is_left_over)
{
    struct runfile run;
    struct world w;

    world_init(&w);
    io_close(w.lock);
    w.lock = NULL;

    CHECK_EQ(find(&w, &run), DET_NOT_FOUND);
    CHECK_HAS(test_err.text, "is not locked");
    world_done(&w);
}

TEST(a_run_file_of_a_dead_process_is_left_over)
{
    struct runfile run;
    struct world w;

    world_init(&w);
    run = run_of(&w);
    run.pid = 0x7ffffff0; /* beyond every kernel's limit */
    CHECK_OK(runfile_write(w.io, DIR, &run, &test_err));

    CHECK_EQ(find(&w, &run), DET_NOT_FOUND);
    CHECK_HAS(test_err.text, "is gone");
    world_done(&w);
}

TEST(a_stranger_on_the_port_is_refused)
{
    static const char *const answers[] = {"{\"cluster_id\":\"c-2\"}", "{}", "hello",
                                          ""};

    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct runfile run;
        struct world w;

        world_init(&w);
        w.answer = answers[i];
        CHECK_EQ(find(&w, &run), DET_FORBIDDEN);
        CHECK_HAS(test_err.text, "is not the master of this run file");
        world_done(&w);
    }
}

TEST(a_damaged_run_file_is_reported)
{
    static const char *const texts[] = {
        "", "{", "[]", "{}",
        ("{\"url\":\"x\",\"host\":\"y\",\"port\":70000,\"pid\":1,"
         "\"cluster_id\":\"c\"}")};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct runfile run;
        struct world w;

        world_init(&w);
        CHECK_OK(io_replace(w.io, DIR "/" RUNFILE_NAME, texts[i], strlen(texts[i]),
                            true, &test_err));
        CHECK_EQ(runfile_read(w.io, DIR, &w.mem, &run, &test_err), DET_CORRUPT);
        world_done(&w);
    }
}

TEST(only_its_owner_reads_the_run_file)
{
    struct io_stat found;
    struct world w;

    world_init(&w);

    CHECK_OK(io_stat(w.io, DIR "/" RUNFILE_NAME, &found, &test_err));
    CHECK_EQ(found.mode & 0777, 0600);
    world_done(&w);
}

TEST(the_data_directory_follows_the_environment)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    const char *path;

    setenv("HOME", "/home/ann", 1);
    unsetenv("XDG_DATA_HOME");
    CHECK_OK(runfile_data_dir(&mem, &path, &test_err));
    CHECK_STR(path, "/home/ann/.local/share/det");
    setenv("XDG_DATA_HOME", "/big", 1);
    CHECK_OK(runfile_data_dir(&mem, &path, &test_err));
    CHECK_STR(path, "/big/det");
    setenv("XDG_DATA_HOME", "", 1);
    unsetenv("HOME");
    CHECK_EQ(runfile_data_dir(&mem, &path, &test_err), DET_NOT_FOUND);
}
