/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/api/script.h"

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"

static struct reply expect(struct bed *bed, enum who who, enum net_method method,
                           const char *path, const char *body, int status)
{
    struct reply reply = bed_call(bed, who, method, path, body);

    if (reply.status != status)
        fail_msg("%s: %d, not %d: %.2000s", path, reply.status, status, reply.text);
    return reply;
}

/* ---- agents --------------------------------------------------------------------- */

void agent_hello(struct agent *agent, const char *tasks)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct bed *bed = agent->bed;
    struct reply reply;

    buf_printf(&body, "{\"resourcePool\":\"%s\",\"devices\":[",
               agent->pool ? agent->pool : "");
    for (int i = 0; i < agent->slots; i++)
        buf_printf(&body,
                   "%s{\"id\":%d,\"brand\":\"b\",\"uuid\":\"u%d\",\"type\":\"cpu\"}",
                   i ? "," : "", i, i);
    buf_printf(&body,
               "],\"addresses\":[\"10.0.0.%s\"],\"bootId\":\"boot\",\"version\":\"t\","
               "\"tasks\":%s}",
               agent->name + 1, tasks);
    reply = expect(bed, AGENT, NET_POST,
                   arena_printf(&bed->mem, "/api/v1/det/agents/%s/hello", agent->name),
                   body.data, 200);
    if (!agent->epoch ||
        strcmp(agent->epoch, json_str(json_get(reply.json, "epoch"), "")))
        agent->after = 0; /* another start of the master counts anew */
    agent->epoch = json_str(json_get(reply.json, "epoch"), "");
}

void agent_join(struct agent *agent, struct bed *bed, const char *name, int slots)
{
    *agent =
        (struct agent){.bed = bed, .name = name, .slots = slots, .pool = agent->pool};
    agent_hello(agent, "[]");
}

/* One poll; how many commands came. */
static int fetch(struct agent *agent, int timeout_s)
{
    struct bed *bed = agent->bed;
    struct reply reply =
        expect(bed, AGENT, NET_GET,
               arena_printf(&bed->mem,
                            "/api/v1/det/agents/%s/commands?after=%" PRId64
                            "&epoch=%s&timeoutSeconds=%d",
                            agent->name, agent->after, agent->epoch, timeout_s),
               NULL, 200);
    int count = 0;

    if (strcmp(json_str(json_get(reply.json, "epoch"), ""), agent->epoch))
        fail_msg("the master's epoch changed under agent %s", agent->name);
    json_each(item, json_get(reply.json, "commands")) {
        if (!strcmp(json_str(json_get(item, "kind"), ""), "CLEAN")) {
            agent->is_cleaning = true;
            continue;
        }
        CHECK(agent->queued < AGENT_COMMANDS);
        agent->queue[agent->queued++] = (struct command){
            .is_start = !strcmp(json_str(json_get(item, "kind"), ""), "START"),
            .allocation = json_str(json_get(item, "allocation"), ""),
            .rank = json_i64(json_get(item, "rank"), -1),
            .spec = json_get(item, "spec"),
        };
        count++;
    }
    agent->after = MAX(agent->after, json_i64(json_get(reply.json, "last"), 0));
    return count;
}

struct command agent_next(struct agent *agent)
{
    struct command next;

    for (int tries = 0; !agent->queued; tries++) {
        if (tries == 20)
            fail_msg("no command for agent %s", agent->name);
        fetch(agent, 5);
    }
    next = agent->queue[0];
    agent->queued--;
    memmove(agent->queue, agent->queue + 1, sizeof(next) * (size_t)agent->queued);
    return next;
}

bool agent_is_idle(struct agent *agent)
{
    return !agent->queued && !fetch(agent, 0);
}

static const char *removals_path(const struct agent *agent)
{
    return arena_printf(&agent->bed->mem, "/api/v1/det/agents/%s/removals",
                        agent->name);
}

/* The master looks for checkpoints to remove every 10 s: so much time passes at once.
 */
enum { COLLECTOR_S = 12 };

struct json *agent_removals(struct agent *agent)
{
    for (int tries = 0; !agent->is_cleaning; tries++) {
        if (tries == COLLECTOR_S + 20)
            fail_msg("agent %s is not told to clean", agent->name);
        fetch(agent, tries < COLLECTOR_S ? 0 : 5);
        if (!agent->is_cleaning && tries < COLLECTOR_S) {
            bed_rest(20);
            bed_pass(agent->bed, 1);
        }
    }
    agent->is_cleaning = false;
    /* An agent polls all the time, which acknowledges the command.  Until then the
     * master would not send it again. */
    fetch(agent, 0);
    return expect(agent->bed, AGENT, NET_GET, removals_path(agent), NULL, 200).json;
}

void agent_clean(struct agent *agent, const char *error)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);

    jw_object(&w, NULL);
    jw_array(&w, "results");
    json_each(item, json_get(agent_removals(agent), "removals")) {
        const char *uuid = json_str(json_get(item, "uuid"), "");

        if (!error)
            CHECK_OK(io_remove_tree(
                io_system(),
                arena_printf(&agent->bed->mem, "%s/%s",
                             json_str(json_get(item, "directory"), ""), uuid),
                &test_err));
        jw_object(&w, NULL);
        jw_str(&w, "uuid", uuid);
        jw_str(&w, "error", error);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    jw_end_object(&w);
    (void)expect(agent->bed, AGENT, NET_POST, removals_path(agent), body.data, 200);
}

/* ---- shares --------------------------------------------------------------------- */

static bool is_known(const struct agent *agent, const struct command *command)
{
    for (int i = 0; i < agent->start_count && command->is_start; i++)
        if (!strcmp(agent->started[i], command->allocation))
            return true;
    return false;
}

/* The next that is not a START obeyed before. */
static struct command next_new(struct agent *agent)
{
    struct command command = agent_next(agent);

    while (is_known(agent, &command))
        command = agent_next(agent);
    if (command.is_start && agent->start_count < AGENT_COMMANDS)
        agent->started[agent->start_count++] = command.allocation;
    return command;
}

struct share agent_start(struct agent *agent)
{
    struct command command = next_new(agent);
    struct share share = {.bed = agent->bed,
                          .agent = agent,
                          .allocation = command.allocation,
                          .rank = command.rank,
                          .spec = command.spec};

    if (!command.is_start)
        fail_msg("agent %s is told to kill %s", agent->name, command.allocation);
    share.task = share_env(&share, "DET_SESSION_TOKEN");
    share.owner = share_env(&share, "DET_USER_TOKEN");
    share.supervisor = json_str(json_get(share.spec, "supervisorToken"), NULL);
    share.task_id = share_env(&share, "DET_TASK_ID");
    share.container = share_env(&share, "DET_CONTAINER_ID");
    share.experiment =
        json_i64(json_at(share.spec, "environment.DET_EXPERIMENT_ID"), -1);
    share.trial = json_i64(json_at(share.spec, "environment.DET_TRIAL_ID"), -1);
    share.run = json_i64(json_at(share.spec, "environment.DET_TRIAL_RUN_ID"), -1);
    CHECK(share.task && share.owner && share.supervisor && share.task_id &&
          share.container);
    share_speak(&share);
    return share;
}

struct share agent_run(struct agent *agent)
{
    struct share share = agent_start(agent);

    share_state(&share, "RUNNING", 200);
    return share;
}

void share_await_kill(struct share *share)
{
    struct command command = next_new(share->agent);

    CHECK(!command.is_start);
    CHECK_STR(command.allocation, share->allocation);
    CHECK_EQ(command.rank, share->rank);
}

void share_speak(struct share *share)
{
    struct bed *bed = share->bed;
    struct json *kept = json_new(&bed->mem, JSON_OBJECT);

    bed->task = share->task;
    bed->owner = share->owner;
    bed->supervisor = share->supervisor;
    json_set(&bed->mem, kept, "allocation", json_new_str(&bed->mem, share->allocation));
    json_set(&bed->mem, kept, "task_id", json_new_str(&bed->mem, share->task_id));
    json_set(&bed->mem, kept, "container", json_new_str(&bed->mem, share->container));
    json_set(&bed->mem, kept, "experiment", json_new_i64(&bed->mem, share->experiment));
    json_set(&bed->mem, kept, "trial", json_new_i64(&bed->mem, share->trial));
    json_set(&bed->mem, kept, "run", json_new_i64(&bed->mem, share->run));
    bed_let_json(bed, "share", kept);
}

const char *share_env(const struct share *share, const char *name)
{
    return json_str(json_get(json_get(share->spec, "environment"), name), NULL);
}

/* As this share's own task token. */
static struct reply speak(struct share *share, enum net_method method, const char *path,
                          const char *body, int status)
{
    share->bed->task = share->task;
    share->bed->supervisor = share->supervisor;
    return expect(share->bed, TASK, method, path, body, status);
}

static struct reply about_allocation(struct share *share, const char *what,
                                     const char *body, int status)
{
    return speak(share, NET_POST,
                 arena_printf(&share->bed->mem, "/api/v1/det/allocations/%s/%s",
                              share->allocation, what),
                 body, status);
}

void share_state(struct share *share, const char *state, int status)
{
    (void)about_allocation(share, "state",
                           arena_printf(&share->bed->mem,
                                        "{\"rank\":%" PRId64 ",\"state\":\"%s\"}",
                                        share->rank, state),
                           status);
}

void share_exit(struct share *share, const char *exit, int code)
{
    (void)about_allocation(share, "exit",
                           arena_printf(&share->bed->mem,
                                        "{\"rank\":%" PRId64
                                        ",\"exit\":\"%s\",\"code\":%d,"
                                        "\"reason\":\"so it ended\"}",
                                        share->rank, exit, code),
                           200);
}

void share_log(struct share *share, const char *text)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    int64_t end = share->logged + (int64_t)strlen(text) + 1;
    struct reply reply;

    jw_object(&w, NULL);
    jw_i64(&w, "rank", share->rank);
    jw_str(&w, "stream", "stdout");
    jw_i64(&w, "offset", share->logged);
    jw_i64(&w, "endOffset", end);
    jw_array(&w, "lines");
    jw_array(&w, NULL);
    jw_i64(&w, NULL, 1700000000000000 + share->logged * 1000000);
    jw_str(&w, NULL, text);
    jw_end_array(&w);
    jw_end_array(&w);
    jw_end_object(&w);
    reply = about_allocation(share, "logs", body.data, 200);
    CHECK_EQ(json_i64(json_get(reply.json, "offset"), -1), end);
    share->logged = end;
}

void share_report(struct share *share, const char *group, int64_t steps,
                  const char *metrics, int status)
{
    struct bed *bed = share->bed;

    (void)speak(
        share, NET_POST,
        arena_printf(&bed->mem, "/api/v1/trials/%" PRId64 "/metrics", share->trial),
        arena_printf(&bed->mem,
                     "{\"metrics\":{\"trialId\":%" PRId64 ",\"trialRunId\":%" PRId64
                     ",\"stepsCompleted\":%" PRId64
                     ",\"metrics\":{\"avgMetrics\":%s}},\"group\":\"%s\"}",
                     share->trial, share->run, steps, bed_fill(bed, metrics, true),
                     group),
        status);
}

void share_checkpoint(struct share *share, const char *uuid, int64_t steps)
{
    (void)speak(
        share, NET_POST, "/api/v1/checkpoints",
        arena_printf(&share->bed->mem,
                     "{\"uuid\":\"%s\",\"taskId\":\"%s\",\"allocationId\":\"%s\","
                     "\"metadata\":{\"steps_completed\":%" PRId64
                     "},\"resources\":{\"model.bin\":\"12\",\"sub/\":\"0\"},"
                     "\"training\":{},\"state\":\"STATE_COMPLETED\"}",
                     uuid, share->task_id, share->allocation, steps),
        200);
}

bool share_is_preempted(struct share *share, int timeout_s)
{
    struct reply reply = speak(
        share, NET_GET,
        arena_printf(&share->bed->mem,
                     "/api/v1/allocations/%s/signals/preemption?timeoutSeconds=%d",
                     share->allocation, timeout_s),
        NULL, 200);

    return json_bool(json_get(reply.json, "preempt"), false);
}

void share_acknowledge(struct share *share)
{
    (void)speak(share, NET_POST,
                arena_printf(&share->bed->mem,
                             "/api/v1/allocations/%s/signals/ack_preemption",
                             share->allocation),
                NULL, 200);
}

/* ---- experiments ----------------------------------------------------------------- */

int64_t create(struct bed *bed, const char *config)
{
    struct step step =
        POST("created", "/api/v1/experiments",
             "{'config': $[wanted], 'activate': true}", 200, "experiment.id?");

    bed_let(bed, "wanted", config);
    (void)bed_step(bed, &step);
    return bed_i64(bed, "created.experiment.id");
}

void await_experiment(struct bed *bed, int64_t id, const char *state)
{
    struct step step = {
        .name = "awaited",
        .path = arena_printf(&bed->mem, "/api/v1/experiments/%" PRId64, id),
        .status = 200,
        .expect = arena_printf(&bed->mem, "experiment.state=STATE_%s", state),
        .until = true};

    (void)bed_step(bed, &step);
}

void await_trial(struct bed *bed, int64_t id, const char *state)
{
    struct step step = {.name = "awaited",
                        .path = arena_printf(&bed->mem, "/api/v1/trials/%" PRId64, id),
                        .status = 200,
                        .expect =
                            arena_printf(&bed->mem, "trial.state=STATE_%s", state),
                        .until = true};

    (void)bed_step(bed, &step);
}
