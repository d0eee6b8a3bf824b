/* SPDX-License-Identifier: Apache-2.0 */
/* run_record.h - what runs ran on; equal records are kept once. */
#ifndef STORE_RUN_RECORD_H
#define STORE_RUN_RECORD_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct run_record {
    const char *allocation;
    int64_t run_id;
    int64_t rank;
    const char *agent;  /* NULL: not known any more */
    const char *record; /* JSON */
};
/* Replaces what was there of that share. */
det_status store_run_record_put(struct db *db, int64_t allocation_id, int64_t rank,
                                const char *record, struct err *err);
/* Of all runs of a trial, by run and rank. */
det_status store_run_records(struct db *db, int64_t trial_id, struct arena *mem,
                             struct run_record **ret_rows, uint32_t *ret_count,
                             struct err *err);

#endif
