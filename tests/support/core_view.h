/* SPDX-License-Identifier: Apache-2.0 */
/* core_view.h - what is inside the heart, for tests. */
#ifndef TESTS_SUPPORT_CORE_VIEW_H
#define TESTS_SUPPORT_CORE_VIEW_H

#include "core/core.h"

struct buf;

/* Borrowed until the next core_apply(); NULL when it is not alive.  The heart does not
 * keep an experiment's two configurations, nor blocked agents and disabled slots as
 * text: those fields are NULL here. */
const struct experiment *core_experiment(const struct core *core, int64_t id);
const struct trial *core_trial(const struct core *core, int64_t id);
const struct job *core_job(const struct core *core, int64_t id);
const struct allocation *core_allocation(const struct core *core, int64_t id);
const struct allocation *core_allocation_named(const struct core *core,
                                               const char *name);
const struct agent *core_agent(const struct core *core, const char *name);

/* Everything the heart knows, as text, in a fixed order: equal hearts give equal text. */
void core_dump(const struct core *core, struct buf *out);

#endif
