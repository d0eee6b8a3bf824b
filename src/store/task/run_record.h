/* SPDX-License-Identifier: Apache-2.0 */
/* run_record.h - the machine and software that each run used; equal records are one
 * row. */
#ifndef STORE_TASK_RUN_RECORD_H
#define STORE_TASK_RUN_RECORD_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct run_record {
    const char *allocation;
    int64_t run_id;
    int64_t rank;
    const char *agent;  /* NULL: no longer known */
    const char *record; /* JSON */
};
/* Replaces the record of that share. */
det_status store_run_record_put(struct db *db, int64_t allocation_id, int64_t rank,
                                const char *record, struct err *err);
/* The records of all runs of a trial, by run and rank. */
det_status store_run_records(struct db *db, int64_t trial_id, struct arena *mem,
                             struct run_record **ret_rows, uint32_t *ret_count,
                             struct err *err);

#endif
