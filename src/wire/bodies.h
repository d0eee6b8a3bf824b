/* SPDX-License-Identifier: Apache-2.0 */
/* bodies.h - the bodies of calls: structs and their field tables.  Bodies about jobs are
 * in job_bodies.h, those of WebUI pages in page_bodies.h, queries in queries.h. */
#ifndef WIRE_BODIES_H
#define WIRE_BODIES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/field.h"

/* A call that takes nothing. */
struct none {
    char nothing;
};
extern const struct field none_fields[];

/* A body of bytes (application/octet-stream) instead of JSON.  The handler gets them
 * unchanged and borrows them until the reply. */
struct bytes_body {
    const void *at;
    size_t len;
};
extern const struct field bytes_body_fields[];

/* ---- users ----------------------------------------------------------------------- */

struct login_body {
    const char *username;
    const char *password;
    bool is_hashed;
};
extern const struct field login_body_fields[];

struct user_part {
    const char *username;
    const char *display_name;
    bool admin;
    bool has_admin;
    bool active;
    bool has_active;
    bool remote;
    const struct json *agent_user_group;
};
struct create_user_body {
    struct user_part user;
    const char *password;
    bool is_hashed;
};
extern const struct field create_user_body_fields[];

struct patch_user_body {
    const char *username;
    const char *display_name;
    bool admin;
    bool has_admin;
    bool active;
    bool has_active;
    bool remote;
    bool has_remote;
    const char *password;
    bool has_password;
    bool is_hashed;
    const struct json *agent_user_group; /* an empty one removes it */
};
extern const struct field patch_user_body_fields[];

struct reset_password_body {
    const char *ticket;
};
extern const struct field reset_password_body_fields[];

/* ---- experiments ----------------------------------------------------------------- */

struct create_experiment_body {
    const char *config;
    const struct json *model_definition;
    bool activate;
    int64_t project_id;
    const char *template_name;
    bool validate_only;
    int64_t parent_id;
    bool unmanaged;
};
extern const struct field create_experiment_body_fields[];

struct put_experiment_body {
    struct create_experiment_body create_experiment_request;
    const char *external_experiment_id;
};
extern const struct field put_experiment_body_fields[];

struct create_trial_body {
    int64_t experiment_id;
    const struct json *hparams;
    bool unmanaged;
};
extern const struct field create_trial_body_fields[];
struct put_trial_body {
    struct create_trial_body create_trial_request;
    const char *external_trial_id;
};
extern const struct field put_trial_body_fields[];

/* Times and run are not in the reference's API. */
struct patch_trial_body {
    int64_t trial_id;
    const char *state; /* STATE_RUNNING, STATE_COMPLETED, STATE_ERROR, STATE_CANCELED */
    int64_t start_time;
    int64_t end_time;
    int64_t trial_run_id;
};
extern const struct field patch_trial_body_fields[];

struct continue_experiment_body {
    int64_t id;
    const char *override_config;
};
extern const struct field continue_experiment_body_fields[];

struct patch_resources {
    int64_t max_slots;
    bool has_max_slots;
    double weight;
    bool has_weight;
    int64_t priority;
    bool has_priority;
};
struct patch_storage {
    int64_t save_experiment_best;
    bool has_save_experiment_best;
    int64_t save_trial_best;
    bool has_save_trial_best;
    int64_t save_trial_latest;
    bool has_save_trial_latest;
};
struct patch_experiment_body {
    const char *name;
    const char *description;
    const char *notes;
    const char *notes_before; /* not in the reference's API */
    const struct json *labels;
    struct patch_resources resources;
    struct patch_storage checkpoint_storage;
};
extern const struct field patch_experiment_body_fields[];

struct retain_logs_body {
    int64_t num_days;
};
extern const struct field retain_logs_body_fields[];

/* ---- reports of tasks ------------------------------------------------------------ */

struct metrics_part {
    const struct json *avg_metrics;
    const struct json *batch_metrics;
};
struct trial_metrics_part {
    int64_t trial_id;
    int64_t trial_run_id;
    int64_t steps_completed;
    bool has_steps_completed;
    int64_t report_time;
    struct metrics_part metrics;
};
struct report_metrics_body {
    struct trial_metrics_part metrics;
    const char *group;
};
extern const struct field report_metrics_body_fields[];

struct progress_body {
    double progress;
};
extern const struct field progress_body_fields[];

struct early_exit_body {
    const char *reason;
};
extern const struct field early_exit_body_fields[];

struct runner_metadata_body {
    const char *state;
};
extern const struct field runner_metadata_body_fields[];

struct checkpoint_body {
    const char *uuid;
    const char *task_id;
    const char *allocation_id;
    const struct json *metadata;
    const struct json *resources;
    const char *state;
    int64_t report_time;
    int64_t storage_id;
};
extern const struct field checkpoint_body_fields[];

struct run_metadata_body {
    const struct json *metadata;
};
extern const struct field run_metadata_body_fields[];

/* ---- agents and supervisors; not in the reference's API -------------------------- */

struct agent_hello_body {
    const char *resource_pool;
    const struct json *devices;
    const struct json *addresses;
    const char *boot_id;
    const char *version;
    int64_t protocol;        /* wire/protocol.h */
    const char *instance;    /* the id of its directory */
    struct field_strs tasks; /* "<allocation>/<rank>" */
};
extern const struct field agent_hello_body_fields[];

struct agent_commands_query {
    int64_t after;
    int64_t timeout_seconds;
    const char
        *epoch; /* identifies the start of the master that numbered the commands */
    const char *instance;
    int64_t disk_free; /* bytes, where the agent keeps its tasks; 0: not known */
    int64_t clock;     /* of the agent, wall time in microseconds; 0: not told */
};
extern const struct field agent_commands_query_fields[];

struct agent_bye_body {
    const char *instance;
};
extern const struct field agent_bye_body_fields[];

/* Sent by the agent or by the supervisor, about one share of an allocation. */
struct share_state_body {
    int64_t rank;
    const char *state; /* PULLING, STARTING, RUNNING */
};
extern const struct field share_state_body_fields[];

struct share_alive_body {
    int64_t rank;
};
extern const struct field share_alive_body_fields[];

struct share_exit_body {
    int64_t rank;
    const char *exit; /* CLEAN, FAILED, TRANSIENT, KILLED */
    int64_t code;
    const char *reason;
    bool is_final;
};
extern const struct field share_exit_body_fields[];

/* The machine and software that a share runs on. */
struct share_record_body {
    int64_t rank;
    const struct json *record;
};
extern const struct field share_record_body_fields[];

/* The load of the machine that a share runs on. */
struct share_load_body {
    int64_t rank;
    int64_t time_us;
    const struct json *load;
};
extern const struct field share_load_body_fields[];

/* The most bytes between the two offsets of a batch of output. */
enum { SHARE_LOGS_BYTES = 4 << 20 };

/* Some lines of a task's output.  A batch that begins behind what the master has is not
 * stored; the reply says where to continue. */
struct share_logs_body {
    int64_t rank;
    const char *stream; /* stdout, stderr */
    int64_t offset;
    int64_t end_offset;
    const struct json *lines; /* [[time_us, text], ...]; text without its newline */
    const struct json *live;  /* [time_us, text] of a line that is being rewritten */
};
extern const struct field share_logs_body_fields[];

struct enable_body {
    bool drain;
};
extern const struct field enable_body_fields[];

#endif
