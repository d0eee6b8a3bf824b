/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h - does the same work on many items, with a few threads at once. */
#ifndef LIBDET_PARALLEL_H
#define LIBDET_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Does the work for item `i`; called from any thread, in any order. */
typedef det_status parallel_fn(void *arg, size_t i, struct err *err);

/* Does the work for all `count` items and returns when all threads are done.  After a
 * failure no new item is started; of several failures it returns the one of the lowest
 * item.  `is_alone`: only the caller works, in order; so it does if no thread can be
 * started. */
det_status parallel_run(size_t count, bool is_alone, parallel_fn *work, void *arg,
                        struct err *err);

#endif
