/* SPDX-License-Identifier: Apache-2.0 */
/* launch_place.h - the nodes of the task and the slots of this one.
 *
 * Read from the files and variables that the supervisor prepares for the task.  Outside
 * of a task: one node without slots. */
#ifndef CLI_LAUNCH_LAUNCH_PLACE_H
#define CLI_LAUNCH_LAUNCH_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cli;
struct json;

struct launch_place {
    size_t nodes;
    const struct json *addresses; /* of the nodes, by rank; NULL: there is one */
    const struct json *counts;    /* of their slots, by rank; NULL: unknown */
    int64_t rank;                 /* of this node */
    bool has_slots;               /* DET_SLOT_IDS is set */
    size_t slots;                 /* on this node */
    bool has_gpus;                /* the slots are GPUs */
};

enum { LAUNCH_PORT_MOST = 65535 };

/* Borrows from the arena of `cli`. */
det_status launch_place_read(struct cli *cli, struct launch_place *ret_place);
/* DET_UNSUPPORTED on several nodes; `instead` continues the sentence with advice. */
det_status launch_place_is_one(struct cli *cli, const struct launch_place *place,
                               const char *launcher, const char *instead);
/* The number of ranks on this node: `wanted`, or one per slot. */
det_status launch_place_ranks(struct cli *cli, int64_t wanted,
                              const struct launch_place *place, int64_t *ret_count);
/* The port through which the nodes talk: `wanted`, else the allocation's, else `or`. */
det_status launch_place_port(struct cli *cli, int64_t wanted, int64_t or,
                             int64_t *ret_port);

#endif
