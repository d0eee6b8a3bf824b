/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/output/last_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/task/task_dir.h"
#include "base/compiler.h"
#include "base/memory/arena.h"

enum { LINE_MOST = 400 }; /* of a line in a reason */

void last_words_add(struct last_words *words, const char *bytes, size_t len)
{
    size_t keep;

    if (len >= LAST_WORDS) {
        bytes += len - LAST_WORDS;
        len = LAST_WORDS;
    }
    keep = MIN(words->len, LAST_WORDS - len);
    memmove(words->text, words->text + words->len - keep, keep);
    memcpy(words->text + keep, bytes, len);
    words->len = keep + len;
}

/* ---- lines ----------------------------------------------------------------------- */

struct span {
    const char *text;
    size_t len;
};

/* The last line that is not blank, without its end; takes it from `rest`. */
static struct span take_last_line(struct span *rest)
{
    struct span line = {rest->text, 0};
    size_t end = rest->len;
    size_t begin;

    while (end && (rest->text[end - 1] == '\n' || rest->text[end - 1] == '\r' ||
                   rest->text[end - 1] == ' '))
        end--;
    begin = end;
    while (begin && rest->text[begin - 1] != '\n')
        begin--;
    line.text += begin;
    line.len = end - begin;
    rest->len = begin;
    return line;
}

static bool begins_with(struct span line, const char *word)
{
    size_t len = strlen(word);

    return line.len >= len && memcmp(line.text, word, len) == 0;
}

static bool contains(struct span line, const char *word)
{
    return memmem(line.text, line.len, word, strlen(word)) != NULL;
}

/* ---- the rules ------------------------------------------------------------------- */

/* The last line of a program that ended with that code. */
static const struct rule {
    int64_t code;
    const char *begins;
    const char *contains;
    bool is_certain; /* also if the program made reports */
} rules[] = {
    {1, "determined.errors.SearcherMetricError: ", "", true},
    {1, "ModuleNotFoundError: ", "", false},
    /* other ImportErrors may be the machine's fault */
    {1, "ImportError: cannot import name ", "", false},
    {1, "SyntaxError: ", "", false},
    {1, "IndentationError: ", "", false},
    {1, "TabError: ", "", false},
    {1, "", "python: No module named ", false}, /* python -m */
    {1, "", "python3: No module named ", false},
    {1, "", ": Error while finding module specification for ", false},
    {2, "", ": can't open file '", false},
    {2, "determined: ", "", false}, /* exec/harness.py refuses the entrypoint */
    {2, "det: 'det ", " has no command ", false},
    {2, "", ": 0: cannot open ", false}, /* sh */
    {2, "", ": Syntax error: ", false},
    {2, "", ": syntax error", false}, /* bash */
};

static bool is_hopeless(int64_t code, struct span line, bool has_reports)
{
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (rules[i].code == code && (rules[i].is_certain || !has_reports) &&
            begins_with(line, rules[i].begins) && contains(line, rules[i].contains))
            return true;
    return false;
}

/* The harness, and det itself, add hints to an error; bash shows the line of a syntax
 * error.  The error is what counts. */
static bool is_remark(int64_t code, struct span line)
{
    if (code == 1)
        return begins_with(line, "determined: ");
    return code == 2 && (begins_with(line, "hint: ") ||
                         (contains(line, ": line ") && contains(line, ": `") &&
                          line.len && line.text[line.len - 1] == '\''));
}

/* "det: rank 1 exited with 1; ...": what that rank said last, or `line` itself. */
static struct span find_rank_line(struct span rest, struct span line)
{
    static const char begins[] = "det: rank ";
    const char *number = line.text + sizeof(begins) - 1;
    char prefix[32];
    int64_t digits = 0;

    if (!begins_with(line, begins) || !contains(line, " exited with "))
        return line;
    while (number[digits] >= '0' && number[digits] <= '9')
        digits++;
    (void)snprintf(prefix, sizeof(prefix), "[rank=%.*s] ", (int)MIN(digits, 10),
                   number);
    while (rest.len) {
        struct span before = take_last_line(&rest);

        if (begins_with(before, prefix))
            return (struct span){before.text + strlen(prefix),
                                 before.len - strlen(prefix)};
    }
    return line;
}

static struct span find_line(const struct last_words *words, int64_t code)
{
    struct span rest = {words->text, words->len};
    struct span line = take_last_line(&rest);

    while (is_remark(code, line))
        line = take_last_line(&rest);
    return find_rank_line(rest, line);
}

bool last_words_judge(const struct last_words *words, bool has_reports,
                      struct task_exit *exit, struct arena *mem)
{
    struct span line = find_line(words, exit->code);
    bool is_command = !has_reports && (exit->code == 126 || exit->code == 127);
    const char *reason;

    if (strcmp(exit->exit, "FAILED") != 0 ||
        (!is_command && !is_hopeless(exit->code, line, has_reports)))
        return false;
    exit->is_final = true;
    reason = arena_printf(mem, "%s%s%.*s", exit->reason, line.len ? ": " : "",
                          (int)MIN(line.len, (size_t)LINE_MOST), line.text);
    if (reason && line.len)
        exit->reason = reason;
    return true;
}
