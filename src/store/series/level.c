/* SPDX-License-Identifier: Apache-2.0 */
/* level.c - see level.h.  The bytes of a page are:
 *
 *   number of nodes; of each node the first and last steps, the smallest and largest
 *   time and the number of rows (metric_codec.h); number of columns; for each column
 *   its name, its length and
 *     whether all rows have it, else the counts;
 *     whether any value is not finite, then one byte per node;
 *     one bit per node: its low came first;
 *     which nodes have finite values; their lows, their highs;
 *     the first and the last value with steps and time
 *
 * The lengths let a reader of one column skip the others. */
#include "store/series/level.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "data/json/json.h"
#include "store/blob.h"
#include "store/metric/metric.h"
#include "store/metric/metric_block.h"
#include "store/metric/metric_codec.h"
#include "store/series/series_pen.h"

enum { LEVEL_NODES_MOST = 1 << 16 };

/* ---- adding up ------------------------------------------------------------------- */

struct builder {
    struct arena *mem;
    struct map columns; /* name -> struct level_column */
    VEC(struct level_column *) all;
    uint32_t nodes;
    struct level_node *node;
    const char *const *known;       /* the names of the previous row */
    uint32_t known_count;           /* how many of them were looked up */
    struct level_column **known_at; /* their columns */
    uint32_t known_room;
};

static struct level_column *column_of(struct builder *b, const char *name)
{
    struct level_column *column = smap_get(&b->columns, name);

    if (column)
        return column;
    column = arena_new(b->mem, struct level_column);
    if (column) {
        column->name = arena_strdup(b->mem, name);
        column->sum = arena_array(b->mem, struct series_sum, b->nodes + 1);
    }
    if (!column || !column->name || !column->sum || !vec_push(&b->all, column))
        return NULL;
    if (!smap_put(&b->columns, column->name, column)) {
        (void)vec_pop(&b->all);
        return NULL;
    }
    return column;
}

/* Call it in the order of the rows. */
static void sum_add(struct series_sum *sum, const struct series_sum *more, uint32_t at)
{
    sum->count += more->count;
    sum->odd |= more->odd;
    if (!more->has)
        return;
    if (!sum->has || more->low < sum->low) {
        sum->low = more->low;
        sum->low_at = at + more->low_at;
    }
    if (!sum->has || more->high > sum->high) {
        sum->high = more->high;
        sum->high_at = at + more->high_at;
    }
    sum->has = true;
}

static uint8_t odd_of(double value)
{
    if (isfinite(value))
        return 0;
    if (isnan(value))
        return ODD_NAN;
    return value > 0 ? ODD_UP : ODD_DOWN;
}

/* Call it in the order of places. */
static void add_end(struct level_column *column, const struct level_end *end)
{
    if (!column->has_ends) {
        for (int i = 0; i < LEVEL_ENDS; i++)
            column->end[i] = *end;
        column->has_ends = true;
        return;
    }
    column->end[LEVEL_LAST] = *end;
    if (end->report_us < column->end[LEVEL_EARLIEST].report_us)
        column->end[LEVEL_EARLIEST] = *end;
    if (end->report_us >= column->end[LEVEL_LATEST].report_us)
        column->end[LEVEL_LATEST] = *end;
}

/* Adds the ends of the next page. */
static void merge_ends(struct level_column *column, const struct level_column *next)
{
    struct level_end first = column->end[LEVEL_FIRST];

    if (!next->has_ends)
        return;
    if (!column->has_ends)
        first = next->end[LEVEL_FIRST];
    add_end(column, &next->end[LEVEL_EARLIEST]);
    add_end(column, &next->end[LEVEL_LATEST]);
    column->end[LEVEL_FIRST] = first;
    column->end[LEVEL_LAST] = next->end[LEVEL_LAST];
}

static bool add_value(struct level_column *column, uint32_t row,
                      const struct metric_cells *cells, double value)
{
    struct series_sum one = {.count = 1, .odd = odd_of(value)};
    struct level_end end = {cells->steps, cells->report_us, value};

    if (!column)
        return false;
    one.has = !one.odd;
    one.low = one.high = value;
    sum_add(&column->sum[row / LEVEL_NODE_ROWS], &one, row);
    add_end(column, &end);
    return true;
}

/* Rows of one shape share the array of names, so the names are looked up once. */
static bool know_names(struct builder *b, const struct metric_cells *cells)
{
    if (b->known == cells->name && b->known_count == cells->count)
        return true;
    if (b->known_room < cells->count) {
        b->known_at = arena_array(b->mem, struct level_column *, cells->count);
        b->known_room = b->known_at ? cells->count : 0;
    }
    b->known = NULL;
    for (uint32_t i = 0; i < cells->count; i++) {
        struct level_column *column = b->known_at ? column_of(b, cells->name[i]) : NULL;

        if (!column)
            return false;
        b->known_at[i] = column;
    }
    b->known = cells->name;
    b->known_count = cells->count;
    return true;
}

static det_status add_cells(struct builder *b, uint32_t row,
                            const struct metric_cells *cells, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(64 << 20);
    struct json *rest = NULL;
    det_status st = DET_OK;

    if (!know_names(b, cells))
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < cells->count; i++)
        (void)add_value(b->known_at[i], row, cells, cells->value[i]);
    if (cells->rest)
        st = json_parse(cells->rest, strlen(cells->rest), &scratch, &rest, err);
    json_each(item, rest) {
        double value;

        if (!st && json_number(item, &value) &&
            !add_value(column_of(b, item->key), row, cells, value))
            st = err_default(err, DET_NOMEM);
    }
    return st;
}

static void node_add(struct level_node *node, const struct level_node *more)
{
    if (!node->rows) {
        *node = *more;
        return;
    }
    node->last_steps = more->last_steps;
    node->min_us = MIN(node->min_us, more->min_us);
    node->max_us = MAX(node->max_us, more->max_us);
    node->rows += more->rows;
}

static int by_name(const void *a, const void *b)
{
    const struct level_column *x = a;
    const struct level_column *y = b;

    return strcmp(x->name, y->name);
}

static bool builder_init(struct builder *b, uint32_t nodes, struct arena *mem)
{
    *b = (struct builder){.mem = mem, .nodes = nodes};
    b->node = arena_array(mem, struct level_node, nodes + 1);
    return b->node != NULL;
}

/* Also frees the builder. */
static det_status builder_end(struct builder *b, det_status st, struct level *ret_level,
                              struct err *err)
{
    struct level level = {
        .nodes = b->nodes, .node = b->node, .columns = (uint32_t)b->all.count};

    level.column = arena_array(b->mem, struct level_column, b->all.count + 1);
    if (!st && !level.column)
        st = err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < level.columns && !st; i++)
        level.column[i] = *b->all.at[i];
    if (!st)
        qsort(level.column, level.columns, sizeof(*level.column), by_name);
    map_done(&b->columns);
    vec_done(&b->all);
    if (!st)
        *ret_level = level;
    return st;
}

det_status level_of_rows(const struct metric_rows *rows, struct arena *mem,
                         struct level *ret_level, struct err *err)
{
    struct builder b;
    det_status st = DET_OK;

    if (!builder_init(&b, (rows->count + LEVEL_NODE_ROWS - 1) / LEVEL_NODE_ROWS, mem))
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < rows->count && !st; i++) {
        const struct metric_cells *cells = &rows->row[i];
        struct level_node one = {cells->steps, cells->steps, cells->report_us,
                                 cells->report_us, 1};

        node_add(&b.node[i / LEVEL_NODE_ROWS], &one);
        st = add_cells(&b, i, cells, err);
    }
    return builder_end(&b, st, ret_level, err);
}

static bool merge_column(struct builder *b, const struct level *page,
                         const struct level_column *from, uint32_t each, uint32_t base)
{
    struct level_column *to = column_of(b, from->name);

    if (!to)
        return false;
    for (uint32_t i = 0; i < page->nodes; i++)
        sum_add(&to->sum[base + i / each], &from->sum[i], i * 2);
    merge_ends(to, from);
    return true;
}

det_status level_merge(const struct level *page, uint32_t count, uint32_t each,
                       struct arena *mem, struct level *ret_level, struct err *err)
{
    struct builder b;
    uint32_t nodes = 0;
    det_status st = DET_OK;

    assert(count && each);
    for (uint32_t i = 0; i < count; i++)
        nodes += (page[i].nodes + each - 1) / each;
    if (!builder_init(&b, nodes, mem))
        return err_default(err, DET_NOMEM);
    nodes = 0;
    for (uint32_t i = 0; i < count && !st; i++) {
        for (uint32_t k = 0; k < page[i].nodes; k++)
            node_add(&b.node[nodes + k / each], &page[i].node[k]);
        for (uint32_t k = 0; k < page[i].columns && !st; k++) {
            if (!merge_column(&b, &page[i], &page[i].column[k], each, nodes))
                st = err_default(err, DET_NOMEM);
        }
        nodes += (page[i].nodes + each - 1) / each;
    }
    return builder_end(&b, st, ret_level, err);
}

/* ---- as bytes -------------------------------------------------------------------- */

/* Numbers the five members of a node. */
static int64_t *node_field(struct level_node *node, int field)
{
    int64_t *all[] = {&node->first_steps, &node->last_steps, &node->min_us,
                      &node->max_us, &node->rows};

    return all[field];
}
enum { NODE_FIELDS = 5 };

struct coder {
    int64_t *ints; /* one per node */
    double *reals;
    unsigned char *bytes;
};

static bool coder_init(struct coder *coder, uint32_t nodes, struct arena *mem)
{
    coder->ints = arena_array(mem, int64_t, nodes + 1);
    coder->reals = arena_array(mem, double, nodes + 1);
    coder->bytes = arena_array(mem, unsigned char, nodes + 1);
    return coder->ints && coder->reals && coder->bytes;
}

static void put_counts(const struct level *level, const struct level_column *column,
                       struct coder *coder, struct buf *out)
{
    bool is_full = true;

    for (uint32_t i = 0; i < level->nodes; i++) {
        coder->ints[i] = column->sum[i].count;
        is_full &= coder->ints[i] == level->node[i].rows;
    }
    buf_putc(out, is_full);
    if (!is_full)
        metric_codec_put_ints(out, coder->ints, level->nodes);
}

static void put_odd(const struct level *level, const struct level_column *column,
                    struct buf *out)
{
    unsigned any = 0;

    for (uint32_t i = 0; i < level->nodes; i++)
        any |= column->sum[i].odd;
    buf_putc(out, any != 0);
    for (uint32_t i = 0; i < level->nodes && any; i++)
        buf_putc(out, (char)column->sum[i].odd);
}

static void put_order(const struct level *level, const struct level_column *column,
                      struct buf *out)
{
    for (uint32_t at = 0; at < level->nodes; at += 8) {
        unsigned bits = 0;

        for (uint32_t i = at; i < level->nodes && i < at + 8; i++)
            bits |= (unsigned)(column->sum[i].low_at <= column->sum[i].high_at)
                    << (i - at);
        buf_putc(out, (char)bits);
    }
}

static void put_extremes(const struct level *level, const struct level_column *column,
                         struct coder *coder, struct buf *out)
{
    uint32_t present = 0;

    for (uint32_t i = 0; i < level->nodes; i++) {
        coder->bytes[i] = column->sum[i].has;
        if (column->sum[i].has)
            coder->reals[present++] = column->sum[i].low;
    }
    metric_codec_put_holes(out, coder->bytes, level->nodes, present);
    metric_codec_put_reals(out, coder->reals, present, coder->ints);
    present = 0;
    for (uint32_t i = 0; i < level->nodes; i++) {
        if (column->sum[i].has)
            coder->reals[present++] = column->sum[i].high;
    }
    metric_codec_put_reals(out, coder->reals, present, coder->ints);
}

static bool is_same(const struct level_end *a, const struct level_end *b)
{
    return a->steps == b->steps && a->report_us == b->report_us &&
           !memcmp(&a->value, &b->value, sizeof(a->value));
}

/* How many ends are written: those by time only if they differ. */
static int count_ends(const struct level_column *column)
{
    bool is_ordered =
        is_same(&column->end[LEVEL_FIRST], &column->end[LEVEL_EARLIEST]) &&
        is_same(&column->end[LEVEL_LAST], &column->end[LEVEL_LATEST]);

    return is_ordered ? LEVEL_EARLIEST : LEVEL_ENDS;
}

static void put_ends(const struct level_column *column, struct buf *out)
{
    int count = count_ends(column);

    buf_putc(out, (char)count);
    for (int i = 0; i < count; i++) {
        buf_put_zigzag(out, column->end[i].steps);
        buf_put_zigzag(out, column->end[i].report_us);
        buf_put_f64(out, column->end[i].value);
    }
}

void level_encode(const struct level *level, struct buf *out)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct coder coder;

    if (!coder_init(&coder, level->nodes, &mem)) {
        out->status = DET_NOMEM;
        return;
    }
    buf_put_varint(out, level->nodes);
    for (int field = 0; field < NODE_FIELDS; field++) {
        for (uint32_t i = 0; i < level->nodes; i++)
            coder.ints[i] = *node_field(&level->node[i], field);
        metric_codec_put_ints(out, coder.ints, level->nodes);
    }
    buf_put_varint(out, level->columns);
    for (uint32_t i = 0; i < level->columns; i++) {
        const struct level_column *column = &level->column[i];

        buf_clear(&body);
        put_counts(level, column, &coder, &body);
        put_odd(level, column, &body);
        put_order(level, column, &body);
        put_extremes(level, column, &coder, &body);
        put_ends(column, &body);
        buf_put_bytes(out, column->name, strlen(column->name));
        buf_put_bytes(out, body.data, body.len);
        if (body.status && !out->status)
            out->status = body.status;
    }
}

/* ---- and back -------------------------------------------------------------------- */

static void get_counts(struct blob *blob, const struct level *level,
                       struct level_column *column, struct coder *coder)
{
    const unsigned char *is_full = blob_bytes(blob, 1);

    if (is_full && !*is_full)
        metric_codec_get_ints(blob, coder->ints, level->nodes);
    for (uint32_t i = 0; i < level->nodes && is_full; i++) {
        int64_t count = *is_full ? level->node[i].rows : coder->ints[i];

        if (count < 0 || count > level->node[i].rows)
            blob->is_bad = true;
        column->sum[i].count = (uint32_t)count;
    }
}

static void get_odd_and_order(struct blob *blob, const struct level *level,
                              struct level_column *column)
{
    const unsigned char *any = blob_bytes(blob, 1);
    const unsigned char *odd = any && *any ? blob_bytes(blob, level->nodes) : NULL;
    const unsigned char *order = blob_bytes(blob, (level->nodes + 7) / 8);

    for (uint32_t i = 0; i < level->nodes && order; i++) {
        bool is_low_first = order[i / 8] >> (i % 8) & 1;

        column->sum[i].odd = odd ? odd[i] & (ODD_NAN | ODD_UP | ODD_DOWN) : 0;
        column->sum[i].low_at = !is_low_first;
        column->sum[i].high_at = is_low_first;
    }
}

static void get_extremes(struct blob *blob, const struct level *level,
                         struct level_column *column, struct coder *coder)
{
    struct metric_codec_holes holes = metric_codec_get_holes(blob, level->nodes);
    uint32_t at = 0;

    metric_codec_get_reals(blob, coder->reals, holes.present, coder->ints);
    for (uint32_t i = 0; i < level->nodes && !blob->is_bad; i++) {
        column->sum[i].has = metric_codec_has(&holes, i);
        if (column->sum[i].has)
            column->sum[i].low = coder->reals[at++];
    }
    at = 0;
    metric_codec_get_reals(blob, coder->reals, holes.present, coder->ints);
    for (uint32_t i = 0; i < level->nodes && !blob->is_bad; i++) {
        if (column->sum[i].has)
            column->sum[i].high = coder->reals[at++];
    }
}

static void get_ends(struct blob *blob, struct level_column *column)
{
    const unsigned char *count = blob_bytes(blob, 1);

    for (int i = 0; count && i < MIN(*count, LEVEL_ENDS); i++) {
        column->end[i].steps = blob_zigzag(blob);
        column->end[i].report_us = blob_zigzag(blob);
        column->end[i].value = blob_f64(blob);
    }
    if (count && *count == LEVEL_EARLIEST) {
        column->end[LEVEL_EARLIEST] = column->end[LEVEL_FIRST];
        column->end[LEVEL_LATEST] = column->end[LEVEL_LAST];
    }
    column->has_ends = true;
}

static bool get_column(struct blob *body, const struct level *level,
                       struct level_column *column, struct coder *coder,
                       struct arena *mem)
{
    column->sum = arena_array(mem, struct series_sum, level->nodes + 1);
    if (!column->sum)
        return false;
    get_counts(body, level, column, coder);
    get_odd_and_order(body, level, column);
    get_extremes(body, level, column, coder);
    get_ends(body, column);
    for (uint32_t i = 0; i < level->nodes; i++) {
        if (!column->sum[i].count && (column->sum[i].has || column->sum[i].odd))
            body->is_bad = true;
    }
    return true;
}

static bool get_nodes(struct blob *blob, struct level *level, struct coder *coder,
                      struct arena *mem)
{
    level->node = arena_array(mem, struct level_node, level->nodes + 1);
    if (!level->node || !coder_init(coder, level->nodes, mem))
        return false;
    for (int field = 0; field < NODE_FIELDS; field++) {
        metric_codec_get_ints(blob, coder->ints, level->nodes);
        for (uint32_t i = 0; i < level->nodes; i++)
            *node_field(&level->node[i], field) = coder->ints[i];
    }
    for (uint32_t i = 0; i < level->nodes; i++) {
        if (level->node[i].rows < 0 || level->node[i].rows > UINT32_MAX)
            blob->is_bad = true;
    }
    return true;
}

/* Returns the wanted column of this name; NULL: not wanted.  Both lists are sorted;
 * `*at` is the position in the wanted one. */
static struct level_column *wanted_column(struct level *level, uint32_t *at,
                                          const char *bytes, uint64_t len)
{
    while (*at < level->columns &&
           metric_name_compare(level->column[*at].name, bytes, len) < 0)
        ++*at;
    if (*at == level->columns ||
        metric_name_compare(level->column[*at].name, bytes, len) != 0)
        return NULL;
    return &level->column[(*at)++];
}

static det_status get_columns(struct blob *blob, struct level *level, bool takes_all,
                              struct coder *coder, struct arena *mem, struct err *err)
{
    uint64_t count = blob_varint(blob);
    uint32_t at = 0;

    for (uint64_t i = 0; i < count && !blob->is_bad; i++) {
        uint64_t len = blob_varint(blob);
        const char *name = blob_bytes(blob, len);
        uint64_t body_len = blob_varint(blob);
        const void *bytes = blob_bytes(blob, body_len);
        struct level_column *column;
        struct blob body;

        if (blob->is_bad)
            break;
        body = (struct blob)BLOB_INIT(bytes, body_len);
        column = takes_all ? &level->column[i] : wanted_column(level, &at, name, len);
        if (!column)
            continue;
        if (takes_all)
            column->name = arena_strndup(mem, name, len);
        if (!column->name || !get_column(&body, level, column, coder, mem))
            return err_default(err, DET_NOMEM);
        blob->is_bad |= body.is_bad;
    }
    return DET_OK;
}

/* Returns the number of columns without moving on. */
static uint64_t peek_columns(const struct blob *blob)
{
    struct blob copy = *blob;

    return blob_varint(&copy);
}

det_status level_decode(const void *bytes, size_t len, const char *const *name,
                        uint32_t names, struct arena *mem, struct level *ret_level,
                        struct err *err)
{
    struct blob blob = BLOB_INIT(bytes, len);
    struct level level = {0};
    struct coder coder;
    uint64_t nodes = blob_varint(&blob);
    uint64_t columns;
    det_status st;

    assert(!name || metric_names_are_sorted(name, names));
    if (blob.is_bad || nodes > LEVEL_NODES_MOST)
        return err_set(err, DET_CORRUPT, "a page of summed up metrics is damaged");
    level.nodes = (uint32_t)nodes;
    if (!get_nodes(&blob, &level, &coder, mem))
        return err_default(err, DET_NOMEM);
    columns = name ? names : peek_columns(&blob);
    if (blob.is_bad || columns > len + names)
        return err_set(err, DET_CORRUPT, "a page of summed up metrics is damaged");
    level.columns = (uint32_t)columns;
    level.column = arena_array(mem, struct level_column, columns + 1);
    if (!level.column)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; name && i < names; i++)
        level.column[i].name = name[i];
    st = get_columns(&blob, &level, !name, &coder, mem, err);
    if (!st && blob.is_bad)
        return err_set(err, DET_CORRUPT, "a page of summed up metrics is damaged");
    if (!st)
        *ret_level = level;
    return st;
}
