/* SPDX-License-Identifier: Apache-2.0 */
/* latest_checkpoint.c - see latest_checkpoint.h. */
#include "libdet/checkpoint/latest_checkpoint.h"

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/rng.h"
#include "data/json/json.h"
#include "libdet/context.h"
#include "libdet/run_notes.h"

#define LATEST_NAME "latest.json"

det_status latest_checkpoint_write(det_context *context, const char *uuid,
                                   int64_t steps, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    if (!context->notes_dir)
        return DET_OK;
    jw_object(&w, NULL);
    jw_str(&w, "uuid", uuid);
    jw_i64(&w, "steps_completed", steps);
    jw_end_object(&w);
    buf_putc(&text, '\n');
    return run_notes_write(context, LATEST_NAME, &text, err);
}

det_status latest_checkpoint_read(det_context *context, struct arena *mem,
                                  const char **ret_uuid, int64_t *ret_steps,
                                  struct err *err)
{
    struct json *latest = NULL;
    const char *uuid;
    det_status st = DET_OK;

    if (context->notes_dir)
        st = run_notes_read(context, LATEST_NAME, mem, &latest, err);
    if (st || !latest)
        return st;
    uuid = json_str(json_get(latest, "uuid"), NULL);
    if (!uuid || !uuid_is_valid(uuid))
        return err_set(err, DET_CORRUPT,
                       "'%s/" LATEST_NAME "' is damaged: it names no checkpoint",
                       context->notes_dir);
    *ret_uuid = uuid;
    *ret_steps = json_i64(json_get(latest, "steps_completed"), 0);
    return DET_OK;
}

det_status latest_checkpoint_forget(det_context *context, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    det_status st;

    if (!context->notes_dir)
        return DET_OK;
    buf_printf(&path, "%s/" LATEST_NAME, context->notes_dir);
    st = path.status ? err_default(err, path.status)
                     : io_remove(context->world.io, path.data, err);
    if (!st)
        st = io_sync_dir(context->world.io, context->notes_dir, err);
    return st;
}
