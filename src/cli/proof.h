/* SPDX-License-Identifier: Apache-2.0 */
/* proof.h - `det resume-proof`: its pieces.
 *
 *   proof.c          the command: what is run, in which order
 *   proof_watch.c    one experiment from its creation to its end, killed or not
 *   proof_plan.c     when to kill
 *   proof_compare.c  checkpoints and curves
 *   proof_show.c     the verdict, for people and programs */
#ifndef CLI_PROOF_H
#define CLI_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "cli/interrupt.h"
#include "cli/proof_compare.h"
#include "cli/proof_plan.h"

struct buf;
struct cli;

struct proof {
    struct cli *cli;
    struct interrupt hold; /* Ctrl-C waits until nothing is left running */
    bool is_interrupted;
    struct proof_timeline timeline; /* of the undisturbed run */
    uint64_t seed;
    int64_t kills;            /* that are wanted */
    int64_t landed;           /* that a run was resumed after */
    int64_t resumed;          /* of these, from a checkpoint */
    VEC(int64_t) experiments; /* the undisturbed one first */
    int64_t steps;            /* of the final checkpoint */
    struct proof_parts parts;
};

/* What an experiment of the proof has come to. */
struct proof_outcome {
    int64_t experiment_id;
    int64_t trial_id;
};

/* Follows the experiment to its end, noting its timeline or, where there is one
 * already, killing what is still to be killed.  DET_FAILED: it did not COMPLETE;
 * DET_CANCELED: somebody pressed Ctrl-C. */
det_status proof_watch(struct proof *proof, struct proof_outcome *outcome);
/* Kills what may still run and hides it from lists, as well as it can. */
void proof_clean_up(struct proof *proof, int64_t experiment_id);

/* Prints the verdict. */
det_status proof_show(struct proof *proof);
/* "1,234,567" */
enum { PROOF_COUNT = 32 };
void proof_count(int64_t count, char text[PROOF_COUNT]);

#endif
