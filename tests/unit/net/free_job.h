/* SPDX-License-Identifier: Apache-2.0 */
/* free_job.h - frees the server of a world while a request is held. */
#ifndef TESTS_UNIT_NET_FREE_JOB_H
#define TESTS_UNIT_NET_FREE_JOB_H

#include "tests/unit/net/world.h"

/* Frees the server from a lane of its own, once something is held. */
struct free_job {
    struct work task;
    struct world *world;
    struct lane *lane;
    struct gate *is_freed;
};

static inline void free_server_job(struct work *task)
{
    struct free_job *job = CONTAINER_OF(task, struct free_job, task);

    CHECK(gate_wait(job->world->has_held, 0));
    net_server_free(job->world->server);
    job->world->server = NULL;
    gate_open(job->is_freed);
}

static inline void free_server_when_held(struct free_job *job)
{
    struct world *w = job->world;

    job->task = (struct work)WORK_INIT(free_server_job);
    CHECK_OK(lane_new(w->exec, "freer", 1, &job->lane, &test_err));
    CHECK_OK(gate_new(w->exec, &job->is_freed, &test_err));
    if (w->is_memory) /* when the request has arrived */
        lane_post_at(job->lane, &job->task, clock_mono_us(&w->clock.clock) + 1000000);
    else
        lane_post(job->lane, &job->task);
}

static inline void free_server_wait(struct free_job *job)
{
    CHECK(gate_wait(job->is_freed, 0));
    gate_free(job->is_freed);
}

#endif
