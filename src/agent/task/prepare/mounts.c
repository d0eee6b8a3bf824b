/* SPDX-License-Identifier: Apache-2.0 */
/* mounts.c - a private view of one directory.
 *
 * The harness reads /run/determined/info/cluster.json and other files under exactly
 * these names, but a machine runs many tasks.  So each task gets its own mount
 * namespace, which differs from the machine's in two places only:
 *
 *   /run/determined            is DIR/run
 *   /run/determined/workdir    is DIR/work, as is train/model in it (by a symlink)
 *
 * Everything also has its plain path, which DET_RUN_DIR and the working directory name:
 * a task sees the same names with the namespace and without.  The supervisor stays
 * outside.  Mounts disappear with the last process of the task; there is nothing to
 * undo.
 *
 * This needs root and a kernel that allows it (containers often do not).  Where it
 * fails, the task runs in the machine's own namespace: libdet and our programs look
 * where DET_RUN_DIR says. */
#include "agent/task/prepare/mounts.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/task/task_dir.h"
#include "base/memory/arena.h"

enum { SCRATCH = 64 << 10 };

void mounts_prepare(const char *dir)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    const char *work = task_dir_path(&mem, dir, TASK_DIR_RUN "/workdir");
    const char *train = task_dir_path(&mem, dir, TASK_DIR_RUN "/train");
    const char *model = task_dir_path(&mem, dir, TASK_DIR_RUN "/train/model");

    if (geteuid() != 0 || !work || !train || !model)
        return;
    /* Missing directories are not mounted on. */
    (void)mkdir(MOUNTS_RUN, 0755);
    (void)mkdir(work, 0700);
    (void)mkdir(train, 0700);
    (void)!symlink("../workdir", model);
}

void mounts_enter(const char *run, const char *work)
{
    if (unshare(CLONE_NEWNS))
        return;
    /* Our mounts stay in here, while later mounts and unmounts of the machine are
     * seen (a private copy would keep its disks busy).  If this fails, our mounts
     * would be visible outside. */
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL))
        return;
    if (mount(run, MOUNTS_RUN, NULL, MS_BIND, NULL) == 0)
        (void)mount(work, MOUNTS_RUN "/workdir", NULL, MS_BIND, NULL);
}
