/* SPDX-License-Identifier: Apache-2.0 */
/* metric_block.c - see metric_block.h.
 *
 *   block = number of rows, names, then the columns: steps, ids, times, doubles for
 *           each name, the rest and the batch metrics as texts (metric_codec.h) */
#include "store/metric/metric_block.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "data/json/json.h"
#include "store/blob.h"
#include "store/metric/metric.h"
#include "store/metric/metric_codec.h"
#include "store/metric/metric_stat.h"

/* The state of encoding. */
struct encoder {
    const struct metric_cells *row;
    uint32_t count;
    struct map columns; /* name -> column number + 1 */
    VEC(const char *) names;
    uint32_t column_count;
    double *cell; /* column-major, columns x rows */
    unsigned char *has;
    int64_t *ints;
    double *reals;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool gather_names(struct encoder *e)
{
    for (uint32_t i = 0; i < e->count; i++) {
        const struct metric_cells *row = &e->row[i];

        if (i && row->name == row[-1].name && row->count == row[-1].count)
            continue;
        for (uint32_t k = 0; k < row->count; k++) {
            if (smap_get(&e->columns, row->name[k]))
                continue;
            if (!smap_put(&e->columns, row->name[k], e) ||
                !vec_push(&e->names, row->name[k]))
                return false;
        }
    }
    return true;
}

/* Columns are sorted by name, so the names of each decoded row are sorted too. */
static bool name_columns(struct encoder *e, struct buf *out)
{
    if (!gather_names(e))
        return false;
    if (e->names.count)
        qsort(e->names.at, e->names.count, sizeof(*e->names.at), by_text);
    for (size_t i = 0; i < e->names.count; i++) {
        if (!smap_put(&e->columns, e->names.at[i], (void *)(uintptr_t)(i + 1)))
            return false;
        buf_put_bytes(out, e->names.at[i], strlen(e->names.at[i]));
    }
    e->column_count = (uint32_t)e->names.count;
    return true;
}

static bool fill_columns(struct encoder *e, struct arena *mem)
{
    size_t cells = (size_t)e->column_count * e->count;

    e->cell = arena_array(mem, double, cells + 1);
    e->has = arena_array(mem, unsigned char, cells + e->count + 1);
    e->ints = arena_array(mem, int64_t, e->count + 1);
    e->reals = arena_array(mem, double, e->count + 1);
    if (!e->cell || !e->has || !e->ints || !e->reals)
        return false;
    for (uint32_t i = 0; i < e->count; i++) {
        const struct metric_cells *row = &e->row[i];

        for (uint32_t k = 0; k < row->count; k++) {
            uintptr_t column = (uintptr_t)smap_get(&e->columns, row->name[k]);
            size_t at = (column - 1) * e->count + i;

            e->cell[at] = row->value[k];
            e->has[at] = 1;
        }
    }
    return true;
}

static void put_column(struct encoder *e, uint32_t column, struct buf *out)
{
    const double *cell = e->cell + (size_t)column * e->count;
    const unsigned char *has = e->has + (size_t)column * e->count;
    uint32_t present = 0;

    for (uint32_t i = 0; i < e->count; i++) {
        if (has[i])
            e->reals[present++] = cell[i];
    }
    metric_codec_put_holes(out, has, e->count, present);
    metric_codec_put_reals(out, e->reals, present, e->ints);
}

static void put_texts(struct encoder *e, bool is_batch, struct buf *out)
{
    unsigned char *has = e->has + (size_t)e->column_count * e->count;
    uint32_t present = 0;

    for (uint32_t i = 0; i < e->count; i++) {
        has[i] = (is_batch ? e->row[i].batch : e->row[i].rest) != NULL;
        present += has[i];
    }
    metric_codec_put_holes(out, has, e->count, present);
    for (uint32_t i = 0; i < e->count; i++) {
        const char *text = is_batch ? e->row[i].batch : e->row[i].rest;

        if (text)
            buf_put_bytes(out, text, strlen(text));
    }
}

static void put_columns(struct encoder *e, struct buf *out)
{
    for (uint32_t i = 0; i < e->count; i++)
        e->ints[i] = e->row[i].steps;
    metric_codec_put_ints(out, e->ints, e->count);
    for (uint32_t i = 0; i < e->count; i++)
        e->ints[i] = e->row[i].id;
    metric_codec_put_ints(out, e->ints, e->count);
    for (uint32_t i = 0; i < e->count; i++)
        e->ints[i] = e->row[i].report_us;
    metric_codec_put_ints(out, e->ints, e->count);
    for (uint32_t i = 0; i < e->column_count; i++)
        put_column(e, i, out);
    put_texts(e, false, out);
    put_texts(e, true, out);
}

static det_status encode_head(const struct metric_cells *row, uint32_t count,
                              struct arena *mem, struct buf *head, struct err *err)
{
    struct metric_stats stats = {.mem = mem};
    det_status st = DET_OK;

    for (uint32_t i = 0; i < count && !st; i++)
        st = metric_stats_add_row(&stats, 0, &row[i], err);
    if (!st)
        metric_stats_encode(&stats, head);
    metric_stats_done(&stats);
    return st;
}

static bool are_in_order(const struct metric_cells *row, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (metric_place_compare(metric_place_of(&row[i - 1]),
                                 metric_place_of(&row[i])) >= 0)
            return false;
    }
    return true;
}

det_status metric_block_encode(const struct metric_cells *row, uint32_t count,
                               struct arena *mem, struct buf *head, struct buf *data,
                               struct err *err)
{
    CLEANUP(buf_done) struct buf names = BUF_INIT;
    struct encoder e = {.row = row, .count = count};
    bool is_filled = name_columns(&e, &names) && fill_columns(&e, mem);

    assert(count && count <= METRIC_BLOCK_ROWS_MOST && are_in_order(row, count));
    map_done(&e.columns);
    vec_done(&e.names);
    if (!is_filled || names.status)
        return err_default(err, DET_NOMEM);
    buf_put_varint(data, count);
    buf_put_varint(data, e.column_count);
    buf_add(data, names.data, names.len);
    put_columns(&e, data);
    if (data->status)
        return err_default(err, data->status);
    return encode_head(row, count, mem, head, err);
}

/* ---- reading --------------------------------------------------------------------- */

struct decoder {
    struct blob blob;
    struct arena *mem;
    struct metric_cells *row;
    uint32_t count;
    const char **name;
    uint32_t column_count;
    int64_t *ints;
    double *reals;
};

/* Every row has room for all columns.  Rows that have all of them share the names. */
static bool decoder_room(struct decoder *d)
{
    d->row = arena_array(d->mem, struct metric_cells, d->count + 1);
    d->ints = arena_array(d->mem, int64_t, d->count + 1);
    d->reals = arena_array(d->mem, double, d->count + 1);
    if (!d->row || !d->ints || !d->reals)
        return false;
    for (uint32_t i = 0; i < d->count; i++) {
        d->row[i].value = arena_array(d->mem, double, d->column_count + 1);
        d->row[i].name = d->name;
        if (!d->row[i].value)
            return false;
    }
    return true;
}

/* A row that lacks a column needs its own list of names. */
static bool own_names(struct decoder *d, struct metric_cells *row)
{
    const char **names;

    if (row->name != d->name)
        return true;
    names = arena_array(d->mem, const char *, d->column_count + 1);
    if (!names)
        return false;
    for (uint32_t i = 0; i < row->count; i++)
        names[i] = d->name[i];
    row->name = names;
    return true;
}

static bool get_column(struct decoder *d, uint32_t column)
{
    struct metric_codec_holes holes = metric_codec_get_holes(&d->blob, d->count);
    uint32_t at = 0;

    metric_codec_get_reals(&d->blob, d->reals, holes.present, d->ints);
    for (uint32_t i = 0; i < d->count && !d->blob.is_bad; i++) {
        struct metric_cells *row = &d->row[i];

        if (!metric_codec_has(&holes, i)) {
            if (!own_names(d, row))
                return false;
            continue;
        }
        if (row->name != d->name)
            ((const char **)row->name)[row->count] = d->name[column];
        ((double *)row->value)[row->count++] = d->reals[at++];
    }
    return true;
}

static bool get_texts(struct decoder *d, bool is_batch)
{
    struct metric_codec_holes holes = metric_codec_get_holes(&d->blob, d->count);

    for (uint32_t i = 0; i < d->count && !d->blob.is_bad; i++) {
        const char *bytes;
        uint64_t len;
        char *text;

        if (!metric_codec_has(&holes, i))
            continue;
        len = blob_varint(&d->blob);
        bytes = blob_bytes(&d->blob, len);
        if (!bytes)
            break;
        text = arena_strndup(d->mem, bytes, len);
        if (!text)
            return false;
        if (is_batch)
            d->row[i].batch = text;
        else
            d->row[i].rest = text;
    }
    return true;
}

static bool get_names(struct decoder *d)
{
    d->name = arena_array(d->mem, const char *, d->column_count + 1);
    if (!d->name)
        return false;
    for (uint32_t i = 0; i < d->column_count && !d->blob.is_bad; i++) {
        uint64_t len = blob_varint(&d->blob);
        const char *bytes = blob_bytes(&d->blob, len);

        d->name[i] = bytes ? arena_strndup(d->mem, bytes, len) : "";
        if (!d->name[i])
            return false;
    }
    return true;
}

static bool get_columns(struct decoder *d)
{
    metric_codec_get_ints(&d->blob, d->ints, d->count);
    for (uint32_t i = 0; i < d->count; i++)
        d->row[i].steps = d->ints[i];
    metric_codec_get_ints(&d->blob, d->ints, d->count);
    for (uint32_t i = 0; i < d->count; i++)
        d->row[i].id = d->ints[i];
    metric_codec_get_ints(&d->blob, d->ints, d->count);
    for (uint32_t i = 0; i < d->count; i++)
        d->row[i].report_us = d->ints[i];
    for (uint32_t i = 0; i < d->column_count && !d->blob.is_bad; i++) {
        if (!get_column(d, i))
            return false;
    }
    return get_texts(d, false) && get_texts(d, true);
}

det_status metric_block_decode(const void *data, size_t len, struct arena *mem,
                               struct metric_cells **ret_rows, uint32_t *ret_count,
                               struct err *err)
{
    struct decoder d = {.blob = BLOB_INIT(data, len), .mem = mem};
    uint64_t count = blob_varint(&d.blob);
    uint64_t columns = blob_varint(&d.blob);

    /* A damaged count must not request more memory than a valid block could fill. */
    if (d.blob.is_bad || count > METRIC_BLOCK_ROWS_MOST || columns > len)
        return err_set(err, DET_CORRUPT, "a block of metrics is damaged");
    d.count = (uint32_t)count;
    d.column_count = (uint32_t)columns;
    if (!get_names(&d) || !decoder_room(&d) || !get_columns(&d))
        return err_default(err, DET_NOMEM);
    if (d.blob.is_bad || !are_in_order(d.row, d.count))
        return err_set(err, DET_CORRUPT, "a block of metrics is damaged");
    *ret_rows = d.row;
    *ret_count = d.count;
    return DET_OK;
}

/* ---- some columns ---------------------------------------------------------------- */

struct picker {
    struct blob blob;
    struct arena *mem;
    const char *const *name; /* sorted, like the names of the block */
    uint32_t names;
    struct metric_columns *out;
    uint32_t
        *column; /* per column of the block: the wanted name, plus 1; 0: not wanted */
    double *reals;
    int64_t *ints;
};

int metric_name_compare(const char *name, const char *bytes, uint64_t len)
{
    size_t mine = strlen(name);
    int order = memcmp(name, bytes, MIN(mine, len));

    return order ? order : (mine > len) - (mine < len);
}

/* Both lists are sorted, so one pass is enough. */
static void pick_names(struct picker *p, uint32_t columns)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < columns && !p->blob.is_bad; i++) {
        uint64_t len = blob_varint(&p->blob);
        const char *bytes = blob_bytes(&p->blob, len);

        while (bytes && at < p->names &&
               metric_name_compare(p->name[at], bytes, len) < 0)
            at++;
        if (bytes && at < p->names && !metric_name_compare(p->name[at], bytes, len))
            p->column[i] = at + 1;
    }
}

static bool pick_room(struct picker *p, uint32_t name)
{
    struct metric_columns *out = p->out;

    if (out->has[name])
        return true;
    out->has[name] = arena_array(p->mem, unsigned char, out->rows + 1);
    out->value[name] = arena_array(p->mem, double, out->rows + 1);
    return out->has[name] && out->value[name];
}

static bool pick_column(struct picker *p, uint32_t name)
{
    struct metric_codec_holes holes = metric_codec_get_holes(&p->blob, p->out->rows);
    uint32_t at = 0;

    metric_codec_get_reals(&p->blob, p->reals, holes.present, p->ints);
    if (!name || !holes.present || p->blob.is_bad)
        return true;
    if (!pick_room(p, name - 1))
        return false;
    for (uint32_t i = 0; i < p->out->rows; i++) {
        if (!metric_codec_has(&holes, i))
            continue;
        p->out->has[name - 1][i] = 1;
        p->out->value[name - 1][i] = p->reals[at++];
    }
    return true;
}

/* A number that a double cannot hold is in the rest. */
static det_status pick_rest(struct picker *p, uint32_t row, const char *text,
                            size_t len, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(64 << 20);
    struct json *rest = NULL;
    det_status st = json_parse(text, len, &scratch, &rest, err);

    for (uint32_t i = 0; i < p->names && !st; i++) {
        double value;

        if (!json_number(json_get(rest, p->name[i]), &value))
            continue;
        if (!pick_room(p, i))
            return err_default(err, DET_NOMEM);
        p->out->has[i][row] = 1;
        p->out->value[i][row] = value;
    }
    return st;
}

static det_status pick_texts(struct picker *p, struct err *err)
{
    struct metric_codec_holes holes = metric_codec_get_holes(&p->blob, p->out->rows);
    det_status st = DET_OK;

    for (uint32_t i = 0; i < p->out->rows && !st && !p->blob.is_bad; i++) {
        const char *text;
        uint64_t len;

        if (!metric_codec_has(&holes, i))
            continue;
        len = blob_varint(&p->blob);
        text = blob_bytes(&p->blob, len);
        if (text)
            st = pick_rest(p, i, text, len, err);
    }
    return st;
}

static bool pick_arrays(struct picker *p, uint32_t columns)
{
    struct metric_columns *out = p->out;

    p->column = arena_array(p->mem, uint32_t, columns + 1);
    p->reals = arena_array(p->mem, double, out->rows + 1);
    p->ints = arena_array(p->mem, int64_t, out->rows + 1);
    out->steps = arena_array(p->mem, int64_t, out->rows + 1);
    out->report_us = arena_array(p->mem, int64_t, out->rows + 1);
    out->value = arena_array(p->mem, double *, p->names + 1);
    out->has = arena_array(p->mem, unsigned char *, p->names + 1);
    return p->column && p->reals && p->ints && out->steps && out->report_us &&
           out->value && out->has;
}

det_status metric_block_columns(const void *data, size_t len, const char *const *name,
                                uint32_t names, struct arena *mem,
                                struct metric_columns *ret_columns, struct err *err)
{
    struct picker p = {.blob = BLOB_INIT(data, len),
                       .mem = mem,
                       .name = name,
                       .names = names,
                       .out = ret_columns};
    uint64_t count = blob_varint(&p.blob);
    uint64_t columns = blob_varint(&p.blob);
    det_status st;

    assert(metric_names_are_sorted(name, names));
    if (p.blob.is_bad || count > METRIC_BLOCK_ROWS_MOST || columns > len)
        return err_set(err, DET_CORRUPT, "a block of metrics is damaged");
    *ret_columns = (struct metric_columns){.rows = (uint32_t)count};
    if (!pick_arrays(&p, (uint32_t)columns))
        return err_default(err, DET_NOMEM);
    pick_names(&p, (uint32_t)columns);
    metric_codec_get_ints(&p.blob, ret_columns->steps, ret_columns->rows);
    metric_codec_get_ints(&p.blob, p.ints, ret_columns->rows);
    metric_codec_get_ints(&p.blob, ret_columns->report_us, ret_columns->rows);
    for (uint32_t i = 0; i < columns && !p.blob.is_bad; i++) {
        if (!pick_column(&p, p.column[i]))
            return err_default(err, DET_NOMEM);
    }
    st = pick_texts(&p, err);
    if (!st && p.blob.is_bad)
        return err_set(err, DET_CORRUPT, "a block of metrics is damaged");
    return st;
}
