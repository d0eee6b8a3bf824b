/* SPDX-License-Identifier: Apache-2.0 */
/* route_list.h - the rows of route.h; included with ROUTE() defined, hence no guard.
 *
 *    id, file, method, path, who, object, permission, task, lane, query, body, reply, summary
 *
 * `file` names the handler's source: api_<id>() is in src/master/api/<file>.c, which
 * tools/check-tables verifies.  In a path a literal part wins over a {name}, and that over a
 * {name...}, the rest of the path; nothing else depends on the order.
 *
 * who, object, permission and task say who may call (rights.h); lane says on which thread the
 * handler runs: WORKER, or QUICK, where a small call of a cached caller runs on the thread
 * that received it. */

/* clang-format off */

/* the master itself */
ROUTE(get_info, "cluster/system", GET, "/info", OPEN, none, NONE, NO, WORKER, none, none, "version, cluster and master ids", "Versions and ids of this master")
ROUTE(get_health, "cluster/system", GET, "/health", OPEN, none, NONE, NO, WORKER, none, none, "status", "Health of the master")
ROUTE(get_root, "cluster/system", GET, "/", OPEN, none, NONE, NO, WORKER, none, none, "a page", "Redirect to the WebUI")
ROUTE(get_webui, "pages/webui", GET, "/det/{path...}", OPEN, none, NONE, NO, WORKER, none, none, "a page", "The WebUI; each of its views has its own address")
ROUTE(get_webui_file, "pages/webui", GET, "/det/web/{hash}/{path...}", OPEN, none, NONE, NO, WORKER, none, none, "a file", "A file of the WebUI")
ROUTE(get_docs, "cluster/system", GET, "/docs", OPEN, none, NONE, NO, WORKER, none, none, "a page", "Show this list of calls")
ROUTE(get_openapi, "cluster/system", GET, "/docs/openapi.json", OPEN, none, NONE, NO, WORKER, none, none, "OpenAPI 3", "The list of calls for programs")
ROUTE(get_master, "cluster/system", GET, "/api/v1/master", OPEN, none, NONE, NO, WORKER, none, none, "v1GetMasterResponse", "Show the master")
ROUTE(get_telemetry, "cluster/system", GET, "/api/v1/master/telemetry", OPEN, none, NONE, NO, WORKER, none, none, "v1GetTelemetryResponse", "Whether usage data is sent (never)")
ROUTE(get_master_config, "cluster/system", GET, "/api/v1/master/config", ADMIN, none, VIEW_MASTER_CONFIG, NO, WORKER, none, none, "config", "Show the master's configuration, secrets masked")

/* users */
ROUTE(login, "people/users", POST, "/api/v1/auth/login", OPEN, none, NONE, NO, WORKER, none, login_body, "token and user", "Open a session")
ROUTE(logout, "people/users", POST, "/api/v1/auth/logout", USER, none, NONE, NO, WORKER, none, none, "nothing", "Close this session")
ROUTE(get_me, "people/users", GET, "/api/v1/me", USER, none, NONE, OWN, WORKER, none, none, "user", "Show the caller")
ROUTE(list_users, "people/user_list", GET, "/api/v1/users", USER, none, NONE, NO, WORKER, users_query, none, "users", "List users")
ROUTE(create_user, "people/users", POST, "/api/v1/users", ADMIN, none, ADMINISTRATE_USER, NO, WORKER, none, create_user_body, "user", "Add a user")
ROUTE(get_user, "people/users", GET, "/api/v1/users/{id}", USER, none, NONE, NO, WORKER, none, none, "user", "Show a user")
ROUTE(get_user_by_name, "people/users", GET, "/api/v1/users/{name}/by-username", USER, none, NONE, NO, WORKER, none, none, "user", "Show a user by name")
ROUTE(patch_user, "people/users", PATCH, "/api/v1/users/{id}", SELF, user, ADMINISTRATE_USER, NO, WORKER, none, patch_user_body, "user", "Change a user")
ROUTE(set_password, "people/users", POST, "/api/v1/users/{id}/password", SELF, user, ADMINISTRATE_USER, NO, WORKER, none, none, "user", "Change a password; the body is the new password")
ROUTE(reset_password, "people/reset_password", POST, "/api/v1/det/reset-password", OPEN, none, NONE, NO, WORKER, none, reset_password_body, "user", "Set a forgotten password, with a ticket from the data directory")
ROUTE(list_audit, "people/audit", GET, "/api/v1/det/audit", ADMIN, none, ADMINISTRATE_USER, NO, WORKER, audit_query, none, "entries, next", "The audit log: who did what to which object from where")
ROUTE(get_auth_user, "people/users", GET, "/api/v1/auth/user", USER, none, NONE, OWN, WORKER, none, none, "user", "Show the caller")
ROUTE(patch_users, "people/user_list", PATCH, "/api/v1/users", ADMIN, none, ADMINISTRATE_USER, NO, WORKER, none, patch_users_body, "results: id, error", "Activate or deactivate users")
ROUTE(get_user_settings, "people/user_settings", GET, "/api/v1/users/setting", USER, none, NONE, NO, WORKER, none, none, "settings", "Show the caller's settings of the WebUI")
ROUTE(put_user_settings, "people/user_settings", POST, "/api/v1/users/setting", USER, none, NONE, NO, WORKER, none, user_settings_body, "nothing", "Write or remove settings of the caller")
ROUTE(reset_user_settings, "people/user_settings", POST, "/api/v1/users/setting/reset", USER, none, NONE, NO, WORKER, none, none, "nothing", "Remove all settings of the caller")

/* groups, roles and access tokens */
ROUTE(create_group, "people/groups", POST, "/api/v1/groups", ADMIN, none, UPDATE_GROUP, NO, WORKER, none, create_group_body, "group", "Add a group")
ROUTE(search_groups, "people/groups", POST, "/api/v1/groups/search", USER, none, NONE, NO, WORKER, none, search_groups_body, "groups, pagination", "List groups")
ROUTE(get_group, "people/groups", GET, "/api/v1/groups/{id}", USER, none, NONE, NO, WORKER, none, none, "group", "Show a group and its members")
ROUTE(update_group, "people/groups", PUT, "/api/v1/groups/{id}", ADMIN, group, UPDATE_GROUP, NO, WORKER, none, update_group_body, "group", "Rename a group, add and remove members")
ROUTE(delete_group, "people/groups", DELETE, "/api/v1/groups/{id}", ADMIN, group, UPDATE_GROUP, NO, WORKER, none, none, "nothing", "Delete a group and its role assignments")
ROUTE(assign_groups, "people/groups", PATCH, "/api/v1/users/assignments", ADMIN, none, UPDATE_GROUP, NO, WORKER, none, assign_groups_body, "nothing", "Put users into groups or take them out")
ROUTE(get_permissions_summary, "people/roles", GET, "/api/v1/permissions/summary", USER, none, NONE, NO, WORKER, none, none, "roles, assignments", "The caller's roles and where they apply")
ROUTE(get_workspace_roles, "people/role_lists", GET, "/api/v1/roles/workspace/{workspace}", USER, workspace, VIEW_WORKSPACE, NO, WORKER, workspace_roles_query, none, "groups, usersAssignedDirectly, assignments", "Users and groups with a role in a workspace")
ROUTE(search_roles, "people/roles", POST, "/api/v1/roles/search", USER, none, NONE, NO, WORKER, none, search_roles_body, "roles, pagination", "List roles")
ROUTE(get_roles_by_ids, "people/role_lists", POST, "/api/v1/roles/search/by-ids", USER, none, NONE, NO, WORKER, none, roles_by_ids_body, "roles with assignments", "Show roles and who has them")
ROUTE(get_roles_of_user, "people/role_lists", GET, "/api/v1/roles/search/by-user/{user}", USER, none, NONE, NO, WORKER, none, none, "roles with assignments", "The roles of a user, also through groups")
ROUTE(get_roles_of_group, "people/roles", GET, "/api/v1/roles/search/by-group/{group}", USER, none, NONE, NO, WORKER, none, none, "roles, assignments", "The roles of a group")
ROUTE(search_assignable_roles, "people/roles", POST, "/api/v1/roles/search/by-assignability", USER, none, NONE, NO, WORKER, none, search_assignable_roles_body, "roles, pagination", "List roles that can be assigned in a workspace")
ROUTE(add_role_assignments, "people/role_assignments", POST, "/api/v1/roles/add-assignments", ADMIN, named, ASSIGN_ROLES, NO, WORKER, none, role_assignments_body, "nothing", "Assign roles to users and groups")
ROUTE(remove_role_assignments, "people/role_assignments", POST, "/api/v1/roles/remove-assignments", ADMIN, named, ASSIGN_ROLES, NO, WORKER, none, role_assignments_body, "nothing", "Remove roles from users and groups")
ROUTE(get_workspace_access, "people/workspace_access", GET, "/api/v1/det/workspaces/{workspace}/access", OWNER, workspace, ASSIGN_ROLES, NO, WORKER, none, none, "mode, users with permissions and reasons", "Who may do what in a workspace, and why")
ROUTE(create_token, "people/tokens", POST, "/api/v1/tokens", ADMIN, named, CREATE_OTHER_TOKEN, NO, WORKER, none, create_token_body, "token, tokenId", "Create an access token")
ROUTE(list_tokens, "people/tokens", GET, "/api/v1/tokens", SELF, named, VIEW_OTHER_TOKEN, NO, WORKER, tokens_query, none, "tokenInfo, pagination", "List access tokens")
ROUTE(patch_token, "people/tokens", PATCH, "/api/v1/tokens/{id}", ADMIN, token, ADMINISTRATE_TOKEN, NO, WORKER, none, patch_token_body, "tokenInfo", "Describe or revoke an access token")

/* signing in other than by a password of this master */
ROUTE(oidc_login, "people/signin_oidc", GET, "/oidc/login", OPEN, none, NONE, NO, WORKER, oidc_login_query, none, "a redirect", "Sign in through the identity provider")
ROUTE(oidc_callback, "people/signin_oidc", GET, "/oidc/callback", OPEN, none, NONE, NO, WORKER, oidc_callback_query, none, "a redirect", "The identity provider sends the browser back here")
ROUTE(add_signin_code, "people/signin_cli", POST, "/api/v1/det/signin/codes", USER, none, NONE, NO, WORKER, none, signin_code_body, "code", "Let a command on this computer act as the caller")
ROUTE(add_signin_device, "people/signin_cli", POST, "/api/v1/det/signin/devices", OPEN, none, NONE, NO, WORKER, none, signin_device_body, "code, userCode, expiresIn", "Begin a sign-in that a person allows in a browser elsewhere")
ROUTE(get_signin_device, "people/signin_cli", GET, "/api/v1/det/signin/devices/{code}", USER, none, NONE, NO, WORKER, none, none, "userCode, host, address, createdAt", "Show a sign-in that waits for its confirmation")
ROUTE(decide_signin_device, "people/signin_cli", POST, "/api/v1/det/signin/devices/{code}", USER, none, NONE, NO, WORKER, none, signin_decision_body, "nothing", "Allow or refuse a sign-in that waits")
ROUTE(redeem_signin, "people/signin_cli", POST, "/api/v1/det/signin/redeem", OPEN, none, NONE, NO, WORKER, none, signin_redeem_body, "token and user, or isPending", "Open the session that was allowed")

/* experiments */
ROUTE(list_experiments, "experiments/experiments", GET, "/api/v1/experiments", USER, list, VIEW_EXPERIMENT_METADATA, NO, WORKER, experiments_query, none, "experiments", "List experiments")
ROUTE(create_experiment, "experiments/experiment_create", POST, "/api/v1/experiments", USER, named, CREATE_EXPERIMENT, NO, WORKER, none, create_experiment_body, "experiment and config", "Submit an experiment")
ROUTE(put_experiment, "experiments/unmanaged", PUT, "/api/v1/experiments/by-external-id/{name}", USER, named, CREATE_EXPERIMENT, NO, WORKER, none, put_experiment_body, "experiment and config", "Find or create an unmanaged experiment")
ROUTE(get_experiment, "experiments/experiments", GET, "/api/v1/experiments/{id}", USER, experiment, VIEW_EXPERIMENT_METADATA, NO, WORKER, none, none, "experiment", "Show an experiment")
ROUTE(patch_experiment, "experiments/experiments", PATCH, "/api/v1/experiments/{id}", OWNER, experiment, UPDATE_EXPERIMENT_METADATA, NO, WORKER, none, patch_experiment_body, "experiment", "Change name, notes, labels, resources or retention")
ROUTE(delete_experiment, "experiments/experiments", DELETE, "/api/v1/experiments/{id}", OWNER, experiment, DELETE_EXPERIMENT, NO, WORKER, none, none, "nothing", "Delete an ended experiment with its checkpoints")
ROUTE(continue_experiment, "experiments/experiment_continue", POST, "/api/v1/experiments/continue", OWNER, named, UPDATE_EXPERIMENT, NO, WORKER, none, continue_experiment_body, "experiment", "Continue an ended experiment")
ROUTE(activate_experiment, "experiments/experiments", POST, "/api/v1/experiments/{id}/activate", OWNER, experiment, UPDATE_EXPERIMENT, NO, WORKER, none, none, "nothing", "Resume a paused experiment")
ROUTE(pause_experiment, "experiments/experiments", POST, "/api/v1/experiments/{id}/pause", OWNER, experiment, UPDATE_EXPERIMENT, NO, WORKER, none, none, "nothing", "Pause: trials save a checkpoint and release their slots")
ROUTE(cancel_experiment, "experiments/experiments", POST, "/api/v1/experiments/{id}/cancel", OWNER, experiment, UPDATE_EXPERIMENT, NO, WORKER, none, none, "nothing", "Stop an experiment gracefully")
ROUTE(kill_experiment, "experiments/experiments", POST, "/api/v1/experiments/{id}/kill", OWNER, experiment, UPDATE_EXPERIMENT, NO, WORKER, none, none, "nothing", "Stop an experiment at once")
ROUTE(archive_experiment, "experiments/experiments", POST, "/api/v1/experiments/{id}/archive", OWNER, experiment, UPDATE_EXPERIMENT_METADATA, NO, WORKER, none, none, "nothing", "Archive: hide from lists")
ROUTE(unarchive_experiment, "experiments/experiments", POST, "/api/v1/experiments/{id}/unarchive", OWNER, experiment, UPDATE_EXPERIMENT_METADATA, NO, WORKER, none, none, "nothing", "Show an archived experiment in lists again")
ROUTE(list_trials, "experiments/trials", GET, "/api/v1/experiments/{id}/trials", USER, experiment, VIEW_EXPERIMENT_METADATA, NO, WORKER, list_query, none, "trials", "List an experiment's trials")
ROUTE(list_experiment_checkpoints, "reports/checkpoints", GET, "/api/v1/experiments/{id}/checkpoints", USER, experiment, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, checkpoints_query, none, "checkpoints", "List an experiment's checkpoints")
ROUTE(get_model_def, "experiments/experiments", GET, "/api/v1/experiments/{id}/model_def", USER, experiment, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, none, none, "b64Tgz", "Get the submitted files")
ROUTE(get_model_def_tree, "experiments/experiment_files", GET, "/api/v1/experiments/{id}/file_tree", USER, experiment, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, none, none, "files", "List the names of the submitted files")
ROUTE(get_model_def_file, "experiments/experiment_files", POST, "/api/v1/experiments/{id}/file", USER, experiment, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, none, model_def_file_body, "file", "Get one of the submitted files")
ROUTE(put_label, "experiments/experiments", PUT, "/api/v1/experiments/{id}/labels/{label}", OWNER, experiment, UPDATE_EXPERIMENT_METADATA, NO, WORKER, none, none, "labels", "Add a label")
ROUTE(delete_label, "experiments/experiments", DELETE, "/api/v1/experiments/{id}/labels/{label}", OWNER, experiment, UPDATE_EXPERIMENT_METADATA, NO, WORKER, none, none, "labels", "Remove a label")
ROUTE(retain_experiment_logs, "experiments/experiments", PUT, "/api/v1/experiments/{id}/retain_logs", OWNER, experiment, UPDATE_EXPERIMENT_METADATA, NO, WORKER, none, retain_logs_body, "nothing", "Set how many days logs are kept")
ROUTE(get_best_metric, "experiments/experiments", GET, "/api/v1/experiments/{id}/searcher/best_searcher_validation_metric", USER, experiment, VIEW_EXPERIMENT_METADATA, OWN, WORKER, none, none, "metric", "The best value of the searcher's metric so far")
ROUTE(get_metric_names, "experiments/experiments", GET, "/api/v1/det/experiments/{id}/metric-names", USER, experiment, VIEW_EXPERIMENT_METADATA, NO, WORKER, none, none, "names", "Groups and names of an experiment's metrics")
ROUTE(trials_table, "pages/trial_table", GET, "/api/v1/det/experiments/{id}/trials-table", USER, experiment, VIEW_EXPERIMENT_METADATA, NO, WORKER, trials_table_query, none, "hparams, trials, importance", "All trials in compact rows, and the importance of hyperparameters")
ROUTE(get_lineage, "experiments/lineage", GET, "/api/v1/det/experiments/{id}/lineage", USER, experiment, VIEW_EXPERIMENT_METADATA, NO, WORKER, none, none, "ancestors, forks, checkpoints", "The ancestors, forks and start checkpoints of an experiment")
ROUTE(check_config, "experiments/config_check", POST, "/api/v1/det/check", USER, named, VIEW_EXPERIMENT_METADATA, NO, WORKER, none, check_body, "problems, completed", "Check a configuration without submitting it")
ROUTE(preview_gc, "reports/checkpoint_removals", GET, "/experiments/{id}/preview_gc", USER, experiment, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, preview_gc_query, none, "checkpoints, metric_name", "Which checkpoints another policy would delete")
ROUTE(preview_search, "experiments/experiment_create", POST, "/api/v1/preview-hp-search", USER, none, NONE, NO, WORKER, none, none, "summary", "Preview the trials of a search")

/* trials */
ROUTE(create_trial, "experiments/unmanaged", POST, "/api/v1/trials", OWNER, named, UPDATE_EXPERIMENT, NO, WORKER, none, create_trial_body, "trial", "Create a trial of an unmanaged experiment")
ROUTE(put_trial, "experiments/unmanaged", PUT, "/api/v1/trials", OWNER, named, UPDATE_EXPERIMENT, NO, WORKER, none, put_trial_body, "trial", "Find or create a trial of an unmanaged experiment")
ROUTE(get_trial, "experiments/trials", GET, "/api/v1/trials/{id}", USER, trial, VIEW_EXPERIMENT_METADATA, OWN, WORKER, none, none, "trial", "Show a trial")
ROUTE(patch_trial, "experiments/unmanaged", PATCH, "/api/v1/trials/{id}", OWNER, trial, UPDATE_EXPERIMENT, NO, WORKER, none, patch_trial_body, "trial", "Set the state of an unmanaged trial")
ROUTE(kill_trial, "experiments/trials", POST, "/api/v1/trials/{id}/kill", OWNER, trial, UPDATE_EXPERIMENT, NO, WORKER, none, none, "nothing", "Kill a trial and release its slots")
ROUTE(trial_logs, "reports/logs", GET, "/api/v1/trials/{id}/logs", USER, trial, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, logs_query, none, "stream of lines", "Stream a trial's logs")
ROUTE(trial_logs_fields, "reports/logs", GET, "/api/v1/trials/{id}/logs/fields", USER, trial, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, none, none, "stream of fields", "Values that its logs can be filtered by")
ROUTE(trial_workloads, "experiments/trials", GET, "/api/v1/trials/{id}/workloads", USER, trial, VIEW_EXPERIMENT_METADATA, NO, WORKER, workloads_query, none, "workloads", "Training, validations and checkpoints in order")
ROUTE(get_trial_profile, "pages/trial_profile", GET, "/api/v1/det/trials/{id}/profile", USER, trial, VIEW_EXPERIMENT_METADATA, NO, WORKER, none, none, "agents: curves, timings, cause of lost time", "The profile of a trial: curves, timings and lost time")
ROUTE(list_trial_checkpoints, "reports/checkpoints", GET, "/api/v1/trials/{id}/checkpoints", USER, trial, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, checkpoints_query, none, "checkpoints", "List a trial's checkpoints")
ROUTE(retain_trial_logs, "experiments/experiments", PUT, "/api/v1/trials/{id}/retain_logs", OWNER, trial, UPDATE_EXPERIMENT_METADATA, NO, WORKER, none, retain_logs_body, "nothing", "Set how many days logs are kept")
ROUTE(trial_series, "experiments/trials", GET, "/api/v1/trials/time-series", USER, named, VIEW_EXPERIMENT_METADATA, NO, WORKER, series_query, none, "trials with points", "Metrics of trials, downsampled")
ROUTE(trial_metrics, "reports/metrics", GET, "/api/v1/trials/metrics/trial_metrics", USER, named, VIEW_EXPERIMENT_METADATA, NO, WORKER, metrics_query, none, "stream of reports", "Metrics of trials, any group")
ROUTE(training_metrics, "reports/metrics", GET, "/api/v1/trials/metrics/training_metrics", USER, named, VIEW_EXPERIMENT_METADATA, NO, WORKER, metrics_query, none, "stream of reports", "Training metrics of trials")
ROUTE(validation_metrics, "reports/metrics", GET, "/api/v1/trials/metrics/validation_metrics", USER, named, VIEW_EXPERIMENT_METADATA, NO, WORKER, metrics_query, none, "stream of reports", "Validation metrics of trials")
ROUTE(get_series, "pages/series", GET, "/api/v1/det/series", USER, named, VIEW_EXPERIMENT_METADATA, NO, WORKER, charts_query, none, "charts, in bytes or JSON", "Metrics of trials as charts for a screen")
ROUTE(get_trial_metric_names, "pages/series", GET, "/api/v1/det/trials/{id}/metric-names", USER, trial, VIEW_EXPERIMENT_METADATA, NO, WORKER, none, none, "names with count, last, min and max", "Groups and names of a trial's metrics")
ROUTE(get_trial_environment, "reports/run_records", GET, "/api/v1/det/trials/{id}/environment", USER, trial, VIEW_EXPERIMENT_METADATA, NO, WORKER, none, none, "seeds, configuration and environment of each run", "Everything needed to repeat a trial")

/* reports of tasks */
ROUTE(report_metrics, "reports/metrics", POST, "/api/v1/trials/{id}/metrics", OWNER, trial, UPDATE_EXPERIMENT, OWN, QUICK, none, report_metrics_body, "nothing", "Report metrics")
ROUTE(report_progress, "reports/metrics", POST, "/api/v1/trials/{id}/progress", OWNER, trial, UPDATE_EXPERIMENT, OWN, WORKER, none, progress_body, "nothing", "Report the progress of a trial")
ROUTE(report_early_exit, "reports/metrics", POST, "/api/v1/trials/{id}/early_exit", OWNER, trial, UPDATE_EXPERIMENT, OWN, WORKER, none, early_exit_body, "nothing", "Report that the hyperparameters are invalid")
ROUTE(report_runner, "reports/metrics", POST, "/api/v1/trials/{id}/runner/metadata", OWNER, trial, UPDATE_EXPERIMENT, OWN, WORKER, none, runner_metadata_body, "nothing", "Report what the trial is doing")
ROUTE(report_checkpoint, "reports/checkpoints", POST, "/api/v1/checkpoints", OWNER, named, UPDATE_EXPERIMENT, OWN, WORKER, none, checkpoint_body, "nothing", "Report a complete checkpoint")
ROUTE(report_batch, "reports/reports", POST, "/api/v1/allocations/{id}/reports", STAND_IN, allocation, NONE, NO, WORKER, none, bytes_body, "stored and refused", "Store reports from a task's ring")
ROUTE(start_run, "reports/metrics", POST, "/api/v1/runs/start", USER, none, NONE, OWN, WORKER, none, none, "storageId", "A training process starts")
ROUTE(get_run_metadata, "reports/metrics", GET, "/api/v1/runs/{id}/metadata", USER, trial, VIEW_EXPERIMENT_METADATA, OWN, WORKER, none, none, "metadata", "Show a trial's metadata")
ROUTE(post_run_metadata, "reports/metrics", POST, "/api/v1/runs/{id}/metadata", OWNER, trial, UPDATE_EXPERIMENT_METADATA, OWN, WORKER, none, run_metadata_body, "metadata", "Merge into a trial's metadata")
ROUTE(post_task_logs, "reports/logs", POST, "/api/v1/task/logs", OWNER, named, UPDATE_EXPERIMENT, OWN, WORKER, none, none, "nothing", "Store log lines of a task")
ROUTE(get_context, "tasks/tasks", GET, "/api/v1/tasks/{id}/context_directory", USER, task, VIEW_EXPERIMENT_ARTIFACTS, OWN, WORKER, none, none, "b64Tgz", "Get the files of a task")

/* checkpoints */
ROUTE(get_checkpoint, "reports/checkpoints", GET, "/api/v1/checkpoints/{uuid}", USER, checkpoint, VIEW_EXPERIMENT_ARTIFACTS, AS_USER, WORKER, none, none, "checkpoint", "Show a checkpoint")
ROUTE(download_checkpoint, "reports/checkpoint_downloads", GET, "/checkpoints/{uuid}", USER, checkpoint, VIEW_EXPERIMENT_ARTIFACTS, AS_USER, WORKER, download_query, none, "an archive", "Download a checkpoint as tar.gz, tar or zip, by Accept or ?format=")
ROUTE(patch_checkpoints, "reports/checkpoints", PATCH, "/api/v1/checkpoints", OWNER, named, UPDATE_EXPERIMENT, OWN, WORKER, none, none, "nothing", "Set the remaining files of checkpoints")
ROUTE(delete_checkpoints, "reports/checkpoint_removals", DELETE, "/api/v1/checkpoints", OWNER, named, UPDATE_EXPERIMENT, NO, WORKER, none, none, "nothing", "Delete checkpoints; agents remove the files")
ROUTE(post_checkpoint_metadata, "reports/checkpoints", POST, "/api/v1/checkpoints/{uuid}/metadata", OWNER, checkpoint, UPDATE_EXPERIMENT_METADATA, NO, WORKER, none, none, "checkpoint", "Replace a checkpoint's metadata")

/* allocations and tasks */
ROUTE(get_allocation, "tasks/allocations", GET, "/api/v1/allocations/{id}", USER, allocation, VIEW_EXPERIMENT_METADATA, NO, WORKER, none, none, "allocation", "Show an allocation")
ROUTE(kill_allocation, "tasks/allocations", POST, "/api/v1/allocations/{id}/kill", OWNER, allocation, UPDATE_EXPERIMENT, NO, WORKER, none, none, "nothing", "Kill one run; its trial continues from its latest checkpoint")
ROUTE(get_preemption, "tasks/allocations", GET, "/api/v1/allocations/{id}/signals/preemption", OWNER, allocation, UPDATE_EXPERIMENT, OWN, WORKER, preemption_query, none, "preempt", "Wait for the request to stop")
ROUTE(ack_preemption, "tasks/allocations", POST, "/api/v1/allocations/{id}/signals/ack_preemption", OWNER, allocation, UPDATE_EXPERIMENT, OWN, WORKER, none, none, "nothing", "Acknowledge the request to stop")
ROUTE(pend_preemption, "tasks/allocations", POST, "/api/v1/allocations/{id}/signals/pending_preemption", OWNER, allocation, UPDATE_EXPERIMENT, OWN, WORKER, none, none, "nothing", "Ask for preemption")
ROUTE(allocation_ready, "tasks/allocations", POST, "/api/v1/allocations/{id}/ready", OWNER, allocation, UPDATE_EXPERIMENT, OWN, WORKER, none, none, "nothing", "Report that the task is ready")
ROUTE(allocation_waiting, "tasks/allocations", POST, "/api/v1/allocations/{id}/waiting", OWNER, allocation, UPDATE_EXPERIMENT, OWN, WORKER, none, none, "nothing", "Report that the task waits")
ROUTE(allocation_accelerators, "tasks/allocations", POST, "/api/v1/allocations/{id}/acceleratorData", OWNER, allocation, UPDATE_EXPERIMENT, OWN, WORKER, none, none, "nothing", "Report the devices of the task")
ROUTE(allocation_rendezvous, "tasks/allocations", GET, "/api/v1/allocations/{id}/resources/{resources}/rendezvous", OWNER, allocation, UPDATE_EXPERIMENT, OWN, WORKER, none, none, "rendezvousInfo", "Wait for the other nodes")
ROUTE(allocation_all_gather, "tasks/allocations", POST, "/api/v1/allocations/{id}/all_gather", OWNER, allocation, UPDATE_EXPERIMENT, OWN, WORKER, none, none, "data", "Exchange data with the other nodes")
ROUTE(create_generic_task, "tasks/generic_jobs", POST, "/api/v1/generic-tasks", USER, named, CREATE_NSC, NO, WORKER, none, create_generic_task_body, "taskId and warnings", "Submit a generic job")
ROUTE(list_generic_tasks, "tasks/generic_jobs", GET, "/api/v1/generic-tasks", USER, list, VIEW_NSC, NO, WORKER, generic_tasks_query, none, "tasks and pagination", "List generic jobs, newest first")
ROUTE(list_tasks, "tasks/tasks", GET, "/api/v1/tasks", USER, list, VIEW_EXPERIMENT_METADATA, NO, WORKER, none, none, "allocationIdToSummary", "List tasks that run or wait")
ROUTE(get_task, "tasks/tasks", GET, "/api/v1/tasks/{id}", USER, task, VIEW_EXPERIMENT_METADATA, NO, WORKER, none, none, "task", "Show a task")
ROUTE(kill_task, "tasks/generic_jobs", POST, "/api/v1/tasks/{id}/kill", OWNER, task, UPDATE_EXPERIMENT, NO, WORKER, none, kill_task_body, "nothing", "Kill a generic job")
ROUTE(pause_task, "tasks/generic_jobs", POST, "/api/v1/tasks/{id}/pause", OWNER, task, UPDATE_EXPERIMENT, NO, WORKER, none, none, "nothing", "Pause a generic job: it ends and releases its slots")
ROUTE(unpause_task, "tasks/generic_jobs", POST, "/api/v1/tasks/{id}/unpause", OWNER, task, UPDATE_EXPERIMENT, NO, WORKER, none, none, "nothing", "Resume a paused generic job; it starts again")
ROUTE(get_task_config, "tasks/generic_jobs", GET, "/api/v1/tasks/{id}/config", USER, task, VIEW_EXPERIMENT_METADATA, NO, WORKER, none, none, "config", "The complete configuration of a generic job, as YAML")
ROUTE(task_logs, "reports/logs", GET, "/api/v1/tasks/{id}/logs", USER, task, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, logs_query, none, "stream of lines", "Stream a task's logs")
ROUTE(task_logs_fields, "reports/logs", GET, "/api/v1/tasks/{id}/logs/fields", USER, task, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, none, none, "stream of fields", "Values that its logs can be filtered by")

/* programs of tasks behind the master's address */
ROUTE(launch_tensorboard, "tasks/tensorboards", POST, "/api/v1/tensorboards", USER, named, CREATE_NSC, NO, WORKER, none, launch_tensorboard_body, "tensorboard, config, warnings", "Run TensorBoard on experiments or trials")
ROUTE(list_tensorboards, "tasks/tensorboards", GET, "/api/v1/tensorboards", USER, list, VIEW_NSC, NO, WORKER, tensorboards_query, none, "tensorboards", "List TensorBoards, newest first")
ROUTE(get_tensorboard, "tasks/tensorboards", GET, "/api/v1/tensorboards/{id}", USER, task, VIEW_NSC, NO, WORKER, none, none, "tensorboard, config", "Show a TensorBoard")
ROUTE(kill_tensorboard, "tasks/tensorboards", POST, "/api/v1/tensorboards/{id}/kill", OWNER, task, UPDATE_NSC, NO, WORKER, none, none, "tensorboard", "Kill a TensorBoard")
ROUTE(proxy, "tasks/proxy", ANY, "/proxy/{service}/{path...}", USER, task, VIEW_NSC, NO, WORKER, none, none, "the program's answer", "Forward to a task's program, HTTP or WebSocket, any method")
ROUTE(register_proxy, "tasks/proxy", POST, "/api/v1/det/allocations/{id}/proxy", OWNER, allocation, UPDATE_EXPERIMENT, OWN, WORKER, none, proxy_body, "nothing", "Register the port of a task's program")
ROUTE(look_at_proxy, "tasks/proxy", GET, "/api/v1/det/allocations/{id}/proxy", OWNER, allocation, UPDATE_EXPERIMENT, OWN, WORKER, none, none, "idleSeconds", "How long a task's program was not used")

/* agents, slots, queue */
ROUTE(list_agents, "cluster/agents", GET, "/api/v1/agents", USER, none, NONE, NO, WORKER, list_query, none, "agents", "List agents")
ROUTE(get_agent, "cluster/agents", GET, "/api/v1/agents/{agent}", USER, none, NONE, NO, WORKER, none, none, "agent", "Show an agent")
ROUTE(enable_agent, "cluster/agents", POST, "/api/v1/agents/{agent}/enable", ADMIN, none, UPDATE_AGENTS, NO, WORKER, none, none, "agent", "Enable an agent")
ROUTE(disable_agent, "cluster/agents", POST, "/api/v1/agents/{agent}/disable", ADMIN, none, UPDATE_AGENTS, NO, WORKER, none, enable_body, "agent", "Disable an agent; with drain, running tasks may end")
ROUTE(list_slots, "cluster/agents", GET, "/api/v1/agents/{agent}/slots", USER, none, NONE, NO, WORKER, none, none, "slots", "List an agent's slots")
ROUTE(get_slot, "cluster/agents", GET, "/api/v1/agents/{agent}/slots/{slot}", USER, none, NONE, NO, WORKER, none, none, "slot", "Show a slot")
ROUTE(enable_slot, "cluster/agents", POST, "/api/v1/agents/{agent}/slots/{slot}/enable", ADMIN, none, UPDATE_AGENTS, NO, WORKER, none, none, "slot", "Enable a slot")
ROUTE(disable_slot, "cluster/agents", POST, "/api/v1/agents/{agent}/slots/{slot}/disable", ADMIN, none, UPDATE_AGENTS, NO, WORKER, none, enable_body, "slot", "Disable a slot")
ROUTE(list_jobs, "cluster/job_queue", GET, "/api/v1/job-queues-v2", USER, list, VIEW_EXPERIMENT_METADATA, NO, WORKER, jobs_query, none, "jobs", "List the queue")
ROUTE(update_jobs, "cluster/job_queue", POST, "/api/v1/job-queues", OWNER, named, UPDATE_EXPERIMENT, NO, WORKER, none, none, "nothing", "Change priority, weight or pool of jobs")
ROUTE(list_pools, "cluster/job_queue", GET, "/api/v1/resource-pools", USER, none, NONE, NO, WORKER, list_query, none, "resourcePools", "List resource pools")

/* our own: live pages */
ROUTE(changes, "pages/change_stream", GET, "/api/v1/det/changes", USER, list, VIEW_EXPERIMENT_METADATA, NO, WORKER, changes_query, none, "stream of events", "Changes as server-sent events")
/* our own: the table of experiments */
ROUTE(find_experiments, "pages/experiment_table", GET, "/api/v1/det/experiments", USER, list, VIEW_EXPERIMENT_METADATA, NO, WORKER, find_experiments_query, none, "experiments, total, all, states and values", "A page of the table of experiments, with any order and filter")
ROUTE(act_on_experiments, "pages/experiment_table", POST, "/api/v1/det/experiments/actions", OWNER, named, UPDATE_EXPERIMENT, NO, WORKER, none, act_on_experiments_body, "results", "Apply one action to many experiments")

/* our own: runs recorded without a master */
ROUTE(trial_reports, "reports/reports", POST, "/api/v1/det/trials/{id}/reports", OWNER, trial, UPDATE_EXPERIMENT, NO, WORKER, none, bytes_body, "stored and refused", "Store reports of an unmanaged trial, from its ring")
ROUTE(trial_output, "reports/logs", POST, "/api/v1/det/trials/{id}/output", OWNER, trial, UPDATE_EXPERIMENT, NO, WORKER, none, share_logs_body, "offset", "Store output of an unmanaged trial")

/* our own: pages of logs */
ROUTE(task_lines, "pages/log_pages", GET, "/api/v1/det/tasks/{id}/lines", USER, task, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, lines_query, none, "first, last, lines", "Lines of a task's log by number or time")
ROUTE(task_search, "pages/log_pages", GET, "/api/v1/det/tasks/{id}/search", USER, task, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, line_search_query, none, "stream of hits", "Search a task's log")
ROUTE(task_text, "pages/log_pages", GET, "/api/v1/det/tasks/{id}/log.txt", USER, task, VIEW_EXPERIMENT_ARTIFACTS, NO, WORKER, lines_query, none, "plain text", "A task's whole log as a file")

/* our own: agents and supervisors */
ROUTE(agent_hello, "cluster/agents", POST, "/api/v1/det/agents/{agent}/hello", AGENT, none, NONE, NO, WORKER, none, agent_hello_body, "epoch", "An agent joins and lists its tasks")
ROUTE(agent_commands, "cluster/agents", GET, "/api/v1/det/agents/{agent}/commands", AGENT, none, NONE, NO, WORKER, agent_commands_query, none, "commands", "Wait for commands")
ROUTE(agent_removals, "reports/checkpoint_removals", GET, "/api/v1/det/agents/{agent}/removals", AGENT, none, NONE, NO, WORKER, none, none, "removals, sweeps", "Removals for an agent")
ROUTE(agent_removed, "reports/checkpoint_removals", POST, "/api/v1/det/agents/{agent}/removals", AGENT, none, NONE, NO, WORKER, none, none, "nothing", "Results of removals")
ROUTE(agent_bye, "cluster/agents", POST, "/api/v1/det/agents/{agent}/bye", AGENT, none, NONE, NO, WORKER, none, agent_bye_body, "nothing", "An agent signs off")
ROUTE(share_state, "tasks/allocations", POST, "/api/v1/det/allocations/{id}/state", SUPERVISOR, allocation, NONE, NO, WORKER, none, share_state_body, "nothing", "Report the state of a task process")
ROUTE(share_alive, "tasks/allocations", POST, "/api/v1/det/allocations/{id}/alive", SUPERVISOR, allocation, NONE, NO, WORKER, none, share_alive_body, "mustEnd, againMs", "Sign of life of a task's supervisor")
ROUTE(share_exit, "tasks/allocations", POST, "/api/v1/det/allocations/{id}/exit", SUPERVISOR, allocation, NONE, NO, WORKER, none, share_exit_body, "nothing", "Report the exit of a task process")
ROUTE(share_record, "reports/run_records", POST, "/api/v1/det/allocations/{id}/environment", SUPERVISOR, allocation, NONE, NO, WORKER, none, share_record_body, "nothing", "Store the environment of a task process")
ROUTE(share_logs, "reports/logs", POST, "/api/v1/det/allocations/{id}/logs", STAND_IN, allocation, NONE, NO, WORKER, none, share_logs_body, "offset", "Store output of a task")
ROUTE(agent_exit, "tasks/allocations", POST, "/api/v1/det/agents/{agent}/allocations/{id}/exit", AGENT, none, NONE, NO, WORKER, none, share_exit_body, "nothing", "An agent reports the exit of a task process")

/* clang-format on */
