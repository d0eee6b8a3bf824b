/* SPDX-License-Identifier: Apache-2.0 */
/* metric_admit.h - how many names of metrics a trial may use.
 *
 * Every name costs each call that lists a trial's metrics, and a program may make names
 * from numbers.  Names that the trial has used already are always kept; so a report over
 * the limit loses only its new names. */
#ifndef STORE_METRIC_METRIC_ADMIT_H
#define STORE_METRIC_METRIC_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/metric/metric_parts.h"

struct arena;
struct db;
struct metric_key;
struct metric_report;
struct metric_shape;
struct metric_trial;

struct metric_admission {
    struct db *db;
    struct metric_trial *trial;
    const struct metric_key *key;
    struct arena *mem;
    uint32_t most;             /* names of the trial, in all groups together */
    struct metric_parts fresh; /* names that the trial had not used before */
    uint32_t dropped;
    struct metric_part first_dropped;
};

/* Removes new names beyond the report's limit from `parts` and says which, or refuses the
 * report (see struct metric_report).  `shapes`: of the group. */
det_status metric_admit(struct metric_admission *admission,
                        const struct metric_report *report,
                        const struct metric_shape *shapes, struct metric_parts *parts,
                        struct err *err);
/* After metric_admit() has dropped names: whether this one was not. */
bool metric_is_admitted(struct db *db, const struct metric_key *key, const char *name);
/* DET_INVALID: the trial has reports of the most groups that it may have, and none of this
 * one. */
det_status metric_admit_group(struct db *db, const struct metric_key *key,
                              struct err *err);

#endif
