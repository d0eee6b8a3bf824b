/* SPDX-License-Identifier: Apache-2.0 */
/* alive.h - everything that is not over, for core_restore(). */
#ifndef STORE_HEART_ALIVE_H
#define STORE_HEART_ALIVE_H

#include <stdint.h>

#include "base/err.h"

struct agent;
struct allocation;
struct arena;
struct db;
struct experiment;
struct job;
struct search_input;
struct search_snapshot;
struct share;
struct trial;

/* Arrays in the order that core_restore() expects. */
struct store_alive {
    struct experiment *experiment;
    uint32_t experiments;
    struct trial *trial;
    uint32_t trials;
    struct job *job;
    uint32_t jobs;
    struct allocation *allocation;
    uint32_t allocations;
    struct share *share;
    uint32_t shares;
    struct agent *agent;
    uint32_t agents;
    struct search_snapshot *snapshot;
    uint32_t snapshots;
    struct search_input *input;
    uint32_t inputs;
};
/* Into `mem`. */
det_status store_load_alive(struct db *db, struct arena *mem,
                            struct store_alive *ret_alive, struct err *err);

#endif
