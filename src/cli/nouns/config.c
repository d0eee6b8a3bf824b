/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - `det config`: checks and explains configuration files, without a master. */
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

static enum config_kind kind_of(const struct cli_invocation *in)
{
    const struct kind_options *options = in->options;

    if (!strcmp(options->kind, "master"))
        return CONFIG_MASTER;
    if (!strcmp(options->kind, "agent"))
        return CONFIG_AGENT;
    return strcmp(options->kind, "job") ? CONFIG_EXPERIMENT : CONFIG_JOB;
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
    const char *name = strcmp(in->args[0], "-") ? in->args[0] : "standard input";
    struct config_report report = CONFIG_REPORT(&cli->mem, name);
    det_status st = config_file_read(cli, in->args[0], &text);

    if (st)
        return st;
    st = check_text(cli, kind_of(in), &text, &report);
    config_report_write(&report, CONFIG_NOTICE, &cli->out);
    if (st && report.errors)
        return cli_fail(cli, st, "%s has %u problem%s", name, report.errors,
                        report.errors == 1 ? "" : "s");
    if (!st)
        cli_put(cli, "%s is valid\n", name);
    return st;
}

det_status run_config_explain(struct cli *cli, const struct cli_invocation *in)
{
    if (in->arg_count)
        return config_explain(kind_of(in), in->args[0], &cli->out, cli->err);
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
