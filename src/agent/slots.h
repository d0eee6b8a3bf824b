/* SPDX-License-Identifier: Apache-2.0 */
/* slots.h - what this machine can train on.
 *
 * GPUs, where NVIDIA's management library is installed and finds some (it is opened at
 * run time); otherwise one slot for each processor core this process may run on.  The
 * configuration may choose (slot_type, visible_gpus).  A configured number makes as many
 * artificial CPU slots, for experiments. */
#ifndef AGENT_SLOTS_H
#define AGENT_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct json_writer;

struct slot {
    int64_t id;
    const char *brand;
    const char *uuid; /* "" for CPU slots */
    const char *type; /* "cpu" or "cuda" */
};

struct slots {
    struct slot *at; /* in the arena of slots_detect() */
    size_t count;
};

/* What the agent's configuration says about slots; the zeros of a new struct, with
 * `count` -1, mean: detect. */
struct slots_wish {
    int64_t count;       /* as many CPU slots; -1: by type */
    const char *type;    /* slot_type: auto, cuda, gpu, cpu or none; NULL: auto */
    const char *visible; /* visible_gpus: "0,2" or uuids; NULL: CUDA_VISIBLE_DEVICES */
};

/* Everything lies in `mem`.  DET_INVALID: `visible` names a GPU that is not there;
 * DET_NOT_FOUND: GPUs are wanted, and there are none. */
det_status slots_detect(const struct slots_wish *wish, struct arena *mem,
                        struct slots *ret_slots, struct err *err);

/* [{"id":0,"brand":"..","uuid":"..","type":"cpu"}, ...] */
void slots_write(struct json_writer *w, const char *key, const struct slots *slots);

/* The uuids of these CUDA slots joined by commas, as CUDA_VISIBLE_DEVICES takes them;
 * "" if there is no CUDA slot; NULL: out of memory. */
const char *slots_visible(const struct slots *slots, const int64_t *ids, size_t count,
                          struct arena *mem);
const struct slot *slots_find(const struct slots *slots, int64_t id);

/* ---- for tests ------------------------------------------------------------------- */

/* Keeps the GPUs that `visible` names by number or uuid (also its beginning), in that order,
 * and numbers them from 0.  As for CUDA, a name of none ends the list; if `is_strict` it is
 * an error. */
det_status slots_choose(struct slots *slots, const char *visible, bool is_strict,
                        struct arena *mem, struct err *err);

/* The processor's name in the text of /proc/cpuinfo, or "CPU". */
const char *slots_cpu_brand(const char *cpuinfo, struct arena *mem);

/* The calls of NVIDIA's library that we use; each returns 0 for success. */
struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *ret_count);
    int (*handle)(unsigned index, void **ret_device);
    int (*name)(void *device, char *text, unsigned size);
    int (*uuid)(void *device, char *text, unsigned size);
};
det_status slots_of_nvml(const struct nvml *nvml, struct arena *mem,
                         struct slots *ret_slots, struct err *err);

#endif
