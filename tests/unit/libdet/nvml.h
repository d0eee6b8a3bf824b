/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - the path of the fake NVIDIA library, beside the test's program. */
#ifndef TESTS_UNIT_LIBDET_NVML_H
#define TESTS_UNIT_LIBDET_NVML_H

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test.h"

static inline const char *nvml_path(void)
{
    static char path[PATH_MAX + 64];
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
    char *slash;

    CHECK(len > 0);
    path[len] = '\0';
    slash = strrchr(path, '/');
    (void)snprintf(slash, sizeof(path) - (size_t)(slash - path), "%s",
                   "/unit/libdet/libfake_nvml.so");
    return path;
}

#endif
