/* SPDX-License-Identifier: Apache-2.0 */
#include "config/mask.h"
#include "data/yaml/yaml.h"
#include "tests/unit/config/fixture.h"

TEST(everything_that_is_wrong_is_reported_at_once)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, "name: 2024\n"
                      "max_restart: 3\n"
                      "max_restarts: many\n"
                      "resources:\n"
                      "  slots_per_trial: -1\n"
                      "  priority: 100\n"
                      "checkpoint_policy: sometimes\n"
                      "hyperparameters:\n"
                      "  lr: {type: double, minval: 1}\n"
                      "labels: [a, 3]\n"
                      "searcher:\n"
                      "  name: random\n"),
             DET_INVALID);

    CHECK_STR(
        f.err.text,
        "c.yaml:1:7: name: found 2024; expected a string (put it in quotes)\n"
        "c.yaml:2:14: max_restart: unknown key; did you mean 'max_restarts'?\n"
        "c.yaml:3:15: max_restarts: found 'many'; expected a whole number from 0 to "
        "2147483647\n"
        "c.yaml:5:20: resources.slots_per_trial: found -1; expected a whole number "
        "from "
        "0 to 2147483647\n"
        "c.yaml:6:13: resources.priority: found 100; expected a whole number from 1 to "
        "99\n"
        "c.yaml:7:20: checkpoint_policy: found 'sometimes'; expected one of best, all, "
        "none\n"
        "c.yaml:9:7: hyperparameters.lr.maxval: missing; expected a number\n"
        "c.yaml:10:13: labels[1]: found 3; expected a string (put it in quotes)\n"
        "c.yaml:11:1: searcher.max_trials: missing; expected a whole number from 1 to "
        "2147483647");
    CHECK_EQ(f.report.errors, 9);
}

TEST(yaml_that_does_not_parse_is_reported_with_its_place)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, "name: x\nlabels: [a\n"), DET_INVALID);

    CHECK_EQ(f.report.errors, 1);
    CHECK(f.report.first->line >= 2);
    CHECK_HAS(f.err.text, "c.yaml:");
}

TEST(a_file_must_be_a_map)
{
    FIXTURE(f);

    CHECK_REFUSES(&f, "- a\n- b\n", DET_INVALID,
                  "c.yaml:1:1: found a list; expected a map of keys");
    CHECK_EQ(load(&f, ""), DET_INVALID);
    CHECK_HAS(f.err.text, "found null; expected a map of keys");
}

TEST(what_must_be_there_is_missed)
{
    FIXTURE(f);
    struct experiment_defaults none = {0};

    f.defaults = none;
    CHECK_REFUSES(&f, "debug: true\n", DET_INVALID,
                  "c.yaml:1:1: checkpoint_storage: missing; expected a map\n"
                  "c.yaml:1:1: name: missing; expected a string\n"
                  "c.yaml:1:1: searcher: missing; expected a map");
}

TEST(a_key_of_another_kind_says_where_it_belongs)
{
    FIXTURE(f);

    CHECK_REFUSES(&f, "searcher: {name: single, max_trials: 3}\n", DET_INVALID,
                  "c.yaml:1:38: searcher.max_trials: does not belong to kind 'single'; "
                  "it is a key of: random adaptive_asha async_halving");
    CHECK_REFUSES(&f, "searcher: {name: single, max_trails: 3}\n", DET_INVALID,
                  "c.yaml:1:38: searcher.max_trails: unknown key");
}

TEST(a_key_at_the_wrong_level_says_where_it_belongs)
{
    FIXTURE(f);

    CHECK_REFUSES(&f, SINGLE "slots_per_trial: 2\n", DET_INVALID,
                  "c.yaml:2:18: slots_per_trial: unknown key; did you mean "
                  "'resources.slots_per_trial'?");
    CHECK_REFUSES(&f, SINGLE "resources: {slots: 2}\n", DET_INVALID,
                  "c.yaml:2:20: resources.slots: is for jobs; an experiment says "
                  "slots_per_trial");
    CHECK_REFUSES(&f, SINGLE "internal: x\n", DET_INVALID,
                  "c.yaml:2:11: internal: is not for experiments that train; leave it "
                  "out");
}

TEST(an_unknown_word_is_one_error_not_many)
{
    FIXTURE(f);

    CHECK_REFUSES(&f, "searcher: {name: singel, max_trials: 3}\n", DET_INVALID,
                  "c.yaml:1:18: searcher.name: found 'singel'; expected one of single, "
                  "grid, random");
    CHECK_REFUSES(&f, SINGLE "checkpoint_storage: {type: hdfs, hdfs_url: u}\n",
                  DET_INVALID,
                  "c.yaml:2:28: checkpoint_storage.type: found 'hdfs'; expected one of "
                  "shared_fs, directory\n"
                  "c.yaml:2:44: checkpoint_storage.hdfs_url: unknown key");
}

TEST(requirements_are_a_file_of_the_folder_or_lines)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, SINGLE "environment: {requirements: a/r.txt, python: p3}\n"),
             DET_OK);
    CHECK_EQ(load(&f, SINGLE "environment: {requirements: [numpy, torch==2]}\n"),
             DET_OK);
    CHECK_REFUSES(
        &f, SINGLE "environment: {requirements: /etc/r.txt}\n", DET_INVALID,
        "c.yaml:2:29: environment.requirements: found '/etc/r.txt'; expected a "
        "file inside the folder with the code, such as requirements.txt");
    CHECK_REFUSES(&f, SINGLE "environment: {requirements: ../r.txt}\n", DET_INVALID,
                  "c.yaml:2:29: environment.requirements: found '../r.txt'; expected a "
                  "file inside the folder with the code, such as requirements.txt");
}

TEST(what_is_not_built_is_said_first)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, "nonsense: 1\nsearcher: {name: adaptive_asha}\n"), DET_INVALID);
    CHECK_EQ(
        strncmp(f.err.text, "c.yaml:2:18: searcher.name: 'adaptive_asha' is not", 50),
        0);
    CHECK_HAS(f.err.text, "searcher.max_trials: missing");
}

TEST(a_problem_with_a_block_is_found_at_its_key)
{
    FIXTURE(f);

    CHECK_REFUSES(&f,
                  SINGLE "nonsense:\n  # what follows\n\n  a: 1\n  b:\n  - 1\n  - 2\n",
                  DET_INVALID, "c.yaml:2:1: nonsense: unknown key");
    CHECK_REFUSES(&f, "name:\n- x\n" SINGLE, DET_INVALID,
                  "c.yaml:1:1: name: found a list; expected a string");
    CHECK_REFUSES(&f, SINGLE "nonsense: {a: 1}\n", DET_INVALID,
                  "c.yaml:2:11: nonsense: unknown key");
}

TEST(what_an_option_says_is_said_of_the_option)
{
    FIXTURE(f);
    const char *const options[] = {"--config a=1", "--config max_restarts=many"};
    struct json *tree = NULL, *value = json_new_str(&f.mem, "many");

    CHECK_OK(yaml_parse("debug: 3\n" SINGLE, strlen("debug: 3\n" SINGLE), NULL, &f.mem,
                        &tree, NULL));
    value->column = 2;
    json_set(&f.mem, tree, "max_restarts", value);
    f.report = (struct config_report)CONFIG_REPORT(&f.mem, "c.yaml");
    f.report.options = options;
    CHECK_EQ(experiment_config_load_tree(tree, &f.defaults, &f.mem, &f.report,
                                         &f.config, &f.err),
             DET_INVALID);
    CHECK_STR(
        f.err.text,
        "c.yaml:1:8: debug: found 3; expected true or false\n"
        "--config max_restarts=many: max_restarts: found 'many'; expected a whole "
        "number from 0 to 2147483647");
}

TEST(a_method_that_is_not_built_is_still_checked)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, "searcher: {name: adaptive_asha, metric: m, max_trials: 0, "
                      "mode: fast}\n"),
             DET_INVALID);
    CHECK_HAS(f.err.text, "searcher.max_trials: found 0; expected");
    CHECK_HAS(f.err.text, "searcher.mode: found 'fast'; expected one of aggressive");
    CHECK_HAS(f.err.text, "searcher.max_time: missing");
    CHECK_HAS(f.err.text, "searcher.time_metric: missing");

    CHECK_REFUSES(&f,
                  "searcher: {name: async_halving, metric: m, max_trials: 4, "
                  "num_rungs: 2, time_metric: batches, max_time: 10}\n",
                  DET_UNSUPPORTED,
                  "c.yaml:1:18: searcher.name: 'async_halving' is not built yet; "
                  "available: single, grid, random");
}

TEST(secrets_are_not_shown)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, SINGLE "checkpoint_storage: {type: s3, bucket: b, "
                             "secret_key: [hush]}\n"),
             DET_INVALID);
    CHECK_HAS(f.err.text, "checkpoint_storage.secret_key: found a list");
    CHECK_EQ(load(&f, SINGLE "checkpoint_storage: {type: s3, bucket: b, "
                             "secret_key: 1234567}\n"),
             DET_INVALID);
    CHECK_NULL(strstr(f.err.text, "1234567"));
}

TEST(a_configuration_is_shown_whole_with_stars_for_its_secrets)
{
    FIXTURE(f);
    static const char text[] =
        "{\"name\":\"x\",\"checkpoint_storage\":{\"type\":\"s3\","
        "\"secret_key\":\"hush\",\"bucket\":null},"
        "\"labels\":[\"a\",\"b\"],\"unknown\":{\"a\":[1]}}";
    struct json *tree = NULL;

    CHECK_OK(json_parse(text, strlen(text), &f.mem, &tree, &test_err));
    CHECK_STR(json_text(&f.mem, config_mask(CONFIG_EXPERIMENT, tree, &f.mem)),
              "{\"name\":\"x\",\"checkpoint_storage\":{\"type\":\"s3\","
              "\"secret_key\":\"********\",\"bucket\":null},"
              "\"labels\":[\"a\",\"b\"],\"unknown\":{\"a\":[1]}}");
}

TEST(a_key_of_one_letter_is_named)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, SINGLE "x: 1\n"), DET_INVALID);
    CHECK_HAS(f.err.text, ": x: ");
}

TEST(lengths_have_one_known_unit)
{
    static const char *const bad[] = {
        "{}",
        "{batches: 1, epochs: 2}",
        "{weeks: 1}",
        "{batches: -1}",
        "{batches: many}",
        "[1]",
        "soon",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        FIXTURE(f);
        char *yaml = arena_printf(&f.mem, SINGLE "min_validation_period: %s\n", bad[i]);

        CHECK_EQ(load(&f, yaml), DET_INVALID);
        CHECK_EQ(f.report.errors, 1);
        CHECK_HAS(f.err.text, "expected a length like {batches: N}");
    }
}

TEST(a_whole_number_may_be_written_as_a_real_one)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "max_restarts: 1e3\n");
    CHECK_STR(at(&f, "max_restarts"), "1000");

    CHECK_EQ(load(&f, SINGLE "max_restarts: 1.5\n"), DET_INVALID);
    CHECK_HAS(f.err.text, "found 1.5; expected a whole number");
    CHECK_EQ(load(&f, SINGLE "max_restarts: 1e300\n"), DET_INVALID);
}

TEST(sizes_are_numbers_with_units)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "resources: {shm_size: 1024}\n");
    CHECK_STR(at(&f, "resources.shm_size"), "1024");

    CHECK_EQ(load(&f, SINGLE "resources: {shm_size: much}\n"), DET_INVALID);
    CHECK_HAS(f.err.text, "found 'much'; expected a size like 4GiB");
}

TEST(long_and_odd_texts_are_shown_short)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, SINGLE "max_restarts: \"a\\nbcdefghijklmnopqrstuvwxyz"
                             "abcdefghijklmnopqrstuvwxyz\"\n"),
             DET_INVALID);
    CHECK_HAS(f.err.text, "found 'a bcdefghijklmnopqrstuvwxyzabcdefghijklm...'");
    CHECK_EQ(load(&f, SINGLE "name: \"a\\0b\"\n"), DET_INVALID);
    CHECK_HAS(f.err.text, "found a string with a zero byte");
}

TEST(a_flood_of_problems_is_counted_but_not_kept)
{
    FIXTURE(f);
    CLEANUP(buf_done) struct buf yaml = BUF_INIT;

    buf_puts(&yaml, SINGLE);
    for (int i = 0; i < 1000; i++)
        buf_printf(&yaml, "unknown_%d: 1\n", i);

    CHECK_EQ(load(&f, yaml.data), DET_INVALID);
    CHECK_EQ(f.report.errors, 1000);
    CHECK_EQ(f.report.count, CONFIG_PROBLEMS_MOST);
}

TEST(list_elements_may_not_be_null)
{
    FIXTURE(f);

    CHECK_REFUSES(&f, SINGLE "labels: [~]\n", DET_INVALID,
                  "c.yaml:2:10: labels[0]: found null; expected a string");
}

TEST(the_patterns_of_log_policies_are_checked)
{
    FIXTURE(f);

    CHECK_EQ(load(&f,
                  "entrypoint: x\n"
                  "searcher: {name: single, metric: loss}\n"
                  "log_policies:\n"
                  "  - {pattern: 'a(b', action: cancel_retries}\n"
                  "  - {pattern: '(a)\\1', action: cancel_retries}\n"
                  "  - {pattern: 'a{2,5}|[[:digit:]]+$', action: cancel_retries}\n"),
             DET_INVALID);
    CHECK_HAS(lines(&f), "log_policies[].pattern: a '(' of the pattern has no ')'");
    CHECK_HAS(lines(&f), "the pattern has a back-reference, \\1");
    CHECK_EQ(f.report.errors, 2);
}

TEST(what_yaml_takes_for_something_else_is_a_warning_with_its_place)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "hyperparameters: {n: 5, lr: 1e999, lr: 2}\n");

    CHECK_EQ(f.report.errors, 0);
    CHECK_EQ(f.report.notices, 3);
    CHECK_HAS(lines(&f), ":19: warning: the key n is read as 'false'");
    CHECK_HAS(lines(&f), ": warning: 1e999 is too large for a number");
    CHECK_HAS(lines(&f), ": warning: the key 'lr' is repeated");
}
