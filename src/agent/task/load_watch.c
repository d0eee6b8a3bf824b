/* SPDX-License-Identifier: Apache-2.0 */
/* load_watch.c - see load_watch.h.  A master that refuses the values, because it is older
 * or the run is over, is not asked again. */
#include "agent/task/load_watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/master_link.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "data/json/json.h"
#include "libdet/profile/load.h"
#include "model/field.h"

enum { STRINGS = 256 << 10, REPLY_MEM = 1 << 20, CALL_MS = 10 * 1000 };

struct load_watch {
    struct load_watch_config config;
    struct arena strings;
    const char *path; /* of the call */
    const char *gpus; /* uuids with commas; "": none */
    struct load *load;
    struct work task;
    int64_t start_us; /* monotonic; 0: nothing is measured yet */
    atomic_bool is_over;
};

int64_t load_watch_pause_us(int64_t running_us)
{
    if (running_us < LOAD_WATCH_LEAST_US)
        return running_us < LOAD_WATCH_FIRST_US ? LOAD_WATCH_FIRST_US
                                                : running_us + LOAD_WATCH_FIRST_US / 2;
    return MIN(MAX(running_us / 100, LOAD_WATCH_LEAST_US), LOAD_WATCH_MOST_US);
}

static void add_group(void *arg, const char *group, const struct buf *values)
{
    jw_raw(arg, group, values->data);
}

/* {"rank": 0, "timeUs": 1, "load": {"cpu": {...}, ...}} */
static void write_body(struct load_watch *watch, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);

    jw_object(&w, NULL);
    jw_i64(&w, "rank", watch->config.rank);
    jw_i64(&w, "timeUs", clock_wall_us(executor_clock(watch->config.exec)));
    jw_object(&w, "load");
    load_put(watch->load, add_group, &w);
    jw_end_object(&w);
    jw_end_object(&w);
}

static void send_load(struct load_watch *watch)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(REPLY_MEM);
    const struct master_link_request request = {
        .method = NET_POST, .path = watch->path, .body = &body, .timeout_ms = CALL_MS};
    struct json *reply;
    struct err err = {0};
    det_status status;

    write_body(watch, &body);
    status = master_link_call(watch->config.link, &request, &mem, &reply, &err);
    if (!status || master_link_may_retry(status))
        return;
    log_info("the load of the machine is measured no longer: %s", err.text);
    atomic_store(&watch->is_over, true);
}

static void measure(struct work *task)
{
    struct load_watch *watch = CONTAINER_OF(task, struct load_watch, task);
    const struct clock *clock = executor_clock(watch->config.exec);

    if (atomic_load(&watch->is_over))
        return;
    if (*watch->gpus)
        load_find_gpus(watch->load);
    load_take(watch->load);
    if (watch->start_us)
        send_load(watch);
    else
        watch->start_us = clock_mono_us(clock);
    if (!atomic_load(&watch->is_over))
        lane_post_at(watch->config.lane, task,
                     clock_mono_us(clock) +
                         load_watch_pause_us(clock_mono_us(clock) - watch->start_us));
}

static const char *joined(struct arena *mem, const struct field_strs *words)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    for (size_t i = 0; words && i < words->count; i++)
        buf_printf(&text, "%s%s", i ? "," : "", words->at[i]);
    return text.status ? NULL : arena_strndup(mem, text.data, text.len);
}

det_status load_watch_new(const struct load_watch_config *config,
                          struct load_watch **ret_watch, struct err *err)
{
    struct load_watch *watch = mem_new(struct load_watch);
    struct load_config load = {.io = config->io,
                               .clock = executor_clock(config->exec),
                               .path = {"/"},
                               .gpu_library = getenv("DET_NVML_LIBRARY")};
    det_status status;

    if (!watch)
        return err_default(err, DET_NOMEM);
    watch->config = *config;
    watch->strings = (struct arena)ARENA_INIT(STRINGS);
    watch->task = (struct work)WORK_INIT(measure);
    watch->path = master_link_path(&watch->strings, "/api/v1/det/allocations/",
                                   config->allocation, "/load");
    watch->gpus = joined(&watch->strings, config->gpu_uuids);
    if (config->storage && strcmp(config->storage, "/") != 0)
        load.path[1] = arena_strdup(&watch->strings, config->storage);
    load.visible_gpus = watch->gpus;
    status = watch->strings.has_failed || !watch->gpus
                 ? err_default(err, DET_NOMEM)
                 : load_new(&load, &watch->load, err);
    if (status) {
        load_watch_free(watch);
        return status;
    }
    *ret_watch = watch;
    return DET_OK;
}

void load_watch_free(struct load_watch *watch)
{
    if (!watch)
        return;
    load_free(watch->load);
    arena_done(&watch->strings);
    mem_free(watch);
}

void load_watch_start(struct load_watch *watch)
{
    if (watch)
        lane_post(watch->config.lane, &watch->task);
}

void load_watch_end(struct load_watch *watch)
{
    if (watch)
        atomic_store(&watch->is_over, true);
}
