/* SPDX-License-Identifier: Apache-2.0 */
#include "master/heart/heart.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "base/thread/lock.h"
#include "core/core_check.h"
#include "core/core_restore.h"
#include "master/changes/change_notes.h"
#include "master/heart/counters.h"
#include "master/heart/effects.h"
#include "master/heart/journal.h"
#include "master/master_impl.h"
#include "store/engine/db.h"
#include "store/heart/alive.h"
#include "store/heart/journal.h"
#include "store/store.h"

enum {
    BATCH_LIMIT = 1 << 30,   /* bytes of one batch's effects, and of all rows */
    BATCH_FULL = 16 << 20,   /* from here on, further events form the next batch */
    JOURNAL_AT_ONCE = 256,   /* entries per batch; fewer if they need too much memory */
    GAP_MOST = 1000,         /* missing entries in a row */
    RETRY_LEAST_US = 100000, /* after a failed commit; doubled up to 64 times */
    JUMP_US = 2000000,       /* a larger difference: the clock was set, not slewed */
};

struct heart {
    struct master *master;
    struct lane *lane;
    struct core *core; /* used only on the lane */

    struct lock lock; /* guards the queue and `has_journal` */
    struct heart_item *first;
    struct heart_item *last;
    uint32_t waiting; /* items in the queue */
    bool has_journal;
    bool is_posted; /* `run` is queued */

    struct work run;       /* starts the next batch */
    struct work committed; /* ends the batch in flight */
    struct work tick;
    struct work retry; /* reads the journal again after a failure */
    uint32_t failures; /* batches in a row that were not committed */
    bool may_retry;    /* after a failure, batches wait until this is set */
    bool owes_actions; /* memory was short for some: the core must be rebuilt */
    uint32_t journal_at_once;
    uint32_t at_once;      /* events of the next batch, without the journal; 0: all */
    uint32_t then_at_once; /* of the batch after that */
    bool is_in_flight;
    bool is_fresh;        /* the core was just built and needs EVENT_STARTED */
    int64_t seen_wall_us; /* both clocks at the last reading; 0: none yet */
    int64_t seen_mono_us;
    struct arena batch_mem;
    struct core_out out;
    struct heart_item *batch; /* its events and their callers */
    uint32_t count;           /* of them */
    uint32_t fitted; /* of them, those before the one that could not be applied */
    bool reads_journal;
    struct write_job job;
};

static int64_t wall_us(const struct heart *heart)
{
    return clock_wall_us(executor_clock(heart->master->exec));
}

/* ---- queue ---------------------------------------------------------------------- */

static void post_run_locked(struct heart *heart)
{
    if (heart->is_posted)
        return;
    heart->is_posted = true;
    lane_post(heart->lane, &heart->run);
}

void heart_submit(struct heart *heart, struct heart_item *item)
{
    item->next = NULL;
    lock_take(&heart->lock);
    if (heart->last)
        heart->last->next = item;
    else
        heart->first = item;
    heart->last = item;
    heart->waiting++;
    post_run_locked(heart);
    lock_give(&heart->lock);
}

uint32_t heart_waiting(struct heart *heart)
{
    uint32_t waiting;

    lock_take(&heart->lock);
    waiting = heart->waiting;
    lock_give(&heart->lock);
    return waiting;
}

void heart_journal(struct heart *heart)
{
    lock_take(&heart->lock);
    heart->has_journal = true;
    post_run_locked(heart);
    lock_give(&heart->lock);
}

/* ---- one batch: apply, commit, carry out ------------------------------------------ */

static det_status write_batch(struct write_job *job, struct db *db, struct err *err)
{
    struct heart *heart = job->arg;

    return effects_write(heart->master, db, &heart->out, &heart->batch_mem, err);
}

static void batch_written(struct write_job *job)
{
    struct heart *heart = job->arg;

    lane_post(heart->lane, &heart->committed);
}

/* Actions that memory was short for are derived again from the rows, as after a crash. */
static void carry_out_actions(struct heart *heart)
{
    if (!effects_carry_out(heart->master, &heart->out))
        heart->owes_actions = true;
}

/* ---- restoring ------------------------------------------------------------------- */

static det_status restore_from(struct heart *heart, struct db *db, struct arena *mem,
                               struct err *err)
{
    struct store_alive alive = {0};
    struct core_rows rows = {0};
    det_status st = db_snapshot(db, err);

    if (!st)
        st = store_load_alive(db, mem, &alive, err);
    if (!st)
        st = counters_read(db, &rows.counters, err);
    db_snapshot_end(db);
    if (st)
        return st;

    rows.experiment = alive.experiment;
    rows.experiments = alive.experiments;
    rows.trial = alive.trial;
    rows.trials = alive.trials;
    rows.job = alive.job;
    rows.jobs = alive.jobs;
    rows.allocation = alive.allocation;
    rows.allocations = alive.allocations;
    rows.share = alive.share;
    rows.shares = alive.shares;
    rows.agent = alive.agent;
    rows.agents = alive.agents;
    rows.snapshot = alive.snapshot;
    rows.snapshots = alive.snapshots;
    rows.input = alive.input;
    rows.inputs = alive.inputs;
    heart->out = (struct core_out){.mem = &heart->batch_mem};
    heart->is_fresh = true;
    heart->seen_wall_us = 0; /* a jump before this point looks like passed time */
    return core_restore(&heart->master->core_config, &rows, wall_us(heart),
                        &heart->core, &heart->out, err);
}

/* Builds the core again from the committed rows; keeps the old one if that fails. */
static det_status rebuild_core(struct heart *heart, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(BATCH_LIMIT);
    struct core *old = heart->core;
    struct db *db;
    det_status st = store_reader_take(heart->master->store, &db, err);

    if (st)
        return st;
    heart->core = NULL;
    arena_clear(&heart->batch_mem);
    heart->batch_mem.limit = BATCH_LIMIT;
    st = restore_from(heart, db, &mem, err);
    store_reader_give(heart->master->store, db);
    if (st) {
        heart->core = old;
        return st;
    }
    core_free(old);
    heart->owes_actions = false;
    carry_out_actions(heart);
    return DET_OK;
}

/* ---- batches --------------------------------------------------------------------- */

static void apply_item(struct heart *heart, struct heart_item *item)
{
    heart->out.id = 0;
    heart->out.exceeds_slots = false;
    item->err = (struct err){0}; /* of an earlier try */
    item->status =
        core_apply(heart->core, &item->event, wall_us(heart), &heart->out, &item->err);
    item->id = heart->out.id;
    item->exceeds_slots = heart->out.exceeds_slots;
}

/* How far the wall clock was set since the last call. */
static int64_t clock_jump_us(struct heart *heart)
{
    const struct clock *clock = executor_clock(heart->master->exec);
    int64_t now_us = clock_wall_us(clock);
    int64_t mono_us = clock_mono_us(clock);
    int64_t jump_us = now_us - heart->seen_wall_us - (mono_us - heart->seen_mono_us);
    bool has_seen = heart->seen_wall_us != 0;

    heart->seen_wall_us = now_us;
    heart->seen_mono_us = mono_us;
    return has_seen && (jump_us > JUMP_US || jump_us < -JUMP_US) ? jump_us : 0;
}

/* Tells the core about time before any other event. */
static det_status apply_time(struct heart *heart, struct err *err)
{
    struct core_event started = {.kind = EVENT_STARTED};
    struct core_event jumped = {.kind = EVENT_CLOCK_JUMPED};
    int64_t jump_us = clock_jump_us(heart);
    det_status st = DET_OK;

    if (jump_us) {
        log_warn("the clock was set %s by %" PRId64 " s; deadlines move with it",
                 jump_us > 0 ? "forwards" : "back",
                 (jump_us > 0 ? jump_us : -jump_us) / 1000000);
        jumped.clock_jumped.by_us = jump_us;
        st = core_apply(heart->core, &jumped, wall_us(heart), &heart->out, err);
    }
    if (!st && heart->is_fresh)
        st = core_apply(heart->core, &started, wall_us(heart), &heart->out, err);
    heart->is_fresh = false;
    return st;
}

/* An unreadable entry would stop the journal forever, so it is logged and skipped.  Its
 * content is reported again (an agent lists its tasks) or lost with the damage. */
static det_status skip_entry(struct heart *heart, int64_t seq, const char *why,
                             struct err *err)
{
    const struct core_event nothing = {.kind = EVENT_TICK, .journal_seq = seq};

    log_error("entry %" PRId64 " of the journal in the database is skipped: %s", seq,
              why);
    return core_apply(heart->core, &nothing, wall_us(heart), &heart->out, err);
}

static det_status apply_entry(struct heart *heart, const struct journal_entry *entry,
                              struct err *err)
{
    struct core_event event;
    det_status st = DET_OK;

    for (int64_t seq = core_journal_seq(heart->core) + 1;
         !st && seq < entry->seq && entry->seq - seq < GAP_MOST; seq++)
        st = skip_entry(heart, seq, "it is missing", err);
    if (st)
        return st;
    st = journal_decode(entry, &heart->batch_mem, &event, err);
    if (st == DET_CORRUPT)
        return skip_entry(heart, entry->seq, err->text, err);
    return st ? st : core_apply(heart->core, &event, wall_us(heart), &heart->out, err);
}

static det_status apply_journal(struct heart *heart, bool *ret_more, struct err *err)
{
    struct journal_entry *entries;
    struct db *db;
    uint32_t count = 0;
    det_status st = store_reader_take(heart->master->store, &db, err);

    if (st)
        return st;
    st = store_journal_read(db, core_journal_seq(heart->core), heart->journal_at_once,
                            &heart->batch_mem, &entries, &count, err);
    store_reader_give(heart->master->store, db);
    for (uint32_t i = 0; i < count && !st; i++)
        st = apply_entry(heart, &entries[i], err);
    *ret_more = count == heart->journal_at_once;
    return st;
}

static void finish_items(struct heart_item *item)
{
    while (item) {
        struct heart_item *next = item->next;

        if (item->done)
            item->done(item);
        else
            mem_free(item);
        item = next;
    }
}

/* Events that repeat by themselves.  Kept, they would pile up while the disk is full. */
static bool comes_again(const struct core_event *event)
{
    return event->kind == EVENT_TICK || event->kind == EVENT_AGENT_TASKS_HEARD;
}

static void put_first(struct heart *heart, struct heart_item *items)
{
    struct heart_item *last = items;
    uint32_t count = 1;

    if (!items)
        return;
    for (; last->next; last = last->next)
        count++;
    lock_take(&heart->lock);
    last->next = heart->first;
    if (!heart->first)
        heart->last = last;
    heart->first = items;
    heart->waiting += count;
    lock_give(&heart->lock);
}

/* Events without a caller are facts (an agent fell silent, or is back) that stay true after
 * a failed commit.  They go first into the next batch. */
static void keep_facts(struct heart *heart)
{
    struct heart_item *facts = NULL;
    struct heart_item **end = &facts;

    for (struct heart_item **at = &heart->batch; *at;) {
        struct heart_item *item = *at;

        if (item->done || comes_again(&item->event)) {
            at = &item->next;
            continue;
        }
        *at = item->next;
        *end = item;
        end = &item->next;
    }
    *end = NULL;
    put_first(heart, facts);
}

/* Tells all callers of this batch that it was not committed. */
static void fail_items(struct heart_item *item, const struct err *why)
{
    for (; item; item = item->next)
        item->status =
            err_set(&item->err, DET_BUSY, "not done, try again: %s", why->text);
}

static void set_tick(struct heart *heart)
{
    const struct clock *clock = executor_clock(heart->master->exec);
    int64_t deadline_us = core_next_deadline_us(heart->core);

    (void)lane_cancel(heart->lane, &heart->tick);
    if (deadline_us != INT64_MAX)
        lane_post_at(heart->lane, &heart->tick,
                     clock_mono_us(clock) +
                         MAX(deadline_us - clock_wall_us(clock), 1000));
}

static void end_batch(struct heart *heart)
{
    struct heart_item *items = heart->batch;

    assert(heart->is_in_flight);
    heart->batch = NULL;
    heart->is_in_flight = false;
    heart->at_once = heart->then_at_once;
    heart->then_at_once = 0;
    set_tick(heart);
    finish_items(items);
    arena_clear(&heart->batch_mem);
    lock_take(&heart->lock);
    if (heart->first || heart->has_journal)
        post_run_locked(heart);
    lock_give(&heart->lock);
}

/* Twice as long after each failure in a row, up to 6.4 s. */
static void retry_later(struct heart *heart)
{
    int64_t wait_us = (int64_t)RETRY_LEAST_US << MIN(heart->failures, 6u);

    (void)lane_cancel(heart->lane, &heart->retry);
    lane_post_at(heart->lane, &heart->retry,
                 clock_mono_us(executor_clock(heart->master->exec)) + wait_us);
    heart->failures++;
}

static void retry_batch(struct work *work)
{
    struct heart *heart = CONTAINER_OF(work, struct heart, retry);

    heart->may_retry = true;
    heart_journal(heart);
}

static void end_process(struct heart *heart, const char *what, const struct err *why)
{
    char sentence[ERR_TEXT_SIZE];

    snprintf(sentence, sizeof(sentence), "%s: %.1024s", what, why->text);
    heart->master->on_fatal(heart->master->fatal_arg, sentence);
}

/* With checks on, a core that breaks its own invariants ends the process: a test must not
 * silently continue from the last commit. */
static bool is_core_broken(struct heart *heart, struct err *ret_why)
{
    return heart->master->core_config.checks_invariants &&
           core_check(heart->core, ret_why);
}

/* The only event of its batch failed.  Without a caller it is a fact, which is tried again
 * later, after all others. */
static void refuse_event(struct heart *heart, const struct err *why)
{
    struct heart_item *item = heart->batch;

    if (item->done) {
        log_warn("one change was refused: %s", why->text);
        fail_items(item, why);
        return;
    }
    heart->may_retry = false;
    retry_later(heart);
    if (comes_again(&item->event))
        return;
    heart->batch = NULL;
    heart_submit(heart, item);
}

/* Memory was out for one event of the batch, and the others must not pay for it.  Those
 * before it are the next batch; then it is tried alone, and refused if it fails again.  If
 * the journal or the commit failed, nobody knows which one it was: the batch is halved. */
static void split_batch(struct heart *heart, const struct err *why)
{
    struct heart_item *items = heart->batch;
    bool is_known = heart->fitted < heart->count;
    uint32_t next = is_known ? heart->fitted : heart->count / 2;

    heart->may_retry = true; /* at once; refuse_event() may wait */
    if (heart->count == 1 && !heart->reads_journal) {
        refuse_event(heart, why);
        end_batch(heart);
        return;
    }
    if (heart->reads_journal)
        heart_journal(heart);
    heart->batch = NULL;
    put_first(heart, items);
    end_batch(heart);
    heart->at_once = MAX(next, 1u);
    heart->then_at_once = is_known && next ? 1 : 0;
}

static void refuse_batch(struct heart *heart, const struct err *why)
{
    if (!heart->failures)
        log_warn("the latest changes could not be stored and were refused; continuing "
                 "from the stored state: %s",
                 why->text);
    keep_facts(heart);
    fail_items(heart->batch, why);
    retry_later(heart);
    end_batch(heart);
}

static void recover_core(struct heart *heart, const struct err *why)
{
    struct err err = {0};

    if (why->status == DET_CORRUPT && is_core_broken(heart, &err)) {
        end_process(heart, "the core broke one of its invariants", &err);
        return;
    }
    if (rebuild_core(heart, &err)) {
        end_process(heart, "the platform's state could not be restored", &err);
        return;
    }
    if (why->status == DET_NOMEM && heart->reads_journal)
        heart->journal_at_once = MAX(heart->journal_at_once / 2, 1u);
    if (why->status == DET_NOMEM && heart->count)
        split_batch(heart, why);
    else
        refuse_batch(heart, why);
}

/* Between two batches. */
static void retry_actions(struct heart *heart)
{
    struct err err = {0};

    if (heart->owes_actions && rebuild_core(heart, &err))
        log_error("commands for agents are delayed: %s", err.text);
    arena_clear(&heart->batch_mem);
    if (heart->owes_actions)
        retry_later(heart);
    else
        set_tick(heart);
}

/* The events behind `last` form the next batch. */
static void end_batch_at(struct heart *heart, struct heart_item *last)
{
    struct heart_item *rest = last->next;

    last->next = NULL;
    put_first(heart, rest);
}

/* Applies the events of the batch; returns the status of the batch as a whole. */
static det_status apply_batch(struct heart *heart, struct err *err)
{
    bool has_more = false;
    det_status st;

    heart->out = (struct core_out){.mem = &heart->batch_mem};
    heart->batch_mem.limit = BATCH_LIMIT;
    heart->count = heart->fitted = 0;
    for (const struct heart_item *item = heart->batch; item; item = item->next)
        heart->count++;
    st = apply_time(heart, err);
    if (!st && heart->reads_journal)
        st = apply_journal(heart, &has_more, err);
    if (has_more)
        heart_journal(heart);
    if (st || heart->out.status) {
        heart->fitted = heart->count;
        return err_default(err, st ? st : heart->out.status);
    }
    heart->batch_mem.limit =
        MIN(heart->batch_mem.used + heart->master->batch_memory, (size_t)BATCH_LIMIT);
    for (struct heart_item *item = heart->batch; item; item = item->next) {
        apply_item(heart, item);
        if (item->status == DET_NOMEM || item->status == DET_CORRUPT)
            return err_set(err, item->status, "%.1024s", item->err.text);
        if (heart->out.status)
            return err_default(err, heart->out.status);
        heart->fitted++;
        if (item->next && heart->batch_mem.used > BATCH_FULL) {
            end_batch_at(heart, item);
            heart->count = heart->fitted;
        }
    }
    return DET_OK;
}

static void take_items_locked(struct heart *heart)
{
    struct heart_item **end = &heart->first;
    uint32_t count = 0;

    while (*end && (!heart->at_once || count < heart->at_once)) {
        end = &(*end)->next;
        count++;
    }
    heart->batch = count ? heart->first : NULL;
    if (count)
        heart->first = *end;
    *end = NULL;
    heart->waiting -= count;
    if (!heart->first)
        heart->last = NULL;
}

/* Says whether there is anything to do. */
static bool take_batch(struct heart *heart)
{
    lock_take(&heart->lock);
    heart->is_posted = false;
    if (heart->is_in_flight || (heart->failures && !heart->may_retry)) {
        lock_give(&heart->lock);
        return false; /* end_batch() or retry_batch() posts again */
    }
    heart->may_retry = false;
    if (heart->owes_actions) {
        lock_give(&heart->lock);
        retry_actions(heart);
        lock_take(&heart->lock);
    }
    take_items_locked(heart);
    heart->reads_journal = heart->has_journal && !(heart->at_once && heart->batch);
    if (heart->reads_journal)
        heart->has_journal = false;
    lock_give(&heart->lock);
    return heart->batch || heart->reads_journal;
}

static void run_batch(struct work *work)
{
    struct heart *heart = CONTAINER_OF(work, struct heart, run);
    struct err err = {0};

    if (!take_batch(heart))
        return;
    heart->is_in_flight = true;
    if (apply_batch(heart, &err)) {
        recover_core(heart, &err);
        return;
    }
    if (!heart->out.count) {
        heart->failures = 0;
        end_batch(heart);
        return;
    }
    heart->job.run = write_batch;
    heart->job.done = batch_written;
    heart->job.arg = heart;
    store_write(heart->master->store, &heart->job);
}

static void batch_committed(struct work *work)
{
    struct heart *heart = CONTAINER_OF(work, struct heart, committed);

    assert(heart->is_in_flight);
    if (heart->job.status) {
        recover_core(heart, &heart->job.err);
        return;
    }
    if (heart->failures)
        log_info("batches are committed again");
    heart->failures = 0;
    if (heart->reads_journal)
        heart->journal_at_once = JOURNAL_AT_ONCE;
    change_notes_effects(heart->master->changes, heart->out.effect, heart->out.count);
    carry_out_actions(heart);
    if (heart->owes_actions)
        retry_later(heart);
    end_batch(heart);
}

static void submit_tick(struct work *work)
{
    struct heart *heart = CONTAINER_OF(work, struct heart, tick);
    struct heart_item *item = mem_new(struct heart_item);

    if (!item) { /* out of memory: try again a little later */
        lane_post_at(heart->lane, &heart->tick,
                     clock_mono_us(executor_clock(heart->master->exec)) + 100000);
        return;
    }
    item->event.kind = EVENT_TICK;
    heart_submit(heart, item);
}

/* ---- life ----------------------------------------------------------------------- */

det_status heart_new(struct master *master, struct heart **ret_heart, struct err *err)
{
    struct heart *heart = mem_new(struct heart);
    det_status st;

    if (!heart)
        return err_default(err, DET_NOMEM);
    heart->master = master;
    heart->batch_mem = (struct arena)ARENA_INIT(BATCH_LIMIT);
    heart->journal_at_once = JOURNAL_AT_ONCE;
    heart->run = (struct work)WORK_INIT(run_batch);
    heart->committed = (struct work)WORK_INIT(batch_committed);
    heart->tick = (struct work)WORK_INIT(submit_tick);
    heart->retry = (struct work)WORK_INIT(retry_batch);
    st = lock_init(&heart->lock, err);
    if (st) {
        mem_free(heart);
        return st;
    }
    st = rebuild_core(heart, err);
    if (!st)
        st = lane_new(master->exec, "heart", 1, &heart->lane, err);
    if (st) {
        heart_free(heart);
        return st;
    }
    set_tick(heart);
    heart_journal(heart);
    *ret_heart = heart;
    return DET_OK;
}

/* An item with a caller belongs to the caller; master_stop() has made sure that none is
 * left. */
static void drop_items(struct heart_item *item)
{
    while (item) {
        struct heart_item *next = item->next;

        if (!item->done)
            mem_free(item);
        item = next;
    }
}

void heart_free(struct heart *heart)
{
    if (!heart)
        return;
    drop_items(heart->batch);
    drop_items(heart->first);
    core_free(heart->core);
    arena_done(&heart->batch_mem);
    lock_done(&heart->lock);
    mem_free(heart);
}
