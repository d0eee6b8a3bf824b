/* SPDX-License-Identifier: Apache-2.0 */
/* fault_backup.c - backups and restores while each operation fails in turn: earlier backups
 * stay, the next one works, and a data directory is either whole or as it was. */
#include "base/clock.h"
#include "store/backup/backup.h"
#include "store/backup/restore.h"
#include "store/setting.h"
#include "tests/fault/sweep.h"
#include "tests/unit/store/world.h"

enum { RUNS = 6 };

struct scene {
    struct sweep *sweep;
    struct io *io;
    struct arena mem;
    struct clock_manual clock;
};

static void scene_init(struct scene *s, struct sweep *sweep)
{
    *s = (struct scene){.sweep = sweep, .mem = ARENA_INIT(256 << 20)};
    clock_manual_init(&s->clock, INT64_C(1000000000));
    CHECK_OK(io_memory_new(&s->io, &test_err));
    CHECK_OK(io_mkdir(s->io, "/data", true, &test_err));
    CHECK_OK(io_sync_dir(s->io, "/", &test_err));
}

static void scene_done(struct scene *s)
{
    arena_done(&s->mem);
    io_free(s->io);
}

static void put(struct scene *s, const char *path, int64_t value)
{
    struct db *db;

    CHECK_OK(db_open(s->io, path, false, &db, &test_err));
    CHECK_OK(db_migrate(db, migration_count, &test_err));
    CHECK_OK(store_text_put(db, "cluster_id", "c1", &test_err));
    CHECK_OK(store_number_put(db, "x", value, &test_err));
    db_close(db);
}

static int64_t get(struct scene *s, const char *path)
{
    int64_t value = -1;
    struct db *db;

    CHECK_OK(db_open(s->io, path, false, &db, &test_err));
    CHECK_OK(store_number_get(db, "x", -1, &value, &test_err));
    db_close(db);
    return value;
}

static det_status back_up(struct scene *s, int64_t keep, struct backup_outcome *made,
                          struct err *err)
{
    struct backup_config config = {
        .io = s->io,
        .clock = &s->clock.clock,
        .data_dir = "/data",
        .vault = "/vault",
        .version = "1",
        .keep = keep,
    };

    return backup_make(&config, &s->mem, made, err);
}

static det_status restore(struct scene *s, const char *id, const char *target,
                          struct err *err)
{
    struct restore_config config = {.io = s->io,
                                    .vault = "/vault",
                                    .target = target,
                                    .backup_id = id,
                                    .now_us = clock_wall_us(&s->clock.clock),
                                    .replaces = true};
    struct inventory found;
    struct restore_outcome done;
    det_status st;

    clock_manual_advance(&s->clock, 1000000);
    st = restore_find(&config, &s->mem, &found, err);

    return st ? st : restore_run(&config, &found, &s->mem, &done, err);
}

/* After the fault: the process that died is another one now. */
static void end(struct scene *s, det_status st, const struct err *err)
{
    bool was_dark = fault_is_dark();

    sweep_end(s->sweep);
    if (was_dark)
        io_abandon(s->io);
    else if (st)
        sweep_check_sentence(err->text);
    if (st && s->sweep->how == FAULT_FULL && s->sweep->kind == FAULT_WRITE && !was_dark)
        CHECK_EQ(st, DET_FULL);
    arena_clear(&s->mem);
}

static void tell_of_a_backup(struct sweep *sweep)
{
    struct backup_outcome first, made;
    struct err err = {0};
    struct scene s;
    det_status st;

    scene_init(&s, sweep);
    put(&s, "/data/det.db", 1);
    CHECK_OK(back_up(&s, 0, &first, &test_err));
    put(&s, "/data/det.db", 2);
    sweep_begin(sweep);
    st = back_up(&s, 0, &made, &err);
    end(&s, st, &err);

    CHECK_OK(restore(&s, first.id, "/one", &test_err));
    CHECK_EQ(get(&s, "/one/det.db"), 1);
    CHECK_OK(back_up(&s, 0, &made, &test_err));
    io_crash(s.io);
    CHECK_OK(restore(&s, NULL, "/two", &test_err));
    CHECK_EQ(get(&s, "/two/det.db"), 2);
    scene_done(&s);
}

static void tell_of_removing(struct sweep *sweep)
{
    struct backup_outcome made;
    struct err err = {0};
    struct scene s;
    det_status st;

    scene_init(&s, sweep);
    for (int64_t i = 1; i <= 3; i++) {
        put(&s, "/data/det.db", i);
        CHECK_OK(back_up(&s, 0, &made, &test_err));
    }
    put(&s, "/data/det.db", 4);
    sweep_begin(sweep);
    st = back_up(&s, 2, &made, &err);
    end(&s, st, &err);

    CHECK_OK(restore(&s, NULL, "/one", &test_err));
    CHECK(get(&s, "/one/det.db") >= 3);
    CHECK_OK(back_up(&s, 2, &made, &test_err));
    CHECK_OK(restore(&s, NULL, "/two", &test_err));
    CHECK_EQ(get(&s, "/two/det.db"), 4);
    scene_done(&s);
}

static void tell_of_a_restore(struct sweep *sweep)
{
    struct backup_outcome made;
    struct io_stat found;
    struct err err = {0};
    struct scene s;
    det_status st;

    scene_init(&s, sweep);
    put(&s, "/data/det.db", 1);
    CHECK_OK(back_up(&s, 0, &made, &test_err));
    put(&s, "/data/det.db", 2);
    sweep_begin(sweep);
    st = restore(&s, NULL, "/data", &err);
    end(&s, st, &err);

    if (!io_stat(s.io, "/data", &found, NULL)) { /* the old one or the new one */
        int64_t value = get(&s, "/data/det.db");

        CHECK(value == 1 || (st && value == 2));
    } else {
        CHECK(st);
        if (!sweep->was_dark)
            CHECK_HAS(err.text, "the old directory is now");
    }
    CHECK_OK(restore(&s, NULL, "/data", &test_err));
    CHECK_EQ(get(&s, "/data/det.db"), 1);
    scene_done(&s);
}

TEST(backups_survive_every_fault_of_the_next_one)
{
    sweep_run("backup", tell_of_a_backup, SWEEP_FILES | SWEEP_MEMORY, RUNS);
}

TEST(backups_survive_every_fault_of_removing_older_ones)
{
    sweep_run("keep", tell_of_removing, SWEEP_FILES | SWEEP_MEMORY, RUNS);
}

TEST(a_restore_is_whole_or_changes_nothing)
{
    sweep_run("restore", tell_of_a_restore, SWEEP_FILES | SWEEP_MEMORY, RUNS);
}
