/* SPDX-License-Identifier: Apache-2.0 */
/* db.c - the part that all engines share: prepared statements, sticky queries, records.
 *
 * A connection prepares a statement at its first use and keeps it under the address of
 * its row in the SQL table.  If the kept statement is in use (a query within a query),
 * a second one is prepared and dropped after use. */
#include "store/engine/db.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "model/field.h"
#include "store/engine/db_impl.h"

/* ---- connections ----------------------------------------------------------------- */

det_status db_open(struct io *io, const char *path, bool is_read_only,
                   struct db **ret_db, struct err *err)
{
    return db_open_as(io, path, is_read_only ? DB_READER : 0, ret_db, err);
}

det_status db_open_as(struct io *io, const char *path, unsigned how, struct db **ret_db,
                      struct err *err)
{
    bool is_read_only = how & DB_READER;
    struct db *db = mem_new(struct db);
    det_status st;

    if (!db)
        return err_default(err, DET_NOMEM);
    db->driver = &db_sqlite;
    db->is_read_only = is_read_only;
    db->is_alone = how & DB_ALONE;
    db->words[DB_BEGIN].text = is_read_only ? "BEGIN" : db->driver->begin_write;
    db->words[DB_COMMIT].text = "COMMIT";
    db->words[DB_ROLLBACK].text = "ROLLBACK";
    db->words[DB_SAVE].text = "SAVEPOINT job";
    db->words[DB_RELEASE].text = "RELEASE SAVEPOINT job";
    db->words[DB_UNDO].text = "ROLLBACK TO SAVEPOINT job";
    db->path = mem_strdup(path);
    st = db->path ? db->driver->open(db, io, err) : err_default(err, DET_NOMEM);
    if (st) {
        db_close(db);
        return st;
    }

    *ret_db = db;
    return DET_OK;
}

static void statement_free(struct db *db, struct db_statement *statement)
{
    db->driver->finalize(statement->handle);
    mem_free(statement);
}

void db_close(struct db *db)
{
    struct db_statement *statement;

    if (!db)
        return;
    for (size_t i = 0; (statement = map_next(&db->statements, &i));) {
        assert(!statement->is_busy);
        statement_free(db, statement);
    }
    map_done(&db->statements);
    if (db->cache)
        db->cache->free(db->cache);
    db->driver->close(db);
    mem_free(db->path);
    mem_free(db);
}

det_status db_exec(struct db *db, const char *text, struct err *err)
{
    if (fault_strikes(FAULT_QUERY))
        return err_set(err, DET_IO, "a query of '%s' failed", db->path);
    return db->driver->exec(db, text, err);
}

static det_status run_words(struct db *db, int which, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &db->words[which], err);

    return db_run(&q);
}

static void tell_undone(struct db *db)
{
    if (db->cache)
        db->cache->undone(db->cache);
}

/* First ends a transaction that a rollback without memory left open. */
det_status db_begin(struct db *db, struct err *err)
{
    assert(!db->is_read_only);
    if (db->driver->is_in_transaction(db))
        db_rollback(db);
    return run_words(db, DB_BEGIN, err);
}

det_status db_commit(struct db *db, struct err *err)
{
    if (db->is_spoiled)
        return err_default(err, DET_NOMEM);
    return run_words(db, DB_COMMIT, err);
}

/* Bypasses fault injection.  The engine may have rolled back by itself already.  If the
 * rollback fails (no memory), the transaction stays open and spoiled. */
void db_rollback(struct db *db)
{
    if (db->driver->is_in_transaction(db))
        (void)db->driver->exec(db, db->words[DB_ROLLBACK].text, NULL);
    db->is_spoiled = db->driver->is_in_transaction(db);
    tell_undone(db);
}

det_status db_save(struct db *db, struct err *err)
{
    return run_words(db, DB_SAVE, err);
}

det_status db_release(struct db *db, struct err *err)
{
    return run_words(db, DB_RELEASE, err);
}

/* If the job cannot be rolled back alone, the whole transaction must not be
 * committed. */
void db_undo(struct db *db)
{
    if (db->driver->is_in_transaction(db) &&
        (db->driver->exec(db, db->words[DB_UNDO].text, NULL) ||
         db->driver->exec(db, db->words[DB_RELEASE].text, NULL)))
        db->is_spoiled = true;
    tell_undone(db);
}

det_status db_snapshot(struct db *db, struct err *err)
{
    return run_words(db, DB_BEGIN, err);
}

void db_snapshot_end(struct db *db)
{
    if (db->driver->is_in_transaction(db))
        (void)db->driver->exec(db, db->words[DB_COMMIT].text, NULL);
}

det_status db_checkpoint(struct db *db, bool is_whole, struct err *err)
{
    return db->driver->checkpoint(db, is_whole, err);
}

det_status db_shrink(struct db *db, bool everything, bool *ret_did, struct err *err)
{
    return db->driver->shrink(db, everything, ret_did, err);
}

det_status db_file_size(struct db *db, enum db_file which, uint64_t *ret_size,
                        struct err *err)
{
    return db->driver->file_size(db, which, ret_size, err);
}

det_status db_file_read(struct db *db, enum db_file which, uint64_t offset, void *bytes,
                        size_t len, struct err *err)
{
    return db->driver->file_read(db, which, offset, bytes, len, err);
}

det_status db_check(struct db *db, struct err *err)
{
    return db->driver->check(db, err);
}

void db_watch(struct db *db, db_changed_fn *told, void *arg)
{
    db->driver->watch(db, told, arg);
}

bool db_is_in_transaction(struct db *db)
{
    return db->driver->is_in_transaction(db);
}

int64_t db_changes(struct db *db)
{
    return db->driver->changes(db);
}

/* ---- queries --------------------------------------------------------------------- */

static struct db_statement *statement_new(struct db *db, const char *text, bool is_kept,
                                          det_status *ret_status, struct err *err)
{
    struct db_statement *statement = mem_new(struct db_statement);

    *ret_status = statement
                      ? db->driver->prepare(db, text, is_kept, &statement->handle, err)
                      : err_default(err, DET_NOMEM);
    if (!*ret_status)
        return statement;
    mem_free(statement);
    return NULL;
}

struct db_query db_query(struct db *db, const struct sql *sql, struct err *err)
{
    struct db_query q = {.db = db, .err = err};
    int64_t key = (int64_t)(intptr_t)sql;
    struct db_statement *statement = map_get(&db->statements, key);

    assert(sql->text); /* else the table lacks a row for a member of its enum */
    if (!statement) {
        statement = statement_new(db, sql->text, true, &q.status, err);
        if (!statement)
            return q;
        statement->sql = sql;
        if (!map_put(&db->statements, key, statement)) {
            statement_free(db, statement);
            q.status = err_default(err, DET_NOMEM);
            return q;
        }
    } else if (statement->is_busy) {
        return db_query_text(db, sql->text, err);
    }
    statement->is_busy = true;
    q.statement = statement;
    return q;
}

struct db_query db_query_text(struct db *db, const char *text, struct err *err)
{
    struct db_query q = {.db = db, .err = err};

    q.statement = statement_new(db, text, false, &q.status, err);
    return q;
}

void db_query_done(struct db_query *q)
{
    struct db_statement *statement = q->statement;

    if (!statement)
        return;
    q->statement = NULL;
    if (!statement->sql) {
        statement_free(q->db, statement);
        return;
    }
    q->db->driver->reset(statement->handle);
    statement->is_busy = false;
}

static void *handle_of(const struct db_query *q)
{
    return ((struct db_statement *)q->statement)->handle;
}

static void fail_query(struct db_query *q)
{
    q->status = q->db->driver->failure(q->db, q->err);
    q->has_row = false;
}

#define BIND(q, call)                                                                  \
    do {                                                                               \
        if (!(q)->status && !(q)->db->driver->call)                                    \
            fail_query(q);                                                             \
    } while (0)

void db_bind_i64(struct db_query *q, int64_t value)
{
    q->bound++;
    BIND(q, bind_i64(handle_of(q), q->bound, value));
}

void db_bind_f64(struct db_query *q, double value)
{
    q->bound++;
    BIND(q, bind_f64(handle_of(q), q->bound, value));
}

void db_bind_bool(struct db_query *q, bool value)
{
    db_bind_i64(q, value);
}

void db_bind_str(struct db_query *q, const char *text)
{
    q->bound++;
    BIND(q, bind_text(handle_of(q), q->bound, text));
}

void db_bind_blob(struct db_query *q, const void *bytes, size_t len)
{
    q->bound++;
    BIND(q, bind_blob(handle_of(q), q->bound, bytes, len));
}

void db_bind_null(struct db_query *q)
{
    q->bound++;
    BIND(q, bind_null(handle_of(q), q->bound));
}

bool db_next(struct db_query *q)
{
    enum db_step step;

    if (q->status || q->is_done)
        return false;
    if (fault_strikes(FAULT_QUERY)) {
        q->status = err_set(q->err, DET_IO, "a query of '%s' failed", q->db->path);
        return false;
    }
    step = q->db->driver->step(handle_of(q));
    q->column = 0;
    q->has_row = step == DB_STEP_ROW;
    q->is_done = step != DB_STEP_ROW;
    if (step == DB_STEP_FAILED)
        fail_query(q);
    return q->has_row;
}

det_status db_run(struct db_query *q)
{
    while (db_next(q))
        continue;
    return q->status;
}

/* ---- columns --------------------------------------------------------------------- */

int64_t db_col_i64(struct db_query *q)
{
    int at = q->column++;

    return q->has_row ? q->db->driver->col_i64(handle_of(q), at) : 0;
}

double db_col_f64(struct db_query *q)
{
    int at = q->column++;

    return q->has_row ? q->db->driver->col_f64(handle_of(q), at) : 0;
}

bool db_col_bool(struct db_query *q)
{
    return db_col_i64(q) != 0;
}

bool db_col_is_null(struct db_query *q)
{
    return !q->has_row || q->db->driver->col_is_null(handle_of(q), q->column);
}

const char *db_col_str(struct db_query *q, struct arena *mem)
{
    size_t len = 0;
    const char *text = NULL;
    char *copy = NULL;

    if (db_col_is_null(q)) {
        q->column++;
        return NULL;
    }
    /* Without memory the engine returns NULL for a column that has text. */
    text = q->db->driver->col_text(handle_of(q), q->column, &len);
    q->column++;
    if (text)
        copy = arena_strndup(mem, text, len);
    if (!copy && !q->status)
        q->status = err_default(q->err, DET_NOMEM);
    return copy;
}

const void *db_col_blob(struct db_query *q, size_t *ret_len)
{
    const void *bytes = NULL;

    *ret_len = 0;
    if (!db_col_is_null(q)) {
        bytes = q->db->driver->col_blob(handle_of(q), q->column, ret_len);
        if (!bytes && *ret_len && !q->status)
            q->status = err_default(q->err, DET_NOMEM);
    }
    q->column++;
    return bytes;
}

/* ---- records --------------------------------------------------------------------- */

static uint32_t enum_find(const struct field *field, const char *text, size_t len)
{
    for (uint32_t i = 0; field->names[i]; i++) {
        if (strlen(field->names[i]) == len && !memcmp(field->names[i], text, len))
            return i;
    }
    return 0;
}

static void bind_field(struct db_query *q, const struct field *field, const void *at)
{
    double number;

    switch (field->type) {
    case FIELD_I64:
    case FIELD_I64_STR:
    case FIELD_TIME:
        db_bind_i64(q, *(const int64_t *)at);
        break;
    case FIELD_F64:
        number = *(const double *)at;
        if (isnan(number) && field->has) /* SQLite has no NaN */
            db_bind_null(q);
        else
            db_bind_f64(q, isnan(number) ? 0 : number);
        break;
    case FIELD_BOOL:
        db_bind_bool(q, *(const bool *)at);
        break;
    case FIELD_STR:
    case FIELD_JSON:
        db_bind_str(q, *(const char *const *)at);
        break;
    case FIELD_ENUM:
        db_bind_str(q, field->names[*(const uint32_t *)at]);
        break;
    case FIELD_TREE:
    case FIELD_STRS:
    case FIELD_I64S:
    case FIELD_RECORD:
    case FIELD_RECORDS:
        if (!q->status)
            q->status =
                err_set(q->err, DET_INVALID, "'%s' cannot be a column", field->name);
        break;
    }
}

void db_bind_record(struct db_query *q, const struct field *fields, const void *record)
{
    for (const struct field *field = fields; field->name; field++) {
        const char *at = (const char *)record + field->offset;

        if (field->has && !*((const char *)record + field->has - 1))
            db_bind_null(q);
        else
            bind_field(q, field, at);
    }
}

static void read_field(struct db_query *q, const struct field *field, void *at,
                       struct arena *mem)
{
    size_t len = 0;
    const char *text;

    switch (field->type) {
    case FIELD_I64:
    case FIELD_I64_STR:
    case FIELD_TIME:
        *(int64_t *)at = db_col_i64(q);
        break;
    case FIELD_F64:
        *(double *)at = db_col_f64(q);
        break;
    case FIELD_BOOL:
        *(bool *)at = db_col_bool(q);
        break;
    case FIELD_STR:
    case FIELD_JSON:
        *(const char **)at = db_col_str(q, mem);
        break;
    case FIELD_ENUM:
        text = db_col_is_null(q)
                   ? ""
                   : q->db->driver->col_text(handle_of(q), q->column, &len);
        if (!text && !q->status)
            q->status = err_default(q->err, DET_NOMEM);
        *(uint32_t *)at = text ? enum_find(field, text, len) : 0;
        q->column++;
        break;
    case FIELD_TREE:
    case FIELD_STRS:
    case FIELD_I64S:
    case FIELD_RECORD:
    case FIELD_RECORDS:
        if (!q->status)
            q->status =
                err_set(q->err, DET_INVALID, "'%s' cannot be a column", field->name);
        break;
    }
}

void db_read(struct db_query *q, const struct field *fields, void *record,
             struct arena *mem)
{
    if (!q->has_row || q->status)
        return;
    for (const struct field *field = fields; field->name; field++) {
        if (field->has)
            *((char *)record + field->has - 1) = !db_col_is_null(q);
        read_field(q, field, (char *)record + field->offset, mem);
    }
}
