/* SPDX-License-Identifier: Apache-2.0 */
/* Information about the master, and rules for every call: bodies, paths, limits. */
#include <sys/mman.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "tests/api/harness.h"

TEST(the_open_calls_need_no_token)
{
    static const struct step steps[] = {
        GET("info", "/info", 200, "version=0.38.1; master_id?; cluster_id?", NOBODY),
        GET("health", "/health", 200, "status=up; database=up", NOBODY),
        GET("master", "/api/v1/master", 200,
            "clusterId=${info.cluster_id}; masterId=${info.master_id}; "
            "strictJobQueueControl=false; changesAt~${info.master_id}:; user!",
            NOBODY),
        GET("known", "/api/v1/master", 200, "user.username=admin; mayAdminister=true",
            ADMIN),
        GET("telemetry", "/api/v1/master/telemetry", 200, "enabled=false", NOBODY),
        GET("openapi", "/docs/openapi.json", 200, "openapi~3.", NOBODY),
        GET("calls", "/docs/calls", 200, NULL, NOBODY),
        GET("docs", "/docs", 302, NULL, NOBODY),
        GET("docs/", "/docs/", 302, NULL, NOBODY),
        GET("page", "/docs/concepts.html", 200, NULL, NOBODY),
        GET("its name", "/docs/concepts", 302, NULL, NOBODY),
        GET("script", "/docs/search.js", 200, NULL, NOBODY),
        GET("no page", "/docs/nothing.html", 404, NULL, NOBODY),
        GET("root", "/", 302, NULL, NOBODY),
        GET("elsewhere", "/api/v1/nothing", 404, "error.code=5", NOBODY),
        POST("wrong method", "/info", NULL, 501, "error.code=12", NOBODY),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(the_configuration_is_shown_to_administrators_with_its_secrets_masked)
{
    static const char yaml[] = "cluster_name: here\n"
                               "security: {initial_user_password: Sesame-Open-1}\n";
    static const struct step steps[] = {
        GET("config", "/api/v1/master/config", 200, "config.cluster_name=here", ADMIN),
        GET("name", "/api/v1/master", 200, "clusterName=here", NOBODY),
        GET("nobody", "/api/v1/master/config", 401, "error.code=16", NOBODY),
        END_STEPS};
    BED(bed, yaml);
    struct reply reply;

    bed->admin = bed_login(bed, "admin", "Sesame-Open-1", 200);
    bed_play(bed, steps);
    reply = bed_call(bed, ADMIN, NET_GET, "/api/v1/master/config", NULL);
    CHECK_NULL(strstr(reply.text, "Sesame"));
    /* and nobody gets in with a blank one */
    (void)bed_login(bed, "admin", "", 401);
    (void)bed_login(bed, "determined", "", 401);
}

TEST(a_body_that_is_not_what_it_should_be_is_refused_in_a_sentence)
{
    static const struct step steps[] = {
        POST("cut off", "/api/v1/experiments", "{'config': 'na", 400,
             "error.code=3; error.reason=InvalidArgument; error.error~not JSON"),
        POST("not JSON", "/api/v1/experiments", "name: x", 400, "error.error~not JSON"),
        POST("a list", "/api/v1/experiments", "[1, 2]", 400, "error.error~a list"),
        POST("nothing", "/api/v1/experiments", NULL, 400, "error.error~config"),
        POST("wrong type", "/api/v1/experiments", "{'config': 7}", 400,
             "error.error~config"),
        POST("wrong flag", "/api/v1/experiments",
             "{'config': $[single], 'activate': 'x'}", 400, "error.error~activate"),
        POST("unknown names are let through", "/api/v1/experiments",
             "{'config': $[single], 'validateOnly': true, 'somethingNew': 1}", 200,
             "experiment.id=0"),
        POST("snake case", "/api/v1/experiments",
             "{'config': $[single], 'validate_only': true}", 200, "experiment.id=0"),
        GET("no number", "/api/v1/experiments/seven", 400, "error.error~'seven'"),
        GET("negative", "/api/v1/experiments/-1", 400, NULL),
        GET("too large", "/api/v1/experiments/99999999999999999999", 400, NULL),
        GET("odd query", "/api/v1/experiments?limit=x", 400, "error.error~limit"),
        GET("escaped", "/api/v1/users/det%65rmined/by-username", 200, "user.id=2"),
        GET("badly escaped", "/api/v1/users/%zz/by-username", 404, NULL),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(a_text_of_brackets_is_refused_not_recursed_into)
{
    enum { DEEP = 100000 };
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    BED(bed, NULL);
    struct reply reply;

    for (int i = 0; i < DEEP; i++)
        buf_putc(&body, '[');
    reply = bed_call(bed, USER, NET_POST, "/api/v1/job-queues", body.data);
    CHECK_EQ(reply.status, 400);
}

TEST(a_large_body_of_nobody_is_refused_unread)
{
    size_t len = (size_t)1 << 20;
    void *nothing = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    BED(bed, NULL);
    struct net_call call = {.method = NET_POST,
                            .path = "/api/v1/experiments",
                            .body = nothing,
                            .body_len = len,
                            .timeout_ms = 120000};
    struct net_reply reply = {.body = &out};

    CHECK(nothing != MAP_FAILED);
    CHECK_OK(net_call(bed->client, &call, &reply, &test_err));
    CHECK_EQ(reply.status, 401);
    call.path = "/api/v1/auth/login";
    CHECK_OK(net_call(bed->client, &call, &reply, &test_err));
    CHECK_EQ(reply.status, 413);
    call.path = "/api/v1/nowhere";
    CHECK_OK(net_call(bed->client, &call, &reply, &test_err));
    CHECK_EQ(reply.status, 404);
    munmap(nothing, len);
}

TEST(a_body_over_the_limit_is_answered_with_413)
{
    size_t len = ((size_t)192 << 20) + 1;
    void *nothing = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    BED(bed, NULL);
    const char *headers[] = {
        arena_printf(&bed->mem, "Authorization: Bearer %s", bed->user), NULL};
    struct net_call call = {.method = NET_POST,
                            .path = "/api/v1/experiments",
                            .headers = headers,
                            .body = nothing,
                            .body_len = len,
                            .timeout_ms = 120000};
    struct net_reply reply = {.body = &out};

    CHECK(nothing != MAP_FAILED);
    CHECK_OK(net_call(bed->client, &call, &reply, &test_err));
    CHECK_EQ(reply.status, 413);
    CHECK_HAS(out.data, "larger than this master accepts");
    munmap(nothing, len);

    /* and the master is as well as before */
    CHECK_EQ(bed_call(bed, USER, NET_GET, "/api/v1/me", NULL).status, 200);
}
