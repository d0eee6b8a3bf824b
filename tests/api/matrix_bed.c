/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/api/matrix_bed.h"

#include "base/compiler.h"

#define WORD     "A-Secret-Word-1"
#define ASSIGN   "/api/v1/roles/add-assignments"
#define UNASSIGN "/api/v1/roles/remove-assignments"

static void assign(struct stage *stage, const char *call, const char *user, int role,
                   const char *workspace)
{
    struct bed *bed = stage->bed;
    const char *where =
        *workspace ? arena_printf(&bed->mem, "'scopeWorkspaceId': %s", workspace)
                   : "'scopeCluster': true";
    struct step step =
        POST("assigned", call,
             arena_printf(&bed->mem,
                          "{'userRoleAssignments': [{'userId': %s, 'roleAssignment': "
                          "{'role': {'roleId': %d}, %s}}]}",
                          user, role, where),
             200, NULL, ADMIN);

    (void)bed_step(bed, &step);
}

const char *stage_login(struct stage *stage, const char *name)
{
    return bed_login(stage->bed, name, strcmp(name, "admin") ? WORD : "", 200);
}

const char *stage_add_user(struct stage *stage, const char *name, int role,
                           const char *workspace)
{
    struct bed *bed = stage->bed;
    struct step step =
        POST(name, "/api/v1/users",
             arena_printf(&bed->mem,
                          "{'user': {'username': '%s'}, 'password': '" WORD "'}", name),
             200, NULL, ADMIN);

    (void)bed_step(bed, &step);
    if (role)
        assign(stage, ASSIGN, bed_get(bed, arena_printf(&bed->mem, "%s.user.id", name)),
               role, workspace);
    return stage_login(stage, name);
}

void stage_set_editor(struct stage *stage, bool is_editor)
{
    struct bed *bed = stage->bed;

    assign(stage, is_editor ? ASSIGN : UNASSIGN, bed_get(bed, "user"), 5,
           bed_get(bed, "workspace"));
}

/* ---- spaces ---------------------------------------------------------------------- */

/* The owner makes workspace and project, and has only the role of an Editor afterwards. */
static void add_spaces(struct stage *stage)
{
    static const struct step steps[] = {
        POST("w", "/api/v1/workspaces", "{'name': 'hush-workspace'}", 200, NULL, OTHER),
        POST("p", "/api/v1/workspaces/${w.workspace.id}/projects",
             "{'name': 'hush-project', 'key': 'HUSH'}", 200, NULL, OTHER),
        POST("elsewhere", "/api/v1/workspaces", "{'name': 'elsewhere'}", 200, NULL,
             ADMIN),
        POST("g", "/api/v1/groups", "{'name': 'people'}", 200, NULL, ADMIN),
        POST("t", "/api/v1/tokens", "{'userId': ${user}}", 200, NULL, ADMIN),
        END_STEPS};
    struct bed *bed = stage->bed;

    if (stage->is_rbac)
        assign(stage, ASSIGN, bed_get(bed, "user"), 3, "");
    bed_play(bed, steps);
    bed_let(bed, "workspace", bed_get(bed, "w.workspace.id"));
    bed_let(bed, "project", bed_get(bed, "p.project.id"));
    bed_let(bed, "key", "HUSH");
    bed_let(bed, "group", bed_get(bed, "g.group.groupId"));
    bed_let(bed, "token", bed_get(bed, "t.tokenId"));
    stage->access_token = bed_get(bed, "t.token");
    if (!stage->is_rbac)
        return;
    assign(stage, UNASSIGN, bed_get(bed, "user"), 3, "");
    assign(stage, UNASSIGN, bed_get(bed, "user"), 2, bed_get(bed, "workspace"));
    stage_set_editor(stage, true);
}

/* ---- runs ------------------------------------------------------------------------ */

static const char *checkpoint_of(const struct stage *stage, const struct share *share)
{
    return arena_printf(&stage->bed->mem, "00000000-0000-4000-8000-%012" PRId64,
                        share->trial);
}

static struct share add_run(struct stage *stage)
{
    static const struct step step =
        POST("e", "/api/v1/experiments",
             "{'config': $[hush], 'activate': true, 'projectId': ${project}}", 200,
             NULL, OTHER);
    struct share share;

    (void)bed_step(stage->bed, &step);
    share = agent_run(&stage->agent);
    share_report(&share, "training", 1, "{'loss': 1}", 200);
    share_log(&share, "a line");
    share_checkpoint(&share, checkpoint_of(stage, &share), 1);
    return share;
}

static void await_state(struct stage *stage, const struct share *share,
                        const char *state)
{
    struct bed *bed = stage->bed;
    struct step step = {
        .name = "ended",
        .path =
            arena_printf(&bed->mem, "/api/v1/experiments/%" PRId64, share->experiment),
        .status = 200,
        .expect = arena_printf(&bed->mem, "experiment.state=STATE_%s", state),
        .who = ADMIN,
        .until = true};

    (void)bed_step(bed, &step);
}

/* The agent does not have it any longer, say because its machine was restarted: the supervisor
 * has not yet said its last.  Nothing else may run on the agent. */
static void lose_run(struct stage *stage, struct share *share)
{
    struct bed *bed = stage->bed;
    struct step step =
        POST("lost",
             arena_printf(&bed->mem, "/api/v1/experiments/%" PRId64 "/kill",
                          share->experiment),
             NULL, 200, NULL, OTHER);

    (void)bed_step(bed, &step);
    share_await_kill(share);
    agent_hello(&stage->agent, "[]");
    await_state(stage, share, "CANCELED");
}

static void add_jobs(struct stage *stage)
{
    static const struct step job =
        POST("j", "/api/v1/generic-tasks",
             "{'projectId': ${project}, 'config': $[hush_job]}", 200, NULL, OTHER);
    static const struct step board =
        POST("b", "/api/v1/tensorboards",
             "{'experimentIds': [${experiment}], 'workspaceId': ${workspace}}", 200,
             NULL, OTHER);
    static const struct step port =
        POST("port", "/api/v1/det/allocations/${share.allocation}/proxy", "{'port': 9}",
             200, NULL, OTHER);
    struct bed *bed = stage->bed;
    struct share share;

    bed_let(bed, "hush_job",
            "name: hush-job\nentrypoint: [sleep, '9']\nresources: {slots: 1}\n");
    (void)bed_step(bed, &job);
    bed_let(bed, "job", bed_get(bed, "j.taskId"));
    (void)agent_run(&stage->agent);
    (void)bed_step(bed, &job);
    bed_let(bed, "doomed", bed_get(bed, "j.taskId"));
    (void)agent_run(&stage->agent);
    (void)bed_step(bed, &board);
    bed_let(bed, "board", bed_get(bed, "b.tensorboard.id"));
    share = agent_run(&stage->agent);
    share_speak(&share);
    (void)bed_step(bed, &port);
    (void)bed_step(bed, &board);
    bed_let(bed, "ended_board", bed_get(bed, "b.tensorboard.id"));
}

/* Keeps ${NAME.experiment} etc., or ${experiment} if `name` is "". */
static void let_run(struct stage *stage, const char *name, const struct share *share)
{
    struct bed *bed = stage->bed;
    struct json *kept = json_new(&bed->mem, JSON_OBJECT);

    json_set(&bed->mem, kept, "experiment", json_new_i64(&bed->mem, share->experiment));
    json_set(&bed->mem, kept, "trial", json_new_i64(&bed->mem, share->trial));
    json_set(&bed->mem, kept, "task", json_new_str(&bed->mem, share->task_id));
    json_set(&bed->mem, kept, "allocation", json_new_str(&bed->mem, share->allocation));
    json_set(&bed->mem, kept, "container", json_new_str(&bed->mem, share->container));
    json_set(&bed->mem, kept, "checkpoint",
             json_new_str(&bed->mem, checkpoint_of(stage, share)));
    if (*name) {
        bed_let_json(bed, name, kept);
        return;
    }
    json_each(item, kept)
        bed_let_json(bed, item->key, item);
}

void stage_use(struct stage *stage, const struct share *share)
{
    let_run(stage, "", share);
}

static void add_runs(struct stage *stage)
{
    static const struct step queue = {.name = "queue",
                                      .path = "/api/v1/experiments/${experiment}",
                                      .status = 200,
                                      .who = ADMIN};
    struct bed *bed = stage->bed;

    bed_let(bed, "hush",
            "name: hush-experiment\nentrypoint: python3 train.py\n"
            "searcher: {name: single, metric: loss}\nmax_restarts: 0\n"
            "hyperparameters: {hush_rate: 1}\n");
    agent_join(&stage->agent, bed, "a1", 8);
    stage->done = add_run(stage);
    lose_run(stage, &stage->done);
    stage->first = add_run(stage);
    stage->second = add_run(stage);
    stage->delivered = add_run(stage);
    share_exit(&stage->delivered, "CLEAN", 0);
    await_state(stage, &stage->delivered, "COMPLETED");
    let_run(stage, "running", &stage->first);
    let_run(stage, "done", &stage->done);
    stage_use(stage, &stage->first);
    (void)bed_step(bed, &queue);
    bed_let(bed, "queue_id", bed_get(bed, "queue.experiment.jobId"));
}

void stage_set(struct stage *stage, struct bed *bed, bool is_rbac)
{
    *stage = (struct stage){.bed = bed, .is_rbac = is_rbac};
    bed_let(bed, "is_rbac", is_rbac ? "yes" : "");
    bed->other = stage_add_user(stage, "own", 0, "");
    bed_let(bed, "user", bed_get(bed, "own.user.id"));
    add_spaces(stage);
    add_runs(stage);
    add_jobs(stage);
}
