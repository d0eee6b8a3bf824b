/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c - the group commit: its answers, and which rows survive. */
#include <fcntl.h>
#include <sys/wait.h>

#include "base/thread/executor.h"
#include "base/thread/lock.h"
#include "store/setting.h"
#include "store/store.h"
#include "tests/unit/store/world.h"

enum { JOBS = 8 };

/* A store on an executor of one thread, so the order is fixed. */
struct shop {
    struct world w;
    struct clock_manual clock;
    struct executor *exec;
    struct store *store;
    int fatal;
    char sentence[256];
    int answered[64]; /* jobs in the order of their answers */
    int answers;
};

struct put_job {
    struct write_job job;
    struct shop *shop;
    int number;
    int runs;
    bool is_done;
    det_status fails; /* with this, after it wrote */
};

static void on_fatal(void *arg, const char *sentence)
{
    struct shop *shop = arg;

    shop->fatal++;
    (void)snprintf(shop->sentence, sizeof(shop->sentence), "%s", sentence);
}

static void shop_open(struct shop *shop)
{
    struct store_config config = {.io = shop->w.io,
                                  .directory = shop->w.dir,
                                  .readers = 2,
                                  .on_fatal = on_fatal,
                                  .arg = shop};

    clock_manual_init(&shop->clock, 0);
    CHECK_OK(executor_single_new(&shop->clock, 1, &shop->exec, &test_err));
    config.exec = shop->exec;
    CHECK_OK(store_open(&config, &shop->store, &test_err));
    shop->answers = 0;
}

static void shop_init(struct shop *shop, bool is_memory)
{
    *shop = (struct shop){0};
    world_place(&shop->w, is_memory);
    shop_open(shop);
}

static void shop_close(struct shop *shop)
{
    executor_free(shop->exec);
    store_close(shop->store);
    shop->store = NULL;
}

static void shop_done(struct shop *shop)
{
    shop_close(shop);
    world_done(&shop->w);
}

static det_status put_number(struct db *db, int number, struct err *err)
{
    char name[32];

    (void)snprintf(name, sizeof(name), "n%03d", number);
    return store_number_put(db, name, number, err);
}

static det_status run_put(struct write_job *job, struct db *db, struct err *err)
{
    struct put_job *put = CONTAINER_OF(job, struct put_job, job);
    det_status st = put_number(db, put->number, err);

    put->runs++;
    if (!st && put->fails)
        return err_set(err, put->fails, "job %d fails", put->number);
    return st;
}

static void put_done(struct write_job *job)
{
    struct put_job *put = CONTAINER_OF(job, struct put_job, job);

    CHECK(!put->is_done);
    put->is_done = true;
    put->shop->answered[put->shop->answers++ % 64] = put->number;
}

static void send(struct shop *shop, struct put_job *put, int number)
{
    put->job.run = run_put;
    put->job.done = put_done;
    put->shop = shop;
    put->number = number;
    put->is_done = false;
    store_write(shop->store, &put->job);
}

static void pump(struct shop *shop)
{
    while (executor_pump(shop->exec))
        continue;
}

static int64_t rows(struct shop *shop)
{
    struct db *db;
    int64_t count;

    CHECK_OK(store_reader_take(shop->store, &db, &test_err));
    count = count_of(db, "numbers");
    store_reader_give(shop->store, db);
    return count;
}

TEST_ON_BOTH(a_group_is_committed_together_and_answered_in_order)
{
    struct shop shop;
    struct put_job job[JOBS] = {0};

    shop_init(&shop, is_memory);
    for (int i = 0; i < JOBS; i++)
        send(&shop, &job[i], i);
    CHECK_EQ(shop.answers, 0);
    pump(&shop);
    CHECK_EQ(shop.answers, JOBS);
    for (int i = 0; i < JOBS; i++) {
        CHECK_EQ(job[i].job.status, DET_OK);
        CHECK_EQ(shop.answered[i], i);
        CHECK_EQ(job[i].runs, 1);
    }
    CHECK_EQ(rows(&shop), JOBS);
    shop_close(&shop);
    shop_open(&shop);
    CHECK_EQ(rows(&shop), JOBS);
    shop_done(&shop);
}

TEST(a_job_that_fails_is_undone_alone)
{
    struct shop shop;
    struct put_job job[3] = {0};

    shop_init(&shop, true);
    job[1].fails = DET_NOT_FOUND;
    for (int i = 0; i < 3; i++)
        send(&shop, &job[i], i);
    pump(&shop);
    CHECK_EQ(job[0].job.status, DET_OK);
    CHECK_EQ(job[1].job.status, DET_NOT_FOUND);
    CHECK_STR(job[1].job.err.text, "job 1 fails");
    CHECK_EQ(job[2].job.status, DET_OK);
    CHECK_EQ(rows(&shop), 2);
    CHECK_EQ(shop.fatal, 0);
    shop_done(&shop);
}

/* done() sends the next job, as a busy sender does. */
static void send_again(struct write_job *job)
{
    struct put_job *put = CONTAINER_OF(job, struct put_job, job);

    put_done(job);
    if (put->number < 50) {
        put->number++;
        put->is_done = false;
        store_write(put->shop->store, &put->job);
    }
}

TEST(a_job_may_be_sent_again_from_its_answer)
{
    struct shop shop;
    struct put_job job = {0};

    shop_init(&shop, true);
    job.job.run = run_put;
    job.job.done = send_again;
    job.shop = &shop;
    store_write(shop.store, &job.job);
    pump(&shop);
    CHECK_EQ(rows(&shop), 51);
    shop_done(&shop);
}

/* ---- failures
 * --------------------------------------------------------------------------- */

TEST(each_query_of_a_group_may_fail_and_everybody_is_answered)
{
    for (int nth = 1;; nth++) {
        struct shop shop;
        struct put_job job[3] = {0};
        int64_t stored = 0;

        shop_init(&shop, true);
        for (int i = 0; i < 3; i++)
            send(&shop, &job[i], i);
        fault_arm(FAULT_QUERY, nth);
        pump(&shop);
        if (!fault_disarm(FAULT_QUERY)) {
            shop_done(&shop);
            break;
        }
        CHECK_EQ(shop.answers, 3);
        for (int i = 0; i < 3; i++)
            stored += job[i].job.status == DET_OK;
        CHECK_EQ(rows(&shop), stored);
        CHECK(stored < 3);
        send(&shop, &job[0], 7); /* the store goes on */
        pump(&shop);
        CHECK_EQ(job[0].job.status, DET_OK);
        shop_done(&shop);
    }
}

/* After a power loss, all rows that were answered with success are there; others may be
 * there or not.  `kind` strikes at every write or sync of two groups. */
static void sweep(enum fault_kind kind)
{
    int strikes = 0;

    for (int nth = 1;; nth++) {
        struct shop shop;
        struct put_job job[6] = {0};
        bool fired;

        shop_init(&shop, true);
        fault_arm(kind, nth);
        for (int i = 0; i < 3; i++)
            send(&shop, &job[i], i);
        pump(&shop);
        for (int i = 3; i < 6; i++)
            send(&shop, &job[i], i);
        pump(&shop);
        fired = fault_disarm(kind);
        strikes += fired;
        CHECK_EQ(shop.answers, 6);
        if (kind == FAULT_SYNC && fired)
            CHECK(shop.fatal > 0 && *shop.sentence);
        io_crash(shop.w.io);
        shop_close(&shop);
        shop_open(&shop);
        for (int i = 0; i < 6; i++) {
            char what[64];

            (void)snprintf(what, sizeof(what), "numbers WHERE name = 'n%03d'", i);
            if (job[i].job.status == DET_OK) {
                struct db *db;

                CHECK_OK(store_reader_take(shop.store, &db, &test_err));
                CHECK_EQ(count_of(db, what), 1);
                store_reader_give(shop.store, db);
            }
        }
        shop_done(&shop);
        if (!fired)
            break;
    }
    CHECK(strikes > 0);
}

TEST(what_was_answered_survives_failed_writes_and_the_loss_of_power)
{
    sweep(FAULT_WRITE);
}

TEST(a_failed_sync_is_fatal_and_nothing_answered_is_lost)
{
    sweep(FAULT_SYNC);
}

TEST(after_a_failed_sync_nothing_is_written)
{
    struct shop shop;
    struct put_job job[2] = {0};

    shop_init(&shop, true);
    send(&shop, &job[0], 0);
    pump(&shop);
    fault_arm(FAULT_SYNC, 1);
    send(&shop, &job[1], 1);
    pump(&shop);
    CHECK(fault_disarm(FAULT_SYNC));
    CHECK_EQ(job[1].job.status, DET_IO);
    CHECK(store_is_dead(shop.store));
    CHECK_EQ(shop.fatal, 1);
    send(&shop, &job[0], 2);
    pump(&shop);
    CHECK_EQ(job[0].job.status, DET_IO);
    CHECK_HAS(job[0].job.err.text, "stopped");
    shop_done(&shop);
}

/* A long history: groups, crashes, checkpoints of the log in between. */
TEST(acknowledged_rows_survive_random_crashes)
{
    struct shop shop;
    struct rng64 rng = {.state = 11};
    int64_t acknowledged = 0;
    int next = 0;

    shop_init(&shop, true);
    for (int round = 0; round < 60; round++) {
        static struct put_job job[64];
        int count = 1 + (int)rng64_below(&rng, 60);
        bool has_power = rng64_below(&rng, 4) > 0;

        memset(job, 0, sizeof(job));
        for (int i = 0; i < count; i++)
            send(&shop, &job[i], next++);
        if (has_power)
            pump(&shop);
        for (int i = 0; i < count; i++)
            acknowledged += job[i].is_done && job[i].job.status == DET_OK;
        if (!has_power || !rng64_below(&rng, 3)) {
            io_crash(shop.w.io);
            shop_close(&shop);
            shop_open(&shop);
        }
        CHECK_EQ(rows(&shop), acknowledged);
    }
    CHECK(acknowledged > 500);
    shop_done(&shop);
}

static det_status run_big(struct write_job *job, struct db *db, struct err *err)
{
    struct put_job *put = CONTAINER_OF(job, struct put_job, job);
    static char text[40001];
    char name[32];

    memset(text, 'x', sizeof(text) - 1);
    (void)snprintf(name, sizeof(name), "big%d", put->number);
    return store_text_put(db, name, text, err);
}

TEST(a_full_disk_fails_each_job_and_work_goes_on_when_there_is_space)
{
    struct shop shop;
    struct put_job job[3] = {0};
    int full = 0;

    shop_init(&shop, true);
    io_memory_limit(shop.w.io, 600000);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 3; i++) {
            job[i] = (struct put_job){.job = {.run = run_big, .done = put_done},
                                      .shop = &shop,
                                      .number = round * 3 + i};
            store_write(shop.store, &job[i].job);
        }
        pump(&shop);
        for (int i = 0; i < 3; i++) {
            CHECK(job[i].job.status == DET_OK || job[i].job.status == DET_FULL);
            full += job[i].job.status == DET_FULL;
        }
    }
    CHECK(full > 30);
    CHECK_EQ(shop.fatal, 0);
    io_memory_limit(shop.w.io, 0);
    send(&shop, &job[0], 1);
    pump(&shop);
    CHECK_EQ(job[0].job.status, DET_OK);
    shop_done(&shop);
}

/* ---- readers, opening
 * ------------------------------------------------------------------- */

TEST(more_readers_than_are_kept_may_be_taken)
{
    struct shop shop;
    struct db *db[5];

    shop_init(&shop, true);
    for (int i = 0; i < 5; i++)
        CHECK_OK(store_reader_take(shop.store, &db[i], &test_err));
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(count_of(db[i], "numbers"), 0);
        store_reader_give(shop.store, db[i]);
    }
    shop_done(&shop);
}

TEST(an_idle_reader_is_taken_and_none_is_opened_for_it)
{
    struct shop shop;
    struct db *first, *again;

    shop_init(&shop, true);
    CHECK(!store_reader_take_idle(shop.store)); /* none was ever opened */
    CHECK_OK(store_reader_take(shop.store, &first, &test_err));
    CHECK(!store_reader_take_idle(shop.store)); /* it is in use */
    store_reader_give(shop.store, first);
    again = store_reader_take_idle(shop.store);
    CHECK(again == first);
    store_reader_give(shop.store, again);
    shop_close(&shop);
    world_done(&shop.w);
}

TEST_ON_BOTH(a_store_that_cannot_be_opened_says_why)
{
    struct world w;
    struct clock_manual clock;
    struct executor *exec;
    struct store *store = NULL;
    struct store_config config = {.readers = 1};
    char junk[5000];

    world_place(&w, is_memory);
    memset(junk, 7, sizeof(junk));
    CHECK_OK(io_replace(w.io, w.path, junk, sizeof(junk), true, &test_err));
    clock_manual_init(&clock, 0);
    CHECK_OK(executor_single_new(&clock, 1, &exec, &test_err));
    config.io = w.io;
    config.exec = exec;
    config.directory = w.dir;
    CHECK_EQ(store_open(&config, &store, &test_err), DET_CORRUPT);
    CHECK_HAS(test_err.text, w.path);
    CHECK_OK(io_remove(w.io, w.path, &test_err));
    CHECK_OK(store_open(&config, &store, &test_err));
    executor_free(exec);
    store_close(store);
    world_done(&w);
}

TEST(an_older_schema_needs_room)
{
    struct world w;
    struct clock_manual clock;
    struct executor *exec;
    struct store *store = NULL;
    struct store_config config = {.readers = 1};

    world_place(&w, true);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    CHECK_OK(db_migrate(w.db, 3, &test_err));
    db_close(w.db);
    w.db = NULL;
    clock_manual_init(&clock, 0);
    CHECK_OK(executor_single_new(&clock, 1, &exec, &test_err));
    config.io = w.io;
    config.exec = exec;
    config.directory = w.dir;
    io_memory_limit(w.io, 1);
    CHECK_EQ(store_open(&config, &store, &test_err), DET_FULL);
    CHECK_HAS(test_err.text, "cannot be upgraded; make room on the disk");
    io_memory_limit(w.io, 0);
    CHECK_OK(store_open(&config, &store, &test_err));
    executor_free(exec);
    store_close(store);
    world_done(&w);
}

/* A database that is gone keeps nothing: no job may be answered as if it did. */
TEST(a_database_that_was_removed_acknowledges_nothing)
{
    struct shop shop;

    shop_init(&shop, false);
    CHECK_OK(io_remove(shop.w.io, shop.w.path, &test_err));
    store_look_at_disk(shop.store);
    CHECK_EQ(shop.fatal, 1);
    CHECK_HAS(shop.sentence, "was removed or replaced");
    CHECK(store_is_dead(shop.store));
    shop_done(&shop);
}

/* A link to a database elsewhere: the log is beside the database, not beside the link. */
TEST(a_database_behind_a_link_is_written)
{
    struct shop shop = {0};
    struct put_job put = {0};
    char real[100];

    world_place(&shop.w, false);
    (void)snprintf(real, sizeof(real), "%s/elsewhere.db", shop.w.dir);
    CHECK_EQ(symlink(real, shop.w.path), 0);
    shop_open(&shop);
    send(&shop, &put, 1);
    pump(&shop);
    CHECK(put.is_done);
    CHECK_OK(put.job.status);
    CHECK_EQ(shop.fatal, 0);
    shop_done(&shop);
}

/* In another process, because locks of one's own are never in one's way. */
static bool is_locked_for_others(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = 0x40000002, /* SQLite's shared lock */
                         .l_len = 510};
    int status = 0;
    pid_t child = fork();

    if (!child) {
        int fd = open(path, O_RDWR | O_CLOEXEC);

        _exit(fd < 0 || fcntl(fd, F_GETLK, &lock) ? 2 : lock.l_type == F_UNLCK);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return !status;
}

static void expect_note(bool is_warning, const char *sentence)
{
    CHECK(!is_warning);
    CHECK_HAS(sentence, "det.db.schema-03' is a copy for the earlier program");
}

/* Without SQLite's lock another process would take the log away as it closes. */
TEST(the_copy_before_an_upgrade_leaves_the_lock)
{
    struct shop shop = {0};
    struct put_job put = {0};
    struct db *copy;
    char path[100];
    struct store_config config = {.readers = 1, .on_note = expect_note};

    world_place(&shop.w, false);
    CHECK_OK(db_open(shop.w.io, shop.w.path, false, &shop.w.db, &test_err));
    CHECK_OK(db_migrate(shop.w.db, 3, &test_err));
    db_close(shop.w.db);
    shop.w.db = NULL;
    clock_manual_init(&shop.clock, 0);
    CHECK_OK(executor_single_new(&shop.clock, 1, &shop.exec, &test_err));
    config.io = shop.w.io;
    config.exec = shop.exec;
    config.directory = shop.w.dir;
    CHECK_OK(store_open(&config, &shop.store, &test_err));
    CHECK(is_locked_for_others(shop.w.path));
    send(&shop, &put, 1);
    pump(&shop);
    CHECK_OK(put.job.status);
    (void)snprintf(path, sizeof(path), "%s/det.db.schema-03", shop.w.dir);
    CHECK_OK(db_open(shop.w.io, path, false, &copy, &test_err));
    CHECK_OK(db_check(copy, &test_err));
    CHECK_EQ(count_of(copy, "schema_versions"), 3);
    db_close(copy);
    shop_done(&shop);
}

TEST(opening_and_writing_survive_each_failing_allocation)
{
    EACH_ALLOCATION_FAILS() {
        struct shop shop = {0};
        struct put_job job = {.job = {.run = run_put, .done = put_done}, .shop = &shop};
        struct store_config config = {.directory = "/data", .readers = 2};
        int64_t nth = fault_state.left[FAULT_MEMORY];
        det_status st;

        fault_disarm(FAULT_MEMORY);
        world_place(&shop.w, true);
        clock_manual_init(&shop.clock, 0);
        CHECK_OK(executor_single_new(&shop.clock, 1, &shop.exec, &test_err));
        config.io = shop.w.io;
        config.exec = shop.exec;
        fault_arm(FAULT_MEMORY, nth);
        st = store_open(&config, &shop.store, NULL);
        if (!st) {
            store_write(shop.store, &job.job);
            pump(&shop);
            st = job.job.status;
            CHECK_EQ(shop.answers, 1);
        }
        if (fault_fired())
            CHECK(st == DET_NOMEM || st == DET_OK || st == DET_IO);
        else
            CHECK_EQ(st, DET_OK);
        fault_state.left[FAULT_MEMORY] = 0;
        shop_done(&shop);
    }
}

/* ---- threads
 * ---------------------------------------------------------------------------- */

enum { SENDERS = 16, EACH = 50 };

struct sender {
    struct put_job put;
    struct store *store;
    struct gate *gate;
    int left;
    int *alive;
    struct lock *lock;
};

static void sender_done(struct write_job *job)
{
    struct put_job *put = CONTAINER_OF(job, struct put_job, job);
    struct sender *sender = CONTAINER_OF(put, struct sender, put);
    int alive = 1;

    if (job->status == DET_OK && --sender->left) {
        put->number += SENDERS;
        store_write(sender->store, job);
        return;
    }
    lock_take(sender->lock);
    alive = --*sender->alive;
    lock_give(sender->lock);
    if (!alive)
        gate_open(sender->gate);
}

TEST_ON_BOTH(many_senders_on_threads_are_all_answered)
{
    struct world w;
    struct executor *exec;
    struct store *store;
    struct store_config config = {.readers = 2};
    struct sender sender[SENDERS] = {0};
    struct gate *gate;
    struct lock lock;
    struct db *db;
    int alive = SENDERS;

    world_place(&w, is_memory);
    CHECK_OK(executor_threads_new(&clock_system, &exec, &test_err));
    CHECK_OK(gate_new(exec, &gate, &test_err));
    CHECK_OK(lock_init(&lock, &test_err));
    config.io = w.io;
    config.exec = exec;
    config.directory = w.dir;
    CHECK_OK(store_open(&config, &store, &test_err));
    for (int i = 0; i < SENDERS; i++) {
        sender[i] = (struct sender){
            .put = {.job = {.run = run_put, .done = sender_done}, .number = i},
            .store = store,
            .gate = gate,
            .left = EACH,
            .alive = &alive,
            .lock = &lock};
        store_write(store, &sender[i].put.job);
    }
    CHECK_OK(store_reader_take(store, &db, &test_err));
    for (int i = 0; i < 50; i++)
        CHECK(count_of(db, "numbers") >= 0);
    CHECK(gate_wait(gate, 0));
    CHECK_EQ(count_of(db, "numbers"), SENDERS * EACH);
    store_reader_give(store, db);
    gate_free(gate);
    executor_free(exec);
    store_close(store);
    lock_done(&lock);
    world_done(&w);
}
