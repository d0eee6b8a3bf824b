/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backup/restore.h"

#include <inttypes.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "store/backup/inventory.h"
#include "store/backup/step_back.h"
#include "store/backup/timeline.h"
#include "store/backup/vault.h"
#include "store/engine/db.h"
#include "store/engine/db_impl.h"
#include "store/engine/migrate.h"

struct restoring {
    const struct restore_config *config;
    struct arena *mem;
    struct vault *vault;
    const char *staging;
    unsigned char *bytes; /* CHUNK_BYTES */
    struct restore_outcome *outcome;
};

/* ---- which one ------------------------------------------------------------------- */

det_status restore_find(const struct restore_config *config, struct arena *mem,
                        struct inventory *ret_inventory, struct err *err)
{
    const char **ids = NULL;
    size_t count = 0;
    det_status st;

    if (config->backup_id)
        return inventory_read(config->io, config->vault, config->backup_id, mem,
                              ret_inventory, err);
    st = inventory_list(config->io, config->vault, mem, &ids, &count, err);
    while (!st && count) {
        st = inventory_read(config->io, config->vault, ids[--count], mem, ret_inventory,
                            err);
        if (!st && (!config->at_us || ret_inventory->time_us <= config->at_us))
            return DET_OK;
    }
    return st ? st
              : err_set(err, DET_NOT_FOUND,
                        config->at_us ? "no backup in '%s' is that old"
                                      : "there is no complete backup in '%s'",
                        config->vault);
}

/* ---- files ----------------------------------------------------------------------- */

static det_status write_chunks(struct restoring *r, const struct inventory_file *from,
                               struct io_file *to, struct err *err)
{
    uint64_t at = 0;
    size_t len = 0;
    det_status st = DET_OK;

    for (size_t i = 0; i < from->chunks && !st; i++, at += len) {
        st = vault_get(r->vault, from->sums + i * SHA256_BYTES, r->bytes, &len, err);
        if (!st)
            st = io_write_at(to, at, r->bytes, len, err);
        if (!st && i % 32 == 31)
            io_write_behind(to, at + len - 32 * CHUNK_BYTES, 32 * CHUNK_BYTES);
    }
    if (!st && at != from->size_bytes)
        st = err_set(err, DET_CORRUPT, "the backup is damaged: '%s' has the wrong size",
                     from->path);
    return st ? st : io_sync(to, err);
}

static det_status write_file(struct restoring *r, const struct inventory_file *from,
                             struct err *err)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    char *path = arena_printf(r->mem, "%s/%s", r->staging, from->path);
    char *slash = path ? strrchr(path, '/') : NULL;
    unsigned others = from->mode & 0077 ? 0 : IO_PRIVATE;
    det_status st;

    if (!path)
        return err_default(err, DET_NOMEM);
    *slash = '\0';
    st = io_mkdir(r->config->io, path, others != 0, err);
    *slash = '/';
    if (!st)
        st = io_open(r->config->io, path, IO_WRITE | IO_CREATE | IO_TRUNCATE | others,
                     &file, err);
    return st ? st : write_chunks(r, from, file, err);
}

/* The names of everything below it, from the leaves up. */
static det_status sync_folders(struct restoring *r, const char *path, struct err *err)
{
    const char **names = NULL;
    det_status st = io_list(r->config->io, path, r->mem, &names, err);

    for (; !st && *names; names++) {
        const char *below = arena_printf(r->mem, "%s/%s", path, *names);
        struct io_stat found;

        st = below ? io_stat(r->config->io, below, &found, err)
                   : err_default(err, DET_NOMEM);
        if (!st && found.kind == IO_DIRECTORY)
            st = sync_folders(r, below, err);
    }
    return st ? st : io_sync_dir(r->config->io, path, err);
}

/* ---- the database ---------------------------------------------------------------- */

static det_status renew(struct restoring *r, struct db *db,
                        const struct inventory *inventory, uint64_t *ret_stepped,
                        struct err *err)
{
    const struct step_back_config checkpoints = {
        .io = r->config->io,
        .from = inventory->has_checkpoints ? inventory->data_dir : NULL,
        .to = r->staging,
    };
    det_status st = db_begin(db, err);

    if (!st)
        st = step_back(&checkpoints, db, ret_stepped, err);
    if (!st)
        st = timeline_begin(db, inventory->id, r->config->now_us, err);
    if (!st)
        st = db_commit(db, err);
    if (st)
        db_rollback(db);
    return st ? st : db_checkpoint(db, true, err);
}

static det_status prepare_database(struct restoring *r,
                                   const struct inventory *inventory, struct err *err)
{
    const char *path = arena_printf(r->mem, "%s/det.db", r->staging);
    struct db *db = NULL;
    det_status st = path ? db_open(r->config->io, path, false, &db, err)
                         : err_default(err, DET_NOMEM);

    if (!st)
        st = db_check(db, err);
    if (!st)
        st = db_migrate(db, migration_count, err);
    if (!st)
        st = renew(r, db, inventory, &r->outcome->stepped_back, err);
    db_close(db);
    return st;
}

/* ---- putting it in place --------------------------------------------------------- */

static bool is_empty_or_missing(const struct restore_config *config, struct arena *mem)
{
    const char **names = NULL;
    det_status st = io_list(config->io, config->target, mem, &names, NULL);

    if (!st && *names && config->lock_name && !strcmp(*names, config->lock_name))
        names++;
    return st == DET_NOT_FOUND || (!st && !*names);
}

bool restore_was_interrupted(struct io *io, const char *target)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char *database = arena_printf(&mem, "%s/det.db", target);
    const char *staging = arena_printf(&mem, "%s.restoring", target);
    struct io_stat found;

    return database && staging &&
           io_stat(io, database, &found, NULL) == DET_NOT_FOUND &&
           !io_stat(io, staging, &found, NULL);
}

/* Those of the newest directory that was put aside and has some: by this restore, or by one
 * that was killed before it took them.  NULL: there are none. */
static det_status find_checkpoints(struct restoring *r, const char **ret_from,
                                   struct err *err)
{
    const char *slash = strrchr(r->config->target, '/');
    const char *name = slash ? slash + 1 : r->config->target;
    const char *parent = arena_strndup(r->mem, r->config->target,
                                       slash ? (size_t)(slash - r->config->target) : 0);
    const char *before = arena_printf(r->mem, "%s.before-", name);
    const char **names = NULL;
    det_status st = parent && before
                        ? io_list(r->config->io, slash ? *parent ? parent : "/" : ".",
                                  r->mem, &names, err)
                        : err_default(err, DET_NOMEM);

    *ret_from = NULL;
    for (; !st && *names; names++) { /* in the order of their times */
        const char *path = arena_printf(r->mem, "%s%s%s/checkpoints", parent,
                                        slash ? "/" : "", *names);
        struct io_stat found;

        if (!path)
            st = err_default(err, DET_NOMEM);
        else if (!strncmp(*names, before, strlen(before)) &&
                 !io_stat(r->config->io, path, &found, NULL))
            *ret_from = path;
    }
    return st;
}

/* The database names them, and the backup does not have them.  They move at the end: a
 * restore that is killed before leaves them in the old directory, not in one that the
 * next restore removes. */
static det_status take_checkpoints(struct restoring *r, struct err *err)
{
    const char *to = arena_printf(r->mem, "%s/checkpoints", r->config->target);
    const char *from = NULL;
    det_status st = to ? find_checkpoints(r, &from, err) : err_default(err, DET_NOMEM);

    if (st || !from)
        return st;
    st = io_rename(r->config->io, from, to, err);
    if (!st)
        st = io_sync_dir(r->config->io, r->config->target, err);
    r->outcome->checkpoints_from = from;
    return st ? err_prefix(err,
                           "the restored directory is in place; only the checkpoints "
                           "are still in '%s'",
                           from)
              : DET_OK;
}

/* The old directory is where it was, or the sentence says where it is. */
static det_status replace(struct restoring *r, const char *old, struct err *err)
{
    struct io *io = r->config->io;
    const char *target = r->config->target;
    det_status st = io_rename(io, target, old, err);

    if (st)
        return st;
    st = io_rename(io, r->staging, target, err);
    if (st && io_rename(io, old, target, NULL))
        return err_prefix(err,
                          "the old directory is now '%s', and what was restored is "
                          "in '%s'",
                          old, r->staging);
    return st;
}

/* The lock of the folder itself holds without its file. */
static det_status clear_target(struct restoring *r, struct err *err)
{
    const char *name = r->config->lock_name;
    const char *path =
        arena_printf(r->mem, "%s/%s", r->config->target, name ? name : "");
    det_status st;

    if (!name)
        return DET_OK;
    st = path ? io_remove(r->config->io, path, err) : err_default(err, DET_NOMEM);
    return st == DET_NOT_FOUND ? DET_OK : st;
}

static det_status put_in_place(struct restoring *r, const struct inventory *inventory,
                               struct err *err)
{
    const char *target = r->config->target;
    const char *old = NULL;
    det_status st;

    if (is_empty_or_missing(r->config, r->mem)) {
        st = clear_target(r, err);
        if (!st)
            st = io_rename(r->config->io, r->staging, target, err);
    } else if (!r->config->replaces) { /* somebody has filled it meanwhile */
        st = restore_check(r->config, inventory, r->mem, err);
    } else {
        char stamp[INVENTORY_ID];

        inventory_stamp(r->config->now_us, stamp);
        old = arena_printf(r->mem, "%s.before-%s", target, stamp);
        st = old ? replace(r, old, err) : err_default(err, DET_NOMEM);
    }
    if (!st)
        st = io_sync_parent(r->config->io, target, err);
    if (!st && !inventory->has_checkpoints)
        st = take_checkpoints(r, err);
    r->outcome->replaced = old;
    return st;
}

/* ---- all of it ------------------------------------------------------------------- */

det_status restore_check(const struct restore_config *config,
                         const struct inventory *inventory, struct arena *mem,
                         struct err *err)
{
    if (inventory->schema > migration_count)
        return err_set(err, DET_STATE,
                       "the backup %s was made by a newer det (%s): use that one",
                       inventory->id, inventory->version);
    if (config->replaces || is_empty_or_missing(config, mem))
        return DET_OK;
    return err_set(
        err, DET_EXISTS,
        "'%s' exists: name another --data-dir, or put it aside with --replace",
        config->target);
}

static det_status fill_staging(struct restoring *r, const struct inventory *inventory,
                               struct err *err)
{
    det_status st = io_remove_tree(r->config->io, r->staging, err);

    if (!st)
        st = io_mkdir(r->config->io, r->staging, true, err);
    for (size_t i = 0; i < inventory->files && !st; i++)
        st = write_file(r, &inventory->file[i], err);
    if (!st)
        st = prepare_database(r, inventory, err);
    return st ? st : sync_folders(r, r->staging, err);
}

det_status restore_run(const struct restore_config *config,
                       const struct inventory *inventory, struct arena *mem,
                       struct restore_outcome *ret_outcome, struct err *err)
{
    CLEANUP(vault_closep) struct vault *vault = NULL;
    CLEANUP(mem_freep) unsigned char *bytes = mem_alloc(CHUNK_BYTES);
    struct restoring r = {
        .config = config,
        .mem = mem,
        .staging = arena_printf(mem, "%s.restoring", config->target),
        .bytes = bytes,
        .outcome = ret_outcome,
    };
    det_status st = bytes && r.staging
                        ? vault_open(config->io, config->vault, false, &vault, err)
                        : err_default(err, DET_NOMEM);

    r.vault = vault;
    *ret_outcome = (struct restore_outcome){0};
    if (!st)
        st = restore_check(config, inventory, mem, err);
    if (st)
        return st;
    st = fill_staging(&r, inventory, err);
    if (!st)
        st = put_in_place(&r, inventory, err);
    else
        (void)io_remove_tree(config->io, r.staging, NULL);
    return st;
}
