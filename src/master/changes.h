/* SPDX-License-Identifier: Apache-2.0 */
/* changes.h - what has changed lately, for pages that show it.
 *
 *   changes_note()  ->  newest [trial 5] [metrics 5] [experiment 1] ... oldest
 *                          |                 ^
 *                          +--- a reader walks back to its cursor
 *
 * Whoever has changed something visible notes what it was, once that is durable;
 * whoever shows things reads what changed since it looked last, and asks the API about
 * those. Nothing here says what is in them.  A thing is in the list once, at the place
 * of its latest change: a million reports of one trial are one entry.
 *
 * Each note has a number.  A cursor is the number of the last note that its reader
 * knows of.  The list is bounded; when its oldest entry is dropped, or when there is no
 * memory for a new one, the *floor* rises: a reader whose cursor lies below it is told
 * to look at everything again (a reset), and is none the worse.
 *
 * While nobody listens nothing is noted, only that something was (`has_missed`): then
 * the first who joins is told to look again.  Those who join later start a little in
 * the past (changes_beat() keeps the place), so that what changed between a first look
 * and the joining is hardly ever lost; who must not lose anything asks for its place
 * before it looks.
 *
 * Threading: everything from any thread; one lock inside, held while noted() runs. */
#ifndef MASTER_CHANGES_H
#define MASTER_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/field.h"

struct arena;
struct changes;

/* In the order in which a message names them. */
enum change_kind {
    CHANGE_EXPERIMENT, /* its row, or something that is shown with it */
    CHANGE_TRIAL,
    CHANGE_METRICS,    /* by trial: it has reported some */
    CHANGE_CHECKPOINT, /* by trial: one came, goes or is gone */
    CHANGE_LOGS,       /* by task */
    CHANGE_AGENT,      /* by name: it, its slots or what they hold */
    CHANGE_JOB,        /* by task */
    CHANGE_QUEUE,      /* who waits for slots or has them; there is one */
    CHANGE_DELETED,    /* an experiment that is gone */
    CHANGE_KINDS,
};
extern const char *const change_kind_names[]; /* "experiments", ...; ends with NULL */

struct changes_config {
    uint32_t most; /* things in the list */
    /* The first note since changes_beat(); with the lock held: it only posts. */
    void (*noted)(void *arg);
    void *arg;
};

det_status changes_new(const struct changes_config *config,
                       struct changes **ret_changes, struct err *err);
void changes_free(struct changes *changes);

/* ---- noting ---------------------------------------------------------------------- */

/* Whether it is worth finding out what to note. */
bool changes_is_heard(struct changes *changes);
/* Experiments, trials and what goes by trial; `experiment` 0: not known. */
void changes_note(struct changes *changes, enum change_kind kind, int64_t id,
                  int64_t experiment);
/* Tasks and agents; copies.  The queue has the empty name. */
void changes_note_text(struct changes *changes, enum change_kind kind, const char *id);

/* ---- reading --------------------------------------------------------------------- */

/* Where the list stands: whoever looks after this call and joins with it as `since`
 * misses nothing, and is not told of what it has seen. */
uint64_t changes_place(struct changes *changes);
/* Another one listens.  `since`: a cursor that it had before; 0: none.  False: it has
 * to look at everything again.  The cursor is good in both cases. */
bool changes_join(struct changes *changes, uint64_t since, uint64_t *ret_cursor);
void changes_leave(struct changes *changes);
uint32_t changes_listeners(struct changes *changes);

/* What a reader wants to hear of.  Each list narrows the kinds that it is about, an
 * empty one does not; that of experiments is about trials, metrics and checkpoints
 * where there is none of trials.  Both lists of numbers ascend. */
struct changes_filter {
    uint32_t kinds; /* bits of 1 << kind */
    struct field_i64s experiments;
    struct field_i64s trials;
    struct field_strs tasks;
};

struct change {
    enum change_kind kind;
    int64_t id;
    const char *text; /* NULL: it goes by number */
};

struct change_list {
    struct change *at; /* newest first; in the reader's arena */
    uint32_t count;
    bool is_reset; /* too far behind, or too much at once */
};

/* What changed since the cursor, which moves.  DET_NOMEM: nothing happened. */
det_status changes_read(struct changes *changes, const struct changes_filter *filter,
                        struct arena *mem, uint64_t *cursor,
                        struct change_list *ret_list, struct err *err);

/* ---- pace ------------------------------------------------------------------------ */

/* Called now and then, and some time after noted(): whether anything was noted since.
 */
bool changes_beat(struct changes *changes, int64_t now_us);
/* Forgets everything, unless somebody listens (then false). */
bool changes_rest(struct changes *changes);

#endif
