/* SPDX-License-Identifier: Apache-2.0 */
/* mounts.h - the paths that the official harness insists on, for one task alone. */
#ifndef AGENT_TASK_MOUNTS_H
#define AGENT_TASK_MOUNTS_H

#define MOUNTS_RUN "/run/determined"

/* Makes what is to be mounted upon: the machine's (empty) MOUNTS_RUN and the places in
 * DIR/run.  Does what it can. */
void mounts_prepare(const char *dir);

/* Between fork and exec: puts this process, and all that come from it, where MOUNTS_RUN
 * is `run` and MOUNTS_RUN/workdir is `work`.  Where that is not allowed, nothing
 * changes. */
void mounts_enter(const char *run, const char *work);

#endif
