/* SPDX-License-Identifier: Apache-2.0 */
/* bring.h - what the parts of bringing a run into a master share (bring.c). */
#ifndef CLI_BRING_H
#define CLI_BRING_H

#include "agent/task/ship.h"
#include "cli/ctx.h"
#include "cli/offline.h"

struct bring {
    struct cli *cli;
    const struct offline_run *run;
    unsigned flags; /* enum bring_flag */
    struct brought to;
    const struct json *config; /* the experiment's, as the master completed it */
    const char *from_root;     /* of checkpoints */
    const char *to_root;       /* NULL: no directory */
    uint64_t stored;           /* the number of the last report that the master has */
    uint64_t output[SHIP_STREAMS]; /* how far it has each stream, once ... */
    bool knows_output;
};

/* bring_output.c: what it printed. */
det_status bring_output(struct bring *b);

#endif
