/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/output/new_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "model/field.h"
#include "tests/support/test.h"

struct folder {
    struct arena mem;
    struct new_files files;
    char dir[64];
};

static void folder_done(struct folder *f)
{
    new_files_done(&f->files);
    arena_done(&f->mem);
    CHECK_OK(io_remove_tree(io_system(), f->dir, &test_err));
}

#define FOLDER(name)                                                                   \
    CLEANUP(folder_done)                                                               \
    struct folder name = {.mem = ARENA_INIT(16 << 20), .dir = "/tmp/det-new.XXXXXX"};  \
    CHECK(mkdtemp(name.dir))

static void put(struct folder *f, const char *path, size_t size)
{
    char *full = arena_printf(&f->mem, "%s/%s", f->dir, path);
    char *slash = strrchr(full, '/');
    char *bytes = arena_alloc(&f->mem, size + 1);

    memset(bytes, 'x', size);
    *slash = 0;
    CHECK_OK(io_mkdir(io_system(), full, true, &test_err));
    *slash = '/';
    CHECK_OK(io_replace(io_system(), full, bytes, size, true, &test_err));
}

static const char *sentence(struct folder *f, const char *pattern)
{
    struct field_strs keep = {&pattern, pattern ? 1 : 0};

    CHECK_OK(new_files_find(&f->files, f->dir, &keep, &f->mem, &test_err));
    return new_files_sentence(&f->files, &f->mem);
}

static const char *unmatched(struct folder *f, const struct field_strs *keep)
{
    CHECK_OK(new_files_find(&f->files, f->dir, keep, &f->mem, &test_err));
    return new_files_unmatched(&f->files, &f->mem);
}

#define BEGIN(f) CHECK_OK(new_files_begin(&(f)->files, (f)->dir, &(f)->mem, &test_err))
#define HINT     "; the key 'keep' of the configuration saves files with the trial"

TEST(a_run_without_new_files_says_nothing)
{
    FOLDER(f);

    put(&f, "train.py", 10);
    BEGIN(&f);
    put(&f, "train.py", 20); /* changed, but not new */
    CHECK(!sentence(&f, NULL));
}

TEST(new_files_are_listed_with_their_sizes)
{
    FOLDER(f);

    put(&f, "train.py", 10);
    BEGIN(&f);
    put(&f, "out/model.pt", 2048);
    CHECK_STR(sentence(&f, NULL), "1 new file was not kept: out/model.pt, 2.0KB" HINT);
}

TEST(the_largest_come_first_and_the_rest_is_counted)
{
    FOLDER(f);
    char name[16];

    BEGIN(&f);
    for (int i = 1; i <= 7; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        put(&f, name, (size_t)i);
    }
    CHECK_STR(sentence(&f, NULL), "7 new files were not kept: f7, 7B; f6, 6B; f5, 5B; "
                                  "f4, 4B; f3, 3B; and 2 more" HINT);
}

TEST(hidden_files_caches_and_links_are_not_listed)
{
    FOLDER(f);

    BEGIN(&f);
    put(&f, ".hidden", 1);
    put(&f, ".cache/fonts", 1);
    put(&f, "__pycache__/train.pyc", 1);
    put(&f, "sub/__pycache__/train.pyc", 1);
    CHECK_EQ(symlink("/etc/passwd", arena_printf(&f.mem, "%s/link", f.dir)), 0);
    CHECK(!sentence(&f, NULL));
}

TEST(files_that_match_a_pattern_are_to_be_kept)
{
    FOLDER(f);

    put(&f, "base.pt", 1);
    BEGIN(&f);
    put(&f, "out/model.pt", 5);
    put(&f, "log.csv", 3);
    CHECK_STR(sentence(&f, "*.pt"), "1 new file was not kept: log.csv, 3B" HINT);
    CHECK_EQ(f.files.kept.count, 1);
    CHECK_STR(f.files.kept.at[0].path, "out/model.pt");
}

TEST(a_tree_that_is_too_large_is_not_listed)
{
    FOLDER(f);

    f.files.is_huge = true;
    put(&f, "a", 1);
    CHECK(!sentence(&f, NULL));
    CHECK_HAS(sentence(&f, "*"),
              "no file was kept: the working directory has more than");
}

TEST(files_beyond_the_most_that_are_kept_are_counted)
{
    FOLDER(f);

    BEGIN(&f);
    for (int i = 0; i < NEW_FILES_KEPT + 2; i++) {
        const char *path = arena_printf(&f.mem, "%s/%d.pt", f.dir, i);
        FILE *file = fopen(path, "w");

        CHECK(file);
        fclose(file);
    }
    CHECK_STR(sentence(&f, "*.pt"), "2 files of 'keep' were not saved: at most 1000 "
                                    "are; put them into an archive");
    CHECK(new_files_lose_some(&f.files));
    CHECK_EQ(f.files.kept.count, NEW_FILES_KEPT);
}

TEST(patterns_that_match_no_new_file_are_named)
{
    static const char *patterns[] = {"*.pt", "old.onnx", "out/*", "*.csv"};
    static const struct field_strs all = {patterns, 4}, one = {patterns, 1};
    FOLDER(f);
    FOLDER(g);

    put(&f, "old.onnx", 3);
    BEGIN(&f);
    put(&f, "model.pt", 3);
    put(&f, "log.csv", 3);
    CHECK_STR(unmatched(&f, &all),
              "no new file matches 'old.onnx', 'out/*' of the key 'keep'");
    CHECK_EQ(f.files.kept.count, 2);
    BEGIN(&g);
    put(&g, "model.pt", 3);
    CHECK(!unmatched(&g, &one));
}
