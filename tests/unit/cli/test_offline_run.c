/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of runs without a master, whole and damaged. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "cli/offline/offline_run.h"
#include "data/json/json.h"
#include "det/det.h"
#include "libdet/offline/offline.h"
#include "tests/support/test.h"

#define RUN                                                                            \
    "{\"format\":1,\"uuid\":\"11111111-1111-4111-8111-111111111111\",\"run_id\":2,"    \
    "\"seed\":7,\"begun\":\"2026-11-15T10:00:00Z\","                                   \
    "\"created\":\"2026-11-15T09:00:00Z\",\"hparams\":{\"lr\":0.5},\"config\":{}}"

struct place {
    char dir[64];
    struct arena mem;
};

static void make(struct place *p)
{
    p->mem = (struct arena)ARENA_INIT(64 << 20);
    snprintf(p->dir, sizeof(p->dir), "/tmp/det-offline-XXXXXX");
    CHECK(mkdtemp(p->dir));
}

static void done(struct place *p)
{
    CHECK_OK(io_remove_tree(io_system(), p->dir, &test_err));
    arena_done(&p->mem);
}

static void put(struct place *p, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    CHECK_OK(io_replace(io_system(), path, text, strlen(text), false, &test_err));
}

static det_status read_it(struct place *p, struct offline_run *run)
{
    return offline_run_read(p->dir, &p->mem, run, &test_err);
}

TEST(a_run_says_what_it_was_and_how_it_ended)
{
    struct offline_run run = {0};
    struct place p;

    make(&p);
    put(&p, "run.json", RUN);
    put(&p, OFFLINE_STATE,
        "{\"run_id\":2,\"state\":\"ERROR\",\"exit_code\":3,"
        "\"ended\":\"2026-11-15T11:00:00Z\"}");
    put(&p, "metadata.json", "{\"who\":\"me\"}");
    CHECK_OK(read_it(&p, &run));
    CHECK_STR(run.id, "11111111-1111-4111-8111-111111111111");
    CHECK_EQ(run.state, OFFLINE_FAILED);
    CHECK_EQ(run.exit_code, 3);
    CHECK_EQ(run.run_id, 2);
    CHECK_EQ(run.ended_us - run.created_us, INT64_C(7200) * 1000000);
    CHECK(json_get(run.notes, "who") != NULL);
    done(&p);
}

TEST(the_end_of_an_earlier_run_is_not_that_of_the_last)
{
    struct offline_run run = {0};
    struct place p;

    make(&p);
    put(&p, "run.json", RUN);
    put(&p, OFFLINE_STATE, "{\"run_id\":1,\"state\":\"COMPLETED\"}");
    CHECK_OK(read_it(&p, &run));
    CHECK_EQ(run.state, OFFLINE_KILLED);
    CHECK(run.ended_us >= run.begun_us);
    put(&p, OFFLINE_STATE, "half of a fi"); /* damaged: as if there were none */
    CHECK_OK(read_it(&p, &run));
    CHECK_EQ(run.state, OFFLINE_KILLED);
    done(&p);
}

TEST(whoever_holds_the_lock_runs)
{
    struct io_file *lock = NULL;
    struct offline_run run = {0};
    char path[256];
    struct place p;

    make(&p);
    put(&p, "run.json", RUN);
    put(&p, OFFLINE_LOCK, "");
    CHECK_OK(read_it(&p, &run));
    CHECK_EQ(run.state, OFFLINE_KILLED);
    snprintf(path, sizeof(path), "%s/" OFFLINE_LOCK, p.dir);
    CHECK_OK(io_open(io_system(), path, IO_WRITE, &lock, &test_err));
    CHECK_OK(io_lock_shared(lock, &test_err));
    CHECK_OK(read_it(&p, &run));
    CHECK_EQ(run.state, OFFLINE_RUNNING);
    CHECK_EQ(run.ended_us, 0);
    io_close(lock);
    done(&p);
}

TEST(a_folder_that_is_no_run_or_a_damaged_one_says_so)
{
    struct offline_run run = {.run_id = 99};
    struct place p;

    make(&p);
    CHECK_EQ(read_it(&p, &run), DET_NOT_FOUND);
    CHECK_HAS(test_err.text, "no run.json");
    put(&p, "run.json", "{");
    CHECK_EQ(read_it(&p, &run), DET_CORRUPT);
    put(&p, "run.json", "[1]");
    CHECK_EQ(read_it(&p, &run), DET_CORRUPT);
    put(&p, "run.json", "{\"format\":1}");
    CHECK_EQ(read_it(&p, &run), DET_CORRUPT);
    CHECK_HAS(test_err.text, "when the run began");
    put(&p, "run.json", "{\"format\":2}");
    CHECK_EQ(read_it(&p, &run), DET_UNSUPPORTED);
    CHECK_EQ(run.run_id, 99);
    done(&p);
}

TEST(runs_are_meant_by_number_name_and_path)
{
    struct offline_run at[] = {{.path = "/tmp", .name = "a"},
                               {.path = "/x/b", .name = "b"}};
    struct offline_runs runs = {.at = at, .count = 2};
    uint32_t number = 0;

    CHECK(offline_run_named(&runs, "2", &number) == &at[1]);
    CHECK_EQ(number, 2);
    CHECK(offline_run_named(&runs, "a", &number) == &at[0]);
    CHECK(offline_run_named(&runs, "/tmp/.", &number) == &at[0]);
    CHECK_EQ(number, 1);
    CHECK(offline_run_named(&runs, "3", &number) == NULL);
    CHECK(offline_run_named(&runs, "0", &number) == NULL);
}

TEST(without_memory_a_folder_is_not_read)
{
    struct place p;

    make(&p);
    put(&p, "run.json", RUN);
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
        struct offline_run run = {.run_id = -1};
        det_status st = offline_run_read(p.dir, &mem, &run, NULL);

        CHECK(st == DET_OK || (st == DET_NOMEM && fault_fired()));
        CHECK_EQ(run.run_id, st ? -1 : 2);
    }
    done(&p);
}
