/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h - a pool in a test.  Plans are compared as text: "+7@1:0,1" starts allocation
 * 7 on slots 0 and 1 of agent 1, "~" instead of "+" marks a backfill, "-7" preempts it. */
#ifndef TESTS_SCHED_FIXTURE_H
#define TESTS_SCHED_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "sched/pool.h"
#include "sched/pool_check.h"
#include "tests/support/test.h"

#define AGENTS(pool, ...) agents(pool, (const uint32_t[]){__VA_ARGS__, UINT32_MAX})
#define ADD(pool, ...)    add(pool, (struct pool_request){__VA_ARGS__})
#define PLAN(pool, text)  check_plan(pool, text, __LINE__)
#define POOL(...)         make_pool((struct pool_config){.policy = "priority", __VA_ARGS__})

static UNUSED struct pool *make_pool(struct pool_config config)
{
    struct pool *pool = NULL;

    CHECK_OK(pool_new(&config, &pool, &test_err));
    return pool;
}

static UNUSED void done(struct pool *pool)
{
    CHECK_OK(pool_check(pool, &test_err));
    pool_free(pool);
}

/* Agents 1, 2, ... with these numbers of slots. */
static UNUSED void agents(struct pool *pool, const uint32_t *slots)
{
    for (int64_t id = 1; *slots != UINT32_MAX; id++)
        CHECK_OK(pool_add_agent(pool, id, *slots++, &test_err));
}

/* The default priority is 42. */
static UNUSED void add(struct pool *pool, struct pool_request request)
{
    if (!request.priority)
        request.priority = 42;
    CHECK_OK(pool_add(pool, &request, &test_err));
}

static UNUSED void disable(struct pool *pool, int64_t agent, uint32_t slot)
{
    CHECK_OK(pool_enable_slot(pool, agent, slot, false, &test_err));
}

static UNUSED void print_step(FILE *out, const struct pool_step *step)
{
    if (step->action == POOL_PREEMPT) {
        fprintf(out, "-%" PRId64 " ", step->allocation);
        return;
    }
    fprintf(out, "%c%" PRId64, step->is_backfilled ? '~' : '+', step->allocation);
    for (uint32_t i = 0; i < step->share_count; i++) {
        fprintf(out, "@%" PRId64, step->share[i].agent);
        for (uint32_t j = 0; j < step->share[i].slot_count; j++)
            fprintf(out, "%c%u", j ? ',' : ':', step->share[i].slots[j]);
    }
    fputc(' ', out);
}

static UNUSED void check_plan(struct pool *pool, const char *want, int line)
{
    struct arena mem = ARENA_INIT(1 << 20);
    char text[1024] = "";
    FILE *out = fmemopen(text, sizeof(text), "w");
    struct pool_plan plan;

    CHECK_OK(pool_schedule(pool, &mem, &plan, &test_err));
    for (uint32_t i = 0; i < plan.count; i++)
        print_step(out, &plan.step[i]);
    fclose(out);
    if (*text)
        text[strlen(text) - 1] = '\0';
    if (strcmp(text, want) != 0)
        fail_msg("line %d: the plan is '%s', not '%s'", line, text, want);
    CHECK_OK(pool_check(pool, &test_err));
    arena_done(&mem);
}

#endif
