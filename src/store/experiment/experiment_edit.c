/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_edit.c - changes that people make: texts, labels, policies, archive. */
#include "store/experiment/experiment_edit.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory/arena.h"
#include "data/json/json.h"
#include "model/experiment_text.h"
#include "store/checkpoint/collect.h"
#include "store/engine/db.h"
#include "store/experiment/experiment.h"
#include "store/sql_tables.h"

enum {
    EDIT_ARCHIVE,
    EDIT_TEXTS,
    EDIT_LABELS_GET,
    EDIT_CONFIG_GET,
    EDIT_CONFIG_PUT,
    EDIT_RETENTION,
    EDIT_NOTES,
};

static const struct sql experiment_edit_sql[] = {
    SQL(EDIT_ARCHIVE, "UPDATE experiments SET is_archived = $2 WHERE id = $1"),
    SQL(EDIT_TEXTS, "UPDATE experiments SET name = COALESCE($2, name),"
                    "  description = COALESCE($3, description),"
                    "  notes = COALESCE($4, notes), labels = COALESCE($5, labels)"
                    " WHERE id = $1"),
    SQL(EDIT_LABELS_GET, "SELECT labels FROM experiments WHERE id = $1"),
    SQL(EDIT_CONFIG_GET, "SELECT config FROM experiment_configs WHERE id = $1"),
    SQL(EDIT_CONFIG_PUT, "UPDATE experiment_configs SET config = $2 WHERE id = $1"),
    SQL(EDIT_NOTES, "SELECT notes = $2 FROM experiments WHERE id = $1"),
    SQL(EDIT_RETENTION, "UPDATE experiments SET log_retention_days = $2 WHERE id = $1"),
};
const struct sql_table experiment_edit_sql_table = SQL_TABLE(experiment_edit_sql);

static det_status set_archived(struct db *db, int64_t id, bool value, struct err *err)
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
    struct experiment_standing standing = {0};
    det_status st = store_experiment_standing(db, id, &standing, err);

    if (st)
        return st;
    if (!experiment_is_terminal(standing.state))
        return err_set(err, DET_STATE,
                       "Experiment is not in terminal state: it is %s; wait for its "
                       "end, or stop it first",
                       experiment_state_names[standing.state]);
    if (is_archived && standing.is_archived)
        return err_set(err, DET_STATE, "Experiment is already archived.");
    if (!is_archived && !standing.is_archived)
        return err_set(err, DET_STATE, "Experiment is not archived.");
    return set_archived(db, id, is_archived, err);
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

/* If two people edit at once, the second must not overwrite the first unseen. */
static det_status check_notes(struct db *db, int64_t id, const char *before,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_edit_sql[EDIT_NOTES], err);

    db_bind_i64(&q, id);
    db_bind_str(&q, before);
    if (db_next(&q) && !db_col_bool(&q))
        return err_set(err, DET_EXISTS,
                       "another user has changed the notes of experiment %" PRId64
                       " meanwhile: reload them and save again",
                       id);
    return q.status;
}

det_status store_experiment_patch(struct db *db, int64_t id,
                                  const struct experiment_patch *patch,
                                  struct arena *mem, struct err *err)
{
    struct experiment_standing standing = {0};
    det_status st = store_experiment_standing(db, id, &standing, err);

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
    if (add) {
        json_push(result, json_new_str(mem, add));
        st = experiment_labels_check(result, err);
    }
    if (st)
        return st;
    patch.labels = json_text(mem, result);
    if (mem->has_failed || !patch.labels) /* without memory a label may be missing */
        return err_default(err, DET_NOMEM);
    *ret_labels = patch.labels;
    return patch_texts(db, id, &patch, mem, err);
}
