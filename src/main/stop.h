/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - `det stop`: ends the master and the agent that run here. */
#ifndef MAIN_STOP_H
#define MAIN_STOP_H

struct stop_options;

/* Returns the exit code. */
int stop_main(const struct stop_options *options);

#endif
