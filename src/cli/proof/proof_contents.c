/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/proof/proof_contents.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "cli/proof/proof_profile.h"
#include "data/json/json.h"
#include "data/pickle/pickle.h"
#include "data/zip.h"

enum {
    CHUNK = 1 << 16,
    PATH_BYTES = 512,
    KEY_BYTES = 256,
    OBJECTS_MOST = 512 << 20, /* bytes of a pickle or JSON text that is read */
    STORAGE_PARTS = 5,
};
static const size_t MEMORY_MOST = (size_t)8 << 30;

#define PICKLE_OF_TORCH "data.pkl"

/* The comparison of two files. */
struct reading {
    struct io_file *file[2];
    uint64_t size[2];
    const struct field_strs *keys;
    struct arena *mem; /* for as long as the comparison */
    struct err *err;
    det_status status;
    char path[PATH_BYTES];
    char *chunk; /* two of them */
    /* PyTorch */
    struct zip_list list[2];
    const char *prefix[2]; /* "archive/" */
    const struct zip_entry *
        *equal_to; /* entries of the first file: known to be equal */
};

static bool is_ignored(void *arg, const struct pickle *key)
{
    const struct reading *r = arg;
    char text[KEY_BYTES];

    (void)snprintf(text, sizeof(text), "%.*s", (int)MIN(key->len, (size_t)KEY_BYTES),
                   key->text);
    return proof_rules_match(r->keys, text);
}

/* ---- bytes ----------------------------------------------------------------------- */

static bool is_same_range(struct reading *r, const struct zip_entry *a,
                          const struct zip_entry *b)
{
    bool is_same =
        !r->status && a->method == b->method && a->stored_bytes == b->stored_bytes;
    char *left = r->chunk, *right = r->chunk + CHUNK;

    for (uint64_t at = 0; is_same && at < a->stored_bytes; at += CHUNK) {
        size_t len = (size_t)MIN(a->stored_bytes - at, (uint64_t)CHUNK);
        size_t got[2] = {0};

        r->status = io_read_at(r->file[0], a->offset + at, left, len, &got[0], r->err);
        if (!r->status)
            r->status =
                io_read_at(r->file[1], b->offset + at, right, len, &got[1], r->err);
        is_same =
            !r->status && got[0] == len && got[1] == len && !memcmp(left, right, len);
    }
    return is_same;
}

/* NULL: too large, or a failure. */
static char *read_range(struct reading *r, int which, uint64_t offset, uint64_t len)
{
    char *bytes;
    size_t got = 0;

    if (r->status || len > OBJECTS_MOST)
        return NULL;
    bytes = arena_alloc(r->mem, len + 1);
    if (!bytes) {
        r->status = err_default(r->err, DET_NOMEM);
        return NULL;
    }
    r->status = io_read_at(r->file[which], offset, bytes, len, &got, r->err);
    return r->status || got != len ? NULL : bytes;
}

/* ---- pickles --------------------------------------------------------------------- */

static struct pickle *read_pickles(struct reading *r, int which, uint64_t offset,
                                   uint64_t len)
{
    char *bytes = read_range(r, which, offset, len);
    struct pickle *list = NULL;
    det_status st = bytes ? pickle_parse(bytes, len, r->mem, &list, NULL) : DET_OK;

    if (st == DET_NOMEM)
        r->status = err_default(r->err, DET_NOMEM);
    return list;
}

static enum proof_contents compare_pickles(struct reading *r, struct pickle *a,
                                           struct pickle *b,
                                           const struct pickle_rules *rules)
{
    enum pickle_result result;

    if (!a || !b || r->status)
        return PROOF_CONTENTS_UNKNOWN;
    if (a->count == 1 && b->count == 1) { /* the usual case: its path needs no number */
        a = a->items[0];
        b = b->items[0];
    }
    result = pickle_compare(a, b, rules, r->path, sizeof(r->path));
    return result == PICKLE_EQUAL       ? PROOF_CONTENTS_SAME
           : result == PICKLE_DIFFERENT ? PROOF_CONTENTS_DIFFERENT
                                        : PROOF_CONTENTS_UNKNOWN;
}

static enum proof_contents compare_pickle_files(struct reading *r)
{
    struct pickle_rules rules = {.is_ignored = is_ignored, .arg = r};
    struct pickle *a = read_pickles(r, 0, 0, r->size[0]);
    struct pickle *b = a ? read_pickles(r, 1, 0, r->size[1]) : NULL;

    return compare_pickles(r, a, b, &rules);
}

/* ---- zip files ------------------------------------------------------------------- */

static const struct zip_entry *find_storage(struct reading *r, int which,
                                            const struct pickle *id)
{
    const struct pickle *key = id->items[2];
    const char *name = arena_printf(r->mem, "%sdata/%.*s", r->prefix[which],
                                    (int)MIN(key->len, (size_t)KEY_BYTES), key->text);

    return name ? zip_find(&r->list[which], name) : NULL;
}

/* ('storage', type, key, location, count) */
static bool is_storage(const struct pickle *id)
{
    return id->kind == PICKLE_TUPLE && id->count == STORAGE_PARTS &&
           pickle_is_str(id->items[0], "storage") && id->items[2]->kind == PICKLE_STR;
}

/* The key is a running number: the bytes behind it count. */
static bool is_same_storage(void *arg, const struct pickle *a, const struct pickle *b)
{
    struct reading *r = arg;
    struct pickle_rules none = {0};
    const struct zip_entry *x, *y;

    if (!is_storage(a) || !is_storage(b))
        return false;
    for (size_t i = 0; i < STORAGE_PARTS; i++)
        if (i != 2 && pickle_compare(a->items[i], b->items[i], &none, NULL, 0))
            return false;
    x = find_storage(r, 0, a);
    y = find_storage(r, 1, b);
    if (!x || !y)
        return false;
    if (r->equal_to[x - r->list[0].entry] == y)
        return true;
    if (!is_same_range(r, x, y))
        return false;
    r->equal_to[x - r->list[0].entry] = y;
    return true;
}

/* "archive/" if the pickle of PyTorch is "archive/data.pkl"; NULL: it has none. */
static const char *find_prefix(struct reading *r, const struct zip_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->entry[i].name;
        size_t len = strlen(name), tail = strlen(PICKLE_OF_TORCH);

        if (len >= tail && !strcmp(name + len - tail, PICKLE_OF_TORCH) &&
            (len == tail || name[len - tail - 1] == '/'))
            return arena_strndup(r->mem, name, len - tail);
    }
    return NULL;
}

static enum proof_contents compare_torch_pickles(struct reading *r)
{
    struct pickle_rules rules = {is_same_storage, is_ignored, r};
    struct pickle *tree[2] = {NULL};

    for (int i = 0; i < 2; i++) {
        const char *name = arena_printf(r->mem, "%s" PICKLE_OF_TORCH, r->prefix[i]);
        const struct zip_entry *entry = name ? zip_find(&r->list[i], name) : NULL;

        if (entry && entry->method == ZIP_STORED)
            tree[i] = read_pickles(r, i, entry->offset, entry->stored_bytes);
    }
    return compare_pickles(r, tree[0], tree[1], &rules);
}

/* Entries that the pickle covers; the id of the serialization is a checksum of its bytes. */
static bool is_of_pickle(const char *name)
{
    return !strncmp(name, "data/", 5) || !strcmp(name, PICKLE_OF_TORCH) ||
           !strncmp(name, ".data/", 6);
}

static enum proof_contents compare_entries(struct reading *r, bool is_torch)
{
    size_t common = 0, others = 0;

    for (size_t i = 0; i < r->list[1].count; i++)
        others +=
            !is_torch || !is_of_pickle(r->list[1].entry[i].name + strlen(r->prefix[1]));
    for (size_t i = 0; i < r->list[0].count; i++) {
        const struct zip_entry *a = &r->list[0].entry[i], *b;
        const char *name = a->name + strlen(r->prefix[0]);
        const char *other = arena_printf(r->mem, "%s%s", r->prefix[1], name);

        if (is_torch && is_of_pickle(name))
            continue;
        common++;
        b = other ? zip_find(&r->list[1], other) : NULL;
        if (!b || !is_same_range(r, a, b)) {
            (void)snprintf(r->path, sizeof(r->path), "entry '%s'", name);
            return PROOF_CONTENTS_DIFFERENT;
        }
    }
    return common == others ? PROOF_CONTENTS_SAME : PROOF_CONTENTS_DIFFERENT;
}

static bool has_prefix(const struct zip_list *list, const char *prefix)
{
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->entry[i].name, prefix, strlen(prefix)) != 0)
            return false;
    return true;
}

static enum proof_contents compare_zip_files(struct reading *r)
{
    enum proof_contents contents = PROOF_CONTENTS_SAME;
    bool is_torch = true;

    for (int i = 0; i < 2; i++) {
        det_status st = zip_read_list(r->file[i], r->mem, &r->list[i], NULL);

        if (st == DET_NOMEM)
            r->status = err_default(r->err, st);
        if (st)
            return PROOF_CONTENTS_UNKNOWN;
        r->prefix[i] = find_prefix(r, &r->list[i]);
        is_torch &= r->prefix[i] && has_prefix(&r->list[i], r->prefix[i]);
    }
    r->equal_to = arena_array(r->mem, const struct zip_entry *, r->list[0].count + 1);
    r->chunk = arena_alloc(r->mem, 2 * CHUNK);
    if (!r->equal_to || !r->chunk || r->mem->has_failed) {
        r->status = err_default(r->err, DET_NOMEM);
        return PROOF_CONTENTS_UNKNOWN;
    }
    if (is_torch)
        contents = compare_torch_pickles(r);
    else
        r->prefix[0] = r->prefix[1] = "";
    return contents == PROOF_CONTENTS_SAME ? compare_entries(r, is_torch) : contents;
}

/* ---- JSON ------------------------------------------------------------------------ */

/* Removes the ignored members at every level. */
static void remove_keys(struct json *tree, const struct field_strs *keys)
{
    struct json *item = json_first(tree), *next;

    for (; item; item = next) {
        next = item->next;
        if (tree->kind == JSON_OBJECT && proof_rules_match(keys, item->key))
            (void)json_remove(tree, item->key);
        else
            remove_keys(item, keys);
    }
}

static enum proof_contents compare_json_files(struct reading *r)
{
    struct json *tree[2] = {NULL};

    if (!r->keys->count)
        return PROOF_CONTENTS_UNKNOWN;
    for (int i = 0; i < 2; i++) {
        char *text = read_range(r, i, 0, r->size[i]);
        det_status st =
            text ? json_parse(text, r->size[i], r->mem, &tree[i], NULL) : DET_INVALID;

        if (st == DET_NOMEM)
            r->status = err_default(r->err, st);
        if (st)
            return PROOF_CONTENTS_UNKNOWN;
        remove_keys(tree[i], r->keys);
    }
    return json_equal(tree[0], tree[1]) ? PROOF_CONTENTS_SAME
                                        : PROOF_CONTENTS_DIFFERENT;
}

/* ---- formats --------------------------------------------------------------------- */

static const struct {
    const char *start; /* the first bytes of both files */
    size_t len;
    enum proof_contents (*compare)(struct reading *r);
} formats[] = {
    {"PK\3\4", 4, compare_zip_files},    {"\x80\2", 2, compare_pickle_files},
    {"\x80\3", 2, compare_pickle_files}, {"\x80\4", 2, compare_pickle_files},
    {"\x80\5", 2, compare_pickle_files}, {"{", 1, compare_json_files},
};

static enum proof_contents compare_by_format(struct reading *r)
{
    enum { START_BYTES = 4 };
    char start[2][START_BYTES] = {0};

    for (int i = 0; i < 2; i++) {
        size_t got = 0;

        r->status = io_size(r->file[i], &r->size[i], r->err);
        if (!r->status)
            r->status = io_read_at(r->file[i], 0, start[i], START_BYTES, &got, r->err);
        if (r->status)
            return PROOF_CONTENTS_UNKNOWN;
    }
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (!memcmp(start[0], formats[i].start, formats[i].len) &&
            !memcmp(start[1], formats[i].start, formats[i].len))
            return formats[i].compare(r);
    return PROOF_CONTENTS_UNKNOWN;
}

/* Whether memory ran out because of the files: many small objects take a hundred times the
 * bytes of their pickle. */
static bool is_too_large(const struct arena *mem)
{
    return mem->has_failed && mem->used > mem->limit / 4;
}

det_status proof_compare_contents(const struct proof_two_files *files,
                                  struct arena *mem, enum proof_contents *ret_contents,
                                  const char **ret_where, struct err *err)
{
    CLEANUP(arena_done)
    struct arena scratch =
        ARENA_INIT(files->memory_most ? files->memory_most : MEMORY_MOST);
    CLEANUP(io_closep) struct io_file *a = NULL;
    CLEANUP(io_closep) struct io_file *b = NULL;
    struct reading r = {.keys = files->keys, .mem = &scratch, .err = err};
    enum proof_contents contents = PROOF_CONTENTS_UNKNOWN;

    *ret_where = NULL;
    r.status = io_open(files->io, files->a, IO_READ, &a, err);
    if (!r.status)
        r.status = io_open(files->io, files->b, IO_READ, &b, err);
    r.file[0] = a;
    r.file[1] = b;
    if (!r.status)
        contents = compare_by_format(&r);
    if (is_too_large(&scratch)) {
        contents = PROOF_CONTENTS_UNKNOWN;
        r.status = DET_OK;
    } else if (!r.status && scratch.has_failed) {
        r.status = err_default(err, DET_NOMEM);
    }
    if (!r.status && contents == PROOF_CONTENTS_DIFFERENT && *r.path) {
        *ret_where = arena_strdup(mem, r.path);
        if (!*ret_where)
            r.status = err_default(err, DET_NOMEM);
    }
    if (!r.status)
        *ret_contents = contents;
    return r.status;
}
