/* SPDX-License-Identifier: Apache-2.0 */
/* end_process.h - ends another process, or this one. */
#ifndef MAIN_END_PROCESS_H
#define MAIN_END_PROCESS_H

#include <stdbool.h>

/* Sends SIGTERM and waits until the process is gone; false: it is still there. */
bool end_process(int pid, int most_seconds);

/* Ends this process at once, with a line in the log; fits master_config.on_fatal. */
void end_this_process(void *arg, const char *sentence);

#endif
