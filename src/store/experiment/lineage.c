/* SPDX-License-Identifier: Apache-2.0 */
/* lineage.c - see lineage.h. */
#include "store/experiment/lineage.h"

#include "base/memory/arena.h"
#include "model/field.h"
#include "model/states.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

enum { KIN_ONE, KIN_CHILDREN, WARM_STARTS };

static const struct sql lineage_sql[] = {
    SQL(KIN_ONE, "SELECT id, name, state, parent_id FROM experiments WHERE id = $1"),
    SQL(KIN_CHILDREN, "SELECT id, name, state, parent_id FROM experiments"
                      " WHERE parent_id = $1 ORDER BY id LIMIT $2"),
    SQL(WARM_STARTS, "SELECT DISTINCT warm_start FROM trials"
                     " WHERE experiment_id = $1 AND warm_start IS NOT NULL LIMIT $2"),
};
const struct sql_table lineage_sql_table = SQL_TABLE(lineage_sql);

static void read_kin(struct db_query *q, struct arena *mem, struct kin *ret_kin)
{
    ret_kin->id = db_col_i64(q);
    ret_kin->name = db_col_str(q, mem);
    ret_kin->state = row_state(q, experiment_state_names, mem);
    ret_kin->parent_id = db_col_i64(q);
}

static det_status find_kin(struct db *db, int64_t id, struct arena *mem,
                           struct kin *ret_kin, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &lineage_sql[KIN_ONE], err);

    *ret_kin = (struct kin){.id = id, .is_gone = true};
    db_bind_i64(&q, id);
    if (db_next(&q)) {
        ret_kin->is_gone = false;
        read_kin(&q, mem, ret_kin);
    }
    return q.status;
}

det_status store_experiment_ancestors(struct db *db, int64_t id, uint32_t most,
                                      struct arena *mem, struct kin **ret_kin,
                                      uint32_t *ret_count, struct err *err)
{
    struct kin *kin = arena_array(mem, struct kin, (size_t)most + 1);
    struct kin at;
    uint32_t count = 0;
    det_status st = find_kin(db, id, mem, &at, err);

    if (!kin)
        return err_default(err, DET_NOMEM);
    while (!st && at.parent_id && count < most) {
        st = find_kin(db, at.parent_id, mem, &at, err);
        kin[count++] = at;
    }
    if (!st && mem->has_failed)
        st = err_default(err, DET_NOMEM);
    *ret_kin = kin;
    *ret_count = count;
    return st;
}

det_status store_experiment_children(struct db *db, int64_t id, uint32_t most,
                                     struct arena *mem, struct kin **ret_kin,
                                     uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &lineage_sql[KIN_CHILDREN], err);
    struct kin *kin = arena_array(mem, struct kin, (size_t)most + 1);
    uint32_t count = 0;

    if (!kin)
        return err_default(err, DET_NOMEM);
    db_bind_i64(&q, id);
    db_bind_i64(&q, most);
    while (count < most && db_next(&q))
        read_kin(&q, mem, &kin[count++]);
    *ret_kin = kin;
    *ret_count = count;
    if (!q.status && mem->has_failed)
        return err_default(err, DET_NOMEM);
    return q.status;
}

det_status store_experiment_warm_starts(struct db *db, int64_t id, uint32_t most,
                                        struct arena *mem, struct field_strs *ret_uuids,
                                        struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &lineage_sql[WARM_STARTS], err);
    const char **uuids = arena_array(mem, const char *, (size_t)most + 1);

    if (!uuids)
        return err_default(err, DET_NOMEM);
    *ret_uuids = (struct field_strs){.at = uuids};
    db_bind_i64(&q, id);
    db_bind_i64(&q, most);
    while (ret_uuids->count < most && db_next(&q))
        uuids[ret_uuids->count++] = db_col_str(&q, mem);
    if (!q.status && mem->has_failed)
        return err_default(err, DET_NOMEM);
    return q.status;
}
