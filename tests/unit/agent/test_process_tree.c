/* SPDX-License-Identifier: Apache-2.0 */
/* test_process_tree.c - the processes of a task, and no others. */
#include "agent/task/process_tree.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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
