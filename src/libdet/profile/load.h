/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - the load of the machine: means of several readings, as JSON in groups.
 *
 *   group    values
 *   cpu      cpu_util_simple                         percent of all processors
 *   memory   memory_free                             bytes
 *   disk     disk_iops, disk_throughput_read, disk_throughput_write    1/s, bytes/s
 *            "<path>": {disk_util}                   percent of the space that is taken
 *   network  net_throughput_sent, net_throughput_recv                  bytes/s
 *   gpu      "<uuid>": {gpu_util, gpu_free_memory}   percent, bytes
 *
 * Values that a machine does not provide are left out, and so are empty groups.  The
 * profiler of a program (sampler.h) and the supervisor of a task use it.
 *
 * Threading: one thread at a time. */
#ifndef LIBDET_PROFILE_LOAD_H
#define LIBDET_PROFILE_LOAD_H

#include "base/err.h"

struct buf;
struct clock;
struct io;
struct load;

enum { LOAD_PATHS = 2 };

/* All of it is borrowed. */
struct load_config {
    struct io *io;
    const struct clock *clock;
    const char *path[LOAD_PATHS]; /* whose disk space is measured; NULL: none */
    const char *gpu_library;      /* NULL: its usual name */
    const char *visible_gpus;     /* as CUDA_VISIBLE_DEVICES; NULL: all, "": none */
};

det_status load_new(const struct load_config *config, struct load **ret_load,
                    struct err *err);
void load_free(struct load *load); /* NULL does nothing */
/* Takes a reading.  Counters need two, so the very first one and the first after
 * load_forget() only serve for comparison. */
void load_take(struct load *load);
void load_forget(struct load *load);
/* Looks for GPUs, which may take a second the first time.  Without it they are not
 * read. */
void load_find_gpus(struct load *load);

/* Calls `put` with the means of each group since the last time, a JSON object. */
typedef void load_put_fn(void *arg, const char *group, const struct buf *values);
void load_put(struct load *load, load_put_fn *put, void *arg);

#endif
