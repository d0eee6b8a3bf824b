/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_seal.h - from a draft to a complete checkpoint that the master knows. */
#ifndef LIBDET_CHECKPOINT_CHECKPOINT_SEAL_H
#define LIBDET_CHECKPOINT_CHECKPOINT_SEAL_H

#include "base/err.h"
#include "det/checkpoint.h"

/* DET_INVALID if the user's file has a name that belongs to the library. */
det_status checkpoint_check_taken(det_checkpoint *checkpoint, const char *from,
                                  const char *name, struct err *err);
/* Lists the files of the draft in its manifest; syncs and checksums them. */
det_status checkpoint_list(det_checkpoint *checkpoint, struct err *err);
/* The same for a rank's part; leaves out metadata that came with a restored folder. */
det_status checkpoint_list_part(det_checkpoint *checkpoint, struct err *err);
/* Writes the metadata into a draft that is listed already, and adds it to the list. */
det_status checkpoint_add_metadata(det_checkpoint *checkpoint, const char *draft,
                                   struct err *err);
/* Turns a listed draft into a checkpoint with its final name: writes the manifest,
 * syncs the directories, publishes.  `draft` is the directory of all ranks. */
det_status checkpoint_publish(det_checkpoint *checkpoint, const char *draft,
                              struct err *err);
/* Reports the checkpoint to the master. */
det_status checkpoint_report(det_checkpoint *checkpoint, struct err *err);
/* Makes it the latest checkpoint.  Cannot fail. */
void checkpoint_remember(const det_checkpoint *checkpoint);
/* Does all of this for one process; continues where an earlier try failed. */
det_status checkpoint_seal(det_checkpoint *checkpoint, struct err *err);

#endif
