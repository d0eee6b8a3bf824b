/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/config/fixture.h"

#include "config/explain.h"
#include "config/keys/key.h"
#include "config/keys/key_tables.h"
#include "data/yaml/yaml.h"

static const enum config_kind kinds[] = {CONFIG_EXPERIMENT, CONFIG_MASTER, CONFIG_AGENT,
                                         CONFIG_JOB};

#define EACH_ROW(row)                                                                  \
    for (size_t kind_ = 0; kind_ < ARRAY_LEN(kinds); kind_++)                          \
        for (const struct config_key *row = key_table_of(kinds[kind_]).keys,           \
                                     *end_ = row + key_table_of(kinds[kind_]).count;   \
             row < end_; row++)

static bool has_word(const char *const *words, const char *word)
{
    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

TEST(every_key_has_help_within_60_columns)
{
    EACH_ROW(row)
    if (!row->help || !*row->help || strlen(row->help) > 60)
        fail_msg("%s: help '%s'", row->path, row->help ? row->help : "(none)");
}

TEST(every_default_is_json)
{
    EACH_ROW(row)
    {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
        struct json *value;

        if (row->def &&
            json_parse(row->def, strlen(row->def), &mem, &value, NULL) != DET_OK)
            fail_msg("%s: default %s", row->path, row->def);
    }
}

TEST(a_file_of_defaults_is_valid)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        FIXTURE(f);
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        det_status st;

        config_defaults_write(kinds[i], &text);
        CHECK_OK(text.status);
        st = kinds[i] == CONFIG_EXPERIMENT ? load(&f, text.data)
                                           : load_file(&f, kinds[i], text.data, NULL);
        if (st)
            fail_msg("kind %zu: %s", i, f.err.text);
    }
}

TEST(every_key_has_a_type_and_a_row_around_it)
{
    EACH_ROW(row)
    {
        const struct key_table table = key_table_of(kinds[kind_]);
        const struct config_key *keys = table.keys;
        bool has_parent = !strpbrk(row->path, ".[");

        for (size_t i = 0; i < table.count; i++)
            has_parent = has_parent ||
                         (keys[i].path[0] && key_name_below(row, keys[i].path) != NULL);
        if (!row->types || !has_parent)
            fail_msg("%s has no type or nothing around it", row->path);
    }
}

TEST(every_list_says_what_its_elements_are)
{
    EACH_ROW(row)
    {
        const struct key_table table = key_table_of(kinds[kind_]);

        if (row->types & KEY_LIST && !(row->flags & KEY_FREE) &&
            !key_child(&table, row->path, "[]", NULL))
            fail_msg("%s has no row for its elements", row->path);
    }
}

TEST(of_all_words_a_key_may_have_one_is_built)
{
    EACH_ROW(row)
    {
        size_t built = 0;

        for (size_t i = 0; row->words && row->words[i]; i++)
            built += !row->later_words || !has_word(row->later_words, row->words[i]);
        if (row->words && !built)
            fail_msg("%s offers nothing that works", row->path);
    }
}

TEST(words_and_defaults_agree)
{
    EACH_ROW(row)
    {
        char word[64];

        for (size_t i = 0; row->later_words && row->later_words[i]; i++)
            CHECK(has_word(row->words, row->later_words[i]));
        if (!row->words || !row->def || row->def[0] != '"')
            continue;
        snprintf(word, sizeof(word), "%.*s", (int)strlen(row->def) - 2, row->def + 1);
        CHECK(has_word(row->words, word));
    }
}

TEST(no_two_rows_share_path_and_kind)
{
    EACH_ROW(row)
    for (const struct config_key *other = row + 1; other < end_; other++)
        if (strcmp(row->path, other->path) == 0 && (!row->kinds || !other->kinds))
            fail_msg("%s is there twice", row->path);
}

TEST(a_key_is_explained)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    CHECK_OK(config_explain(CONFIG_EXPERIMENT, "searcher.max_trials", &out, &test_err));
    CHECK_STR(out.data, "searcher.max_trials\n"
                        "  how many trials to create\n"
                        "  type: a whole number from 1 to 2147483647\n"
                        "  default: none\n"
                        "  for: random adaptive_asha async_halving\n"
                        "  required\n");
}

TEST(a_map_is_explained_with_its_keys)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    CHECK_OK(config_explain(CONFIG_EXPERIMENT, "resources", &out, &test_err));
    CHECK_HAS(out.data, "  default: {}\n");
    CHECK_HAS(out.data, "  resources.slots_per_trial ");
    CHECK_OK(
        config_explain(CONFIG_MASTER, "resource_pools.pool_name", &out, &test_err));
    CHECK_HAS(out.data, "resource_pools[].pool_name\n");
    CHECK_OK(
        config_explain(CONFIG_MASTER, "resource_pools[].pool_name", &out, &test_err));
    CHECK_OK(config_explain(CONFIG_EXPERIMENT, "labels", &out, &test_err));
    CHECK_OK(
        config_explain(CONFIG_EXPERIMENT, "checkpoint_storage.type", &out, &test_err));
    CHECK_HAS(out.data, "  not built yet: s3\n");
}

TEST(an_unknown_key_is_explained_by_the_nearest)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct err err;

    CHECK_EQ(config_explain(CONFIG_EXPERIMENT, "searcher.max_trails", &out, &err),
             DET_NOT_FOUND);
    CHECK_STR(err.text,
              "no key 'searcher.max_trails'; did you mean 'searcher.max_trials'?");
    CHECK_EQ(config_explain(CONFIG_EXPERIMENT, "slots_per_trial", &out, &err),
             DET_NOT_FOUND);
    CHECK_HAS(err.text, "'resources.slots_per_trial'");
    CHECK_EQ(config_explain(CONFIG_EXPERIMENT, "xyzzy_plugh", &out, &err),
             DET_NOT_FOUND);
    CHECK_STR(err.text, "no key 'xyzzy_plugh'");
}

TEST(the_defaults_are_yaml_that_is_accepted)
{
    FIXTURE(f);
    CLEANUP(buf_done) struct buf master = BUF_INIT;
    CLEANUP(buf_done) struct buf agent = BUF_INIT;
    CLEANUP(buf_done) struct buf experiment = BUF_INIT;

    config_defaults_write(CONFIG_MASTER, &master);
    CHECK_OK(load_file(&f, CONFIG_MASTER, master.data, NULL));
    CHECK_STR(at(&f, "port"), "8080");
    config_defaults_write(CONFIG_AGENT, &agent);
    buf_puts(&agent, "master_host: m\n");
    CHECK_OK(load_file(&f, CONFIG_AGENT, agent.data, NULL));
    config_defaults_write(CONFIG_EXPERIMENT, &experiment);
    CHECK_HAS(experiment.data, "  # slots per trial\n  slots_per_trial: 1\n");
    buf_puts(&experiment, SINGLE);
    CHECK_LOADS(&f, experiment.data);
}

TEST(the_defaults_change_nothing)
{
    FIXTURE(f);
    FIXTURE(g);
    CLEANUP(buf_done) struct buf yaml = BUF_INIT;

    config_defaults_write(CONFIG_EXPERIMENT, &yaml);
    buf_puts(&yaml, SINGLE);
    CHECK_LOADS(&f, yaml.data);
    CHECK_LOADS(&g, SINGLE);

    CHECK_STR(f.config.json, g.config.json);
}

TEST(the_reference_is_a_table_of_every_key)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    config_reference_write(CONFIG_EXPERIMENT, &out);

    CHECK_EQ(out.status, DET_OK);
    CHECK_HAS(out.data,
              "| `max_restarts` | a whole number from 0 to 2147483647 | `5` | "
              "how often a failed trial is restarted |\n");
    CHECK_HAS(out.data, "| `bind_mounts[].host_path` |");
    CHECK_HAS(out.data, "{type: int\\|double\\|log\\|..., ...}");
}

TEST(the_reference_says_what_takes_effect_without_a_restart)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    config_reference_write(CONFIG_MASTER, &out);

    CHECK_HAS(out.data, "; reloadable");
}

TEST(durations_add_up)
{
    int64_t seconds;

    CHECK(key_parse_duration("90", &seconds));
    CHECK_EQ(seconds, 90);
    CHECK(key_parse_duration("1h30m5s", &seconds));
    CHECK_EQ(seconds, 5405);
    CHECK(key_parse_duration("1.5m", &seconds));
    CHECK_EQ(seconds, 90);
    CHECK(key_parse_duration("1ms", &seconds));
    CHECK_EQ(seconds, 1);
    CHECK(!key_parse_duration("", &seconds));
    CHECK(!key_parse_duration("5x", &seconds));
    CHECK(!key_parse_duration("-5", &seconds));
    CHECK(!key_parse_duration("s", &seconds));
    CHECK(!key_parse_duration("999999999999999999h", &seconds));
}
