/* SPDX-License-Identifier: Apache-2.0 */
/* hparam.h - hyperparameters by path, for the library and for `det hparam`. */
#ifndef LIBDET_HPARAM_H
#define LIBDET_HPARAM_H

struct json;

/* "optimizer.lr", "layers[0].units", "layers.0.units"; a name with dots in it wins over
 * a path.  NULL: there is none. */
const struct json *hparam_find(const struct json *hparams, const char *path);

#endif
