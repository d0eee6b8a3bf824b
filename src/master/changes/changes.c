/* SPDX-License-Identifier: Apache-2.0 */
/* changes.c - see changes.h.
 *
 * Invariants, with the lock held:
 *   1. the list is ordered by `seq`, newest first, and every entry is in its map;
 *   2. every entry's seq is above `floor`, unless memory was short for a later note;
 *   3. while `is_on` is false the list is empty and floor == seq. */
#include "master/changes/changes.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"

enum {
    LATE_US = 2000000, /* new listeners start at least this far in the past */
    LIST_MOST = 2000, /* entries per message; reading everything is cheaper than more */
    LIST_FIRST = 16,
};

const char *const change_kind_names[] = {
    "experiments", "trials", "metrics", "checkpoints", "media", "logs",
    "agents",      "jobs",   "queue",   "deleted",     NULL,
};

struct entry {
    struct entry *newer;
    struct entry *older;
    uint64_t seq;
    enum change_kind kind;
    int64_t id;
    int64_t experiment; /* 0: unknown, or none */
    char text[];        /* the name, if the kind has one */
};

struct changes {
    struct changes_config config;
    _Atomic bool is_on;      /* there is a listener, or was lately */
    _Atomic bool has_missed; /* there was a note while it was off */
    _Atomic uint32_t listeners;
    struct lock lock; /* guards everything below */
    struct map map[CHANGE_KINDS];
    struct entry *newest;
    struct entry *oldest;
    uint32_t count;
    uint64_t seq;   /* of the last note; from 1 */
    uint64_t floor; /* cursors below it have missed notes */
    bool is_noted;  /* since the last beat */
    uint64_t past;  /* where new listeners start */
    uint64_t later; /* the next value of `past`, once it is old enough */
    int64_t later_us;
};

det_status changes_new(const struct changes_config *config,
                       struct changes **ret_changes, struct err *err)
{
    struct changes *changes = mem_new(struct changes);
    det_status st;

    if (!changes)
        return err_default(err, DET_NOMEM);
    st = lock_init(&changes->lock, err);
    if (st) {
        mem_free(changes);
        return st;
    }
    changes->config = *config;
    changes->seq = changes->floor = changes->past = changes->later = 1;
    *ret_changes = changes;
    return DET_OK;
}

static bool has_name(enum change_kind kind)
{
    return kind == CHANGE_LOGS || kind == CHANGE_AGENT || kind == CHANGE_JOB ||
           kind == CHANGE_QUEUE;
}

/* ---- the list -------------------------------------------------------------------- */

static void unlink_entry(struct changes *changes, struct entry *entry)
{
    if (entry->newer)
        entry->newer->older = entry->older;
    else
        changes->newest = entry->older;
    if (entry->older)
        entry->older->newer = entry->newer;
    else
        changes->oldest = entry->newer;
}

static void link_newest(struct changes *changes, struct entry *entry)
{
    entry->newer = NULL;
    entry->older = changes->newest;
    if (entry->older)
        entry->older->newer = entry;
    else
        changes->oldest = entry;
    changes->newest = entry;
}

static void drop_oldest(struct changes *changes)
{
    struct entry *entry = changes->oldest;

    if (has_name(entry->kind))
        (void)smap_remove(&changes->map[entry->kind], entry->text);
    else
        (void)map_remove(&changes->map[entry->kind], entry->id);
    changes->floor = MAX(changes->floor, entry->seq);
    unlink_entry(changes, entry);
    changes->count--;
    mem_free(entry);
}

static void drop_all(struct changes *changes)
{
    while (changes->oldest)
        drop_oldest(changes);
    for (int kind = 0; kind < CHANGE_KINDS; kind++)
        map_done(&changes->map[kind]);
    changes->floor = changes->past = changes->later = changes->seq;
}

void changes_free(struct changes *changes)
{
    if (!changes)
        return;
    drop_all(changes);
    lock_done(&changes->lock);
    mem_free(changes);
}

/* ---- noting ---------------------------------------------------------------------- */

/* A note: a name, or a number and its experiment. */
struct note {
    enum change_kind kind;
    int64_t id;
    int64_t experiment;
    const char *text;
};

bool changes_is_heard(struct changes *changes)
{
    return changes && atomic_load(&changes->is_on);
}

static struct entry *find_entry(struct changes *changes, const struct note *note)
{
    struct map *map = &changes->map[note->kind];

    return note->text ? smap_get(map, note->text) : map_get(map, note->id);
}

/* NULL: no memory. */
static struct entry *add_entry(struct changes *changes, const struct note *note)
{
    size_t size = note->text ? strlen(note->text) + 1 : 0;
    struct map *map = &changes->map[note->kind];
    struct entry *entry = mem_alloc(sizeof(*entry) + size);
    bool ok;

    if (!entry)
        return NULL;
    entry->kind = note->kind;
    entry->id = note->id;
    if (note->text)
        memcpy(entry->text, note->text, size);
    ok =
        note->text ? smap_put(map, entry->text, entry) : map_put(map, entry->id, entry);
    if (!ok) {
        mem_free(entry);
        return NULL;
    }
    changes->count++;
    return entry;
}

static void note_locked(struct changes *changes, const struct note *note)
{
    struct entry *entry = find_entry(changes, note);

    changes->seq++;
    if (entry)
        unlink_entry(changes, entry);
    else
        entry = add_entry(changes, note);
    if (entry) {
        entry->seq = changes->seq;
        if (note->experiment)
            entry->experiment = note->experiment;
        link_newest(changes, entry);
        if (changes->count > changes->config.most)
            drop_oldest(changes);
    } else {
        changes->floor = changes->seq; /* all readers get a reset */
    }
    if (!changes->is_noted) {
        changes->is_noted = true;
        changes->config.noted(changes->config.arg);
    }
}

/* While nobody listens, a note costs two loads.  changes_rest() clears `has_missed` before
 * `is_on`; here they are read in the other order.  So a set `has_missed` was set after the
 * rest, and the next listener sees it, too. */
static void add_note(struct changes *changes, const struct note *note)
{
    assert(has_name(note->kind) == (note->text != NULL));
    if (!changes ||
        (!atomic_load(&changes->is_on) && atomic_load(&changes->has_missed)))
        return;
    lock_take(&changes->lock);
    if (changes->is_on)
        note_locked(changes, note);
    else
        atomic_store(&changes->has_missed, true);
    lock_give(&changes->lock);
}

void changes_note(struct changes *changes, enum change_kind kind, int64_t id,
                  int64_t experiment)
{
    add_note(changes, &(struct note){kind, id, experiment, NULL});
}

void changes_note_text(struct changes *changes, enum change_kind kind, const char *id)
{
    add_note(changes, &(struct note){kind, 0, 0, id});
}

/* ---- reading --------------------------------------------------------------------- */

/* The first listeners may have read their pages before notes began.  `past` below `floor`
 * gives them a reset. */
static void put_past_below_floor(struct changes *changes)
{
    changes->past = changes->seq++;
    changes->floor = changes->later = changes->seq;
}

static void start_noting(struct changes *changes)
{
    atomic_store(&changes->is_on, true);
    if (atomic_load(&changes->has_missed))
        put_past_below_floor(changes);
}

/* Missed notes are before this position: a reader with an older cursor, or none, gets a
 * reset.  A note that found `has_missed` set was durable before it is cleared here, and so
 * before the caller reads its data. */
uint64_t changes_position(struct changes *changes)
{
    uint64_t place;

    lock_take(&changes->lock);
    if (!changes->is_on && atomic_exchange(&changes->has_missed, false))
        put_past_below_floor(changes);
    place = changes->seq;
    lock_give(&changes->lock);
    return place;
}

bool changes_join(struct changes *changes, uint64_t since, uint64_t *ret_cursor)
{
    bool is_whole;

    lock_take(&changes->lock);
    changes->listeners++;
    if (!changes->is_on)
        start_noting(changes);
    if (!since)
        since = changes->past;
    is_whole = since >= changes->floor && since <= changes->seq;
    *ret_cursor = is_whole ? since : changes->seq;
    lock_give(&changes->lock);
    return is_whole;
}

void changes_leave(struct changes *changes)
{
    uint32_t before = atomic_fetch_sub(&changes->listeners, 1);

    assert(before > 0);
    (void)before;
}

uint32_t changes_listeners(struct changes *changes)
{
    return atomic_load(&changes->listeners);
}

static int order_i64(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static bool has_number(const struct field_i64s *list, int64_t number)
{
    return list->count &&
           bsearch(&number, list->at, list->count, sizeof(number), order_i64);
}

static bool has_task(const struct field_strs *list, const char *task)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->at[i], task))
            return true;
    return !list->count;
}

static bool passes_filter(const struct changes_filter *filter,
                          const struct entry *entry)
{
    if (!(filter->kinds & 1u << entry->kind))
        return false;
    switch (entry->kind) {
    case CHANGE_EXPERIMENT:
    case CHANGE_DELETED:
        return !filter->experiments.count ||
               has_number(&filter->experiments, entry->id);
    case CHANGE_TRIAL:
    case CHANGE_METRICS:
    case CHANGE_CHECKPOINT:
    case CHANGE_MEDIA:
        if (filter->trials.count)
            return has_number(&filter->trials, entry->id);
        /* of an unknown experiment: an extra change does no harm */
        return !filter->experiments.count || !entry->experiment ||
               has_number(&filter->experiments, entry->experiment);
    case CHANGE_LOGS:
    case CHANGE_JOB:
        return has_task(&filter->tasks, entry->text);
    case CHANGE_AGENT:
    case CHANGE_QUEUE:
    case CHANGE_KINDS:
        break;
    }
    return true;
}

/* Adds a copy; false: no memory. */
static bool list_add(struct change_list *list, const struct entry *entry, uint32_t *cap,
                     struct arena *mem)
{
    struct change *change;

    if (list->count == *cap) {
        uint32_t more = *cap ? 2 * *cap : LIST_FIRST;
        struct change *at = arena_array(mem, struct change, more);

        if (!at)
            return false;
        if (list->count)
            memcpy(at, list->at, list->count * sizeof(*at));
        list->at = at;
        *cap = more;
    }
    change = &list->at[list->count++];
    *change = (struct change){.kind = entry->kind, .id = entry->id};
    if (!has_name(entry->kind))
        return true;
    change->text = arena_strdup(mem, entry->text);
    return change->text != NULL;
}

static bool list_changes(const struct changes *changes,
                         const struct changes_filter *filter, uint64_t cursor,
                         struct arena *mem, struct change_list *list)
{
    uint32_t cap = 0;

    for (const struct entry *at = changes->newest; at && at->seq > cursor;
         at = at->older) {
        if (!passes_filter(filter, at))
            continue;
        if (list->count == LIST_MOST) {
            *list = (struct change_list){.is_reset = true};
            return true;
        }
        if (!list_add(list, at, &cap, mem))
            return false;
    }
    return true;
}

det_status changes_read(struct changes *changes, const struct changes_filter *filter,
                        struct arena *mem, uint64_t *cursor,
                        struct change_list *ret_list, struct err *err)
{
    struct change_list list = {0};
    bool ok = true;

    lock_take(&changes->lock);
    if (*cursor < changes->floor)
        list.is_reset = true;
    else
        ok = list_changes(changes, filter, *cursor, mem, &list);
    if (ok)
        *cursor = changes->seq;
    lock_give(&changes->lock);
    if (!ok)
        return err_default(err, DET_NOMEM);
    *ret_list = list;
    return DET_OK;
}

/* ---- pace ------------------------------------------------------------------------ */

bool changes_beat(struct changes *changes, int64_t now_us)
{
    bool is_noted;

    lock_take(&changes->lock);
    is_noted = changes->is_noted;
    changes->is_noted = false;
    if (now_us - changes->later_us >= LATE_US) {
        changes->past = MAX(changes->later, changes->floor);
        changes->later = changes->seq;
        changes->later_us = now_us;
    }
    lock_give(&changes->lock);
    return is_noted;
}

bool changes_rest(struct changes *changes)
{
    bool is_idle;

    lock_take(&changes->lock);
    is_idle = !atomic_load(&changes->listeners);
    if (is_idle) {
        drop_all(changes);
        changes->is_noted = false;
        atomic_store(&changes->has_missed, false);
        atomic_store(&changes->is_on, false);
    }
    lock_give(&changes->lock);
    return is_idle;
}
