/* SPDX-License-Identifier: Apache-2.0 */
/* shard.c - see shard.h. */
#include "libdet/checkpoint/shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "libdet/checkpoint/checkpoint_seal.h"
#include "libdet/checkpoint/saver.h"
#include "libdet/checkpoint/shard_impl.h"

enum { STRINGS = 1 << 30, REPORT_TRIES = 30, REPORT_PAUSE_US = 1000000 };

/* ---- made and ended -------------------------------------------------------------- */

void shard_free(struct shard *shard)
{
    mem_free(shard);
}

void shard_failed(struct shard *shard, det_status status, const struct err *err)
{
    shard->failed.status = status;
    snprintf(shard->failed.text, sizeof(shard->failed.text), "%s",
             err->text[0] ? err->text : det_status_text(status));
}

det_status shard_has_failed(const struct shard *shard, struct err *err)
{
    const struct err *failed = &shard->failed;

    return failed->status ? err_set(err, failed->status, "%s", failed->text) : DET_OK;
}

const struct err *shard_failure(struct shard *shard)
{
    if (!shard->failed.status)
        (void)err_set(&shard->failed, DET_STATE, "it gave the checkpoint up");
    return &shard->failed;
}

void shard_discard(det_checkpoint *checkpoint)
{
    const struct storage *storage = &checkpoint->storage;
    const struct shard *shard = checkpoint->shard;

    if (checkpoint->draft)
        storage->ops->discard(storage, checkpoint->draft);
    if (shard->ranks.rank)
        return;
    if (checkpoint->is_named && !shard->is_reported)
        (void)storage->ops->remove(storage, checkpoint->uuid, NULL);
    else if (!checkpoint->is_named && shard->whole)
        storage->ops->discard(storage, shard->whole);
}

void shard_abort(det_checkpoint *checkpoint)
{
    struct shard *shard = checkpoint->shard;
    CONTEXT_ERR(err);

    if (!shard->has_met) {
        const struct err *failure = shard_failure(shard);

        (void)shard_join(checkpoint, failure->status, failure, &err);
    }
}

/* ---- beginning: 1 ---------------------------------------------------------------- */

static void write_wishes(struct buf *body, const det_checkpoint_options *options)
{
    struct json_writer w = JSON_WRITER(body);

    jw_object(&w, NULL);
    jw_i64(&w, "steps", options->steps);
    jw_raw(&w, "metadata", options->metadata ? options->metadata : "{}");
    jw_end_object(&w);
}

/* Only valid JSON may be sent: the others could not parse the rest. */
static det_status check_metadata(const char *metadata, struct arena *mem,
                                 struct err *err)
{
    struct json *tree;
    det_status st = DET_OK;

    if (metadata)
        st = json_parse(metadata, strlen(metadata), mem, &tree, err);
    if (st)
        return st == DET_INVALID ? err_prefix(err, "the metadata is not JSON") : st;
    if (metadata && tree->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "the metadata is %s; expected an object",
                       json_kind_name(tree->kind));
    return DET_OK;
}

static det_status say_contradiction(struct arena *mem, const struct json *there,
                                    int there_rank, const struct json *here,
                                    int here_rank, struct err *err)
{
    const char *one = json_text(mem, there);
    const char *other = json_text(mem, here);

    return err_set(err, DET_INVALID,
                   "rank %d has '%s' in its metadata as %.200s, rank %d as %.200s",
                   there_rank, there->key, one ? one : "?", here_rank,
                   other ? other : "?");
}

/* The rank that a key came from: the lowest one counts. */
static int owner_of(struct json **bodies, const char *key, int below)
{
    for (int i = 0; i < below; i++)
        if (json_get(json_get(bodies[i], "metadata"), key))
            return i;
    return 0;
}

static det_status merge_metadata(det_checkpoint *checkpoint, struct json **bodies,
                                 struct json *merged, struct err *err)
{
    struct arena *mem = &checkpoint->mem;

    for (int i = 0; i < checkpoint->shard->ranks.size; i++)
        json_each(item, json_get(bodies[i], "metadata")) {
            struct json *there = json_get(merged, item->key);

            if (there && !json_equal(there, item))
                return say_contradiction(mem, there, owner_of(bodies, item->key, i),
                                         item, i, err);
            if (!there)
                json_set(mem, merged, item->key, json_copy(mem, item));
        }
    return mem->has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}

static det_status merge_steps(det_checkpoint *checkpoint, struct json **bodies,
                              struct err *err)
{
    int owner = -1;

    for (int i = 0; i < checkpoint->shard->ranks.size; i++) {
        int64_t steps = json_i64(json_get(bodies[i], "steps"), -1);

        if (steps < 0)
            continue;
        if (owner >= 0 && steps != checkpoint->steps)
            return err_set(err, DET_INVALID,
                           "rank %d saves after %" PRId64 " batches, rank %d after "
                           "%" PRId64,
                           owner, checkpoint->steps, i, steps);
        owner = i;
        checkpoint->steps = steps;
    }
    return owner < 0 ? err_set(err, DET_INVALID,
                               "no rank says how many batches the state has seen")
                     : DET_OK;
}

static det_status merge_wishes(det_checkpoint *checkpoint, struct json **bodies,
                               struct err *err)
{
    struct arena *mem = &checkpoint->mem;
    struct json *merged = json_new(mem, JSON_OBJECT);
    det_status st =
        merged ? merge_steps(checkpoint, bodies, err) : err_default(err, DET_NOMEM);

    if (!st)
        st = merge_metadata(checkpoint, bodies, merged, err);
    if (st)
        return st;
    json_set(mem, merged, "steps_completed", json_new_i64(mem, checkpoint->steps));
    checkpoint->metadata = merged;
    return mem->has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}

/* ---- beginning: 2 and 3 ---------------------------------------------------------- */

static det_status make_whole(det_checkpoint *checkpoint, struct buf *body,
                             struct err *err)
{
    const struct storage *storage = &checkpoint->storage;
    struct json_writer w = JSON_WRITER(body);
    det_status st = storage->ops->prepare(storage, &checkpoint->mem, err);

    if (!st)
        st = checkpoint_make_draft(checkpoint, err);
    if (st)
        return st;
    checkpoint->shard->whole = checkpoint->draft;
    checkpoint->draft = NULL;
    jw_object(&w, NULL);
    jw_str(&w, "uuid", checkpoint->uuid);
    jw_str(&w, "whole", checkpoint->shard->whole);
    jw_end_object(&w);
    return DET_OK;
}

static det_status see_whole(det_checkpoint *checkpoint, struct json *body,
                            struct err *err)
{
    const char *uuid = json_str(json_get(body, "uuid"), "");
    const char *whole = json_str(json_get(body, "whole"), "");
    struct io_stat found;
    det_status st = io_stat(checkpoint->context->world.io, whole, &found, err);

    checkpoint->shard->whole = whole;
    snprintf(checkpoint->uuid, sizeof(checkpoint->uuid), "%s", uuid);
    if (st == DET_NOT_FOUND)
        return err_set(err, DET_NOT_FOUND,
                       "it cannot find '%s': all nodes must share the checkpoint "
                       "storage (type shared_fs)",
                       whole);
    return st;
}

/* With its own uuid, so a left-over part is recognised. */
static det_status make_part(det_checkpoint *checkpoint, struct err *err)
{
    unsigned char random[16];
    char uuid[UUID_TEXT];
    det_status st = rng_secret(random, sizeof(random), err);

    if (st)
        return st;
    uuid_format(random, uuid);
    return checkpoint_open_draft(checkpoint, uuid, err);
}

/* Every rank goes through all meetings, even after a failure, until all know of it. */
static det_status open_together(det_checkpoint *checkpoint, det_status status,
                                const struct err *said,
                                const det_checkpoint_options *options, struct err *err)
{
    CLEANUP(buf_done) struct buf wishes = BUF_INIT;
    CLEANUP(buf_done) struct buf place = BUF_INIT;
    struct shard *shard = checkpoint->shard;
    struct json **bodies;
    struct json *body = NULL;
    CONTEXT_ERR(own);
    det_status st;

    write_wishes(&wishes, options);
    st = shard_meet(shard, status, said, &wishes, &checkpoint->mem, &bodies, err);
    if (!st) {
        st = merge_wishes(checkpoint, bodies, err);
        shard->owes = st == DET_NOMEM;
    }
    if (st && !shard->owes)
        return st;
    if (!st && !shard->ranks.rank)
        st = make_whole(checkpoint, &place, &own);
    if (st)
        (void)err_default(&own, st);
    status = st;
    st = shard_hear(shard, shard->ranks.rank ? DET_OK : status, &own, &place,
                    &checkpoint->mem, &body, err);
    if (st && !shard->owes)
        return st;
    if (!status && st)
        status = st;
    if (!status && shard->ranks.rank)
        status = see_whole(checkpoint, body, &own);
    if (!status)
        status = make_part(checkpoint, &own);
    return shard_meet(shard, status, &own, NULL, &checkpoint->mem, NULL, err);
}

static det_status prepare_part(det_context *context,
                               const det_checkpoint_options *options,
                               det_checkpoint *checkpoint, struct err *err)
{
    det_status st = check_metadata(options->metadata, &checkpoint->mem, err);

    if (!st)
        st = storage_open(context, &checkpoint->mem, &checkpoint->storage, err);
    if (!st && checkpoint->is_overlapped)
        st = saver_begin(context, err);
    if (st) /* the saver is not held */
        checkpoint->is_overlapped = false;
    return st;
}

/* There is no memory to begin with; tells the others. */
static det_status decline_meeting(const det_checkpoint_options *options,
                                  struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    struct shard asking = {.group = options->group,
                           .ranks = *det_distributed_ranks(options->group)};
    CONTEXT_ERR(own);
    det_status st = shard_meet(&asking, DET_NOMEM, &own, NULL, &mem, NULL, err);

    return st ? st : err_default(err, DET_NOMEM);
}

static det_checkpoint *new_part(det_context *context,
                                const det_checkpoint_options *options)
{
    det_checkpoint *checkpoint;

    if (checkpoint_new(context, options, &checkpoint, NULL))
        return NULL;
    checkpoint->shard = mem_new(struct shard);
    if (!checkpoint->shard) {
        checkpoint_free(checkpoint);
        return NULL;
    }
    checkpoint->shard->group = options->group;
    checkpoint->shard->ranks = *det_distributed_ranks(options->group);
    return checkpoint;
}

det_status shard_begin(det_context *context, const det_checkpoint_options *options,
                       det_checkpoint **ret_checkpoint, struct err *err)
{
    det_checkpoint *checkpoint;
    CONTEXT_ERR(own);
    det_status st = DET_OK;

    if (saver_has_part(context))
        st = shard_wait(context, 0, err);
    if (st)
        return st;
    checkpoint = new_part(context, options);
    if (!checkpoint)
        return decline_meeting(options, err);
    st = saver_collect(context, NULL, &own);
    if (st)
        checkpoint->is_overlapped = false;
    else
        st = prepare_part(context, options, checkpoint, &own);
    st = open_together(checkpoint, st, &own, options, err);
    if (!st) {
        *ret_checkpoint = checkpoint;
        return DET_OK;
    }
    if (checkpoint->is_overlapped)
        saver_leave(context);
    checkpoint_discard(checkpoint);
    return st;
}

/* ---- the end --------------------------------------------------------------------- */

/* On rank 0, with all files in one place. */
static det_status publish_whole(det_checkpoint *checkpoint, struct err *err)
{
    struct io *io = checkpoint->context->world.io;
    const char *whole = checkpoint->shard->whole;
    det_status st = DET_OK;

    if (!checkpoint->is_named) {
        st = manifest_verify(io, whole, &checkpoint->manifest, false, err);
        if (!st)
            st = checkpoint_add_metadata(checkpoint, whole, err);
    }
    if (!st)
        st = checkpoint_publish(checkpoint, whole, err);
    return st ? st : checkpoint_report(checkpoint, err);
}

/* The others wait meanwhile.  While the ring is full, an overlapped checkpoint is
 * retried here. */
static det_status publish_patiently(det_checkpoint *checkpoint, struct err *err)
{
    int tries = checkpoint->is_overlapped ? REPORT_TRIES : 0;
    det_status st = publish_whole(checkpoint, err);

    for (; st == DET_BUSY && checkpoint->is_named && tries > 0; tries--) {
        clock_pause(checkpoint->context->world.clock, REPORT_PAUSE_US);
        st = checkpoint_report(checkpoint, err);
    }
    return st;
}

static void remember_latest(const det_checkpoint *checkpoint)
{
    det_context *context = checkpoint->context;

    if (!checkpoint->shard->ranks.local_rank) {
        checkpoint_remember(checkpoint);
        return;
    }
    lock_take(&context->lock);
    memcpy(context->latest, checkpoint->uuid, UUID_TEXT);
    lock_give(&context->lock);
}

static det_status end_together(det_checkpoint *checkpoint, det_status status,
                               const struct err *said, struct err *err)
{
    struct shard *shard = checkpoint->shard;
    CONTEXT_ERR(own);
    det_status st = DET_OK;

    if (!shard->is_reported_only)
        st = shard_join(checkpoint, status, said, err);
    if (st)
        return st;
    if (!shard->ranks.rank && !shard->is_reported) {
        st = publish_patiently(checkpoint, &own);
        shard->is_reported = !st;
    }
    if (shard->is_reported) /* even if no other rank is left to tell */
        remember_latest(checkpoint);
    st = shard_hear(shard, st, &own, NULL, &checkpoint->mem, NULL, err);
    shard->is_reported_only = st == DET_BUSY;
    if (st)
        return st;
    checkpoint->storage.ops->discard(&checkpoint->storage, checkpoint->draft);
    if (!shard->is_reported)
        remember_latest(checkpoint);
    return DET_OK;
}

det_status shard_commit(det_checkpoint *checkpoint, struct err *err)
{
    struct shard *shard = checkpoint->shard;
    CONTEXT_ERR(own);
    det_status st = shard->failed.status;

    if (shard->has_met && !shard->is_reported_only)
        return err_set(err, DET_STATE,
                       "the ranks have given this checkpoint up: abort it");
    if (st)
        return end_together(checkpoint, st, &shard->failed, err);
    if (!shard->is_reported_only)
        st = checkpoint_list_part(checkpoint, &own);
    return end_together(checkpoint, st, &own, err);
}

/* ---- in the background ----------------------------------------------------------- */

/* Whether all parts are written.  Uses the group directly, because the checkpoint
 * belongs to the saver until then. */
static det_status all_are_done(struct shard *asking, bool is_done, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json **bodies;
    det_status st;

    buf_puts(&body, is_done ? "true" : "false");
    st = shard_meet(asking, DET_OK, NULL, &body, &mem, &bodies, err);
    for (int i = 0; i < asking->ranks.size && !st; i++)
        if (!json_bool(bodies[i], false))
            st = err_set(err, DET_TIMEOUT,
                         "the checkpoint is still being written by rank %d", i);
    return st;
}

det_status shard_wait(det_context *context, int64_t deadline_us, struct err *err)
{
    struct shard asking = {.group = saver_group(context)};
    const struct err *failed;
    det_checkpoint *checkpoint;
    CONTEXT_ERR(own);
    bool is_done = saver_is_quiet(context, deadline_us);
    det_status st;

    asking.ranks = *det_distributed_ranks(asking.group);
    st = all_are_done(&asking, is_done, err);
    if (st == DET_TIMEOUT || (st && !is_done))
        return st;
    checkpoint = saver_part(context, &failed);
    if (!st)
        st = end_together(checkpoint, failed->status, failed, &own);
    else if (asking.owes)
        st = end_together(checkpoint, st, err, &own);
    else
        (void)err_set(&own, st, "%s", err->text);
    saver_joined(context, st, &own);
    return DET_OK;
}

det_distributed *shard_group(const struct shard *shard)
{
    return shard->group;
}
