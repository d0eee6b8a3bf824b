/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - reads the machine, and reports the means of several readings.
 *
 *   group    within {"<agent>": {...}}
 *   cpu      cpu_util_simple                         percent of all processors
 *   memory   memory_free                             bytes
 *   disk     disk_iops, disk_throughput_read, disk_throughput_write    1/s, bytes/s
 *            "<path>": {disk_util}                   percent of the space that is taken
 *   network  net_throughput_sent, net_throughput_recv                  bytes/s
 *   gpu      "<uuid>": {gpu_util, gpu_free_memory}   percent, bytes
 *   timing   seconds, "<kind>": {seconds, count}     of the interval
 *
 * Values that a machine does not provide are left out, and so are empty groups. */
#include "libdet/profile/sampler.h"

#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "libdet/checkpoint/storage.h"
#include "libdet/context.h"
#include "libdet/profile/gpu.h"
#include "libdet/profile/machine.h"
#include "libdet/ring/ring.h"

enum { TEXT_BYTES = 64 << 10, PATHS = 2, STRINGS = 64 << 10 };

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

struct sampler {
    det_context *context;
    struct arena strings;
    const char *agent;
    const char *path[PATHS]; /* paths whose disk space is measured; NULL: none */
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
    struct mean used[PATHS];
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

/* The root directory, and the checkpoint storage if it has a path. */
static det_status choose_paths(struct sampler *sampler, struct err *err)
{
    const char *place = NULL;
    det_status st = storage_place(sampler->context, &sampler->strings, &place, err);

    if (st == DET_NOMEM)
        return st;
    sampler->path[0] = "/";
    if (!st && strcmp(place, "/") != 0)
        sampler->path[1] = place;
    return DET_OK;
}

det_status sampler_new(det_context *context, struct sampler **ret_sampler,
                       struct err *err)
{
    struct sampler *sampler = mem_new(struct sampler);
    const char *agent = context->info.agent_id;
    det_status st;

    if (!sampler)
        return err_default(err, DET_NOMEM);
    sampler->context = context;
    sampler->strings = (struct arena)ARENA_INIT(STRINGS);
    sampler->text = (struct buf)BUF_LIMITED(TEXT_BYTES);
    sampler->agent = agent && *agent ? agent : "local";
    st = choose_paths(sampler, err);
    if (st) {
        sampler_free(sampler);
        return st;
    }
    *ret_sampler = sampler;
    return DET_OK;
}

void sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return;
    gpus_close(sampler->gpus);
    buf_done(&sampler->text);
    arena_done(&sampler->strings);
    mem_free(sampler);
}

void sampler_forget(struct sampler *sampler)
{
    sampler->has_before = false;
}

/* ---- reading --------------------------------------------------------------------- */

/* Reads as much as there is room for; "" if it cannot be read. */
static void read_text(struct sampler *sampler, const char *path)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    struct buf *text = &sampler->text;
    size_t len = 0;
    char *room;

    buf_clear(text);
    if (io_open(sampler->context->world.io, path, IO_READ, &file, NULL))
        return;
    room = buf_room(text, TEXT_BYTES - 1);
    if (room && !io_read_at(file, 0, room, TEXT_BYTES - 1, &len, NULL))
        buf_took(text, len);
}

static void read_counters(struct sampler *sampler)
{
    struct reading *now = &sampler->now;
    const struct buf *text = &sampler->text;

    now->at_us = clock_mono_us(sampler->context->world.clock);
    read_text(sampler, "/proc/stat");
    now->has_cpu = machine_cpu_parse(text->data, text->len, &now->cpu);
    read_text(sampler, "/proc/diskstats");
    machine_disks_parse(text->data, text->len, &now->disks);
    read_text(sampler, "/proc/net/dev");
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

static void compare_counters(struct sampler *sampler)
{
    const struct reading *before = &sampler->before;
    const struct reading *now = &sampler->now;
    double seconds = (double)(now->at_us - before->at_us) / 1e6;
    double percent;

    if (seconds <= 0)
        return;
    if (before->has_cpu && now->has_cpu &&
        machine_cpu_busy(&before->cpu, &now->cpu, &percent))
        mean_add(&sampler->cpu, percent);
    add_rates(&before->disks, &now->disks, seconds, sampler->disk);
    add_rates(&before->nets, &now->nets, seconds, sampler->net);
}

/* Two paths with the same values lie on one disk, which counts once. */
static void take_spaces(struct sampler *sampler)
{
    struct io_space before = {0};

    for (size_t i = 0; i < PATHS; i++) {
        struct io_space space;

        if (!sampler->path[i] ||
            io_space(sampler->context->world.io, sampler->path[i], &space, NULL) ||
            !space.size_bytes)
            continue;
        if (i && space.size_bytes == before.size_bytes &&
            space.free_bytes == before.free_bytes)
            continue;
        mean_add(&sampler->used[i],
                 100.0 - 100.0 * (double)space.free_bytes / (double)space.size_bytes);
        before = space;
    }
}

/* Values that need only one reading. */
static void take_levels(struct sampler *sampler)
{
    uint64_t free_bytes;

    read_text(sampler, "/proc/meminfo");
    if (machine_memory_parse(sampler->text.data, sampler->text.len, &free_bytes))
        mean_add(&sampler->memory, (double)free_bytes);
    take_spaces(sampler);
}

/* ---- GPUs ------------------------------------------------------------------------ */

/* An empty list of visible GPUs means none; a missing list means all. */
void sampler_find_gpus(struct sampler *sampler)
{
    const struct context_world *world = &sampler->context->world;
    const char *name = "CUDA_VISIBLE_DEVICES";
    const char *visible =
        world->variable ? world->variable(world->arg, name) : getenv(name);
    const char *library = context_variable(sampler->context, "DET_NVML_LIBRARY");

    if (sampler->has_looked_for_gpus)
        return;
    /* Without memory the next sample tries again. */
    sampler->has_looked_for_gpus =
        gpus_open(library, visible, &sampler->gpus, NULL) == DET_OK;
}

static struct gpu_mean *gpu_of(struct sampler *sampler, const char *uuid)
{
    struct gpu_mean *gpu;

    for (size_t i = 0; i < sampler->gpu_count; i++)
        if (!strcmp(sampler->gpu[i].uuid, uuid))
            return &sampler->gpu[i];
    if (sampler->gpu_count == GPUS_MOST)
        return NULL;
    gpu = &sampler->gpu[sampler->gpu_count++];
    memset(gpu, 0, sizeof(*gpu));
    memcpy(gpu->uuid, uuid, GPU_UUID);
    return gpu;
}

static void take_gpus(struct sampler *sampler)
{
    size_t count;

    if (!sampler->gpus)
        return;
    count = gpus_read(sampler->gpus, sampler->gpu_now);
    for (size_t i = 0; i < count; i++) {
        const struct gpu_sample *sample = &sampler->gpu_now[i];
        struct gpu_mean *gpu = gpu_of(sampler, sample->uuid);

        if (gpu && sample->has_util)
            mean_add(&gpu->util, sample->util_percent);
        if (gpu && sample->has_memory)
            mean_add(&gpu->free_bytes, sample->free_bytes);
    }
}

void sampler_take(struct sampler *sampler)
{
    bool is_first = !sampler->has_before;

    read_counters(sampler);
    if (!is_first) {
        compare_counters(sampler);
        take_levels(sampler);
        take_gpus(sampler);
    }
    sampler->before = sampler->now;
    sampler->has_before = true;
}

/* ---- reports --------------------------------------------------------------------- */

static void put_group(struct sampler *sampler, const char *group,
                      const struct buf *values)
{
    det_context *context = sampler->context;
    struct report_value value = {.name = sampler->agent,
                                 .name_len = strlen(sampler->agent),
                                 .type = REPORT_JSON,
                                 .json = values->data,
                                 .json_len = values->len};
    struct report_metrics metrics = {.steps = -1,
                                     .group = group,
                                     .group_len = strlen(group),
                                     .count = 1,
                                     .value = &value};

    if (!values->status && strcmp(values->data, "{}") != 0)
        (void)ring_put_metrics(context->ring, (uint32_t)context->info.run_id,
                               clock_wall_us(context->world.clock), &metrics, NULL);
}

/* Writes the mean, if there is one, and resets it. */
static void jw_mean(struct json_writer *w, const char *key, struct mean *mean)
{
    if (mean->count)
        jw_real(w, key, mean->sum / (double)mean->count);
    *mean = (struct mean){0};
}

static void put_means(struct sampler *sampler, const char *group,
                      const char *const *names, struct mean *means)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    jw_object(&w, NULL);
    for (size_t i = 0; names[i]; i++)
        jw_mean(&w, names[i], &means[i]);
    jw_end_object(&w);
    put_group(sampler, group, &text);
}

static void put_disks(struct sampler *sampler)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    jw_object(&w, NULL);
    jw_mean(&w, "disk_iops", &sampler->disk[DISK_IOS]);
    jw_mean(&w, "disk_throughput_read", &sampler->disk[DISK_READ_BYTES]);
    jw_mean(&w, "disk_throughput_write", &sampler->disk[DISK_WRITTEN_BYTES]);
    for (size_t i = 0; i < PATHS; i++) {
        if (!sampler->used[i].count)
            continue;
        jw_object(&w, sampler->path[i]);
        jw_mean(&w, "disk_util", &sampler->used[i]);
        jw_end_object(&w);
    }
    jw_end_object(&w);
    put_group(sampler, "disk", &text);
}

static void put_gpus(struct sampler *sampler)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    jw_object(&w, NULL);
    for (size_t i = 0; i < sampler->gpu_count; i++) {
        jw_object(&w, sampler->gpu[i].uuid);
        jw_mean(&w, "gpu_util", &sampler->gpu[i].util);
        jw_mean(&w, "gpu_free_memory", &sampler->gpu[i].free_bytes);
        jw_end_object(&w);
    }
    jw_end_object(&w);
    sampler->gpu_count = 0;
    put_group(sampler, "gpu", &text);
}

void sampler_report(struct sampler *sampler)
{
    static const char *const cpu[] = {"cpu_util_simple", NULL};
    static const char *const memory[] = {"memory_free", NULL};
    static const char *const net[] = {[NET_RECEIVED_BYTES] = "net_throughput_recv",
                                      [NET_SENT_BYTES] = "net_throughput_sent",
                                      NULL};

    put_means(sampler, "cpu", cpu, &sampler->cpu);
    put_means(sampler, "memory", memory, &sampler->memory);
    put_disks(sampler);
    put_means(sampler, "network", net, sampler->net);
    put_gpus(sampler);
}

void sampler_report_timings(struct sampler *sampler, double seconds,
                            const struct timing_sum sums[TIMING_KINDS])
{
    static const char *const names[TIMING_KINDS] = {
        [DET_TIMING_DATA] = "data",         [DET_TIMING_STEP] = "step",
        [DET_TIMING_REPORT] = "report",     [DET_TIMING_CHECKPOINT] = "checkpoint",
        [DET_TIMING_VALIDATE] = "validate",
    };
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    jw_object(&w, NULL);
    jw_real(&w, "seconds", seconds);
    for (size_t i = 0; i < TIMING_KINDS; i++) {
        if (!sums[i].count)
            continue;
        jw_object(&w, names[i]);
        jw_real(&w, "seconds", (double)sums[i].us / 1e6);
        jw_i64(&w, "count", (int64_t)sums[i].count);
        jw_end_object(&w);
    }
    jw_end_object(&w);
    put_group(sampler, "timing", &text);
}
