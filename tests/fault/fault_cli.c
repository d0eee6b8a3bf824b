/* SPDX-License-Identifier: Apache-2.0 */
/* fault_cli.c - a folder is packed whole or not at all. */
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/create/pack.h"
#include "data/json/json.h"

#include "tests/fault/sweep.h"

enum { FILES = 12 };

static struct io *new_folder(void)
{
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    CHECK_OK(io_mkdir(io, "/f/deep/er", false, &test_err));
    CHECK_OK(io_replace(io, "/f/.detignore", "*.pyc\n", 6, false, &test_err));
    CHECK_OK(io_replace(io, "/f/x.pyc", "x", 1, false, &test_err));
    for (int i = 0; i < FILES; i++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "/f/%sfile%d.py", i % 2 ? "deep/er/" : "",
                       i);
        CHECK_OK(io_replace(io, path, path, strlen(path), false, &test_err));
    }
    return io;
}

static det_status pack_into(struct io *io, struct buf *out, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct json_writer w = JSON_WRITER(out);
    struct pack pack;
    det_status st = pack_scan(io, "/f", &mem, &pack, err);

    jw_object(&w, NULL);
    if (!st)
        st = pack_write(&pack, &w, "files", NULL, NULL, err);
    jw_end_object(&w);
    pack_done(&pack);
    return st ? st : out->status;
}

static void pack_with_fault(struct sweep *sweep)
{
    CLEANUP(buf_done) struct buf whole = BUF_INIT;
    CLEANUP(buf_done) struct buf packed = BUF_INIT;
    struct io *io = new_folder();
    struct err err = {0};
    det_status st;

    CHECK_OK(pack_into(io, &whole, &test_err));
    sweep_begin(sweep);
    st = pack_into(io, &packed, &err);
    sweep_end(sweep);
    if (st) {
        CHECK(sweep->has_struck);
        CHECK_EQ(st, DET_NOMEM);
    } else {
        CHECK_STR(packed.data, whole.data);
    }
    io_free(io);
}

TEST(a_folder_is_packed_whole_or_not_at_all)
{
    sweep_run("folder", pack_with_fault, SWEEP_MEMORY, INT64_MAX);
}
