/* SPDX-License-Identifier: Apache-2.0 */
/* together.h - the same work on many things, by a few threads at once. */
#ifndef LIBDET_TOGETHER_H
#define LIBDET_TOGETHER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Does thing `i`; from any thread, in any order. */
typedef det_status together_fn(void *arg, size_t i, struct err *err);

/* Does all `count` things and returns when nobody works any more.  Of several failures
 * it gives the one of the first thing; after one nothing new is begun.  `is_alone`: by
 * the caller only, in order.  Where no thread can be had the caller works alone. */
det_status together(size_t count, bool is_alone, together_fn *work, void *arg,
                    struct err *err);

#endif
