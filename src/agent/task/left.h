/* SPDX-License-Identifier: Apache-2.0 */
/* left.h - what a supervisor that is gone has left: processes, output and reports. */
#ifndef AGENT_TASK_LEFT_H
#define AGENT_TASK_LEFT_H

#include <stdint.h>

#include "base/err.h"

struct io;
struct master_link;

struct left {
    struct io *io;
    const char *dir;        /* of the task */
    const char *name;       /* for the log */
    const char *allocation; /* for the master */
    int64_t rank;
    const char *boot_id;       /* of this machine, now */
    const char *control_group; /* of the agent, in which tasks get theirs; NULL: none */
};

/* Ends all processes of the task, and its supervisor, should it be alive.  DET_TIMEOUT: some have
 * not ended yet, try again.  *ret_why: why the supervisor is gone. */
det_status left_end(const struct left *left, const char **ret_why, struct err *err);

/* Sends reports and output over `link`, which has the token of the agent: that of the task may
 * be the reason why they are still here.  Another failure than of the link loses the rest, which
 * the log says; `ret_lost` then says of which file.  A lack of memory or descriptors loses
 * nothing. */
det_status left_send(const struct left *left, struct master_link *link,
                     struct err *ret_lost);

#endif
