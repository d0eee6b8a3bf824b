/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>

#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "tests/support/test.h"

#define EXITED(code)   ((code) << 8)
#define KILLED(signal) (signal)

TEST(a_wait_status_becomes_an_exit_with_a_reason)
{
    static const struct {
        int status;
        bool was_asked;
        const char *exit;
        int code;
        const char *reason;
    } table[] = {
        {EXITED(0), false, "CLEAN", 0, "exited with code 0"},
        {EXITED(127), false, "FAILED", 127,
         "exited with code 127 (a command was not found)"},
        {EXITED(126), false, "FAILED", 126,
         "exited with code 126 (a command may not be executed: is it missing chmod "
         "+x?)"},
        {EXITED(3), false, "FAILED", 3, "exited with code 3"},
        {EXITED(255), false, "FAILED", 255, "exited with code 255"},
        {EXITED(139), false, "FAILED", 139,
         "exited with code 139 (a program it ran was killed by signal SIGSEGV)"},
        {EXITED(137), false, "FAILED", 137,
         "exited with code 137 (a program it ran was killed by signal SIGKILL: was "
         "memory short?)"},
        {KILLED(SIGKILL), false, "FAILED", 137, "killed by signal SIGKILL"},
        {KILLED(SIGSEGV), false, "FAILED", 139, "killed by signal SIGSEGV"},
        {KILLED(SIGKILL), true, "KILLED", 137, "killed by signal SIGKILL"},
        {KILLED(SIGTERM), true, "KILLED", 143, "killed by signal SIGTERM"},
        {EXITED(0), true, "KILLED", 0, "exited with code 0"},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
        struct task_exit exit =
            exit_classify(table[i].status, table[i].was_asked, &mem);

        CHECK_STR(exit.exit, table[i].exit);
        CHECK_EQ(exit.code, table[i].code);
        CHECK_STR(exit.reason, table[i].reason);
    }
}

TEST(a_reason_is_there_even_without_memory)
{
    struct arena mem = ARENA_INIT(1);

    CHECK_STR(exit_classify(EXITED(1), false, &mem).reason, "ended");
}

TEST(exit_and_pid_files_read_back)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    const struct task_exit exit = {"FAILED", 137, "killed by \"x\"", "boot"};
    const struct task_dir_pid pid = {12, 34, 56, "boot"};
    struct task_exit exit_back;
    struct task_dir_pid pid_back;
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    CHECK_OK(io_mkdir(io, "/t", true, &test_err));
    CHECK_OK(io_sync_dir(io, "/", &test_err));
    CHECK_EQ(task_dir_read_exit(io, "/t", &mem, &exit_back, &test_err), DET_NOT_FOUND);
    CHECK_OK(task_dir_write_exit(io, "/t", &exit, &test_err));
    CHECK_OK(task_dir_write_pid(io, "/t", &pid, &test_err));
    io_crash(io); /* both are synced */

    CHECK_OK(task_dir_read_exit(io, "/t", &mem, &exit_back, &test_err));
    CHECK_OK(task_dir_read_pid(io, "/t", &mem, &pid_back, &test_err));
    CHECK_STR(exit_back.exit, "FAILED");
    CHECK_EQ(exit_back.code, 137);
    CHECK_STR(exit_back.reason, "killed by \"x\"");
    CHECK_STR(exit_back.boot_id, "boot");
    CHECK_EQ(pid_back.group, 34);
    CHECK_EQ(pid_back.group_start, 56);
    CHECK_OK(io_replace(io, "/t/" TASK_DIR_EXIT, "{", 1, true, &test_err));
    CHECK_EQ(task_dir_read_exit(io, "/t", &mem, &exit_back, &test_err), DET_CORRUPT);
    io_free(io);
}

/* One that was cut must not be believed, unless all of it is still there; one with a
 * flipped bit never. */
TEST(a_damaged_file_is_found_out_bit_by_bit)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 24);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const struct task_exit exit = {"FAILED", 1, "exited with code 1", "boot"};
    const char *path = "/t/" TASK_DIR_EXIT;
    struct task_exit back;
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    CHECK_OK(io_mkdir(io, "/t", true, &test_err));
    CHECK_OK(task_dir_write_exit(io, "/t", &exit, &test_err));
    CHECK_OK(io_read_file(io, path, &text, &test_err));
    for (size_t bit = 0; bit < text.len * 8; bit++) {
        text.data[bit / 8] ^= (char)(1 << bit % 8);
        CHECK_OK(io_replace(io, path, text.data, text.len, false, &test_err));
        if (task_dir_read_exit(io, "/t", &mem, &back, &test_err) != DET_CORRUPT)
            fail_msg("bit %zu: %s", bit, text.data);
        text.data[bit / 8] ^= (char)(1 << bit % 8);
        arena_clear(&mem);
    }
    for (size_t len = 0; len < text.len; len++) {
        det_status status;

        CHECK_OK(io_replace(io, path, text.data, len, false, &test_err));
        status = task_dir_read_exit(io, "/t", &mem, &back, &test_err);
        CHECK(status == DET_CORRUPT || (!status && back.code == 1));
        arena_clear(&mem);
    }
    io_free(io);
}

TEST(the_lock_tells_whether_a_task_lives)
{
    const struct task_exit exit = {"CLEAN", 0, "exited with code 0", ""};
    struct io_file *supervisor;
    struct io_file *lock;
    enum task_dir_state found;
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    CHECK_OK(io_mkdir(io, "/t", true, &test_err));
    CHECK_OK(io_open(io, "/t/lock", IO_WRITE | IO_CREATE, &supervisor, &test_err));
    CHECK_OK(io_lock(supervisor, &test_err));

    CHECK_OK(task_dir_look(io, "/t", &found, &lock, &test_err));
    CHECK_EQ(found, TASK_DIR_ALIVE);
    CHECK_NULL(lock);

    io_close(supervisor);
    CHECK_OK(task_dir_look(io, "/t", &found, &lock, &test_err));
    CHECK_EQ(found, TASK_DIR_VANISHED);
    io_close(lock);

    CHECK_OK(task_dir_write_exit(io, "/t", &exit, &test_err));
    CHECK_OK(task_dir_look(io, "/t", &found, &lock, &test_err));
    CHECK_EQ(found, TASK_DIR_ENDED);
    io_close(lock);
    CHECK_EQ(task_dir_look(io, "/gone", &found, &lock, &test_err), DET_NOT_FOUND);
    io_free(io);
}

TEST(out_of_memory_leaves_no_half_file)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        const struct task_exit exit = {"CLEAN", 0, "ended", ""};
        struct task_exit back;
        struct io *io;
        det_status status;
        bool has_failed;

        if (io_memory_new(&io, NULL))
            continue;
        status = io_mkdir(io, "/t", true, NULL);
        if (!status)
            status = task_dir_write_exit(io, "/t", &exit, NULL);
        has_failed = fault_disarm(FAULT_MEMORY);
        if (has_failed)
            fault_state.fired[FAULT_MEMORY] = true;
        if (status)
            CHECK_EQ(task_dir_read_exit(io, "/t", &mem, &back, NULL), DET_NOT_FOUND);
        else
            CHECK_OK(task_dir_read_exit(io, "/t", &mem, &back, NULL));
        io_free(io);
    }
}
