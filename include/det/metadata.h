/* SPDX-License-Identifier: Apache-2.0 */
/* det/metadata.h - notes that a trial keeps about itself: which data it saw, which
 * commit it was made from, what somebody wants to find again.
 *
 *     if (det_metadata_set(det, "{\"data\":{\"rows\":60000}}", NULL, 0, NULL) !=
 * DET_OK) return fail(det_context_error(det));
 *
 * They outlive the run: the trial's next one sees them, and so does everybody who looks
 * at the trial.  On a cluster the master has them, and every call waits for it;
 * elsewhere they lie in the run's directory.
 *
 * Threads: as in det/trial.h.  Of several processes without a platform only one may
 * write. */
#ifndef DET_METADATA_H
#define DET_METADATA_H

#include <stddef.h>

#include "det/status.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The notes as a JSON object, "{}" when there are none, cut to `size` bytes with the
 * NUL.  `ret_len` (may be NULL) is how long the whole text is, as snprintf() counts.
 * `text` may be NULL where `size` is 0. */
DET_API det_status det_metadata_get(det_context *context, char *text, size_t size,
                                    size_t *ret_len);
/* Adds a JSON object to the notes: objects in it are merged with those of the same
 * name, everything else replaces what was there.  Then the same as det_metadata_get().
 * DET_INVALID: `metadata` is no object. */
DET_API det_status det_metadata_set(det_context *context, const char *metadata,
                                    char *text, size_t size, size_t *ret_len);

#ifdef __cplusplus
}
#endif

#endif
