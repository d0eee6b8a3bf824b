/* SPDX-License-Identifier: Apache-2.0 */
/* build.h - getting the environment that a task asks for, building it where there is
 * none.
 *
 * One builder at a time for each key; whoever else wants it waits.  Everything that
 * takes time is said on standard error, which is the task's log. */
#ifndef AGENT_ENV_BUILD_H
#define AGENT_ENV_BUILD_H

#include <stdbool.h>

#include "agent/env/envs.h"
#include "agent/env/key.h"

struct interpreter;

struct build_config {
    struct io *io;
    const char *envs;    /* is there */
    const char *package; /* the folder that holds `determined`; NULL: none */
    const char *python;  /* name or path */
    struct env_wish wish;
};

struct build {
    struct env env; /* in the arena; as long as its `use` is open, it stays */
    bool is_final;  /* of a failure: whoever tries again will fail again */
};

/* May take minutes.  `ret_build->is_final` is set also when it fails. */
det_status build_environment(const struct build_config *config, struct arena *mem,
                             struct build *ret_build, struct err *err);

/* Whether something that pip said points to trouble that may pass: the network, the
 * disk, memory. */
bool build_may_pass(const char *line);

#endif
