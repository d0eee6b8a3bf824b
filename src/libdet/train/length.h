/* SPDX-License-Identifier: Apache-2.0 */
/* length.h - reads lengths of a configuration: {"epochs": 3}, or a plain number. */
#ifndef LIBDET_TRAIN_LENGTH_H
#define LIBDET_TRAIN_LENGTH_H

#include "det/trainer.h"

struct json;

/* A plain number has DET_NO_UNIT; count 0: not a length. */
det_length length_read(const struct json *value);

#endif
