/* SPDX-License-Identifier: Apache-2.0 */
/* table_query.c - see table_query.h.
 *
 * A recursive descent over the text, without a separate lexer: a column ends at an
 * operator, a value does not (a time has colons), so only the parser knows what comes. */
#include "model/table_query.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/memory/arena.h"

struct parser {
    const char *text;
    const char *at;
    struct arena *mem;
    struct table_query *query;
    uint32_t depth;
    struct err *err;
};

/* ---- reading --------------------------------------------------------------------- */

/* The number of a character, from 1: continuation bytes of UTF-8 do not count. */
static uint32_t character_at(const struct parser *p, const char *at)
{
    uint32_t count = 1;

    for (const char *c = p->text; c < at; c++)
        count += ((unsigned char)*c & 0xc0) != 0x80;
    return count;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_spaces(struct parser *p)
{
    while (is_space(*p->at))
        p->at++;
}

static bool ends_column(char c)
{
    return !c || is_space(c) || strchr("()<>=!~:,\"'", c);
}

static bool ends_value(char c)
{
    return !c || is_space(c) || c == '(' || c == ')' || c == ',';
}

/* Whether the word comes next, in any case; a quoted one is not a word. */
static bool is_word_next(const struct parser *p, const char *word)
{
    size_t len = strlen(word);

    return !strncasecmp(p->at, word, len) && ends_column(p->at[len]);
}

static bool skip_word(struct parser *p, const char *word)
{
    skip_spaces(p);
    if (!is_word_next(p, word))
        return false;
    p->at += strlen(word);
    return true;
}

static det_status expected(struct parser *p, const char *what)
{
    uint32_t at = character_at(p, p->at);
    size_t len = 0;

    while (!ends_column(p->at[len]) && len < 40)
        len++;
    if (!*p->at)
        return err_set(p->err, DET_INVALID,
                       "the query ends at character %u; expected %s", at, what);
    return err_set(p->err, DET_INVALID, "expected %s at character %u, found '%.*s'",
                   what, at, (int)(len ? len : 1), p->at);
}

/* A text in quotes of either kind; a backslash keeps the next character. */
static det_status read_quoted(struct parser *p, const char **ret_text)
{
    const char *begin = p->at;
    char quote = *p->at++;
    char *out = arena_strdup(p->mem, p->at);
    size_t len = 0;

    if (!out)
        return err_default(p->err, DET_NOMEM);
    while (*p->at && *p->at != quote) {
        if (*p->at == '\\' && p->at[1])
            p->at++;
        out[len++] = *p->at++;
    }
    if (!*p->at)
        return err_set(p->err, DET_INVALID,
                       "the text that begins at character %u has no closing %c",
                       character_at(p, begin), quote);
    p->at++;
    out[len] = '\0';
    *ret_text = out;
    return DET_OK;
}

static det_status read_plain(struct parser *p, bool (*ends)(char), const char **ret)
{
    const char *begin = p->at;

    while (!ends(*p->at))
        p->at++;
    *ret = arena_strndup(p->mem, begin, (size_t)(p->at - begin));
    return *ret ? DET_OK : err_default(p->err, DET_NOMEM);
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* ---- terms ----------------------------------------------------------------------- */

static const struct {
    const char *text;
    enum query_op op;
} operators[] = {{"!=", QUERY_NE}, {"!~", QUERY_HAS_NOT}, {"<=", QUERY_LE},
                 {">=", QUERY_GE}, {"==", QUERY_EQ},      {"=", QUERY_EQ},
                 {":", QUERY_EQ},  {"<", QUERY_LT},       {">", QUERY_GT},
                 {"~", QUERY_HAS}};

static bool read_operator(struct parser *p, enum query_op *ret_op)
{
    skip_spaces(p);
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        size_t len = strlen(operators[i].text);

        if (strncmp(p->at, operators[i].text, len) != 0)
            continue;
        p->at += len;
        *ret_op = operators[i].op;
        return true;
    }
    return false;
}

static det_status read_value(struct parser *p, const char *column,
                             struct query_value *value)
{
    det_status st;

    skip_spaces(p);
    value->at = character_at(p, p->at);
    value->is_quoted = is_quote(*p->at);
    if (!value->is_quoted && ends_value(*p->at))
        return err_set(p->err, DET_INVALID,
                       "column '%.100s' is compared with nothing: expected a value at "
                       "character %u",
                       column, value->at);
    st = value->is_quoted ? read_quoted(p, &value->text)
                          : read_plain(p, ends_value, &value->text);
    if (!st)
        value->is_none = !value->is_quoted && !strcasecmp(value->text, "none");
    return st;
}

static det_status read_values(struct parser *p, struct query_term *term)
{
    det_status st;

    do {
        if (term->count >= TABLE_QUERY_VALUES)
            return err_set(p->err, DET_INVALID,
                           "column '%.100s' at character %u is compared with more than "
                           "%d values",
                           term->column, term->at, TABLE_QUERY_VALUES);
        st = read_value(p, term->column, &term->values[term->count++]);
        if (st)
            return st;
        skip_spaces(p);
    } while (*p->at == ',' && p->at++);
    return DET_OK;
}

static struct query_node *new_node(struct parser *p, enum query_node_kind kind,
                                   struct query_node *left, struct query_node *right)
{
    struct query_node *node = arena_new(p->mem, struct query_node);

    if (node)
        *node = (struct query_node){.kind = kind, .left = left, .right = right};
    return node;
}

static det_status new_term(struct parser *p, struct query_term **ret_term,
                           struct query_node **ret_node)
{
    struct query_term *term = arena_new(p->mem, struct query_term);

    if (p->query->count >= TABLE_QUERY_TERMS)
        return err_set(p->err, DET_INVALID, "the query has more than %d comparisons",
                       TABLE_QUERY_TERMS);
    *ret_node = new_node(p, QUERY_NODE_TERM, NULL, NULL);
    if (term)
        term->values = arena_array(p->mem, struct query_value, TABLE_QUERY_VALUES);
    if (!term || !*ret_node || !term->values)
        return err_default(p->err, DET_NOMEM);
    (*ret_node)->term = *ret_term = term;
    p->query->terms[p->query->count++] = term;
    return DET_OK;
}

static det_status parse_term(struct parser *p, struct query_node **ret_node)
{
    bool is_quoted = is_quote(*p->at);
    struct query_term *term = NULL;
    det_status st = new_term(p, &term, ret_node);

    if (st)
        return st;
    term->at = character_at(p, p->at);
    st = is_quoted ? read_quoted(p, &term->column)
                   : read_plain(p, ends_column, &term->column);
    if (st)
        return st;
    if (read_operator(p, &term->op))
        return read_values(p, term);
    if (!is_quoted) {
        skip_spaces(p);
        return err_set(p->err, DET_INVALID,
                       "column '%.100s' at character %u has no comparison: expected =, "
                       "!=, <, <=, >, >=, ~ or : at character %u",
                       term->column, term->at, character_at(p, p->at));
    }
    term->op = QUERY_HAS;
    term->values[term->count++] =
        (struct query_value){.text = term->column, .at = term->at, .is_quoted = true};
    term->column = NULL;
    return DET_OK;
}

/* ---- and, or, not ---------------------------------------------------------------- */

static det_status parse_or(struct parser *p, struct query_node **ret_node);

static det_status parse_parentheses(struct parser *p, struct query_node **ret_node)
{
    uint32_t opened = character_at(p, p->at++);
    det_status st = parse_or(p, ret_node);

    if (st)
        return st;
    skip_spaces(p);
    if (*p->at != ')')
        return *p->at ? expected(p, "'and', 'or' or ')'")
                      : err_set(p->err, DET_INVALID,
                                "the ( at character %u is never closed", opened);
    p->at++;
    return DET_OK;
}

static det_status parse_not(struct parser *p, struct query_node **ret_node);

static det_status parse_one(struct parser *p, struct query_node **ret_node)
{
    skip_spaces(p);
    if (skip_word(p, "not"))
        return parse_not(p, ret_node);
    if (*p->at == '(')
        return parse_parentheses(p, ret_node);
    if (is_word_next(p, "and") || is_word_next(p, "or") ||
        (ends_column(*p->at) && !is_quote(*p->at)))
        return expected(p, "a column");
    return parse_term(p, ret_node);
}

/* Counts the nesting of `not` and parentheses. */
static det_status parse_nested(struct parser *p, struct query_node **ret_node)
{
    det_status st;

    if (p->depth >= TABLE_QUERY_DEPTH)
        return err_set(p->err, DET_INVALID,
                       "the query is nested more than %d deep at character %u",
                       TABLE_QUERY_DEPTH, character_at(p, p->at));
    p->depth++;
    st = parse_one(p, ret_node);
    p->depth--;
    return st;
}

static det_status parse_not(struct parser *p, struct query_node **ret_node)
{
    struct query_node *inner = NULL;
    det_status st = parse_nested(p, &inner);

    if (st)
        return st;
    *ret_node = new_node(p, QUERY_NODE_NOT, inner, NULL);
    return *ret_node ? DET_OK : err_default(p->err, DET_NOMEM);
}

static det_status
parse_joined(struct parser *p, const char *word, enum query_node_kind kind,
             det_status (*part)(struct parser *, struct query_node **),
             struct query_node **ret_node)
{
    struct query_node *right = NULL;
    det_status st = part(p, ret_node);

    while (!st && skip_word(p, word)) {
        st = part(p, &right);
        if (st)
            return st;
        *ret_node = new_node(p, kind, *ret_node, right);
        if (!*ret_node)
            return err_default(p->err, DET_NOMEM);
    }
    return st;
}

static det_status parse_and(struct parser *p, struct query_node **ret_node)
{
    return parse_joined(p, "and", QUERY_NODE_AND, parse_nested, ret_node);
}

static det_status parse_or(struct parser *p, struct query_node **ret_node)
{
    return parse_joined(p, "or", QUERY_NODE_OR, parse_and, ret_node);
}

det_status table_query_parse(const char *text, struct arena *mem,
                             struct table_query *ret_query, struct err *err)
{
    struct table_query query = {0};
    struct parser p = {
        .text = text, .at = text, .mem = mem, .query = &query, .err = err};
    det_status st;

    if (strlen(text) > TABLE_QUERY_MOST)
        return err_set(err, DET_INVALID, "the query is longer than %d bytes",
                       TABLE_QUERY_MOST);
    skip_spaces(&p);
    if (!*p.at) {
        *ret_query = query;
        return DET_OK;
    }
    st = parse_or(&p, &query.root);
    if (st)
        return st;
    skip_spaces(&p);
    if (*p.at)
        return expected(&p, "'and' or 'or'");
    *ret_query = query;
    return DET_OK;
}

/* ---- matching -------------------------------------------------------------------- */

static bool node_matches(const struct query_node *node, query_term_fn *matches,
                         void *row)
{
    switch (node->kind) {
    case QUERY_NODE_TERM:
        return matches(row, node->term);
    case QUERY_NODE_NOT:
        return !node_matches(node->left, matches, row);
    case QUERY_NODE_AND:
        return node_matches(node->left, matches, row) &&
               node_matches(node->right, matches, row);
    case QUERY_NODE_OR:
        break;
    }
    assert(node->kind == QUERY_NODE_OR);
    return node_matches(node->left, matches, row) ||
           node_matches(node->right, matches, row);
}

bool table_query_matches(const struct table_query *query, query_term_fn *matches,
                         void *row)
{
    return !query->root || node_matches(query->root, matches, row);
}
