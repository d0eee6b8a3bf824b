/* SPDX-License-Identifier: Apache-2.0 */
/* proof_show.h - prints the result of a proof. */
#ifndef CLI_PROOF_PROOF_SHOW_H
#define CLI_PROOF_PROOF_SHOW_H

#include <stdint.h>

#include "base/err.h"

struct proof;

det_status proof_show(struct proof *proof);
/* "1,234,567" */
enum { PROOF_COUNT = 32 };
void proof_show_count(int64_t count, char text[PROOF_COUNT]);

#endif
