/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c - the queue of a pool as people see it: one job an experiment. */
#include <stdlib.h>

#include "core/core_impl.h"

/* A job, and what its order and its backfilling are told by. */
struct entry {
    struct core_job job;
    int64_t priority;
    int64_t submitted_us;
    int64_t waits_since_us; /* its oldest waiting run; INT64_MAX: none waits */
    int64_t last_start_us;  /* of what holds slots */
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;

    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->submitted_us != y->submitted_us)
        return x->submitted_us < y->submitted_us ? -1 : 1;
    return (x->job.experiment_id > y->job.experiment_id) -
           (x->job.experiment_id < y->job.experiment_id);
}

/* False when the experiment has nothing in that pool. */
static bool gather(const struct live_experiment *it, const struct pool_entry *pool,
                   struct entry *ret_entry)
{
    struct entry entry = {
        .job.experiment_id = it->row.id,
        .priority = it->row.priority,
        .submitted_us = it->row.submitted_us,
        .waits_since_us = INT64_MAX,
    };
    bool has_any = false;

    for (struct tree_node *at = tree_first(&it->trials); at; at = tree_next(at)) {
        const struct live_allocation *run =
            CONTAINER_OF(at, struct live_trial, node)->allocation;

        if (!run || run->pool != pool)
            continue;
        has_any = true;
        entry.job.requested_slots += (uint32_t)run->row.slots;
        if (run->row.state == ALLOCATION_PENDING) {
            entry.waits_since_us = MIN(entry.waits_since_us, run->row.request_us);
            continue;
        }
        entry.job.is_scheduled = true;
        entry.job.allocated_slots += (uint32_t)run->row.slots;
        entry.last_start_us = MAX(entry.last_start_us, run->row.start_us);
    }
    *ret_entry = entry;
    return has_any;
}

/* In order: who waits before whom; and who started while something of a more important
 * level was waiting already, which is what backfilling means. */
static void number(struct entry *entry, size_t count, struct core_job *jobs)
{
    int64_t waits_above_us = INT64_MAX; /* on levels before this one */
    int64_t waits_here_us = INT64_MAX;
    int64_t ahead = 0;

    for (size_t i = 0; i < count; i++) {
        if (i && entry[i].priority != entry[i - 1].priority) {
            waits_above_us = MIN(waits_above_us, waits_here_us);
            waits_here_us = INT64_MAX;
        }
        jobs[i] = entry[i].job;
        jobs[i].ahead = ahead;
        jobs[i].is_backfilled =
            jobs[i].is_scheduled && entry[i].last_start_us >= waits_above_us;
        waits_here_us = MIN(waits_here_us, entry[i].waits_since_us);
        ahead += !jobs[i].is_scheduled;
    }
}

det_status core_jobs(const struct core *core, const char *pool, struct arena *mem,
                     struct core_job **ret_jobs, uint32_t *ret_count, struct err *err)
{
    const struct pool_entry *in = core_find_pool(core, pool);
    struct entry *entry = arena_array(mem, struct entry, core->experiments.count + 1);
    struct core_job *jobs =
        arena_array(mem, struct core_job, core->experiments.count + 1);
    const struct live_experiment *it;
    size_t count = 0;

    if (!in)
        return err_set(err, DET_NOT_FOUND, "no resource pool %s", pool);
    if (!entry || !jobs)
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; (it = map_next(&core->experiments, &i));)
        count += gather(it, in, &entry[count]);
    qsort(entry, count, sizeof(*entry), compare_entries);
    number(entry, count, jobs);
    *ret_jobs = jobs;
    *ret_count = (uint32_t)count;
    return DET_OK;
}
