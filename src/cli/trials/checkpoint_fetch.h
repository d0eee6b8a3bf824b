/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_fetch.h - a checkpoint's files through the master, for machines that cannot
 * see its storage. */
#ifndef CLI_TRIALS_CHECKPOINT_FETCH_H
#define CLI_TRIALS_CHECKPOINT_FETCH_H

#include <stdint.h>

#include "base/err.h"

struct cli;

/* Unpacks the files into `folder`, which exists and is empty.  Needs room for them twice,
 * until they are unpacked.  `size_bytes` is about what will come, for the progress. */
det_status checkpoint_fetch(struct cli *cli, const char *uuid, uint64_t size_bytes,
                            const char *folder);

#endif
