/* SPDX-License-Identifier: Apache-2.0 */
/* importance.h - which hyperparameter made the difference between trials.
 *
 * For one hyperparameter at a time: the share of what differs between the trials'
 * metrics that is explained by knowing this value alone, and nothing else of the trial.
 * Metrics count by their rank, so that one trial that went astray does not decide.
 *
 *   ranks of the metric --groups of trials with alike values--> epsilon squared
 *
 * Trials with alike values form a group: every value its own while there are few of
 * them; numbers of which there are many are cut into up to IMPORTANCE_GROUPS stretches
 * of equally many trials.  Of the ranks' variance the part between the groups is what
 * the value explains (eta squared, as in an analysis of variance).  By chance alone
 * that would be (groups - 1) / (trials - 1); epsilon squared takes it off, so that a
 * value that does nothing comes out at about 0, however few trials there are.
 *
 * What it cannot see: values that matter only together with another.  With few trials
 * it is a hint, not a finding; IMPORTANCE_FEW is where we say so.
 *
 * The sign is Spearman's correlation of value and metric: 1 when the metric always
 * grows with the value, -1 when it always falls, about 0 when it does neither (it may
 * still matter: think of a valley). */
#ifndef SEARCH_IMPORTANCE_H
#define SEARCH_IMPORTANCE_H

#include <stdint.h>

#include "base/err.h"

struct arena;

enum { IMPORTANCE_GROUPS = 8, IMPORTANCE_FEW = 20 };

enum importance_kind { IMPORTANCE_NONE, IMPORTANCE_NUMBER, IMPORTANCE_CATEGORY };

/* What a trial had.  All of a hyperparameter's are of one kind, but for NONE. */
struct importance_value {
    enum importance_kind kind;
    double number; /* not NaN */
    uint32_t category;
};

struct importance {
    double share;       /* 0..1; NaN: nothing can be said */
    double correlation; /* -1..1; NaN: no numbers, or nothing varies */
    uint32_t trials;    /* that had both a value and a metric */
    uint32_t groups;
};

/* The ranks of the trials' metrics, in `mem`: once for all hyperparameters.  A metric
 * that is NaN is none: the trial is left out.  Infinite ones count, as the largest or
 * smallest of all.  DET_NOMEM. */
struct importance_ranks;
det_status importance_rank(const double *metric, uint32_t count, struct arena *mem,
                           const struct importance_ranks **ret_ranks, struct err *err);
/* Of one hyperparameter; a value for each of those trials.  DET_NOMEM. */
det_status importance_of(const struct importance_value *value,
                         const struct importance_ranks *ranks, struct arena *mem,
                         struct importance *ret_importance, struct err *err);

#endif
