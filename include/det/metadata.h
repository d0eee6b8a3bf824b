/* SPDX-License-Identifier: Apache-2.0 */
/* det/metadata.h - notes that a trial keeps about itself: which data it used, which
 * commit it was built from, anything that is worth finding again.
 *
 *     if (det_metadata_set(det, "{\"rows\":60000}", NULL, 0, NULL) != DET_OK)
 *         return fail(det_context_error(det));
 *
 * The notes outlive the run: the next run of the trial sees them, and so do users who
 * look at the trial.  On a cluster the master stores them, and every call waits
 * for it; without a master they lie in the run's directory.
 *
 * Threads: as in det/trial.h.  Without a master only one of several processes may
 * write. */
#ifndef DET_METADATA_H
#define DET_METADATA_H

#include <stddef.h>

#include "det/status.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the notes as a JSON object, "{}" if there are none, cut to `size` bytes
 * including the NUL.  `ret_len` (may be NULL) is the length of the whole text, as
 * snprintf() counts.  `text` may be NULL if `size` is 0. */
DET_API det_status det_metadata_get(det_context *context, char *text, size_t size,
                                    size_t *ret_len);
/* Adds a JSON object to the notes: merges objects with those of the same name, and
 * replaces everything else.  Then does the same as det_metadata_get().  DET_INVALID:
 * `metadata` is not an object. */
DET_API det_status det_metadata_set(det_context *context, const char *metadata,
                                    char *text, size_t size, size_t *ret_len);

#ifdef __cplusplus
}
#endif

#endif
