/* SPDX-License-Identifier: Apache-2.0 */
/* roster.c - see roster.h.
 *
 * The writer's connection notes every row that it changes in four tables.  After the
 * commit the notes become changed ids, and the next reader reads those experiments
 * again, from a connection that sees at least that commit.  A change that is noted
 * twice or was rolled back only costs one needless read of a row.  If a change could
 * not be noted, everything is read again.  So reading and writing may come in any
 * order, and a crash needs no recovery. */
#include "store/roster/roster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "data/text_order.h"
#include "model/states.h"
#include "store/engine/db.h"
#include "store/roster/roster_share.h"
#include "store/sql_tables.h"

enum {
    CHANGED_MOST = 20000, /* with more changes, reading everything is about as quick */
    NOTED_MOST = 65536,
    LONG_TEXT = 4096, /* longer descriptions stay in the database */
    ROW_MEMORY = 16 << 20,
    TEXTS_LEAST = 1000000, /* texts of cells that may be held without being in use */
};

enum {
    ROSTER_ROWS,
    ROSTER_ROW,
    ROSTER_USERS,
    ROSTER_OF_TRIAL,
    ROSTER_OF_ALLOCATION,
    ROSTER_DESCRIPTION_OF
};

#define SELECT_ROWS                                                                    \
    "SELECT e.id, e.state,"                                                            \
    " CASE WHEN e.is_unmanaged AND e.state = 'ACTIVE' THEN 4 WHEN e.state = 'ACTIVE'"  \
    "  THEN COALESCE((SELECT MAX(CASE a.state WHEN 'RUNNING' THEN 4"                   \
    "  WHEN 'STARTING' THEN 3 WHEN 'PULLING' THEN 2 ELSE 1 END) FROM allocations a"    \
    "  WHERE a.experiment_id = e.id AND a.state <> 'TERMINATED'), 1) ELSE 0 END,"      \
    " e.owner_id, e.start_us, e.end_us, e.paused_us, e.paused_since_us, e.progress,"   \
    " CASE WHEN e.is_unmanaged THEN (SELECT COUNT(*) FROM trials n"                    \
    "  WHERE n.experiment_id = e.id) ELSE e.trials END,"                               \
    " e.checkpoint_size, e.checkpoint_count, e.priority, e.project_id, e.is_archived," \
    " COALESCE(e.searcher_type, ''), COALESCE(e.resource_pool, ''),"                   \
    " CASE WHEN t.best_rank IS NOT NULL THEN t.best_metric END,"                       \
    " CASE WHEN LENGTH(t.hparams) <= 65536 THEN t.hparams END,"                        \
    " CASE WHEN LENGTH(COALESCE(t.best_validation, t.latest_validation)) <= 65536"     \
    "  THEN COALESCE(t.best_validation, t.latest_validation) END,"                     \
    " e.name, e.labels, LENGTH(e.description) > 4096,"                                 \
    " CASE WHEN LENGTH(e.description) > 4096 THEN '' ELSE e.description END"           \
    " FROM experiments e LEFT JOIN trials t ON t.id = COALESCE((SELECT b.id"           \
    "  FROM trials b WHERE b.experiment_id = e.id AND b.best_rank IS NOT NULL"         \
    "  ORDER BY b.best_rank, b.id LIMIT 1), (SELECT f.id FROM trials f"                \
    "  WHERE f.experiment_id = e.id ORDER BY f.id LIMIT 1))"

static const struct sql roster_sql[] = {
    SQL(ROSTER_ROWS, SELECT_ROWS " ORDER BY e.id"),
    SQL(ROSTER_ROW, SELECT_ROWS " WHERE e.id = $1"),
    SQL(ROSTER_USERS, "SELECT id, username FROM users"),
    SQL(ROSTER_OF_TRIAL, "SELECT experiment_id FROM trials WHERE id = $1"),
    SQL(ROSTER_OF_ALLOCATION, "SELECT experiment_id FROM allocations WHERE id = $1"),
    SQL(ROSTER_DESCRIPTION_OF, "SELECT description FROM experiments WHERE id = $1"),
};
const struct sql_table roster_sql_table = SQL_TABLE(roster_sql);
_Static_assert(LONG_TEXT == 4096, "the statement above says it too");

/* ---- noting ---------------------------------------------------------------------- */

/* Called for every row that is written; most tables do not matter here. */
void roster_note(void *arg, const char *what, int64_t id)
{
    static const char *const names[CHANGES] = {"experiments", "trials", "allocations",
                                               "users"};
    struct roster *roster = arg;

    for (uint32_t kind = 0; kind < CHANGES; kind++) {
        struct roster_change change = {kind, id};
        size_t count = roster->noted.count;

        if (*what != *names[kind] || strcmp(what, names[kind]) != 0)
            continue;
        if (roster->has_noted_all ||
            (count && roster->noted.at[count - 1].kind == kind &&
             roster->noted.at[count - 1].id == id))
            return;
        if (id <= 0 || count >= NOTED_MOST || !vec_push(&roster->noted, change))
            roster->has_noted_all = true;
        return;
    }
}

static void forget_changed(struct roster *roster)
{
    for (int kind = 0; kind < CHANGES; kind++)
        map_done(&roster->changed[kind]);
}

/* With `note` held. */
static void add_changed(struct roster *roster)
{
    size_t count = 0;

    for (size_t i = 0; i < roster->noted.count && !roster->is_all_changed; i++) {
        const struct roster_change *change = &roster->noted.at[i];
        void *value = (void *)(intptr_t)change->id;

        if (!map_put(&roster->changed[change->kind], change->id, value))
            roster->is_all_changed = true;
    }
    for (int kind = 0; kind < CHANGES; kind++)
        count += roster->changed[kind].count;
    if (count > CHANGED_MOST)
        roster->is_all_changed = true;
    if (roster->is_all_changed)
        forget_changed(roster);
}

void roster_committed(struct roster *roster)
{
    if (!roster->noted.count && !roster->has_noted_all)
        return;
    lock_take(&roster->note);
    if (roster->has_noted_all)
        roster->is_all_changed = true;
    if (roster->is_watched)
        add_changed(roster);
    lock_give(&roster->note);
    vec_clear(&roster->noted);
    roster->has_noted_all = false;
}

/* ---- texts ----------------------------------------------------------------------- */

static void put_labels(struct buf *out, const struct json *labels)
{
    json_each(label, labels) {
        buf_puts(out, json_str(label, ""));
        buf_putc(out, ROSTER_BETWEEN);
    }
}

/* The text to search, and the labels to filter by. */
struct row_texts {
    struct buf text;
    size_t name_len;
    size_t text_len;
    size_t labels_len;
};

static det_status make_texts(struct row_texts *texts, struct db_query *q, int64_t id,
                             struct arena *mem, bool *ret_is_long)
{
    struct buf *out = &texts->text;
    const char *name = db_col_str(q, mem);
    const char *labels = db_col_str(q, mem);
    struct json *list = NULL;
    const char *description;

    *ret_is_long = db_col_bool(q);
    description = db_col_str(q, mem);
    if (q->status)
        return q->status;
    if (labels && json_parse(labels, strlen(labels), mem, &list, NULL) == DET_NOMEM)
        return err_default(q->err, DET_NOMEM);
    buf_clear(out);
    buf_puts(out, name);
    texts->name_len = out->len;
    buf_printf(out, "%c%" PRId64 "%c%s%c", ROSTER_BETWEEN, id, ROSTER_BETWEEN,
               description, ROSTER_BETWEEN);
    put_labels(out, list);
    texts->text_len = out->len;
    if (out->len)
        text_fold(out->data, out->data, out->len);
    buf_putc(out, '\0');
    texts->labels_len = out->len;
    if (json_first(list))
        buf_putc(out, ROSTER_BETWEEN);
    put_labels(out, list);
    texts->labels_len = out->len - texts->labels_len;
    return out->status ? err_default(q->err, out->status) : DET_OK;
}

det_status roster_description(struct db *db, int64_t id, struct arena *mem,
                              const char **ret_text, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &roster_sql[ROSTER_DESCRIPTION_OF], err);
    const char *text = NULL;
    char *folded;

    db_bind_i64(&q, id);
    if (db_next(&q))
        text = db_col_str(&q, mem);
    if (q.status)
        return q.status;
    folded = arena_strdup(mem, text ? text : "");
    if (!folded)
        return err_default(err, DET_NOMEM);
    text_fold(folded, folded, strlen(folded));
    *ret_text = folded;
    return DET_OK;
}

/* ---- few different names --------------------------------------------------------- */

static bool names_add(struct roster_names *names, const char *name, uint32_t *ret_place)
{
    char *copy = mem_strdup(name);

    if (!copy || !vec_push(&names->names, copy)) {
        mem_free(copy);
        return false;
    }
    *ret_place = (uint32_t)names->names.count - 1;
    return true;
}

static bool names_place(struct roster_names *names, const char *name,
                        uint32_t *ret_place)
{
    for (size_t i = 0; i < names->names.count; i++)
        if (!strcmp(names->names.at[i], name)) {
            *ret_place = (uint32_t)i;
            return true;
        }
    return names_add(names, name, ret_place);
}

static void names_done(struct roster_names *names)
{
    for (size_t i = 0; i < names->names.count; i++)
        mem_free(names->names.at[i]);
    vec_done(&names->names);
}

/* `name` NULL: unknown. */
static bool owner_place(struct roster *roster, int64_t id, const char *name,
                        uint32_t *ret_place)
{
    uintptr_t known = (uintptr_t)map_get(&roster->owner_ids, id);
    uint32_t place;
    char *copy;

    if (known && !name) {
        *ret_place = (uint32_t)known - 1;
        return true;
    }
    if (!known)
        return names_add(&roster->owners, name ? name : "", &place) &&
               map_put(&roster->owner_ids, id, (void *)(uintptr_t)(place + 1)) &&
               (*ret_place = place, true);
    copy = mem_strdup(name);
    if (!copy)
        return false;
    place = (uint32_t)known - 1;
    mem_free(roster->owners.names.at[place]);
    roster->owners.names.at[place] = copy;
    *ret_place = place;
    return true;
}

static det_status read_users(struct roster *roster, struct db *db, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROW_MEMORY);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &roster_sql[ROSTER_USERS], err);

    while (db_next(&q)) {
        int64_t id = db_col_i64(&q);
        const char *name = db_col_str(&q, &mem);
        uint32_t place;

        if (!q.status && !owner_place(roster, id, name, &place))
            return err_default(err, DET_NOMEM);
        arena_clear(&mem);
    }
    return q.status;
}

/* ---- rows ------------------------------------------------------------------------ */

static void drop_row(struct roster *roster, int64_t id)
{
    uintptr_t known = (uintptr_t)map_remove(&roster->by_id, id);
    struct roster_row *row;

    if (!known)
        return;
    row = &roster->rows.at[known - 1];
    roster_share_drop(roster, row);
    mem_free(row->text);
    mem_free(row->cells);
    *row = (struct roster_row){.is_unranked = true};
    roster->has_unranked = true;
    roster->count--;
    /* without memory the place stays unused */
    (void)vec_push(&roster->free, (uint32_t)known - 1);
}

static struct roster_row *row_of(struct roster *roster, int64_t id)
{
    uintptr_t known = (uintptr_t)map_get(&roster->by_id, id);
    struct roster_row fresh = {.id = id, .is_unranked = true};
    size_t place;

    if (known)
        return &roster->rows.at[known - 1];
    if (!roster->free.count && !vec_push(&roster->rows, (struct roster_row){0}))
        return NULL;
    place = roster->free.count ? vec_pop(&roster->free) : roster->rows.count - 1;
    if (!map_put(&roster->by_id, id, (void *)(uintptr_t)(place + 1)))
        return NULL;
    roster->rows.at[place] = fresh;
    roster->count++;
    return &roster->rows.at[place];
}

static bool set_text(struct roster *roster, struct roster_row *row,
                     const struct row_texts *texts)
{
    const char *text = texts->text.data;
    bool has_name = row->text && row->name_len == texts->name_len &&
                    !memcmp(row->text, text, texts->name_len);
    char *copy;

    if (has_name && row->text_len == texts->text_len &&
        row->labels_len == texts->labels_len &&
        !memcmp(row->text, text, texts->text.len))
        return true;
    copy = mem_array(texts->text.len, 1);
    if (!copy)
        return false;
    memcpy(copy, text, texts->text.len);
    mem_free(row->text);
    row->text = copy;
    row->name_len = (uint32_t)texts->name_len;
    row->text_len = (uint32_t)texts->text_len;
    row->labels_len = (uint32_t)texts->labels_len;
    if (!has_name)
        row->is_unranked = roster->has_unranked = true;
    return true;
}

static uint8_t state_of(const char *name, int64_t live)
{
    if (live)
        return (uint8_t)(EXPERIMENT_STATES + live - 1);
    for (uint8_t i = 0; name && experiment_state_names[i]; i++)
        if (!strcmp(experiment_state_names[i], name))
            return i;
    return EXPERIMENT_ERROR;
}

/* The columns before the texts. */
static bool read_columns(struct roster *roster, struct roster_row *row,
                         struct db_query *q, struct arena *mem)
{
    const char *state = db_col_str(q, mem);
    int64_t owner;
    const char *searcher, *pool, *hparams, *validation;

    row->state = state_of(state, db_col_i64(q));
    owner = db_col_i64(q);
    row->start_us = db_col_i64(q);
    row->end_us = db_col_i64(q);
    row->paused_us = db_col_i64(q);
    row->paused_since_us = db_col_i64(q);
    row->progress = db_col_f64(q);
    row->trials = db_col_i64(q);
    row->checkpoint_size = db_col_i64(q);
    row->checkpoint_count = db_col_i64(q);
    row->priority = db_col_i64(q);
    row->project_id = db_col_i64(q);
    row->is_archived = db_col_bool(q);
    searcher = db_col_str(q, mem);
    pool = db_col_str(q, mem);
    row->has_best_metric = !db_col_is_null(q);
    row->best_metric = db_col_f64(q);
    hparams = db_col_str(q, mem);
    validation = db_col_str(q, mem);
    return q->status || (roster_read_cells(roster, row, hparams, validation) &&
                         owner_place(roster, owner, NULL, &row->owner) &&
                         names_place(&roster->searchers, searcher, &row->searcher) &&
                         names_place(&roster->pools, pool, &row->pool));
}

/* Adds or replaces all rows of the query. */
static det_status read_rows(struct roster *roster, struct db_query *q,
                            size_t *ret_count)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROW_MEMORY);
    struct row_texts texts = {.text = BUF_INIT};
    det_status st = DET_OK;

    while (!st && db_next(q)) {
        int64_t id = db_col_i64(q);
        struct roster_row *row = row_of(roster, id);

        if (!row || !read_columns(roster, row, q, &mem))
            st = err_default(q->err, DET_NOMEM);
        if (!st)
            st = make_texts(&texts, q, id, &mem, &row->is_long);
        if (!st && !(set_text(roster, row, &texts) && roster_share_count(roster, row)))
            st = err_default(q->err, DET_NOMEM);
        arena_clear(&mem);
        ++*ret_count;
    }
    buf_done(&texts.text);
    return st ? st : q->status;
}

static void clear_rows(struct roster *roster)
{
    for (size_t i = 0; i < roster->rows.count; i++) {
        mem_free(roster->rows.at[i].text);
        mem_free(roster->rows.at[i].cells);
    }
    roster_cells_done(&roster->cells);
    vec_done(&roster->rows);
    vec_done(&roster->free);
    vec_done(&roster->by_name);
    map_done(&roster->by_id);
    map_done(&roster->owner_ids);
    vec_done(&roster->owner_bytes);
    names_done(&roster->owners);
    names_done(&roster->searchers);
    names_done(&roster->pools);
    roster->count = 0;
    roster->has_unranked = false;
}

/* ---- following ------------------------------------------------------------------- */

static det_status read_all(struct roster *roster, struct db *db, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &roster_sql[ROSTER_ROWS], err);
    size_t count = 0;
    det_status st;

    clear_rows(roster);
    st = read_users(roster, db, err);
    if (!st)
        st = read_rows(roster, &q, &count);
    roster->cells.texts_most = MAX((size_t)TEXTS_LEAST, 2 * roster->cells.texts.count);
    return st ? st : roster_rank_names(roster, err);
}

static det_status read_one(struct roster *roster, struct db *db, int64_t id,
                           struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &roster_sql[ROSTER_ROW], err);
    size_t count = 0;
    det_status st;

    db_bind_i64(&q, id);
    st = read_rows(roster, &q, &count);
    if (!st && !count)
        drop_row(roster, id);
    return st;
}

/* Marks the experiment of each changed trial or allocation as changed.  A deleted one
 * was deleted with its experiment. */
static det_status find_experiments(struct db *db, const struct sql *sql,
                                   const struct map *ids, struct map *experiments,
                                   struct err *err)
{
    void *value;

    for (size_t i = 0; (value = map_next(ids, &i));) {
        CLEANUP(db_query_done) struct db_query q = db_query(db, sql, err);
        int64_t id = 0;

        db_bind_i64(&q, (int64_t)(intptr_t)value);
        if (db_next(&q))
            id = db_col_i64(&q);
        if (q.status)
            return q.status;
        if (id > 0 && !map_put(experiments, id, (void *)(intptr_t)id))
            return err_default(err, DET_NOMEM);
    }
    return DET_OK;
}

static det_status read_changed(struct roster *roster, struct db *db,
                               struct map *changed, struct err *err)
{
    struct map *experiments = &changed[CHANGED_EXPERIMENT];
    det_status st = find_experiments(db, &roster_sql[ROSTER_OF_TRIAL],
                                     &changed[CHANGED_TRIAL], experiments, err);
    void *value;

    if (!st)
        st = find_experiments(db, &roster_sql[ROSTER_OF_ALLOCATION],
                              &changed[CHANGED_ALLOCATION], experiments, err);
    if (!st && changed[CHANGED_USER].count)
        st = read_users(roster, db, err);
    for (size_t i = 0; !st && (value = map_next(experiments, &i));)
        st = read_one(roster, db, (int64_t)(intptr_t)value, err);
    return st;
}

det_status roster_catch_up(struct roster *roster, struct db *db, struct err *err)
{
    struct map changed[CHANGES];
    bool is_all;
    det_status st;

    lock_take(&roster->note);
    is_all = roster->is_all_changed || !roster->is_watched ||
             roster->cells.texts.count > roster->cells.texts_most;
    memcpy(changed, roster->changed, sizeof(changed));
    memset(roster->changed, 0, sizeof(roster->changed));
    roster->is_all_changed = false;
    roster->is_watched = true;
    lock_give(&roster->note);

    st = is_all ? read_all(roster, db, err) : read_changed(roster, db, changed, err);
    for (int kind = 0; kind < CHANGES; kind++)
        map_done(&changed[kind]);
    if (st) {
        lock_take(&roster->note);
        roster->is_all_changed = true;
        lock_give(&roster->note);
    }
    return st;
}

/* ---- the order of names ---------------------------------------------------------- */

struct named {
    const char *name;
    uint32_t len;
    uint32_t place;
};

static int compare_named(const void *a_, const void *b_)
{
    const struct named *a = a_, *b = b_;
    int order = memcmp(a->name, b->name, MIN(a->len, b->len));

    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static struct named named_row(const struct roster *roster, uint32_t place)
{
    const struct roster_row *row = &roster->rows.at[place];

    return (struct named){row->text, row->name_len, place};
}

/* The rows with new names, in order. */
static struct named *new_names(struct roster *roster, size_t *ret_count)
{
    struct named *fresh = mem_array(roster->rows.count + 1, sizeof(*fresh));
    size_t count = 0;

    for (uint32_t i = 0; fresh && i < roster->rows.count; i++)
        if (roster->rows.at[i].id && roster->rows.at[i].is_unranked)
            fresh[count++] = named_row(roster, i);
    if (count)
        qsort(fresh, count, sizeof(*fresh), compare_named);
    *ret_count = count;
    return fresh;
}

static void set_ranks(struct roster *roster, const uint32_t *places, size_t count)
{
    uint32_t rank = 0;

    for (size_t i = 0; i < roster->rows.count; i++)
        roster->rows.at[i].is_unranked = false;
    for (size_t i = 0; i < count; i++) {
        struct named here = named_row(roster, places[i]);
        struct named before = named_row(roster, places[i ? i - 1 : 0]);

        if (compare_named(&here, &before))
            rank++;
        roster->rows.at[places[i]].name_rank = rank;
    }
}

det_status roster_rank_names(struct roster *roster, struct err *err)
{
    size_t fresh_count = 0, from = 0, count = 0;
    struct named *fresh;
    uint32_t *places;

    if (!roster->has_unranked)
        return DET_OK;
    fresh = new_names(roster, &fresh_count);
    places = mem_array(roster->rows.count + 1, sizeof(*places));
    if (!fresh || !places) {
        mem_free(fresh);
        mem_free(places);
        return err_default(err, DET_NOMEM);
    }
    for (size_t i = 0; i < roster->by_name.count; i++) {
        struct named old = named_row(roster, roster->by_name.at[i]);

        if (roster->rows.at[old.place].is_unranked || !roster->rows.at[old.place].id)
            continue;
        while (from < fresh_count && compare_named(&fresh[from], &old) < 0)
            places[count++] = fresh[from++].place;
        places[count++] = old.place;
    }
    while (from < fresh_count)
        places[count++] = fresh[from++].place;
    mem_free(fresh);
    mem_free(roster->by_name.at);
    roster->by_name.at = places;
    roster->by_name.cap = roster->rows.count + 1;
    roster->by_name.count = count;
    set_ranks(roster, places, count);
    roster->has_unranked = false;
    return DET_OK;
}

/* ---- life ------------------------------------------------------------------------ */

det_status roster_init(struct roster *roster, struct err *err)
{
    det_status st = lock_init(&roster->note, err);

    roster->has_note = !st;
    if (!st)
        st = lock_init(&roster->look, err);
    roster->has_look = !st;
    return st;
}

void roster_done(struct roster *roster)
{
    clear_rows(roster);
    forget_changed(roster);
    vec_done(&roster->noted);
    if (roster->has_look)
        lock_done(&roster->look);
    if (roster->has_note)
        lock_done(&roster->note);
}
