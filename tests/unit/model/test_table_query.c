/* SPDX-License-Identifier: Apache-2.0 */
/* test_table_query.c - the query line of a table: what it matches, and what it says about
 * mistakes. */
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "model/table_query.h"
#include "tests/support/test.h"

/* ---- a small table --------------------------------------------------------------- */

static const struct {
    const char *name;
    enum query_kind kind;
} columns[] = {{"id", QUERY_NUMBER},           {"name", QUERY_TEXT},
               {"label", QUERY_TEXT},          {"duration", QUERY_SECONDS},
               {"start", QUERY_TIME},          {"checkpointSize", QUERY_SIZE},
               {"hp.lr", QUERY_ANY},           {"hp.opt", QUERY_ANY},
               {"hp.loss", QUERY_ANY},         {"hp.my rate", QUERY_ANY},
               {"validation.loss", QUERY_ANY}, {"validation.val_loss", QUERY_ANY},
               {"state", QUERY_TEXT}};
enum { STATE = ARRAY_LEN(columns) - 1 };

static bool find_column(const void *arg, const char *name, uint32_t *ret_place,
                        enum query_kind *ret_kind)
{
    (void)arg;
    for (uint32_t i = 0; i < ARRAY_LEN(columns); i++)
        if (!strcmp(columns[i].name, name)) {
            *ret_place = i;
            *ret_kind = columns[i].kind;
            return true;
        }
    return false;
}

static const char *const *column_names(const void *arg, struct arena *mem)
{
    const char **names = arena_array(mem, const char *, ARRAY_LEN(columns) + 1);

    (void)arg;
    for (size_t i = 0; names && i < ARRAY_LEN(columns); i++)
        names[i] = columns[i].name;
    return names;
}

static const char *const *column_words(const void *arg, uint32_t place,
                                       struct arena *mem)
{
    static const char *const states[] = {"ACTIVE", "COMPLETED", "ERROR", NULL};

    (void)arg;
    (void)mem;
    return place == STATE ? states : query_any_word;
}

static const struct query_columns table = {NULL, find_column, column_names,
                                           column_words};

#define NUMBER(x)                                                                      \
    {                                                                                  \
        QUERY_CELL_NUMBER, x, NULL, 0                                                  \
    }
#define TEXT(x)                                                                        \
    {                                                                                  \
        QUERY_CELL_TEXT, 0, x, sizeof(x) - 1                                           \
    }

/* One row; hp.loss and hp.my rate are missing, validation.loss is NaN. */
static const struct query_cell cells[ARRAY_LEN(columns)] = {
    NUMBER(7),    TEXT("ResNet run"), TEXT("baseline"), NUMBER(5400), NUMBER(1.8e15),
    NUMBER(2048), NUMBER(0.001),      TEXT("Adam"),     {0},          {0},
    NUMBER(NAN),  NUMBER(0.25),       TEXT("COMPLETED")};

static bool term_matches(void *row, const struct query_term *term)
{
    static const struct query_cell anywhere = TEXT("7 ResNet run baseline");

    (void)row;
    return query_cell_matches(term, term->column ? &cells[term->place] : &anywhere);
}

static det_status try_query(const char *text, bool *ret_matches)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct table_query query;
    det_status st = table_query_parse(text, &mem, &query, &test_err);

    if (!st)
        st = table_query_bind(&query, &table, &mem, &test_err);
    if (!st)
        *ret_matches = table_query_matches(&query, term_matches, NULL);
    return st;
}

static bool matches(const char *text)
{
    bool is_match = false;

    if (try_query(text, &is_match))
        fail_msg("%s: %s", text, test_err.text);
    return is_match;
}

/* ---- what matches ---------------------------------------------------------------- */

TEST(an_empty_query_matches_everything)
{
    CHECK(matches(""));
    CHECK(matches("  \t\n"));
}

TEST(comparisons_hold_or_not)
{
    static const struct {
        const char *text;
        bool holds;
    } rows[] = {
        {"id = 7", true},
        {"id == 7", true},
        {"id:7", true},
        {"id=7", true},
        {"id != 7", false},
        {"id < 7", false},
        {"id <= 7", true},
        {"id > 6.5", true},
        {"id >= 7.0001", false},
        {"id = 1,7,9", true},
        {"id != 1, 7", false},
        {"lr >= 1e-3", true},
        {"lr < 1e-3", false},
        {"hp.lr = 0.001", true},
        {"val_loss < 0.3 and lr >= 1e-3 and label:baseline", true},
        {"name = 'resnet RUN'", true},
        {"name = resnet", false},
        {"name ~ resnet", true},
        {"name !~ resnet", false},
        {"name ~ \"net r\"", true},
        {"opt = adam", true},
        {"opt = adam,sgd", true},
        {"opt < 3", false},
        {"opt != 3", true},
        {"duration > 1h", true},
        {"duration = 1h30m", true},
        {"duration <= 5400", true},
        {"start >= 2027-01-15", true},
        {"start < 2027-01-15T08:00:01Z", true},
        {"start > 2027-01-15T08:00", false},
        {"checkpointSize = 2KiB", true},
        {"checkpointSize > 1000", true},
        {"\"resnet RUN\"", true},
        {"'nothing like it'", false},
        {"\"hp.my rate\" = none", true},
        {"\"my rate\" != 3", true},
        {"state = completed", true},
        {"state = ERROR,Completed", true},
        {"state != error", true},
        {"state ~ comp", true},
        {"state = none", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (matches(rows[i].text) != rows[i].holds)
            fail_msg("%s should%s hold", rows[i].text, rows[i].holds ? "" : " not");
}

TEST(a_missing_value_is_none_and_not_comparable)
{
    CHECK(matches("hp.loss = none"));
    CHECK(!matches("hp.loss != none"));
    CHECK(!matches("hp.loss < 1") && !matches("hp.loss >= 1"));
    CHECK(matches("hp.loss != 1") && matches("not hp.loss = 1"));
    CHECK(matches("lr != none"));
    CHECK(!matches("opt = 'none'"));
}

TEST(nan_is_found_by_its_name_only)
{
    CHECK(matches("validation.loss = nan"));
    CHECK(!matches("validation.loss < 1") && !matches("validation.loss > 1"));
    CHECK(!matches("val_loss = NaN"));
    CHECK(matches("val_loss < inf") && matches("val_loss > -inf"));
}

TEST(and_binds_before_or_and_not_before_both)
{
    CHECK(matches("id = 7 or id = 1 and id = 2"));
    CHECK(!matches("(id = 7 or id = 1) and id = 2"));
    CHECK(matches("not id = 1 and id = 7"));
    CHECK(!matches("not (id = 1 or id = 7)"));
    CHECK(matches("NOT NOT id=7 AND (id=7)"));
}

TEST(quotes_and_backslashes_keep_characters)
{
    CHECK(matches("name != \"a \\\" b\" and name != 'it\\'s'"));
    CHECK(matches("name != it's"));
    CHECK(matches("\"id\" = \"7\""));
}

/* ---- mistakes -------------------------------------------------------------------- */

TEST(mistakes_name_the_column_and_the_character)
{
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        {"lrr < 1", "column 'lrr' at character 1: there is no such column; did you "
                    "mean 'lr'?"},
        {"id = 7 and val_los < 1", "column 'val_los' at character 12"},
        {"id = 7 and val_los < 1", "did you mean 'val_loss'?"},
        {"zzzzzzzzzzz = 1", "there is no such column"},
        {"loss < 1",
         "column 'loss' at character 1: it is a hyperparameter and a metric; "
         "write hp.loss or validation.loss"},
        {"lr", "column 'lr' at character 1 has no comparison"},
        {"lr 0.1", "expected =, !=, <, <=, >, >=, ~ or : at character 4"},
        {"lr <",
         "column 'lr' is compared with nothing: expected a value at character 5"},
        {"id = 7 lr < 1", "expected 'and' or 'or' at character 8, found 'lr'"},
        {"id = 7 and", "the query ends at character 11; expected a column"},
        {"id = 7 and or lr < 1", "expected a column at character 12, found 'or'"},
        {"(id = 7", "the ( at character 1 is never closed"},
        {"(id = 7 id", "expected 'and', 'or' or ')' at character 9"},
        {"id = 7)", "expected 'and' or 'or' at character 7, found ')'"},
        {"name = 'abc", "the text that begins at character 8 has no closing '"},
        {"id = seven", "column 'id': 'seven' at character 6"},
        {"lr < fast", "column 'lr': 'fast' at character 6 is not one of the numbers"},
        {"duration > soon", "90, 45m or 1h30m"},
        {"start > yesterday", "2026-01-31"},
        {"checkpointSize > big", "2GiB"},
        {"name < b", "column 'name' at character 1 holds texts; compare it with"},
        {"id ~ 7", "column 'id' at character 1 holds numbers; ~ is for texts"},
        {"lr < 1,2", "only = and != take several values"},
        {"lr < none", "none at character 6 has no order"},
        {"\xc3\xa9\xc3\xa9 = 1", "'\xc3\xa9\xc3\xa9' at character 1"},
        {"name = \xc3\xa9 and lrr = 1", "'lrr' at character 14"},
        {"id = ,7", "expected a value at character 6"},
        {"= 7", "expected a column at character 1, found '='"},
        {"state = BOGUS",
         "column 'state': there is no 'BOGUS' (character 9); known are "
         "ACTIVE, COMPLETED, ERROR"},
        {"id = 7 and state != ERROR, \"compleeted\"", "no 'compleeted' (character 28)"},
    };
    bool is_match;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_EQ(try_query(rows[i].text, &is_match), DET_INVALID);
        if (!strstr(test_err.text, rows[i].says))
            fail_msg("%s: %s", rows[i].text, test_err.text);
    }
}

TEST(a_query_is_bounded)
{
    CLEANUP(buf_done) struct buf deep = BUF_INIT;
    CLEANUP(buf_done) struct buf wide = BUF_INIT;
    CLEANUP(buf_done) struct buf list = BUF_INIT;
    CLEANUP(buf_done) struct buf any = BUF_INIT;
    bool is_match;

    for (int i = 0; i < 40; i++)
        buf_puts(&deep, "not ");
    buf_puts(&deep, "id=7");
    for (int i = 0; i < 65; i++)
        buf_puts(&wide, i ? " and id=7" : "id=7");
    buf_puts(&list, "id=1");
    for (int i = 0; i < 64; i++)
        buf_puts(&list, ",1");
    for (int i = 0; i < 4097; i++)
        buf_putc(&any, ' ');

    CHECK_EQ(try_query(deep.data, &is_match), DET_INVALID);
    CHECK(strstr(test_err.text, "nested more than 32 deep") != NULL);
    CHECK_EQ(try_query(wide.data, &is_match), DET_INVALID);
    CHECK(strstr(test_err.text, "more than 64 comparisons") != NULL);
    CHECK_EQ(try_query(list.data, &is_match), DET_INVALID);
    CHECK(strstr(test_err.text, "more than 64 values") != NULL);
    CHECK_EQ(try_query(any.data, &is_match), DET_INVALID);
    CHECK(strstr(test_err.text, "longer than 4096 bytes") != NULL);
}

TEST(no_memory_is_no_mistake_of_the_query)
{
    EACH_ALLOCATION_FAILS() {
        bool is_match = false;
        det_status st = try_query("not (lr < 1 and 'x') or opt = a,b", &is_match);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
    }
}
