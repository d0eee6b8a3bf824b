/* SPDX-License-Identifier: Apache-2.0 */
/* slots.c - asks NVIDIA's library once, at the start, and closes it: an agent that kept
 * it open would keep the driver from being replaced. */
#include "agent/slots.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/thread/executor.h"
#include "data/json/json.h"

enum { NVML_NAME = 96, NVML_UUID = 96, CPUINFO_LIMIT = 4 << 20, SLOTS_MOST = 4096 };

/* ---- GPUs ------------------------------------------------------------------------ */

static det_status slot_of_gpu(const struct nvml *nvml, unsigned index,
                              struct arena *mem, struct slot *ret_slot, struct err *err)
{
    char name[NVML_NAME] = "";
    char uuid[NVML_UUID] = "";
    void *device;

    if (nvml->handle(index, &device) || nvml->uuid(device, uuid, sizeof(uuid)))
        return err_set(err, DET_IO, "GPU %u does not answer", index);
    if (nvml->name(device, name, sizeof(name)))
        name[0] = '\0';
    *ret_slot = (struct slot){
        .id = index,
        .brand = arena_strdup(mem, name[0] ? name : "GPU"),
        .uuid = arena_strdup(mem, uuid),
        .type = "cuda",
    };
    return ret_slot->brand && ret_slot->uuid ? DET_OK : err_default(err, DET_NOMEM);
}

det_status slots_of_nvml(const struct nvml *nvml, struct arena *mem,
                         struct slots *ret_slots, struct err *err)
{
    struct slots slots = {0};
    unsigned count = 0;
    det_status status = DET_OK;

    if (nvml->init())
        return err_set(err, DET_NOT_FOUND, "no NVIDIA driver answers");
    if (nvml->count(&count))
        count = 0;
    if (count)
        slots.at = arena_array(mem, struct slot, count);
    if (count && !slots.at)
        status = err_default(err, DET_NOMEM);
    for (; !status && slots.count < count; slots.count++)
        status =
            slot_of_gpu(nvml, (unsigned)slots.count, mem, &slots.at[slots.count], err);
    nvml->shutdown();
    if (!status)
        *ret_slots = slots;
    return status;
}

/* POSIX lets dlsym() return functions; C has no such cast, so we copy the bytes. */
static bool symbol(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof(found));
    return found != NULL;
}

static det_status detect_gpus(struct arena *mem, struct slots *ret_slots,
                              struct err *err)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    struct nvml nvml;
    det_status status;

    if (!library)
        return DET_OK;
    if (symbol(library, "nvmlInit_v2", &nvml.init) &&
        symbol(library, "nvmlShutdown", &nvml.shutdown) &&
        symbol(library, "nvmlDeviceGetCount_v2", &nvml.count) &&
        symbol(library, "nvmlDeviceGetHandleByIndex_v2", &nvml.handle) &&
        symbol(library, "nvmlDeviceGetName", &nvml.name) &&
        symbol(library, "nvmlDeviceGetUUID", &nvml.uuid))
        status = slots_of_nvml(&nvml, mem, ret_slots, err);
    else
        status = DET_OK;
    dlclose(library);
    /* A library without a driver is normal on a machine without GPUs. */
    return status == DET_NOT_FOUND ? DET_OK : status;
}

/* ---- processors ------------------------------------------------------------------ */

const char *slots_cpu_brand(const char *cpuinfo, struct arena *mem)
{
    static const char *const keys[] = {"model name", "cpu model", "Hardware", "Model"};

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *at = strstr(cpuinfo, keys[i]);

        if (!at || (at > cpuinfo && at[-1] != '\n'))
            continue;
        at += strlen(keys[i]);
        at += strspn(at, " \t:");
        if (strcspn(at, "\n"))
            return arena_strndup(mem, at, strcspn(at, "\n"));
    }
    return arena_strdup(mem, "CPU");
}

static det_status make_cpus(int64_t count, struct arena *mem, struct slots *ret_slots,
                            struct err *err)
{
    CLEANUP(buf_done) struct buf cpuinfo = BUF_LIMITED(CPUINFO_LIMIT);
    struct slots slots = {0};
    const char *brand;

    if (count > SLOTS_MOST)
        return err_set(err, DET_INVALID, "%" PRId64 " slots are more than %d", count,
                       SLOTS_MOST);
    /* The brand is for display only; the fallback is "CPU". */
    if (io_read_file(io_system(), "/proc/cpuinfo", &cpuinfo, NULL))
        buf_clear(&cpuinfo);
    brand = slots_cpu_brand(cpuinfo.data, mem);
    slots.at = arena_array(mem, struct slot, (size_t)count + 1);
    if (!brand || !slots.at)
        return err_default(err, DET_NOMEM);
    for (; slots.count < (size_t)count; slots.count++)
        slots.at[slots.count] = (struct slot){
            .id = (int64_t)slots.count, .brand = brand, .uuid = "", .type = "cpu"};
    *ret_slots = slots;
    return DET_OK;
}

/* ---- choosing -------------------------------------------------------------------- */

/* "2" or the beginning of a uuid. */
static const struct slot *find_gpu(const struct slots *slots, const char *name,
                                   size_t len)
{
    bool is_number = len && strspn(name, "0123456789") >= len;

    for (size_t i = 0; i < slots->count && len; i++) {
        const struct slot *slot = &slots->at[i];
        char number[24];

        snprintf(number, sizeof(number), "%" PRId64, slot->id);
        if (is_number ? strlen(number) == len && !memcmp(number, name, len)
                      : !strncmp(slot->uuid, name, len))
            return slot;
    }
    return NULL;
}

static bool has_gpu(const struct slots *slots, const struct slot *gpu)
{
    for (size_t i = 0; i < slots->count; i++)
        if (!strcmp(slots->at[i].uuid, gpu->uuid))
            return true;
    return false;
}

static det_status wrong_gpu(const struct slots *slots, const struct slot *gpu,
                            const char *name, size_t len, struct err *err)
{
    int shown = (int)MIN(len, 80u);

    if (gpu)
        return err_set(
            err, DET_INVALID,
            "visible_gpus names the GPU '%.*s' a second time; name each once", shown,
            name);
    return err_set(err, DET_INVALID,
                   "visible_gpus names '%.*s', but this machine has no such GPU; write "
                   "numbers from 0 to %zu, or uuids ('nvidia-smi -L')",
                   shown, name, slots->count - 1);
}

det_status slots_choose(struct slots *slots, const char *visible, bool is_strict,
                        struct arena *mem, struct err *err)
{
    struct slots chosen = {.at = arena_array(mem, struct slot, slots->count + 1)};

    if (!chosen.at)
        return err_default(err, DET_NOMEM);
    while (*visible) {
        size_t len;
        const struct slot *gpu;

        visible += strspn(visible, " ,");
        len = strcspn(visible, " ,");
        gpu = find_gpu(slots, visible, len);
        if (!gpu || has_gpu(&chosen, gpu)) {
            if (len && is_strict)
                return wrong_gpu(slots, gpu, visible, len, err);
            break;
        }
        chosen.at[chosen.count] = *gpu;
        chosen.at[chosen.count].id = (int64_t)chosen.count;
        chosen.count++;
        visible += len;
    }
    *slots = chosen;
    return DET_OK;
}

static bool is_type(const struct slots_wish *wish, const char *type)
{
    return wish->type && strcmp(wish->type, type) == 0;
}

static det_status find_gpus(const struct slots_wish *wish, struct arena *mem,
                            struct slots *ret_slots, struct err *err)
{
    const char *variable = getenv("CUDA_VISIBLE_DEVICES");
    bool has_said = wish->visible && wish->visible[0];
    det_status status = detect_gpus(mem, ret_slots, err);

    if (status || !ret_slots->count || (!has_said && !variable))
        return status;
    return slots_choose(ret_slots, has_said ? wish->visible : variable, has_said, mem,
                        err);
}

det_status slots_detect(const struct slots_wish *wish, struct arena *mem,
                        struct slots *ret_slots, struct err *err)
{
    bool needs_gpus = is_type(wish, "cuda") || is_type(wish, "gpu");
    struct slots slots = {0};
    det_status status = DET_OK;

    if (wish->count >= 0 || is_type(wish, "none"))
        return make_cpus(MAX(wish->count, (int64_t)0), mem, ret_slots, err);
    if (!is_type(wish, "cpu"))
        status = find_gpus(wish, mem, &slots, err);
    if (status)
        return status;
    if (!slots.count && needs_gpus)
        return err_set(
            err, DET_NOT_FOUND,
            "slot_type is %s, but no NVIDIA GPU was found here; write auto to "
            "train on the processor where there is none",
            wish->type);
    if (!slots.count)
        return make_cpus((int64_t)executor_cores(), mem, ret_slots, err);
    *ret_slots = slots;
    return DET_OK;
}

/* ---- use ------------------------------------------------------------------------- */

void slots_write(struct json_writer *w, const char *key, const struct slots *slots)
{
    jw_array(w, key);
    for (size_t i = 0; i < slots->count; i++) {
        jw_object(w, NULL);
        jw_i64(w, "id", slots->at[i].id);
        jw_str(w, "brand", slots->at[i].brand);
        jw_str(w, "uuid", slots->at[i].uuid);
        jw_str(w, "type", slots->at[i].type);
        jw_end_object(w);
    }
    jw_end_array(w);
}

const struct slot *slots_find(const struct slots *slots, int64_t id)
{
    for (size_t i = 0; i < slots->count; i++)
        if (slots->at[i].id == id)
            return &slots->at[i];
    return NULL;
}

const char *slots_visible(const struct slots *slots, const int64_t *ids, size_t count,
                          struct arena *mem)
{
    const char *text = "";

    for (size_t i = 0; text && i < count; i++) {
        const struct slot *slot = slots_find(slots, ids[i]);

        if (slot && slot->uuid[0])
            text = arena_printf(mem, "%s%s%s", text, text[0] ? "," : "", slot->uuid);
    }
    return text;
}
