/* SPDX-License-Identifier: Apache-2.0 */
/* import_run.h - imports an offline run into a master, by REST calls.
 *
 * `det import` imports into a real master.  --local and `det ui` start a master in the
 * memory of the command, import the runs of a folder into it, and then ask it as they
 * would ask any other.  So all of them show the same tables from the same rows. */
#ifndef CLI_OFFLINE_IMPORT_RUN_H
#define CLI_OFFLINE_IMPORT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cli;
struct offline_run;
struct ring_reader;

enum import_flag {
    IMPORT_OUTLINE = 1,  /* what lists show: neither training metrics nor output */
    IMPORT_IN_PLACE = 2, /* checkpoints stay where they are, unread */
    IMPORT_NAMES = 4,    /* neither reports nor output: those follow later */
};

struct import_result {
    int64_t experiment_id;
    int64_t trial_id;
    bool was_there;
    uint64_t reports; /* new ones */
    uint64_t refused;
    uint64_t lost; /* damaged in the folder */
    uint64_t output_bytes;
    uint32_t checkpoints;
    uint32_t checkpoints_left; /* damaged or missing: not imported */
};

/* Idempotent: what the master already has is not stored again. */
det_status import_run(struct cli *cli, const struct offline_run *run, unsigned flags,
                      struct import_result *ret_result);

/* Follows a run that is in the master: each call imports what the run has reported and
 * printed since the last one.  A call without news is cheap.  Starts as
 * {.trial_id = ...}; import_follow_end() frees its resources. */
struct import_follow {
    int64_t trial_id;
    bool is_known;   /* `stored` is valid */
    uint64_t stored; /* the number of the last report in the master */
    struct ring_reader *reader;
    bool knows_output;  /* `output` is valid */
    uint64_t output[2]; /* high-water mark of each stream */
};
det_status import_follow(struct cli *cli, const struct offline_run *run,
                         struct import_follow *f, bool *ret_did);
void import_follow_end(struct import_follow *f);
/* Sends the run's current state and its notes. */
det_status import_end(struct cli *cli, const struct offline_run *run, int64_t trial_id);

#endif
