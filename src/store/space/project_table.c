/* SPDX-License-Identifier: Apache-2.0 */
#include "store/space/project_table.h"

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum { CONFIGS, METADATA, BEST };

static const struct sql project_table_sql[] = {
    SQL(CONFIGS, "SELECT c.config FROM experiments e"
                 "  JOIN experiment_configs c ON c.id = e.id"
                 " WHERE e.project_id = $1 AND c.config IS NOT NULL ORDER BY e.id"),
    SQL(METADATA, "SELECT t.metadata FROM experiments e"
                  "  JOIN trials t ON t.experiment_id = e.id"
                  " WHERE e.project_id = $1 AND t.metadata IS NOT NULL ORDER BY t.id"),
    SQL(BEST, "SELECT t.id, t.best_metric FROM experiments e"
              "  JOIN trials t ON t.id = (SELECT b.id FROM trials b"
              "   WHERE b.experiment_id = e.id AND b.best_rank IS NOT NULL"
              "   ORDER BY b.best_rank, b.id LIMIT 1)"
              " WHERE e.project_id = $1 ORDER BY e.id"),
};
const struct sql_table project_table_sql_table = SQL_TABLE(project_table_sql);

static det_status each_text(struct db *db, int which, int64_t id, project_text_fn *fn,
                            void *arg, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &project_table_sql[which], err);

    db_bind_i64(&q, id);
    while (db_next(&q)) {
        size_t len;
        const char *text = db_col_blob(&q, &len);
        det_status st = q.status ? q.status : fn(arg, text, len, err);

        if (st)
            return st;
    }
    return q.status;
}

det_status store_project_configs(struct db *db, int64_t id, project_text_fn *fn,
                                 void *arg, struct err *err)
{
    return each_text(db, CONFIGS, id, fn, arg, err);
}

det_status store_project_metadata(struct db *db, int64_t id, project_text_fn *fn,
                                  void *arg, struct err *err)
{
    return each_text(db, METADATA, id, fn, arg, err);
}

det_status store_project_best(struct db *db, int64_t id, struct arena *mem,
                              struct project_best **ret_best, uint32_t *ret_count,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &project_table_sql[BEST], err);
    VEC(struct project_best) all = {0};
    struct project_best *best;

    db_bind_i64(&q, id);
    while (db_next(&q)) {
        struct project_best one = {db_col_i64(&q), db_col_f64(&q)};

        if (!vec_push(&all, one))
            q.status = err_default(err, DET_NOMEM);
    }
    best = q.status ? NULL : arena_array(mem, struct project_best, all.count + 1);
    if (!q.status && !best)
        q.status = err_default(err, DET_NOMEM);
    for (size_t i = 0; best && i < all.count; i++)
        best[i] = all.at[i];
    *ret_best = best;
    *ret_count = best ? (uint32_t)all.count : 0;
    vec_done(&all);
    return q.status;
}
