/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of changes: what it says, to whom, and when it ends. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "master/master.h"
#include "tests/api/script.h"

/* ---- somebody who listens -------------------------------------------------------- */

struct listener {
    struct bed *bed;
    pthread_t thread;
    struct net_client *client;
    struct net_call call;
    const char *headers[4];
    struct net_reply reply;
    struct buf out;
    det_status status;
    pthread_mutex_t lock; /* guards what is below */
    pthread_cond_t more;
    struct buf heard;
    size_t at; /* what was looked for before lies below */
    bool is_over;
};

static det_status take_piece(void *arg, const char *bytes, size_t len, struct err *err)
{
    struct listener *l = arg;

    (void)err;
    pthread_mutex_lock(&l->lock);
    buf_add(&l->heard, bytes, len);
    pthread_cond_broadcast(&l->more);
    pthread_mutex_unlock(&l->lock);
    return DET_OK;
}

static void *run_listener(void *arg)
{
    struct listener *l = arg;

    l->status = net_call(l->client, &l->call, &l->reply, NULL);
    pthread_mutex_lock(&l->lock);
    l->is_over = true;
    pthread_cond_broadcast(&l->more);
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static struct listener *listen_with(struct bed *bed, const char *token,
                                    const char *query, const char *last_id)
{
    struct listener *l = mem_new(struct listener);

    CHECK(l != NULL);
    l->bed = bed;
    l->out = l->heard = (struct buf)BUF_INIT;
    l->headers[0] = arena_printf(&bed->mem, "Authorization: Bearer %s", token);
    if (last_id)
        l->headers[1] = arena_printf(&bed->mem, "Last-Event-ID: %s", last_id);
    l->call = (struct net_call){
        .method = NET_GET,
        .path = arena_printf(&bed->mem, "/api/v1/det/changes%s", query),
        .headers = l->headers,
        .timeout_ms = 60000,
        .on_data = take_piece,
        .arg = l};
    l->reply.body = &l->out;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    CHECK_OK(net_client_new(bed->net, "127.0.0.1", master_port(bed->master), &l->client,
                            &test_err));
    CHECK(!pthread_create(&l->thread, NULL, run_listener, l));
    return l;
}

/* Until the text is heard behind what was heard before; fails when the stream ends
 * first, or after a minute. */
static void hear(struct listener *l, const char *text)
{
    struct timespec until;
    bool is_there = false;
    int late = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&l->lock);
    while (!late) {
        const char *from = l->heard.len ? l->heard.data + l->at : "";
        const char *found = strstr(from, text);

        is_there = found != NULL;
        if (found)
            l->at += (size_t)(found - from) + strlen(text);
        if (found || l->is_over)
            break;
        late = pthread_cond_timedwait(&l->more, &l->lock, &until);
    }
    pthread_mutex_unlock(&l->lock);
    if (!is_there)
        fail_msg("'%s' was not heard in: %s", text, l->heard.data);
}

static bool has_heard(struct listener *l, const char *text)
{
    bool is_there;

    pthread_mutex_lock(&l->lock);
    is_there = l->heard.len && strstr(l->heard.data, text);
    pthread_mutex_unlock(&l->lock);
    return is_there;
}

static struct listener *listen_as_user(struct bed *bed, const char *query)
{
    struct listener *l = listen_with(bed, bed->user, query, NULL);

    hear(l, "event: hello\n");
    hear(l, "\n\n");
    return l;
}

/* The id of the last event that was heard. */
static const char *last_id(struct listener *l)
{
    const char *id = NULL;
    const char *ret;

    pthread_mutex_lock(&l->lock);
    for (const char *at = l->heard.data; (at = strstr(at, "\nid: ")); at++)
        id = at + 5;
    CHECK(id != NULL);
    ret = arena_strndup(&l->bed->mem, id, strcspn(id, "\n"));
    pthread_mutex_unlock(&l->lock);
    return ret;
}

static void await_end(struct listener *l)
{
    struct timespec until;
    int late = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&l->lock);
    while (!l->is_over && !late)
        late = pthread_cond_timedwait(&l->more, &l->lock, &until);
    pthread_mutex_unlock(&l->lock);
    CHECK(!late);
}

/* Whether it ended by itself or not; the HTTP status. */
static int hang_up(struct listener *l)
{
    int status;

    net_client_cancel(l->client);
    pthread_join(l->thread, NULL);
    status = l->reply.status;
    net_client_free(l->client);
    pthread_cond_destroy(&l->more);
    pthread_mutex_destroy(&l->lock);
    buf_done(&l->heard);
    buf_done(&l->out);
    mem_free(l);
    return status;
}

static void call_ok(struct bed *bed, enum net_method method, const char *path,
                    const char *body)
{
    struct reply reply = bed_call(bed, USER, method, bed_fill(bed, path, false),
                                  body ? bed_fill(bed, body, true) : NULL);

    if (reply.status != 200)
        fail_msg("%s: %d %s", path, reply.status, reply.text);
}

/* A paused experiment. */
static void submit(struct bed *bed)
{
    call_ok(bed, NET_POST, "/api/v1/experiments", "{'config': $[single]}");
}

/* ---- what is said ---------------------------------------------------------------- */

TEST(a_listener_hears_an_experiment_from_its_beginning_to_its_end)
{
    BED(bed, NULL);
    struct listener *l = listen_as_user(bed, "");
    struct agent agent = {0};
    struct share share;

    CHECK(has_heard(l, master_id(bed->master)));
    CHECK(has_heard(l, master_cluster_id(bed->master)));
    agent_join(&agent, bed, "a1", 1);
    hear(l, "\"agents\":[\"a1\"]");
    (void)create(bed, config_single);
    hear(l, "\"experiments\":[1]");
    share = agent_run(&agent);
    share_log(&share, "begins");
    hear(l, "\"logs\":[\"");
    share_report(&share, "training", 1, "{\"loss\": 0.5}", 200);
    hear(l, "\"metrics\":[1]");
    share_report(&share, "validation", 1, "{\"loss\": 0.5}", 200);
    hear(l, "\"experiments\":[1]");
    share_checkpoint(&share, "6f1e1c0e-5a5e-4d6e-9f5e-000000000001", 1);
    hear(l, "\"checkpoints\":[1]");
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    hear(l, "\"queue\":true");
    hang_up(l);
}

TEST(what_people_edit_is_heard)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct listener *l;

    agent_join(&agent, bed, "a1", 1);
    submit(bed);
    call_ok(bed, NET_POST, "/api/v1/experiments/1/kill", NULL);
    await_experiment(bed, 1, "CANCELED");
    l = listen_as_user(bed, "?kinds=experiments&experiment=1");
    call_ok(bed, NET_PATCH, "/api/v1/experiments/1", "{'name': 'another'}");
    hear(l, "{\"experiments\":[1]}");
    call_ok(bed, NET_PUT, "/api/v1/experiments/1/labels/new", NULL);
    hear(l, "{\"experiments\":[1]}");
    call_ok(bed, NET_POST, "/api/v1/experiments/1/archive", NULL);
    hear(l, "{\"experiments\":[1]}");
    call_ok(bed, NET_DELETE, "/api/v1/experiments/1", NULL);
    hear(l, "\"deleted\":[1]");
    hang_up(l);
}

TEST(a_filter_lets_only_its_own_through)
{
    BED(bed, NULL);
    struct listener *second = listen_as_user(bed, "?experiment=2,9&kinds=experiments");
    struct listener *trial = listen_as_user(bed, "?trial=2&kinds=trials,metrics");
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 2);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_report(&share, "training", 1, "{\"loss\": 0.5}", 200);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_report(&share, "training", 1, "{\"loss\": 0.5}", 200);
    hear(second, "{\"experiments\":[2]}");
    hear(trial, "\"metrics\":[2]");
    CHECK(!has_heard(second, "trials"));
    CHECK(!has_heard(second, "[1"));
    CHECK(!has_heard(trial, "[1"));
    CHECK(!has_heard(trial, "queue"));
    hang_up(second);
    hang_up(trial);
}

TEST(what_somebody_else_runs_is_heard_too)
{
    BED(bed, NULL);
    struct listener *l = listen_as_user(bed, "?experiment=1");

    call_ok(bed, NET_POST, "/api/v1/experiments",
            "{'config': 'name: own\\nentrypoint: x\\nsearcher: {name: single, metric: "
            "loss}\\n', 'unmanaged': true}");
    hear(l, "\"experiments\":[1]");
    call_ok(bed, NET_POST, "/api/v1/trials", "{'experimentId': 1, 'unmanaged': true}");
    hear(l, "\"trials\":[1]");
    call_ok(bed, NET_POST, "/api/v1/trials/1/metrics",
            "{'group': 'training', 'metrics': {'trialId': 1, 'trialRunId': 0, "
            "'stepsCompleted': 1, 'metrics': {'avgMetrics': {'loss': 1}}}}");
    hear(l, "\"metrics\":[1]");
    call_ok(bed, NET_POST, "/api/v1/trials/1/progress", "{'progress': 0.5}");
    hear(l, "\"trials\":[1]");
    call_ok(bed, NET_POST, "/api/v1/experiments/1/kill", NULL);
    hear(l, "\"trials\":[1]");
    hang_up(l);
}

TEST(wrong_filters_are_refused_in_a_sentence)
{
    static const struct step steps[] = {
        GET("kind", "/api/v1/det/changes?kinds=trials,cats", 400, "error.error~'cats'"),
        GET("number", "/api/v1/det/changes?trial=1,x", 400, "error.error~'x'"),
        GET("nobody", "/api/v1/det/changes", 401, NULL, NOBODY),
        GET("agent", "/api/v1/det/changes", 403, NULL, AGENT), END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

/* ---- coming back ----------------------------------------------------------------- */

TEST(who_comes_back_hears_what_changed_meanwhile)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct listener *l = listen_as_user(bed, "?kinds=experiments");
    const char *id;

    agent_join(&agent, bed, "a1", 1);
    submit(bed);
    hear(l, "{\"experiments\":[1]}");
    id = last_id(l);
    hang_up(l);
    submit(bed);
    l = listen_with(bed, bed->user, "?kinds=experiments", id);
    hear(l, "event: hello\n");
    hear(l, "\"experiments\":[2");
    CHECK(!has_heard(l, "reset"));
    hang_up(l);
    l = listen_with(bed, bed->user,
                    arena_printf(&bed->mem, "?kinds=experiments&since=%s", id), NULL);
    hear(l, "\"experiments\":[2");
    CHECK(!has_heard(l, "reset"));
    hang_up(l);
}

TEST(another_master_makes_everybody_look_again)
{
    BED(bed, NULL);
    struct listener *l = listen_as_user(bed, "");
    const char *id = last_id(l);

    bed_restart(bed);
    await_end(l);
    hang_up(l);
    l = listen_with(bed, bed->user, "", id);
    hear(l, "event: hello\n");
    hear(l, master_id(bed->master));
    hear(l, "event: reset\n");
    hang_up(l);
    l = listen_with(bed, bed->user, "", "nonsense");
    hear(l, "event: reset\n");
    hang_up(l);
}

/* ---- the end --------------------------------------------------------------------- */

TEST(a_stream_ends_with_its_session)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct listener *l;

    bed->other = bed_login(bed, "determined", "", 200);
    l = listen_with(bed, bed->other, "", NULL);
    hear(l, "event: hello\n");
    CHECK_EQ(bed_call(bed, OTHER, NET_POST, "/api/v1/auth/logout", NULL).status, 200);
    agent_join(&agent, bed, "a1", 1); /* wakes it */
    await_end(l);
    CHECK_EQ(hang_up(l), 200);
}

TEST(a_stream_ends_when_its_session_expires)
{
    BED(bed, NULL);
    struct listener *l;

    bed->other = bed_login(bed, "determined", "", 200);
    l = listen_with(bed, bed->other, "", NULL);
    hear(l, "event: hello\n");
    bed_pass(bed, (int64_t)400 * 24 * 3600);
    (void)bed_login(bed, "determined", "",
                    200); /* time is noticed when things happen */
    await_end(l);
    hang_up(l);
}

TEST(a_quiet_stream_shows_that_it_is_alive)
{
    BED(bed, NULL);
    struct listener *l = listen_as_user(bed, "?kinds=jobs");

    for (int i = 0; i < 2; i++) {
        bed_pass(bed, 20);
        (void)bed_call(bed, USER, NET_GET, "/api/v1/me", NULL);
        hear(l, "event: alive\ndata: {}\n\n");
    }
    hang_up(l);
}

TEST(a_stopping_master_is_not_held_up)
{
    BED(bed, NULL);
    struct listener *l = listen_as_user(bed, "");

    bed_stop_master(bed);
    await_end(l);
    hang_up(l);
}

TEST(many_listen_at_once)
{
    enum { MANY = 40 };
    BED(bed, NULL);
    struct agent agent = {0};
    struct listener *l[MANY];

    agent_join(&agent, bed, "a1", 1);
    for (int i = 0; i < MANY; i++)
        l[i] = listen_as_user(bed, i % 2 ? "" : "?kinds=experiments");
    submit(bed);
    for (int i = 0; i < MANY; i++)
        hear(l[i], "\"experiments\":[1]");
    for (int i = 0; i < MANY; i++)
        hang_up(l[i]);
}

/* ---- mode rbac ------------------------------------------------------------------- */

/* An agent's arrival is for all, and comes later than what must not be heard. */
TEST(in_mode_rbac_a_listener_hears_only_what_it_may_see)
{
    BED(bed, "security: {authz: {type: rbac}}\n");
    struct listener *nobody = listen_as_user(bed, "");
    struct listener *admin = listen_with(bed, bed->admin, "", NULL);
    struct agent agent = {0};
    struct step step =
        POST("made", "/api/v1/experiments", "{'config': $[single]}", 200, NULL, ADMIN);

    agent_join(&agent, bed, "a1", 1);
    (void)bed_step(bed, &step);
    hear(admin, "\"experiments\":[1]");
    agent_join(&agent, bed, "a2", 1);
    hear(nobody, "\"a2\"");
    CHECK(!has_heard(nobody, "experiments"));
    CHECK(!has_heard(nobody, "trials"));
    hang_up(nobody);
    hang_up(admin);
}
