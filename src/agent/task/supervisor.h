/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.h - the whole life of `det task run DIR`.
 *
 * DIR/spec.json says what to run (place.h draws the directory, spec.h the file).  The
 * caller may have been started by anybody; from its first moments on the supervisor
 * depends on nobody: own session, own log, and standard output closed as the sign that
 * it holds DIR's lock.  A failure before that is a sentence on standard output.
 *
 * To be called once, from the main thread, before any other thread exists. */
#ifndef AGENT_TASK_SUPERVISOR_H
#define AGENT_TASK_SUPERVISOR_H

/* The exit code for the process: 0 when the task's end was recorded, however it ended.
 */
int supervisor_run(const char *dir);

#endif
