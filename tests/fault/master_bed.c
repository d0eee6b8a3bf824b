/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/master_bed.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/buf.h"
#include "base/thread/executor.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/keys/key_tables.h"
#include "master/master.h"
#include "master/master_impl.h"
#include "net/memory/net_memory.h"

enum { PORT = 8080, SECOND = 1000000, TRIES = 30, CALL_MS = 20000 };

static void on_fatal(void *arg, const char *sentence)
{
    struct bed *bed = arg;

    bed->is_dead = true;
    sweep_check_sentence(sentence);
}

void bed_open(struct bed *bed, struct sweep *sweep)
{
    static const char yaml[] = "launch_error: false\n";
    struct config_report report;

    *bed = (struct bed){
        .sweep = sweep, .mem = ARENA_INIT((size_t)256 << 20), .running = "[]"};
    log_setup(LOG_ERROR, getenv("SWEEP_ONLY") ? 2 : -1);
    report = (struct config_report)CONFIG_REPORT(&bed->mem, NULL);
    clock_manual_init(&bed->clock, 1700000000LL * SECOND);
    CHECK_OK(io_memory_new(&bed->io, &test_err));
    CHECK_OK(io_mkdir(bed->io, "/data", true, &test_err));
    CHECK_OK(io_sync_dir(bed->io, "/", &test_err));
    CHECK_OK(config_load(CONFIG_MASTER, yaml, sizeof(yaml) - 1, NULL, &report,
                         &bed->config, &test_err));
}

/* ---- lives -------------------------------------------------------------------------
 */

static bool is_over(const struct bed *bed)
{
    return bed->is_dead || fault_is_dark();
}

/* The end of the process: proper, or whatever is left is thrown away. */
static void end(struct bed *bed)
{
    if (!bed->master)
        return;
    if (!is_over(bed)) {
        master_stop(bed->master);
    } else if (bed->master->server) {
        net_memory_crash(bed->master->server);
        bed->master->server = NULL;
    }
    net_client_free(bed->client);
    net_free(bed->net);
    executor_free(bed->exec);
    master_free(bed->master);
    bed->master = NULL;
    bed->client = NULL;
    bed->net = NULL;
    bed->exec = NULL;
    bed->epoch = NULL;
}

det_status bed_begin(struct bed *bed, struct err *err)
{
    struct master_config config = {.checks_invariants = true,
                                   .io = bed->io,
                                   .data_dir = "/data",
                                   .host = "127.0.0.1",
                                   .port = PORT,
                                   .tree = bed->config,
                                   .on_fatal = on_fatal,
                                   .arg = bed};
    det_status st = executor_single_new(&bed->clock, ++bed->lives, &bed->exec, err);

    if (!st)
        st = net_memory_new(bed->exec, bed->lives, &bed->net, err);
    if (!st)
        st = net_client_new(bed->net, "127.0.0.1", PORT, &bed->client, err);
    config.exec = bed->exec;
    config.net = bed->net;
    if (!st)
        st = master_new(&config, &bed->master, err);
    return st ? st : master_start(bed->master, err);
}

void bed_end(struct bed *bed)
{
    end(bed);
    net_client_free(bed->client);
    net_free(bed->net);
    if (bed->exec)
        executor_free(bed->exec);
    bed->client = NULL;
    bed->net = NULL;
    bed->exec = NULL;
}

bool bed_revive(struct bed *bed)
{
    struct err err = {0};
    det_status st;

    if (bed->master && !is_over(bed))
        return true;
    bed_end(bed);
    if (fault_is_dark()) {
        sweep_end(bed->sweep);
        io_abandon(bed->io);
    }
    bed->is_dead = false;
    st = bed_begin(bed, &err);
    if (!st)
        return true;
    if (!sweep_has_struck(bed->sweep))
        fail_msg("the master does not start: %s", err.text);
    if (!fault_is_dark())
        sweep_check_sentence(err.text);
    bed_end(bed);
    return false;
}

void bed_restart(struct bed *bed)
{
    bed_end(bed);
    for (int i = 0; !bed_revive(bed); i++)
        if (i == 3)
            fail_msg("the master does not start again");
}

void bed_close(struct bed *bed)
{
    bed_end(bed);
    io_free(bed->io);
    arena_done(&bed->mem);
}

/* The faults are for the master's memory, not for that of the test. */
static int64_t spare(void)
{
    int64_t left = fault_state.left[FAULT_MEMORY];

    fault_state.left[FAULT_MEMORY] = 0;
    return left;
}

const char *bed_printf(struct bed *bed, const char *fmt, ...)
{
    int64_t left = spare();
    const char *text;
    va_list args;

    va_start(args, fmt);
    text = arena_vprintf(&bed->mem, fmt, args);
    va_end(args);
    fault_state.left[FAULT_MEMORY] = left;
    return text;
}

/* ---- calls -------------------------------------------------------------------------
 */

static const char *const headers_of[] = {
    [AS_NOBODY] = "X-Nobody: ",
    [AS_USER] = "Authorization: Bearer ",
    [AS_AGENT] = "Authorization: Bearer ",
    [AS_TASK] = "Grpc-Metadata-x-allocation-token: Bearer ",
};

/* Checks the error that a fault may cause: out of memory and a full disk are temporary,
 * a failing disk is named. */
static void check_error(struct bed *bed, const char *path)
{
    const char *sentence = json_str(json_path(bed->reply, "error.error"), "");
    bool may_fail = bed->sweep->kind == FAULT_WRITE || bed->sweep->kind == FAULT_SYNC;

    if (bed->status < 400)
        return;
    if (bed->is_lenient) {
        sweep_check_sentence(sentence);
        return;
    }
    if (!sweep_has_struck(bed->sweep))
        fail_msg("%s: %d %s", path, bed->status, bed->text);
    if (!*sentence)
        fail_msg("%s: %d without a sentence: '%s'", path, bed->status, bed->text);
    sweep_check_sentence(sentence);
    if (bed->status != 503 && !(bed->status == 500 && may_fail))
        fail_msg("%s: %d %s", path, bed->status, bed->text);
    if (bed->sweep->kind == FAULT_WRITE && bed->sweep->how == FAULT_FULL &&
        !strstr(sentence, "no space left"))
        fail_msg("%s: a full disk is not said: %s", path, sentence);
    if (bed->sweep->kind == FAULT_WRITE && bed->sweep->how == FAULT_FULL &&
        bed->status != 503)
        fail_msg("%s: a full disk is %d", path, bed->status);
}

/* A stream of records becomes {"lines": [...]}. */
static struct json *parse(struct arena *mem, const char *text)
{
    struct json *json;
    struct json *lines = json_new(mem, JSON_ARRAY);
    struct json *all = json_new(mem, JSON_OBJECT);

    if (!json_parse(text, strlen(text), mem, &json, NULL))
        return json;
    while (*text) {
        size_t len = strcspn(text, "\n");

        if (json_parse(text, len, mem, &json, NULL))
            return NULL;
        json_push(lines, json);
        text += len + (text[len] == '\n');
    }
    json_set(mem, all, "lines", lines);
    return all;
}

void bed_call(struct bed *bed, enum as as, const char *token, enum net_method method,
              const char *path, const char *body)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    char header[300];
    const char *headers[] = {header, NULL};
    struct net_call what = {.method = method,
                            .path = path,
                            .headers = headers,
                            .body = body,
                            .body_len = body ? strlen(body) : 0,
                            .timeout_ms = CALL_MS};
    struct net_reply reply = {.body = &out};
    int64_t left;

    bed->status = 0;
    bed->reply = NULL;
    if (!bed_revive(bed))
        return;
    snprintf(header, sizeof(header), "%s%s", headers_of[as], token ? token : "");
    if (net_call(bed->client, &what, &reply, NULL) || is_over(bed))
        return;
    left = spare();
    bed->status = reply.status;
    bed->text = arena_strndup(&bed->mem, out.data, out.len);
    bed->reply = parse(&bed->mem, bed->text);
    fault_state.left[FAULT_MEMORY] = left;
    check_error(bed, path);
}

void bed_tell(struct bed *bed, enum as as, const char *token, const char *path,
              const char *body)
{
    bed->unheard = 0;
    for (int i = 0; i < TRIES; i++) {
        if (as == AS_TASK && i)
            bed_hello(bed); /* the agent goes on, too */
        bed_call(bed, as, token, body ? NET_POST : NET_GET, path, body);
        if (bed->status == 200)
            return;
        bed->unheard += !bed->status || bed->is_dead;
        clock_manual_advance(&bed->clock, SECOND / 5);
    }
    fail_msg("%s is never heard: %d %s", path, bed->status,
             bed->status ? bed->text : "");
}

struct json *bed_look(struct bed *bed, const char *path)
{
    bed_tell(bed, AS_USER, bed->user, path, NULL);
    return bed->reply;
}

void bed_log_in(struct bed *bed)
{
    CLEANUP(buf_done) struct buf token = BUF_INIT;
    int64_t left;

    bed_tell(bed, AS_NOBODY, NULL, "/api/v1/auth/login",
             "{\"username\":\"admin\",\"password\":\"\"}");
    bed->user = json_str(json_get(bed->reply, "token"), NULL);
    left = spare();
    CHECK_OK(io_read_file(bed->io, "/data/agent.token", &token, &test_err));
    bed->agent = arena_strndup(&bed->mem, token.data, strcspn(token.data, "\n"));
    fault_state.left[FAULT_MEMORY] = left;
}

void bed_hello(struct bed *bed)
{
    const char *body;

    if (bed->epoch && bed->master && !is_over(bed))
        return;
    body = bed_printf(bed,
                      "{\"devices\":[{\"id\":0,\"type\":\"cpu\"}],\"bootId\":\"1\","
                      "\"addresses\":[\"10.0.0.1\"],\"tasks\":%s}",
                      bed->running);
    bed_tell(bed, AS_AGENT, bed->agent, "/api/v1/det/agents/a1/hello", body);
    bed->epoch = json_str(json_get(bed->reply, "epoch"), "");
}

void bed_pass(struct bed *bed, int64_t us)
{
    struct gate *never;

    if (!bed_revive(bed) || gate_new(bed->exec, &never, NULL))
        return;
    (void)gate_wait(never, bed->clock.mono_us + us);
    gate_free(never);
}
