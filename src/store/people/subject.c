/* SPDX-License-Identifier: Apache-2.0 */
/* subject.c - rows of `user_subjects`. */
#include "store/people/subject.h"

#include "base/compiler.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

enum { SUBJECT_USER, SUBJECT_OF, SUBJECT_ADD, REMOTE_GROUPS_DROP, REMOTE_GROUP_ADD };

static const struct sql subject_sql[] = {
    SQL(SUBJECT_USER, "SELECT user_id FROM user_subjects"
                      " WHERE issuer = $1 AND subject = $2"),
    SQL(SUBJECT_OF, "SELECT subject FROM user_subjects"
                    " WHERE user_id = $1 AND issuer = $2"),
    SQL(SUBJECT_ADD, "INSERT INTO user_subjects (issuer, subject, user_id)"
                     " VALUES ($1, $2, $3)"),
    SQL(REMOTE_GROUPS_DROP,
        "DELETE FROM group_members WHERE user_id = $1 AND is_remote"),
    SQL(REMOTE_GROUP_ADD, "INSERT INTO group_members (group_id, user_id, is_remote)"
                          " SELECT id, $1, TRUE FROM user_groups WHERE name = $2"
                          " ON CONFLICT DO NOTHING"),
};
const struct sql_table subject_sql_table = SQL_TABLE(subject_sql);

det_status store_subject_user(struct db *db, const char *issuer, const char *subject,
                              int64_t *ret_user_id, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &subject_sql[SUBJECT_USER], err);
    int64_t user_id = 0;

    db_bind_str(&q, issuer);
    db_bind_str(&q, subject);
    if (db_next(&q))
        user_id = db_col_i64(&q);
    if (!q.status)
        *ret_user_id = user_id;
    return q.status;
}

det_status store_subject_of(struct db *db, const char *issuer, int64_t user_id,
                            struct arena *mem, const char **ret_subject,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &subject_sql[SUBJECT_OF], err);
    const char *subject = NULL;

    db_bind_i64(&q, user_id);
    db_bind_str(&q, issuer);
    if (db_next(&q))
        subject = db_col_str(&q, mem);
    if (!q.status)
        *ret_subject = subject;
    return q.status;
}

det_status store_subject_add(struct db *db, const char *issuer, const char *subject,
                             int64_t user_id, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &subject_sql[SUBJECT_ADD], err);

    db_bind_str(&q, issuer);
    db_bind_str(&q, subject);
    db_bind_i64(&q, user_id);
    return db_run(&q);
}

det_status store_remote_groups_set(struct db *db, int64_t user_id,
                                   const char *const *names, uint32_t count,
                                   struct err *err)
{
    det_status st = run_with_id(db, &subject_sql[REMOTE_GROUPS_DROP], user_id, err);

    for (uint32_t i = 0; !st && i < count; i++) {
        CLEANUP(db_query_done)
        struct db_query q = db_query(db, &subject_sql[REMOTE_GROUP_ADD], err);

        db_bind_i64(&q, user_id);
        db_bind_str(&q, names[i]);
        st = db_run(&q);
    }
    return st;
}
