/* SPDX-License-Identifier: Apache-2.0 */
/* master_people.c - people submit experiments, change them, read them, and in the end
 * wait until they are over. */
#include <inttypes.h>
#include <string.h>

#include "base/io/io.h"
#include "tests/sim/master_world.h"

static const char *const configs[] = {
    "name: one\nentrypoint: x\nmax_restarts: 2\nsearcher: {name: single, metric: "
    "loss}\n",
    "name: wide\nentrypoint: x\nmax_restarts: 1\nsearcher: {name: single, metric: "
    "loss}\n"
    "resources: {slots_per_trial: 4}\n",
    "name: grid\nentrypoint: x\nmax_restarts: 0\nsearcher: {name: grid, metric: loss}\n"
    "hyperparameters: {a: {type: categorical, vals: [1, 2, 3]}}\n"
    "checkpoint_storage: {type: shared_fs, host_path: /shared, save_experiment_best: 2,"
    " save_trial_best: 0, save_trial_latest: 0}\n",
    "name: random\nentrypoint: x\nmax_restarts: 1\n"
    "searcher: {name: random, metric: loss, smaller_is_better: false, max_trials: 3,"
    " max_concurrent_trials: 2}\n"
    "hyperparameters: {a: {type: double, minval: 0, maxval: 1}}\n"
    "resources: {slots_per_trial: 2}\n",
};

static struct call as_user(const struct person *person, enum net_method method,
                           const char *path, const char *body)
{
    return (struct call){.use = TOKEN_BEARER,
                         .token = person->token,
                         .method = method,
                         .path = path,
                         .body = body};
}

static void log_in(struct person *person)
{
    struct actor *actor = &person->actor;
    struct call call = {.method = NET_POST,
                        .path = "/api/v1/auth/login",
                        .body = arena_printf(&actor->mem,
                                             "{\"username\":\"%s\",\"password\":\"\"}",
                                             actor->name)};

    if (!actor_call(actor, &call))
        return;
    if (call.status != 200) {
        world_fail(actor->world, "login: %d %s", call.status, call.text);
        return;
    }
    person->token =
        arena_strdup(&actor->world->mem, json_str(json_get(call.json, "token"), ""));
}

static void submit(struct person *person)
{
    struct actor *actor = &person->actor;
    struct world *w = actor->world;
    struct json *body = json_new(&actor->mem, JSON_OBJECT);
    struct call call = as_user(person, NET_POST, "/api/v1/experiments", NULL);
    const char *config = configs[roll(w, ARRAY_LEN(configs))];

    json_set(&actor->mem, body, "config", json_new_str(&actor->mem, config));
    json_set(&actor->mem, body, "activate", json_new_bool(&actor->mem, !one_in(w, 5)));
    call.body = json_text(&actor->mem, body);
    if (!actor_call(actor, &call))
        return; /* it may be there: the end counts whatever is */
    if (call.status != 200)
        world_fail(w, "submit: %d %s", call.status, call.text);
    else if (w->wishes < WISHES_MOST)
        w->wish[w->wishes++].id = json_i64(json_path(call.json, "experiment.id"), -1);
}

/* One of the verbs on one of the experiments; all answers but errors are fine. */
static void interfere(struct person *person)
{
    static const char *const verbs[] = {"pause", "activate", "activate", "cancel",
                                        "kill",  "archive",  "pause"};
    struct actor *actor = &person->actor;
    struct world *w = actor->world;
    int64_t id = w->wish[roll(w, w->wishes)].id;
    struct call call =
        as_user(person, NET_POST,
                arena_printf(&actor->mem, "/api/v1/experiments/%" PRId64 "/%s", id,
                             verbs[roll(w, ARRAY_LEN(verbs))]),
                NULL);

    if (one_in(w, 5) && w->processes) {
        const struct process *p = w->process[roll(w, w->processes)];

        call = as_user(
            person, NET_POST,
            arena_printf(&actor->mem, "/api/v1/allocations/%s/kill", p->allocation),
            NULL);
    } else if (one_in(w, 5)) {
        call = as_user(person, NET_POST, "/api/v1/experiments/continue",
                       arena_printf(&actor->mem, "{\"id\":%" PRId64 "}", id));
        for (uint32_t i = 0; i < w->wishes; i++)
            w->wish[i].is_continued |= w->wish[i].id == id;
    } else if (one_in(w, 4))
        call = as_user(person, NET_PATCH,
                       arena_printf(&actor->mem, "/api/v1/experiments/%" PRId64, id),
                       arena_printf(&actor->mem, "{\"resources\":{\"priority\":%d}}",
                                    1 + (int)roll(w, 99)));
    if (actor_call(actor, &call) && call.status == 401)
        world_fail(w, "%s: %s", call.path, call.text);
}

static void look(struct person *person)
{
    static const char *const paths[] = {"experiments",   "agents",         "tasks",
                                        "job-queues-v2", "resource-pools", "me"};
    static const char *const parts[] = {"", "/trials", "/checkpoints"};
    struct actor *actor = &person->actor;
    struct world *w = actor->world;
    const char *path =
        arena_printf(&actor->mem, "/api/v1/%s", paths[roll(w, ARRAY_LEN(paths))]);
    struct call call;

    if (w->wishes && one_in(w, 2))
        path = arena_printf(&actor->mem, "/api/v1/experiments/%" PRId64 "%s",
                            w->wish[roll(w, w->wishes)].id,
                            parts[roll(w, ARRAY_LEN(parts))]);
    call = as_user(person, NET_GET, path, NULL);
    if (actor_call(actor, &call) && call.status != 200)
        world_fail(w, "%s: %d %s", call.path, call.status, call.text);
}

/* Follows a trial's log for a while: no line twice, none out of order. */
static void follow(struct person *person)
{
    struct actor *actor = &person->actor;
    struct world *w = actor->world;
    struct call call;
    int64_t last = -1;

    if (!w->processes)
        return;
    call =
        as_user(person, NET_GET,
                arena_printf(&actor->mem, "/api/v1/trials/%" PRId64 "/logs?follow=true",
                             w->process[roll(w, w->processes)]->trial),
                NULL);
    call.timeout_ms = 1000;
    if (!actor_call(actor, &call))
        return;
    json_each(line, json_get(call.json, "lines")) {
        int64_t id = json_i64(json_path(line, "result.id"), -1);

        if (id <= last)
            world_fail(w, "%s: line %" PRId64 " comes after %" PRId64, call.path, id,
                       last);
        last = id;
    }
}

/* ---- the end ------------------------------------------------------------------------
 */

static bool is_ended(const char *state)
{
    return !strcmp(state, "STATE_COMPLETED") || !strcmp(state, "STATE_CANCELED") ||
           !strcmp(state, "STATE_ERROR");
}

/* Whether all are over; those that rest are made to go on. */
static bool finish(struct person *person)
{
    struct actor *actor = &person->actor;
    struct call all = as_user(person, NET_GET, "/api/v1/experiments?limit=-1", NULL);
    bool is_all_over = true;

    if (!actor_call(actor, &all))
        return false;
    json_each(item, json_get(all.json, "experiments")) {
        const char *state = json_str(json_get(item, "state"), "");
        struct call go = as_user(
            person, NET_POST,
            arena_printf(&actor->mem, "/api/v1/experiments/%" PRId64 "/activate",
                         json_i64(json_get(item, "id"), -1)),
            NULL);

        if (is_ended(state))
            continue;
        is_all_over = false;
        world_trace(actor->world, "experiment %" PRId64 " is %s",
                    json_i64(json_get(item, "id"), -1), state);
        if (!strcmp(state, "STATE_PAUSED") && !actor_call(actor, &go))
            return false;
    }
    return is_all_over;
}

/* Everything is over: once more without power, then the ledger is compared. */
static void conclude(struct person *person)
{
    struct actor *actor = &person->actor;
    struct world *w = actor->world;

    if (person != &w->person[1] || !finish(person)) /* the administrator may all */
        return;
    arena_clear(&actor->mem);
    if (!check_collected(w, actor, person->token))
        return; /* agents are at it */
    if (!w->is_last) {
        w->is_last = true;
        power_goes(w);
        return;
    }
    check_all(w, actor, person->token);
    w->is_over = true;
}

void person_step(struct actor *actor)
{
    struct person *person = CONTAINER_OF(actor, struct person, actor);
    struct world *w = actor->world;

    arena_clear(&actor->mem);
    if (!person->token)
        log_in(person);
    else if (w->is_calm)
        conclude(person);
    else if (w->wishes < WISHES_MOST && one_in(w, w->wishes < 3 ? 2 : 12))
        submit(person);
    else if (w->wishes && one_in(w, 6))
        interfere(person);
    else if (one_in(w, 4))
        follow(person);
    else
        look(person);
    actor_again(actor, (int64_t)roll(w, (w->is_calm ? 30 : 3) * SECOND));
}
