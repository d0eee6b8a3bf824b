/* SPDX-License-Identifier: Apache-2.0 */
/* A read-only master: who may read without a session, and that nothing changes. */
#include "base/compiler.h"
#include "base/io/io.h"
#include "master/master.h"
#include "store/engine/db.h"
#include "tests/api/script.h"

TEST(whoever_runs_it_looks_without_a_session_and_changes_nothing)
{
    static const struct step steps[] = {
        GET("me", "/api/v1/me", 200, "user.username=determined; user.admin=false",
            NOBODY),
        GET("master", "/api/v1/master", 200,
            "isReadOnly=true; user.username=determined; mayAdminister=false", NOBODY),
        GET("list", "/api/v1/experiments", 200, "experiments#1", NOBODY),
        GET("one", "/api/v1/experiments/1", 200, "experiment.id=1", NOBODY),
        GET("config", "/api/v1/master/config", 200, NULL, NOBODY),
        GET("none", "/api/v1/experiments/9", 404, NULL, NOBODY),
        POST("kill", "/api/v1/experiments/1/kill", NULL, 403, "error.error~read-only",
             NOBODY),
        PATCH("patch", "/api/v1/experiments/1", "{'name': 'x'}", 403, NULL, NOBODY),
        PUT("label", "/api/v1/experiments/1/labels/x", NULL, 403, NULL, NOBODY),
        DELETE("delete", "/api/v1/experiments/1", 403, NULL, NOBODY),
        POST("create", "/api/v1/experiments", "{'config': $[single]}", 403, NULL,
             NOBODY),
        POST("log in", "/api/v1/auth/login", "{'username': 'admin', 'password': ''}",
             403, "error.error~read-only", NOBODY),
        POST("no route", "/api/v1/nothing", NULL, 404, NULL, NOBODY),
        /* a token of somebody else's master: its cookies come here, too */
        GET("foreign", "/api/v1/me", 200, "user.username=determined", OTHER),
        POST("foreign kill", "/api/v1/experiments/1/kill", NULL, 403, NULL, OTHER),
        /* who was there before may do everything */
        PATCH("own", "/api/v1/experiments/1", "{'name': 'another'}", 200,
              "experiment.name=another"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    bed->other = "s1.0123456789";
    master_set_read_only(bed->master);
    bed_play(bed, steps);
}

TEST(nobody_else_on_the_machine_looks)
{
    BED(bed, NULL);
    struct reply reply;

    master_set_read_only(bed->master);
    reply = bed_raw(bed,
                    "GET /api/v1/experiments HTTP/1.1\r\nHost: localhost\r\n"
                    "X-Forwarded-For: 10.0.0.1\r\nConnection: close\r\n\r\n",
                    0);
    CHECK_EQ(reply.status, 401);
    reply = bed_raw(bed,
                    "GET /api/v1/det/changes HTTP/1.1\r\nHost: localhost\r\n"
                    "Via: a proxy\r\nConnection: close\r\n\r\n",
                    0);
    CHECK_EQ(reply.status, 401);
}

TEST(a_stream_of_changes_needs_no_session_there)
{
    BED(bed, NULL);
    struct pending *stream;

    master_set_read_only(bed->master);
    stream = bed_begin(bed, NOBODY, NET_GET, "/api/v1/det/changes", NULL);
    bed_await_bytes(stream);
    bed_stop_master(bed);
    (void)bed_end(bed, stream); /* there were bytes: it was a stream */
}

TEST(the_page_is_shown_there_though_nobody_can_be_looked_up)
{
    static const struct step steps[] = {
        GET("health", "/health", 200, "status=up", OTHER),
        GET("info", "/info", 200, NULL, OTHER),
        GET("calls", "/docs/openapi.json", 200, NULL, OTHER),
        GET("list", "/api/v1/experiments", 500, NULL, OTHER),
        POST("log in", "/api/v1/auth/login", "{'username': 'admin', 'password': ''}",
             500, NULL, OTHER),
        END_STEPS};
    BED(bed, NULL);
    struct db *db;

    bed->other = bed_login(bed, "admin", "", 200);
    master_set_read_only(bed->master);
    CHECK_OK(db_open(io_system(), arena_printf(&bed->mem, "%s/det.db", bed->data_dir),
                     false, &db, &test_err));
    CHECK_OK(db_exec(db, "ALTER TABLE sessions RENAME TO gone", &test_err));
    bed_play(bed, steps);
    CHECK_OK(db_exec(db, "ALTER TABLE gone RENAME TO sessions", &test_err));
    db_close(db);
}
