/* SPDX-License-Identifier: Apache-2.0 */
/* db.h - the narrow seam between our SQL and a database engine.
 *
 * One SQL text for every engine, with PostgreSQL's $1, $2, ...; SQLite numbers such
 * names by first appearance, so the driver binds by name.  A query is a sticky builder:
 * bind, step and read remember the first failure in `status`; the caller checks once.
 *
 *   CLEANUP(db_query_done)
 *   struct db_query q = db_query(db, &trial_sql[TRIAL_GET], err);
 *
 *   db_bind_i64(&q, id);
 *   if (!db_next(&q) && !q.status)
 *       return err_set(err, DET_NOT_FOUND, "no trial %" PRId64, id);
 *   db_read(&q, trial_fields, &trial, mem);
 *   return q.status;
 *
 * A connection prepares each statement once and keeps it.  A connection belongs to one
 * thread at a time.  Statuses: DET_IO, DET_FULL, DET_BUSY, DET_CORRUPT, DET_NOMEM,
 * DET_EXISTS (a unique key). */
#ifndef STORE_ENGINE_DB_H
#define STORE_ENGINE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct field;
struct io;

struct sql {
    const char *text;
};

#define SQL(id, ...) [id] = {.text = __VA_ARGS__}

struct db_query {
    struct db *db;
    void *statement;
    struct err *err;
    det_status status;
    int bound;  /* parameters bound so far */
    int column; /* the next one db_col_*() reads */
    bool has_row;
    bool is_done;
};

/* `io` decides which files the engine uses: the machine's or those of a memory file
 * system.  On a read-only connection each statement sees a snapshot. */
det_status db_open(struct io *io, const char *path, bool is_read_only,
                   struct db **ret_db, struct err *err);
/* DB_ALONE: no other process opens the file, so what connections share is in memory and
 * needs no room on the disk.  All connections of the process must do the same. */
enum db_how { DB_READER = 1, DB_ALONE = 2 };
det_status db_open_as(struct io *io, const char *path, unsigned how, struct db **ret_db,
                      struct err *err);
void db_close(struct db *db);

det_status db_exec(struct db *db, const char *text,
                   struct err *err); /* one statement or several */
det_status db_begin(struct db *db,
                    struct err *err); /* takes the write lock immediately */
det_status db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db);
/* A savepoint: one job within a group commit. */
det_status db_save(struct db *db, struct err *err);
det_status db_release(struct db *db, struct err *err);
void db_undo(struct db *db);
/* A consistent view over several reads. */
det_status db_snapshot(struct db *db, struct err *err);
void db_snapshot_end(struct db *db);

/* The engine's own files as bytes, for a copy of the database.  While a snapshot is held
 * (db_snapshot() and a query), the bytes of both together make a whole database: of pages
 * that change in the file meanwhile, the log has the newer version, and the log is not
 * written anew.  Exception: a log whose pages are all in the file may begin anew once;
 * then its head changes before anything else of it does. */
enum db_file { DB_FILE_PAGES, DB_FILE_LOG };
enum { DB_LOG_HEAD = 32 };
det_status db_file_size(struct db *db, enum db_file which, uint64_t *ret_size,
                        struct err *err);
/* Bytes beyond the end are zero. */
det_status db_file_read(struct db *db, enum db_file which, uint64_t offset, void *bytes,
                        size_t len, struct err *err);
/* Whether the pages make a tree, and the rows fit their tables.  An index is not compared
 * with its table, which would take as long as to make it anew.  DET_CORRUPT. */
det_status db_check(struct db *db, struct err *err);

struct db_query db_query(struct db *db, const struct sql *sql, struct err *err);
/* For statements built at run time (filters, sorting); the statement is not kept. */
struct db_query db_query_text(struct db *db, const char *text, struct err *err);
void db_query_done(struct db_query *q);

void db_bind_i64(struct db_query *q, int64_t value);
void db_bind_f64(struct db_query *q, double value);
void db_bind_bool(struct db_query *q, bool value);
void db_bind_str(struct db_query *q, const char *text); /* NULL: null; borrows */
void db_bind_blob(struct db_query *q, const void *bytes, size_t len); /* borrows */
void db_bind_null(struct db_query *q);
/* All fields of a record, in the table's order. */
void db_bind_record(struct db_query *q, const struct field *fields, const void *record);

/* True: there is a (next) row. */
bool db_next(struct db_query *q);
/* Runs the query to its end and returns its status. */
det_status db_run(struct db_query *q);
int64_t db_changes(struct db *db); /* rows the last statement changed */

/* The columns of the row, one after the other. */
int64_t db_col_i64(struct db_query *q);
double db_col_f64(struct db_query *q);
bool db_col_bool(struct db_query *q);
bool db_col_is_null(struct db_query *q); /* stays at the column */
const char *db_col_str(struct db_query *q,
                       struct arena *mem); /* copied; NULL for null */
/* Borrowed until the next step. */
const void *db_col_blob(struct db_query *q, size_t *ret_len);
/* Fills a record from the next columns; strings into `mem`. */
void db_read(struct db_query *q, const struct field *fields, void *record,
             struct arena *mem);

#endif
