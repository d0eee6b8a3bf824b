/* SPDX-License-Identifier: Apache-2.0 */
/* page_bodies.h - bodies of calls that the WebUI makes: see bodies.h. */
#ifndef WIRE_PAGE_BODIES_H
#define WIRE_PAGE_BODIES_H

#include <stdint.h>

#include "model/field.h"

/* One thing done with many experiments. */
struct act_on_experiments_body {
    const char *action;
    struct field_i64s ids;
    const char *label;
    int64_t project_id;
    int64_t num_days;
};
extern const struct field act_on_experiments_body_fields[];

/* A configuration to be checked. */
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
