/* SPDX-License-Identifier: Apache-2.0 */
/* option_tables.h - the options of each command, for the rows of commands.c. */
#ifndef CLI_OPTIONS_OPTION_TABLES_H
#define CLI_OPTIONS_OPTION_TABLES_H

#include "cli/frame/command_row.h"

extern const struct cli_opt cli_global_opts[]; /* fills struct cli_globals */

/* Each ends with OPT_END.  The row in commands.c names the struct that it fills. */
extern const struct cli_opt create_opts[];
extern const struct cli_opt continue_opts[];
extern const struct cli_opt list_opts[];
extern const struct cli_opt trial_list_opts[];
extern const struct cli_opt describe_opts[];
extern const struct cli_opt space_list_opts[];
extern const struct cli_opt workspace_create_opts[];
extern const struct cli_opt workspace_edit_opts[];
extern const struct cli_opt project_create_opts[];
extern const struct cli_opt project_edit_opts[];
extern const struct cli_opt yes_opts[];
extern const struct cli_opt wait_opts[];
extern const struct cli_opt log_opts[];
extern const struct cli_opt metric_opts[];
extern const struct cli_opt proof_opts[];
extern const struct cli_opt checkpoint_opts[];
extern const struct cli_opt checkpoint_list_opts[];
extern const struct cli_opt checkpoint_download_opts[];
extern const struct cli_opt trial_download_opts[];
extern const struct cli_opt experiment_download_opts[];
extern const struct cli_opt gc_opts[];
extern const struct cli_opt import_opts[];
extern const struct cli_opt ui_opts[];
extern const struct cli_opt retention_opts[];
extern const struct cli_opt download_opts[];
extern const struct cli_opt drain_opts[];
extern const struct cli_opt agent_enable_opts[];
extern const struct cli_opt agent_disable_opts[];
extern const struct cli_opt trial_describe_opts[];
extern const struct cli_opt job_run_opts[];
extern const struct cli_opt task_list_opts[];
extern const struct cli_opt tensorboard_list_opts[];
extern const struct cli_opt job_list_opts[];
extern const struct cli_opt job_update_opts[];
extern const struct cli_opt user_create_opts[];
extern const struct cli_opt user_list_opts[];
extern const struct cli_opt login_opts[];
extern const struct cli_opt password_opts[];
extern const struct cli_opt master_logs_opts[];
extern const struct cli_opt resources_opts[];
extern const struct cli_opt audit_list_opts[];
extern const struct cli_opt user_link_opts[];
extern const struct cli_opt user_reset_opts[];
extern const struct cli_opt user_edit_opts[];
extern const struct cli_opt user_group_create_opts[];
extern const struct cli_opt user_group_list_opts[];
extern const struct cli_opt role_list_opts[];
extern const struct cli_opt role_assign_opts[];
extern const struct cli_opt token_create_opts[];
extern const struct cli_opt token_list_opts[];
extern const struct cli_opt token_edit_opts[];
extern const struct cli_opt config_check_opts[];
extern const struct cli_opt kind_opts[];
extern const struct cli_opt report_opts[];
extern const struct cli_opt checkpoint_save_opts[];
extern const struct cli_opt checkpoint_restore_opts[];
extern const struct cli_opt serve_opts[];
extern const struct cli_opt master_run_opts[];
extern const struct cli_opt agent_run_opts[];
extern const struct cli_opt backup_opts[];
extern const struct cli_opt restore_opts[];
extern const struct cli_opt stop_opts[];
extern const struct cli_opt master_certificate_opts[];
extern const struct cli_opt trust_opts[];
extern const struct cli_opt doctor_opts[];
extern const struct cli_opt env_list_opts[];
extern const struct cli_opt env_prune_opts[];
extern const struct cli_opt reproduce_opts[];
extern const struct cli_opt enter_opts[];
extern const struct cli_opt tensorboard_start_opts[];
extern const struct cli_opt tensorboard_open_opts[];
extern const struct cli_opt launch_opts[];
extern const struct cli_opt launch_torch_opts[];
extern const struct cli_opt launch_tensorflow_opts[];
extern const struct cli_opt launch_mirrored_opts[];

#endif
