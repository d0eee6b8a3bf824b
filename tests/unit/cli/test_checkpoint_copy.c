/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "cli/nouns/checkpoint_copy.h"
#include "data/json/json.h"
#include "libdet/checkpoint/manifest.h"
#include "libdet/checkpoint/manifest_work.h"
#include "tests/support/test.h"

static struct json *parse(struct arena *mem, const char *text)
{
    struct json *json = NULL;

    CHECK_OK(json_parse(text, strlen(text), mem, &json, &test_err));
    return json;
}

static void put(struct io *io, const char *path, const char *text)
{
    CHECK_OK(io_replace(io, path, text, strlen(text), false, &test_err));
}

struct place {
    struct io *io;
    struct arena mem;
};

static void place_make(struct place *p)
{
    p->mem = (struct arena)ARENA_INIT(64 << 20);
    CHECK_OK(io_memory_new(&p->io, &test_err));
    CHECK_OK(io_mkdir(p->io, "/from/sub", false, &test_err));
    CHECK_OK(io_mkdir(p->io, "/to", false, &test_err));
    put(p->io, "/from/digits", "123456789");
    put(p->io, "/from/sub/empty", "");
}

/* As the library writes it. */
static void add_manifest(struct place *p)
{
    struct manifest manifest = {0};

    CHECK_OK(manifest_walk(p->io, "/from", &p->mem, &manifest, &test_err));
    CHECK_OK(manifest_work(p->io, NULL, "/from", &manifest, MANIFEST_SUM, &test_err));
    CHECK_OK(manifest_write(p->io, "/from", &manifest, &test_err));
    manifest_done(&manifest);
}

static void place_done(struct place *p)
{
    arena_done(&p->mem);
    io_free(p->io);
}

static det_status copy_it(struct place *p, const char *resources,
                          struct checkpoint_copy_result *ret_result)
{
    return checkpoint_copy(p->io, "/from", "/to", parse(&p->mem, resources), &p->mem,
                           ret_result, &test_err);
}

TEST(a_checkpoint_is_copied_and_compared_with_its_manifest)
{
    struct checkpoint_copy_result result = {0};
    struct io_stat stat;
    struct place p;

    place_make(&p);
    add_manifest(&p);
    CHECK_OK(copy_it(&p, "{\"digits\":\"9\",\"sub/\":\"0\"}", &result));
    CHECK(result.has_manifest);
    CHECK_EQ(result.files, 3);
    CHECK_OK(io_stat(p.io, "/to/digits", &stat, &test_err));
    CHECK_EQ(stat.size_bytes, 9);
    CHECK_OK(io_stat(p.io, "/to/sub/empty", &stat, &test_err));
    place_done(&p);
}

TEST(what_is_damaged_cut_short_or_missing_is_named)
{
    static const struct {
        const char *resources;
        const char *path; /* what is put there once the manifest is written */
        const char *text;
        const char *sentence;
    } cases[] = {
        {"{}", "/from/digits", "123456780", "'digits' of the checkpoint is damaged"},
        {"{}", "/from/digits", "12345678", "has 8 bytes, not 9"},
        {"{\"other\":\"8\"}", NULL, NULL,
         "the file 'other' of the checkpoint is missing"},
        {"{\"other\":\"8\",\"an\":\"1\"}", NULL, NULL,
         "'an' of the checkpoint is missing, and 1 more"},
        {"{}", "/from/" MANIFEST_NAME, "{\"files\":[", "is damaged"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct checkpoint_copy_result result = {0};
        struct place p;

        place_make(&p);
        add_manifest(&p);
        if (cases[i].path)
            put(p.io, cases[i].path, cases[i].text);
        CHECK_EQ(copy_it(&p, cases[i].resources, &result), DET_CORRUPT);
        CHECK_HAS(test_err.text, cases[i].sentence);
        place_done(&p);
    }
}

TEST(nothing_is_overwritten)
{
    struct checkpoint_copy_result result = {0};
    struct place p;

    place_make(&p);
    put(p.io, "/to/digits", "mine");
    CHECK_EQ(copy_it(&p, "{}", &result), DET_EXISTS);
    place_done(&p);
}

TEST(out_of_memory_is_an_ordinary_error)
{
    struct place p;

    place_make(&p);
    EACH_ALLOCATION_FAILS() {
        struct arena mem = ARENA_INIT(16 << 20);
        struct checkpoint_copy_result result = {0};
        struct err err = {0};
        det_status st =
            checkpoint_copy(p.io, "/from", "/to", NULL, &mem, &result, &err);

        if (st && st != DET_NOMEM)
            CHECK_EQ(st, DET_EXISTS); /* what the try before had copied */
        arena_done(&mem);
    }
    place_done(&p);
}
