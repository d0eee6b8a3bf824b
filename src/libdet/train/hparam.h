/* SPDX-License-Identifier: Apache-2.0 */
/* hparam.h - finds hyperparameters by path, for the library and for `det hparam`. */
#ifndef LIBDET_TRAIN_HPARAM_H
#define LIBDET_TRAIN_HPARAM_H

struct json;

/* Paths look like "optimizer.lr", "layers[0].units" or "layers.0.units"; a name that
 * contains dots is found first.  NULL: not found. */
const struct json *hparam_find(const struct json *hparams, const char *path);

#endif
