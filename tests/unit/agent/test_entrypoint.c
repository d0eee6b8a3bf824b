/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "agent/task/prepare/entrypoint.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "tests/support/test.h"

static const struct {
    const char *entrypoint; /* JSON */
    const char *argv;       /* joined by '|'; NULL: refused */
} table[] = {
    {"null", "py|-m|determined.exec.harness"},
    {"\"model_def:MNist\"", "py|-m|determined.exec.harness|model_def:MNist"},
    {"\"a.b_2.c:D_1\"", "py|-m|determined.exec.harness|a.b_2.c:D_1"},
    {"\"python3 train.py\"", "/bin/sh|-c|python3 train.py"},
    {"\"a:b:c\"", "/bin/sh|-c|a:b:c"},
    {"\":b\"", "/bin/sh|-c|:b"},
    {"\"a:\"", "/bin/sh|-c|a:"},
    {"\"./run.sh\"", "/bin/sh|-c|./run.sh"},
    {"\"a-b:C\"", "/bin/sh|-c|a-b:C"},
    {"[\"python3\", \"-c\", \"a:b\"]", "python3|-c|a:b"},
    {"[\"model_def:MNist\"]", "model_def:MNist"},
    {"[]", NULL},
    {"[1]", NULL},
    {"\"\"", NULL},
    {"{}", NULL},
    {"7", NULL},
};

static void join(struct buf *out, const char *const *argv)
{
    buf_clear(out);
    for (size_t i = 0; argv[i]; i++) {
        buf_puts(out, i ? "|" : "");
        buf_puts(out, argv[i]);
    }
}

TEST(an_entrypoint_becomes_a_command)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        const char *entrypoint = table[i].entrypoint;
        struct json *tree;
        const char **argv;
        det_status status;

        CHECK_OK(json_parse(entrypoint, strlen(entrypoint), &mem, &tree, &test_err));
        status = entrypoint_argv(tree, "py", &mem, &argv, &test_err);

        CHECK_EQ(status, table[i].argv ? DET_OK : DET_INVALID);
        if (status)
            continue;
        join(&text, argv);
        CHECK_STR(text.data, table[i].argv);
    }
}

TEST(an_absent_entrypoint_is_the_harness)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
    const char **argv;

    CHECK_OK(entrypoint_argv(NULL, "python3", &mem, &argv, &test_err));
    CHECK_STR(argv[2], "determined.exec.harness");
    CHECK_NULL(argv[3]);
}

TEST(hooks_come_first_and_hand_the_command_on)
{
    const char *argv[] = {"train", "a b", NULL};
    const struct entrypoint_hooks none = {.has_bash = true};
    const struct entrypoint_hooks own = {.own = "./startup-hook.sh", .has_bash = true};
    const struct entrypoint_hooks both = {"/d/hook", "./startup-hook.sh", false};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const char **chain;

    CHECK_OK(entrypoint_behind_hooks(argv, &none, &mem, &chain, &test_err));
    CHECK(chain == argv);

    CHECK_OK(entrypoint_behind_hooks(argv, &own, &mem, &chain, &test_err));
    join(&text, chain);
    CHECK_STR(text.data, "bash|-c|set -e; source ./startup-hook.sh; exec \"$@\""
                         "|./startup-hook.sh|train|a b");

    CHECK_OK(entrypoint_behind_hooks(argv, &both, &mem, &chain, &test_err));
    join(&text, chain);
    CHECK_STR(text.data, "/bin/sh|-c|set -e; . \"$0\"; . ./startup-hook.sh; exec \"$@\""
                         "|/d/hook|train|a b");
}

TEST(out_of_memory_is_an_ordinary_error)
{
    const char *argv[] = {"train", NULL};
    const struct entrypoint_hooks own = {.own = "./startup-hook.sh"};

    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        const char **chain;

        CHECK_EQ(entrypoint_behind_hooks(argv, &own, &mem, &chain, NULL),
                 fault_fired() ? DET_NOMEM : DET_OK);
    }
}
