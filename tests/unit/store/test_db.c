/* SPDX-License-Identifier: Apache-2.0 */
#include "store/checkpoint/checkpoint.h"
#include "store/engine/db.h"
#include "store/engine/db_impl.h"
#include "store/engine/migrate.h"
#include "store/engine/sql_build.h"
#include "store/people/user.h"
#include "store/sql_tables.h"
#include "tests/unit/store/world.h"

static const struct sql insert = {"INSERT INTO numbers (name, value) VALUES ($1, $2)"};
static const struct sql select_all = {"SELECT name, value FROM numbers ORDER BY name"};
static const struct sql swapped = {"SELECT $2, $1, $2"};

static det_status put(struct db *db, const char *name, int64_t value, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &insert, err);

    db_bind_str(&q, name);
    db_bind_i64(&q, value);
    return db_run(&q);
}

TEST_ON_BOTH(rows_come_back)
{
    struct world w;

    world_init(&w, is_memory);
    CHECK_OK(put(w.db, "b", -5, &test_err));
    CHECK_OK(put(w.db, "a", INT64_MAX, &test_err));
    CHECK_EQ(db_changes(w.db), 1);
    {
        CLEANUP(db_query_done)
        struct db_query q = db_query(w.db, &select_all, &test_err);

        CHECK(db_next(&q));
        CHECK_STR(db_col_str(&q, &w.mem), "a");
        CHECK(db_col_i64(&q) == INT64_MAX);
        CHECK(db_next(&q));
        CHECK_STR(db_col_str(&q, &w.mem), "b");
        CHECK_EQ(db_col_i64(&q), -5);
        CHECK(!db_next(&q));
        CHECK(!db_next(&q));
        CHECK_EQ(q.status, DET_OK);
    }
    world_done(&w);
}

TEST(parameters_are_bound_by_their_number)
{
    struct world w;
    struct db_query q;

    world_init(&w, true);
    q = db_query(w.db, &swapped, &test_err);
    db_bind_i64(&q, 1);
    db_bind_i64(&q, 2);
    CHECK(db_next(&q));
    CHECK_EQ(db_col_i64(&q), 2);
    CHECK_EQ(db_col_i64(&q), 1);
    CHECK_EQ(db_col_i64(&q), 2);
    db_query_done(&q);
    world_done(&w);
}

TEST(a_statement_may_be_used_within_itself)
{
    struct world w;
    int pairs = 0;

    world_init(&w, true);
    CHECK_OK(put(w.db, "a", 1, &test_err));
    CHECK_OK(put(w.db, "b", 2, &test_err));
    {
        CLEANUP(db_query_done)
        struct db_query outer = db_query(w.db, &select_all, NULL);

        while (db_next(&outer)) {
            CLEANUP(db_query_done)
            struct db_query inner = db_query(w.db, &select_all, NULL);

            while (db_next(&inner))
                pairs++;
        }
    }
    CHECK_EQ(pairs, 4);
    world_done(&w);
}

TEST(a_unique_key_is_exists_and_the_transaction_goes_on)
{
    struct world w;

    world_init(&w, true);
    CHECK_OK(db_begin(w.db, &test_err));
    CHECK_OK(put(w.db, "a", 1, &test_err));
    CHECK_EQ(put(w.db, "a", 2, &test_err), DET_EXISTS);
    CHECK_OK(put(w.db, "b", 2, &test_err));
    CHECK_OK(db_commit(w.db, &test_err));
    CHECK_EQ(count_of(w.db, "numbers"), 2);
    world_done(&w);
}

TEST(a_savepoint_is_undone_alone)
{
    struct world w;

    world_init(&w, true);
    CHECK_OK(db_begin(w.db, &test_err));
    CHECK_OK(db_save(w.db, &test_err));
    CHECK_OK(put(w.db, "a", 1, &test_err));
    CHECK_OK(db_release(w.db, &test_err));
    CHECK_OK(db_save(w.db, &test_err));
    CHECK_OK(put(w.db, "b", 1, &test_err));
    db_undo(w.db);
    CHECK_OK(db_commit(w.db, &test_err));
    CHECK_EQ(count_of(w.db, "numbers"), 1);
    CHECK_OK(db_begin(w.db, &test_err));
    CHECK_OK(put(w.db, "c", 1, &test_err));
    db_rollback(w.db);
    db_rollback(w.db);
    CHECK_EQ(count_of(w.db, "numbers"), 1);
    world_done(&w);
}

TEST_ON_BOTH(a_reader_sees_what_is_committed_and_a_snapshot_stands_still)
{
    struct world w;
    struct db *reader;

    world_init(&w, is_memory);
    CHECK_OK(db_open(w.io, w.path, true, &reader, &test_err));
    CHECK_OK(db_begin(w.db, &test_err));
    CHECK_OK(put(w.db, "a", 1, &test_err));
    CHECK_EQ(count_of(reader, "numbers"), 0);
    CHECK_OK(db_commit(w.db, &test_err));
    CHECK_EQ(count_of(reader, "numbers"), 1);
    CHECK_OK(db_snapshot(reader, &test_err));
    CHECK_EQ(count_of(reader, "numbers"), 1);
    CHECK_OK(put(w.db, "b", 1, &test_err));
    CHECK_EQ(count_of(reader, "numbers"), 1);
    db_snapshot_end(reader);
    CHECK_EQ(count_of(reader, "numbers"), 2);
    CHECK(put(reader, "c", 1, &test_err) != DET_OK);
    db_close(reader);
    world_done(&w);
}

TEST(every_sql_row_prepares)
{
    struct world w;
    size_t rows = 0;

    world_init(&w, true);
    for (size_t i = 0; sql_tables[i]; i++) {
        for (size_t k = 0; k < sql_tables[i]->count; k++) {
            struct db_query q = db_query(w.db, &sql_tables[i]->sql[k], &test_err);

            if (q.status)
                fail_msg("%s: %s", sql_tables[i]->sql[k].text, test_err.text);
            db_query_done(&q);
            rows++;
        }
    }
    CHECK(rows > 100);
    world_done(&w);
}

/* Column by column: a table and its record must agree. */
TEST(tables_hold_the_fields_of_their_records)
{
    static const struct {
        const char *table;
        const struct field *fields;
    } tables[] = {{"trials", trial_fields},
                  {"allocations", allocation_fields},
                  {"shares", share_fields},
                  {"agents", agent_fields},
                  {"search_inputs", search_input_fields},
                  {"search_snapshots", search_snapshot_fields},
                  {"users", user_fields},
                  {"checkpoints", checkpoint_fields}};
    struct world w;

    world_init(&w, true);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        CLEANUP(sql_build_done) struct sql_build b = SQL_BUILD_INIT(&w.mem);

        buf_puts(&b.text, "SELECT ");
        sql_build_columns(&b, "x", tables[i].fields);
        buf_printf(&b.text, " FROM %s x", tables[i].table);
        struct db_query q = sql_build_query(&b, w.db, "", &test_err);

        CHECK_OK(q.status);
        db_query_done(&q);
    }
    world_done(&w);
}

TEST(wrong_sql_says_what_is_wrong)
{
    struct world w;
    struct db_query q;

    world_init(&w, true);
    q = db_query_text(w.db, "SELEKT 1", &test_err);
    CHECK(q.status != DET_OK);
    CHECK_HAS(test_err.text, "SELEKT");
    CHECK(!db_next(&q));
    db_bind_i64(&q, 1);
    CHECK_EQ(db_col_i64(&q), 0);
    db_query_done(&q);
    world_done(&w);
}

TEST(each_query_that_fails_is_reported)
{
    struct world w;

    world_init(&w, true);
    for (int nth = 1;; nth++) {
        det_status st;

        fault_arm(FAULT_QUERY, nth);
        st = put(w.db, "x", nth, &test_err);
        if (!fault_disarm(FAULT_QUERY)) {
            CHECK_OK(st);
            break;
        }
        CHECK_EQ(st, DET_IO);
    }
    world_done(&w);
}

/* ---- files that cannot be used ----------------------------------------------------
 */

TEST_ON_BOTH(a_damaged_file_is_named_and_the_way_out_is_told)
{
    struct world w;
    char junk[8192];

    world_place(&w, is_memory);
    memset(junk, 'x', sizeof(junk));
    CHECK_OK(io_replace(w.io, w.path, junk, sizeof(junk), true, &test_err));
    CHECK_EQ(db_open(w.io, w.path, false, &w.db, &test_err), DET_CORRUPT);
    CHECK_HAS(test_err.text, w.path);
    CHECK_HAS(test_err.text, "restore a backup");
    w.db = NULL;
    world_done(&w);
}

TEST_ON_BOTH(a_file_with_a_torn_page_is_damaged)
{
    struct world w;
    struct io_file *file;
    char junk[4096];
    det_status st = DET_OK;
    struct db *db = NULL;

    world_init(&w, is_memory);
    db_close(w.db);
    w.db = NULL;
    memset(junk, 0xee, sizeof(junk));
    CHECK_OK(io_open(w.io, w.path, IO_WRITE, &file, &test_err));
    for (int page = 1; page < 20; page++)
        CHECK_OK(
            io_write_at(file, (uint64_t)page * 4096, junk, sizeof(junk), &test_err));
    io_close(file);
    st = db_open(w.io, w.path, false, &db, &test_err);
    if (!st)
        st = db_migrate(db, migration_count, &test_err);
    if (!st)
        st = put(db, "a", 1, &test_err);
    CHECK_EQ(st, DET_CORRUPT);
    CHECK_HAS(test_err.text, w.path);
    db_close(db);
    world_done(&w);
}

TEST(a_directory_that_is_not_there_is_named)
{
    struct world w;
    struct db *db = NULL;

    world_place(&w, false);
    CHECK_EQ(db_open(w.io, "/nonexistent/place/det.db", false, &db, &test_err), DET_IO);
    CHECK_HAS(test_err.text, "/nonexistent/place/det.db");
    world_done(&w);
}

TEST(running_out_of_memory_anywhere_is_an_ordinary_error)
{
    EACH_ALLOCATION_FAILS() {
        struct io *io = NULL;
        struct db *db = NULL;
        det_status st = io_memory_new(&io, NULL);

        if (!st)
            st = io_mkdir(io, "/d", true, NULL);
        if (!st)
            st = db_open(io, "/d/det.db", false, &db, NULL);
        if (!st)
            st = db_migrate(db, migration_count, NULL);
        if (!st)
            st = put(db, "a", 1, NULL);
        if (!st)
            st = db_checkpoint(db, true, NULL);
        if (fault_fired())
            CHECK(st == DET_NOMEM || st == DET_IO || st == DET_OK);
        else
            CHECK_EQ(st, DET_OK);
        db_close(db);
        io_free(io);
    }
}
