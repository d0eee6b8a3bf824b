/* SPDX-License-Identifier: Apache-2.0 */
/* core_check.h - the invariants of the core (core.h), recounted. */
#ifndef CORE_CORE_CHECK_H
#define CORE_CORE_CHECK_H

#include "base/err.h"

struct core;

/* DET_OK, or DET_CORRUPT with the invariant that is broken.  O(everything). */
det_status core_check(const struct core *core, struct err *err);

#endif
