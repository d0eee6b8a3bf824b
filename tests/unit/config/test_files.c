/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/config/fixture.h"

TEST(a_master_needs_no_file)
{
    FIXTURE(f);

    CHECK_OK(load_file(&f, CONFIG_MASTER, NULL, NULL));

    CHECK_STR(at(&f, "port"), "8080");
    CHECK_STR(at(&f, "log.level"), "\"info\"");
    CHECK_STR(at(&f, "resource_manager.scheduler"),
              "{\"type\":\"priority\",\"preemption\":false,\"default_priority\":42,"
              "\"fitting_policy\":\"best\",\"allow_heterogeneous_fits\":false}");
    CHECK_HAS(at(&f, "resource_pools"), "[{\"pool_name\":\"default\"");
    CHECK_STR(at(&f, "checkpoint_storage"), "null");
    CHECK_STR(at(&f, "task_container_defaults.preemption_timeout"), "3600");
    CHECK_STR(at(&f, "security.token.max_lifespan_days"), "30");
}

TEST(a_master_file_is_read)
{
    FIXTURE(f);

    CHECK_OK(load_file(&f, CONFIG_MASTER,
                       "port: 9000\n"
                       "checkpoint_storage: {type: shared_fs, host_path: /tmp, "
                       "storage_path: ck}\n"
                       "tensorboard_timeout: 1h30m\n"
                       "task_container_defaults: {shm_size_bytes: 1GiB, "
                       "environment_variables: [A=1]}\n"
                       "resource_manager: {default_aux_resource_pool: a, "
                       "default_compute_resource_pool: b}\n"
                       "resource_pools:\n"
                       "- {pool_name: a, agent_reconnect_wait: 500ms}\n"
                       "- {pool_name: b, scheduler: {preemption: true}}\n",
                       NULL));

    CHECK_STR(at(&f, "port"), "9000");
    CHECK_STR(at(&f, "tensorboard_timeout"), "5400");
    CHECK_STR(at(&f, "checkpoint_storage.save_trial_best"), "1");
    CHECK_STR(at(&f, "task_container_defaults.shm_size_bytes"), "1073741824");
    CHECK_HAS(at(&f, "resource_pools"), "\"agent_reconnect_wait\":1}");
    CHECK_HAS(at(&f, "resource_pools"), "\"scheduler\":{\"type\":\"priority\","
                                        "\"preemption\":true");
}

TEST(round_robin_is_priority_now)
{
    FIXTURE(f);

    CHECK_OK(load_file(&f, CONFIG_MASTER,
                       "resource_manager: {scheduler: {type: round_robin}}\n"
                       "resource_pools:\n"
                       "- {pool_name: default, scheduler: {type: round_robin}}\n",
                       NULL));
    CHECK_STR(at(&f, "resource_manager.scheduler.type"), "\"priority\"");
    CHECK_STR(
        lines(&f),
        "c.yaml:1:38: resource_manager.scheduler.type: 'round_robin' is priority "
        "with equal priorities now\n"
        "c.yaml:3:42: resource_pools[0].scheduler.type: 'round_robin' is priority "
        "with equal priorities now\n");
}

TEST(preemption_of_a_fair_share_pool_says_that_it_has_no_effect)
{
    FIXTURE(f);

    CHECK_OK(load_file(&f, CONFIG_MASTER,
                       "resource_pools:\n"
                       "- pool_name: default\n"
                       "  scheduler: {type: fair_share, preemption: true}\n"
                       "- {pool_name: other, scheduler: {type: fair_share}}\n",
                       NULL));
    CHECK_HAS(lines(&f), "scheduler.preemption: accepted, but has no effect: a "
                         "fair-share pool always preempts");
    CHECK(!strstr(lines(&f), "c.yaml:4:"));
}

TEST(what_a_master_cannot_do_yet_is_refused)
{
    static const char *const refused[] = {
        "resource_manager: {type: kubernetes}",
        "db: {host: h}",
        "logging: {type: elastic, host: h}",
        "resource_pools: [{pool_name: default, provider: {type: aws}}]",
        "additional_resource_managers: [{}]",
        "checkpoint_storage: {type: s3, bucket: b}",
        "webhooks: {signing_key: k}",
        ("resource_pools: [{pool_name: default, task_container_defaults: "
         "{preemption_timeout: 5}}]"),
    };

    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        FIXTURE(f);

        if (load_file(&f, CONFIG_MASTER, refused[i], NULL) != DET_UNSUPPORTED)
            fail_msg("%s: %s", refused[i], f.err.text);
        CHECK_EQ(f.report.errors, 1);
    }
}

TEST(pools_have_different_names_and_the_default_exists)
{
    FIXTURE(f);

    CHECK_EQ(load_file(&f, CONFIG_MASTER,
                       "resource_pools:\n"
                       "- {pool_name: a}\n"
                       "- {pool_name: a}\n",
                       NULL),
             DET_INVALID);
    CHECK_STR(
        f.err.text,
        "c.yaml:3:3: resource_pools: there are two pools named 'a'\n"
        "c.yaml: resource_manager.default_aux_resource_pool: no resource pool "
        "'default'\n"
        "c.yaml: resource_manager.default_compute_resource_pool: no resource pool "
        "'default'");
}

TEST(the_share_of_an_address_is_a_part_of_the_limit_if_none_is_set)
{
    FIXTURE(f);

    CHECK_OK(load_file(&f, CONFIG_MASTER, "connections: {max: 100}\n", NULL));

    CHECK_STR(at(&f, "connections.max_per_address"), "null");
}

TEST(times_of_the_master_are_bounded)
{
    FIXTURE(f);

    CHECK_EQ(load_file(&f, CONFIG_MASTER,
                       "connections: {head_timeout: 25h}\n"
                       "log: {slow_request_ms: 86400001}\n",
                       NULL),
             DET_INVALID);

    CHECK_HAS(f.err.text, "connections.head_timeout: found '25h'");
    CHECK_HAS(f.err.text, "log.slow_request_ms: found 86400001");
}

TEST(a_misspelt_key_of_the_master_is_found)
{
    FIXTURE(f);

    CHECK_EQ(load_file(&f, CONFIG_MASTER, "prot: 8080\nlog: {levl: info}\n", NULL),
             DET_INVALID);
    CHECK_STR(f.err.text, "c.yaml:1:7: prot: unknown key; did you mean 'port'?\n"
                          "c.yaml:2:13: log.levl: unknown key; did you mean 'level'?");
}

TEST(flags_and_variables_win_over_the_file)
{
    FIXTURE(f);
    struct json *overrides = json_new(&f.mem, JSON_OBJECT);
    struct json *log =
        json_set(&f.mem, overrides, "log", json_new(&f.mem, JSON_OBJECT));

    json_set(&f.mem, overrides, "port", json_new_str(&f.mem, "9001"));
    json_set(&f.mem, overrides, "launch_error", json_new_str(&f.mem, "false"));
    json_set(&f.mem, overrides, "cluster_name", json_new_str(&f.mem, "77"));
    json_set(&f.mem, overrides, "feature_switches", json_new_str(&f.mem, "[a, b]"));
    json_set(&f.mem, log, "color", json_new_str(&f.mem, "no"));
    CHECK_OK(load_file(&f, CONFIG_MASTER, "port: 1\nlog: {level: debug}\n", overrides));

    CHECK_STR(at(&f, "port"), "9001");
    CHECK_STR(at(&f, "launch_error"), "false");
    CHECK_STR(at(&f, "cluster_name"), "\"77\"");
    CHECK_STR(at(&f, "feature_switches"), "[\"a\",\"b\"]");
    CHECK_STR(at(&f, "log.level"), "\"debug\"");
    CHECK_STR(at(&f, "log.color"), "false");

    json_set(&f.mem, overrides, "port", json_new_str(&f.mem, "many"));
    CHECK_EQ(load_file(&f, CONFIG_MASTER, NULL, overrides), DET_INVALID);
    CHECK_STR(f.err.text,
              "c.yaml: port: found 'many'; expected a whole number from 0 to "
              "65535");
}

TEST(an_agent_needs_its_master)
{
    FIXTURE(f);

    CHECK_EQ(load_file(&f, CONFIG_AGENT, "slot_type: tpu\n", NULL), DET_INVALID);
    CHECK_STR(f.err.text,
              "c.yaml:1:1: master_host: missing; expected a string that is not empty\n"
              "c.yaml:1:12: slot_type: found 'tpu'; expected one of auto, cuda, gpu, "
              "cpu, none");

    CHECK_OK(
        load_file(&f, CONFIG_AGENT, "master_host: m\nartificial_slots: 4\n", NULL));
    CHECK_STR(at(&f, "master_host"), "\"m\"");
    CHECK_STR(at(&f, "master_port"), "8080");
    CHECK_STR(at(&f, "artificial_slots"), "4");
    CHECK_STR(at(&f, "slot_type"), "\"auto\"");
    CHECK_STR(at(&f, "agent_reconnect_backoff"), "5");
}

TEST(what_an_agent_cannot_do_yet_is_refused)
{
    FIXTURE(f);

    CHECK_EQ(load_file(&f, CONFIG_AGENT,
                       "master_host: m\nsecurity: {tls: {client_cert: f}}\n", NULL),
             DET_UNSUPPORTED);
    CHECK_OK(load_file(&f, CONFIG_AGENT,
                       "master_host: m\nsecurity: {tls: {enabled: true}}\n", NULL));
}

TEST(a_job_needs_a_command)
{
    FIXTURE(f);

    CHECK_EQ(load_file(&f, CONFIG_JOB, "resources: {slots: 1}\n", NULL), DET_INVALID);
    CHECK_HAS(f.err.text, "entrypoint: missing");
    CHECK_EQ(load_file(&f, CONFIG_JOB, "", NULL), DET_INVALID);
}

TEST(files_out_of_memory_leave_the_result_alone)
{
    static const char yaml[] =
        "port: 1\n"
        "resource_pools:\n"
        "- {pool_name: default, scheduler: {type: round_robin}}\n"
        "checkpoint_storage: {type: directory, "
        "container_path: /a}\n";

    EACH_ALLOCATION_FAILS() {
        FIXTURE(f);
        det_status st = load_file(&f, CONFIG_MASTER, yaml, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK((f.tree == NULL) == (st != DET_OK));
    }
}
