/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.h - the whole life of `det task run DIR`.
 *
 * DIR/spec.json says what to run (task_dir.h draws the directory, spec.h describes the
 * file).  The supervisor does not depend on the process that started it: it has its own
 * session and log, and closes standard output as the sign that it holds DIR's lock.  A
 * failure before that is a sentence on standard output.
 *
 * Must be called once, from the main thread, before any other thread exists. */
#ifndef AGENT_TASK_SUPERVISOR_H
#define AGENT_TASK_SUPERVISOR_H

/* The exit code for the process: 0 when the task's end was recorded, however it ended.
 */
int supervisor_run(const char *dir);

#endif
