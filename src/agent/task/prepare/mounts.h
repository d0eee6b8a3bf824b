/* SPDX-License-Identifier: Apache-2.0 */
/* mounts.h - the fixed paths that the official harness needs, separately for each
 * task. */
#ifndef AGENT_TASK_PREPARE_MOUNTS_H
#define AGENT_TASK_PREPARE_MOUNTS_H

#define MOUNTS_RUN "/run/determined"

/* Makes the mount points: the machine's (empty) MOUNTS_RUN and those in DIR/run.
 * Ignores failures. */
void mounts_prepare(const char *dir);

/* Between fork and exec: moves this process and its descendants into a namespace in
 * which MOUNTS_RUN is `run` and MOUNTS_RUN/workdir is `work`.  Changes nothing where
 * that is not allowed. */
void mounts_enter(const char *run, const char *work);

#endif
