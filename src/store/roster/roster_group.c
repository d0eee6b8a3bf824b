/* SPDX-License-Identifier: Apache-2.0 */
/* roster_group.c - see roster_group.h. */
#include "store/roster/roster_group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/thread/lock.h"
#include "store/roster/roster_query.h"
#include "store/store.h"

struct grouper {
    uint32_t by[ROSTER_GROUP_COLUMNS];
    size_t by_count;
    uint32_t metrics[ROSTER_GROUP_METRICS];
    size_t metric_count;
    struct map by_hash;
    VEC(struct roster_group *) groups;
    int64_t matches;
    struct arena *mem;
    struct err *err;
};

/* ---- columns --------------------------------------------------------------------- */

static det_status find_columns(const struct roster_look *look,
                               const struct field_strs *names, struct grouper *grouper,
                               uint32_t *places)
{
    struct query_columns columns = roster_columns(look);

    for (size_t i = 0; i < names->count; i++) {
        struct err why = {0};
        enum query_kind kind;
        det_status st = query_column_find(&columns, names->at[i], grouper->mem,
                                          &places[i], &kind, &why);

        if (st == DET_NOT_FOUND)
            return err_set(grouper->err, DET_INVALID, "column '%.100s': %s",
                           names->at[i], why.text);
        if (st)
            return err_default(grouper->err, st);
        if (places == grouper->metrics && (kind == QUERY_TEXT || kind == QUERY_TIME))
            return err_set(grouper->err, DET_INVALID,
                           "column '%.100s' has no mean: it does not hold numbers",
                           names->at[i]);
        if (places[i] == ROSTER_LABEL && names->count > 1)
            return err_set(grouper->err, DET_INVALID,
                           "experiments are grouped by label alone: an experiment may "
                           "have several labels");
    }
    return DET_OK;
}

static det_status check_counts(const struct roster_grouping *grouping, struct err *err)
{
    if (!grouping->by.count || grouping->by.count > ROSTER_GROUP_COLUMNS)
        return err_set(err, DET_INVALID, "by names %zu columns; expected 1 to %d",
                       grouping->by.count, ROSTER_GROUP_COLUMNS);
    if (grouping->metrics.count > ROSTER_GROUP_METRICS)
        return err_set(err, DET_INVALID, "metrics names %zu columns; at most %d",
                       grouping->metrics.count, ROSTER_GROUP_METRICS);
    return DET_OK;
}

/* ---- groups ---------------------------------------------------------------------- */

static bool is_same_cell(const struct query_cell *a, const struct query_cell *b)
{
    if (a->kind != b->kind || a->len != b->len)
        return false;
    if (a->kind == QUERY_CELL_TEXT)
        return !memcmp(a->text, b->text, a->len);
    return a->number == b->number || (isnan(a->number) && isnan(b->number));
}

static bool has_cells(const struct roster_group *group, const struct query_cell *cells,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_same_cell(&group->cells[i], &cells[i]))
            return false;
    return true;
}

/* Equal cells have equal hashes: 0 and -0, and all NaN. */
static int64_t hash_cells(const struct query_cell *cells, size_t count)
{
    uint64_t hash = count;

    for (size_t i = 0; i < count; i++) {
        double number = isnan(cells[i].number) ? NAN : cells[i].number + 0.0;

        hash = hash_number(hash + cells[i].kind);
        hash = hash_number(hash ^ (cells[i].kind == QUERY_CELL_TEXT
                                       ? hash_bytes(cells[i].text, cells[i].len)
                                       : hash_bytes(&number, sizeof(number))));
    }
    return (int64_t)hash;
}

static det_status add_group(struct grouper *grouper, const struct roster_look *look,
                            const struct query_cell *cells, int64_t hash,
                            struct roster_group **ret_group)
{
    struct roster_group *group = arena_new(grouper->mem, struct roster_group);

    if (grouper->groups.count >= ROSTER_GROUPS_MOST)
        return err_set(grouper->err, DET_INVALID,
                       "there are more than %d groups; group by another column, or "
                       "filter first",
                       ROSTER_GROUPS_MOST);
    if (group)
        group->stats =
            arena_array(grouper->mem, struct roster_stat, grouper->metric_count + 1);
    if (!group || !group->stats)
        return err_default(grouper->err, DET_NOMEM);
    group->example = look->row->id;
    for (size_t i = 0; i < grouper->by_count; i++) {
        group->cells[i] = cells[i];
        if (cells[i].kind == QUERY_CELL_TEXT)
            group->cells[i].text =
                arena_strndup(grouper->mem, cells[i].text, cells[i].len);
    }
    group->next = map_get(&grouper->by_hash, hash);
    if (grouper->mem->has_failed || !map_put(&grouper->by_hash, hash, group) ||
        !vec_push(&grouper->groups, group))
        return err_default(grouper->err, DET_NOMEM);
    *ret_group = group;
    return DET_OK;
}

/* Welford's way: no difference of large sums. */
static void add_number(struct roster_stat *stat, double number)
{
    double step = number - stat->mean;

    if (!isfinite(number))
        return;
    stat->count++;
    stat->mean += step / (double)stat->count;
    stat->squares += step * (number - stat->mean);
    if (stat->count == 1 || number < stat->min)
        stat->min = number;
    if (stat->count == 1 || number > stat->max)
        stat->max = number;
}

double roster_stat_deviation(const struct roster_stat *stat)
{
    return stat->count > 1 ? sqrt(stat->squares / (double)(stat->count - 1)) : 0;
}

static det_status put_row(struct grouper *grouper, const struct roster_look *look,
                          const struct query_cell *cells)
{
    int64_t hash = hash_cells(cells, grouper->by_count);
    struct roster_group *group = map_get(&grouper->by_hash, hash);
    det_status st = DET_OK;

    while (group && !has_cells(group, cells, grouper->by_count))
        group = group->next;
    if (!group)
        st = add_group(grouper, look, cells, hash, &group);
    if (st)
        return st;
    group->count++;
    for (size_t i = 0; i < grouper->metric_count; i++) {
        struct query_cell cell = roster_cell_of(look, grouper->metrics[i]);

        if (cell.kind == QUERY_CELL_NUMBER)
            add_number(&group->stats[i], cell.number);
    }
    return DET_OK;
}

static det_status put_labels(struct grouper *grouper, const struct roster_look *look)
{
    struct query_cell cell = {0};
    const char *at = NULL;
    det_status st;

    if (!roster_next_label(look->row, &at, &cell))
        return put_row(grouper, look, &cell);
    do
        st = put_row(grouper, look, &cell);
    while (!st && roster_next_label(look->row, &at, &cell));
    return st;
}

static det_status group_row(void *arg, const struct roster_look *look, bool has_state)
{
    struct grouper *grouper = arg;
    struct query_cell cells[ROSTER_GROUP_COLUMNS] = {0};

    if (!has_state)
        return DET_OK;
    grouper->matches++;
    if (grouper->by[0] == ROSTER_LABEL)
        return put_labels(grouper, look);
    for (size_t i = 0; i < grouper->by_count; i++)
        cells[i] = roster_cell_of(look, grouper->by[i]);
    return put_row(grouper, look, cells);
}

/* ---- order ----------------------------------------------------------------------- */

struct group_order {
    int column; /* of `cells`; then of `stats`; -1: by count */
    size_t by_count;
    bool is_descending;
};

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare_cells(const struct query_cell *a, const struct query_cell *b)
{
    if (a->kind != b->kind)
        return (int)a->kind - (int)b->kind;
    return a->kind == QUERY_CELL_TEXT ? strcmp(a->text, b->text)
                                      : compare_numbers(a->number, b->number);
}

/* Missing values come last in either direction. */
static bool group_lacks(const struct roster_group *group,
                        const struct group_order *order)
{
    size_t column = (size_t)order->column;

    if (order->column < 0)
        return false;
    return column < order->by_count ? group->cells[column].kind == QUERY_CELL_NONE
                                    : !group->stats[column - order->by_count].count;
}

static int compare_groups(const void *a_, const void *b_, void *arg)
{
    const struct roster_group *a = *(struct roster_group *const *)a_;
    const struct roster_group *b = *(struct roster_group *const *)b_;
    const struct group_order *order = arg;
    bool lacks_a = group_lacks(a, order), lacks_b = group_lacks(b, order);
    size_t column = (size_t)order->column;
    int found;

    if (lacks_a != lacks_b)
        return lacks_a ? 1 : -1;
    if (order->column < 0)
        found = (a->count > b->count) - (a->count < b->count);
    else if (column < order->by_count)
        found = compare_cells(&a->cells[column], &b->cells[column]);
    else
        found = compare_numbers(a->stats[column - order->by_count].mean,
                                b->stats[column - order->by_count].mean);
    if (found)
        return order->is_descending ? -found : found;
    return compare_cells(&a->cells[0], &b->cells[0]);
}

static det_status order_of(const struct roster_grouping *grouping,
                           struct group_order *ret_order, struct err *err)
{
    const char *sort = grouping->sort;

    *ret_order = (struct group_order){-1, grouping->by.count, grouping->is_descending};
    if (!sort || !strcmp(sort, "count"))
        return DET_OK;
    for (size_t i = 0; i < grouping->by.count + grouping->metrics.count; i++) {
        const char *name = i < grouping->by.count
                               ? grouping->by.at[i]
                               : grouping->metrics.at[i - grouping->by.count];

        if (!strcmp(sort, name)) {
            ret_order->column = (int)i;
            return DET_OK;
        }
    }
    return err_set(
        err, DET_INVALID,
        "groups cannot be sorted by '%.100s'; expected count or one of their "
        "columns",
        sort);
}

/* ---- all of it ------------------------------------------------------------------- */

static det_status find_groups(struct roster *roster, struct db *db,
                              const struct roster_query *query,
                              const struct roster_grouping *grouping,
                              struct grouper *grouper)
{
    const struct roster_look look = {.roster = roster, .projects = query->projects};
    const struct roster_visitor visitor = {group_row, grouper};
    det_status st = find_columns(&look, &grouping->by, grouper, grouper->by);

    grouper->by_count = grouping->by.count;
    grouper->metric_count = grouping->metrics.count;
    if (!st)
        st = find_columns(&look, &grouping->metrics, grouper, grouper->metrics);
    return st ? st
              : roster_walk(roster, db, query, grouper->mem, &visitor, grouper->err);
}

static det_status choose_page(struct grouper *grouper, const struct roster_query *query,
                              struct group_order *order, struct roster_groups *ret)
{
    size_t total = grouper->groups.count;
    size_t from = (size_t)MAX(0, MIN(query->offset, (int64_t)total));
    size_t left = total - from;
    size_t count =
        query->limit < 0 || (uint64_t)query->limit > left ? left : (size_t)query->limit;
    struct roster_group **at =
        arena_array(grouper->mem, struct roster_group *, count + 1);

    if (!at)
        return err_default(grouper->err, DET_NOMEM);
    if (total)
        qsort_r(grouper->groups.at, total, sizeof(struct roster_group *),
                compare_groups, order);
    for (size_t i = 0; i < count; i++)
        at[i] = grouper->groups.at[from + i];
    *ret = (struct roster_groups){at, count, (int64_t)total, grouper->matches};
    return DET_OK;
}

det_status store_roster_groups(struct store *store, struct db *db,
                               const struct roster_query *query,
                               const struct roster_grouping *grouping,
                               struct arena *mem, struct roster_groups *ret_groups,
                               struct err *err)
{
    struct roster *roster = store_roster(store);
    struct grouper grouper = {.mem = mem, .err = err};
    struct group_order order;
    det_status st = check_counts(grouping, err);

    if (!st)
        st = order_of(grouping, &order, err);
    if (st)
        return st;
    lock_take(&roster->look);
    st = roster_catch_up(roster, db, err);
    if (!st)
        st = find_groups(roster, db, query, grouping, &grouper);
    lock_give(&roster->look);
    if (!st)
        st = choose_page(&grouper, query, &order, ret_groups);
    map_done(&grouper.by_hash);
    vec_done(&grouper.groups);
    return st;
}

/* ---- the columns there are ------------------------------------------------------- */

/* Per column: what its cells hold. */
struct column_count {
    int64_t count;
    bool has_number, has_text, has_range;
    double min, max;
};

static void count_cell(struct column_count *count, const struct roster_cell *cell)
{
    count->count++;
    if (cell->text)
        count->has_text = true;
    else
        count->has_number = true;
    if (cell->text || !isfinite(cell->number))
        return;
    if (!count->has_range || cell->number < count->min)
        count->min = cell->number;
    if (!count->has_range || cell->number > count->max)
        count->max = cell->number;
    count->has_range = true;
}

static int compare_views(const void *a, const void *b)
{
    return strcmp(((const struct roster_column_view *)a)->name,
                  ((const struct roster_column_view *)b)->name);
}

static struct roster_column_view view_of(const char *name,
                                         const struct column_count *count)
{
    return (struct roster_column_view){
        .name = name,
        .kind = !count->has_text     ? QUERY_NUMBER
                : !count->has_number ? QUERY_TEXT
                                     : QUERY_ANY,
        .count = count->count,
        .min = count->min,
        .max = count->max,
        .has_range = count->has_range,
    };
}

static bool list_columns(const struct roster *roster, const struct field_i64s *projects,
                         struct arena *mem, struct roster_column_list *list)
{
    size_t most = roster->cells.columns.count;
    struct column_count *counts = arena_array(mem, struct column_count, most + 1);

    list->at = arena_array(mem, struct roster_column_view, ROSTER_FIXED + most + 1);
    if (!counts || !list->at)
        return false;
    for (size_t i = 0; i < roster->rows.count; i++) {
        const struct roster_row *row = &roster->rows.at[i];

        if (roster_is_shown(row, projects))
            for (uint32_t j = 0; j < row->cell_count; j++)
                count_cell(&counts[row->cells[j].column], &row->cells[j]);
    }
    for (uint32_t i = 0; i < ROSTER_FIXED; i++)
        list->at[list->count++] = roster_fixed_column(i);
    for (size_t i = 0; i < most; i++)
        if (counts[i].count)
            list->at[list->count++] = view_of(
                arena_strdup(mem, roster->cells.columns.at[i]->name), &counts[i]);
    qsort(list->at + ROSTER_FIXED, list->count - ROSTER_FIXED, sizeof(*list->at),
          compare_views);
    list->is_cut = roster->cells.has_cut_columns;
    return !mem->has_failed;
}

det_status store_roster_columns(struct store *store, struct db *db,
                                const struct field_i64s *projects, struct arena *mem,
                                struct roster_column_list *ret_columns, struct err *err)
{
    struct roster *roster = store_roster(store);
    struct roster_column_list list = {0};
    det_status st;

    lock_take(&roster->look);
    st = roster_catch_up(roster, db, err);
    if (!st && !list_columns(roster, projects, mem, &list))
        st = err_default(err, DET_NOMEM);
    lock_give(&roster->look);
    if (!st)
        *ret_columns = list;
    return st;
}
