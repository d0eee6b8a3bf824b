/* SPDX-License-Identifier: Apache-2.0 */
/* pixels.c - see pixels.h. */
#include "libdet/report/pixels.h"

#include <inttypes.h>
#include <string.h>

#include "data/png.h"

det_status pixels_read(const det_image *image, struct png_image *ret_image,
                       struct err *err)
{
    det_image all = {0};
    size_t row;

    if (!image || !image->size || image->size > sizeof(all))
        return err_set(err, DET_INVALID,
                       "the picture has a wrong size: set it to sizeof(det_image)");
    memcpy(&all, image, image->size);
    if (!all.pixels || !all.width || !all.height || all.width > PNG_SIDE_MOST ||
        all.height > PNG_SIDE_MOST)
        return err_set(err, DET_INVALID,
                       "the picture has %" PRIu32 " times %" PRIu32
                       " pixels%s; expected 1 to %d either way",
                       all.width, all.height,
                       all.pixels ? "" : " of which none is given", PNG_SIDE_MOST);
    if (!all.channels || all.channels > PNG_CHANNELS_MOST)
        return err_set(err, DET_INVALID,
                       "the picture has %" PRIu32 " channels; expected 1 to %d",
                       all.channels, PNG_CHANNELS_MOST);
    row = (size_t)all.width * all.channels;
    if (all.stride && all.stride < row)
        return err_set(err, DET_INVALID,
                       "rows of %zu bytes do not fit into a stride of %zu", row,
                       all.stride);
    *ret_image = (struct png_image){all.pixels, all.width, all.height, all.channels,
                                    all.stride ? all.stride : row};
    return DET_OK;
}
