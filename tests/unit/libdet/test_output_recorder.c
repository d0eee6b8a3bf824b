/* SPDX-License-Identifier: Apache-2.0 */
/* test_output_recorder.c - how a run without a master notes its end.  The processes are
 * real, because their exit writes it. */
#include "libdet/offline/offline.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "tests/support/test.h"

typedef void story_fn(det_context *det);

/* Starts a run in a process that ends as the story says; returns its exit code. */
static int live(const char *dir, story_fn *story)
{
    det_init_options options = {
        .size = sizeof(options), .flags = DET_INIT_NO_LOGS, .directory = dir};
    pid_t pid = fork();
    int status;

    if (!pid) {
        det_context *det;

        if (det_init(&options, &det))
            _exit(99);
        story(det);
        exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* `text` NULL: no end was noted. */
static void check_end(story_fn *story, int code, const char *text)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    char dir[] = P_tmpdir "/det-record-XXXXXX";
    char path[64];
    det_status st;

    CHECK(mkdtemp(dir));
    CHECK_EQ(live(dir, story), code);
    (void)snprintf(path, sizeof(path), "%s/" OFFLINE_STATE, dir);
    st = io_read_file(io_system(), path, &bytes, &test_err);
    CHECK_EQ(st, text ? DET_OK : DET_NOT_FOUND);
    if (text)
        CHECK_HAS(bytes.data, text);
    CHECK_OK(io_remove_tree(io_system(), dir, &test_err));
}

/* A second process tries the same directory while this one uses it. */
static void be_alone(det_context *det)
{
    char error[256] = "";
    det_init_options options = {.size = sizeof(options),
                                .flags = DET_INIT_NO_LOGS,
                                .directory = det_get_info(det)->directory,
                                .error = error,
                                .error_size = sizeof(error)};
    pid_t pid = fork();
    int status;

    if (!pid) {
        det_context *second;

        _exit(det_init(&options, &second) == DET_BUSY &&
                      strstr(error, "another run is under way in '")
                  ? 0
                  : 96);
    }
    if (waitpid(pid, &status, 0) != pid || status)
        exit(95);
}

static pid_t *orphan; /* in shared memory */

/* The process is gone then, but its child still holds the lock. */
static void leave_a_child(det_context *det)
{
    pid_t pid = fork();

    (void)det;
    if (!pid) {
        (void)pause();
        _exit(0);
    }
    *orphan = pid;
}

static void close_it(det_context *det)
{
    det_close(det);
}

static void leave_it_open(det_context *det)
{
    (void)det;
}

static void fail_after_the_end(det_context *det)
{
    det_close(det);
    exit(3);
}

static void die(det_context *det)
{
    (void)det;
    kill(getpid(), SIGKILL);
}

static det_context *left;

static void close_left(void)
{
    det_close(left);
}

/* For example a data loader's worker: its exit is not that of the run. */
static void let_a_child_fail(det_context *det)
{
    pid_t pid = fork();
    int status;

    left = det;
    if (!pid)
        exit(5);
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 5)
        exit(98);
    kill(getpid(), SIGKILL);
}

/* The handler was registered before the library's, so it runs after it. */
static void close_at_exit(det_context *det)
{
    det_init_options options = {.size = sizeof(options),
                                .flags = DET_INIT_NO_LOGS,
                                .directory = det_get_info(det)->directory};

    (void)atexit(close_left);
    if (det_init(&options, &left))
        _exit(97);
    det_close(det);
}

TEST(how_a_run_ended_is_what_its_process_exits_with)
{
    check_end(close_it, 0, "\"state\":\"COMPLETED\",\"exit_code\":0");
    check_end(leave_it_open, 0, "\"state\":\"COMPLETED\",\"exit_code\":0");
    check_end(fail_after_the_end, 3, "\"state\":\"ERROR\",\"exit_code\":");
}

TEST(a_run_that_was_killed_has_no_end_and_a_child_says_none)
{
    check_end(die, -SIGKILL, NULL);
    check_end(let_a_child_fail, -SIGKILL, NULL);
}

TEST(a_context_may_be_closed_after_the_end_was_noted)
{
    check_end(close_at_exit, 0, "\"run_id\":2,\"state\":\"COMPLETED\"");
}

TEST(one_run_at_a_time_has_a_directory)
{
    char dir[] = P_tmpdir "/det-record-XXXXXX";

    CHECK(mkdtemp(dir));
    CHECK_EQ(live(dir, be_alone), 0);
    orphan = mmap(NULL, sizeof(*orphan), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(orphan != MAP_FAILED);
    CHECK_EQ(live(dir, leave_a_child), 0);
    CHECK_EQ(live(dir, close_it), 0);
    CHECK_EQ(kill(*orphan, SIGKILL), 0);
    munmap(orphan, sizeof(*orphan));
    CHECK_OK(io_remove_tree(io_system(), dir, &test_err));
}
