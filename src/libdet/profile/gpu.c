/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c - the few functions of NVIDIA's library that we need, declared as in its
 * manual: its headers are not needed for the build. */
#include "libdet/profile/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/mem.h"

#define NVML "libnvidia-ml.so.1"

struct nvml_utilization {
    unsigned gpu; /* percent */
    unsigned memory;
};

struct nvml_memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

/* All return 0 on success. */
struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *ret_count);
    int (*handle)(unsigned index, void **ret_device);
    int (*uuid)(void *device, char *text, unsigned size);
    int (*utilization)(void *device, struct nvml_utilization *ret_rates);
    int (*memory)(void *device, struct nvml_memory *ret_memory);
};

struct gpu {
    void *device;
    char uuid[GPU_UUID];
};

struct gpus {
    void *library;
    struct nvml nvml;
    bool is_begun;
    size_t count;
    struct gpu at[GPUS_MOST];
};

/* ---- visible GPUs ---------------------------------------------------------------- */

/* As CUDA reads it: a uuid may be abbreviated, and -1 ends the list. */
bool gpu_is_visible(const char *visible, unsigned index, const char *uuid)
{
    char number[16];

    if (!visible)
        return true;
    (void)snprintf(number, sizeof(number), "%u", index);
    while (*visible) {
        size_t len = strcspn(visible, ",");

        if (len == strlen(number) && !strncmp(visible, number, len))
            return true;
        if (len > strlen("GPU-") && !strncmp(visible, uuid, len))
            return true;
        if (visible[0] == '-')
            return false;
        visible += len;
        visible += *visible == ',';
    }
    return false;
}

/* ---- beginning and end ----------------------------------------------------------- */

/* POSIX allows dlsym() to return functions; in C the pointer must be copied as memory.
 */
static bool load_symbol(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof(found));
    return found != NULL;
}

static bool load_library(const char *name, struct gpus *gpus)
{
    struct nvml *nvml = &gpus->nvml;

    gpus->library = dlopen(name ? name : NVML, RTLD_NOW | RTLD_LOCAL);
    return gpus->library && load_symbol(gpus->library, "nvmlInit_v2", &nvml->init) &&
           load_symbol(gpus->library, "nvmlShutdown", &nvml->shutdown) &&
           load_symbol(gpus->library, "nvmlDeviceGetCount_v2", &nvml->count) &&
           load_symbol(gpus->library, "nvmlDeviceGetHandleByIndex_v2", &nvml->handle) &&
           load_symbol(gpus->library, "nvmlDeviceGetUUID", &nvml->uuid) &&
           load_symbol(gpus->library, "nvmlDeviceGetUtilizationRates",
                       &nvml->utilization) &&
           load_symbol(gpus->library, "nvmlDeviceGetMemoryInfo", &nvml->memory);
}

static void list_gpus(struct gpus *gpus, const char *visible)
{
    const struct nvml *nvml = &gpus->nvml;
    unsigned count = 0;

    if (nvml->count(&count))
        return;
    for (unsigned i = 0; i < count && gpus->count < GPUS_MOST; i++) {
        struct gpu gpu = {0};

        if (nvml->handle(i, &gpu.device) ||
            nvml->uuid(gpu.device, gpu.uuid, sizeof(gpu.uuid)))
            continue;
        gpu.uuid[sizeof(gpu.uuid) - 1] = '\0';
        if (gpu_is_visible(visible, i, gpu.uuid))
            gpus->at[gpus->count++] = gpu;
    }
}

det_status gpus_open(const char *library, const char *visible, struct gpus **ret_gpus,
                     struct err *err)
{
    struct gpus *gpus = mem_new(struct gpus);

    if (!gpus)
        return err_default(err, DET_NOMEM);
    if (load_library(library, gpus))
        gpus->is_begun = gpus->nvml.init() == 0;
    if (gpus->is_begun)
        list_gpus(gpus, visible);
    if (!gpus->count) {
        gpus_close(gpus);
        gpus = NULL;
    }
    *ret_gpus = gpus;
    return DET_OK;
}

void gpus_close(struct gpus *gpus)
{
    if (!gpus)
        return;
    if (gpus->is_begun)
        (void)gpus->nvml.shutdown();
    if (gpus->library)
        dlclose(gpus->library);
    mem_free(gpus);
}

/* ---- reading --------------------------------------------------------------------- */

size_t gpus_read(struct gpus *gpus, struct gpu_sample samples[GPUS_MOST])
{
    size_t count = 0;

    for (size_t i = 0; i < gpus->count; i++) {
        struct gpu_sample *sample = &samples[count];
        struct nvml_utilization rates = {0};
        struct nvml_memory memory = {0};

        memset(sample, 0, sizeof(*sample));
        memcpy(sample->uuid, gpus->at[i].uuid, sizeof(sample->uuid));
        sample->has_util = gpus->nvml.utilization(gpus->at[i].device, &rates) == 0;
        sample->has_memory = gpus->nvml.memory(gpus->at[i].device, &memory) == 0;
        sample->util_percent = (double)rates.gpu;
        sample->free_bytes = (double)memory.free;
        count += sample->has_util || sample->has_memory;
    }
    return count;
}
