/* SPDX-License-Identifier: Apache-2.0 */
/* look_bodies.h - bodies of calls that only look: see bodies.h. */
#ifndef WIRE_LOOK_BODIES_H
#define WIRE_LOOK_BODIES_H

#include <stdint.h>

#include "model/field.h"

/* Ours: a configuration to be checked. */
struct check_body {
    const char *config;
    const char *kind;
    int64_t continues;
};
extern const struct field check_body_fields[];

struct model_def_file_body {
    int64_t experiment_id;
    const char *path;
};
extern const struct field model_def_file_body_fields[];

#endif
