/* SPDX-License-Identifier: Apache-2.0 */
/* process_limits.h - what the master's process may use, and what its children inherit. */
#ifndef MAIN_PROCESS_LIMITS_H
#define MAIN_PROCESS_LIMITS_H

#include <sys/resource.h>

/* As many open files as this user may have; each connection is one.  Also lets memory that
 * was freed go back to the system. */
void process_limits_raise(struct rlimit *ret_files);
/* In a child, before exec: programs that use select() rely on the usual limit. */
void process_limits_restore(const struct rlimit *files);

#endif
