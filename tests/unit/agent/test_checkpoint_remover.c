/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/checkpoint_remover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "model/field.h"
#include "tests/support/test.h"

#define UUID  "11111111-1111-4111-8111-111111111111"
#define OTHER "22222222-2222-4222-8222-222222222222"

struct place {
    struct arena mem;
    char dir[64];
    const char *storage;
};

static void task_dir_make(struct place *p)
{
    *p = (struct place){.mem = ARENA_INIT(16 << 20)};
    (void)snprintf(p->dir, sizeof(p->dir), "/tmp/det-cleaner-XXXXXX");
    CHECK(mkdtemp(p->dir) != NULL);
    p->storage = arena_printf(&p->mem, "%s/storage", p->dir);
    CHECK_OK(io_mkdir(io_system(), p->storage, false, &test_err));
}

static void task_dir_done(struct place *p)
{
    CHECK_OK(io_remove_tree(io_system(), p->dir, &test_err));
    arena_done(&p->mem);
}

static const char *at(struct place *p, const char *name)
{
    return arena_printf(&p->mem, "%s/%s", p->storage, name);
}

static void fill(struct place *p, const char *name)
{
    const char *sub = arena_printf(&p->mem, "%s/sub", at(p, name));

    CHECK_OK(io_mkdir(io_system(), sub, false, &test_err));
    CHECK_OK(io_replace(io_system(), arena_printf(&p->mem, "%s/model.bin", sub), "abc",
                        3, false, &test_err));
}

static bool is_there(struct place *p, const char *name)
{
    struct io_stat stat;

    return !io_stat(io_system(), at(p, name), &stat, NULL);
}

static det_status remove_it(struct place *p, const char *uuid)
{
    return remover_remove(io_system(), p->storage, uuid, &p->mem, &test_err);
}

TEST(a_checkpoint_goes_and_its_neighbours_stay)
{
    struct place p;

    task_dir_make(&p);
    fill(&p, UUID);
    fill(&p, OTHER);
    CHECK_OK(remove_it(&p, UUID));
    CHECK(!is_there(&p, UUID));
    CHECK(!is_there(&p, ".det-trash-" UUID));
    CHECK(is_there(&p, OTHER "/sub/model.bin"));
    CHECK_OK(remove_it(&p, UUID)); /* again is fine */
    task_dir_done(&p);
}

/* The master forgets what it was told is gone. */
TEST(what_was_removed_does_not_come_back_with_the_power)
{
    static const char *const names[] = {"/s/" UUID, "/s/.det-abc-3-1-" OTHER};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const struct remover_run run = {3, 1};
    const struct remover_sweep sweep = {"/s", "abc", &run, 1};
    struct io_stat stat;
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CHECK_OK(io_mkdir(io, names[i], false, &test_err));
        CHECK_OK(io_replace(io, arena_printf(&mem, "%s/model.bin", names[i]), "abc", 3,
                            false, &test_err));
    }
    CHECK_OK(io_sync_dir(io, "/s", &test_err));
    CHECK_OK(io_sync_dir(io, "/", &test_err));

    CHECK_OK(remover_remove(io, "/s", UUID, &mem, &test_err));
    CHECK_OK(remover_sweep(io, &sweep, &mem, &test_err));
    io_crash(io);

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK_EQ(io_stat(io, names[i], &stat, NULL), DET_NOT_FOUND);
    CHECK_EQ(io_stat(io, "/s/.det-trash-" UUID, &stat, NULL), DET_NOT_FOUND);
    CHECK_OK(io_stat(io, "/s", &stat, &test_err));
    io_free(io);
}

TEST(what_an_earlier_try_left_goes_too)
{
    struct place p;

    task_dir_make(&p);
    fill(&p, ".det-trash-" UUID);
    CHECK_OK(remove_it(&p, UUID));
    CHECK(!is_there(&p, ".det-trash-" UUID));
    fill(&p, ".det-trash-" UUID);
    fill(&p, UUID);
    CHECK_OK(remove_it(&p, UUID));
    CHECK(!is_there(&p, ".det-trash-" UUID));
    CHECK(!is_there(&p, UUID));
    task_dir_done(&p);
}

TEST(nothing_but_a_uuid_in_a_directory_is_removed)
{
    static const char *const names[] = {"",  ".",          "..",        "../storage",
                                        "x", (UUID "/.."), ("../" UUID)};
    struct place p;

    task_dir_make(&p);
    fill(&p, UUID);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        CHECK_EQ(remove_it(&p, names[i]), DET_INVALID);
    CHECK_EQ(remover_remove(io_system(), "storage", UUID, &p.mem, &test_err),
             DET_INVALID);
    CHECK_EQ(remover_remove(io_system(), NULL, UUID, &p.mem, &test_err), DET_INVALID);
    CHECK_EQ(remover_remove(io_system(), "/nowhere/at/all", UUID, &p.mem, &test_err),
             DET_NOT_FOUND);
    CHECK_HAS(test_err.text, "does not exist on this machine");
    CHECK(is_there(&p, UUID "/sub/model.bin"));
    task_dir_done(&p);
}

TEST(links_are_neither_followed_nor_taken_for_checkpoints)
{
    const char *outside;
    struct io_stat stat;
    struct place p;

    task_dir_make(&p);
    outside = arena_printf(&p.mem, "%s/precious", p.dir);
    CHECK_OK(io_mkdir(io_system(), outside, false, &test_err));
    CHECK_EQ(symlink(outside, at(&p, UUID)), 0);
    CHECK_EQ(remove_it(&p, UUID), DET_INVALID);
    CHECK_HAS(test_err.text, "is a link");
    CHECK(is_there(&p, UUID));
    fill(&p, OTHER);
    CHECK_EQ(symlink(outside, at(&p, OTHER "/link")),
             0); /* inside: only the link goes */
    CHECK_OK(remove_it(&p, OTHER));
    CHECK_OK(io_stat(io_system(), outside, &stat, &test_err));
    task_dir_done(&p);
}

TEST(what_may_not_be_removed_is_said_and_vanishes_when_it_may)
{
    enum { NOBODY = 65534 };
    const bool is_root = geteuid() == 0; /* to whom nothing is forbidden */
    struct place p;

    if (is_root)
        CHECK_EQ(seteuid(NOBODY), 0);
    task_dir_make(&p);
    fill(&p, UUID);
    CHECK_EQ(chmod(at(&p, UUID "/sub"), 0), 0);
    CHECK(remove_it(&p, UUID) != DET_OK);
    CHECK_HAS(test_err.text, "ermission");
    CHECK(!is_there(&p, UUID));
    CHECK_EQ(chmod(at(&p, ".det-trash-" UUID "/sub"), 0700), 0);
    CHECK_OK(remove_it(&p, UUID));
    task_dir_done(&p);
    if (is_root)
        CHECK_EQ(seteuid(0), 0);
}

/* As the master asks; `user` is "0" or the number of one. */
static det_status obey(struct place *p, const struct field_strs *roots,
                       const char *below, const char *user)
{
    const struct checkpoint_remover remover = {.io = io_system(), .roots = roots};
    const char *text =
        arena_printf(&p->mem,
                     "{\"uuid\":\"" UUID "\",\"directory\":\"%s/%s\",\"root\":\"%s\","
                     "\"below\":\"%s\",\"user\":{\"uid\":%s,\"gid\":%s}}",
                     p->dir, below, p->dir, below, user, user);
    struct json *item;

    CHECK_OK(json_parse(text, strlen(text), &p->mem, &item, &test_err));
    return remover_obey(&remover, item, &test_err);
}

TEST(storage_that_became_a_link_is_not_followed)
{
    struct place p;

    task_dir_make(&p);
    fill(&p, UUID);
    CHECK(symlink(p.storage, arena_printf(&p.mem, "%s/link", p.dir)) == 0);

    CHECK_EQ(obey(&p, NULL, "link", "0"), DET_INVALID);
    CHECK_HAS(test_err.text, "leads through a symlink");
    CHECK(is_there(&p, UUID));
    CHECK_OK(obey(&p, NULL, "storage", "0"));
    CHECK(!is_there(&p, UUID));
    CHECK_EQ(obey(&p, NULL, "nowhere", "0"), DET_NOT_FOUND);
    task_dir_done(&p);
}

TEST(the_agents_own_roots_restrict_the_master)
{
    const char *root = "/srv/checkpoints";
    const struct field_strs roots = {&root, 1};
    struct place p;

    task_dir_make(&p);
    fill(&p, UUID);

    CHECK_EQ(obey(&p, &roots, "storage", "0"), DET_FORBIDDEN);
    CHECK_HAS(test_err.text, "checkpoint_storage_roots");
    CHECK(is_there(&p, UUID));
    task_dir_done(&p);
}

/* The master says so of a storage that its configuration does not allow, or no more. */
TEST(what_the_master_refuses_is_not_removed)
{
    const struct checkpoint_remover remover = {.io = io_system()};
    struct place p;
    struct json *item;
    const char *text;

    task_dir_make(&p);
    fill(&p, UUID);
    text = arena_printf(&p.mem,
                        "{\"uuid\":\"" UUID "\",\"directory\":\"%s\","
                        "\"refused\":\"it is below no root\"}",
                        p.storage);
    CHECK_OK(json_parse(text, strlen(text), &p.mem, &item, &test_err));

    CHECK_EQ(remover_obey(&remover, item, &test_err), DET_FORBIDDEN);
    CHECK_HAS(test_err.text, "it is below no root");
    CHECK(is_there(&p, UUID));
    task_dir_done(&p);
}

TEST(root_removes_with_the_rights_of_the_tasks_user)
{
    UNLESS(geteuid() == 0, "needs root");
    struct place p;

    task_dir_make(&p);
    CHECK(chmod(p.dir, 0711) == 0);
    fill(&p, UUID);

    CHECK_EQ(obey(&p, NULL, "storage", "54321"), DET_FORBIDDEN);
    CHECK_HAS(test_err.text, p.storage); /* not our descriptor's path */
    CHECK(is_there(&p, UUID));
    CHECK(chown(p.storage, 54321, 54321) == 0 &&
          chown(at(&p, UUID), 54321, 54321) == 0 &&
          chown(at(&p, UUID "/sub"), 54321, 54321) == 0);
    CHECK_OK(obey(&p, NULL, "storage", "54321"));
    CHECK(!is_there(&p, UUID));
    /* Root has its own rights again. */
    CHECK(access("/etc/shadow", R_OK) == 0);
    CHECK_OK(io_mkdir(io_system(), at(&p, "more"), true, &test_err));
    task_dir_done(&p);
}

TEST(root_removes_what_nobody_may_read)
{
    UNLESS(geteuid() == 0, "needs root");
    struct place p;

    task_dir_make(&p);
    fill(&p, UUID);
    CHECK_EQ(chmod(at(&p, UUID "/sub"), 0), 0);
    CHECK_OK(remove_it(&p, UUID));
    CHECK(!is_there(&p, UUID));
    task_dir_done(&p);
}

TEST(what_dead_runs_left_unfinished_goes_and_nothing_else)
{
    static const char *const gone[] = {".det-c1u57e40-7-1-" UUID,
                                       ".det-c1u57e40-7-2-" UUID,
                                       ".det-c1u57e40-8-1-" OTHER};
    static const char *const kept[] = {UUID,
                                       ".det-c1u57e40-7-3-" UUID,
                                       ".det-c1u57e40-77-1-" UUID,
                                       ".det-another0-7-1-" UUID,
                                       ".det-c1u57e40-7-1-x",
                                       ".det-c1u57e40-7-99999999999999999999-" UUID,
                                       ".det-c1u57e40-7--" UUID,
                                       ".det-trash-" UUID,
                                       "c1u57e40-7-1-" UUID};
    struct remover_run runs[] = {{7, 2}, {8, 1}};
    struct remover_sweep sweep = {
        .cluster = "c1u57e40-0000-4000-8000-000000000000", .runs = runs, .count = 2};
    struct place p;

    task_dir_make(&p);
    for (size_t i = 0; i < sizeof(gone) / sizeof(*gone); i++)
        fill(&p, gone[i]);
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        fill(&p, kept[i]);
    sweep.directory = p.storage;
    CHECK_OK(remover_sweep(io_system(), &sweep, &p.mem, &test_err));
    for (size_t i = 0; i < sizeof(gone) / sizeof(*gone); i++)
        CHECK(!is_there(&p, gone[i]));
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        CHECK(is_there(&p, kept[i]));
    sweep.directory = "/nowhere/at/all";
    CHECK_OK(remover_sweep(io_system(), &sweep, &p.mem, &test_err));
    task_dir_done(&p);
}

TEST(out_of_memory_it_can_be_tried_again)
{
    struct place p;

    task_dir_make(&p);
    fill(&p, UUID);
    EACH_ALLOCATION_FAILS() {
        struct arena mem = ARENA_INIT(1 << 20);
        struct err err = {0};
        det_status st = remover_remove(io_system(), p.storage, UUID, &mem, &err);

        CHECK(!st || st == DET_NOMEM);
        arena_done(&mem);
    }
    CHECK(!is_there(&p, UUID));
    CHECK(!is_there(&p, ".det-trash-" UUID));
    task_dir_done(&p);
}
