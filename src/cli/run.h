/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - what carries out each row of commands.c. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "base/err.h"

struct cli;
struct cli_invocation;

#define RUN(name)                                                                      \
    det_status run_##name(struct cli *cli, const struct cli_invocation *in)

/* create.c */
RUN(experiment_create);
RUN(experiment_continue);
RUN(preview_search);
/* proof.c */
RUN(resume_proof);
/* experiment.c */
RUN(experiment_list);
RUN(experiment_describe);
RUN(experiment_config);
RUN(experiment_list_trials);
RUN(experiment_list_checkpoints);
/* steer.c */
RUN(experiment_pause);
RUN(experiment_activate);
RUN(experiment_cancel);
RUN(experiment_kill);
RUN(experiment_archive);
RUN(experiment_unarchive);
RUN(experiment_delete);
RUN(experiment_wait);
RUN(trial_kill);
/* edit.c */
RUN(experiment_label_add);
RUN(experiment_label_remove);
RUN(experiment_set_name);
RUN(experiment_set_description);
RUN(experiment_set_priority);
RUN(experiment_set_weight);
RUN(experiment_set_max_slots);
RUN(experiment_set_gc_policy);
RUN(experiment_set_log_retention);
RUN(experiment_download);
/* logs.c */
RUN(experiment_logs);
RUN(trial_logs);
/* metrics.c */
RUN(experiment_metrics);
RUN(trial_metrics);
/* profile.c */
RUN(trial_profile);
/* trial.c */
RUN(trial_describe);
/* reproduce.c */
RUN(trial_environment);
RUN(trial_reproduce);
RUN(trial_compare);
/* env.c */
RUN(env_list);
RUN(env_prune);
/* checkpoint.c */
RUN(checkpoint_list);
RUN(checkpoint_describe);
RUN(checkpoint_download);
RUN(checkpoint_delete);
/* import.c */
RUN(import);
/* record.c */
RUN(internal_record);
/* cluster.c */
RUN(agent_list);
RUN(agent_enable);
RUN(agent_disable);
RUN(slot_list);
RUN(slot_enable);
RUN(slot_disable);
RUN(job_list);
RUN(job_update);
RUN(master_info);
RUN(master_config);
/* job.c */
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
/* local.c */
RUN(config_check);
RUN(config_explain);
RUN(config_defaults);
RUN(completion);
RUN(version);
RUN(internal_config);
RUN(internal_man);
/* ui.c */
RUN(ui);
/* board.c, board_task.c */
RUN(tensorboard_start);
RUN(tensorboard_list);
RUN(tensorboard_open);
RUN(tensorboard_logs);
RUN(tensorboard_kill);
RUN(tensorboard_config);
RUN(internal_tensorboard);
/* launch.c, launch_rank.c, launch_tensorflow.c, launch_torch.c */
RUN(launch_mpi);
RUN(launch_torch);
RUN(launch_tensorflow);
RUN(launch_tensorflow_distributed);
RUN(internal_rank);
/* inside.c */
RUN(report);
RUN(hparam);
RUN(preempted);
RUN(checkpoint_save);
RUN(checkpoint_restore);

#undef RUN

#endif
