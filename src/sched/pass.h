/* SPDX-License-Identifier: Apache-2.0 */
/* pass.h - one pass of a policy over a pool.
 *
 * A policy simulates on the pool itself; a log records each change.  Starts come first.
 * After the first reservation or freed request only reservations may follow, until
 * pass_settle() undoes them and keeps the starts. */
#ifndef SCHED_PASS_H
#define SCHED_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/vec.h"

struct agent;
struct arena;
struct group;
struct hold;
struct hold_share;
struct pool;
struct pool_plan;
struct request;

struct pick {
    struct agent *agent;
    uint32_t count;
};

/* Where a request fits: a stretch of pass.picks, in rank order of the shares. */
struct fit {
    size_t first;
    size_t count;
};

struct change {
    struct agent *agent;
    int32_t free;
    int32_t used;
    int32_t aux;
};

struct start {
    struct request *request;
    struct hold *hold; /* what it will hold, once there is memory for all */
    struct fit fit;
    bool is_backfilled;
};

/* Scratch memory of a pass, kept between passes. */
struct pass {
    VEC(struct pick) picks;
    VEC(struct change) log;
    VEC(struct start) starts;
    VEC(struct request *) reserved;
    VEC(struct request *) preempted;
    VEC(struct group *) groups; /* fair_share.c: those that want slots, in order */
    size_t firm;                /* log entries up to here belong to starts */
    uint64_t stamp;             /* see struct agent */
};

/* Room for the next fit, start or reservation, which then cannot fail.  False: out of
 * memory. */
bool pass_reserve(struct pool *pool);
void pass_start(struct pool *pool, struct request *request, struct fit fit,
                bool is_backfilled);
/* It does not start yet, but requests after it must not plan with these slots. */
void pass_hold_back(struct pool *pool, struct request *request, struct fit fit);
/* Counts as if the running request had ended; false: out of memory. */
bool pass_free(struct pool *pool, const struct request *request);
/* Takes back pass_free() of this request, whatever was logged since; false: out of
 * memory. */
bool pass_unfree(struct pool *pool, const struct request *request);
/* How many slots of the share are enabled, so can be given out again. */
uint32_t share_enabled(const struct hold_share *share);
void pass_undo(struct pool *pool, size_t log_count);
/* Turns a victim into a leaver, as a step of the plan. */
void pass_preempt(struct pool *pool, struct request *request);
void pass_settle(struct pool *pool);
/* Makes the plan and carries it out.  Undoes everything if `status` is a failure or
 * memory runs out. */
det_status pass_finish(struct pool *pool, det_status status, struct arena *mem,
                       struct pool_plan *ret_plan, struct err *err);
void pass_done(struct pass *pass);

#endif
