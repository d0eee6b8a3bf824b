/* SPDX-License-Identifier: Apache-2.0 */
/* banned.h - calls that do not belong in this tree.  The build puts this header in
 * front of every file (-include), and using one of them does not compile.  libc's
 * allocator cannot be banned this way, since system headers name it; a script keeps it
 * to base/mem.c. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets atoi atol atof

#endif
