/* SPDX-License-Identifier: Apache-2.0 */
/* import_run.c - see import_run.h.
 *
 *   1. The experiment and its trial, which are unmanaged: found by the run's id, or
 *      created.
 *   2. The records of the ring, in batches, as a supervisor would send them.  A
 *      checkpoint is copied to its storage and checked against its manifest before its
 *      record is sent.  If it is damaged, its record is not sent either.
 *   3. The output, from the master's high-water mark on (import_output.c).
 *   4. The final state.  Until then the experiment is shown as running.
 *
 * Each step continues where an earlier attempt stopped, so a failed import is simply
 * repeated. */
#include "cli/offline/import_run.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/rng.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/nouns/checkpoint_copy.h"
#include "cli/offline/import_run_impl.h"
#include "cli/offline/offline_run.h"
#include "config/experiment_config.h"
#include "data/json/json.h"
#include "det/trial.h"
#include "libdet/client/client.h"
#include "libdet/ring/ring.h"
#include "libdet/ring/ring_reader.h"
#include "wire/batch.h"
#include "wire/report.h"

enum {
    BATCH_BYTES = 1 << 20,
    CHECKPOINT_TREE = 64 << 20,
    LOCK_WAIT_MS = 20,
    KEEP_ALL = 1000000, /* checkpoints of an imported run are never collected */
};

/* ---- the configuration ----------------------------------------------------------- */

/* The search becomes a single trial.  Without a metric name, the store uses the only
 * number of a validation, or its loss. */
static void add_searcher(struct cli *cli, struct json *config)
{
    /* the other keys are about further trials */
    static const char *const kept[] = {"metric", "smaller_is_better", "max_length",
                                       "source_trial_id", "source_checkpoint_uuid"};
    const struct json *before = json_get(config, "searcher");
    struct json *searcher = json_new(&cli->mem, JSON_OBJECT);

    if (!searcher || (before && before->kind != JSON_OBJECT))
        return;
    json_set(&cli->mem, searcher, "name", json_new_str(&cli->mem, "single"));
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const struct json *value = json_get(before, kept[i]);

        if (value)
            json_set(&cli->mem, searcher, kept[i], json_copy(&cli->mem, value));
    }
    json_set(&cli->mem, config, "searcher", searcher);
}

static void add_storage(struct import_state *b, const struct json *own,
                        struct json *config)
{
    struct arena *mem = &b->cli->mem;
    bool in_place = b->flags & IMPORT_IN_PLACE;
    struct json *storage = own ? json_copy(mem, own) : json_new(mem, JSON_OBJECT);

    if (!storage)
        return;
    if (!own && in_place) {
        json_set(mem, storage, "type", json_new_str(mem, "directory"));
        json_set(mem, storage, "container_path",
                 json_new_str(mem, arena_printf(mem, "%s/checkpoints", b->run->path)));
    }
    json_set(mem, storage, "save_trial_best", json_new_i64(mem, KEEP_ALL));
    json_set(mem, storage, "save_trial_latest", json_new_i64(mem, KEEP_ALL));
    json_set(mem, config, "checkpoint_storage", storage);
}

/* The hyperparameters are the values of this run, not the space of the search.
 * `is_bare`: without the configuration that the user wrote. */
static const char *config_text(struct import_state *b, bool is_bare)
{
    struct arena *mem = &b->cli->mem;
    struct json *config =
        is_bare ? json_new(mem, JSON_OBJECT) : json_copy(mem, b->run->config);

    if (!config)
        return NULL;
    if (!json_get(config, "name"))
        json_set(mem, config, "name", json_new_str(mem, b->run->name));
    if (!is_bare)
        json_set(mem, config, "hyperparameters", json_copy(mem, b->run->hparams));
    add_searcher(b->cli, config);
    add_storage(b, is_bare ? NULL : b->run->storage, config);
    return mem->has_failed ? NULL : json_text(mem, config);
}

/* ---- the experiment and its trial ------------------------------------------------ */

static det_status put_experiment(struct import_state *b, bool is_bare)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    const char *config = config_text(b, is_bare);
    struct json *reply;
    det_status st;

    if (!config)
        return cli_nomem(b->cli);
    jw_object(&w, NULL);
    jw_str(&w, "externalExperimentId", b->run->id);
    jw_object(&w, "createExperimentRequest");
    jw_str(&w, "config", config);
    jw_bool(&w, "unmanaged", true);
    jw_end_object(&w);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(b->cli);
    st = cli_send(b->cli, "PUT", body.data, &reply,
                  "/api/v1/experiments/by-external-id/%s", cli_url(b->cli, b->run->id));
    if (st)
        return st;
    b->to.experiment_id = json_i64(json_path(reply, "experiment.id"), 0);
    b->to.was_there = json_i64(json_path(reply, "experiment.numTrials"), 0) > 0;
    b->config = json_get(reply, "config");
    return DET_OK;
}

/* The configuration of an offline run was never checked.  If it is wrong, the run is
 * imported without it. */
static det_status find_experiment(struct import_state *b)
{
    det_status st = put_experiment(b, false);

    if (st != DET_INVALID && st != DET_UNSUPPORTED)
        return st;
    cli_note(b->cli, "%s: shown without its configuration: %s", b->run->name,
             b->cli->err->text);
    *b->cli->err = (struct err){0};
    return put_experiment(b, true);
}

static det_status find_trial(struct import_state *b)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct json *reply;
    det_status st;

    jw_object(&w, NULL);
    jw_str(&w, "externalTrialId", b->run->id);
    jw_object(&w, "createTrialRequest");
    jw_i64(&w, "experimentId", b->to.experiment_id);
    jw_json(&w, "hparams", b->run->hparams);
    jw_bool(&w, "unmanaged", true);
    jw_end_object(&w);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(b->cli);
    st = cli_send(b->cli, "PUT", body.data, &reply, "/api/v1/trials");
    if (!st)
        b->to.trial_id = json_i64(json_path(reply, "trial.id"), 0);
    return st;
}

/* ---- checkpoints ----------------------------------------------------------------- */

/* The run's own storage: in its folder, or as its configuration says. */
static const char *source_root(struct import_state *b)
{
    const struct json *storage = b->run->storage;
    const char *host = json_str(json_get(storage, "host_path"), NULL);
    const char *below = json_str(json_get(storage, "storage_path"), "");

    if (!storage)
        return arena_printf(&b->cli->mem, "%s/checkpoints", b->run->path);
    if (!host)
        return json_str(json_get(storage, "container_path"), "");
    if (!*below)
        return host;
    return *below == '/' ? below : arena_printf(&b->cli->mem, "%s/%s", host, below);
}

static det_status find_roots(struct import_state *b)
{
    const char *text = json_text(&b->cli->mem, b->config);
    struct experiment_config config;
    det_status st;

    b->from_root = source_root(b);
    if (!text || !b->from_root)
        return cli_nomem(b->cli);
    st = experiment_config_open(text, strlen(text), &b->cli->mem, &config, b->cli->err);
    if (!st)
        b->to_root = config.storage_directory;
    return st;
}

/* Two imports of the same run at once would write into one draft: the second waits for
 * the lock.  After a failure the lock file stays: waiting processes hold it open, and
 * later ones must lock the same file. */
static det_status lock_draft(struct import_state *b, const char *path,
                             struct io_file **ret_lock, struct err *err)
{
    det_status st = io_mkdir(io_system(), b->to_root, false, err);

    if (!st)
        st = io_open(io_system(), path, IO_WRITE | IO_CREATE, ret_lock, err);
    if (!st)
        st = io_lock(*ret_lock, err);
    if (st == DET_BUSY)
        cli_note(b->cli,
                 "another 'det import' is copying this checkpoint; waiting for it");
    while (st == DET_BUSY) {
        cli_sleep(LOCK_WAIT_MS);
        st = io_lock(*ret_lock, err);
    }
    return st;
}

/* Copies to a draft and renames it when it is complete. */
static det_status copy_in(struct import_state *b, const char *uuid, const char *from,
                          const char *to, const struct json *resources,
                          struct arena *mem, struct err *err)
{
    CLEANUP(io_closep) struct io_file *lock = NULL;
    struct io *io = io_system();
    const char *draft = arena_printf(mem, "%s/.det-import-%s", b->to_root, uuid);
    const char *lock_path = draft ? arena_printf(mem, "%s.lock", draft) : NULL;
    struct checkpoint_copy_result result;
    struct io_stat stat;
    det_status st;

    if (!lock_path)
        return err_default(err, DET_NOMEM);
    st = lock_draft(b, lock_path, &lock, err);
    if (st)
        return st;
    if (!io_stat(io, to, &stat, NULL)) { /* another import has copied it */
        (void)io_remove(io, lock_path, NULL);
        return DET_OK;
    }
    st = io_remove_tree(io, draft, err);
    if (!st)
        st = io_mkdir(io, draft, false, err);
    if (!st)
        st = checkpoint_copy(io, from, draft, resources, mem, &result, err);
    if (!st)
        st = io_sync_dir(io, draft, err);
    if (!st)
        st = io_rename(io, draft, to, err);
    if (!st)
        st = io_sync_dir(io, b->to_root, err);
    (void)(st ? io_remove_tree(io, draft, NULL) : io_remove(io, lock_path, NULL));
    return st;
}

static det_status import_checkpoint(struct import_state *b, const char *uuid,
                                    const struct json *resources, struct arena *mem,
                                    struct err *err)
{
    const char *from = arena_printf(mem, "%s/%s", b->from_root, uuid);
    const char *to = arena_printf(mem, "%s/%s", b->to_root ? b->to_root : "", uuid);
    struct io_stat stat;
    det_status st;

    if (!from || !to)
        return err_default(err, DET_NOMEM);
    st = io_stat(io_system(), from, &stat, err);
    if (st == DET_NOT_FOUND)
        return err_set(err, DET_CORRUPT, "'%s' is missing", from);
    if (st || !strcmp(from, to))
        return st;
    if (!b->to_root)
        return err_set(err, DET_UNSUPPORTED,
                       "the experiment's checkpoint storage is not a directory");
    if (!io_stat(io_system(), to, &stat, NULL))
        return DET_OK; /* an earlier attempt has copied it */
    return copy_in(b, uuid, from, to, resources, mem, err);
}

/* False: its record is not sent. */
static bool import_checkpoint_of(struct import_state *b, const struct report *record,
                                 det_status *ret_status)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(CHECKPOINT_TREE);
    struct json *body;
    struct err why = {0};
    const char *uuid;
    det_status st = json_parse(record->payload, record->len, &mem, &body, &why);

    uuid = st ? "" : json_str(json_get(body, "uuid"), "");
    if (!st && !uuid_is_valid(uuid))
        st = err_set(&why, DET_CORRUPT, "its uuid is '%s'", uuid);
    if (!st && !(b->flags & IMPORT_IN_PLACE))
        st = import_checkpoint(b, uuid, json_get(body, "resources"), &mem, &why);
    if (!st) {
        b->to.checkpoints++;
        return true;
    }
    if (st == DET_CORRUPT || st == DET_INVALID) {
        b->to.checkpoints_left++;
        cli_note(b->cli, "checkpoint %s was not imported: %s", uuid, why.text);
        return false;
    }
    *b->cli->err = why;
    *ret_status = err_prefix(b->cli->err, "checkpoint %s cannot be copied", uuid);
    return false;
}

/* ---- reports --------------------------------------------------------------------- */

/* Whether lists need the record. */
static bool is_in_outline(const struct report *record)
{
    return record->kind != REPORT_METRICS ||
           report_metrics_is_of(record->payload, record->len, DET_GROUP_VALIDATION);
}

/* Copies the records that are sent.  Checkpoints that are stored already are not copied
 * again. */
static det_status filter_batch(struct import_state *b, const struct buf *records,
                               struct batch_head *head, struct buf *out)
{
    det_status st = DET_OK;

    for (size_t at = 0; at < records->len && !st;) {
        struct report record;
        size_t used = 0;
        bool stays = false;

        st = report_decode(records->data + at, records->len - at, &record, &used,
                           b->cli->err);
        if (st)
            break;
        if (b->flags & IMPORT_OUTLINE)
            stays = !is_in_outline(&record);
        if (!stays && record.kind == REPORT_CHECKPOINT && record.number > b->stored)
            stays = !import_checkpoint_of(b, &record, &st);
        if (!stays) {
            buf_add(out, records->data + at, used);
            head->count++;
        }
        at += used;
    }
    return out->status ? cli_nomem(b->cli) : st;
}

static det_status post_batch(struct import_state *b, struct buf *body)
{
    const char *path = arena_printf(
        &b->cli->mem, "/api/v1/det/trials/%" PRId64 "/reports", b->to.trial_id);
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(CHECKPOINT_TREE);
    det_reply *reply;
    struct json *tree;
    const char *text;
    size_t len;
    det_status st;

    if (!path || body->status)
        return cli_nomem(b->cli);
    st = client_call_bytes(b->cli->client, "POST", path, body->data, body->len, &reply);
    if (st)
        return cli_client_failed(b->cli, st);
    text = det_reply_body(reply, &len);
    st = json_parse(text, len, &mem, &tree, b->cli->err);
    det_reply_free(reply);
    if (st)
        return st;
    b->stored = (uint64_t)json_i64(json_get(tree, "stored"), 0);
    json_each(refused, json_get(tree, "refused")) {
        b->to.refused++;
        if (b->to.refused == 1)
            cli_note(b->cli, "report %" PRId64 " was refused: %s",
                     json_i64(json_get(refused, "number"), 0),
                     json_str(json_get(refused, "error"), ""));
    }
    return DET_OK;
}

static det_status send_batch(struct import_state *b, const struct buf *records,
                             const struct ring_batch *batch)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct batch_head head = {.first = batch->first, .last = batch->last};
    uint64_t before = MAX(b->stored, batch->first - 1);
    det_status st;

    if (!buf_room(&body, BATCH_HEAD))
        return cli_nomem(b->cli);
    buf_took(&body, BATCH_HEAD);
    st = filter_batch(b, records, &head, &body);
    if (st)
        return st;
    batch_head_encode(&head, body.data);
    st = post_batch(b, &body);
    if (!st && b->stored > before)
        b->to.reports += MIN(b->stored, batch->last) - before;
    return st;
}

/* Asks for the high-water mark: a batch with far too high numbers changes nothing. */
static det_status ask_stored(struct import_state *b)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct batch_head head = {.first = UINT64_C(1) << 40, .last = UINT64_C(1) << 40};

    if (!buf_room(&body, BATCH_HEAD))
        return cli_nomem(b->cli);
    buf_took(&body, BATCH_HEAD);
    batch_head_encode(&head, body.data);
    return post_batch(b, &body);
}

/* *ret_reader is NULL if the run has not reported anything. */
static det_status open_reports(struct import_state *b, struct ring_reader **ret_reader)
{
    struct ring_config config = {
        .io = io_system(),
        .dir = arena_printf(&b->cli->mem, "%s/reports", b->run->path),
        .only_looks = true};
    struct io_stat stat;

    *ret_reader = NULL;
    if (!config.dir)
        return cli_nomem(b->cli);
    if (io_stat(io_system(), config.dir, &stat, NULL))
        return DET_OK;
    if (!ring_reader_open(&config, ret_reader, b->cli->err))
        return DET_OK;
    return err_prefix(b->cli->err, "the reports in '%s'", b->run->path);
}

/* Sends all records that were not read before. */
static det_status drain_reports(struct import_state *b, struct ring_reader *reader)
{
    CLEANUP(buf_done) struct buf records = BUF_INIT;
    struct ring_batch batch;
    det_status st = DET_OK;

    for (bool is_over = false; !st && !is_over;) {
        buf_clear(&records);
        st = ring_read(reader, BATCH_BYTES, &records, &batch, b->cli->err);
        is_over = st || batch.first > batch.last;
        if (is_over || batch.last <= b->stored)
            continue;
        b->to.lost += batch.damaged;
        st = send_batch(b, &records, &batch);
    }
    return st;
}

static det_status import_reports(struct import_state *b)
{
    struct ring_reader *reader;
    det_status st = open_reports(b, &reader);

    if (st || !reader)
        return st;
    st = drain_reports(b, reader);
    ring_reader_close(reader);
    return st;
}

/* ---- the end --------------------------------------------------------------------- */

static det_status import_notes(struct import_state *b)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);

    if (!b->run->notes || !json_first(b->run->notes))
        return DET_OK;
    jw_object(&w, NULL);
    jw_json(&w, "metadata", b->run->notes);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(b->cli);
    return cli_send(b->cli, "POST", body.data, NULL,
                    "/api/v1/runs/%" PRId64 "/metadata", b->to.trial_id);
}

static det_status import_run_state(struct import_state *b)
{
    static const char *const names[] = {[OFFLINE_RUNNING] = "STATE_RUNNING",
                                        [OFFLINE_COMPLETED] = "STATE_COMPLETED",
                                        [OFFLINE_FAILED] = "STATE_ERROR",
                                        [OFFLINE_KILLED] = "STATE_ERROR"};
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);

    jw_object(&w, NULL);
    jw_i64(&w, "trialId", b->to.trial_id);
    jw_str(&w, "state", names[b->run->state]);
    jw_time(&w, "startTime", b->run->created_us);
    if (b->run->ended_us)
        jw_time(&w, "endTime", b->run->ended_us);
    jw_i64(&w, "trialRunId", b->run->run_id);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(b->cli);
    return cli_send(b->cli, "PATCH", body.data, NULL, "/api/v1/trials/%" PRId64,
                    b->to.trial_id);
}

static det_status import_data(struct import_state *b)
{
    det_status st = find_roots(b);

    if (!st)
        st = ask_stored(b);
    if (!st)
        st = import_reports(b);
    if (!st && !(b->flags & IMPORT_OUTLINE))
        st = import_output(b);
    return st;
}

det_status import_run(struct cli *cli, const struct offline_run *run, unsigned flags,
                      struct import_result *ret_result)
{
    struct import_state b = {.cli = cli, .run = run, .flags = flags};
    det_status st = find_experiment(&b);

    if (!st)
        st = find_trial(&b);
    if (!st && !(flags & IMPORT_NAMES))
        st = import_data(&b);
    if (!st)
        st = import_notes(&b);
    if (!st)
        st = import_run_state(&b);
    *ret_result = b.to;
    return st;
}

/* ---- following a run ------------------------------------------------------------- */

det_status import_follow(struct cli *cli, const struct offline_run *run,
                         struct import_follow *f, bool *ret_did)
{
    struct import_state b = {.cli = cli,
                             .run = run,
                             .flags = IMPORT_IN_PLACE,
                             .to.trial_id = f->trial_id,
                             .stored = f->stored,
                             .knows_output = f->knows_output};
    det_status st = f->reader ? DET_OK : open_reports(&b, &f->reader);

    assert(f->trial_id > 0);
    memcpy(b.output, f->output, sizeof(b.output));
    if (!st && !f->is_known)
        st = ask_stored(&b);
    f->is_known = f->is_known || !st;
    if (!st && f->reader)
        st = drain_reports(&b, f->reader);
    if (!st)
        st = import_output(&b);
    f->stored = b.stored;
    f->knows_output = b.knows_output;
    memcpy(f->output, b.output, sizeof(f->output));
    *ret_did = b.to.reports || b.to.output_bytes;
    return st;
}

void import_follow_end(struct import_follow *f)
{
    ring_reader_close(f->reader);
    *f = (struct import_follow){0};
}

det_status import_end(struct cli *cli, const struct offline_run *run, int64_t trial_id)
{
    struct import_state b = {.cli = cli, .run = run, .to.trial_id = trial_id};
    det_status st = import_notes(&b);

    return st ? st : import_run_state(&b);
}
