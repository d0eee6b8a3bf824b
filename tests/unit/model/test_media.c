/* SPDX-License-Identifier: Apache-2.0 */
#include "model/media.h"

#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "det/media.h"
#include "tests/support/test.h"

static det_status check(uint32_t type, const char *bytes, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);

    test_err.text[0] = '\0';
    return media_check(type, bytes, len, &mem, &test_err);
}

static det_status check_text(uint32_t type, const char *text)
{
    return check(type, text, strlen(text));
}

TEST(every_type_has_a_name_that_finds_it)
{
    for (uint32_t type = DET_MEDIA_PNG; type <= DET_MEDIA_HISTOGRAM; type++) {
        CHECK(media_type(type) != NULL);
        CHECK_EQ(media_type_named(media_type(type)->name), type);
    }
    CHECK(media_type(DET_MEDIA_AUTO) == NULL);
    CHECK(media_type(DET_MEDIA_HISTOGRAM + 1) == NULL);
    CHECK_EQ(media_type_named("bmp"), 0);
}

TEST(files_are_recognised_by_their_first_bytes)
{
    static const struct {
        const char *bytes;
        size_t len;
        uint32_t type;
    } files[] = {
        {"\x89PNG\r\n\x1a\nIHDR", 12, DET_MEDIA_PNG},
        {"\xff\xd8\xff\xe0", 4, DET_MEDIA_JPEG},
        {"GIF89a", 6, DET_MEDIA_GIF},
        {"RIFF\1\2\3\4WEBPVP8 ", 16, DET_MEDIA_WEBP},
        {"RIFF\1\2\3\4WAVEfmt ", 16, DET_MEDIA_WAV},
        {"ID3\4", 4, DET_MEDIA_MP3},
        {"\xff\xfb\x90\x64", 4, DET_MEDIA_MP3},
        {"OggS", 4, DET_MEDIA_OGG},
        {"<svg>", 5, 0},
        {"RIFF", 4, 0},
        {"\x89PNG", 4, 0},
        {"", 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CHECK_EQ(media_recognise(files[i].bytes, files[i].len), files[i].type);
        if (files[i].type) {
            CHECK_EQ(check(files[i].type, files[i].bytes, files[i].len), DET_OK);
            CHECK_EQ(check(DET_MEDIA_PNG, files[i].bytes, files[i].len),
                     files[i].type == DET_MEDIA_PNG ? DET_OK : DET_INVALID);
        }
    }
}

TEST(texts_must_be_utf_8)
{
    CHECK_EQ(check_text(DET_MEDIA_TEXT, "gr\xc3\xbc\xc3\x9f"
                                        "e"),
             DET_OK);
    CHECK_EQ(check_text(DET_MEDIA_TEXT, "\xff\xfe"), DET_INVALID);
    CHECK_HAS(test_err.text, "not UTF-8");
    CHECK_EQ(check_text(DET_MEDIA_HTML, "<p>x"), DET_OK);
    CHECK_EQ(check_text(DET_MEDIA_SVG, "<?xml?><svg/>"), DET_OK);
    CHECK_EQ(check_text(DET_MEDIA_SVG, "<html>"), DET_INVALID);
    CHECK_EQ(check_text(DET_MEDIA_TEXT, ""), DET_INVALID);
}

TEST(a_table_has_columns_and_rows_of_plain_cells)
{
    CHECK_EQ(check_text(DET_MEDIA_TABLE, "{\"columns\": [\"a\", \"b\"], \"rows\":"
                                         " [[1, \"x\"], [null, true]]}"),
             DET_OK);
    CHECK_EQ(check_text(DET_MEDIA_TABLE, "{\"columns\": [\"a\"], \"rows\": []}"),
             DET_OK);
    CHECK_EQ(check_text(DET_MEDIA_TABLE, "{\"columns\": [], \"rows\": []}"),
             DET_INVALID);
    CHECK_EQ(check_text(DET_MEDIA_TABLE, "{\"columns\": [1], \"rows\": []}"),
             DET_INVALID);
    CHECK_EQ(check_text(DET_MEDIA_TABLE, "{\"columns\": [\"a\"]}"), DET_INVALID);
    CHECK_EQ(check_text(DET_MEDIA_TABLE, "{\"columns\": [\"a\"], \"rows\": [[1, 2]]}"),
             DET_INVALID);
    CHECK_HAS(test_err.text, "row 1");
    CHECK_EQ(check_text(DET_MEDIA_TABLE, "{\"columns\": [\"a\"], \"rows\": [[{}]]}"),
             DET_INVALID);
    CHECK_EQ(check_text(DET_MEDIA_TABLE, "[[1]]"), DET_INVALID);
    CHECK_EQ(check_text(DET_MEDIA_TABLE, "{"), DET_INVALID);
    CHECK_HAS(test_err.text, "not valid JSON");
}

TEST(a_histogram_has_one_edge_more_than_counts)
{
    CHECK_EQ(check_text(DET_MEDIA_HISTOGRAM,
                        "{\"edges\": [-1, 0.5, 2], \"counts\": [3, 0]}"),
             DET_OK);
    CHECK_EQ(check_text(DET_MEDIA_HISTOGRAM, "{\"edges\": [0, 1], \"counts\": [1, 2]}"),
             DET_INVALID);
    CHECK_EQ(check_text(DET_MEDIA_HISTOGRAM, "{\"edges\": [1, 0], \"counts\": [1]}"),
             DET_INVALID);
    CHECK_EQ(
        check_text(DET_MEDIA_HISTOGRAM, "{\"edges\": [0, \"NaN\"], \"counts\": [1]}"),
        DET_INVALID);
    CHECK_EQ(check_text(DET_MEDIA_HISTOGRAM, "{\"edges\": [0, 1], \"counts\": [-1]}"),
             DET_INVALID);
    CHECK_EQ(check_text(DET_MEDIA_HISTOGRAM, "{\"counts\": [1]}"), DET_INVALID);
}

TEST(an_item_has_a_largest_size)
{
    char *bytes = mem_alloc(DET_MEDIA_BYTES_MOST + 1);

    memset(bytes, 'x', DET_MEDIA_BYTES_MOST + 1);
    CHECK_EQ(check(DET_MEDIA_TEXT, bytes, DET_MEDIA_BYTES_MOST), DET_OK);
    CHECK_EQ(check(DET_MEDIA_TEXT, bytes, DET_MEDIA_BYTES_MOST + 1), DET_TOO_LARGE);
    CHECK_EQ(check(77, bytes, 5), DET_INVALID);
    mem_free(bytes);
}
