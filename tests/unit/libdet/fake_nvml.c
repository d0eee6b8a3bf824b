/* SPDX-License-Identifier: Apache-2.0 */
/* fake_nvml.c - NVIDIA's library for tests: two GPUs, and FAKE_NVML names the function
 * that fails ("memory:1": only for that GPU). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN int fake_nvml_begun;
static int devices[2];

static int fails(const char *name, const void *device)
{
    const char *wish = getenv("FAKE_NVML");
    size_t len = strlen(name);

    if (!wish || strncmp(wish, name, len))
        return 0;
    if (wish[len] == ':')
        return device == &devices[wish[len + 1] - '0'] ? 999 : 0;
    return wish[len] ? 0 : 999;
}

SHOWN int nvmlInit_v2(void);
SHOWN int nvmlShutdown(void);
SHOWN int nvmlDeviceGetCount_v2(unsigned *count);
SHOWN int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
SHOWN int nvmlDeviceGetUUID(void *device, char *text, unsigned size);
SHOWN int nvmlDeviceGetUtilizationRates(void *device, unsigned rates[2]);
SHOWN int nvmlDeviceGetMemoryInfo(void *device, unsigned long long bytes[3]);

int nvmlInit_v2(void)
{
    if (fails("init", NULL))
        return 999;
    fake_nvml_begun++;
    return 0;
}

int nvmlShutdown(void)
{
    fake_nvml_begun--;
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return fails("count", NULL);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &devices[index];
    return fails("handle", *device);
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned size)
{
    (void)snprintf(text, size, "GPU-%c", device == &devices[0] ? 'a' : 'b');
    return fails("uuid", device);
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned rates[2])
{
    rates[0] = device == &devices[0] ? 40 : 90;
    rates[1] = 1;
    return fails("util", device);
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long bytes[3])
{
    bytes[0] = 1000;
    bytes[1] = device == &devices[0] ? 600 : 100;
    bytes[2] = bytes[0] - bytes[1];
    return fails("memory", device);
}
