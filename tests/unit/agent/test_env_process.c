/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that an environment is built with, and what they say. */
#include "agent/env/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test.h"

struct heard {
    size_t lines;
    size_t longest;
    char last[16];
};

static void hear(void *arg, const char *line)
{
    struct heard *heard = arg;
    size_t len = strlen(line);

    heard->lines++;
    heard->longest = MAX(heard->longest, len);
    snprintf(heard->last, sizeof(heard->last), "%s", line);
}

static det_status run(const char *script, struct heard *heard, int *ret_how)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct process process = {.argv = argv, .on_line = hear, .arg = heard};

    return process_run(&process, ret_how, &test_err);
}

TEST(lines_are_heard_whole_whatever_their_length_and_end)
{
    struct heard heard = {0};
    int how = -1;

    CHECK_OK(run("printf 'one\\rtwo\\n\\n'; head -c 1000000 /dev/zero | tr '\\0' x;"
                 " echo; printf last",
                 &heard, &how));
    CHECK(process_was_fine(how));
    CHECK_EQ(heard.lines, 4);
    CHECK_EQ(heard.longest, 1000000);
    CHECK_STR(heard.last, "last");
}

static void let_go(void *arg)
{
    FILE *file = fopen(arg, "we");

    CHECK(file);
    if (file)
        (void)fclose(file);
}

TEST(whoever_waits_for_a_silent_program_is_called)
{
    char path[] = "/tmp/det-process-XXXXXX";
    int fd = mkstemp(path);
    const char *argv[] = {"sh", "-c", "until [ -e \"$0\" ]; do sleep 0.01; done", path,
                          NULL};
    struct process process = {
        .argv = argv, .on_wait = let_go, .wait_ms = 20, .arg = path};
    int how = -1;

    close(fd);
    unlink(path);
    CHECK_OK(process_run(&process, &how, &test_err)); /* it ends when we are called */
    CHECK(process_was_fine(how));
    unlink(path);
}

TEST(what_cannot_be_run_is_told_from_what_fails)
{
    const char *const argv[] = {"/no/such/program", NULL};
    struct process process = {.argv = argv};
    struct heard heard = {0};
    int how = 0;

    CHECK_EQ(process_run(&process, &how, &test_err), DET_NOT_FOUND);
    CHECK_HAS(test_err.text, "/no/such/program");
    CHECK_OK(run("exit 3", &heard, &how));
    CHECK(!process_was_fine(how));
}
