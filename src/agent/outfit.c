/* SPDX-License-Identifier: Apache-2.0 */
/* outfit.c - the master's word wins over the agent's: a variable that the spec brings
 * along is left as it is, so that what a user sets in a configuration reaches the task.
 */
#include "agent/outfit.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "agent/task/spec.h"
#include "base/arena.h"
#include "data/json.h"

/* ---- addresses ------------------------------------------------------------------- */

static bool is_loopback_host(const char *host)
{
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

static bool address_text(const struct ifaddrs *one, char text[INET6_ADDRSTRLEN])
{
    const struct sockaddr *address = one->ifa_addr;

    if (!address || !(one->ifa_flags & IFF_UP) || (one->ifa_flags & IFF_LOOPBACK))
        return false;
    if (address->sa_family != AF_INET)
        return false;
    return inet_ntop(AF_INET,
                     &((const struct sockaddr_in *)(const void *)address)->sin_addr,
                     text, INET6_ADDRSTRLEN) != NULL;
}

void outfit_write_addresses(struct json_writer *w, const char *key,
                            const struct outfit *outfit)
{
    struct ifaddrs *all = NULL;
    char text[INET6_ADDRSTRLEN];
    bool is_empty = true;

    jw_array(w, key);
    if (!is_loopback_host(outfit->master.host) && getifaddrs(&all) == 0) {
        for (const struct ifaddrs *one = all; one; one = one->ifa_next)
            if (address_text(one, text)) {
                jw_str(w, NULL, text);
                is_empty = false;
            }
        freeifaddrs(all);
    }
    if (is_empty)
        jw_str(w, NULL, "127.0.0.1");
    jw_end_array(w);
}

/* ---- tasks ----------------------------------------------------------------------- */

struct dressing {
    struct json *variables;
    struct arena *mem;
};

static void set(const struct dressing *d, const char *name, const char *value)
{
    if (value && !json_get(d->variables, name))
        json_set(d->mem, d->variables, name, json_new_str(d->mem, value));
}

static const char *slot_list(const struct task_spec *spec, struct arena *mem)
{
    struct json *list = json_new(mem, JSON_ARRAY);

    for (size_t i = 0; i < spec->slots.count; i++)
        json_push(list, json_new_i64(mem, spec->slots.at[i]));
    return json_text(mem, list);
}

static bool has_gpus(const struct outfit *outfit)
{
    return outfit->slots.count && strcmp(outfit->slots.at[0].type, "cuda") == 0;
}

/* A task sees the GPUs of its slots, and none when it has none.  Where the slots are
 * processors, what is visible is left as it is. */
static void dress_gpus(const struct outfit *outfit, const struct task_spec *spec,
                       struct json *tree, const struct dressing *d)
{
    struct json *uuids = json_new(d->mem, JSON_ARRAY);
    struct json *names = json_new(d->mem, JSON_ARRAY);
    const char *visible;

    for (size_t i = 0; i < spec->slots.count; i++) {
        const struct slot *slot = slots_find(&outfit->slots, spec->slots.at[i]);

        if (!slot || !slot->uuid[0])
            continue;
        json_push(uuids, json_new_str(d->mem, slot->uuid));
        json_push(names, json_new_str(d->mem, slot->brand));
    }
    json_set(d->mem, tree, "gpuUuids", uuids);
    json_set(d->mem, tree, "gpuNames", names);
    if (!has_gpus(outfit))
        return;
    visible = slots_visible(&outfit->slots, spec->slots.at, spec->slots.count, d->mem);
    set(d, "CUDA_VISIBLE_DEVICES", visible);
    set(d, "NVIDIA_VISIBLE_DEVICES", visible && visible[0] ? visible : "void");
}

det_status outfit_complete(const struct outfit *outfit, struct json *spec,
                           struct arena *mem, struct err *err)
{
    struct task_spec read;
    struct dressing d = {json_get(spec, "environment"), mem};
    det_status status = spec_read(spec, mem, &read, err);

    if (status)
        return status;
    if (!d.variables || d.variables->kind != JSON_OBJECT)
        d.variables = json_set(mem, spec, "environment", json_new(mem, JSON_OBJECT));
    set(&d, "DET_CLUSTER_ID", outfit->cluster_id);
    set(&d, "DET_MASTER_ID", outfit->master_id);
    set(&d, "DET_MASTER", outfit->master.url);
    set(&d, "DET_MASTER_HOST", outfit->master.host);
    set(&d, "DET_MASTER_ADDR", outfit->master.host);
    set(&d, "DET_MASTER_PORT", arena_printf(mem, "%u", outfit->master.port));
    set(&d, "DET_AGENT_ID", outfit->agent_id);
    set(&d, "DET_CONTAINER_ID", read.container_id);
    set(&d, "DET_SLOT_IDS", slot_list(&read, mem));
    set(&d, "DET_RESOURCES_TYPE", "docker-container");
    json_set(mem, spec, "masterUrl", json_new_str(mem, outfit->master.url));
    if (outfit->envs)
        json_set(mem, spec, "envs", json_new_str(mem, outfit->envs));
    dress_gpus(outfit, &read, spec, &d);
    return mem->has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}
