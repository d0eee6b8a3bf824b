/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu.c - GPUs, with and without NVIDIA's library, and with functions that fail.
 */
#include "libdet/profile/gpu.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "tests/unit/libdet/nvml.h"

static struct gpu_sample sample[GPUS_MOST];

static struct gpus *opened(const char *visible)
{
    struct gpus *gpus = NULL;

    CHECK_OK(gpus_open(nvml_path(), visible, &gpus, &test_err));
    return gpus;
}

/* How often the library was initialised without being shut down. */
static int begun(void)
{
    void *library = dlopen(nvml_path(), RTLD_NOW);
    int count;

    CHECK(library);
    count = *(int *)dlsym(library, "fake_nvml_begun");
    dlclose(library);
    return count;
}

TEST(every_gpu_says_how_busy_it_is_and_what_memory_it_has)
{
    struct gpus *gpus = opened(NULL);

    CHECK(gpus);
    CHECK_EQ(gpus_read(gpus, sample), 2);
    CHECK_STR(sample[0].uuid, "GPU-a");
    CHECK(sample[0].has_util && sample[0].util_percent == 40);
    CHECK(sample[0].has_memory && sample[0].free_bytes == 600);
    CHECK_STR(sample[1].uuid, "GPU-b");
    CHECK(sample[1].util_percent == 90);
    gpus_close(gpus);
    CHECK_EQ(begun(), 0);
}

TEST(a_machine_without_the_library_has_no_gpus)
{
    struct gpus *gpus = NULL;

    CHECK_OK(gpus_open("libthere-is-no-such-library.so", NULL, &gpus, &test_err));
    CHECK_NULL(gpus);
    CHECK_OK(gpus_open("libm.so.6", NULL, &gpus, &test_err)); /* not NVIDIA's */
    CHECK_NULL(gpus);
    gpus_close(NULL);
}

TEST(a_library_that_fails_at_the_start_means_no_gpus)
{
    static const char *const wishes[] = {"init", "count", "handle", "uuid"};

    for (size_t i = 0; i < sizeof(wishes) / sizeof(*wishes); i++) {
        setenv("FAKE_NVML", wishes[i], 1);
        CHECK_NULL(opened(NULL));
        CHECK_EQ(begun(), 0);
    }
    setenv("FAKE_NVML", "uuid:0", 1);
    {
        struct gpus *gpus = opened(NULL);

        CHECK(gpus);
        CHECK_EQ(gpus_read(gpus, sample), 1);
        CHECK_STR(sample[0].uuid, "GPU-b");
        gpus_close(gpus);
    }
    unsetenv("FAKE_NVML");
}

TEST(a_gpu_that_stops_answering_is_left_out_until_it_answers)
{
    struct gpus *gpus = opened(NULL);

    setenv("FAKE_NVML", "util", 1);
    CHECK_EQ(gpus_read(gpus, sample), 2);
    CHECK(!sample[0].has_util && sample[0].has_memory);
    setenv("FAKE_NVML", "memory:1", 1);
    CHECK_EQ(gpus_read(gpus, sample), 2);
    CHECK(sample[1].has_util && !sample[1].has_memory);
    unsetenv("FAKE_NVML");
    CHECK_EQ(gpus_read(gpus, sample), 2);
    CHECK(sample[1].has_util && sample[1].has_memory);
    gpus_close(gpus);
}

TEST(only_the_gpus_of_this_task_are_read)
{
    struct gpus *gpus = opened("GPU-b");

    CHECK(gpus);
    CHECK_EQ(gpus_read(gpus, sample), 1);
    CHECK_STR(sample[0].uuid, "GPU-b");
    gpus_close(gpus);
    CHECK_NULL(opened("")); /* a task without slots sees none */
}

TEST(lists_of_visible_gpus_are_read_as_cuda_reads_them)
{
    CHECK(gpu_is_visible(NULL, 3, "GPU-aa"));
    CHECK(gpu_is_visible("0,3", 3, "GPU-aa"));
    CHECK(!gpu_is_visible("0,3", 1, "GPU-aa"));
    CHECK(!gpu_is_visible("13", 3, "GPU-aa"));
    CHECK(gpu_is_visible("GPU-b,GPU-a", 0, "GPU-aa"));
    CHECK(!gpu_is_visible("GPU-b", 0, "GPU-aa"));
    CHECK(!gpu_is_visible("GPU-", 0, "GPU-aa")); /* ambiguous */
    CHECK(!gpu_is_visible("", 0, "GPU-aa"));
    CHECK(!gpu_is_visible("-1,0", 0, "GPU-aa"));
    CHECK(!gpu_is_visible(",,", 0, "GPU-aa"));
}

TEST(without_memory_the_library_is_not_begun)
{
    EACH_ALLOCATION_FAILS() {
        struct gpus *gpus = NULL;
        det_status st = gpus_open(nvml_path(), NULL, &gpus, &test_err);

        if (st)
            CHECK_EQ(st, DET_NOMEM);
        gpus_close(gpus);
        CHECK_EQ(begun(), 0);
    }
}
