/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "agent/machine_facts.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "tests/support/test.h"

static struct slot gpus[] = {
    {0, "NVIDIA", "GPU-a", "cuda"},
    {1, "NVIDIA", "GPU-b", "cuda"},
};
static struct slot cpus[] = {{0, "CPU", "", "cpu"}};

static struct machine_facts facts(struct slot *slots, size_t count)
{
    return (struct machine_facts){
        .agent_id = "a1",
        .cluster_id = "cl",
        .master_id = "ep",
        .master = {"http://localhost:8080", "localhost", 8080},
        .slots = {slots, count},
    };
}

static struct json *complete(const struct machine_facts *of, const char *text,
                             struct arena *mem)
{
    struct json *spec;

    CHECK_OK(json_parse(text, strlen(text), mem, &spec, &test_err));
    CHECK_OK(machine_facts_complete(of, spec, mem, &test_err));
    return spec;
}

static const char *variable(const struct json *spec, const char *name)
{
    return json_str(json_get(json_get(spec, "environment"), name), NULL);
}

TEST(a_task_gets_the_agents_variables)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct machine_facts of = facts(cpus, 1);
    struct json *spec =
        complete(&of,
                 "{\"allocation\":\"a.1\",\"taskId\":\"a\",\"slots\":[0],"
                 "\"containerId\":\"c\",\"environment\":{\"DET_MASTER\":"
                 "\"http://by.user\"}}",
                 &mem);

    CHECK_STR(variable(spec, "DET_CLUSTER_ID"), "cl");
    CHECK_STR(variable(spec, "DET_MASTER_ID"), "ep");
    CHECK_STR(variable(spec, "DET_MASTER"), "http://by.user");
    CHECK_STR(json_str(json_get(spec, "masterUrl"), ""), "http://localhost:8080");
    CHECK_STR(variable(spec, "DET_MASTER_HOST"), "localhost");
    CHECK_STR(variable(spec, "DET_MASTER_ADDR"), "localhost");
    CHECK_STR(variable(spec, "DET_MASTER_PORT"), "8080");
    CHECK_STR(variable(spec, "DET_AGENT_ID"), "a1");
    CHECK_STR(variable(spec, "DET_CONTAINER_ID"), "c");
    CHECK_STR(variable(spec, "DET_SLOT_IDS"), "[0]");
    CHECK_STR(variable(spec, "DET_RESOURCES_TYPE"), "docker-container");
    CHECK_NULL(variable(spec, "CUDA_VISIBLE_DEVICES"));
}

TEST(a_task_sees_the_gpus_of_its_slots_only)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct machine_facts of = facts(gpus, 2);
    struct json *one =
        complete(&of, "{\"allocation\":\"a.1\",\"taskId\":\"a\",\"slots\":[1]}", &mem);
    struct json *none =
        complete(&of, "{\"allocation\":\"b.1\",\"taskId\":\"b\",\"slots\":[]}", &mem);

    CHECK_STR(variable(one, "CUDA_VISIBLE_DEVICES"), "GPU-b");
    CHECK_STR(variable(one, "NVIDIA_VISIBLE_DEVICES"), "GPU-b");
    CHECK_STR(json_str(json_first(json_get(one, "gpuUuids")), ""), "GPU-b");
    CHECK_STR(variable(none, "CUDA_VISIBLE_DEVICES"), "");
    CHECK_STR(variable(none, "NVIDIA_VISIBLE_DEVICES"), "void");
}

TEST(the_agents_proxies_reach_its_tasks)
{
    static const char config[] =
        "{\"http_proxy\": \"http://p:3128\", \"no_proxy\": \"localhost\"}";
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct machine_facts of = facts(cpus, 1);
    struct json *tree;
    struct json *spec;

    CHECK_OK(json_parse(config, strlen(config), &mem, &tree, &test_err));
    of.config = tree;
    spec = complete(&of,
                    "{\"allocation\":\"a.1\",\"taskId\":\"a\",\"slots\":[0],"
                    "\"containerId\":\"c\",\"environment\":{\"NO_PROXY\":\"mine\"}}",
                    &mem);

    CHECK_STR(variable(spec, "http_proxy"), "http://p:3128");
    CHECK_STR(variable(spec, "HTTP_PROXY"), "http://p:3128");
    CHECK_STR(variable(spec, "no_proxy"), "localhost");
    CHECK_STR(variable(spec, "NO_PROXY"), "mine");
    CHECK(!variable(spec, "https_proxy"));
}

TEST(beside_a_local_master_the_address_is_loopback)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    struct machine_facts of = facts(cpus, 1);

    machine_facts_write_addresses(&w, NULL, &of);

    CHECK_STR(text.data, "[\"127.0.0.1\"]");
}

TEST(out_of_memory_is_an_ordinary_error)
{
    struct machine_facts of = facts(gpus, 2);
    static const char text[] =
        "{\"allocation\":\"a.1\",\"taskId\":\"a\",\"slots\":[1]}";

    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        struct json *spec;
        det_status status = json_parse(text, strlen(text), &mem, &spec, NULL);

        if (!status)
            status = machine_facts_complete(&of, spec, &mem, NULL);
        CHECK(status == DET_OK || (fault_fired() && status == DET_NOMEM));
    }
}
