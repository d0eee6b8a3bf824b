/* SPDX-License-Identifier: Apache-2.0 */
/* master_cert.h - the task's copy of the certificate by which the master is known.
 *
 * A task may run as another user and for months; meanwhile the master's certificate is
 * renewed.  So the task has a copy in its directory, which the agent replaces when its own
 * file changes. */
#ifndef AGENT_TASK_MASTER_CERT_H
#define AGENT_TASK_MASTER_CERT_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct io;

/* Copies the file into the task's directory unless that was done with the file of time
 * `*modified_us` (0: never).  Does nothing if `cert_file` is NULL or "noverify". */
det_status master_cert_pass(struct io *io, const char *cert_file, const char *dir,
                            int64_t *modified_us, struct err *err);
/* DET_MASTER_CERT_FILE for the task: the copy, "noverify", or NULL. */
const char *master_cert_of_task(struct arena *mem, const char *cert_file,
                                const char *dir);

#endif
