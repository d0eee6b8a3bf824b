/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint.c - checkpoints of one process: saving, restoring, damage and faults. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "libdet/checkpoint/manifest.h"
#include "tests/unit/libdet/world.h"

#define ROOT "/store/below"

/* A checkpoint of two files and an empty directory; `uuid` gets its name. */
static det_status save(det_context *det, int64_t steps, char uuid[UUID_TEXT])
{
    det_checkpoint *checkpoint;
    det_status st = det_checkpoint_begin(det, steps, "{\"note\":\"x\"}", &checkpoint);

    if (st)
        return st;
    memcpy(uuid, det_checkpoint_uuid(checkpoint), UUID_TEXT);
    st = det_checkpoint_put(checkpoint, "weights", "0123456789", 10);
    if (!st)
        st = det_checkpoint_put(checkpoint, "deep/er/state", "", 0);
    if (!st)
        st = det_checkpoint_commit(checkpoint);
    if (st)
        det_checkpoint_abort(checkpoint);
    return st;
}

static char *path_in(const char *uuid, const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), ROOT "/%s/%s", uuid, name);
    return path;
}

/* Counts the names in the storage, and the drafts among them. */
static void count(struct world *w, size_t *ret_all, size_t *ret_drafts)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char **names;

    *ret_all = *ret_drafts = 0;
    if (io_list(w->io, ROOT, &mem, &names, NULL))
        return;
    for (; *names; names++) {
        ++*ret_all;
        *ret_drafts += !strncmp(*names, ".det-", 5);
    }
}

TEST(a_checkpoint_is_written_reported_and_restored)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    struct ring_reader *reader;
    struct report report;
    struct world w;
    det_context *det;
    char uuid[UUID_TEXT], path[200], metadata[100];
    size_t len;

    world_make(&w);
    det = world_open(&w);
    reader = world_reader(&w, "/task/reports");

    CHECK_EQ(det_checkpoint_restore(det, NULL, 0, path, sizeof(path)), DET_NOT_FOUND);
    CHECK_STR(det_context_error(det), "this trial has no checkpoint yet");
    CHECK_OK(save(det, 12, uuid));
    CHECK_OK(det_checkpoint_restore(det, NULL, 0, path, sizeof(path)));
    CHECK_HAS(path, uuid);
    CHECK_OK(io_read_file(w.io, path_in(uuid, "weights"), &bytes, &test_err));
    CHECK_STR(bytes.data, "0123456789");
    CHECK_OK(det_checkpoint_metadata(det, uuid, metadata, sizeof(metadata), &len));
    CHECK_STR(metadata, "{\"note\":\"x\",\"steps_completed\":12}");
    CHECK_EQ(len, strlen(metadata));

    report = world_next(reader, &bytes);
    CHECK_EQ(report.kind, REPORT_CHECKPOINT);
    CHECK_HAS(report.payload, uuid);
    CHECK_HAS(report.payload,
              "\"deep/\":\"0\",\"deep/er/\":\"0\",\"deep/er/state\":\"0\","
              "\"metadata.json\":\"34\",\"weights\":\"10\","
              "\"manifest.det.json\":");
    CHECK_HAS(report.payload, "\"steps_completed\":12");
    CHECK_HAS(report.payload, "\"allocationId\":\"3.abc.2\"");
    CHECK_EQ(det_checkpoint_restore(det, uuid, 0, path, 5), DET_TOO_LARGE);

    ring_reader_close(reader);
    det_close(det);
    world_end(&w);
}

TEST(an_aborted_checkpoint_and_drafts_of_earlier_runs_are_removed)
{
    struct world w;
    det_context *det;
    det_checkpoint *checkpoint;
    size_t all, drafts;

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(io_mkdir(w.io, ROOT "/.det-0badcafe-7-1-left/over", false, &test_err));
    CHECK_OK(io_mkdir(w.io, ROOT "/.det-0badcafe-7-2-mine", false, &test_err));
    CHECK_OK(io_mkdir(w.io, ROOT "/.det-0badcafe-77-1-other", false, &test_err));
    CHECK_OK(io_mkdir(w.io, ROOT "/.det-feedbeef-7-1-strange", false, &test_err));

    CHECK_OK(det_checkpoint_begin(det, 1, NULL, &checkpoint));
    CHECK(!world_has(&w, ROOT "/.det-0badcafe-7-1-left"));
    CHECK(world_has(&w, ROOT "/.det-0badcafe-7-2-mine"));
    CHECK(world_has(&w, ROOT "/.det-0badcafe-77-1-other"));
    CHECK(world_has(&w, ROOT "/.det-feedbeef-7-1-strange"));
    CHECK_OK(det_checkpoint_put(checkpoint, "a", "b", 1));
    det_checkpoint_abort(checkpoint);
    count(&w, &all, &drafts);
    CHECK_EQ(all, 3);
    det_checkpoint_abort(NULL);

    det_close(det);
    world_end(&w);
}

/* ---- damage ---------------------------------------------------------------------- */

struct damage {
    const char *name;
    const char *bytes; /* NULL: removed */
    const char *says;
};

TEST(what_is_damaged_is_noticed_and_named)
{
    static const struct damage cases[] = {
        {"weights", NULL, "'weights' of the checkpoint is missing"},
        {"weights", "012345678", "'weights' of the checkpoint has 9 bytes, not 10"},
        {"weights", "0123456788", "'weights' of the checkpoint has changed"},
        {"metadata.json", "{}", "'metadata.json' of the checkpoint has 2 bytes"},
        {"deep/er/state", NULL, "'deep/er/state' of the checkpoint is missing"},
        {"manifest.det.json", NULL, "manifest.det.json' is missing"},
        {"manifest.det.json", "", "manifest.det.json is damaged: it is cut short"},
        {"manifest.det.json", "{\"format\":1,\"files\":[],\"check\":\"00000000\"}\n",
         "manifest.det.json is damaged: its checksum does not match"},
    };
    struct world w;
    det_context *det;
    char uuid[UUID_TEXT], path[200];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        world_make(&w);
        det = world_open(&w);
        CHECK_OK(save(det, 1, uuid));
        if (cases[i].bytes)
            world_file(&w, path_in(uuid, cases[i].name), cases[i].bytes);
        else
            CHECK_OK(io_remove(w.io, path_in(uuid, cases[i].name), &test_err));
        CHECK_EQ(det_checkpoint_restore(det, uuid, 0, path, sizeof(path)), DET_CORRUPT);
        CHECK_HAS(det_context_error(det), cases[i].says);
        CHECK_HAS(det_context_error(det), uuid);
        CHECK_EQ(det_checkpoint_download(det, uuid, 0, "/out"), DET_CORRUPT);
        CHECK_OK(det_checkpoint_restore(det, uuid, DET_RESTORE_UNCHECKED, path,
                                        sizeof(path)));
        det_close(det);
        world_end(&w);
    }
}

/* Flips every bit of the manifest. */
TEST(no_flipped_bit_of_a_manifest_passes)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct world w;
    det_context *det;
    char uuid[UUID_TEXT], path[200];

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(save(det, 1, uuid));
    CHECK_OK(io_read_file(w.io, path_in(uuid, MANIFEST_NAME), &text, &test_err));
    for (size_t bit = 0; bit < text.len * 8; bit += 3) {
        text.data[bit / 8] ^= (char)(1 << bit % 8);
        CHECK_OK(io_replace(w.io, path_in(uuid, MANIFEST_NAME), text.data, text.len,
                            false, &test_err));
        CHECK_EQ(det_checkpoint_restore(det, uuid, 0, path, sizeof(path)), DET_CORRUPT);
        text.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    det_close(det);
    world_end(&w);
}

TEST(a_manifest_that_leads_out_of_its_directory_is_refused)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(manifest_done) struct manifest manifest = {0}, again = {0};
    struct manifest_file file = {.path = "../../secret", .has_crc = true};
    struct world w;
    struct err err = {0};

    world_make(&w);
    CHECK_OK(io_mkdir(w.io, "/c", false, &test_err));
    CHECK(vec_push(&manifest.files, file));
    CHECK_OK(manifest_write(w.io, "/c", &manifest, &test_err));
    CHECK_EQ(manifest_read(w.io, "/c", &mem, &again, &err), DET_CORRUPT);
    CHECK_HAS(err.text, "'../../secret', which leads out");
    manifest.files.at[0].path = "/etc/passwd";
    CHECK_OK(manifest_write(w.io, "/c", &manifest, &test_err));
    CHECK_EQ(manifest_read(w.io, "/c", &mem, &again, &err), DET_CORRUPT);
    world_end(&w);
}

TEST(a_manifest_of_a_newer_format_is_refused_by_name)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(manifest_done) struct manifest manifest = {0};
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct world w;
    struct err err = {0};

    world_make(&w);
    CHECK_OK(io_mkdir(w.io, "/c", false, &test_err));
    buf_puts(&text, "{\"format\":2,\"files\":[]");
    buf_printf(&text, ",\"check\":\"%08" PRIx32 "\"}\n",
               crc32c(0, text.data, text.len));
    world_file(&w, "/c/" MANIFEST_NAME, text.data);
    CHECK_EQ(manifest_read(w.io, "/c", &mem, &manifest, &err), DET_UNSUPPORTED);
    CHECK_HAS(err.text, "has format 2, and this version of det reads format 1");
    world_end(&w);
}

TEST(names_and_uuids_that_lead_elsewhere_are_refused)
{
    static const char *const names[] = {"../x",
                                        "/x",
                                        "a/../../x",
                                        "",
                                        "a/",
                                        "./a",
                                        "a//b",
                                        "a/.",
                                        "metadata.json",
                                        "manifest.det.json"};
    struct world w;
    det_context *det;
    det_checkpoint *checkpoint;
    char path[200];

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(det_checkpoint_begin(det, 1, NULL, &checkpoint));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK_EQ(det_checkpoint_put(checkpoint, names[i], "x", 1), DET_INVALID);
    CHECK_EQ(det_checkpoint_put(checkpoint, NULL, "x", 1), DET_INVALID);
    CHECK_EQ(det_checkpoint_put(checkpoint, "x", NULL, 1), DET_INVALID);
    CHECK_EQ(det_checkpoint_put(NULL, "x", "x", 1), DET_INVALID);
    det_checkpoint_abort(checkpoint);
    CHECK_EQ(det_checkpoint_restore(det, "../../etc", 0, path, sizeof(path)),
             DET_INVALID);
    CHECK_EQ(det_checkpoint_restore(det, "d9a1c1f0-0000-4000-8000-000000000001", 0,
                                    path, sizeof(path)),
             DET_NOT_FOUND);
    CHECK_EQ(det_checkpoint_begin(det, -1, NULL, &checkpoint), DET_INVALID);
    CHECK_EQ(det_checkpoint_begin(det, 1, "[]", &checkpoint), DET_INVALID);
    CHECK_EQ(det_checkpoint_begin(det, 1, "{", &checkpoint), DET_INVALID);
    CHECK_HAS(det_context_error(det), "the metadata is not JSON");
    CHECK_EQ(det_checkpoint_commit(NULL), DET_INVALID);
    det_close(det);
    world_end(&w);
}

TEST(storage_that_is_not_built_is_named)
{
    struct world w;
    det_context *det;
    det_checkpoint *checkpoint;

    world_make(&w);
    world_set(&w, "DET_EXPERIMENT_CONFIG",
              "{\"checkpoint_storage\":{\"type\":\"s3\",\"bucket\":\"b\"}}");
    det = world_open(&w);
    CHECK_EQ(det_checkpoint_begin(det, 1, NULL, &checkpoint), DET_UNSUPPORTED);
    CHECK_HAS(det_context_error(det), "'s3' is not implemented");
    det_close(det);
    world_set(&w, "DET_EXPERIMENT_CONFIG",
              "{\"checkpoint_storage\":{\"type\":\"directory\","
              "\"container_path\":\"here\"}}");
    det = world_open(&w);
    CHECK_EQ(det_checkpoint_begin(det, 1, NULL, &checkpoint), DET_INVALID);
    det_close(det);
    world_end(&w);
}

/* ---- faults ---------------------------------------------------------------------- */

/* Whether the ring holds a report of the checkpoint. */
static bool is_reported(struct world *w, const char *uuid)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    struct ring_reader *reader = world_reader(w, "/task/reports");
    struct ring_batch batch;
    bool found;

    CHECK_OK(ring_read(reader, 8 << 20, &bytes, &batch, &test_err));
    found = memmem(bytes.data, bytes.len, uuid, strlen(uuid)) != NULL;
    ring_reader_close(reader);
    return found;
}

/* Whatever fails: every reported checkpoint is complete, and no failed one is left
 * over. */
static bool survives_fault(enum fault_kind kind, int64_t nth)
{
    struct world w;
    det_context *det;
    char uuid[UUID_TEXT] = "none", path[200];
    size_t all, drafts;
    bool fired;
    det_status st;

    world_make(&w);
    det = world_open(&w);
    fault_arm(kind, nth);
    st = save(det, 1, uuid);
    fired = fault_disarm(kind);
    count(&w, &all, &drafts);
    if (st) {
        CHECK(fired);
        CHECK(!is_reported(&w, uuid));
        CHECK_EQ(all, 0);
        CHECK_OK(save(det, 2, uuid));
    }
    CHECK(is_reported(&w, uuid));
    CHECK_OK(det_checkpoint_restore(det, uuid, 0, path, sizeof(path)));
    det_close(det);
    world_end(&w);
    return fired;
}

TEST(no_failed_write_sync_or_allocation_leaves_half_a_checkpoint)
{
    static const enum fault_kind kinds[] = {FAULT_WRITE, FAULT_SYNC, FAULT_MEMORY};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (int64_t nth = 1; survives_fault(kinds[i], nth); nth++)
            ;
}

TEST(a_committed_checkpoint_survives_the_loss_of_power)
{
    struct world w;
    det_context *det;
    char uuid[UUID_TEXT], path[200];

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(save(det, 1, uuid));
    det_close(det);
    io_crash(w.io);
    world_make_ring(&w); /* of its next run */
    det = world_open(&w);
    CHECK_OK(det_checkpoint_restore(det, uuid, 0, path, sizeof(path)));
    det_close(det);
    world_end(&w);
}

TEST(many_files_need_few_syncs_and_survive_the_loss_of_power)
{
    enum { FILES = 1000, FEW = 20 };
    det_checkpoint *checkpoint;
    det_context *det;
    struct world w;
    char uuid[UUID_TEXT], path[200], name[64];

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(det_checkpoint_begin(det, 1, NULL, &checkpoint));
    memcpy(uuid, det_checkpoint_uuid(checkpoint), UUID_TEXT);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "d%d/f%d", i / 2, i);
        CHECK_OK(det_checkpoint_put(checkpoint, name, name, strlen(name)));
    }
    fault_count(FAULT_SYNC);
    CHECK_OK(det_checkpoint_commit(checkpoint));
    CHECK(fault_counted(FAULT_SYNC) < FEW);
    det_close(det);
    io_crash(w.io);
    det = world_open(&w);
    CHECK_OK(det_checkpoint_restore(det, uuid, 0, path, sizeof(path)));
    det_close(det);
    world_end(&w);
}

TEST(a_failed_sync_of_many_files_saves_nothing)
{
    enum { FILES = 300 };
    det_checkpoint *checkpoint;
    det_context *det;
    struct world w;
    char name[64];

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(det_checkpoint_begin(det, 1, NULL, &checkpoint));
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        CHECK_OK(det_checkpoint_put(checkpoint, name, name, strlen(name)));
    }
    fault_arm(FAULT_SYNC, 3); /* the metadata is synced before: file and folder */
    CHECK_EQ(det_checkpoint_commit(checkpoint), DET_IO);
    fault_disarm(FAULT_SYNC);
    det_checkpoint_abort(checkpoint);
    det_close(det);
    world_end(&w);
}

TEST(a_full_disk_is_said_and_later_there_is_room_again)
{
    static char much[2 << 20];
    struct world w;
    det_context *det;
    det_checkpoint *checkpoint;
    char uuid[UUID_TEXT];

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(det_checkpoint_begin(det, 1, NULL, &checkpoint));
    io_memory_limit(w.io, 2 << 20);
    CHECK_OK(det_checkpoint_put(checkpoint, "a", much, sizeof(much) / 4));
    CHECK_EQ(det_checkpoint_put(checkpoint, "b", much, sizeof(much)), DET_FULL);
    CHECK_HAS(det_context_error(det), "/b'");
    det_checkpoint_abort(checkpoint);
    io_memory_limit(w.io, 0);
    CHECK_OK(save(det, 1, uuid));
    det_close(det);
    world_end(&w);
}

/* Reports until the ring's segment is full and the disk has no room for another;
 * returns how many were accepted. */
static int fill_ring(struct world *w, det_context *det)
{
    static char much[64 << 10];
    int count = 0;
    det_status st;

    memset(much, 'x', sizeof(much) - 1);
    memcpy(much, "{\"a\":\"", 6);
    memcpy(much + sizeof(much) - 3, "\"}", 2);
    CHECK_OK(det_report_progress(det, 0)); /* the first segment */
    io_memory_limit(w->io, 1);
    for (st = DET_OK; !st; count++)
        st = det_report_json(det, "x", count, much, NULL);
    CHECK_EQ(st, DET_BUSY);
    do
        st = det_report_progress(det, 0.5); /* the rest of it */
    while (!st);
    CHECK_EQ(st, DET_BUSY);
    return count - 1;
}

TEST(a_full_ring_refuses_the_report_and_a_second_commit_sends_it)
{
    enum { ROOM = 256 << 10 };
    struct world w;
    det_context *det;
    det_checkpoint *checkpoint;
    char uuid[UUID_TEXT], path[200];
    uint64_t limit;

    world_make(&w);
    det = world_open(&w);
    CHECK(fill_ring(&w, det) > 0);
    CHECK(strlen(det_context_error(det)) > 10);

    io_memory_limit(w.io, 0);
    CHECK_OK(det_checkpoint_begin(det, 1, NULL, &checkpoint));
    CHECK_OK(det_checkpoint_put(checkpoint, "weights", "0123456789", 10));
    memcpy(uuid, det_checkpoint_uuid(checkpoint), UUID_TEXT);
    /* room for the small files of a checkpoint, but not for a segment of the ring */
    for (limit = ROOM; limit < UINT64_C(1) << 30; limit += ROOM) {
        det_status st;

        io_memory_limit(w.io, limit);
        st = det_checkpoint_commit(checkpoint);
        if (st == DET_BUSY)
            break;
        CHECK_EQ(st, DET_FULL);
    }
    CHECK(!is_reported(&w, uuid));
    CHECK_EQ(det_checkpoint_put(checkpoint, "late", "x", 1), DET_STATE);
    CHECK_EQ(det_checkpoint_commit(checkpoint), DET_BUSY);
    io_memory_limit(w.io, 0);
    CHECK_OK(det_checkpoint_commit(checkpoint));
    CHECK(is_reported(&w, uuid));
    CHECK_OK(det_checkpoint_restore(det, uuid, 0, path, sizeof(path)));
    det_close(det);
    world_end(&w);
}

/* ---- directories of the user's --------------------------------------------------- */

TEST(a_directory_is_stored_and_downloaded_again)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    struct world w;
    det_context *det;
    char uuid[DET_UUID_SIZE];

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(io_mkdir(w.io, "/mine/sub", false, &test_err));
    world_file(&w, "/mine/a", "one");
    world_file(&w, "/mine/sub/b", "two");
    CHECK_OK(det_checkpoint_store(det, "/mine", 5, NULL, uuid));
    world_file(&w, "/mine/a", "changed later");
    CHECK_OK(det_checkpoint_download(det, uuid, 0, "/out/there"));
    CHECK_OK(io_read_file(w.io, "/out/there/a", &bytes, &test_err));
    CHECK_STR(bytes.data, "one");
    CHECK(world_has(&w, "/out/there/sub/b"));
    CHECK(world_has(&w, "/out/there/metadata.json"));
    CHECK_EQ(det_checkpoint_store(det, "/nothing", 5, NULL, uuid), DET_NOT_FOUND);
    CHECK_EQ(det_checkpoint_store(det, NULL, 5, NULL, uuid), DET_INVALID);
    det_close(det);
    world_end(&w);
}

TEST(a_latest_checkpoint_that_is_gone_is_damage_and_not_none_yet)
{
    struct world w;
    det_context *det;
    char path[200];

    world_make(&w);
    world_set(&w, "DET_LATEST_CHECKPOINT", "d9a1c1f0-0000-4000-8000-000000000001");
    det = world_open(&w);
    CHECK_EQ(det_checkpoint_restore(det, NULL, 0, path, sizeof(path)), DET_CORRUPT);
    CHECK_HAS(det_context_error(det), "d9a1c1f0-0000-4000-8000-000000000001");
    CHECK_HAS(det_context_error(det), "it was removed, or the storage is not mounted");
    CHECK_EQ(det_checkpoint_download(det, NULL, DET_RESTORE_UNCHECKED, "/out"),
             DET_CORRUPT);
    CHECK(!world_has(&w, ROOT)); /* looking must not make anything */
    CHECK_EQ(det_checkpoint_restore(det, "d9a1c1f0-0000-4000-8000-000000000001", 0,
                                    path, sizeof(path)),
             DET_NOT_FOUND);
    det_close(det);
    world_end(&w);
}

TEST(a_copy_goes_into_an_empty_folder_and_leaves_none_half_full)
{
    struct world w;
    det_context *det;
    char uuid[UUID_TEXT];
    int round = 0;

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(save(det, 1, uuid));
    CHECK_OK(io_mkdir(w.io, "/out", false, &test_err));
    world_file(&w, "/out/other", "mine");
    CHECK_EQ(det_checkpoint_download(det, NULL, 0, "/out"), DET_EXISTS);
    CHECK_HAS(det_context_error(det), "the folder '/out' is not empty");
    CHECK(!world_has(&w, "/out/weights"));
    EACH_ALLOCATION_FAILS() {
        char to[20], file[40];
        det_status st;

        snprintf(to, sizeof(to), "/to/%d", round++);
        snprintf(file, sizeof(file), "%s/weights", to);
        st = det_checkpoint_download(det, uuid, 0, to);
        CHECK(st == DET_OK || (fault_fired() && st == DET_NOMEM));
        CHECK_EQ(world_has(&w, file), !st);
    }
    det_close(det);
    world_end(&w);
}

TEST(files_of_the_librarys_own_names_are_not_replaced_in_silence)
{
    struct world w;
    det_context *det;
    det_checkpoint *checkpoint;
    char uuid[DET_UUID_SIZE], path[200];
    size_t all, drafts;

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(io_mkdir(w.io, "/mine/sub", false, &test_err));
    world_file(&w, "/mine/metadata.json", "{\"steps_completed\": 7}\n");
    CHECK_EQ(det_checkpoint_store(det, "/mine", 5, NULL, uuid), DET_INVALID);
    CHECK_HAS(det_context_error(det), "'metadata.json' in '/mine' cannot be saved");
    world_file(&w, "/mine/metadata.json", "not JSON");
    CHECK_EQ(det_checkpoint_store(det, "/mine", 5, NULL, uuid), DET_INVALID);
    world_file(&w, "/mine/metadata.json", "{\"note\":1}\n");
    CHECK_EQ(det_checkpoint_store(det, "/mine", 5, NULL, uuid), DET_INVALID);
    CHECK_OK(io_remove(w.io, "/mine/metadata.json", &test_err));
    world_file(&w, "/mine/manifest.det.json", "{}");
    CHECK_EQ(det_checkpoint_store(det, "/mine", 5, NULL, uuid), DET_INVALID);
    CHECK_HAS(det_context_error(det), "'manifest.det.json' in '/mine' cannot be saved");
    count(&w, &all, &drafts);
    CHECK_EQ(all, 0);
    /* written directly: also refused; without the file it can be committed */
    CHECK_OK(det_checkpoint_begin(det, 1, NULL, &checkpoint));
    snprintf(path, sizeof(path), "%s/metadata.json", det_checkpoint_path(checkpoint));
    world_file(&w, path, "mine");
    CHECK_EQ(det_checkpoint_commit(checkpoint), DET_INVALID);
    CHECK_OK(io_remove(w.io, path, &test_err));
    CHECK_OK(det_checkpoint_commit(checkpoint));
    /* allowed: the name in a subdirectory, and the files of a restored checkpoint */
    CHECK_OK(io_remove(w.io, "/mine/manifest.det.json", &test_err));
    world_file(&w, "/mine/sub/metadata.json", "x");
    CHECK_OK(det_checkpoint_store(det, "/mine", 5, "{\"note\":[1.5,\"x\"]}", uuid));
    CHECK_OK(det_checkpoint_download(det, uuid, 0, "/back"));
    CHECK_OK(det_checkpoint_store(det, "/back", 6, NULL, uuid));
    det_close(det);
    world_end(&w);
}

/* Records what a selector is asked; fails at the library's own names. */
static int picky(void *self, const char *path)
{
    char *asked = self;

    (void)snprintf(asked + strlen(asked), 200 - strlen(asked), "%s ", path);
    return strchr(path, '.') ? -1 : 1;
}

TEST(a_selector_is_asked_only_about_what_is_there_and_its_failure_is_told)
{
    char asked[200] = "";
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = 1, .selector = picky, .selector_self = asked};
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(io_mkdir(w.io, "/mine", false, &test_err));
    world_file(&w, "/mine/a", "one");
    CHECK_OK(det_checkpoint_store_with(det, "/mine", &options, NULL));
    CHECK_STR(asked, "a ");
    world_file(&w, "/mine/manifest.det.json", "{}");
    CHECK_EQ(det_checkpoint_store_with(det, "/mine", &options, NULL), DET_FAILED);
    CHECK_HAS(det_context_error(det), "the selector failed at 'manifest.det.json'");
    det_close(det);
    world_end(&w);
}

/* On real files: links, and files large enough for several threads. */
TEST(large_files_are_summed_by_several_threads_and_links_are_refused)
{
    enum { SIZE = 6 << 20 };
    char dir[] = "/tmp/det-large-XXXXXX";
    det_init_options options = {.size = sizeof(options)};
    det_context *det;
    det_checkpoint *checkpoint;
    char path[512], name[600];
    char *bytes = malloc(SIZE);
    FILE *file;

    CHECK(bytes && mkdtemp(dir));
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 31);
    unsetenv("DET_ALLOCATION_ID");
    options.directory = dir;
    CHECK_OK(det_init(&options, &det));
    CHECK_OK(det_checkpoint_begin(det, 1, NULL, &checkpoint));
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s/file%d", det_checkpoint_path(checkpoint), i);
        file = fopen(name, "w");
        CHECK(file && fwrite(bytes, 1, SIZE, file) == SIZE && !fclose(file));
    }
    CHECK_OK(det_checkpoint_put(checkpoint, "put", bytes, SIZE));
    CHECK_OK(det_checkpoint_commit(checkpoint));
    CHECK_OK(det_checkpoint_restore(det, NULL, 0, path, sizeof(path)));
    snprintf(name, sizeof(name), "%s/file1", path);
    file = fopen(name, "r+");
    CHECK(file && !fseek(file, SIZE - 1, SEEK_SET) && fputc('!', file) == '!');
    CHECK(!fclose(file));
    CHECK_EQ(det_checkpoint_restore(det, NULL, 0, path, sizeof(path)), DET_CORRUPT);
    CHECK_HAS(det_context_error(det), "'file1' of the checkpoint has changed");

    CHECK_OK(det_checkpoint_begin(det, 2, NULL, &checkpoint));
    snprintf(name, sizeof(name), "%s/link", det_checkpoint_path(checkpoint));
    CHECK(!symlink("/etc/passwd", name));
    CHECK_EQ(det_checkpoint_commit(checkpoint), DET_INVALID);
    CHECK_HAS(det_context_error(det), "'link' in the checkpoint is a link");
    det_checkpoint_abort(checkpoint);
    det_close(det);
    CHECK_OK(io_remove_tree(io_system(), dir, &test_err));
    free(bytes);
}

TEST(a_run_without_a_master_may_save_elsewhere)
{
    det_init_options options = {
        .size = sizeof(options),
        .directory = "/mine",
        .checkpoint_storage = "{\"type\":\"directory\",\"container_path\":\"/all\"}"};
    struct world w;
    det_context *det, *other;
    det_checkpoint *checkpoint;
    char uuid[UUID_TEXT], path[200];

    world_make(&w);
    world_set(&w, "DET_ALLOCATION_ID", "");
    CHECK_OK(context_open(&w.at, &options, &det, &test_err));
    CHECK_OK(det_checkpoint_begin(det, 1, NULL, &checkpoint));
    options.directory = "/other"; /* the second run there must not remove this draft */
    CHECK_OK(context_open(&w.at, &options, &other, &test_err));
    det_close(other);
    CHECK_OK(context_open(&w.at, &options, &other, &test_err));
    CHECK_OK(save(other, 30, uuid));
    CHECK_OK(det_checkpoint_restore(other, uuid, 0, path, sizeof(path)));
    CHECK_HAS(path, "/all/");
    CHECK_OK(det_checkpoint_restore(det, uuid, 0, path, sizeof(path)));
    CHECK_OK(det_checkpoint_put(checkpoint, "file", "x", 1));
    CHECK_OK(det_checkpoint_commit(checkpoint));
    det_close(other);
    det_close(det);

    options.checkpoint_storage = "[1]";
    CHECK_EQ(context_open(&w.at, &options, &det, &test_err), DET_INVALID);
    CHECK_HAS(test_err.text, "checkpoint_storage");
    options.checkpoint_storage = "{\"type\":\"s3\"}";
    CHECK_OK(context_open(&w.at, &options, &det, &test_err));
    CHECK_EQ(det_checkpoint_begin(det, 1, NULL, &checkpoint), DET_UNSUPPORTED);
    det_close(det);
    world_end(&w);
}

TEST(the_next_run_without_a_master_begins_from_the_last_checkpoint)
{
    det_init_options options = {.size = sizeof(options), .directory = "/mine"};
    struct world w;
    det_context *det;
    char uuid[UUID_TEXT], path[200];

    world_make(&w);
    world_set(&w, "DET_ALLOCATION_ID", "");
    CHECK_OK(context_open(&w.at, &options, &det, &test_err));
    CHECK_OK(save(det, 30, uuid));
    det_close(det);
    CHECK_OK(context_open(&w.at, &options, &det, &test_err));
    CHECK_STR(det_get_info(det)->latest_checkpoint, uuid);
    CHECK_EQ(det_get_info(det)->steps_completed, 30);
    CHECK_OK(det_checkpoint_restore(det, NULL, 0, path, sizeof(path)));
    CHECK_HAS(path, "/mine/checkpoints/");
    det_close(det);
    world_end(&w);
}
