/* SPDX-License-Identifier: Apache-2.0 */
/* world.c - the clock, the queue of messages, and the heart with its crashes.
 *
 * The heart takes a few events as a batch, lets the core apply them, commits the rows and
 * carries out the actions.  It may crash before the commit (the batch has no effect), or
 * after it (some or all actions are not carried out).  The restored core must have the
 * same dump as the one of the last commit, and its actions must replace the lost ones.
 */
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "core/core_check.h"
#include "tests/support/core_view.h"

enum { MEM_BYTES = 1 << 28, TASKS_MOST = 256 };

static const int64_t start_us = 1700000000 * (int64_t)SECOND;

/* ---- small things ---------------------------------------------------------------- */

void world_fail(struct world *w, const char *fmt, ...)
{
    va_list args;

    if (w->why[0])
        return;
    va_start(args, fmt);
    vsnprintf(w->why, sizeof(w->why), fmt, args);
    va_end(args);
}

void world_trace(const struct world *w, const char *fmt, ...)
{
    va_list args;

    if (!w->traces)
        return;
    printf("# %9.3f ", (double)(w->now_us - start_us) / SECOND);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
}

uint64_t world_below(struct world *w, uint64_t bound)
{
    return rng64_below(&w->rng, bound);
}

bool world_mishap(struct world *w, uint32_t percent)
{
    return !w->is_calm && world_below(w, 100) < percent;
}

static int compare_messages(const struct tree_node *a, const struct tree_node *b)
{
    const struct message *x = CONTAINER_OF(a, struct message, node);
    const struct message *y = CONTAINER_OF(b, struct message, node);

    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

struct message *world_send(struct world *w, enum message_kind kind, int64_t from_s,
                           int64_t to_s)
{
    struct message *message = mem_new(struct message);
    uint64_t more = (uint64_t)(to_s - from_s) * SECOND;

    if (!message)
        abort();
    message->kind = kind;
    message->seq = w->next_seq++;
    message->at_us = w->now_us + from_s * SECOND + (int64_t)world_below(w, more + 1);
    tree_add(&w->queue, &message->node);
    return message;
}

static void message_free(struct message *message)
{
    mem_free(message->long_text);
    mem_free(message);
}

/* ---- events ---------------------------------------------------------------------- */

/* The lines of `text`, in the arena of effects. */
static const char *const *split_lines(struct world *w, const char *text,
                                      uint32_t *ret_count)
{
    const char **line = arena_array(&w->mem, const char *, TASKS_MOST);
    char *at = arena_strdup(&w->mem, text);
    uint32_t count = 0;

    while (at && *at && count < TASKS_MOST) {
        char *end = strchr(at, '\n');

        *end = '\0';
        line[count++] = at;
        at = end + 1;
    }
    *ret_count = count;
    return line;
}

static void joined_event(struct world *w, const struct message *message,
                         struct core_event *event)
{
    const struct sim_agent *agent = &w->agent[message->agent];

    event->kind = EVENT_AGENT_JOINED;
    event->agent_joined.name = agent->name;
    event->agent_joined.resource_pool = agent->pool;
    event->agent_joined.devices = "[]";
    event->agent_joined.addresses = "[\"127.0.0.1\"]";
    event->agent_joined.slots = message->number;
    event->agent_joined.boot_id = message->text;
    event->agent_joined.version = "0.1.0";
    event->agent_joined.instance =
        message->kind == SAYS_TWIN ? "twin" : agent->instance;
    event->agent_joined.tasks =
        split_lines(w, message->long_text, &event->agent_joined.task_count);
}

static void report_event(const struct message *message, struct core_event *event)
{
    if (message->kind == REPORTS_VALIDATION) {
        event->kind = EVENT_VALIDATED;
        event->validated.trial_id = message->trial;
        event->validated.run_id = message->run;
        event->validated.steps = message->number;
        event->validated.metrics = message->text;
    } else if (message->kind == REPORTS_CHECKPOINT) {
        event->kind = EVENT_CHECKPOINTED;
        event->checkpointed.trial_id = message->trial;
        event->checkpointed.run_id = message->run;
        event->checkpointed.steps = message->number;
        event->checkpointed.uuid = message->text;
    } else {
        event->kind = EVENT_SHARE_EXITED;
        event->share_exited.allocation_id = message->allocation;
        event->share_exited.rank = message->rank;
        event->share_exited.exit = (enum exit_kind)message->number;
        event->share_exited.code = message->event.share_exited.code;
        event->share_exited.is_final = message->is_final;
    }
}

static void trial_event(const struct world *w, const struct message *message,
                        struct core_event *event)
{
    if (message->kind == SAYS_PROGRESS) {
        event->kind = EVENT_PROGRESS;
        event->progress.trial_id = message->trial;
        event->progress.progress = (double)message->number / 100;
    } else if (message->kind == SAYS_EARLY_EXIT) {
        event->kind = EVENT_EARLY_EXIT;
        event->early_exit.trial_id = message->trial;
    } else {
        event->kind = EVENT_LOG_POLICY;
        event->log_policy.trial_id = message->trial;
        event->log_policy.cancels_retries = message->number != 1;
        if (message->number)
            event->log_policy.exclude_agent = w->agent[message->agent].name;
    }
}

static void agent_event(struct world *w, const struct message *message,
                        struct core_event *event)
{
    if (message->kind == SAYS_JOINED || message->kind == SAYS_TWIN) {
        joined_event(w, message, event);
        return;
    }
    event->kind = message->kind == SAYS_SILENT  ? EVENT_AGENT_SILENT
                  : message->kind == SAYS_HEARD ? EVENT_AGENT_HEARD
                                                : EVENT_AGENT_TASKS_HEARD;
    event->agent.name = w->agent[message->agent].name;
}

static void run_event(const struct message *message, struct core_event *event)
{
    if (message->kind == SAYS_STATE) {
        event->kind = EVENT_SHARE_STATE;
        event->share_state.allocation_id = message->allocation;
        event->share_state.rank = message->rank;
        event->share_state.state = (enum allocation_state)message->number;
        return;
    }
    event->kind = message->kind == SAYS_ACKNOWLEDGED ? EVENT_PREEMPT_ACKNOWLEDGED
                                                     : EVENT_PREEMPT_REQUESTED;
    event->preempt.allocation_id = message->allocation;
}

/* Somebody read the rows before this batch; what a batch continued and ended already
 * would make its commit fail, so nobody comes twice. */
static void continue_event(struct world *w, const struct message *message,
                           struct core_event *event)
{
    int64_t id = message->number;

    for (uint32_t i = 0; i < w->out.count; i++)
        if (w->out.effect[i].kind == EFFECT_CONTINUE_EXPERIMENT &&
            w->out.effect[i].experiment.row.id == id)
            id = 0;
    sim_store_fill_continued(&w->store, id, &w->mem, event);
}

static struct core_event event_of(struct world *w, const struct message *message)
{
    struct core_event event = message->event;

    switch ((int)message->kind) {
    case SAYS_STATE:
    case SAYS_ACKNOWLEDGED:
    case SAYS_PREEMPT_ME:
        run_event(message, &event);
        break;
    case SAYS_PROGRESS:
    case SAYS_EARLY_EXIT:
    case SAYS_LOG_POLICY:
        trial_event(w, message, &event);
        break;
    case SAYS_JOINED:
    case SAYS_SILENT:
    case SAYS_HEARD:
    case SAYS_TASK_HEARD:
    case SAYS_TWIN:
        agent_event(w, message, &event);
        break;
    case SAYS_USER: /* as it is */
        if (event.kind == EVENT_EXPERIMENT_CONTINUED)
            continue_event(w, message, &event);
        break;
    case SAYS_TICK:
        event.kind = EVENT_TICK;
        break;
    case SAYS_STARTED:
        event.kind = EVENT_STARTED;
        break;
    case SAYS_JUMP:
        event.kind = EVENT_CLOCK_JUMPED;
        event.clock_jumped.by_us = message->number;
        break;
    default:
        report_event(message, &event);
        break;
    }
    return event;
}

/* ---- the shell ------------------------------------------------------------------- */

static bool is_refusal(det_status status)
{
    return status == DET_NOT_FOUND || status == DET_STATE || status == DET_INVALID ||
           status == DET_EXISTS;
}

static void after_event(struct world *w, const struct message *message,
                        const struct core_event *event)
{
    size_t id = (size_t)w->out.id;

    agents_event_taken(w, message);
    if (event->kind != EVENT_EXPERIMENT_SUBMITTED)
        return;
    while (w->max_restarts.count < id)
        if (!vec_push(&w->max_restarts, 0))
            abort();
    /* A submission that is not committed gives its number to the next. */
    w->max_restarts.at[id - 1] = message->number;
}

/* Checks what a report has changed, by its run. */
static void check_report(struct world *w, const struct message *message,
                         const struct trial *before, const char *checkpoint)
{
    const struct trial *trial = core_trial(w->core, message->trial);
    bool is_current = before->run_id == message->run;
    bool is_newest = is_current && message->number >= before->latest_steps;

    if (message->kind != REPORTS_CHECKPOINT || !trial)
        return;
    if (strcmp(trial->latest_checkpoint ? trial->latest_checkpoint : "",
               is_newest ? message->text : checkpoint))
        world_fail(w, "trial %" PRId64 " has the wrong checkpoint", trial->id);
}

static void check_applied(struct world *w, const struct core_event *event,
                          det_status st, uint32_t before, const struct err *why)
{
    struct err err = {0};

    if (st && !is_refusal(st))
        world_fail(w, "event %d: %s: %s", (int)event->kind, det_status_name(st),
                   why->text);
    if (st && w->out.count != before)
        world_fail(w, "event %d was refused and has effects", (int)event->kind);
    if (st && event->journal_seq)
        world_fail(w, "an entry of the journal was refused: %s", why->text);
    if (!st && core_check(w->core, &err))
        world_fail(w, "after event %d: %s", (int)event->kind, err.text);
}

/* A second core gets the same event and must give the same effects. */
static void tell_twin(struct world *w, const struct core_event *event, det_status st,
                      uint32_t effects)
{
    CLEANUP(buf_done) struct buf own = BUF_INIT;
    CLEANUP(buf_done) struct buf twins = BUF_INIT;
    struct core_out out = {.mem = &w->twin_mem};

    arena_clear(&w->twin_mem);
    if (core_apply(w->twin, event, w->now_us + w->skew_us, &out, NULL) != st ||
        out.count != effects)
        world_fail(w, "a restored heart reacts to event %d otherwise",
                   (int)event->kind);
    core_dump(w->core, &own);
    core_dump(w->twin, &twins);
    if (strcmp(own.data, twins.data))
        world_fail(w, "a restored heart becomes another after event %d",
                   (int)event->kind);
    core_free(w->twin);
    w->twin = NULL;
}

/* False: the core must be restored. */
static bool apply(struct world *w, struct message *message, int64_t journal_seq)
{
    struct core_event event = event_of(w, message);
    const struct trial *trial = core_trial(w->core, message->trial);
    struct trial before = trial ? *trial : (struct trial){0};
    char checkpoint[TEXT_SIZE] = "";
    bool is_old = journal_seq && journal_seq <= core_journal_seq(w->core);
    uint32_t count = w->out.count;
    struct err err = {0};
    det_status st;

    if (before.latest_checkpoint)
        snprintf(checkpoint, sizeof(checkpoint), "%s", before.latest_checkpoint);
    event.journal_seq = journal_seq;
    w->events++;
    w->out.id = 0;
    if (w->lacks_memory)
        fault_arm(FAULT_MEMORY, 1 + (int64_t)world_below(w, 60));
    st = core_apply(w->core, &event, w->now_us + w->skew_us, &w->out, &err);
    fault_disarm(FAULT_MEMORY);
    world_trace(w,
                "event %d trial %" PRId64 " allocation %" PRId64 ".%" PRId64
                " number %" PRId64 " journal %" PRId64 " -> %s, %u effects",
                (int)event.kind, message->trial, message->allocation, message->rank,
                message->number, journal_seq, det_status_name(st),
                w->out.count - count);
    message->is_refused = st != DET_OK;
    if (st == DET_NOMEM)
        return false;
    check_applied(w, &event, st, count, &err);
    if (is_old && w->out.count != count)
        world_fail(w, "an entry of the journal was applied twice");
    if (journal_seq && !is_old)
        check_report(w, message, &before, checkpoint);
    for (uint32_t i = count; i < w->out.count && event.kind == EVENT_TICK; i++)
        if (w->out.effect[i].kind == EFFECT_DROP_AGENT)
            agents_check_lost(w, &w->out.effect[i]);
    if (!st)
        after_event(w, message, &event);
    if (w->twin)
        tell_twin(w, &event, st, w->out.count - count);
    return true;
}

static void carry_out(struct world *w, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (w->out.effect[i].kind >= EFFECT_FIRST_ACTION)
            agents_order(w, &w->out.effect[i]);
}

/* The effects are done with, and so are the events whose strings they borrow. */
static void clear_out(struct world *w)
{
    for (size_t i = 0; i < w->spent.count; i++)
        message_free(w->spent.at[i]);
    vec_clear(&w->spent);
    arena_clear(&w->mem);
    w->out = (struct core_out){.mem = &w->mem};
}

/* The master loses its memory: its inbox, and orders that were not fetched. */
static void forget(struct world *w)
{
    struct tree_node *next;

    for (size_t i = 0; i < w->inbox.count; i++)
        message_free(w->inbox.at[i]);
    vec_clear(&w->inbox);
    for (struct tree_node *at = tree_first(&w->queue); at; at = next) {
        struct message *message = CONTAINER_OF(at, struct message, node);

        next = tree_next(at);
        if (message->kind < ORDERS_START || message->kind > ORDERS_PREEMPT)
            continue;
        tree_remove(&w->queue, at);
        message_free(message);
    }
}

/* The heart's first events to the core after a start. */
static void say_first(struct world *w, enum message_kind kind, int64_t number)
{
    struct message *message = world_send(w, kind, 0, 0);

    tree_remove(&w->queue, &message->node);
    message->number = number;
    if (!vec_push(&w->inbox, message))
        abort();
    memmove(w->inbox.at + 1, w->inbox.at, (w->inbox.count - 1) * sizeof(*w->inbox.at));
    w->inbox.at[0] = message;
}

void world_set_clock(struct world *w, int64_t skew_us)
{
    say_first(w, SAYS_JUMP, skew_us - w->skew_us);
    w->skew_us = skew_us;
}

/* `committed`: the dump of the heart as of the last commit; `is_sane`: this is that
 * heart. */
static void restart(struct world *w, const struct buf *committed, bool is_sane)
{
    CLEANUP(buf_done) struct buf restored = BUF_INIT;
    struct err err = {0};
    det_status st;

    w->crashes++;
    world_trace(w, "the master restarts");
    core_free(w->twin);
    w->twin = NULL;
    if (is_sane)
        w->twin = w->core;
    else
        core_free(w->core);
    w->twin_left = 1 + (uint32_t)world_below(w, 20);
    w->core = NULL;
    forget(w);
    clear_out(w);
    st = sim_store_restore(&w->store, &w->config, w->now_us + w->skew_us, &w->core,
                           &w->out, &err);
    if (st) {
        world_fail(w, "the heart cannot be restored: %s", err.text);
        return;
    }
    if (core_check(w->core, &err))
        world_fail(w, "restored: %s", err.text);
    core_dump(w->core, &restored);
    if (strcmp(committed->data, restored.data)) {
        world_fail(w, "the restored heart differs from the committed one");
        if (w->traces)
            printf("---- committed\n%s---- restored\n%s", committed->data,
                   restored.data);
    }
    carry_out(w, w->out.count);
    clear_out(w);
    say_first(w, SAYS_STARTED, 0);
}

static bool apply_next(struct world *w)
{
    int64_t last = core_journal_seq(w->core);
    bool has_entry = (size_t)last < w->journal.count;
    struct message *message;

    if (last > 0 && world_mishap(w, 3)) { /* an entry that was applied before */
        int64_t old = (int64_t)world_below(w, (uint64_t)last);

        return apply(w, w->journal.at[old], old + 1);
    }
    if (has_entry && (!w->inbox.count || world_below(w, 2)))
        return apply(w, w->journal.at[last], last + 1);
    if (!w->inbox.count)
        return true;
    message = w->inbox.at[0];
    vec_remove(&w->inbox, 0);
    if (!vec_push(&w->spent, message))
        abort();
    return apply(w, message, 0);
}

static bool has_work(const struct world *w)
{
    return w->inbox.count || (size_t)core_journal_seq(w->core) < w->journal.count;
}

static void batch(struct world *w)
{
    CLEANUP(buf_done) struct buf committed = BUF_INIT;
    uint32_t events = 1 + (uint32_t)world_below(w, 3);
    bool crashes_before = world_mishap(w, 1);
    bool crashes_after = world_mishap(w, 2);

    w->lacks_memory = !w->twin && world_mishap(w, 1);
    if (crashes_before || w->lacks_memory)
        core_dump(w->core, &committed);
    clear_out(w);
    for (uint32_t i = 0; i < events && has_work(w); i++) {
        if (apply_next(w))
            continue;
        crashes_before = true;
        break;
    }
    if (w->why[0])
        return;
    if (crashes_before) {
        restart(w, &committed, false);
        return;
    }
    w->store.has_user = false;
    for (size_t i = 0; i < w->spent.count; i++)
        w->store.has_user |= w->spent.at[i]->kind == SAYS_USER;
    sim_store_commit(&w->store, &w->out);
    for (size_t i = 0; i < w->spent.count; i++)
        if (w->spent.at[i]->kind == SAYS_JOINED && !w->spent.at[i]->is_refused)
            agents_join_stored(w, w->spent.at[i]);
    if (w->store.why[0])
        world_fail(w, "%s", w->store.why);
    if (!crashes_after) {
        carry_out(w, w->out.count);
        return;
    }
    buf_clear(&committed);
    core_dump(w->core, &committed);
    carry_out(w, (uint32_t)world_below(w, w->out.count + 1));
    restart(w, &committed, true);
}

/* ---- time ------------------------------------------------------------------------ */

/* True when the message was kept. */
static bool deliver(struct world *w, struct message *message)
{
    if (message->kind <= SAYS_JUMP) {
        if (!vec_push(&w->inbox, message))
            abort();
        return true;
    }
    if (message->kind <= REPORTS_EXIT) {
        if (message->kind == REPORTS_EXIT)
            agents_exit_stored(w, message);
        if (!vec_push(&w->journal, message))
            abort();
        return true;
    }
    if (message->kind == PERSON_ACTS) {
        people_act(w);
        return false;
    }
    return !agents_deliver(w, message);
}

static void advance(struct world *w)
{
    struct tree_node *first = tree_first(&w->queue);
    struct message *message = CONTAINER_OF(first, struct message, node);
    int64_t deadline = core_next_deadline_us(w->core);
    bool is_tick;

    if (deadline != INT64_MAX)
        deadline = MAX(w->now_us, deadline - w->skew_us);
    if (!first && deadline == INT64_MAX) {
        world_fail(w, "nothing will ever happen again");
        return;
    }
    if (!first || deadline <= message->at_us) {
        w->now_us = deadline;
        world_send(w, SAYS_TICK, 0, 0);
        message = CONTAINER_OF(tree_first(&w->queue), struct message, node);
    }
    w->now_us = MAX(w->now_us, message->at_us);
    is_tick = message->kind == SAYS_TICK; /* the deadline must pass before time does */
    tree_remove(&w->queue, &message->node);
    if (!deliver(w, message))
        message_free(message);
    if (world_mishap(w, 1) && !world_below(w, 5))
        world_set_clock(w, ((int64_t)world_below(w, 7200) - 3600) * SECOND);
    while (has_work(w) && !w->why[0] && (is_tick || world_below(w, 3)))
        batch(w);
}

/* Users are done: their messages that did not arrive are dropped. */
static void send_home(struct world *w)
{
    struct tree_node *next;

    for (size_t i = w->inbox.count; i-- > 0;) {
        if (w->inbox.at[i]->kind != SAYS_USER &&
            w->inbox.at[i]->kind != SAYS_LOG_POLICY)
            continue;
        message_free(w->inbox.at[i]);
        vec_remove(&w->inbox, i);
    }
    for (struct tree_node *at = tree_first(&w->queue); at; at = next) {
        struct message *message = CONTAINER_OF(at, struct message, node);

        next = tree_next(at);
        /* Later log lines of a task could exclude agents that it needs. */
        if (message->kind != SAYS_USER && message->kind != SAYS_LOG_POLICY)
            continue;
        tree_remove(&w->queue, at);
        message_free(message);
    }
}

/* ---- one life -------------------------------------------------------------------- */

static void begin(struct world *w, uint64_t seed, bool traces)
{
    struct err err = {0};

    *w = (struct world){.rng.state = seed * 0x9e3779b97f4a7c15u + 1, .traces = traces};
    w->now_us = start_us;
    w->queue = (struct tree)TREE_INIT(compare_messages);
    w->mem = (struct arena)ARENA_INIT(MEM_BYTES);
    w->twin_mem = (struct arena)ARENA_INIT(MEM_BYTES);
    sim_store_init(&w->store);
    clear_out(w);
    for (size_t i = 0; i < ARRAY_LEN(w->pool); i++) {
        struct core_pool *pool = &w->pool[i];

        *pool = (struct core_pool){.name = i ? "aux" : "compute",
                                   .config.policy = "priority",
                                   .default_priority = 42,
                                   .agent_reconnect_wait_us = 25 * (int64_t)SECOND};
        if (!world_below(w, 3))
            pool->config.policy = "fair_share";
        pool->config.is_preemptive = world_below(w, 2);
        pool->config.fits_worst = world_below(w, 2);
        pool->config.allows_heterogeneous_fits = world_below(w, 2);
        pool->config.max_aux_per_agent = 1 + (uint32_t)world_below(w, 4);
    }
    w->config = (struct core_config){
        .pool = w->pool,
        .pool_count = ARRAY_LEN(w->pool),
        .default_compute_pool = "compute",
        .default_aux_pool = "aux",
        .preemption_timeout_us = 60 * (int64_t)SECOND,
        .entropy = seed,
    };
    w->config.refuses_unfittable = world_below(w, 2);
    w->config.snapshot_every = 1 + (uint32_t)world_below(w, 20);
    if (core_new(&w->config, &w->core, &err))
        world_fail(w, "no heart: %s", err.text);
    agents_init(w);
    people_init(w);
}

static void end(struct world *w)
{
    struct tree_node *first;

    core_free(w->core);
    core_free(w->twin);
    arena_done(&w->twin_mem);
    clear_out(w);
    vec_done(&w->spent);
    agents_done(w);
    sim_store_done(&w->store);
    while ((first = tree_first(&w->queue))) {
        tree_remove(&w->queue, first);
        message_free(CONTAINER_OF(first, struct message, node));
    }
    for (size_t i = 0; i < w->inbox.count; i++)
        message_free(w->inbox.at[i]);
    for (size_t i = 0; i < w->journal.count; i++)
        message_free(w->journal.at[i]);
    vec_done(&w->inbox);
    vec_done(&w->journal);
    vec_done(&w->max_restarts);
    arena_done(&w->mem);
}

static bool is_at_rest(const struct world *w)
{
    const struct experiment *row;
    const struct job *job;

    for (size_t i = 0; (row = map_next(&w->store.experiments.rows, &i));)
        if (!experiment_is_terminal(row->state))
            return false;
    for (size_t i = 0; (job = map_next(&w->store.jobs.rows, &i));)
        if (!job_is_terminal(job->state))
            return false;
    return !has_work(w);
}

static void show(const struct world *w)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    if (w->core)
        core_dump(w->core, &text);
    printf("%s", text.data);
}

bool world_run(uint64_t seed, bool traces, struct world_result *ret_result)
{
    enum { HOURS_MOST = 6 }; /* the wall clock may be wrong by two of them */
    struct world *w = mem_new(struct world);
    int64_t calm_us;

    if (!w)
        abort();
    begin(w, seed, traces);
    while (!w->why[0] && w->actions_left)
        advance(w);
    send_home(w);
    if (!w->why[0])
        people_calm(w);
    calm_us = w->now_us;
    while (!w->why[0] && !is_at_rest(w) &&
           w->now_us < calm_us + HOURS_MOST * 3600 * (int64_t)SECOND)
        advance(w);
    if (!w->why[0])
        people_check_rest(w);
    if (w->why[0] && w->traces)
        show(w);

    ret_result->events = w->events;
    ret_result->crashes = w->crashes;
    ret_result->lived_us = w->now_us - start_us;
    memcpy(ret_result->why, w->why, sizeof(w->why));
    end(w);
    mem_free(w);
    return !ret_result->why[0];
}
