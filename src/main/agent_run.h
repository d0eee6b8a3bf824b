/* SPDX-License-Identifier: Apache-2.0 */
/* agent_run.h - `det agent run`. */
#ifndef MAIN_AGENT_RUN_H
#define MAIN_AGENT_RUN_H

struct agent_run_options;

/* `master` NULL: the local one.  Runs until a signal; returns the exit code. */
int agent_run_main(const char *master, const struct agent_run_options *options);

#endif
