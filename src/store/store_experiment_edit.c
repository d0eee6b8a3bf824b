/* SPDX-License-Identifier: Apache-2.0 */
/* store_experiment_edit.c - what people change of an experiment: texts, archive,
 * delete. */
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "data/json.h"
#include "store/collect.h"
#include "store/store_impl.h"
#include "store/views.h"

enum {
    EDIT_STATE,
    EDIT_ARCHIVE,
    EDIT_SET_STATE,
    EDIT_TEXTS,
    EDIT_LABELS_GET,
    EDIT_CONFIG_GET,
    EDIT_CONFIG_PUT,
    EDIT_RETENTION,
    EDIT_USED_BY,
    EDIT_NOTES,
};

static const struct sql experiment_edit_sql[] = {
    SQL(EDIT_STATE, "SELECT state, is_archived FROM experiments WHERE id = $1"),
    SQL(EDIT_ARCHIVE, "UPDATE experiments SET is_archived = $2 WHERE id = $1"),
    SQL(EDIT_SET_STATE, "UPDATE experiments SET state = $2 WHERE id = $1"),
    SQL(EDIT_TEXTS, "UPDATE experiments SET name = COALESCE($2, name),"
                    "  description = COALESCE($3, description),"
                    "  notes = COALESCE($4, notes), labels = COALESCE($5, labels)"
                    " WHERE id = $1"),
    SQL(EDIT_LABELS_GET, "SELECT labels FROM experiments WHERE id = $1"),
    SQL(EDIT_CONFIG_GET, "SELECT config FROM experiment_configs WHERE id = $1"),
    SQL(EDIT_CONFIG_PUT, "UPDATE experiment_configs SET config = $2 WHERE id = $1"),
    SQL(EDIT_USED_BY, "SELECT t.id, t.warm_start FROM trials t"
                      " JOIN checkpoints c ON c.uuid = t.warm_start"
                      " WHERE t.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR')"
                      "  AND c.experiment_id = $1 AND t.experiment_id <> $1 LIMIT 1"),
    SQL(EDIT_NOTES, "SELECT notes = $2 FROM experiments WHERE id = $1"),
    SQL(EDIT_RETENTION, "UPDATE experiments SET log_retention_days = $2 WHERE id = $1"),
};
const struct sql_table experiment_edit_sql_table = SQL_TABLE(experiment_edit_sql);

struct standing {
    enum experiment_state state;
    bool is_archived;
};

static det_status standing_of(struct db *db, int64_t id, struct standing *ret_standing,
                              struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_edit_sql[EDIT_STATE], err);
    const char *name;

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND,
                                  "experiment '%" PRId64 "' not found", id);
    name = db_col_str(&q, &mem);
    ret_standing->is_archived = db_col_bool(&q);
    if (q.status)
        return q.status;
    ret_standing->state = EXPERIMENT_ACTIVE;
    for (uint32_t i = 0; name && experiment_state_names[i]; i++) {
        if (!strcmp(experiment_state_names[i], name))
            ret_standing->state = i;
    }
    return DET_OK;
}

static det_status set_bool(struct db *db, int64_t id, bool value, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_edit_sql[EDIT_ARCHIVE], err);

    db_bind_i64(&q, id);
    db_bind_bool(&q, value);
    return db_run(&q);
}

det_status store_experiment_archive(struct db *db, int64_t id, bool is_archived,
                                    struct err *err)
{
    struct standing standing = {0};
    det_status st = standing_of(db, id, &standing, err);

    if (st)
        return st;
    if (!experiment_is_terminal(standing.state))
        return err_set(err, DET_STATE, "Experiment is not in terminal state.");
    if (is_archived && standing.is_archived)
        return err_set(err, DET_STATE, "Experiment is already archived.");
    if (!is_archived && !standing.is_archived)
        return err_set(err, DET_STATE, "Experiment is not archived.");
    return set_bool(db, id, is_archived, err);
}

static det_status set_state(struct db *db, int64_t id, enum experiment_state state,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_edit_sql[EDIT_SET_STATE], err);

    db_bind_i64(&q, id);
    db_bind_str(&q, experiment_state_names[state]);
    return db_run(&q);
}

/* A live trial of another experiment that begins from one of its checkpoints. */
static det_status check_unused(struct db *db, int64_t id, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_edit_sql[EDIT_USED_BY], err);
    int64_t trial_id;

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status;
    trial_id = db_col_i64(&q);
    return err_set(err, DET_STATE,
                   "experiment %" PRId64 " cannot be deleted: trial %" PRId64
                   " is not over and began from its checkpoint %s",
                   id, trial_id, db_col_str(&q, &mem));
}

det_status store_experiment_set_deleting(struct db *db, int64_t id, struct err *err)
{
    struct standing standing = {0};
    det_status st = standing_of(db, id, &standing, err);

    if (st)
        return st;
    if (!experiment_is_terminal(standing.state) ||
        standing.state == EXPERIMENT_DELETING)
        return err_set(err, DET_STATE, "cannot delete experiment in STATE_%s state",
                       experiment_state_names[standing.state]);
    st = check_unused(db, id, err);
    if (!st)
        st = store_removals_again(db, id, err);
    return st ? st : set_state(db, id, EXPERIMENT_DELETING, err);
}

det_status store_experiment_delete_failed(struct db *db, int64_t id, struct err *err)
{
    struct standing standing = {0};
    det_status st = standing_of(db, id, &standing, err);

    return st ? st : set_state(db, id, EXPERIMENT_DELETE_FAILED, err);
}

/* ---- patching -------------------------------------------------------------------- */

static det_status patch_texts(struct db *db, int64_t id,
                              const struct experiment_patch *patch, struct arena *mem,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_edit_sql[EDIT_TEXTS], err);
    const char *labels = NULL;
    struct json *list = NULL;

    if (patch->labels) {
        det_status st =
            json_parse(patch->labels, strlen(patch->labels), mem, &list, err);

        if (st)
            return err_prefix(err, "labels");
        labels = json_text(mem, list);
        if (!labels)
            return err_default(err, DET_NOMEM);
    }
    db_bind_i64(&q, id);
    db_bind_str(&q, patch->name);
    db_bind_str(&q, patch->description);
    db_bind_str(&q, patch->notes);
    db_bind_str(&q, labels);
    return db_run(&q);
}

static det_status config_get(struct db *db, int64_t id, struct arena *mem,
                             struct json **ret_config, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_edit_sql[EDIT_CONFIG_GET], err);
    const char *text;

    db_bind_i64(&q, id);
    (void)db_next(&q);
    text = db_col_str(&q, mem);
    if (q.status)
        return q.status;
    if (!text)
        text = "{}";
    return json_parse(text, strlen(text), mem, ret_config, err);
}

static det_status config_put(struct db *db, int64_t id, const char *text,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_edit_sql[EDIT_CONFIG_PUT], err);

    if (!text)
        return err_default(err, DET_NOMEM);
    db_bind_i64(&q, id);
    db_bind_str(&q, text);
    return db_run(&q);
}

static void set_number(struct arena *mem, struct json *object, const char *key,
                       int64_t value)
{
    if (value >= 0)
        (void)json_set(mem, object, key, json_new_i64(mem, value));
}

static det_status patch_gc(struct db *db, int64_t id,
                           const struct experiment_patch *patch, struct arena *mem,
                           struct err *err)
{
    struct json *config = NULL;
    struct json *storage;
    det_status st = config_get(db, id, mem, &config, err);

    if (st)
        return st;
    storage = json_get(config, "checkpoint_storage");
    if (!storage || storage->kind != JSON_OBJECT)
        storage =
            json_set(mem, config, "checkpoint_storage", json_new(mem, JSON_OBJECT));
    set_number(mem, storage, "save_experiment_best", patch->save_experiment_best);
    set_number(mem, storage, "save_trial_best", patch->save_trial_best);
    set_number(mem, storage, "save_trial_latest", patch->save_trial_latest);
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    st = config_put(db, id, json_text(mem, config), err);
    return st ? st : store_collect_experiment(db, id, err);
}

static det_status patch_retention(struct db *db, int64_t id, int64_t days,
                                  struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_edit_sql[EDIT_RETENTION], err);

    db_bind_i64(&q, id);
    db_bind_i64(&q, days);
    return db_run(&q);
}

/* Two who write at once: the second would undo what the first wrote. */
static det_status check_notes(struct db *db, int64_t id, const char *before,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_edit_sql[EDIT_NOTES], err);

    db_bind_i64(&q, id);
    db_bind_str(&q, before);
    if (db_next(&q) && !db_col_bool(&q))
        return err_set(err, DET_EXISTS,
                       "somebody else has changed the notes of experiment %" PRId64
                       " meanwhile; look at theirs, and write again",
                       id);
    return q.status;
}

det_status store_experiment_patch(struct db *db, int64_t id,
                                  const struct experiment_patch *patch,
                                  struct arena *mem, struct err *err)
{
    struct standing standing = {0};
    det_status st = standing_of(db, id, &standing, err);

    if (!st && patch->notes_before)
        st = check_notes(db, id, patch->notes_before, err);
    if (!st)
        st = patch_texts(db, id, patch, mem, err);
    if (!st && patch->has_gc)
        st = patch_gc(db, id, patch, mem, err);
    if (!st && patch->has_log_retention)
        st = patch_retention(db, id, patch->log_retention_days, err);
    return st;
}

/* ---- labels ---------------------------------------------------------------------- */

static det_status labels_get(struct db *db, int64_t id, struct arena *mem,
                             struct json **ret_labels, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_edit_sql[EDIT_LABELS_GET], err);
    const char *text;

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND,
                                  "experiment '%" PRId64 "' not found", id);
    text = db_col_str(&q, mem);
    return q.status ? q.status : json_parse(text, strlen(text), mem, ret_labels, err);
}

det_status store_experiment_relabel(struct db *db, int64_t id, const char *add,
                                    const char *drop, struct arena *mem,
                                    const char **ret_labels, struct err *err)
{
    struct experiment_patch patch = {0};
    struct json *labels = NULL, *result;
    det_status st = labels_get(db, id, mem, &labels, err);

    if (st)
        return st;
    result = json_new(mem, JSON_ARRAY);
    json_each(label, labels) {
        const char *text = json_str(label, "");

        if (drop && !strcmp(text, drop))
            continue;
        if (add && !strcmp(text, add))
            add = NULL;
        json_push(result, json_new_str(mem, text));
    }
    if (add)
        json_push(result, json_new_str(mem, add));
    patch.labels = json_text(mem, result);
    if (mem->has_failed || !patch.labels) /* a label may be missing in it */
        return err_default(err, DET_NOMEM);
    *ret_labels = patch.labels;
    return patch_texts(db, id, &patch, mem, err);
}
