/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - a searcher made from JSON text, with its memory, for the tests here.
 *
 *   CLEANUP(world_done) struct world world = world_of(CONFIG, HPARAMS, 42);
 *   searcher_start(world.searcher, &world.out);
 *   CHECK_EQ(world.out.count, 3);  */
#ifndef TESTS_UNIT_SEARCH_WORLD_H
#define TESTS_UNIT_SEARCH_WORLD_H

#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "search/searcher.h"
#include "tests/support/test.h"

#define WORLD_MEMORY ((size_t)64 << 20)

struct world {
    struct arena config_mem;
    struct arena mem;
    struct searcher *searcher;
    struct search_out out; /* its `mem` is set by world_begin() */
    det_status status;     /* of the making */
    struct err err;
};

static inline struct json *world_parse(struct arena *mem, const char *text)
{
    struct json *json = NULL;
    det_status status = json_parse(text, strlen(text), mem, &json, &test_err);

    if (status != DET_NOMEM)
        CHECK_OK(status);
    return json;
}

/* world.status says whether the searcher was made. */
static inline struct world world_try(const char *config, const char *hparams,
                                     uint32_t seed)
{
    struct world world = {.config_mem = ARENA_INIT(WORLD_MEMORY),
                          .mem = ARENA_INIT(WORLD_MEMORY)};
    struct json *searcher = world_parse(&world.config_mem, config);
    struct json *space = world_parse(&world.config_mem, hparams);

    world.status = DET_NOMEM;
    if (searcher && space)
        world.status = searcher_new(searcher, space, seed, &world.searcher, &world.err);
    return world;
}

static inline struct world world_of(const char *config, const char *hparams,
                                    uint32_t seed)
{
    struct world world = world_try(config, hparams, seed);

    if (world.status)
        fail_msg("%s", world.err.text);
    return world;
}

/* Clears the operations of the last input. */
static inline struct search_out *world_begin(struct world *world)
{
    world->out = (struct search_out){.mem = &world->mem};
    return &world->out;
}

static inline void world_done(struct world *world)
{
    searcher_free(world->searcher);
    arena_done(&world->config_mem);
    arena_done(&world->mem);
}

/* The operations of one input each. */
static inline const struct search_out *world_start(struct world *world)
{
    searcher_start(world->searcher, world_begin(world));
    return &world->out;
}

static inline const struct search_out *world_exit(struct world *world, uint32_t trial,
                                                  enum search_exit why)
{
    searcher_trial_exited(world->searcher, trial, why, world_begin(world));
    return &world->out;
}

static inline uint32_t world_count(const struct search_out *out,
                                   enum search_op_kind kind)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < out->count; i++)
        count += out->op[i].kind == kind;
    return count;
}

#endif
