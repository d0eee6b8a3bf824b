/* SPDX-License-Identifier: Apache-2.0 */
/* metric_admit.c - see metric_admit.h.
 *
 * The writer's cache has the hashes of the names of the trials that report: two names of
 * one trial with the same 64 bits would count as one, and that is all. */
#include "store/metric/metric_admit.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/metric/metric.h"
#include "store/metric/metric_add.h"
#include "store/sql_tables.h"
#include "store/writer_cache.h"
#include "wire/report.h"

enum { NAMES_BYTES = 256 << 20 };

enum { NAMES_OF_TRIAL, GROUPS_BEFORE };

static const struct sql metric_admit_sql[] = {
    SQL(NAMES_OF_TRIAL,
        "SELECT group_id, names FROM metric_shapes WHERE trial_id = $1"),
    /* 0 for a group that it has: a trial may have more of a time without this limit. */
    SQL(GROUPS_BEFORE, "SELECT COUNT(DISTINCT group_id) FROM metric_runs"
                       " WHERE trial_id = $1 AND NOT EXISTS (SELECT 1 FROM metric_runs"
                       "  WHERE trial_id = $1 AND group_id = $2)"),
};
const struct sql_table metric_admit_sql_table = SQL_TABLE(metric_admit_sql);

static int64_t hash_of(int64_t trial_id, int64_t group_id, const char *name, size_t len)
{
    uint64_t hash = hash_number((uint64_t)trial_id);

    hash = hash_number(hash ^ (uint64_t)group_id);
    return (int64_t)hash_number(hash ^ hash_bytes(name, len));
}

static bool put_hash(struct map *set, int64_t hash)
{
    return map_put(set, hash, set); /* any value: it is a set */
}

static bool put_names(struct map *own, struct map *all, const struct metric_key *key,
                      const struct json *names)
{
    json_each(item, names) {
        const char *name = json_str(item, "");
        int64_t hash = hash_of(key->trial_id, key->group_id, name, strlen(name));

        if (!put_hash(own, hash) || !put_hash(all, hash))
            return false;
    }
    return true;
}

/* The trial's names are in its shapes. */
static det_status load_names(struct db *db, struct metric_trial *trial,
                             int64_t trial_id, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(NAMES_BYTES);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_admit_sql[NAMES_OF_TRIAL], err);
    CLEANUP(map_done) struct map own = {0};
    struct map *all = &writer_cache_of(db)->names;

    db_bind_i64(&q, trial_id);
    while (db_next(&q)) {
        struct metric_key key = {.trial_id = trial_id, .group_id = db_col_i64(&q)};
        const char *text = db_col_str(&q, &mem);
        struct json *names = NULL;
        det_status st = q.status;

        if (!st)
            st = json_parse(text, strlen(text), &mem, &names, err);
        if (!st && (!put_names(&own, all, &key, json_get(names, "n")) ||
                    !put_names(&own, all, &key, json_get(names, "o"))))
            st = err_default(err, DET_NOMEM);
        if (st)
            return st;
    }
    trial->names = (uint32_t)own.count;
    trial->knows_names = !q.status;
    return q.status;
}

static det_status admit_some(struct metric_admission *a, struct metric_part *part,
                             uint32_t *count, struct metric_part *fresh,
                             uint32_t *ret_fresh, struct err *err)
{
    struct map *known = &writer_cache_of(a->db)->names;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < *count; i++) {
        int64_t hash =
            hash_of(a->key->trial_id, a->key->group_id, part[i].name, part[i].len);
        bool is_known = map_get(known, hash) != NULL;

        if (!is_known && a->trial->names >= a->most) {
            if (!a->dropped++)
                a->first_dropped = part[i];
            continue;
        }
        if (!is_known && !put_hash(known, hash))
            return err_default(err, DET_NOMEM);
        if (!is_known)
            fresh[(*ret_fresh)++] = part[i];
        a->trial->names += !is_known;
        part[kept++] = part[i];
    }
    *count = kept;
    return DET_OK;
}

static bool has_shape(const struct metric_shape *shape,
                      const struct metric_parts *parts)
{
    while (shape && !metric_parts_fit(parts, shape))
        shape = shape->next;
    return shape;
}

static det_status admit_all(struct metric_admission *a, struct metric_parts *parts,
                            struct err *err)
{
    det_status st = a->trial->knows_names
                        ? DET_OK
                        : load_names(a->db, a->trial, a->key->trial_id, err);

    a->fresh.number = arena_array(a->mem, struct metric_part, parts->numbers + 1);
    a->fresh.other = arena_array(a->mem, struct metric_part, parts->others + 1);
    if (!st && (!a->fresh.number || !a->fresh.other))
        st = err_default(err, DET_NOMEM);
    if (!st)
        st = admit_some(a, parts->number, &parts->numbers, a->fresh.number,
                        &a->fresh.numbers, err);
    if (!st)
        st = admit_some(a, parts->other, &parts->others, a->fresh.other,
                        &a->fresh.others, err);
    return st;
}

/* Says which names are not stored, or refuses the report. */
static det_status tell_dropped(const struct metric_admission *names,
                               const struct metric_report *report, struct err *err)
{
    const struct metric_part *first = &names->first_dropped;
    const char *text;

    if (!names->dropped)
        return DET_OK;
    text = arena_printf(names->mem,
                        "the trial uses %" PRIu32 " names of metrics, and may use no "
                        "more (max_metric_names of the master): '%.*s'%s new",
                        names->trial->names, (int)first->len, first->name,
                        names->dropped > 1 ? " and others are" : " is");
    if (!text)
        return err_default(err, DET_NOMEM);
    if (!report->ret_dropped)
        return err_set(err, DET_INVALID, "%s", text);
    *report->ret_dropped = arena_printf(
        names->mem, "%s; %" PRIu32 " of its metrics %s not stored, the others are",
        text, names->dropped, names->dropped > 1 ? "are" : "is");
    return *report->ret_dropped ? DET_OK : err_default(err, DET_NOMEM);
}

/* Names that fit a shape were admitted when it was made. */
det_status metric_admit(struct metric_admission *a, const struct metric_report *report,
                        const struct metric_shape *shapes, struct metric_parts *parts,
                        struct err *err)
{
    det_status st;

    if (!report->names_most || has_shape(shapes, parts))
        return DET_OK;
    st = admit_all(a, parts, err);
    return st ? st : tell_dropped(a, report, err);
}

bool metric_is_admitted(struct db *db, const struct metric_key *key, const char *name)
{
    return map_get(&writer_cache_of(db)->names,
                   hash_of(key->trial_id, key->group_id, name, strlen(name)));
}

det_status metric_admit_group(struct db *db, const struct metric_key *key,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_admit_sql[GROUPS_BEFORE], err);

    db_bind_i64(&q, key->trial_id);
    db_bind_i64(&q, key->group_id);
    if (db_next(&q) && db_col_i64(&q) >= REPORT_GROUPS_MOST)
        return err_set(err, DET_INVALID,
                       "the trial has metrics of %d groups, and may have no more",
                       REPORT_GROUPS_MOST);
    return q.status;
}
