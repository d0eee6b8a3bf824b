/* SPDX-License-Identifier: Apache-2.0 */
/* test_roster.c - the table of experiments in memory: it finds the same rows as the
 * database, and follows all writes. */
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "base/thread/executor.h"
#include "store/engine/db.h"
#include "store/experiment/experiment.h"
#include "store/experiment/experiment_edit.h"
#include "store/roster/roster.h"
#include "store/roster/roster_find.h"
#include "store/roster/roster_group.h"
#include "store/roster/roster_query.h"
#include "store/roster/roster_view.h"
#include "store/store.h"
#include "tests/unit/store/world.h"

struct shop {
    struct world w;
    struct clock_manual clock;
    struct executor *exec;
    struct store *store;
};

static void shop_init(struct shop *shop)
{
    struct store_config config = {.directory = shop->w.dir, .readers = 1};

    *shop = (struct shop){0};
    world_place(&shop->w, true);
    clock_manual_init(&shop->clock, 0);
    CHECK_OK(executor_single_new(&shop->clock, 1, &shop->exec, &test_err));
    config.io = shop->w.io;
    config.exec = shop->exec;
    CHECK_OK(store_open(&config, &shop->store, &test_err));
}

static void shop_done(struct shop *shop)
{
    executor_free(shop->exec);
    store_close(shop->store);
    world_done(&shop->w);
}

/* ---- writing --------------------------------------------------------------------- */

struct sql_job {
    struct write_job job;
    const char *text;
    det_status fails; /* after it wrote */
};

static det_status run_sql(struct write_job *job, struct db *db, struct err *err)
{
    struct sql_job *sql = CONTAINER_OF(job, struct sql_job, job);
    det_status st = db_exec(db, sql->text, err);

    return !st && sql->fails ? err_set(err, sql->fails, "it fails") : st;
}

static void sql_done(struct write_job *job)
{
    (void)job;
}

static det_status try_write(struct shop *shop, const char *text, det_status fails)
{
    struct sql_job sql = {
        .job = {.run = run_sql, .done = sql_done}, .text = text, .fails = fails};

    store_write(shop->store, &sql.job);
    while (executor_pump(shop->exec))
        continue;
    return sql.job.status;
}

static void write_sql(struct shop *shop, const char *text)
{
    CHECK_EQ(try_write(shop, text, DET_OK), DET_OK);
}

static void add(struct shop *shop, int64_t id, const char *more, const char *values)
{
    char text[1024];

    (void)snprintf(
        text, sizeof(text),
        "INSERT INTO experiments (id, state, owner_id, project_id, parent_id,"
        " priority, weight, max_slots, submitted_us, start_us, end_us,"
        " progress, trials, search_seq, snapshot_seq, searcher_type,"
        " resource_pool%s) VALUES (%" PRId64
        ", 'COMPLETED', 1, 1, 0, 42, 1, -1, 0, 1000000, 2000000, 1, 1, 0, 0,"
        " 'single', 'default'%s)",
        more, id, values);
    write_sql(shop, text);
}

/* ---- asking ---------------------------------------------------------------------- */

static det_status try_find(struct shop *shop, const struct roster_query *query,
                           struct arena *mem, struct roster_page *page)
{
    struct db *db;
    det_status st = store_reader_take(shop->store, &db, &test_err);

    if (st)
        return st;
    st = store_roster_find(shop->store, db, query, mem, page, &test_err);
    store_reader_give(shop->store, db);
    return st;
}

/* "3 2 1": the ids, in order. */
static const char *found(struct shop *shop, struct roster_query query)
{
    struct roster_page page = {0};
    const char *text = "";

    if (!query.limit)
        query.limit = -1;
    CHECK_OK(try_find(shop, &query, &shop->w.mem, &page));
    for (size_t i = 0; i < page.count; i++)
        text =
            arena_printf(&shop->w.mem, "%s%s%" PRId64, text, i ? " " : "", page.ids[i]);
    return text;
}

#define FIND(...) found(&shop, (struct roster_query){__VA_ARGS__})
#define THESE(...)                                                                     \
    {                                                                                  \
        .at = (const char *[]){__VA_ARGS__},                                           \
        .count = sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)                \
    }

static const char *by_sql(struct shop *shop, const char *order)
{
    char text[512];
    struct db *db;
    struct db_query q;
    const char *ids = "";

    (void)snprintf(text, sizeof(text),
                   "SELECT e.id FROM experiments e LEFT JOIN users u ON u.id ="
                   " e.owner_id ORDER BY %s",
                   order);
    CHECK_OK(store_reader_take(shop->store, &db, &test_err));
    q = db_query_text(db, text, &test_err);
    for (int i = 0; db_next(&q); i++)
        ids = arena_printf(&shop->w.mem, "%s%s%" PRId64, ids, i ? " " : "",
                           db_col_i64(&q));
    CHECK_EQ(q.status, DET_OK);
    db_query_done(&q);
    store_reader_give(shop->store, db);
    return ids;
}

/* ---- orders ---------------------------------------------------------------------- */

static void add_many(struct shop *shop, int count)
{
    struct rng rng;

    rng_seed(&rng, 7);
    for (int i = 1; i <= count; i++) {
        char values[256];
        uint32_t chance = rng_u32(&rng);

        (void)snprintf(values, sizeof(values), ", 'Name %u', %u, '[]'", chance % 50,
                       chance % 9);
        add(shop, i, ", name, checkpoint_size, labels", values);
        (void)snprintf(values, sizeof(values),
                       "UPDATE experiments SET start_us = %u, end_us = %u, progress ="
                       " %u / 10.0, trials = %u, priority = %u, checkpoint_count = %u,"
                       " owner_id = %u WHERE id = %d",
                       1 + chance % 91, chance % 3 ? 1000 + chance % 77 : 0,
                       chance % 11, chance % 13, chance % 99, chance % 5,
                       1 + chance % 2, i);
        write_sql(shop, values);
    }
}

TEST(every_order_is_that_of_the_database_and_pages_meet)
{
    static const struct {
        enum roster_sort sort;
        const char *key;
    } orders[] = {{ROSTER_BY_ID, "e.id"},
                  {ROSTER_BY_NAME, "LOWER(e.name)"},
                  {ROSTER_BY_STATE, "e.state"},
                  {ROSTER_BY_OWNER, "u.username"},
                  {ROSTER_BY_START, "e.start_us"},
                  {ROSTER_BY_PROGRESS, "e.progress"},
                  {ROSTER_BY_TRIALS, "e.trials"},
                  {ROSTER_BY_SEARCHER, "e.searcher_type"},
                  {ROSTER_BY_POOL, "e.resource_pool"},
                  {ROSTER_BY_CHECKPOINT_SIZE, "e.checkpoint_size"},
                  {ROSTER_BY_CHECKPOINTS, "e.checkpoint_count"},
                  {ROSTER_BY_PRIORITY, "e.priority"},
                  {ROSTER_BY_END, "CASE WHEN e.end_us = 0 THEN NULL ELSE e.end_us END"},
                  {ROSTER_BY_DURATION,
                   "CASE WHEN e.end_us = 0 THEN 5000 ELSE e.end_us END - e.start_us"}};
    struct shop shop;

    shop_init(&shop);
    write_sql(&shop, "INSERT INTO users (id, username, password, display_name, "
                     "is_admin, is_active, is_remote, modified_us, last_auth_us) "
                     "VALUES (1, 'zoe', NULL, '', 0, 1, 0, 0, 0),"
                     " (2, 'adam', NULL, '', 0, 1, 0, 0, 0)");
    add_many(&shop, 120);
    for (size_t i = 0; i < ARRAY_LEN(orders) * 2; i++) {
        bool down = i % 2;
        const char *key = orders[i / 2].key, *all, *pages = "";
        const char *direction = down ? "DESC" : "ASC";

        all = by_sql(&shop, arena_printf(&shop.w.mem, "%s %s NULLS LAST, e.id %s", key,
                                         direction, direction));
        CHECK_STR(
            FIND(.sort = orders[i / 2].sort, .is_descending = down, .now_us = 5000),
            all);
        for (int64_t at = 0; at < 120; at += 7) {
            const char *page = FIND(.sort = orders[i / 2].sort, .is_descending = down,
                                    .offset = at, .limit = 7, .now_us = 5000);

            pages = arena_printf(&shop.w.mem, "%s%s%s", pages, at ? " " : "", page);
        }
        CHECK_STR(pages, all);
    }
    CHECK_STR(FIND(.offset = -2), "119 120");
    CHECK_STR(FIND(.offset = 500, .limit = 3), "");
    CHECK_STR(FIND(.offset = -500, .limit = 2), "1 2");
    shop_done(&shop);
}

TEST(what_has_no_best_metric_comes_last_either_way)
{
    struct shop shop;

    shop_init(&shop);
    for (int64_t id = 1; id <= 4; id++)
        add(&shop, id, "", "");
    write_sql(&shop,
              "INSERT INTO trials (id, experiment_id, number, state, seed, restarts,"
              " run_id, start_us, end_us, latest_steps, is_stopped_by_searcher,"
              " has_invalid_hparams, is_retry_cancelled, progress, best_metric,"
              " best_rank) VALUES"
              " (1, 2, 0, 'COMPLETED', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -0.5, -0.5),"
              " (2, 4, 0, 'COMPLETED', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3.5, 3.5),"
              " (3, 4, 1, 'COMPLETED', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.5, 1.5)");
    CHECK_STR(FIND(.sort = ROSTER_BY_BEST_METRIC), "2 4 1 3");
    CHECK_STR(FIND(.sort = ROSTER_BY_BEST_METRIC, .is_descending = true), "4 2 3 1");
    write_sql(&shop, "UPDATE trials SET best_metric = -7, best_rank = -7 WHERE id = 2");
    CHECK_STR(FIND(.sort = ROSTER_BY_BEST_METRIC), "4 2 1 3");
    shop_done(&shop);
}

/* ---- filters --------------------------------------------------------------------- */

TEST(a_text_is_found_in_id_name_description_and_labels_alike)
{
    struct shop shop;
    char *description = mem_array(9001, 1);

    shop_init(&shop);
    memset(description, 'x', 8990);
    memcpy(description + 8990, "the NEEDLE", 10);
    add(&shop, 1, ", name, description, labels",
        ", 'Mnist', 'plain', '[\"first\",\"Second one\"]'");
    add(&shop, 12, ", name", ", '<b>bold</b> & ÄPFEL Ωmega ЖУК'");
    add(&shop, 3, ", name", ", ''");
    write_sql(&shop, arena_printf(&shop.w.mem,
                                  "UPDATE experiments SET description = '%s' WHERE id"
                                  " = 3",
                                  description));
    mem_free(description);
    CHECK_STR(FIND(.search = "MNI"), "1");
    CHECK_STR(FIND(.search = "lai"), "1");
    CHECK_STR(FIND(.search = "second ONE"), "1");
    CHECK_STR(FIND(.search = "1"), "1 12");
    CHECK_STR(FIND(.search = "12"), "12");
    CHECK_STR(FIND(.search = "<B>"), "12");
    CHECK_STR(FIND(.search = "äpfel ωMEGA жУк"), "12");
    CHECK_STR(FIND(.search = "needle"), "3");
    CHECK_STR(FIND(.search = "%"), "");
    CHECK_STR(FIND(.search = ""), "1 3 12");
    CHECK_STR(FIND(.labels = THESE("first")), "1");
    CHECK_STR(FIND(.labels = THESE("Second one", "first")), "1");
    CHECK_STR(FIND(.labels = THESE("second one")), "");
    CHECK_STR(FIND(.labels = THESE("firs")), "");
    shop_done(&shop);
}

static void add_states(struct shop *shop)
{
    add(shop, 1, "", "");
    add(shop, 2, "", "");
    add(shop, 3, "", "");
    add(shop, 4, ", is_archived", ", TRUE");
    write_sql(shop, "UPDATE experiments SET state = 'ACTIVE' WHERE id < 3;"
                    "UPDATE experiments SET state = 'PAUSED', resource_pool = 'gpu',"
                    " searcher_type = 'random', owner_id = 2 WHERE id = 3;"
                    "INSERT INTO users (id, username, password, display_name, "
                    "is_admin, is_active, is_remote, modified_us, last_auth_us) VALUES "
                    "(1, 'zoe', NULL, '', 0, 1, 0, 0, 0),"
                    " (2, 'adam', NULL, '', 0, 1, 0, 0, 0)");
}

TEST(filters_hold_together_and_states_are_counted_beside_them)
{
    struct shop shop;
    struct roster_query query = {.states = 1U << EXPERIMENT_PAUSED,
                                 .archived = ROSTER_NOT_ARCHIVED,
                                 .limit = 10,
                                 .with_values = true};
    struct roster_page page = {0};

    shop_init(&shop);
    add_states(&shop);
    CHECK_STR(FIND(.archived = ROSTER_ARCHIVED), "4");
    CHECK_STR(FIND(.archived = ROSTER_NOT_ARCHIVED), "1 2 3");
    CHECK_STR(FIND(.states = 1U << EXPERIMENT_ACTIVE), "1 2");
    CHECK_STR(FIND(.states = 1U << ROSTER_QUEUED), "1 2");
    CHECK_STR(FIND(.states = 1U << ROSTER_RUNNING), "");
    CHECK_STR(FIND(.users = THESE("adam", "nobody")), "3");
    CHECK_STR(FIND(.users = THESE("nobody")), "");
    CHECK_STR(FIND(.pools = THESE("gpu", "default")), "1 2 3 4");
    CHECK_STR(FIND(.searchers = THESE("random"), .pools = THESE("default")), "");
    CHECK_OK(try_find(&shop, &query, &shop.w.mem, &page));
    CHECK_EQ(page.total, 1);
    CHECK_EQ(page.all, 4);
    CHECK_EQ(page.states[ROSTER_QUEUED], 2);
    CHECK_EQ(page.states[EXPERIMENT_PAUSED], 1);
    CHECK_EQ(page.states[EXPERIMENT_COMPLETED], 0);
    CHECK_EQ(page.users.count, 2);
    CHECK_STR(page.users.at[0].name, "adam");
    CHECK_EQ(page.users.at[1].count, 3);
    CHECK_EQ(page.pools.count, 2);
    CHECK_EQ(page.labels.count, 0);
    write_sql(&shop, "UPDATE experiments SET labels = '[\"b\",\"a\"]' WHERE id < 3;"
                     "UPDATE experiments SET labels = '[\"b\"]' WHERE id = 3");
    CHECK_OK(try_find(&shop, &query, &shop.w.mem, &page));
    CHECK_EQ(page.labels.count, 2);
    CHECK_STR(page.labels.at[1].name, "b");
    CHECK_EQ(page.labels.at[1].count, 3);
    shop_done(&shop);
}

/* ---- following ------------------------------------------------------------------- */

TEST(what_is_written_is_found_and_what_is_taken_back_is_not)
{
    struct shop shop;

    shop_init(&shop);
    add_states(&shop);
    CHECK_STR(FIND(.sort = ROSTER_BY_NAME), "1 2 3 4");
    add(&shop, 5, ", name", ", 'zeta'");
    write_sql(&shop, "UPDATE experiments SET name = 'alpha' WHERE id = 3");
    CHECK_STR(FIND(.sort = ROSTER_BY_NAME, .is_descending = true), "5 3 4 2 1");
    write_sql(&shop, "UPDATE experiments SET name = 'zzz' WHERE id = 3");
    CHECK_STR(FIND(.sort = ROSTER_BY_NAME, .is_descending = true), "3 5 4 2 1");
    write_sql(&shop, "DELETE FROM experiments WHERE id = 3 OR id = 1");
    CHECK_STR(FIND(.sort = ROSTER_BY_NAME, .is_descending = true), "5 4 2");
    add(&shop, 6, ", name", ", 'aaa'");
    CHECK_STR(FIND(.sort = ROSTER_BY_NAME), "2 4 6 5");

    CHECK_EQ(try_write(&shop, "UPDATE experiments SET name = 'other'", DET_STATE),
             DET_STATE);
    CHECK_STR(FIND(.search = "other"), "");
    write_sql(&shop, "UPDATE users SET username = 'eva' WHERE id = 1");
    CHECK_STR(FIND(.users = THESE("zoe")), "");
    CHECK_STR(FIND(.users = THESE("eva")), "2 4 5 6");
    shop_done(&shop);
}

TEST(an_allocation_that_runs_moves_its_experiment)
{
    struct shop shop;

    shop_init(&shop);
    add_states(&shop);
    CHECK_STR(FIND(.states = 1U << ROSTER_RUNNING), "");
    write_sql(&shop,
              "INSERT INTO allocations (id, trial_id, experiment_id, run_id, state,"
              " slots, request_us, start_us, end_us, is_ready, is_preempted,"
              " is_acknowledged, is_killed, preempt_deadline_us, exit, exit_code,"
              " shares, port_ssh, port_comm_1, port_comm_2, port_c10d) VALUES"
              " (9, 1, 2, 1, 'RUNNING', 1, 0, 0, 0, 0, 0, 0, 0, 0, '', 0, 1, 0, 0, 0,"
              " 0)");
    CHECK_STR(FIND(.states = 1U << ROSTER_RUNNING), "2");
    CHECK_STR(FIND(.states = 1U << EXPERIMENT_ACTIVE), "1 2");
    write_sql(&shop, "UPDATE allocations SET state = 'TERMINATED' WHERE id = 9");
    CHECK_STR(FIND(.states = 1U << ROSTER_RUNNING), "");
    shop_done(&shop);
}

TEST(more_changes_than_are_kept_are_found_too)
{
    struct shop shop;

    shop_init(&shop);
    add(&shop, 1, "", "");
    CHECK_STR(FIND(0), "1");
    write_sql(&shop,
              "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i"
              " < 21000) INSERT INTO experiments (id, state, owner_id, project_id,"
              " parent_id, priority, weight, max_slots, submitted_us, start_us, end_us,"
              " progress, trials, search_seq, snapshot_seq, name)"
              " SELECT i, 'ERROR', 1, 1, 0, 42, 1, 0, 0, 0, 0, 0, 0, 0, 0, 'n' || i"
              " FROM n");
    CHECK_STR(FIND(.search = "n2099"), "2099 20990 20991 20992 20993 20994 20995 20996 "
                                       "20997 20998 20999");
    write_sql(&shop, "DELETE FROM experiments WHERE id > 100");
    CHECK_STR(FIND(.search = "n2099"), "");
    CHECK_STR(FIND(.limit = 2, .is_descending = true), "100 99");
    shop_done(&shop);
}

/* ---- without memory -------------------------------------------------------------- */

TEST(without_memory_nothing_is_found_wrongly)
{
    struct roster_query query = {.search = "a",
                                 .sort = ROSTER_BY_NAME,
                                 .labels = THESE("a"),
                                 .users = THESE("zoe"),
                                 .limit = -1,
                                 .with_values = true};
    struct shop shop;
    bool is_over = false;

    shop_init(&shop);
    add_states(&shop);
    write_sql(&shop, "UPDATE experiments SET labels = '[\"a\"]'");
    for (int64_t nth = 1; !is_over; nth++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        struct roster_page page = {0};
        det_status st;

        /* unchanged, with changes, and filled anew */
        if (nth % 3)
            write_sql(&shop, "UPDATE experiments SET name = 'ab' || name || 'x'");
        if (nth % 3 == 1)
            store_roster(shop.store)->is_all_changed = true;
        fault_arm(FAULT_MEMORY, nth / 3 + 1);
        st = try_find(&shop, &query, &mem, &page);
        is_over = !fault_disarm(FAULT_MEMORY) && nth % 3 == 1;
        CHECK(!st || st == DET_NOMEM);
        CHECK(st || page.total == 3);
        CHECK_OK(try_find(&shop, &query, &shop.w.mem, &page));
        CHECK_EQ(page.total, 3);
    }
    shop_done(&shop);
}

TEST(a_change_that_no_memory_was_left_to_note_is_found)
{
    struct shop shop;
    bool is_over = false;

    shop_init(&shop);
    add_states(&shop);
    for (int64_t nth = 1; !is_over; nth++) {
        const char *name = arena_printf(&shop.w.mem, "n%" PRId64 ".", nth);
        const char *text =
            arena_printf(&shop.w.mem, "UPDATE experiments SET name = '%s'", name);
        det_status st;

        vec_done(&store_roster(shop.store)->noted);
        CHECK_STR(FIND(.search = name), "");
        fault_arm(FAULT_MEMORY, nth);
        st = try_write(&shop, text, DET_OK);
        is_over = !fault_disarm(FAULT_MEMORY);
        CHECK_STR(FIND(.search = name), st ? "" : "1 2 3 4");
    }
    shop_done(&shop);
}

/* ---- hyperparameters and metrics ------------------------------------------------- */

/* A trial of experiment `id`; `rank` NULL: it has no best validation. */
static void add_best_trial(struct shop *shop, int64_t trial, int64_t id,
                           const char *hparams, const char *rank,
                           const char *validation)
{
    char text[8192];

    (void)snprintf(
        text, sizeof(text),
        "INSERT INTO trials (id, experiment_id, number, state, seed, hparams,"
        " restarts, run_id, start_us, end_us, latest_steps,"
        " is_stopped_by_searcher, has_invalid_hparams, is_retry_cancelled,"
        " progress, best_metric, best_rank, best_validation) VALUES (%" PRId64
        ", %" PRId64 ", 0, 'COMPLETED', 0, '%s', 0, 1, 0, 0, 0, FALSE, FALSE,"
        " FALSE, 1, %s, %s, %s)",
        trial, id, hparams, rank ? rank : "NULL", rank ? rank : "NULL", validation);
    write_sql(shop, text);
}

static void add_some_trials(struct shop *shop)
{
    for (int64_t id = 1; id <= 4; id++)
        add(shop, id, "", "");
    add_best_trial(shop, 1, 1, "{\"lr\":0.5,\"opt\":\"sgd\"}", "2", "'{\"loss\":2}'");
    add_best_trial(shop, 2, 1, "{\"lr\":0.1,\"opt\":\"ad\\u0061m\"}", "1",
                   "'{\"loss\":1,\"parts\":{\"a\":1}}'");
    add_best_trial(shop, 3, 2, "{\"lr\":0.2,\"net\":{\"depth\":3,\"sizes\":[1,2]}}",
                   "3", "'{\"loss\":\"NaN\"}'");
    add_best_trial(shop, 4, 3, "{\"lr\":\"auto\",\"flag\":true,\"no\":null}", NULL,
                   "NULL");
}

/* The ids that match a query, by id; or the error. */
static const char *match(struct shop *shop, const char *text)
{
    struct table_query query;
    struct roster_query question = {.filter = &query, .limit = -1};
    struct roster_page page = {0};
    const char *ids = "";

    CHECK_OK(table_query_parse(text, &shop->w.mem, &query, &test_err));
    if (try_find(shop, &question, &shop->w.mem, &page))
        return test_err.text;
    for (size_t i = 0; i < page.count; i++)
        ids =
            arena_printf(&shop->w.mem, "%s%s%" PRId64, ids, i ? " " : "", page.ids[i]);
    return ids;
}

TEST(an_experiment_has_the_values_of_its_best_trial)
{
    struct shop shop;

    shop_init(&shop);
    add_some_trials(&shop);

    CHECK_STR(match(&shop, "hp.lr = 0.1 and opt:adam and loss = 1"), "1");
    CHECK_STR(match(&shop, "lr = 0.5 or loss = 2"), "");
    CHECK_STR(match(&shop, "hp.net.depth > 2 and hp.net.sizes = '[1,2]'"), "2");
    CHECK_STR(match(&shop, "loss = nan"), "2");
    CHECK_STR(match(&shop, "lr:auto and flag = true"), "3");
    CHECK_STR(match(&shop, "lr = none"), "4");
    CHECK(strstr(match(&shop, "no = 1"), "there is no such column") != NULL);
    CHECK(strstr(match(&shop, "validation.parts.a = 1"), "no such column") != NULL);
    shop_done(&shop);
}

TEST(a_changed_trial_changes_the_cells)
{
    struct shop shop;

    shop_init(&shop);
    add_some_trials(&shop);
    CHECK_STR(match(&shop, "loss < 3"), "1");
    write_sql(&shop, "UPDATE trials SET best_validation = '{\"loss\":0.5,\"f1\":1}',"
                     " best_rank = 0.5 WHERE id = 1");
    CHECK_STR(match(&shop, "f1 = 1 and lr = 0.5 and opt = sgd"), "1");
    write_sql(&shop, "DELETE FROM experiments WHERE id = 1");
    CHECK(strstr(match(&shop, "f1 = 1"), "there is no such column") != NULL);
    shop_done(&shop);
}

TEST(cells_are_an_order_with_missing_values_last)
{
    struct shop shop;

    shop_init(&shop);
    add_some_trials(&shop);
    CHECK_STR(FIND(.sort_column = "hp.lr"), "1 2 3 4");
    CHECK_STR(FIND(.sort_column = "lr", .is_descending = true), "3 2 1 4");
    CHECK_STR(FIND(.sort_column = "validation.loss"), "1 2 3 4");
    CHECK_STR(FIND(.sort_column = "validation.loss", .is_descending = true), "1 4 3 2");
    CHECK_STR(FIND(.sort_column = "id", .is_descending = true), "4 3 2 1");
    shop_done(&shop);
}

TEST(broken_texts_give_no_cells_and_no_failure)
{
    struct shop shop;

    shop_init(&shop);
    add(&shop, 1, "", "");
    add(&shop, 2, "", "");
    add_best_trial(&shop, 1, 1, "{\"lr\":0.5,\"opt", "2", "'[]'");
    add_best_trial(&shop, 2, 2, "", "2", "'{\"loss\":'");
    CHECK_STR(match(&shop, "lr = 0.5"), "1");
    CHECK_STR(match(&shop, "id > 0"), "1 2");
    shop_done(&shop);
}

TEST(columns_of_other_projects_are_not_there)
{
    int64_t none = 77;
    struct field_i64s projects = {&none, 1};
    struct roster_column_list list = {0};
    struct shop shop;
    struct db *db;

    shop_init(&shop);
    add_some_trials(&shop);
    CHECK_OK(store_reader_take(shop.store, &db, &test_err));
    CHECK_OK(
        store_roster_columns(shop.store, db, &projects, &shop.w.mem, &list, &test_err));
    CHECK_EQ(list.count, ROSTER_FIXED);
    CHECK_OK(store_roster_columns(shop.store, db, NULL, &shop.w.mem, &list, &test_err));
    CHECK_EQ(list.count, ROSTER_FIXED + 6);
    CHECK_STR(list.at[ROSTER_FIXED].name, "hp.flag");
    CHECK_EQ(list.at[ROSTER_FIXED].kind, QUERY_TEXT);
    CHECK_STR(list.at[ROSTER_FIXED + 1].name, "hp.lr");
    CHECK_EQ(list.at[ROSTER_FIXED + 1].kind, QUERY_ANY);
    CHECK_EQ(list.at[ROSTER_FIXED + 1].count, 3);
    store_reader_give(shop.store, db);
    shop_done(&shop);
}

TEST(too_many_groups_are_refused)
{
    const char *by[] = {"id"};
    struct roster_grouping grouping = {.by = {by, 1}, .sort = "count"};
    struct roster_query query = {.limit = 3, .offset = 9999};
    struct roster_groups groups = {0};
    struct shop shop;
    struct db *db;

    shop_init(&shop);
    write_sql(
        &shop,
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE"
        " i < 10000) INSERT INTO experiments (id, state, owner_id, project_id,"
        " parent_id, priority, weight, max_slots, submitted_us, start_us, end_us,"
        " progress, trials, search_seq, snapshot_seq) SELECT i, 'COMPLETED', 1, 1,"
        " 0, 42, 1, -1, 0, 0, 0, 1, 1, 0, 0 FROM n");
    CHECK_OK(store_reader_take(shop.store, &db, &test_err));
    CHECK_OK(store_roster_groups(shop.store, db, &query, &grouping, &shop.w.mem,
                                 &groups, &test_err));
    CHECK_EQ(groups.total, 10000);
    CHECK_EQ(groups.count, 1);
    store_reader_give(shop.store, db);
    add(&shop, 10001, "", "");
    CHECK_OK(store_reader_take(shop.store, &db, &test_err));
    CHECK_EQ(store_roster_groups(shop.store, db, &query, &grouping, &shop.w.mem,
                                 &groups, &test_err),
             DET_INVALID);
    CHECK(strstr(test_err.text, "more than 10000 groups") != NULL);
    store_reader_give(shop.store, db);
    shop_done(&shop);
}

TEST(a_row_that_is_shown_is_small)
{
    struct roster_view view;
    struct experiment_standing standing;
    struct shop shop;
    struct db *db;
    bool is_there = false;

    shop_init(&shop);
    add(&shop, 7, ", name, description, notes, labels",
        ", 'seven', printf('%.400c', 'd'), 'abc', '[\"l\"]'");
    CHECK_OK(store_reader_take(shop.store, &db, &test_err));
    CHECK_OK(store_roster_view(db, 7, &shop.w.mem, &view, &is_there, &test_err));
    CHECK(is_there);
    CHECK_STR(view.name, "seven");
    CHECK_EQ(strlen(view.description), ROSTER_DESCRIPTION);
    CHECK_EQ(view.description_length, 400);
    CHECK_EQ(view.notes_length, 3);
    CHECK_STR(view.labels, "[\"l\"]");
    CHECK_EQ(view.state, EXPERIMENT_COMPLETED);
    CHECK(!view.has_best_metric);
    CHECK_OK(store_roster_view(db, 8, &shop.w.mem, &view, &is_there, &test_err));
    CHECK(!is_there);
    CHECK_OK(store_experiment_standing(db, 7, &standing, &test_err));
    CHECK_EQ(standing.state, EXPERIMENT_COMPLETED);
    CHECK_EQ(store_experiment_standing(db, 8, &standing, &test_err), DET_NOT_FOUND);
    store_reader_give(shop.store, db);
    shop_done(&shop);
}

TEST(a_label_is_added_or_it_is_said_that_it_is_not)
{
    struct world w;
    bool is_over = false;

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    for (int64_t nth = 1; !is_over; nth++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        const char *label = arena_printf(&w.mem, "l%" PRId64, nth);
        const char *labels = "";
        struct experiment_view view;
        det_status st;

        fault_arm(FAULT_MEMORY, nth);
        st = store_experiment_relabel(w.db, 1, label, "a", &mem, &labels, &test_err);
        is_over = !fault_disarm(FAULT_MEMORY);
        CHECK_EQ(st, is_over ? DET_OK : DET_NOMEM);
        CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &view, &test_err));
        CHECK(!strstr(view.labels, label) == !is_over);
        CHECK(strstr(view.labels, "\"b\"") != NULL);
    }
    world_done(&w);
}
