/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_cut.c - long lines are cut, but keep the found text. */
#include "store/engine/db.h"
#include "store/log/log_add.h"
#include "store/log/log_line.h"
#include "store/log/log_read.h"
#include "tests/unit/store/world.h"

static void add_lines(struct world *w, const struct log_line *line, uint32_t count)
{
    struct log_batch batch = {.task_id = "t", .line = line, .count = count};
    uint32_t stored;

    CHECK_OK(db_begin(w->db, &test_err));
    CHECK_OK(store_log_add(w->db, &batch, &w->mem, &stored, &test_err));
    CHECK_OK(db_commit(w->db, &test_err));
}

/* One line, cut to 16 bytes that contain the found text. */
static void check_hit(struct world *w, const char *search, const char *text,
                      uint32_t skipped)
{
    struct log_query query = {
        .task_id = "t", .limit = 10, .cut_bytes = 16, .search = search};
    struct log_page page;

    for (int is_back = 0; is_back < 2; is_back++) {
        query.is_descending = is_back;
        CHECK_OK(store_log_read(w->db, &query, &w->mem, &page, &test_err));
        CHECK_EQ(page.count, 1);
        CHECK_STR(page.line[0].text, text);
        CHECK_EQ(page.line[0].skipped, skipped);
        CHECK_EQ(page.line[0].cut, 47 - skipped - page.line[0].len);
        query.is_regex = true; /* the same as a regular expression */
    }
}

TEST(of_a_line_that_is_cut_the_part_that_was_searched_for_is_left)
{
    static const char text[] = "begin 0123456789 \xc3\xa4\xc3\xa4\xc3\xa4"
                               " middle 012345678 end 7!";
    struct world w;
    struct log_line line = {.text = text, .len = sizeof(text) - 1, .rank = -1};
    struct log_query digit = {.task_id = "t",
                              .limit = 1,
                              .cut_bytes = 16,
                              .search = "[0-9]!",
                              .is_regex = true};
    struct log_page page;

    world_init(&w, true);
    add_lines(&w, &line, 1);
    check_hit(&w, "begin", "begin 0123456789", 0);
    check_hit(&w, "middle", "\xc3\xa4 middle 012345", 21); /* whole characters */
    check_hit(&w, "end 7", "678 end 7!", 37);
    digit.search = "[0-9][!]"; /* no fixed text to search for */
    CHECK_OK(store_log_read(w.db, &digit, &w.mem, &page, &test_err));
    CHECK_STR(page.line[0].text, "end 7!");
    world_done(&w);
}

TEST(of_a_line_that_is_cut_the_match_is_left_and_not_what_only_looks_like_it)
{
    static const struct {
        const char *search;
        const char *text; /* the kept 24 bytes */
    } rows[] = {
        {"step [0-9]+: oom", "x y z step 99: oom, abcd"},
        {"k step.*step 99", "k step 2: ok x y z step "}, /* longer than 24 bytes */
        {"[0-9]+: ok$", "step 10: ok"},
        {"step 1.*efgh", "step 1: ok step 2: ok x "}, /* longer, from the beginning */
        {"\\bok", "step 1: ok step 2: ok x "},        /* fits unchanged */
        {"m\\b.*h", "99: oom, abcdefgh step 1"},
        {"[0-9]+: ok x y", " step 2: ok x y z step 9"},
    };
    static const char text[] =
        "step 1: ok step 2: ok x y z step 99: oom, abcdefgh step 10: ok";
    struct world w;
    struct log_line line = {.text = text, .len = sizeof(text) - 1, .rank = -1};
    struct log_page page;

    world_init(&w, true);
    add_lines(&w, &line, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct log_query query = {.task_id = "t",
                                  .cut_bytes = 24,
                                  .search = rows[i].search,
                                  .is_regex = true};

        CHECK_OK(store_log_read(w.db, &query, &w.mem, &page, &test_err));
        CHECK_EQ(page.count, 1);
        CHECK_STR(page.line[0].text, rows[i].text);
    }
    world_done(&w);
}

TEST(texts_are_cut_where_wanted)
{
    struct world w;
    char *big = calloc(1, 2000001);
    struct log_line line[3] = {{.text = "0123456789", .len = 10, .rank = -1},
                               {.text = big, .len = 2000000, .rank = -1},
                               {.text = "0123", .len = 4, .rank = -1}};
    struct log_query query = {.task_id = "t", .limit = 10, .cut_bytes = 4};
    struct log_page page;

    CHECK(big != NULL);
    memset(big, 'x', 2000000);
    memcpy(big + 1999990, "needle", 6);
    world_init(&w, true);
    add_lines(&w, line, ARRAY_LEN(line));
    CHECK_OK(store_log_read(w.db, &query, &w.mem, &page, &test_err));
    CHECK_EQ(page.count, 3);
    CHECK_STR(page.line[0].text, "0123");
    CHECK_EQ(page.line[0].cut, 6);
    CHECK_EQ(page.line[1].cut, 1999996);
    CHECK_EQ(page.line[2].cut, 0);
    query.search = "needle"; /* in the part that is left out */
    CHECK_OK(store_log_read(w.db, &query, &w.mem, &page, &test_err));
    CHECK_EQ(page.count, 1);
    CHECK_EQ(page.line[0].id, 2);
    CHECK_STR(page.line[0].text, "need"); /* no room for the text before it */
    CHECK_EQ(page.line[0].skipped, 1999990);
    CHECK_EQ(page.line[0].cut, 6);
    free(big);
    world_done(&w);
}
