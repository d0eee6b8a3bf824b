/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - parses the files in /proc that describe the machine.
 *
 * Most of them count from the start of the machine, so the difference of two readings
 * is what happened between.  If a counter went backwards (a device was removed and
 * added again, or the counter overflowed) or a device is in one reading only, it counts
 * nothing.
 *
 * Pure: text in, numbers out.  Ignores lines that are malformed or incomplete. */
#ifndef LIBDET_PROFILE_MACHINE_H
#define LIBDET_PROFILE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MACHINE_DEVICES = 128, MACHINE_NAME = 32, MACHINE_COUNTERS = 3 };

struct machine_cpu {
    uint64_t busy; /* ticks, of all processors together */
    uint64_t total;
};

enum machine_disk_counter { DISK_IOS, DISK_READ_BYTES, DISK_WRITTEN_BYTES };
enum machine_net_counter { NET_RECEIVED_BYTES, NET_SENT_BYTES };

struct machine_device {
    char name[MACHINE_NAME];
    uint64_t counter[MACHINE_COUNTERS];
};

/* Further devices are left out. */
struct machine_devices {
    size_t count;
    struct machine_device at[MACHINE_DEVICES];
};

/* Parses /proc/stat.  Returns false if it has no such line. */
bool machine_cpu_parse(const char *text, size_t len, struct machine_cpu *ret_cpu);
/* The busy part in percent; false if the counters went backwards or did not move. */
bool machine_cpu_busy(const struct machine_cpu *before, const struct machine_cpu *after,
                      double *ret_percent);

/* Parses /proc/meminfo: the memory that is available without swapping. */
bool machine_memory_parse(const char *text, size_t len, uint64_t *ret_free_bytes);

/* Parses /proc/diskstats: whole disks, without partitions and without devices made of
 * others (loops, volumes, arrays), so no byte counts twice. */
void machine_disks_parse(const char *text, size_t len,
                         struct machine_devices *ret_disks);
/* Parses /proc/net/dev, without the loopback device. */
void machine_nets_parse(const char *text, size_t len, struct machine_devices *ret_nets);

/* Sums up what the devices that are in both readings have counted between them. */
void machine_devices_since(const struct machine_devices *before,
                           const struct machine_devices *after,
                           uint64_t ret_sum[MACHINE_COUNTERS]);

#endif
