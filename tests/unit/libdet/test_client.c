/* SPDX-License-Identifier: Apache-2.0 */
/* test_client.c - calls to a master in memory: identities, logins, errors, streams. */
#include "libdet/client/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "libdet/client/auth.h"
#include "net/memory/net_memory.h"
#include "net/net.h"
#include "tests/support/test.h"

#define AUTH "/auth.json"

/* A master in memory.  It accepts ann with the password "pw" and determined without
 * one, and issues tokens "t<n>"; tokens up to `expired` have expired. */
struct world {
    struct clock_manual clock;
    struct executor *exec;
    struct lane *lane;
    struct net *net;
    struct net_server *server;
    struct io *io;
    det_client *client;
    char url[64];
    int logins;
    int expired;
    int calls;
    char seen[256]; /* the credentials of the last call */
    char body[256];
    int status; /* of the answer at /answer */
    const char *text;
    int pieces;
};

static void reply(struct net_exchange *x, int status, const char *text)
{
    struct buf body = BUF_INIT;

    buf_puts(&body, text);
    net_answer(x, status, "application/json", NULL, &body);
}

static void log_in(struct world *w, struct net_exchange *x)
{
    char text[64], hash[AUTH_HASH_TEXT];
    size_t len;
    const char *body = net_request_body(x, &len);

    auth_hash("pw", hash);
    if ((strstr(body, "\"ann\"") && strstr(body, hash)) ||
        (strstr(body, "\"determined\"") && strstr(body, "\"password\":\"\""))) {
        snprintf(text, sizeof(text), "{\"token\":\"t%d\",\"user\":{}}", ++w->logins);
        reply(x, 200, text);
        return;
    }
    reply(x, 401, "{\"error\":{\"code\":16,\"error\":\"invalid credentials\"}}");
}

static bool is_known(const struct world *w, const char *credentials)
{
    int number;

    if (!strncmp(credentials, "task ", 5) || !strcmp(credentials, "Bearer given"))
        return true;
    return sscanf(credentials, "Bearer t%d", &number) == 1 && number > w->expired;
}

static enum net_more next_piece(void *arg, struct buf *out)
{
    static const char *const pieces[] = {"{\"result\":1}\n{\"res", "ult\":2}\n",
                                         "{\"result\":3}\n{\"result\":4}"};
    struct world *w = arg;

    buf_puts(out, pieces[w->pieces++]);
    return w->pieces == 3 ? NET_END : NET_MORE;
}

static void no_more(void *arg)
{
    (void)arg;
}

static void handle(void *arg, struct net_exchange *x)
{
    struct world *w = arg;
    const char *user = net_request_header(x, "authorization");
    const char *task = net_request_header(x, "grpc-metadata-x-allocation-token");
    struct net_stream stream = {w->lane, next_piece, no_more, w};
    size_t len;
    const char *body = net_request_body(x, &len);

    if (!strcmp(net_request_path(x), "/api/v1/auth/login")) {
        log_in(w, x);
        return;
    }
    w->calls++;
    snprintf(w->seen, sizeof(w->seen), "%s%s", task ? "task " : "",
             task   ? task
             : user ? user
                    : "nobody");
    snprintf(w->body, sizeof(w->body), "%.*s", (int)len, body);
    if (!strcmp(net_request_path(x), "/open"))
        reply(x, 200, "{}");
    else if (!is_known(w, w->seen))
        reply(x, 401, "{\"error\":{\"code\":16,\"error\":\"invalid credentials\"}}");
    else if (!strcmp(net_request_path(x), "/lines"))
        net_answer_stream(x, "application/json", &stream);
    else
        reply(x, w->status, w->text);
}

static void clear_environment(void)
{
    static const char *const names[] = {"DET_MASTER", "DET_USER", "DET_PASS",
                                        "DET_USER_TOKEN", "DET_SESSION_TOKEN"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unsetenv(names[i]);
}

static void world_init(struct world *w)
{
    struct net_server_config config = {.host = "127.0.0.1",
                                       .max_body_bytes = 1 << 20,
                                       .threads = 1,
                                       .max_connections = 8,
                                       .handler = handle,
                                       .arg = w};

    clear_environment();
    memset(w, 0, sizeof(*w));
    w->status = 200;
    w->text = "{\"yes\":true}";
    clock_manual_init(&w->clock, 0);
    CHECK_OK(executor_single_new(&w->clock, 1, &w->exec, &test_err));
    CHECK_OK(lane_new(w->exec, "stream", 1, &w->lane, &test_err));
    CHECK_OK(net_memory_new(w->exec, 1, &w->net, &test_err));
    CHECK_OK(net_serve(w->net, &config, &w->server, &test_err));
    CHECK_OK(io_memory_new(&w->io, &test_err));
    snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%u", net_server_port(w->server));
}

static void world_open(struct world *w, det_client_options options)
{
    struct client_world world = {w->io, w->net};

    options.size = sizeof(options);
    options.master = w->url;
    options.auth_file = AUTH;
    CHECK_OK(client_open(&world, &options, &w->client, &test_err));
}

static void world_close(struct world *w)
{
    det_client_close(w->client);
    w->client = NULL;
}

static void world_done(struct world *w)
{
    world_close(w);
    net_server_free(w->server);
    net_free(w->net);
    io_free(w->io);
    executor_free(w->exec);
    clear_environment();
}

static det_status get(struct world *w)
{
    return det_call(w->client, "GET", "/answer", NULL, NULL);
}

#define OPTIONS(...) ((det_client_options){__VA_ARGS__})

TEST(a_call_logs_in_as_determined_and_brings_the_body)
{
    det_reply *answer;
    struct world w;
    size_t len;

    world_init(&w);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(det_call(w.client, "POST", "/answer?x=1", "{\"a\":1}", &answer));

    CHECK_EQ(det_reply_status(answer), 200);
    CHECK_STR(det_reply_body(answer, &len), "{\"yes\":true}");
    CHECK_EQ(len, 12);
    CHECK_STR(w.seen, "Bearer t1");
    CHECK_STR(w.body, "{\"a\":1}");
    CHECK_STR(det_client_user(w.client), "determined");
    CHECK_STR(det_client_master(w.client), w.url);
    CHECK_STR(det_error_text(w.client), "");
    det_reply_free(answer);
    world_done(&w);
}

TEST(the_next_program_uses_the_session_that_was_remembered)
{
    struct world w;

    world_init(&w);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(get(&w));
    world_close(&w);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(get(&w));

    CHECK_EQ(w.logins, 1);
    world_done(&w);
}

TEST(a_session_that_is_over_is_renewed_once)
{
    struct world w;

    world_init(&w);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(get(&w));
    world_close(&w);
    w.expired = 1;
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(get(&w));
    CHECK_STR(w.seen, "Bearer t2");
    CHECK_EQ(w.logins, 2);
    w.expired = 2; /* after an explicit login there is no second try */
    CHECK_EQ(get(&w), DET_UNAUTHENTICATED);

    world_done(&w);
}

TEST(a_user_with_a_password_has_to_log_in_by_hand)
{
    struct world w;

    world_init(&w);
    world_open(&w, OPTIONS(.user = "ann"));
    CHECK_EQ(get(&w), DET_UNAUTHENTICATED);
    CHECK_HAS(det_error_text(w.client), "user 'ann' is not logged in at http://");
    CHECK_EQ(det_login(w.client, "ann", "wrong"), DET_UNAUTHENTICATED);
    CHECK_STR(det_error_text(w.client), "invalid credentials");
    CHECK_OK(det_login(w.client, "ann", "pw"));
    world_close(&w);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(get(&w));

    CHECK_STR(det_client_user(w.client), "ann");
    world_done(&w);
}

TEST(logging_out_forgets_the_session)
{
    struct world w;

    world_init(&w);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(det_login(w.client, "ann", "pw"));
    CHECK_OK(det_logout(w.client));
    world_close(&w);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_EQ(det_logout(w.client), DET_NOT_FOUND);
    CHECK_OK(get(&w));

    CHECK_STR(det_client_user(w.client), "determined");
    world_done(&w);
}

TEST(the_environment_says_who_is_calling)
{
    struct world w;

    world_init(&w);
    setenv("DET_USER", "ann", 1);
    setenv("DET_PASS", "pw", 1);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(get(&w));
    CHECK_STR(det_client_user(w.client), "ann");
    world_close(&w);
    unsetenv("DET_PASS");
    setenv("DET_USER_TOKEN", "given", 1);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(get(&w));

    CHECK_STR(w.seen, "Bearer given");
    world_done(&w);
}

TEST(a_user_named_by_the_environment_alone_is_not_somebody_else)
{
    struct world w;

    world_init(&w);
    setenv("DET_USER", "ann", 1);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_EQ(get(&w), DET_UNAUTHENTICATED);
    CHECK_HAS(det_error_text(w.client), "user 'ann' is not logged in at http://");
    CHECK_OK(det_login(w.client, "ann", "pw"));
    world_close(&w);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(get(&w));
    CHECK_STR(det_client_user(w.client), "ann");
    CHECK_OK(det_logout(w.client));

    CHECK_STR(det_client_user(w.client), "ann");
    world_done(&w);
}

TEST(a_task_speaks_with_its_own_token)
{
    struct world w;

    world_init(&w);
    world_open(&w, OPTIONS(.identity = DET_AS_TASK));
    CHECK_EQ(get(&w), DET_INVALID);
    CHECK_HAS(det_error_text(w.client), "DET_SESSION_TOKEN is not set");
    setenv("DET_SESSION_TOKEN", "abc", 1);
    CHECK_OK(get(&w));

    CHECK_STR(w.seen, "task Bearer abc");
    CHECK_EQ(w.logins, 0);
    world_done(&w);
}

TEST(nobody_calls_without_a_login)
{
    struct world w;

    world_init(&w);
    world_open(&w, OPTIONS(.identity = DET_AS_NOBODY));
    CHECK_OK(det_call(w.client, "GET", "/open", NULL, NULL));

    CHECK_STR(w.seen, "nobody");
    world_done(&w);
}

TEST(the_sentence_of_the_master_is_passed_on_with_its_status)
{
    static const struct {
        int http;
        const char *body;
        det_status status;
        const char *text;
    } rows[] = {
        {400, "{\"error\":{\"code\":3,\"error\":\"bad\"}}", DET_INVALID, "bad"},
        {400, "{\"error\":{\"code\":9,\"error\":\"over\"}}", DET_STATE, "over"},
        {403, "{\"error\":{\"code\":7,\"error\":\"no\"}}", DET_FORBIDDEN, "no"},
        {404, "{\"message\":\"none\"}", DET_NOT_FOUND, "none"},
        {404, "{\"error\":{\"message\":\"nope\"}}", DET_NOT_FOUND, "nope"},
        {409, "{\"error\":{\"code\":6,\"error\":\"twice\"}}", DET_EXISTS, "twice"},
        {413, "{\"error\":{\"code\":3,\"error\":\"big\"}}", DET_TOO_LARGE, "big"},
        {501, "{\"error\":{\"code\":12,\"error\":\"later\"}}", DET_UNSUPPORTED,
         "later"},
        {503, "{\"error\":{\"code\":14,\"error\":\"wait\"}}", DET_BUSY, "wait"},
        {504, "{\"error\":{\"code\":4,\"error\":\"slow\"}}", DET_TIMEOUT, "slow"},
        {500, "{\"error\":{\"code\":13,\"error\":\"oops\"}}", DET_FAILED, "oops"},
        {418, "{}", DET_FAILED, "the master answered with HTTP status 418"},
        {502, "<html>", DET_FAILED, "is not a master"},
    };
    struct world w;

    world_init(&w);
    world_open(&w, OPTIONS(.size = 0));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        w.status = rows[i].http;
        w.text = rows[i].body;
        CHECK_EQ(get(&w), rows[i].status);
        CHECK_HAS(det_error_text(w.client), rows[i].text);
    }
    world_done(&w);
}

static int count_line(void *arg, const char *line, size_t len)
{
    struct buf *lines = arg;

    CHECK_EQ(strlen(line), len);
    buf_add(lines, line, len);
    buf_putc(lines, ';');
    return strstr(line, "2") != NULL && lines->limit;
}

TEST(a_stream_comes_line_by_line_whatever_the_pieces)
{
    struct buf lines = BUF_INIT;
    struct world w;

    world_init(&w);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(det_call_stream(w.client, "/lines", count_line, &lines));

    CHECK_STR(lines.data,
              "{\"result\":1};{\"result\":2};{\"result\":3};{\"result\":4};");
    buf_done(&lines);
    world_done(&w);
}

TEST(a_reader_ends_a_stream_when_it_has_enough)
{
    struct buf lines = BUF_LIMITED(1000);
    struct world w;

    world_init(&w);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(det_call_stream(w.client, "/lines", count_line, &lines));

    CHECK_STR(lines.data, "{\"result\":1};{\"result\":2};");
    buf_done(&lines);
    world_done(&w);
}

TEST(an_error_in_a_stream_is_an_error)
{
    struct buf lines = BUF_INIT;
    struct world w;

    world_init(&w);
    world_open(&w, OPTIONS(.size = 0));
    w.text = "{\"result\":1}\n{\"error\":{\"grpcCode\":5,\"httpCode\":404,"
             "\"message\":\"it is gone\"}}\n";
    CHECK_EQ(det_call_stream(w.client, "/answer", count_line, &lines), DET_NOT_FOUND);

    CHECK_STR(det_error_text(w.client), "it is gone");
    CHECK_STR(lines.data, "{\"result\":1};");
    buf_done(&lines);
    world_done(&w);
}

TEST(calls_that_make_no_sense_are_refused)
{
    struct client_world world;
    det_client_options options = {.size = sizeof(options), .master = "https://x"};
    det_client *client;
    struct world w;

    world_init(&w);
    world = (struct client_world){w.io, w.net};
    CHECK_EQ(client_open(&world, &options, &client, &test_err), DET_UNSUPPORTED);
    options.master = "http://";
    CHECK_EQ(client_open(&world, &options, &client, &test_err), DET_INVALID);
    options.size = 0;
    CHECK_EQ(det_client_open(&options, &client), DET_INVALID);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_EQ(det_call(w.client, "EAT", "/answer", NULL, NULL), DET_INVALID);
    CHECK_EQ(det_call(w.client, "GET", "answer", NULL, NULL), DET_INVALID);
    world_done(&w);
}

TEST(without_memory_a_call_fails_and_the_next_one_works)
{
    EACH_ALLOCATION_FAILS() {
        int64_t left = fault_state.left[FAULT_MEMORY];
        struct world w;
        det_status st;

        fault_state.left[FAULT_MEMORY] = 0;
        world_init(&w);
        world_open(&w, OPTIONS(.size = 0));
        fault_state.left[FAULT_MEMORY] = left;
        st = get(&w);
        left = fault_state.left[FAULT_MEMORY];
        fault_state.left[FAULT_MEMORY] = 0;
        if (st)
            CHECK(fault_fired());
        CHECK_OK(get(&w));
        world_done(&w);
        fault_state.left[FAULT_MEMORY] = left;
    }
}

static det_status log_in_and_out(struct world *w)
{
    det_status st = det_login(w->client, "ann", "pw");

    return st ? st : det_logout(w->client);
}

static det_status read_lines(struct world *w)
{
    CLEANUP(buf_done) struct buf lines = BUF_INIT;

    w->pieces = 0;
    return det_call_stream(w->client, "/lines", count_line, &lines);
}

static det_status open_another(struct world *w)
{
    struct client_world world = {w->io, w->net};
    det_client_options options = {
        .size = sizeof(options), .master = w->url, .auth_file = AUTH};
    det_client *client = NULL;
    det_status st = client_open(&world, &options, &client, &test_err);

    det_client_close(client);
    return st;
}

/* Whether there was an n-th allocation. */
static bool survives_nomem(det_status (*call)(struct world *), int64_t nth)
{
    struct world w;
    bool fired;
    det_status st;

    world_init(&w);
    world_open(&w, OPTIONS(.size = 0));
    CHECK_OK(get(&w));
    fault_arm(FAULT_MEMORY, nth);
    st = call(&w);
    fired = fault_disarm(FAULT_MEMORY);
    CHECK(!st || fired);
    CHECK_OK(call(&w));
    world_done(&w);
    return fired;
}

TEST(without_memory_other_calls_fail_and_the_next_ones_work)
{
    det_status (*const calls[])(struct world *) = {log_in_and_out, read_lines,
                                                   open_another};

    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        int64_t nth = 1;

        while (survives_nomem(calls[i], nth))
            nth++;
        CHECK(nth > 1);
    }
}
