/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/api/harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/keys/key_tables.h"
#include "master/master.h"
#include "master/watch/log_tail.h"
#include "net/net_system.h"
#include "tests/api/coverage.h"
#include "wire/rights.h"

enum {
    BED_MEMORY = 512 << 20,
    UNTIL_MS = 60000, /* a sanitizer on a busy machine is slow */
    CALL_MS = 120000,
};

const char config_single[] = "name: one\n"
                             "entrypoint: python3 train.py\n"
                             "searcher: {name: single, metric: loss}\n"
                             "hyperparameters: {lr: 0.1}\n"
                             "max_restarts: 2\n";
const char config_grid[] = "name: grid\n"
                           "entrypoint: python3 train.py\n"
                           "searcher: {name: grid, metric: loss}\n"
                           "hyperparameters:\n"
                           "  layers: {type: categorical, vals: [1, 2, 3]}\n"
                           "max_restarts: 0\n";
const char config_random[] = "name: random\n"
                             "entrypoint: python3 train.py\n"
                             "searcher: {name: random, metric: loss, max_trials: 2,\n"
                             "           max_concurrent_trials: 1}\n"
                             "hyperparameters:\n"
                             "  lr: {type: double, minval: 0.1, maxval: 0.9}\n"
                             "max_restarts: 0\n";

/* ---- life ----------------------------------------------------------------------- */

static int64_t moved_wall_us(const struct clock *clock)
{
    struct bed *bed = CONTAINER_OF(clock, struct bed, clock);

    return clock_wall_us(&clock_system) + bed->wall_offset_us;
}

static int64_t moved_mono_us(const struct clock *clock)
{
    struct bed *bed = CONTAINER_OF(clock, struct bed, clock);

    return clock_mono_us(&clock_system) + bed->mono_offset_us;
}

static void tick(struct work *work UNUSED)
{
}

/* A due time in the past wakes the executor's timer, which then looks at the clock. */
void bed_pass(struct bed *bed, int64_t seconds)
{
    bed->mono_offset_us += seconds * 1000000;
    bed->wall_offset_us += seconds * 1000000;
    if (bed->exec)
        lane_post_at(bed->lane, &bed->tick, 0);
}

static void fatal(void *arg UNUSED, const char *sentence)
{
    print_error("the master wants to end: %s\n", sentence);
    abort();
}

det_status bed_start(struct bed *bed, struct err *err)
{
    struct master_config config = {
        .checks_invariants = true,
        .io = io_system(),
        .data_dir = bed->data_dir,
        .host = bed->host,
        .tree = bed->config,
        .log = bed->log,
        .on_fatal = fatal,
    };
    det_status st;

    CHECK_OK(executor_threads_new(&bed->clock, &bed->exec, &test_err));
    CHECK_OK(lane_new(bed->exec, "test", 1, &bed->lane, &test_err));
    bed->tick = (struct work)WORK_INIT(tick);
    CHECK_OK(net_system_new(bed->exec, &bed->net, &test_err));
    config.exec = bed->exec;
    config.net = bed->net;
    st = master_new(&config, &bed->master, err);
    if (!st)
        st = master_start(bed->master, err);
    if (!st)
        CHECK_OK(net_client_new(bed->net, "127.0.0.1", master_port(bed->master),
                                &bed->client, &test_err));
    return st;
}

void bed_stop(struct bed *bed)
{
    net_client_free(bed->client);
    bed->client = NULL;
    if (bed->master && !bed->is_stopped)
        master_stop(bed->master);
    bed->is_stopped = false;
    executor_free(bed->exec);
    master_free(bed->master);
    bed->master = NULL;
    net_free(bed->net);
    bed->exec = NULL;
    bed->net = NULL;
}

void bed_stop_master(struct bed *bed)
{
    master_stop(bed->master);
    bed->is_stopped = true;
}

void bed_restart(struct bed *bed)
{
    bed_stop(bed);
    CHECK_OK(bed_start(bed, &test_err));
}

static void load_config(struct bed *bed, const char *yaml)
{
    struct config_report report = CONFIG_REPORT(&bed->mem, NULL);
    struct json *tree;

    CHECK_OK(config_load(CONFIG_MASTER, yaml, yaml ? strlen(yaml) : 0, NULL, &report,
                         &tree, &test_err));
    bed->config = tree;
}

static void read_agent_token(struct bed *bed)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    CHECK_OK(io_read_file(io_system(), master_agent_token_path(bed->master), &text,
                          &test_err));
    bed->agent_token = arena_strndup(&bed->mem, text.data, strcspn(text.data, "\n"));
}

struct bed *bed_open(const char *yaml)
{
    struct bed *bed = mem_new(struct bed);
    CHECK(bed != NULL);
    log_setup(LOG_ERROR, getenv("API_LOG") ? STDERR_FILENO : -1);
    snprintf(bed->dir, sizeof(bed->dir), "%.40s/det-api-XXXXXX", test_tmp_dir());
    CHECK(mkdtemp(bed->dir) != NULL);
    snprintf(bed->data_dir, sizeof(bed->data_dir), "%s/data", bed->dir);
    CHECK_OK(io_mkdir(io_system(), bed->data_dir, true, &test_err));
    bed->mem = (struct arena)ARENA_INIT(BED_MEMORY);
    bed->host = "127.0.0.1";
    bed->clock = (struct clock){moved_wall_us, moved_mono_us};
    bed->vars = json_new(&bed->mem, JSON_OBJECT);
    load_config(bed, yaml);
    bed_let(bed, "single", config_single);
    bed_let(bed, "grid", config_grid);
    bed_let(bed, "random", config_random);
    CHECK_OK(log_tail_new(&bed->log, &test_err));
    log_tail_listen(bed->log);
    CHECK_OK(bed_start(bed, &test_err));
    read_agent_token(bed);
    if (json_path(bed->config, "security.initial_user_password") &&
        *json_str(json_path(bed->config, "security.initial_user_password"), ""))
        return bed;
    bed->user = bed_login(bed, "determined", "", 200);
    bed->admin = bed_login(bed, "admin", "", 200);
    return bed;
}

void bed_close(struct bed *bed)
{
    if (bed->exec)
        bed_stop(bed);
    log_tail_free(bed->log);
    (void)io_remove_tree(io_system(), bed->dir, NULL);
    arena_done(&bed->mem);
    mem_free(bed);
}

void bed_closep(struct bed **bed)
{
    bed_close(*bed);
}

/* ---- calls ---------------------------------------------------------------------- */

/* Whether only the supervisor of a task makes this call. */
static bool is_of_supervisor(struct bed *bed, enum net_method method, const char *path)
{
    static const enum route_method of[] = {
        [NET_GET] = ROUTE_GET, [NET_POST] = ROUTE_POST};
    const char *plain = arena_strndup(&bed->mem, path, strcspn(path, "?"));
    struct route_match match;

    return method <= NET_POST &&
           !route_find(of[method], plain, &bed->mem, &match, NULL) &&
           rights_is_for_supervisor(match.route);
}

static const char *token_header(struct bed *bed, enum who who, enum net_method method,
                                const char *path)
{
    const char *tokens[] = {[USER] = bed->user,
                            [ADMIN] = bed->admin,
                            [AGENT] = bed->agent_token,
                            [TASK] = bed->task,
                            [OWNER] = bed->owner,
                            [OTHER] = bed->other,
                            [SUPERVISOR] = bed->supervisor};

    if (who == NOBODY)
        return NULL;
    if (who == TASK && is_of_supervisor(bed, method, path))
        who = SUPERVISOR;
    CHECK(tokens[who] != NULL);
    if (who == TASK || who == SUPERVISOR)
        return arena_printf(&bed->mem, "Grpc-Metadata-x-allocation-token: Bearer %s",
                            tokens[who]);
    return arena_printf(&bed->mem, "Authorization: Bearer %s", tokens[who]);
}

/* {"lines": [...]} of a stream, the value itself of anything else. */
static struct json *parse_reply(struct arena *mem, const char *text)
{
    struct json *json, *lines;

    if (!json_parse(text, strlen(text), mem, &json, NULL))
        return json;
    lines = json_new(mem, JSON_ARRAY);
    while (*text) {
        size_t len = strcspn(text, "\n");

        if (json_parse(text, len, mem, &json, NULL))
            return NULL;
        json_push(lines, json);
        text += len + (text[len] == '\n');
    }
    json = json_new(mem, JSON_OBJECT);
    json_set(mem, json, "lines", lines);
    return json;
}

static struct reply make_reply(struct bed *bed, int status, const struct buf *body)
{
    struct reply reply = {.status = status,
                          .text = arena_strndup(&bed->mem, body->data, body->len),
                          .len = body->len,
                          .headers = ""};

    CHECK(reply.text != NULL);
    reply.json = parse_reply(&bed->mem, reply.text);
    return reply;
}

struct reply bed_call(struct bed *bed, enum who who, enum net_method method,
                      const char *path, const char *body)
{
    return bed_call_bytes(bed, who, method, path, body, body ? strlen(body) : 0);
}

static struct reply call_now(struct bed *bed, const struct net_call *call)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    CLEANUP(buf_done) struct buf headers = BUF_INIT;
    struct net_reply got = {.body = &out, .headers = &headers};
    struct reply reply;

    coverage_note(call->method, call->path);
    CHECK_OK(net_call(bed->client, call, &got, &test_err));
    reply = make_reply(bed, got.status, &out);
    reply.headers = arena_strdup(&bed->mem, headers.data);
    CHECK(reply.headers != NULL);
    return reply;
}

struct reply bed_call_bytes(struct bed *bed, enum who who, enum net_method method,
                            const char *path, const void *body, size_t len)
{
    const char *headers[] = {token_header(bed, who, method, path), NULL};
    struct net_call call = {.method = method,
                            .path = path,
                            .headers = headers,
                            .body = body,
                            .body_len = len,
                            .timeout_ms = CALL_MS};

    return call_now(bed, &call);
}

struct reply bed_call_with(struct bed *bed, const char *const *headers,
                           enum net_method method, const char *path, const char *body)
{
    struct net_call call = {.method = method,
                            .path = path,
                            .headers = headers,
                            .body = body,
                            .body_len = body ? strlen(body) : 0,
                            .timeout_ms = CALL_MS};

    return call_now(bed, &call);
}

const char *bed_header(struct bed *bed, const struct reply *reply, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = reply->headers; *at; at += strcspn(at, "\n") + 1)
        if (!strncasecmp(at, name, len) && at[len] == ':')
            return arena_strndup(&bed->mem, at + len + 2, strcspn(at + len + 2, "\n"));
    return NULL;
}

const char *bed_login(struct bed *bed, const char *username, const char *password,
                      int status)
{
    const char *body = arena_printf(
        &bed->mem, "{\"username\":\"%s\",\"password\":\"%s\"}", username, password);
    struct reply reply = bed_call(bed, NOBODY, NET_POST, "/api/v1/auth/login", body);

    if (reply.status != status)
        fail_msg("login of %s: %d %s", username, reply.status, reply.text);
    return json_str(json_get(reply.json, "token"), NULL);
}

/* ---- raw calls ------------------------------------------------------------------ */

/* Only what is allowed between fork and _exit. */
static void raw_exchange(uint16_t port, const char *request, size_t len, int out)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char bytes[4096];
    ssize_t got;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
        write(fd, request, len) != (ssize_t)len)
        return;
    while ((got = read(fd, bytes, sizeof(bytes))) > 0)
        if (write(out, bytes, (size_t)got) != got)
            break;
    close(fd);
}

struct reply bed_raw(struct bed *bed, const char *request, unsigned uid)
{
    CLEANUP(buf_done) struct buf all = BUF_INIT;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    uint16_t port = master_port(bed->master);
    size_t len = strlen(request);
    const char *at;
    char bytes[4096];
    ssize_t got;
    int ends[2], status = 0;
    pid_t child;

    CHECK(!pipe(ends));
    child = fork();
    if (!child) {
        if (uid && setuid(uid))
            _exit(1);
        raw_exchange(port, request, len, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    while ((got = read(ends[0], bytes, sizeof(bytes))) > 0)
        buf_add(&all, bytes, (size_t)got);
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(all.len > 12);
    at = strstr(all.data, "\r\n\r\n");
    CHECK(at != NULL);
    buf_puts(&body, at + 4);
    return make_reply(bed, (int)strtol(all.data + 9, NULL, 10), &body);
}

void bed_rest(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* ---- calls on a thread ---------------------------------------------------------- */

struct pending {
    pthread_t thread;
    struct net_client *client;
    struct net_call call;
    const char *headers[2];
    struct buf out;
    struct net_reply reply;
    pthread_mutex_t lock; /* guards `pieces` until the thread has ended */
    struct buf pieces;
    _Atomic bool has_bytes;
    _Atomic bool is_over;
    det_status status;
    struct err err;
};

static det_status take_piece(void *arg, const char *bytes, size_t len, struct err *err)
{
    struct pending *p = arg;

    pthread_mutex_lock(&p->lock);
    buf_add(&p->pieces, bytes, len);
    pthread_mutex_unlock(&p->lock);
    p->has_bytes = true;
    return p->pieces.status ? err_default(err, p->pieces.status) : DET_OK;
}

void bed_await_bytes(struct pending *p)
{
    while (!p->has_bytes)
        bed_rest(2);
}

void bed_await_text(struct pending *p, const char *text)
{
    for (bool is_there = false, is_over = false; !is_there; bed_rest(2)) {
        if (is_over)
            fail_msg("'%s' is not in: %s", text, p->pieces.data);
        is_over = p->is_over;
        pthread_mutex_lock(&p->lock);
        is_there = p->pieces.len && strstr(p->pieces.data, text);
        pthread_mutex_unlock(&p->lock);
    }
}

static void *run_pending(void *arg)
{
    struct pending *p = arg;

    p->status = net_call(p->client, &p->call, &p->reply, &p->err);
    p->is_over = true;
    return NULL;
}

struct pending *bed_begin(struct bed *bed, enum who who, enum net_method method,
                          const char *path, const char *body)
{
    struct pending *p = mem_new(struct pending);

    CHECK(p != NULL);
    coverage_note(method, path);
    p->headers[0] = token_header(bed, who, method, path);
    p->out = (struct buf)BUF_INIT;
    p->pieces = (struct buf)BUF_INIT;
    p->call = (struct net_call){.method = method,
                                .path = arena_strdup(&bed->mem, path),
                                .headers = p->headers,
                                .body = arena_strdup(&bed->mem, body),
                                .body_len = body ? strlen(body) : 0,
                                .timeout_ms = CALL_MS,
                                .on_data = take_piece,
                                .arg = p};
    p->reply.body = &p->out;
    pthread_mutex_init(&p->lock, NULL);
    CHECK_OK(net_client_new(bed->net, "127.0.0.1", master_port(bed->master), &p->client,
                            &test_err));
    CHECK(!pthread_create(&p->thread, NULL, run_pending, p));
    return p;
}

struct reply bed_end(struct bed *bed, struct pending *p)
{
    struct reply reply;

    pthread_join(p->thread, NULL);
    net_client_free(p->client);
    if (p->status) { /* broken off: no part is taken for the whole */
        buf_clear(&p->pieces);
        buf_puts(&p->pieces, p->err.text);
        p->reply.status = 0;
    }
    buf_add(&p->pieces, p->out.data, p->out.len); /* the body of an error reply */
    reply = make_reply(bed, p->reply.status, &p->pieces);
    pthread_mutex_destroy(&p->lock);
    buf_done(&p->pieces);
    buf_done(&p->out);
    mem_free(p);
    return reply;
}

/* ---- what is kept ---------------------------------------------------------------- */

void bed_let(struct bed *bed, const char *name, const char *text)
{
    bed_let_json(bed, name, json_new_str(&bed->mem, text));
}

void bed_let_json(struct bed *bed, const char *name, struct json *json)
{
    json_set(&bed->mem, bed->vars, arena_strdup(&bed->mem, name),
             json ? json_copy(&bed->mem, json) : json_new(&bed->mem, JSON_NULL));
    CHECK(!bed->mem.has_failed);
}

static struct json *member(const struct json *json, const char *key)
{
    char *end;
    long index = strtol(key, &end, 10);

    if (!json || json->kind != JSON_ARRAY || *end)
        return json_get(json, key);
    json_each(item, json)
        if (!index--)
            return item;
    return NULL;
}

struct json *json_at(const struct json *json, const char *path)
{
    struct json *at = (struct json *)(uintptr_t)json;
    char key[200];

    while (*path && at) {
        size_t len = strcspn(path, ".");

        snprintf(key, sizeof(key), "%.*s", (int)len, path);
        at = member(at, key);
        path += len + (path[len] == '.');
    }
    return at;
}

static const char *as_text(struct bed *bed, const struct json *value)
{
    if (!value)
        return "";
    return value->kind == JSON_STRING ? value->string.text
                                      : json_text(&bed->mem, value);
}

const char *bed_get(struct bed *bed, const char *path)
{
    return as_text(bed, json_at(bed->vars, path));
}

int64_t bed_i64(struct bed *bed, const char *path)
{
    return json_i64(json_at(bed->vars, path), -1);
}

/* `at` is behind "${" or "$["; returns behind the closing sign. */
static const char *fill_one(struct bed *bed, const char *at, char close,
                            struct buf *out)
{
    size_t len = strcspn(at, close == '}' ? "}" : "]");
    const char *path = arena_strndup(&bed->mem, at, len);
    const struct json *value = json_at(bed->vars, path);

    if (!value)
        fail_msg("nothing is kept under '%s'", path);
    buf_puts(out, close == '}' ? as_text(bed, value) : json_text(&bed->mem, value));
    return at + len + 1;
}

const char *bed_fill(struct bed *bed, const char *pattern, bool quotes)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    if (!pattern)
        return NULL;
    while (*pattern) {
        if (*pattern == '$' && (pattern[1] == '{' || pattern[1] == '['))
            pattern = fill_one(bed, pattern + 2, pattern[1] == '{' ? '}' : ']', &out);
        else
            buf_putc(&out, quotes && *pattern == '\'' ? '"' : *pattern), pattern++;
    }
    return arena_strdup(&bed->mem, out.data);
}

/* ---- steps ---------------------------------------------------------------------- */

static bool holds_one(struct bed *bed, const struct json *json, const char *clause)
{
    size_t len = strcspn(clause, "=~#?!");
    const char *path = arena_strndup(&bed->mem, clause, len);
    const struct json *value = json_at(json, path);
    const char *want = clause[len] ? clause + len + 1 : "";

    switch (clause[len]) {
    case '=':
        return value && !strcmp(as_text(bed, value), want);
    case '~':
        return value && strstr(as_text(bed, value), want);
    case '#':
        return value && (value->kind == JSON_ARRAY || value->kind == JSON_OBJECT) &&
               value->list.count == strtoul(want, NULL, 10);
    case '?':
        return !json_is_null(value);
    case '!':
        return json_is_null(value);
    default:
        fail_msg("'%s' is no expectation", clause);
    }
    return false;
}

/* The first clause that does not hold; NULL: all do. */
static const char *unmet(struct bed *bed, const struct json *json, const char *expect)
{
    const char *filled = expect ? bed_fill(bed, expect, false) : "";

    while (*filled) {
        const char *end = strstr(filled, "; ");
        size_t len = end ? (size_t)(end - filled) : strlen(filled);
        const char *clause = arena_strndup(&bed->mem, filled, len);

        if (!holds_one(bed, json, clause))
            return clause;
        filled += len + (end ? 2 : 0);
    }
    return NULL;
}

struct reply bed_step(struct bed *bed, const struct step *step)
{
    const char *path = bed_fill(bed, step->path, false);
    const char *body = bed_fill(bed, step->body, true);
    int64_t end_us = clock_mono_us(&clock_system) + UNTIL_MS * 1000LL;

    for (;;) {
        struct reply reply = bed_call(bed, step->who, step->method, path, body);
        const char *problem = unmet(bed, reply.json, step->expect);
        bool is_met = reply.status == step->status && !problem;

        if (!is_met && step->until && clock_mono_us(&clock_system) < end_us) {
            bed_rest(2);
            continue;
        }
        bed_let_json(bed, step->name, reply.json);
        if (!is_met)
            fail_msg("step '%s' (%s): %d, not %d%s%s: %.4000s", step->name, path,
                     reply.status, step->status, problem ? "; unmet: " : "",
                     problem ? problem : "", reply.text);
        return reply;
    }
}

void bed_play(struct bed *bed, const struct step *steps)
{
    for (const struct step *step = steps; step->name; step++) {
        if (step->run)
            step->run(bed);
        else
            (void)bed_step(bed, step);
    }
}
