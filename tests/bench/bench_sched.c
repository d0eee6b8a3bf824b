/* SPDX-License-Identifier: Apache-2.0 */
/* bench_sched.c - what a pool of 1,000 agents with 8 slots each costs, by how many
 * requests wait.
 *
 *   idle cycle    add a request somewhere in the queue, schedule, remove it; all slots
 *                 are taken, so nothing starts
 *   busy cycle    a running allocation ends, schedule starts the next one, and a new
 *                 request joins the queue
 *
 * Prints nanoseconds of processor time a cycle: of idle cycles, which are all alike,
 * the best of ten rounds, since the machine may be busy with other things; of busy
 * ones, the mean over all rounds, since a cycle that preempts costs more than one that
 * does not. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory/arena.h"
#include "base/rng.h"
#include "sched/pool.h"

enum { AGENTS = 1000, SLOTS = 8, CYCLES = 10000, ROUNDS = 10 };

struct bench {
    struct pool *pool;
    struct arena mem;
    struct rng64 rng;
    struct err err;
    int64_t next_id;
    int64_t running[AGENTS * SLOTS + CYCLES * ROUNDS * 2];
    uint32_t running_count;
    int64_t leaving[AGENTS * SLOTS];
    uint32_t leaving_count;
    uint64_t preemptions;
};

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void must(struct bench *b, det_status status)
{
    if (!status)
        return;
    fprintf(stderr, "bench_sched: %s\n", b->err.text);
    exit(1);
}

/* Shapes as in life: mostly one slot, some gangs; four levels, positions at random. */
static int64_t add(struct bench *b, bool is_newest)
{
    static const uint32_t sizes[] = {1, 1, 1, 1, 2, 4, 8, 64};
    int64_t id = b->next_id++;
    struct pool_request request = {
        .allocation = id,
        .slots = sizes[rng64_below(&b->rng, ARRAY_LEN(sizes))],
        .priority = 40 + (uint32_t)rng64_below(&b->rng, 4),
        .position =
            is_newest ? id + INT32_MAX : (int64_t)rng64_below(&b->rng, INT32_MAX),
        .is_preemptible = true,
    };

    must(b, pool_add(b->pool, &request, &b->err));
    return id;
}

static uint32_t schedule(struct bench *b)
{
    struct pool_plan plan;

    arena_clear(&b->mem);
    must(b, pool_schedule(b->pool, &b->mem, &plan, &b->err));
    for (uint32_t i = 0; i < plan.count; i++)
        if (plan.step[i].action == POOL_START)
            b->running[b->running_count++] = plan.step[i].allocation;
        else
            b->leaving[b->leaving_count++] = plan.step[i].allocation;
    return plan.count;
}

static double idle_cycle(struct bench *b, bool is_newest)
{
    double start = now_ns();

    for (int i = 0; i < CYCLES; i++) {
        int64_t id = add(b, is_newest);

        schedule(b);
        pool_remove(b->pool, id);
    }
    return (now_ns() - start) / CYCLES;
}

/* Who was asked to leave goes first; a left one may still be in `running`, and removing
 * it again does nothing. */
static void end_one(struct bench *b)
{
    uint32_t which = (uint32_t)rng64_below(&b->rng, b->running_count);

    if (b->leaving_count) {
        b->preemptions++;
        pool_remove(b->pool, b->leaving[--b->leaving_count]);
        return;
    }
    pool_remove(b->pool, b->running[which]);
    b->running[which] = b->running[--b->running_count];
}

static double busy_cycle(struct bench *b)
{
    double start = now_ns();

    for (int i = 0; i < CYCLES; i++) {
        end_one(b);
        schedule(b);
        add(b, true);
    }
    return (now_ns() - start) / CYCLES;
}

static double best_idle_cycle(struct bench *b, bool is_newest)
{
    double best = idle_cycle(b, is_newest);

    for (int i = 1; i < ROUNDS; i++) {
        double time = idle_cycle(b, is_newest);

        best = MIN(best, time);
    }
    return best;
}

/* One request a slot, more important than all that wait: the pool is full. */
static void fill(struct bench *b)
{
    for (int i = 0; i < AGENTS * SLOTS; i++) {
        struct pool_request request = {.allocation = b->next_id++,
                                       .slots = 1,
                                       .priority = 1,
                                       .is_preemptible = true};

        must(b, pool_add(b->pool, &request, &b->err));
    }
    schedule(b);
}

static void run(bool is_preemptive, int waiting)
{
    struct pool_config config = {
        .policy = "priority", .is_preemptive = is_preemptive, .max_aux_per_agent = 100};
    static struct bench b;
    double newest;
    double random;
    double busy = 0;

    b = (struct bench){.rng = {1}, .next_id = 1, .mem = ARENA_INIT(64 << 20)};
    must(&b, pool_new(&config, &b.pool, &b.err));
    for (int i = 1; i <= AGENTS; i++)
        must(&b, pool_add_agent(b.pool, i, SLOTS, &b.err));
    fill(&b);
    for (int i = 0; i < waiting; i++)
        add(&b, false);
    newest = best_idle_cycle(&b, true);
    random = best_idle_cycle(&b, false);
    for (int i = 0; i < ROUNDS; i++)
        busy += busy_cycle(&b) / ROUNDS;
    printf("%-16s %8d waiting: idle cycle, newest %6.0f ns, anywhere %6.0f ns;"
           " busy cycle %6.0f ns (%" PRIu64 " preempted)\n",
           is_preemptive ? "preemption" : "no preemption", waiting, newest, random,
           busy, b.preemptions);
    pool_free(b.pool);
    arena_done(&b.mem);
}

int main(void)
{
    for (int is_preemptive = 0; is_preemptive < 2; is_preemptive++) {
        run(is_preemptive, 1000);
        run(is_preemptive, 100000);
    }
    return 0;
}
