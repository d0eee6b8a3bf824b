/* SPDX-License-Identifier: Apache-2.0 */
#include "master/heart.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/task.h"
#include "master/journal.h"
#include "store/data.h"
#include "store/jobs.h"
#include "store/store.h"
#include "store/unmanaged.h"

enum {
    BATCH_LIMIT = 1 << 30, /* bytes of one batch's effects */
    JOURNAL_AT_ONCE =
        256,         /* entries applied in one batch; fewer when they are too big */
    GAP_MOST = 1000, /* entries that may be missing in a row */
    RETRY_LEAST_US =
        100000,        /* after a commit that failed; doubled up to 64 times that */
    JUMP_US = 2000000, /* a clock that is off by more was set, not slewed */
};

struct heart {
    struct exec *exec;
    struct store *store;
    struct core_config config;
    struct heart_deeds deeds;
    struct lane *lane;
    struct core *core; /* only on the lane */

    struct lock lock; /* guards the queue and `has_journal` */
    struct heart_item *first;
    struct heart_item *last;
    bool has_journal;
    bool is_posted; /* `run` is queued */

    struct task run;       /* starts the next batch */
    struct task committed; /* ends the batch in flight */
    struct task tick;
    struct task retry; /* reads the journal again after a failure */
    uint32_t failures; /* batches in a row that were not committed */
    bool may_retry;    /* after a failure nothing is tried before this */
    bool owes_deeds;   /* some could not be done: the core has to be built again */
    uint32_t journal_at_once;
    bool is_in_flight;
    bool is_fresh;        /* the core was just built: it is to be told that we start */
    int64_t seen_wall_us; /* both clocks, when they were read last */
    int64_t seen_mono_us;
    struct arena batch_mem;
    struct core_out out;
    struct heart_item *batch; /* who waits for it */
    struct write_job job;
};

static int64_t wall_us(const struct heart *heart)
{
    return clock_wall_us(exec_clock(heart->exec));
}

/* ---- queue ---------------------------------------------------------------------- */

static void wake_locked(struct heart *heart)
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
    wake_locked(heart);
    lock_give(&heart->lock);
}

void heart_journal(struct heart *heart)
{
    lock_take(&heart->lock);
    heart->has_journal = true;
    wake_locked(heart);
    lock_give(&heart->lock);
}

/* ---- rows ------------------------------------------------------------------------ */

static det_status write_log_line(struct db *db, const struct core_effect *effect,
                                 int64_t now_us, struct arena *mem, struct err *err)
{
    struct log_line line = {
        .time_us = now_us,
        .severity = LOG_SEVERITY_INFO,
        .stream = LOG_STREAM_STDOUT,
        .rank = -1,
        .text = effect->log.text,
        .len = (uint32_t)__builtin_strlen(effect->log.text),
        .allocation = effect->log.allocation,
        .source = "master",
    };
    struct log_batch batch = {
        .task_id = effect->log.task_id, .line = &line, .count = 1};
    uint32_t stored;

    return store_log_add(db, &batch, mem, &stored, err);
}

static det_status write_counters(struct db *db, const struct core_counters *counters,
                                 struct err *err)
{
    const struct {
        const char *name;
        int64_t value;
    } rows[] = {
        {"next_experiment", counters->next_experiment},
        {"next_trial", counters->next_trial},
        {"next_job", counters->next_job},
        {"next_allocation", counters->next_allocation},
        {"next_agent", counters->next_agent},
        {"journal_seq", counters->journal_seq},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        det_status st = store_number_put(db, rows[i].name, rows[i].value, err);

        if (st)
            return st;
    }
    return store_journal_drop(db, counters->journal_seq, err);
}

static det_status write_experiment(struct db *db, const struct core_effect *effect,
                                   struct err *err)
{
    const struct experiment *row = &effect->experiment.row;
    const struct experiment_texts texts = {
        .name = effect->experiment.name,
        .description = effect->experiment.description,
        .labels = effect->experiment.labels,
        .files = effect->experiment.files,
        .files_len = effect->experiment.files_len,
        .is_unmanaged = effect->experiment.is_unmanaged,
        .external_id = effect->experiment.external_id,
    };

    if (effect->kind == EFFECT_ADD_EXPERIMENT)
        return store_experiment_add(db, row, &texts, err);
    if (effect->kind == EFFECT_PUT_EXPERIMENT)
        return store_experiment_put(db, row, err);
    return store_experiment_continue(db, row, effect->experiment.was_end_us, &texts,
                                     err);
}

static det_status write_job_row(struct db *db, const struct core_effect *effect,
                                struct err *err)
{
    const struct job_texts texts = {
        .name = effect->job.name,
        .config = effect->job.config,
        .forked_from = effect->job.forked_from,
        .type = effect->job.type,
        .sources = effect->job.sources,
        .files = effect->job.files,
        .files_len = effect->job.files_len,
    };

    return effect->kind == EFFECT_ADD_JOB
               ? store_job_add(db, &effect->job.row, &texts, err)
               : store_job_put(db, &effect->job.row, err);
}

static det_status write_row(struct heart *heart, struct db *db,
                            const struct core_effect *effect, struct err *err)
{
    switch (effect->kind) {
    case EFFECT_ADD_EXPERIMENT:
    case EFFECT_PUT_EXPERIMENT:
    case EFFECT_CONTINUE_EXPERIMENT:
        return write_experiment(db, effect, err);
    case EFFECT_ADD_TRIAL:
        return store_trial_add(db, &effect->trial, err);
    case EFFECT_ADD_UNMANAGED_TRIAL:
        return store_unmanaged_add_trial(db, &effect->trial, err);
    case EFFECT_PUT_TRIAL:
        return store_trial_put(db, &effect->trial, err);
    case EFFECT_ADD_JOB:
    case EFFECT_PUT_JOB:
        return write_job_row(db, effect, err);
    case EFFECT_PUT_ALLOCATION:
        return store_allocation_put(db, &effect->allocation, err);
    case EFFECT_PUT_SHARE:
        return store_share_put(db, &effect->share, err);
    case EFFECT_PUT_AGENT:
        return store_agent_put(db, &effect->agent, err);
    case EFFECT_DROP_AGENT:
        return store_agent_drop(db, effect->agent.id, err);
    case EFFECT_ADD_SEARCH_INPUT:
        return store_search_input_add(db, &effect->input, err);
    case EFFECT_PUT_SNAPSHOT:
        return store_search_snapshot_put(db, &effect->snapshot, err);
    case EFFECT_DROP_SEARCH:
        return store_search_drop(db, effect->experiment_id, err);
    case EFFECT_PUT_COUNTERS:
        return write_counters(db, &effect->counters, err);
    case EFFECT_TASK_LOG:
        return write_log_line(db, effect, wall_us(heart), &heart->batch_mem, err);
    default:
        return DET_OK;
    }
}

static det_status write_batch(struct write_job *job, struct db *db, struct err *err)
{
    struct heart *heart = job->arg;

    for (uint32_t i = 0; i < heart->out.count; i++) {
        det_status st = write_row(heart, db, &heart->out.effect[i], err);

        if (st)
            return st;
    }
    return DET_OK;
}

static void batch_written(struct write_job *job)
{
    struct heart *heart = job->arg;

    lane_post(heart->lane, &heart->committed);
}

/* ---- deeds ---------------------------------------------------------------------- */

/* False: there was no memory for it. */
static bool carry_out(struct heart *heart, const struct core_effect *effect)
{
    const struct heart_deeds *deeds = &heart->deeds;

    switch (effect->kind) {
    case EFFECT_START:
        return deeds->start(deeds->arg, &effect->share);
    case EFFECT_KILL:
        return deeds->kill(deeds->arg, &effect->share);
    case EFFECT_KILL_STRAY:
        return deeds->kill_stray(deeds->arg, effect->stray.agent, effect->stray.task);
    case EFFECT_DROP_AGENT:
        deeds->agent_lost(deeds->arg, effect->agent.name);
        break;
    case EFFECT_PREEMPT:
        deeds->preempt(deeds->arg, effect->allocation_id);
        break;
    case EFFECT_OVER:
        deeds->over(deeds->arg, effect->allocation_id);
        break;
    case EFFECT_EXPERIMENT_OVER:
        deeds->experiment_over(deeds->arg, effect->experiment_id);
        break;
    case EFFECT_PUT_TRIAL:
        deeds->task_moved(deeds->arg, effect->trial.task_id);
        break;
    case EFFECT_PUT_JOB:
        deeds->task_moved(deeds->arg, effect->job.row.task_id);
        break;
    case EFFECT_TASK_LOG:
        deeds->task_moved(deeds->arg, effect->log.task_id);
        break;
    default:
        break;
    }
    return true;
}

/* What could not be done is derived again from the rows, as after a crash. */
static void carry_out_all(struct heart *heart)
{
    for (uint32_t i = 0; i < heart->out.count; i++)
        if (!carry_out(heart, &heart->out.effect[i]))
            heart->owes_deeds = true;
}

/* ---- restoring ------------------------------------------------------------------- */

static det_status read_counters(struct db *db, struct core_counters *ret_counters,
                                struct err *err)
{
    struct {
        const char *name;
        int64_t *value;
    } rows[] = {
        {"next_experiment", &ret_counters->next_experiment},
        {"next_trial", &ret_counters->next_trial},
        {"next_job", &ret_counters->next_job},
        {"next_allocation", &ret_counters->next_allocation},
        {"next_agent", &ret_counters->next_agent},
        {"journal_seq", &ret_counters->journal_seq},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t fallback = rows[i].value == &ret_counters->journal_seq ? 0 : 1;
        det_status st =
            store_number_get(db, rows[i].name, fallback, rows[i].value, err);

        if (st)
            return st;
    }
    return DET_OK;
}

static det_status restore_from(struct heart *heart, struct db *db, struct arena *mem,
                               struct err *err)
{
    struct store_alive alive = {0};
    struct core_rows rows = {0};
    det_status st = db_snapshot(db, err);

    if (!st)
        st = store_load_alive(db, mem, &alive, err);
    if (!st)
        st = read_counters(db, &rows.counters, err);
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
    heart->seen_wall_us = 0; /* a jump while nobody looked cannot be told from time */
    return core_restore(&heart->config, &rows, wall_us(heart), &heart->core,
                        &heart->out, err);
}

/* Builds the core again from what was committed; the old one stays when that fails. */
static det_status rebuild(struct heart *heart, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(BATCH_LIMIT);
    struct core *old = heart->core;
    struct db *db;
    det_status st = store_reader_take(heart->store, &db, err);

    if (st)
        return st;
    heart->core = NULL;
    arena_clear(&heart->batch_mem);
    st = restore_from(heart, db, &mem, err);
    store_reader_give(heart->store, db);
    if (st) {
        heart->core = old;
        return st;
    }
    core_free(old);
    heart->owes_deeds = false;
    carry_out_all(heart);
    return DET_OK;
}

/* ---- batches --------------------------------------------------------------------- */

static void apply_item(struct heart *heart, struct heart_item *item)
{
    heart->out.id = 0;
    heart->out.exceeds_slots = false;
    item->status =
        core_apply(heart->core, &item->event, wall_us(heart), &heart->out, &item->err);
    item->id = heart->out.id;
    item->exceeds_slots = heart->out.exceeds_slots;
}

/* How far the wall clock was set since the last look. */
static int64_t clock_jump_us(struct heart *heart)
{
    const struct clock *clock = exec_clock(heart->exec);
    int64_t now_us = clock_wall_us(clock);
    int64_t mono_us = clock_mono_us(clock);
    int64_t jump_us = now_us - heart->seen_wall_us - (mono_us - heart->seen_mono_us);
    bool has_seen = heart->seen_wall_us != 0;

    heart->seen_wall_us = now_us;
    heart->seen_mono_us = mono_us;
    return has_seen && (jump_us > JUMP_US || jump_us < -JUMP_US) ? jump_us : 0;
}

/* What the core must know about time before it hears of anything else. */
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

/* An entry that cannot be read would stop everything for ever: it is said and left out.
 * What it told is told again (an agent lists what it runs) or lost with the rest of the
 * damage. */
static det_status leave_out(struct heart *heart, int64_t seq, const char *why,
                            struct err *err)
{
    const struct core_event nothing = {.kind = EVENT_TICK, .journal_seq = seq};

    log_error("entry %" PRId64 " of the journal in the database is left out: %s", seq,
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
        st = leave_out(heart, seq, "it is not there", err);
    if (st)
        return st;
    st = journal_decode(entry, &heart->batch_mem, &event, err);
    if (st == DET_CORRUPT)
        return leave_out(heart, entry->seq, err->text, err);
    return st ? st : core_apply(heart->core, &event, wall_us(heart), &heart->out, err);
}

static det_status apply_journal(struct heart *heart, bool *ret_more, struct err *err)
{
    struct journal_entry *entries;
    struct db *db;
    uint32_t count = 0;
    det_status st = store_reader_take(heart->store, &db, err);

    if (st)
        return st;
    st = store_journal_read(db, core_journal_seq(heart->core), heart->journal_at_once,
                            &heart->batch_mem, &entries, &count, err);
    store_reader_give(heart->store, db);
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

/* What is said again by itself: kept, it would pile up for as long as the disk is full.
 */
static bool comes_again(const struct core_event *event)
{
    return event->kind == EVENT_TICK || event->kind == EVENT_AGENT_TASKS_HEARD;
}

/* What nobody waits for has happened all the same (an agent fell silent, or is back):
 * it is first in the next batch. */
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
    if (!facts)
        return;
    lock_take(&heart->lock);
    if (!heart->first)
        heart->last = CONTAINER_OF(end, struct heart_item, next);
    *end = heart->first;
    heart->first = facts;
    lock_give(&heart->lock);
}

/* Everybody who waits for this batch hears that it did not happen. */
static void fail_items(struct heart_item *item, const struct err *why)
{
    for (; item; item = item->next)
        item->status =
            err_set(&item->err, DET_BUSY, "not done, try again: %s", why->text);
}

static void set_tick(struct heart *heart)
{
    const struct clock *clock = exec_clock(heart->exec);
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

    heart->batch = NULL;
    heart->is_in_flight = false;
    set_tick(heart);
    finish_items(items);
    arena_clear(&heart->batch_mem);
    lock_take(&heart->lock);
    if (heart->first || heart->has_journal)
        wake_locked(heart);
    lock_give(&heart->lock);
}

/* Twice as long after each failure in a row, up to 6.4 s. */
static void retry_later(struct heart *heart)
{
    int64_t wait_us = (int64_t)RETRY_LEAST_US << MIN(heart->failures, 6u);

    (void)lane_cancel(heart->lane, &heart->retry);
    lane_post_at(heart->lane, &heart->retry,
                 clock_mono_us(exec_clock(heart->exec)) + wait_us);
    heart->failures++;
}

static void retry(struct task *task)
{
    struct heart *heart = CONTAINER_OF(task, struct heart, retry);

    heart->may_retry = true;
    heart_journal(heart);
}

static void recover(struct heart *heart, const struct err *why)
{
    struct err err = {0};
    det_status st;

    if (!heart->failures)
        log_warn(
            "the latest changes could not be stored and were refused; going on from "
            "what is stored: %s",
            why->text);
    keep_facts(heart);
    fail_items(heart->batch, why);
    st = rebuild(heart, &err);
    if (st) {
        char sentence[ERR_TEXT_SIZE];

        snprintf(sentence, sizeof(sentence),
                 "the platform's state could not be restored: %.1024s", err.text);
        heart->deeds.fatal(heart->deeds.arg, sentence);
        return;
    }
    if (why->status == DET_NOMEM)
        heart->journal_at_once = MAX(heart->journal_at_once / 2, 1u);
    retry_later(heart);
    end_batch(heart);
}

/* Between two batches. */
static void pay_deeds(struct heart *heart)
{
    struct err err = {0};

    if (heart->owes_deeds && rebuild(heart, &err))
        log_error("commands for agents have to wait: %s", err.text);
    arena_clear(&heart->batch_mem);
    if (heart->owes_deeds)
        retry_later(heart);
    else
        set_tick(heart);
}

/* Applies what was taken; the status is that of the batch as a whole. */
static det_status apply_batch(struct heart *heart, bool reads_journal, struct err *err)
{
    bool has_more = false;
    det_status st;

    heart->out = (struct core_out){.mem = &heart->batch_mem};
    st = apply_time(heart, err);
    if (!st && reads_journal)
        st = apply_journal(heart, &has_more, err);
    for (struct heart_item *item = heart->batch; item && !st; item = item->next) {
        apply_item(heart, item);
        if (item->status == DET_NOMEM || item->status == DET_CORRUPT)
            st = err_set(err, item->status, "%.1024s", item->err.text);
    }
    if (!st)
        st = heart->out.status;
    if (has_more)
        heart_journal(heart);
    return st ? err_default(err, st) : DET_OK;
}

static void run_batch(struct task *task)
{
    struct heart *heart = CONTAINER_OF(task, struct heart, run);
    struct err err = {0};
    bool reads_journal;

    lock_take(&heart->lock);
    heart->is_posted = false;
    if (heart->is_in_flight || (heart->failures && !heart->may_retry)) {
        lock_give(&heart->lock);
        return; /* end_batch() or retry() looks again */
    }
    heart->may_retry = false;
    if (heart->owes_deeds) {
        lock_give(&heart->lock);
        pay_deeds(heart);
        lock_take(&heart->lock);
    }
    heart->batch = heart->first;
    reads_journal = heart->has_journal;
    heart->first = heart->last = NULL;
    heart->has_journal = false;
    lock_give(&heart->lock);

    if (!heart->batch && !reads_journal)
        return;
    heart->is_in_flight = true;
    if (apply_batch(heart, reads_journal, &err)) {
        recover(heart, &err);
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
    store_write(heart->store, &heart->job);
}

static void batch_committed(struct task *task)
{
    struct heart *heart = CONTAINER_OF(task, struct heart, committed);

    if (heart->job.status) {
        recover(heart, &heart->job.err);
        return;
    }
    if (heart->failures)
        log_info("batches are committed again");
    heart->failures = 0;
    heart->journal_at_once = JOURNAL_AT_ONCE;
    heart->deeds.told(heart->deeds.arg, heart->out.effect, heart->out.count);
    carry_out_all(heart);
    if (heart->owes_deeds)
        retry_later(heart);
    end_batch(heart);
}

static void tick(struct task *task)
{
    struct heart *heart = CONTAINER_OF(task, struct heart, tick);
    struct heart_item *item = mem_new(struct heart_item);

    if (!item) { /* out of memory: once more a little later */
        lane_post_at(heart->lane, &heart->tick,
                     clock_mono_us(exec_clock(heart->exec)) + 100000);
        return;
    }
    item->event.kind = EVENT_TICK;
    heart_submit(heart, item);
}

/* ---- life ----------------------------------------------------------------------- */

det_status heart_new(const struct heart_config *config, struct heart **ret_heart,
                     struct err *err)
{
    struct heart *heart = mem_new(struct heart);
    det_status st;

    if (!heart)
        return err_default(err, DET_NOMEM);
    heart->exec = config->exec;
    heart->store = config->store;
    heart->config = config->core;
    heart->deeds = config->deeds;
    heart->batch_mem = (struct arena)ARENA_INIT(BATCH_LIMIT);
    heart->journal_at_once = JOURNAL_AT_ONCE;
    heart->run = (struct task)TASK_INIT(run_batch);
    heart->committed = (struct task)TASK_INIT(batch_committed);
    heart->tick = (struct task)TASK_INIT(tick);
    heart->retry = (struct task)TASK_INIT(retry);
    st = lock_init(&heart->lock, err);
    if (st) {
        mem_free(heart);
        return st;
    }
    st = rebuild(heart, err);
    if (!st)
        st = lane_new(config->exec, "heart", 1, &heart->lane, err);
    if (st) {
        heart_free(heart);
        return st;
    }
    set_tick(heart);
    heart_journal(heart);
    *ret_heart = heart;
    return DET_OK;
}

/* Items that somebody waits for are theirs; master_stop() saw to it that there are
 * none. */
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
