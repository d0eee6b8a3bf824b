/* SPDX-License-Identifier: Apache-2.0 */
/* exec_threads.c - a thread for each unit of a lane's width, and one for due times.
 *
 * One mutex guards all books (exec_impl.h); it is held for a few instructions at a
 * time, so that one suffices for hundreds of thousands of posts a second.  What costs
 * is waking a thread, a system call; a post therefore wakes only when a thread of its
 * lane sleeps, and takes it off the count of sleepers itself, so that the posts that
 * come before it is really awake do not wake again.
 *
 *   sleepers   may count a thread that woke by itself: one wake in vain.  Never too
 *              few: it sinks only together with a signal.
 *
 * A thread touches a task no more once its run() has begun. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "base/exec_impl.h"
#include "base/mem.h"

/* Memory counts where many lanes sleep; tasks keep big arrays in arenas. */
enum { STACK_BYTES = 256 * 1024 };

struct threads {
    struct exec exec;
    pthread_mutex_t mutex;
    pthread_cond_t timer_wake; /* the first due time has changed, or it is over */
    pthread_t timer;
    bool is_stopping;
};

struct threads_lane {
    struct lane lane;
    pthread_cond_t wake;
    uint32_t sleepers;
    uint32_t started; /* threads to join */
    bool is_stopping; /* this lane alone, when it could not be made whole */
    pthread_t thread[];
};

struct threads_gate {
    struct gate gate;
    pthread_cond_t opened;
};

static struct threads *threads_of(struct exec *exec)
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

/* On the clock that does not jump. */
static void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

/* Returns an errno value.  The thread inherits the blocked signals, so that they all
 * go to the thread that main() chose for them. */
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
    /* A name that cannot be set is no reason to fail. */
    if (!code)
        pthread_setname_np(*thread, name);
    return code;
}

/* Until `due_us` on the executor's clock, which need not be the kernel's: the time
 * left is what counts.  INT64_MAX: until woken. */
static void wait_until(struct threads *threads, pthread_cond_t *cond, int64_t due_us)
{
    int64_t left_us;
    struct timespec until;

    if (due_us == INT64_MAX) {
        pthread_cond_wait(cond, &threads->mutex);
        return;
    }
    /* A time in the past waits for nothing, and comes back to be looked at again. */
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

/* The next task of the lane, once there is one; NULL when it is over. */
static struct task *next_task(struct threads *threads, struct threads_lane *lane)
{
    struct task *task = NULL;

    pthread_mutex_lock(&threads->mutex);
    /* Asked before the queue is: once it is over, no further task starts. */
    while (!threads->is_stopping && !lane->is_stopping) {
        task = lane_take(&lane->lane, 0);
        if (task)
            break;
        lane->sleepers++;
        pthread_cond_wait(&lane->wake, &threads->mutex);
    }
    pthread_mutex_unlock(&threads->mutex);
    return task;
}

static void *lane_main(void *arg)
{
    struct threads_lane *lane = arg;
    struct threads *threads = threads_of(lane->lane.exec);
    struct task *task;

    while ((task = next_task(threads, lane)) != NULL)
        task->run(task);
    return NULL;
}

/* Says whether somebody must be woken; the caller does so after it has let the lock
 * go, lest the woken thread wait for it. */
static bool queue_locked(struct lane *lane, struct task *task)
{
    struct threads_lane *to = lane_of(lane);

    if (!lane_queue(lane, task) || to->sleepers == 0)
        return false;
    to->sleepers--;
    return true;
}

/* One due task a round, so that the lock is never held for long; it moves to its lane
 * under the lock, so that lane_cancel() finds it in one place or the other. */
static void *timer_main(void *arg)
{
    struct threads *threads = arg;
    struct exec *exec = &threads->exec;

    pthread_mutex_lock(&threads->mutex);
    while (!threads->is_stopping) {
        struct task *task = NULL;
        int64_t due_us = exec_next_due_us(exec);

        if (due_us != INT64_MAX)
            task = exec_take_due(exec, clock_mono_us(exec->clock));
        if (!task)
            wait_until(threads, &threads->timer_wake, due_us);
        else if (queue_locked(task->lane, task))
            pthread_cond_signal(&lane_of(task->lane)->wake);
    }
    pthread_mutex_unlock(&threads->mutex);
    return NULL;
}

/* ---- tasks ---- */

static void threads_post(struct lane *lane, struct task *task)
{
    struct threads *threads = threads_of(lane->exec);
    bool must_wake;

    pthread_mutex_lock(&threads->mutex);
    must_wake = queue_locked(lane, task);
    pthread_mutex_unlock(&threads->mutex);
    if (must_wake)
        pthread_cond_signal(&lane_of(lane)->wake);
}

static void threads_post_at(struct lane *lane, struct task *task, int64_t due_us)
{
    struct threads *threads = threads_of(lane->exec);
    int64_t first_us;
    bool must_wake;

    pthread_mutex_lock(&threads->mutex);
    /* The timer sleeps until the first time; only an earlier one concerns it.  When the
     * first one moves back it wakes once for nothing. */
    first_us = exec_next_due_us(lane->exec);
    must_wake = lane_queue_at(lane, task, due_us) && due_us < first_us;
    pthread_mutex_unlock(&threads->mutex);
    if (must_wake)
        pthread_cond_signal(&threads->timer_wake);
}

/* By the task's own lane: it may have been timed for another than the caller thinks. */
static bool threads_cancel(struct lane *lane, struct task *task)
{
    struct threads *threads = threads_of(lane->exec);
    bool was_waiting;

    pthread_mutex_lock(&threads->mutex);
    was_waiting = task_withdraw(task);
    pthread_mutex_unlock(&threads->mutex);
    return was_waiting;
}

/* ---- lanes ---- */

static void lane_join_and_free(struct threads_lane *lane)
{
    for (uint32_t i = 0; i < lane->started; i++)
        pthread_join(lane->thread[i], NULL);
    pthread_cond_destroy(&lane->wake);
    mem_free(lane);
}

/* Nobody knows the lane yet, so that its threads are idle and leave at once. */
static void lane_abandon(struct threads *threads, struct threads_lane *lane)
{
    pthread_mutex_lock(&threads->mutex);
    lane->is_stopping = true;
    pthread_cond_broadcast(&lane->wake);
    pthread_mutex_unlock(&threads->mutex);
    lane_join_and_free(lane);
}

static det_status threads_lane_new(struct exec *exec, const char *name, uint32_t width,
                                   struct lane **ret_lane, struct err *err)
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
    /* Last, so that exec_free() never meets a lane that is half made. */
    pthread_mutex_lock(&threads->mutex);
    lane_link(&lane->lane);
    pthread_mutex_unlock(&threads->mutex);
    *ret_lane = &lane->lane;
    return DET_OK;
}

/* ---- gates ---- */

static det_status threads_gate_new(struct exec *exec, struct gate **ret_gate,
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

/* All under the lock: whoever waits frees the gate as soon as it can take it. */
static void threads_gate_open(struct gate *gate)
{
    struct threads *threads = threads_of(gate->exec);

    pthread_mutex_lock(&threads->mutex);
    gate->is_open = true;
    pthread_cond_broadcast(&gate_of(gate)->opened);
    pthread_mutex_unlock(&threads->mutex);
}

/* The clock is asked again after every wake: it may be one that a test has stopped. */
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

/* ---- the whole ---- */

static void threads_free(struct exec *exec)
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
    /* First all threads, then the lanes: a task that still runs may post anywhere. */
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

static const struct exec_ops threads_ops = {
    .free = threads_free,
    .lane_new = threads_lane_new,
    .post = threads_post,
    .post_at = threads_post_at,
    .cancel = threads_cancel,
    .gate_new = threads_gate_new,
    .gate_free = threads_gate_free,
    .gate_open = threads_gate_open,
    .gate_wait = threads_gate_wait,
};

uint32_t task_cores(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set))
        return 1;
    return (uint32_t)MAX(CPU_COUNT(&set), 1);
}

det_status exec_threads_new(const struct clock *clock, struct exec **ret_exec,
                            struct err *err)
{
    struct threads *threads = mem_new(struct threads);
    int code;

    if (!threads)
        return err_default(err, DET_NOMEM);
    exec_init(&threads->exec, &threads_ops, clock);
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
