/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on sizes and rates, and on access to other people's objects. */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "master/master.h"
#include "tests/api/flood.h"
#include "tests/api/script.h"

#define UUID_A "aaaaaaaa-1111-4111-8111-111111111111"
#define UUID_B "bbbbbbbb-1111-4111-8111-111111111111"

static struct share one_running(struct bed *bed, struct agent *agent)
{
    struct share share;

    agent_join(agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(agent);
    share_speak(&share);
    return share;
}

/* ${name}: `part`, `count` times. */
static void let_many(struct bed *bed, const char *name, const char *part, int count)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    for (int i = 0; i < count; i++)
        buf_puts(&text, part);
    bed_let(bed, name, text.data);
}

/* ---- memory ---------------------------------------------------------------------- */

/* A folder with one file of `megabytes` zeros, in base64; it compresses well. */
static struct reply submit_folder(struct bed *bed, size_t megabytes)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    size_t letters = (megabytes << 20) / 3 * 4;
    char *room;

    buf_puts(&body, "{\"config\": ");
    buf_puts(&body, bed_fill(bed, "$[single]", false));
    buf_puts(&body, ", \"modelDefinition\": [{\"path\": \"a\", \"content\": \"");
    room = buf_room(&body, letters);
    CHECK(room != NULL);
    memset(room, 'A', letters);
    buf_took(&body, letters);
    buf_puts(&body, "\"}]}");
    return bed_call_bytes(bed, USER, NET_POST, "/api/v1/experiments", body.data,
                          body.len);
}

TEST(the_largest_folder_is_accepted_and_a_larger_one_is_refused)
{
    BED(bed, NULL);

    CHECK_EQ(submit_folder(bed, 127).status, 200);
    CHECK_EQ(submit_folder(bed, 129).status, 413);
}

/* Sends the head and a part of a body of 65,000 bytes, and waits. */
static int begin_login(const struct bed *bed)
{
    static const char part[16000];
    char head[200];
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(master_port(bed->master)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int len = snprintf(head, sizeof(head),
                       "POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Length: 65000\r\n\r\n");

    CHECK(fd >= 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    CHECK_EQ(send(fd, head, (size_t)len, MSG_NOSIGNAL), len);
    CHECK_EQ(send(fd, part, sizeof(part), MSG_NOSIGNAL), (ssize_t)sizeof(part));
    return fd;
}

TEST(anonymous_callers_cannot_take_the_memory_of_users)
{
    enum { CALLERS = 800, AT_ONCE = 100 };
    static const struct step steps[] = {
        POST("a small one", "/api/v1/auth/login",
             "{'username': 'determined', 'password': ''}", 200, NULL, NOBODY),
        POST("a user", "/api/v1/experiments",
             "{'config': $[single], 'validateOnly': true, 'modelDefinition': [{'path': "
             "'a', 'content': '${spaces}'}]}",
             200, NULL),
        END_STEPS};
    BED(bed, "max_memory: 256MB\n");
    int fds[CALLERS], status = 0, count = 0;
    const char *large;

    let_many(bed, "spaces", "AAAA", 15000);
    large = bed_fill(
        bed, "{'username': 'determined', 'password': '', 'x': '${spaces}'}", true);
    while (status != 503 && count < CALLERS) { /* one that is refused leaves a gap */
        for (int i = 0; i < AT_ONCE; i++)
            fds[count++] = begin_login(bed);
        status = bed_call(bed, NOBODY, NET_POST, "/api/v1/auth/login", large).status;
    }
    CHECK_EQ(status, 503);
    bed_play(bed, steps);
    while (count)
        close(fds[--count]);
}

/* They are larger than usual, so that they need memory which is counted. */
TEST(signs_of_life_do_not_wait_for_memory_in_a_flood_of_their_owner)
{
    static const struct step flooded[] = {
        POST("a user", "/api/v1/users/setting", "{'x': $[long]}", 503, NULL),
        POST("alive", "/api/v1/det/allocations/${share.allocation}/alive",
             "{'rank': 0, 'x': $[long]}", 200, "mustEnd=false", TASK),
        POST("state", "/api/v1/det/allocations/${share.allocation}/state",
             "{'rank': 0, 'state': 'RUNNING', 'x': $[long]}", 200, NULL, TASK),
        POST("exit", "/api/v1/det/allocations/${share.allocation}/exit",
             "{'rank': 0, 'exit': 'CLEAN', 'code': 0, 'reason': $[long]}", 200, NULL,
             TASK),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    let_many(bed, "long", "0123456789abcdef", 16 << 10);
    flood_begin(bed->master);
    bed_play(bed, flooded);
    flood_end(bed->master);
}

/* ---- patterns -------------------------------------------------------------------- */

TEST(a_search_that_is_no_pattern_is_refused_before_anything_is_sent)
{
    static const struct step steps[] = {
        GET("deep", "/api/v1/trials/1/logs?enableRegex=true&searchText=${parens}", 400,
            "error.error~nested more than 50 levels"),
        GET("deep, of a task",
            "/api/v1/tasks/${share.task_id}/logs?enableRegex=true&searchText=${parens}",
            400, NULL),
        GET("long", "/api/v1/trials/1/logs?enableRegex=true&searchText=${letters}", 400,
            "error.error~longer than 1024"),
        GET("backwards", "/api/v1/trials/1/logs?enableRegex=true&searchText=(a)%5C1",
            400, "error.error~back-reference"),
        GET("many", "/api/v1/trials/1/logs?enableRegex=true&searchText=a%7B999%7D", 400,
            NULL),
        GET("still there", "/api/v1/trials/1/logs?searchText=${parens}", 200, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    let_many(bed, "parens", "(", 500);
    let_many(bed, "letters", "a", 1500);
    bed_play(bed, steps);
}

TEST(a_policy_with_a_pattern_that_is_none_is_refused)
{
    static const struct step steps[] = {
        POST("deep", "/api/v1/experiments", "{'config': $[config]}", 400,
             "error.error~log_policies[].pattern; error.error~nested more than 50"),
        END_STEPS};
    BED(bed, NULL);

    let_many(bed, "parens", "(", 500);
    bed_let(bed, "config",
            bed_fill(bed,
                     "entrypoint: x\n"
                     "searcher: {name: single, metric: loss}\n"
                     "log_policies:\n"
                     "  - {pattern: \"${parens}\", action: cancel_retries}\n",
                     false));
    bed_play(bed, steps);
}

/* Two experiments, in turns; and a line that ends where its length says. */
TEST(policies_of_several_experiments_do_not_mix)
{
    static const struct step before[] = {
        GET("of one", "/api/v1/trials/1", 200, "trial.logPolicyMatched!"),
        GET("of two", "/api/v1/trials/2", 200, "trial.logPolicyMatched!"), END_STEPS};
    static const struct step after[] = {
        GET("of one", "/api/v1/trials/1", 200, "trial.logPolicyMatched=p0"),
        GET("of two", "/api/v1/trials/2", 200, "trial.logPolicyMatched=p1"), END_STEPS};
    static const char *const patterns[] = {"no +hope$", "lost [0-9]+"};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share[2];

    agent_join(&agent, bed, "a1", 2);
    for (int i = 0; i < 2; i++) {
        (void)create(
            bed,
            arena_printf(&bed->mem,
                         "entrypoint: x\n"
                         "searcher: {name: single, metric: loss}\n"
                         "log_policies:\n"
                         "  - {name: p%d, pattern: '%s', action: cancel_retries}\n",
                         i, patterns[i]));
        share[i] = agent_run(&agent);
    }
    for (int i = 0; i < 6; i++) {
        share_speak(&share[i % 2]);
        share_log(&share[i % 2], i % 2 ? "no hope" : "lost 7");
    }
    bed_play(bed, before);
    share_speak(&share[0]);
    share_log(&share[0], "there is no  hope");
    share_speak(&share[1]);
    share_log(&share[1], "lost 7 of 9");
    bed_play(bed, after);
}

/* ---- lines and exits ------------------------------------------------------------- */

TEST(lines_come_from_a_known_stream_of_a_known_rank)
{
    static const struct step steps[] = {
        POST("stream", "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 0, 'stream': 'other', 'offset': 0, 'endOffset': 2,"
             " 'lines': [[1, 'a']]}",
             400, "error.error~expected stdout or stderr", TASK),
        POST("rank", "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 3, 'stream': 'stdout', 'offset': 0, 'endOffset': 2,"
             " 'lines': [[1, 'a']]}",
             400, "error.error~has no rank 3", TASK),
        POST("zero byte", "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 0, 'stream': 'stdout', 'offset': 0, 'endOffset': 2,"
             " 'lines': [[1, 'a\\u0000b']]}",
             200, NULL, TASK),
        GET("read", "/api/v1/trials/1/logs?sources=task", 200, NULL), END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct reply reply;

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
    reply = bed_call(bed, USER, NET_GET, "/api/v1/trials/1/logs?sources=task", NULL);
    CHECK_HAS(reply.text, "b\\n\""); /* what is behind the zero is there */
}

TEST(the_reason_of_an_exit_is_cut)
{
    static const struct step steps[] = {
        POST("exit", "/api/v1/det/allocations/${share.allocation}/exit",
             "{'rank': 0, 'exit': 'FAILED', 'code': 1, 'reason': $[long]}", 200, NULL,
             TASK),
        {"ended", NET_GET, "/api/v1/allocations/${share.allocation}", NULL, 200,
         "allocation.state=STATE_TERMINATED", USER, true, NULL},
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    let_many(bed, "long", "0123456789abcdef", 16 << 10);
    bed_play(bed, steps);
    CHECK(strlen(bed_get(bed, "ended.allocation.exitReason")) <= 1100);
    CHECK(strlen(bed_get(bed, "ended.allocation.exitReason")) >= 1000);
}

/* ---- configurations -------------------------------------------------------------- */

TEST(a_configuration_that_no_program_can_be_given_is_refused)
{
    static const struct step steps[] = {
        POST("job", "/api/v1/generic-tasks", "{'config': $[job]}", 413,
             "error.error~put large data into a file of the folder"),
        POST("experiment", "/api/v1/experiments", "{'config': $[search]}", 413,
             "error.error~put large data into a file of the folder"),
        POST("unmanaged", "/api/v1/experiments",
             "{'config': $[search], 'unmanaged': true}", 200, NULL),
        END_STEPS};
    BED(bed, NULL);
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    buf_puts(&text, "entrypoint: a\ndata: {a: ");
    for (int i = 0; i < 8 << 10; i++)
        buf_puts(&text, "0123456789abcdef");
    buf_puts(&text, "}\n");
    bed_let(bed, "job", text.data);
    buf_puts(&text, "searcher: {name: single, metric: loss}\n");
    bed_let(bed, "search", text.data);
    bed_play(bed, steps);
}

#define PATCHED(what_, body_)                                                          \
    PATCH(what_, "/api/v1/experiments/1", body_, 413, "error.error~at most")

/* The table of experiments shows them to everybody. */
TEST(texts_of_experiments_are_bounded)
{
    static const struct step steps[] = {
        POST("there is one", "/api/v1/experiments",
             "{'config': $[single], 'unmanaged': true}", 200, NULL),
        PATCHED("name", "{'name': $[long]}"),
        PATCHED("description", "{'description': $[long]}"),
        PATCHED("notes", "{'notes': $[long]}"),
        PATCHED("label", "{'labels': [$[long]]}"),
        PATCHED("labels", "{'labels': [${many} 'a']}"),
        PATCH("most labels", "/api/v1/experiments/1", "{'labels': [${most} 'a']}", 200,
              NULL),
        PUT("one more", "/api/v1/experiments/1/labels/b", NULL, 413,
            "error.error~256 at most"),
        PUT("one of them", "/api/v1/experiments/1/labels/a", NULL, 200, NULL),
        POST("a long name", "/api/v1/experiments",
             "{'config': $[named], 'unmanaged': true}", 400,
             "error.error~1024 at most"),
        GET("the table", "/api/v1/det/experiments", 200, "experiments#1"),
        END_STEPS};
    BED(bed, NULL);
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    let_many(bed, "long", "0123456789abcdef", 64 << 8);
    let_many(bed, "many", "\"a\",", 256);
    let_many(bed, "most", "\"a\",", 255);
    buf_puts(&text, "entrypoint: a\nsearcher: {name: single, metric: loss}\nname: ");
    for (int i = 0; i < 100; i++)
        buf_puts(&text, "0123456789abcdef");
    bed_let(bed, "named", text.data);
    bed_play(bed, steps);
}

/* The table of experiments keeps them in memory, whoever looks. */
TEST(long_texts_of_all_experiments_of_a_user_are_bounded)
{
    enum { EXPERIMENTS = 400 };
    static const struct step after[] = {
        POST("others go on", "/api/v1/experiments",
             "{'config': $[single], 'unmanaged': true}", 200, NULL, ADMIN),
        PUT("a label", "/api/v1/experiments/1/labels/b", NULL, 413, NULL),
        PATCH("longer", "/api/v1/experiments/1", "{'description': $[page]}", 413, NULL),
        PATCH("shorter", "/api/v1/experiments/1", "{'labels': ['a']}", 200, NULL),
        END_STEPS};
    static const struct step again[] = {POST("again", "/api/v1/experiments",
                                             "{'config': $[long], 'unmanaged': true}",
                                             200, NULL),
                                        END_STEPS};
    BED(bed, NULL);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct reply reply = {0};
    const char *body;
    int count = 0;

    buf_puts(&text, "entrypoint: a\nsearcher: {name: single, metric: loss}\nlabels:\n");
    for (int i = 0; i < 250; i++)
        buf_printf(&text, "  - l%0250d\n", i);
    bed_let(bed, "long", text.data);
    body = bed_fill(bed, "{'config': $[long], 'unmanaged': true}", true);
    do
        reply = bed_call(bed, USER, NET_POST, "/api/v1/experiments", body);
    while (reply.status == 200 && ++count < EXPERIMENTS);
    CHECK_EQ(reply.status, 413);
    CHECK_HAS(reply.text, "shorten some, or delete experiments");
    CHECK(count > 200);
    let_many(bed, "page", "0123456789abcdef", 256);
    bed_play(bed, after);
    bed_play(bed, again);
}

TEST(the_settings_of_a_user_are_bounded)
{
    static const struct step steps[] = {
        POST("one", "/api/v1/users/setting",
             "{'settings': [{'key': 'a', 'storagePath': 'b', 'value': 'c'}]}", 200,
             NULL),
        POST("too many", "/api/v1/users/setting", "{'settings': [${many} ${last}]}",
             413, "error.error~a user may have 1000; error.error~remove some first"),
        GET("none of them", "/api/v1/users/setting", 200, "settings#1"),
        POST("as many as may be", "/api/v1/users/setting", "{'settings': [${many}]}",
             200, NULL),
        POST("one more", "/api/v1/users/setting",
             "{'settings': [{'key': 'x', 'value': 'y'}]}", 413, NULL),
        POST("another value", "/api/v1/users/setting",
             "{'settings': [{'key': 'a', 'storagePath': 'b', 'value': 'd'}]}", 200,
             NULL),
        POST("one less", "/api/v1/users/setting",
             "{'settings': [{'key': 'a', 'storagePath': 'b'}]}", 200, NULL),
        POST("one instead", "/api/v1/users/setting",
             "{'settings': [{'key': 'x', 'value': 'y'}]}", 200, NULL),
        POST("of others", "/api/v1/users/setting",
             "{'settings': [{'key': 'x', 'value': 'y'}]}", 200, NULL, ADMIN),
        POST("reset", "/api/v1/users/setting/reset", NULL, 200, NULL),
        END_STEPS};
    static const struct step long_ones[] = {
        POST("of 64 KB", "/api/v1/users/setting",
             "{'settings': [{'key': '${i}', 'value': $[long]}]}", 200, NULL),
        END_STEPS};
    static const struct step too_long[] = {
        POST("too long", "/api/v1/users/setting",
             "{'settings': [{'key': 'x', 'value': $[long]}]}", 413,
             "error.error~4194304 characters"),
        END_STEPS};
    BED(bed, NULL);
    CLEANUP(buf_done) struct buf many = BUF_INIT;

    for (int i = 0; i < 999; i++)
        buf_printf(&many, "%s{\"key\":\"k%d\",\"value\":\"v\"}", i ? "," : "", i);
    bed_let(bed, "many", many.data);
    bed_let(bed, "last", ",{\"key\":\"last\",\"value\":\"v\"}");
    bed_play(bed, steps);
    let_many(bed, "long", "0123456789abcdef", 4096);
    for (int i = 0; i < 63; i++) {
        bed_let(bed, "i", arena_printf(&bed->mem, "%d", i));
        bed_play(bed, long_ones);
    }
    bed_play(bed, too_long);
}

/* ---- reports --------------------------------------------------------------------- */

TEST(what_a_trial_says_of_itself_is_bounded)
{
    static const struct step steps[] = {
        POST("state", "/api/v1/trials/1/runner/metadata", "{'state': $[long]}", 400,
             NULL, TASK),
        POST("group", "/api/v1/trials/1/metrics",
             "{'group': $[long], 'metrics': {'trialRunId': 1, 'stepsCompleted': 1,"
             " 'metrics': {'avgMetrics': {'a': 1}}}}",
             400, "error.error~a group's name has 1600 bytes", TASK),
        POST("name", "/api/v1/trials/1/metrics",
             "{'metrics': {'trialRunId': 1, 'stepsCompleted': 1,"
             " 'metrics': {'avgMetrics': {$[long]: 1}}}}",
             400, "error.error~a metric's name has 1600 bytes", TASK),
        POST("two lines", "/api/v1/trials/1/metrics",
             "{'metrics': {'trialRunId': 1, 'stepsCompleted': 1,"
             " 'metrics': {'avgMetrics': {'a\\nb': 1}}}}",
             400, "error.error~another control character", TASK),
        POST("metadata", "/api/v1/runs/1/metadata", "{'metadata': {'a': $[huge]}}", 413,
             NULL, TASK),
        GET("nothing of it", "/api/v1/runs/1/metadata", 200, "metadata.a!", TASK),
        POST("many values", "/api/v1/runs/1/metadata",
             "{'metadata': {'a': [${many} 0], 'b': [${many} 0]}}", 413,
             "error.error~metadata has 12004 values", TASK),
        POST("not so many", "/api/v1/runs/1/metadata",
             "{'metadata': {'a': [${many} 0]}}", 200, "metadata.a#6001", TASK),
        POST("together", "/api/v1/runs/1/metadata", "{'metadata': {'b': [${many} 0]}}",
             413, "error.error~more than 10000 values", TASK),
        GET("only the first", "/api/v1/runs/1/metadata", 200,
            "metadata.a#6001; metadata.b!", TASK),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    let_many(bed, "long", "0123456789abcdef", 100);
    let_many(bed, "huge", "0123456789abcdef", 80 << 10);
    let_many(bed, "many", "0,", 6000);
    bed_play(bed, steps);
}

TEST(only_so_many_can_meet_with_so_much_data)
{
    static const struct step steps[] = {
        POST("peers", "/api/v1/allocations/${share.allocation}/all_gather",
             "{'requestUuid': 'u', 'numPeers': 2, 'data': {}}", 400,
             "error.error~has at most", TASK),
        POST("data", "/api/v1/allocations/${share.allocation}/all_gather",
             "{'requestUuid': 'u', 'numPeers': 1, 'data': $[long]}", 413, NULL, TASK),
        POST("alone", "/api/v1/allocations/${share.allocation}/all_gather",
             "{'requestUuid': 'u', 'numPeers': 1, 'data': {'a': 1}}", 200, "data#1",
             TASK),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    let_many(bed, "long", "0123456789abcdef", 5 << 10);
    bed_play(bed, steps);
}

#define CHECKPOINT(uuid_, rest_)                                                       \
    "{'uuid': '" uuid_ "', 'allocationId': '${share.allocation}', " rest_ "}"

TEST(a_checkpoint_has_sizes_and_whole_steps)
{
    static const struct step steps[] = {
        POST("list", "/api/v1/checkpoints",
             CHECKPOINT(UUID_A, "'metadata': {'steps_completed': 1}, 'resources': [1]"),
             400, "error.error~resources is", TASK),
        POST("negative", "/api/v1/checkpoints",
             CHECKPOINT(UUID_A,
                        "'metadata': {'steps_completed': 1}, 'resources': {'a': -1}"),
             400, "error.error~the size of 'a'", TASK),
        POST("no size", "/api/v1/checkpoints",
             CHECKPOINT(UUID_A,
                        "'metadata': {'steps_completed': 1}, 'resources': {'a': []}"),
             400, NULL, TASK),
        POST("too much", "/api/v1/checkpoints",
             CHECKPOINT(UUID_A,
                        "'metadata': {'steps_completed': 1}, 'resources': {'a': "
                        "9223372036854775807, 'b': 1}"),
             400, NULL, TASK),
        POST("odd steps", "/api/v1/checkpoints",
             CHECKPOINT(UUID_A, "'metadata': {'steps_completed': 'x'}"), 400,
             "error.error~steps_completed", TASK),
        POST("negative steps", "/api/v1/checkpoints",
             CHECKPOINT(UUID_A, "'metadata': {'steps_completed': -1}"), 400, NULL,
             TASK),
        POST("good", "/api/v1/checkpoints",
             CHECKPOINT(UUID_A, "'metadata': {'steps_completed': 5}, 'resources': "
                                "{'a': '10', 'b': 20}"),
             200, NULL, TASK),
        GET("size", "/api/v1/trials/1", 200, "trial.totalCheckpointSize=30"),
        PATCH("odd patch", "/api/v1/checkpoints",
              "{'checkpoints': [{'uuid': '" UUID_A
              "', 'resources': {'resources': {'a': -5}}}]}",
              400, NULL, TASK),
        PATCH("no patch", "/api/v1/checkpoints",
              "{'checkpoints': [{'uuid': '" UUID_A
              "', 'resources': {'resources': null}}]}",
              200, NULL, TASK),
        GET("same", "/api/v1/trials/1", 200, "trial.totalCheckpointSize=30"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

TEST(a_checkpoint_shows_the_validation_at_its_steps)
{
    static const struct step steps[] = {
        GET("one", "/api/v1/checkpoints/" UUID_A, 200,
            "checkpoint.training.validationMetrics.avgMetrics.loss=0.3"),
        GET("none", "/api/v1/checkpoints/" UUID_B, 200,
            "checkpoint.training.validationMetrics.avgMetrics#0"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    for (int i = 1; i <= 5; i++)
        share_report(&share, "validation", i,
                     arena_printf(&bed->mem, "{\"loss\":0.%d}", i), 200);
    share_checkpoint(&share, UUID_A, 3);
    share_checkpoint(&share, UUID_B, 6);
    bed_play(bed, steps);
}

TEST(a_task_reads_the_checkpoints_that_its_user_may_read)
{
    static const struct step steps[] = {
        GET("its start", "/api/v1/checkpoints/" UUID_A, 200, NULL, TASK),
        GET("of another", "/api/v1/checkpoints/" UUID_B, 200, NULL, TASK),
        GET("by a user", "/api/v1/checkpoints/" UUID_B, 200, NULL, USER), END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share first, second;

    agent_join(&agent, bed, "a1", 2);
    (void)create(bed, config_single);
    first = agent_run(&agent);
    share_speak(&first);
    share_checkpoint(&first, UUID_A, 3);
    share_checkpoint(&first, UUID_B, 6);
    (void)create(bed, "entrypoint: x\n"
                      "searcher: {name: single, metric: loss,"
                      " source_checkpoint_uuid: " UUID_A "}\n");
    second = agent_run(&agent);
    share_speak(&second);
    bed_play(bed, steps);
}

/* ---- creating -------------------------------------------------------------------- */

TEST(an_experiment_names_a_project_and_a_parent_that_exist)
{
    static const struct step steps[] = {
        POST("project", "/api/v1/experiments", "{'config': $[single], 'projectId': -1}",
             404, NULL),
        POST("parent", "/api/v1/experiments",
             "{'config': $[single], 'parentId': 77, 'modelDefinition': [{'path': "
             "'a.py', 'content': 'YQ=='}]}",
             404, NULL),
        POST("negative parent", "/api/v1/experiments",
             "{'config': $[single], 'parentId': -1, 'modelDefinition': []}", 404, NULL),
        POST("none", "/api/v1/experiments", "{'config': $[single], 'projectId': 0}",
             200, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);
}

/* ---- hyperparameters ------------------------------------------------------------- */

/* An experiment with this many hyperparameters whose names begin with `prefix`. */
static struct reply make_unmanaged(struct bed *bed, const char *prefix, int count)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;

    buf_puts(&body, "{\"unmanaged\": true, \"config\": \"name: far\\nsearcher: {name: "
                    "single, metric: loss}\\nhyperparameters:\\n");
    for (int i = 0; i < count; i++)
        buf_printf(&body, "  %s%d: 1\\n", prefix, i);
    buf_puts(&body, "\"}");
    return bed_call(bed, USER, NET_POST, "/api/v1/experiments", body.data);
}

/* A trial with this many hyperparameters, in a nested map. */
static struct reply make_trial(struct bed *bed, int count, int value_bytes)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;

    buf_puts(&body, "{\"experimentId\": 1, \"hparams\": {\"in\": {");
    for (int i = 0; i < count; i++)
        buf_printf(&body, "%s\"h%d\": \"%0*d\"", i ? ", " : "", i, value_bytes, 1);
    buf_puts(&body, "}}}");
    return bed_call(bed, USER, NET_POST, "/api/v1/trials", body.data);
}

TEST(hyperparameters_of_unmanaged_experiments_have_limits)
{
    BED(bed, NULL);
    struct reply reply = make_unmanaged(bed, "h", 4097);

    CHECK_EQ(reply.status, 400);
    CHECK_HAS(reply.text, "there are 4097 hyperparameters; expected 4096 at most");
    CHECK_EQ(make_unmanaged(bed, "h", 4096).status, 200);

    CHECK_EQ(make_trial(bed, 4096, 1).status, 200);
    reply = make_trial(bed, 4097, 1);
    CHECK_EQ(reply.status, 413);
    CHECK_HAS(reply.text, "there are 4097 hyperparameters; expected 4096 at most");
    reply = make_trial(bed, 1, 262144);
    CHECK_EQ(reply.status, 413);
    CHECK_HAS(reply.text, "put long values into a file");
}

TEST(a_project_has_so_many_columns_at_most)
{
    static const char path[] = "/api/v1/projects/1/columns";
    static const char *const prefixes[] = {"a", "b", "c", "d", "e"};
    BED(bed, NULL);
    struct reply reply;

    for (size_t i = 0; i + 1 < ARRAY_LEN(prefixes); i++)
        CHECK_EQ(make_unmanaged(bed, prefixes[i], 4096).status, 200);
    CHECK_EQ(bed_call(bed, USER, NET_GET, path, NULL).status, 200);
    CHECK_EQ(make_unmanaged(bed, "e", 4096).status, 200);

    reply = bed_call(bed, USER, NET_GET, path, NULL);
    CHECK_EQ(reply.status, 413);
    CHECK_HAS(reply.text, "20480 different names");
    CHECK_HAS(reply.text, "move some of them to another project");
}
