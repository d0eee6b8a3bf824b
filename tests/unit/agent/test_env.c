/* SPDX-License-Identifier: Apache-2.0 */
/* Environments in files: keys, who has them, who may remove them. */
#include <string.h>

#include "agent/env/build.h"
#include "agent/env/envs.h"
#include "agent/env/interpreter.h"
#include "agent/env/key.h"
#include "agent/env/machine.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "model/field.h"
#include "tests/support/test.h"

struct bed {
    struct io *io;
    struct arena mem;
};

static void bed_init(struct bed *bed)
{
    *bed = (struct bed){.mem = ARENA_INIT(16 << 20)};
    CHECK_OK(io_memory_new(&bed->io, &test_err));
    CHECK_OK(io_mkdir(bed->io, "/envs", true, &test_err));
    CHECK_OK(io_mkdir(bed->io, "/work/sub", true, &test_err));
}

static void bed_done(struct bed *bed)
{
    arena_done(&bed->mem);
    io_free(bed->io);
}

#define BED(name)                                                                      \
    CLEANUP(bed_done) struct bed name;                                                 \
    bed_init(&name)

static void put(struct bed *bed, const char *path, const char *text)
{
    CHECK_OK(io_replace(bed->io, path, text, strlen(text), false, &test_err));
}

/* ---- keys ------------------------------------------------------------------------ */

static const struct interpreter cpython = {.executable = "/usr/bin/python3",
                                           .version = "3.11.2",
                                           .build = "3.11.2 (main)",
                                           .implementation = "cpython",
                                           .platform = "linux-x86_64"};

static const struct env_wish wish = {.folder = "/work", .file = "r.txt"};

static const char *key_of(struct bed *bed, const struct interpreter *interpreter)
{
    struct env_key key;

    CHECK_OK(env_key(bed->io, &wish, interpreter, &bed->mem, &key, &test_err));
    return arena_strdup(&bed->mem, key.text);
}

TEST(a_key_follows_what_pip_would_read)
{
    BED(bed);
    put(&bed, "/work/r.txt", "numpy==1\n-r sub/more.txt\n./x.whl\n");
    put(&bed, "/work/sub/more.txt", "torch\n-c pins.txt\n");
    put(&bed, "/work/sub/pins.txt", "six==1\n");
    put(&bed, "/work/x.whl", "bytes");
    const char *first = key_of(&bed, &cpython);

    CHECK_EQ(strlen(first), ENV_KEY_TEXT - 1);
    put(&bed, "/work/r.txt",
        "# a comment\nnumpy==1 # fast\n\n-r sub/more.txt\n./x.whl");
    CHECK_STR(key_of(&bed, &cpython), first);
    put(&bed, "/work/other.txt", "nobody reads this");
    CHECK_STR(key_of(&bed, &cpython), first);
}

TEST(a_key_changes_with_everything_that_is_installed)
{
    static const char *const files[] = {"/work/r.txt", "/work/sub/more.txt",
                                        "/work/sub/pins.txt", "/work/sub/x.whl"};
    BED(bed);
    put(&bed, "/work/r.txt", "numpy==1\n-r sub/more.txt\n");
    put(&bed, "/work/sub/more.txt", "torch\n-c pins.txt\n./x.whl\n");
    put(&bed, "/work/sub/pins.txt", "six==1\n");
    put(&bed, "/work/sub/x.whl", "bytes");
    const char *before = key_of(&bed, &cpython);

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        const char *after;

        CHECK_OK(io_read_file(bed.io, files[i], &text, &test_err));
        buf_puts(&text, "\nmore");
        put(&bed, files[i], text.data);
        after = key_of(&bed, &cpython);
        CHECK(strcmp(before, after) != 0);
        before = after;
    }
}

TEST(a_key_changes_when_a_file_of_a_package_moves)
{
    BED(bed);
    put(&bed, "/work/r.txt", "./sub\n");
    CHECK_OK(io_mkdir(bed.io, "/work/sub/a", true, &test_err));
    put(&bed, "/work/sub/a/x.py", "x");
    put(&bed, "/work/sub/y.py", "y");
    const char *before = key_of(&bed, &cpython);

    CHECK_OK(io_rename(bed.io, "/work/sub/y.py", "/work/sub/a/y.py", &test_err));
    CHECK(strcmp(before, key_of(&bed, &cpython)) != 0);
}

TEST(a_key_is_of_one_interpreter)
{
    struct interpreter other = cpython;
    BED(bed);
    put(&bed, "/work/r.txt", "numpy\n");
    const char *first = key_of(&bed, &cpython);

    other.version = "3.12.0";
    CHECK(strcmp(key_of(&bed, &other), first) != 0);
    other = cpython;
    other.platform = "linux-aarch64";
    CHECK(strcmp(key_of(&bed, &other), first) != 0);
    other = cpython;
    other.executable = "/opt/bin/python3";
    CHECK(strcmp(key_of(&bed, &other), first) != 0);
}

TEST(lines_of_a_configuration_are_a_file_of_their_own)
{
    static const char *lines[] = {"numpy", "--no-index", "./x.whl"};
    const struct field_strs list = {lines, ARRAY_LEN(lines)};
    const struct env_wish of_lines = {.folder = "/work", .lines = &list};
    struct env_key key;
    BED(bed);
    put(&bed, "/work/x.whl", "a");

    CHECK_OK(env_key(bed.io, &of_lines, &cpython, &bed.mem, &key, &test_err));
    CHECK_EQ(key.packages, 2);
    CHECK_STR(key.requirements, "numpy\n--no-index\n./x.whl\n");
}

TEST(what_nobody_can_build_is_refused_with_the_reason)
{
    static const struct {
        const char *text;
        const char *part;
    } table[] = {
        {"-e .", "'-e .' in r.txt:1"},
        {"-r nowhere.txt", "there is no 'nowhere.txt'"},
        {"-r ../x.txt", "'../x.txt' is not inside the folder"},
        {"-r sub", "'sub' is not a file"},
        {"-r r.txt", "'r.txt' includes itself"},
        {"\xff", "'r.txt': line 1 is not text"},
    };
    struct env_key key;
    BED(bed);

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        put(&bed, "/work/r.txt", table[i].text);
        CHECK_EQ(env_wish_check(bed.io, &wish, &bed.mem, &key, &test_err), DET_INVALID);
        CHECK_HAS(test_err.text, table[i].part);
    }
}

/* ---- the folder ------------------------------------------------------------------ */

static const char *build(struct bed *bed, const char *key, bool is_whole)
{
    CLEANUP(io_closep) struct io_file *lock = NULL;
    CLEANUP(buf_done) struct buf marker = BUF_INIT;
    const char *dir;

    CHECK_OK(envs_lock(bed->io, "/envs", key, &bed->mem, &lock, &test_err));
    CHECK_OK(envs_begin(bed->io, "/envs", key, &bed->mem, &dir, &test_err));
    put(bed, arena_printf(&bed->mem, "%s/file", dir), "x");
    buf_puts(&marker, "{\"python\":\"3.11.2\"}");
    if (is_whole)
        CHECK_OK(envs_finish(bed->io, dir, &marker, &test_err));
    return dir;
}

static det_status find(struct bed *bed, const char *key, struct io_file **use)
{
    struct env env = {0};
    det_status st = envs_find(bed->io, "/envs", key, 7, &bed->mem, &env, &test_err);

    if (!st)
        *use = env.use;
    return st;
}

static struct envs_list list(struct bed *bed)
{
    struct envs_list all = {0};

    CHECK_OK(envs_list(bed->io, "/envs", &bed->mem, &all, &test_err));
    return all;
}

TEST(only_what_is_whole_is_found)
{
    struct io_file *use = NULL;
    BED(bed);

    CHECK_EQ(find(&bed, "aa", &use), DET_NOT_FOUND);
    build(&bed, "aa", false);
    CHECK_EQ(find(&bed, "aa", &use), DET_NOT_FOUND);
    CHECK_EQ(list(&bed).count, 1);
    CHECK_NULL(list(&bed).at[0].marker);
    build(&bed, "aa", true);
    CHECK_OK(find(&bed, "aa", &use));
    CHECK_EQ(find(&bed, "a", &use), DET_NOT_FOUND);
    /* what the first build left is gone */
    CHECK_EQ(list(&bed).count, 1);
    io_close(use);
}

TEST(one_builds_at_a_time_and_death_gives_the_right_back)
{
    struct io_file *lock, *other = NULL;
    BED(bed);

    CHECK_OK(envs_lock(bed.io, "/envs", "aa", &bed.mem, &lock, &test_err));
    CHECK_EQ(envs_lock(bed.io, "/envs", "aa", &bed.mem, &other, &test_err), DET_BUSY);
    io_abandon(bed.io);
    CHECK_OK(envs_lock(bed.io, "/envs", "aa", &bed.mem, &other, &test_err));
    io_close(other);
    io_close(lock);
}

TEST(what_is_in_use_is_not_removed)
{
    struct io_file *use = NULL;
    struct envs_list all;
    BED(bed);
    build(&bed, "aa", true);
    CHECK_OK(find(&bed, "aa", &use));

    all = list(&bed);
    CHECK_EQ(all.count, 1);
    CHECK(all.at[0].is_in_use);
    CHECK_EQ(all.at[0].used_us, 7);
    CHECK_EQ(envs_remove(bed.io, &all.at[0], &bed.mem, &test_err), DET_BUSY);
    CHECK_EQ(list(&bed).count, 1);
    io_close(use);
    CHECK(!list(&bed).at[0].is_in_use);
    CHECK_OK(envs_remove(bed.io, &all.at[0], &bed.mem, &test_err));
    CHECK_EQ(list(&bed).count, 0);
}

TEST(who_looks_at_an_environment_does_not_make_it_missing)
{
    struct io_file *use = NULL, *look = NULL;
    BED(bed);
    const char *dir = build(&bed, "aa", true);
    const char *path = arena_printf(&bed.mem, "%s/det-environment.use", dir);

    /* as envs_list() does for a moment: else a second one would be built */
    CHECK_OK(io_open(bed.io, path, IO_WRITE, &look, &test_err));
    CHECK_OK(io_lock(look, &test_err));
    CHECK_EQ(find(&bed, "aa", &use), DET_BUSY);
    /* as envs_remove() does next */
    CHECK_OK(
        io_remove(bed.io, arena_printf(&bed.mem, "%s/" ENVS_MARKER, dir), &test_err));
    CHECK_EQ(find(&bed, "aa", &use), DET_NOT_FOUND);
    io_close(look);
}

TEST(what_is_being_built_is_not_removed_and_what_was_left_is)
{
    struct io_file *lock;
    struct envs_list all;
    BED(bed);
    build(&bed, "aa", false);
    CHECK_OK(envs_lock(bed.io, "/envs", "aa", &bed.mem, &lock, &test_err));

    all = list(&bed);
    CHECK(all.at[0].is_in_use);
    CHECK_EQ(envs_remove(bed.io, &all.at[0], &bed.mem, &test_err), DET_BUSY);
    io_close(lock);
    CHECK(!list(&bed).at[0].is_in_use);
    CHECK_OK(envs_remove(bed.io, &all.at[0], &bed.mem, &test_err));
    CHECK_EQ(list(&bed).count, 0);
}

TEST(environments_of_other_users_are_listed_too)
{
    BED(bed);
    CLEANUP(io_closep) struct io_file *lock = NULL;
    const char *dir;

    CHECK_OK(io_mkdir(bed.io, "/envs/user-1000", true, &test_err));
    CHECK_OK(io_mkdir(bed.io, "/envs/known", true, &test_err));
    CHECK_OK(envs_lock(bed.io, "/envs/user-1000", "bb", &bed.mem, &lock, &test_err));
    CHECK_OK(envs_begin(bed.io, "/envs/user-1000", "bb", &bed.mem, &dir, &test_err));
    CHECK_EQ(list(&bed).count, 1);
    CHECK_STR(list(&bed).at[0].key, "bb");
}

TEST(a_machine_without_environments_has_an_empty_list)
{
    struct envs_list all = {0};
    BED(bed);

    CHECK_OK(envs_list(bed.io, "/nowhere", &bed.mem, &all, &test_err));
    CHECK_EQ(all.count, 0);
}

TEST(a_loss_of_power_leaves_a_whole_environment_or_none)
{
    struct io_file *use = NULL;
    BED(bed);
    CHECK_OK(io_sync_dir(bed.io, "/", &test_err));
    build(&bed, "aa", false);
    io_crash(bed.io);

    CHECK(find(&bed, "aa", &use) != DET_OK);
}

TEST(a_full_disk_is_an_ordinary_failure_and_leaves_nothing_usable)
{
    CLEANUP(buf_done) struct buf marker = BUF_INIT;
    struct io_file *use = NULL;
    const char *dir;
    BED(bed);
    CHECK_OK(envs_begin(bed.io, "/envs", "aa", &bed.mem, &dir, &test_err));
    buf_puts(&marker, "{\"python\":\"3.11.2\"}");
    io_memory_limit(bed.io, 1);

    CHECK_EQ(envs_finish(bed.io, dir, &marker, &test_err), DET_FULL);
    CHECK_EQ(find(&bed, "aa", &use), DET_NOT_FOUND);
}

/* The sweep begins when everything is there: what is tested is the looking. */
TEST(no_memory_is_an_ordinary_failure)
{
    BED(bed);
    put(&bed, "/work/r.txt", "numpy\n./x.whl\n");
    put(&bed, "/work/x.whl", "bytes");
    build(&bed, "aa", true);

    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        struct envs_list all = {0};
        struct env_key key = {0};
        det_status st = env_key(bed.io, &wish, &cpython, &mem, &key, NULL);

        if (!st)
            st = envs_list(bed.io, "/envs", &mem, &all, NULL);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(all.count, fault_fired() ? 0 : 1);
        CHECK(!all.count || all.at[0].marker);
    }
}

/* Only that it was used may get lost. */
TEST(without_memory_an_environment_is_not_taken_for_missing)
{
    BED(bed);
    build(&bed, "aa", true);

    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        struct env env = {0};
        det_status st = envs_find(bed.io, "/envs", "aa", 7, &mem, &env, NULL);

        CHECK(st == DET_OK || (fault_fired() && st == DET_NOMEM));
        if (!st)
            io_close(env.use);
    }
}

/* ---- words ----------------------------------------------------------------------- */

TEST(trouble_that_may_pass_is_told_from_mistakes)
{
    CHECK(build_may_pass("WARNING: Retrying (Retry(total=4, connect=None)) after"));
    CHECK(build_may_pass("OSError: [Errno 28] No space left on device"));
    CHECK(build_may_pass("ReadTimeoutError: Read timed out."));
    CHECK(!build_may_pass("ERROR: No matching distribution found for nosuch==1"));
    CHECK_STR(
        build_no_index("WARNING: Retrying (Retry(total=4)) after connection broken "
                       "by 'NewConnectionError(': Failed to establish: [Errno -3] "
                       "Temporary failure in name resolution')': /simple/x/"),
        "its name cannot be resolved");
    CHECK_NULL(build_no_index("ERROR: No matching distribution found for nosuch==1"));
    CHECK_NULL(build_no_index("Downloading connection-refused-1.0.whl"));
    CHECK(!build_may_pass("error: subprocess-exited-with-error"));
}

TEST(values_are_found_in_the_texts_of_the_system)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
    static const char cpuinfo[] = "processor\t: 0\nmodel name\t: Fast 9000\nflags: x\n";
    static const char release[] = "PRETTY_NAME_NOT=1\nPRETTY_NAME=\"Some Linux 1\"\n";

    CHECK_STR(machine_value(cpuinfo, "model name", ':', &mem), "Fast 9000");
    CHECK_STR(machine_value(release, "PRETTY_NAME", '=', &mem), "Some Linux 1");
    CHECK_STR(machine_value("MemTotal:   16 kB", "MemTotal", ':', &mem), "16 kB");
    CHECK_STR(machine_value("", "x", ':', &mem), "");
}
