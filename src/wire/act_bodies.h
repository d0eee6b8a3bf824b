/* SPDX-License-Identifier: Apache-2.0 */
/* act_bodies.h - one thing done with many: see bodies.h. */
#ifndef WIRE_ACT_BODIES_H
#define WIRE_ACT_BODIES_H

#include "model/field.h"

/* The table of experiments. */
struct act_on_experiments_body {
    const char *action;
    struct field_i64s ids;
    const char *label;
};
extern const struct field act_on_experiments_body_fields[];

#endif
