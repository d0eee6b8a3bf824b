/* SPDX-License-Identifier: Apache-2.0 */
/* left_files.h - what a supervisor does about the files that its program left behind.
 *
 * Only the first share of a trial looks after them, and only at an end without an error:
 * the key `keep` of the configuration names those to save (`det task keep`), the others are
 * named in the log (output/new_files.h). */
#ifndef AGENT_TASK_LEFT_FILES_H
#define AGENT_TASK_LEFT_FILES_H

#include <stdbool.h>

#include "base/err.h"

struct child;
struct supervisor;

/* Before the program starts. */
void left_files_note(struct supervisor *s);
/* After its end.  True: `det task keep` runs.  False: there is nothing to keep; or, with
 * `err` set, it cannot. */
bool left_files_keep(struct supervisor *s, struct child *ret_child, struct err *err);
/* `det task keep` says itself why it failed, unless it was killed: a sentence for the log, or
 * NULL. */
const char *left_files_keeper_ended(struct supervisor *s, int status);
/* When all reports were read: a sentence for the log in the supervisor's memory, or
 * NULL. */
const char *left_files_sentence(struct supervisor *s);
/* Another one, about patterns of `keep` that match nothing, or NULL. */
const char *left_files_unmatched(struct supervisor *s);

#endif
