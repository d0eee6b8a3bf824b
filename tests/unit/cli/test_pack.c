/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/create/pack.h"
#include "data/json/json.h"
#include "tests/support/test.h"

static void put(struct io *io, const char *path, const char *text)
{
    CHECK_OK(io_replace(io, path, text, strlen(text), false, &test_err));
}

/* A folder in memory with this and that. */
static struct io *new_folder(void)
{
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    CHECK_OK(io_mkdir(io, "/f/src/deep", false, &test_err));
    CHECK_OK(io_mkdir(io, "/f/data", false, &test_err));
    CHECK_OK(io_mkdir(io, "/f/.git", false, &test_err));
    put(io, "/f/train.py", "print(1)\n");
    put(io, "/f/src/a.py", "a");
    put(io, "/f/src/deep/b.pyc", "b");
    put(io, "/f/data/big", "xxxxxxxx");
    put(io, "/f/.git/HEAD", "ref");
    return io;
}

static void scan(struct io *io, struct arena *mem, struct pack *pack)
{
    CHECK_OK(pack_scan(io, "/f", mem, pack, &test_err));
}

static void check_paths(const struct pack *pack, const char *expected)
{
    CLEANUP(buf_done) struct buf paths = BUF_INIT;

    for (size_t i = 0; i < pack->entries.count; i++)
        buf_printf(&paths, "%s%s ", pack->entries.at[i].path,
                   pack->entries.at[i].is_folder ? "/" : "");
    CHECK_STR(paths.data, expected);
}

TEST(everything_is_sent_but_git)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct io *io = new_folder();
    struct pack pack;

    scan(io, &mem, &pack);

    check_paths(&pack,
                "data/ data/big src/ src/a.py src/deep/ src/deep/b.pyc train.py ");
    CHECK_EQ(pack.files, 4);
    CHECK_EQ(pack.size_bytes, 19);
    pack_done(&pack);
    io_free(io);
}

TEST(a_run_without_a_master_stays_at_home)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct io *io = new_folder();
    struct pack pack;

    put(io, "/f/data/run.lock", "");
    put(io, "/f/src/runs", "");
    scan(io, &mem, &pack);

    check_paths(&pack, "src/ src/a.py src/deep/ src/deep/b.pyc src/runs train.py ");
    CHECK_EQ(pack.left_out.count, 1);
    CHECK_HAS(pack.left_out.at[0], "'data': an offline run");
    pack_done(&pack);
    io_free(io);
}

TEST(what_detignore_names_stays_at_home)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct io *io = new_folder();
    struct pack pack;

    put(io, "/f/.detignore", "data/\n*.pyc\n");
    scan(io, &mem, &pack);

    check_paths(&pack, ".detignore src/ src/a.py src/deep/ train.py ");
    pack_done(&pack);
    io_free(io);
}

TEST(files_travel_with_their_content_and_mode)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct io *io = new_folder();
    struct pack pack;
    struct json *tree, *first, *file;

    put(io, "/f/.detignore", "/src\n/data\n.detignore\n");
    CHECK_OK(io_mkdir(io, "/f/empty", false, &test_err));
    scan(io, &mem, &pack);
    jw_object(&w, NULL);
    CHECK_OK(pack_write(&pack, &w, "files", NULL, NULL, &test_err));
    jw_end_object(&w);
    CHECK_OK(json_parse(body.data, body.len, &mem, &tree, &test_err));

    first = json_first(json_get(tree, "files"));
    CHECK_STR(json_str(json_get(first, "path"), ""), "empty");
    CHECK_EQ(json_i64(json_get(first, "type"), 0), 53);
    CHECK_STR(json_str(json_get(first, "content"), "x"), "");
    CHECK_EQ(json_i64(json_get(first, "mode"), 0), 040755);
    file = first->next;
    CHECK_STR(json_str(json_get(file, "path"), ""), "train.py");
    CHECK_EQ(json_i64(json_get(file, "type"), 0), 48);
    CHECK_STR(json_str(json_get(file, "content"), ""), "cHJpbnQoMSkK");
    CHECK_EQ(json_i64(json_get(file, "mode"), 0), 0100644);
    CHECK(json_get(file, "mtime")->kind == JSON_STRING);
    pack_done(&pack);
    io_free(io);
}

TEST(a_folder_that_is_none_is_refused)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct io *io = new_folder();
    struct pack pack;

    CHECK_EQ(pack_scan(io, "/nowhere", &mem, &pack, &test_err), DET_NOT_FOUND);
    pack_done(&pack);
    CHECK_EQ(pack_scan(io, "/f/train.py", &mem, &pack, &test_err), DET_INVALID);
    CHECK_HAS(test_err.text, "is not a folder");
    pack_done(&pack);
    io_free(io);
}

TEST(a_folder_that_is_too_large_is_refused_with_its_largest_files)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct io *io = new_folder();
    struct io_file *file;
    struct pack pack;

    CHECK_OK(io_open(io, "/f/data/big", IO_WRITE, &file, &test_err));
    CHECK_OK(io_truncate(file, PACK_LIMIT_BYTES + 1, &test_err));
    io_close(file);

    CHECK_EQ(pack_scan(io, "/f", &mem, &pack, &test_err), DET_TOO_LARGE);
    CHECK_HAS(test_err.text, "the limit is 96MB");
    CHECK_HAS(test_err.text, "data/big (96.0MB)");
    pack_done(&pack);
    io_free(io);
}

static char *new_directory(char *path)
{
    CHECK(mkdtemp(path) != NULL);
    return path;
}

TEST(links_are_followed_inside_the_folder_and_left_out_otherwise)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    char top[] = "/tmp/det-pack-XXXXXX";
    struct io *io = io_system();
    struct pack pack;

    CHECK(chdir(new_directory(top)) == 0);
    CHECK_OK(io_mkdir(io, "f/a", false, &test_err));
    CHECK_OK(io_mkdir(io, "f/b", false, &test_err));
    put(io, "f/a/x", "1");
    put(io, "secret", "2");
    CHECK(!symlink("../secret", "f/out") && !symlink("/nowhere/at/all", "f/broken"));
    CHECK(!symlink("a/x", "f/in") && !symlink("../b", "f/a/l") &&
          !symlink("../a", "f/b/l"));
    CHECK(!symlink(".", "f/self"));
    CHECK_OK(pack_scan(io, "f", &mem, &pack, &test_err));

    check_paths(&pack, "a/ a/l/ a/x b/ b/l/ b/l/x in ");
    CHECK_EQ(pack.left_out.count, 5);
    CHECK_STR(pack.left_out.at[0], "'a/l/l': a symlink to a folder that contains it");
    CHECK_STR(pack.left_out.at[1], "'b/l/l': a symlink to a folder that contains it");
    CHECK_STR(pack.left_out.at[2], "'broken': a broken symlink");
    CHECK_STR(pack.left_out.at[3], "'out': a symlink that leads out of the folder");
    pack_done(&pack);
    CHECK(chdir("/") == 0);
    CHECK_OK(io_remove_tree(io, top, &test_err));
}

TEST(without_memory_the_scan_fails_cleanly)
{
    struct io *io = new_folder();

    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        struct pack pack;
        det_status st = pack_scan(io, "/f", &mem, &pack, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        pack_done(&pack);
    }
    io_free(io);
}
