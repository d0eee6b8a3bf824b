/* SPDX-License-Identifier: Apache-2.0 */
/* route_list.h - the rows of route.h; included with ROUTE() defined, hence no guard.
 *
 *    id, method, path, auth, query, body, reply, summary
 *
 * A literal part wins over a {name}, and that over a {name...}, the rest of a path;
 * nothing else depends on the order. */

/* clang-format off */

/* the master itself */
ROUTE(get_info, GET, "/info", OPEN, none, none, "version, cluster and master ids", "What is running here")
ROUTE(get_health, GET, "/health", OPEN, none, none, "status", "Whether it is well")
ROUTE(get_root, GET, "/", OPEN, none, none, "a page", "To the WebUI")
ROUTE(get_webui, GET, "/det/{path...}", OPEN, none, none, "a page", "The WebUI; each of its views has its own address")
ROUTE(get_webui_file, GET, "/det/web/{hash}/{path...}", OPEN, none, none, "a file", "A file of the WebUI")
ROUTE(get_docs, GET, "/docs", OPEN, none, none, "a page", "This list of calls")
ROUTE(get_openapi, GET, "/docs/openapi.json", OPEN, none, none, "OpenAPI 3", "The same for programs")
ROUTE(get_master, GET, "/api/v1/master", OPEN, none, none, "v1GetMasterResponse", "Show the master")
ROUTE(get_telemetry, GET, "/api/v1/master/telemetry", OPEN, none, none, "v1GetTelemetryResponse", "Whether usage is reported to anybody (never)")
ROUTE(get_master_config, GET, "/api/v1/master/config", ADMIN, none, none, "config", "Show the master's configuration, secrets masked")

/* people */
ROUTE(login, POST, "/api/v1/auth/login", OPEN, none, login_body, "token and user", "Open a session")
ROUTE(logout, POST, "/api/v1/auth/logout", USER, none, none, "nothing", "Close this session")
ROUTE(get_me, GET, "/api/v1/me", TASK, none, none, "user", "Who is calling")
ROUTE(list_users, GET, "/api/v1/users", USER, users_query, none, "users", "List people")
ROUTE(create_user, POST, "/api/v1/users", ADMIN, none, create_user_body, "user", "Add a user")
ROUTE(get_user, GET, "/api/v1/users/{id}", USER, none, none, "user", "Show a user")
ROUTE(get_user_by_name, GET, "/api/v1/users/{name}/by-username", USER, none, none, "user", "Show a user by name")
ROUTE(patch_user, PATCH, "/api/v1/users/{id}", USER, none, patch_user_body, "user", "Change a user")
ROUTE(set_password, POST, "/api/v1/users/{id}/password", USER, none, none, "user", "Change a password; the body is the new one")

/* experiments */
ROUTE(list_experiments, GET, "/api/v1/experiments", USER, experiments_query, none, "experiments", "List experiments")
ROUTE(create_experiment, POST, "/api/v1/experiments", USER, none, create_experiment_body, "experiment and config", "Submit an experiment")
ROUTE(put_experiment, PUT, "/api/v1/experiments/by-external-id/{name}", USER, none, put_experiment_body, "experiment and config", "Find or make an unmanaged experiment")
ROUTE(get_experiment, GET, "/api/v1/experiments/{id}", USER, none, none, "experiment", "Show an experiment")
ROUTE(patch_experiment, PATCH, "/api/v1/experiments/{id}", USER, none, patch_experiment_body, "experiment", "Change name, notes, labels, resources or retention")
ROUTE(delete_experiment, DELETE, "/api/v1/experiments/{id}", USER, none, none, "nothing", "Delete an experiment that is over, with its checkpoints")
ROUTE(continue_experiment, POST, "/api/v1/experiments/continue", USER, none, continue_experiment_body, "experiment", "Let an experiment that has ended go on")
ROUTE(activate_experiment, POST, "/api/v1/experiments/{id}/activate", USER, none, none, "nothing", "Let a paused experiment go on")
ROUTE(pause_experiment, POST, "/api/v1/experiments/{id}/pause", USER, none, none, "nothing", "Pause: trials checkpoint and give their slots back")
ROUTE(cancel_experiment, POST, "/api/v1/experiments/{id}/cancel", USER, none, none, "nothing", "Stop gracefully")
ROUTE(kill_experiment, POST, "/api/v1/experiments/{id}/kill", USER, none, none, "nothing", "Stop at once")
ROUTE(archive_experiment, POST, "/api/v1/experiments/{id}/archive", USER, none, none, "nothing", "Hide from lists")
ROUTE(unarchive_experiment, POST, "/api/v1/experiments/{id}/unarchive", USER, none, none, "nothing", "Show in lists again")
ROUTE(list_trials, GET, "/api/v1/experiments/{id}/trials", USER, list_query, none, "trials", "List an experiment's trials")
ROUTE(list_experiment_checkpoints, GET, "/api/v1/experiments/{id}/checkpoints", USER, checkpoints_query, none, "checkpoints", "List an experiment's checkpoints")
ROUTE(get_model_def, GET, "/api/v1/experiments/{id}/model_def", USER, none, none, "b64Tgz", "The submitted files")
ROUTE(get_model_def_tree, GET, "/api/v1/experiments/{id}/file_tree", USER, none, none, "files", "The names of the submitted files")
ROUTE(get_model_def_file, POST, "/api/v1/experiments/{id}/file", USER, none, model_def_file_body, "file", "One of the submitted files")
ROUTE(put_label, PUT, "/api/v1/experiments/{id}/labels/{label}", USER, none, none, "labels", "Add a label")
ROUTE(delete_label, DELETE, "/api/v1/experiments/{id}/labels/{label}", USER, none, none, "labels", "Remove a label")
ROUTE(retain_experiment_logs, PUT, "/api/v1/experiments/{id}/retain_logs", USER, none, retain_logs_body, "nothing", "How many days its logs are kept")
ROUTE(get_best_metric, GET, "/api/v1/experiments/{id}/searcher/best_searcher_validation_metric", TASK, none, none, "metric", "The best validation so far")
ROUTE(get_metric_names, GET, "/api/v1/det/experiments/{id}/metric-names", USER, none, none, "names", "Groups and names of its metrics")
ROUTE(trials_table, GET, "/api/v1/det/experiments/{id}/trials-table", USER, trials_table_query, none, "hparams, trials, importance", "All trials in small rows, and which hyperparameter mattered")
ROUTE(get_lineage, GET, "/api/v1/det/experiments/{id}/lineage", USER, none, none, "ancestors, forks, checkpoints", "What an experiment came from, and what came from it")
ROUTE(check_config, POST, "/api/v1/det/check", USER, none, check_body, "problems, completed", "Check a configuration as the command line does; submits nothing")
ROUTE(preview_gc, GET, "/experiments/{id}/preview_gc", USER, preview_gc_query, none, "checkpoints, metric_name", "Which checkpoints would go under another policy")
ROUTE(preview_search, POST, "/api/v1/preview-hp-search", USER, none, none, "summary", "What a search would run")

/* trials */
ROUTE(create_trial, POST, "/api/v1/trials", USER, none, create_trial_body, "trial", "Make a trial of an unmanaged experiment")
ROUTE(put_trial, PUT, "/api/v1/trials", USER, none, put_trial_body, "trial", "Find or make a trial of an unmanaged experiment")
ROUTE(get_trial, GET, "/api/v1/trials/{id}", TASK, none, none, "trial", "Show a trial")
ROUTE(patch_trial, PATCH, "/api/v1/trials/{id}", USER, none, patch_trial_body, "trial", "Say how an unmanaged trial is")
ROUTE(kill_trial, POST, "/api/v1/trials/{id}/kill", USER, none, none, "nothing", "Kill a trial and free its slots")
ROUTE(trial_logs, GET, "/api/v1/trials/{id}/logs", USER, logs_query, none, "stream of lines", "A trial's logs")
ROUTE(trial_logs_fields, GET, "/api/v1/trials/{id}/logs/fields", USER, none, none, "stream of fields", "Values to filter its logs by")
ROUTE(trial_workloads, GET, "/api/v1/trials/{id}/workloads", USER, workloads_query, none, "workloads", "Training, validations and checkpoints in order")
ROUTE(get_trial_profile, GET, "/api/v1/det/trials/{id}/profile", USER, none, none, "agents: curves, timings, the cause of time lost", "What the machine did while a trial ran, and where its time went")
ROUTE(list_trial_checkpoints, GET, "/api/v1/trials/{id}/checkpoints", USER, checkpoints_query, none, "checkpoints", "List a trial's checkpoints")
ROUTE(retain_trial_logs, PUT, "/api/v1/trials/{id}/retain_logs", USER, none, retain_logs_body, "nothing", "How many days its logs are kept")
ROUTE(trial_series, GET, "/api/v1/trials/time-series", USER, series_query, none, "trials with points", "Metrics of trials, downsampled")
ROUTE(trial_metrics, GET, "/api/v1/trials/metrics/trial_metrics", USER, metrics_query, none, "stream of reports", "Metrics of trials, any group")
ROUTE(training_metrics, GET, "/api/v1/trials/metrics/training_metrics", USER, metrics_query, none, "stream of reports", "Training metrics of trials")
ROUTE(validation_metrics, GET, "/api/v1/trials/metrics/validation_metrics", USER, metrics_query, none, "stream of reports", "Validation metrics of trials")
ROUTE(get_series, GET, "/api/v1/det/series", USER, charts_query, none, "charts, in bytes or JSON", "Metrics of trials as charts of a screen's width")
ROUTE(get_trial_metric_names, GET, "/api/v1/det/trials/{id}/metric-names", USER, none, none, "names with count, last, min and max", "Groups and names of a trial's metrics")
ROUTE(get_trial_environment, GET, "/api/v1/det/trials/{id}/environment", USER, none, none, "seeds, configuration and what each run ran on", "What it takes to do a trial again")

/* what tasks report */
ROUTE(report_metrics, POST, "/api/v1/trials/{id}/metrics", TASK, none, report_metrics_body, "nothing", "Report metrics")
ROUTE(report_progress, POST, "/api/v1/trials/{id}/progress", TASK, none, progress_body, "nothing", "Report how far a trial is")
ROUTE(report_early_exit, POST, "/api/v1/trials/{id}/early_exit", TASK, none, early_exit_body, "nothing", "Say that the hyperparameters are invalid")
ROUTE(report_runner, POST, "/api/v1/trials/{id}/runner/metadata", TASK, none, runner_metadata_body, "nothing", "Say what the trial is doing")
ROUTE(report_checkpoint, POST, "/api/v1/checkpoints", TASK, none, checkpoint_body, "nothing", "Report a checkpoint that is whole")
ROUTE(report_batch, POST, "/api/v1/allocations/{id}/reports", TASK, none, bytes_body, "stored and refused", "Reports of a task's ring, as they lie there")
ROUTE(start_run, POST, "/api/v1/runs/start", TASK, none, none, "storageId", "A training process begins")
ROUTE(get_run_metadata, GET, "/api/v1/runs/{id}/metadata", TASK, none, none, "metadata", "Show a trial's own notes")
ROUTE(post_run_metadata, POST, "/api/v1/runs/{id}/metadata", TASK, none, run_metadata_body, "metadata", "Add to a trial's own notes")
ROUTE(post_task_logs, POST, "/api/v1/task/logs", TASK, none, none, "nothing", "Store log lines of a task")
ROUTE(get_context, GET, "/api/v1/tasks/{id}/context_directory", TASK, none, none, "b64Tgz", "The files a task works on")

/* checkpoints */
ROUTE(get_checkpoint, GET, "/api/v1/checkpoints/{uuid}", TASK, none, none, "checkpoint", "Show a checkpoint")
ROUTE(download_checkpoint, GET, "/checkpoints/{uuid}", TASK, download_query, none, "an archive", "The files of a checkpoint as tar.gz, tar or zip, by Accept or ?format=")
ROUTE(patch_checkpoints, PATCH, "/api/v1/checkpoints", TASK, none, none, "nothing", "Say which files of checkpoints are left")
ROUTE(delete_checkpoints, DELETE, "/api/v1/checkpoints", USER, none, none, "nothing", "Delete checkpoints: agents remove their files")
ROUTE(post_checkpoint_metadata, POST, "/api/v1/checkpoints/{uuid}/metadata", USER, none, none, "checkpoint", "Replace a checkpoint's metadata")

/* allocations and tasks */
ROUTE(get_allocation, GET, "/api/v1/allocations/{id}", USER, none, none, "allocation", "Show an allocation")
ROUTE(kill_allocation, POST, "/api/v1/allocations/{id}/kill", USER, none, none, "nothing", "Kill the processes of one run; its trial goes on from its latest checkpoint")
ROUTE(get_preemption, GET, "/api/v1/allocations/{id}/signals/preemption", TASK, preemption_query, none, "preempt", "Wait to be told to stop")
ROUTE(ack_preemption, POST, "/api/v1/allocations/{id}/signals/ack_preemption", TASK, none, none, "nothing", "The task will stop")
ROUTE(pend_preemption, POST, "/api/v1/allocations/{id}/signals/pending_preemption", TASK, none, none, "nothing", "The task asks to be stopped")
ROUTE(allocation_ready, POST, "/api/v1/allocations/{id}/ready", TASK, none, none, "nothing", "The task is ready")
ROUTE(allocation_waiting, POST, "/api/v1/allocations/{id}/waiting", TASK, none, none, "nothing", "The task waits for something")
ROUTE(allocation_accelerators, POST, "/api/v1/allocations/{id}/acceleratorData", TASK, none, none, "nothing", "Which devices the task has")
ROUTE(allocation_rendezvous, GET, "/api/v1/allocations/{id}/resources/{resources}/rendezvous", TASK, none, none, "rendezvousInfo", "Wait for the other nodes")
ROUTE(allocation_all_gather, POST, "/api/v1/allocations/{id}/all_gather", TASK, none, none, "data", "Exchange data with the other nodes")
ROUTE(create_generic_task, POST, "/api/v1/generic-tasks", USER, none, create_generic_task_body, "taskId and warnings", "Run a program that trains nothing")
ROUTE(list_generic_tasks, GET, "/api/v1/generic-tasks", USER, generic_tasks_query, none, "tasks and pagination", "List jobs, the newest first")
ROUTE(list_tasks, GET, "/api/v1/tasks", USER, none, none, "allocationIdToSummary", "List what runs or waits")
ROUTE(get_task, GET, "/api/v1/tasks/{id}", USER, none, none, "task", "Show a task")
ROUTE(kill_task, POST, "/api/v1/tasks/{id}/kill", USER, none, kill_task_body, "nothing", "Kill a job")
ROUTE(pause_task, POST, "/api/v1/tasks/{id}/pause", USER, none, none, "nothing", "Pause a job: it ends, and gives its slots back")
ROUTE(unpause_task, POST, "/api/v1/tasks/{id}/unpause", USER, none, none, "nothing", "Let a paused job begin again, from its start")
ROUTE(get_task_config, GET, "/api/v1/tasks/{id}/config", USER, none, none, "config", "A job's complete configuration, YAML")
ROUTE(task_logs, GET, "/api/v1/tasks/{id}/logs", USER, logs_query, none, "stream of lines", "A task's logs")
ROUTE(task_logs_fields, GET, "/api/v1/tasks/{id}/logs/fields", USER, none, none, "stream of fields", "Values to filter its logs by")

/* programs behind the master's address */
ROUTE(launch_tensorboard, POST, "/api/v1/tensorboards", USER, none, launch_tensorboard_body, "tensorboard, config, warnings", "Run TensorBoard on experiments or trials")
ROUTE(list_tensorboards, GET, "/api/v1/tensorboards", USER, tensorboards_query, none, "tensorboards", "List TensorBoards, the newest first")
ROUTE(get_tensorboard, GET, "/api/v1/tensorboards/{id}", USER, none, none, "tensorboard, config", "Show a TensorBoard")
ROUTE(kill_tensorboard, POST, "/api/v1/tensorboards/{id}/kill", USER, none, none, "tensorboard", "Kill a TensorBoard")
ROUTE(proxy, ANY, "/proxy/{service}/{path...}", USER, none, none, "what the program answers", "Talk to a task's program, HTTP or WebSocket, with any method")
ROUTE(register_proxy, POST, "/api/v1/det/allocations/{id}/proxy", TASK, none, proxy_body, "nothing", "A task's program listens on this port of its machine")
ROUTE(look_at_proxy, GET, "/api/v1/det/allocations/{id}/proxy", TASK, none, none, "idleSeconds", "How long nobody has talked to a task's program")

/* agents, slots, queue */
ROUTE(list_agents, GET, "/api/v1/agents", USER, list_query, none, "agents", "List agents")
ROUTE(get_agent, GET, "/api/v1/agents/{agent}", USER, none, none, "agent", "Show an agent")
ROUTE(enable_agent, POST, "/api/v1/agents/{agent}/enable", ADMIN, none, none, "agent", "Let an agent take tasks")
ROUTE(disable_agent, POST, "/api/v1/agents/{agent}/disable", ADMIN, none, enable_body, "agent", "No tasks for an agent; drain lets running ones end")
ROUTE(list_slots, GET, "/api/v1/agents/{agent}/slots", USER, none, none, "slots", "List an agent's slots")
ROUTE(get_slot, GET, "/api/v1/agents/{agent}/slots/{slot}", USER, none, none, "slot", "Show a slot")
ROUTE(enable_slot, POST, "/api/v1/agents/{agent}/slots/{slot}/enable", ADMIN, none, none, "slot", "Let a slot take tasks")
ROUTE(disable_slot, POST, "/api/v1/agents/{agent}/slots/{slot}/disable", ADMIN, none, enable_body, "slot", "No tasks for a slot")
ROUTE(list_jobs, GET, "/api/v1/job-queues-v2", USER, jobs_query, none, "jobs", "The queue")
ROUTE(update_jobs, POST, "/api/v1/job-queues", USER, none, none, "nothing", "Change priority, weight or pool of jobs")
ROUTE(list_pools, GET, "/api/v1/resource-pools", USER, list_query, none, "resourcePools", "List resource pools")

/* our own: live pages */
ROUTE(changes, GET, "/api/v1/det/changes", USER, changes_query, none, "stream of events", "What changes, as server-sent events")
/* our own: the table of experiments */
ROUTE(find_experiments, GET, "/api/v1/det/experiments", USER, find_experiments_query, none, "experiments, total, all, states and values", "A page of the table of experiments: small rows, any order, any filter")
ROUTE(act_on_experiments, POST, "/api/v1/det/experiments/actions", USER, none, act_on_experiments_body, "results", "Do one thing with many experiments, each by itself")

/* our own: what was recorded without a master */
ROUTE(trial_reports, POST, "/api/v1/det/trials/{id}/reports", USER, none, bytes_body, "stored and refused", "Reports of an unmanaged trial, as they lie in its ring")
ROUTE(trial_output, POST, "/api/v1/det/trials/{id}/output", USER, none, share_logs_body, "offset", "A stretch of an unmanaged trial's output")

/* our own: logs to look at */
ROUTE(task_lines, GET, "/api/v1/det/tasks/{id}/lines", USER, lines_query, none, "first, last, lines", "Lines of a task's log by number or time")
ROUTE(task_search, GET, "/api/v1/det/tasks/{id}/search", USER, line_search_query, none, "stream of hits", "Search a task's log")
ROUTE(task_text, GET, "/api/v1/det/tasks/{id}/log.txt", USER, lines_query, none, "plain text", "A task's whole log as a file")

/* our own: agents and supervisors */
ROUTE(agent_hello, POST, "/api/v1/det/agents/{agent}/hello", AGENT, none, agent_hello_body, "epoch", "An agent joins, with the tasks it has")
ROUTE(agent_commands, GET, "/api/v1/det/agents/{agent}/commands", AGENT, agent_commands_query, none, "commands", "Wait for commands")
ROUTE(agent_removals, GET, "/api/v1/det/agents/{agent}/removals", AGENT, none, none, "removals, sweeps", "What an agent is to remove")
ROUTE(agent_removed, POST, "/api/v1/det/agents/{agent}/removals", AGENT, none, none, "nothing", "What an agent has removed, or why it could not")
ROUTE(agent_bye, POST, "/api/v1/det/agents/{agent}/bye", AGENT, none, agent_bye_body, "nothing", "An agent signs off")
ROUTE(share_state, POST, "/api/v1/det/allocations/{id}/state", TASK, none, share_state_body, "nothing", "A task process got ahead")
ROUTE(share_alive, POST, "/api/v1/det/allocations/{id}/alive", TASK, none, share_alive_body, "mustEnd, againMs", "A task's supervisor is there")
ROUTE(share_exit, POST, "/api/v1/det/allocations/{id}/exit", TASK, none, share_exit_body, "nothing", "A task process ended")
ROUTE(share_record, POST, "/api/v1/det/allocations/{id}/environment", TASK, none, share_record_body, "nothing", "What a task process runs on")
ROUTE(share_logs, POST, "/api/v1/det/allocations/{id}/logs", TASK, none, share_logs_body, "offset", "A stretch of a task's output")
ROUTE(agent_exit, POST, "/api/v1/det/agents/{agent}/allocations/{id}/exit", AGENT, none, share_exit_body, "nothing", "An agent found a task process ended")

/* clang-format on */
