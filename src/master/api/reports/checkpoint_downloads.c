/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_downloads.c - the files of a checkpoint as one archive.
 *
 * The archive holds the files that were reported (paths and sizes in the checkpoint's row),
 * not everything in the directory.  All files are checked before the first byte is sent, so
 * a missing file gives a clear error.  If a file vanishes or changes later, the connection
 * is closed, and the client does not take a part for the whole.
 *
 *   api_download_checkpoint() (worker)   row, storage directory, list of files
 *     -> check_files() (lane of files)     do they exist with their reported sizes?
 *       -> next_piece() (lane of files)      one piece of the archive after the other
 *
 * One file can be fetched by itself, for looking at it (get_checkpoint_file).  Its content
 * type is one that runs nothing: markup is plain text.
 *
 * stored_files.h says how the storage is read. */
#include <inttypes.h>
#include <string.h>

#include "base/io/io.h"
#include "data/archive/archive.h"
#include "data/text.h"
#include "master/api/api.h"
#include "master/api/reports/checkpoints.h"
#include "master/api/reports/media.h"
#include "master/api/reports/stored_files.h"
#include "master/request/error_body.h"
#include "master/request/request_stream.h"
#include "store/checkpoint/checkpoint.h"
#include "wire/queries.h"

enum {
    READ_BYTES = 256 << 10,
    PIECE_BYTES = 256 << 10, /* of the archive */
    STEP_READS = 4, /* highly compressible data must not hold a lane for long */
};

struct packed_file {
    const char *path;  /* in the archive: relative to the checkpoint */
    const char *below; /* relative to the storage */
    uint64_t size_bytes;
    bool is_directory;
};

struct download {
    struct request *req;
    struct stored_place place;
    const char *uuid;
    int64_t modified_s;
    struct packed_file *files;
    uint32_t count;
    enum archive_format format;
    const char *ending;

    uint32_t next;        /* index of the next file */
    struct io_file *file; /* the current file; NULL: none */
    uint64_t at;
    struct archive_writer *writer;
    char *bytes; /* room for READ_BYTES, in the request's memory */
};

/* ---- formats ---------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *type;
    enum archive_format format;
} formats[] = {
    {"tgz", "application/gzip", ARCHIVE_TGZ_FAST},
    {"tar", "application/x-tar", ARCHIVE_TAR},
    {"zip", "application/zip", ARCHIVE_ZIP},
};
enum { PLAIN_TAR = 1, NO_FORMAT = -1 };
#define PLAIN_TEXT "text/plain; charset=utf-8"

static bool is_type(const char *text, size_t len, const char *type)
{
    return strlen(type) == len && !strncasecmp(text, type, len);
}

/* The first supported type in Accept; a wildcard gets a tar. */
static int format_accepted(const char *accept)
{
    if (!accept || !*accept)
        return PLAIN_TAR;
    for (const char *at = accept; *at;) {
        size_t whole = strcspn(at, ",");
        size_t skip = strspn(at, " \t");
        size_t len = skip < whole ? strcspn(at + skip, ",; \t") : 0;

        if (is_type(at + skip, len, "*/*") || is_type(at + skip, len, "application/*"))
            return PLAIN_TAR;
        for (size_t i = 0; i < ARRAY_LEN(formats); i++)
            if (is_type(at + skip, len, formats[i].type))
                return (int)i;
        at += whole + (at[whole] == ',');
    }
    return NO_FORMAT;
}

static int format_named(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (!strcmp(name, formats[i].name))
            return (int)i;
    return NO_FORMAT;
}

static det_status refuse_type(struct request *req)
{
    req->http_status = 415;
    error_body_write(&req->out, DET_INVALID,
                     "Accept must name application/gzip, application/x-tar or "
                     "application/zip");
    return DET_OK;
}

/* How one file is served, by its ending; all others as bytes to be saved. */
static const struct {
    const char *ending;
    const char *type;
} file_types[] = {
    {".png", "image/png"}, {".jpg", "image/jpeg"},  {".jpeg", "image/jpeg"},
    {".gif", "image/gif"}, {".webp", "image/webp"}, {".json", PLAIN_TEXT},
    {".txt", PLAIN_TEXT},  {".md", PLAIN_TEXT},     {".yaml", PLAIN_TEXT},
    {".yml", PLAIN_TEXT},  {".toml", PLAIN_TEXT},   {".ini", PLAIN_TEXT},
    {".py", PLAIN_TEXT},   {".sh", PLAIN_TEXT},     {".csv", PLAIN_TEXT},
    {".tsv", PLAIN_TEXT},  {".log", PLAIN_TEXT},    {".html", PLAIN_TEXT},
    {".svg", PLAIN_TEXT},  {".xml", PLAIN_TEXT},    {".pbtxt", PLAIN_TEXT},
};

static const char *file_type(const char *path)
{
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < ARRAY_LEN(file_types); i++)
        if (!strcasecmp(dot, file_types[i].ending))
            return file_types[i].type;
    return "application/octet-stream";
}

/* ---- the list of files -------------------------------------------------------------- */

static det_status read_files(struct request *req, const struct checkpoint *row,
                             struct download *d)
{
    struct json *tree;
    uint32_t count = 0;
    det_status st =
        json_parse(row->resources, strlen(row->resources), &req->mem, &tree, req->err);

    if (st)
        return st;
    json_each(item, tree)
        count++;
    d->files = arena_array(&req->mem, struct packed_file, count + 1);
    if (!d->files)
        return DET_NOMEM;
    json_each(item, tree) {
        struct packed_file *file = &d->files[d->count];
        size_t len = strlen(item->key);

        if (!len || !path_is_inside(item->key))
            return err_set(req->err, DET_INVALID,
                           "checkpoint %s lists the file '%.200s', which is outside of "
                           "its directory",
                           row->uuid, item->key);
        file->path = item->key;
        file->below = arena_printf(&req->mem, "%s%s%s/%s", d->place.below,
                                   d->place.below[0] ? "/" : "", row->uuid, item->key);
        file->size_bytes = (uint64_t)json_i64(item, 0);
        file->is_directory = item->key[len - 1] == '/';
        if (!file->below)
            return DET_NOMEM;
        d->count++;
    }
    return DET_OK;
}

/* ---- reading --------------------------------------------------------------------- */

static det_status open_file(struct download *d, const struct packed_file *file,
                            struct io_file **ret_file, struct err *err)
{
    uint64_t size_bytes;
    det_status st = stored_file_open(d->req, &d->place, file->below, ret_file, err);

    if (st == DET_NOT_FOUND)
        return err_set(err, DET_NOT_FOUND,
                       "the file '%s' of checkpoint %s is not in %s on the master's "
                       "machine",
                       file->path, d->uuid, d->place.root);
    if (st == DET_FORBIDDEN && d->place.user.uid)
        return err_set(err, st,
                       "the tasks' user may not read the file '%s' of checkpoint %s",
                       file->path, d->uuid);
    if (st)
        return st;
    st = io_size(*ret_file, &size_bytes, err);
    if (!st && size_bytes != file->size_bytes)
        st = err_set(err, DET_STATE,
                     "the file '%s' of checkpoint %s has %" PRIu64
                     " bytes; it had %" PRIu64 " when it was reported",
                     file->path, d->uuid, size_bytes, file->size_bytes);
    if (st) {
        io_close(*ret_file);
        *ret_file = NULL;
    }
    return st;
}

static det_status begin_file(struct download *d, struct err *err)
{
    const struct packed_file *file = &d->files[d->next++];
    const struct archive_entry_in entry = {
        .path = file->path,
        .is_directory = file->is_directory,
        .mode = file->is_directory ? 0755 : 0644,
        .modified_s = d->modified_s,
        .size_bytes = file->size_bytes,
    };
    det_status st = file->is_directory ? DET_OK : open_file(d, file, &d->file, err);

    d->at = 0;
    return st ? st : archive_begin(d->writer, &entry, err);
}

static det_status read_file(struct download *d, struct err *err)
{
    const struct packed_file *file = &d->files[d->next - 1];
    uint64_t left = file->size_bytes - d->at;
    size_t want = left < READ_BYTES ? (size_t)left : READ_BYTES;
    size_t len;
    det_status st = io_read_at(d->file, d->at, d->bytes, want, &len, err);

    if (!st && len < want)
        st = err_set(err, DET_STATE, "the file '%s' was cut while it was read",
                     file->path);
    if (!st)
        st = archive_data(d->writer, d->bytes, len, err);
    d->at += st ? 0 : len;
    if (!st && d->at == file->size_bytes) {
        io_close(d->file);
        d->file = NULL;
    }
    return st;
}

static det_status next_piece(struct request *req, struct buf *out,
                             enum net_more *ret_more)
{
    struct download *d = req->state;
    det_status st = DET_OK;

    for (int reads = 0; !st && reads < STEP_READS && out->len < PIECE_BYTES; reads++) {
        if (!d->file && d->next == d->count) {
            *ret_more = NET_END;
            return archive_finish(d->writer, out, req->err);
        }
        st = d->file ? read_file(d, req->err) : begin_file(d, req->err);
        if (!st)
            st = archive_take(d->writer, out, req->err);
    }
    *ret_more = NET_MORE;
    return st;
}

static void download_ended(struct request *req)
{
    struct download *d = req->state;

    io_close(d->file);
    archive_writer_free(d->writer);
}

/* On the lane of files: a network file system may be slow. */
static det_status check_files(struct request *req)
{
    struct download *d = req->state;
    const char *name;
    det_status st = DET_OK;

    for (uint32_t i = 0; !st && i < d->count && !req->is_gone; i++) {
        struct io_file *file = NULL;

        if (!d->files[i].is_directory)
            st = open_file(d, &d->files[i], &file, req->err);
        io_close(file);
    }
    if (!st)
        st = archive_writer_new(d->format, &d->writer, req->err);
    if (st)
        return st;
    name = arena_printf(&req->mem, "attachment; filename=\"checkpoint-%s.%s\"", d->uuid,
                        d->ending);
    if (!name)
        return DET_NOMEM;
    request_header(req, "Content-Disposition", name);
    return request_stream_on(req, req->master->files, next_piece);
}

static det_status find_checkpoint(struct request *req, struct checkpoint *ret_row)
{
    det_status st;

    if (!uuid_is_valid(req->arg[0]))
        return err_set(req->err, DET_INVALID, "'%s' is not a checkpoint's uuid",
                       req->arg[0]);
    st = store_checkpoint_get(req->db, req->arg[0], &req->mem, ret_row, req->err);
    if (!st &&
        (ret_row->state == CHECKPOINT_DELETED || ret_row->state == CHECKPOINT_DELETING))
        st = err_set(req->err, DET_NOT_FOUND,
                     "checkpoint %s was deleted: its files are gone", ret_row->uuid);
    return st;
}

/* A root's master sends only what the run that wrote it may read. */
static det_status find_user(struct request *req, struct download *d)
{
    const char *text;
    det_status st;

    if (!req->master->is_root)
        return DET_OK;
    st = run_user_of_checkpoint(req->master, req->db, d->uuid, &req->mem, &text,
                                req->err);
    return st ? st : stored_place_set_user(req, text, &d->place);
}

det_status api_download_checkpoint(struct request *req)
{
    const struct download_query *query = req->query;
    bool is_named = query->format && *query->format;
    struct download *d = arena_new(&req->mem, struct download);
    struct checkpoint row;
    int format;
    det_status st = find_checkpoint(req, &row);

    if (st)
        return st;
    format = is_named ? format_named(query->format)
                      : format_accepted(net_request_header(req->x, "Accept"));
    if (format == NO_FORMAT && is_named)
        return err_set(req->err, DET_INVALID,
                       "the format is '%s'; expected tgz, tar or zip", query->format);
    if (format == NO_FORMAT)
        return refuse_type(req);
    if (!d)
        return DET_NOMEM;
    *d = (struct download){
        .req = req,
        .uuid = row.uuid,
        .modified_s = row.report_us / 1000000,
        .format = formats[format].format,
        .ending = formats[format].name,
        .bytes = arena_alloc(&req->mem, READ_BYTES),
    };
    if (!d->bytes)
        return DET_NOMEM;
    st = find_user(req, d);
    if (!st)
        st = stored_place_find(req, row.experiment_id, &d->place);
    if (!st)
        st = read_files(req, &row, d);
    if (st)
        return st;
    req->content_type = formats[format].type;
    req->state = d;
    req->ended = download_ended;
    return request_move(req, req->master->files, check_files);
}

/* ---- one file -------------------------------------------------------------------- */

static det_status next_bytes(struct request *req, struct buf *out,
                             enum net_more *ret_more)
{
    struct download *d = req->state;
    uint64_t left = d->files[d->next].size_bytes - d->at;
    size_t want = left < READ_BYTES ? (size_t)left : READ_BYTES;
    size_t len = 0;
    det_status st =
        want ? io_read_at(d->file, d->at, d->bytes, want, &len, req->err) : DET_OK;

    if (!st && len < want)
        st = err_set(req->err, DET_STATE, "the file '%s' was cut while it was read",
                     d->files[d->next].path);
    buf_add(out, d->bytes, len);
    d->at += len;
    *ret_more = d->at < d->files[d->next].size_bytes ? NET_MORE : NET_END;
    return st ? st : out->status;
}

static det_status send_file(struct request *req)
{
    struct download *d = req->state;
    det_status st = open_file(d, &d->files[d->next], &d->file, req->err);

    if (st)
        return st;
    media_put_headers(req);
    return request_stream_on(req, req->master->files, next_bytes);
}

det_status api_get_checkpoint_file(struct request *req)
{
    const struct checkpoint_file_query *query = req->query;
    struct download *d = arena_new(&req->mem, struct download);
    struct checkpoint row;
    det_status st = find_checkpoint(req, &row);

    if (st)
        return st;
    if (!d)
        return DET_NOMEM;
    *d = (struct download){
        .req = req, .uuid = row.uuid, .bytes = arena_alloc(&req->mem, READ_BYTES)};
    if (!d->bytes)
        return DET_NOMEM;
    st = find_user(req, d);
    if (!st)
        st = stored_place_find(req, row.experiment_id, &d->place);
    if (!st)
        st = read_files(req, &row, d);
    if (st)
        return st;
    while (d->next < d->count && (d->files[d->next].is_directory || !query->path ||
                                  strcmp(d->files[d->next].path, query->path) != 0))
        d->next++;
    if (d->next == d->count)
        return err_set(req->err, DET_NOT_FOUND, "checkpoint %s has no file '%.200s'",
                       row.uuid, query->path ? query->path : "");
    req->content_type = file_type(query->path);
    req->state = d;
    req->ended = download_ended;
    return request_move(req, req->master->files, send_file);
}
