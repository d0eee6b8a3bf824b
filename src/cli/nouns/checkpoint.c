/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - `det checkpoint`: lists, describes, downloads and deletes. */
#include "cli/nouns/checkpoint.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/rng.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/frame/prompt.h"
#include "cli/nouns/checkpoint_copy.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/output/term.h"
#include "cli/trials/checkpoint_fetch.h"
#include "config/experiment_config.h"
#include "data/base64.h"
#include "data/json/json.h"

/* ---- lists ----------------------------------------------------------------------- */

static const struct table_column columns[] = {
    {"UUID", TABLE_LEFT},     {"TRIAL", TABLE_RIGHT},
    {"BATCHES", TABLE_RIGHT}, {"STATE", TABLE_LEFT},
    {"METRIC", TABLE_RIGHT},  {"SIZE", TABLE_RIGHT},
    {"SAVED", TABLE_LEFT},    {0}};

/* The API has no state for a checkpoint that is being deleted. */
static const char *state_of(const struct json *c)
{
    return json_is_null(json_get(c, "deletion")) ? format_state(json_get(c, "state"))
                                                 : "DELETING";
}

static int64_t size_of(const struct json *c)
{
    int64_t size = 0;

    json_each(file, json_get(c, "resources"))
        size += json_i64(file, 0);
    return size;
}

static void add_checkpoint(struct cli *cli, struct table *table, const struct json *c)
{
    const char *state = state_of(c);
    int64_t size = size_of(c);

    table_add(table, json_str(json_get(c, "uuid"), ""));
    table_add(table, format_i64(cli, json_i64(json_path(c, "training.trialId"), 0)));
    table_add(table,
              format_i64(cli, json_i64(json_path(c, "metadata.steps_completed"), 0)));
    table_add_colored(table, state, format_state_color(state));
    table_add_raw(table, format_number(cli, json_path(c, "training.searcherMetric")),
                  format_json(cli, json_path(c, "training.searcherMetric")));
    table_add_raw(table, format_size(cli, (uint64_t)size), format_i64(cli, size));
    table_add_raw(table, format_time(cli, json_get(c, "reportTime")),
                  json_str(json_get(c, "reportTime"), ""));
}

det_status checkpoint_print_table(struct cli *cli, const struct json *checkpoints)
{
    struct table table;

    table_init(&table, &cli->mem, columns);
    json_each(c, checkpoints)
        add_checkpoint(cli, &table, c);
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
            "--experiment and --trial cannot be used together: a trial belongs to "
            "one experiment");
    if (!of_trial && options->experiment == CLI_UNSET)
        return cli_fail(cli, DET_INVALID,
                        "either --experiment ID or --trial ID is needed");
    st = cli_get(cli, &reply,
                 "/api/v1/%s/%" PRId64 "/checkpoints?sortByAttr=SORT_BY_END_TIME",
                 of_trial ? "trials" : "experiments",
                 of_trial ? options->trial : options->experiment);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "checkpoints"));
    return checkpoint_print_table(cli, json_get(reply, "checkpoints"));
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

/* The path of a checkpoint on the machine that wrote it. */
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
        return cli_fail(
            cli, DET_UNSUPPORTED,
            "the checkpoint is not stored in a directory: download it from its "
            "storage by other means");
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
    cli_print_field(cli, "deleting", format_time(cli, json_get(deletion, "since")));
    if (!error && *agent)
        cli_print_field(cli, "waits for",
                        arena_printf(&cli->mem, "agent %s%s", agent,
                                     json_bool(json_get(deletion, "shared"), false)
                                         ? ", or another that reaches the storage"
                                         : ""));
    if (!error)
        return;
    cli_print_field(cli, "failed", error);
    cli_print_field(cli, "tries",
                    format_i64(cli, json_i64(json_get(deletion, "tries"), 0)));
    cli_print_field(cli, "next try", format_time(cli, json_get(deletion, "nextTry")));
}

enum { NAME_WIDTH = 40 };

/* Aligns the sizes, except after very long names. */
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
                format_size(cli, (uint64_t)json_i64(file, 0)));
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
    cli_print_field(cli, "state", state_of(c));
    put_deletion(cli, json_get(c, "deletion"));
    cli_print_field(cli, "kind", json_str(json_path(c, "metadata.kind"), ""));
    cli_print_field(
        cli, "experiment",
        format_i64(cli, json_i64(json_path(c, "training.experimentId"), 0)));
    cli_print_field(cli, "trial",
                    format_i64(cli, json_i64(json_path(c, "training.trialId"), 0)));
    cli_print_field(
        cli, "batches",
        format_i64(cli, json_i64(json_path(c, "metadata.steps_completed"), 0)));
    cli_print_field(cli, "metric",
                    format_number(cli, json_path(c, "training.searcherMetric")));
    cli_print_field(cli, "saved", format_time(cli, json_get(c, "reportTime")));
    cli_print_field(cli, "size", format_size(cli, (uint64_t)size_of(c)));
    cli_print_field(cli, "place", place.path);
    if (json_bool(json_get(c, "held"), false))
        cli_print_field(cli, "kept", "another trial started from it");
    put_files(cli, json_get(c, "resources"));
    return DET_OK;
}

/* ---- downloading ----------------------------------------------------------------- */

static det_status check_state(struct cli *cli, const struct json *c)
{
    const char *state = state_of(c);

    if (!strcmp(state, "COMPLETED") || !strcmp(state, "PARTIALLY_DELETED"))
        return DET_OK;
    return cli_fail(cli, DET_STATE, "checkpoint %s is %s: there is nothing to download",
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
                        "wrote it, which this machine cannot see: run this command "
                        "there, or copy that directory",
                        uuid, place->path);
    (void)cli_fail(cli, DET_CORRUPT,
                   place->is_shared
                       ? "checkpoint %s is missing: somebody has removed '%s'"
                       : "checkpoint %s is not on this machine: '%s' was removed, or "
                         "is on the machine of another agent",
                   uuid, place->path);
    return cli_hint(cli, "'det checkpoint delete %s' removes it from the list", uuid);
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

/* Files are copied to a draft first, and renamed when all are complete: a failed copy
 * leaves nothing behind.  The draft is next to a new folder.  It is inside a folder that
 * exists, which may be a mount point or the current folder of a shell. */
struct draft {
    const char *folder;
    const char *path; /* NULL: not made */
    bool is_inside;   /* of `folder`, which exists */
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
                        "the folder '%s' is not empty; name another with -o",
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

/* `from` NULL: through the master. */
static det_status fill_draft(struct cli *cli, const struct json *c, const char *from,
                             const struct draft *draft,
                             struct checkpoint_copy_result *ret_result)
{
    det_status st = DET_OK;

    if (!from)
        st = checkpoint_fetch(cli, json_str(json_get(c, "uuid"), ""),
                              (uint64_t)size_of(c), draft->path);
    if (st)
        return st;
    return checkpoint_copy(io_system(), from ? from : draft->path,
                           from ? draft->path : NULL, json_get(c, "resources"),
                           &cli->mem, ret_result, cli->err);
}

static det_status copy_to_folder(struct cli *cli, const struct json *c,
                                 const char *from, const char *folder,
                                 struct checkpoint_copy_result *ret_result)
{
    struct draft draft = {.folder = folder};
    det_status st = draft_make(cli, &draft);

    if (!st)
        st = fill_draft(cli, c, from, &draft, ret_result);
    if (st == DET_CORRUPT && from) {
        (void)err_prefix(cli->err, "checkpoint %s", json_str(json_get(c, "uuid"), ""));
        (void)cli_hint(cli,
                       "'det checkpoint list --trial %" PRId64 "' shows the others; "
                       "the remains of this one are in '%s'",
                       json_i64(json_path(c, "training.trialId"), 0), from);
    }
    if (!st)
        st = draft_finish(cli, &draft);
    if (st && draft.path)
        (void)io_remove_tree(io_system(), draft.path, NULL);
    return st;
}

/* Where to copy the files from; *ret_from is NULL if the master must send them.  Without
 * --mode that is so if this machine does not see them; *ret_why says why not. */
static det_status choose_source(struct cli *cli, const struct json *c, const char *mode,
                                const char **ret_from, struct err *ret_why)
{
    const char *uuid = json_str(json_get(c, "uuid"), "");
    struct place place = {0};
    det_status st;

    if (!strcmp(mode, "master"))
        return DET_OK;
    st = place_of(cli, c, &place);
    if (!st)
        st = check_source(cli, uuid, &place);
    if (!st)
        *ret_from = place.path;
    if (!st || !strcmp(mode, "direct") || cli->local)
        return st;
    *ret_why = *cli->err;
    cli->err->text[0] = '\0';
    return DET_OK;
}

/* If the master does not have the files either, the first reason says more. */
static det_status keep_first_reason(struct cli *cli, det_status st,
                                    const struct err *why)
{
    bool has_nothing = st == DET_NOT_FOUND || st == DET_CORRUPT || st == DET_INVALID ||
                       st == DET_UNSUPPORTED || st == DET_FORBIDDEN;

    if (!why->status || !has_nothing)
        return st;
    *cli->err = *why;
    return why->status;
}

/* `folder` NULL: checkpoints/UUID. */
static det_status download_one(struct cli *cli, const char *uuid, const char *folder)
{
    const struct download_options *options = cli->in->options;
    struct checkpoint_copy_result result = {0};
    const char *from = NULL;
    struct err why = {0};
    const struct json *c;
    det_status st = get_checkpoint(cli, uuid, &c);

    if (!st)
        st = check_state(cli, c);
    if (!st)
        st = choose_source(cli, c, options->mode, &from, &why);
    if (!folder)
        folder = arena_printf(&cli->mem, "checkpoints/%s", uuid);
    if (!st && !folder)
        st = cli_nomem(cli);
    if (!st)
        st =
            keep_first_reason(cli, copy_to_folder(cli, c, from, folder, &result), &why);
    if (!st && !options->quiet)
        cli_put(cli, "Wrote checkpoint %s to %s: %" PRId64 " files, %s, %s\n", uuid,
                folder, result.files, format_size(cli, result.size_bytes),
                result.has_manifest ? "checked against its manifest" : "sizes checked");
    return st;
}

det_status run_checkpoint_download(struct cli *cli, const struct cli_invocation *in)
{
    const struct download_options *options = in->options;

    return download_one(cli, in->args[0], options->output);
}

/* The best or the latest checkpoint of a trial. */
static det_status find_of_trial(struct cli *cli, int64_t id, bool is_best,
                                const char **ret_uuid)
{
    struct json *reply;
    det_status st = cli_get(
        cli, &reply,
        "/api/v1/trials/%" PRId64 "/checkpoints?limit=1&states=STATE_COMPLETED&%s", id,
        is_best ? "sortByAttr=SORT_BY_SEARCHER_METRIC"
                : "sortByAttr=SORT_BY_BATCH_NUMBER&orderBy=ORDER_BY_DESC");

    if (st)
        return st;
    *ret_uuid =
        json_str(json_get(json_first(json_get(reply, "checkpoints")), "uuid"), NULL);
    return *ret_uuid ? DET_OK
                     : cli_fail(cli, DET_NOT_FOUND,
                                "trial %" PRId64 " has no checkpoint", id);
}

det_status run_trial_download(struct cli *cli, const struct cli_invocation *in)
{
    const struct download_options *options = in->options;
    const char *uuid = options->uuid;
    int64_t id;
    det_status st = cli_id(cli, "trial", in->args[0], &id);

    if (!st && options->best + options->latest + (uuid != NULL) != 1)
        st = cli_fail(cli, DET_INVALID,
                      "exactly one of --best, --latest and --uuid is needed");
    if (!st && !uuid)
        st = find_of_trial(cli, id, options->best, &uuid);
    return st ? st : download_one(cli, uuid, options->output);
}

det_status run_experiment_download_best(struct cli *cli,
                                        const struct cli_invocation *in)
{
    const struct download_options *options = in->options;
    struct json *reply;
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    if (!st)
        st = cli_get(cli, &reply,
                     "/api/v1/experiments/%" PRId64 "/checkpoints?limit=%" PRId64
                     "&states=STATE_COMPLETED&sortByAttr=SORT_BY_SEARCHER_METRIC",
                     id, options->top);
    if (!st && !json_first(json_get(reply, "checkpoints")))
        st = cli_fail(cli, DET_NOT_FOUND, "experiment %" PRId64 " has no checkpoint",
                      id);
    if (st)
        return st;
    json_each(c, json_get(reply, "checkpoints")) {
        const char *uuid = json_str(json_get(c, "uuid"), "");

        if (!st)
            st = download_one(cli, uuid,
                              arena_printf(&cli->mem, "%s/%s", options->output, uuid));
    }
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

/* Prints warnings before the question. */
static det_status print_warnings(struct cli *cli, const char *uuid)
{
    const struct json *c;
    det_status st = get_checkpoint(cli, uuid, &c);

    if (st)
        return st;
    if (is_best(cli, c))
        cli_note(cli, "checkpoint %s is the best of trial %" PRId64, uuid,
                 json_i64(json_path(c, "training.trialId"), 0));
    if (json_bool(json_get(c, "held"), false))
        cli_note(cli, "another trial started from checkpoint %s", uuid);
    return DET_OK;
}

static det_status confirm_delete(struct cli *cli, const struct cli_invocation *in)
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
        st = print_warnings(cli, in->args[i]);
        jw_str(&w, NULL, in->args[i]);
    }
    jw_end_array(&w);
    jw_end_object(&w);
    if (!st && body.status)
        st = cli_nomem(cli);
    if (!st && !options->yes)
        st = confirm_delete(cli, in);
    if (!st)
        st = cli_send(cli, "DELETE", body.data, NULL, "/api/v1/checkpoints");
    for (size_t i = 0; i < in->arg_count && !st; i++)
        cli_put(cli, "Deleting checkpoint %s\n", in->args[i]);
    return st;
}
