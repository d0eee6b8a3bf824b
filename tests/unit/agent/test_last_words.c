/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/output/last_words.h"

#include <string.h>

#include "agent/task/task_dir.h"
#include "base/compiler.h"
#include "base/memory/arena.h"
#include "tests/support/test.h"

struct ending {
    struct arena mem;
    struct last_words words;
    struct task_exit exit;
    bool has_reports;
};

static void ending_done(struct ending *ending)
{
    arena_done(&ending->mem);
}

#define ENDING(name, code_)                                                            \
    CLEANUP(ending_done)                                                               \
    struct ending name = {                                                             \
        .mem = ARENA_INIT(1 << 16),                                                    \
        .exit = {.exit = "FAILED", .code = (code_), .reason = "ended"}}

static bool judge(struct ending *ending, const char *text)
{
    last_words_add(&ending->words, text, strlen(text));
    return last_words_judge(&ending->words, ending->has_reports, &ending->exit,
                            &ending->mem);
}

TEST(a_missing_command_module_file_and_a_syntax_error_would_fail_again)
{
    static const struct {
        int64_t code;
        const char *text;
    } hopeless[] = {
        {127, "sh: 1: trainx: not found\n"},
        {126, "./run.sh: Permission denied\n"},
        {127, ""},
        {1, "Traceback\n  File x\nModuleNotFoundError: No module named 'tnsr'\n"},
        {1, "ImportError: cannot import name 'a' from 'b' (b.py)"},
        {1, "    x = = 1\n        ^\nSyntaxError: invalid syntax\r\n\n"},
        {1, "IndentationError: unexpected indent\n"},
        {1, "/usr/bin/python3: No module named train\n"},
        {1, "ModuleNotFoundError: No module named 'torch'\n"
            "determined: the Python of this task has no 'torch'\n"},
        {2, "python3: can't open file '/w/train.py': [Errno 2] No such file\n"},
        {2, "determined: the module 'm' has no 'T'; it has nothing\n"},
        {2, "det: 'det launch' has no command 'x'\nhint: 'det launch --help' lists\n"},
        {2, "sh: 0: cannot open nope.sh: No such file\n"},
        {2, "a.sh: 2: Syntax error: end of file unexpected (expecting \"fi\")\n"},
        {2, "a.sh: line 2: syntax error: unexpected end of file\n"},
        {2, "a.sh: line 2: syntax error near unexpected token `fi'\n"
            "a.sh: line 2: `fi fi'\n"},
        {1, "[rank=1] ModuleNotFoundError: No module named 'x'\n"
            "[rank=0] Traceback (most recent call last):\n"
            "det: rank 1 exited with 1; all ranks are ended\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(hopeless); i++) {
        ENDING(ending, hopeless[i].code);

        CHECK(judge(&ending, hopeless[i].text));
        CHECK(ending.exit.is_final);
    }
}

TEST(the_reason_says_what_is_missing)
{
    ENDING(ending, 1);

    CHECK(judge(&ending, "x\nModuleNotFoundError: No module named 'tnsr'\n"));
    CHECK_STR(ending.exit.reason, "ended: ModuleNotFoundError: No module named 'tnsr'");
}

TEST(the_reason_of_a_rank_is_its_own_last_line)
{
    ENDING(ending, 1);

    CHECK(judge(&ending, "[rank=1] TabError: x\n[rank=0] ValueError: y\n"
                         "det: rank 1 exited with 1; all ranks are ended\n"));
    CHECK_STR(ending.exit.reason, "ended: TabError: x");
}

TEST(nothing_is_claimed_of_other_ends)
{
    static const struct {
        int64_t code;
        const char *text;
    } open[] = {
        {1, "ValueError: no\n"},
        {1, "ImportError: libcuda.so.1: cannot open shared object file\n"},
        {1, ""},
        {3, "ModuleNotFoundError: No module named 'x'\n"},
        {1, "ModuleNotFoundError: No module named 'x'\nsaved the rest\n"},
        {1, "it says: ModuleNotFoundError: later\n"},
        {2, "usage: train.py [-h]\n"},
        {137, "ImportError: x\n"},
        {2, "det: the folder is missing\nhint: make it\n"},
        {1, "[rank=0] ModuleNotFoundError: No module named 'x'\n"
            "[rank=1] ValueError: no\n"
            "det: rank 1 exited with 1; all ranks are ended\n"},
        {1, "det: rank 1 exited with 1; all ranks are ended\n"},
        {1, "det: rank "},
    };

    for (size_t i = 0; i < ARRAY_LEN(open); i++) {
        ENDING(ending, open[i].code);

        CHECK(!judge(&ending, open[i].text));
        CHECK(!ending.exit.is_final);
        CHECK_STR(ending.exit.reason, "ended");
    }
}

TEST(after_reports_only_a_wrong_metric_is_certain_to_come_again)
{
    static const char wrong[] = "determined.errors.SearcherMetricError: no 'f1'\n";
    ENDING(ending, 1);
    ENDING(command, 127);
    ENDING(module, 1);

    ending.has_reports = command.has_reports = module.has_reports = true;
    CHECK(judge(&ending, wrong));
    CHECK(ending.exit.is_final);
    CHECK(!judge(&command, "sh: 1: x: not found\n"));
    CHECK(!judge(&module, "ModuleNotFoundError: No module named 'x'\n"));
}

TEST(a_task_that_was_killed_is_not_judged)
{
    ENDING(ending, 127);

    ending.exit.exit = "KILLED";
    CHECK(!judge(&ending, "sh: 1: x: not found\n"));
}

TEST(only_the_end_of_a_long_output_is_kept)
{
    char many[LAST_WORDS + 100];
    ENDING(ending, 1);

    memset(many, 'x', sizeof(many));
    last_words_add(&ending.words, many, 700);
    last_words_add(&ending.words, many, sizeof(many));
    CHECK_EQ(ending.words.len, LAST_WORDS);
    last_words_add(&ending.words, "\n", 1);
    CHECK(judge(&ending, "TabError: inconsistent use of tabs\n"));
    CHECK_EQ(ending.words.len, LAST_WORDS);
}
