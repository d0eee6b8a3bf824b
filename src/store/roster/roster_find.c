/* SPDX-License-Identifier: Apache-2.0 */
/* roster_find.c - see roster_find.h.
 *
 * One pass filters and counts.  Then the page is chosen from the matches without
 * sorting all of them.
 *
 * Every order is an order of numbers: times, counts and reals themselves, names by the
 * rank that the roster keeps, and owners, searchers and pools by a rank computed here.
 * Ties go by id, so no two rows are equal and a row is never on two pages. */
#include "store/roster/roster_find.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/thread/lock.h"
#include "data/text_order.h"
#include "store/roster/roster.h"
#include "store/roster/roster_query.h"
#include "store/store.h"

enum { ROWS_AHEAD = 8 }; /* the cells of a row are elsewhere in memory */

const char *const roster_state_names[] = {"ACTIVE",
                                          "PAUSED",
                                          "STOPPING_COMPLETED",
                                          "STOPPING_CANCELED",
                                          "STOPPING_KILLED",
                                          "STOPPING_ERROR",
                                          "COMPLETED",
                                          "CANCELED",
                                          "ERROR",
                                          "DELETING",
                                          "DELETE_FAILED",
                                          "QUEUED",
                                          "PULLING",
                                          "STARTING",
                                          "RUNNING",
                                          NULL};

const char *const roster_sort_names[] = {
    "id",       "name",     "state",          "owner",       "start",
    "end",      "duration", "progress",       "trials",      "bestMetric",
    "searcher", "pool",     "checkpointSize", "checkpoints", "priority",
    NULL};

/* ---- what is wanted -------------------------------------------------------------- */

struct wanted {
    const char *text; /* folded; NULL: any */
    size_t text_len;
    uint32_t states;
    const bool *owners; /* by place; NULL: any */
    const bool *searchers;
    const bool *pools;
    struct field_strs labels;          /* each with ROSTER_BETWEEN on both sides */
    const struct field_i64s *projects; /* NULL: any */
    enum roster_archived archived;
    const struct table_query *filter; /* NULL: none */
};

/* NULL in *ret_set: any. */
static bool wanted_names(const struct roster_names *names, const struct field_strs *any,
                         struct arena *mem, const bool **ret_set)
{
    bool *set;

    *ret_set = NULL;
    if (!any->count)
        return true;
    set = arena_array(mem, bool, names->names.count + 1);
    for (size_t i = 0; set && i < names->names.count; i++)
        for (size_t j = 0; j < any->count; j++)
            set[i] = set[i] || !strcmp(names->names.at[i], any->at[j]);
    *ret_set = set;
    return set != NULL;
}

static bool wanted_labels(const struct field_strs *labels, struct arena *mem,
                          struct field_strs *ret_labels)
{
    ret_labels->count = labels->count;
    ret_labels->at = arena_array(mem, const char *, labels->count + 1);
    for (size_t i = 0; ret_labels->at && i < labels->count; i++)
        ret_labels->at[i] =
            arena_printf(mem, "%c%s%c", ROSTER_BETWEEN, labels->at[i], ROSTER_BETWEEN);
    return !mem->has_failed;
}

static bool wanted_of(const struct roster *roster, const struct roster_query *query,
                      struct arena *mem, struct wanted *ret_wanted)
{
    static const uint32_t running = 1U << ROSTER_QUEUED | 1U << ROSTER_PULLING |
                                    1U << ROSTER_STARTING | 1U << ROSTER_RUNNING;
    struct wanted *wanted = ret_wanted;
    char *text;

    wanted->states = query->states ? query->states : UINT32_MAX;
    if (wanted->states >> EXPERIMENT_ACTIVE & 1)
        wanted->states |= running;
    wanted->archived = query->archived;
    wanted->projects = query->projects;
    wanted->filter = query->filter;
    if (query->search && *query->search) {
        text = arena_strdup(mem, query->search);
        if (!text)
            return false;
        wanted->text_len = strlen(text);
        text_fold(text, text, wanted->text_len);
        wanted->text = text;
    }
    return wanted_names(&roster->owners, &query->users, mem, &wanted->owners) &&
           wanted_names(&roster->searchers, &query->searchers, mem,
                        &wanted->searchers) &&
           wanted_names(&roster->pools, &query->pools, mem, &wanted->pools) &&
           wanted_labels(&query->labels, mem, &wanted->labels);
}

/* ---- filtering ------------------------------------------------------------------- */

static bool has_labels(const struct roster_row *row, const struct field_strs *labels)
{
    const char *own = row->text + row->text_len + 1;

    for (size_t i = 0; i < labels->count; i++)
        if (!memmem(own, row->labels_len, labels->at[i], strlen(labels->at[i])))
            return false;
    return true;
}

/* The cheap filters: everything except states and text. */
static bool is_wanted(const struct roster_row *row, const struct wanted *wanted)
{
    if (!roster_is_shown(row, wanted->projects))
        return false;
    if (wanted->archived != ROSTER_ALL &&
        row->is_archived != (wanted->archived == ROSTER_ARCHIVED))
        return false;
    if ((wanted->owners && !wanted->owners[row->owner]) ||
        (wanted->searchers && !wanted->searchers[row->searcher]) ||
        (wanted->pools && !wanted->pools[row->pool]))
        return false;
    return !wanted->labels.count || has_labels(row, &wanted->labels);
}

/* ---- order ----------------------------------------------------------------------- */

struct item {
    uint64_t key;
    uint64_t tie; /* the id, inverted if the order is descending */
};

struct order {
    enum roster_sort sort;
    bool is_descending;
    int64_t now_us;
    const uint32_t *ranks; /* by place: the ranks of the names to sort by */
    const struct roster_cells *cells;
    const struct roster_name *column; /* sort by its cells; NULL: by `sort` */
};

static uint64_t key_of_i64(int64_t value)
{
    return (uint64_t)value ^ (uint64_t)1 << 63;
}

static uint64_t key_of_f64(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Running states first, then waiting ones, ended ones last. */
static int64_t rank_of_state(uint8_t state)
{
    static const uint8_t ranks[ROSTER_STATES] = {
        [ROSTER_RUNNING] = 0,
        [ROSTER_STARTING] = 1,
        [ROSTER_PULLING] = 2,
        [ROSTER_QUEUED] = 3,
        [EXPERIMENT_ACTIVE] = 4,
        [EXPERIMENT_PAUSED] = 5,
        [EXPERIMENT_STOPPING_COMPLETED] = 6,
        [EXPERIMENT_STOPPING_CANCELED] = 7,
        [EXPERIMENT_STOPPING_KILLED] = 8,
        [EXPERIMENT_STOPPING_ERROR] = 9,
        [EXPERIMENT_COMPLETED] = 10,
        [EXPERIMENT_CANCELED] = 11,
        [EXPERIMENT_ERROR] = 12,
        [EXPERIMENT_DELETING] = 13,
        [EXPERIMENT_DELETE_FAILED] = 14,
    };

    return ranks[state];
}

enum column_kind { COLUMN_I64, COLUMN_F64, COLUMN_RANK, COLUMN_NAME, COLUMN_MADE };

#define COLUMN(kind_, member_)                                                         \
    {                                                                                  \
        COLUMN_##kind_, offsetof(struct roster_row, member_)                           \
    }
static const struct {
    enum column_kind kind;
    size_t offset;
} columns[] = {
    [ROSTER_BY_ID] = COLUMN(I64, id),
    [ROSTER_BY_NAME] = COLUMN(RANK, name_rank),
    [ROSTER_BY_STATE] = COLUMN(MADE, state),
    [ROSTER_BY_OWNER] = COLUMN(NAME, owner),
    [ROSTER_BY_START] = COLUMN(I64, start_us),
    [ROSTER_BY_END] = COLUMN(I64, end_us),
    [ROSTER_BY_DURATION] = COLUMN(MADE, start_us),
    [ROSTER_BY_PROGRESS] = COLUMN(F64, progress),
    [ROSTER_BY_TRIALS] = COLUMN(I64, trials),
    [ROSTER_BY_BEST_METRIC] = COLUMN(F64, best_metric),
    [ROSTER_BY_SEARCHER] = COLUMN(NAME, searcher),
    [ROSTER_BY_POOL] = COLUMN(NAME, pool),
    [ROSTER_BY_CHECKPOINT_SIZE] = COLUMN(I64, checkpoint_size),
    [ROSTER_BY_CHECKPOINTS] = COLUMN(I64, checkpoint_count),
    [ROSTER_BY_PRIORITY] = COLUMN(I64, priority),
};

static int64_t made_value(const struct roster_row *row, const struct order *order)
{
    const struct work_span span = WORK_SPAN(row);

    if (order->sort == ROSTER_BY_STATE)
        return rank_of_state(row->state);
    return work_time_us(&span, order->now_us);
}

static uint64_t key_of(const struct roster_row *row, const struct order *order)
{
    const char *at = (const char *)row + columns[order->sort].offset;
    int64_t number;
    uint32_t place;
    double real;

    switch (columns[order->sort].kind) {
    case COLUMN_I64:
        memcpy(&number, at, sizeof(number));
        return key_of_i64(number);
    case COLUMN_F64:
        memcpy(&real, at, sizeof(real));
        return key_of_f64(real);
    case COLUMN_RANK:
        memcpy(&place, at, sizeof(place));
        return place;
    case COLUMN_NAME:
        memcpy(&place, at, sizeof(place));
        return order->ranks[place];
    case COLUMN_MADE:
        break;
    }
    assert(columns[order->sort].kind == COLUMN_MADE);
    return key_of_i64(made_value(row, order));
}

static bool has_value(const struct roster_row *row, enum roster_sort sort)
{
    return (sort != ROSTER_BY_END || row->end_us) &&
           (sort != ROSTER_BY_BEST_METRIC || row->has_best_metric);
}

/* Numbers come before texts.  In a column with both, keys of numbers lose their last bit:
 * the highest one is for the texts.  False: no value, or NaN. */
static bool key_of_cell(const struct roster_row *row, const struct order *order,
                        uint64_t *ret_key)
{
    const struct roster_cell *cell = roster_cell_at(row, order->column->place);

    if (!cell || (!cell->text && isnan(cell->number)))
        return false;
    *ret_key = cell->text
                   ? (uint64_t)1 << 63 | order->cells->texts.at[cell->text - 1]->rank
                   : key_of_f64(cell->number) >> (order->column->has_text ? 1 : 0);
    return true;
}

static struct item item_of(const struct roster_row *row, const struct order *order)
{
    struct item item = {0, (uint64_t)row->id};
    bool has = order->column ? key_of_cell(row, order, &item.key)
                             : has_value(row, order->sort);

    if (!order->column)
        item.key = key_of(row, order);
    if (order->is_descending) {
        item.key = ~item.key;
        item.tie = ~item.tie;
    }
    if (!has)
        item.key = UINT64_MAX;
    return item;
}

struct ranked {
    const char *name;
    uint32_t place;
};

static int compare_ranked(const void *a, const void *b)
{
    return strcmp(((const struct ranked *)a)->name, ((const struct ranked *)b)->name);
}

/* The rank of each name; NULL: no memory. */
static uint32_t *ranks_of(const struct roster_names *names, struct arena *mem)
{
    size_t count = names->names.count;
    struct ranked *list = arena_array(mem, struct ranked, count + 1);
    uint32_t *ranks = arena_array(mem, uint32_t, count + 1);

    if (!list || !ranks)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        list[i] = (struct ranked){names->names.at[i], i};
    if (count)
        qsort(list, count, sizeof(*list), compare_ranked);
    for (uint32_t i = 0; i < count; i++)
        ranks[list[i].place] = i;
    return ranks;
}

static det_status order_of(struct roster *roster, const struct roster_query *query,
                           struct arena *mem, struct order *ret_order, struct err *err);

static det_status order_by_cells(struct roster *roster,
                                 const struct roster_query *query, struct arena *mem,
                                 struct order *ret_order, struct err *err)
{
    const struct roster_look look = {.roster = roster, .projects = query->projects};
    struct query_columns known = roster_columns(&look);
    struct err why = {0};
    enum query_kind kind;
    uint32_t place;
    det_status st =
        query_column_find(&known, query->sort_column, mem, &place, &kind, &why);

    if (st == DET_NOT_FOUND)
        return err_set(err, DET_INVALID, "experiments cannot be sorted by '%.100s': %s",
                       query->sort_column, why.text);
    if (st)
        return err_default(err, st);
    if (place == ROSTER_LABEL || place == ROSTER_PROJECT)
        return err_set(err, DET_INVALID,
                       "experiments cannot be sorted by '%.100s': only filtered by it",
                       query->sort_column);
    if (place < ROSTER_FIXED) {
        struct roster_query by_fixed = *query;

        by_fixed.sort = (enum roster_sort)place;
        by_fixed.sort_column = NULL;
        return order_of(roster, &by_fixed, mem, ret_order, err);
    }
    *ret_order = (struct order){
        .is_descending = query->is_descending,
        .cells = &roster->cells,
        .column = roster->cells.columns.at[place - ROSTER_FIXED],
    };
    return ret_order->column->has_text ? roster_rank_texts(roster, err) : DET_OK;
}

static det_status order_of(struct roster *roster, const struct roster_query *query,
                           struct arena *mem, struct order *ret_order, struct err *err)
{
    const struct roster_names *names = query->sort == ROSTER_BY_OWNER ? &roster->owners
                                       : query->sort == ROSTER_BY_SEARCHER
                                           ? &roster->searchers
                                       : query->sort == ROSTER_BY_POOL ? &roster->pools
                                                                       : NULL;

    if (query->sort_column)
        return order_by_cells(roster, query, mem, ret_order, err);
    *ret_order = (struct order){.sort = query->sort,
                                .is_descending = query->is_descending,
                                .now_us = query->now_us};
    if (query->sort == ROSTER_BY_NAME)
        return roster_rank_names(roster, err);
    if (names) {
        ret_order->ranks = ranks_of(names, mem);
        if (!ret_order->ranks)
            return err_default(err, DET_NOMEM);
    }
    return DET_OK;
}

/* ---- the page -------------------------------------------------------------------- */

static bool is_before(const struct item *a, const struct item *b)
{
    return a->key < b->key || (a->key == b->key && a->tie < b->tie);
}

static int compare_items(const void *a, const void *b)
{
    return is_before(a, b) ? -1 : is_before(b, a);
}

static void swap_items(struct item *a, struct item *b)
{
    struct item kept = *a;

    *a = *b;
    *b = kept;
}

/* The median of three random items, so no order of the rows is a bad case. */
static struct item pivot_of(const struct item *at, size_t count, uint64_t *seed)
{
    struct item of[3];

    for (int i = 0; i < 3; i++) {
        *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        of[i] = at[(*seed >> 33) % count];
    }
    if (is_before(&of[1], &of[0]))
        swap_items(&of[0], &of[1]);
    if (is_before(&of[2], &of[1]))
        of[1] = is_before(&of[2], &of[0]) ? of[0] : of[2];
    return of[1];
}

/* Quickselect: moves the smallest `first` items to the front, in any order. */
static void bring_first(struct item *at, size_t count, size_t first)
{
    uint64_t seed = count;

    while (count > 1 && first > 0 && first < count) {
        struct item pivot = pivot_of(at, count, &seed);
        size_t low = 0, high = count - 1;

        for (;;) {
            while (is_before(&at[low], &pivot))
                low++;
            while (is_before(&pivot, &at[high]))
                high--;
            if (low >= high)
                break;
            swap_items(&at[low++], &at[high--]);
        }
        low = high + 1; /* no item up to `high` comes after the pivot */
        if (low >= count)
            low = count - 1;
        if (first <= low) {
            count = low;
        } else {
            at += low;
            count -= low;
            first -= low;
        }
    }
}

/* All filters but that by state; the cheap ones first. */
static bool row_matches(struct roster_look *look, const struct wanted *wanted)
{
    return is_wanted(look->row, wanted) &&
           (!wanted->filter || roster_matches(look, wanted->filter)) &&
           (!wanted->text || roster_has_text(look, wanted->text, wanted->text_len));
}

det_status roster_walk(struct roster *roster, struct db *db,
                       const struct roster_query *query, struct arena *mem,
                       const struct roster_visitor *visitor, struct err *err)
{
    struct wanted wanted = {0};
    struct roster_look look = {.roster = roster,
                               .projects = query->projects,
                               .now_us = query->now_us,
                               .db = db,
                               .err = err};
    det_status st =
        query->filter ? roster_bind(&look, query->filter, mem, err) : DET_OK;

    if (st)
        return st;
    if (!wanted_of(roster, query, mem, &wanted))
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; i < roster->rows.count && !st; i++) {
        look.row = &roster->rows.at[i];
        if (i + ROWS_AHEAD < roster->rows.count)
            __builtin_prefetch(look.row[ROWS_AHEAD].cells);
        if (row_matches(&look, &wanted))
            st = visitor->visit(visitor->arg, &look,
                                wanted.states >> look.row->state & 1);
        if (!st)
            st = look.status;
    }
    return st;
}

struct find {
    struct order order;
    struct item *items; /* the matches */
    size_t total;
    int64_t *states;
};

static det_status count_row(void *arg, const struct roster_look *look, bool has_state)
{
    struct find *find = arg;

    find->states[look->row->state]++;
    if (has_state)
        find->items[find->total++] = item_of(look->row, &find->order);
    return DET_OK;
}

static det_status choose_page(const struct find *find, const struct roster_query *query,
                              struct arena *mem, struct roster_page *page,
                              struct err *err)
{
    struct item *items = find->items;
    size_t total = find->total;
    int64_t start = query->offset < 0 ? (int64_t)total + query->offset : query->offset;
    size_t from = (size_t)MAX(0, MIN(start, (int64_t)total));
    size_t left = total - from;
    size_t count =
        query->limit < 0 || (uint64_t)query->limit > left ? left : (size_t)query->limit;

    page->total = (int64_t)total;
    page->start = (int64_t)from;
    page->count = count;
    page->ids = arena_array(mem, int64_t, count + 1);
    if (!page->ids)
        return err_default(err, DET_NOMEM);
    if (!count)
        return DET_OK;
    bring_first(items, total, from + count);
    bring_first(items, from + count, from);
    qsort(items + from, count, sizeof(*items), compare_items);
    for (size_t i = 0; i < count; i++) {
        uint64_t tie = items[from + i].tie;

        page->ids[i] = (int64_t)(query->is_descending ? ~tie : tie);
    }
    return DET_OK;
}

/* The wanted cells of every result; unknown columns have none. */
static bool copy_cells(const struct roster *roster, const struct roster_query *query,
                       struct arena *mem, struct roster_page *page)
{
    size_t width = query->cells.count;
    struct query_cell *out = arena_array(mem, struct query_cell, page->count * width);

    page->cells = out;
    for (size_t j = 0; out && j < width; j++) {
        const struct roster_name *column = roster_column(roster, query->cells.at[j]);

        for (size_t i = 0; column && i < page->count; i++) {
            size_t place = (uintptr_t)map_get(&roster->by_id, page->ids[i]);
            const struct roster_look look = {.roster = roster,
                                             .row = &roster->rows.at[place - 1]};
            struct query_cell *cell = &out[i * width + j];

            *cell = roster_cell_of(&look, ROSTER_FIXED + column->place);
            if (cell->text)
                cell->text = arena_strndup(mem, cell->text, cell->len);
        }
    }
    return !mem->has_failed;
}

/* ---- what could be filtered by --------------------------------------------------- */

static int compare_values(const void *a, const void *b)
{
    return strcmp(((const struct roster_value *)a)->name,
                  ((const struct roster_value *)b)->name);
}

static void sort_values(struct roster_values *values)
{
    if (values->count)
        qsort(values->at, values->count, sizeof(*values->at), compare_values);
}

/* Counts the rows per name; `offset` is that of the name's place in the row. */
static bool count_names(const struct roster *roster, const struct roster_names *names,
                        const struct field_i64s *projects, size_t offset,
                        struct arena *mem, struct roster_values *ret)
{
    int64_t *counts = arena_array(mem, int64_t, names->names.count + 1);
    struct roster_value *at =
        arena_array(mem, struct roster_value, names->names.count + 1);

    if (!counts || !at)
        return false;
    for (size_t i = 0; i < roster->rows.count; i++) {
        const struct roster_row *row = &roster->rows.at[i];
        uint32_t place;

        memcpy(&place, (const char *)row + offset, sizeof(place));
        if (roster_is_shown(row, projects))
            counts[place]++;
    }
    ret->at = at;
    for (size_t i = 0; i < names->names.count; i++)
        if (counts[i])
            at[ret->count++] =
                (struct roster_value){arena_strdup(mem, names->names.at[i]), counts[i]};
    if (mem->has_failed)
        return false;
    sort_values(ret);
    return true;
}

static bool count_label(struct map *found, const char *label, size_t len,
                        struct arena *mem)
{
    char name[256];
    char *copy = len < sizeof(name) ? name : arena_strndup(mem, label, len);
    struct roster_value *value;

    if (!copy)
        return false;
    memcpy(copy, label, len);
    copy[len] = '\0';
    value = smap_get(found, copy);
    if (!value) {
        value = arena_new(mem, struct roster_value);
        if (!value)
            return false;
        value->name = arena_strdup(mem, copy);
        if (!value->name || !smap_put(found, value->name, value))
            return false;
    }
    value->count++;
    return true;
}

static bool count_labels_of(const struct roster_row *row, struct map *found,
                            struct arena *mem)
{
    const char *at = row->text + row->text_len + 2;
    const char *end = row->text + row->text_len + 1 + row->labels_len;

    while (at < end) {
        const char *between = memchr(at, ROSTER_BETWEEN, (size_t)(end - at));

        if (!between || !count_label(found, at, (size_t)(between - at), mem))
            return false;
        at = between + 1;
    }
    return true;
}

static bool count_labels(const struct roster *roster, const struct field_i64s *projects,
                         struct arena *mem, struct roster_values *ret)
{
    struct map found = {0};
    struct roster_value *value;
    bool is_fine = true;

    for (size_t i = 0; is_fine && i < roster->rows.count; i++)
        if (roster_is_shown(&roster->rows.at[i], projects) &&
            roster->rows.at[i].labels_len)
            is_fine = count_labels_of(&roster->rows.at[i], &found, mem);
    ret->at = arena_array(mem, struct roster_value, found.count + 1);
    for (size_t i = 0; ret->at && (value = map_next(&found, &i));)
        ret->at[ret->count++] = *value;
    map_done(&found);
    if (!is_fine || !ret->at)
        return false;
    sort_values(ret);
    return true;
}

static bool count_values(const struct roster *roster, const struct field_i64s *projects,
                         struct arena *mem, struct roster_page *page)
{
    return count_names(roster, &roster->owners, projects,
                       offsetof(struct roster_row, owner), mem, &page->users) &&
           count_names(roster, &roster->searchers, projects,
                       offsetof(struct roster_row, searcher), mem, &page->searchers) &&
           count_names(roster, &roster->pools, projects,
                       offsetof(struct roster_row, pool), mem, &page->pools) &&
           count_labels(roster, projects, mem, &page->labels);
}

static int64_t count_shown(const struct roster *roster,
                           const struct field_i64s *projects)
{
    int64_t count = 0;

    if (!projects)
        return roster->count;
    for (size_t i = 0; i < roster->rows.count; i++)
        count += roster_is_shown(&roster->rows.at[i], projects);
    return count;
}

/* ---- all of it ------------------------------------------------------------------- */

det_status roster_find(struct roster *roster, struct db *db,
                       const struct roster_query *query, struct arena *mem,
                       struct roster_page *ret_page, struct err *err)
{
    CLEANUP(mem_freep)
    struct item *items = mem_array(roster->rows.count + 1, sizeof(*items));
    struct roster_page page = {.all = count_shown(roster, query->projects)};
    struct find find = {.items = items, .states = page.states};
    const struct roster_visitor visitor = {count_row, &find};
    det_status st = order_of(roster, query, mem, &find.order, err);

    if (!st && !items)
        st = err_default(err, DET_NOMEM);
    if (!st)
        st = roster_walk(roster, db, query, mem, &visitor, err);
    if (!st)
        st = choose_page(&find, query, mem, &page, err);
    if (!st && query->cells.count && !copy_cells(roster, query, mem, &page))
        st = err_default(err, DET_NOMEM);
    if (!st && query->with_values && !count_values(roster, query->projects, mem, &page))
        st = err_default(err, DET_NOMEM);
    if (!st)
        *ret_page = page;
    return st;
}

void store_roster_warm(struct store *store)
{
    struct roster *roster = store_roster(store);
    struct db *db = NULL;

    if (store_reader_take(store, &db, NULL))
        return; /* the next reader gets the error */
    lock_take(&roster->look);
    (void)roster_catch_up(roster, db, NULL);
    lock_give(&roster->look);
    store_reader_give(store, db);
}

det_status store_roster_find(struct store *store, struct db *db,
                             const struct roster_query *query, struct arena *mem,
                             struct roster_page *ret_page, struct err *err)
{
    struct roster *roster = store_roster(store);
    det_status st;

    lock_take(&roster->look);
    st = roster_catch_up(roster, db, err);
    if (!st)
        st = roster_find(roster, db, query, mem, ret_page, err);
    lock_give(&roster->look);
    return st;
}
