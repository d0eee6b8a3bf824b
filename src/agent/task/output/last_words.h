/* SPDX-License-Identifier: Apache-2.0 */
/* last_words.h - the end of a program's standard error, and what it says about a retry.
 *
 * Some failures come again however often the program is run: a missing command, file or
 * module, a syntax error.  They are known by the exit code and the last words: those of
 * shells, of Python and of det.  Where these do not fit exactly, nothing is claimed. */
#ifndef AGENT_TASK_OUTPUT_LAST_WORDS_H
#define AGENT_TASK_OUTPUT_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct task_exit;

enum { LAST_WORDS = 2048 };

struct last_words {
    size_t len;
    char text[LAST_WORDS]; /* the last bytes, not terminated */
};

void last_words_add(struct last_words *words, const char *bytes, size_t len);

/* True if the program would fail again.  Then `exit` says so, and its reason, in `mem`,
 * says what is missing.  Little is certain about a program that made reports: it may
 * have failed at work that it does not always do. */
bool last_words_judge(const struct last_words *words, bool has_reports,
                      struct task_exit *exit, struct arena *mem);

#endif
