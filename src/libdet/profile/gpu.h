/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.h - how busy the GPUs are, read with NVIDIA's library, which is opened at run
 * time.
 *
 * Without the library, a driver or a GPU there is nothing to read, and that is not an
 * error.  A GPU that stops answering is left out until it answers again.
 *
 * Threading: one thread at a time. */
#ifndef LIBDET_PROFILE_GPU_H
#define LIBDET_PROFILE_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { GPUS_MOST = 64, GPU_UUID = 96 };

struct gpu_sample {
    char uuid[GPU_UUID];
    bool has_util;
    bool has_memory;
    double util_percent;
    double free_bytes;
};

struct gpus;

/* Opens the library (`library` NULL: its usual name).  `visible` is
 * CUDA_VISIBLE_DEVICES: numbers or uuids, separated by commas; NULL: all. *ret_gpus is
 * NULL if there are none.  Fails only with DET_NOMEM. */
det_status gpus_open(const char *library, const char *visible, struct gpus **ret_gpus,
                     struct err *err);
void gpus_close(struct gpus *gpus); /* NULL does nothing */
/* Reads the GPUs that answer, at most GPUS_MOST; returns how many. */
size_t gpus_read(struct gpus *gpus, struct gpu_sample samples[GPUS_MOST]);

/* Whether such a list contains a GPU; pure. */
bool gpu_is_visible(const char *visible, unsigned index, const char *uuid);

#endif
