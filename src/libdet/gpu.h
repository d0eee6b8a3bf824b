/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.h - how busy the GPUs are, by NVIDIA's library, which is opened at run time.
 *
 * A machine without it, without a driver or without a GPU is an ordinary machine: there
 * is nothing to be read, and nobody complains.  A GPU that stops answering is left out
 * until it answers again.
 *
 * Threading: one thread at a time. */
#ifndef LIBDET_GPU_H
#define LIBDET_GPU_H

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

/* `library` NULL: NVIDIA's, under its usual name.  `visible` is CUDA_VISIBLE_DEVICES,
 * numbers or uuids with commas between; NULL: all.  *ret_gpus NULL: there are none.
 * DET_NOMEM is the only failure. */
det_status gpus_open(const char *library, const char *visible, struct gpus **ret_gpus,
                     struct err *err);
void gpus_close(struct gpus *gpus); /* NULL does nothing */
/* Those that answer, at most GPUS_MOST; returns how many. */
size_t gpus_read(struct gpus *gpus, struct gpu_sample samples[GPUS_MOST]);

/* Whether a GPU is meant by such a list; pure. */
bool gpu_is_visible(const char *visible, unsigned index, const char *uuid);

#endif
