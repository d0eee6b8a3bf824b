/* SPDX-License-Identifier: Apache-2.0 */
/* roster_cells.c - see roster_cells.h.
 *
 * The JSON was written by the master.  It is walked, not parsed into a tree: filling the
 * roster reads two texts per experiment. */
#include "store/roster/roster_cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "data/json/json_walk.h"
#include "model/table_query.h"
#include "store/roster/roster.h"

enum { ESCAPE_MEMORY = 1 << 20, OBJECTS_DEEP = 32 };

/* ---- names, held once ------------------------------------------------------------ */

static struct roster_name *new_name(const char *text, size_t len, size_t place)
{
    struct roster_name *name = mem_alloc(sizeof(*name) + len + 1);

    if (!name)
        return NULL;
    memcpy(name->name, text, len);
    name->len = (uint32_t)len;
    name->place = (uint32_t)place;
    return name;
}

/* NULL in *ret_name: there are too many columns. */
static bool column_of(struct roster_cells *cells, const char *name,
                      struct roster_name **ret_name)
{
    struct roster_name *column = smap_get(&cells->by_column, name);

    *ret_name = column;
    if (column)
        return true;
    if (cells->columns.count >= CELL_COLUMNS_MOST) {
        cells->has_cut_columns = true;
        return true;
    }
    column = new_name(name, strlen(name), cells->columns.count);
    if (!column || !vec_push(&cells->columns, column)) {
        mem_free(column);
        return false;
    }
    *ret_name = column; /* owned by the vector from here on */
    return smap_put(&cells->by_column, column->name, column);
}

static bool text_of(struct roster_cells *cells, const char *text,
                    struct roster_name **ret_text)
{
    struct roster_name *known = smap_get(&cells->by_text, text);

    *ret_text = known;
    if (known)
        return true;
    known = new_name(text, strlen(text), cells->texts.count);
    if (!known || !vec_push(&cells->texts, known)) {
        mem_free(known);
        return false;
    }
    *ret_text = known;
    return smap_put(&cells->by_text, known->name, known);
}

const struct roster_name *roster_column(const struct roster *roster, const char *name)
{
    return smap_get(&roster->cells.by_column, name);
}

static void free_names(struct roster_name **at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_free(at[i]);
}

void roster_cells_done(struct roster_cells *cells)
{
    free_names(cells->columns.at, cells->columns.count);
    free_names(cells->texts.at, cells->texts.count);
    vec_done(&cells->columns);
    vec_done(&cells->texts);
    map_done(&cells->by_column);
    map_done(&cells->by_text);
    *cells = (struct roster_cells){0};
}

/* ---- reading --------------------------------------------------------------------- */

struct cell_reader {
    struct roster_cells *cells;
    struct roster_cell found[CELL_ROW_MOST];
    size_t count;
    bool has_failed; /* memory */
};

/* At most `most` bytes, without half characters. */
static void copy_text(const char *text, size_t len, char *out, size_t most)
{
    if (len > most) {
        len = most;
        while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
    }
    memcpy(out, text, len);
    out[len] = '\0';
}

/* The name of a member; `text` begins behind its quote. */
static void copy_key(struct cell_reader *reader, const char *text, size_t len,
                     char *out, size_t most)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ESCAPE_MEMORY);
    struct json *value = NULL;

    if (memchr(text, '\\', len)) {
        if (json_parse(text - 1, len + 2, &mem, &value, NULL) == DET_NOMEM)
            reader->has_failed = true;
        text = json_str(value, "");
        len = strlen(text);
    }
    copy_text(text, len, out, most);
}

static void add_cell(struct cell_reader *reader, const char *name, const char *text,
                     double number)
{
    struct roster_name *column = NULL, *known = NULL;

    if (reader->count >= CELL_ROW_MOST)
        return;
    if (!column_of(reader->cells, name, &column) ||
        (text && !text_of(reader->cells, text, &known))) {
        reader->has_failed = true;
        return;
    }
    if (!column)
        return;
    column->has_text = column->has_text || text;
    reader->found[reader->count++] =
        (struct roster_cell){column->place, known ? known->place + 1 : 0, number};
}

static void read_value(struct cell_reader *reader, const char *name,
                       const struct json_part *part)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ESCAPE_MEMORY);
    char text[CELL_TEXT_MOST + 1];
    struct query_cell cell;

    if (!query_cell_of_json(part->value, part->value_len, &mem, &cell)) {
        reader->has_failed = true;
        return;
    }
    if (cell.kind == QUERY_CELL_NUMBER)
        add_cell(reader, name, NULL, cell.number);
    if (cell.kind != QUERY_CELL_TEXT)
        return;
    copy_text(cell.text, cell.len, text, CELL_TEXT_MOST);
    add_cell(reader, name, text, 0);
}

/* `prefix` ends with a point.  Objects inside hyperparameters are groups of them. */
static void read_object(struct cell_reader *reader, const char *prefix,
                        const struct json_part *object, int depth)
{
    struct json_walk walk = json_walk_begin(object->value, object->value_len);
    bool is_metric = *prefix == 'v';
    struct json_part part;

    while (!reader->has_failed && json_walk_next(&walk, &part)) {
        char name[CELL_NAME_MOST + 2];
        size_t start = strlen(prefix);
        bool is_object = *part.value == '{';

        if (start + part.key_len >= CELL_NAME_MOST || !part.value_len)
            continue;
        memcpy(name, prefix, start);
        copy_key(reader, part.key, part.key_len, name + start,
                 CELL_NAME_MOST - start - 1);
        if (!is_object)
            read_value(reader, name, &part);
        else if (!is_metric && depth < OBJECTS_DEEP) {
            name[strlen(name) + 1] = '\0';
            name[strlen(name)] = '.';
            read_object(reader, name, &part, depth + 1);
        }
    }
}

static int compare_cells(const void *a, const void *b)
{
    const struct roster_cell *x = a, *y = b;

    return (x->column > y->column) - (x->column < y->column);
}

static void read_text(struct cell_reader *reader, const char *prefix, const char *text)
{
    struct json_part whole = {.value = text};

    if (!text || *text != '{')
        return;
    whole.value_len = strlen(text);
    read_object(reader, prefix, &whole, 0);
}

bool roster_read_cells(struct roster *roster, struct roster_row *row,
                       const char *hparams, const char *validation)
{
    struct cell_reader reader;
    struct roster_cell *copy = NULL;

    reader.cells = &roster->cells;
    reader.count = 0;
    reader.has_failed = false;
    read_text(&reader, "hp.", hparams);
    read_text(&reader, "validation.", validation);
    if (reader.has_failed)
        return false;
    if (reader.count) {
        copy = mem_array(reader.count, sizeof(*copy));
        if (!copy)
            return false;
        qsort(reader.found, reader.count, sizeof(*copy), compare_cells);
        memcpy(copy, reader.found, reader.count * sizeof(*copy));
    }
    mem_free(row->cells);
    row->cells = copy;
    row->cell_count = (uint32_t)reader.count;
    return true;
}

/* ---- looking --------------------------------------------------------------------- */

const struct roster_cell *roster_cell_at(const struct roster_row *row, uint32_t column)
{
    uint32_t low = 0, high = row->cell_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (row->cells[middle].column < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < row->cell_count && row->cells[low].column == column ? &row->cells[low]
                                                                     : NULL;
}

static int compare_texts(const void *a, const void *b)
{
    const struct roster_name *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

det_status roster_rank_texts(struct roster *roster, struct err *err)
{
    struct roster_cells *cells = &roster->cells;
    size_t count = cells->texts.count;
    struct roster_name **sorted;

    if (cells->ranked == count)
        return DET_OK;
    sorted = mem_array(count, sizeof(struct roster_name *));
    if (!sorted)
        return err_default(err, DET_NOMEM);
    memcpy(sorted, cells->texts.at, count * sizeof(struct roster_name *));
    qsort(sorted, count, sizeof(struct roster_name *), compare_texts);
    for (size_t i = 0; i < count; i++)
        sorted[i]->rank = (uint32_t)i;
    mem_free(sorted);
    cells->ranked = count;
    return DET_OK;
}
