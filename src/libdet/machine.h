/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - what the kernel's texts in /proc say about the machine.
 *
 * Most of them count from the start of the machine: what happened meanwhile is the
 * difference of two readings.  A counter that went back (a device was taken away and
 * came again, a counter was too small for what it counts) says nothing about the
 * interval, and neither does a device that is in one reading only: they count nothing.
 *
 * Pure: texts in, numbers out.  A line that makes no sense, or that the text ends in
 * the middle of, is as good as not there. */
#ifndef LIBDET_MACHINE_H
#define LIBDET_MACHINE_H

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

/* More devices than there is room for are left out. */
struct machine_devices {
    size_t count;
    struct machine_device at[MACHINE_DEVICES];
};

/* /proc/stat.  False: it does not say. */
bool machine_cpu_parse(const char *text, size_t len, struct machine_cpu *ret_cpu);
/* The busy part in percent; false where the counters went back or stood still. */
bool machine_cpu_busy(const struct machine_cpu *before, const struct machine_cpu *after,
                      double *ret_percent);

/* /proc/meminfo: what programs can still have without swapping. */
bool machine_memory_parse(const char *text, size_t len, uint64_t *ret_free_bytes);

/* /proc/diskstats: whole disks, neither their partitions nor what is made of them
 * (loops, volumes, arrays), so that no byte counts twice. */
void machine_disks_parse(const char *text, size_t len,
                         struct machine_devices *ret_disks);
/* /proc/net/dev, without the loop back to the machine itself. */
void machine_nets_parse(const char *text, size_t len, struct machine_devices *ret_nets);

/* What the devices of both readings have counted between them, summed up. */
void machine_devices_since(const struct machine_devices *before,
                           const struct machine_devices *after,
                           uint64_t ret_sum[MACHINE_COUNTERS]);

#endif
