/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - what an allocation knows of its trial or job; see task.c. */
#ifndef CORE_TASK_H
#define CORE_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/pool.h"

struct allocation;
struct core;
struct live_allocation;
struct live_task;

/* What a run of the task asks for now. */
struct task_need {
    const char *pool;
    uint32_t slots;
    uint32_t priority;
    int64_t position;
    bool is_preemptible;
    bool is_single_node;
    bool prefers_single_node;
    struct pool_group group; /* the experiment, or the job */
    int64_t preemption_timeout_us;
};
struct task_need task_need(const struct live_task *task);
/* "Trial 3 (Experiment 1)", "Job <task id>"; in scratch memory. */
const char *task_title(struct core *core, const struct live_task *task);
/* The number of its latest run; 0: none yet. */
int64_t task_run_id(const struct live_task *task);
/* Run `run_id` begins; fills in the ids of its trial or job. */
void task_begin_run(struct core *core, struct live_task *task, int64_t run_id,
                    struct allocation *ret_row);
/* Its allocation is over. */
void task_run_over(struct core *core, struct live_task *task,
                   const struct live_allocation *run);
/* Whether any run of its task validated, saved a checkpoint or told its progress: what has
 * made progress once can work, though not on every machine.  A trial whose validations
 * lack the searcher's metric cannot.  After a restart of the master earlier runs that only
 * validated do not count. */
bool task_can_work(const struct live_allocation *run);
/* A retry would fail, too: the task gets no more restarts. */
void task_fails_for_good(struct core *core, struct live_task *task);
/* Why a run is killed at its deadline. */
const char *task_late_reason(const struct live_task *task);
/* The task does not run on that agent again.  False: out of memory. */
bool task_block(struct live_task *task, int64_t agent);

#endif
