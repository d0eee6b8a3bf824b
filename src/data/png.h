/* SPDX-License-Identifier: Apache-2.0 */
/* png.h - PNG pictures (ISO 15948): writes them, with or without compression, and reads
 * their size. */
#ifndef DATA_PNG_H
#define DATA_PNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* 8 bits per channel, rows from top to bottom, `stride` bytes apart.  Width and height
 * 1 to PNG_SIDE_MOST; 1 to 4 channels: grey, grey and alpha, RGB, RGBA. */
struct png_image {
    const unsigned char *pixels;
    uint32_t width;
    uint32_t height;
    uint32_t channels;
    size_t stride;
};

enum { PNG_SIDE_MOST = 1 << 20, PNG_CHANNELS_MOST = 4 };

/* Adds the file; the buffer's status says whether everything fits. */
void png_encode(struct buf *out, const struct png_image *image);
/* The same, compressed.  Needs memory for all pixels; `out->status` is DET_NOMEM if there
 * is none. */
void png_encode_small(struct buf *out, const struct png_image *image);
/* False: the bytes do not begin like a PNG file. */
bool png_size(const void *png, size_t len, uint32_t *ret_width, uint32_t *ret_height);

#endif
