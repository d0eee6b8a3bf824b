/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/proof/proof_compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "cli/proof/proof_contents.h"
#include "cli/proof/proof_profile.h"
#include "data/json/json.h"
#include "libdet/checkpoint/manifest.h"
#include "model/field.h"

enum { CHUNK = 1 << 18, NAME_BYTES = 512 };

void proof_parts_done(struct proof_parts *parts)
{
    for (size_t i = 0; i < parts->all.count; i++) {
        vec_done(&parts->all.at[i].differences);
        vec_done(&parts->all.at[i].same_contents);
    }
    vec_done(&parts->all);
}

bool proof_is_same(const struct proof_parts *parts)
{
    for (size_t i = 0; i < parts->all.count; i++)
        if (parts->all.at[i].differences.count)
            return false;
    return true;
}

/* NULL: no memory. */
static struct proof_part *add_part(struct proof_parts *parts, const char *group)
{
    struct proof_part part = {.group = group};

    return vec_push(&parts->all, part) ? &parts->all.at[parts->all.count - 1] : NULL;
}

static det_status add_difference(struct proof_part *part,
                                 const struct proof_difference *difference,
                                 struct err *err)
{
    return vec_push(&part->differences, *difference) ? DET_OK
                                                     : err_default(err, DET_NOMEM);
}

/* ---- files ----------------------------------------------------------------------- */

struct pair {
    struct io *io;
    const char *a; /* directories */
    const char *b;
    struct arena *mem;
    char *chunk; /* two of them */
    const struct proof_rules *rules;
};

static det_status open_in(const struct pair *pair, const char *root, const char *path,
                          struct io_file **ret_file, struct err *err)
{
    const char *name = arena_printf(pair->mem, "%s/%s", root, path);

    return name ? io_open(pair->io, name, IO_READ, ret_file, err)
                : err_default(err, DET_NOMEM);
}

/* *ret_at: the first byte that differs, or the end of the shorter file; -1: none. */
static det_status compare_bytes(const struct pair *pair, const char *path,
                                int64_t *ret_at, struct err *err)
{
    CLEANUP(io_closep) struct io_file *a = NULL;
    CLEANUP(io_closep) struct io_file *b = NULL;
    char *left = pair->chunk, *right = pair->chunk + CHUNK;
    uint64_t offset = 0;
    size_t got = 1, other = 1;
    det_status st = open_in(pair, pair->a, path, &a, err);

    *ret_at = -1;
    if (!st)
        st = open_in(pair, pair->b, path, &b, err);
    while (!st && got && *ret_at < 0) {
        size_t same = 0;

        st = io_read_at(a, offset, left, CHUNK, &got, err);
        if (!st)
            st = io_read_at(b, offset, right, CHUNK, &other, err);
        while (!st && same < MIN(got, other) && left[same] == right[same])
            same++;
        if (!st && same < MAX(got, other))
            *ret_at = (int64_t)(offset + same);
        offset += got;
    }
    return st;
}

static const char *size_text(struct arena *mem, uint64_t size)
{
    return arena_printf(mem, "%" PRIu64 " bytes", size);
}

static det_status add_missing(struct arena *mem, const struct manifest_file *file,
                              bool is_undisturbed, struct proof_part *part,
                              struct err *err)
{
    const char *size = size_text(mem, file->size_bytes);
    struct proof_difference difference = {.name = file->path, .count = 1};

    if (!size)
        return err_default(err, DET_NOMEM);
    *(is_undisturbed ? &difference.undisturbed : &difference.killed) = size;
    return add_difference(part, &difference, err);
}

/* The bytes differ: do the contents? */
static det_status compare_inside(const struct pair *pair,
                                 struct proof_difference *difference,
                                 struct proof_part *part, struct err *err)
{
    struct proof_two_files files = {
        pair->io, arena_printf(pair->mem, "%s/%s", pair->a, difference->name),
        arena_printf(pair->mem, "%s/%s", pair->b, difference->name),
        &pair->rules->keys};
    enum proof_contents contents = PROOF_CONTENTS_UNKNOWN;
    det_status st = files.a && files.b
                        ? proof_compare_contents(&files, pair->mem, &contents,
                                                 &difference->where, err)
                        : err_default(err, DET_NOMEM);

    if (st)
        return st;
    if (contents != PROOF_CONTENTS_SAME)
        return add_difference(part, difference, err);
    return vec_push(&part->same_contents, difference->name)
               ? DET_OK
               : err_default(err, DET_NOMEM);
}

static det_status compare_file(const struct pair *pair, const struct manifest_file *a,
                               const struct manifest_file *b, struct proof_part *part,
                               struct err *err)
{
    struct proof_difference difference = {.name = a->path,
                                          .undisturbed =
                                              size_text(pair->mem, a->size_bytes),
                                          .killed = size_text(pair->mem, b->size_bytes),
                                          .count = 1};
    det_status st = compare_bytes(pair, a->path, &difference.place, err);

    if (!st && (!difference.undisturbed || !difference.killed))
        st = err_default(err, DET_NOMEM);
    if (st || difference.place < 0)
        return st;
    return compare_inside(pair, &difference, part, err);
}

/* Both lists are sorted by path. */
static det_status compare_lists(const struct pair *pair, const struct manifest *a,
                                const struct manifest *b, struct proof_part *part,
                                struct err *err)
{
    size_t i = 0, k = 0;
    det_status st = DET_OK;

    while (!st && (i < a->files.count || k < b->files.count)) {
        const struct manifest_file *x = i < a->files.count ? &a->files.at[i] : NULL;
        const struct manifest_file *y = k < b->files.count ? &b->files.at[k] : NULL;
        int order = !x ? 1 : !y ? -1 : strcmp(x->path, y->path);
        const struct manifest_file *first = order > 0 ? y : x;

        i += order <= 0;
        k += order >= 0;
        if (proof_rules_match(&pair->rules->files, first->path)) {
            part->left_out++;
            continue;
        }
        part->items++;
        part->size_bytes += first->size_bytes;
        st = order ? add_missing(pair->mem, first, order < 0, part, err)
                   : compare_file(pair, x, y, part, err);
    }
    return st;
}

det_status proof_compare_files(const struct proof_directories *directories,
                               const struct proof_rules *rules, struct arena *mem,
                               struct proof_parts *parts, struct err *err)
{
    CLEANUP(manifest_done) struct manifest a = {0};
    CLEANUP(manifest_done) struct manifest b = {0};
    CLEANUP(mem_freep) char *chunk = mem_alloc(2 * CHUNK);
    struct io *io = directories->io;
    struct pair pair = {io,   directories->undisturbed, directories->killed, mem, chunk,
                        rules};
    struct proof_part *part = chunk ? add_part(parts, NULL) : NULL;
    det_status st;

    if (!part)
        return err_default(err, DET_NOMEM);
    st = manifest_walk(io, pair.a, mem, &a, err);
    if (!st)
        st = manifest_walk(io, pair.b, mem, &b, err);
    return st ? st : compare_lists(&pair, &a, &b, part, err);
}

/* ---- reports --------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct proof_report *x = a, *y = b;
    int order = strcmp(x->group, y->group);

    if (order)
        return order;
    if (x->steps != y->steps)
        return x->steps < y->steps ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool is_ignored(const char *group, const char *name,
                       const struct field_strs *patterns)
{
    char full[NAME_BYTES];

    (void)snprintf(full, sizeof(full), "%s.%s", group, name);
    return proof_rules_match(patterns, name) || proof_rules_match(patterns, full);
}

static bool is_equal(const struct json *a, const struct json *b)
{
    double x, y;

    if (!a || !b)
        return false;
    if (json_number(a, &x) && json_number(b, &y))
        return !memcmp(&x, &y, sizeof(x));
    return json_equal(a, b);
}

static const char *value_text(struct arena *mem, const struct json *value)
{
    double number;

    if (value && value->kind != JSON_STRING && json_number(value, &number))
        return arena_printf(mem, "%.17g", number);
    return json_text(mem, value);
}

/* Keeps the first difference of a metric, and counts the later ones. */
static det_status note_difference(struct proof_part *part, const char *name,
                                  int64_t steps, const struct json *const *values,
                                  struct arena *mem, struct err *err)
{
    struct proof_difference difference = {.name = name, .place = steps, .count = 1};

    for (size_t i = 0; i < part->differences.count; i++) {
        struct proof_difference *known = &part->differences.at[i];

        if (name && known->name ? !strcmp(name, known->name) : name == known->name) {
            known->count++;
            return DET_OK;
        }
    }
    difference.undisturbed = values[0] ? value_text(mem, values[0]) : NULL;
    difference.killed = values[1] ? value_text(mem, values[1]) : NULL;
    if ((values[0] && !difference.undisturbed) || (values[1] && !difference.killed))
        return err_default(err, DET_NOMEM);
    return add_difference(part, &difference, err);
}

static det_status compare_values(struct proof_part *part, const struct proof_report *a,
                                 const struct proof_report *b,
                                 const struct field_strs *ignored, struct arena *mem,
                                 struct err *err)
{
    det_status st = DET_OK;

    json_each(value, a->values) {
        const struct json *pair[2] = {value, json_get(b->values, value->key)};

        if (is_ignored(a->group, value->key, ignored))
            part->left_out++;
        else if (!is_equal(pair[0], pair[1]) && !st)
            st = note_difference(part, value->key, a->steps, pair, mem, err);
    }
    json_each(value, b->values) {
        const struct json *pair[2] = {NULL, value};

        if (!json_get(a->values, value->key) && !st &&
            !is_ignored(b->group, value->key, ignored))
            st = note_difference(part, value->key, a->steps, pair, mem, err);
    }
    return st;
}

/* How many reports from `at` on have the same group and steps. */
static size_t count_alike(const struct proof_reports *reports, size_t at)
{
    const struct proof_report *first = &reports->all.at[at];
    size_t end = at;

    while (end < reports->all.count && reports->all.at[end].steps == first->steps &&
           !strcmp(reports->all.at[end].group, first->group))
        end++;
    return end - at;
}

/* The order of two reports; a list at its end comes last. */
static int order_of(const struct proof_reports *a, size_t i,
                    const struct proof_reports *b, size_t k)
{
    struct proof_report x, y;

    if (i >= a->all.count || k >= b->all.count)
        return i >= a->all.count ? 1 : -1;
    x = a->all.at[i];
    y = b->all.at[k];
    x.order = y.order = 0;
    return by_place(&x, &y);
}

static struct proof_part *part_of(struct proof_parts *parts, const char *group)
{
    struct proof_part *last =
        parts->all.count ? &parts->all.at[parts->all.count - 1] : NULL;

    if (last && last->group && !strcmp(last->group, group))
        return last;
    return add_part(parts, group);
}

/* Compares the reports of one place; one of them may be NULL. */
static det_status compare_place(struct proof_part *part, const struct proof_report *a,
                                const struct proof_report *b,
                                const struct field_strs *ignored, struct arena *mem,
                                struct err *err)
{
    const struct json *values[2] = {a ? a->values : NULL, b ? b->values : NULL};

    part->items++;
    if (a && b)
        return compare_values(part, a, b, ignored, mem, err);
    return note_difference(part, NULL, a ? a->steps : b->steps, values, mem, err);
}

det_status proof_compare_reports(struct proof_reports *undisturbed,
                                 struct proof_reports *killed,
                                 const struct proof_rules *rules, struct arena *mem,
                                 struct proof_parts *parts, struct err *err)
{
    struct proof_reports *a = undisturbed, *b = killed;
    size_t i = 0, k = 0;
    det_status st = DET_OK;

    if (a->all.count)
        qsort(a->all.at, a->all.count, sizeof(*a->all.at), by_place);
    if (b->all.count)
        qsort(b->all.at, b->all.count, sizeof(*b->all.at), by_place);
    while (!st && (i < a->all.count || k < b->all.count)) {
        int order = order_of(a, i, b, k);
        const struct proof_report *x = order <= 0 ? &a->all.at[i] : NULL;
        const struct proof_report *y = order >= 0 ? &b->all.at[k] : NULL;
        size_t xs = x ? count_alike(a, i) : 0, ys = y ? count_alike(b, k) : 0;
        struct proof_part *part = part_of(parts, x ? x->group : y->group);

        if (!part)
            return err_default(err, DET_NOMEM);
        if (xs > 1 || ys > 1)
            part->unplaced += MAX(xs, ys); /* reports without batches */
        else
            st = compare_place(part, x, y, &rules->metrics, mem, err);
        i += xs;
        k += ys;
    }
    return st;
}
