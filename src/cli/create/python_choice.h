/* SPDX-License-Identifier: Apache-2.0 */
/* python_choice.h - the Python of a task whose configuration names none.
 *
 * The first of these that there is:
 *
 *   1. the configuration: environment.python or environment.requirements
 *   2. requirements.txt in the folder that is sent
 *   3. the virtual or Conda environment of the caller's shell, if the task can only run
 *      on this machine: with the caller's own master, whose agents are all here
 *   4. the agent's python3
 *
 * What is chosen here is written into the configuration, so the experiment records it,
 * and printed.  If 3 is out of reach, a hint says how to get it. */
#ifndef CLI_CREATE_PYTHON_CHOICE_H
#define CLI_CREATE_PYTHON_CHOICE_H

#include "base/err.h"

struct buf;
struct cli;
struct json;
struct pack;

/* `pack` has the files that are sent; `text` is the checked configuration, `*tree` the
 * same as a tree.  Both are replaced if something is chosen. */
det_status python_choice_make(struct cli *cli, const struct pack *pack,
                              struct buf *text, const struct json **tree);

#endif
