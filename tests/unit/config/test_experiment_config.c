/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/config/fixture.h"

static const char golden_input[] = "name: x\n"
                                   "entrypoint: python3 a.py\n"
                                   "checkpoint_storage:\n"
                                   "  type: shared_fs\n"
                                   "  host_path: /tmp/ck\n"
                                   "reproducibility: {experiment_seed: 42}\n"
                                   "hyperparameters:\n"
                                   "  lr: 0.1\n"
                                   "  n2:\n"
                                   "    m: {type: int, minval: 1, maxval: 3}\n"
                                   "searcher: {name: single, metric: loss}\n";

/* What the reference makes of it. */
static const char golden_output[] =
    "{\"bind_mounts\":[],\"checkpoint_policy\":\"best\",\"checkpoint_storage\":{"
    "\"host_path\":\"/tmp/ck\",\"propagation\":\"rprivate\",\"save_experiment_best\":0,"
    "\"save_trial_best\":1,\"save_trial_latest\":1,\"storage_path\":null,\"type\":"
    "\"shared_fs\"},\"data\":{},\"integrations\":null,\"debug\":false,\"description\":"
    "null,\"entrypoint\":\"python3 a.py\",\"environment\":{\"image\":{\"cpu\":"
    "\"determinedai/pytorch-ngc-dev:0736b6d\",\"cuda\":"
    "\"determinedai/pytorch-ngc-dev:0736b6d\",\"rocm\":\"determinedai/"
    "environments:rocm-5.6-pytorch-1.3-tf-2.10-rocm-mpich-0736b6d\"},"
    "\"environment_variables\":{\"cpu\":[],\"cuda\":[],\"rocm\":[]},\"proxy_ports\":[],"
    "\"ports\":{},\"registry_auth\":null,\"force_pull_image\":false,\"pod_spec\":null,"
    "\"add_capabilities\":[],\"drop_capabilities\":[]},\"hyperparameters\":{\"lr\":{"
    "\"type\":\"const\",\"val\":0.1},\"n2\":{\"m\":{\"maxval\":3,\"minval\":1,\"type\":"
    "\"int\"}}},\"labels\":[],\"log_policies\":[{\"name\":\"CUDA OOM\",\"pattern\":"
    "\".*CUDA out of memory.*\"},{\"name\":\"ECC Error\",\"pattern\":"
    "\".*uncorrectable ECC error encountered.*\"}],\"max_restarts\":5,"
    "\"min_checkpoint_period\":{\"batches\":0},\"min_validation_period\":{\"batches\":"
    "0},\"name\":\"x\",\"optimizations\":{\"aggregation_frequency\":1,"
    "\"average_aggregated_gradients\":true,\"average_training_metrics\":true,"
    "\"gradient_compression\":false,\"grad_updates_size_file\":null,"
    "\"mixed_precision\":\"O0\",\"tensor_fusion_threshold\":64,"
    "\"tensor_fusion_cycle_time\":1,\"auto_tune_tensor_fusion\":false},"
    "\"perform_initial_validation\":false,\"profiling\":{\"enabled\":false,"
    "\"begin_on_batch\":0,\"end_after_batch\":null,\"sync_timings\":true},\"project\":"
    "\"\",\"records_per_epoch\":0,\"reproducibility\":{\"experiment_seed\":42},"
    "\"resources\":{\"max_slots\":null,\"slots_per_trial\":1,\"weight\":1,"
    "\"native_parallel\":false,\"shm_size\":null,\"resource_pool\":\"\",\"priority\":"
    "null,\"is_single_node\":null,\"devices\":[]},\"scheduling_unit\":100,\"searcher\":"
    "{"
    "\"metric\":\"loss\",\"name\":\"single\",\"smaller_is_better\":true,"
    "\"source_checkpoint_uuid\":null,\"source_trial_id\":null},\"workspace\":\"\","
    "\"slurm\":{},\"pbs\":{},\"preemption_timeout\":null}";

TEST(a_complete_configuration_is_that_of_the_reference)
{
    FIXTURE(f);

    CHECK_LOADS(&f, golden_input);

    CHECK_STR(f.config.json, golden_output);
    CHECK_EQ(f.report.notices, 0);
}

TEST(the_struct_holds_what_the_platform_uses)
{
    FIXTURE(f);

    CHECK_LOADS(&f, "name: mine\n"
                    "description: d\n"
                    "labels: [a, b, a]\n"
                    "max_restarts: 2\n"
                    "project: p\n"
                    "workspace: w\n"
                    "preemption_timeout: 30\n"
                    "retention_policy: {log_retention_days: 7}\n"
                    "environment: {environment_variables: [A=1, B]}\n"
                    "resources:\n"
                    "  slots_per_trial: 4\n"
                    "  priority: 3\n"
                    "  weight: 2.5\n"
                    "  max_slots: 8\n"
                    "  is_single_node: true\n"
                    "  resource_pool: gpus\n"
                    "  shm_size: 4GiB\n"
                    "checkpoint_storage: {save_trial_best: 5}\n"
                    "searcher:\n"
                    "  name: random\n"
                    "  max_trials: 3\n"
                    "  metric: acc\n"
                    "  smaller_is_better: false\n"
                    "  source_trial_id: 9\n"
                    "  source_checkpoint_uuid: abc\n");

    CHECK_STR(f.config.name, "mine");
    CHECK_STR(f.config.description, "d");
    CHECK_STR(at(&f, "labels"), "[\"a\",\"b\"]");
    CHECK_EQ(f.config.max_restarts, 2);
    CHECK_STR(f.config.project, "p");
    CHECK_STR(f.config.workspace, "w");
    CHECK_EQ(f.config.preemption_timeout_s, 30);
    CHECK_EQ(f.config.log_retention_days, 7);
    CHECK_STR(json_text(&f.mem, f.config.environment_variables), "[\"A=1\",\"B\"]");
    CHECK_EQ(f.config.slots_per_trial, 4);
    CHECK_EQ(f.config.priority, 3);
    CHECK(f.config.weight == 2.5);
    CHECK_EQ(f.config.max_slots, 8);
    CHECK(f.config.is_single_node);
    CHECK_STR(f.config.resource_pool, "gpus");
    CHECK_STR(at(&f, "resources.shm_size"), "4294967296");
    CHECK_EQ(f.config.save_trial_best, 5);
    CHECK_EQ(f.config.save_trial_latest, 1);
    CHECK_STR(at(&f, "checkpoint_storage.host_path"), "\"/tmp/ck\"");
    CHECK_STR(f.config.searcher_name, "random");
    CHECK_STR(f.config.metric, "acc");
    CHECK(!f.config.smaller_is_better);
    CHECK_EQ(f.config.source_trial_id, 9);
    CHECK_STR(f.config.source_checkpoint_uuid, "abc");
    CHECK_STR(at(&f, "searcher.max_concurrent_trials"), "16");
}

TEST(what_is_not_given_has_its_own_value)
{
    FIXTURE(f);

    CHECK_LOADS(&f, "searcher: {name: single}");

    CHECK_STR(f.config.name, "none");
    CHECK_NULL(f.config.description);
    CHECK_NULL(f.config.entrypoint);
    CHECK_NULL(f.config.metric);
    CHECK_STR(at(&f, "searcher.metric"), "null");
    CHECK_STR(at(&f, "searcher.max_length"), "(absent)");
    CHECK_STR(at(&f, "retention_policy"), "(absent)");
    CHECK_EQ(f.config.seed, 42);
    CHECK_EQ(f.config.priority, 0);
    CHECK_EQ(f.config.max_slots, -1);
    CHECK_EQ(f.config.preemption_timeout_s, -1);
    CHECK_EQ(f.config.log_retention_days, -2);
    CHECK_EQ(f.config.source_trial_id, 0);
    CHECK_NULL(f.config.source_checkpoint_uuid);
}

TEST(null_means_not_set_for_every_key)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "name: ~\nresources: ~\nmax_restarts: null\ninternal: null\n"
                           "entrypoint: null\nhyperparameters: null\nlabels:\n"
                           "checkpoint_storage: null\nversion: 0\n");

    CHECK_STR(f.config.name, "none");
    CHECK_EQ(f.config.max_restarts, 5);
    CHECK_EQ(f.config.slots_per_trial, 1);
    CHECK_STR(at(&f, "version"), "(absent)");
}

TEST(an_entrypoint_may_be_a_list_but_not_empty)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "entrypoint: [python3, a.py]\n");
    CHECK_STR(json_text(&f.mem, f.config.entrypoint), "[\"python3\",\"a.py\"]");

    CHECK_REFUSES(&f, SINGLE "entrypoint: []\n", DET_INVALID,
                  "c.yaml:2:13: entrypoint: found an empty list; expected a string or "
                  "a list that "
                  "is not empty");
}

TEST(images_and_variables_may_be_given_for_all_devices_at_once)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "environment:\n"
                           "  image: me/mine:1\n"
                           "  environment_variables: {cuda: [C=1]}\n"
                           "  ports: {b: 2, a: 1}\n");

    CHECK_STR(at(&f, "environment.image"),
              "{\"cpu\":\"me/mine:1\",\"cuda\":\"me/mine:1\",\"rocm\":\"me/mine:1\"}");
    CHECK_STR(at(&f, "environment.environment_variables"),
              "{\"cpu\":[],\"cuda\":[\"C=1\"],\"rocm\":[]}");
    CHECK_STR(at(&f, "environment.ports"), "{\"a\":1,\"b\":2}");
    CHECK_HAS(lines(&f), "c.yaml:3:10: environment.image: is kept, but tasks run "
                         "directly on the host");
}

TEST(log_policies_keep_the_built_in_ones_unless_named)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "log_policies:\n"
                           "- {name: CUDA OOM, pattern: mine, action: cancel_retries}\n"
                           "- {name: ECC Error}\n"
                           "- {pattern: bad, action: {type: exclude_node}}\n");

    CHECK_STR(json_text(&f.mem, f.config.log_policies),
              "[{\"name\":\"CUDA OOM\",\"pattern\":\"mine\",\"action\":"
              "\"cancel_retries\"},{\"pattern\":\"bad\",\"action\":\"exclude_node\"}]");
}

TEST(log_policies_of_one_name_are_refused)
{
    FIXTURE(f);

    CHECK_REFUSES(&f,
                  SINGLE "log_policies:\n"
                         "- {name: a, pattern: x}\n"
                         "- {name: a, pattern: w}\n"
                         "- {pattern: z}\n",
                  DET_INVALID,
                  "c.yaml:4:3: log_policies: log_policies have duplicated names: 'a'\n"
                  "c.yaml:5:3: log_policies: expected a name, or both pattern and "
                  "action");
}

/* Comparing each with each would take minutes. */
TEST(many_labels_and_policies_are_refused_at_once)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    FIXTURE(f);

    f.mem.limit = (size_t)256 << 20;
    buf_puts(&text, SINGLE "labels: [");
    for (int i = 0; i < 100000; i++)
        buf_printf(&text, "l%d, ", i);
    buf_puts(&text, "l]\nlog_policies: [");
    for (int i = 0; i < 100000; i++)
        buf_printf(&text, "{name: p%d}, ", i);
    buf_puts(&text, "{name: p}]\n");
    CHECK_REFUSES(&f, text.data, DET_INVALID,
                  "c.yaml:2:9: labels: there are 100001 labels; expected 256 at most\n"
                  "c.yaml:3:15: log_policies: there are 100001; expected 30 at most");
}

TEST(what_would_need_containers_is_refused_as_not_built_yet)
{
    static const char *const refused[] = {
        "resources: {devices: ['/dev/a:/dev/b']}",
        "environment: {proxy_ports: [{proxy_port: 80}]}",
        "environment: {pod_spec: {a: 1}}",
        "integrations: {webhooks: {webhook_id: [1]}}",
        "searcher: {name: custom, metric: m, anything: [1]}",
        "searcher: {name: adaptive_asha, metric: m, max_trials: 1, max_length: 5}",
        "checkpoint_storage: {type: s3, bucket: b}",
        "checkpoint_storage: {type: gcs, bucket: b}",
        "checkpoint_storage: {type: azure, container: c, account_url: u}",
    };

    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        FIXTURE(f);
        char *yaml = arena_printf(&f.mem, "%s\n%s\n",
                                  refused[i][0] == 's' ? "" : SINGLE, refused[i]);

        if (load(&f, yaml) != DET_UNSUPPORTED)
            fail_msg("%s: %s", refused[i], f.err.text);
        CHECK_EQ(f.report.errors, 1);
        CHECK_EQ(f.report.unsupported, 1);
        CHECK_NULL(strchr(f.err.text, '\n'));
    }
}

TEST(what_asks_for_nothing_is_not_refused)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "bind_mounts: [{host_path: /a, container_path: b}]\n"
                           "resources: {devices: [], native_parallel: false}\n"
                           "environment: {proxy_ports: [], pod_spec: {}}\n"
                           "integrations: {}\n"
                           "slurm: {}\n");
    CHECK_EQ(f.report.notices, 0);
}

TEST(what_has_no_effect_is_said)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "data_layer: {type: x}\n"
                           "slurm: {slots_per_node: 2}\n"
                           "resources: {agent_label: a}\n");

    CHECK_STR(lines(&f), "c.yaml:2:13: data_layer: accepted, but has no effect: the "
                         "training code reads its data itself\n"
                         "c.yaml:3:8: slurm: accepted, but has no effect: Slurm is not "
                         "built yet\n"
                         "c.yaml:4:26: resources.agent_label: accepted, but has no "
                         "effect: write resource_pool instead\n");
    CHECK_STR(at(&f, "data_layer"), "(absent)");
}

TEST(variables_for_amd_gpus_have_no_effect_yet)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "environment: {environment_variables: [A=1]}\n");
    CHECK_EQ(f.report.notices, 0);
    CHECK_LOADS(&f, SINGLE
                "environment: {environment_variables: {cuda: [A=1], rocm: [B=1]}}\n");
    CHECK_STR(lines(&f), "c.yaml:2:58: environment.environment_variables.rocm: "
                         "accepted, but has no effect: AMD GPUs are not built yet\n");
}

TEST(a_default_that_is_written_out_is_not_worth_a_notice)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "optimizations: {mixed_precision: O0, "
                           "tensor_fusion_threshold: 64}\n"
                           "resources: {weight: 1}\n");
    CHECK_EQ(f.report.notices, 0);
    CHECK_LOADS(&f, SINGLE "optimizations: {mixed_precision: O1}\n");
    CHECK_EQ(f.report.notices, 1);
}

TEST(one_real_error_makes_the_whole_invalid)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, "searcher: {name: custom, metric: m}\nmax_restarts: -1\n"),
             DET_INVALID);
    CHECK_EQ(f.report.errors, 2);
    CHECK_EQ(f.report.unsupported, 1);
}

TEST(storage_paths_stay_below_the_host_path)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "checkpoint_storage: {type: shared_fs, host_path: /a/, "
                           "storage_path: /a/b}\n");
    CHECK_STR(f.config.storage_directory, "/a/b");
    CHECK_LOADS(&f, SINGLE "checkpoint_storage: {type: shared_fs, host_path: /a, "
                           "storage_path: b}\n");
    CHECK_STR(f.config.storage_directory, "/a/b");
    CHECK_EQ(f.config.storage_kind, STORAGE_SHARED_FS);
    CHECK_LOADS(&f, SINGLE "checkpoint_storage: {type: directory, "
                           "container_path: /ck}\n");
    CHECK_STR(f.config.storage_directory, "/ck");
    CHECK_EQ(f.config.storage_kind, STORAGE_DIRECTORY);
    CHECK_STR(at(&f, "checkpoint_storage"),
              "{\"container_path\":\"/ck\",\"save_experiment_best\":0,"
              "\"save_trial_best\":1,\"save_trial_latest\":1,\"type\":\"directory\"}");

    CHECK_REFUSES(&f,
                  SINGLE "checkpoint_storage: {type: shared_fs, host_path: /a, "
                         "storage_path: ../b}\n",
                  DET_INVALID,
                  "c.yaml:2:68: checkpoint_storage.storage_path: found '../b'; "
                  "expected a directory below host_path '/a'");
    CHECK_EQ(load(&f, SINGLE "checkpoint_storage: {type: shared_fs, host_path: /a, "
                             "storage_path: /ab}\n"),
             DET_INVALID);
    CHECK_EQ(load(&f, SINGLE "checkpoint_storage: {type: shared_fs, host_path: /a, "
                             "storage_path: /a/../b}\n"),
             DET_INVALID);
}

TEST(azure_needs_one_way_in)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, SINGLE "checkpoint_storage: {type: azure, container: c}\n"),
             DET_INVALID);
    CHECK_HAS(f.err.text, "expected exactly one of connection_string and account_url");
    CHECK_EQ(load(&f, SINGLE "checkpoint_storage: {type: azure, container: c, "
                             "connection_string: s, credential: t}\n"),
             DET_INVALID);
    CHECK_HAS(f.err.text, "goes with account_url");
}

TEST(a_bucket_prefix_has_no_dots)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, SINGLE "checkpoint_storage: {type: s3, bucket: b, "
                             "prefix: /a/../b}\n"),
             DET_INVALID);
    CHECK_HAS(f.err.text, "expected a path without '..'");
}

TEST(profiling_ends_after_it_begins)
{
    FIXTURE(f);

    CHECK_REFUSES(&f, SINGLE "profiling: {begin_on_batch: 5, end_after_batch: 4}\n",
                  DET_INVALID,
                  "c.yaml:2:49: profiling.end_after_batch: found 4; expected at least "
                  "begin_on_batch, 5");
}

TEST(kept_files_are_in_the_working_directory)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "keep: ['*.pt', /out/**, a.csv]\n");
    CHECK_STR(json_text(&f.mem, json_get(f.config.tree, "keep")),
              "[\"*.pt\",\"/out/**\",\"a.csv\"]");
    CHECK_REFUSES(
        &f, SINGLE "keep: [../*.pt]\n", DET_INVALID,
        "c.yaml:2:8: keep[]: found '../*.pt'; expected a pattern for files in "
        "the working directory, such as *.pt or out/**");
    CHECK_REFUSES(&f, SINGLE "keep: ['']\n", DET_INVALID,
                  "c.yaml:2:8: keep[]: found ''; expected a pattern for files in the "
                  "working directory, such as *.pt or out/**");
}

TEST(variables_have_names)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, SINGLE "environment: {environment_variables: {cpu: ['=a']}}\n"),
             DET_INVALID);
    CHECK_HAS(f.err.text, "found '=a'; expected NAME=value");
}

TEST(a_value_that_counts_at_several_places_is_refused_once)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, SINGLE "environment: {environment_variables: ['=a', '=a']}\n"),
             DET_INVALID);
    CHECK_EQ(f.report.errors, 2);
    CHECK_EQ(f.report.count, 2);
}

TEST(a_stored_configuration_opens_as_it_was)
{
    FIXTURE(f);
    FIXTURE(g);

    CHECK_LOADS(&f, golden_input);
    CHECK_OK(experiment_config_open(f.config.json, strlen(f.config.json), &g.mem,
                                    &g.config, &test_err));

    CHECK_STR(g.config.json, golden_output);
    CHECK_STR(g.config.name, "x");
    CHECK_STR(g.config.searcher_name, "single");
    CHECK_EQ(g.config.seed, 42);
    CHECK(json_equal(f.config.tree, g.config.tree));
}

TEST(a_damaged_stored_configuration_is_not_opened)
{
    FIXTURE(f);

    CHECK_EQ(experiment_config_open("{}", 2, &f.mem, &f.config, &f.err), DET_CORRUPT);
    CHECK_EQ(experiment_config_open("[1", 2, &f.mem, &f.config, &f.err), DET_INVALID);
}

TEST(loading_a_complete_configuration_changes_nothing)
{
    FIXTURE(f);
    FIXTURE(g);

    CHECK_LOADS(&f, golden_input);
    CHECK_LOADS(&g, f.config.json);

    CHECK_STR(g.config.json, golden_output);
}

TEST(out_of_memory_leaves_the_result_alone)
{
    static const char yaml[] =
        "entrypoint_script: a\n"
        "labels: [a, b]\n"
        "environment: {image: x, environment_variables: [A=1]}\n"
        "resources: {shm_size: 1GiB, devices: []}\n"
        "log_policies: [{pattern: a, action: {type: exclude_node}}]\n"
        "hyperparameters: {a: {b: {type: log, base: 10, minval: 1, maxval: 2}}, c: 1}\n"
        "data: {b: 1, a: [1, 2]}\n"
        "min_validation_period: 10\n"
        "searcher: {name: single, max_steps: 3}\n";

    EACH_ALLOCATION_FAILS() {
        FIXTURE(f);
        struct json *shared = json_new(&f.mem, JSON_OBJECT);

        f.defaults.template_config = shared;
        f.config.seed = 99;
        f.mem.has_failed = false;
        det_status st = load(&f, yaml);

        CHECK_EQ(st, fault_fired() && st ? DET_NOMEM : DET_OK);
        if (st)
            CHECK_EQ(f.config.seed, 99);
    }
}

TEST(out_of_memory_while_complaining_is_still_out_of_memory)
{
    EACH_ALLOCATION_FAILS() {
        FIXTURE(f);
        det_status st = load(&f, "serchers: 1\nmax_restarts: many\n"
                                 "hyperparameters: {a: {type: none}}\n");

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_INVALID);
    }
}
