/* SPDX-License-Identifier: Apache-2.0 */
#include "store/people/grants.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum { GRANTS_OF };

static const struct sql grants_sql[] = {
    SQL(GRANTS_OF, "SELECT workspace_id, role_id FROM role_assignments"
                   "  WHERE user_id = $1 AND group_id = 0"
                   " UNION SELECT a.workspace_id, a.role_id"
                   "  FROM group_members m JOIN role_assignments a"
                   "    ON a.user_id = 0 AND a.group_id = m.group_id"
                   "  WHERE m.user_id = $1"
                   " ORDER BY workspace_id, role_id"),
};
const struct sql_table grants_sql_table = SQL_TABLE(grants_sql);

typedef VEC(struct grant) grant_list;

/* The rows are sorted by workspace, so the last entry is the only one that may match. */
static bool add_grant(grant_list *list, int64_t workspace_id, uint64_t mask)
{
    if (list->count && list->at[list->count - 1].workspace_id == workspace_id) {
        list->at[list->count - 1].mask |= mask;
        return true;
    }
    return vec_push(list, ((struct grant){.workspace_id = workspace_id, .mask = mask}));
}

static det_status read_grants(struct db_query *q, struct grants *grants,
                              grant_list *list)
{
    while (db_next(q)) {
        int64_t workspace_id = db_col_i64(q);
        const struct role *role = role_find(db_col_i64(q));
        uint64_t mask = role ? role->mask : 0;

        if (!workspace_id)
            grants->cluster |= mask;
        else if (!add_grant(list, workspace_id, mask))
            return err_default(q->err, DET_NOMEM);
    }
    return q->status;
}

det_status store_grants_of(struct db *db, int64_t user_id, struct arena *mem,
                           struct grants *ret_grants, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &grants_sql[GRANTS_OF], err);
    struct grants grants = {0};
    grant_list list = {0};
    struct grant *copy = NULL;
    det_status st;

    db_bind_i64(&q, user_id);
    st = read_grants(&q, &grants, &list);
    if (!st && list.count) {
        copy = arena_array(mem, struct grant, list.count);
        if (!copy)
            st = err_default(err, DET_NOMEM);
        else
            memcpy(copy, list.at, list.count * sizeof(*copy));
    }
    grants.grant = copy;
    grants.count = (uint32_t)list.count;
    vec_done(&list);
    if (!st)
        *ret_grants = grants;
    return st;
}

bool grants_are_same(const struct grants *a, const struct grants *b)
{
    return a->cluster == b->cluster && a->count == b->count &&
           (!a->count || !memcmp(a->grant, b->grant, a->count * sizeof(*a->grant)));
}

struct grants *grants_copy(const struct grants *grants, struct arena *mem)
{
    struct grants *copy = arena_new(mem, struct grants);
    struct grant *list = arena_array(mem, struct grant, grants->count + 1);

    if (!copy || !list)
        return NULL;
    if (grants->count)
        memcpy(list, grants->grant, grants->count * sizeof(*list));
    *copy = (struct grants){grants->cluster, list, grants->count};
    return copy;
}
