/* SPDX-License-Identifier: Apache-2.0 */
/* test_process_tree.c - the processes of a task, and no others. */
#include "agent/task/process_tree.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/task/task_dir.h"
#include "tests/support/test.h"

enum { MIB = 1 << 20 };

static _Noreturn void be_child(size_t bytes, int fd)
{
    pid_t self = getpid();
    char *memory = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        _exit(1);
    memset(memory, 1, bytes + 1);
    (void)!write(fd, &self, sizeof(self));
    for (;;)
        pause();
}

/* A process with a child, which has `bytes` of memory, and says when it is ready. */
static pid_t start_pair(size_t bytes, pid_t *ret_child)
{
    int fd[2];
    pid_t pid, child;

    CHECK(pipe(fd) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (fork() == 0)
            be_child(bytes, fd[1]);
        for (;;)
            pause();
    }
    CHECK(read(fd[0], &child, sizeof(child)) == (ssize_t)sizeof(child));
    close(fd[0]);
    close(fd[1]);
    *ret_child = child;
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static bool is_alive(pid_t pid)
{
    return process_tree_start(pid) && kill(pid, 0) == 0 &&
           waitpid(pid, NULL, WNOHANG) == 0;
}

TEST(only_descendants_get_the_signal)
{
    pid_t child, other_child;
    pid_t pid = start_pair(0, &child);
    pid_t other = start_pair(0, &other_child);
    size_t count = 0;

    /* Signal 0 only counts: a wrong count must not become a wrong kill. */
    CHECK_OK(process_tree_signal(pid, 0, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_OK(process_tree_signal(getpid(), 0, &count, &test_err));
    CHECK_EQ(count, 4);
    CHECK_OK(process_tree_signal(pid, SIGKILL, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK(is_alive(pid));
    CHECK(is_alive(other));
    CHECK(kill(other_child, 0) == 0);
    end(pid);
    CHECK_OK(process_tree_signal(other, SIGKILL, &count, &test_err));
    end(other);
}

TEST(the_memory_of_all_descendants_is_added_up)
{
    pid_t one, two;
    pid_t first = start_pair(40 * (size_t)MIB, &one);
    pid_t second = start_pair(40 * (size_t)MIB, &two);
    int64_t bytes = 0;
    size_t count;

    CHECK_OK(process_tree_memory(getpid(), 0, &bytes, &test_err));
    CHECK(bytes > 80 * (int64_t)MIB && bytes < 200 * (int64_t)MIB);
    CHECK_OK(process_tree_memory(first, 0, &bytes, &test_err));
    CHECK(bytes > 40 * (int64_t)MIB && bytes < 80 * (int64_t)MIB);
    CHECK_OK(process_tree_signal(first, SIGKILL, &count, &test_err));
    CHECK_OK(process_tree_signal(second, SIGKILL, &count, &test_err));
    end(first);
    end(second);
}

/* Forked processes share what they do not change. */
TEST(shared_memory_counts_once)
{
    char *memory = mmap(NULL, 60 * (size_t)MIB, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t pids[4], children[4];
    int64_t bytes = 0;
    size_t count;

    CHECK(memory != MAP_FAILED);
    memset(memory, 1, 60 * (size_t)MIB);
    for (int i = 0; i < 4; i++)
        pids[i] = start_pair(0, &children[i]);
    CHECK_OK(process_tree_memory(getpid(), INT64_MAX, &bytes, &test_err));
    CHECK(bytes > 8 * 60 * (int64_t)MIB); /* not exact */
    CHECK_OK(process_tree_memory(getpid(), 0, &bytes, &test_err));
    CHECK(bytes < 120 * (int64_t)MIB);
    for (int i = 0; i < 4; i++) {
        CHECK_OK(process_tree_signal(pids[i], SIGKILL, &count, &test_err));
        end(pids[i]);
    }
    CHECK(munmap(memory, 60 * (size_t)MIB) == 0);
}

/* ---- processes that look as if they had ended ------------------------------------------ */

static _Noreturn void *outlive_main(void *arg)
{
    const int *ready = arg;
    char path[64];
    char text[256];
    ssize_t len;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
    do {
        int fd = open(path, O_RDONLY);

        sched_yield();
        len = read(fd, text, sizeof(text) - 1);
        close(fd);
        text[len > 0 ? len : 0] = '\0';
    } while (!strstr(text, ") Z "));
    (void)!write(*ready, "y", 1);
    for (;;)
        pause();
}

TEST(a_process_whose_main_thread_has_ended_is_alive)
{
    pthread_t thread;
    size_t count = 0;
    int fd[2];
    char byte;
    pid_t pid;

    CHECK(pipe(fd) == 0);
    pid = fork();
    if (pid == 0) {
        if (pthread_create(&thread, NULL, outlive_main, &fd[1]))
            _exit(1);
        pthread_exit(NULL);
    }
    CHECK(read(fd[0], &byte, 1) == 1);
    CHECK_OK(process_tree_signal(getpid(), 0, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_OK(process_tree_signal(getpid(), SIGKILL, &count, &test_err));
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_OK(process_tree_signal(getpid(), 0, &count, &test_err));
    CHECK_EQ(count, 0);
    close(fd[0]);
    close(fd[1]);
}

/* With descriptors for the list of processes, but for no process. */
TEST(a_lack_of_descriptors_is_not_taken_for_an_end)
{
    const struct task_dir_pid rest = {.mark = 1};
    const struct rlimit four = {4, 4};
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        size_t count = 0;
        pid_t found = 0;

        close_range(3, ~0U, 0);
        (void)setrlimit(RLIMIT_NOFILE, &four);
        _exit(process_tree_signal(getpid(), 0, &count, NULL) == DET_BUSY &&
                      process_tree_signal_rest(&rest, "/t/x-0", 0, &count, NULL) ==
                          DET_BUSY &&
                      process_tree_supervisor("/t/x-0", &found, NULL) == DET_BUSY
                  ? 0
                  : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQ(status, 0);
}

/* ---- processes that left ---------------------------------------------------------- */

/* A process of the task in `dir` that keeps nothing of it: its parents have ended, it has a
 * session of its own, an empty environment and no descriptor but the end of a pipe, which it
 * does not know.  Returns the other end: it is at its end when the process is. */
static int flee(const char *dir)
{
    static char *const argv[] = {"sleep", "600", NULL};
    static char *const nothing[] = {NULL};
    int fd[2];
    pid_t pid;

    CHECK(pipe(fd) == 0);
    pid = fork();
    if (pid == 0) {
        (void)process_tree_mark(dir);
        setsid();
        if (fork() == 0 && setsid() > 0 && fork() == 0) {
            dup2(fd[1], 100);
            close_range(0, 99, 0);
            fcntl(100, F_SETFD, 0);
            execve("/bin/sleep", argv, nothing);
        }
        _exit(0);
    }
    CHECK(waitpid(pid, NULL, 0) == pid);
    close(fd[1]);
    return fd[0];
}

/* Until it is a process that sleeps, and none of its parents is left. */
static void await_left(const char *dir, size_t count)
{
    const struct task_dir_pid pid = {.mark = 1};
    size_t found;

    do
        CHECK_OK(process_tree_signal_rest(&pid, dir, 0, &found, &test_err));
    while (found != count);
}

static void await_end(int fd)
{
    char byte;

    CHECK(read(fd, &byte, 1) == 0);
    close(fd);
}

TEST(a_process_that_left_everything_is_still_known)
{
    struct task_dir_pid pid = {.mark = 1};
    int ours = flee("/t/one-0");
    int others = flee("/t/two-0");
    size_t count = 0;

    await_left("/t/one-0", 1);
    await_left("/t/two-0", 1);
    CHECK_OK(process_tree_signal_rest(&pid, "/t/one-0", SIGKILL, &count, &test_err));
    CHECK_EQ(count, 1);
    await_end(ours);
    await_left("/t/one-0", 0);
    await_left("/t/two-0", 1);
    /* The directory has another name by now, but the file with the mark was read. */
    pid.mark = process_tree_mark_of("/t/two-0");
    CHECK_OK(process_tree_signal_rest(&pid, "/t/moved-0", SIGKILL, &count, &test_err));
    CHECK_EQ(count, 1);
    await_end(others);
}

TEST(a_process_that_is_marked_keeps_its_first_mark)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        bool is_first =
            process_tree_mark("/t/outer-0") == process_tree_mark_of("/t/outer-0");

        _exit(is_first && process_tree_mark("/t/inner-0") == 0 ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQ(status, 0);
}
