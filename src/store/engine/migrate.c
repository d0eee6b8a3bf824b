/* SPDX-License-Identifier: Apache-2.0 */
/* migrate.c - migrations go forward only; each is recorded and applied once.
 *
 * To change the schema, add migrations/NNNN-name.sql with the next number.  Never edit
 * a released file. */
#include "store/engine/migrate.h"

#include <assert.h>
#include <inttypes.h>

#include "store/engine/db.h"
#include "store/engine/db_impl.h"
#include "store/sql_tables.h"

enum { VERSION_GET, VERSION_ADD };

static const struct sql migrate_sql[] = {
    SQL(VERSION_GET, "SELECT COALESCE(MAX(version), 0) FROM schema_versions"),
    SQL(VERSION_ADD, "INSERT INTO schema_versions (version, name) VALUES ($1, $2)"),
};
const struct sql_table migrate_sql_table = SQL_TABLE(migrate_sql);

det_status db_version(struct db *db, int64_t *ret_version, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &migrate_sql[VERSION_GET], err);

    if (db_next(&q))
        *ret_version = db_col_i64(&q);
    return q.status;
}

static det_status version_add(struct db *db, const struct migration *migration,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &migrate_sql[VERSION_ADD], err);

    db_bind_i64(&q, migration->number);
    db_bind_str(&q, migration->name);
    return db_run(&q);
}

static det_status apply_migration(struct db *db, const struct migration *migration,
                                  struct err *err)
{
    det_status st = db_exec(db, migration->text, err);

    return st ? st : version_add(db, migration, err);
}

det_status db_schema_number(struct db *db, int64_t *ret_number, struct err *err)
{
    det_status st = db_exec(db,
                            "CREATE TABLE IF NOT EXISTS schema_versions ("
                            "version INTEGER PRIMARY KEY, name TEXT NOT NULL)",
                            err);

    *ret_number = 0;
    return st ? st : db_version(db, ret_number, err);
}

det_status db_migrate(struct db *db, uint32_t upto, struct err *err)
{
    int64_t version;
    det_status st = db_schema_number(db, &version, err);

    assert(upto <= migration_count);
    if (st)
        return st;
    if (version > migration_count)
        return err_set(
            err, DET_STATE,
            "the database '%s' was written by a newer det (its schema is number "
            "%" PRId64 ", this one knows %" PRIu32 "): use a newer det, or go back to "
            "the copy '%s.schema-NN' that it kept before it upgraded",
            db->path, version, migration_count, db->path);
    if (version >= upto)
        return DET_OK;
    st = db_begin(db, err);
    if (st)
        return st;
    for (uint32_t i = (uint32_t)version; i < upto && !st; i++)
        st = apply_migration(db, &migrations[i], err);
    if (!st)
        st = db_commit(db, err);
    if (st)
        db_rollback(db);
    return st;
}
