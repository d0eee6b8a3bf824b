/* SPDX-License-Identifier: Apache-2.0 */
/* quarantine.h - task directories that were set aside, because a process of the task has made
 * something of them that nobody should read again, or because they cannot be removed.
 *
 *   DATA/quarantine/<seconds since 1970>-<name of the task directory>
 *
 * Without work/ and tmp/, which are the program's own and may be large.  The oldest are removed:
 * at most QUARANTINE_MOST are kept, and none for longer than QUARANTINE_DAYS. */
#ifndef AGENT_TASK_QUARANTINE_H
#define AGENT_TASK_QUARANTINE_H

#include <stdint.h>

#include "base/err.h"

struct io;

enum { QUARANTINE_MOST = 8, QUARANTINE_DAYS = 7 };

/* Moves `dir` to `place`, and removes what is too old there. */
det_status quarantine_put(struct io *io, const char *place, const char *dir,
                          int64_t now_us, struct err *err);
/* Removes what is too old. */
void quarantine_prune(struct io *io, const char *place, int64_t now_us);

#endif
