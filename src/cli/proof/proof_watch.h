/* SPDX-License-Identifier: Apache-2.0 */
/* proof_watch.h - follows one experiment of a proof. */
#ifndef CLI_PROOF_PROOF_WATCH_H
#define CLI_PROOF_PROOF_WATCH_H

#include <stdint.h>

#include "base/err.h"

struct proof;

/* What a proof does with an experiment. */
enum proof_role {
    PROOF_FIRST,  /* undisturbed; fills the timeline */
    PROOF_KILLED, /* killed as planned */
    PROOF_TWIN,   /* undisturbed again */
};

struct proof_outcome {
    enum proof_role role;
    int64_t experiment_id;
    int64_t trial_id;
};

/* Follows the experiment to its end.  DET_FAILED: it did not end as COMPLETED, or the
 * user pressed Ctrl-C. */
det_status proof_watch(struct proof *proof, struct proof_outcome *outcome);
/* Kills the experiment if it still runs and archives it.  Ignores failures. */
void proof_watch_clean_up(struct proof *proof, int64_t experiment_id);

#endif
