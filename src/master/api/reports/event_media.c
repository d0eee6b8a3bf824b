/* SPDX-License-Identifier: Apache-2.0 */
/* event_media.c - pictures, sounds, texts and histograms in a trial's event files.
 *
 * Writers for TensorBoard put them into the trial's folder in the checkpoint storage
 * (det_tensorboard_directory()).  They stay there: a list is made by reading the files, and
 * an item is named by its file, the offset of its record and its place in it.  So nothing is
 * stored twice, and files of other writers need no cooperation.
 *
 *   api_list_event_media() (worker)     trial, storage directory, user
 *     -> find_files() (lane of files)     the names of the files
 *       -> read_next() (lane of files)      one file at a time, then the reply
 *
 * A list is bounded by bytes read and by items; its note says when something is left out.
 * Of two items with the same name and step the later one counts: a run that trained steps
 * again wrote them again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/vec.h"
#include "data/event/event_media.h"
#include "data/text.h"
#include "data/utf8.h"
#include "master/api/api.h"
#include "master/api/reports/media.h"
#include "master/api/reports/stored_files.h"
#include "model/media.h"
#include "store/experiment/trial_view.h"
#include "wire/queries.h"

#define YEAR_10000_S 253402300800.0

enum {
    DEPTH_MOST = 4,
    FILES_MOST = 256,
    ENTRIES_MOST = 10000, /* files and folders to look at */
    TAG_MOST = 1024,
    CHUNK = 1 << 20,
    RECORD_MOST = 16 << 20,
    READ_MOST = 256 << 20,
};

struct event_item {
    const char *name;
    const char *file;
    uint64_t offset; /* of the record */
    uint32_t place;
    uint32_t type;
    int64_t steps;
    int64_t time_us;
    uint64_t size_bytes;
};

struct event_listing {
    struct stored_place place;
    const char *folder; /* of the trial, relative to the root */
    const char *file[FILES_MOST];
    uint32_t files;
    uint32_t entries; /* seen so far */
    uint32_t next;    /* the file to read */
    uint64_t read_bytes;
    const char *note; /* what is left out; NULL: nothing */
    struct buf bytes;
    VEC(struct event_item) items;
    uint64_t offset;   /* of the record that is being read */
    struct arena *mem; /* the request's */
};

/* ---- files ----------------------------------------------------------------------- */

static bool is_event_file(const char *name)
{
    return strstr(name, "tfevents") != NULL;
}

static void add_file(struct event_listing *l, const char *name)
{
    if (l->files < FILES_MOST)
        l->file[l->files++] = name;
    else
        l->note = "Some of its event files were not read: there are too many.";
}

/* The path of a file or folder of the trial; NULL: no memory. */
static const char *path_of(const struct event_listing *l, const char *below)
{
    return arena_printf(l->mem, "%s/%s%s%s", l->place.root, l->folder,
                        *below ? "/" : "", below);
}

static enum io_kind kind_of(struct request *req, const struct event_listing *l,
                            const char *below)
{
    const char *path = path_of(l, below);
    struct io_stat found;

    if (!path || io_stat(req->master->storage, path, &found, NULL))
        return IO_OTHER;
    return found.kind;
}

/* Adds the event files of a folder and of those below.  A task could put a symlink in place
 * of a folder while we look: then names would be wrong, but no file is opened through it. */
static void add_files(struct request *req, struct event_listing *l, const char *below,
                      int depth)
{
    const char *folder = path_of(l, below);
    const char **names = NULL;

    if (!folder || kind_of(req, l, below) != IO_DIRECTORY ||
        io_list(req->master->storage, folder, &req->mem, &names, NULL))
        return;
    for (; *names; names++) {
        const char *name;

        if (l->entries++ >= ENTRIES_MOST) {
            l->note =
                "Some of its event files were not read: there are too many files.";
            return;
        }
        name = arena_printf(&req->mem, "%s%s%s", below, *below ? "/" : "", *names);
        enum io_kind kind = name ? kind_of(req, l, name) : IO_OTHER;

        if (kind == IO_DIRECTORY && depth < DEPTH_MOST)
            add_files(req, l, name, depth + 1);
        else if (kind == IO_FILE && is_event_file(*names))
            add_file(l, name);
    }
}

static det_status open_event_file(struct request *req, const struct event_listing *l,
                                  const char *name, struct io_file **ret_file)
{
    const char *below = arena_printf(&req->mem, "%s/%s", l->folder, name);

    if (!below)
        return DET_NOMEM;
    return stored_file_open(req, &l->place, below, ret_file, req->err);
}

/* ---- reading --------------------------------------------------------------------- */

/* The folder of a file, the tag, and the number of a further picture. */
static const char *item_name(const struct event_listing *l, const char *file,
                             const struct event_media *media)
{
    const char *slash = strrchr(file, '/');
    const char *tag = arena_strndup(l->mem, media->tag, media->tag_len);
    int folder_len = slash ? (int)(slash - file + 1) : 0;

    if (!tag)
        return NULL;
    if (media->part)
        return arena_printf(l->mem, "%.*s%s/%" PRIu32, folder_len, file, tag,
                            media->part);
    return arena_printf(l->mem, "%.*s%s", folder_len, file, tag);
}

/* A writer may say anything; 0: not a time. */
static int64_t time_us_of(double wall_s)
{
    return wall_s > 0 && wall_s < YEAR_10000_S ? (int64_t)(wall_s * 1e6) : 0;
}

static bool add_item(void *arg, const struct event_media *media)
{
    struct event_listing *l = arg;
    const char *file = l->file[l->next];
    struct event_item item = {.file = file,
                              .offset = l->offset,
                              .place = media->place,
                              .type = media->type,
                              .steps = media->step,
                              .time_us = time_us_of(media->wall_s),
                              .size_bytes = media->len};

    if (media->tag_len > TAG_MOST ||
        utf8_valid(media->tag, media->tag_len) < media->tag_len)
        return true;
    if (l->items.count >= MEDIA_ITEMS_MOST) {
        l->note = "Only the first 10000 items of its event files are listed.";
        return false;
    }
    item.name = item_name(l, file, media);
    return item.name && vec_push(&l->items, item);
}

/* Reads the whole records in the buffer; returns how many bytes they have. *ret_need: of the
 * next one, if it has a head. */
static size_t read_records(struct event_listing *l, uint64_t offset, uint64_t *ret_need)
{
    size_t at = 0;

    *ret_need = 0;
    while (l->bytes.len - at >= EVENT_RECORD_HEAD) {
        const unsigned char *head = (const unsigned char *)l->bytes.data + at;
        uint64_t len = event_record_len(head);
        uint64_t whole = len + EVENT_RECORD_HEAD + EVENT_RECORD_TAIL;

        if (len > RECORD_MOST || whole > l->bytes.len - at) {
            *ret_need = len > RECORD_MOST ? UINT64_MAX : whole;
            break;
        }
        l->offset = offset + at;
        event_media_each(head + EVENT_RECORD_HEAD, (size_t)len, add_item, l);
        at += (size_t)whole;
    }
    return at;
}

/* The last record of a file may be incomplete: it is being written. */
static det_status read_file(struct event_listing *l, struct io_file *file,
                            struct err *err)
{
    uint64_t offset = 0;
    size_t want = CHUNK;
    det_status st = DET_OK;

    for (;;) {
        uint64_t need;
        size_t len, used;
        char *room;

        buf_clear(&l->bytes);
        room = buf_room(&l->bytes, want);
        if (!room)
            return err_default(err, l->bytes.status);
        st = io_read_at(file, offset, room, want, &len, err);
        if (st || !len)
            return st;
        buf_took(&l->bytes, len);
        l->read_bytes += len;
        used = read_records(l, offset, &need);
        offset += used;
        if (l->read_bytes > READ_MOST) {
            l->note = "Only the first 256 MiB of its event files were read.";
            return DET_OK;
        }
        if (need == UINT64_MAX || (!used && need <= want && len < want) ||
            (!used && !need))
            return DET_OK;
        want = need > CHUNK ? (size_t)need : CHUNK;
    }
}

/* ---- the list -------------------------------------------------------------------- */

static int by_name_and_steps(const void *a, const void *b)
{
    const struct event_item *x = a;
    const struct event_item *y = b;
    int order = strcmp(x->name, y->name);

    if (order)
        return order;
    if (x->steps != y->steps)
        return x->steps < y->steps ? -1 : 1;
    return x->time_us < y->time_us ? -1 : x->time_us > y->time_us;
}

static void render_item(struct json_writer *w, const struct event_item *item)
{
    const struct media_type *type = media_type(item->type);

    jw_object(w, NULL);
    jw_str(w, "file", item->file);
    jw_i64(w, "offset", (int64_t)item->offset);
    jw_i64(w, "value", item->place);
    jw_i64(w, "steps", item->steps);
    jw_str(w, "kind", type->kind);
    jw_str(w, "type", type->name);
    jw_i64(w, "bytes", (int64_t)item->size_bytes);
    jw_time(w, "time", item->time_us);
    jw_end_object(w);
}

static det_status reply_list(struct request *req)
{
    struct event_listing *l = req->state;
    struct json_writer *w = &req->w;
    const char *open = NULL; /* the name whose items are being written */

    if (l->items.count)
        qsort(l->items.at, l->items.count, sizeof(*l->items.at), by_name_and_steps);
    jw_object(w, NULL);
    jw_array(w, "media");
    for (size_t i = 0; i < l->items.count; i++) {
        const struct event_item *item = &l->items.at[i];
        const struct event_item *next =
            i + 1 < l->items.count ? &l->items.at[i + 1] : NULL;
        bool goes_on = next && !strcmp(next->name, item->name);

        if (!open) {
            jw_object(w, NULL);
            jw_str(w, "name", item->name);
            jw_array(w, "items");
            open = item->name;
        }
        if (!goes_on || next->steps != item->steps)
            render_item(w, item);
        if (!goes_on) {
            jw_end_array(w);
            jw_end_object(w);
            open = NULL;
        }
    }
    jw_end_array(w);
    jw_str(w, "note", l->note ? l->note : "");
    jw_end_object(w);
    return DET_OK;
}

static void listing_ended(struct request *req)
{
    struct event_listing *l = req->state;

    buf_done(&l->bytes);
    vec_done(&l->items);
}

static det_status read_next(struct request *req)
{
    struct event_listing *l = req->state;
    struct io_file *file = NULL;
    det_status st;

    if (l->next == l->files || req->is_gone || l->read_bytes > READ_MOST)
        return reply_list(req);
    st = open_event_file(req, l, l->file[l->next], &file);
    if (!st)
        st = read_file(l, file, req->err);
    io_close(file);
    if (st == DET_NOMEM)
        return st;
    if (st)
        l->note = "Some of its event files could not be read.";
    l->next++;
    return request_move(req, req->master->files, read_next);
}

static det_status find_files(struct request *req)
{
    add_files(req, req->state, "", 0);
    return read_next(req);
}

/* ---- the calls ------------------------------------------------------------------- */

/* Where the event files of the trial in the path are. */
static det_status find_folder(struct request *req, struct event_listing *l)
{
    struct trial_view trial;
    const char *user;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_trial_get(req->db, id, &req->mem, &trial, req->err);
    if (!st)
        st = stored_place_find(req, trial.row.experiment_id, &l->place);
    if (!st && req->master->is_root)
        st = run_user_of_trial(req->master, req->db, id, trial.row.run_id, &req->mem,
                               &user, req->err);
    if (!st && req->master->is_root)
        st = stored_place_set_user(req, user, &l->place);
    if (st)
        return st;
    l->folder = arena_printf(&req->mem,
                             "%s%s%s/tensorboard/experiment/%" PRId64 "/trial/%" PRId64,
                             l->place.below, *l->place.below ? "/" : "",
                             req->master->cluster_id, trial.row.experiment_id, id);
    return l->folder ? DET_OK : DET_NOMEM;
}

det_status api_list_event_media(struct request *req)
{
    struct event_listing *l = arena_new(&req->mem, struct event_listing);
    det_status st;

    if (!l)
        return DET_NOMEM;
    l->bytes = request_buf(req, 0);
    l->mem = &req->mem;
    req->state = l;
    req->ended = listing_ended;
    st = find_folder(req, l);
    /* A storage that the master does not see has no list, which is not an error. */
    if (st == DET_UNSUPPORTED || st == DET_FORBIDDEN) {
        l->note = "The master does not see the storage of its event files.";
        return reply_list(req);
    }
    return st ? st : request_move(req, req->master->files, find_files);
}

struct event_wanted {
    uint32_t place;
    struct request *req;
    bool is_found;
};

static bool take_item(void *arg, const struct event_media *media)
{
    struct event_wanted *wanted = arg;
    struct request *req = wanted->req;

    if (media->place != wanted->place)
        return true;
    wanted->is_found = true;
    req->content_type = media_type(media->type)->content_type;
    if (!strcmp(media_type(media->type)->kind, "histogram"))
        wanted->is_found = event_histogram_json(media, &req->out);
    else
        buf_add(&req->out, media->bytes, media->len);
    return false;
}

static det_status read_message(struct event_listing *l, struct io_file *file,
                               uint64_t offset, struct err *err)
{
    unsigned char head[EVENT_RECORD_HEAD];
    uint64_t len = 0;
    size_t got;
    char *room;
    det_status st = io_read_at(file, offset, head, sizeof(head), &got, err);

    if (!st && got == sizeof(head))
        len = event_record_len(head);
    if (st || !len || len > RECORD_MOST)
        return st;
    room = buf_room(&l->bytes, (size_t)len);
    if (!room)
        return err_default(err, l->bytes.status);
    st = io_read_at(file, offset + sizeof(head), room, (size_t)len, &got, err);
    if (!st && got == len)
        buf_took(&l->bytes, got);
    return st;
}

static det_status send_item(struct request *req)
{
    const struct event_media_query *query = req->query;
    struct event_listing *l = req->state;
    struct event_wanted wanted = {.place = (uint32_t)query->value, .req = req};
    struct io_file *file = NULL;
    det_status st = open_event_file(req, l, query->file, &file);

    if (!st)
        st = read_message(l, file, (uint64_t)query->offset, req->err);
    io_close(file);
    if (st)
        return st;
    event_media_each(l->bytes.data, l->bytes.len, take_item, &wanted);
    if (!wanted.is_found)
        return err_set(req->err, DET_NOT_FOUND, "the file '%.200s' has no such item",
                       query->file);
    media_put_headers(req);
    return DET_OK;
}

det_status api_get_event_media(struct request *req)
{
    const struct event_media_query *query = req->query;
    struct event_listing *l = arena_new(&req->mem, struct event_listing);
    det_status st;

    if (!l)
        return DET_NOMEM;
    l->bytes = request_buf(req, 0);
    req->state = l;
    req->ended = listing_ended;
    if (!query->file || !path_is_inside(query->file) || !is_event_file(query->file))
        return err_set(req->err, DET_INVALID,
                       "'%.200s' is not the name of an event file",
                       query->file ? query->file : "");
    if (query->offset < 0 || query->value < 0 || query->value > UINT32_MAX)
        return err_set(req->err, DET_INVALID, "offset and value must be 0 or more");
    st = find_folder(req, l);
    return st ? st : request_move(req, req->master->files, send_item);
}
