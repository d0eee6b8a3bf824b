/* SPDX-License-Identifier: Apache-2.0 */
#include "store/experiment/local_number.h"

#include "base/compiler.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum { COUNT_ONE, GIVE_ONE, GIVE_ALL, COUNT_ALL };

#define PROJECT_OF_TRIAL                                                               \
    "(SELECT e.project_id FROM trials t JOIN experiments e ON e.id = t.experiment_id"  \
    " WHERE t.id = $1)"

static const struct sql local_number_sql[] = {
    SQL(COUNT_ONE, "UPDATE projects SET trials_numbered = trials_numbered + 1"
                   " WHERE id = " PROJECT_OF_TRIAL),
    SQL(GIVE_ONE, "UPDATE trials SET local_number = COALESCE((SELECT p.trials_numbered"
                  "  FROM projects p WHERE p.id = " PROJECT_OF_TRIAL "), 0)"
                  " WHERE id = $1"),
    SQL(GIVE_ALL, "UPDATE trials SET local_number = n.nth +"
                  "  (SELECT p.trials_numbered FROM projects p WHERE p.id = $2)"
                  " FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS nth"
                  "   FROM trials WHERE experiment_id = $1) AS n"
                  " WHERE n.id = trials.id"),
    SQL(COUNT_ALL, "UPDATE projects SET trials_numbered = trials_numbered +"
                   "  (SELECT COUNT(*) FROM trials WHERE experiment_id = $1)"
                   " WHERE id = $2"),
};
const struct sql_table local_number_sql_table = SQL_TABLE(local_number_sql);

static det_status run(struct db *db, int which, int64_t id, int64_t project_id,
                      struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &local_number_sql[which], err);

    db_bind_i64(&q, id);
    if (project_id)
        db_bind_i64(&q, project_id);
    return db_run(&q);
}

det_status local_number_give(struct db *db, int64_t trial_id, struct err *err)
{
    det_status st = run(db, COUNT_ONE, trial_id, 0, err);

    return st ? st : run(db, GIVE_ONE, trial_id, 0, err);
}

det_status local_number_move(struct db *db, int64_t experiment_id, int64_t project_id,
                             struct err *err)
{
    det_status st = run(db, GIVE_ALL, experiment_id, project_id, err);

    return st ? st : run(db, COUNT_ALL, experiment_id, project_id, err);
}
