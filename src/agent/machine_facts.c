/* SPDX-License-Identifier: Apache-2.0 */
/* machine_facts.c - the master's values win: a variable in the spec stays as it is, so
 * the variables of a configuration reach the task. */
#include "agent/machine_facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "agent/task/spec.h"
#include "base/memory/arena.h"
#include "data/json/json.h"

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

void machine_facts_write_addresses(struct json_writer *w, const char *key,
                                   const struct machine_facts *facts)
{
    struct ifaddrs *all = NULL;
    char text[INET6_ADDRSTRLEN];
    bool is_empty = true;

    jw_array(w, key);
    if (!is_loopback_host(facts->master.host) && getifaddrs(&all) == 0) {
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

struct task_variables {
    struct json *variables;
    struct arena *mem;
};

static void set_variable(const struct task_variables *d, const char *name,
                         const char *value)
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

static bool has_gpus(const struct machine_facts *facts)
{
    return facts->slots.count && strcmp(facts->slots.at[0].type, "cuda") == 0;
}

/* A task sees the GPUs of its slots only.  For CPU slots the visible devices stay as
 * they are. */
static void set_gpu_variables(const struct machine_facts *facts,
                              const struct task_spec *spec, struct json *tree,
                              const struct task_variables *d)
{
    struct json *uuids = json_new(d->mem, JSON_ARRAY);
    struct json *names = json_new(d->mem, JSON_ARRAY);
    const char *visible;

    for (size_t i = 0; i < spec->slots.count; i++) {
        const struct slot *slot = slots_find(&facts->slots, spec->slots.at[i]);

        if (!slot || !slot->uuid[0])
            continue;
        json_push(uuids, json_new_str(d->mem, slot->uuid));
        json_push(names, json_new_str(d->mem, slot->brand));
    }
    json_set(d->mem, tree, "gpuUuids", uuids);
    json_set(d->mem, tree, "gpuNames", names);
    if (!has_gpus(facts))
        return;
    visible = slots_visible(&facts->slots, spec->slots.at, spec->slots.count, d->mem);
    set_variable(d, "CUDA_VISIBLE_DEVICES", visible);
    set_variable(d, "NVIDIA_VISIBLE_DEVICES", visible && visible[0] ? visible : "void");
}

/* Programs read one spelling or the other. */
static void set_proxies(const struct machine_facts *facts,
                        const struct task_variables *d)
{
    static const struct {
        const char *key;
        const char *upper;
    } proxies[] = {{"http_proxy", "HTTP_PROXY"},
                   {"https_proxy", "HTTPS_PROXY"},
                   {"ftp_proxy", "FTP_PROXY"},
                   {"no_proxy", "NO_PROXY"}};

    for (size_t i = 0; i < ARRAY_LEN(proxies); i++) {
        const char *value = json_str(json_get(facts->config, proxies[i].key), NULL);

        set_variable(d, proxies[i].key, value);
        set_variable(d, proxies[i].upper, value);
    }
}

det_status machine_facts_complete(const struct machine_facts *facts, struct json *spec,
                                  struct arena *mem, struct err *err)
{
    struct task_spec read;
    struct task_variables d = {json_get(spec, "environment"), mem};
    det_status status = spec_read(spec, mem, &read, err);

    if (status)
        return status;
    if (!d.variables || d.variables->kind != JSON_OBJECT)
        d.variables = json_set(mem, spec, "environment", json_new(mem, JSON_OBJECT));
    set_variable(&d, "DET_CLUSTER_ID", facts->cluster_id);
    set_variable(&d, "DET_MASTER_ID", facts->master_id);
    set_variable(&d, "DET_MASTER", facts->master.url);
    set_variable(&d, "DET_MASTER_HOST", facts->master.host);
    set_variable(&d, "DET_MASTER_ADDR", facts->master.host);
    set_variable(&d, "DET_MASTER_PORT", arena_printf(mem, "%u", facts->master.port));
    set_variable(&d, "DET_USE_TLS", facts->master.is_tls ? "true" : "false");
    if (facts->master.is_tls) {
        set_variable(&d, "DET_MASTER_CERT_NAME", facts->cert_name);
        if (facts->cert_file)
            json_set(mem, spec, "masterCertFile", json_new_str(mem, facts->cert_file));
    }
    set_variable(&d, "DET_AGENT_ID", facts->agent_id);
    set_variable(&d, "DET_CONTAINER_ID", read.container_id);
    set_variable(&d, "DET_SLOT_IDS", slot_list(&read, mem));
    set_variable(&d, "DET_RESOURCES_TYPE", "docker-container");
    json_set(mem, spec, "masterUrl", json_new_str(mem, facts->master.url));
    if (facts->envs)
        json_set(mem, spec, "envs", json_new_str(mem, facts->envs));
    set_proxies(facts, &d);
    set_gpu_variables(facts, &read, spec, &d);
    return mem->has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}
