/* SPDX-License-Identifier: Apache-2.0 */
/* fault_libdet.c - writes the run file and the session file while faults strike:
 * afterwards the old or the new content is there. */
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "libdet/client/auth.h"
#include "libdet/client/runfile.h"

#include "tests/fault/sweep.h"

enum { TRIES = 10 };

static const struct runfile runs[] = {
    {"http://127.0.0.1:1", "127.0.0.1", 1, 11, "cluster", "one", "/d/agent.token"},
    {"http://127.0.0.1:2", "127.0.0.1", 2, 22, "cluster", "two", "/d/agent.token"},
};

static struct io *new_io(void)
{
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    CHECK_OK(io_mkdir(io, "/d", true, &test_err));
    CHECK_OK(io_sync_dir(io, "/", &test_err));
    return io;
}

static void check_refusal(const struct sweep *sweep, det_status status,
                          const struct err *err)
{
    if (!sweep_has_struck(sweep))
        fail_msg("%s", err->text);
    sweep_check_sentence(err->text);
    if (sweep->kind == FAULT_MEMORY)
        CHECK_EQ(status, DET_NOMEM);
    else
        CHECK_EQ(status, sweep->how == FAULT_FULL ? DET_FULL : DET_IO);
}

/* Which of the two is there, 0 or 1; it must be complete. */
static int which_run(struct io *io)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct runfile run;

    CHECK_OK(runfile_read(io, "/d", &mem, &run, &test_err));
    CHECK(run.port == runs[run.port - 1].port);
    CHECK_STR(run.url, runs[run.port - 1].url);
    CHECK_STR(run.master_id, runs[run.port - 1].master_id);
    return run.port - 1;
}

static void tell_of_a_run_file(struct sweep *sweep)
{
    struct io *io = new_io();
    det_status st = DET_BUSY;

    CHECK_OK(runfile_write(io, "/d", &runs[0], &test_err));
    sweep_begin(sweep);
    for (int i = 0; i < TRIES && st && !fault_is_dark(); i++) {
        struct err err = {0};

        st = runfile_write(io, "/d", &runs[1], &err);
        if (st && !fault_is_dark())
            check_refusal(sweep, st, &err);
    }
    CHECK(!st || fault_is_dark());
    sweep_end(sweep);
    CHECK(which_run(io) == 1 || sweep->was_dark);
    io_crash(io);
    CHECK(which_run(io) == 1 || sweep->was_dark);
    CHECK_OK(runfile_remove(io, "/d", &test_err));
    io_free(io);
}

/* The stored token, or NULL. */
static const char *token_of(struct io *io, const char *url, const char *user,
                            struct arena *mem)
{
    const struct auth_place place = {io, "/d/auth/auth.json", url};
    struct auth_session session = {0};

    CHECK_OK(auth_load(&place, user, mem, &session, &test_err));
    return session.token;
}

static det_status remember(struct io *io, const char *url, const char *user,
                           const char *token, struct err *err)
{
    const struct auth_place place = {io, "/d/auth/auth.json", url};
    const struct auth_change change = {user, token, 1};

    return auth_store(&place, &change, err);
}

static void check_sessions(struct io *io, bool has_new)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char *token = token_of(io, "http://b", "bob", &mem);

    CHECK_STR(token_of(io, "http://a", "ann", &mem), "t1");
    CHECK(token ? !strcmp(token, "t2") : !has_new);
}

static void tell_of_sessions(struct sweep *sweep)
{
    struct io *io = new_io();
    det_status st = DET_BUSY;

    CHECK_OK(remember(io, "http://a", "ann", "t1", &test_err));
    CHECK_OK(io_sync_dir(io, "/d", &test_err));
    sweep_begin(sweep);
    for (int i = 0; i < TRIES && st && !fault_is_dark(); i++) {
        struct err err = {0};

        st = remember(io, "http://b", "bob", "t2", &err);
        if (st && !fault_is_dark())
            check_refusal(sweep, st, &err);
    }
    CHECK(!st || fault_is_dark());
    sweep_end(sweep);
    check_sessions(io, !sweep->was_dark);
    io_crash(io);
    check_sessions(io, !sweep->was_dark);
    io_free(io);
}

TEST(a_run_file_is_the_old_one_or_the_new_one)
{
    sweep_run("runfile", tell_of_a_run_file, SWEEP_FILES | SWEEP_MEMORY, INT64_MAX);
}

TEST(no_session_is_forgotten_while_another_is_remembered)
{
    sweep_run("sessions", tell_of_sessions, SWEEP_FILES | SWEEP_MEMORY, INT64_MAX);
}

/* Truncated at every length and with every bit flipped: it is read as a run file or
 * refused; a session is found or not. */
TEST(damaged_files_are_noticed_or_count_as_empty)
{
    static const char path[] = "/d/master.json";
    static const char sessions[] = "/d/auth/auth.json";
    CLEANUP(buf_done) struct buf whole = BUF_INIT;
    struct io *io = new_io();

    CHECK_OK(runfile_write(io, "/d", &runs[0], &test_err));
    CHECK_OK(remember(io, "http://a", "ann", "t1", &test_err));
    CHECK_OK(io_read_file(io, path, &whole, &test_err));
    for (size_t i = 0; i < 9 * whole.len - 2; i++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        size_t len = i < 8 * whole.len ? whole.len : i - 8 * whole.len;
        struct runfile run;
        det_status st;

        if (i < 8 * whole.len)
            whole.data[i / 8] ^= (char)(1 << i % 8);
        CHECK_OK(io_replace(io, path, whole.data, len, true, &test_err));
        if (i < 8 * whole.len)
            whole.data[i / 8] ^= (char)(1 << i % 8);
        st = runfile_read(io, "/d", &mem, &run, &test_err);
        CHECK(st == DET_CORRUPT || (!st && len == whole.len));
        if (st)
            CHECK_HAS(test_err.text, path);
    }
    buf_clear(&whole);
    CHECK_OK(io_read_file(io, sessions, &whole, &test_err));
    for (size_t i = 0; i < 8 * whole.len; i++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);

        whole.data[i / 8] ^= (char)(1 << i % 8);
        CHECK_OK(io_replace(io, sessions, whole.data, whole.len, true, &test_err));
        whole.data[i / 8] ^= (char)(1 << i % 8);
        (void)token_of(io, "http://a", "ann", &mem);
        CHECK_OK(remember(io, "http://a", "ann", "t2", &test_err));
        CHECK_STR(token_of(io, "http://a", "ann", &mem), "t2");
    }
    io_free(io);
}
