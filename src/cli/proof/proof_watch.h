/* SPDX-License-Identifier: Apache-2.0 */
/* proof_watch.h - follows one experiment of a proof. */
#ifndef CLI_PROOF_PROOF_WATCH_H
#define CLI_PROOF_PROOF_WATCH_H

#include <stdint.h>

#include "base/err.h"

struct proof;

struct proof_outcome {
    int64_t experiment_id;
    int64_t trial_id;
};

/* Follows the experiment to its end.  The first experiment is undisturbed and fills the
 * timeline; later ones are killed as planned.  DET_FAILED: it did not end as COMPLETED,
 * or the user pressed Ctrl-C. */
det_status proof_watch(struct proof *proof, struct proof_outcome *outcome);
/* Kills the experiment if it still runs and archives it.  Ignores failures. */
void proof_watch_clean_up(struct proof *proof, int64_t experiment_id);

#endif
