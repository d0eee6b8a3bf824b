/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backup/step_back.h"

#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum { RESUMABLE, CHECKPOINTS_OF, RESUME_FROM };

static const struct sql step_back_sql[] = {
    SQL(RESUMABLE, "SELECT t.id, t.latest_checkpoint, c.config FROM trials t"
                   " JOIN experiment_configs c ON c.id = t.experiment_id"
                   " WHERE t.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR')"
                   "  AND t.latest_checkpoint IS NOT NULL"),
    SQL(CHECKPOINTS_OF,
        "SELECT uuid, steps_completed FROM checkpoints"
        " WHERE trial_id = $1 AND state = 'COMPLETED' AND NOT is_archived"
        " ORDER BY steps_completed DESC, report_us DESC"),
    SQL(RESUME_FROM,
        "UPDATE trials SET latest_checkpoint = $2, latest_steps = $3 WHERE id = $1"),
};
const struct sql_table step_back_sql_table = SQL_TABLE(step_back_sql);

struct resumable {
    int64_t trial_id;
    const char *uuid;
    const char *storage;
};

/* The directory of an experiment's checkpoints; NULL: it is none, or unknown. */
static const char *storage_of(const struct step_back_config *config, const char *text,
                              struct arena *mem)
{
    struct json *tree = NULL;
    const struct json *storage;
    const char *host, *below;
    size_t len = config->from ? strlen(config->from) : 0;

    if (!text || json_parse(text, strlen(text), mem, &tree, NULL))
        return NULL;
    storage = json_get(tree, "checkpoint_storage");
    host = json_str(json_get(storage, "host_path"), NULL);
    below = json_str(json_get(storage, "storage_path"), NULL);
    if (!host)
        return NULL;
    if (len && !strncmp(host, config->from, len) && (!host[len] || host[len] == '/'))
        host = arena_printf(mem, "%s%s", config->to, host + len);
    if (below && *below == '/')
        return below;
    return below && *below && host ? arena_printf(mem, "%s/%s", host, below) : host;
}

static bool is_there(struct io *io, const char *storage, const char *uuid,
                     struct arena *mem)
{
    const char *path = arena_printf(mem, "%s/%s", storage, uuid);
    struct io_stat found;

    return !path || io_stat(io, path, &found, NULL) != DET_NOT_FOUND;
}

static det_status resume_from(struct db *db, int64_t trial_id, const char *uuid,
                              int64_t steps, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &step_back_sql[RESUME_FROM], err);

    db_bind_i64(&q, trial_id);
    db_bind_str(&q, uuid);
    db_bind_i64(&q, steps);
    return db_run(&q);
}

static det_status step_back_one(const struct step_back_config *config, struct db *db,
                                const struct resumable *it, struct arena *mem,
                                struct err *err)
{
    const char *uuid = NULL;
    int64_t steps = 0;

    {
        CLEANUP(db_query_done)
        struct db_query q = db_query(db, &step_back_sql[CHECKPOINTS_OF], err);

        db_bind_i64(&q, it->trial_id);
        while (!uuid && db_next(&q)) {
            const char *next = db_col_str(&q, mem);

            steps = db_col_i64(&q);
            if (next && is_there(config->io, it->storage, next, mem))
                uuid = next;
        }
        if (q.status)
            return q.status;
    }
    return resume_from(db, it->trial_id, uuid, uuid ? steps : 0, err);
}

det_status step_back(const struct step_back_config *config, struct db *db,
                     uint64_t *ret_trials, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SIZE_MAX);
    CLEANUP(arena_done) struct arena one = ARENA_INIT(SIZE_MAX); /* configuration */
    VEC(struct resumable) lost = {0};
    det_status st;

    {
        CLEANUP(db_query_done)
        struct db_query q = db_query(db, &step_back_sql[RESUMABLE], err);

        while (db_next(&q)) {
            struct resumable it = {.trial_id = db_col_i64(&q)};
            struct io_stat found;

            arena_clear(&one);
            it.uuid = db_col_str(&q, &one);
            it.storage = storage_of(config, db_col_str(&q, &one), &one);
            if (!it.uuid || !it.storage ||
                io_stat(config->io, it.storage, &found, NULL) ||
                is_there(config->io, it.storage, it.uuid, &one))
                continue;
            it.uuid = arena_strdup(&mem, it.uuid);
            it.storage = arena_strdup(&mem, it.storage);
            if (!it.uuid || !it.storage || !vec_push(&lost, it))
                (void)err_default(err, q.status = DET_NOMEM);
        }
        st = q.status;
    }
    for (size_t i = 0; i < lost.count && !st; i++)
        st = step_back_one(config, db, &lost.at[i], &mem, err);
    *ret_trials = lost.count;
    vec_done(&lost);
    return st;
}
