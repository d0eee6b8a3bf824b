/* SPDX-License-Identifier: Apache-2.0 */
/* build.h - finds the environment that a task asks for, and builds it if it does not
 * exist.
 *
 * One builder at a time per key; others wait for it.  Long steps are announced on
 * standard error, which is the task's log. */
#ifndef AGENT_ENV_BUILD_H
#define AGENT_ENV_BUILD_H

#include <stdbool.h>

#include "agent/env/envs.h"
#include "agent/env/key.h"

struct build_config {
    struct io *io;
    const char *envs;    /* must exist */
    const char *package; /* the folder that holds `determined`; NULL: none */
    const char *python;  /* name or path */
    struct env_wish wish;
    /* Told in a few words what the build does, at most once a second, and in the end; NULL:
     * nobody is. */
    void (*tell)(const char *text);
};

struct build {
    struct env env; /* in the arena; not removed while its `use` is open */
    bool is_final;  /* of a failure: a retry would fail again */
};

/* May take minutes.  `ret_build->is_final` is set also when it fails. */
det_status build_environment(const struct build_config *config, struct arena *mem,
                             struct build *ret_build, struct err *err);

/* Whether a line of pip points to trouble that may pass: network, disk, memory. */
bool build_may_pass(const char *line);
/* Why no package index can be reached, if this line of pip says so; else NULL. */
const char *build_no_index(const char *line);

#endif
