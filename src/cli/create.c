/* SPDX-License-Identifier: Apache-2.0 */
/* create.c - `det experiment create`: from a file and a folder to a running experiment.
 */
#include "cli/create.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/env/key.h"
#include "base/io.h"
#include "cli/ctx.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/pack.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/table.h"
#include "config/config.h"
#include "data/text.h"
#include "data/yaml.h"
#include "search/searcher.h"

enum { CONFIG_LIMIT = 16 << 20, PROGRESS_BYTES = 8 << 20 };

/* ---- the file -------------------------------------------------------------------- */

static det_status read_stdin(struct cli *cli, struct buf *text)
{
    ssize_t count;

    do {
        char *room = buf_room(text, 1 << 16);

        if (!room)
            return cli_fail(cli, text->status, "standard input is too large");
        count = read(STDIN_FILENO, room, 1 << 16);
        if (count > 0)
            buf_took(text, (size_t)count);
    } while (count > 0);
    return DET_OK;
}

det_status cli_read_config(struct cli *cli, const char *path, struct buf *text)
{
    struct io_stat found;
    det_status st;

    if (!strcmp(path, "-"))
        return read_stdin(cli, text);
    st = io_read_file(io_system(), path, text, cli->err);
    if (st && !io_stat(io_system(), path, &found, NULL) && found.kind == IO_DIRECTORY) {
        (void)cli_fail(cli, DET_INVALID, "'%s' is a folder; expected a YAML file",
                       path);
        return cli_hint(cli, "the file comes first, then the folder with the code");
    }
    return st;
}

/* Where the n-th option put it, for problems with it. */
static void mark_as_option(struct json *value, uint32_t number)
{
    if (!value)
        return;
    value->line = 0;
    value->column = number;
    json_each(item, value)
        mark_as_option(item, number);
}

/* "a.b.c=VALUE" into the tree; maps on the way are made. */
static det_status apply_override(struct cli *cli, struct json *tree, const char *pair,
                                 uint32_t number)
{
    const char *equals = strchr(pair, '=');
    struct json *value;
    det_status st;

    if (!equals || equals == pair)
        return cli_fail(cli, DET_INVALID, "--config is '%s'; expected KEY=VALUE", pair);
    st = yaml_parse(equals + 1, strlen(equals + 1), NULL, &cli->mem, &value, cli->err);
    if (st)
        return err_prefix(cli->err, "--config %s", pair);
    mark_as_option(value, number);
    while (pair < equals) {
        size_t len = MIN(strcspn(pair, "."), (size_t)(equals - pair));
        char *key = arena_strndup(&cli->mem, pair, len);
        struct json *next;

        if (!key)
            return cli_nomem(cli);
        if (pair + len >= equals) {
            json_set(&cli->mem, tree, key, value);
            break;
        }
        next = json_get(tree, key);
        if (!next || next->kind != JSON_OBJECT) {
            next = json_set(&cli->mem, tree, key, json_new(&cli->mem, JSON_OBJECT));
            mark_as_option(next, number);
        }
        tree = next;
        pair += len + 1;
    }
    return cli->mem.has_failed ? cli_nomem(cli) : DET_OK;
}

/* The options as the report names them, in their order. */
static const char *const *option_names(struct cli *cli, const struct field_strs *pairs)
{
    const char **names = arena_array(&cli->mem, const char *, pairs->count + 1);

    for (size_t i = 0; names && i < pairs->count; i++)
        names[i] = arena_printf(&cli->mem, "--config %s", pairs->at[i]);
    return cli->mem.has_failed ? NULL : names;
}

/* With overrides the text is written anew; without it is sent as it is.  The tree keeps
 * the places of the file. */
static det_status apply_overrides(struct cli *cli, const char *name,
                                  const struct field_strs *pairs, struct json **tree,
                                  struct buf *text)
{
    det_status st = DET_OK;

    if (!pairs->count)
        return DET_OK;
    if ((*tree)->kind == JSON_NULL)
        *tree = json_new(&cli->mem, JSON_OBJECT);
    if (!*tree || (*tree)->kind != JSON_OBJECT)
        return cli_fail(cli, DET_INVALID, "%s does not hold keys and values", name);
    for (size_t i = 0; i < pairs->count && !st; i++)
        st = apply_override(cli, *tree, pairs->at[i], (uint32_t)i + 1);
    if (st)
        return st;
    buf_clear(text);
    yaml_write(text, *tree);
    return text->status ? cli_nomem(cli) : DET_OK;
}

/* Before anything travels: problems with file name, line and column, or the option. */
static det_status check_config(struct cli *cli, const struct create_source *source,
                               struct config_report *report, struct buf *text,
                               void *ret_config)
{
    struct json *tree;
    det_status st = config_parse(text->data, text->len, report, &tree, cli->err);

    if (!st)
        st = apply_overrides(cli, report->name, source->pairs, &tree, text);
    return st ? st : source->load(tree, &cli->mem, report, ret_config, cli->err);
}

det_status create_take(struct cli *cli, const struct create_source *source,
                       struct buf *text, void *ret_config)
{
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    const char *name = source->name;
    struct config_report report = CONFIG_REPORT(&cli->mem, name);
    det_status st;

    report.options = option_names(cli, source->pairs);
    if (!report.options)
        return cli_nomem(cli);
    st = check_config(cli, source, &report, text, ret_config);
    config_report_write(&report, source->at_least, &lines);
    if (lines.len)
        fputs(lines.data, stderr);
    if (st && report.errors)
        return cli_fail(cli, st, "%s has %u problem%s", name, report.errors,
                        report.errors == 1 ? "" : "s");
    return st;
}

static det_status load_experiment(struct json *tree, struct arena *mem,
                                  struct config_report *report, void *ret_config,
                                  struct err *err)
{
    struct experiment_defaults defaults = {.checkpoint_directory = "/tmp",
                                           .name = "experiment"};

    return experiment_config_load_tree(tree, &defaults, mem, report, ret_config, err);
}

det_status create_take_config(struct cli *cli, const char *name,
                              const struct field_strs *pairs,
                              enum config_severity at_least, struct buf *text,
                              struct experiment_config *ret_config)
{
    const struct create_source source = {name, pairs, at_least, load_experiment};

    return create_take(cli, &source, text, ret_config);
}

det_status create_load_config(struct cli *cli, const char *path,
                              const struct field_strs *pairs, struct buf *text,
                              struct experiment_config *ret_config)
{
    const char *name = strcmp(path, "-") ? path : "standard input";
    det_status st = cli_read_config(cli, path, text);

    return st ? st
              : create_take_config(cli, name, pairs, CONFIG_NOTICE, text, ret_config);
}

/* ---- forks ----------------------------------------------------------------------- */

/* The complete configuration, so that also its seed is the same. */
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
    /* Nobody wrote this text: what is noteworthy in it was said before. */
    return create_take_config(cli, name, pairs, CONFIG_ERROR, text, ret_config);
}

/* What --checkpoint means, behind the pairs of --config. */
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
    pairs[count++] = "searcher.source_trial_id=null"; /* which would win */
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
        return create_load_config(cli, in->args[0], &pairs, text, ret_config);
    if (options->fork != CLI_UNSET)
        return fork_config(cli, options->fork, &pairs, text, ret_config);
    (void)cli_fail(cli, DET_INVALID, "'det experiment create' needs CONFIG");
    return cli_hint(cli, "det experiment create CONFIG [CONTEXT], or --fork ID");
}

/* ---- the folder ------------------------------------------------------------------ */

/* For ".", the folder by its name, as seen from inside: "../mnist". */
static const char *folder_name(struct cli *cli, const char *folder)
{
    char here[PATH_MAX];
    const char *slash;

    if (strcmp(folder, ".") && strcmp(folder, "./"))
        return folder;
    if (!getcwd(here, sizeof(here)))
        return folder;
    slash = strrchr(here, '/');
    return arena_printf(&cli->mem, "../%s", slash ? slash + 1 : here);
}

static void show_progress(void *arg, uint64_t done_bytes, uint64_t all_bytes)
{
    int *last = arg;
    int percent = all_bytes ? (int)(100 * done_bytes / all_bytes) : 100;

    if (percent == *last)
        return;
    *last = percent;
    fprintf(stderr, "\rReading files... %d%%%s", percent,
            percent == 100 ? "\r\033[K" : "");
}

det_status create_scan_folder(struct cli *cli, const char *folder, struct pack *pack)
{
    const char *name = folder_name(cli, folder);
    char size[16];
    det_status st;

    if (!name)
        return cli_nomem(cli);
    cli_put(cli, "Preparing files (%s) to send to master...", name);
    if (cli->term.is_terminal) { /* a large folder takes a moment */
        st = cli_flush(cli);
        if (st)
            return st;
    }
    st = pack_scan(io_system(), folder, &cli->mem, pack, cli->err);
    if (st) {
        buf_clear(&cli->out);
        cli_put(cli, "%s", cli->term.is_terminal ? "\n" : "");
        return st;
    }
    size_format(pack->size_bytes, size);
    cli_put(cli, " %s and %zu file%s\n", size, pack->files,
            pack->files == 1 ? "" : "s");
    st = cli_flush(cli);
    for (size_t i = 0; i < pack->left_out.count; i++)
        cli_note(cli, "left out %s", pack->left_out.at[i]);
    return st;
}

static bool is_packed(const struct pack *pack, const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    for (size_t i = 0; i < pack->entries.count; i++)
        if (!strcmp(pack->entries.at[i].path, path))
            return true;
    return false;
}

det_status create_check_folder(struct cli *cli, const struct json *config, bool is_fork,
                               const char *folder, const struct pack *pack)
{
    const struct json *wanted = json_path(config, "environment.requirements");
    struct env_wish wish = {.folder = folder, .file = json_str(wanted, NULL)};
    struct env_key key;
    det_status st;

    if (!wish.file || (!folder && is_fork))
        return DET_OK;
    if (!folder)
        return cli_fail(cli, DET_INVALID,
                        "environment.requirements is '%s', but no folder is sent; name "
                        "it behind the configuration",
                        wish.file);
    st = env_wish_check(io_system(), &wish, &cli->mem, &key, cli->err);
    if (st)
        return err_prefix(cli->err, "environment.requirements");
    if (!is_packed(pack, wish.file))
        return cli_fail(
            cli, DET_INVALID,
            "environment.requirements: '%s' is not sent: .detignore names it",
            wish.file);
    return DET_OK;
}

/* ---- sending --------------------------------------------------------------------- */

det_status create_write_files(struct cli *cli, const struct pack *pack,
                              struct json_writer *w, const char *key)
{
    bool shows = isatty(STDERR_FILENO) && pack->size_bytes > PROGRESS_BYTES;
    int percent = -1;
    det_status st =
        pack_write(pack, w, key, shows ? show_progress : NULL, &percent, cli->err);

    if (shows && st)
        fputc('\n', stderr);
    return st;
}

/* Without a folder a fork has its parent's files: none are named. */
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
    if (options->template_name)
        jw_str(&w, "template", options->template_name);
    if (options->fork != CLI_UNSET)
        jw_i64(&w, "parentId", options->fork);
    if (options->fork == CLI_UNSET || cli->in->arg_count > 1)
        st = create_write_files(cli, pack, &w, "modelDefinition");
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
                     "warning: it asks for more slots than there are now, and waits "
                     "until there are");
        else
            cli_note(cli, "warning: %s", text);
    }
}

static det_status send(struct cli *cli, const struct buf *config,
                       const struct experiment_config *checked, const char *folder,
                       int64_t *ret_id)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct create_options *options = cli->in->options;
    struct pack pack = {0};
    struct json *reply;
    det_status st = DET_OK;

    if (folder)
        st = create_scan_folder(cli, folder, &pack);
    if (!st)
        st = create_check_folder(cli, checked->tree, options->fork != CLI_UNSET, folder,
                                 &pack);
    if (!st)
        st = write_body(cli, config, &pack, &body);
    pack_done(&pack);
    if (!st)
        st = cli_send(cli, "POST", body.data, &reply, "/api/v1/experiments");
    if (st)
        return st;
    *ret_id = json_i64(json_path(reply, "experiment.id"), 0);
    create_show_warnings(cli, reply);
    cli_put(cli, "Created experiment %" PRId64 "\n", *ret_id);
    if (!options->paused)
        cli_put(cli, "Activated experiment %" PRId64 "\n", *ret_id);
    return cli_flush(cli);
}

/* Ctrl-C ends the following, not the experiment: that is not what everybody expects. */
static det_status follow(struct cli *cli, int64_t id)
{
    struct log_options options = {.follow = true, .tail = CLI_UNSET, .head = CLI_UNSET};
    struct farewell *farewell;
    char words[160];
    const char *state;
    det_status st;

    snprintf(words, sizeof(words),
             "experiment %" PRId64 " goes on; follow it with 'det e logs -f %" PRId64
             "', stop it with 'det e kill %" PRId64 "'",
             id, id, id);
    farewell_begin(words, &farewell);
    st = follow_first_trial(cli, id, &options);
    if (!st)
        st = follow_experiment(cli, id, CLI_UNSET, &state);
    farewell_end(farewell);
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
    int64_t id;
    det_status st;

    if (options->test && !in->globals.local)
        return cli_fail(cli, DET_UNSUPPORTED,
                        "--test runs on this machine only; say --local --test");
    if (options->follow && options->paused)
        return cli_fail(cli, DET_INVALID, "--follow and --paused exclude each other");
    st = in->globals.local ? create_may_be_here(cli) : DET_OK;
    if (!st)
        st = find_config(cli, in, &config, &checked);
    if (!st && in->globals.local)
        return create_here(cli, &checked, in->arg_count > 1 ? in->args[1] : NULL);
    if (!st)
        st = send(cli, &config, &checked, in->arg_count > 1 ? in->args[1] : NULL, &id);
    if (!st && options->follow)
        st = follow(cli, id);
    return st;
}

/* ---- going on -------------------------------------------------------------------- */

/* What changes, as YAML; nothing: an empty text. */
static det_status read_changes(struct cli *cli, const struct continue_options *options,
                               struct buf *text)
{
    const char *name = options->config_file ? options->config_file : "the changes";
    struct json *tree = NULL;
    det_status st = DET_OK;

    if (options->config_file)
        st = cli_read_config(cli, options->config_file, text);
    if (!st)
        st = yaml_parse(text->data, text->len, name, &cli->mem, &tree, cli->err);
    return st ? st : apply_overrides(cli, name, &options->config, &tree, text);
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
    return !st && options->follow ? follow(cli, id) : st;
}

/* ---- preview --------------------------------------------------------------------- */

static det_status print_preview(struct cli *cli, const struct json *trials)
{
    static const struct table_column columns[] = {
        {"TRIALS", TABLE_RIGHT}, {"LENGTH", TABLE_LEFT}, {0}};
    struct table table;

    table_init(&table, &cli->mem, columns);
    json_each(row, trials) {
        const struct json *unit = json_get(row, "unit");
        const char *length = "to the end";

        if (!json_bool(json_find(unit, "max_length"), false))
            length = arena_printf(&cli->mem, "%" PRId64 " %s",
                                  json_i64(json_get(unit, "value"), 0),
                                  json_str(json_get(unit, "name"), "units"));
        table_add(&table, cli_i64(cli, json_i64(json_get(row, "count"), 0)));
        table_add(&table, length);
    }
    return cli_print_table(cli, &table);
}

det_status run_preview_search(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(CONFIG_LIMIT);
    const struct field_strs none = {0};
    struct experiment_config config;
    struct json *trials;
    det_status st = create_load_config(cli, in->args[0], &none, &text, &config);

    if (!st)
        st = searcher_preview(config.searcher, config.hyperparameters, &cli->mem,
                              &trials, cli->err);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, trials);
    return print_preview(cli, trials);
}
