/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces and projects: what they are, who may change them, and what belongs to them. */
#include "base/compiler.h"
#include "tests/api/script.h"

/* ---- workspaces ------------------------------------------------------------------ */

TEST(there_is_a_workspace_with_a_project_from_the_start)
{
    static const struct step steps[] = {
        GET("list", "/api/v1/workspaces", 200,
            "workspaces#1; workspaces.0.id=1; workspaces.0.name=Uncategorized; "
            "workspaces.0.immutable=true; workspaces.0.username=admin; "
            "workspaces.0.numProjects=1; workspaces.0.pinned=false; "
            "workspaces.0.state=WORKSPACE_STATE_UNSPECIFIED; pagination.total=1"),
        GET("one", "/api/v1/workspaces/1", 200,
            "workspace.id=1; workspace.checkpointStorageConfig!; "
            "workspace.agentUserGroup!"),
        GET("projects", "/api/v1/workspaces/1/projects", 200,
            "projects#1; projects.0.id=1; projects.0.name=Uncategorized; "
            "projects.0.workspaceName=Uncategorized; projects.0.immutable=true; "
            "projects.0.notes#0"),
        GET("project", "/api/v1/projects/1", 200, "project.numExperiments=0"),
        GET("unknown", "/api/v1/workspaces/9", 404,
            "error.error=workspace '9' not found"),
        GET("unknown project", "/api/v1/projects/9", 404,
            "error.error=project '9' not found"),
        PATCH("immutable", "/api/v1/workspaces/1", "{'name': 'x'}", 400,
              "error.error~immutable", ADMIN),
        POST("archive", "/api/v1/workspaces/1/archive", NULL, 400,
             "error.error~immutable", ADMIN),
        POST("not for others", "/api/v1/workspaces/1/archive", NULL, 403, NULL),
        DELETE("deletion", "/api/v1/workspaces/1", 400, "error.error~immutable", ADMIN),
        POST("no project in it", "/api/v1/workspaces/1/projects", "{'name': 'p'}", 400,
             "error.error~immutable and cannot add new projects"),
        DELETE("nor its project", "/api/v1/projects/1", 400, "error.error~immutable",
               ADMIN),
        DELETE("others", "/api/v1/projects/1", 403, NULL),
        GET("pools", "/api/v1/workspaces/1/available-resource-pools", 200,
            "resourcePools#1; resourcePools.0=default"),
        GET("namespaces", "/api/v1/workspaces/1/list-namespace-bindings", 200,
            "namespaceBindings#0"),
        POST("kubernetes", "/api/v1/workspaces/1/namespace-bindings", "{}", 400,
             "error.error~Kubernetes", ADMIN),
        DELETE("kubernetes", "/api/v1/workspaces/1/namespace-bindings", 400,
               "error.error~Kubernetes", ADMIN),
        POST("quota", "/api/v1/workspaces/1/set-resource-quota", "{}", 400,
             "error.error~Kubernetes", ADMIN),
        GET("quotas", "/api/v1/workspaces/1/get-k8s-resource-quotas", 400,
            "error.error~Kubernetes"),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(names_are_checked)
{
    static const struct step steps[] = {
        POST("empty", "/api/v1/workspaces", "{'name': ''}", 400,
             "error.error=name '' must be at least 1 character long"),
        POST("absent", "/api/v1/workspaces", "{}", 400, "error.error~at least 1"),
        POST("blank", "/api/v1/workspaces", "{'name': '   '}", 400,
             "error.error~not a space"),
        POST("control", "/api/v1/workspaces", "{'name': 'a\\nb'}", 400,
             "error.error~control characters"),
        POST("escape", "/api/v1/workspaces", "{'name': 'a\\u001b[1m'}", 400,
             "error.error~control characters"),
        POST("path", "/api/v1/workspaces", "{'name': '../x'}", 400, "error.error~path"),
        POST("dots", "/api/v1/workspaces", "{'name': '..'}", 400, "error.error~path"),
        POST("long", "/api/v1/workspaces",
             "{'name': "
             "'123456789012345678901234567890123456789012345678901234567890"
             "123456789012345678901'}",
             400, "error.error~at most 80 bytes"),
        POST("ws", "/api/v1/workspaces", "{'name': 'Vision'}", 200,
             "workspace.id=2; workspace.pinned=true; workspace.username=determined; "
             "namespaceBindings#0"),
        POST("twice", "/api/v1/workspaces", "{'name': 'Vision'}", 409,
             "error.error~avoid names equal"),
        POST("another case", "/api/v1/workspaces", "{'name': 'vision'}", 200, NULL),
        PATCH("taken", "/api/v1/workspaces/2", "{'name': 'vision'}", 409, NULL),
        PATCH("empty", "/api/v1/workspaces/2", "{'name': ''}", 400, NULL),
        POST("project", "/api/v1/workspaces/2/projects", "{'name': 'a/b'}", 400,
             "error.error~path"),
        POST("no name", "/api/v1/workspaces/2/projects", "{}", 400, NULL),
        GET("nothing came of it", "/api/v1/workspaces?sortBy=SORT_BY_NAME", 200,
            "workspaces#3; workspaces.0.name=Uncategorized; workspaces.1.name=vision; "
            "workspaces.2.name=Vision"),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(lists_are_filtered_and_sorted_as_people_expect)
{
    static const struct step steps[] = {
        POST("a", "/api/v1/workspaces", "{'name': '_TestWS'}", 200, NULL),
        POST("b", "/api/v1/workspaces", "{'name': '_TestPatched'}", 200, NULL, ADMIN),
        GET("by name", "/api/v1/workspaces?sortBy=SORT_BY_NAME", 200,
            "workspaces.0.name=_TestPatched; workspaces.1.name=_TestWS; "
            "workspaces.2.name=Uncategorized"),
        GET("down",
            "/api/v1/workspaces?sortBy=SORT_BY_NAME&orderBy=ORDER_BY_DESC&limit=1", 200,
            "workspaces#1; workspaces.0.name=Uncategorized; pagination.total=3"),
        GET("whole name", "/api/v1/workspaces?name=_testws", 200,
            "workspaces#1; workspaces.0.id=2"),
        GET("not a part", "/api/v1/workspaces?name=test", 200, "workspaces#0"),
        GET("no wildcard", "/api/v1/workspaces?name=%25", 200, "workspaces#0"),
        GET("exact", "/api/v1/workspaces?nameCaseSensitive=_testws", 200,
            "workspaces#0"),
        GET("pinned", "/api/v1/workspaces?pinned=true", 200,
            "workspaces#1; workspaces.0.id=2; workspaces.0.pinnedAt?"),
        GET("of one", "/api/v1/workspaces?users=admin", 200, "workspaces#2"),
        GET("by id", "/api/v1/workspaces?userIds=2", 200, "workspaces#1"),
        GET("bad order", "/api/v1/workspaces?sortBy=SORT_BY_SIZE", 400, NULL),
        GET("beyond", "/api/v1/workspaces?offset=9", 400, "error.error~out of bounds"),
        POST("unpin", "/api/v1/workspaces/2/unpin", NULL, 200, NULL),
        POST("unpin again", "/api/v1/workspaces/2/unpin", NULL, 200, NULL),
        POST("pin", "/api/v1/workspaces/3/pin", NULL, 200, NULL),
        POST("pin what", "/api/v1/workspaces/9/pin", NULL, 404, NULL),
        GET("pinned now", "/api/v1/workspaces?pinned=true", 200,
            "workspaces#1; workspaces.0.id=3"),
        POST("p1", "/api/v1/workspaces/2/projects", "{'name': '_TestPRJ'}", 200, NULL),
        POST("p2", "/api/v1/workspaces/2/projects",
             "{'name': '_TestEarly', 'description': 'z'}", 200, NULL, ADMIN),
        POST("p3", "/api/v1/workspaces/2/projects", "{'name': '_TestPatchedProject'}",
             200, NULL),
        GET("projects", "/api/v1/workspaces/2/projects?sortBy=SORT_BY_NAME", 200,
            "projects#3; projects.0.name=_TestEarly; "
            "projects.1.name=_TestPatchedProject; projects.2.name=_TestPRJ"),
        GET("described",
            "/api/v1/workspaces/2/projects?sortBy=SORT_BY_DESCRIPTION&orderBy="
            "ORDER_BY_DESC&limit=1",
            200, "projects#1; projects.0.name=_TestEarly"),
        GET("named", "/api/v1/workspaces/2/projects?name=_testprj", 200,
            "projects#1; projects.0.name=_TestPRJ"),
        GET("owned", "/api/v1/workspaces/2/projects?users=admin", 200, "projects#1"),
        GET("everywhere", "/api/v1/workspaces/0/projects", 200, "projects#4"),
        GET("nowhere", "/api/v1/workspaces/9/projects", 404, NULL),
        GET("bad", "/api/v1/workspaces/2/projects?sortBy=X", 400, NULL),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

#define STORAGE_IN_TMP                                                                 \
    "{'checkpointStorageConfig': {'type': 'shared_fs', 'host_path': '/tmp'}}"

TEST(others_change_only_the_pools_of_a_workspace)
{
    static const struct step steps[] = {
        POST("ws", "/api/v1/workspaces", "{'name': 'mine'}", 200, NULL, ADMIN),
        PATCH("rename", "/api/v1/workspaces/2", "{'name': 'x'}", 403, NULL),
        POST("archive", "/api/v1/workspaces/2/archive", NULL, 403, NULL),
        POST("unarchive", "/api/v1/workspaces/2/unarchive", NULL, 403, NULL),
        DELETE("delete", "/api/v1/workspaces/2", 403, NULL),
        PATCH("storage", "/api/v1/workspaces/2", STORAGE_IN_TMP, 403, NULL),
        PATCH("task user", "/api/v1/workspaces/2",
              "{'agentUserGroup': {'agentUid': 7}}", 403, NULL),
        GET("unchanged", "/api/v1/workspaces/2", 200,
            "workspace.name=mine; workspace.archived=false; "
            "workspace.checkpointStorageConfig!; workspace.agentUserGroup!"),
        PATCH("pools by anybody", "/api/v1/workspaces/2",
              "{'defaultComputeResourcePool': 'default'}", 200,
              "workspace.defaultComputePool=default; workspace.defaultAuxPool="),
        PATCH("no such pool", "/api/v1/workspaces/2",
              "{'defaultAuxResourcePool': 'none'}", 400,
              "error.error~does not exist or is not available"),
        POST("new with a task user", "/api/v1/workspaces",
             "{'name': 'w', 'agentUserGroup': {'agentUid': 7}}", 403, NULL),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(the_owner_changes_a_workspace)
{
    static const struct step steps[] = {
        POST("own", "/api/v1/workspaces", "{'name': 'own'}", 200, "workspace.id=2"),
        PATCH("own name", "/api/v1/workspaces/2", "{'name': 'owned'}", 200,
              "workspace.name=owned"),
        PATCH("own storage", "/api/v1/workspaces/2", STORAGE_IN_TMP, 200,
              "workspace.checkpointStorageConfig.type=shared_fs; "
              "workspace.checkpointStorageConfig.host_path=/tmp"),
        PATCH("a whole workspace", "/api/v1/workspaces/2",
              "{'id': 2, 'name': 'owned', 'archived': false, 'agentUserGroup': null, "
              "'numProjects': 0}",
              200, "workspace.checkpointStorageConfig.type=shared_fs"),
        PATCH("incomplete", "/api/v1/workspaces/2",
              "{'checkpointStorageConfig': {'type': 'shared_fs'}}", 400,
              "error.error~host_path"),
        PATCH("not an object", "/api/v1/workspaces/2",
              "{'checkpointStorageConfig': 'x'}", 400, NULL),
        PATCH("none", "/api/v1/workspaces/2", "{'checkpointStorageConfig': {}}", 200,
              "workspace.checkpointStorageConfig!"),
        POST("archive own", "/api/v1/workspaces/2/archive", NULL, 200, NULL),
        PATCH("archived", "/api/v1/workspaces/2", "{'name': 'y'}", 400,
              "error.error~archived"),
        POST("no projects", "/api/v1/workspaces/2/projects", "{'name': 'p'}", 400,
             "error.error~archived and cannot add new projects"),
        GET("archived ones", "/api/v1/workspaces?archived=true", 200,
            "workspaces#1; workspaces.0.id=2"),
        POST("unarchive own", "/api/v1/workspaces/2/unarchive", NULL, 200, NULL),
        DELETE("own", "/api/v1/workspaces/2", 200, "completed=true"),
        GET("gone", "/api/v1/workspaces/2", 404, NULL),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(administrators_set_the_unix_user_of_a_workspace)
{
    static const struct step steps[] = {
        POST("own", "/api/v1/workspaces", "{'name': 'own'}", 200, "workspace.id=2"),
        PATCH("own task user", "/api/v1/workspaces/2",
              "{'agentUserGroup': {'agentUid': 7}}", 403, NULL),
        PATCH("by an administrator", "/api/v1/workspaces/2",
              "{'agentUserGroup': {'agentGid': 7, 'agentGroup': 'team'}}", 200,
              "workspace.agentUserGroup.agentGid=7; "
              "workspace.agentUserGroup.agentGroup=team; "
              "workspace.agentUserGroup.agentUid!",
              ADMIN),
        PATCH("bad uid", "/api/v1/workspaces/2", "{'agentUserGroup': {'agentUid': -1}}",
              400, "error.error~agentUid", ADMIN),
        PATCH("bad group", "/api/v1/workspaces/2",
              "{'agentUserGroup': {'agentGroup': 'a/b'}}", 400,
              "error.error~agentGroup", ADMIN),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

/* ---- projects -------------------------------------------------------------------- */

TEST(projects_have_keys_notes_and_owners)
{
    static const struct step steps[] = {
        POST("ws", "/api/v1/workspaces", "{'name': 'w'}", 200, NULL, ADMIN),
        POST("p", "/api/v1/workspaces/2/projects",
             "{'name': 'mnist', 'description': 'digits', 'key': 'ab1'}", 200,
             "project.id=2; project.key=AB1; project.workspaceId=2; "
             "project.description=digits; project.username=determined; "
             "project.state=WORKSPACE_STATE_UNSPECIFIED"),
        POST("same key", "/api/v1/workspaces/2/projects", "{'name': 'q', 'key': 'AB1'}",
             409, "error.error=project key AB1 is already in use"),
        POST("bad key", "/api/v1/workspaces/2/projects", "{'name': 'q', 'key': 'a-b'}",
             400, "error.error~1 to 5 letters or digits"),
        POST("long key", "/api/v1/workspaces/2/projects",
             "{'name': 'q', 'key': 'ABCDEF'}", 400, NULL),
        POST("same name", "/api/v1/workspaces/2/projects", "{'name': 'mnist'}", 409,
             NULL),
        POST("made key", "/api/v1/workspaces/2/projects", "{'name': 'b: est'}", 200,
             "project.key~BES", ADMIN),
        GET("by key", "/api/v1/projects/key/ab1", 200, "project.id=2"),
        GET("no key", "/api/v1/projects/key/zz", 404, NULL),
        GET("not a key", "/api/v1/projects/key/zz-", 404, NULL),
        PATCH("change", "/api/v1/projects/2", "{'name': 'digits', 'key': 'dig'}", 200,
              "project.name=digits; project.key=DIG; project.description=digits"),
        PATCH("taken", "/api/v1/projects/2", "{'name': 'b: est'}", 409, NULL),
        PATCH("not the owner", "/api/v1/projects/3", "{'name': 'z'}", 403, NULL),
        POST("nor archive", "/api/v1/projects/3/archive", NULL, 403, NULL),
        DELETE("nor delete", "/api/v1/projects/3", 403, NULL),
        PATCH("the workspace's owner may", "/api/v1/projects/2",
              "{'description': 'by its workspace'}", 200, NULL, ADMIN),
        POST("note", "/api/v1/projects/3/notes", "{'name': 'n', 'contents': 'c'}", 200,
             "notes#1; notes.0.name=n; notes.0.contents=c"),
        POST("another", "/api/v1/projects/3/notes", "{'name': 'm'}", 200, "notes#2"),
        PUT("all", "/api/v1/projects/3/notes",
            "{'notes': [{'name': 'x', 'contents': 'y', 'extra': 1}]}", 200,
            "notes#1; notes.0.name=x; notes.0.extra!"),
        PUT("not a list", "/api/v1/projects/3/notes", "{'notes': 1}", 400, NULL),
        PUT("not notes", "/api/v1/projects/3/notes", "{'notes': [1]}", 400, NULL),
        GET("kept", "/api/v1/projects/3", 200, "project.notes#1"),
        POST("archive", "/api/v1/projects/2/archive", NULL, 200, NULL),
        GET("archived", "/api/v1/projects/2", 200, "project.archived=true"),
        GET("its own flag", "/api/v1/workspaces/2/projects?archived=true", 200,
            "projects#1"),
        PATCH("archived", "/api/v1/projects/2", "{'name': 'z'}", 400,
              "error.error~archived and cannot have attributes updated"),
        POST("unarchive", "/api/v1/projects/2/unarchive", NULL, 200, NULL),
        POST("whole", "/api/v1/workspaces/2/archive", NULL, 200, NULL, ADMIN),
        POST("below", "/api/v1/projects/2/archive", NULL, 400,
             "error.error~belongs to an archived workspace"),
        GET("with its workspace", "/api/v1/projects/2", 200, "project.archived=true"),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(projects_move_between_workspaces)
{
    static const struct step steps[] = {
        POST("from", "/api/v1/workspaces", "{'name': 'from'}", 200, NULL),
        POST("to", "/api/v1/workspaces", "{'name': 'to'}", 200, NULL),
        POST("p", "/api/v1/workspaces/2/projects", "{'name': 'p'}", 200, NULL),
        POST("other", "/api/v1/workspaces/3/projects", "{'name': 'q'}", 200, NULL),
        POST("move", "/api/v1/projects/2/move", "{'destinationWorkspaceId': 3}", 200,
             NULL),
        GET("there", "/api/v1/projects/2", 200, "project.workspaceName=to"),
        POST("first", "/api/v1/projects/2/move", "{'destinationWorkspaceId': 1}", 400,
             "error.error~immutable"),
        POST("nowhere", "/api/v1/projects/2/move", "{'destinationWorkspaceId': 9}", 404,
             NULL),
        POST("same name", "/api/v1/workspaces/2/projects", "{'name': 'q'}", 200, NULL),
        POST("twice", "/api/v1/projects/3/move", "{'destinationWorkspaceId': 2}", 409,
             "error.error~already exists in target workspace"),
        POST("archive", "/api/v1/workspaces/2/archive", NULL, 200, NULL),
        POST("archived", "/api/v1/projects/2/move", "{'destinationWorkspaceId': 2}",
             400, "error.error~archived"),
        POST("uncategorized", "/api/v1/projects/1/move",
             "{'destinationWorkspaceId': 3}", 400, "error.error~immutable", ADMIN),
        POST("not the owner's", "/api/v1/projects/1/move",
             "{'destinationWorkspaceId': 3}", 403, NULL),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(visits_are_kept_per_user)
{
    static const struct step steps[] = {
        POST("ws", "/api/v1/workspaces", "{'name': 'w'}", 200, NULL),
        POST("p", "/api/v1/workspaces/2/projects", "{'name': 'p'}", 200, NULL),
        GET("none", "/api/v1/user/projects/activity", 200, "projects#0"),
        POST("look", "/api/v1/users/activity",
             "{'activityType': 'ACTIVITY_TYPE_GET', 'entityType': "
             "'ENTITY_TYPE_PROJECT', 'entityId': 2}",
             200, NULL),
        POST("look again", "/api/v1/users/activity",
             "{'activityType': 'ACTIVITY_TYPE_GET', 'entityType': "
             "'ENTITY_TYPE_PROJECT', 'entityId': 1}",
             200, NULL),
        POST("what", "/api/v1/users/activity",
             "{'activityType': 'ACTIVITY_TYPE_GET', 'entityType': 'ENTITY_TYPE_X', "
             "'entityId': 1}",
             400, NULL),
        POST("where", "/api/v1/users/activity",
             "{'activityType': 'ACTIVITY_TYPE_GET', 'entityType': "
             "'ENTITY_TYPE_PROJECT', 'entityId': 9}",
             404, NULL),
        GET("two", "/api/v1/user/projects/activity", 200,
            "projects#2; projects.0.id=1; projects.1.id=2"),
        GET("one", "/api/v1/user/projects/activity?limit=1", 200, "projects#1"),
        GET("too many", "/api/v1/user/projects/activity?limit=501", 400, NULL),
        GET("another's", "/api/v1/user/projects/activity", 200, "projects#0", ADMIN),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

/* ---- what belongs to them -------------------------------------------------------- */

#define QUEUES "launch_error: false\n" /* without agents, things wait */
#define TINY                                                                           \
    "entrypoint: sleep 9\\nsearcher: {name: single, metric: x, max_length: 1}\\n"

TEST(experiments_belong_to_projects)
{
    static const struct step steps[] = {
        POST("ws", "/api/v1/workspaces",
             "{'name': 'w', 'checkpointStorageConfig': {'type': 'directory', "
             "'container_path': '/space'}}",
             200, NULL),
        POST("p", "/api/v1/workspaces/2/projects", "{'name': 'p'}", 200, NULL),
        POST("first", "/api/v1/experiments", "{'config': $[single]}", 200,
             "experiment.projectId=1; experiment.projectName=Uncategorized; "
             "experiment.workspaceId=1; experiment.projectOwnerId=1"),
        POST("by number", "/api/v1/experiments",
             "{'config': '" TINY "', 'projectId': 2}", 200,
             "experiment.projectId=2; experiment.projectName=p; "
             "experiment.workspaceId=2; experiment.workspaceName=w; "
             "config.checkpoint_storage.container_path=/space"),
        POST("own storage wins", "/api/v1/experiments",
             "{'config': '" TINY "checkpoint_storage: {type: directory, "
             "container_path: /own}', 'projectId': 2}",
             200, "config.checkpoint_storage.container_path=/own"),
        POST("by name", "/api/v1/experiments",
             "{'config': '" TINY "workspace: w\\nproject: p\\n'}", 200,
             "experiment.projectId=2"),
        POST("half a name", "/api/v1/experiments",
             "{'config': '" TINY "workspace: w\\n'}", 400, "error.error~name both"),
        POST("no such workspace", "/api/v1/experiments",
             "{'config': '" TINY "workspace: v\\nproject: p\\n'}", 404,
             "error.error~workspace 'v' not found: make it with 'det workspace create "
             "v'"),
        POST("no such project", "/api/v1/experiments",
             "{'config': '" TINY "workspace: w\\nproject: q\\n'}", 404,
             "error.error~project 'q' not found in workspace 'w', which has 'p'"),
        POST("no such number", "/api/v1/experiments",
             "{'config': '" TINY "', 'projectId': 9}", 404,
             "error.error=project '9' not found"),
        GET("project", "/api/v1/projects/2", 200,
            "project.numExperiments=3; project.numActiveExperiments=0; "
            "project.lastExperimentStartedAt?"),
        GET("of it", "/api/v1/experiments?projectId=2", 200, "experiments#3"),
        GET("of none", "/api/v1/experiments?projectId=9", 404, NULL),
        GET("table", "/api/v1/det/experiments?projectIds=2", 200,
            "experiments#3; total=3; experiments.0.projectName=p; "
            "experiments.0.workspaceName=w"),
        GET("table of a workspace", "/api/v1/det/experiments?workspaceId=1", 200,
            "experiments#1; experiments.0.projectId=1"),
        GET("workspace", "/api/v1/workspaces/2", 200, "workspace.numExperiments=3"),
        POST("archive", "/api/v1/projects/2/archive", NULL, 200, NULL),
        POST("archived", "/api/v1/experiments",
             "{'config': '" TINY "', 'projectId': 2}", 400,
             "error.error~archived and cannot add new experiments"),
        POST("archived by name", "/api/v1/experiments",
             "{'config': '" TINY "workspace: w\\nproject: p\\n'}", 400,
             "error.error~archived"),
        GET("hidden", "/api/v1/experiments?archived=false", 200, "experiments#1"),
        GET("asked for", "/api/v1/experiments?archived=false&projectId=2", 200,
            "experiments#3"),
        GET("all", "/api/v1/experiments", 200, "experiments#4"),
        GET("hidden in the table", "/api/v1/det/experiments", 200, "experiments#1"),
        GET("asked for there", "/api/v1/det/experiments?projectIds=2", 200,
            "experiments#3"),
        END_STEPS};
    BED(bed,
        QUEUES "checkpoint_storage: {type: directory, container_path: /cluster}\n");

    bed_play(bed, steps);
}

TEST(experiments_move_between_projects)
{
    static const struct step steps[] = {
        POST("ws", "/api/v1/workspaces", "{'name': 'w'}", 200, NULL),
        POST("p", "/api/v1/workspaces/2/projects", "{'name': 'p'}", 200, NULL),
        POST("q", "/api/v1/workspaces/2/projects", "{'name': 'q'}", 200, NULL),
        POST("one", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        POST("two", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        POST("three", "/api/v1/experiments", "{'config': $[single]}", 200, NULL, ADMIN),
        POST("move", "/api/v1/experiments/1/move", "{'destinationProjectId': 2}", 200,
             NULL),
        GET("moved", "/api/v1/experiments/1", 200, "experiment.projectName=p"),
        POST("another's", "/api/v1/experiments/3/move", "{'destinationProjectId': 2}",
             403, NULL),
        POST("nowhere", "/api/v1/experiments/1/move", "{'destinationProjectId': 9}",
             404, NULL),
        POST("no experiment", "/api/v1/experiments/9/move",
             "{'destinationProjectId': 2}", 404, NULL),
        POST("bulk", "/api/v1/projects/1/experiments/move",
             "{'experimentIds': [1, 2, 3, 9], 'destinationProjectId': 3}", 200,
             "results#4; results.0.error~not found; results.1.error=; "
             "results.2.error~owner; results.3.error~not found"),
        GET("two is there", "/api/v1/experiments/2", 200, "experiment.projectId=3"),
        GET("three is not", "/api/v1/experiments/3", 200, "experiment.projectId=1"),
        POST("any project", "/api/v1/projects/-1/experiments/move",
             "{'experimentIds': [1, 2], 'destinationProjectId': 3}", 200,
             "results.0.error=; results.1.error="),
        POST("a filter", "/api/v1/projects/3/experiments/move",
             "{'filters': {'excludedExperimentIds': [1]}, 'destinationProjectId': 2}",
             200, "results#1; results.0.id=2; results.0.error="),
        POST("archive", "/api/v1/projects/3/archive", NULL, 200, NULL),
        POST("from an archived one", "/api/v1/experiments/1/move",
             "{'destinationProjectId': 2}", 400,
             "error.error~archived and cannot have experiments moved from it"),
        POST("to an archived one", "/api/v1/experiments/2/move",
             "{'destinationProjectId': 3}", 400,
             "error.error~archived and cannot add new experiments"),
        POST("all to an archived one", "/api/v1/projects/-1/experiments/move",
             "{'experimentIds': [2], 'destinationProjectId': 3}", 400,
             "error.error~archived and cannot add new experiments"),
        POST("back", "/api/v1/experiments/2/move", "{'destinationProjectId': 1}", 200,
             NULL),
        POST("run on", "/api/v1/experiments/2/activate", NULL, 200, NULL),
        GET("its place stays", "/api/v1/experiments/2", 200, "experiment.projectId=1"),
        END_STEPS};
    BED(bed, QUEUES);

    bed_play(bed, steps);
}

/* The heart writes the rows of live experiments; it must not bring them back. */
TEST(a_moved_experiment_stays_where_it_is)
{
    BED(bed, QUEUES);
    static const struct step steps[] = {
        POST("ws", "/api/v1/workspaces", "{'name': 'w'}", 200, NULL),
        POST("p", "/api/v1/workspaces/2/projects", "{'name': 'p'}", 200, NULL),
        END_STEPS};
    static const struct step moved[] = {
        POST("move", "/api/v1/experiments/1/move", "{'destinationProjectId': 2}", 200,
             NULL),
        POST("pause", "/api/v1/experiments/1/pause", NULL, 200, NULL),
        POST("kill", "/api/v1/experiments/1/kill", NULL, 200, NULL), END_STEPS};
    static const struct step there[] = {
        GET("there", "/api/v1/experiments/1", 200,
            "experiment.projectId=2; experiment.state=STATE_CANCELED", USER, true),
        GET("counted", "/api/v1/projects/2", 200, "project.numExperiments=1"),
        END_STEPS};

    bed_play(bed, steps);
    CHECK_EQ(create(bed, config_single), 1);
    bed_play(bed, moved);
    bed_play(bed, there);
    bed_restart(bed);
    bed_play(bed, there);
}

TEST(jobs_and_tensorboards_belong_to_workspaces)
{
    static const struct step steps[] = {
        POST("ws", "/api/v1/workspaces",
             "{'name': 'w', 'defaultComputePool': 'two', 'defaultAuxPool': 'two'}", 200,
             "workspace.defaultComputePool=two; workspace.defaultAuxPool=two"),
        POST("p", "/api/v1/workspaces/2/projects", "{'name': 'p'}", 200, NULL),
        POST("job", "/api/v1/generic-tasks",
             "{'config': 'entrypoint: sleep 9\\n', 'projectId': 2}", 200, "taskId?"),
        GET("its place", "/api/v1/tasks/${job.taskId}", 200,
            "task.workspaceId=2; task.workspaceName=w; task.resourcePool=two"),
        POST("named", "/api/v1/generic-tasks",
             "{'config': 'entrypoint: sleep 9\\nworkspace: w\\n'}", 200, "taskId?"),
        GET("named place", "/api/v1/tasks/${named.taskId}", 200, "task.workspaceId=2"),
        POST("plain", "/api/v1/generic-tasks", "{'config': 'entrypoint: sleep 9\\n'}",
             200, "taskId?"),
        GET("plain place", "/api/v1/tasks/${plain.taskId}", 200,
            "task.workspaceId=1; task.resourcePool=default"),
        POST("own pool", "/api/v1/generic-tasks",
             "{'config': 'entrypoint: sleep 9\\nresources: {resource_pool: "
             "default}\\n', 'projectId': 2}",
             200, "taskId?"),
        GET("own pool wins", "/api/v1/tasks/${own pool.taskId}", 200,
            "task.resourcePool=default"),
        GET("queue", "/api/v1/job-queues-v2?resourcePool=two", 200,
            "jobs#2; jobs.0.full.workspaceId=2"),
        POST("unknown", "/api/v1/generic-tasks",
             "{'config': 'entrypoint: sleep 9\\n', 'projectId': 9}", 404, NULL),
        POST("experiment", "/api/v1/experiments",
             "{'config': '" TINY "', 'projectId': 2}", 200,
             "experiment.resourcePool=two; config.resources.resource_pool=two"),
        POST("board", "/api/v1/tensorboards",
             "{'experimentIds': [1], 'workspaceId': 2}", 200,
             "tensorboard.workspaceId=2; tensorboard.resourcePool=two"),
        GET("boards", "/api/v1/tensorboards?workspaceId=2", 200, "tensorboards#1"),
        GET("other boards", "/api/v1/tensorboards?workspaceId=1", 200,
            "tensorboards#0"),
        GET("no boards", "/api/v1/tensorboards?workspaceId=9", 404, NULL),
        POST("nowhere", "/api/v1/tensorboards",
             "{'experimentIds': [1], 'workspaceId': 9}", 404, NULL),
        POST("archive", "/api/v1/workspaces/2/archive", NULL, 200, NULL),
        POST("archived", "/api/v1/tensorboards",
             "{'experimentIds': [1], 'workspaceId': 2}", 404,
             "error.error~workspace '2' not found"),
        POST("unarchive", "/api/v1/workspaces/2/unarchive", NULL, 200, NULL),
        DELETE("delete a workspace with jobs", "/api/v1/workspaces/2", 400,
               "error.error~experiment 1"),
        POST("kill", "/api/v1/experiments/1/kill", NULL, 200, NULL),
        GET("killed", "/api/v1/experiments/1", 200, "experiment.state=STATE_CANCELED",
            USER, true),
        DELETE("delete", "/api/v1/workspaces/2", 200, "completed=false"),
        GET("gone", "/api/v1/workspaces/2", 404, NULL, USER, true),
        GET("the project too", "/api/v1/projects/2", 404, NULL),
        GET("and the experiment", "/api/v1/experiments/1", 404, NULL),
        GET("a job remains", "/api/v1/tasks/${job.taskId}", 200,
            "task.taskState=GENERIC_TASK_STATE_CANCELED; task.workspaceName!"),
        GET("but not in the list", "/api/v1/generic-tasks?all=true", 200,
            "tasks#1; tasks.0.workspaceId=1"),
        END_STEPS};
    BED(bed, QUEUES "resource_pools: [{pool_name: default}, {pool_name: two}]\n");

    bed_play(bed, steps);
}

TEST(a_project_is_deleted_with_its_experiments)
{
    static const struct step steps[] = {
        POST("ws", "/api/v1/workspaces", "{'name': 'w'}", 200, NULL),
        POST("p", "/api/v1/workspaces/2/projects", "{'name': 'p'}", 200, NULL),
        POST("q", "/api/v1/workspaces/2/projects", "{'name': 'q'}", 200, NULL),
        DELETE("empty", "/api/v1/projects/3", 200, "completed=true"),
        POST("e", "/api/v1/experiments", "{'config': $[single], 'projectId': 2}", 200,
             NULL),
        DELETE("alive", "/api/v1/projects/2", 400, "error.error~experiment 1"),
        GET("still there", "/api/v1/projects/2", 200,
            "project.state=WORKSPACE_STATE_UNSPECIFIED"),
        POST("kill", "/api/v1/experiments/1/kill", NULL, 200, NULL),
        GET("ended", "/api/v1/experiments/1", 200, "experiment.state=STATE_CANCELED",
            USER, true),
        DELETE("delete", "/api/v1/projects/2", 200, "completed=false"),
        GET("gone", "/api/v1/projects/2", 404, NULL, USER, true),
        GET("its experiment", "/api/v1/experiments/1", 404, NULL),
        DELETE("workspace", "/api/v1/workspaces/2", 200, "completed=true"),
        POST("numbers are not used again", "/api/v1/workspaces", "{'name': 'w'}", 200,
             "workspace.id=3"),
        END_STEPS};
    BED(bed, QUEUES);

    bed_play(bed, steps);
}

/* What the agent is told: the link of the user, overridden part by part. */
TEST(tasks_run_as_the_user_of_their_workspace)
{
    static const struct step steps[] = {
        PATCH("link", "/api/v1/users/2",
              "{'agentUserGroup': {'agentUid': 1007, 'agentGid': 1008, 'agentUser': "
              "'ann', 'agentGroup': 'anns'}}",
              200, NULL, ADMIN),
        POST("ws", "/api/v1/workspaces", "{'name': 'w'}", 200, NULL),
        PATCH("team", "/api/v1/workspaces/2",
              "{'agentUserGroup': {'agentGid': 2000, 'agentGroup': 'team'}}", 200, NULL,
              ADMIN),
        POST("p", "/api/v1/workspaces/2/projects", "{'name': 'p'}", 200, NULL),
        POST("e", "/api/v1/experiments",
             "{'config': $[single], 'projectId': 2, 'activate': true}", 200, NULL),
        END_STEPS};
    static const struct step unlink[] = {
        PATCH("unlink", "/api/v1/users/2", "{'agentUserGroup': {}}", 200, NULL, ADMIN),
        POST("e", "/api/v1/experiments",
             "{'config': $[single], 'projectId': 2, 'activate': true}", 200, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a", 2);
    bed_play(bed, steps);
    share = agent_start(&agent);
    CHECK_EQ(json_i64(json_at(share.spec, "user.uid"), -1), 1007);
    CHECK_EQ(json_i64(json_at(share.spec, "user.gid"), -1), 2000);
    CHECK_STR(json_str(json_at(share.spec, "user.name"), ""), "ann");
    CHECK_STR(json_str(json_at(share.spec, "user.group"), ""), "team");
    bed_play(bed, unlink);
    share = agent_start(&agent);
    CHECK_EQ(json_i64(json_at(share.spec, "user.uid"), -1), 0);
    CHECK_EQ(json_i64(json_at(share.spec, "user.gid"), -1), 2000);
    CHECK_STR(json_str(json_at(share.spec, "user.name"), ""), "root");
    CHECK_STR(json_str(json_at(share.spec, "user.group"), ""), "team");
}
