/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backup/inventory.h"

#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "data/sha256.h"
#include "data/time.h"
#include "data/utf8.h"

enum { ENDING = sizeof(".json") - 1, PARSE_MEM = 1 << 30 };

static det_status path_of(const char *vault, const char *id, struct buf *ret_path,
                          struct err *err)
{
    buf_printf(ret_path, "%s/backups/%s.json", vault, id);
    return ret_path->status ? err_default(err, ret_path->status) : DET_OK;
}

static void line_sum(const char *text, size_t len, char sum[SHA256_TEXT])
{
    unsigned char bytes[SHA256_BYTES];

    sha256_plain(text, len, bytes);
    hex_encode(sum, bytes, sizeof(bytes));
}

/* ---- ids ------------------------------------------------------------------------- */

/* "2026-11-17T04:13:49.123456Z" without its marks and its fraction. */
void inventory_stamp(int64_t wall_us, char id[INVENTORY_ID])
{
    char text[TIME_TEXT];
    size_t len = 0;

    time_format(wall_us, text);
    for (const char *at = text; *at && *at != '.'; at++)
        if (*at != '-' && *at != ':')
            id[len++] = *at;
    (void)snprintf(id + len, INVENTORY_ID - len, "Z");
}

/* The time that an id tells; false: it is not one of ours. */
static bool read_stamp(const char *id, int64_t *ret_wall_us)
{
    char text[TIME_TEXT];

    if (strlen(id) != strlen("20261117T041349Z"))
        return false;
    (void)snprintf(text, sizeof(text), "%.4s-%.2s-%.5s:%.2s:%.3s", id, id + 4, id + 6,
                   id + 11, id + 13);
    return time_parse(text, ret_wall_us);
}

/* Later than all others, also when the clock was set back: the newest must be the last. */
det_status inventory_new_id(struct io *io, const char *vault, int64_t now_us,
                            char id[INVENTORY_ID], struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    const char **ids = NULL;
    size_t count = 0;
    int64_t last_us = 0;
    det_status st = inventory_list(io, vault, &mem, &ids, &count, err);

    if (!st && count && read_stamp(ids[count - 1], &last_us))
        now_us = MAX(now_us, last_us + 1000000);
    if (!st)
        inventory_stamp(now_us, id);
    return st;
}

/* ---- writing --------------------------------------------------------------------- */

/* A path of any bytes; JSON takes only UTF-8. */
static void write_path(struct json_writer *w, const char *path)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    size_t len = strlen(path);

    if (utf8_valid(path, len) == len) {
        jw_str(w, "path", path);
        return;
    }
    base64_encode(&text, path, len);
    if (text.status)
        w->out->status = text.status;
    jw_strn(w, "path64", text.data, text.len);
}

static void write_file(struct json_writer *w, const struct inventory_file *file)
{
    CLEANUP(buf_done) struct buf sums = BUF_INIT;

    base64_encode(&sums, file->sums, file->chunks * SHA256_BYTES);
    if (sums.status)
        w->out->status = sums.status;
    jw_object(w, NULL);
    write_path(w, file->path);
    jw_i64(w, "mode", file->mode);
    jw_i64(w, "modified_us", file->modified_us);
    jw_i64(w, "size", (int64_t)file->size_bytes);
    jw_strn(w, "chunks", sums.data, sums.len);
    jw_end_object(w);
}

static void write_body(struct buf *out, const struct inventory *inventory)
{
    struct json_writer w = JSON_WRITER(out);

    jw_object(&w, NULL);
    jw_str(&w, "id", inventory->id);
    jw_i64(&w, "time_us", inventory->time_us);
    jw_str(&w, "cluster_id", inventory->cluster_id);
    jw_i64(&w, "schema", inventory->schema);
    jw_str(&w, "version", inventory->version);
    jw_str(&w, "data_dir", inventory->data_dir);
    jw_bool(&w, "has_checkpoints", inventory->has_checkpoints);
    jw_i64(&w, "new_bytes", (int64_t)inventory->new_bytes);
    jw_array(&w, "files");
    for (size_t i = 0; i < inventory->files; i++)
        write_file(&w, &inventory->file[i]);
    jw_end_array(&w);
    jw_end_object(&w);
}

det_status inventory_write(struct io *io, const char *vault,
                           const struct inventory *inventory, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    char sum[SHA256_TEXT];
    det_status st = path_of(vault, inventory->id, &path, err);

    write_body(&text, inventory);
    line_sum(text.data, text.len, sum);
    buf_printf(&text, "\n%s\n", sum);
    if (!st && text.status)
        st = err_default(err, text.status);
    return st ? st : io_replace(io, path.data, text.data, text.len, true, err);
}

/* ---- reading --------------------------------------------------------------------- */

/* A restored file must not land anywhere else. */
static bool is_inside(const char *path)
{
    if (*path == '/' || !*path)
        return false;
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (!strncmp(at, "..", 2) && (at[2] == '/' || !at[2]))
            return false;
    return true;
}

static det_status read_path(const struct json *tree, struct arena *mem,
                            const char **ret_path, struct err *err)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    const char *text = json_str(json_get(tree, "path64"), NULL);
    det_status st = text ? base64_decode(&bytes, text, strlen(text), err) : DET_OK;

    if (st)
        return st;
    *ret_path = text ? arena_strndup(mem, bytes.data, bytes.len)
                     : arena_strdup(mem, json_str(json_get(tree, "path"), ""));
    return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status read_file(const struct json *tree, struct arena *mem,
                            struct inventory_file *ret_file, struct err *err)
{
    CLEANUP(buf_done) struct buf sums = BUF_INIT;
    const struct json *chunks = json_get(tree, "chunks");
    unsigned char *copy;
    det_status st = DET_OK;

    *ret_file = (struct inventory_file){
        .mode = (uint32_t)json_i64(json_get(tree, "mode"), 0600) & 0777,
        .modified_us = json_i64(json_get(tree, "modified_us"), 0),
        .size_bytes = (uint64_t)json_i64(json_get(tree, "size"), 0),
    };
    st = read_path(tree, mem, &ret_file->path, err);
    if (!st && chunks && chunks->kind == JSON_STRING)
        st = base64_decode(&sums, chunks->string.text, chunks->string.len, err);
    copy = arena_array(mem, unsigned char, sums.len + 1);
    if (st || !ret_file->path || !copy)
        return err_default(err, st ? st : DET_NOMEM);
    if (!is_inside(ret_file->path))
        return err_set(err, DET_CORRUPT, "the path '%s' leaves the data directory",
                       ret_file->path);
    memcpy(copy, sums.data, sums.len);
    ret_file->sums = copy;
    ret_file->chunks = sums.len / SHA256_BYTES;
    return DET_OK;
}

static det_status read_body(const struct json *tree, struct arena *mem,
                            struct inventory *ret_inventory, struct err *err)
{
    const struct json *files = json_get(tree, "files");
    size_t count = files && files->kind == JSON_ARRAY ? files->list.count : 0;
    det_status st = DET_OK;

    *ret_inventory = (struct inventory){
        .id = arena_strdup(mem, json_str(json_get(tree, "id"), "")),
        .time_us = json_i64(json_get(tree, "time_us"), 0),
        .cluster_id = arena_strdup(mem, json_str(json_get(tree, "cluster_id"), "")),
        .schema = json_i64(json_get(tree, "schema"), 0),
        .version = arena_strdup(mem, json_str(json_get(tree, "version"), "")),
        .data_dir = arena_strdup(mem, json_str(json_get(tree, "data_dir"), "")),
        .has_checkpoints = json_bool(json_get(tree, "has_checkpoints"), false),
        .new_bytes = (uint64_t)json_i64(json_get(tree, "new_bytes"), 0),
        .file = arena_array(mem, struct inventory_file, count + 1),
    };
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    json_each(item, files) {
        st = read_file(item, mem, &ret_inventory->file[ret_inventory->files++], err);
        if (st)
            return st;
    }
    return DET_OK;
}

det_status inventory_read(struct io *io, const char *vault, const char *id,
                          struct arena *mem, struct inventory *ret_inventory,
                          struct err *err)
{
    CLEANUP(arena_done) struct arena parsed = ARENA_INIT(PARSE_MEM);
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *tree = NULL;
    char sum[SHA256_TEXT];
    char *end;
    det_status st = path_of(vault, id, &path, err);

    if (!st)
        st = io_read_plain(io, path.data, &text, err);
    if (st == DET_NOT_FOUND)
        return err_set(err, DET_NOT_FOUND, "there is no backup '%s' in '%s'", id,
                       vault);
    if (st)
        return st;
    end = memchr(text.data, '\n', text.len);
    line_sum(text.data, end ? (size_t)(end - text.data) : 0, sum);
    if (!end || strncmp(end + 1, sum, sizeof(sum) - 1))
        return err_set(err, DET_CORRUPT,
                       "the backup '%s' is damaged ('%s'): use another one", id,
                       path.data);
    st = json_parse(text.data, (size_t)(end - text.data), &parsed, &tree, err);
    if (!st)
        st = read_body(tree, mem, ret_inventory, err);
    return st ? err_prefix(err, "the backup '%s'", id) : DET_OK;
}

det_status inventory_remove(struct io *io, const char *vault, const char *id,
                            struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    det_status st = path_of(vault, id, &path, err);

    return st ? st : io_remove(io, path.data, err);
}

det_status inventory_list(struct io *io, const char *vault, struct arena *mem,
                          const char ***ret_ids, size_t *ret_count, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    const char **names = NULL;
    size_t count = 0;
    det_status st;

    buf_printf(&path, "%s/backups", vault);
    if (path.status)
        return err_default(err, path.status);
    st = io_list(io, path.data, mem, &names, err);
    if (st == DET_NOT_FOUND)
        return err_set(err, DET_NOT_FOUND, "there are no backups in '%s'", vault);
    if (st)
        return st;
    for (const char **at = names; *at; at++) {
        size_t len = strlen(*at);

        if (len <= ENDING || strcmp(*at + len - ENDING, ".json"))
            continue;
        names[count] = arena_strndup(mem, *at, len - ENDING);
        if (!names[count++])
            return err_default(err, DET_NOMEM);
    }
    names[count] = NULL;
    *ret_ids = names;
    *ret_count = count;
    return DET_OK;
}

uint64_t inventory_size(const struct inventory *inventory)
{
    uint64_t size = 0;

    for (size_t i = 0; i < inventory->files; i++)
        size += inventory->file[i].size_bytes;
    return size;
}
