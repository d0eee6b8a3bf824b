/* SPDX-License-Identifier: Apache-2.0 */
/* table_query_bind.c - the columns and values of a query line, and how a cell is compared
 * with them (table_query.h). */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/duration.h"
#include "data/json/json.h"
#include "data/number.h"
#include "data/text.h"
#include "data/text_order.h"
#include "data/time.h"
#include "model/table_query.h"

const char *const query_kind_names[] = {"number", "text", "seconds", "time",
                                        "size",   "any",  NULL};

/* ---- columns --------------------------------------------------------------------- */

static const char *const prefixes[] = {"hp.", "validation."};

/* Looks the name up below each prefix. */
static det_status find_short_name(const struct query_columns *columns, const char *name,
                                  struct arena *mem, uint32_t *ret_place,
                                  enum query_kind *ret_kind, uint32_t *ret_count)
{
    *ret_count = 0;
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        const char *full = arena_printf(mem, "%s%s", prefixes[i], name);

        if (!full)
            return DET_NOMEM;
        *ret_count += columns->find(columns->arg, full, ret_place, ret_kind);
    }
    return DET_OK;
}

/* Names are suggested without their prefix: that is how they are typed. */
static const char *nearest_column(const struct query_columns *columns, const char *name,
                                  struct arena *mem)
{
    const char *const *names = columns->names(columns->arg, mem);
    const char **candidates;
    size_t count = 0;

    while (names && names[count])
        count++;
    candidates = arena_array(mem, const char *, 2 * count + 1);
    if (!names || !candidates)
        return NULL;
    for (size_t i = 0, at = 0; i < count; i++) {
        candidates[at++] = names[i];
        for (size_t j = 0; j < ARRAY_LEN(prefixes); j++)
            if (!strncmp(names[i], prefixes[j], strlen(prefixes[j])))
                candidates[at++] = names[i] + strlen(prefixes[j]);
    }
    return nearest_word(name, candidates);
}

det_status query_column_find(const struct query_columns *columns, const char *name,
                             struct arena *mem, uint32_t *ret_place,
                             enum query_kind *ret_kind, struct err *err)
{
    const char *near;
    uint32_t count;
    det_status st;

    if (columns->find(columns->arg, name, ret_place, ret_kind))
        return DET_OK;
    st = find_short_name(columns, name, mem, ret_place, ret_kind, &count);
    if (st)
        return err_default(err, st);
    if (count == 1)
        return DET_OK;
    if (count > 1)
        return err_set(err, DET_NOT_FOUND,
                       "it is a hyperparameter and a metric; write hp.%.100s or "
                       "validation.%.100s",
                       name, name);
    near = nearest_column(columns, name, mem);
    return err_set(err, DET_NOT_FOUND, "there is no such column%s%.100s%s",
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* ---- values ---------------------------------------------------------------------- */

/* "2026-01-31" is its first moment in UTC, "2026-01-31T10:30" needs no seconds. */
static bool read_time(const char *text, double *ret_us)
{
    static const struct {
        size_t len;
        const char *rest;
    } forms[] = {{10, "T00:00:00Z"}, {16, ":00Z"}, {19, "Z"}};
    char whole[64];
    size_t len = strlen(text);
    int64_t us;
    bool is_read = time_parse(text, &us);

    for (size_t i = 0; !is_read && i < ARRAY_LEN(forms); i++)
        if (len == forms[i].len) {
            memcpy(whole, text, len);
            memcpy(whole + len, forms[i].rest, strlen(forms[i].rest) + 1);
            is_read = time_parse(whole, &us);
        }
    if (is_read)
        *ret_us = (double)us;
    return is_read;
}

static bool read_number(const char *text, double *ret_number)
{
    static const struct {
        const char *text;
        double number;
    } words[] = {{"nan", NAN},
                 {"inf", INFINITY},
                 {"infinity", INFINITY},
                 {"-inf", -INFINITY},
                 {"-infinity", -INFINITY}};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (!strcasecmp(text, words[i].text)) {
            *ret_number = words[i].number;
            return true;
        }
    return number_to_real(text, strlen(text), ret_number);
}

static bool read_seconds(const char *text, double *ret_seconds)
{
    int64_t us;

    if (read_number(text, ret_seconds))
        return true;
    if (!duration_parse(text, &us))
        return false;
    *ret_seconds = (double)us / 1e6;
    return true;
}

static bool read_size(const char *text, double *ret_bytes)
{
    uint64_t bytes;

    if (read_number(text, ret_bytes))
        return true;
    if (!parse_size(text, &bytes))
        return false;
    *ret_bytes = (double)bytes;
    return true;
}

static bool read_no_number(const char *text, double *ret_number)
{
    (void)text;
    (void)ret_number;
    return false;
}

/* How a value of each kind is read, and how the sentence about a wrong one goes on. */
static const struct {
    bool (*read)(const char *text, double *ret_number);
    const char *holds; /* NULL: any text is a value */
    const char *example;
} kinds[] = {
    [QUERY_NUMBER] = {read_number, "numbers", "0.001 or 1e-3"},
    [QUERY_TEXT] = {read_no_number, NULL, NULL},
    [QUERY_SECONDS] = {read_seconds, "durations", "90, 45m or 1h30m"},
    [QUERY_TIME] = {read_time, "times", "2026-01-31 or 2026-01-31T10:30"},
    [QUERY_SIZE] = {read_size, "sizes", "1000, 64MB or 2GiB"},
    [QUERY_ANY] = {read_number, NULL, NULL},
};

static bool is_ordering(enum query_op op)
{
    return op == QUERY_LT || op == QUERY_LE || op == QUERY_GT || op == QUERY_GE;
}

static det_status check_term(const struct query_term *term, struct err *err)
{
    bool has_pattern = term->op == QUERY_HAS || term->op == QUERY_HAS_NOT;

    if (term->kind == QUERY_TEXT && is_ordering(term->op))
        return err_set(err, DET_INVALID,
                       "column '%.100s' at character %u holds texts; compare it with "
                       "=, != or ~",
                       term->column, term->at);
    if (kinds[term->kind].holds && has_pattern)
        return err_set(err, DET_INVALID,
                       "column '%.100s' at character %u holds %s; ~ is for texts",
                       term->column, term->at, kinds[term->kind].holds);
    if (term->count > 1 && is_ordering(term->op))
        return err_set(err, DET_INVALID,
                       "column '%.100s' at character %u: only = and != take several "
                       "values",
                       term->column, term->at);
    return DET_OK;
}

const char *const query_any_word[] = {NULL};

static bool is_word(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (!strcasecmp(text, *words))
            return true;
    return false;
}

/* A value that the column never has would match nothing.  A pattern may. */
static det_status check_words(const struct query_columns *columns,
                              const struct query_term *term, struct arena *mem,
                              struct err *err)
{
    const char *const *words;
    const char *known = "";

    if (term->op != QUERY_EQ && term->op != QUERY_NE)
        return DET_OK;
    words = columns->words(columns->arg, term->place, mem);
    for (const char *const *word = words; words && *word && known; word++)
        known = arena_printf(mem, "%s%s%s", known, *known ? ", " : "", *word);
    if (!words || !known)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; *words && i < term->count; i++) {
        const struct query_value *value = &term->values[i];

        if (!value->is_none && !is_word(value->text, words))
            return err_set(
                err, DET_INVALID,
                "column '%.100s': there is no '%.100s' (character %u); known "
                "are %.300s",
                term->column, value->text, value->at, known);
    }
    return DET_OK;
}

static det_status bind_value(const struct query_term *term, struct query_value *value,
                             struct err *err)
{
    bool is_number_wanted = kinds[term->kind].holds || is_ordering(term->op);
    const char *holds = kinds[term->kind].holds;
    const char *example = kinds[term->kind].example;

    if (value->is_none && is_ordering(term->op))
        return err_set(err, DET_INVALID,
                       "column '%.100s': none at character %u has no order; use = none "
                       "or != none",
                       term->column, value->at);
    if (value->is_none)
        return DET_OK;
    value->has_number = kinds[term->kind].read(value->text, &value->number);
    if (value->has_number || !is_number_wanted)
        return DET_OK;
    return err_set(
        err, DET_INVALID,
        "column '%.100s': '%.100s' at character %u is not one of the %s that "
        "it is compared by; write for example %s",
        term->column, value->text, value->at, holds ? holds : "numbers",
        example ? example : kinds[QUERY_NUMBER].example);
}

det_status table_query_bind(struct table_query *query,
                            const struct query_columns *columns, struct arena *mem,
                            struct err *err)
{
    for (uint32_t i = 0; i < query->count; i++) {
        struct query_term *term = query->terms[i];
        struct err why = {0};
        det_status st;

        if (!term->column)
            continue;
        st = query_column_find(columns, term->column, mem, &term->place, &term->kind,
                               &why);
        if (st == DET_NOT_FOUND)
            return err_set(err, DET_INVALID, "column '%.100s' at character %u: %s",
                           term->column, term->at, why.text);
        if (st)
            return err_default(err, st);
        st = check_term(term, err);
        for (uint32_t j = 0; !st && j < term->count; j++)
            st = bind_value(term, &term->values[j], err);
        if (!st)
            st = check_words(columns, term, mem, err);
        if (st)
            return st;
    }
    return DET_OK;
}

/* ---- cells ----------------------------------------------------------------------- */

static bool is_special_number(const char *text, size_t len, double *ret_number)
{
    static const struct {
        const char *text;
        double number;
    } known[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (len == strlen(known[i].text) && !memcmp(text, known[i].text, len)) {
            *ret_number = known[i].number;
            return true;
        }
    return false;
}

/* The text between the quotes. */
static bool string_cell(const char *text, size_t len, struct arena *mem,
                        struct query_cell *ret_cell)
{
    struct json *value = NULL;
    double number;

    if (memchr(text, '\\', len)) {
        if (json_parse(text - 1, len + 2, mem, &value, NULL) == DET_NOMEM)
            return false;
        text = json_str(value, "");
        len = strlen(text);
    }
    *ret_cell =
        is_special_number(text, len, &number)
            ? (struct query_cell){.kind = QUERY_CELL_NUMBER, .number = number}
            : (struct query_cell){.kind = QUERY_CELL_TEXT, .text = text, .len = len};
    return true;
}

bool query_cell_of_json(const char *text, size_t len, struct arena *mem,
                        struct query_cell *ret_cell)
{
    struct query_cell cell = {.kind = QUERY_CELL_TEXT, .text = text, .len = len};

    if (len >= 2 && *text == '"')
        return string_cell(text + 1, len - 2, mem, ret_cell);
    if (number_to_real(text, len, &cell.number))
        cell.kind = QUERY_CELL_NUMBER;
    else if (!len || *text == 'n') /* null */
        cell.kind = QUERY_CELL_NONE;
    *ret_cell = cell;
    return true;
}

static bool folded_equal(const char *text, size_t len, const char *value)
{
    char folded[2][256];

    if (strlen(value) != len)
        return false;
    if (!memcmp(text, value, len))
        return true;
    if (len > sizeof(folded[0]))
        return false;
    text_fold(folded[0], text, len);
    text_fold(folded[1], value, len);
    return !memcmp(folded[0], folded[1], len);
}

/* Ignores the case of the first part of long texts only: cells are short. */
static bool folded_has(const char *text, size_t len, const char *value)
{
    char folded[1024], part[256];
    size_t part_len = strlen(value);

    if (part_len > sizeof(part) || len > sizeof(folded))
        return memmem(text, len, value, part_len);
    text_fold(folded, text, len);
    text_fold(part, value, part_len);
    return !part_len || memmem(folded, len, part, part_len);
}

static bool number_matches(enum query_op op, double number, double value)
{
    switch (op) {
    case QUERY_LT:
        return number < value;
    case QUERY_LE:
        return number <= value;
    case QUERY_GT:
        return number > value;
    case QUERY_GE:
        return number >= value;
    case QUERY_EQ:
    case QUERY_NE:
        return number == value || (isnan(number) && isnan(value));
    case QUERY_HAS:
    case QUERY_HAS_NOT:
        break;
    }
    return false;
}

static bool value_matches(const struct query_term *term,
                          const struct query_value *value,
                          const struct query_cell *cell)
{
    if (value->is_none || cell->kind == QUERY_CELL_NONE)
        return value->is_none && cell->kind == QUERY_CELL_NONE;
    if (cell->kind == QUERY_CELL_NUMBER)
        return value->has_number &&
               number_matches(term->op, cell->number, value->number);
    if (term->op == QUERY_HAS || term->op == QUERY_HAS_NOT)
        return folded_has(cell->text, cell->len, value->text);
    return !is_ordering(term->op) && folded_equal(cell->text, cell->len, value->text);
}

bool query_term_is_negative(const struct query_term *term)
{
    return term->op == QUERY_NE || term->op == QUERY_HAS_NOT;
}

bool query_cell_has(const struct query_term *term, const struct query_cell *cell)
{
    for (uint32_t i = 0; i < term->count; i++)
        if (value_matches(term, &term->values[i], cell))
            return true;
    return false;
}

bool query_cell_matches(const struct query_term *term, const struct query_cell *cell)
{
    return query_cell_has(term, cell) != query_term_is_negative(term);
}
