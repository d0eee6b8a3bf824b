/* SPDX-License-Identifier: Apache-2.0 */
/* fault_job.c - the life of a generic job, while each write, sync, call and allocation
 * of the master fails in turn. */
#include <inttypes.h>
#include <string.h>

#include "base/io/io.h"
#include "tests/fault/master_bed.h"

enum { SECOND = 1000000 };

static const char config[] =
    "{\"config\":\"name: t\\nentrypoint: x\\ndata: {a: 1}\\n\","
    "\"contextDirectory\":[{\"path\":\"a\",\"type\":48,\"content\":\"aGk=\"}]}";

struct life {
    struct bed bed;
    const char *task;
    const char *allocation;
    const char *token;
    int64_t runs;
};

static const struct json *jobs(struct bed *bed)
{
    return json_get(bed_look(bed, "/api/v1/generic-tasks?all=true"), "tasks");
}

/* As with experiments: what was not heard may have happened, what was refused has not.
 */
static void create(struct life *life)
{
    struct bed *bed = &life->bed;

    for (int i = 0; i < 20; i++) {
        const struct json *list;
        bool is_refused;

        bed_call(bed, AS_USER, bed->user, NET_POST, "/api/v1/generic-tasks", config);
        if (bed->status == 200) {
            life->task = json_str(json_get(bed->reply, "taskId"), NULL);
            return;
        }
        is_refused = bed->status && !bed->is_dead;
        list = jobs(bed);
        if (is_refused)
            CHECK_EQ(list->list.count, 0);
        if (list->list.count) {
            CHECK_EQ(list->list.count, 1);
            life->task = json_str(json_get(json_first(list), "taskId"), NULL);
            return;
        }
    }
    fail_msg("no job can be made");
}

/* A message that came twice has made two of them: the other one goes. */
static void drop_double(struct life *life)
{
    struct bed *bed = &life->bed;

    json_each(job, jobs(bed)) {
        const char *id = json_str(json_get(job, "taskId"), "");

        CHECK(!strcmp(id, life->task) || bed->sweep->how == FAULT_TWICE);
        if (!strcmp(id, life->task))
            continue;
        bed_tell(bed, AS_USER, bed->user, bed_printf(bed, "/api/v1/tasks/%s/kill", id),
                 "{}");
        bed->epoch = NULL; /* an agent without tasks: nothing runs */
        bed_hello(bed);
    }
}

/* The START of its next run. */
static void fetch(struct life *life)
{
    struct bed *bed = &life->bed;
    const char *before = life->allocation;

    life->token = NULL;
    for (int i = 0; i < 40 && !life->token; i++) {
        bed_hello(bed);
        bed_call(bed, AS_AGENT, bed->agent, NET_GET,
                 bed_printf(bed,
                            "/api/v1/det/agents/a1/commands?after=0&epoch=%s"
                            "&timeoutSeconds=1",
                            bed->epoch),
                 NULL);
        if (bed->status != 200)
            continue;
        if (strcmp(json_str(json_get(bed->reply, "epoch"), ""), bed->epoch))
            bed->epoch = NULL;
        json_each(command, json_get(bed->reply, "commands")) {
            const struct json *env = json_path(command, "spec.environment");
            const char *name = json_str(json_get(command, "allocation"), "");

            if (!env || (before && !strcmp(name, before)) ||
                strncmp(name, life->task, strlen(life->task)))
                continue;
            CHECK_STR(json_str(json_get(env, "DET_TASK_TYPE"), ""), "GENERIC");
            life->allocation = name;
            life->token = json_str(json_path(command, "spec.supervisorToken"), NULL);
        }
    }
    if (!life->token)
        fail_msg("the job is never started");
    bed->running = bed_printf(bed, "[\"%s/0\"]", life->allocation);
}

static void tell(struct life *life, const char *what, const char *body)
{
    struct bed *bed = &life->bed;

    bed_hello(bed);
    bed_tell(bed, AS_TASK, life->token,
             bed_printf(bed, "/api/v1/det/allocations/%s/%s", life->allocation, what),
             body);
}

/* Until it is so; whoever asks for it may ask again. */
static void act(struct life *life, const char *verb)
{
    struct bed *bed = &life->bed;

    bed_tell(bed, AS_USER, bed->user,
             bed_printf(bed, "/api/v1/tasks/%s/%s", life->task, verb), "{}");
}

static void await_state(struct life *life, const char *wanted)
{
    struct bed *bed = &life->bed;
    const char *state = "";

    for (int i = 0; i < 60; i++) {
        struct json *reply =
            bed_look(bed, bed_printf(bed, "/api/v1/tasks/%s", life->task));

        state = json_str(json_path(reply, "task.taskState"), "");
        life->runs = (int64_t)json_path(reply, "task.allocations")->list.count;
        if (!strcmp(state, wanted))
            return;
        bed_pass(bed, SECOND);
    }
    fail_msg("the job is never %s: %s", wanted, state);
}

static void run_once(struct life *life)
{
    fetch(life);
    tell(life, "state", "{\"rank\":0,\"state\":\"RUNNING\"}");
}

static void check_end(struct life *life)
{
    await_state(life, "GENERIC_TASK_STATE_COMPLETED");
    CHECK_EQ(life->runs, 2);
    CHECK(jobs(&life->bed)->list.count >= 1);
}

/* Made, run, paused, unpaused, run to its end. */
static void tell_of_a_job(struct sweep *sweep)
{
    struct life life = {0};
    struct bed *bed = &life.bed;

    bed_open(bed, sweep);
    sweep_begin(sweep);
    bed_log_in(bed);
    bed_hello(bed);
    create(&life);
    drop_double(&life);
    run_once(&life);
    act(&life, "pause");
    bed_tell(bed, AS_TASK, life.token,
             bed_printf(bed, "/api/v1/allocations/%s/signals/ack_preemption",
                        life.allocation),
             "{}");
    tell(&life, "exit", "{\"rank\":0,\"exit\":\"CLEAN\",\"code\":0}");
    bed->running = "[]";
    await_state(&life, "GENERIC_TASK_STATE_PAUSED");
    act(&life, "unpause");
    run_once(&life);
    tell(&life, "exit", "{\"rank\":0,\"exit\":\"CLEAN\",\"code\":0}");
    bed->running = "[]";
    await_state(&life, "GENERIC_TASK_STATE_COMPLETED");
    sweep_end(sweep);
    check_end(&life);
    io_crash(bed->io); /* and all of it is durable */
    bed_restart(bed);
    check_end(&life);
    bed_close(bed);
}

TEST(a_job_comes_to_its_end_whatever_write_fails)
{
    sweep_run("job", tell_of_a_job, SWEEP_FILES, 12);
}

TEST(a_job_comes_to_its_end_whatever_call_fails)
{
    sweep_run("job", tell_of_a_job, SWEEP_NET, 12);
}

TEST(a_job_comes_to_its_end_whatever_allocation_fails)
{
    sweep_run("job", tell_of_a_job, SWEEP_MEMORY, 60);
}
