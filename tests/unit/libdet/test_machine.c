/* SPDX-License-Identifier: Apache-2.0 */
/* test_machine.c - files of /proc: as kernels write them, truncated at every byte, and
 * malformed. */
#include "libdet/profile/machine.h"

#include <string.h>

#include "base/rng.h"
#include "tests/support/test.h"

static const char stat_text[] =
    "cpu  100 20 30 800 50 5 5 10 7 3\ncpu0 100 20 30 800 50 5 5 10 7 3\nintr 5 1\n";
static const char meminfo[] = "MemTotal:       16384 kB\nMemFree:         1000 kB\n"
                              "MemAvailable:    2000 kB\nBuffers:            1 kB\n";
static const char diskstats[] =
    "   7       0 loop0 9 0 9 0 9 0 9 0 0 0 0 0 0 0 0\n"
    " 259       0 nvme0n1 100 1 2000 5 200 2 4000 6 0 7 8 0 0 0 0\n"
    " 259       1 nvme0n1p1 90 1 1000 5 20 2 400 6 0 7 8 0 0 0 0\n"
    "   8       0 sda 10 1 20 5 30 2 40 6 0 7 8\n"
    "   8       1 sda1 10 1 20 5 30 2 40 6 0 7 8\n"
    " 253       0 dm-0 5 0 5 0 5 0 5 0 0 0 0\n"
    " 202       1 xvdb1 1 0 2 0 3 0 4 0 0 0 0\n";
static const char net_dev[] =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    "
    "packets errs drop fifo colls carrier compressed\n"
    "    lo: 500 5 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n"
    "  eth0: 1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0\n"
    "wlan0:300 3 0 0 0 0 0 0 40 4 0 0 0 0 0 0\n";

/* ---- processors and memory ------------------------------------------------------- */

TEST(processors_are_busy_but_for_idle_and_waiting_for_disks)
{
    struct machine_cpu cpu;

    CHECK(machine_cpu_parse(stat_text, strlen(stat_text), &cpu));
    CHECK_EQ(cpu.total, 1020);
    CHECK_EQ(cpu.busy, 170);
}

TEST(an_old_kernel_has_fewer_columns)
{
    static const char text[] = "cpu 1 2 3 4\n";
    struct machine_cpu cpu;

    CHECK(machine_cpu_parse(text, strlen(text), &cpu));
    CHECK_EQ(cpu.total, 10);
    CHECK_EQ(cpu.busy, 6);
}

TEST(the_busy_part_is_that_of_the_time_between)
{
    struct machine_cpu before = {100, 1000}, after = {150, 1100};
    double percent = 0;

    CHECK(machine_cpu_busy(&before, &after, &percent));
    CHECK(percent == 50);
}

TEST(processors_whose_counters_stand_still_or_go_back_say_nothing)
{
    struct machine_cpu before = {100, 1000}, back = {90, 900}, less = {99, 1001};
    double percent;

    CHECK(!machine_cpu_busy(&before, &before, &percent));
    CHECK(!machine_cpu_busy(&before, &back, &percent));
    CHECK(!machine_cpu_busy(&before, &less, &percent));
}

TEST(idle_time_that_goes_back_makes_no_more_than_all_of_it_busy)
{
    struct machine_cpu before = {100, 1000}, after = {200, 1050};
    double percent = 0;

    CHECK(machine_cpu_busy(&before, &after, &percent));
    CHECK(percent == 100);
}

TEST(memory_is_what_programs_can_have)
{
    static const char old[] = "MemTotal: 9 kB\nMemFree: 7 kB\n";
    uint64_t bytes = 0;

    CHECK(machine_memory_parse(meminfo, strlen(meminfo), &bytes));
    CHECK_EQ(bytes, 2000 * 1024);
    CHECK(machine_memory_parse(old, strlen(old), &bytes));
    CHECK_EQ(bytes, 7 * 1024);
}

TEST(texts_that_do_not_say_are_no_numbers)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "cpu",
        "cpu\n",
        "cpu 1 2 3\n",
        "cpu 1 2 3 x\n",
        "cpu 1 2 3 99999999999999999999\n",
        "cpux 1 2 3 4\n",
        "MemAvailable:\n",
        "MemAvailable: much kB\n",
        "MemAvailable: 18446744073709551615 kB\n",
    };
    struct machine_cpu cpu;
    uint64_t bytes;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        CHECK(!machine_cpu_parse(texts[i], strlen(texts[i]), &cpu));
        CHECK(!machine_memory_parse(texts[i], strlen(texts[i]), &bytes));
    }
}

/* ---- devices --------------------------------------------------------------------- */

TEST(only_whole_disks_count)
{
    struct machine_devices disks;

    machine_disks_parse(diskstats, strlen(diskstats), &disks);
    CHECK_EQ(disks.count, 3);
    CHECK_STR(disks.at[0].name, "nvme0n1");
    CHECK_EQ(disks.at[0].counter[DISK_IOS], 300);
    CHECK_EQ(disks.at[0].counter[DISK_READ_BYTES], 2000 * 512);
    CHECK_EQ(disks.at[0].counter[DISK_WRITTEN_BYTES], 4000 * 512);
    CHECK_STR(disks.at[1].name, "sda");
    CHECK_STR(disks.at[2].name, "xvdb1"); /* there is no xvdb, so it counts as a disk */
}

TEST(networks_count_but_the_machines_own_loop)
{
    struct machine_devices nets;

    machine_nets_parse(net_dev, strlen(net_dev), &nets);
    CHECK_EQ(nets.count, 2);
    CHECK_STR(nets.at[0].name, "eth0");
    CHECK_EQ(nets.at[0].counter[NET_RECEIVED_BYTES], 1000);
    CHECK_EQ(nets.at[0].counter[NET_SENT_BYTES], 2000);
    CHECK_STR(nets.at[1].name, "wlan0"); /* its name touches its number */
    CHECK_EQ(nets.at[1].counter[NET_RECEIVED_BYTES], 300);
}

TEST(more_devices_than_there_is_room_for_are_left_out)
{
    char text[64 * (MACHINE_DEVICES + 10)];
    struct machine_devices nets;
    size_t len = 0;

    for (int i = 0; i < MACHINE_DEVICES + 10; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                "veth%d: 1 0 0 0 0 0 0 0 1 0 0 0\n", i);
    machine_nets_parse(text, len, &nets);
    CHECK_EQ(nets.count, MACHINE_DEVICES);
}

TEST(names_that_are_too_long_and_lines_that_make_no_sense_are_passed_over)
{
    static const char disks_text[] =
        "8 0 a_name_that_is_longer_than_any_device_has 1 1 1 1 1 1 1 1\n"
        "8 0 sdb 1 1 1\n8 0 sdc 1 1 18446744073709551615 1 1 1 1 1\n8 0\n\n"
        "8 0 sdd 1 1 1 1 1 1 1 1\n";
    static const char nets_text[] = ":\n: 1 2 3 4 5 6 7 8 9\nno colon\neth9: 1 2 3\n"
                                    "eth8: 1 2 3 4 5 6 7 8 9\n";
    struct machine_devices devices;

    machine_disks_parse(disks_text, strlen(disks_text), &devices);
    CHECK_EQ(devices.count, 1);
    CHECK_STR(devices.at[0].name, "sdd");
    machine_nets_parse(nets_text, strlen(nets_text), &devices);
    CHECK_EQ(devices.count, 1);
    CHECK_STR(devices.at[0].name, "eth8");
}

static struct machine_devices nets_of(const char *text)
{
    struct machine_devices nets;

    machine_nets_parse(text, strlen(text), &nets);
    return nets;
}

#define NET(name, received, sent) name ": " received " 0 0 0 0 0 0 0 " sent " 0\n"

TEST(what_devices_have_counted_meanwhile_adds_up)
{
    struct machine_devices before = nets_of(NET("a", "10", "5") NET("b", "1", "1"));
    struct machine_devices after = nets_of(NET("b", "2", "4") NET("a", "30", "5"));
    uint64_t sum[MACHINE_COUNTERS];

    machine_devices_since(&before, &after, sum);
    CHECK_EQ(sum[NET_RECEIVED_BYTES], 21);
    CHECK_EQ(sum[NET_SENT_BYTES], 3);
}

TEST(devices_that_come_or_go_and_counters_that_go_back_count_nothing)
{
    struct machine_devices before =
        nets_of(NET("gone", "10", "5") NET("back", "4294967295", "7"));
    struct machine_devices after =
        nets_of(NET("new", "999999", "999999") NET("back", "3", "9"));
    uint64_t sum[MACHINE_COUNTERS];

    machine_devices_since(&before, &after, sum);
    CHECK_EQ(sum[NET_RECEIVED_BYTES], 0);
    CHECK_EQ(sum[NET_SENT_BYTES], 2);
    before.count = 0;
    machine_devices_since(&before, &after, sum);
    CHECK_EQ(sum[NET_SENT_BYTES], 0);
}

/* ---- whatever the text ----------------------------------------------------------- */

static void read_all(const char *text, size_t len)
{
    static struct machine_devices devices;
    struct machine_cpu cpu;
    uint64_t bytes;

    (void)machine_cpu_parse(text, len, &cpu);
    (void)machine_memory_parse(text, len, &bytes);
    machine_disks_parse(text, len, &devices);
    CHECK(devices.count <= MACHINE_DEVICES);
    machine_nets_parse(text, len, &devices);
    CHECK(devices.count <= MACHINE_DEVICES);
}

/* Copies the text into a block of its exact size, so sanitizers notice an overrun. */
static void read_cut(const char *text)
{
    size_t len = strlen(text);

    for (size_t cut = 0; cut <= len; cut++) {
        char *copy = test_malloc(cut + 1);

        memcpy(copy + 1, text, cut);
        read_all(copy + 1, cut);
        test_free(copy);
    }
}

TEST(a_text_may_end_at_any_byte)
{
    struct machine_devices disks;

    read_cut(stat_text);
    read_cut(meminfo);
    read_cut(diskstats);
    read_cut(net_dev);
    /* An incomplete line is ignored: its last number may be longer. */
    machine_disks_parse(diskstats, strlen(diskstats) - 1, &disks);
    CHECK_EQ(disks.count, 2);
}

TEST(any_bytes_are_read_without_harm)
{
    static const char letters[] = "0123456789 \t\n:cpuMemFlo-\x80\xff";
    struct rng64 rng = {42};
    char text[512];

    for (int round = 0; round < 2000; round++) {
        size_t len = rng64_next(&rng) % sizeof(text);

        for (size_t i = 0; i < len; i++)
            text[i] = letters[rng64_next(&rng) % (sizeof(letters) - 1)];
        read_all(text, len);
    }
}
