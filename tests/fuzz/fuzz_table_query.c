/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_table_query.c - query lines of tables, on a table with one column of each kind. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memory/arena.h"
#include "model/table_query.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static bool find_column(const void *arg, const char *name, uint32_t *ret_place,
                        enum query_kind *ret_kind)
{
    (void)arg;
    for (uint32_t i = 0; query_kind_names[i]; i++)
        if (!strcmp(name, query_kind_names[i])) {
            *ret_place = i;
            *ret_kind = (enum query_kind)i;
            return true;
        }
    return false;
}

static const char *const *column_names(const void *arg, struct arena *mem)
{
    (void)arg;
    (void)mem;
    return query_kind_names;
}

static const char *const *column_words(const void *arg, uint32_t place,
                                       struct arena *mem)
{
    (void)arg;
    (void)mem;
    return place == 1 ? query_kind_names : query_any_word;
}

/* A number, a text and a missing value. */
static bool term_matches(void *row, const struct query_term *term)
{
    static const struct query_cell cells[] = {
        {QUERY_CELL_NUMBER, 0.5, NULL, 0}, {QUERY_CELL_TEXT, 0, "text", 4}, {0}};

    if (!term->count || !term->at)
        __builtin_trap();
    return query_cell_matches(term, &cells[*(const int *)row]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const struct query_columns columns = {NULL, find_column, column_names,
                                                 column_words};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4 << 20);
    char *text = arena_strndup(&mem, (const char *)bytes, len);
    struct table_query query;
    struct err err = {0};
    det_status st;

    if (!text)
        return 0;
    st = table_query_parse(text, &mem, &query, &err);
    if (!st)
        st = table_query_bind(&query, &columns, &mem, &err);
    if (st && !*err.text)
        __builtin_trap();
    for (int i = 0; !st && i < 3; i++)
        (void)table_query_matches(&query, term_matches, &i);
    return 0;
}
