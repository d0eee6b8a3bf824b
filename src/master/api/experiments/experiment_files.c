/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_files.c - the submitted files, as a tree of names and one by one.
 *
 * They are stored as one archive.  Its names become a tree of folders in byte order.  Folders
 * without an entry of their own are added. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/map.h"
#include "base/memory/vec.h"
#include "data/archive/archive.h"
#include "master/api/api.h"
#include "store/experiment/experiment.h"
#include "wire/page_bodies.h"

#define YEAR_10000_S INT64_C(253402300800)

enum { FILE_LIMIT = 16 << 20, DEPTH_MOST = 100 };

struct node {
    const char *path;
    const char *name; /* the end of `path` */
    bool is_directory;
    uint64_t size_bytes;
    int64_t modified_s;
};

struct listing {
    struct arena *mem;
    struct map seen; /* by path */
    VEC(struct node *) nodes;
    struct err *err;
};

/* ---- the names ------------------------------------------------------------------- */

static det_status add_node(struct listing *listing, const char *path, size_t len,
                           struct node **ret_node)
{
    struct node *node = arena_new(listing->mem, struct node);
    char *copy = arena_strndup(listing->mem, path, len);
    const char *slash = copy ? strrchr(copy, '/') : NULL;

    if (!node || !copy)
        return err_default(listing->err, DET_NOMEM);
    node->path = copy;
    node->name = slash ? slash + 1 : copy;
    *ret_node = smap_get(&listing->seen, copy);
    if (*ret_node)
        return DET_OK;
    *ret_node = node;
    if (!smap_put(&listing->seen, copy, node) || !vec_push(&listing->nodes, node))
        return err_default(listing->err, DET_NOMEM);
    return DET_OK;
}

static det_status add_entry(void *arg, const struct archive_entry_in *entry,
                            struct err *err)
{
    struct listing *listing = arg;
    struct node *node = NULL;
    size_t depth = 0;
    det_status st = DET_OK;

    listing->err = err;
    for (const char *at = strchr(entry->path, '/'); !st && at;
         at = strchr(at + 1, '/')) {
        if (++depth > DEPTH_MOST)
            return DET_OK; /* too deep: not shown */
        st = add_node(listing, entry->path, (size_t)(at - entry->path), &node);
        if (!st)
            node->is_directory = true;
    }
    if (!st)
        st = add_node(listing, entry->path, strlen(entry->path), &node);
    if (st)
        return st;
    node->is_directory = node->is_directory || entry->is_directory;
    node->size_bytes = entry->size_bytes;
    node->modified_s = entry->modified_s;
    return DET_OK;
}

/* Sorts as if '/' were the smallest byte, so the content of a folder follows it. */
static int by_path(const void *a, const void *b)
{
    const unsigned char *x = (const void *)(*(struct node *const *)a)->path;
    const unsigned char *y = (const void *)(*(struct node *const *)b)->path;

    for (; *x && *x == *y; x++)
        y++;
    if (*x == *y)
        return 0;
    if (!*x || !*y)
        return *x ? 1 : -1;
    if (*x == '/' || *y == '/')
        return *x == '/' ? -1 : 1;
    return *x < *y ? -1 : 1;
}

/* ---- the tree -------------------------------------------------------------------- */

static bool is_inside(const struct node *node, const struct node *folder)
{
    size_t len = strlen(folder->path);

    return !strncmp(node->path, folder->path, len) && node->path[len] == '/';
}

/* The client chose the number; 0: unknown. */
static int64_t modified_us(const struct node *node)
{
    bool is_a_time = node->modified_s > 0 && node->modified_s < YEAR_10000_S;

    return is_a_time ? node->modified_s * 1000000 : 0;
}

static void open_node(struct json_writer *w, const struct node *node)
{
    jw_object(w, NULL);
    jw_str(w, "path", node->path);
    jw_str(w, "name", node->name);
    jw_time(w, "modifiedTime", modified_us(node));
    jw_i64(w, "contentLength", (int64_t)node->size_bytes);
    jw_bool(w, "isDir", node->is_directory);
    jw_str(w, "contentType", node->is_directory ? "" : "application/octet-stream");
    jw_array(w, "files");
}

static void close_node(struct json_writer *w)
{
    jw_end_array(w);
    jw_end_object(w);
}

/* Each node closes the open folders that it is not inside of. */
static void write_tree(struct json_writer *w, const struct listing *listing)
{
    const struct node *open[DEPTH_MOST + 1];
    size_t depth = 0;

    jw_array(w, "files");
    for (size_t i = 0; i < listing->nodes.count; i++) {
        const struct node *node = listing->nodes.at[i];

        for (; depth && !is_inside(node, open[depth - 1]); depth--)
            close_node(w);
        open_node(w, node);
        if (node->is_directory)
            open[depth++] = node;
        else
            close_node(w);
    }
    for (; depth; depth--)
        close_node(w);
    jw_end_array(w);
}

det_status api_get_model_def_tree(struct request *req)
{
    CLEANUP(buf_done) struct buf tgz = request_buf(req, 0);
    struct listing listing = {.mem = &req->mem, .err = req->err};
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_experiment_files(req->db, id, &tgz, req->err);
    if (!st)
        st = archive_list(tgz.data, tgz.len, add_entry, &listing, req->err);
    if (!st) {
        if (listing.nodes.count)
            qsort(listing.nodes.at, listing.nodes.count, sizeof(*listing.nodes.at),
                  by_path);
        jw_object(&req->w, NULL);
        write_tree(&req->w, &listing);
        jw_end_object(&req->w);
    }
    map_done(&listing.seen);
    vec_done(&listing.nodes);
    return st;
}

/* ---- one file -------------------------------------------------------------------- */

det_status api_get_model_def_file(struct request *req)
{
    CLEANUP(buf_done) struct buf tgz = request_buf(req, 0);
    CLEANUP(buf_done) struct buf bytes = request_buf(req, FILE_LIMIT);
    const struct model_def_file_body *body = req->body;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_experiment_files(req->db, id, &tgz, req->err);
    if (!st)
        st = archive_read_file(tgz.data, tgz.len, body->path, &bytes, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_base64(&req->w, "file", bytes.data, bytes.len);
    jw_end_object(&req->w);
    return DET_OK;
}
