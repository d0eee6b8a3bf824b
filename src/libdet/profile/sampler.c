/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - the load of the machine (load.h) and timings as reports of a trial:
 *
 *   group                                 within {"<agent>": {...}}
 *   cpu, memory, disk, network, gpu       see load.h
 *   timing                                seconds, "<kind>": {seconds, count}
 */
#include "libdet/profile/sampler.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "libdet/checkpoint/storage.h"
#include "libdet/context.h"
#include "libdet/profile/load.h"
#include "libdet/ring/ring.h"

enum { STRINGS = 64 << 10 };

struct sampler {
    det_context *context;
    struct arena strings;
    const char *agent;
    struct load *load;
};

/* ---- start and end --------------------------------------------------------------- */

/* The root directory, and the checkpoint storage if it has a path. */
static det_status choose_paths(struct sampler *sampler, struct load_config *config,
                               struct err *err)
{
    const char *place = NULL;
    det_status st = storage_place(sampler->context, &sampler->strings, &place, err);

    if (st == DET_NOMEM)
        return st;
    config->path[0] = "/";
    if (!st && strcmp(place, "/") != 0)
        config->path[1] = place;
    return DET_OK;
}

det_status sampler_new(det_context *context, struct sampler **ret_sampler,
                       struct err *err)
{
    const struct context_world *world = &context->world;
    const char *visible = "CUDA_VISIBLE_DEVICES";
    struct sampler *sampler = mem_new(struct sampler);
    const char *agent = context->info.agent_id;
    struct load_config config = {.io = world->io, .clock = world->clock};
    det_status st;

    if (!sampler)
        return err_default(err, DET_NOMEM);
    sampler->context = context;
    sampler->strings = (struct arena)ARENA_INIT(STRINGS);
    sampler->agent = agent && *agent ? agent : "local";
    config.visible_gpus =
        world->variable ? world->variable(world->arg, visible) : getenv(visible);
    config.gpu_library = context_variable(context, "DET_NVML_LIBRARY");
    st = choose_paths(sampler, &config, err);
    if (!st)
        st = load_new(&config, &sampler->load, err);
    if (st) {
        sampler_free(sampler);
        return st;
    }
    *ret_sampler = sampler;
    return DET_OK;
}

void sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return;
    load_free(sampler->load);
    arena_done(&sampler->strings);
    mem_free(sampler);
}

/* ---- readings -------------------------------------------------------------------- */

void sampler_forget(struct sampler *sampler)
{
    load_forget(sampler->load);
}

void sampler_find_gpus(struct sampler *sampler)
{
    load_find_gpus(sampler->load);
}

void sampler_take(struct sampler *sampler)
{
    load_take(sampler->load);
}

/* ---- reports --------------------------------------------------------------------- */

static void put_group(void *arg, const char *group, const struct buf *values)
{
    struct sampler *sampler = arg;
    det_context *context = sampler->context;
    struct report_value value = {.name = sampler->agent,
                                 .name_len = strlen(sampler->agent),
                                 .type = REPORT_JSON,
                                 .json = values->data,
                                 .json_len = values->len};
    struct report_metrics metrics = {.steps = -1,
                                     .group = group,
                                     .group_len = strlen(group),
                                     .count = 1,
                                     .value = &value};

    if (!values->status)
        (void)ring_put_metrics(context->ring, (uint32_t)context->info.run_id,
                               clock_wall_us(context->world.clock), &metrics, NULL);
}

void sampler_report(struct sampler *sampler)
{
    load_put(sampler->load, put_group, sampler);
}

void sampler_report_timings(struct sampler *sampler, double seconds,
                            const struct timing_sum sums[TIMING_KINDS])
{
    static const char *const names[TIMING_KINDS] = {
        [DET_TIMING_DATA] = "data",         [DET_TIMING_STEP] = "step",
        [DET_TIMING_REPORT] = "report",     [DET_TIMING_CHECKPOINT] = "checkpoint",
        [DET_TIMING_VALIDATE] = "validate",
    };
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    jw_object(&w, NULL);
    jw_real(&w, "seconds", seconds);
    for (size_t i = 0; i < TIMING_KINDS; i++) {
        if (!sums[i].count)
            continue;
        jw_object(&w, names[i]);
        jw_real(&w, "seconds", (double)sums[i].us / 1e6);
        jw_i64(&w, "count", (int64_t)sums[i].count);
        jw_end_object(&w);
    }
    jw_end_object(&w);
    put_group(sampler, "timing", &text);
}
