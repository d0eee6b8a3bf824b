/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - what trials have saved: listed, described, fetched, deleted. */
#include <inttypes.h>
#include <string.h>

#include "base/io.h"
#include "base/rng.h"
#include "cli/copy.h"
#include "cli/ctx.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/table.h"
#include "config/config.h"
#include "data/text.h"

/* ---- lists ----------------------------------------------------------------------- */

static const struct table_column columns[] = {
    {"UUID", TABLE_LEFT},     {"TRIAL", TABLE_RIGHT},
    {"BATCHES", TABLE_RIGHT}, {"STATE", TABLE_LEFT},
    {"METRIC", TABLE_RIGHT},  {"SIZE", TABLE_RIGHT},
    {"SAVED", TABLE_LEFT},    {0}};

/* The API has no word of its own for one that is going. */
static const char *state_of(const struct json *c)
{
    return json_is_null(json_get(c, "deletion")) ? cli_state(json_get(c, "state"))
                                                 : "DELETING";
}

static int64_t size_of(const struct json *c)
{
    int64_t size = 0;

    json_each(file, json_get(c, "resources"))
        size += json_i64(file, 0);
    return size;
}

static void add_row(struct cli *cli, struct table *table, const struct json *c)
{
    const char *state = state_of(c);
    int64_t size = size_of(c);

    table_add(table, json_str(json_get(c, "uuid"), ""));
    table_add(table, cli_i64(cli, json_i64(json_path(c, "training.trialId"), 0)));
    table_add(table,
              cli_i64(cli, json_i64(json_path(c, "metadata.steps_completed"), 0)));
    table_add_colored(table, state, cli_state_color(state));
    table_add_raw(table, cli_number(cli, json_path(c, "training.searcherMetric")),
                  show_raw(cli, json_path(c, "training.searcherMetric")));
    table_add_raw(table, cli_size(cli, (uint64_t)size), cli_i64(cli, size));
    table_add_raw(table, cli_time(cli, json_get(c, "reportTime")),
                  json_str(json_get(c, "reportTime"), ""));
}

det_status show_checkpoints(struct cli *cli, const struct json *checkpoints)
{
    struct table table;

    table_init(&table, &cli->mem, columns);
    json_each(c, checkpoints)
        add_row(cli, &table, c);
    return cli_print_table(cli, &table);
}

det_status run_checkpoint_list(struct cli *cli, const struct cli_invocation *in)
{
    const struct checkpoint_list_options *options = in->options;
    bool of_trial = options->trial != CLI_UNSET;
    struct json *reply;
    det_status st;

    if (of_trial && options->experiment != CLI_UNSET)
        return cli_fail(
            cli, DET_INVALID,
            "--experiment and --trial exclude each other: a trial is of one "
            "experiment");
    if (!of_trial && options->experiment == CLI_UNSET)
        return cli_fail(cli, DET_INVALID,
                        "whose checkpoints? either --experiment ID or --trial ID is "
                        "needed");
    st = cli_get(cli, &reply,
                 "/api/v1/%s/%" PRId64 "/checkpoints?sortByAttr=SORT_BY_END_TIME",
                 of_trial ? "trials" : "experiments",
                 of_trial ? options->trial : options->experiment);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "checkpoints"));
    return show_checkpoints(cli, json_get(reply, "checkpoints"));
}

/* ---- one ------------------------------------------------------------------------- */

static det_status get_checkpoint(struct cli *cli, const char *uuid,
                                 const struct json **ret_checkpoint)
{
    struct json *reply;
    det_status st;

    if (!uuid_is_valid(uuid))
        return cli_fail(cli, DET_INVALID,
                        "'%s' is not the uuid of a checkpoint; 'det checkpoint list' "
                        "shows them",
                        uuid);
    st = cli_get(cli, &reply, "/api/v1/checkpoints/%s", uuid);
    if (!st)
        *ret_checkpoint = json_get(reply, "checkpoint");
    return st;
}

/* Where it lies, as the machine that wrote it sees it. */
struct place {
    const char *root; /* of the storage */
    const char *path;
    bool is_shared;
};

static det_status place_of(struct cli *cli, const struct json *c,
                           struct place *ret_place)
{
    const struct json *tree = json_path(c, "training.experimentConfig");
    const char *text = tree ? json_text(&cli->mem, tree) : NULL;
    struct experiment_config config;
    det_status st;

    if (!text)
        return cli_fail(cli, DET_NOT_FOUND,
                        "the master does not say where the checkpoint is");
    st = experiment_config_open(text, strlen(text), &cli->mem, &config, cli->err);
    if (st)
        return st;
    if (!config.storage_directory)
        return cli_fail(cli, DET_UNSUPPORTED,
                        "the checkpoint does not lie in a directory: fetch it from its "
                        "storage by hand");
    ret_place->root = config.storage_directory;
    ret_place->is_shared = config.storage_kind == STORAGE_SHARED_FS;
    ret_place->path = arena_printf(&cli->mem, "%s/%s", config.storage_directory,
                                   json_str(json_get(c, "uuid"), ""));
    return ret_place->path ? DET_OK : cli_nomem(cli);
}

static void put_deletion(struct cli *cli, const struct json *deletion)
{
    const char *error = json_str(json_get(deletion, "error"), NULL);
    const char *agent = json_str(json_get(deletion, "agent"), "");

    if (json_is_null(deletion))
        return;
    show_field(cli, "deleting", cli_time(cli, json_get(deletion, "since")));
    if (!error && *agent)
        show_field(cli, "waits for",
                   arena_printf(&cli->mem, "agent %s%s", agent,
                                json_bool(json_get(deletion, "shared"), false)
                                    ? ", or another that reaches the storage"
                                    : ""));
    if (!error)
        return;
    show_field(cli, "failed", error);
    show_field(cli, "tries", cli_i64(cli, json_i64(json_get(deletion, "tries"), 0)));
    show_field(cli, "next try", cli_time(cli, json_get(deletion, "nextTry")));
}

enum { NAME_WIDTH = 40 };

/* Sizes stand below each other, but behind a name that is longer than most. */
static void put_files(struct cli *cli, const struct json *resources)
{
    size_t widest = 0;

    if (json_first(resources))
        cli_put(cli, "  files\n");
    json_each(file, resources)
        widest = MAX(widest, MIN(term_width(file->key), (size_t)NAME_WIDTH));
    json_each(file, resources) {
        size_t width = term_width(file->key);

        cli_put(cli, "    ");
        term_put(&cli->out, file->key, SIZE_MAX);
        cli_put(cli, "%*s  %8s\n", width < widest ? (int)(widest - width) : 0, "",
                cli_size(cli, (uint64_t)json_i64(file, 0)));
    }
}

det_status run_checkpoint_describe(struct cli *cli, const struct cli_invocation *in)
{
    const struct json *c;
    struct place place = {0};
    det_status st = get_checkpoint(cli, in->args[0], &c);

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, c);
    if (place_of(cli, c, &place))
        place.path = "";
    cli_put(cli, "checkpoint %s\n", json_str(json_get(c, "uuid"), ""));
    show_field(cli, "state", state_of(c));
    put_deletion(cli, json_get(c, "deletion"));
    show_field(cli, "experiment",
               cli_i64(cli, json_i64(json_path(c, "training.experimentId"), 0)));
    show_field(cli, "trial",
               cli_i64(cli, json_i64(json_path(c, "training.trialId"), 0)));
    show_field(cli, "batches",
               cli_i64(cli, json_i64(json_path(c, "metadata.steps_completed"), 0)));
    show_field(cli, "metric", cli_number(cli, json_path(c, "training.searcherMetric")));
    show_field(cli, "saved", cli_time(cli, json_get(c, "reportTime")));
    show_field(cli, "size", cli_size(cli, (uint64_t)size_of(c)));
    show_field(cli, "place", place.path);
    if (json_bool(json_get(c, "held"), false))
        show_field(cli, "kept", "another trial began from it");
    put_files(cli, json_get(c, "resources"));
    return DET_OK;
}

/* ---- fetching -------------------------------------------------------------------- */

static det_status check_state(struct cli *cli, const struct json *c)
{
    const char *state = state_of(c);

    if (!strcmp(state, "COMPLETED") || !strcmp(state, "PARTIALLY_DELETED"))
        return DET_OK;
    return cli_fail(cli, DET_STATE, "checkpoint %s is %s: there is nothing to fetch",
                    json_str(json_get(c, "uuid"), ""), state);
}

static bool is_directory(const char *path)
{
    struct io_stat stat;

    return !io_stat(io_system(), path, &stat, NULL) && stat.kind == IO_DIRECTORY;
}

static det_status check_source(struct cli *cli, const char *uuid,
                               const struct place *place)
{
    struct io_stat stat;
    det_status st = io_stat(io_system(), place->path, &stat, cli->err);

    if (!st && stat.kind == IO_DIRECTORY)
        return DET_OK;
    if (st && st != DET_NOT_FOUND)
        return st;
    if (!is_directory(place->root))
        return cli_fail(cli, DET_NOT_FOUND,
                        "checkpoint %s is at '%s' on the machine of the agent that "
                        "wrote it, which cannot be seen from here: run this command "
                        "there, or copy that directory",
                        uuid, place->path);
    (void)cli_fail(cli, DET_CORRUPT,
                   place->is_shared
                       ? "checkpoint %s is gone: somebody has removed '%s'"
                       : "checkpoint %s is not on this machine: '%s' was removed, or "
                         "lies on the machine of another agent, which wrote it",
                   uuid, place->path);
    return cli_hint(cli, "'det checkpoint delete %s' forgets one that is gone", uuid);
}

det_status checkpoint_directory(struct cli *cli, const struct json *c,
                                const char **ret_path)
{
    struct place place = {0};
    det_status st = place_of(cli, c, &place);

    if (!st)
        st = check_source(cli, json_str(json_get(c, "uuid"), ""), &place);
    if (!st)
        *ret_path = place.path;
    return st;
}

/* Where files are copied to first: beside a folder that is to be made, inside of one
 * that is there (it may be a mount, or where somebody's shell is).  So what is in the
 * folder is whole, and a copy that failed does not stand in the way of the next. */
struct draft {
    const char *folder;
    const char *path; /* NULL: not made */
    bool is_inside;
};

static det_status draft_make(struct cli *cli, struct draft *draft)
{
    size_t len = strlen(draft->folder);
    unsigned char random[8];
    char suffix[2 * sizeof(random) + 1];
    const char **names;
    det_status st = io_list(io_system(), draft->folder, &cli->mem, &names, cli->err);

    draft->is_inside = !st;
    if (!st && *names)
        return cli_fail(cli, DET_EXISTS,
                        "the folder '%s' is not empty; -o names another",
                        draft->folder);
    if (!st || st == DET_NOT_FOUND)
        st = rng_secret(random, sizeof(random), cli->err);
    if (st)
        return st;
    while (len > 1 && draft->folder[len - 1] == '/')
        len--;
    hex_encode(suffix, random, sizeof(random));
    draft->path = arena_printf(&cli->mem, "%.*s%s.unfinished-%s", (int)len,
                               draft->folder, draft->is_inside ? "/" : "", suffix);
    return draft->path ? io_mkdir(io_system(), draft->path, false, cli->err)
                       : cli_nomem(cli);
}

static det_status draft_finish(struct cli *cli, const struct draft *draft)
{
    const char **names;
    det_status st;

    if (!draft->is_inside)
        return io_rename(io_system(), draft->path, draft->folder, cli->err);
    st = io_list(io_system(), draft->path, &cli->mem, &names, cli->err);
    for (; !st && *names; names++) {
        const char *from = arena_printf(&cli->mem, "%s/%s", draft->path, *names);
        const char *to = arena_printf(&cli->mem, "%s/%s", draft->folder, *names);

        st = from && to ? io_rename(io_system(), from, to, cli->err) : cli_nomem(cli);
    }
    return st ? st : io_remove_tree(io_system(), draft->path, cli->err);
}

static det_status fetch(struct cli *cli, const struct json *c, const char *from,
                        const char *folder, struct copy_result *ret_result)
{
    struct draft draft = {.folder = folder};
    det_status st = draft_make(cli, &draft);

    if (!st)
        st = copy_checkpoint(io_system(), from, draft.path, json_get(c, "resources"),
                             &cli->mem, ret_result, cli->err);
    if (st == DET_CORRUPT) {
        (void)err_prefix(cli->err, "checkpoint %s", json_str(json_get(c, "uuid"), ""));
        (void)cli_hint(cli,
                       "'det checkpoint list --trial %" PRId64 "' shows the others; "
                       "what is left of this one is in '%s'",
                       json_i64(json_path(c, "training.trialId"), 0), from);
    }
    if (!st)
        st = draft_finish(cli, &draft);
    if (st && draft.path)
        (void)io_remove_tree(io_system(), draft.path, NULL);
    return st;
}

det_status run_checkpoint_download(struct cli *cli, const struct cli_invocation *in)
{
    const struct download_options *options = in->options;
    struct copy_result result = {0};
    struct place place = {0};
    const char *folder = options->output;
    const struct json *c;
    det_status st = get_checkpoint(cli, in->args[0], &c);

    if (!st)
        st = check_state(cli, c);
    if (!st)
        st = place_of(cli, c, &place);
    if (!st)
        st = check_source(cli, in->args[0], &place);
    if (!folder)
        folder = arena_printf(&cli->mem, "checkpoints/%s", in->args[0]);
    if (!st && !folder)
        st = cli_nomem(cli);
    if (!st)
        st = fetch(cli, c, place.path, folder, &result);
    if (!st)
        cli_put(cli, "Wrote checkpoint %s to %s: %" PRId64 " files, %s, %s\n",
                in->args[0], folder, result.files, cli_size(cli, result.size_bytes),
                result.has_manifest ? "checked against its manifest"
                                    : "their sizes checked");
    return st;
}

/* ---- deleting -------------------------------------------------------------------- */

static bool is_best(struct cli *cli, const struct json *c)
{
    struct json *reply;

    if (cli_get(cli, &reply, "/api/v1/trials/%" PRId64,
                json_i64(json_path(c, "training.trialId"), 0)))
        return false;
    return !strcmp(json_str(json_path(reply, "trial.bestCheckpoint.uuid"), ""),
                   json_str(json_get(c, "uuid"), "-"));
}

/* Before the question, what one would regret. */
static det_status warn_of(struct cli *cli, const char *uuid)
{
    const struct json *c;
    det_status st = get_checkpoint(cli, uuid, &c);

    if (st)
        return st;
    if (is_best(cli, c))
        cli_note(cli, "checkpoint %s is the best of trial %" PRId64, uuid,
                 json_i64(json_path(c, "training.trialId"), 0));
    if (json_bool(json_get(c, "held"), false))
        cli_note(cli, "another trial began from checkpoint %s", uuid);
    return DET_OK;
}

static det_status confirm(struct cli *cli, const struct cli_invocation *in)
{
    char question[120];
    bool yes;
    det_status st;

    if (in->arg_count == 1)
        snprintf(question, sizeof(question), "Delete checkpoint %s?", in->args[0]);
    else
        snprintf(question, sizeof(question), "Delete %zu checkpoints?", in->arg_count);
    st = cli_confirm(cli, question, &yes);
    if (!st && !yes)
        st = cli_fail(cli, DET_FAILED, "nothing was deleted");
    return st;
}

det_status run_checkpoint_delete(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct yes_options *options = in->options;
    struct json_writer w = JSON_WRITER(&body);
    det_status st = DET_OK;

    jw_object(&w, NULL);
    jw_array(&w, "checkpointUuids");
    for (size_t i = 0; i < in->arg_count && !st; i++) {
        st = warn_of(cli, in->args[i]);
        jw_str(&w, NULL, in->args[i]);
    }
    jw_end_array(&w);
    jw_end_object(&w);
    if (!st && body.status)
        st = cli_nomem(cli);
    if (!st && !options->yes)
        st = confirm(cli, in);
    if (!st)
        st = cli_send(cli, "DELETE", body.data, NULL, "/api/v1/checkpoints");
    for (size_t i = 0; i < in->arg_count && !st; i++)
        cli_put(cli, "Deleting checkpoint %s\n", in->args[i]);
    return st;
}
