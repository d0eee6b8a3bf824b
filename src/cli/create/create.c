/* SPDX-License-Identifier: Apache-2.0 */
/* create.c - `det experiment create` and `det experiment continue`. */
#include "cli/create/create.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/create/config_file.h"
#include "cli/create/context_folder.h"
#include "cli/create/create_local.h"
#include "cli/create/pack.h"
#include "cli/create/python_choice.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/interrupt.h"
#include "cli/frame/options.h"
#include "cli/nouns/experiment_control.h"
#include "cli/nouns/logs.h"
#include "cli/trials/search_progress.h"
#include "config/config_report.h"
#include "config/experiment_config.h"
#include "data/json/json.h"
#include "data/yaml/yaml.h"
#include "libdet/client/client.h"

enum { CONFIG_LIMIT = 16 << 20 };

/* ---- forks ----------------------------------------------------------------------- */

/* The complete configuration: the seed must be the same, too. */
static det_status fork_config(struct cli *cli, int64_t id,
                              const struct field_strs *pairs, struct buf *text,
                              struct experiment_config *ret_config)
{
    const char *name = arena_printf(&cli->mem, "experiment %" PRId64, id);
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/experiments/%" PRId64, id);

    if (st)
        return st;
    yaml_write(text, json_get(reply, "config"));
    if (!name || text->status)
        return cli_nomem(cli);
    /* The notices were printed when the parent was created. */
    return config_file_check_experiment(cli, name, pairs, CONFIG_ERROR, text,
                                        ret_config);
}

/* Adds the pairs that --checkpoint stands for to those of --config. */
static det_status add_checkpoint(struct cli *cli, const struct create_options *options,
                                 struct field_strs *ret_pairs)
{
    size_t count = options->config.count;
    const char **pairs = arena_array(&cli->mem, const char *, count + 2);

    *ret_pairs = options->config;
    if (!options->checkpoint)
        return DET_OK;
    if (!pairs)
        return cli_nomem(cli);
    for (size_t i = 0; i < count; i++)
        pairs[i] = options->config.at[i];
    pairs[count++] = arena_printf(&cli->mem, "searcher.source_checkpoint_uuid=\"%s\"",
                                  options->checkpoint);
    pairs[count++] = "searcher.source_trial_id=null"; /* it would have precedence */
    ret_pairs->at = pairs;
    ret_pairs->count = count;
    return cli->mem.has_failed ? cli_nomem(cli) : DET_OK;
}

static det_status find_config(struct cli *cli, const struct cli_invocation *in,
                              struct buf *text, struct experiment_config *ret_config)
{
    const struct create_options *options = in->options;
    struct field_strs pairs;
    det_status st = add_checkpoint(cli, options, &pairs);

    if (st)
        return st;
    if (in->arg_count)
        return config_file_load_experiment(cli, in->args[0], &pairs, text, ret_config);
    if (options->fork != CLI_UNSET)
        return fork_config(cli, options->fork, &pairs, text, ret_config);
    (void)cli_fail(cli, DET_INVALID, "'det experiment create' needs CONFIG");
    return cli_hint(cli, "det experiment create CONFIG [CONTEXT], or --fork ID");
}

/* ---- sending --------------------------------------------------------------------- */

/* A fork without a folder names no files: the master uses those of its parent. */
static det_status write_body(struct cli *cli, const struct buf *config,
                             const struct pack *pack, struct buf *body)
{
    const struct create_options *options = cli->in->options;
    struct json_writer w = JSON_WRITER(body);
    det_status st = DET_OK;

    jw_object(&w, NULL);
    jw_strn(&w, "config", config->data, config->len);
    jw_bool(&w, "activate", !options->paused);
    if (options->project_id != CLI_UNSET)
        jw_i64(&w, "projectId", options->project_id);
    if (options->fork != CLI_UNSET)
        jw_i64(&w, "parentId", options->fork);
    if (options->fork == CLI_UNSET || cli->in->arg_count > 1)
        st = context_folder_write(cli, pack, &w, "modelDefinition");
    jw_end_object(&w);
    if (!st && body->status)
        st = cli_nomem(cli);
    return st;
}

void create_show_warnings(struct cli *cli, const struct json *reply)
{
    json_each(warning, json_get(reply, "warnings")) {
        const char *text = json_str(warning, "");

        if (!strcmp(text, "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"))
            cli_note(cli,
                     "warning: it needs more slots than there are now, and waits for "
                     "them");
        else
            cli_note(cli, "warning: %s", text);
    }
}

det_status create_post(struct cli *cli, const char *what, const char *path,
                       const struct buf *body, struct json **ret_reply,
                       int *ret_interrupt)
{
    struct interrupt_notice *patience;
    struct json *me;
    char words[160];
    det_status st = cli_get(cli, &me, "/api/v1/me"); /* asks for a password now */

    if (st)
        return st;
    snprintf(words, sizeof(words),
             "waiting for the master, to know whether the %s was created; Ctrl-C again "
             "leaves at once",
             what);
    interrupt_patience_begin(words, &patience);
    st = cli_send(cli, "POST", body->data, ret_reply, "%s", path);
    *ret_interrupt = interrupt_patience_end(patience);
    return st;
}

/* The parent of a fork may name a Python that we do not see here. */
static bool may_choose_python(const struct create_options *options)
{
    return options->fork == CLI_UNSET;
}

static det_status send_experiment(struct cli *cli, struct buf *config,
                                  const struct experiment_config *checked,
                                  const char *folder, int64_t *ret_id)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct create_options *options = cli->in->options;
    const struct json *tree = checked->tree;
    struct pack pack = {0};
    int interrupt = 0;
    struct json *reply;
    det_status st = DET_OK;

    if (options->fork != CLI_UNSET && !folder && options->includes.count)
        return cli_fail(cli, DET_INVALID,
                        "--include needs CONTEXT: the files of the experiment cannot "
                        "be sent in part");
    if (folder || options->includes.count)
        st = context_folder_scan(cli, folder, &options->includes, &pack);
    if (!st && may_choose_python(options))
        st = python_choice_make(cli, &pack, config, &tree);
    if (!st)
        st = context_folder_check(cli, tree, options->fork != CLI_UNSET, folder, &pack);
    if (!st)
        st = write_body(cli, config, &pack, &body);
    pack_done(&pack);
    if (!st)
        st = create_post(cli, "experiment", "/api/v1/experiments", &body, &reply,
                         &interrupt);
    if (st)
        return st;
    *ret_id = json_i64(json_path(reply, "experiment.id"), 0);
    create_show_warnings(cli, reply);
    cli_put(cli, "Created experiment %" PRId64 "\n", *ret_id);
    if (!options->paused)
        cli_put(cli, "Activated experiment %" PRId64 "\n", *ret_id);
    st = cli_flush(cli);
    if (interrupt) {
        cli_note(cli,
                 "remove it with 'det e kill %" PRId64 "' and 'det e delete %" PRId64
                 "'",
                 *ret_id, *ret_id);
        raise(interrupt);
    }
    return st;
}

/* Prints the first trial's log above the line that says how far the experiment is. */
static det_status follow_first_trial(struct cli *cli, int64_t id,
                                     const struct log_options *options)
{
    struct search_progress progress;
    det_status st;

    search_progress_begin(&progress, cli, id);
    client_watch(cli->client, search_progress_tick, &progress);
    st = logs_print_first_trial(cli, id, options);
    client_watch(cli->client, NULL, NULL);
    search_progress_end(&progress);
    return st;
}

/* Ctrl-C does not end the experiment.  Users may expect otherwise, so a notice says it. */
static det_status follow_experiment(struct cli *cli, int64_t id)
{
    struct log_options options = {.follow = true, .tail = CLI_UNSET, .head = CLI_UNSET};
    struct interrupt_notice *notice;
    char words[160];
    const char *state;
    det_status st;

    snprintf(words, sizeof(words),
             "experiment %" PRId64
             " keeps running; follow it with 'det e logs -f %" PRId64
             "', stop it with 'det e kill %" PRId64 "'",
             id, id, id);
    interrupt_notice_begin(words, &notice);
    st = follow_first_trial(cli, id, &options);
    if (!st)
        st = experiment_control_wait(cli, id, NULL, &state);
    interrupt_notice_end(notice);
    if (st)
        return st;
    cli->exit_code = strcmp(state, "COMPLETED") != 0;
    cli_note(cli, "experiment %" PRId64 " is %s", id, state);
    return DET_OK;
}

det_status run_experiment_create(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf config = BUF_LIMITED(CONFIG_LIMIT);
    const struct create_options *options = in->options;
    struct experiment_config checked;
    int64_t id = 0;
    det_status st;

    if (options->test && !in->globals.local)
        return cli_fail(cli, DET_UNSUPPORTED,
                        "--test works on this machine only; use --local --test");
    if (options->follow && options->paused)
        return cli_fail(cli, DET_INVALID,
                        "--follow and --paused cannot be used together");
    st = in->globals.local ? create_local_check_options(cli) : DET_OK;
    if (!st)
        st = find_config(cli, in, &config, &checked);
    if (!st && in->globals.local)
        return create_local_run(cli, &checked, in->arg_count > 1 ? in->args[1] : NULL);
    if (!st)
        st = send_experiment(cli, &config, &checked,
                             in->arg_count > 1 ? in->args[1] : NULL, &id);
    if (!st && options->follow)
        st = follow_experiment(cli, id);
    return st;
}

/* ---- det experiment continue ----------------------------------------------------- */

/* The changes as YAML; "" if there are none. */
static det_status read_changes(struct cli *cli, const struct continue_options *options,
                               struct buf *text)
{
    const char *name = options->config_file ? options->config_file : "the changes";
    struct json *tree = NULL;
    det_status st = DET_OK;

    if (options->config_file)
        st = config_file_read(cli, options->config_file, text);
    if (!st)
        st = yaml_parse(text->data, text->len, name, &cli->mem, &tree, cli->err);
    return st ? st : config_file_override(cli, name, &options->config, &tree, text);
}

det_status run_experiment_continue(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf changes = BUF_LIMITED(CONFIG_LIMIT);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct continue_options *options = in->options;
    struct json_writer w = JSON_WRITER(&body);
    struct json *reply;
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (!st)
        st = read_changes(cli, options, &changes);
    if (st)
        return st;
    jw_object(&w, NULL);
    jw_i64(&w, "id", id);
    jw_strn(&w, "overrideConfig", changes.data ? changes.data : "", changes.len);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", body.data, &reply, "/api/v1/experiments/continue");
    if (st)
        return st;
    create_show_warnings(cli, reply);
    cli_put(cli, "Continued experiment %" PRId64 "\n", id);
    st = cli_flush(cli);
    return !st && options->follow ? follow_experiment(cli, id) : st;
}
