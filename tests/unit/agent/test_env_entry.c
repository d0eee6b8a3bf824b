/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/prepare/env_entry.h"

#include <string.h>

#include "agent/env/enter.h"
#include "agent/task/prepare/identity.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "tests/support/test.h"

struct bed {
    struct io *io;
    struct arena mem;
    struct task_spec spec;
    struct identity who;
};

static void bed_init(struct bed *bed)
{
    *bed = (struct bed){.mem = ARENA_INIT(1 << 20), .spec = {.envs = "/data/envs"}};
    CHECK_OK(io_memory_new(&bed->io, &test_err));
    CHECK_OK(io_mkdir(bed->io, "/t/run", true, &test_err));
}

static void bed_done(struct bed *bed)
{
    arena_done(&bed->mem);
    io_free(bed->io);
}

#define BED(name)                                                                      \
    CLEANUP(bed_done) struct bed name;                                                 \
    bed_init(&name)

static void put(struct bed *bed, const char *path, const char *text)
{
    CHECK_OK(io_replace(bed->io, path, text, strlen(text), false, &test_err));
}

static const char *argv_text(struct bed *bed)
{
    const struct env_entry entry = {.spec = &bed->spec,
                                    .dir = "/t",
                                    .program = "/bin/det",
                                    .code = "abc",
                                    .who = &bed->who};
    const char *argv[] = {"python3", "train.py", NULL};
    const char **got;
    const char *text = "";

    CHECK_OK(env_entry_argv(&entry, argv, &bed->mem, &got, &test_err));
    for (; *got; got++)
        text = arena_printf(&bed->mem, "%s%s%s", text, *text ? " " : "", *got);
    return text;
}

TEST(a_task_goes_through_the_door)
{
    static const char *gpus[] = {"H200"};
    BED(bed);

    CHECK_STR(argv_text(&bed),
              "/bin/det task enter --envs /data/envs --record /t/run/environment.json "
              "--failure /t/run/failure.json --code abc -- python3 train.py");
    bed.spec.python = "python3.12";
    bed.spec.requirements = json_new_str(&bed.mem, "r.txt");
    bed.spec.gpu_names = (struct field_strs){gpus, 1};
    CHECK_HAS(argv_text(&bed),
              "--python python3.12 --requirements r.txt --code abc --gpu H200 --");
}

TEST(lines_are_handed_over_one_by_one)
{
    struct json *lines;
    BED(bed);
    lines = json_new(&bed.mem, JSON_ARRAY);
    json_push(lines, json_new_str(&bed.mem, "a, b"));
    json_push(lines, json_new_str(&bed.mem, "-c x"));
    bed.spec.requirements = lines;

    CHECK_HAS(argv_text(&bed), "--require a, b --require -c x --code");
}

TEST(another_user_has_environments_of_its_own)
{
    BED(bed);
    bed.who = (struct identity){.is_other = true, .uid = 1000};

    CHECK_HAS(argv_text(&bed), "--envs /data/envs/user-1000 ");
}

TEST(without_a_folder_for_environments_there_is_no_door)
{
    BED(bed);
    bed.spec.envs = NULL;

    CHECK_STR(argv_text(&bed), "python3 train.py");
}

TEST(the_reason_of_a_failure_becomes_that_of_the_exit)
{
    struct task_exit exit = {.exit = "FAILED", .code = 1, .reason = "exited"};
    BED(bed);

    env_entry_explain(bed.io, "/t", &bed.mem, &exit);
    CHECK_STR(exit.reason, "exited");
    put(&bed, "/t/run/failure.json",
        "{\"sentence\":\"no python\",\"code\":1,\"isFinal\":true}");
    env_entry_explain(bed.io, "/t", &bed.mem, &exit);
    CHECK_STR(exit.reason, "no python");
    CHECK(exit.is_final);
}

TEST(a_reason_that_does_not_fit_the_exit_is_not_believed)
{
    struct task_exit other = {.exit = "FAILED", .code = 3, .reason = "exited"};
    struct task_exit killed = {.exit = "KILLED", .code = 1, .reason = "killed"};
    BED(bed);
    put(&bed, "/t/run/failure.json", "{\"sentence\":\"no\",\"code\":1}");

    env_entry_explain(bed.io, "/t", &bed.mem, &other);
    CHECK_STR(other.reason, "exited");
    env_entry_explain(bed.io, "/t", &bed.mem, &killed);
    CHECK_STR(killed.reason, "killed");
    put(&bed, "/t/run/failure.json", "not even json");
    other.code = 1;
    env_entry_explain(bed.io, "/t", &bed.mem, &other);
    CHECK_STR(other.reason, "exited");
}

TEST(a_part_of_a_record_counts_only_at_the_end)
{
    struct json *record;
    BED(bed);

    CHECK_EQ(env_entry_record(bed.io, "/t", true, &bed.mem, &record, &test_err),
             DET_NOT_FOUND);
    CHECK(!env_entry_is_asking(bed.io, "/t", &bed.mem));
    put(&bed, "/t/" TASK_DIR_RECORD ENTER_PART, "{\"det\":\"part\"}");
    CHECK(env_entry_is_asking(bed.io, "/t", &bed.mem));
    CHECK_EQ(env_entry_record(bed.io, "/t", false, &bed.mem, &record, &test_err),
             DET_NOT_FOUND);
    CHECK_OK(env_entry_record(bed.io, "/t", true, &bed.mem, &record, &test_err));
    CHECK_STR(json_str(json_get(record, "det"), ""), "part");
    put(&bed, "/t/" TASK_DIR_RECORD, "{\"det\":\"whole\"}");
    CHECK(!env_entry_is_asking(bed.io, "/t", &bed.mem));
    CHECK_OK(env_entry_record(bed.io, "/t", false, &bed.mem, &record, &test_err));
    CHECK_STR(json_str(json_get(record, "det"), ""), "whole");
}

TEST(what_is_no_record_is_refused)
{
    struct json *record;
    BED(bed);
    put(&bed, "/t/" TASK_DIR_RECORD, "[1]");

    CHECK_EQ(env_entry_record(bed.io, "/t", true, &bed.mem, &record, &test_err),
             DET_INVALID);
}
