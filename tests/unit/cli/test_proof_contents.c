/* SPDX-License-Identifier: Apache-2.0 */
/* Files whose bytes differ may have the same contents. */
#include <stdio.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/proof/proof_contents.h"
#include "data/zip.h"
#include "tests/support/test.h"

/* ---- zip files ------------------------------------------------------------------- */

struct member {
    const char *name;
    const char *bytes;
    size_t len;
};
#define MEMBER(name, text)                                                             \
    {                                                                                  \
        name, text, sizeof(text) - 1                                                   \
    }

static void put_number(struct buf *out, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char byte = (char)(number >> (8 * i) & 0xff);

        buf_add(out, &byte, 1);
    }
}

/* What the local header and the record of the directory have in common. */
static void put_head(struct buf *out, const struct member *m, int time, size_t extra)
{
    put_number(out, 20, 2);
    put_number(out, 0, 4); /* flags, stored */
    put_number(out, (uint64_t)time, 4);
    put_number(out, 0, 4);
    put_number(out, m->len, 4);
    put_number(out, m->len, 4);
    put_number(out, strlen(m->name), 2);
    put_number(out, extra, 2);
}

/* `padding`: as PyTorch aligns its tensors; `time`: that of the entries. */
static void make_zip(struct buf *out, const struct member *members, int time,
                     size_t padding)
{
    CLEANUP(buf_done) struct buf directory = BUF_INIT;
    size_t count = 0, start;

    for (const struct member *m = members; m->name; m++, count++) {
        size_t offset = out->len;

        put_number(out, 0x04034b50, 4);
        put_head(out, m, time, padding);
        buf_puts(out, m->name);
        for (size_t i = 0; i < padding; i++)
            buf_add(out, "Z", 1);
        buf_add(out, m->bytes, m->len);
        put_number(&directory, 0x02014b50, 4);
        put_number(&directory, 20, 2);
        put_head(&directory, m, time, 0);
        put_number(&directory, 0, 2); /* comment */
        put_number(&directory, 0, 8); /* disk, attributes */
        put_number(&directory, offset, 4);
        buf_puts(&directory, m->name);
    }
    start = out->len;
    buf_add(out, directory.data, directory.len);
    put_number(out, 0x06054b50, 4);
    put_number(out, 0, 4);
    put_number(out, count, 2);
    put_number(out, count, 2);
    put_number(out, out->len - 12 - start, 4);
    put_number(out, start, 4);
    put_number(out, 0, 2);
    CHECK_OK(out->status);
}

/* ---- two files ------------------------------------------------------------------- */

static const char *where; /* of the last comparison */

static enum proof_contents compare_bytes(const void *a, size_t a_len, const void *b,
                                         size_t b_len, const char *key)
{
    struct arena mem = ARENA_INIT(1 << 20);
    static char kept[256];
    enum proof_contents contents = PROOF_CONTENTS_UNKNOWN;
    struct field_strs keys = {.at = &key, .count = key ? 1 : 0};
    struct proof_two_files files = {.a = "/a", .b = "/b", .keys = &keys};

    CHECK_OK(io_memory_new(&files.io, &test_err));
    CHECK_OK(io_replace(files.io, "/a", a, a_len, false, &test_err));
    CHECK_OK(io_replace(files.io, "/b", b, b_len, false, &test_err));
    CHECK_OK(proof_compare_contents(&files, &mem, &contents, &where, &test_err));
    (void)snprintf(kept, sizeof(kept), "%s", where ? where : "");
    where = kept;
    io_free(files.io);
    arena_done(&mem);
    return contents;
}

static enum proof_contents compare_zips(const struct member *a, const struct member *b)
{
    CLEANUP(buf_done) struct buf x = BUF_INIT;
    CLEANUP(buf_done) struct buf y = BUF_INIT;

    make_zip(&x, a, 1, 3);
    make_zip(&y, b, 2, 17);
    return compare_bytes(x.data, x.len, y.data, y.len, NULL);
}

TEST(entries_of_zip_files_count_and_their_times_do_not)
{
    static const struct member one[] = {MEMBER("x", "1234"), MEMBER("y/z", ""), {0}};
    static const struct member other[] = {MEMBER("y/z", ""), MEMBER("x", "1234"), {0}};
    static const struct member changed[] = {
        MEMBER("x", "1235"), MEMBER("y/z", ""), {0}};
    static const struct member fewer[] = {MEMBER("x", "1234"), {0}};

    CHECK_EQ(compare_zips(one, other), PROOF_CONTENTS_SAME);
    CHECK_EQ(compare_zips(one, changed), PROOF_CONTENTS_DIFFERENT);
    CHECK_STR(where, "entry 'x'");
    CHECK_EQ(compare_zips(one, fewer), PROOF_CONTENTS_DIFFERENT);
    CHECK_EQ(compare_zips(fewer, one), PROOF_CONTENTS_DIFFERENT);
}

/* Readers of zip files disagree about which of them counts. */
TEST(a_zip_file_with_two_entries_of_one_name_is_only_bytes)
{
    static const struct member twice[] = {MEMBER("x", "12"), MEMBER("x", "12"), {0}};
    static const struct member once[] = {MEMBER("x", "12"), MEMBER("y", "34"), {0}};

    CHECK_EQ(compare_zips(twice, once), PROOF_CONTENTS_UNKNOWN);
    CHECK_EQ(compare_zips(twice, twice), PROOF_CONTENTS_UNKNOWN);
}

/* {'w': tensor of storage KEY, 's': ['n', 'n']}; the second 'n' is shared or not. */
#define STORAGE(key)                                                                   \
    "(X\007\000\000\000storagectorch\012FloatStorage\012X\001\000\000\000" key         \
    "X\003\000\000\000cpuK\001tQ"
#define TENSOR(key)                                                                    \
    "ctorch._utils\012_rebuild_tensor_v2\012(" STORAGE(                                \
        key) "K\000K\001\205K\001\205\211Nt"                                           \
             "R"
#define TREE(key, again)                                                               \
    "\200\002}(X\001\000\000\000w" TENSOR(key) "X\001\000\000\000s]("                  \
                                               "X\001\000\000\000nq\000" again "eu."
#define SHARED "h\000"
#define COPIED "X\001\000\000\000n"

TEST(tensors_of_pytorch_are_compared_by_their_bytes)
{
    static const struct member one[] = {MEMBER("m/data.pkl", TREE("0", SHARED)),
                                        MEMBER("m/data/0", "abcd"),
                                        MEMBER("m/version", "3"),
                                        MEMBER("m/.data/serialization_id", "17"),
                                        {0}};
    static const struct member same[] = {MEMBER("k/data.pkl", TREE("5", COPIED)),
                                         MEMBER("k/data/5", "abcd"),
                                         MEMBER("k/version", "3"),
                                         MEMBER("k/.data/serialization_id", "18"),
                                         {0}};
    static const struct member changed[] = {MEMBER("m/data.pkl", TREE("0", SHARED)),
                                            MEMBER("m/data/0", "abce"),
                                            MEMBER("m/version", "3"),
                                            {0}};
    static const struct member newer[] = {MEMBER("m/data.pkl", TREE("0", SHARED)),
                                          MEMBER("m/data/0", "abcd"),
                                          MEMBER("m/version", "4"),
                                          {0}};
    static const struct member without[] = {
        MEMBER("m/data.pkl", TREE("1", SHARED)), MEMBER("m/version", "3"), {0}};

    CHECK_EQ(compare_zips(one, same), PROOF_CONTENTS_SAME);
    CHECK_EQ(compare_zips(one, changed), PROOF_CONTENTS_DIFFERENT);
    CHECK_STR(where, "['w']");
    CHECK_EQ(compare_zips(one, newer), PROOF_CONTENTS_DIFFERENT);
    CHECK_STR(where, "entry 'version'");
    CHECK_EQ(compare_zips(one, without), PROOF_CONTENTS_DIFFERENT);
}

TEST(files_of_other_formats_are_only_bytes)
{
    static const char zip[] = "PK\3\4 and nothing else in it";

    CHECK_EQ(compare_bytes("text", 4, "texts", 5, NULL), PROOF_CONTENTS_UNKNOWN);
    CHECK_EQ(compare_bytes("", 0, "x", 1, NULL), PROOF_CONTENTS_UNKNOWN);
    CHECK_EQ(compare_bytes(zip, sizeof(zip), zip, sizeof(zip) - 1, NULL),
             PROOF_CONTENTS_UNKNOWN);
    CHECK_EQ(compare_bytes("\200\004N.", 4, "\200\004K\1.", 5, NULL),
             PROOF_CONTENTS_DIFFERENT);
    CHECK_EQ(compare_bytes("\200\004N.", 4, "\200\004\xff", 3, NULL),
             PROOF_CONTENTS_UNKNOWN);
}

TEST(json_is_compared_if_keys_are_left_out)
{
    static const char a[] = "{\"a\": [{\"time\": 1, \"b\": 2}]}";
    static const char b[] = "{\"a\": [{\"b\": 2, \"time\": 3}]}";
    static const char c[] = "{\"a\": [{\"b\": 3, \"time\": 3}]}";

    CHECK_EQ(compare_bytes(a, sizeof(a) - 1, b, sizeof(b) - 1, NULL),
             PROOF_CONTENTS_UNKNOWN);
    CHECK_EQ(compare_bytes(a, sizeof(a) - 1, b, sizeof(b) - 1, "ti*"),
             PROOF_CONTENTS_SAME);
    CHECK_EQ(compare_bytes(a, sizeof(a) - 1, c, sizeof(c) - 1, "ti*"),
             PROOF_CONTENTS_DIFFERENT);
}

/* A proof of hours must not fail because a file is large. */
TEST(objects_that_need_too_much_memory_are_only_bytes)
{
    enum { NUMBERS = 2000 };
    static char text[NUMBERS + 4] = "\200\002(";
    struct arena mem = ARENA_INIT(1 << 20);
    enum proof_contents contents = PROOF_CONTENTS_SAME;
    struct field_strs none = {0};
    struct proof_two_files files = {
        .a = "/a", .b = "/b", .keys = &none, .memory_most = 1 << 16};
    det_status st;

    memset(text + 3, 'N', NUMBERS - 1);
    memcpy(text + 2 + NUMBERS, "t.", 2);
    CHECK_OK(io_memory_new(&files.io, &test_err));
    CHECK_OK(io_replace(files.io, "/a", text, NUMBERS + 4, false, &test_err));
    CHECK_OK(io_replace(files.io, "/b", text, NUMBERS + 4, false, &test_err));
    st = proof_compare_contents(&files, &mem, &contents, &where, &test_err);
    io_free(files.io);
    arena_done(&mem);

    CHECK_OK(st);
    CHECK_EQ(contents, PROOF_CONTENTS_UNKNOWN);
}

/* Every prefix of a zip file, and every zip file with one wrong byte in its directory, is
 * refused or read, but never beyond its end. */
TEST(a_damaged_zip_file_is_refused)
{
    static const struct member members[] = {MEMBER("x", "1234"), MEMBER("y", "5"), {0}};
    CLEANUP(buf_done) struct buf zip = BUF_INIT;

    make_zip(&zip, members, 1, 0);
    for (size_t i = 4; i < zip.len; i++)
        CHECK_EQ(compare_bytes(zip.data, i, zip.data, i, NULL), PROOF_CONTENTS_UNKNOWN);
    for (size_t i = 4; i < zip.len; i++) {
        CLEANUP(buf_done) struct buf damaged = BUF_INIT;

        buf_add(&damaged, zip.data, zip.len);
        damaged.data[i] = (char)(damaged.data[i] ^ 0xff);
        (void)compare_bytes(zip.data, zip.len, damaged.data, damaged.len, NULL);
    }
}

TEST(comparing_contents_survives_each_failing_allocation)
{
    static const struct member members[] = {
        MEMBER("m/data.pkl", TREE("0", SHARED)), MEMBER("m/data/0", "abcd"), {0}};
    CLEANUP(buf_done) struct buf zip = BUF_INIT;
    struct field_strs none = {0};

    make_zip(&zip, members, 1, 0);
    EACH_ALLOCATION_FAILS() {
        int64_t nth = fault_state.left[FAULT_MEMORY];
        struct arena mem = ARENA_INIT(1 << 20);
        enum proof_contents contents = PROOF_CONTENTS_UNKNOWN;
        struct proof_two_files files = {.a = "/a", .b = "/b", .keys = &none};
        const char *place;
        det_status st;

        fault_disarm(FAULT_MEMORY);
        CHECK_OK(io_memory_new(&files.io, &test_err));
        CHECK_OK(io_replace(files.io, "/a", zip.data, zip.len, false, &test_err));
        CHECK_OK(io_replace(files.io, "/b", zip.data, zip.len, false, &test_err));
        fault_arm(FAULT_MEMORY, nth);
        st = proof_compare_contents(&files, &mem, &contents, &place, NULL);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(contents, st ? PROOF_CONTENTS_UNKNOWN : PROOF_CONTENTS_SAME);
        nth = fault_state.left[FAULT_MEMORY];
        fault_state.left[FAULT_MEMORY] = 0;
        arena_done(&mem);
        io_free(files.io);
        fault_state.left[FAULT_MEMORY] = nth;
    }
}
