/* SPDX-License-Identifier: Apache-2.0 */
/* bodies.c - the field tables of bodies.h. */
#include "wire/bodies.h"

#include <stddef.h>

const struct field none_fields[] = {
    FIELD_END,
};

const struct field bytes_body_fields[] = {
    FIELD_END,
};

const struct field login_body_fields[] = {
    FIELD(STR, login_body, username, "user name"),
    FIELD(STR, login_body, password, "the password, or its salted SHA-512"),
    FIELD(BOOL, login_body, is_hashed, "whether password is the hash"),
    FIELD_END,
};

static const struct field user_part_fields[] = {
    FIELD_REQUIRED(STR, user_part, username, "name to log in with"),
    FIELD(STR, user_part, display_name, "name to display"),
    FIELD_OPTIONAL(BOOL, user_part, admin, "whether the user is an administrator"),
    FIELD_OPTIONAL(BOOL, user_part, active, "whether the user may log in"),
    FIELD(BOOL, user_part, remote, "managed by another service"),
    FIELD(TREE, user_part, agent_user_group,
          "identity of its tasks: agentUid, agentGid, agentUser, agentGroup"),
    FIELD_END,
};

const struct field create_user_body_fields[] = {
    FIELD_OF_REQUIRED(RECORD, create_user_body, user, user_part_fields,
                      struct user_part, "the user"),
    FIELD(STR, create_user_body, password, "the password, or its salted SHA-512"),
    FIELD(BOOL, create_user_body, is_hashed, "whether password is the hash"),
    FIELD_END,
};

const struct field patch_user_body_fields[] = {
    FIELD(STR, patch_user_body, username, "name to log in with"),
    FIELD(STR, patch_user_body, display_name, "name to display"),
    FIELD_OPTIONAL(BOOL, patch_user_body, admin,
                   "whether the user is an administrator"),
    FIELD_OPTIONAL(BOOL, patch_user_body, active, "whether the user may log in"),
    FIELD_OPTIONAL(BOOL, patch_user_body, remote, "managed by another service"),
    FIELD_OPTIONAL(STR, patch_user_body, password, "a new password"),
    FIELD(BOOL, patch_user_body, is_hashed, "whether password is the salted SHA-512"),
    FIELD(TREE, patch_user_body, agent_user_group,
          "identity of its tasks: agentUid, agentGid, agentUser, agentGroup; all null: "
          "none"),
    FIELD_END,
};

const struct field reset_password_body_fields[] = {
    FIELD_REQUIRED(STR, reset_password_body, ticket,
                   "name of the file reset-TICKET in the data directory"),
    FIELD_END,
};

const struct field create_experiment_body_fields[] = {
    FIELD_REQUIRED(STR, create_experiment_body, config, "the configuration, YAML"),
    FIELD(TREE, create_experiment_body, model_definition, "files: path, type, content"),
    FIELD(BOOL, create_experiment_body, activate, "start it at once"),
    FIELD(I64, create_experiment_body, project_id, "project of the experiment"),
    FIELD_NAMED(STR, create_experiment_body, template_name, "template",
                "not built: refused"),
    FIELD(BOOL, create_experiment_body, validate_only, "only check it"),
    FIELD(I64, create_experiment_body, parent_id, "the experiment it is forked from"),
    FIELD(BOOL, create_experiment_body, unmanaged, "the master only records it"),
    FIELD_END,
};

const struct field put_experiment_body_fields[] = {
    FIELD_OF(RECORD, put_experiment_body, create_experiment_request,
             create_experiment_body_fields, struct create_experiment_body,
             "used if it does not exist yet"),
    FIELD(STR, put_experiment_body, external_experiment_id, "as in the path"),
    FIELD_END,
};

const struct field create_trial_body_fields[] = {
    FIELD_REQUIRED(I64, create_trial_body, experiment_id, "an unmanaged experiment"),
    FIELD(TREE, create_trial_body, hparams, "its hyperparameters"),
    FIELD(BOOL, create_trial_body, unmanaged, "the master only records it"),
    FIELD_END,
};

const struct field put_trial_body_fields[] = {
    FIELD_OF(RECORD, put_trial_body, create_trial_request, create_trial_body_fields,
             struct create_trial_body, "used if it does not exist yet"),
    FIELD_REQUIRED(STR, put_trial_body, external_trial_id, "id given by its runner"),
    FIELD_END,
};

const struct field patch_trial_body_fields[] = {
    FIELD(I64, patch_trial_body, trial_id, "as in the path"),
    FIELD(STR, patch_trial_body, state, "STATE_RUNNING, STATE_COMPLETED, ..."),
    FIELD(TIME, patch_trial_body, start_time, "when it began"),
    FIELD(TIME, patch_trial_body, end_time, "when it ended"),
    FIELD(I64, patch_trial_body, trial_run_id, "its latest run"),
    FIELD_END,
};

const struct field continue_experiment_body_fields[] = {
    FIELD_REQUIRED(I64, continue_experiment_body, id, "the experiment"),
    FIELD(STR, continue_experiment_body, override_config,
          "changes to its configuration, YAML"),
    FIELD_END,
};

static const struct field patch_resources_fields[] = {
    FIELD_OPTIONAL(I64, patch_resources, max_slots, "most slots at a time"),
    FIELD_OPTIONAL(F64, patch_resources, weight, "weight in a fair-share pool"),
    FIELD_OPTIONAL(I64, patch_resources, priority, "1..99, lower runs first"),
    FIELD_END,
};

static const struct field patch_storage_fields[] = {
    FIELD_OPTIONAL(I64, patch_storage, save_experiment_best,
                   "best checkpoints to keep per experiment"),
    FIELD_OPTIONAL(I64, patch_storage, save_trial_best,
                   "best checkpoints to keep per trial"),
    FIELD_OPTIONAL(I64, patch_storage, save_trial_latest,
                   "latest checkpoints to keep per trial"),
    FIELD_END,
};

const struct field patch_experiment_body_fields[] = {
    FIELD(STR, patch_experiment_body, name, "a new name"),
    FIELD(STR, patch_experiment_body, description, "a new description"),
    FIELD(STR, patch_experiment_body, notes, "new notes"),
    FIELD(STR, patch_experiment_body, notes_before,
          "the notes that they replace; 409 if those have changed"),
    FIELD(TREE, patch_experiment_body, labels, "a new set of labels"),
    FIELD_OF(RECORD, patch_experiment_body, resources, patch_resources_fields,
             struct patch_resources, "its place in the queue"),
    FIELD_OF(RECORD, patch_experiment_body, checkpoint_storage, patch_storage_fields,
             struct patch_storage, "which checkpoints are kept"),
    FIELD_END,
};

const struct field retain_logs_body_fields[] = {
    FIELD_REQUIRED(I64, retain_logs_body, num_days, "days to keep logs; -1: for ever"),
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
             struct metrics_part, "the metrics"),
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
    FIELD(I64, checkpoint_body, storage_id, "id of its storage"),
    FIELD_END,
};

const struct field run_metadata_body_fields[] = {
    FIELD_REQUIRED(TREE, run_metadata_body, metadata, "any object"),
    FIELD_END,
};

const struct field agent_hello_body_fields[] = {
    FIELD(STR, agent_hello_body, resource_pool, "resource pool to join"),
    FIELD_REQUIRED(TREE, agent_hello_body, devices, "its slots: id, brand, uuid, type"),
    FIELD(TREE, agent_hello_body, addresses, "its network addresses"),
    FIELD(STR, agent_hello_body, boot_id, "boot id of its machine"),
    FIELD(STR, agent_hello_body, version, "its version of det"),
    FIELD(I64, agent_hello_body, protocol, "number of its protocol (default: 0)"),
    FIELD(STR, agent_hello_body, instance, "id of its directory"),
    FIELD(STRS, agent_hello_body, tasks, "the shares it has: allocation/rank"),
    FIELD_END,
};

const struct field agent_commands_query_fields[] = {
    FIELD(I64, agent_commands_query, after, "the last command seen"),
    FIELD(I64, agent_commands_query, timeout_seconds, "how long to wait"),
    FIELD(STR, agent_commands_query, epoch, "from hello"),
    FIELD(STR, agent_commands_query, instance, "as in hello"),
    FIELD(I64, agent_commands_query, disk_free, "bytes, where its tasks are"),
    FIELD(I64, agent_commands_query, clock, "its time, in microseconds"),
    FIELD_END,
};

const struct field agent_bye_body_fields[] = {
    FIELD(STR, agent_bye_body, instance, "as in hello"),
    FIELD_END,
};

const struct field share_state_body_fields[] = {
    FIELD(I64, share_state_body, rank, "rank of the share"),
    FIELD_REQUIRED(STR, share_state_body, state, "PULLING, STARTING or RUNNING"),
    FIELD_END,
};

const struct field share_alive_body_fields[] = {
    FIELD(I64, share_alive_body, rank, "rank of the share"),
    FIELD_END,
};

const struct field share_exit_body_fields[] = {
    FIELD(I64, share_exit_body, rank, "rank of the share"),
    FIELD_REQUIRED(STR, share_exit_body, exit, "CLEAN, FAILED, TRANSIENT or KILLED"),
    FIELD(I64, share_exit_body, code, "exit code; 128 + signal number"),
    FIELD(STR, share_exit_body, reason, "the reason, as a sentence"),
    FIELD(BOOL, share_exit_body, is_final, "a retry would fail, too: no restarts"),
    FIELD_END,
};

const struct field share_record_body_fields[] = {
    FIELD(I64, share_record_body, rank, "rank of the share"),
    FIELD_REQUIRED(TREE, share_record_body, record,
                   "machine, interpreter, packages, code"),
    FIELD_END,
};

const struct field share_load_body_fields[] = {
    FIELD(I64, share_load_body, rank, "rank of the share"),
    FIELD(I64, share_load_body, time_us, "when, in microseconds; 0: now"),
    FIELD_REQUIRED(TREE, share_load_body, load, "values by group: cpu, memory, ..."),
    FIELD_END,
};

const struct field share_logs_body_fields[] = {
    FIELD(I64, share_logs_body, rank, "rank of the share"),
    FIELD_REQUIRED(STR, share_logs_body, stream, "stdout or stderr"),
    FIELD_REQUIRED(I64, share_logs_body, offset, "offset of the first byte"),
    FIELD_REQUIRED(I64, share_logs_body, end_offset, "offset after the last byte"),
    FIELD_REQUIRED(TREE, share_logs_body, lines, "[[microseconds, text], ...]"),
    FIELD(TREE, share_logs_body, live, "what a line that is being rewritten shows now"),
    FIELD_END,
};

const struct field enable_body_fields[] = {
    FIELD(BOOL, enable_body, drain, "let running tasks end"),
    FIELD_END,
};
