/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.c - the notes of a trial, at the master or in the run's folder. */
#include "det/metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "libdet/client/task_call.h"
#include "libdet/context.h"
#include "libdet/run_notes.h"

enum { PATH_BYTES = 64, MEMORY_BYTES = 64 << 20 };

static const char file_name[] = "metadata.json";

/* ---- at the master --------------------------------------------------------------- */

/* `added` NULL: only reads. */
static det_status ask(det_context *context, const struct json *added, struct arena *mem,
                      const struct json **ret_all, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    char path[PATH_BYTES];
    struct json *answer;
    det_status st;

    (void)snprintf(path, sizeof(path), "/api/v1/runs/%" PRId64 "/metadata",
                   context->info.trial_id);
    jw_object(&w, NULL);
    jw_i64(&w, "runId", context->info.trial_id);
    jw_json(&w, "metadata", added);
    jw_end_object(&w);
    if (body.status)
        return err_default(err, body.status);
    st = task_call(context, added ? "POST" : "GET", path, added ? body.data : NULL, mem,
                   &answer, err);
    if (!st)
        *ret_all = json_get(answer, "metadata");
    return st;
}

/* ---- in the run's directory ------------------------------------------------------ */

static det_status change_file(det_context *context, const struct json *added,
                              struct arena *mem, const struct json **ret_all,
                              struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *all;
    det_status st = run_notes_read(context, file_name, mem, &all, err);

    if (st)
        return st;
    if (all && all->kind != JSON_OBJECT)
        return err_set(
            err, DET_CORRUPT,
            "'%s/%s' is damaged: it contains no notes; remove it to start again",
            context->notes_dir, file_name);
    if (!all)
        all = json_new(mem, JSON_OBJECT);
    json_merge(mem, all, added);
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    *ret_all = all;
    if (!added)
        return DET_OK;
    json_write(&text, all);
    buf_putc(&text, '\n');
    return run_notes_write(context, file_name, &text, err);
}

/* ---- public functions ------------------------------------------------------------ */

static det_status parse_added(const char *text, struct arena *mem,
                              struct json **ret_added, struct err *err)
{
    det_status st;

    if (!text)
        return err_set(err, DET_INVALID, "the notes to add are NULL");
    st = json_parse(text, strlen(text), mem, ret_added, err);
    if (st)
        return st == DET_INVALID ? err_prefix(err, "the notes are not JSON") : st;
    if ((*ret_added)->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "the notes are %s; expected an object",
                       json_kind_name((*ret_added)->kind));
    return DET_OK;
}

static det_status give_metadata(const struct json *all, struct arena *mem, char *text,
                                size_t size, size_t *ret_len)
{
    const char *whole = all ? json_text(mem, all) : "{}";

    if (!whole)
        return DET_NOMEM;
    if (size)
        (void)snprintf(text, size, "%s", whole);
    if (ret_len)
        *ret_len = strlen(whole);
    return DET_OK;
}

static det_status read_or_merge(det_context *context, const struct json *added,
                                struct arena *mem, const struct json **ret_all,
                                struct err *err)
{
    det_status st;

    if (context->info.is_on_cluster)
        return ask(context, added, mem, ret_all, err);
    lock_take(&context->lock); /* two threads that add must not lose anything */
    st = change_file(context, added, mem, ret_all, err);
    lock_give(&context->lock);
    return st;
}

det_status det_metadata_get(det_context *context, char *text, size_t size,
                            size_t *ret_len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEMORY_BYTES);
    const struct json *all = NULL;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st)
        st = read_or_merge(context, NULL, &mem, &all, &err);
    if (!st)
        st = give_metadata(all, &mem, text, size, ret_len);
    return context_end(context, st, &err);
}

det_status det_metadata_set(det_context *context, const char *metadata, char *text,
                            size_t size, size_t *ret_len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEMORY_BYTES);
    const struct json *all = NULL;
    struct json *added;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st)
        st = parse_added(metadata, &mem, &added, &err);
    if (!st)
        st = read_or_merge(context, added, &mem, &all, &err);
    if (!st)
        st = give_metadata(all, &mem, text, size, ret_len);
    return context_end(context, st, &err);
}
