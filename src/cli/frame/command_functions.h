/* SPDX-License-Identifier: Apache-2.0 */
/* command_functions.h - what carries out each row of commands.c. */
#ifndef CLI_FRAME_COMMAND_FUNCTIONS_H
#define CLI_FRAME_COMMAND_FUNCTIONS_H

#include "base/err.h"

struct cli;
struct cli_invocation;

#define RUN(name)                                                                      \
    det_status run_##name(struct cli *cli, const struct cli_invocation *in)

/* create.c */
RUN(experiment_create);
RUN(experiment_continue);
/* docs.c */
RUN(docs);
/* doctor.c */
RUN(doctor);
/* preview_search.c */
RUN(preview_search);
/* proof.c */
RUN(resume_proof);
/* experiment.c */
RUN(experiment_list);
RUN(experiment_describe);
RUN(experiment_config);
RUN(experiment_list_trials);
RUN(experiment_list_checkpoints);
/* experiment_control.c */
RUN(experiment_pause);
RUN(experiment_activate);
RUN(experiment_cancel);
RUN(experiment_kill);
RUN(experiment_archive);
RUN(experiment_unarchive);
RUN(experiment_delete);
RUN(experiment_wait);
RUN(trial_kill);
/* experiment_edit.c */
RUN(experiment_label_add);
RUN(experiment_label_remove);
RUN(experiment_set_name);
RUN(experiment_set_description);
RUN(experiment_set_priority);
RUN(experiment_set_weight);
RUN(experiment_set_max_slots);
RUN(experiment_set_gc_policy);
RUN(experiment_set_log_retention);
RUN(trial_set_log_retention);
RUN(experiment_download);
/* workspace.c */
RUN(workspace_list);
RUN(workspace_create);
RUN(workspace_describe);
RUN(workspace_edit);
RUN(workspace_archive);
RUN(workspace_unarchive);
RUN(workspace_delete);
RUN(workspace_pin);
RUN(workspace_unpin);
RUN(workspace_list_projects);
RUN(workspace_list_pools);
/* project.c */
RUN(project_create);
RUN(project_describe);
RUN(project_list_experiments);
RUN(project_edit);
RUN(project_add_note);
RUN(project_archive);
RUN(project_unarchive);
RUN(project_move);
RUN(project_delete);
RUN(experiment_move);
/* logs.c */
RUN(experiment_logs);
RUN(trial_logs);
/* metrics.c */
RUN(experiment_metrics);
RUN(trial_metrics);
/* trial_profile.c */
RUN(trial_profile);
/* trial.c */
RUN(trial_describe);
/* trial_environment.c */
RUN(trial_environment);
/* trial_reproduce.c */
RUN(trial_reproduce);
/* trial_compare.c */
RUN(trial_compare);
/* env.c */
RUN(env_list);
RUN(env_prune);
/* checkpoint.c */
RUN(checkpoint_list);
RUN(checkpoint_describe);
RUN(checkpoint_download);
RUN(trial_download);
RUN(experiment_download_best);
RUN(checkpoint_delete);
/* import.c */
RUN(import);
/* output_recorder.c */
RUN(internal_record);
/* agent.c */
RUN(agent_list);
RUN(agent_enable);
RUN(agent_disable);
RUN(slot_list);
RUN(slot_enable);
RUN(slot_disable);
/* master.c */
RUN(master_info);
RUN(master_certificate);
RUN(master_config);
/* job.c */
RUN(job_list);
RUN(job_update);
RUN(job_run);
RUN(task_fork);
/* task.c */
RUN(task_list);
RUN(task_describe);
RUN(task_logs);
RUN(task_config);
RUN(task_kill);
RUN(task_pause);
RUN(task_unpause);
/* user.c */
RUN(user_login);
RUN(user_logout);
RUN(user_whoami);
RUN(user_list);
RUN(user_create);
RUN(user_change_password);
/* cluster/ */
RUN(master_logs);
RUN(resources_raw);
RUN(resources_aggregated);
/* audit.c */
RUN(audit_list);
/* user_admin.c */
RUN(user_link);
RUN(user_reset_password);
/* people/user_edit.c */
RUN(user_activate);
RUN(user_deactivate);
RUN(user_rename);
RUN(user_edit);
/* people/user_group.c */
RUN(user_group_create);
RUN(user_group_list);
RUN(user_group_describe);
RUN(user_group_add_user);
RUN(user_group_remove_user);
RUN(user_group_change_name);
RUN(user_group_delete);
/* people/rbac.c */
RUN(rbac_my_permissions);
RUN(rbac_list_roles);
RUN(rbac_describe_role);
RUN(rbac_list_users_roles);
RUN(rbac_list_groups_roles);
RUN(rbac_assign_role);
RUN(rbac_unassign_role);
RUN(rbac_who_may);
RUN(workspace_access);
RUN(workspace_list_members);
/* people/token.c */
RUN(token_create);
RUN(token_list);
RUN(token_describe);
RUN(token_edit);
RUN(token_revoke);
RUN(token_login);
/* config.c */
RUN(config_check);
RUN(config_explain);
RUN(config_defaults);
RUN(internal_config);
/* completion.c */
RUN(completion);
/* man.c */
RUN(internal_man);
/* complete_ids.c */
RUN(internal_complete);
/* cli_main.c */
RUN(trust);
RUN(version);
/* ui.c */
RUN(ui);
/* tensorboard.c */
RUN(tensorboard_start);
RUN(tensorboard_list);
RUN(tensorboard_open);
RUN(tensorboard_logs);
RUN(tensorboard_kill);
RUN(tensorboard_config);
/* tensorboard_task.c */
RUN(internal_tensorboard);
/* launch_mpi.c */
RUN(launch_mpi);
/* launch_torch.c */
RUN(launch_torch);
/* launch_tensorflow.c */
RUN(launch_tensorflow);
RUN(launch_tensorflow_distributed);
/* launch_rank.c */
RUN(internal_rank);
/* script.c */
RUN(report);
RUN(hparam);
RUN(preempted);
/* script_checkpoint.c */
RUN(checkpoint_save);
RUN(checkpoint_restore);
/* script_keep.c */
RUN(task_keep);

#undef RUN

#endif
