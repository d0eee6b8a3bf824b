/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/left_tasks.h"

#include "agent/task/control.h"
#include "agent/task/left.h"
#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/memory/arena.h"

enum { CONTROL_MS = 1000 };

/* Whether anything of the task runs.  A supervisor is told to end, processes without one are
 * killed. */
static det_status end_task(const struct left *left, struct arena *mem,
                           struct left_task *task, bool *ret_is_left, struct err *err)
{
    CLEANUP(io_closep) struct io_file *lock = NULL;
    struct task_dir_pid pid = {0};
    enum task_dir_state state = TASK_DIR_VANISHED;
    const char *unused;
    det_status st = task_dir_look(left->io, left->dir, &state, &lock, err);

    *ret_is_left = false;
    if (st && st != DET_NOT_FOUND) /* it may have been removed */
        return st;
    if (!control_send(left->dir, CONTROL_TERM, CONTROL_MS, NULL) ||
        state == TASK_DIR_ALIVE) {
        *ret_is_left = true;
        if (!task_dir_read_pid(left->io, left->dir, mem, &pid, NULL))
            task->pid = pid.supervisor;
        return DET_OK;
    }
    st = left_end(left, &unused, err);
    *ret_is_left = st == DET_TIMEOUT;
    return *ret_is_left ? DET_OK : st;
}

det_status left_tasks_end(struct io *io, const char *agent_dir, struct arena *mem,
                          struct left_task **ret_task, size_t *ret_count,
                          struct err *err)
{
    const char *root = task_dir_path(mem, agent_dir, "tasks");
    const char *boot_id = task_dir_boot_id(mem);
    const char **names = NULL;
    size_t most = 0;
    det_status st = root && boot_id ? io_list(io, root, mem, &names, err) : DET_NOMEM;

    *ret_count = 0;
    if (st)
        return st == DET_NOT_FOUND ? DET_OK : err_default(err, st);
    while (names[most])
        most++;
    *ret_task = arena_array(mem, struct left_task, most + 1);
    if (!*ret_task)
        return err_default(err, DET_NOMEM);
    for (; *names; names++) {
        struct left_task *task = &(*ret_task)[*ret_count];
        const struct left left = {.io = io,
                                  .dir = task_dir_path(mem, root, *names),
                                  .name = *names,
                                  .boot_id = boot_id};
        bool is_left = false;
        det_status ended;

        *task = (struct left_task){.name = *names};
        ended = left.dir ? end_task(&left, mem, task, &is_left, st ? NULL : err)
                         : err_default(st ? NULL : err, DET_NOMEM);
        *ret_count += is_left;
        st = st ? st : ended;
    }
    return st;
}
