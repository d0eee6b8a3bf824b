/* SPDX-License-Identifier: Apache-2.0 */
/* job_bodies.c - the field tables of job_bodies.h. */
#include "wire/job_bodies.h"

#include <stddef.h>

const struct field create_generic_task_body_fields[] = {
    FIELD_REQUIRED(STR, create_generic_task_body, config, "the configuration, YAML"),
    FIELD(TREE, create_generic_task_body, context_directory,
          "files: path, type, content"),
    FIELD(I64, create_generic_task_body, project_id, "project of the job"),
    FIELD(I64, create_generic_task_body, workspace_id,
          "workspace of the job, instead of a project"),
    FIELD(STR, create_generic_task_body, forked_from,
          "job whose files to use if it has none"),
    FIELD(STR, create_generic_task_body, parent_id, "not built yet"),
    FIELD(BOOL, create_generic_task_body, inherit_context, "not built yet"),
    FIELD(BOOL, create_generic_task_body, no_pause, "it cannot be paused or preempted"),
    FIELD_END,
};

const struct field kill_task_body_fields[] = {
    FIELD(STR, kill_task_body, task_id, "as in the path"),
    FIELD(BOOL, kill_task_body, kill_from_root, "no effect: a job has no parent"),
    FIELD_END,
};

const struct field launch_tensorboard_body_fields[] = {
    FIELD(TREE, launch_tensorboard_body, config,
          "configuration of a job, without an entrypoint"),
    FIELD(I64S, launch_tensorboard_body, experiment_ids,
          "experiments, with all their trials"),
    FIELD(I64S, launch_tensorboard_body, trial_ids, "single trials"),
    FIELD(TREE, launch_tensorboard_body, files, "files: path, type, content"),
    FIELD(TREE, launch_tensorboard_body, filters, "not built yet"),
    FIELD(STR, launch_tensorboard_body, template_name, "not built yet"),
    FIELD(I64, launch_tensorboard_body, workspace_id,
          "its workspace; default: the first one"),
    FIELD_END,
};

const struct field proxy_body_fields[] = {
    FIELD_REQUIRED(I64, proxy_body, port, "1 to 65535"),
    FIELD_END,
};
