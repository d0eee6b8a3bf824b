/* SPDX-License-Identifier: Apache-2.0 */
/* bodies.c - the field tables of bodies.h. */
#include "wire/bodies.h"
#include "wire/job_bodies.h"

#include <stddef.h>

#include "wire/page_bodies.h"

const struct field none_fields[] = {
    FIELD_END,
};

const struct field bytes_body_fields[] = {
    FIELD_END,
};

const struct field login_body_fields[] = {
    FIELD(STR, login_body, username, "who"),
    FIELD(STR, login_body, password, "the password, or its salted SHA-512"),
    FIELD(BOOL, login_body, is_hashed, "it is the hash"),
    FIELD_END,
};

static const struct field user_part_fields[] = {
    FIELD_REQUIRED(STR, user_part, username, "the name to log in with"),
    FIELD(STR, user_part, display_name, "the name to show"),
    FIELD_OPTIONAL(BOOL, user_part, admin, "an administrator"),
    FIELD_OPTIONAL(BOOL, user_part, active, "may log in"),
    FIELD(BOOL, user_part, remote, "comes from elsewhere"),
    FIELD_END,
};

const struct field create_user_body_fields[] = {
    FIELD_OF(RECORD, create_user_body, user, user_part_fields, struct user_part, "who"),
    FIELD(STR, create_user_body, password, "the password, or its salted SHA-512"),
    FIELD(BOOL, create_user_body, is_hashed, "it is the hash"),
    FIELD_END,
};

const struct field patch_user_body_fields[] = {
    FIELD(STR, patch_user_body, username, "the name to log in with"),
    FIELD(STR, patch_user_body, display_name, "the name to show"),
    FIELD_OPTIONAL(BOOL, patch_user_body, admin, "an administrator"),
    FIELD_OPTIONAL(BOOL, patch_user_body, active, "may log in"),
    FIELD_OPTIONAL(STR, patch_user_body, password, "a new password"),
    FIELD(BOOL, patch_user_body, is_hashed, "it is the salted SHA-512"),
    FIELD_END,
};

const struct field create_experiment_body_fields[] = {
    FIELD_REQUIRED(STR, create_experiment_body, config, "the configuration, YAML"),
    FIELD(TREE, create_experiment_body, model_definition, "files: path, type, content"),
    FIELD(BOOL, create_experiment_body, activate, "start at once"),
    FIELD(I64, create_experiment_body, project_id, "the project it belongs to"),
    FIELD_NAMED(STR, create_experiment_body, template_name, "template", "a template"),
    FIELD(BOOL, create_experiment_body, validate_only, "check, submit nothing"),
    FIELD(I64, create_experiment_body, parent_id, "the experiment it is forked from"),
    FIELD(BOOL, create_experiment_body, unmanaged, "somebody else runs it"),
    FIELD_END,
};

const struct field put_experiment_body_fields[] = {
    FIELD_OF(RECORD, put_experiment_body, create_experiment_request,
             create_experiment_body_fields, struct create_experiment_body,
             "what it is, unless it is there already"),
    FIELD(STR, put_experiment_body, external_experiment_id, "as in the path"),
    FIELD_END,
};

const struct field create_trial_body_fields[] = {
    FIELD_REQUIRED(I64, create_trial_body, experiment_id, "an unmanaged experiment"),
    FIELD(TREE, create_trial_body, hparams, "its hyperparameters"),
    FIELD(BOOL, create_trial_body, unmanaged, "somebody else runs it"),
    FIELD_END,
};

const struct field put_trial_body_fields[] = {
    FIELD_OF(RECORD, put_trial_body, create_trial_request, create_trial_body_fields,
             struct create_trial_body, "what it is, unless it is there already"),
    FIELD_REQUIRED(STR, put_trial_body, external_trial_id, "what its runner calls it"),
    FIELD_END,
};

const struct field patch_trial_body_fields[] = {
    FIELD(I64, patch_trial_body, trial_id, "as in the path"),
    FIELD(STR, patch_trial_body, state, "how it is: STATE_RUNNING, STATE_COMPLETED"),
    FIELD(TIME, patch_trial_body, start_time, "when it began"),
    FIELD(TIME, patch_trial_body, end_time, "when it ended"),
    FIELD(I64, patch_trial_body, trial_run_id, "its latest run"),
    FIELD_END,
};

const struct field check_body_fields[] = {
    FIELD_REQUIRED(STR, check_body, config, "the configuration, YAML"),
    FIELD(STR, check_body, kind, "experiment (unless given) or job"),
    FIELD(I64, check_body, continues, "it is what changes in this experiment"),
    FIELD_END,
};

const struct field model_def_file_body_fields[] = {
    FIELD(I64, model_def_file_body, experiment_id, "as in the path"),
    FIELD_REQUIRED(STR, model_def_file_body, path, "which file"),
    FIELD_END,
};

const struct field continue_experiment_body_fields[] = {
    FIELD_REQUIRED(I64, continue_experiment_body, id, "the experiment"),
    FIELD(STR, continue_experiment_body, override_config,
          "what changes in its configuration, YAML"),
    FIELD_END,
};

const struct field act_on_experiments_body_fields[] = {
    FIELD_REQUIRED(
        STR, act_on_experiments_body, action,
        "pause, activate, cancel, kill, archive, unarchive, delete, label or "
        "unlabel"),
    FIELD_REQUIRED(I64S, act_on_experiments_body, ids, "the experiments"),
    FIELD(STR, act_on_experiments_body, label, "what label and unlabel are about"),
    FIELD_END,
};

static const struct field patch_resources_fields[] = {
    FIELD_OPTIONAL(I64, patch_resources, max_slots, "cap on its slots"),
    FIELD_OPTIONAL(F64, patch_resources, weight, "its share under fair share"),
    FIELD_OPTIONAL(I64, patch_resources, priority, "1..99, lower first"),
    FIELD_END,
};

static const struct field patch_storage_fields[] = {
    FIELD_OPTIONAL(I64, patch_storage, save_experiment_best, "best of the experiment"),
    FIELD_OPTIONAL(I64, patch_storage, save_trial_best, "best of each trial"),
    FIELD_OPTIONAL(I64, patch_storage, save_trial_latest, "latest of each trial"),
    FIELD_END,
};

const struct field patch_experiment_body_fields[] = {
    FIELD(STR, patch_experiment_body, name, "a new name"),
    FIELD(STR, patch_experiment_body, description, "a new description"),
    FIELD(STR, patch_experiment_body, notes, "new notes"),
    FIELD(STR, patch_experiment_body, notes_before,
          "the notes that they replace; 409 when those are others by now"),
    FIELD(TREE, patch_experiment_body, labels, "a new set of labels"),
    FIELD_OF(RECORD, patch_experiment_body, resources, patch_resources_fields,
             struct patch_resources, "its place in the queue"),
    FIELD_OF(RECORD, patch_experiment_body, checkpoint_storage, patch_storage_fields,
             struct patch_storage, "which checkpoints are kept"),
    FIELD_END,
};

const struct field create_generic_task_body_fields[] = {
    FIELD_REQUIRED(STR, create_generic_task_body, config, "the configuration, YAML"),
    FIELD(TREE, create_generic_task_body, context_directory,
          "files: path, type, content"),
    FIELD(I64, create_generic_task_body, project_id, "the project it belongs to"),
    FIELD(STR, create_generic_task_body, forked_from,
          "the job whose files it works on when it brings none"),
    FIELD(STR, create_generic_task_body, parent_id, "not built yet"),
    FIELD(BOOL, create_generic_task_body, inherit_context, "not built yet"),
    FIELD(BOOL, create_generic_task_body, no_pause,
          "it is never paused, and not preempted"),
    FIELD_END,
};

const struct field kill_task_body_fields[] = {
    FIELD(STR, kill_task_body, task_id, "as in the path"),
    FIELD(BOOL, kill_task_body, kill_from_root, "no effect: a job has no parent"),
    FIELD_END,
};

const struct field launch_tensorboard_body_fields[] = {
    FIELD(TREE, launch_tensorboard_body, config, "as of a job, without an entrypoint"),
    FIELD(I64S, launch_tensorboard_body, experiment_ids, "with all their trials"),
    FIELD(I64S, launch_tensorboard_body, trial_ids, "single trials"),
    FIELD(TREE, launch_tensorboard_body, files, "files: path, type, content"),
    FIELD(TREE, launch_tensorboard_body, filters, "not built yet"),
    FIELD(STR, launch_tensorboard_body, template_name, "not built yet"),
    FIELD(I64, launch_tensorboard_body, workspace_id, "there is one: 1"),
    FIELD_END,
};

const struct field proxy_body_fields[] = {
    FIELD_REQUIRED(I64, proxy_body, port, "1 to 65535"),
    FIELD_END,
};

const struct field retain_logs_body_fields[] = {
    FIELD_REQUIRED(I64, retain_logs_body, num_days, "-1: for ever"),
    FIELD_END,
};

static const struct field metrics_part_fields[] = {
    FIELD(TREE, metrics_part, avg_metrics, "name: value"),
    FIELD(TREE, metrics_part, batch_metrics, "the same for each batch"),
    FIELD_END,
};

static const struct field trial_metrics_part_fields[] = {
    FIELD(I64, trial_metrics_part, trial_id, "the trial"),
    FIELD(I64, trial_metrics_part, trial_run_id, "its run"),
    FIELD_OPTIONAL(I64, trial_metrics_part, steps_completed, "batches trained so far"),
    FIELD(TIME, trial_metrics_part, report_time, "when it was measured"),
    FIELD_OF(RECORD, trial_metrics_part, metrics, metrics_part_fields,
             struct metrics_part, "what was measured"),
    FIELD_END,
};

const struct field report_metrics_body_fields[] = {
    FIELD_OF(RECORD, report_metrics_body, metrics, trial_metrics_part_fields,
             struct trial_metrics_part, "the report"),
    FIELD(STR, report_metrics_body, group, "training, validation or another"),
    FIELD_END,
};

const struct field progress_body_fields[] = {
    FIELD_REQUIRED(F64, progress_body, progress, "0..1"),
    FIELD_END,
};

const struct field early_exit_body_fields[] = {
    FIELD_REQUIRED(STR, early_exit_body, reason, "EXITED_REASON_INVALID_HP"),
    FIELD_END,
};

const struct field runner_metadata_body_fields[] = {
    FIELD_REQUIRED(STR, runner_metadata_body, state, "training, validating, ..."),
    FIELD_END,
};

const struct field checkpoint_body_fields[] = {
    FIELD_REQUIRED(STR, checkpoint_body, uuid, "its id"),
    FIELD(STR, checkpoint_body, task_id, "the task that made it"),
    FIELD(STR, checkpoint_body, allocation_id, "the allocation that made it"),
    FIELD(TREE, checkpoint_body, metadata, "with steps_completed"),
    FIELD(TREE, checkpoint_body, resources, "path: size"),
    FIELD(STR, checkpoint_body, state, "STATE_COMPLETED"),
    FIELD(TIME, checkpoint_body, report_time, "when it was made"),
    FIELD(I64, checkpoint_body, storage_id, "where it lies"),
    FIELD_END,
};

const struct field run_metadata_body_fields[] = {
    FIELD_REQUIRED(TREE, run_metadata_body, metadata, "any object"),
    FIELD_END,
};

const struct field agent_hello_body_fields[] = {
    FIELD(STR, agent_hello_body, resource_pool, "the pool it serves"),
    FIELD_REQUIRED(TREE, agent_hello_body, devices, "its slots: id, brand, uuid, type"),
    FIELD(TREE, agent_hello_body, addresses, "where it can be reached"),
    FIELD(STR, agent_hello_body, boot_id, "this start of its machine"),
    FIELD(STR, agent_hello_body, version, "its version of det"),
    FIELD(STR, agent_hello_body, instance, "which of several that claim this name"),
    FIELD(STRS, agent_hello_body, tasks, "what it runs: allocation/rank"),
    FIELD_END,
};

const struct field agent_commands_query_fields[] = {
    FIELD(I64, agent_commands_query, after, "the last command seen"),
    FIELD(I64, agent_commands_query, timeout_seconds, "how long to wait"),
    FIELD(STR, agent_commands_query, epoch, "from hello"),
    FIELD(STR, agent_commands_query, instance, "as in hello"),
    FIELD_END,
};

const struct field agent_bye_body_fields[] = {
    FIELD(STR, agent_bye_body, instance, "as in hello"),
    FIELD_END,
};

const struct field share_state_body_fields[] = {
    FIELD(I64, share_state_body, rank, "which process"),
    FIELD_REQUIRED(STR, share_state_body, state, "PULLING, STARTING or RUNNING"),
    FIELD_END,
};

const struct field share_alive_body_fields[] = {
    FIELD(I64, share_alive_body, rank, "which process"),
    FIELD_END,
};

const struct field share_exit_body_fields[] = {
    FIELD(I64, share_exit_body, rank, "which process"),
    FIELD_REQUIRED(STR, share_exit_body, exit, "CLEAN, FAILED, TRANSIENT or KILLED"),
    FIELD(I64, share_exit_body, code, "its exit code; 128 and the signal"),
    FIELD(STR, share_exit_body, reason, "the same as a sentence"),
    FIELD(BOOL, share_exit_body, is_final, "it would fail again: no restarts"),
    FIELD_END,
};

const struct field share_record_body_fields[] = {
    FIELD(I64, share_record_body, rank, "which process"),
    FIELD_REQUIRED(TREE, share_record_body, record,
                   "machine, interpreter, packages, code"),
    FIELD_END,
};

const struct field share_logs_body_fields[] = {
    FIELD(I64, share_logs_body, rank, "which process"),
    FIELD_REQUIRED(STR, share_logs_body, stream, "stdout or stderr"),
    FIELD_REQUIRED(I64, share_logs_body, offset, "of the first byte"),
    FIELD_REQUIRED(I64, share_logs_body, end_offset, "behind the last byte"),
    FIELD_REQUIRED(TREE, share_logs_body, lines, "[[microseconds, text], ...]"),
    FIELD_END,
};

const struct field enable_body_fields[] = {
    FIELD(BOOL, enable_body, drain, "let running tasks end"),
    FIELD_END,
};
