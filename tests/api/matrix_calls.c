/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/api/matrix_calls.h"

#include <string.h>

#include "base/compiler.h"

/* The second role does not exist. */
#define ASSIGNED                                                                       \
    "{'userRoleAssignments': [{'userId': ${user}, 'roleAssignment': {'role': "         \
    "{'roleId': 4}, 'scopeWorkspaceId': ${workspace}}}, {'userId': ${user}, "          \
    "'roleAssignment': {'role': {'roleId': 77}, 'scopeWorkspaceId': ${workspace}}}]}"

static void make_group(struct bed *bed)
{
    static int count;
    struct step step = POST("made", "/api/v1/groups",
                            arena_printf(&bed->mem, "{'name': 'fresh %d'}", ++count),
                            200, NULL, ADMIN);

    (void)bed_step(bed, &step);
    bed_let(bed, "fresh", bed_get(bed, "made.group.groupId"));
}

/* The owner's, because that counts in mode basic; in mode rbac the administrator makes it. */
static void make_project(struct bed *bed)
{
    static int count;
    struct step step = POST("made", "/api/v1/workspaces/${workspace}/projects",
                            arena_printf(&bed->mem, "{'name': 'fresh %d'}", ++count),
                            200, NULL, *bed_get(bed, "is_rbac") ? ADMIN : OTHER);

    (void)bed_step(bed, &step);
    bed_let(bed, "fresh", bed_get(bed, "made.project.id"));
}

static void make_workspace(struct bed *bed)
{
    static const struct step role =
        POST("role", "/api/v1/roles/add-assignments",
             "{'userRoleAssignments': [{'userId': ${wsa.user.id}, 'roleAssignment': "
             "{'role': "
             "{'roleId': 2}, 'scopeWorkspaceId': ${fresh}}}]}",
             200, NULL, ADMIN);
    static int count;
    bool is_rbac = *bed_get(bed, "is_rbac");
    struct step step = POST("made", "/api/v1/workspaces",
                            arena_printf(&bed->mem, "{'name': 'fresh %d'}", ++count),
                            200, NULL, is_rbac ? ADMIN : OTHER);

    (void)bed_step(bed, &step);
    bed_let(bed, "fresh", bed_get(bed, "made.workspace.id"));
    if (is_rbac)
        (void)bed_step(bed, &role);
}

static const struct matrix_call calls[] = {
    /* the master itself */
    {"get_root", .ok = 302},
    {"get_webui", "/det/experiments"},
    {"get_webui_file", "/det/web/0/none.js", .ok = 404},
    {"get_docs_root", .ok = 302},
    {"get_docs", "/docs/concepts.html"},

    /* users */
    {"login", .body = "{'username': 5}", .ok = 400},
    {"logout", .ends_session = true},
    {"create_user", .ok = 400},
    {"get_user", "/api/v1/users/${user}"},
    {"get_user_by_name", "/api/v1/users/own/by-username"},
    {"patch_user.admin", .body = "{'admin': false, 'username': ''}", .ok = 400},
    {"patch_user.active", .body = "{'active': true, 'username': ''}", .ok = 400},
    {"patch_user.remote", .body = "{'remote': false, 'username': ''}", .ok = 400},
    {"patch_user.agentUserGroup", .body = "{'agentUserGroup': 5}", .ok = 400},
    {"set_password", .body = "5", .ok = 400},
    {"reset_password", .ok = 400},
    {"patch_users", .body = "{'userIds': [], 'activate': true}"},
    {"put_user_settings", .body = "{'settings': []}"},

    /* groups, roles and access tokens */
    {"create_group", .ok = 400},
    {"search_groups", .body = "{'limit': 10}"},
    {"get_group", "/api/v1/groups/${group}"},
    {"delete_group", "/api/v1/groups/${fresh}", .make = make_group},
    {"search_roles", .body = "{'limit': 10}"},
    {"get_roles_by_ids", .body = "{'roleIds': [1]}"},
    {"get_roles_of_user", "/api/v1/roles/search/by-user/${user}"},
    {"get_roles_of_group", "/api/v1/roles/search/by-group/${group}"},
    {"search_assignable_roles", .body = "{'limit': 10}"},
    {"add_role_assignments", .body = ASSIGNED, .ok = 404},
    {"remove_role_assignments", .body = ASSIGNED, .ok = 404},
    {"create_token", .body = "{'userId': ${user}, 'lifespan': 'x'}", .ok = 400},
    {"list_tokens", "/api/v1/tokens?username=own"},

    /* signing in other than by a password of this master */
    {"oidc_login", .ok = 404},
    {"oidc_callback", .ok = 404},
    {"add_signin_code", .ok = 400},
    {"add_signin_device", .ok = 400},
    {"get_signin_device", "/api/v1/det/signin/devices/XXXX-XXXX", .ok = 404},
    {"decide_signin_device", "/api/v1/det/signin/devices/XXXX-XXXX",
     .body = "{'isAllowed': false}", .ok = 404},
    {"redeem_signin", .ok = 400},

    /* workspaces and projects */
    {"list_workspaces", .show = "hush-workspace"},
    {"create_workspace", .ok = 400},
    {"create_workspace.agentUserGroup", .body = "{'agentUserGroup': 5}", .ok = 400},
    {"patch_workspace.agentUserGroup", .body = "{'agentUserGroup': 5}", .ok = 400},
    {"patch_workspace.name", .body = "{'name': 'hush-workspace'}"},
    {"patch_workspace.checkpointStorageConfig",
     .body = "{'checkpointStorageConfig': 5}", .ok = 400},
    {"patch_workspace.defaultComputeResourcePool",
     .body = "{'defaultComputeResourcePool': 'default'}"},
    {"patch_workspace.defaultAuxResourcePool",
     .body = "{'defaultAuxResourcePool': 'default'}"},
    {"delete_workspace", "/api/v1/workspaces/${fresh}", .make = make_workspace},
    {"archive_workspace", .undo = "/api/v1/workspaces/${workspace}/unarchive"},
    {"bind_namespaces", .ok = 400},
    {"unbind_namespaces", .ok = 400},
    {"set_quota", .ok = 400},
    {"get_quotas", .ok = 400},
    {"list_projects", "/api/v1/workspaces/0/projects", .show = "hush-project"},
    {"create_project", .ok = 400},
    {"get_project_by_key", "/api/v1/projects/key/${key}"},
    {"delete_project", "/api/v1/projects/${fresh}", .make = make_project},
    {"archive_project", .undo = "/api/v1/projects/${project}/unarchive"},
    {"move_project", .body = "{'destinationWorkspaceId': ${workspace}}"},
    {"add_project_note", .body = "{'name': 'n', 'contents': 'c'}"},
    {"put_project_notes", .body = "{'notes': []}"},
    {"list_active_projects", .show = "hush-project"},
    {"post_activity", .body = "{'activityType': 'ACTIVITY_TYPE_GET', 'entityType': "
                              "'ENTITY_TYPE_PROJECT', 'entityId': ${project}}"},
    {"get_metadata_values", "/api/v1/projects/${project}/metadata/key"},
    {"activate_experiments", "/api/v1/projects/${project}/experiments/activate",
     .body = "{'experimentIds': [${done.experiment}]}", .is_bulk = true,
     .other = "already"},
    {"pause_experiments", "/api/v1/projects/${project}/experiments/pause",
     .body = "{'experimentIds': [${done.experiment}]}", .is_bulk = true,
     .other = "nothing to pause"},
    {"cancel_experiments", "/api/v1/projects/${project}/experiments/cancel",
     .body = "{'experimentIds': [${done.experiment}]}", .is_bulk = true},
    {"kill_experiments", "/api/v1/projects/${project}/experiments/kill",
     .body = "{'experimentIds': [${done.experiment}]}", .is_bulk = true},
    {"archive_experiments", "/api/v1/projects/${project}/experiments/archive",
     .body = "{'experimentIds': [${done.experiment}]}", .is_bulk = true},
    {"unarchive_experiments", "/api/v1/projects/${project}/experiments/unarchive",
     .body = "{'experimentIds': [${done.experiment}]}", .is_bulk = true},
    {"delete_experiments", "/api/v1/projects/${project}/experiments/delete",
     .body = "{'experimentIds': [${experiment}]}", .is_bulk = true,
     .other = "cannot delete"},
    {"retain_logs_of_experiments",
     "/api/v1/projects/${project}/experiments/retain_logs",
     .body = "{'experimentIds': [${done.experiment}], 'numDays': 5}", .is_bulk = true},
    {"move_experiment", .body = "{'destinationProjectId': ${project}}"},
    {"move_experiments", "/api/v1/projects/${project}/experiments/move",
     .body = "{'experimentIds': [${experiment}], 'destinationProjectId': ${project}}",
     .is_bulk = true},

    /* experiments */
    {"list_experiments", .show = "hush-experiment"},
    {"create_experiment",
     .body = "{'config': $[single], 'projectId': ${project}, 'validateOnly': true}"},
    {"put_experiment", "/api/v1/experiments/by-external-id/none",
     .body = "{'createExperimentRequest': {'config': 'nothing: 5', 'projectId': "
             "${project}}}",
     .ok = 400},
    {"delete_experiment", .ok = 400},
    {"continue_experiment", .body = "{'id': ${experiment}}", .ok = 400},
    {"pause_experiment", "/api/v1/experiments/${done.experiment}/pause", .ok = 400},
    {"cancel_experiment", "/api/v1/experiments/${done.experiment}/cancel"},
    {"kill_experiment", "/api/v1/experiments/${done.experiment}/kill"},
    {"archive_experiment", .ok = 400},
    {"unarchive_experiment", .ok = -1},
    {"get_model_def_file", .ok = 400},
    {"put_label", "/api/v1/experiments/${experiment}/labels/l"},
    {"delete_label", "/api/v1/experiments/${experiment}/labels/l", .ok = -1},
    {"retain_experiment_logs", .body = "{'numDays': 5}"},
    {"get_best_metric", .ok = 404}, /* there is no validation */
    {"check_config", .body = "{'config': '{}', 'continues': ${experiment}}", .ok = -1},
    {"preview_gc", "/experiments/${experiment}/"
                   "preview_gc?save_experiment_best=0&save_trial_best=1&save_trial_"
                   "latest=1"},
    {"preview_search", .ok = 400},

    /* trials */
    {"create_trial", .body = "{'experimentId': ${experiment}}", .ok = 400},
    {"put_trial",
     .body = "{'createTrialRequest': {'experimentId': ${experiment}}, "
             "'externalTrialId': 'x'}",
     .ok = 400},
    {"patch_trial", .ok = 400},
    {"kill_trial", "/api/v1/trials/${done.trial}/kill", .ok = -1},
    {"retain_trial_logs", .body = "{'numDays': 5}"},
    {"trial_series", "/api/v1/trials/time-series?trialIds=${trial}&metricNames=loss"
                     "&group=training"},
    {"trial_metrics", "/api/v1/trials/metrics/trial_metrics?trialIds=${trial}"
                      "&group=training"},
    {"training_metrics", "/api/v1/trials/metrics/training_metrics?trialIds=${trial}"},
    {"validation_metrics",
     "/api/v1/trials/metrics/validation_metrics?trialIds=${trial}"},
    {"get_series", "/api/v1/det/series?trials=${trial}&metrics=training.loss"},

    /* reports of tasks */
    {"report_metrics", .ok = 400},
    {"report_progress", .ok = -1},
    {"report_early_exit", .ok = 400},
    {"report_runner", .ok = -1},
    {"report_checkpoint",
     .body = "{'uuid': '${checkpoint}', 'allocationId': '${allocation}', 'taskId': "
             "'${task}', 'metadata': {'steps_completed': 5}, 'resources': 5, "
             "'training': {}, 'state': 'STATE_COMPLETED'}",
     .ok = 400},
    {"report_batch", .ok = 400},
    {"post_run_metadata", .body = "{'metadata': {}}"},
    {"post_task_logs", .body = "{'logs': [{'taskId': '${task}', 'log': 'a line'}]}"},

    /* checkpoints */
    {"download_checkpoint", .ok = 404}, /* its files do not exist */
    {"get_checkpoint_file", "/api/v1/det/checkpoints/${checkpoint}/file?path=none",
     .ok = 404},
    {"get_event_media",
     "/api/v1/det/trials/${trial}/events/item?file=a.tfevents&offset=0&value=0",
     .ok = 404},
    {"get_media", "/api/v1/det/trials/${trial}/media/1", .ok = 404},
    {"patch_checkpoints",
     .body = "{'checkpoints': [{'uuid': '${checkpoint}', 'resources': {'resources': "
             "5}}]}",
     .ok = 400},
    /* a trial would resume from it; what is not there is 400 as in the reference */
    {"delete_checkpoints", .body = "{'checkpointUuids': ['${checkpoint}']}", .ok = 400,
     .hidden = 400},
    {"post_checkpoint_metadata",
     .body = "{'checkpoint': {'uuid': '${checkpoint}', 'metadata': {}}}", .ok = -1},

    /* allocations and tasks */
    {"kill_allocation", "/api/v1/allocations/${done.allocation}/kill", .ok = -1},
    {"get_preemption",
     "/api/v1/allocations/${allocation}/signals/preemption?timeoutSeconds=0"},
    {"ack_preemption", .ok = -1},
    {"pend_preemption", .ok = -1},
    {"allocation_rendezvous",
     "/api/v1/allocations/${allocation}/resources/${container}/rendezvous", .ok = -1},
    {"allocation_all_gather", .ok = 400},
    {"create_generic_task", .body = "{'projectId': ${project}, 'config': 'x: 5'}",
     .ok = 400},
    {"list_generic_tasks", .show = "hush-job"},
    {"list_tasks", .show = "${running.task}"},
    {"kill_task", "/api/v1/tasks/${doomed}/kill", .ok = -1},
    {"pause_task", "/api/v1/tasks/${doomed}/pause", .ok = -1},
    {"unpause_task", "/api/v1/tasks/${doomed}/unpause", .ok = -1},
    {"get_task_config", "/api/v1/tasks/${job}/config"},

    /* programs of tasks behind the master's address */
    {"launch_tensorboard", .body = "{'workspaceId': ${workspace}}", .ok = 400},
    {"list_tensorboards", .show = "${board}"},
    {"get_tensorboard", "/api/v1/tensorboards/${board}"},
    {"kill_tensorboard", "/api/v1/tensorboards/${ended_board}/kill"},
    {"proxy", "/proxy/${board}/", .ok = 502}, /* nobody listens */
    {"register_proxy", .ok = 400},

    /* agents, slots, queue: an agent that does not exist */
    {"get_agent", "/api/v1/agents/a9", .ok = 404},
    {"enable_agent", "/api/v1/agents/a9/enable", .ok = 404},
    {"disable_agent", "/api/v1/agents/a9/disable", .ok = 404},
    {"list_slots", "/api/v1/agents/a9/slots", .ok = 404},
    {"get_slot", "/api/v1/agents/a9/slots/0", .ok = 404},
    {"enable_slot", "/api/v1/agents/a9/slots/0/enable", .ok = 404},
    {"disable_slot", "/api/v1/agents/a9/slots/0/disable", .ok = 404},
    {"list_jobs", .show = "hush-experiment"},
    {"update_jobs", .body = "{'updates': [{'jobId': '${queue_id}', 'weight': 1}]}"},

    /* the history of the cluster */
    {"usage_raw", .ok = 400},
    {"usage_aggregated", .ok = 400},
    {"usage_raw_csv", .ok = 400},
    {"usage_allocations_csv", .ok = 400},
    {"usage_aggregated_csv", .ok = 400},

    /* our own: live pages, the table of experiments */
    {"changes", "/api/v1/det/changes?kinds=nothing", .ok = 400},
    {"find_experiments", .show = "hush-experiment"},
    {"experiment_columns", .show = "hp.hush_rate"},
    {"act_on_experiments",
     .body = "{'action': 'label', 'label': 'l', 'ids': [${experiment}]}",
     .is_bulk = true},

    /* our own: runs recorded without a master */
    {"trial_reports", .ok = 400},
    {"trial_output", .ok = 400},

    /* our own: pages of logs */
    {"task_search", "/api/v1/det/tasks/${task}/search?text=x"},

    /* our own: agents and supervisors */
    {"agent_hello", "/api/v1/det/agents/a9/hello", .body = "{'devices': 5}", .ok = 400},
    {"agent_commands", "/api/v1/det/agents/a9/commands?timeoutSeconds=0", .ok = -1},
    {"agent_removals", "/api/v1/det/agents/a9/removals", .ok = -1},
    {"agent_removed", "/api/v1/det/agents/a9/removals", .body = "{'results': []}",
     .ok = -1},
    {"agent_bye", "/api/v1/det/agents/a9/bye", .ok = -1},
    {"share_state", .ok = 400},
    {"share_alive", .ok = -1},
    {"share_exit", .ok = 400},
    {"share_record", .ok = 400},
    {"share_load", .ok = 400},
    {"share_logs", .ok = 400},
    {"agent_exit", "/api/v1/det/agents/a9/allocations/${allocation}/exit", .ok = 400},
};

const struct matrix_call *matrix_call_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (!strcmp(calls[i].name, name))
            return &calls[i];
    return NULL;
}

int matrix_call_count(void)
{
    return (int)ARRAY_LEN(calls);
}

const char *matrix_call_name(int index)
{
    return calls[index].name;
}
