/* SPDX-License-Identifier: Apache-2.0 */
/* importance.h - how much each hyperparameter explains the differences between trials.
 *
 * For one hyperparameter at a time: the share of the variance of the trials' metrics
 * that its value alone explains.  Metrics count by their rank, so one outlier does not
 * decide.
 *
 *   ranks of the metric --groups of trials with similar values--> epsilon squared
 *
 * Trials with similar values form a group.  If there are few distinct values, each has
 * its own group; many numbers are cut into up to IMPORTANCE_GROUPS groups of equally
 * many trials.  The value explains the part of the ranks' variance that lies between the
 * groups (eta squared, as in an analysis of variance).  By chance alone that would be
 * (groups - 1) / (trials - 1).  Epsilon squared subtracts this, so a value without
 * influence gets about 0, however few trials there are.
 *
 * The method does not see values that matter only together with another.  With few
 * trials (IMPORTANCE_FEW) the result is only a hint, and users are told so.
 *
 * The correlation is Spearman's, of value and metric: 1 if the metric always grows with
 * the value, -1 if it always falls, about 0 if neither.  The value may still matter
 * then, for instance if the metric has a minimum in the middle. */
#ifndef SEARCH_IMPORTANCE_H
#define SEARCH_IMPORTANCE_H

#include <stdint.h>

#include "base/err.h"

struct arena;

enum { IMPORTANCE_GROUPS = 8, IMPORTANCE_FEW = 20 };

enum importance_kind { IMPORTANCE_NONE, IMPORTANCE_NUMBER, IMPORTANCE_CATEGORY };

/* The value of one trial.  All values of a hyperparameter are of one kind, or NONE. */
struct importance_value {
    enum importance_kind kind;
    double number; /* not NaN */
    uint32_t category;
};

struct importance {
    double share;       /* 0..1; NaN: unknown */
    double correlation; /* -1..1; NaN: no numbers, or nothing varies */
    uint32_t trials;    /* trials with both a value and a metric */
    uint32_t groups;
};

/* The ranks of the trials' metrics, in `mem`; made once for all hyperparameters.  A
 * trial whose metric is NaN is left out.  Infinite metrics are the largest or smallest.
 * DET_NOMEM. */
struct importance_ranks;
det_status importance_rank(const double *metric, uint32_t count, struct arena *mem,
                           const struct importance_ranks **ret_ranks, struct err *err);
/* The importance of one hyperparameter; `value` has one element per trial.  DET_NOMEM.
 */
det_status importance_of(const struct importance_value *value,
                         const struct importance_ranks *ranks, struct arena *mem,
                         struct importance *ret_importance, struct err *err);

#endif
