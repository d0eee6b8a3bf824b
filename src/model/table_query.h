/* SPDX-License-Identifier: Apache-2.0 */
/* table_query.h - the query line of a table: `val_loss < 0.3 and label:baseline`.
 *
 *   query  = either { "or" either }
 *   either = one { "and" one }
 *   one    = "not" one | "(" query ")" | COLUMN OPERATOR value { "," value } | "TEXT"
 *
 * Operators: = (also == and :), !=, <, <=, >, >=, ~ (contains) and !~.  Several values are
 * alternatives.  `none` is the missing value.  A quoted text without an operator looks for
 * that text anywhere in a row.  A column or value with spaces or operators is quoted.
 *
 * Three steps: table_query_parse() reads the text and knows no column;
 * table_query_bind() looks its columns up and reads the values as numbers, durations or
 * times; table_query_matches() applies it to a row, whose cells a callback provides.
 *
 * Every message names the column and the character, counted from 1.
 *
 * The rule for missing values: a comparison with a missing value is false, and `!=` is
 * `not =`, so `lr != 0.1` also matches rows without lr. */
#ifndef MODEL_TABLE_QUERY_H
#define MODEL_TABLE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;

enum {
    TABLE_QUERY_MOST = 4096, /* bytes of a query */
    TABLE_QUERY_TERMS = 64,
    TABLE_QUERY_VALUES = 64, /* of one comparison */
    TABLE_QUERY_DEPTH = 32,  /* parentheses and `not` */
};

enum query_op {
    QUERY_EQ,
    QUERY_NE,
    QUERY_LT,
    QUERY_LE,
    QUERY_GT,
    QUERY_GE,
    QUERY_HAS,
    QUERY_HAS_NOT
};

/* What a column holds, hence how a value is written. */
enum query_kind {
    QUERY_NUMBER,
    QUERY_TEXT,
    QUERY_SECONDS, /* "90", "1h30m" */
    QUERY_TIME,    /* "2026-01-31", RFC 3339; the cells hold microseconds */
    QUERY_SIZE,    /* "100", "2GiB" */
    QUERY_ANY,     /* numbers and texts */
};
extern const char *const query_kind_names[]; /* ends with NULL */

struct query_value {
    const char *text;
    uint32_t at; /* its first character, from 1 */
    bool is_none;
    bool is_quoted;
    bool has_number; /* set by table_query_bind() */
    double number;
};

struct query_term {
    const char *column; /* NULL: a text anywhere */
    uint32_t at;
    enum query_op op;
    struct query_value *values;
    uint32_t count; /* at least 1 */
    /* set by table_query_bind() */
    uint32_t place; /* the column's */
    enum query_kind kind;
};

enum query_node_kind { QUERY_NODE_TERM, QUERY_NODE_AND, QUERY_NODE_OR, QUERY_NODE_NOT };

struct query_node {
    enum query_node_kind kind;
    struct query_term *term;
    struct query_node *left; /* also the only one of QUERY_NODE_NOT */
    struct query_node *right;
};

struct table_query {
    struct query_node *root; /* NULL: the query is empty and matches everything */
    struct query_term *terms[TABLE_QUERY_TERMS];
    uint32_t count;
};

/* A cell of a row; borrows. */
enum query_cell_kind { QUERY_CELL_NONE, QUERY_CELL_NUMBER, QUERY_CELL_TEXT };
struct query_cell {
    enum query_cell_kind kind;
    double number;
    const char *text;
    size_t len;
};

/* The cell of a JSON value, given as text.  Numbers are numbers, also the strings "NaN",
 * "Infinity" and "-Infinity"; null is none; other strings are their texts, and all the rest
 * are texts as in JSON.  Borrows `text`; a string with escapes is copied to `mem`, which is
 * not used otherwise.  False: out of memory. */
bool query_cell_of_json(const char *text, size_t len, struct arena *mem,
                        struct query_cell *ret_cell);

/* Reads `text` into `mem`.  DET_INVALID says what was expected at which character. */
det_status table_query_parse(const char *text, struct arena *mem,
                             struct table_query *ret_query, struct err *err);

/* The columns of a table. */
struct query_columns {
    const void *arg;
    /* Whether there is a column of exactly this name. */
    bool (*find)(const void *arg, const char *name, uint32_t *ret_place,
                 enum query_kind *ret_kind);
    /* All names, ended by NULL, in `mem`; for suggestions.  NULL: out of memory. */
    const char *const *(*names)(const void *arg, struct arena *mem);
    /* The only values of a column, ended by NULL, in `mem`; query_any_word: it may have
     * any.  NULL: out of memory. */
    const char *const *(*words)(const void *arg, uint32_t place, struct arena *mem);
};
extern const char *const query_any_word[];

/* A name as people write it: "lr" is "hp.lr" or "validation.lr" if there is no such fixed
 * column.  DET_NOT_FOUND with a sentence that does not say where the name was found. */
det_status query_column_find(const struct query_columns *columns, const char *name,
                             struct arena *mem, uint32_t *ret_place,
                             enum query_kind *ret_kind, struct err *err);

/* Gives every term its column and every value its number. */
det_status table_query_bind(struct table_query *query,
                            const struct query_columns *columns, struct arena *mem,
                            struct err *err);

/* Whether a row matches the term; a term without a column looks for its text. */
typedef bool query_term_fn(void *row, const struct query_term *term);
bool table_query_matches(const struct table_query *query, query_term_fn *matches,
                         void *row);

/* Whether one cell matches the term.  For columns with several values per row, ask
 * query_term_is_negative() and join the answers of query_cell_has(). */
bool query_cell_matches(const struct query_term *term, const struct query_cell *cell);
bool query_cell_has(const struct query_term *term, const struct query_cell *cell);
bool query_term_is_negative(const struct query_term *term);

#endif
