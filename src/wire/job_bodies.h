/* SPDX-License-Identifier: Apache-2.0 */
/* job_bodies.h - bodies of calls about jobs, TensorBoards and proxied programs; see
 * bodies.h. */
#ifndef WIRE_JOB_BODIES_H
#define WIRE_JOB_BODIES_H

#include "model/field.h"

struct json;

struct create_generic_task_body {
    const char *config;
    const struct json *context_directory;
    int64_t project_id;
    int64_t workspace_id;
    const char *forked_from;
    const char *parent_id;
    bool inherit_context;
    bool no_pause;
};
extern const struct field create_generic_task_body_fields[];

struct kill_task_body {
    const char *task_id;
    bool kill_from_root;
};
extern const struct field kill_task_body_fields[];

struct launch_tensorboard_body {
    const struct json *config;
    struct field_i64s experiment_ids;
    struct field_i64s trial_ids;
    const struct json *files;
    const struct json *filters;
    const char *template_name;
    int64_t workspace_id;
};
extern const struct field launch_tensorboard_body_fields[];

struct proxy_body {
    int64_t port;
};
extern const struct field proxy_body_fields[];

#endif
