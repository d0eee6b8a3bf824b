/* SPDX-License-Identifier: Apache-2.0 */
/* import_run_impl.h - the state of one import (import_run.c, import_output.c). */
#ifndef CLI_OFFLINE_IMPORT_RUN_IMPL_H
#define CLI_OFFLINE_IMPORT_RUN_IMPL_H

#include "agent/task/output/ship.h"
#include "cli/offline/import_run.h"

struct json;

struct import_state {
    struct cli *cli;
    const struct offline_run *run;
    unsigned flags; /* enum import_flag */
    struct import_result to;
    const struct json *config;     /* the experiment's, as the master completed it */
    const char *from_root;         /* of checkpoints */
    const char *to_root;           /* NULL: not a directory */
    uint64_t stored;               /* the number of the last report in the master */
    uint64_t output[SHIP_STREAMS]; /* high-water mark of each stream */
    bool knows_output;             /* `output` is valid */
};

/* Imports the output (import_output.c). */
det_status import_output(struct import_state *b);

#endif
