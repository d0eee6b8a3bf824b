/* SPDX-License-Identifier: Apache-2.0 */
/* proof.h - the state of one `det resume-proof`.
 *
 *   proof.c          the command: runs the experiments and compares them
 *   proof_watch.c    follows one experiment from creation to end, and kills it
 *   proof_plan.c     when to kill
 *   proof_compare.c  compares checkpoints and metrics
 *   proof_contents.c compares the contents of files whose bytes differ
 *   proof_profile.c  what each framework writes that is not state
 *   proof_cause.c    whether the resume or the program is the cause of a difference
 *   proof_show.c     prints the result */
#ifndef CLI_PROOF_PROOF_H
#define CLI_PROOF_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory/vec.h"
#include "cli/frame/interrupt.h"
#include "cli/proof/proof_cause.h"
#include "cli/proof/proof_compare.h"
#include "cli/proof/proof_plan.h"
#include "cli/proof/proof_profile.h"

struct cli;

struct proof {
    struct cli *cli;
    struct interrupt hold; /* Ctrl-C waits until nothing is left running */
    bool is_interrupted;
    struct proof_timeline timeline; /* of the undisturbed run */
    uint64_t seed;
    int64_t kills;            /* that the user asked for */
    int64_t landed;           /* kills after which a new run started */
    int64_t resumed;          /* of these: runs that started from a checkpoint */
    VEC(int64_t) experiments; /* the undisturbed one first */
    bool is_deterministic;    /* the configuration has reproducibility.deterministic */
    bool has_gpus;            /* an agent of the cluster has one */
    int64_t steps;            /* of the final checkpoint */
    const char *framework;    /* of its metadata; NULL: not known */
    const struct proof_profile *profile;
    struct proof_rules rules;
    struct proof_parts parts; /* the killed runs */
    int64_t first_resume;     /* see struct proof_evidence */
    int64_t twin_id;          /* the second undisturbed experiment; 0: none */
    struct proof_parts twin;  /* compared with the first undisturbed one */
};

#endif
