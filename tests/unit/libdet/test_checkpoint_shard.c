/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint_shard.c - checkpoints of several ranks, which are processes here:
 * their results lie in memory shared with the test. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/shared_lock.h"
#include "data/json/json.h"
#include "det/det.h"
#include "libdet/ring/ring_reader.h"
#include "tests/unit/libdet/ranks.h"
#include "wire/report.h"

enum { RANKS = 3 };

/* What a rank found. */
struct found {
    det_status status;
    char text[400];
    char uuid[DET_UUID_SIZE];
    int line; /* of the first failed check; 0: none */
};

struct bed {
    char dir[64];
    char storage[160]; /* JSON */
    struct found *found;
    uint16_t port;
    bool closes_group_first;
};

struct self {
    struct bed *bed;
    struct found *found;
    int rank;
    det_context *det;
    det_distributed *group;
    char own[128]; /* this rank's own directory */
};

typedef void story_fn(struct self *self);

#define NEED(x)                                                                        \
    do {                                                                               \
        if (!(x)) {                                                                    \
            self->found->line = __LINE__;                                              \
            return;                                                                    \
        }                                                                              \
    } while (0)

static void make_bed(struct bed *bed)
{
    memset(bed, 0, sizeof(*bed));
    memcpy(bed->dir, "/tmp/det-shard-XXXXXX", 22);
    CHECK(mkdtemp(bed->dir));
    snprintf(bed->storage, sizeof(bed->storage),
             "{\"type\":\"directory\",\"container_path\":\"%s/store\"}", bed->dir);
    bed->found = shared_memory_new(RANKS * sizeof(struct found));
    CHECK(bed->found);
}

static void end_bed(struct bed *bed)
{
    shared_memory_free(bed->found, RANKS * sizeof(struct found));
    CHECK_OK(io_remove_tree(io_system(), bed->dir, &test_err));
}

static void write_own(struct self *self, const char *name, const char *text)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/%s", self->own, name);
    NEED(!io_replace(io_system(), path, text, strlen(text), false, NULL));
}

static void make_own(struct self *self, const char *below)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/%s", self->own, below);
    NEED(!io_mkdir(io_system(), path, false, NULL));
}

/* Ends a story: keeps the library's error. */
static void tell(struct self *self, det_status status)
{
    self->found->status = status;
    if (status)
        snprintf(self->found->text, sizeof(self->found->text), "%s",
                 det_context_error(self->det));
}

static void live(struct bed *bed, int rank, story_fn *story)
{
    struct self self = {.bed = bed, .found = &bed->found[rank], .rank = rank};
    char notes[128];
    det_distributed_options ranks = {.size = sizeof(ranks),
                                     .ranks = {rank, RANKS, rank, RANKS, 0, 1},
                                     .port = bed->port,
                                     .secret = "the tests' secret",
                                     .open_timeout_ms = 60000};
    det_init_options options = {.size = sizeof(options),
                                .directory = notes,
                                .checkpoint_storage = bed->storage};

    snprintf(notes, sizeof(notes), "%s/notes-%d", bed->dir, rank);
    snprintf(self.own, sizeof(self.own), "%s/own-%d", bed->dir, rank);
    if (io_mkdir(io_system(), self.own, false, NULL) || det_init(&options, &self.det) ||
        det_distributed_open(&ranks, &self.group)) {
        self.found->line = __LINE__;
        return;
    }
    story(&self);
    if (bed->closes_group_first)
        det_distributed_close(self.group);
    det_close(self.det);
    if (!bed->closes_group_first)
        det_distributed_close(self.group);
}

static void run(struct bed *bed, story_fn *story)
{
    pid_t pids[RANKS];
    int status;

    memset(bed->found, 0, RANKS * sizeof(struct found));
    bed->port = ranks_port();
    for (int i = 0; i < RANKS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            live(bed, i, story);
            _exit(0);
        }
    }
    for (int i = 0; i < RANKS; i++) {
        CHECK_EQ(waitpid(pids[i], &status, 0), pids[i]);
        if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
            fail_msg("rank %d ended with %d", i, status);
        if (bed->found[i].line)
            fail_msg("rank %d: line %d: %s", i, bed->found[i].line, bed->found[i].text);
    }
}

static void check_all(const struct bed *bed, det_status status, const char *text)
{
    for (int i = 0; i < RANKS; i++) {
        CHECK_EQ(bed->found[i].status, status);
        CHECK_HAS(bed->found[i].text, text);
    }
}

static void check_text(const struct bed *bed, const char *name, const char *text)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    char path[300];

    snprintf(path, sizeof(path), "%s/store/%s/%s", bed->dir, bed->found[0].uuid, name);
    CHECK_OK(io_read_file(io_system(), path, &bytes, &test_err));
    CHECK_STR(bytes.data, text);
}

/* Checks that the storage holds `count` checkpoints and nothing else. */
static void check_store(const struct bed *bed, size_t count)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char *none[] = {NULL};
    const char **names;
    char path[100];
    size_t found = 0;

    snprintf(path, sizeof(path), "%s/store", bed->dir);
    if (io_list(io_system(), path, &mem, &names, NULL))
        names = none;
    for (; *names; names++, found++)
        if (**names == '.')
            fail_msg("'%s' is left", *names);
    CHECK_EQ(found, count);
}

/* ---- the files of all ------------------------------------------------------------ */

static int no_logs(void *self, const char *path)
{
    (void)self;
    return strstr(path, ".log") == NULL;
}

static void store_union(struct self *self)
{
    det_checkpoint_options options = {.size = sizeof(options),
                                      .steps = self->rank == 1 ? 7 : -1,
                                      .group = self->group,
                                      .selector = no_logs};
    char name[32], metadata[64];
    det_status st;

    snprintf(name, sizeof(name), "deep/part-%d", self->rank);
    snprintf(metadata, sizeof(metadata), "{\"all\":[1],\"r%d\":%d}", self->rank,
             self->rank);
    options.metadata = metadata;
    make_own(self, "deep");
    make_own(self, self->rank ? "empty" : "deep/er");
    write_own(self, name, name);
    write_own(self, "same", "the same for all");
    write_own(self, "noise.log", name);
    st = det_checkpoint_store_with(self->det, self->rank == 2 ? NULL : self->own,
                                   &options, self->found->uuid);
    tell(self, st);
}

TEST(a_checkpoint_holds_the_files_and_the_metadata_of_all_ranks)
{
    struct bed bed;

    make_bed(&bed);
    run(&bed, store_union);
    check_all(&bed, DET_OK, "");
    check_store(&bed, 1);
    CHECK_STR(bed.found[1].uuid, bed.found[0].uuid);
    check_text(&bed, "deep/part-0", "deep/part-0");
    check_text(&bed, "deep/part-1", "deep/part-1");
    check_text(&bed, "same", "the same for all");
    check_text(&bed, "metadata.json",
               "{\"all\":[1],\"r0\":0,\"r1\":1,\"r2\":2,\"steps_completed\":7}\n");
    end_bed(&bed);
}

/* Every rank of a node gets what one of them checked and copied. */
static int only_parts(void *self, const char *path)
{
    (void)self;
    return strstr(path, "part") != NULL;
}

static void download_some(struct self *self)
{
    det_restore_options options = {
        .size = sizeof(options), .group = self->group, .selector = only_parts};
    struct io_stat found;
    char to[200], path[300];

    store_union(self);
    NEED(!self->found->status);
    snprintf(to, sizeof(to), "%s/shared", self->bed->dir);
    NEED(!det_checkpoint_download_with(self->det, NULL, &options, to));
    snprintf(path, sizeof(path), "%s/deep/part-1", to);
    NEED(!io_stat(io_system(), path, &found, NULL));
    snprintf(path, sizeof(path), "%s/same", to);
    NEED(io_stat(io_system(), path, &found, NULL) == DET_NOT_FOUND);
    NEED(!det_checkpoint_restore_with(self->det, self->found->uuid, &options, path,
                                      sizeof(path)));
    NEED(strstr(path, self->found->uuid));
    tell(self, det_checkpoint_download_with(self->det, NULL, &options, to));
}

TEST(the_ranks_of_a_node_share_one_download)
{
    struct bed bed;

    make_bed(&bed);
    run(&bed, download_some);
    check_all(&bed, DET_EXISTS, "is not empty");
    end_bed(&bed);
}

/* ---- contradictions -------------------------------------------------------------- */

static void store_conflict(struct self *self)
{
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = 1, .group = self->group};

    write_own(self, "same", self->rank == 2 ? "another" : "content");
    tell(self, det_checkpoint_store_with(self->det, self->own, &options, NULL));
}

static void store_kinds(struct self *self)
{
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = 1, .group = self->group};

    if (self->rank == 1)
        make_own(self, "thing");
    else
        write_own(self, "thing", "x");
    tell(self, det_checkpoint_store_with(self->det, self->own, &options, NULL));
}

static void store_metadata(struct self *self)
{
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = 1, .group = self->group};

    options.metadata = self->rank == 2 ? "{\"lr\":2}" : "{\"lr\":1}";
    tell(self, det_checkpoint_store_with(self->det, self->own, &options, NULL));
}

static void store_no_json(struct self *self)
{
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = 1, .group = self->group};

    options.metadata = self->rank == 1 ? "{" : NULL;
    tell(self, det_checkpoint_store_with(self->det, self->own, &options, NULL));
}

static void store_steps(struct self *self)
{
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = self->rank ? 2 : 1, .group = self->group};

    tell(self, det_checkpoint_store_with(self->det, self->own, &options, NULL));
}

static void store_nothing(struct self *self)
{
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = 1, .group = self->group};
    char path[200];

    snprintf(path, sizeof(path), "%s/not-there", self->own);
    tell(self, det_checkpoint_store_with(self->det, self->rank == 1 ? path : self->own,
                                         &options, NULL));
}

TEST(who_contradicts_or_fails_is_named_to_all_and_nothing_stays)
{
    static const struct {
        story_fn *story;
        det_status status;
        const char *text;
    } cases[] = {
        {store_conflict, DET_INVALID,
         "ranks 0 and 2 save 'same' with different content"},
        {store_kinds, DET_INVALID,
         "'thing' is a directory on rank 1 and a file on rank 0"},
        {store_metadata, DET_INVALID,
         "rank 0 has 'lr' in its metadata as 1, rank 2 as 2"},
        {store_no_json, DET_INVALID, "rank 1: the metadata is not JSON"},
        {store_steps, DET_INVALID, "rank 0 saves after 1 batches, rank 1 after 2"},
        {store_nothing, DET_NOT_FOUND, "rank 1: "},
    };
    struct bed bed;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        make_bed(&bed);
        run(&bed, cases[i].story);
        check_all(&bed, cases[i].status, cases[i].text);
        check_store(&bed, 0);
        end_bed(&bed);
    }
}

/* ---- giving up, and dying -------------------------------------------------------- */

static det_status begin(struct self *self, unsigned flags, det_checkpoint **checkpoint)
{
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = 3, .flags = flags, .group = self->group};

    return det_checkpoint_begin_with(self->det, &options, checkpoint);
}

static void put_one(struct self *self, det_checkpoint *checkpoint)
{
    char name[32];

    snprintf(name, sizeof(name), "part-%d", self->rank);
    NEED(!det_checkpoint_put(checkpoint, name, name, strlen(name)));
}

static void give_up(struct self *self)
{
    det_checkpoint *checkpoint;

    NEED(!begin(self, 0, &checkpoint));
    if (self->rank == 1) {
        NEED(det_checkpoint_put(checkpoint, "../out", "x", 1) == DET_INVALID);
        tell(self, DET_INVALID);
        det_checkpoint_abort(checkpoint);
        return;
    }
    put_one(self, checkpoint);
    tell(self, det_checkpoint_commit(checkpoint));
    NEED(self->found->status);
    det_checkpoint_abort(checkpoint);
}

TEST(a_rank_that_gives_up_takes_its_sentence_to_all)
{
    struct bed bed;

    make_bed(&bed);
    run(&bed, give_up);
    check_all(&bed, DET_INVALID, "'../out' is not a valid path of a file");
    CHECK_HAS(bed.found[0].text, "rank 1: ");
    check_store(&bed, 0);
    end_bed(&bed);
}

static void die(struct self *self)
{
    det_checkpoint *checkpoint;

    NEED(!begin(self, 0, &checkpoint));
    put_one(self, checkpoint);
    if (self->rank == 2)
        kill(getpid(), SIGKILL);
    tell(self, det_checkpoint_commit(checkpoint));
    det_checkpoint_abort(checkpoint);
}

TEST(nobody_waits_for_a_rank_that_died)
{
    struct bed bed;

    make_bed(&bed);
    run(&bed, die);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(bed.found[i].status, DET_UNREACHABLE);
        CHECK_HAS(bed.found[i].text, "rank 2");
    }
    end_bed(&bed);
}

/* ---- behind their backs ---------------------------------------------------------- */

static void save_overlapped(struct self *self)
{
    det_checkpoint_outcome outcome = {.size = sizeof(outcome)};
    det_checkpoint *checkpoint;
    char first[DET_UUID_SIZE], path[300];
    det_status st;

    NEED(!begin(self, DET_CHECKPOINT_OVERLAPPED, &checkpoint));
    memcpy(first, det_checkpoint_uuid(checkpoint), sizeof(first));
    put_one(self, checkpoint);
    NEED(!det_checkpoint_commit(checkpoint));
    do
        st = det_checkpoint_wait(self->det, 0, &outcome);
    while (st == DET_TIMEOUT);
    NEED(!st && !strcmp(outcome.uuid, first));

    /* The next beginning is also a meeting. */
    NEED(!begin(self, DET_CHECKPOINT_OVERLAPPED, &checkpoint));
    put_one(self, checkpoint);
    NEED(!det_checkpoint_commit(checkpoint));
    NEED(!begin(self, DET_CHECKPOINT_OVERLAPPED, &checkpoint));
    memcpy(self->found->uuid, det_checkpoint_uuid(checkpoint), sizeof(first));
    put_one(self, checkpoint);
    NEED(!det_checkpoint_commit(checkpoint));
    NEED(!det_checkpoint_wait(self->det, -1, &outcome));
    NEED(!strcmp(outcome.uuid, self->found->uuid));
    NEED(!det_checkpoint_restore(self->det, NULL, 0, path, sizeof(path)));
    NEED(strstr(path, outcome.uuid));
    tell(self, DET_OK);
}

TEST(parts_written_in_the_background_become_one_when_the_ranks_wait)
{
    struct bed bed;

    make_bed(&bed);
    run(&bed, save_overlapped);
    check_all(&bed, DET_OK, "");
    check_store(&bed, 3);
    check_text(&bed, "part-0", "part-0");
    check_text(&bed, "part-2", "part-2");
    end_bed(&bed);
}

static void give_up_overlapped(struct self *self)
{
    det_checkpoint *checkpoint;

    NEED(!begin(self, DET_CHECKPOINT_OVERLAPPED, &checkpoint));
    put_one(self, checkpoint);
    if (self->rank == 1)
        det_checkpoint_abort(checkpoint);
    else
        NEED(!det_checkpoint_commit(checkpoint));
    tell(self, det_checkpoint_wait(self->det, -1, NULL));
    NEED(!det_checkpoint_wait(self->det, -1, NULL)); /* once */
    NEED(!begin(self, DET_CHECKPOINT_OVERLAPPED, &checkpoint));
    det_checkpoint_abort(checkpoint);
    NEED(det_checkpoint_wait(self->det, -1, NULL) == DET_STATE);
}

TEST(a_part_that_was_given_up_fails_all_when_they_wait)
{
    struct bed bed;

    make_bed(&bed);
    run(&bed, give_up_overlapped);
    check_all(&bed, DET_STATE, "rank 1: it gave the checkpoint up");
    check_store(&bed, 0);
    end_bed(&bed);
}

/* Ignoring the status of a put does not hide the failure from the others. */
static void commit_what_failed(struct self *self)
{
    det_checkpoint *checkpoint;

    NEED(!begin(self, DET_CHECKPOINT_OVERLAPPED, &checkpoint));
    put_one(self, checkpoint);
    if (self->rank == 1)
        NEED(det_checkpoint_put(checkpoint, "../out", "x", 1) == DET_INVALID);
    NEED(!det_checkpoint_commit(checkpoint));
    tell(self, det_checkpoint_wait(self->det, -1, NULL));
}

TEST(a_part_of_which_a_put_failed_is_not_saved)
{
    struct bed bed;

    make_bed(&bed);
    run(&bed, commit_what_failed);
    check_all(&bed, DET_INVALID, "rank 1: '../out' is not a valid path of a file");
    check_store(&bed, 0);
    end_bed(&bed);
}

/* Closes without the others: the unfinished checkpoint is removed. */
static void close_early(struct self *self)
{
    det_checkpoint *checkpoint;

    NEED(!begin(self, DET_CHECKPOINT_OVERLAPPED, &checkpoint));
    put_one(self, checkpoint);
    NEED(!det_checkpoint_commit(checkpoint));
}

TEST(parts_that_never_met_are_removed_at_the_end)
{
    struct bed bed;

    make_bed(&bed);
    run(&bed, close_early);
    check_all(&bed, DET_OK, "");
    check_store(&bed, 0);
    end_bed(&bed);
}

/* Also if the group is gone by then, as after a failed training. */
TEST(a_group_may_be_closed_before_the_context_that_has_a_part)
{
    struct bed bed;

    make_bed(&bed);
    bed.closes_group_first = true;
    run(&bed, close_early);
    check_all(&bed, DET_OK, "");
    check_store(&bed, 0);
    end_bed(&bed);
}

/* ---- out of memory, disks that fail ---------------------------------------------- */

/* On one rank the n-th allocation, write or sync fails: all ranks end the same way, or
 * all but that one have a complete checkpoint.  Every reported checkpoint exists. */
struct strike {
    int rank;
    enum fault_kind kind;
    int64_t nth; /* 0: all are counted */
    bool has_struck;
    int64_t total;
};

static struct strike *strike;

static void arm(const struct self *self)
{
    if (self->rank == strike->rank && strike->nth)
        fault_arm(strike->kind, strike->nth);
    else if (self->rank == strike->rank)
        fault_count(strike->kind);
}

static void disarm(const struct self *self)
{
    if (self->rank == strike->rank && strike->nth)
        strike->has_struck = fault_disarm(strike->kind);
    else if (self->rank == strike->rank)
        strike->total = fault_counted(strike->kind);
}

static void store_struck(struct self *self)
{
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = 3, .group = self->group};
    det_status st;

    write_own(self, "same", "the same for all");
    write_own(self, self->rank ? "b" : "a", self->rank ? "same" : "other");
    arm(self);
    st = det_checkpoint_store_with(self->det, self->own, &options, self->found->uuid);
    disarm(self);
    tell(self, st);
}

static void wait_struck(struct self *self)
{
    det_checkpoint *checkpoint;
    det_status st;

    NEED(!begin(self, DET_CHECKPOINT_OVERLAPPED, &checkpoint));
    put_one(self, checkpoint);
    NEED(!det_checkpoint_commit(checkpoint));
    arm(self);
    st = det_checkpoint_wait(self->det, -1, NULL);
    disarm(self);
    tell(self, st);
}

static void check_reported(const struct bed *bed)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    char path[300];
    struct ring_config config = {.io = io_system(), .dir = path};
    struct ring_reader *reader;

    snprintf(path, sizeof(path), "%s/notes-0/reports", bed->dir);
    CHECK_OK(ring_reader_open(&config, &reader, &test_err));
    for (;;) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        struct ring_batch batch;
        struct report report;
        struct io_stat found;
        struct json *tree;
        size_t used;

        buf_clear(&bytes);
        CHECK_OK(ring_read(reader, 1, &bytes, &batch, &test_err));
        if (batch.first > batch.last)
            break;
        CHECK_OK(report_decode(bytes.data, bytes.len, &report, &used, &test_err));
        if (report.kind != REPORT_CHECKPOINT)
            continue;
        CHECK_OK(json_parse(report.payload, report.len, &mem, &tree, &test_err));
        snprintf(path, sizeof(path), "%s/store/%s", bed->dir,
                 json_str(json_get(tree, "uuid"), "?"));
        CHECK_OK(io_stat(io_system(), path, &found, &test_err));
    }
    ring_reader_close(reader);
}

/* The other ranks end the same way. */
static void check_struck(const struct bed *bed)
{
    const struct found *found = bed->found;
    int one = strike->rank ? 0 : 1;

    if (found[one].status != found[2].status)
        fail_msg("rank %d, kind %d, the %d-th: %s; %s", strike->rank, strike->kind,
                 (int)strike->nth, found[one].text, found[2].text);
    if (found[one].status && !found[strike->rank].status && strike->rank)
        fail_msg("kind %d, the %d-th: rank %d does not know", strike->kind,
                 (int)strike->nth, strike->rank);
    check_reported(bed);
}

static void strike_once(story_fn *story, int64_t nth)
{
    struct bed bed;

    strike->nth = nth;
    make_bed(&bed);
    run(&bed, story);
    check_struck(&bed);
    end_bed(&bed);
}

/* Some of the first calls, and each of the last, which report it. */
static void strike_all(story_fn *story, int rank, enum fault_kind kind)
{
    enum { LAST = 10 };

    strike->rank = rank;
    strike->kind = kind;
    strike_once(story, 0);
    for (int64_t nth = 1; nth < strike->total - LAST; nth += 1 + nth / 2)
        strike_once(story, nth);
    for (int64_t nth = MAX(strike->total - LAST, INT64_C(1)); nth <= strike->total;
         nth++)
        strike_once(story, nth);
}

TEST(a_failure_anywhere_on_one_rank_ends_in_order_on_all)
{
    static const enum fault_kind kinds[] = {FAULT_MEMORY, FAULT_WRITE, FAULT_SYNC};

    strike = shared_memory_new(sizeof(*strike));
    CHECK(strike);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        strike_all(store_struck, 1, kinds[i]);
    strike_all(store_struck, 0, FAULT_SYNC);
    shared_memory_free(strike, sizeof(*strike));
}

TEST(without_memory_on_one_rank_a_wait_ends_in_order_on_all)
{
    strike = shared_memory_new(sizeof(*strike));
    CHECK(strike);
    strike_all(wait_struck, 0, FAULT_MEMORY);
    strike_all(wait_struck, 1, FAULT_MEMORY);
    shared_memory_free(strike, sizeof(*strike));
}
