/* SPDX-License-Identifier: Apache-2.0 */
/* completion.h - scripts that complete command lines. */
#ifndef CLI_HELP_COMPLETION_H
#define CLI_HELP_COMPLETION_H

#include "base/err.h"

struct buf;

/* A script for "bash", "zsh" or "fish".  DET_INVALID: another shell. */
det_status completion_write(const char *shell, struct buf *out, struct err *err);

#endif
