/* SPDX-License-Identifier: Apache-2.0 */
/* mounts.c - a private view of one directory.
 *
 * The harness reads /run/determined/info/cluster.json and its neighbours under just
 * these names, while a machine runs many tasks.  So each task gets a mount namespace of
 * its own, which only differs from the machine's in two places:
 *
 *   /run/determined            is DIR/run
 *   /run/determined/workdir    is DIR/work, as is train/model in it (by a link)
 *
 * Everything is there under its plain path too, and DET_RUN_DIR and the working
 * directory say that one: a task sees the same names with the namespace and without.
 * The supervisor stays outside, and needs no namespace to be the one that reads and
 * removes DIR.  Mounts go with the last process of the task; there is nothing to undo.
 *
 * It takes root and a kernel that lets it (containers often do not).  Where it fails
 * the task runs in the machine's own namespace: its own libdet and programs look where
 * DET_RUN_DIR says. */
#include "agent/task/mounts.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/task/place.h"
#include "base/arena.h"

enum { SCRATCH = 64 << 10 };

void mounts_prepare(const char *dir)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    const char *work = place_path(&mem, dir, PLACE_RUN "/workdir");
    const char *train = place_path(&mem, dir, PLACE_RUN "/train");
    const char *model = place_path(&mem, dir, PLACE_RUN "/train/model");

    if (geteuid() != 0 || !work || !train || !model)
        return;
    /* Whatever is missing afterwards is not mounted upon. */
    (void)mkdir(MOUNTS_RUN, 0755);
    (void)mkdir(work, 0700);
    (void)mkdir(train, 0700);
    (void)!symlink("../workdir", model);
}

void mounts_enter(const char *run, const char *work)
{
    if (unshare(CLONE_NEWNS))
        return;
    /* What is mounted here stays here, while what the machine mounts and unmounts later
     * is seen (a private copy would keep its disks busy).  Unless this has worked, our
     * mounts would show outside. */
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL))
        return;
    if (mount(run, MOUNTS_RUN, NULL, MS_BIND, NULL) == 0)
        (void)mount(work, MOUNTS_RUN "/workdir", NULL, MS_BIND, NULL);
}
