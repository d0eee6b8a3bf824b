/* SPDX-License-Identifier: Apache-2.0 */
/* fault_damage.c - truncated files and flipped bits: they are found, reported and
 * contained; a disk that fills and is emptied again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/rng.h"
#include "core/event.h"
#include "master/master.h"
#include "store/engine/db.h"
#include "tests/fault/master_bed.h"

static const char experiment[] =
    "{\"config\":\"name: t\\nentrypoint: x\\nsearcher: {name: single, metric: "
    "loss}\\n\","
    "\"activate\":true,\"modelDefinition\":[{\"path\":\"a\",\"type\":48,"
    "\"content\":\"aGk=\"}]}";

#define SECOND_US INT64_C(1000000)

static struct sweep nothing = {.story = "damage"};

static int create(struct bed *bed)
{
    bed_call(bed, AS_USER, bed->user, NET_POST, "/api/v1/experiments", experiment);
    return bed->status;
}

/* A master with some experiments, ended properly. */
static void bed_fill(struct bed *bed)
{
    bed_open(bed, &nothing);
    bed_log_in(bed);
    bed_hello(bed);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(create(bed), 200);
    bed_end(bed);
}

static void read_file(struct io *io, const char *path, struct buf *ret_bytes)
{
    buf_clear(ret_bytes);
    CHECK_OK(io_read_file(io, path, ret_bytes, &test_err));
}

static void write_file(struct io *io, const char *path, const void *bytes, size_t len)
{
    CHECK_OK(io_replace(io, path, bytes, len, true, &test_err));
}

/* ---- the database -------------------------------------------------------------------
 */

static const char *const paths[] = {
    "/api/v1/experiments",   "/api/v1/experiments/1", "/api/v1/experiments/5/trials",
    "/api/v1/trials/1",      "/api/v1/agents",        "/api/v1/users",
    "/api/v1/trials/1/logs", "/api/v1/job-queues-v2",
};

/* Starts and reads everything.  Damage is reported (DET_CORRUPT, 500, the file and the
 * remedy); undamaged data may work; nothing hangs and nothing crashes. */
static bool use_damaged(struct bed *bed)
{
    struct err err = {0};
    bool is_found = false;
    det_status st = bed_begin(bed, &err);

    if (st) {
        sweep_check_sentence(err.text);
        bed_end(bed);
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        bed->is_lenient = true;
        bed_call(bed, AS_USER, bed->user, NET_GET, paths[i], NULL);
        is_found = is_found || bed->status != 200;
    }
    bed_end(bed);
    return is_found;
}

TEST(a_flipped_bit_in_the_database_breaks_nothing_else)
{
    CLEANUP(buf_done) struct buf whole = BUF_INIT;
    struct rng64 rng = {.state = 3};
    struct bed bed;
    int found = 0;

    bed_fill(&bed);
    read_file(bed.io, "/data/det.db", &whole);
    for (int i = 0; i < 100; i++) {
        size_t at = (size_t)rng64_below(&rng, whole.len);

        /* Whole pages too: most bits lie in what is never read. */
        for (size_t k = 0; k < (i % 2 ? 1 : 64) && at + k < whole.len; k++)
            whole.data[at + k] ^= (char)(1 << rng64_below(&rng, 8));
        write_file(bed.io, "/data/det.db", whole.data, whole.len);
        found += use_damaged(&bed);
    }
    CHECK(found > 10); /* damage piles up: it does not stay hidden for long */
    bed_close(&bed);
}

TEST(a_database_that_was_cut_short_is_refused_and_left_as_it_is)
{
    CLEANUP(buf_done) struct buf whole = BUF_INIT;
    CLEANUP(buf_done) struct buf after = BUF_INIT;
    struct bed bed;
    int refused = 0;

    bed_fill(&bed);
    read_file(bed.io, "/data/det.db", &whole);
    for (size_t part = 1; part < 8; part++) {
        size_t len = whole.len * part / 8 + part;
        struct err err = {0};
        det_status st;

        write_file(bed.io, "/data/det.db", whole.data, len);
        st = bed_begin(&bed, &err);
        bed_end(&bed);
        if (!st)
            continue;
        refused++;
        CHECK_EQ(st, DET_CORRUPT);
        CHECK_HAS(err.text, "/data/det.db");
        CHECK_HAS(err.text, "restore a backup");
        read_file(bed.io, "/data/det.db", &after);
        CHECK_EQ(after.len, len);
    }
    CHECK(refused > 0);
    write_file(bed.io, "/data/det.db", whole.data, whole.len);
    bed_restart(&bed);
    (void)bed_look(&bed, "/api/v1/experiments/5");
    bed_close(&bed);
}

/* ---- the journal --------------------------------------------------------------------
 */

static void exec_sql(struct bed *bed, const char *text)
{
    struct db *db;

    CHECK_OK(db_open(bed->io, "/data/det.db", false, &db, &test_err));
    CHECK_OK(db_exec(db, text, &test_err));
    db_close(db);
}

/* The number before it is missing altogether. */
TEST(a_damaged_entry_of_the_journal_is_left_out)
{
    static const char *const entries[] = {"'no JSON {'", "'[]'", "NULL", "'{}'"};

    for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
        struct bed bed;
        char text[300];

        bed_fill(&bed);
        (void)snprintf(text, sizeof(text),
                       "INSERT INTO journal (seq, kind, data) VALUES (2, %d, %s);"
                       "INSERT OR REPLACE INTO numbers (name, value)"
                       " VALUES ('store.journal', 3)",
                       i == 3 ? 4711 : EVENT_SHARE_EXITED, entries[i]);
        exec_sql(&bed, text);
        bed_restart(&bed);
        bed_hello(&bed);
        CHECK_EQ(create(&bed), 200);
        (void)bed_look(&bed, "/api/v1/experiments/6");
        bed_end(&bed);
        exec_sql(&bed, "CREATE TABLE proof AS SELECT 1 / (SELECT COUNT(*) = 0 FROM"
                       " journal) AS one");
        bed_close(&bed);
    }
}

/* ---- secrets ------------------------------------------------------------------------
 */

TEST(a_damaged_secret_names_its_file_and_the_way_out)
{
    static const char *const files[] = {"/data/agent.token", "/data/secret.key"};

    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        for (size_t len = 0; len < 40; len += 13) {
            CLEANUP(buf_done) struct buf whole = BUF_INIT;
            struct err err = {0};
            struct bed bed;

            bed_fill(&bed);
            read_file(bed.io, files[i], &whole);
            if (len >= whole.len)
                len = whole.len - 1;
            write_file(bed.io, files[i], whole.data, len);
            CHECK_EQ(bed_begin(&bed, &err), DET_CORRUPT);
            CHECK_HAS(err.text, files[i]);
            CHECK_HAS(err.text, "remove it to have a new one made");
            sweep_check_sentence(err.text);
            bed_end(&bed);
            write_file(bed.io, files[i], whole.data, whole.len);
            bed_restart(&bed);
            (void)bed_look(&bed, "/api/v1/experiments/5");
            bed_close(&bed);
        }
}

/* ---- a full disk --------------------------------------------------------------------
 */

static int64_t count_experiments(struct bed *bed)
{
    struct json *reply = bed_look(bed, "/api/v1/experiments?limit=-2");

    return json_i64(json_path(reply, "pagination.total"), -1);
}

/* On a full disk the master refuses new data with one sentence, and old data can be
 * read.  When there is room again, the same process continues. */
TEST(on_a_full_disk_new_work_stops_and_goes_on_when_there_is_room)
{
    struct bed bed;
    uint32_t lives;

    bed_fill(&bed);
    bed_restart(&bed);
    bed_hello(&bed);
    lives = bed.lives;
    for (int round = 0; round < 3; round++) {
        io_memory_limit(bed.io, 1);
        bed.is_lenient = true;
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(create(&bed), 503);
            CHECK_HAS(json_str(json_path(bed.reply, "error.error"), ""),
                      "no space left on the disk for the database '/data/det.db'");
            CHECK_EQ(count_experiments(&bed), 5 + round);
            bed_pass(&bed, 10 * SECOND_US);
        }
        io_memory_limit(bed.io, 0);
        bed.is_lenient = false;
        bed_pass(&bed, 10 * SECOND_US);
        CHECK_EQ(create(&bed), 200);
        CHECK_EQ(count_experiments(&bed), 6 + round);
    }
    CHECK(!bed.is_dead);
    CHECK_EQ(bed.lives, lives);
    bed_close(&bed);
}
