/* SPDX-License-Identifier: Apache-2.0 */
#include "data/png.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/base64.h"
#include "tests/support/test.h"

static uint32_t be32(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Bit by bit, from the definition. */
static uint32_t crc32_of(const char *bytes, size_t len)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < 8 * len; i++) {
        if (i % 8 == 0)
            crc ^= (unsigned char)bytes[i / 8];
        crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

TEST(a_grey_pixel_is_these_bytes)
{
    static const unsigned char pixel[] = {0xff};
    struct png_image image = {pixel, 1, 1, 1, 1};
    struct buf out = BUF_INIT;
    char text[256];

    png_encode(&out, &image);
    CHECK_EQ(out.status, DET_OK);
    hex_encode(text, out.data, out.len);
    CHECK_STR(text, "89504e470d0a1a0a"
                    "0000000d49484452000000010000000108000000003a7e9b55" /* IHDR */
                    "0000000d49444154"                                   /* IDAT */
                    "7801"
                    "010200fdff"
                    "00ff"
                    "01010100" /* stored */
                    "608712b5"
                    "0000000049454e44ae426082"); /* IEND */
    buf_done(&out);
}

/* Unpacks what was packed: the blocks of the stream, without their heads. */
static void unpack(const struct buf *png, struct buf *ret_rows)
{
    uint32_t len = be32(png->data + 33);
    const char *at = png->data + 41, *end = at + len - 4;
    bool is_last = false;

    CHECK(memcmp(png->data + 37, "IDAT", 4) == 0);
    CHECK_EQ(be32(end + 4), crc32_of(png->data + 37, len + 4));
    for (at += 2; !is_last;) {
        unsigned size = (unsigned char)at[1] | (unsigned)(unsigned char)at[2] << 8;
        unsigned not_size = (unsigned char)at[3] | (unsigned)(unsigned char)at[4] << 8;

        is_last = at[0] == 1;
        CHECK_EQ(size ^ not_size, 0xffff);
        buf_add(ret_rows, at + 5, size);
        at += 5 + size;
    }
    CHECK(at == end);
}

TEST(rows_go_over_the_borders_of_blocks)
{
    enum { WIDTH = 300, HEIGHT = 200, STRIDE = 1000 };
    unsigned char *pixels = mem_array(HEIGHT, STRIDE);
    struct png_image image = {pixels, WIDTH, HEIGHT, 3, STRIDE};
    struct buf out = BUF_INIT;
    struct buf rows = BUF_INIT;
    uint32_t width, height;

    for (size_t i = 0; i < (size_t)HEIGHT * STRIDE; i++)
        pixels[i] = (unsigned char)(i * 7 + i / 1000);
    png_encode(&out, &image);
    CHECK_EQ(out.status, DET_OK);
    unpack(&out, &rows);
    CHECK_EQ(rows.len, HEIGHT * (1 + WIDTH * 3));
    for (size_t y = 0; y < HEIGHT; y++) {
        CHECK_EQ(rows.data[y * (1 + WIDTH * 3)], 0);
        CHECK(memcmp(rows.data + y * (1 + WIDTH * 3) + 1, pixels + y * STRIDE,
                     WIDTH * 3) == 0);
    }
    CHECK(png_size(out.data, out.len, &width, &height));
    CHECK_EQ(width, WIDTH);
    CHECK_EQ(height, HEIGHT);
    buf_done(&rows);
    buf_done(&out);
    mem_free(pixels);
}

TEST(what_is_no_png_has_no_size)
{
    static const unsigned char pixel[] = {1};
    struct png_image image = {pixel, 1, 1, 1, 1};
    struct buf out = BUF_INIT;
    uint32_t width, height;

    png_encode(&out, &image);
    CHECK(png_size(out.data, out.len, &width, &height));
    CHECK(!png_size(out.data, 20, &width, &height));
    CHECK(!png_size("", 0, &width, &height));
    out.data[19] = 0; /* no pixel wide */
    CHECK(!png_size(out.data, out.len, &width, &height));
    out.data[1] = 'J';
    CHECK(!png_size(out.data, out.len, &width, &height));
    buf_done(&out);
}

TEST(a_picture_beyond_the_limit_or_out_of_memory_shows_in_the_buffer)
{
    static const unsigned char pixels[64];
    struct png_image image = {pixels, 8, 8, 1, 8};
    struct png_image wide = {pixels, 1 << 20, 1 << 20, 4, 0};
    struct buf little = BUF_LIMITED(100);
    struct buf large = BUF_INIT;

    png_encode(&little, &image);
    CHECK_EQ(little.status, DET_TOO_LARGE);
    png_encode(&large, &wide);
    CHECK_EQ(large.status, DET_TOO_LARGE);
    buf_done(&little);
    buf_done(&large);
    EACH_ALLOCATION_FAILS() {
        struct buf out = BUF_INIT;

        png_encode(&out, &image);
        CHECK_EQ(out.status, fault_fired() ? DET_NOMEM : DET_OK);
        buf_done(&out);
    }
}
