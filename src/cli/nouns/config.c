/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - `det config`: checks and explains configuration files, without a master. */
#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/create/config_file.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/nouns/checkpoint.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/experiment_config.h"
#include "config/explain.h"
#include "config/keys/key_tables.h"
#include "data/json/json.h"

enum { FILE_LIMIT = 16 << 20 };

static const struct {
    const char *name;
    enum config_kind kind;
} kinds[] = {
    {"experiment", CONFIG_EXPERIMENT},
    {"master", CONFIG_MASTER},
    {"agent", CONFIG_AGENT},
    {"job", CONFIG_JOB},
};

static enum config_kind kind_of(const struct cli_invocation *in)
{
    const struct kind_options *options = in->options;
    size_t i = 0;

    while (i < ARRAY_LEN(kinds) && strcmp(kinds[i].name, options->kind) != 0)
        i++;
    assert(i < ARRAY_LEN(kinds)); /* the parser accepts no other name */
    return kinds[i].kind;
}

/* How many keys of the maps in it are those of such a file. */
static size_t known_keys(enum config_kind kind, const struct json *map,
                         const char *pattern)
{
    struct key_table table = key_table_of(kind);
    size_t count = 0;

    if (map->kind != JSON_OBJECT)
        return 0;
    json_each(item, map) {
        const struct config_key *row = key_child(&table, pattern, item->key, NULL);

        if (row)
            count += 1 + known_keys(kind, item, row->path);
    }
    return count;
}

/* The kind of which the file has most keys; of equal ones the first. */
static enum config_kind guess_kind(struct cli *cli, const struct buf *text)
{
    struct config_report report = CONFIG_REPORT(&cli->mem, NULL);
    struct json *tree;
    size_t best = 0;

    if (config_parse(text->data, text->len, &report, &tree, NULL) ||
        tree->kind != JSON_OBJECT)
        return CONFIG_EXPERIMENT;
    for (size_t i = 1; i < ARRAY_LEN(kinds); i++)
        if (known_keys(kinds[i].kind, tree, "") >
            known_keys(kinds[best].kind, tree, ""))
            best = i;
    if (best)
        cli_note(cli,
                 "these are the keys of a configuration of kind '%s'; -k names another",
                 kinds[best].name);
    return kinds[best].kind;
}

static det_status check_text(struct cli *cli, enum config_kind kind,
                             const struct buf *text, struct config_report *report)
{
    struct experiment_defaults defaults = {.checkpoint_directory = "/tmp",
                                           .name = "experiment"};
    struct experiment_config config;
    struct json *tree;

    if (kind == CONFIG_EXPERIMENT)
        return experiment_config_load(text->data, text->len, &defaults, &cli->mem,
                                      report, &config, cli->err);
    return config_load(kind, text->data, text->len, NULL, report, &tree, cli->err);
}

det_status run_config_check(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    const struct kind_options *options = in->options;
    const char *name = strcmp(in->args[0], "-") ? in->args[0] : "standard input";
    struct config_report report = CONFIG_REPORT(&cli->mem, name);
    det_status st = config_file_read(cli, in->args[0], &text);

    if (st)
        return st;
    st = check_text(cli, options->kind ? kind_of(in) : guess_kind(cli, &text), &text,
                    &report);
    config_report_write(&report, CONFIG_NOTICE, &cli->out);
    if (st && report.errors)
        return cli_fail(cli, st, "%s has %u problem%s", name, report.errors,
                        report.errors == 1 ? "" : "s");
    if (!st)
        cli_put(cli, "%s is valid\n", name);
    return st;
}

/* A key of another kind of file is better than one with a similar name. */
static det_status point_to_other_kind(struct cli *cli, const struct cli_invocation *in)
{
    const struct kind_options *options = in->options;
    const char *key = in->args[0];

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        CLEANUP(buf_done) struct buf text = BUF_INIT;

        if (config_explain(kinds[i].kind, key, &text, NULL))
            continue;
        return cli_fail(cli, DET_NOT_FOUND,
                        "no key '%s' in a configuration of kind '%s'; 'det config "
                        "explain -k %s %s' explains that of kind '%s'",
                        key, options->kind, kinds[i].name, key, kinds[i].name);
    }
    return DET_NOT_FOUND;
}

det_status run_config_explain(struct cli *cli, const struct cli_invocation *in)
{
    if (in->arg_count) {
        det_status st = config_explain(kind_of(in), in->args[0], &cli->out, cli->err);

        return st == DET_NOT_FOUND ? point_to_other_kind(cli, in) : st;
    }
    config_reference_write(kind_of(in), &cli->out);
    return DET_OK;
}

det_status run_config_defaults(struct cli *cli, const struct cli_invocation *in)
{
    config_defaults_write(kind_of(in), &cli->out);
    return DET_OK;
}

/* Whether it is an experiment's configuration: jobs have no searcher. */
static det_status has_searcher(struct cli *cli, const struct buf *text,
                               bool *ret_searches)
{
    struct config_report report = CONFIG_REPORT(&cli->mem, NULL);
    struct json *tree;
    det_status st = config_parse(text->data, text->len, &report, &tree, cli->err);

    if (!st)
        *ret_searches = json_get(tree, "searcher") != NULL;
    return st;
}

static det_status print_complete(struct cli *cli, const struct buf *text, bool searches,
                                 struct config_report *report)
{
    struct experiment_defaults defaults = {.checkpoint_directory = "/tmp",
                                           .name = "experiment"};
    struct experiment_config config;
    struct json *tree;
    det_status st;

    if (searches) {
        st = experiment_config_load(text->data, text->len, &defaults, &cli->mem, report,
                                    &config, cli->err);
        if (!st)
            cli_put(cli, "%s\n", config.json);
        return st;
    }
    st = config_load(CONFIG_JOB, text->data, text->len, NULL, report, &tree, cli->err);
    if (!st) {
        json_write(&cli->out, tree);
        cli_put(cli, "\n");
    }
    return st;
}

/* Prints the complete configuration of an experiment or a job as JSON, for offline
 * runs. */
det_status run_internal_config(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    struct config_report report = CONFIG_REPORT(&cli->mem, in->args[0]);
    bool searches = false;
    det_status st = config_file_read(cli, in->args[0], &text);

    if (!st)
        st = has_searcher(cli, &text, &searches);
    if (!st)
        st = print_complete(cli, &text, searches, &report);
    return st;
}
