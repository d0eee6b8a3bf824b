/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "agent/slots.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "tests/support/test.h"

TEST(the_brand_of_a_processor_is_its_model_name)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
    const char *cpuinfo =
        "processor\t: 0\nvendor_id\t: AuthenticAMD\n"
        "model name\t: AMD EPYC 7763 64-Core Processor\nflags\t: fpu\n";

    CHECK_STR(slots_cpu_brand(cpuinfo, &mem), "AMD EPYC 7763 64-Core Processor");
    CHECK_STR(slots_cpu_brand("processor : 0\nHardware\t: BCM2835\n", &mem), "BCM2835");
    CHECK_STR(slots_cpu_brand("", &mem), "CPU");
    CHECK_STR(slots_cpu_brand("model name\t:\n", &mem), "CPU");
}

TEST(a_number_of_slots_makes_that_many_cpu_slots)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct slots slots;

    CHECK_OK(slots_detect(&(struct slots_wish){.count = 3}, &mem, &slots, &test_err));

    CHECK_EQ(slots.count, 3);
    CHECK_EQ(slots.at[2].id, 2);
    CHECK_STR(slots.at[2].type, "cpu");
    CHECK_OK(slots_detect(&(struct slots_wish){.count = 0}, &mem, &slots, &test_err));
    CHECK_EQ(slots.count, 0);
    CHECK_EQ(
        slots_detect(&(struct slots_wish){.count = 1 << 20}, &mem, &slots, &test_err),
        DET_INVALID);
}

TEST(a_machine_has_at_least_one_slot)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct slots slots;

    CHECK_OK(slots_detect(&(struct slots_wish){.count = -1}, &mem, &slots, &test_err));

    CHECK(slots.count > 0);
}

static int good(void)
{
    return 0;
}
static int bad(void)
{
    return 9;
}
static int two(unsigned *count)
{
    *count = 2;
    return 0;
}
static int handle(unsigned index, void **device)
{
    *device = (void *)(uintptr_t)(index + 1);
    return 0;
}
static int name(void *device, char *text, unsigned size)
{
    return snprintf(text, size, "NVIDIA H%d", (int)(uintptr_t)device * 100) < 0;
}
static int uuid(void *device, char *text, unsigned size)
{
    return snprintf(text, size, "GPU-%d", (int)(uintptr_t)device) < 0;
}
static int no_uuid(void *device UNUSED, char *text UNUSED, unsigned size UNUSED)
{
    return 1;
}

TEST(each_gpu_is_a_slot_with_its_name_and_uuid)
{
    const struct nvml nvml = {good, good, two, handle, name, uuid};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    const int64_t both[] = {1, 0};
    struct slots slots;

    CHECK_OK(slots_of_nvml(&nvml, &mem, &slots, &test_err));
    slots_write(&w, NULL, &slots);

    CHECK_STR(
        text.data,
        "[{\"id\":0,\"brand\":\"NVIDIA H100\",\"uuid\":\"GPU-1\",\"type\":\"cuda\"},"
        "{\"id\":1,\"brand\":\"NVIDIA H200\",\"uuid\":\"GPU-2\",\"type\":\"cuda\"}]");
    CHECK_STR(slots_visible(&slots, both, 2, &mem), "GPU-2,GPU-1");
    CHECK_STR(slots_visible(&slots, both, 0, &mem), "");
}

TEST(the_agents_file_chooses_among_the_gpus)
{
    const struct nvml nvml = {good, good, two, handle, name, uuid};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct slots slots;

    CHECK_OK(slots_of_nvml(&nvml, &mem, &slots, &test_err));
    CHECK_OK(slots_choose(&slots, "1", true, &mem, &test_err));
    CHECK_EQ(slots.count, 1);
    CHECK_EQ(slots.at[0].id, 0);
    CHECK_STR(slots.at[0].uuid, "GPU-2");

    CHECK_OK(slots_of_nvml(&nvml, &mem, &slots, &test_err));
    CHECK_OK(slots_choose(&slots, "GPU-2, 0", true, &mem, &test_err));
    CHECK_EQ(slots.count, 2);
    CHECK_STR(slots.at[0].uuid, "GPU-2");
    CHECK_STR(slots.at[1].uuid, "GPU-1");
    CHECK_EQ(slots.at[1].id, 1);
}

TEST(a_gpu_that_is_not_there_is_named_or_ends_the_variables_list)
{
    const struct nvml nvml = {good, good, two, handle, name, uuid};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct slots slots;

    CHECK_OK(slots_of_nvml(&nvml, &mem, &slots, &test_err));
    CHECK_EQ(slots_choose(&slots, "0,7", true, &mem, &test_err), DET_INVALID);
    CHECK_HAS(test_err.text, "'7'");
    CHECK_OK(slots_choose(&slots, "0,-1,1", false, &mem, &test_err));
    CHECK_EQ(slots.count, 1);
    CHECK_OK(slots_choose(&slots, "", false, &mem, &test_err));
    CHECK_EQ(slots.count, 0);
}

TEST(a_gpu_is_one_slot_however_often_it_is_named)
{
    const struct nvml nvml = {good, good, two, handle, name, uuid};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct slots slots;

    CHECK_OK(slots_of_nvml(&nvml, &mem, &slots, &test_err));
    CHECK_EQ(slots_choose(&slots, "0,GPU-1", true, &mem, &test_err), DET_INVALID);
    CHECK_HAS(test_err.text, "'GPU-1' a second time");
    CHECK_EQ(slots_choose(&slots, "0,1,7", true, &mem, &test_err), DET_INVALID);
    CHECK_HAS(test_err.text, "'7'");
    CHECK_OK(slots_choose(&slots, "0,0,1", false, &mem, &test_err));
    CHECK_EQ(slots.count, 1);
}

TEST(the_type_of_slots_can_be_said)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct slots_wish wish = {.count = -1, .type = "none"};
    struct slots slots;

    CHECK_OK(slots_detect(&wish, &mem, &slots, &test_err));
    CHECK_EQ(slots.count, 0);
    wish.type = "cpu";
    CHECK_OK(slots_detect(&wish, &mem, &slots, &test_err));
    CHECK(slots.count > 0);
    CHECK_STR(slots.at[0].type, "cpu");
}

TEST(a_driver_that_is_not_there_or_a_broken_gpu_is_told_apart)
{
    const struct nvml none = {bad, good, two, handle, name, uuid};
    const struct nvml broken = {good, good, two, handle, name, no_uuid};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct slots slots;

    CHECK_EQ(slots_of_nvml(&none, &mem, &slots, &test_err), DET_NOT_FOUND);
    CHECK_EQ(slots_of_nvml(&broken, &mem, &slots, &test_err), DET_IO);
    CHECK_HAS(test_err.text, "GPU 0");
}

TEST(out_of_memory_is_an_ordinary_error)
{
    const struct nvml nvml = {good, good, two, handle, name, uuid};

    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        struct slots slots = {.count = 77};
        det_status status = slots_of_nvml(&nvml, &mem, &slots, NULL);

        CHECK_EQ(status, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(slots.count, fault_fired() ? 77 : 2);
    }
}
