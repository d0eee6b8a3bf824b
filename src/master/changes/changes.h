/* SPDX-License-Identifier: Apache-2.0 */
/* changes.h - a list of recent changes, for pages that show live data.
 *
 *   changes_note()  ->  newest [trial 5] [metrics 5] [experiment 1] ... oldest
 *                          |                 ^
 *                          +--- a reader walks back to its cursor
 *
 * Code that changes visible data notes which record it was, once the change is durable.  A
 * page reads the notes since its last read and asks the API for those records; the notes
 * hold no data.  A record is in the list once, at the place of its latest change: a million
 * reports of one trial are one entry.
 *
 * Each note has a number.  A cursor is the number of the last note that its reader has seen.
 * The list is bounded.  When the oldest entry is dropped, or when memory for a new one is
 * short, the *floor* rises.  A reader whose cursor is below the floor gets a reset: it must
 * read everything again.
 *
 * While nobody listens, the list stays empty; only `has_missed` is set.  The first listener
 * then gets a reset.  Later listeners start a little in the past (changes_beat() keeps that
 * position), so a change between a page's first read and its joining is rarely lost.  A page
 * that must not lose any asks for the position before its first read.
 *
 * Threading: everything from any thread; the one lock is held while noted() runs. */
#ifndef MASTER_CHANGES_CHANGES_H
#define MASTER_CHANGES_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/field.h"

struct arena;
struct changes;

/* In their order in a message. */
enum change_kind {
    CHANGE_EXPERIMENT, /* its row, or data shown with it */
    CHANGE_TRIAL,
    CHANGE_METRICS,    /* by trial: new metrics */
    CHANGE_CHECKPOINT, /* by trial: one was added, changed or removed */
    CHANGE_MEDIA,      /* by trial: new media */
    CHANGE_LOGS,       /* by task */
    CHANGE_AGENT,      /* by name: the agent, its slots or their tasks */
    CHANGE_JOB,        /* by task */
    CHANGE_QUEUE,      /* there is one queue */
    CHANGE_DELETED,    /* an experiment was deleted */
    CHANGE_KINDS,
};
extern const char *const change_kind_names[]; /* "experiments", ...; ends with NULL */

struct changes_config {
    uint32_t most; /* entries in the list */
    /* Called at the first note since changes_beat(), with the lock held: must only post. */
    void (*noted)(void *arg);
    void *arg;
};

det_status changes_new(const struct changes_config *config,
                       struct changes **ret_changes, struct err *err);
void changes_free(struct changes *changes);

/* ---- noting ---------------------------------------------------------------------- */

/* Whether anybody listens; if not, a caller can skip the lookups for its notes. */
bool changes_is_heard(struct changes *changes);
/* For kinds with a number; `experiment` 0: unknown. */
void changes_note(struct changes *changes, enum change_kind kind, int64_t id,
                  int64_t experiment);
/* For kinds with a name; copies.  The queue has the empty name. */
void changes_note_text(struct changes *changes, enum change_kind kind, const char *id);

/* ---- reading --------------------------------------------------------------------- */

/* The current position.  A page that reads its data after this call, and joins with the
 * position as `since`, misses nothing. */
uint64_t changes_position(struct changes *changes);
/* Adds a listener.  `since`: its earlier cursor; 0: none.  False: it must read everything
 * again.  The cursor is valid in both cases. */
bool changes_join(struct changes *changes, uint64_t since, uint64_t *ret_cursor);
void changes_leave(struct changes *changes);
uint32_t changes_listeners(struct changes *changes);

/* Which changes a reader wants.  A list restricts the kinds that it applies to; an empty
 * list does not.  `experiments` also applies to trials, metrics and checkpoints if `trials`
 * is empty.  Both lists of numbers ascend. */
struct changes_filter {
    uint32_t kinds; /* bits of 1 << kind */
    struct field_i64s experiments;
    struct field_i64s trials;
    struct field_strs tasks;
};

struct change {
    enum change_kind kind;
    int64_t id;
    const char *text; /* the name; NULL: `id` counts */
};

struct change_list {
    struct change *at; /* newest first; in the reader's arena */
    uint32_t count;
    bool is_reset; /* the cursor is too old, or the list too long */
};

/* The changes since the cursor; moves it.  DET_NOMEM: the cursor stays. */
det_status changes_read(struct changes *changes, const struct changes_filter *filter,
                        struct arena *mem, uint64_t *cursor,
                        struct change_list *ret_list, struct err *err);

/* ---- pace ------------------------------------------------------------------------ */

/* Called regularly, and some time after noted(): whether there were notes since. */
bool changes_beat(struct changes *changes, int64_t now_us);
/* Drops everything; false: somebody listens. */
bool changes_rest(struct changes *changes);

#endif
