/* SPDX-License-Identifier: Apache-2.0 */
/* fake_master.h - a master that only listens: it answers what supervisors and agents
 * ask, remembers every call, and puts the output it is sent together again, once, by
 * offsets.
 *
 * It can be away (its port closed), hold its answers to logs back, and refuse states.
 * The test executable is also the program that is run: with the arguments `task run
 * DIR` it is a supervisor. */
#ifndef TESTS_UNIT_AGENT_FAKE_MASTER_H
#define TESTS_UNIT_AGENT_FAKE_MASTER_H

#include <string.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "base/thread/executor.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "net/net.h"
#include "net/net_system.h"
#include "tests/support/test.h"
#include "tests/unit/agent/fake_state.h"
#include "wire/batch.h"

/* ---- taking what comes ------------------------------------------------------------
 */

static inline void fake_take_lines(struct fake_master *m, int stream, const char *body)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct json *tree;

    if (json_parse(body, strlen(body), &mem, &tree, NULL)) {
        m->problem = "a batch is not JSON";
        return;
    }
    json_each(line, json_get(tree, "lines")) {
        int64_t time_us = json_i64(json_first(line), -1);

        if (time_us < m->last_time[stream])
            m->problem = "lines are out of order";
        m->last_time[stream] = time_us;
        buf_puts(&m->output[stream], json_str(json_first(line)->next, "?"));
        buf_putc(&m->output[stream], '\n');
    }
}

static inline void fake_logs(struct fake_master *m, struct net_exchange *x,
                             const char *body)
{
    int stream = strstr(body, "\"stream\":\"stderr\"") != NULL;
    uint64_t begin = (uint64_t)fake_number(body, "\"offset\":");
    size_t len = strlen(body);
    /* The last key: not to be looked for in what a task printed. */
    const char *tail = len > 64 ? body + len - 64 : body;
    uint64_t end = (uint64_t)fake_number(tail, "\"endOffset\":");
    char reply[64];

    if (begin > m->offset[stream])
        m->problem = "there is a gap between two batches";
    if (begin < m->offset[stream] && end > m->offset[stream])
        m->problem = "two batches overlap";
    if (begin == m->offset[stream] && !m->is_bulk)
        fake_take_lines(m, stream, body);
    m->offset[stream] = MAX(m->offset[stream], end);
    snprintf(reply, sizeof(reply), "{\"offset\":%llu}",
             (unsigned long long)m->offset[stream]);
    fake_answer(x, 200, reply);
}

static inline bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);

    return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

static inline void fake_commands(struct fake_master *m, struct net_exchange *x)
{
    struct buf body = BUF_INIT;

    if (!m->commands) {
        m->poll = x;
        return;
    }
    buf_printf(&body, "{\"epoch\":\"%s\",\"commands\":%s}", m->epoch, m->commands);
    m->commands = NULL;
    net_answer(x, 200, "application/json", NULL, &body);
}

static inline void fake_reports(struct fake_master *m, struct net_exchange *x)
{
    struct batch_head head = {0};
    size_t len;
    const char *bytes = net_request_body(x, &len);
    char reply[256];

    if (m->is_busy || m->reports_refusal) {
        fake_answer(x, m->is_busy ? 503 : 400, m->is_busy ? "{}" : m->reports_refusal);
        return;
    }
    if (batch_head_decode(bytes, len, &head, NULL) || head.source)
        m->problem = "a batch of reports is none";
    else if (head.first > m->reports + 1)
        m->problem = "there is a gap between two batches of reports";
    m->records += head.count;
    m->reports = MAX(m->reports, head.last);
    snprintf(reply, sizeof(reply), "{\"stored\":%llu%s,\"refused\":[%s%s%s]}",
             (unsigned long long)m->reports, m->has_given_up ? ",\"mustEnd\":true" : "",
             m->report_error ? "{\"error\":\"" : "",
             m->report_error ? m->report_error : "", m->report_error ? "\"}" : "");
    fake_answer(x, 200, reply);
}

static inline void fake_reply(struct fake_master *m, struct net_exchange *x,
                              const char *body)
{
    const char *path = net_request_path(x);
    char reply[128];

    if (ends_with(path, "/logs") && m->holds_logs && m->held_count < HELD_MOST) {
        m->held[m->held_count++] = x;
    } else if (ends_with(path, "/logs") && m->logs_refusal) {
        fake_answer(x, 400, m->logs_refusal);
    } else if (ends_with(path, "/logs")) {
        fake_logs(m, x, body);
    } else if (ends_with(path, "/load") && m->holds_loads &&
               m->held_count < HELD_MOST) {
        m->held[m->held_count++] = x;
    } else if (ends_with(path, "/load") && m->load_refusal) {
        fake_answer(x, 400, m->load_refusal);
    } else if (ends_with(path, "/state") && m->refusal) {
        fake_answer(x, 400, m->refusal);
    } else if (ends_with(path, "/reports")) {
        fake_reports(m, x);
    } else if (ends_with(path, "/alive") && m->alive) {
        fake_answer(x, m->alive_status ? m->alive_status : 200, m->alive);
    } else if (ends_with(path, "/context_directory")) {
        fake_answer(x, 200, m->context ? m->context : "{\"b64Tgz\":\"\"}");
    } else if (ends_with(path, "/rendezvous")) {
        fake_answer(x, 200,
                    "{\"rendezvousInfo\":{\"addresses\":[\"h0\",\"h1\"],"
                    "\"rank\":1,\"slots\":[1,1]}}");
    } else if (ends_with(path, "/hello")) {
        snprintf(reply, sizeof(reply), "{\"epoch\":\"%s\",\"clusterId\":\"cl\"}",
                 m->epoch);
        if (m->hello_status)
            fake_answer(x, m->hello_status,
                        "{\"error\":{\"code\":16,\"error\":\"wrong token\"}}");
        else
            fake_answer(x, 200, reply);
    } else if (ends_with(path, "/commands")) {
        fake_commands(m, x);
    } else {
        fake_answer(x, 200, "{}");
    }
}

static inline void fake_handle(void *arg, struct net_exchange *x)
{
    struct fake_master *m = arg;
    size_t len;
    const char *bytes = net_request_body(x, &len);
    bool is_logs = ends_with(net_request_path(x), "/logs");
    char *body;

    lock_take(&m->lock);
    body = mem_strndup(bytes ? bytes : "", len);
    if (!is_logs)
        (void)vec_push(
            &m->calls,
            ((struct fake_call){net_request_method(x), mem_strdup(net_request_path(x)),
                                mem_strdup(net_request_query(x)), mem_strdup(body)}));
    fake_reply(m, x, body);
    mem_free(body);
    lock_give(&m->lock);
}

/* ---- life ------------------------------------------------------------------------ */

static inline void fake_serve(struct fake_master *m)
{
    const struct net_server_config config = {
        .host = "127.0.0.1",
        .port = m->port,
        .max_body_bytes = 16 << 20,
        .threads = 1,
        .max_connections = 64,
        .mark = "cl",
        .handler = fake_handle,
        .arg = m,
    };

    CHECK_OK(net_serve(m->net, &config, &m->server, &test_err));
    m->port = net_server_port(m->server);
}

static inline struct fake_master *fake_new(void)
{
    struct fake_master *m = mem_new(struct fake_master);

    CHECK(m != NULL);
    log_setup(LOG_ERROR, -1);
    m->output[0] = (struct buf)BUF_INIT;
    m->output[1] = (struct buf)BUF_INIT;
    m->epoch = "e1";
    snprintf(m->dir, sizeof(m->dir), "/tmp/det-agent-XXXXXX");
    CHECK(mkdtemp(m->dir) != NULL);
    CHECK_OK(lock_init(&m->lock, &test_err));
    CHECK_OK(executor_threads_new(&clock_system, &m->exec, &test_err));
    CHECK_OK(net_system_new(m->exec, &m->net, &test_err));
    fake_serve(m);
    return m;
}

static inline void fake_release_poll(struct fake_master *m)
{
    struct net_exchange *x;

    lock_take(&m->lock);
    x = m->poll;
    m->poll = NULL;
    lock_give(&m->lock);
    if (x) {
        lock_take(&m->lock);
        m->commands = m->commands ? m->commands : "[]";
        fake_commands(m, x);
        lock_give(&m->lock);
    }
}

static inline void fake_release_logs(struct fake_master *m)
{
    lock_take(&m->lock);
    m->holds_logs = false;
    for (size_t i = 0; i < m->held_count; i++) {
        size_t len;
        const char *bytes = net_request_body(m->held[i], &len);
        char *body = mem_strndup(bytes, len);

        fake_logs(m, m->held[i], body);
        mem_free(body);
    }
    m->held_count = 0;
    lock_give(&m->lock);
}

static inline void fake_leave(struct fake_master *m)
{
    fake_release_poll(m);
    net_server_free(m->server);
    m->server = NULL;
    fake_release_poll(m); /* one that came in between */
}

static inline void fake_free(struct fake_master *m)
{
    for (size_t i = 0; i < m->held_count; i++)
        fake_answer(m->held[i], 200, "{}"); /* every exchange needs an answer */
    if (m->server)
        fake_leave(m);
    net_free(m->net);
    executor_free(m->exec);
    for (size_t i = 0; i < m->calls.count; i++) {
        mem_free(m->calls.at[i].path);
        mem_free(m->calls.at[i].query);
        mem_free(m->calls.at[i].body);
    }
    vec_done(&m->calls);
    buf_done(&m->output[0]);
    buf_done(&m->output[1]);
    lock_done(&m->lock);
    CHECK_OK(io_remove_tree(io_system(), m->dir, &test_err));
    mem_free(m);
}

#endif
