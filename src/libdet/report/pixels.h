/* SPDX-License-Identifier: Apache-2.0 */
/* pixels.h - checks a picture that a program gave as pixels. */
#ifndef LIBDET_REPORT_PIXELS_H
#define LIBDET_REPORT_PIXELS_H

#include "base/err.h"
#include "det/tensorboard.h"

struct png_image;

/* Borrows the pixels.  DET_INVALID says what is wrong. */
det_status pixels_read(const det_image *image, struct png_image *ret_image,
                       struct err *err);

#endif
