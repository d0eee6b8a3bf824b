/* SPDX-License-Identifier: Apache-2.0 */
/* run_notes.c - see run_notes.h. */
#include "libdet/run_notes.h"

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "libdet/context.h"

enum { FILE_BYTES = 64 << 20 };

det_status run_notes_read(det_context *context, const char *name, struct arena *mem,
                          struct json **ret_tree, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_BYTES);
    const char *path = arena_printf(mem, "%s/%s", context->notes_dir, name);
    det_status st;

    *ret_tree = NULL;
    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_read_file(context->world.io, path, &text, err);
    if (st == DET_NOT_FOUND)
        return DET_OK;
    if (st)
        return st;
    st = json_parse(text.data, text.len, mem, ret_tree, err);
    if (st == DET_INVALID)
        return err_set(err, DET_CORRUPT, "'%s' is damaged: it is not JSON", path);
    return st;
}

det_status run_notes_write(det_context *context, const char *name, struct buf *text,
                           struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    buf_printf(&path, "%s/%s", context->notes_dir, name);
    if (path.status || text->status)
        return err_default(err, DET_NOMEM);
    return io_replace(context->world.io, path.data, text->data, text->len, false, err);
}
