/* SPDX-License-Identifier: Apache-2.0 */
/* proof_cause.h - is a difference the fault of the resume, or of the program?
 *
 * A program that gives other results in each run cannot be compared with a killed one.  So
 * when the killed run differs, a second undisturbed run (the twin) is compared with the
 * first one.  There are two signs that the program is the cause:
 *
 *   1. the twin differs from the first run: nobody has killed either of them;
 *   2. a metric of the killed run differs at a batch before the checkpoint that it resumed
 *      from after the first kill: it was computed before that kill.  This also catches a
 *      program whose twin is equal by chance.
 *
 * On a GPU, twins are often equal by chance: atomic additions usually come in the same
 * order, and then in another one.  There the resume is blamed only if the program was told
 * to be deterministic. */
#ifndef CLI_PROOF_PROOF_CAUSE_H
#define CLI_PROOF_PROOF_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

struct proof_difference;
struct proof_parts;

enum proof_cause {
    PROOF_NO_CAUSE,      /* nothing differs */
    PROOF_CAUSE_UNKNOWN, /* there is no twin: it has failed */
    PROOF_CAUSE_UNSURE,  /* the twin is the same, maybe by chance */
    PROOF_CAUSE_RESUME,
    PROOF_CAUSE_PROGRAM,
};
/* "resume", "program"; NULL for the others. */
const char *proof_cause_name(enum proof_cause cause);

/* The earliest difference: of a metric, or else of a file. */
struct proof_origin {
    const char *group; /* NULL: a file of the final checkpoint */
    const struct proof_difference *difference; /* NULL: nothing differs */
};
struct proof_origin proof_origin_of(const struct proof_parts *parts);

struct proof_evidence {
    const struct proof_parts *killed;
    const struct proof_parts *twin; /* NULL: there is none */
    /* Batches of the checkpoint that the killed experiment resumed from after its first
     * kill; 0: it started again, and its reports of before were lost. */
    int64_t first_resume;
    bool may_agree_by_chance; /* it ran on GPUs without reproducibility.deterministic */
};
/* Borrows from the parts.  `ret_origin` belongs to the twin, or to the killed run if only
 * sign 2 was seen. */
enum proof_cause proof_find_cause(const struct proof_evidence *evidence,
                                  struct proof_origin *ret_origin);
/* Whether the same metric or file differs there too. */
bool proof_has_difference(const struct proof_parts *parts, const char *group,
                          const char *name);

/* How to make a program of this framework deterministic: lines of text.  `framework` is
 * that of the checkpoint's metadata ("torch-2.1"); NULL: not known. */
const char *const *proof_advice(const char *framework);

#endif
