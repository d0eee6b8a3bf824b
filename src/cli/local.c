/* SPDX-License-Identifier: Apache-2.0 */
/* local.c - what needs no master: configuration files, completion, man pages, version.
 */
#include <string.h>

#include "base/io.h"
#include "cli/ctx.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/table_of_commands.h"
#include "config/config.h"
#include "data/json.h"

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

static det_status check(struct cli *cli, enum config_kind kind, const struct buf *text,
                        struct config_report *report)
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
    det_status st = cli_read_config(cli, in->args[0], &text);

    if (st)
        return st;
    st = check(cli, kind_of(in), &text, &report);
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

/* Whether it is an experiment's: only those search. */
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

static det_status complete(struct cli *cli, const struct buf *text, bool searches,
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

/* The complete configuration of an experiment or a job as JSON, for programs that run
 * without a master. */
det_status run_internal_config(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    struct config_report report = CONFIG_REPORT(&cli->mem, in->args[0]);
    bool searches = false;
    det_status st = cli_read_config(cli, in->args[0], &text);

    if (!st)
        st = has_searcher(cli, &text, &searches);
    if (!st)
        st = complete(cli, &text, searches, &report);
    return st;
}

det_status run_completion(struct cli *cli, const struct cli_invocation *in)
{
    return completion_write(in->args[0], &cli->out, cli->err);
}

det_status run_version(struct cli *cli, const struct cli_invocation *in)
{
    if (in->format == CLI_JSON)
        cli_put(cli, "{\"version\": \"%s\"}\n", DET_VERSION);
    else
        cli_put(cli, "det %s\n", DET_VERSION);
    return DET_OK;
}

static det_status write_page(struct cli *cli, const char *folder,
                             const struct cli_command *command)
{
    CLEANUP(buf_done) struct buf page = BUF_INIT;
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    buf_printf(&path, "%s/", folder);
    man_name(&path, command);
    man_page(&page, command);
    if (page.status || path.status)
        return cli_nomem(cli);
    return io_replace(io_system(), path.data, page.data, page.len, false, cli->err);
}

det_status run_internal_man(struct cli *cli, const struct cli_invocation *in)
{
    det_status st = io_mkdir(io_system(), in->args[0], false, cli->err);

    if (!st)
        st = write_page(cli, in->args[0], NULL);
    for (const struct cli_command *c = cli_commands; c->noun && !st; c++)
        if (!(c->flags & CLI_HIDDEN))
            st = write_page(cli, in->args[0], c);
    return st;
}
