/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/config/fixture.h"

#include "config/merge.h"
#include "data/yaml/yaml.h"

static struct json *parse(struct fixture *f, const char *yaml)
{
    struct json *tree = NULL;

    CHECK_OK(yaml_parse(yaml, strlen(yaml), NULL, &f->mem, &tree, &test_err));
    return tree;
}

static const char *merged(struct fixture *f, const char *over, const char *base)
{
    return json_text(&f->mem, config_merge(&f->mem, parse(f, over), parse(f, base)));
}

TEST(maps_merge_and_the_rest_is_replaced)
{
    FIXTURE(f);

    CHECK_STR(
        merged(&f, "{a: {b: 1, l: [1]}, s: x}", "{a: {b: 2, c: 3, l: [2, 3]}, t: z}"),
        "{\"a\":{\"b\":1,\"l\":[1],\"c\":3},\"s\":\"x\",\"t\":\"z\"}");
    CHECK_STR(merged(&f, "{a: [1]}", "{a: {b: 2}}"), "{\"a\":[1]}");
}

TEST(null_lets_what_is_below_shine_through)
{
    FIXTURE(f);

    CHECK_STR(merged(&f, "{a: ~, b: ~}", "{a: 1}"), "{\"a\":1,\"b\":null}");
    CHECK_STR(merged(&f, "{a: 1}", "{a: ~}"), "{\"a\":1}");
}

TEST(maps_of_another_kind_do_not_mix)
{
    FIXTURE(f);

    CHECK_STR(merged(&f, "{searcher: {name: single}}",
                     "{searcher: {name: random, max_trials: 3}}"),
              "{\"searcher\":{\"name\":\"single\"}}");
    CHECK_STR(merged(&f, "{searcher: {name: random, metric: m}}",
                     "{searcher: {name: random, max_trials: 3}}"),
              "{\"searcher\":{\"name\":\"random\",\"metric\":\"m\",\"max_trials\":3}}");
    CHECK_STR(merged(&f, "{searcher: {metric: m}}", "{searcher: {name: random}}"),
              "{\"searcher\":{\"metric\":\"m\",\"name\":\"random\"}}");
    CHECK_STR(merged(&f, "{checkpoint_storage: {type: directory}}",
                     "{checkpoint_storage: {type: shared_fs, host_path: /a}}"),
              "{\"checkpoint_storage\":{\"type\":\"directory\"}}");
}

TEST(hyperparameters_of_another_kind_do_not_mix)
{
    FIXTURE(f);

    CHECK_STR(merged(&f,
                     "{hyperparameters: {a: {b: {type: int, minval: 1}}, c: {d: 1}}}",
                     "{hyperparameters: {a: {b: {type: log, base: 2}, e: 2}, "
                     "c: {type: const, val: 1}}}"),
              "{\"hyperparameters\":{\"a\":{\"b\":{\"type\":\"int\",\"minval\":1},"
              "\"e\":2},\"c\":{\"d\":1}}}");
}

TEST(some_lists_take_what_is_new_to_them)
{
    FIXTURE(f);

    CHECK_STR(merged(&f, "{bind_mounts: [{container_path: a, host_path: /x}]}",
                     "{bind_mounts: [{container_path: a}, {container_path: b}]}"),
              "{\"bind_mounts\":[{\"container_path\":\"a\",\"host_path\":\"/x\"},"
              "{\"container_path\":\"b\"}]}");
    CHECK_STR(merged(&f, "{resources: {devices: [{container_path: a}]}}",
                     "{resources: {devices: [{container_path: b}]}}"),
              "{\"resources\":{\"devices\":[{\"container_path\":\"a\"},"
              "{\"container_path\":\"b\"}]}}");
    CHECK_STR(merged(&f, "{environment: {proxy_ports: [{proxy_port: 1}]}}",
                     "{environment: {proxy_ports: [{proxy_port: 1, x: 2}]}}"),
              "{\"environment\":{\"proxy_ports\":[{\"proxy_port\":1}]}}");
    CHECK_STR(merged(&f, "{log_policies: [{name: a}, {pattern: p}]}",
                     "{log_policies: [{name: a, pattern: x}, {pattern: q}]}"),
              "{\"log_policies\":[{\"name\":\"a\"},{\"pattern\":\"p\"},"
              "{\"pattern\":\"q\"}]}");
    CHECK_STR(merged(&f, "{labels: [a, b]}", "{labels: [b, c]}"),
              "{\"labels\":[\"a\",\"b\",\"c\"]}");
}

TEST(variables_come_behind_those_they_override)
{
    FIXTURE(f);

    CHECK_STR(
        merged(&f, "{environment: {environment_variables: {cpu: [A=2]}}}",
               "{environment: {environment_variables: {cpu: [A=1], cuda: [B=1]}}}"),
        "{\"environment\":{\"environment_variables\":{\"cpu\":[\"A=1\",\"A=2\"],"
        "\"cuda\":[\"B=1\"]}}}");
}

TEST(the_file_wins_over_template_and_master)
{
    FIXTURE(f);

    f.defaults.template_config =
        parse(&f, "searcher: {name: random, max_trials: 3, max_steps: 2}\n"
                  "max_restarts: 1\n"
                  "environment: {environment_variables: [T=1]}\n"
                  "resources: {slots_per_trial: 4}\n");
    f.defaults.task_container_defaults =
        parse(&f, "environment_variables: {cpu: [M=1]}\n"
                  "image: {cpu: theirs}\n"
                  "log_policies: [{name: mine, pattern: p}]\n");
    f.defaults.checkpoint_storage =
        parse(&f, "{type: shared_fs, host_path: /m, save_trial_best: 7}");
    CHECK_LOADS(&f, "searcher: {metric: m}\n"
                    "max_restarts: 2\n"
                    "environment: {environment_variables: [U=1]}\n"
                    "checkpoint_storage: {save_trial_latest: 3}\n");

    CHECK_EQ(f.config.max_restarts, 2);
    CHECK_EQ(f.config.slots_per_trial, 4);
    CHECK_STR(at(&f, "searcher.max_trials"), "3");
    CHECK_STR(at(&f, "searcher.max_length"), "{\"batches\":200}");
    CHECK_STR(at(&f, "environment.environment_variables.cpu"),
              "[\"M=1\",\"T=1\",\"U=1\"]");
    CHECK_STR(at(&f, "environment.image.cpu"), "\"theirs\"");
    CHECK_HAS(at(&f, "log_policies"), "{\"name\":\"mine\",\"pattern\":\"p\"}");
    CHECK_STR(at(&f, "checkpoint_storage.host_path"), "\"/m\"");
    CHECK_EQ(f.config.save_trial_best, 7);
    CHECK_EQ(f.config.save_trial_latest, 3);
    CHECK_NULL(strstr(lines(&f), "environment.image"));
}

TEST(what_is_wrong_below_has_no_place_in_the_file)
{
    FIXTURE(f);

    f.defaults.template_config = parse(&f, "\n\nmax_restarts: many\n");
    CHECK_REFUSES(&f, SINGLE, DET_INVALID,
                  "c.yaml: max_restarts: found 'many'; expected a whole number from 0 "
                  "to 2147483647");
}

TEST(merging_keeps_nothing_of_its_inputs)
{
    FIXTURE(f);
    struct json *merged_tree;

    {
        FIXTURE(g);

        merged_tree = config_merge(&f.mem, parse(&g, "{a: {b: 1}, labels: [x]}"),
                                   parse(&g, "{a: {c: 2}, labels: [z]}"));
    }
    CHECK_STR(json_text(&f.mem, merged_tree),
              "{\"a\":{\"b\":1,\"c\":2},\"labels\":[\"x\",\"z\"]}");
}

TEST(merging_out_of_memory_gives_nothing)
{
    FIXTURE(g);
    struct json *over = parse(&g, "{a: {b: 1}, labels: [x], searcher: {name: s}}");
    struct json *base =
        parse(&g, "{a: {c: 2}, labels: [y], searcher: {name: s, z: 1}}");

    EACH_ALLOCATION_FAILS() {
        FIXTURE(f);
        struct json *tree = config_merge(&f.mem, over, base);

        CHECK((tree == NULL) == fault_fired());
    }
}
