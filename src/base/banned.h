/* SPDX-License-Identifier: Apache-2.0 */
/* banned.h - calls that this tree does not use.  The build includes this header in
 * front of every file (-include), and a use of one of these calls does not compile.
 * libc's allocator cannot be banned this way, since system headers name it;
 * tools/check-banned keeps it in base. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With _FORTIFY_SOURCE glibc makes macros of them for clang, which refuses to ban macros. */
#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets atoi atol atof

#endif
