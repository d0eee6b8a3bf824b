/* SPDX-License-Identifier: Apache-2.0 */
/* fault_store.c - the store alone: group commits, packing of metrics and logs, expiry
 * of logs, and the migration of an old database, while each operation fails in turn. */
#include <inttypes.h>

#include "base/thread/executor.h"
#include "store/engine/db.h"
#include "store/engine/migrate.h"
#include "store/experiment/trial.h"
#include "store/log/log_add.h"
#include "store/log/log_compact.h"
#include "store/log/log_line.h"
#include "store/log/log_read.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_compact.h"
#include "store/metric/metric_cursor.h"
#include "store/metric/metric_summary.h"
#include "store/setting.h"
#include "store/store.h"
#include "tests/fault/sweep.h"
#include "tests/unit/store/old_schema.h"
#include "tests/unit/store/world.h"

enum { ROUNDS = 5, REPORTS = 60, LINES = 40, TRIES = 20, DAY_S = 86400 };
#define SECOND INT64_C(1000000)

struct shop {
    struct sweep *sweep;
    struct io *io;
    struct clock_manual clock;
    struct executor *exec;
    struct store *store;
    bool is_dead;
    int answers;
};

/* ---- the store, started again whenever it died -------------------------------------
 */

static void on_fatal(void *arg, const char *sentence)
{
    struct shop *shop = arg;

    shop->is_dead = true;
    sweep_check_sentence(sentence);
}

static void shop_close(struct shop *shop)
{
    if (shop->exec)
        executor_free(shop->exec);
    store_close(shop->store);
    shop->exec = NULL;
    shop->store = NULL;
}

static void shop_light(struct shop *shop)
{
    if (!fault_is_dark())
        return;
    sweep_end(shop->sweep);
    io_abandon(shop->io);
}

static det_status shop_try_open(struct shop *shop, struct err *err)
{
    struct store_config config = {.io = shop->io,
                                  .directory = "/data",
                                  .readers = 2,
                                  .on_fatal = on_fatal,
                                  .arg = shop};
    det_status st = executor_single_new(&shop->clock, 1, &shop->exec, err);

    config.exec = shop->exec;
    return st ? st : store_open(&config, &shop->store, err);
}

static void shop_open(struct shop *shop)
{
    for (int i = 0; i < TRIES; i++) {
        struct err err = {0};
        det_status st;

        shop_light(shop);
        shop->is_dead = false;
        st = shop_try_open(shop, &err);
        if (!st)
            return;
        if (!sweep_has_struck(shop->sweep))
            fail_msg("the store does not open: %s", err.text);
        sweep_check_sentence(err.text);
        if (shop->sweep->how == FAULT_FULL && shop->sweep->kind == FAULT_WRITE &&
            !fault_is_dark())
            CHECK_EQ(st, DET_FULL);
        shop_close(shop);
    }
    fail_msg("the store never opens again");
}

static void shop_revive(struct shop *shop)
{
    if (shop->store && !shop->is_dead && !fault_is_dark())
        return;
    shop_close(shop);
    shop_open(shop);
}

static void shop_init(struct shop *shop, struct sweep *sweep)
{
    *shop = (struct shop){.sweep = sweep};
    clock_manual_init(&shop->clock, 1000 * DAY_S * SECOND);
    CHECK_OK(io_memory_new(&shop->io, &test_err));
    CHECK_OK(io_mkdir(shop->io, "/data", true, &test_err));
    CHECK_OK(io_sync_dir(shop->io, "/", &test_err));
}

static void shop_done(struct shop *shop)
{
    shop_close(shop);
    io_free(shop->io);
}

/* ---- jobs ---------------------------------------------------------------------------
 */

struct deed;
typedef det_status deed_fn(struct deed *deed, struct db *db, struct err *err);

struct deed {
    struct write_job job;
    struct shop *shop;
    deed_fn *run;
    int64_t number;
    int answers;
    bool did;
    bool is_refused; /* it fails and is rolled back alone */
};

static det_status run_deed(struct write_job *job, struct db *db, struct err *err)
{
    struct deed *deed = CONTAINER_OF(job, struct deed, job);

    return deed->run(deed, db, err);
}

static void deed_done(struct write_job *job)
{
    CONTAINER_OF(job, struct deed, job)->answers++;
}

static void check_failure(struct shop *shop, const struct deed *deed)
{
    if (!sweep_has_struck(shop->sweep))
        fail_msg("%s", deed->job.err.text);
    sweep_check_sentence(deed->job.err.text);
    if (shop->sweep->kind == FAULT_MEMORY)
        CHECK_EQ(deed->job.status, DET_NOMEM);
    else if (shop->sweep->kind == FAULT_WRITE && shop->sweep->how == FAULT_FULL)
        CHECK_EQ(deed->job.status, DET_FULL);
    else
        CHECK_EQ(deed->job.status, DET_IO);
}

/* Whether the group was answered with success.  Each job is answered once in any
 * case. */
static bool try_group(struct shop *shop, struct deed *deed, int count)
{
    bool is_done = true;

    shop_revive(shop);
    for (int i = 0; i < count; i++) {
        deed[i].job = (struct write_job){.run = run_deed, .done = deed_done};
        deed[i].shop = shop;
        deed[i].answers = 0;
        store_write(shop->store, &deed[i].job);
    }
    while (executor_pump(shop->exec))
        continue;
    for (int i = 0; i < count; i++) {
        CHECK_EQ(deed[i].answers, 1);
        if (deed[i].is_refused && deed[i].job.status == DET_STATE)
            continue;
        if (deed[i].job.status && !fault_is_dark())
            check_failure(shop, &deed[i]);
        is_done = is_done && !deed[i].job.status;
    }
    return is_done && !fault_is_dark();
}

static void do_group(struct shop *shop, struct deed *deed, int count)
{
    for (int i = 0; i < TRIES; i++)
        if (try_group(shop, deed, count))
            return;
    fail_msg("it never succeeds");
}

static bool do_one(struct shop *shop, deed_fn *run, int64_t number)
{
    struct deed deed = {.run = run, .number = number};

    do_group(shop, &deed, 1);
    return deed.did;
}

static det_status add_trial_row(struct deed *deed, struct db *db, struct err *err)
{
    struct trial row = a_trial(1, 1);

    (void)deed;
    return store_trial_add(db, &row, err);
}

static det_status put_number(struct deed *deed, struct db *db, struct err *err)
{
    char name[32];

    (void)snprintf(name, sizeof(name), "n%" PRId64, deed->number);
    return store_number_put(db, name, deed->number, err);
}

static det_status add_report(struct deed *deed, struct db *db, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct json *avg = json_new(&mem, JSON_OBJECT);
    struct metric_report report = {.trial_id = 1,
                                   .run_id = 1,
                                   .group =
                                       deed->number % 5 ? "training" : "validation",
                                   .has_steps = true,
                                   .steps = deed->number,
                                   .report_us = deed->number,
                                   .avg = avg};
    bool is_new;

    json_set(&mem, avg, "loss", json_new_i64(&mem, deed->number * 7));
    if (deed->number % 3 == 0)
        json_set(&mem, avg, "word", json_new_str(&mem, "text"));
    if (mem.has_failed)
        return err_default(err, DET_NOMEM);
    return store_metric_add(db, &report, &mem, &is_new, err);
}

/* One line per day; half of them are old. */
static det_status add_line(struct deed *deed, struct db *db, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    char text[32];
    struct log_line line = {.time_us = (900 + deed->number * 4) * DAY_S * SECOND,
                            .rank = 0,
                            .text = text,
                            .agent = "a"};
    struct log_batch batch = {.task_id = "1.r",
                              .line = &line,
                              .count = 1,
                              .sender = "s",
                              .live = &line,
                              .offset = deed->number * 10,
                              .end_offset = deed->number * 10 + 10};
    uint32_t stored;

    line.len = (uint32_t)snprintf(text, sizeof(text), "line %" PRId64, deed->number);
    return store_log_add(db, &batch, &mem, &stored, err);
}

static det_status write_and_refuse(struct deed *deed, struct db *db, struct err *err)
{
    det_status st = put_number(deed, db, err);

    return st ? st : err_set(err, DET_STATE, "it is not wanted");
}

/* ---- what is there ------------------------------------------------------------------
 */

static struct db *reader(struct shop *shop)
{
    struct db *db;

    CHECK_OK(store_reader_take(shop->store, &db, &test_err));
    return db;
}

static void print_reports(struct shop *shop, struct buf *out)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    struct metric_query query = {.trial_id = 1};
    struct metric_row *rows;
    struct db *db = reader(shop);
    uint32_t count;

    CHECK_OK(store_metric_read(db, &query, &mem, &rows, &count, &test_err));
    for (uint32_t i = 0; i < count; i++)
        buf_printf(out, "%s %" PRId64 " %s\n", rows[i].group, rows[i].steps,
                   rows[i].avg);
    CHECK_OK(store_metric_summary(db, 1, out, &test_err));
    store_reader_give(shop->store, db);
}

static void print_lines(struct shop *shop, struct buf *out)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    struct log_query query = {.task_id = "1.r", .limit = 10000};
    struct log_page page;
    struct db *db = reader(shop);

    CHECK_OK(store_log_read(db, &query, &mem, &page, &test_err));
    for (uint32_t i = 0; i < page.count; i++)
        buf_printf(out, "%" PRId64 " %.*s\n", page.line[i].id, (int)page.line[i].len,
                   page.line[i].text);
    store_reader_give(shop->store, db);
}

/* Undamaged, says SQLite. */
static void check_whole(struct shop *shop)
{
    struct db *db = reader(shop);
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct db_query q = db_query_text(db, "PRAGMA integrity_check", &test_err);

    CHECK(db_next(&q));
    CHECK_STR(db_col_str(&q, &mem), "ok");
    db_query_done(&q);
    store_reader_give(shop->store, db);
}

/* Again with a power loss: answered rows are durable. */
static void lose_power(struct shop *shop)
{
    io_crash(shop->io);
    shop->is_dead = true;
    shop_revive(shop);
}

/* ---- stories ------------------------------------------------------------------------
 */

static void tell_of_groups(struct sweep *sweep)
{
    CLEANUP(buf_done) struct buf reports = BUF_INIT;
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    CLEANUP(buf_done) struct buf expected = BUF_INIT;
    struct shop shop;
    struct db *db;

    shop_init(&shop, sweep);
    shop_open(&shop);
    do_one(&shop, add_trial_row, 1);
    sweep_begin(sweep);
    for (int64_t i = 0; i < ROUNDS; i++) {
        struct deed group[] = {
            {.run = put_number, .number = i},
            {.run = add_report, .number = i},
            {.run = write_and_refuse, .number = 100 + i, .is_refused = true},
            {.run = add_line, .number = i},
        };

        do_group(&shop, group, ARRAY_LEN(group));
    }
    sweep_end(sweep);
    lose_power(&shop);
    check_whole(&shop);
    print_lines(&shop, &lines);
    for (int64_t i = 0; i < ROUNDS; i++)
        buf_printf(&expected, "%" PRId64 " line %" PRId64 "\n", i + 1, i);
    CHECK_STR(lines.data, expected.data);
    db = reader(&shop);
    CHECK_EQ(count_of(db, "numbers WHERE name LIKE 'n%'"), ROUNDS);
    store_reader_give(shop.store, db);
    print_reports(&shop, &reports);
    for (int64_t i = 0; i < ROUNDS; i++) {
        char part[32];

        (void)snprintf(part, sizeof(part), "\"loss\":%" PRId64, i * 7);
        CHECK_HAS(reports.data, part);
    }
    shop_done(&shop);
}

/* One job of a group fails: only it is rolled back, also without memory. */
static void tell_of_a_refusal(struct sweep *sweep)
{
    struct deed group[] = {
        {.run = put_number, .number = 1},
        {.run = write_and_refuse, .number = 2, .is_refused = true},
        {.run = put_number, .number = 3},
    };
    struct shop shop;
    struct db *db;

    shop_init(&shop, sweep);
    shop_open(&shop);
    do_one(&shop, put_number, 0);
    sweep_begin(sweep);
    do_group(&shop, group, ARRAY_LEN(group));
    sweep_end(sweep);
    db = reader(&shop);
    CHECK_EQ(count_of(db, "numbers WHERE name = 'n2'"), 0);
    CHECK_EQ(count_of(db, "numbers WHERE name LIKE 'n%'"), 3);
    store_reader_give(shop.store, db);
    shop_done(&shop);
}

static det_status pack_metrics(struct deed *deed, struct db *db, struct err *err)
{
    return store_metric_compact(db, true, &deed->did, err);
}

static det_status pack_logs(struct deed *deed, struct db *db, struct err *err)
{
    return store_log_compact(db, &deed->did, err);
}

static det_status expire_logs(struct deed *deed, struct db *db, struct err *err)
{
    int64_t removed = 0;
    det_status st = store_log_expire(db, 1000 * DAY_S * SECOND, 30, &removed, err);

    deed->did = removed > 0;
    return st;
}

/* Packing does not change what is read; expiry removes old lines and no others. */
static void tell_of_packing(struct sweep *sweep)
{
    CLEANUP(buf_done) struct buf before = BUF_INIT;
    CLEANUP(buf_done) struct buf after = BUF_INIT;
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    struct shop shop;

    shop_init(&shop, sweep);
    shop_open(&shop);
    do_one(&shop, add_trial_row, 1);
    for (int64_t i = 0; i < REPORTS; i++)
        do_one(&shop, add_report, i);
    for (int64_t i = 0; i < LINES; i++)
        do_one(&shop, add_line, i);
    print_reports(&shop, &before);
    sweep_begin(sweep);
    while (do_one(&shop, expire_logs, 0))
        continue;
    while (do_one(&shop, pack_metrics, 0))
        continue;
    while (do_one(&shop, pack_logs, 0))
        continue;
    shop_close(&shop); /* moves the log into the file */
    shop_revive(&shop);
    sweep_end(sweep);
    lose_power(&shop);
    check_whole(&shop);
    print_reports(&shop, &after);
    CHECK_STR(after.data, before.data);
    print_lines(&shop, &lines);
    CHECK_HAS(lines.data, "40 line 39\n");
    CHECK_HAS(lines.data,
              "line 19\n"); /* of day 976; the oldest kept line is of day 970 */
    CHECK(!strstr(lines.data, "line 17\n"));
    shop_done(&shop);
}

/* The copy for the earlier program is whole or not there; the fault may have been that
 * it found no room. */
static void check_copy(struct shop *shop)
{
    struct io_stat found;
    struct db *db;

    if (io_stat(shop->io, "/data/det.db.schema-01", &found, NULL))
        return;
    CHECK_OK(db_open(shop->io, "/data/det.db.schema-01", false, &db, &test_err));
    CHECK_EQ(count_of(db, "texts WHERE value = 'v'"), 1);
    CHECK_EQ(count_of(db, "schema_versions"), 1);
    db_close(db);
}

static void tell_of_a_migration(struct sweep *sweep)
{
    struct shop shop;
    struct db *db;

    shop_init(&shop, sweep);
    CHECK_OK(db_open(shop.io, "/data/det.db", false, &db, &test_err));
    CHECK_OK(db_exec(db, old_schema_1, &test_err));
    CHECK_OK(
        db_exec(db, "INSERT INTO texts (name, value) VALUES ('k', 'v')", &test_err));
    db_close(db);
    CHECK_OK(io_sync_dir(shop.io, "/data", &test_err));
    sweep_begin(sweep);
    shop_open(&shop);
    do_one(&shop, put_number, 1);
    sweep_end(sweep);
    lose_power(&shop);
    check_whole(&shop);
    db = reader(&shop);
    CHECK_EQ(count_of(db, "texts WHERE value = 'v'"), 1);
    CHECK_EQ(count_of(db, "numbers WHERE name = 'n1'"), 1);
    CHECK_EQ(count_of(db, "schema_versions"), migration_count);
    store_reader_give(shop.store, db);
    check_copy(&shop);
    shop_done(&shop);
}

TEST(groups_are_committed_whole_or_not_at_all)
{
    sweep_run("groups", tell_of_groups, SWEEP_FILES | SWEEP_MEMORY, 60);
}

TEST(a_refused_job_is_taken_back_whatever_fails)
{
    sweep_run("refusal", tell_of_a_refusal, SWEEP_FILES | SWEEP_MEMORY, INT64_MAX);
}

TEST(packing_and_expiry_lose_nothing)
{
    sweep_run("packing", tell_of_packing, SWEEP_FILES | SWEEP_MEMORY, 25);
}

TEST(a_migration_that_is_cut_off_is_done_again)
{
    sweep_run("migration", tell_of_a_migration, SWEEP_FILES | SWEEP_MEMORY, 30);
}
