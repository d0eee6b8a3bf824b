/* SPDX-License-Identifier: Apache-2.0 */
/* roster_query.c - see roster_query.h. */
#include "store/roster/roster_query.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/text_order.h"

enum { LOOK_MEMORY = 64 << 20 };

/* ---- the fixed columns ----------------------------------------------------------- */

enum source {
    FROM_I64,
    FROM_F64,
    FROM_TIME, /* 0: none */
    FROM_BEST,
    FROM_DURATION,
    FROM_STATE,
    FROM_NAME,
    FROM_PLACE, /* in a list of names */
    FROM_LABEL,
};

/* Sorted as enum roster_sort, then ROSTER_LABEL and ROSTER_PROJECT. */
#define FIXED(name_, kind_, from_, member_)                                            \
    {                                                                                  \
        name_, QUERY_##kind_, FROM_##from_, offsetof(struct roster_row, member_), 0    \
    }
#define FIXED_NAMES(name_, member_, names_)                                            \
    {                                                                                  \
        name_, QUERY_TEXT, FROM_PLACE, offsetof(struct roster_row, member_),           \
            offsetof(struct roster, names_)                                            \
    }
static const struct fixed_column {
    const char *name;
    enum query_kind kind;
    enum source source;
    size_t offset;
    size_t names; /* of FROM_PLACE */
} fixed[ROSTER_FIXED] = {
    FIXED("id", NUMBER, I64, id),
    FIXED("name", TEXT, NAME, text),
    FIXED("state", TEXT, STATE, state),
    FIXED_NAMES("owner", owner, owners),
    FIXED("start", TIME, TIME, start_us),
    FIXED("end", TIME, TIME, end_us),
    FIXED("duration", SECONDS, DURATION, start_us),
    FIXED("progress", NUMBER, F64, progress),
    FIXED("trials", NUMBER, I64, trials),
    FIXED("bestMetric", NUMBER, BEST, best_metric),
    FIXED_NAMES("searcher", searcher, searchers),
    FIXED_NAMES("pool", pool, pools),
    FIXED("checkpointSize", SIZE, I64, checkpoint_size),
    FIXED("checkpoints", NUMBER, I64, checkpoint_count),
    FIXED("priority", NUMBER, I64, priority),
    FIXED("label", TEXT, LABEL, text),
    FIXED("project", NUMBER, I64, project_id),
};

/* Other spellings of fixed columns. */
static const struct {
    const char *name;
    uint32_t place;
} aliases[] = {{"user", ROSTER_BY_OWNER},
               {"labels", ROSTER_LABEL},
               {"best", ROSTER_BY_BEST_METRIC},
               {"started", ROSTER_BY_START},
               {"ended", ROSTER_BY_END}};

static bool find_fixed(const char *name, uint32_t *ret_place)
{
    for (uint32_t i = 0; i < ROSTER_FIXED; i++)
        if (!strcasecmp(name, fixed[i].name)) {
            *ret_place = i;
            return true;
        }
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
        if (!strcasecmp(name, aliases[i].name)) {
            *ret_place = aliases[i].place;
            return true;
        }
    return false;
}

struct roster_column_view roster_fixed_column(uint32_t place)
{
    return (struct roster_column_view){
        .name = fixed[place].name, .kind = fixed[place].kind, .count = -1};
}

/* ---- who sees what --------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

bool roster_is_shown(const struct roster_row *row, const struct field_i64s *projects)
{
    return row->id &&
           (!projects || bsearch(&row->project_id, projects->at, projects->count,
                                 sizeof(int64_t), compare_ids));
}

/* Whether an experiment that may be shown has a value in this column. */
static bool is_shown_column(const struct roster_look *look, uint32_t column)
{
    for (size_t i = 0; i < look->roster->rows.count; i++) {
        const struct roster_row *row = &look->roster->rows.at[i];

        if (roster_is_shown(row, look->projects) && roster_cell_at(row, column))
            return true;
    }
    return false;
}

/* ---- columns by name ------------------------------------------------------------- */

static bool find_column(const void *arg, const char *name, uint32_t *ret_place,
                        enum query_kind *ret_kind)
{
    const struct roster_look *look = arg;
    const struct roster_name *column;

    if (find_fixed(name, ret_place)) {
        *ret_kind = fixed[*ret_place].kind;
        return true;
    }
    column = roster_column(look->roster, name);
    if (!column || !is_shown_column(look, column->place))
        return false;
    *ret_place = ROSTER_FIXED + column->place;
    *ret_kind = QUERY_ANY;
    return true;
}

static const char *const *column_names(const void *arg, struct arena *mem)
{
    const struct roster_look *look = arg;
    const struct roster_cells *cells = &look->roster->cells;
    const char **names =
        arena_array(mem, const char *, ROSTER_FIXED + cells->columns.count + 1);
    bool *is_seen = arena_array(mem, bool, cells->columns.count + 1);
    size_t count = 0;

    if (!names || !is_seen)
        return NULL;
    for (size_t i = 0; i < look->roster->rows.count; i++) {
        const struct roster_row *row = &look->roster->rows.at[i];

        for (uint32_t j = 0;
             roster_is_shown(row, look->projects) && j < row->cell_count; j++)
            is_seen[row->cells[j].column] = true;
    }
    for (uint32_t i = 0; i < ROSTER_FIXED; i++)
        names[count++] = fixed[i].name;
    for (size_t i = 0; i < cells->columns.count; i++)
        if (is_seen[i])
            names[count++] = cells->columns.at[i]->name;
    return names;
}

static const char *const *column_words(const void *arg, uint32_t place,
                                       struct arena *mem)
{
    (void)arg;
    (void)mem;
    return place == ROSTER_BY_STATE ? roster_state_names : query_any_word;
}

struct query_columns roster_columns(const struct roster_look *look)
{
    return (struct query_columns){look, find_column, column_names, column_words};
}

det_status roster_bind(const struct roster_look *look, struct table_query *query,
                       struct arena *mem, struct err *err)
{
    struct query_columns columns = roster_columns(look);

    for (uint32_t i = 0; i < query->count; i++) {
        struct query_value *value = query->terms[i]->values;
        char *folded;

        if (query->terms[i]->column)
            continue;
        folded = arena_strdup(mem, value->text);
        if (!folded)
            return err_default(err, DET_NOMEM);
        text_fold(folded, folded, strlen(folded));
        value->text = folded;
    }
    return table_query_bind(query, &columns, mem, err);
}

/* ---- cells ----------------------------------------------------------------------- */

static struct query_cell text_cell(const char *text, size_t len)
{
    return (struct query_cell){.kind = QUERY_CELL_TEXT, .text = text, .len = len};
}

static struct query_cell number_cell(double number)
{
    return (struct query_cell){.kind = QUERY_CELL_NUMBER, .number = number};
}

/* The labels stand behind the text, each between two separators. */
bool roster_next_label(const struct roster_row *row, const char **at,
                       struct query_cell *ret_cell)
{
    const char *end = row->text + row->text_len + 1 + row->labels_len;
    const char *between;

    if (!*at)
        *at = row->text + row->text_len + 2;
    if (!row->labels_len || *at >= end)
        return false;
    between = memchr(*at, ROSTER_BETWEEN, (size_t)(end - *at));
    if (!between)
        return false;
    *ret_cell = text_cell(*at, (size_t)(between - *at));
    *at = between + 1;
    return true;
}

static struct query_cell place_cell(const struct roster_look *look,
                                    const struct fixed_column *column)
{
    const struct roster_names *names =
        (const void *)((const char *)look->roster + column->names);
    uint32_t place;

    memcpy(&place, (const char *)look->row + column->offset, sizeof(place));
    return text_cell(names->names.at[place], strlen(names->names.at[place]));
}

static struct query_cell duration_cell(const struct roster_look *look)
{
    const struct work_span span = WORK_SPAN(look->row);

    return span.start_us ? number_cell((double)work_time_us(&span, look->now_us) / 1e6)
                         : (struct query_cell){0};
}

static struct query_cell number_at(const struct roster_look *look,
                                   const struct fixed_column *column)
{
    const char *at = (const char *)look->row + column->offset;
    int64_t number;
    double real;

    if (column->source == FROM_F64 || column->source == FROM_BEST) {
        memcpy(&real, at, sizeof(real));
        return column->source == FROM_F64 || look->row->has_best_metric
                   ? number_cell(real)
                   : (struct query_cell){0};
    }
    memcpy(&number, at, sizeof(number));
    return column->source == FROM_TIME && !number ? (struct query_cell){0}
                                                  : number_cell((double)number);
}

static struct query_cell fixed_cell(const struct roster_look *look,
                                    const struct fixed_column *column)
{
    const char *state = roster_state_names[look->row->state];
    struct query_cell cell = {0};
    const char *at = NULL;

    switch (column->source) {
    case FROM_I64:
    case FROM_F64:
    case FROM_TIME:
    case FROM_BEST:
        return number_at(look, column);
    case FROM_DURATION:
        return duration_cell(look);
    case FROM_STATE:
        return text_cell(state, strlen(state));
    case FROM_NAME:
        return text_cell(look->row->text, look->row->name_len);
    case FROM_PLACE:
        return place_cell(look, column);
    case FROM_LABEL:
        (void)roster_next_label(look->row, &at, &cell);
        break;
    }
    return cell;
}

struct query_cell roster_cell_of(const struct roster_look *look, uint32_t place)
{
    const struct roster_cell *cell;
    const struct roster_name *text;

    if (place < ROSTER_FIXED)
        return fixed_cell(look, &fixed[place]);
    cell = roster_cell_at(look->row, place - ROSTER_FIXED);
    if (!cell)
        return (struct query_cell){0};
    if (!cell->text)
        return number_cell(cell->number);
    text = look->roster->cells.texts.at[cell->text - 1];
    return text_cell(text->name, text->len);
}

/* ---- matching -------------------------------------------------------------------- */

bool roster_has_text(struct roster_look *look, const char *folded, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(LOOK_MEMORY);
    const char *text = "";

    if (memmem(look->row->text, look->row->text_len, folded, len))
        return true;
    if (!look->row->is_long || look->status)
        return false;
    look->status = roster_description(look->db, look->row->id, &mem, &text, look->err);
    return !look->status && strstr(text, folded);
}

/* ACTIVE stands for every state that the table shows in its place. */
static bool has_state(const struct roster_look *look, const struct query_term *term)
{
    static const struct query_cell active = {
        .kind = QUERY_CELL_TEXT, .text = "ACTIVE", .len = 6};
    struct query_cell cell = roster_cell_of(look, ROSTER_BY_STATE);

    return query_cell_has(term, &cell) ||
           (look->row->state >= EXPERIMENT_STATES && query_cell_has(term, &active));
}

static bool has_label(const struct roster_look *look, const struct query_term *term)
{
    const char *at = NULL;
    struct query_cell cell = {0};

    if (!roster_next_label(look->row, &at, &cell))
        return query_cell_has(term, &cell); /* = none */
    do {
        if (query_cell_has(term, &cell))
            return true;
    } while (roster_next_label(look->row, &at, &cell));
    return false;
}

static bool term_matches(void *arg, const struct query_term *term)
{
    struct roster_look *look = arg;
    struct query_cell cell;

    if (!term->column)
        return roster_has_text(look, term->values->text, strlen(term->values->text));
    if (term->place == ROSTER_BY_STATE)
        return has_state(look, term) != query_term_is_negative(term);
    if (term->place == ROSTER_LABEL)
        return has_label(look, term) != query_term_is_negative(term);
    cell = roster_cell_of(look, term->place);
    return query_cell_matches(term, &cell);
}

bool roster_matches(struct roster_look *look, const struct table_query *query)
{
    return table_query_matches(query, term_matches, look);
}
