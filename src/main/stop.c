/* SPDX-License-Identifier: Apache-2.0 */
#include "main/stop.h"

#include <limits.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "cli/frame/cli_main.h"
#include "cli/frame/role_options.h"
#include "libdet/client/runfile.h"
#include "main/data_dir.h"
#include "main/end_process.h"
#include "main/local_agent.h"

enum { AGENT_END_S = 30 };

/* A run file may be left over, and its process number reused: only a process that holds
 * the lock is a master. */
static det_status is_master_there(const char *data_dir, struct arena *mem,
                                  bool *ret_is_there, struct err *err)
{
    CLEANUP(io_closep) struct io_file *lock = NULL;
    const char *path = arena_printf(mem, "%s/%s", data_dir, RUNFILE_LOCK);
    det_status st = path ? io_open(io_system(), path, IO_WRITE, &lock, err)
                         : err_default(err, DET_NOMEM);

    if (st && st != DET_NOT_FOUND)
        return st;
    *ret_is_there = !st && io_lock(lock, NULL) == DET_BUSY;
    return DET_OK;
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

int stop_main(const struct stop_options *options)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct err err = {0};
    const char *data_dir;
    int agent_pid;
    bool is_there = false;
    det_status st = data_dir_find(options->data_dir, &mem, &data_dir, &is_there, &err);

    if (!st && !is_there && options->data_dir)
        st = err_set(&err, DET_NOT_FOUND, "there is no folder '%s'", data_dir);
    if (st)
        return cli_report(st, &err);
    agent_pid = local_agent_pid(local_agent_dir(&mem, data_dir));
    st = is_master_there(data_dir, &mem, &is_there, &err);
    if (!st && is_there)
        st = stop_master(data_dir, &mem, &err);
    if (st)
        return cli_report(st, &err);
    (void)runfile_remove(io_system(), data_dir, NULL);
    if (!is_there && !agent_pid) {
        fprintf(stderr, "nothing is running in '%s'\n", data_dir);
        return 0;
    }
    agent_pid = local_agent_pid(local_agent_dir(&mem, data_dir));
    if (agent_pid > 0 && !end_process(agent_pid, AGENT_END_S))
        return cli_report(
            err_set(&err, DET_TIMEOUT, "the agent (pid %d) did not stop", agent_pid),
            &err);
    fprintf(stderr, "stopped\n");
    return 0;
}
