/* SPDX-License-Identifier: Apache-2.0 */
/* trial_sql.h - expressions that several statements about trials share. */
#ifndef STORE_EXPERIMENT_TRIAL_SQL_H
#define STORE_EXPERIMENT_TRIAL_SQL_H

/* The slot time of a trial `t` of experiment `e`; of an unmanaged trial its duration.
 * A run that goes on counts until `now`.  TRIAL_ON_SLOTS_SQL does not know the time:
 * trial_on_slots_us() completes its result. */
/* clang-format off */
#define SPAN_SQL(row, now)                                                             \
    "CASE WHEN " row ".end_us = 0 THEN " now " - " row ".start_us"                     \
    " WHEN " row ".end_us > " row ".start_us THEN " row ".end_us - " row ".start_us"   \
    " ELSE 0 END"
#define TRIAL_ON_SLOTS_AT_SQL(now)                                                     \
    "CASE WHEN e.is_unmanaged THEN " SPAN_SQL("t", now)                                \
    " ELSE COALESCE((SELECT SUM(" SPAN_SQL("a", now) ") FROM allocations a"            \
    "  WHERE a.trial_id = t.id AND a.start_us > 0), 0) END"
#define TRIAL_ON_SLOTS_SQL TRIAL_ON_SLOTS_AT_SQL("0")
/* clang-format on */

/* The highest steps of a trial `t`, of all groups and runs, without archived
 * reports. */
#define TRIAL_STEPS_SQL                                                                \
    "(SELECT MAX(m.s) FROM (SELECT 0 AS s"                                             \
    " UNION ALL SELECT r.top FROM metric_runs r WHERE r.trial_id = t.id"               \
    " UNION ALL SELECT (SELECT MAX(x.steps) FROM metric_tail x"                        \
    "   WHERE x.trial_id = r.trial_id AND x.group_id = r.group_id"                     \
    "   AND x.run_id = r.run_id)"                                                      \
    "  FROM metric_runs r WHERE r.trial_id = t.id AND r.top IS NULL"                   \
    " UNION ALL SELECT (SELECT b.last_steps FROM metric_blocks b"                      \
    "   WHERE b.trial_id = r.trial_id AND b.group_id = r.group_id"                     \
    "   AND b.run_id = r.run_id ORDER BY b.first_steps DESC, b.first_nth DESC LIMIT "  \
    "1)"                                                                               \
    "  FROM metric_runs r WHERE r.trial_id = t.id AND r.top IS NULL) AS m)"

/* The live state (enum live_state) of `row`, an experiment or a trial, by its allocations `a`
 * that are `its`.  The experiment is `e`. */
#define LIVE_STATE_SQL(row, its)                                                       \
    "CASE WHEN " row ".state = 'ACTIVE' AND e.is_unmanaged THEN 4 WHEN " row           \
    ".state = 'ACTIVE' THEN COALESCE((SELECT MAX(CASE a.state"                         \
    "  WHEN 'RUNNING' THEN 4 WHEN 'STARTING' THEN 3 WHEN 'PULLING' THEN 2"             \
    "  ELSE 1 END) FROM allocations a WHERE " its                                      \
    "  AND a.state <> 'TERMINATED'), 1) ELSE 0 END"

#endif
