/* SPDX-License-Identifier: Apache-2.0 */
/* judge_space.h - the one judgement of free space, for this host, the master and agents. */
#ifndef CLI_DOCTOR_JUDGE_SPACE_H
#define CLI_DOCTOR_JUDGE_SPACE_H

#include <stdint.h>

struct findings;

/* `size_bytes` DOCTOR_UNKNOWN: only the free bytes count.  `where` is the place in the
 * sentence; `harm` says what a full disk means there. */
void judge_free_space(struct findings *out, const char *where, int64_t free_bytes,
                      int64_t size_bytes, const char *harm);

#endif
