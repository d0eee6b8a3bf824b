/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a checkpoint, fetched from the master: in each format, whole or not at
 * all, and never anything else. */
#include <string.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "data/archive/archive.h"
#include "tests/api/files_lane.h"
#include "tests/api/script.h"

static const char uuid_a[] = "11111111-1111-4111-8111-111111111111";
static const char uuid_b[] = "22222222-2222-4222-8222-222222222222";
#define A "/checkpoints/11111111-1111-4111-8111-111111111111"
#define B "/checkpoints/22222222-2222-4222-8222-222222222222"

enum { LARGE = 3 << 20 }; /* several pieces */

static const char *in_storage(struct bed *bed, const char *name)
{
    return arena_printf(&bed->mem, "%s/storage/%s", bed->dir, name);
}

static void put(struct bed *bed, const char *name, const char *bytes, size_t len)
{
    CHECK_OK(
        io_replace(io_system(), in_storage(bed, name), bytes, len, false, &test_err));
}

/* Bytes that no packer shrinks, the same each time. */
static char *large_bytes(struct bed *bed)
{
    char *bytes = arena_alloc(&bed->mem, LARGE);
    uint32_t x = 1;

    CHECK(bytes != NULL);
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (char)((x = x * 1664525 + 1013904223) >> 24);
    return bytes;
}

static struct share run_trial(struct bed *bed, struct agent *agent)
{
    const char *config = arena_printf(
        &bed->mem,
        "name: one\nentrypoint: run\nsearcher: {name: single, metric: loss}\n"
        "checkpoint_storage: {type: shared_fs, host_path: %s/storage}\n",
        bed->dir);

    agent_join(agent, bed, "a1", 1);
    (void)create(bed, config);
    return agent_run(agent);
}

static void report(struct share *share, const char *uuid, const char *resources)
{
    struct bed *bed = share->bed;
    const char *body =
        arena_printf(&bed->mem,
                     "{'uuid':'%s','taskId':'%s','allocationId':'%s','metadata':{'"
                     "steps_completed':1},"
                     "'resources':%s,'training':{},'state':'STATE_COMPLETED'}",
                     uuid, share->task_id, share->allocation, resources);
    struct step step = {"reported", NET_POST, "/api/v1/checkpoints", body, 200, NULL};

    share_speak(share);
    step.who = TASK;
    (void)bed_step(bed, &step);
}

/* The usual one: a small file, a large one in a folder, an empty one, a folder. */
static struct share with_checkpoint(struct bed *bed, struct agent *agent)
{
    struct share share = run_trial(bed, agent);

    CHECK_OK(io_mkdir(io_system(), in_storage(bed, uuid_a), false, &test_err));
    CHECK_OK(io_mkdir(io_system(),
                      arena_printf(&bed->mem, "%s/sub", in_storage(bed, uuid_a)), false,
                      &test_err));
    put(bed, arena_printf(&bed->mem, "%s/model.bin", uuid_a), "hello, world", 12);
    put(bed, arena_printf(&bed->mem, "%s/empty", uuid_a), "", 0);
    put(bed, arena_printf(&bed->mem, "%s/sub/large", uuid_a), large_bytes(bed), LARGE);
    put(bed, arena_printf(&bed->mem, "%s/secret", uuid_a), "not reported", 12);
    report(&share, uuid_a,
           "{'model.bin':'12','empty':'0','sub/':'0','sub/large':'3145728'}");
    return share;
}

static struct reply fetch(struct bed *bed, const char *path, const char *accept)
{
    const char *headers[] = {
        arena_printf(&bed->mem, "Authorization: Bearer %s", bed->user),
        accept ? arena_printf(&bed->mem, "Accept: %s", accept) : NULL, NULL};

    return bed_call_with(bed, headers, NET_GET, path, NULL);
}

static void check_unpacked(struct bed *bed, const struct reply *reply)
{
    CLEANUP(buf_done) struct buf got = BUF_INIT;
    const char *dir = arena_printf(&bed->mem, "%s/unpacked", bed->dir);
    const char **names;

    CHECK_OK(io_mkdir(io_system(), dir, false, &test_err));
    CHECK_OK(archive_unpack(reply->text, reply->len, dir, &test_err));
    CHECK_OK(io_list(io_system(), dir, &bed->mem, &names, &test_err));
    CHECK_STR(names[0], "empty");
    CHECK_STR(names[1], "model.bin");
    CHECK_STR(names[2], "sub"); /* and no secret */
    CHECK(names[3] == NULL);
    CHECK_OK(io_read_file(io_system(), arena_printf(&bed->mem, "%s/sub/large", dir),
                          &got, &test_err));
    CHECK_EQ(got.len, LARGE);
    CHECK(!memcmp(got.data, large_bytes(bed), LARGE));
    CHECK_OK(io_remove_tree(io_system(), dir, &test_err));
}

TEST(a_checkpoint_is_downloaded_in_each_format)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = with_checkpoint(bed, &agent);
    struct reply reply = fetch(bed, A, "application/gzip");

    CHECK_EQ(reply.status, 200);
    CHECK_STR(bed_header(bed, &reply, "Content-Type"), "application/gzip");
    CHECK_STR(
        bed_header(bed, &reply, "Content-Disposition"),
        "attachment; filename=\"checkpoint-11111111-1111-4111-8111-111111111111.tgz\"");
    check_unpacked(bed, &reply);

    reply = fetch(bed, A "?format=tgz", "text/html,*/*;q=0.8");
    check_unpacked(bed, &reply);

    reply = fetch(bed, A, "text/html, application/xhtml+xml;q=0.9, */*;q=0.8");
    CHECK_EQ(reply.status, 200);
    CHECK_STR(bed_header(bed, &reply, "Content-Type"), "application/x-tar");
    CHECK(reply.len > LARGE && !memcmp(reply.text + 257, "ustar", 5));

    reply = fetch(bed, A, NULL);
    CHECK_STR(bed_header(bed, &reply, "Content-Type"), "application/x-tar");

    reply = fetch(bed, A, "Application/ZIP");
    CHECK_EQ(reply.status, 200);
    CHECK(reply.len > LARGE && !memcmp(reply.text, "PK\3\4", 4));
    CHECK(memmem(reply.text, reply.len, "not reported", 12) == NULL);
    share_exit(&share, "CLEAN", 0);
}

TEST(what_cannot_be_downloaded_is_told_in_a_sentence)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = with_checkpoint(bed, &agent);
    static const struct step steps[] = {
        {"no uuid", NET_GET, "/checkpoints/1", NULL, 400,
         "error.error~is not a checkpoint's uuid"},
        {"unknown", NET_GET, B, NULL, 404, NULL},
        {"no format", NET_GET, A "?format=rar", NULL, 400,
         "error.error~expected tgz, tar or zip"},
        {.name = "nobody", .path = A, .status = 401, .who = NOBODY},
        {.name = "its own task", .path = A "?format=rar", .status = 400, .who = TASK},
        END_STEPS};
    struct reply reply = fetch(bed, A, "image/png");

    CHECK_EQ(reply.status, 415);
    CHECK(strstr(reply.text, "application/zip") != NULL);
    bed_play(bed, steps);
    report(&share, uuid_b, "{'gone':'5'}");
    reply = fetch(bed, B, NULL);
    CHECK_EQ(reply.status, 404);
    CHECK(strstr(reply.text, "the file 'gone' of checkpoint 2222") != NULL);
}

TEST(a_file_that_is_not_as_it_was_reported_is_not_sent)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = with_checkpoint(bed, &agent);
    struct reply reply;

    (void)share;
    put(bed, arena_printf(&bed->mem, "%s/model.bin", uuid_a), "hello", 5);
    reply = fetch(bed, A, NULL);
    CHECK_EQ(reply.status, 400);
    CHECK(strstr(reply.text, "has 5 bytes; it had 12") != NULL);
}

/* Called with the first bytes: the file is cut under the one who sends it. */
static det_status cut_file(void *arg, const char *bytes, size_t len, struct err *err)
{
    const char **path = arg;

    (void)bytes;
    (void)len;
    (void)err;
    if (*path)
        CHECK_EQ(truncate(*path, 1000), 0);
    *path = NULL;
    return DET_OK;
}

TEST(a_download_whose_file_shrinks_breaks_off)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = run_trial(bed, &agent);
    const char *path = in_storage(bed, arena_printf(&bed->mem, "%s/huge", uuid_a));
    const char *headers[] = {
        arena_printf(&bed->mem, "Authorization: Bearer %s", bed->user), NULL};
    const struct net_call call = {.method = NET_GET,
                                  .path = A,
                                  .headers = headers,
                                  .on_data = cut_file,
                                  .arg = &path};
    struct net_reply reply = {0};

    CHECK_OK(io_mkdir(io_system(), in_storage(bed, uuid_a), false, &test_err));
    put(bed, arena_printf(&bed->mem, "%s/huge", uuid_a), "", 0);
    CHECK_EQ(truncate(path, 128 << 20), 0); /* more than the network holds */
    report(&share, uuid_a, "{'huge':'134217728'}");
    CHECK_EQ(net_call(bed->client, &call, &reply, &test_err), DET_UNREACHABLE);
    CHECK_EQ(reply.status, 200);
    CHECK(path == NULL);
}

/* A task owns its storage, and may put anything into the place of a file. */
TEST(links_lead_nowhere)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = with_checkpoint(bed, &agent);
    const char *outside = arena_printf(&bed->mem, "%s/outside", bed->dir);
    const char *sub = in_storage(bed, arena_printf(&bed->mem, "%s/sub", uuid_a));
    const char *model =
        in_storage(bed, arena_printf(&bed->mem, "%s/model.bin", uuid_a));

    (void)share;
    CHECK_OK(io_mkdir(io_system(), outside, false, &test_err));
    CHECK_OK(io_replace(io_system(), arena_printf(&bed->mem, "%s/large", outside),
                        large_bytes(bed), LARGE, false, &test_err));
    CHECK_OK(io_remove_tree(io_system(), sub, &test_err));
    CHECK_EQ(symlink(outside, sub), 0); /* a folder of its path */
    CHECK(fetch(bed, A, NULL).status >= 400);
    CHECK_OK(io_remove(io_system(), sub, &test_err));
    CHECK_OK(io_rename(io_system(), outside, sub, &test_err));
    CHECK_EQ(fetch(bed, A, NULL).status, 200);

    CHECK_OK(io_remove(io_system(), model, &test_err));
    CHECK_EQ(symlink("/etc/hostname", model), 0); /* the file itself */
    CHECK(fetch(bed, A, NULL).status >= 400);

    CHECK_OK(io_rename(io_system(), in_storage(bed, uuid_a), in_storage(bed, uuid_b),
                       &test_err));
    CHECK_EQ(symlink(in_storage(bed, uuid_b), in_storage(bed, uuid_a)), 0); /* all */
    CHECK(fetch(bed, A, NULL).status >= 400);
}

TEST(paths_that_escape_are_refused)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = run_trial(bed, &agent);
    struct reply reply;

    report(&share, uuid_a, "{'../../secret':'5'}");
    reply = fetch(bed, A, NULL);
    CHECK_EQ(reply.status, 400);
    CHECK(strstr(reply.text, "outside of it") != NULL);
    report(&share, uuid_b, "{'/etc/hostname':'5'}");
    CHECK_EQ(fetch(bed, B, NULL).status, 400);
}

TEST(a_deleted_checkpoint_says_so)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = with_checkpoint(bed, &agent);
    struct reply reply;

    report(&share, uuid_b, "{}");
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, share.experiment, "COMPLETED");
    (void)bed_call(bed, USER, NET_DELETE, "/api/v1/checkpoints",
                   "{\"checkpointUuids\":[\"11111111-1111-4111-8111-111111111111\"]}");
    reply = fetch(bed, A, NULL);
    CHECK_EQ(reply.status, 404);
    CHECK(strstr(reply.text, "was deleted") != NULL);
    reply = fetch(bed, B, "application/zip"); /* nothing in it: an empty archive */
    CHECK_EQ(reply.status, 200);
    CHECK_EQ(reply.len, 22);
}

/* ---- others ---------------------------------------------------------------------- */

enum { DETERMINED = 2 }; /* the user who fetches */

struct slow_read {
    struct work work;
    struct gate *begins;
    struct gate *ends;
};

static void read_slowly(struct work *work)
{
    struct slow_read *read = CONTAINER_OF(work, struct slow_read, work);

    gate_open(read->begins);
    CHECK(gate_wait(read->ends, 0));
}

/* As many as there are threads, all for one user: the storage does not answer. */
TEST(slow_downloads_of_one_user_keep_nobody_else_waiting)
{
    struct slow_read read[2] = {0};
    BED(bed, NULL);
    struct agent agent = {0};
    struct reply reply;

    (void)with_checkpoint(bed, &agent);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(gate_new(bed->exec, &read[i].begins, &test_err));
        CHECK_OK(gate_new(bed->exec, &read[i].ends, &test_err));
        read[i].work = (struct work)WORK_INIT(read_slowly);
        read[i].work.turn = files_lane_turn_of_others(bed->master, DETERMINED);
        lane_post(files_lane(bed->master), &read[i].work);
    }
    CHECK(gate_wait(read[0].begins, 0));

    reply = fetch(bed, A, NULL);
    CHECK_EQ(reply.status, 200);
    check_unpacked(bed, &reply);

    for (int i = 0; i < 2; i++)
        gate_open(read[i].ends);
    CHECK(gate_wait(read[1].begins, 0));
    bed_stop(bed); /* the items have ended */
    for (int i = 0; i < 2; i++) {
        gate_free(read[i].begins);
        gate_free(read[i].ends);
    }
    CHECK_OK(bed_start(bed, &test_err));
}

/* ---- one file -------------------------------------------------------------------- */

#define FILE_OF_A                                                                      \
    "/api/v1/det/checkpoints/11111111-1111-4111-8111-111111111111/file?path="

TEST(one_file_is_sent_as_bytes_that_run_nothing_and_no_other_file_is)
{
    static const struct {
        const char *path;
        int status;
        const char *text;
    } refused[] = {
        {FILE_OF_A "secret", 404, "has no file 'secret'"}, /* not reported */
        {FILE_OF_A "sub/", 404, "has no file"},
        {FILE_OF_A "../../det.db", 404, "has no file"},
        {FILE_OF_A, 404, "has no file"},
        {"/api/v1/det/checkpoints/22222222-2222-4222-8222-222222222222/file?path=x",
         404, "22222222"},
    };
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = with_checkpoint(bed, &agent);
    struct reply reply = fetch(bed, FILE_OF_A "sub/large", NULL);

    (void)share;
    CHECK_EQ(reply.status, 200);
    CHECK_EQ(reply.len, LARGE);
    CHECK(!memcmp(reply.text, large_bytes(bed), LARGE));
    CHECK_STR(bed_header(bed, &reply, "Content-Type"), "application/octet-stream");
    CHECK_HAS(bed_header(bed, &reply, "Content-Security-Policy"), "sandbox");
    reply = fetch(bed, FILE_OF_A "empty", NULL);
    CHECK_EQ(reply.status, 200);
    CHECK_EQ(reply.len, 0);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        reply = fetch(bed, refused[i].path, NULL);
        CHECK_EQ(reply.status, refused[i].status);
        CHECK_HAS(reply.text, refused[i].text);
    }
    put(bed, arena_printf(&bed->mem, "%s/model.bin", uuid_a), "longer than before", 18);
    reply = fetch(bed, FILE_OF_A "model.bin", NULL);
    CHECK_EQ(reply.status, 400);
    CHECK_HAS(reply.text, "it had 12 when it was reported");
}
