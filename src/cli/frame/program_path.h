/* SPDX-License-Identifier: Apache-2.0 */
/* program_path.h - where the file of this program is. */
#ifndef CLI_FRAME_PROGRAM_PATH_H
#define CLI_FRAME_PROGRAM_PATH_H

#include "base/err.h"

struct arena;

/* In `mem`. */
det_status program_path(struct arena *mem, const char **ret_path, struct err *err);

#endif
