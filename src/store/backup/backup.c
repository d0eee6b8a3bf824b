/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backup/backup.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "store/backup/vault.h"
#include "store/engine/db.h"
#include "store/engine/migrate.h"
#include "store/setting.h"

enum { LOOK_EVERY = 64, LOG_TRIES = 5 };

struct sum {
    unsigned char bytes[SHA256_BYTES];
};

struct making {
    const struct backup_config *config;
    struct arena *mem;
    struct vault *vault;
    struct db *db;
    unsigned char *bytes; /* CHUNK_BYTES */
    struct map known;     /* path -> file of the newest backup, for checkpoints */
    VEC(struct inventory_file) files;
    VEC(struct sum) sums; /* of the file at hand */
    uint64_t log_size;    /* when the copy began */
    uint64_t read_bytes;
    int64_t start_us; /* monotonic */
    bool has_left_checkpoints;
    uint64_t unreadable;
    const char *first_unreadable;
};

/* ---- pieces ---------------------------------------------------------------------- */

/* Waits until the bytes read so far were due. */
static void keep_pace(struct making *m, size_t len)
{
    int64_t due_us;

    m->read_bytes += len;
    if (!m->config->rate)
        return;
    due_us =
        m->start_us + (int64_t)((double)m->read_bytes / (double)m->config->rate * 1e6);
    if (due_us > clock_mono_us(m->config->clock))
        clock_pause(m->config->clock, due_us - clock_mono_us(m->config->clock));
}

static det_status put_chunk(struct making *m, size_t len, struct err *err)
{
    struct sum sum;
    det_status st = vault_put(m->vault, m->bytes, len, sum.bytes, err);

    if (st)
        return st;
    keep_pace(m, len);
    return vec_push(&m->sums, sum) ? DET_OK : err_default(err, DET_NOMEM);
}

/* Takes the sums that were gathered. */
static det_status add_file(struct making *m, const char *path,
                           const struct io_stat *found, uint64_t size, struct err *err)
{
    size_t count = m->sums.count;
    unsigned char *sums = arena_array(m->mem, unsigned char, count *SHA256_BYTES + 1);
    struct inventory_file file = {
        .path = arena_strdup(m->mem, path),
        .mode = found->mode,
        .modified_us = found->modified_us,
        .size_bytes = size,
        .sums = sums,
        .chunks = count,
    };

    if (!sums || !file.path)
        return err_default(err, DET_NOMEM);
    if (count)
        memcpy(sums, m->sums.at, count * SHA256_BYTES);
    vec_clear(&m->sums);
    return vec_push(&m->files, file) ? DET_OK : err_default(err, DET_NOMEM);
}

static char *join(struct making *m, const char *folder, const char *name)
{
    return *folder ? arena_printf(m->mem, "%s/%s", folder, name)
                   : arena_strdup(m->mem, name);
}

/* ---- the database ---------------------------------------------------------------- */

/* The master needs the space more than the backup does. */
static det_status leave_room(struct making *m, struct err *err)
{
    struct io_space space;
    uint64_t size = 0;
    det_status st = db_file_size(m->db, DB_FILE_LOG, &size, err);

    if (st || size <= m->log_size ||
        io_space(m->config->io, m->config->data_dir, &space, NULL))
        return st;
    if (size - m->log_size <= space.free_bytes)
        return DET_OK;
    return err_set(err, DET_FULL,
                   "the backup was given up: the log of the database has grown by "
                   "%" PRIu64 " MB while it ran, and the disk of '%s' has only %" PRIu64
                   " MB left; make room there",
                   (size - m->log_size) >> 20, m->config->data_dir,
                   space.free_bytes >> 20);
}

static det_status copy_engine_file(struct making *m, enum db_file which, uint64_t size,
                                   struct err *err)
{
    det_status st = DET_OK;

    for (uint64_t at = 0; at < size && !st; at += CHUNK_BYTES) {
        size_t len = (size_t)MIN(size - at, (uint64_t)CHUNK_BYTES);

        st = db_file_read(m->db, which, at, m->bytes, len, err);
        if (!st)
            st = put_chunk(m, len, err);
        if (!st && at / CHUNK_BYTES % LOOK_EVERY == 0)
            st = leave_room(m, err);
    }
    return st;
}

/* If its head is the same before and after, it was not begun anew meanwhile. */
static det_status copy_log(struct making *m, struct err *err)
{
    struct io_stat private = {.mode = 0600};
    char before[DB_LOG_HEAD];
    char after[DB_LOG_HEAD];
    uint64_t size = 0;

    for (int i = 0; i < LOG_TRIES; i++) {
        det_status st =
            db_file_read(m->db, DB_FILE_LOG, 0, before, sizeof(before), err);

        vec_clear(&m->sums);
        if (!st)
            st = db_file_size(m->db, DB_FILE_LOG, &size, err);
        if (!st)
            st = copy_engine_file(m, DB_FILE_LOG, size, err);
        if (!st)
            st = db_file_read(m->db, DB_FILE_LOG, 0, after, sizeof(after), err);
        if (st)
            return st;
        if (!memcmp(before, after, sizeof(after)))
            return add_file(m, "det.db-wal", &private, size, err);
    }
    return err_set(err, DET_BUSY,
                   "the log of the database does not stay the same; try again");
}

static det_status read_identity(struct making *m, struct inventory *inventory,
                                struct err *err)
{
    det_status st =
        store_text_get(m->db, "cluster_id", m->mem, &inventory->cluster_id, err);

    if (!st)
        st = db_version(m->db, &inventory->schema, err);
    if (!st && !inventory->cluster_id)
        st = err_set(err, DET_NOT_FOUND, "no master has ever run in '%s'",
                     m->config->data_dir);
    if (!st && inventory->schema > migration_count)
        st = err_set(err, DET_STATE,
                     "the database in '%s' was written by a newer det: use that one",
                     m->config->data_dir);
    return st ? st : vault_claim(m->vault, inventory->cluster_id, err);
}

static det_status copy_database(struct making *m, struct inventory *inventory,
                                struct err *err)
{
    struct io_stat private = {.mode = 0600};
    uint64_t size = 0;
    det_status st = db_snapshot(m->db, err);

    if (!st) /* the first query fixes the snapshot */
        st = read_identity(m, inventory, err);
    if (!st)
        st = db_file_size(m->db, DB_FILE_LOG, &m->log_size, err);
    if (!st)
        st = db_file_size(m->db, DB_FILE_PAGES, &size, err);
    if (!st)
        st = copy_engine_file(m, DB_FILE_PAGES, size, err);
    if (!st)
        st = add_file(m, "det.db", &private, size, err);
    if (!st)
        st = copy_log(m, err);
    inventory->time_us = clock_wall_us(m->config->clock);
    db_snapshot_end(m->db);
    return st;
}

/* ---- the other files ------------------------------------------------------------- */

/* The last backup has a file of this time and size: a checkpoint, which does not change.
 * Returns false if its bytes must be read. */
static bool reuse_file(struct making *m, const char *path, const struct io_stat *found)
{
    const struct inventory_file *old = smap_get(&m->known, path);

    if (!old || old->size_bytes != found->size_bytes ||
        old->modified_us != found->modified_us)
        return false;
    for (size_t i = 0; i < old->chunks; i++)
        if (!vault_has(m->vault, old->sums + i * SHA256_BYTES))
            return false;
    return vec_push(&m->files, *old);
}

/* Tasks write checkpoints: what they make unreadable must not cost all of the backup. */
static det_status leave_out(struct making *m, const char *path, det_status st,
                            struct err *err)
{
    if (st == DET_NOT_FOUND) /* removed meanwhile */
        return DET_OK;
    if (strncmp(path, "checkpoints/", strlen("checkpoints/")) || st == DET_NOMEM)
        return err_default(err, st);
    if (!m->unreadable++)
        m->first_unreadable = arena_strdup(m->mem, path);
    return DET_OK;
}

/* No more than it had when the copy began: it may grow as fast as it is read. */
static det_status copy_file(struct making *m, const char *path, struct err *err)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    const char *full = arena_printf(m->mem, "%s/%s", m->config->data_dir, path);
    struct io_stat found;
    uint64_t size = 0;
    size_t len = 0;
    det_status st =
        full ? io_stat(m->config->io, full, &found, err) : err_default(err, DET_NOMEM);

    if (st)
        return leave_out(m, path, st, err);
    if (reuse_file(m, path, &found))
        return DET_OK;
    st = io_open(m->config->io, full, IO_READ | IO_PLAIN, &file, err);
    if (st)
        return leave_out(m, path, st, err);
    do {
        uint64_t left = found.size_bytes - MIN(size, found.size_bytes);

        st = io_read_at(file, size, m->bytes, MIN(left, (uint64_t)CHUNK_BYTES), &len,
                        err);
        if (st) {
            vec_clear(&m->sums);
            return leave_out(m, path, st, err);
        }
        if (len)
            st = put_chunk(m, len, err);
        size += len;
    } while (!st && len == CHUNK_BYTES);
    return st ? st : add_file(m, path, &found, size, err);
}

/* What belongs to this machine or to this run of the master, and the database, which is
 * copied in its own way. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {
        "agent.log",   "det.db",      "det.db-shm",  "det.db-wal", "det.db.part",
        "master.json", "master.last", "master.lock", "master.log", "secret.key",
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return !strncmp(name, "reset-", 6) ||        /* tickets for forgotten passwords */
           !strncmp(name, "det.db.schema-", 14); /* copies before upgrades */
}

/* The plain files of a folder; `is_deep`: and of the folders in it. */
static det_status copy_folder(struct making *m, const char *folder, bool is_deep,
                              struct err *err)
{
    const char *full = arena_printf(m->mem, "%s/%s", m->config->data_dir, folder);
    const char **names = NULL;
    det_status st = full ? io_list(m->config->io, full, m->mem, &names, err)
                         : err_default(err, DET_NOMEM);

    if (st)
        return leave_out(m, folder, st, err);
    for (; !st && *names; names++) {
        const char *path = join(m, folder, *names);
        struct io_stat found;

        full = path ? arena_printf(m->mem, "%s/%s", m->config->data_dir, path) : NULL;
        if (!full)
            return err_default(err, DET_NOMEM);
        if (!*folder && is_left_out(*names))
            continue;
        st = io_stat(m->config->io, full, &found, err);
        if (st)
            st = leave_out(m, path, st, err);
        else if (found.kind == IO_FILE)
            st = copy_file(m, path, err);
        else if (found.kind == IO_DIRECTORY && is_deep)
            st = copy_folder(m, path, true, err);
    }
    return st;
}

static det_status copy_files(struct making *m, struct err *err)
{
    const char *checkpoints =
        arena_printf(m->mem, "%s/checkpoints", m->config->data_dir);
    const char **names = NULL;
    det_status st =
        checkpoints ? copy_folder(m, "", false, err) : err_default(err, DET_NOMEM);

    if (!st)
        st = copy_folder(m, "tls", false, err);
    if (!st && m->config->with_checkpoints)
        st = copy_folder(m, "checkpoints", true, err);
    if (!st && !m->config->with_checkpoints &&
        !io_list(m->config->io, checkpoints, m->mem, &names, NULL))
        m->has_left_checkpoints = *names != NULL;
    return st;
}

/* ---- older backups --------------------------------------------------------------- */

static det_status mark_chunks(struct vault *vault, struct io *io, const char *id,
                              struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SIZE_MAX);
    struct inventory inventory;
    det_status st = inventory_read(io, vault_path(vault), id, &mem, &inventory, err);

    for (size_t i = 0; !st && i < inventory.files; i++)
        for (size_t k = 0; k < inventory.file[i].chunks; k++)
            vault_mark(vault, inventory.file[i].sums + k * SHA256_BYTES);
    return st;
}

/* A database that is damaged is copied as it is, and cannot be restored: the backups of
 * before are all there is. */
static det_status check_source(struct making *m, const struct backup_outcome *outcome,
                               struct err *err)
{
    struct err why = {0};
    det_status st = db_check(m->db, &why);

    if (!st)
        return DET_OK;
    return err_set(
        err, st,
        "%.1000s; it was copied as it is (backup %s), and older backups were "
        "not removed: restore one of them",
        why.text, outcome->id);
}

/* A damaged inventory might need any chunk, so no chunk is removed as long as it is kept. */
static det_status remove_older(struct making *m, struct backup_outcome *outcome,
                               struct err *err)
{
    struct io *io = m->config->io;
    const char *path = m->config->vault;
    const char **ids = NULL;
    size_t keep = (size_t)m->config->keep;
    size_t count = 0;
    bool is_sure = true;
    det_status st = inventory_list(io, path, m->mem, &ids, &count, err);

    if (st || !keep || count <= keep)
        return st;
    st = check_source(m, outcome, err);
    for (size_t i = count - keep; i < count && !st; i++) {
        st = mark_chunks(m->vault, io, ids[i], err);
        is_sure = is_sure && st != DET_CORRUPT;
        st = st == DET_CORRUPT ? DET_OK : st;
    }
    for (size_t i = 0; i < count - keep && !st; i++, outcome->removed += !st)
        st = inventory_remove(io, path, ids[i], err);
    if (!st) {
        const char *folder = arena_printf(m->mem, "%s/backups", path);

        st = folder ? io_sync_dir(io, folder, err) : err_default(err, DET_NOMEM);
    }
    return st || !is_sure ? st : vault_sweep(m->vault, &outcome->freed_bytes, err);
}

/* ---- one backup ------------------------------------------------------------------ */

/* The checkpoints that it has already.  A damaged one costs reading them again. */
static void load_last(struct making *m)
{
    struct inventory last = {0};
    const char **ids = NULL;
    size_t count = 0;

    if (!m->config->with_checkpoints ||
        inventory_list(m->config->io, m->config->vault, m->mem, &ids, &count, NULL) ||
        !count ||
        inventory_read(m->config->io, m->config->vault, ids[count - 1], m->mem, &last,
                       NULL))
        return;
    for (size_t i = 0; i < last.files; i++)
        if (!strncmp(last.file[i].path, "checkpoints/", strlen("checkpoints/")))
            (void)smap_put(&m->known, last.file[i].path, &last.file[i]);
}

static det_status open_source(struct making *m, struct err *err)
{
    const char *path = arena_printf(m->mem, "%s/det.db", m->config->data_dir);
    struct io_stat found;
    det_status st =
        path ? io_stat(m->config->io, path, &found, err) : err_default(err, DET_NOMEM);

    if (st == DET_NOT_FOUND)
        return err_set(err, DET_NOT_FOUND,
                       "there is no database in '%s': name the data directory of the "
                       "master with --data-dir",
                       m->config->data_dir);
    return st ? st : db_open(m->config->io, path, true, &m->db, err);
}

static det_status make_one(struct making *m, struct backup_outcome *outcome,
                           struct err *err)
{
    const struct backup_config *config = m->config;
    struct inventory inventory = {
        .id = outcome->id,
        .version = config->version,
        .data_dir = config->data_dir,
        .has_checkpoints = config->with_checkpoints,
    };
    det_status st = copy_database(m, &inventory, err);

    if (!st)
        st = copy_files(m, err);
    if (!st)
        st = vault_flush(m->vault, err);
    if (!st)
        st = inventory_new_id(config->io, config->vault, clock_wall_us(config->clock),
                              outcome->id, err);
    if (st)
        return st;
    inventory.file = m->files.at;
    inventory.files = m->files.count;
    inventory.new_bytes = outcome->new_bytes = vault_written(m->vault);
    outcome->size_bytes = inventory_size(&inventory);
    outcome->files = inventory.files;
    outcome->has_left_checkpoints = m->has_left_checkpoints;
    outcome->unreadable = m->unreadable;
    outcome->first_unreadable = m->first_unreadable;
    return inventory_write(config->io, config->vault, &inventory, err);
}

det_status backup_make(const struct backup_config *config, struct arena *mem,
                       struct backup_outcome *ret_outcome, struct err *err)
{
    struct making m = {
        .config = config,
        .mem = mem,
        .bytes = mem_alloc(CHUNK_BYTES),
        .start_us = clock_mono_us(config->clock),
    };
    struct backup_outcome outcome = {0};
    const char *damaged = NULL;
    det_status st = m.bytes ? open_source(&m, err) : err_default(err, DET_NOMEM);

    if (!st)
        st = vault_open(config->io, config->vault, true, &m.vault, err);
    if (!st) {
        (void)vault_damaged(m.vault, &damaged);
        outcome.damaged_pack = damaged ? arena_strdup(mem, damaged) : NULL;
        load_last(&m);
        st = make_one(&m, &outcome, err);
    }
    if (!st)
        st = remove_older(&m, &outcome, err);
    db_close(m.db);
    vault_close(m.vault);
    vec_done(&m.files);
    vec_done(&m.sums);
    map_done(&m.known);
    mem_free(m.bytes);
    *ret_outcome = outcome;
    return st;
}

/* ---- verifying ------------------------------------------------------------------- */

static det_status verify_one(struct vault *vault, struct io *io, const char *id,
                             unsigned char *bytes, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SIZE_MAX);
    struct inventory inventory;
    size_t len = 0;
    det_status st = inventory_read(io, vault_path(vault), id, &mem, &inventory, err);

    for (size_t i = 0; !st && i < inventory.files; i++) {
        uint64_t size = 0;

        for (size_t k = 0; k < inventory.file[i].chunks && !st; k++, size += len)
            st = vault_get(vault, inventory.file[i].sums + k * SHA256_BYTES, bytes,
                           &len, err);
        if (!st && size != inventory.file[i].size_bytes)
            st = err_set(err, DET_CORRUPT, "'%s' has the wrong size",
                         inventory.file[i].path);
    }
    return st ? err_prefix(err, "backup %s", id) : DET_OK;
}

det_status backup_verify(struct vault *vault, struct io *io, uint64_t *ret_good,
                         uint64_t *ret_bad, struct err *ret_why, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    CLEANUP(mem_freep) unsigned char *bytes = mem_alloc(CHUNK_BYTES);
    const char **ids = NULL;
    size_t count = 0;
    det_status st = bytes
                        ? inventory_list(io, vault_path(vault), &mem, &ids, &count, err)
                        : err_default(err, DET_NOMEM);

    *ret_good = *ret_bad = 0;
    for (size_t i = 0; i < count && !st; i++) {
        struct err why = {0};

        if (!verify_one(vault, io, ids[i], bytes, &why)) {
            ++*ret_good;
        } else if (!(*ret_bad)++) {
            *ret_why = why;
        }
    }
    return st;
}
