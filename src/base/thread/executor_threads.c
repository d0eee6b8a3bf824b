/* SPDX-License-Identifier: Apache-2.0 */
/* executor_threads.c - a thread for each unit of a lane's width, and one for due times.
 *
 * One mutex guards all queues and due times (executor_impl.h).  It is held for a few
 * instructions at a time, so one mutex serves hundreds of thousands of posts per
 * second.  The expensive part is waking a thread, a system call.  A post therefore
 * wakes a thread only when one of its lane sleeps, and lowers the count of sleepers
 * itself: posts that come before the thread is really awake do not wake it again.
 *
 *   sleepers   may count a thread that woke by itself: one needless wake.  Never too
 *              low: it sinks only together with a signal.
 *
 * Each item is measured: how long it waited (since its post, or since it was due) and how
 * long it ran.  A thread with more to do reads the clock once per item, a post once.
 *
 * A thread does not touch a work item any more once its run() has begun. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "base/memory/mem.h"
#include "base/thread/executor_impl.h"

/* Many lanes sleep most of the time, so their memory matters; work items keep big
 * arrays in arenas. */
enum { STACK_BYTES = 256 * 1024 };

struct threads {
    struct executor exec;
    pthread_mutex_t mutex;
    pthread_cond_t timer_wake; /* the first due time has changed, or we stop */
    pthread_t timer;
    bool is_stopping;
};

struct threads_lane {
    struct lane lane;
    pthread_cond_t wake;
    uint32_t sleepers;
    uint32_t started; /* threads to join */
    bool is_stopping; /* for this lane only, when it could not be completed */
    pthread_t thread[];
};

struct threads_gate {
    struct gate gate;
    pthread_cond_t opened;
};

static struct threads *threads_of(struct executor *exec)
{
    return CONTAINER_OF(exec, struct threads, exec);
}

static struct threads_lane *lane_of(struct lane *lane)
{
    return CONTAINER_OF(lane, struct threads_lane, lane);
}

static struct threads_gate *gate_of(struct gate *gate)
{
    return CONTAINER_OF(gate, struct threads_gate, gate);
}

/* ---- threads ---- */

/* On the monotonic clock. */
static void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

/* Returns an errno value.  The thread inherits the blocked signals: all signals go to
 * the thread that main() chose for them. */
static int start_thread(pthread_t *thread, const char *name, void *(*run)(void *),
                        void *arg)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t before;
    int code = pthread_attr_init(&attr);

    if (code)
        return code;
    sigfillset(&all);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(thread, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    /* A thread works without its name. */
    if (!code)
        pthread_setname_np(*thread, name);
    return code;
}

/* Until `due_us` on the executor's clock, which may differ from the kernel's: only the
 * time left counts.  INT64_MAX: until woken. */
static void wait_until(struct threads *threads, pthread_cond_t *cond, int64_t due_us)
{
    int64_t left_us;
    struct timespec until;

    if (due_us == INT64_MAX) {
        pthread_cond_wait(cond, &threads->mutex);
        return;
    }
    /* A time in the past does not wait; the caller looks at it again. */
    left_us = MAX(due_us - clock_mono_us(threads->exec.clock), 0);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += left_us / 1000000;
    until.tv_nsec += left_us % 1000000 * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(cond, &threads->mutex, &until);
}

/* No group: nothing ran yet. */
enum { NO_GROUP = LANE_GROUPS };

/* What a thread knows of the item it runs. */
struct running {
    uint32_t group;
    int64_t since_us; /* when it was queued */
    bool has_slept;   /* before it: the clock must be read again */
};

/* Ends the item that ran and waits for the next one of the lane; NULL when the executor or
 * the lane stops. */
static struct work *next_work(struct threads *threads, struct threads_lane *lane,
                              struct running *at)
{
    struct work *work = NULL;

    pthread_mutex_lock(&threads->mutex);
    if (at->group != NO_GROUP)
        lane_ran(&lane->lane, at->group);
    at->has_slept = at->group == NO_GROUP;
    /* Checked before the queue: once we stop, no further work item starts. */
    while (!threads->is_stopping && !lane->is_stopping) {
        work = lane_take(&lane->lane, 0, &at->group);
        if (work)
            break;
        lane->sleepers++;
        at->has_slept = true;
        pthread_cond_wait(&lane->wake, &threads->mutex);
    }
    if (work)
        at->since_us = work->due_us;
    pthread_mutex_unlock(&threads->mutex);
    return work;
}

static void *lane_main(void *arg)
{
    struct threads_lane *lane = arg;
    struct threads *threads = threads_of(lane->lane.exec);
    const struct clock *clock = threads->exec.clock;
    struct running at = {.group = NO_GROUP};
    int64_t now_us = 0;
    struct work *work;

    while ((work = next_work(threads, lane, &at)) != NULL) {
        int64_t begin_us = at.has_slept ? clock_mono_us(clock) : now_us;

        histogram_add(&lane->lane.wait, &histogram_latency_us, begin_us - at.since_us);
        work->run(work);
        now_us = clock_mono_us(clock);
        atomic_fetch_add_explicit(&lane->lane.busy_us,
                                  (uint64_t)MAX(now_us - begin_us, 0),
                                  memory_order_relaxed);
    }
    return NULL;
}

/* Returns whether a thread must be woken.  The caller wakes it after it has released
 * the lock; otherwise the woken thread would wait for the lock. */
static bool queue_locked(struct lane *lane, struct work *work, int64_t since_us)
{
    struct threads_lane *to = lane_of(lane);

    if (!lane_queue(lane, work))
        return false;
    work->due_us = since_us;
    if (to->sleepers == 0)
        return false;
    to->sleepers--;
    return true;
}

/* One due item per round: the lock is never held for long.  The work item moves to its
 * lane under the lock: lane_cancel() finds it in one place or the other. */
static void *timer_main(void *arg)
{
    struct threads *threads = arg;
    struct executor *exec = &threads->exec;

    pthread_mutex_lock(&threads->mutex);
    while (!threads->is_stopping) {
        struct work *work = NULL;
        int64_t due_us = executor_next_due_us(exec);

        if (due_us != INT64_MAX)
            work = executor_take_due(exec, clock_mono_us(exec->clock));
        if (!work)
            wait_until(threads, &threads->timer_wake, due_us);
        else if (queue_locked(work->lane, work, due_us))
            pthread_cond_signal(&lane_of(work->lane)->wake);
    }
    pthread_mutex_unlock(&threads->mutex);
    return NULL;
}

/* ---- tasks ---- */

/* Its threads look at the lane already. */
static void threads_take_turns(struct lane *lane, uint32_t most)
{
    struct threads *threads = threads_of(lane->exec);

    pthread_mutex_lock(&threads->mutex);
    lane_set_turns(lane, most);
    pthread_mutex_unlock(&threads->mutex);
}

static void threads_post(struct lane *lane, struct work *work)
{
    struct threads *threads = threads_of(lane->exec);
    int64_t now_us = clock_mono_us(threads->exec.clock);
    bool must_wake;

    pthread_mutex_lock(&threads->mutex);
    must_wake = queue_locked(lane, work, now_us);
    pthread_mutex_unlock(&threads->mutex);
    if (must_wake)
        pthread_cond_signal(&lane_of(lane)->wake);
}

static void threads_post_at(struct lane *lane, struct work *work, int64_t due_us)
{
    struct threads *threads = threads_of(lane->exec);
    int64_t first_us;
    bool must_wake;

    pthread_mutex_lock(&threads->mutex);
    /* The timer sleeps until the first due time; only an earlier one must wake it.
     * When the first one moves back it wakes once in vain. */
    first_us = executor_next_due_us(lane->exec);
    must_wake = lane_queue_at(lane, work, due_us) && due_us < first_us;
    pthread_mutex_unlock(&threads->mutex);
    if (must_wake)
        pthread_cond_signal(&threads->timer_wake);
}

/* By the work item's own lane: it may have been timed for another one than the
 * caller's. */
static bool threads_cancel(struct lane *lane, struct work *work)
{
    struct threads *threads = threads_of(lane->exec);
    bool was_waiting;

    pthread_mutex_lock(&threads->mutex);
    was_waiting = work_withdraw(work);
    pthread_mutex_unlock(&threads->mutex);
    return was_waiting;
}

static uint32_t threads_look(struct executor *exec, struct lane_state *states,
                             uint32_t most)
{
    struct threads *threads = threads_of(exec);
    uint32_t count;

    pthread_mutex_lock(&threads->mutex);
    count = executor_lane_states(exec, states, most);
    pthread_mutex_unlock(&threads->mutex);
    return count;
}

/* ---- lanes ---- */

static void lane_join_and_free(struct threads_lane *lane)
{
    for (uint32_t i = 0; i < lane->started; i++)
        pthread_join(lane->thread[i], NULL);
    pthread_cond_destroy(&lane->wake);
    mem_free(lane);
}

/* Nobody else knows the lane yet: its threads are idle and leave at once. */
static void lane_abandon(struct threads *threads, struct threads_lane *lane)
{
    pthread_mutex_lock(&threads->mutex);
    lane->is_stopping = true;
    pthread_cond_broadcast(&lane->wake);
    pthread_mutex_unlock(&threads->mutex);
    lane_join_and_free(lane);
}

static det_status threads_lane_new(struct executor *exec, const char *name,
                                   uint32_t width, struct lane **ret_lane,
                                   struct err *err)
{
    struct threads *threads = threads_of(exec);
    size_t count = MAX(width, 1u);
    struct threads_lane *lane = mem_alloc(sizeof(*lane) + count * sizeof(pthread_t));

    if (!lane)
        return err_default(err, DET_NOMEM);
    lane_init(&lane->lane, exec, name, width);
    cond_init(&lane->wake);
    while (lane->started < lane->lane.width) {
        int code = start_thread(&lane->thread[lane->started], lane->lane.name,
                                lane_main, lane);

        if (code) {
            lane_abandon(threads, lane);
            return err_errno(err, code, "cannot start a thread for '%s'", name);
        }
        lane->started++;
    }
    /* Last: executor_free() never meets a half-made lane. */
    pthread_mutex_lock(&threads->mutex);
    lane_link(&lane->lane);
    pthread_mutex_unlock(&threads->mutex);
    *ret_lane = &lane->lane;
    return DET_OK;
}

/* ---- gates ---- */

static det_status threads_gate_new(struct executor *exec, struct gate **ret_gate,
                                   struct err *err)
{
    struct threads_gate *gate = mem_new(struct threads_gate);

    if (!gate)
        return err_default(err, DET_NOMEM);
    gate->gate.exec = exec;
    cond_init(&gate->opened);
    *ret_gate = &gate->gate;
    return DET_OK;
}

static void threads_gate_free(struct gate *gate)
{
    pthread_cond_destroy(&gate_of(gate)->opened);
    mem_free(gate_of(gate));
}

/* All under the lock: the waiting thread may free the gate as soon as it has the
 * lock. */
static void threads_gate_open(struct gate *gate)
{
    struct threads *threads = threads_of(gate->exec);

    pthread_mutex_lock(&threads->mutex);
    gate->is_open = true;
    pthread_cond_broadcast(&gate_of(gate)->opened);
    pthread_mutex_unlock(&threads->mutex);
}

/* The clock is read again after every wake: a test may have stopped it. */
static bool threads_gate_wait(struct gate *gate, int64_t deadline_us)
{
    struct threads *threads = threads_of(gate->exec);
    const struct clock *clock = gate->exec->clock;
    int64_t until_us = deadline_us ? deadline_us : INT64_MAX;
    bool is_open;

    pthread_mutex_lock(&threads->mutex);
    while (!gate->is_open && (!deadline_us || clock_mono_us(clock) < deadline_us))
        wait_until(threads, &gate_of(gate)->opened, until_us);
    is_open = gate->is_open;
    pthread_mutex_unlock(&threads->mutex);
    return is_open;
}

/* ---- executor ---- */

static void threads_free(struct executor *exec)
{
    struct threads *threads = threads_of(exec);
    struct lane *next;

    pthread_mutex_lock(&threads->mutex);
    threads->is_stopping = true;
    pthread_cond_broadcast(&threads->timer_wake);
    for (struct lane *lane = exec->lanes; lane; lane = lane->next)
        pthread_cond_broadcast(&lane_of(lane)->wake);
    pthread_mutex_unlock(&threads->mutex);

    pthread_join(threads->timer, NULL);
    /* First all threads, then the lanes: a running work item may still post to any
     * lane. */
    for (struct lane *lane = exec->lanes; lane; lane = lane->next) {
        for (uint32_t i = 0; i < lane_of(lane)->started; i++)
            pthread_join(lane_of(lane)->thread[i], NULL);
        lane_of(lane)->started = 0;
    }
    for (struct lane *lane = exec->lanes; lane; lane = next) {
        next = lane->next;
        lane_join_and_free(lane_of(lane));
    }
    pthread_cond_destroy(&threads->timer_wake);
    pthread_mutex_destroy(&threads->mutex);
    mem_free(threads);
}

static const struct executor_ops threads_ops = {
    .free = threads_free,
    .lane_new = threads_lane_new,
    .take_turns = threads_take_turns,
    .post = threads_post,
    .post_at = threads_post_at,
    .cancel = threads_cancel,
    .look = threads_look,
    .gate_new = threads_gate_new,
    .gate_free = threads_gate_free,
    .gate_open = threads_gate_open,
    .gate_wait = threads_gate_wait,
};

uint32_t executor_cores(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set))
        return 1;
    return (uint32_t)MAX(CPU_COUNT(&set), 1);
}

det_status executor_threads_new(const struct clock *clock, struct executor **ret_exec,
                                struct err *err)
{
    struct threads *threads = mem_new(struct threads);
    int code;

    if (!threads)
        return err_default(err, DET_NOMEM);
    executor_init(&threads->exec, &threads_ops, clock);
    pthread_mutex_init(&threads->mutex, NULL);
    cond_init(&threads->timer_wake);
    /* Started here and not at the first due time: posting must not fail. */
    code = start_thread(&threads->timer, "timer", timer_main, threads);
    if (code) {
        pthread_cond_destroy(&threads->timer_wake);
        pthread_mutex_destroy(&threads->mutex);
        mem_free(threads);
        return err_errno(err, code, "cannot start a thread for due times");
    }
    *ret_exec = &threads->exec;
    return DET_OK;
}
