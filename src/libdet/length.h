/* SPDX-License-Identifier: Apache-2.0 */
/* length.h - lengths as configurations write them: {"epochs": 3}, or a plain number. */
#ifndef LIBDET_LENGTH_H
#define LIBDET_LENGTH_H

#include "det/trainer.h"

struct json;

/* A plain number has DET_NO_UNIT; count 0: there is none. */
det_length length_read(const struct json *value);

#endif
