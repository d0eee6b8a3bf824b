/* SPDX-License-Identifier: Apache-2.0 */
/* TensorBoards, and the proxy to programs of tasks at the master's address
 * (api_proxy()).  The program is a small server in the test. */
#include <string.h>
#include <unistd.h>

#include "master/master.h"
#include "tests/api/script.h"
#include "tests/unit/net/raw.h"
#include "tests/unit/net/upstream.h"

/* A TensorBoard that runs, and the program that it is. */
struct stage {
    struct bed *bed;
    struct agent agent;
    struct share share;
    struct upstream up;
    const char *id;
};

static void launch(struct stage *stage, const char *body)
{
    static const struct step create =
        POST("e", "/api/v1/experiments", "{'config': $[single], 'activate': false}",
             200, "experiment.id?");
    struct step step = POST("board", "/api/v1/tensorboards", body, 200,
                            "tensorboard.id?; config.idle_timeout=300");

    agent_join(&stage->agent, stage->bed, "a1", 1);
    (void)bed_step(stage->bed, &create);
    (void)bed_step(stage->bed, &step);
    stage->id = bed_get(stage->bed, "board.tensorboard.id");
    bed_let(stage->bed, "id", stage->id);
    stage->share = agent_run(&stage->agent);
    share_speak(&stage->share);
}

static void stage_open(struct stage *stage, struct bed *bed)
{
    struct step step = POST("port", "/api/v1/det/allocations/${share.allocation}/proxy",
                            NULL, 200, NULL, TASK);

    memset(stage, 0, sizeof(*stage));
    stage->bed = bed;
    upstream_start(&stage->up);
    launch(stage, "{'experimentIds': [${e.experiment.id}]}");
    step.body = arena_printf(&bed->mem, "{'port': %u}", stage->up.port);
    (void)bed_step(bed, &step);
}

static void stage_close(struct stage *stage)
{
    upstream_stop(&stage->up);
}

/* A request with these lines, whose connection is the last; all that comes back. */
static void ask(struct stage *stage, const char *method, const char *path,
                const char *lines, struct buf *answer)
{
    const char *request =
        arena_printf(&stage->bed->mem,
                     "%s /proxy/%s%s HTTP/1.1\r\nHost: localhost\r\n"
                     "Authorization: Bearer %s\r\nConnection: close\r\n%s\r\n",
                     method, stage->id, path, stage->bed->user, lines);
    int fd = raw_open(master_port(stage->bed->master));

    raw_send(fd, request);
    raw_read_all(fd, answer);
    close(fd);
}

/* ---- TensorBoards ---------------------------------------------------------------- */

TEST(a_tensorboard_is_a_job_without_slots_in_the_shape_that_clients_know)
{
    static const struct step starting[] = {
        GET("one", "/api/v1/tensorboards/${id}", 200,
            "tensorboard.id=${id}; tensorboard.state=STATE_STARTING; "
            "tensorboard.username=determined; tensorboard.experimentIds#1; "
            "tensorboard.experimentIds.0=${e.experiment.id}; tensorboard.trialIds#0; "
            "tensorboard.serviceAddress=/proxy/${id}/; tensorboard.workspaceId=1; "
            "tensorboard.description~TensorBoard (; tensorboard.jobId=${id}; "
            "config.resources.slots=0; config.entrypoint.2=tensorboard"),
        GET("task", "/api/v1/tasks/${id}", 200,
            "task.taskType=TASK_TYPE_TENSORBOARD; task.allocations.0.isReady=false"),
        GET("queue", "/api/v1/job-queues-v2", 200,
            "jobs.0.full.type=TYPE_TENSORBOARD; jobs.0.full.requestedSlots=0"),
        POST("port", "/api/v1/det/allocations/${share.allocation}/proxy",
             "{'port': 12345}", 200, NULL, TASK),
        GET("ready", "/api/v1/tasks/${id}", 200, "task.allocations.0.isReady=true"),
        GET("runs", "/api/v1/tensorboards/${id}", 200,
            "tensorboard.state=STATE_RUNNING"),
        GET("list", "/api/v1/tensorboards?users=determined", 200,
            "tensorboards#1; tensorboards.0.id=${id}; pagination.total=1"),
        GET("of others", "/api/v1/tensorboards?users=admin", 200, "tensorboards#0"),
        GET("jobs", "/api/v1/generic-tasks", 200,
            "tasks#1; tasks.0.taskType=TASK_TYPE_TENSORBOARD"),
        POST("kill", "/api/v1/tensorboards/${id}/kill", NULL, 200,
             "tensorboard.state=STATE_TERMINATING"),
        END_STEPS};
    static const struct step ended[] = {
        {"over", NET_GET, "/api/v1/tensorboards/${id}", NULL, 200,
         "tensorboard.state=STATE_TERMINATED", USER, true},
        GET("list", "/api/v1/tensorboards", 200, "tensorboards#0"),
        GET("all", "/api/v1/tensorboards?all=true", 200, "tensorboards#1"),
        POST("again", "/api/v1/tensorboards/${id}/kill", NULL, 200,
             "tensorboard.state=STATE_TERMINATED"),
        END_STEPS};
    BED(bed, NULL);
    struct stage stage = {.bed = bed};

    launch(&stage, "{'config': {}, 'experimentIds': [${e.experiment.id}], 'files': [], "
                   "'trialIds': null, 'workspaceId': null}");
    CHECK_STR(share_env(&stage.share, "DET_TASK_TYPE"), "TENSORBOARD");
    CHECK_HAS(share_env(&stage.share, "DET_TENSORBOARD"), "\"experimentIds\":[");
    bed_play(bed, starting);
    share_await_kill(&stage.share);
    share_exit(&stage.share, "KILLED", 137);
    bed_play(bed, ended);
}

TEST(a_tensorboard_starts_where_no_slot_is_free)
{
    BED(bed, NULL);
    struct stage stage = {.bed = bed};
    struct agent *agent = &stage.agent;
    struct share training;

    agent_join(agent, bed, "a1", 1);
    bed_play(bed, (const struct step[]){POST("e", "/api/v1/experiments",
                                             "{'config': $[single], 'activate': true}",
                                             200, NULL),
                                        END_STEPS});
    training = agent_run(agent);
    bed_play(bed, (const struct step[]){POST("board", "/api/v1/tensorboards",
                                             "{'experimentIds': [${e.experiment.id}]}",
                                             200, NULL),
                                        END_STEPS});
    stage.share = agent_run(agent);
    CHECK_STR(share_env(&stage.share, "DET_SLOT_IDS"), "[]");
    (void)training;
}

TEST(tensorboards_of_nothing_are_refused_in_a_sentence)
{
    static const struct step steps[] = {
        POST("nothing", "/api/v1/tensorboards", "{}", 400,
             "error.error~name at least one experiment or trial"),
        POST("unknown", "/api/v1/tensorboards", "{'experimentIds': [77]}", 404,
             "error.error~77"),
        POST("trial", "/api/v1/tensorboards", "{'trialIds': [88]}", 404,
             "error.error~88"),
        POST("e", "/api/v1/experiments", "{'config': $[single], 'activate': false}",
             200, NULL),
        POST("port", "/api/v1/tensorboards",
             "{'experimentIds': [${e.experiment.id}], 'config': {'tensorboard_args': "
             "['--host=0.0.0.0']}}",
             400, "error.error~--host is set by the platform"),
        POST("cut short", "/api/v1/tensorboards", /* as argparse takes it, too */
             "{'experimentIds': [${e.experiment.id}], 'config': {'tensorboard_args': "
             "['--hos=0.0.0.0']}}",
             400, "error.error~--host is set by the platform"),
        POST("key", "/api/v1/tensorboards",
             "{'experimentIds': [${e.experiment.id}], 'config': {'idle': 1}}", 400,
             "error.error~idle"),
        POST("list", "/api/v1/tensorboards",
             "{'experimentIds': [${e.experiment.id}], 'config': []}", 400,
             "error.error~expected an object"),
        POST("filters", "/api/v1/tensorboards", "{'filters': {'x': 1}}", 501, NULL),
        GET("one", "/api/v1/tensorboards/nobody", 404,
            "error.error~'nobody' not found"),
        POST("kill", "/api/v1/tensorboards/nobody/kill", NULL, 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);
}

TEST(nobody_looks_is_known_by_the_seconds)
{
    struct buf answer = BUF_INIT;
    struct step look = GET("idle", "/api/v1/det/allocations/${share.allocation}/proxy",
                           200, "idleSeconds?", TASK);
    BED(bed, NULL);
    struct stage stage;

    stage_open(&stage, bed);
    (void)bed_step(bed, &look);
    bed_pass(bed, 100);
    (void)bed_step(bed, &look);
    CHECK(bed_i64(bed, "idle.idleSeconds") >= 100);
    ask(&stage, "GET", "/echo", "", &answer);
    (void)bed_step(bed, &look);
    CHECK(bed_i64(bed, "idle.idleSeconds") < 100);
    buf_done(&answer);
    stage_close(&stage);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

/* ---- the way there --------------------------------------------------------------- */

TEST(a_program_is_reached_and_never_sees_who_asks)
{
    struct buf answer = BUF_INIT;
    BED(bed, NULL);
    struct stage stage;

    stage_open(&stage, bed);
    ask(&stage, "GET", "/echo?a=%2Fb&c",
        "Cookie: auth=secret; mine=1; auth=again; xauth=2\r\nX-Own: yes\r\n"
        "Grpc-Metadata-x-allocation-token: none\r\n",
        &answer);

    CHECK_HAS(answer.data, "HTTP/1.1 200");
    CHECK_HAS(answer.data, "/echo?a=%2Fb&c HTTP/1.1\r\n");
    CHECK_HAS(answer.data, "Cookie: mine=1; xauth=2\r\n");
    CHECK_HAS(answer.data, "X-Own: yes\r\n");
    CHECK_HAS(answer.data, "Host: localhost\r\n");
    CHECK_EQ(count_of(answer.data, "Via: 1.1 det\r\n"), 2); /* there and back */
    CHECK_NULL(strstr(answer.data, bed->user));
    CHECK_NULL(strstr(answer.data, "secret"));
    CHECK_NULL(strstr(answer.data, "again"));
    CHECK_NULL(strstr(answer.data, "allocation-token"));
    CHECK_NULL(strstr(answer.data, "Transfer-Encoding")); /* it has no body */
    CHECK_HAS(answer.data,
              arena_printf(&bed->mem, "Set-Cookie: a=b; Path=/proxy/%s/\r", stage.id));
    buf_done(&answer);
    stage_close(&stage);
}

/* Its owner controls what is on a program's pages, and they have the master's origin. */
TEST(pages_of_a_program_stay_below_its_path)
{
    static const char *const out_of_reach[] = {
        "/api/v1/me",          "//evil.example/", "https://evil.example/",
        "/proxy/other/x",      "../../api/v1/me", "/proxy/%s/../../api/v1/me",
        "/proxy/%s/%2E./x",    "javascript:x",    "\\\\evil.example",
        "/proxy/%s\\..\\..\\x"};
    struct buf answer = BUF_INIT;
    BED(bed, NULL);
    struct stage stage;

    stage_open(&stage, bed);
    ask(&stage, "GET", "/away", "X-Location: page?a=b:c\r\n", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 302");
    CHECK_HAS(answer.data, "Location: page?a=b:c\r\n");
    CHECK_HAS(answer.data,
              arena_printf(&bed->mem,
                           "Content-Security-Policy: default-src localhost/proxy/%s/ ",
                           stage.id));
    CHECK_NULL(strstr(answer.data, "Cross-Origin-Opener-Policy"));
    for (size_t i = 0; i < ARRAY_LEN(out_of_reach); i++) {
        const char *id = strstr(out_of_reach[i], "%s");
        const char *to =
            id ? arena_printf(&bed->mem, "%.*s%s%s", (int)(id - out_of_reach[i]),
                              out_of_reach[i], stage.id, id + 2)
               : out_of_reach[i];

        buf_clear(&answer);
        ask(&stage, "GET", "/away", arena_printf(&bed->mem, "X-Location: %s\r\n", to),
            &answer);
        CHECK_HAS(answer.data, "HTTP/1.1 302");
        CHECK_NULL(strstr(answer.data, "Location:"));
    }
    buf_clear(&answer);
    ask(&stage, "GET", "", "", &answer); /* an answer of the master itself */
    CHECK_HAS(answer.data, "Cross-Origin-Opener-Policy: same-origin");
    buf_done(&answer);
    stage_close(&stage);
}

/* Requests that the program could parse differently than the master. */
TEST(what_could_be_read_in_two_ways_does_not_reach_a_program)
{
    struct buf answer = BUF_INIT;
    BED(bed, NULL);
    struct stage stage;

    stage_open(&stage, bed);
    ask(&stage, "GET", "/echo",
        "Content-Length : 7\r\nX-Own: yes\r\nX(y): 1\r\nCookie: auth =old\r\n",
        &answer);
    CHECK_HAS(answer.data, "X-Own: yes\r\n");
    CHECK_NULL(strstr(answer.data, "Content-Length :"));
    CHECK_NULL(strstr(answer.data, "X(y)"));
    CHECK_NULL(strstr(answer.data, "old"));

    buf_clear(&answer);
    ask(&stage, "GET", "/echo HTTP/1.0 more", "", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 400");
    CHECK_NULL(strstr(answer.data, "X-Up"));
    buf_done(&answer);
    stage_close(&stage);
}

TEST(two_lengths_and_bare_returns_are_refused)
{
    static const char *const lines[] = {
        "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
        "Content-Length: 4\r\nContent-Length: 3\r\n\r\nabcd",
        "X-Own: yes\rX-Two: no\r\n",
        "X-Own: a\x01b\r\n",
    };
    BED(bed, NULL);
    struct stage stage;

    stage_open(&stage, bed);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct buf answer = BUF_INIT;

        ask(&stage, i < 2 ? "POST" : "GET", "/echo", lines[i], &answer);
        CHECK_HAS(answer.data, "HTTP/1.1 400");
        CHECK_NULL(strstr(answer.data, "X-Up"));
        buf_done(&answer);
    }
    stage_close(&stage);
}

TEST(bodies_and_replies_of_any_size_pass)
{
    struct buf answer = BUF_INIT;
    struct buf lines = BUF_INIT;
    BED(bed, NULL);
    struct stage stage;

    stage_open(&stage, bed);
    ask(&stage, "GET", "/large", "", &answer);
    CHECK_HAS(answer.data, "Content-Length: 25165824");
    CHECK_EQ(answer.len - (size_t)(strstr(answer.data, "\r\n\r\n") + 4 - answer.data),
             UPSTREAM_LARGE);

    buf_clear(&answer);
    ask(&stage, "GET", "/chunks", "", &answer);
    CHECK_HAS(answer.data, "999\n\r\n0\r\n\r\n");

    buf_clear(&answer);
    buf_puts(&lines, "Content-Length: 200000\r\n\r\n");
    for (int i = 0; i < 20000; i++)
        buf_puts(&lines, "0123456789");
    ask(&stage, "PUT", "/count", lines.data, &answer); /* \r\n behind is another's */
    CHECK_HAS(answer.data, "length 200000");

    buf_clear(&answer);
    ask(&stage, "OPTIONS", "/echo", "", &answer);
    CHECK_HAS(answer.data, "OPTIONS /proxy/");
    buf_done(&lines);
    buf_done(&answer);
    stage_close(&stage);
}

TEST(a_websocket_passes_and_counts_as_somebody_looking)
{
    struct step look = GET("idle", "/api/v1/det/allocations/${share.allocation}/proxy",
                           200, "idleSeconds=0", TASK);
    struct buf answer = BUF_INIT;
    BED(bed, NULL);
    struct stage stage;
    int fd;

    stage_open(&stage, bed);
    fd = raw_open(master_port(bed->master));
    raw_send(fd, arena_printf(&bed->mem,
                              "GET /proxy/%s/socket HTTP/1.1\r\nHost: localhost\r\n"
                              "Cookie: auth=%s\r\nOrigin: http://localhost\r\n"
                              "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
                              stage.id, bed->user));
    raw_read_until(fd, &answer, "hello");
    CHECK_HAS(answer.data, "HTTP/1.1 101");
    raw_send(fd, "ping");
    raw_read_until(fd, &answer, "ping");
    bed_pass(bed, 1000);
    (void)bed_step(bed, &look);
    close(fd);
    buf_done(&answer);
    stage_close(&stage);
}

/* Opens a WebSocket with this token and waits until it works. */
static int open_socket(struct stage *stage, const char *token)
{
    struct buf answer = BUF_INIT;
    int fd = raw_open(master_port(stage->bed->master));

    raw_send(fd, arena_printf(&stage->bed->mem,
                              "GET /proxy/%s/socket HTTP/1.1\r\nHost: localhost\r\n"
                              "Authorization: Bearer %s\r\n"
                              "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
                              stage->id, token));
    raw_read_until(fd, &answer, "hello");
    raw_send(fd, "ping");
    raw_read_until(fd, &answer, "ping");
    buf_done(&answer);
    return fd;
}

/* The socket ends though neither side closed it. */
static void check_ends(struct stage *stage, int fd)
{
    struct buf answer = BUF_INIT;

    bed_pass(stage->bed, 10);
    raw_read_all(fd, &answer);
    CHECK_EQ(answer.len, 0);
    buf_done(&answer);
    close(fd);
}

static void check_works(struct stage *stage, int fd)
{
    struct buf answer = BUF_INIT;

    bed_pass(stage->bed, 10);
    raw_send(fd, "pong");
    raw_read_until(fd, &answer, "pong");
    buf_done(&answer);
}

TEST(a_websocket_ends_when_its_session_is_closed)
{
    static const struct step bye =
        POST("bye", "/api/v1/auth/logout", NULL, 200, NULL, OTHER);
    BED(bed, NULL);
    struct stage stage;
    int fd, other;

    stage_open(&stage, bed);
    bed->other = bed_login(bed, "determined", "", 200);
    other = open_socket(&stage, bed->user);
    fd = open_socket(&stage, bed->other);
    check_works(&stage, fd);
    (void)bed_step(bed, &bye);
    check_ends(&stage, fd);
    check_works(&stage, other); /* of another session of the same user */
    close(other);
    stage_close(&stage);
}

TEST(a_websocket_ends_when_its_user_is_deactivated)
{
    static const struct step off =
        PATCH("off", "/api/v1/users/2", "{'active': false}", 200, NULL, ADMIN);
    BED(bed, NULL);
    struct stage stage;
    int fd;

    stage_open(&stage, bed);
    fd = open_socket(&stage, bed->user);
    (void)bed_step(bed, &off);
    check_ends(&stage, fd);
    stage_close(&stage);
}

TEST(a_websocket_ends_with_its_access_token)
{
    static const struct step make[] = {
        POST("revoked", "/api/v1/tokens", "{'userId': 2, 'lifespan': '24h'}", 200,
             "token?", ADMIN),
        POST("expired", "/api/v1/tokens", "{'userId': 2, 'lifespan': '1h'}", 200,
             "token?", ADMIN),
        END_STEPS};
    static const struct step revoke =
        PATCH("revoke", "/api/v1/tokens/${revoked.tokenId}", "{'setRevoked': true}",
              200, NULL, ADMIN);
    BED(bed, NULL);
    struct stage stage;
    int revoked, expired;

    stage_open(&stage, bed);
    bed_play(bed, make);
    revoked = open_socket(&stage, bed_get(bed, "revoked.token"));
    expired = open_socket(&stage, bed_get(bed, "expired.token"));
    (void)bed_step(bed, &revoke);
    check_ends(&stage, revoked);
    check_works(&stage, expired);
    bed_pass(bed, 3600);
    check_ends(&stage, expired);
    stage_close(&stage);
}

TEST(a_reply_in_pieces_ends_with_its_session)
{
    static const struct step bye =
        POST("bye", "/api/v1/auth/logout", NULL, 200, NULL, OTHER);
    struct buf answer = BUF_INIT;
    BED(bed, NULL);
    struct stage stage;
    int fd;

    stage_open(&stage, bed);
    bed->other = bed_login(bed, "determined", "", 200);
    fd = raw_open(master_port(bed->master));
    raw_send(fd, arena_printf(&bed->mem,
                              "GET /proxy/%s/events HTTP/1.1\r\nHost: localhost\r\n"
                              "Authorization: Bearer %s\r\n\r\n",
                              stage.id, bed->other));
    raw_read_until(fd, &answer, "data: one");
    (void)bed_step(bed, &bye);
    buf_clear(&answer);
    check_ends(&stage, fd);
    buf_done(&answer);
    stage_close(&stage);
}

TEST(who_has_not_signed_in_is_sent_to_do_so_and_programs_are_refused)
{
    struct buf answer = BUF_INIT;
    BED(bed, NULL);
    struct stage stage;

    stage_open(&stage, bed);
    stage.bed->user = "nobody's";
    ask(&stage, "GET", "/echo", "", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 401");

    buf_clear(&answer);
    ask(&stage, "GET", "/echo?x=1", "Accept: text/html,*/*\r\n", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 302");
    CHECK_HAS(answer.data, "Location: /det/login?next=%2Fproxy%2F");
    CHECK_HAS(answer.data, "%2Fecho%3Fx%3D1");

    buf_clear(&answer);
    ask(&stage, "GET", "/echo", "Origin: http://evil.example\r\n", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 403");
    buf_done(&answer);
    stage_close(&stage);
}

TEST(a_program_that_is_not_there_yet_or_any_more_is_told_of_in_a_sentence)
{
    struct buf answer = BUF_INIT;
    BED(bed, NULL);
    struct stage stage = {.bed = bed};

    launch(&stage, "{'experimentIds': [${e.experiment.id}]}");
    ask(&stage, "GET", "/", "Accept: text/html\r\n", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 503");
    CHECK_HAS(answer.data, "Refresh: 1");
    CHECK_HAS(answer.data, "is starting");

    buf_clear(&answer);
    ask(&stage, "GET", "/", "", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 503");
    CHECK_HAS(answer.data, "Unavailable");

    /* it says where it listens, and nobody does */
    bed_play(bed, (const struct step[]){
                      POST("port", "/api/v1/det/allocations/${share.allocation}/proxy",
                           "{'port': 1}", 200, NULL, TASK),
                      END_STEPS});
    buf_clear(&answer);
    ask(&stage, "GET", "/", "Accept: text/html\r\n", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 502");
    CHECK_HAS(answer.data, "cannot be reached: nobody listens there.</p>");

    share_exit(&stage.share, "CLEAN", 0);
    bed_play(bed, (const struct step[]){
                      {"over", NET_GET, "/api/v1/tensorboards/${id}", NULL, 200,
                       "tensorboard.state=STATE_TERMINATED", USER, true},
                      END_STEPS});
    buf_clear(&answer);
    ask(&stage, "GET", "/", "Accept: text/html\r\n", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 404");
    CHECK_HAS(answer.data, "has ended (COMPLETED)");

    stage.id = "<b>";
    buf_clear(&answer);
    ask(&stage, "GET", "/", "Accept: text/html\r\n", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 404");
    CHECK_NULL(strstr(answer.data, "<b>"));
    buf_done(&answer);
}

TEST(a_program_that_dies_in_the_middle_breaks_the_reply_off)
{
    struct buf answer = BUF_INIT;
    BED(bed, NULL);
    struct stage stage;

    stage_open(&stage, bed);
    ask(&stage, "GET", "/half", "", &answer);
    CHECK_HAS(answer.data, "Content-Length: 1000");
    CHECK(answer.len < 1000);

    buf_clear(&answer);
    ask(&stage, "GET", "/none", "", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 502");
    CHECK_HAS(answer.data, "closed the connection without an answer");
    buf_done(&answer);
    stage_close(&stage);
}

TEST(relative_links_need_the_slash)
{
    struct buf answer = BUF_INIT;
    BED(bed, NULL);
    struct stage stage;

    stage_open(&stage, bed);
    ask(&stage, "GET", "", "", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 302");
    CHECK_HAS(answer.data, arena_printf(&bed->mem, "Location: /proxy/%s/\r", stage.id));
    buf_done(&answer);
    stage_close(&stage);
}

TEST(the_address_of_a_program_outlives_the_master)
{
    struct buf answer = BUF_INIT;
    BED(bed, NULL);
    struct stage stage;

    stage_open(&stage, bed);
    bed_restart(bed);
    agent_hello(&stage.agent,
                arena_printf(&bed->mem, "[\"%s/0\"]", stage.share.allocation));
    ask(&stage, "GET", "/echo", "", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 200");
    buf_done(&answer);
    stage_close(&stage);
}

TEST(only_a_tensorboard_says_where_it_listens_and_only_of_itself)
{
    static const struct step jobs[] = {
        POST("job", "/api/v1/generic-tasks",
             "{'config': 'entrypoint: ./serve.sh\\nresources: {slots: 0}'}", 200, NULL),
        END_STEPS};
    static const struct step steps[] = {
        POST("other", "/api/v1/det/allocations/${share.allocation}/proxy",
             "{'port': 8000}", 400, "error.error~only a TensorBoard", TASK),
        POST("of another", "/api/v1/det/allocations/${board}/proxy", "{'port': 8000}",
             403, "error.error~only its own task", TASK),
        GET("page", "/proxy/${job.taskId}/", 404, "error.error~does not serve a page"),
        END_STEPS};
    static const struct step own[] = {
        POST("bad", "/api/v1/det/allocations/${share.allocation}/proxy",
             "{'port': 70000}", 400, "error.error~70000 is not a port", TASK),
        POST("none", "/api/v1/det/allocations/${share.allocation}/proxy", "{}", 400,
             "error.error~port", TASK),
        END_STEPS};
    BED(bed, NULL);
    struct stage stage = {.bed = bed};
    struct share job;

    launch(&stage, "{'experimentIds': [${e.experiment.id}]}");
    bed_play(bed, own);
    bed_let(bed, "board", stage.share.allocation);
    bed_play(bed, jobs);
    job = agent_run(&stage.agent);
    share_speak(&job);
    bed_play(bed, steps);
}

TEST(a_master_that_stops_lets_nobody_wait)
{
    struct buf answer = BUF_INIT;
    BED(bed, NULL);
    struct stage stage;
    int fd;

    stage_open(&stage, bed);
    fd = raw_open(master_port(bed->master));
    raw_send(fd, arena_printf(&bed->mem,
                              "GET /proxy/%s/events HTTP/1.1\r\nHost: localhost\r\n"
                              "Authorization: Bearer %s\r\n\r\n",
                              stage.id, bed->user));
    raw_read_until(fd, &answer, "data: one");
    bed_stop_master(bed);
    raw_read_all(fd, &answer);
    close(fd);
    buf_done(&answer);
    stage_close(&stage);
}
