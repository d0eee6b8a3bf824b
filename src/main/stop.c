/* SPDX-License-Identifier: Apache-2.0 */
#include "main/stop.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "agent/left_tasks.h"
#include "base/compiler.h"
#include "base/io/folder_lock.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "cli/frame/cli_main.h"
#include "cli/frame/role_options.h"
#include "libdet/client/runfile.h"
#include "main/data_dir.h"
#include "main/end_process.h"
#include "main/local_agent.h"

enum {
    AGENT_END_S = 30,
    TASKS_END_ROUNDS = 300, /* 15 s: a task has 10 s to end */
    ROUND_MS = 50,
};

/* A run file may be left over, and its process number reused: only a process that holds
 * the lock is a master. */
static det_status is_master_there(const char *data_dir, bool *ret_is_there,
                                  struct err *err)
{
    return folder_lock_look(io_system(), data_dir, RUNFILE_LOCK, ret_is_there, err);
}

static det_status stop_master(const char *data_dir, struct arena *mem, struct err *err)
{
    struct runfile run = {0};
    det_status st = runfile_read(io_system(), data_dir, mem, &run, err);

    if (st == DET_NOT_FOUND)
        return err_set(err, DET_BUSY, "the master of '%s' is just starting or stopping",
                       data_dir);
    if (!st && run.pid > INT_MAX)
        return err_set(err, DET_CORRUPT,
                       "the run file in '%s' is damaged: process %lld", data_dir,
                       (long long)run.pid);
    if (!st && !end_process((int)run.pid, AGENT_END_S + 15))
        st = err_set(err, DET_TIMEOUT, "the master (pid %lld) did not stop",
                     (long long)run.pid);
    return st;
}

static det_status say_what_is_left(const char *agent_dir, const struct left_task *task,
                                   size_t count, struct err *err)
{
    char process[48] = "";

    if (task->pid)
        snprintf(process, sizeof(process), " (pid %lld)", (long long)task->pid);
    return err_set(err, DET_TIMEOUT,
                   "%zu task%s of '%s' did not end, such as %s%s; end %s, then repeat "
                   "'det stop'",
                   count, count == 1 ? "" : "s", agent_dir, task->name, process,
                   task->pid ? "that process" : "its processes");
}

/* The agent may have died before, or given up waiting. */
static det_status end_tasks(const char *agent_dir, bool *ret_was_there, struct err *err)
{
    const struct timespec pause = {.tv_nsec = ROUND_MS * 1000 * 1000};
    struct left_task *task = NULL;
    size_t count = 1;

    for (int i = 0; i < TASKS_END_ROUNDS; i++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 24);
        det_status st =
            left_tasks_end(io_system(), agent_dir, &mem, &task, &count, err);

        if (st || !count)
            return st;
        *ret_was_there = true;
        if (i + 1 == TASKS_END_ROUNDS)
            return say_what_is_left(agent_dir, task, count, err);
        nanosleep(&pause, NULL);
    }
    return DET_OK;
}

static det_status end_agent(const char *agent_dir, struct err *err)
{
    int pid = local_agent_pid(agent_dir);

    if (pid > 0 && !end_process(pid, AGENT_END_S))
        return err_set(err, DET_TIMEOUT, "the agent (pid %d) did not stop", pid);
    return DET_OK;
}

int stop_main(const struct stop_options *options)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct err err = {0};
    const char *data_dir;
    const char *agent_dir;
    bool was_there = false;
    bool is_there = false;
    det_status st = data_dir_find(options->data_dir, &mem, &data_dir, &is_there, &err);

    if (!st && !is_there && options->data_dir)
        st = err_set(&err, DET_NOT_FOUND, "there is no folder '%s'", data_dir);
    if (st)
        return cli_report(st, &err);
    agent_dir = local_agent_dir(&mem, data_dir);
    if (!agent_dir)
        return cli_report(err_default(&err, DET_NOMEM), &err);
    was_there = local_agent_pid(agent_dir) != 0;
    st = is_master_there(data_dir, &is_there, &err);
    was_there |= is_there;
    if (!st && is_there)
        st = stop_master(data_dir, &mem, &err);
    if (st)
        return cli_report(st, &err);
    (void)runfile_remove(io_system(), data_dir, NULL);
    st = end_agent(agent_dir, &err);
    if (!st)
        st = end_tasks(agent_dir, &was_there, &err);
    if (st)
        return cli_report(st, &err);
    if (was_there)
        fprintf(stderr, "stopped\n");
    else
        fprintf(stderr, "nothing is running in '%s'\n", data_dir);
    return 0;
}
