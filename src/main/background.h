/* SPDX-License-Identifier: Apache-2.0 */
/* background.h - the parent of a master that goes to the background. */
#ifndef MAIN_BACKGROUND_H
#define MAIN_BACKGROUND_H

#include <signal.h>
#include <sys/types.h>

/* Waits until the child writes "EXIT-CODE TEXT" to the other end of `fd`, prints it, and
 * returns the exit code of this process.  `held` are the blocked signals that interrupt:
 * the child is then ended first. */
int background_wait(int fd, pid_t child, const sigset_t *held);

#endif
