/* SPDX-License-Identifier: Apache-2.0 */
/* png.c - pictures as PNG.
 *
 * A PNG file is a signature and chunks: length, name, bytes, CRC-32.  The pixels are
 * one zlib stream in IDAT, each row with a filter byte in front.  The stream consists
 * of "stored" blocks, which every reader knows: this needs no time, and the size is
 * known before the first byte.  Or zlib compresses it.  The checksums are zlib's. */
#include "data/png.h"

#include <assert.h>
#include <string.h>

#include <zlib.h>

#include "base/compiler.h"
#include "base/memory/buf.h"

enum {
    STORED_MOST = 65535, /* bytes of one stored block */
    STORED_HEAD = 5,
    NAME_LEN = 4,
};

static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

/* ---- pieces ---------------------------------------------------------------------- */

static void set_be32(char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (char)(value >> (24 - 8 * i));
}

static void put_be32(struct buf *out, uint32_t value)
{
    char bytes[4];

    set_be32(bytes, value);
    buf_add(out, bytes, sizeof(bytes));
}

static uint32_t get_be32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Returns where its name begins, for chunk_end(). */
static size_t chunk_begin(struct buf *out, const char *name, uint32_t len)
{
    put_be32(out, len);
    buf_add(out, name, NAME_LEN);
    return out->len - NAME_LEN;
}

static void chunk_end(struct buf *out, size_t begin)
{
    if (!out->status)
        put_be32(out, (uint32_t)crc32_z(0, (const Bytef *)out->data + begin,
                                        out->len - begin));
}

/* The zlib stream that is being written. */
struct stored {
    struct buf *out;
    uLong adler;
    uint64_t left;       /* bytes left of the whole stream */
    uint32_t block_left; /* ... and of the block */
};

static void block_begin(struct stored *stored)
{
    uint32_t len = (uint32_t)MIN(stored->left, (uint64_t)STORED_MOST);
    unsigned char head[STORED_HEAD] = {len == stored->left, /* the last one */
                                       (unsigned char)len, (unsigned char)(len >> 8),
                                       (unsigned char)~len, (unsigned char)(~len >> 8)};

    buf_add(stored->out, head, sizeof(head));
    stored->block_left = len;
}

static void stored_add(struct stored *stored, const unsigned char *at, size_t len)
{
    stored->adler = adler32_z(stored->adler, at, len);
    while (len > 0) {
        size_t run;

        if (!stored->block_left)
            block_begin(stored);
        run = MIN(len, (size_t)stored->block_left);
        buf_add(stored->out, at, run);
        stored->block_left -= (uint32_t)run;
        stored->left -= run;
        at += run;
        len -= run;
    }
}

/* ---- files ----------------------------------------------------------------------- */

static void put_header(struct buf *out, const struct png_image *image)
{
    static const unsigned char colour[PNG_CHANNELS_MOST] = {0, 4, 2, 6};
    /* bits per channel; compression, filter, interlace: the only one, none, none */
    unsigned char rest[5] = {8, colour[image->channels - 1], 0, 0, 0};
    size_t begin = chunk_begin(out, "IHDR", 13);

    put_be32(out, image->width);
    put_be32(out, image->height);
    buf_add(out, rest, sizeof(rest));
    chunk_end(out, begin);
}

static void put_pixels(struct buf *out, const struct png_image *image)
{
    static const unsigned char no_filter[1];
    static const unsigned char zlib_head[2] = {0x78, 0x01};
    size_t row = (size_t)image->width * image->channels;
    struct stored stored = {
        .out = out, .adler = 1, .left = (uint64_t)(row + 1) * image->height};
    uint64_t blocks = (stored.left + STORED_MOST - 1) / STORED_MOST;
    uint64_t len = sizeof(zlib_head) + blocks * STORED_HEAD + stored.left + 4;
    size_t begin;

    if (len > INT32_MAX) { /* the largest chunk */
        out->status = out->status ? out->status : DET_TOO_LARGE;
        return;
    }
    (void)buf_room(out, (size_t)len + 64); /* all at once; a failure sticks */
    begin = chunk_begin(out, "IDAT", (uint32_t)len);
    buf_add(out, zlib_head, sizeof(zlib_head));
    for (uint32_t y = 0; y < image->height && !out->status; y++) {
        stored_add(&stored, no_filter, 1);
        stored_add(&stored, image->pixels + (size_t)y * image->stride, row);
    }
    put_be32(out, (uint32_t)stored.adler);
    chunk_end(out, begin);
}

/* All rows, each with its filter byte, as one stream. */
static void put_compressed(struct buf *out, const struct png_image *image)
{
    CLEANUP(buf_done) struct buf raw = BUF_INIT;
    size_t row = (size_t)image->width * image->channels;
    uint64_t all = (uint64_t)(row + 1) * image->height;
    uLongf len = all > INT32_MAX ? 0 : compressBound((uLong)all);
    size_t begin;
    char *to;

    if (all > INT32_MAX || len > INT32_MAX) { /* the largest chunk */
        out->status = out->status ? out->status : DET_TOO_LARGE;
        return;
    }
    (void)buf_room(&raw, (size_t)all);
    for (uint32_t y = 0; y < image->height && !raw.status; y++) {
        buf_putc(&raw, 0); /* no filter */
        buf_add(&raw, image->pixels + (size_t)y * image->stride, row);
    }
    begin = chunk_begin(out, "IDAT", 0);
    to = buf_room(out, len);
    if (raw.status || !to ||
        compress2((Bytef *)to, &len, (const Bytef *)raw.data, (uLong)all,
                  Z_DEFAULT_COMPRESSION) != Z_OK) {
        out->status = out->status ? out->status : DET_NOMEM;
        return;
    }
    buf_took(out, len);
    set_be32(out->data + begin - 4, (uint32_t)len);
    chunk_end(out, begin);
}

static void put_file(struct buf *out, const struct png_image *image,
                     void (*put)(struct buf *out, const struct png_image *image))
{
    assert(image->width >= 1 && image->width <= PNG_SIDE_MOST);
    assert(image->height >= 1 && image->height <= PNG_SIDE_MOST);
    assert(image->channels >= 1 && image->channels <= PNG_CHANNELS_MOST);
    buf_add(out, signature, sizeof(signature));
    put_header(out, image);
    put(out, image);
    chunk_end(out, chunk_begin(out, "IEND", 0));
}

void png_encode(struct buf *out, const struct png_image *image)
{
    put_file(out, image, put_pixels);
}

void png_encode_small(struct buf *out, const struct png_image *image)
{
    put_file(out, image, put_compressed);
}

bool png_size(const void *png, size_t len, uint32_t *ret_width, uint32_t *ret_height)
{
    const unsigned char *at = png;
    uint32_t width, height;

    if (len < 33 || memcmp(at, signature, sizeof(signature)) != 0 ||
        memcmp(at + 12, "IHDR", NAME_LEN) != 0)
        return false;
    width = get_be32(at + 16);
    height = get_be32(at + 20);
    if (!width || !height || width > INT32_MAX || height > INT32_MAX)
        return false;
    *ret_width = width;
    *ret_height = height;
    return true;
}
