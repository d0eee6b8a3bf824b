/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - experiments and jobs that wait for slots or hold them. */
#ifndef STORE_TASK_QUEUE_H
#define STORE_TASK_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

/* An experiment or a job that has allocations that are not over. */
struct queue_view {
    int64_t experiment_id; /* 0: it is a job */
    int64_t job;           /* its number; 0: it is an experiment */
    const char *type;      /* "EXPERIMENT", or a job's: JOB_GENERIC, JOB_TENSORBOARD */
    const char *job_id;    /* of a job: its task's id */
    const char *name;
    const char *username;
    int64_t owner_id;
    const char *resource_pool;
    int64_t submitted_us;
    int64_t priority;
    double weight;
    double progress;
    int64_t requested; /* slots */
    int64_t allocated;
    bool is_scheduled; /* some allocation holds slots */
    bool is_preemptible;
    int64_t workspace_id;
    int64_t ahead; /* entries of its pool that wait before it, by priority */
};
/* In the order in which they get slots. */
det_status store_queue_list(struct db *db, struct arena *mem,
                            struct queue_view **ret_rows, uint32_t *ret_count,
                            struct err *err);
/* DET_NOT_FOUND: no such entry, or it is over.  One of the two numbers is 0. */
det_status store_queue_find(struct db *db, const char *job_id,
                            int64_t *ret_experiment_id, int64_t *ret_job,
                            struct err *err);

#endif
