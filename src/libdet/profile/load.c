/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - see load.h. */
#include "libdet/profile/load.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "libdet/profile/gpu.h"
#include "libdet/profile/machine.h"

enum { TEXT_BYTES = 64 << 10 };

struct mean {
    double sum;
    uint64_t count;
};

struct gpu_mean {
    char uuid[GPU_UUID];
    struct mean util;
    struct mean free_bytes;
};

/* The counters of one moment. */
struct reading {
    int64_t at_us;
    bool has_cpu;
    struct machine_cpu cpu;
    struct machine_devices disks;
    struct machine_devices nets;
};

struct load {
    struct load_config config;
    struct buf text;
    bool has_looked_for_gpus;
    struct gpus *gpus;
    bool has_before;
    struct reading before;
    struct reading now;

    struct mean cpu;
    struct mean memory;
    struct mean disk[MACHINE_COUNTERS];
    struct mean net[MACHINE_COUNTERS];
    struct mean used[LOAD_PATHS];
    struct gpu_mean gpu[GPUS_MOST];
    size_t gpu_count;
    struct gpu_sample gpu_now[GPUS_MOST];
};

static void mean_add(struct mean *mean, double value)
{
    mean->sum += value;
    mean->count++;
}

/* ---- start and end --------------------------------------------------------------- */

det_status load_new(const struct load_config *config, struct load **ret_load,
                    struct err *err)
{
    struct load *load = mem_new(struct load);

    if (!load)
        return err_default(err, DET_NOMEM);
    load->config = *config;
    load->text = (struct buf)BUF_LIMITED(TEXT_BYTES);
    *ret_load = load;
    return DET_OK;
}

void load_free(struct load *load)
{
    if (!load)
        return;
    gpus_close(load->gpus);
    buf_done(&load->text);
    mem_free(load);
}

void load_forget(struct load *load)
{
    load->has_before = false;
}

/* ---- reading --------------------------------------------------------------------- */

/* Reads as much as there is room for; "" if it cannot be read. */
static void read_text(struct load *load, const char *path)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    struct buf *text = &load->text;
    size_t len = 0;
    char *room;

    buf_clear(text);
    if (io_open(load->config.io, path, IO_READ, &file, NULL))
        return;
    room = buf_room(text, TEXT_BYTES - 1);
    if (room && !io_read_at(file, 0, room, TEXT_BYTES - 1, &len, NULL))
        buf_took(text, len);
}

static void read_counters(struct load *load)
{
    struct reading *now = &load->now;
    const struct buf *text = &load->text;

    now->at_us = clock_mono_us(load->config.clock);
    read_text(load, "/proc/stat");
    now->has_cpu = machine_cpu_parse(text->data, text->len, &now->cpu);
    read_text(load, "/proc/diskstats");
    machine_disks_parse(text->data, text->len, &now->disks);
    read_text(load, "/proc/net/dev");
    machine_nets_parse(text->data, text->len, &now->nets);
}

static void add_rates(const struct machine_devices *before,
                      const struct machine_devices *after, double seconds,
                      struct mean means[MACHINE_COUNTERS])
{
    uint64_t sum[MACHINE_COUNTERS];

    if (!before->count || !after->count)
        return;
    machine_devices_since(before, after, sum);
    for (size_t i = 0; i < MACHINE_COUNTERS; i++)
        mean_add(&means[i], (double)sum[i] / seconds);
}

static void compare_counters(struct load *load)
{
    const struct reading *before = &load->before;
    const struct reading *now = &load->now;
    double seconds = (double)(now->at_us - before->at_us) / 1e6;
    double percent;

    if (seconds <= 0)
        return;
    if (before->has_cpu && now->has_cpu &&
        machine_cpu_busy(&before->cpu, &now->cpu, &percent))
        mean_add(&load->cpu, percent);
    add_rates(&before->disks, &now->disks, seconds, load->disk);
    add_rates(&before->nets, &now->nets, seconds, load->net);
}

/* Two paths with the same values lie on one disk, which counts once. */
static void take_spaces(struct load *load)
{
    struct io_space before = {0};

    for (size_t i = 0; i < LOAD_PATHS; i++) {
        struct io_space space;

        if (!load->config.path[i] ||
            io_space(load->config.io, load->config.path[i], &space, NULL) ||
            !space.size_bytes)
            continue;
        if (i && space.size_bytes == before.size_bytes &&
            space.free_bytes == before.free_bytes)
            continue;
        mean_add(&load->used[i],
                 100.0 - 100.0 * (double)space.free_bytes / (double)space.size_bytes);
        before = space;
    }
}

/* Values that need only one reading. */
static void take_levels(struct load *load)
{
    uint64_t free_bytes;

    read_text(load, "/proc/meminfo");
    if (machine_memory_parse(load->text.data, load->text.len, &free_bytes))
        mean_add(&load->memory, (double)free_bytes);
    take_spaces(load);
}

/* ---- GPUs ------------------------------------------------------------------------ */

void load_find_gpus(struct load *load)
{
    if (load->has_looked_for_gpus)
        return;
    /* Without memory the next reading tries again. */
    load->has_looked_for_gpus =
        gpus_open(load->config.gpu_library, load->config.visible_gpus, &load->gpus,
                  NULL) == DET_OK;
}

static struct gpu_mean *gpu_of(struct load *load, const char *uuid)
{
    struct gpu_mean *gpu;

    for (size_t i = 0; i < load->gpu_count; i++)
        if (!strcmp(load->gpu[i].uuid, uuid))
            return &load->gpu[i];
    if (load->gpu_count == GPUS_MOST)
        return NULL;
    gpu = &load->gpu[load->gpu_count++];
    memset(gpu, 0, sizeof(*gpu));
    memcpy(gpu->uuid, uuid, GPU_UUID);
    return gpu;
}

static void take_gpus(struct load *load)
{
    size_t count;

    if (!load->gpus)
        return;
    count = gpus_read(load->gpus, load->gpu_now);
    for (size_t i = 0; i < count; i++) {
        const struct gpu_sample *sample = &load->gpu_now[i];
        struct gpu_mean *gpu = gpu_of(load, sample->uuid);

        if (gpu && sample->has_util)
            mean_add(&gpu->util, sample->util_percent);
        if (gpu && sample->has_memory)
            mean_add(&gpu->free_bytes, sample->free_bytes);
    }
}

void load_take(struct load *load)
{
    bool is_first = !load->has_before;

    read_counters(load);
    if (!is_first) {
        compare_counters(load);
        take_levels(load);
        take_gpus(load);
    }
    load->before = load->now;
    load->has_before = true;
}

/* ---- reports --------------------------------------------------------------------- */

/* Who gets the groups. */
struct outlet {
    load_put_fn *put;
    void *arg;
};

static void put_group(const struct outlet *outlet, const char *group,
                      const struct buf *values)
{
    if (!values->status && strcmp(values->data, "{}") != 0)
        outlet->put(outlet->arg, group, values);
}

/* Writes the mean, if there is one, and resets it. */
static void jw_mean(struct json_writer *w, const char *key, struct mean *mean)
{
    if (mean->count)
        jw_real(w, key, mean->sum / (double)mean->count);
    *mean = (struct mean){0};
}

static void put_means(const struct outlet *outlet, const char *group,
                      const char *const *names, struct mean *means)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    jw_object(&w, NULL);
    for (size_t i = 0; names[i]; i++)
        jw_mean(&w, names[i], &means[i]);
    jw_end_object(&w);
    put_group(outlet, group, &text);
}

static void put_disks(struct load *load, const struct outlet *outlet)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    jw_object(&w, NULL);
    jw_mean(&w, "disk_iops", &load->disk[DISK_IOS]);
    jw_mean(&w, "disk_throughput_read", &load->disk[DISK_READ_BYTES]);
    jw_mean(&w, "disk_throughput_write", &load->disk[DISK_WRITTEN_BYTES]);
    for (size_t i = 0; i < LOAD_PATHS; i++) {
        if (!load->used[i].count)
            continue;
        jw_object(&w, load->config.path[i]);
        jw_mean(&w, "disk_util", &load->used[i]);
        jw_end_object(&w);
    }
    jw_end_object(&w);
    put_group(outlet, "disk", &text);
}

static void put_gpus(struct load *load, const struct outlet *outlet)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    jw_object(&w, NULL);
    for (size_t i = 0; i < load->gpu_count; i++) {
        jw_object(&w, load->gpu[i].uuid);
        jw_mean(&w, "gpu_util", &load->gpu[i].util);
        jw_mean(&w, "gpu_free_memory", &load->gpu[i].free_bytes);
        jw_end_object(&w);
    }
    jw_end_object(&w);
    load->gpu_count = 0;
    put_group(outlet, "gpu", &text);
}

void load_put(struct load *load, load_put_fn *put, void *arg)
{
    static const char *const cpu[] = {"cpu_util_simple", NULL};
    static const char *const memory[] = {"memory_free", NULL};
    static const char *const net[] = {[NET_RECEIVED_BYTES] = "net_throughput_recv",
                                      [NET_SENT_BYTES] = "net_throughput_sent",
                                      NULL};
    const struct outlet outlet = {put, arg};

    put_means(&outlet, "cpu", cpu, &load->cpu);
    put_means(&outlet, "memory", memory, &load->memory);
    put_disks(load, &outlet);
    put_means(&outlet, "network", net, load->net);
    put_gpus(load, &outlet);
}
