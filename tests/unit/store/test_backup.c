/* SPDX-License-Identifier: Apache-2.0 */
/* test_backup.c - backups hold whole databases, also of busy ones; a restore begins a time
 * of its own. */
#include "base/clock.h"
#include "store/backup/backup.h"
#include "store/backup/restore.h"
#include "store/backup/step_back.h"
#include "store/backup/vault.h"
#include "store/engine/db_impl.h"
#include "store/setting.h"
#include "tests/unit/store/world.h"

struct place {
    struct world w;
    char vault[80];
    char target[80];
    struct backup_outcome made;
    struct restore_outcome done;
};

static void place_init(struct place *p, bool is_memory)
{
    *p = (struct place){0};
    world_init(&p->w, is_memory);
    (void)snprintf(p->vault, sizeof(p->vault), "%s-vault", p->w.dir);
    (void)snprintf(p->target, sizeof(p->target), "%s-target", p->w.dir);
    CHECK_OK(store_text_put(p->w.db, "cluster_id", "c1", &test_err));
}

static void place_done(struct place *p)
{
    if (!p->w.is_memory) {
        CHECK_OK(io_remove_tree(p->w.io, p->vault, &test_err));
        CHECK_OK(io_remove_tree(p->w.io, p->target, &test_err));
    }
    world_done(&p->w);
}

static det_status back_up(struct place *p, int64_t keep, struct err *err)
{
    struct backup_config config = {
        .io = p->w.io,
        .clock = &clock_system,
        .data_dir = p->w.dir,
        .vault = p->vault,
        .version = "1",
        .keep = keep,
        .with_checkpoints = true,
    };

    return backup_make(&config, &p->w.mem, &p->made, err);
}

static det_status restore(struct place *p, const char *id, struct err *err)
{
    struct restore_config config = {.io = p->w.io,
                                    .vault = p->vault,
                                    .target = p->target,
                                    .now_us = 1,
                                    .backup_id = id};
    struct inventory found;
    det_status st = io_remove_tree(p->w.io, p->target, err);

    if (!st)
        st = restore_find(&config, &p->w.mem, &found, err);
    return st ? st : restore_run(&config, &found, &p->w.mem, &p->done, err);
}

static struct db *open_restored(struct place *p)
{
    char path[100];
    struct db *db;

    (void)snprintf(path, sizeof(path), "%s/det.db", p->target);
    CHECK_OK(db_open(p->w.io, path, false, &db, &test_err));
    return db;
}

static int64_t number(struct db *db, const char *name)
{
    int64_t value = -1;

    CHECK_OK(store_number_get(db, name, -1, &value, &test_err));
    return value;
}

TEST_ON_BOTH(each_backup_is_complete_and_adds_what_is_new)
{
    struct place p;
    struct db *db;
    char first[INVENTORY_ID];

    place_init(&p, is_memory);
    CHECK_OK(store_number_put(p.w.db, "x", 1, &test_err));
    CHECK_OK(back_up(&p, 0, &test_err));
    memcpy(first, p.made.id, sizeof(first));
    CHECK(p.made.new_bytes > 100000);
    CHECK_OK(store_number_put(p.w.db, "x", 2, &test_err));
    CHECK_OK(back_up(&p, 0, &test_err));
    CHECK(strcmp(p.made.id, first) > 0);

    CHECK_OK(restore(&p, first, &test_err));
    db = open_restored(&p);
    CHECK_EQ(number(db, "x"), 1);
    db_close(db);
    CHECK_OK(restore(&p, NULL, &test_err));
    db = open_restored(&p);
    CHECK_EQ(number(db, "x"), 2);
    db_close(db);

    CHECK_OK(back_up(&p, 1, &test_err));
    CHECK_EQ(p.made.removed, 2);
    CHECK_EQ(restore(&p, first, &test_err), DET_NOT_FOUND);
    CHECK_OK(restore(&p, NULL, &test_err));
    place_done(&p);
}

TEST(a_backup_without_changes_adds_nothing)
{
    struct place p;

    place_init(&p, true);
    CHECK_OK(db_checkpoint(p.w.db, true, &test_err));
    CHECK_OK(back_up(&p, 0, &test_err));
    CHECK_OK(back_up(&p, 0, &test_err));
    CHECK_EQ(p.made.new_bytes, 0);
    place_done(&p);
}

TEST(sessions_runs_and_numbers_of_before_are_not_used_again)
{
    struct place p;
    struct db *db;

    place_init(&p, true);
    CHECK_OK(db_exec(p.w.db,
                     "INSERT INTO sessions (id, user_id, created_us, expires_us)"
                     " VALUES (1, 1, 1, 9);"
                     "INSERT INTO sessions (id, user_id, created_us, expires_us,"
                     " is_access_token) VALUES (2, 1, 1, 9, TRUE)",
                     &test_err));
    CHECK_OK(store_number_put(p.w.db, "next_experiment", 4999, &test_err));
    CHECK_OK(store_number_put(p.w.db, "next_trial", 500001, &test_err));
    CHECK_OK(store_number_put(p.w.db, "journal_seq", 7, &test_err));
    CHECK_OK(back_up(&p, 0, &test_err));
    CHECK_OK(restore(&p, NULL, &test_err));

    db = open_restored(&p);
    CHECK_EQ(count_of(db, "sessions WHERE NOT is_revoked"), 0);
    CHECK_EQ(count_of(db, "sessions"), 1);
    CHECK_EQ(number(db, "next_experiment"), 10000);
    CHECK_EQ(number(db, "next_trial"), 2000000);
    CHECK_EQ(number(db, "first_run"), 1000);
    CHECK_EQ(number(db, "journal_seq"), 7);
    CHECK_EQ(count_of(db, "audit WHERE action = 'restore'"), 1);
    db_close(db);
    place_done(&p);
}

TEST(what_cannot_be_restored_changes_nothing)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct place p;
    struct io_file *file;
    struct io_stat found;
    struct vault *vault;

    place_init(&p, true);
    CHECK_OK(back_up(&p, 0, &test_err));
    CHECK_OK(io_open(p.w.io, arena_printf(&mem, "%s/packs/00000001.pack", p.vault),
                     IO_WRITE, &file, &test_err));
    CHECK_OK(io_write_at(file, 5000, "damage", 6, &test_err));
    CHECK_EQ(restore(&p, NULL, &test_err), DET_CORRUPT);
    CHECK_HAS(test_err.text, "does not hold what was written");
    CHECK_EQ(io_stat(p.w.io, p.target, &found, NULL), DET_NOT_FOUND);

    /* an index that is damaged: the next backup stores its chunks again */
    CHECK_OK(io_truncate(file, 6000, &test_err));
    io_close(file);
    CHECK_EQ(restore(&p, NULL, &test_err), DET_CORRUPT);
    CHECK_OK(back_up(&p, 0, &test_err));
    CHECK_STR(p.made.damaged_pack, "00000001.pack");
    CHECK_OK(restore(&p, NULL, &test_err));

    /* a damaged inventory: nothing that it may need goes before it does */
    CHECK_OK(io_replace(p.w.io,
                        arena_printf(&mem, "%s/backups/%s.json", p.vault, p.made.id),
                        "{}", 2, true, &test_err));
    CHECK_OK(back_up(&p, 2, &test_err));
    CHECK_EQ(p.made.freed_bytes, 0);
    CHECK_OK(restore(&p, NULL, &test_err));

    CHECK_OK(vault_open(p.w.io, p.vault, true, &vault, &test_err));
    CHECK_EQ(vault_claim(vault, "c2", &test_err), DET_FORBIDDEN);
    CHECK_EQ(back_up(&p, 0, &test_err), DET_BUSY);
    vault_close(vault);
    place_done(&p);
}

static void verify(struct place *p, uint64_t good, uint64_t bad)
{
    CLEANUP(vault_closep) struct vault *vault = NULL;
    uint64_t found_good, found_bad;
    struct err why = {0};

    CHECK_OK(vault_open(p->w.io, p->vault, false, &vault, &test_err));
    CHECK_OK(backup_verify(vault, p->w.io, &found_good, &found_bad, &why, &test_err));
    CHECK_EQ(found_good, good);
    CHECK_EQ(found_bad, bad);
}

/* Else every later backup would need the wrong chunk, too. */
TEST(a_chunk_that_was_found_damaged_is_stored_again)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct place p;
    struct io_file *file;
    struct io_stat found;
    const char *pack;

    place_init(&p, true);
    pack = arena_printf(&mem, "%s/packs/00000001.pack", p.vault);
    CHECK_OK(back_up(&p, 0, &test_err));
    CHECK_OK(io_open(p.w.io, pack, IO_WRITE, &file, &test_err));
    CHECK_OK(io_write_at(file, 5000, "damage", 6, &test_err));
    io_close(file);
    CHECK_OK(back_up(&p, 0, &test_err));
    verify(&p, 0, 2);

    CHECK_OK(back_up(&p, 0, &test_err));
    CHECK_STR(p.made.damaged_pack, "00000001.pack");
    verify(&p, 3, 0);
    CHECK_OK(io_stat(p.w.io, pack, &found, &test_err));

    /* nobody needs it any more */
    CHECK_OK(back_up(&p, 1, &test_err));
    CHECK_EQ(io_stat(p.w.io, pack, &found, NULL), DET_NOT_FOUND);
    CHECK_OK(back_up(&p, 1, &test_err));
    CHECK_NULL(p.made.damaged_pack);
    verify(&p, 1, 0);
    CHECK_OK(restore(&p, NULL, &test_err));
    place_done(&p);
}

TEST(copies_before_upgrades_are_in_no_backup)
{
    static const char *const names[] = {"det.db.schema-03", "det.db.part",
                                        "master.last"};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct place p;
    struct io_stat found;

    place_init(&p, true);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK_OK(io_replace(p.w.io, arena_printf(&mem, "%s/%s", p.w.dir, names[i]), "x",
                            1, true, &test_err));
    CHECK_OK(back_up(&p, 0, &test_err));
    CHECK_OK(restore(&p, NULL, &test_err));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK_EQ(io_stat(p.w.io, arena_printf(&mem, "%s/%s", p.target, names[i]),
                         &found, NULL),
                 DET_NOT_FOUND);
    place_done(&p);
}

/* What a run saved after it was given up is kept, and nothing goes on from it. */
TEST(a_trial_does_not_step_back_to_a_late_checkpoint)
{
    struct step_back_config here = {0};
    struct place p;
    uint64_t trials = 0;

    place_init(&p, true);
    here.io = p.w.io;
    add_experiment(&p.w, 1, "{\"checkpoint_storage\":{\"host_path\":\"/cp\"}}");
    add_trial(&p.w, 1, 1);
    CHECK_OK(
        db_exec(p.w.db,
                "UPDATE trials SET latest_checkpoint = 'gone', latest_steps = 9;"
                "INSERT INTO checkpoints (uuid, trial_id, experiment_id, state,"
                "  steps_completed, size_bytes, storage_id, report_us, is_archived)"
                " VALUES ('good', 1, 1, 'COMPLETED', 3, 0, 1, 1, FALSE),"
                "  ('late', 1, 1, 'COMPLETED', 5, 0, 1, 2, TRUE)",
                &test_err));
    CHECK_OK(io_mkdir(p.w.io, "/cp/good", true, &test_err));
    CHECK_OK(io_mkdir(p.w.io, "/cp/late", true, &test_err));
    CHECK_OK(step_back(&here, p.w.db, &trials, &test_err));
    CHECK_EQ(trials, 1);
    CHECK_EQ(count_of(p.w.db, "trials WHERE latest_checkpoint = 'good'"), 1);
    place_done(&p);
}

/* ---- a busy writer --------------------------------------------------------------- */

/* A backup that keeps a pace pauses after every chunk; this clock writes then. */
struct busy_clock {
    struct clock clock; /* first */
    struct place *p;
    int64_t commits;
};

static int64_t stands_still(const struct clock *clock)
{
    (void)clock;
    return 1000000;
}

/* Every commit keeps `a` and `b` equal, and changes pages all over the file.  The log goes
 * into the file, all of it if it may, and free pages return to the file system. */
static void write_meanwhile(const struct clock *clock, int64_t us)
{
    struct busy_clock *it = (struct busy_clock *)(void *)(uintptr_t)clock;
    struct db *db = it->p->w.db;

    (void)us;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(db_begin(db, &test_err));
        CHECK_OK(store_number_put(db, "a", ++it->commits, &test_err));
        CHECK_OK(db_exec(db,
                         "UPDATE noise SET data = randomblob(20000)"
                         "  WHERE id % 20 = abs(random() % 20);"
                         "DELETE FROM noise WHERE id = abs(random() % 200);"
                         "INSERT OR REPLACE INTO noise"
                         "  VALUES (abs(random() % 200), randomblob(9000))",
                         &test_err));
        CHECK_OK(store_number_put(db, "b", it->commits, &test_err));
        CHECK_OK(db_commit(db, &test_err));
        CHECK_OK(db_checkpoint(db, false, &test_err));
    }
    (void)db_exec(db, "PRAGMA incremental_vacuum(5)", NULL);
}

static void back_up_busily(struct busy_clock *busy, bool has_log)
{
    struct place *p = busy->p;
    struct backup_config config = {
        .io = p->w.io,
        .clock = &busy->clock,
        .data_dir = p->w.dir,
        .vault = p->vault,
        .version = "1",
        .keep = 2,
        .rate = 1,
    };
    int64_t before;
    struct db *db;

    CHECK_OK(db_checkpoint(p->w.db, !has_log, &test_err));
    if (has_log)
        write_meanwhile(&busy->clock, 0);
    before = busy->commits;
    CHECK_OK(backup_make(&config, &p->w.mem, &p->made, &test_err));
    CHECK(busy->commits > before + 20);    /* it was busy */
    CHECK_OK(restore(p, NULL, &test_err)); /* which checks the database */
    db = open_restored(p);
    CHECK_EQ(number(db, "a"), number(db, "b"));
    CHECK(number(db, "a") >= before);
    db_close(db);
}

TEST_ON_BOTH(a_backup_of_a_busy_database_is_whole)
{
    struct place p;
    struct busy_clock busy = {.clock = {stands_still, stands_still, write_meanwhile},
                              .p = &p};

    place_init(&p, is_memory);
    CHECK_OK(db_exec(p.w.db,
                     "CREATE TABLE noise (id INTEGER PRIMARY KEY, data BLOB);"
                     "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
                     "  WHERE i < 200) INSERT INTO noise SELECT i, randomblob(20000)"
                     "  FROM n",
                     &test_err));
    for (int i = 0; i < (is_memory ? 4 : 2); i++)
        back_up_busily(&busy, i % 2 == 0);
    place_done(&p);
}
