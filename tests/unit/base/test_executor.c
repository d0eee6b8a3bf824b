/* SPDX-License-Identifier: Apache-2.0 */
/* The same sentences on both executors, then what only one of them promises. */
#include "base/thread/executor.h"
#include "base/thread/lock.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/mem.h"
#include "base/rng.h"
#include "tests/support/test.h"

typedef void body_fn(struct executor *exec);

/* The machine's clock, which a test may stop while it posts, so that nothing becomes
 * due meanwhile, however slow the machine. */
struct stoppable {
    struct clock clock;
    _Atomic int64_t stopped_us; /* 0: it goes */
};

static int64_t stoppable_us(const struct clock *clock)
{
    int64_t stopped_us =
        atomic_load(&CONTAINER_OF(clock, struct stoppable, clock)->stopped_us);

    return stopped_us ? stopped_us : clock_mono_us(&clock_system);
}

static void stop_time(struct executor *exec, bool is_stopped)
{
    struct stoppable *clock =
        CONTAINER_OF(executor_clock(exec), struct stoppable, clock);

    /* The twin's clock stands still anyway. */
    if (!executor_is_single(exec))
        atomic_store(&clock->stopped_us, is_stopped ? clock_mono_us(&clock_system) : 0);
}

static void on_threads(body_fn *body)
{
    struct stoppable clock = {{stoppable_us, stoppable_us}, 0};
    struct executor *exec;

    CHECK_OK(executor_threads_new(&clock.clock, &exec, &test_err));
    body(exec);
    executor_free(exec);
}

static void on_one_thread(body_fn *body)
{
    struct clock_manual clock;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct executor *exec;

        clock_manual_init(&clock, 1000);
        CHECK_OK(executor_single_new(&clock, seed, &exec, &test_err));
        body(exec);
        executor_free(exec);
    }
}

#define ON_BOTH(name)                                                                  \
    static void name(struct executor *exec);                                           \
    TEST(name##_on_threads)                                                            \
    {                                                                                  \
        on_threads(name);                                                              \
    }                                                                                  \
    TEST(name##_on_one_thread)                                                         \
    {                                                                                  \
        on_one_thread(name);                                                           \
    }                                                                                  \
    static void name(struct executor *exec)

static struct lane *new_lane(struct executor *exec, const char *name, uint32_t width)
{
    struct lane *lane;

    CHECK_OK(lane_new(exec, name, width, &lane, &test_err));
    return lane;
}

static struct gate *new_gate(struct executor *exec)
{
    struct gate *gate;

    CHECK_OK(gate_new(exec, &gate, &test_err));
    return gate;
}

/* A task that notes its number, and opens a gate when it is the last. */
struct notes {
    atomic_int count;
    int number[1000];
    int last;
    struct gate *gate;
};

struct noter {
    struct work task;
    struct notes *notes;
    int number;
};

static void note(struct work *task)
{
    struct noter *noter = CONTAINER_OF(task, struct noter, task);
    struct notes *notes = noter->notes;
    int at = atomic_fetch_add(&notes->count, 1);

    notes->number[at] = noter->number;
    if (at + 1 == notes->last)
        gate_open(notes->gate);
}

static struct noter *new_noters(struct notes *notes, int count)
{
    struct noter *noters = mem_array((size_t)count, sizeof(*noters));

    for (int i = 0; i < count; i++)
        noters[i] = (struct noter){WORK_INIT(note), notes, i};
    return noters;
}

ON_BOTH(a_lane_of_width_one_runs_its_tasks_in_order)
{
    struct notes notes = {.last = 1000, .gate = new_gate(exec)};
    struct lane *lane = new_lane(exec, "heart", 1);
    struct noter *noters = new_noters(&notes, 1000);

    for (int i = 0; i < 1000; i++)
        lane_post(lane, &noters[i].task);
    CHECK(gate_wait(notes.gate, 0));
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(notes.number[i], i);
    gate_free(notes.gate);
    mem_free(noters);
}

/* A task that counts its runs. */
struct counter {
    struct work task;
    atomic_int runs;
    atomic_int *missing;
    struct gate *gate;
};

static void count_run(struct work *task)
{
    struct counter *counter = CONTAINER_OF(task, struct counter, task);
    struct gate *gate = counter->gate;

    atomic_fetch_add(&counter->runs, 1);
    if (atomic_fetch_sub(counter->missing, 1) == 1)
        gate_open(gate);
}

ON_BOTH(a_wide_lane_runs_every_task_once)
{
    struct gate *gate = new_gate(exec);
    struct lane *lane = new_lane(exec, "workers", 4);
    struct counter *counters = mem_array(1000, sizeof(*counters));
    atomic_int missing = 1000;

    for (int i = 0; i < 1000; i++) {
        counters[i] = (struct counter){WORK_INIT(count_run), 0, &missing, gate};
        lane_post(lane, &counters[i].task);
    }
    CHECK(gate_wait(gate, 0));
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(counters[i].runs, 1);
    gate_free(gate);
    mem_free(counters);
}

/* A task that waits for a gate, and one that opens it. */
struct door {
    struct work task;
    struct gate *gate;
    atomic_int *entered;
    struct gate *all_entered;
};

static void wait_at_door(struct work *task)
{
    struct door *door = CONTAINER_OF(task, struct door, task);

    CHECK(gate_wait(door->gate, 0));
    if (door->entered && atomic_fetch_sub(door->entered, 1) == 1)
        gate_open(door->all_entered);
}

static void open_door(struct work *task)
{
    gate_open(CONTAINER_OF(task, struct door, task)->gate);
}

ON_BOTH(groups_of_a_lane_take_turns)
{
    static const uint32_t turns[] = {1, 1, 1, 1, 1, 1, 2, 3};
    static const int order[] = {0, 6, 7, 1, 2, 3, 4, 5};
    struct notes notes = {.last = 8, .gate = new_gate(exec)};
    struct lane *lane = new_lane(exec, "workers", 1);
    struct noter *noters = new_noters(&notes, 8);
    struct door first = {WORK_INIT(wait_at_door), new_gate(exec), NULL, NULL};

    lane_take_turns(lane, 1);
    first.task.turn = LANE_GROUPS - 1;
    lane_post(lane, &first.task); /* nothing else runs until all are queued */
    for (int i = 0; i < 8; i++) {
        noters[i].task.turn = turns[i];
        lane_post(lane, &noters[i].task);
    }
    gate_open(first.gate);
    CHECK(gate_wait(notes.gate, 0));
    for (int i = 0; i < 8; i++)
        CHECK_EQ(notes.number[i], order[i]);
    gate_free(first.gate);
    gate_free(notes.gate);
    mem_free(noters);
}

/* Without the limit the first group would occupy all three threads for ever. */
ON_BOTH(a_group_does_not_occupy_a_whole_lane)
{
    struct gate *gate = new_gate(exec);
    struct gate *all_entered = new_gate(exec);
    struct lane *lane = new_lane(exec, "workers", 3);
    atomic_int entered = 5;
    struct door waiting[5];
    struct door opening = {WORK_INIT(open_door), gate, NULL, NULL};

    lane_take_turns(lane, 2);
    for (int i = 0; i < 5; i++) {
        waiting[i] =
            (struct door){WORK_INIT(wait_at_door), gate, &entered, all_entered};
        waiting[i].task.turn = 1;
        lane_post(lane, &waiting[i].task);
    }
    opening.task.turn = 2;
    /* later, when the others could have occupied the lane */
    lane_post_at(lane, &opening.task, clock_mono_us(executor_clock(exec)) + 1000);
    CHECK(gate_wait(all_entered, 0));
    gate_free(gate);
    gate_free(all_entered);
}

ON_BOTH(a_queued_task_of_a_group_can_be_cancelled)
{
    struct notes notes = {.last = 3, .gate = new_gate(exec)};
    struct lane *lane = new_lane(exec, "workers", 1);
    struct noter *noters = new_noters(&notes, 4);
    struct door first = {WORK_INIT(wait_at_door), new_gate(exec), NULL, NULL};

    lane_take_turns(lane, 1);
    lane_post(lane, &first.task);
    for (int i = 0; i < 4; i++) {
        noters[i].task.turn = 9 + (i == 3 ? LANE_GROUPS : 0); /* the same group */
        lane_post(lane, &noters[i].task);
    }
    CHECK(lane_cancel(lane, &noters[2].task));
    gate_open(first.gate);
    CHECK(gate_wait(notes.gate, 0));
    CHECK_EQ(notes.number[0], 0);
    CHECK_EQ(notes.number[1], 1);
    CHECK_EQ(notes.number[2], 3);
    gate_free(first.gate);
    gate_free(notes.gate);
    mem_free(noters);
}

ON_BOTH(due_tasks_run_in_the_order_of_their_due_times)
{
    static const int64_t after_us[] = {3000, 1000, 5000, 1000, 2000};
    static const int order[] = {1, 3, 4, 0, 2};
    struct notes notes = {.last = 5, .gate = new_gate(exec)};
    struct lane *lane = new_lane(exec, "heart", 1);
    struct noter *noters = new_noters(&notes, 5);
    int64_t now_us;

    stop_time(exec, true);
    now_us = clock_mono_us(executor_clock(exec));
    for (int i = 0; i < 5; i++)
        lane_post_at(lane, &noters[i].task, now_us + after_us[i]);
    stop_time(exec, false);
    CHECK(gate_wait(notes.gate, 0));
    CHECK(clock_mono_us(executor_clock(exec)) >= now_us + 5000);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(notes.number[i], order[i]);
    gate_free(notes.gate);
    mem_free(noters);
}

ON_BOTH(a_due_time_can_be_moved_and_brought_forward_to_now)
{
    struct notes notes = {.last = 3, .gate = new_gate(exec)};
    struct lane *lane = new_lane(exec, "heart", 1);
    struct noter *noters = new_noters(&notes, 3);
    int64_t now_us;
    int64_t never_us;

    stop_time(exec, true);
    now_us = clock_mono_us(executor_clock(exec));
    never_us = now_us + INT64_C(1000000) * 3600 * 24;
    lane_post_at(lane, &noters[0].task, never_us);
    lane_post_at(lane, &noters[1].task, never_us);
    lane_post_at(lane, &noters[2].task, now_us + 4000);
    lane_post_at(lane, &noters[0].task, now_us + 2000);
    lane_post(lane, &noters[1].task);
    stop_time(exec, false);
    CHECK(gate_wait(notes.gate, 0));
    CHECK(clock_mono_us(executor_clock(exec)) < never_us);
    CHECK_EQ(notes.number[0], 1);
    CHECK_EQ(notes.number[1], 0);
    CHECK_EQ(notes.number[2], 2);
    gate_free(notes.gate);
    mem_free(noters);
}

ON_BOTH(a_time_that_has_passed_is_now)
{
    struct notes notes = {.last = 1, .gate = new_gate(exec)};
    struct lane *lane = new_lane(exec, "heart", 1);
    struct noter *noters = new_noters(&notes, 1);

    lane_post_at(lane, &noters[0].task, -5);
    CHECK(gate_wait(notes.gate, 0));
    gate_free(notes.gate);
    mem_free(noters);
}

/* Keeps a lane busy until the test has done what it wants behind it. */
struct blocker {
    struct work task;
    struct gate *begun;
    struct gate *may_end;
};

static void block(struct work *task)
{
    struct blocker *blocker = CONTAINER_OF(task, struct blocker, task);

    gate_open(blocker->begun);
    gate_wait(blocker->may_end, 0);
}

TEST(a_waiting_task_can_be_cancelled_and_a_running_one_cannot)
{
    struct executor *exec;
    struct lane *lane;
    struct notes notes = {.last = 2};
    struct noter *noters = new_noters(&notes, 5);
    struct blocker blocker = {WORK_INIT(block)};

    CHECK_OK(executor_threads_new(&clock_system, &exec, &test_err));
    lane = new_lane(exec, "heart", 1);
    notes.gate = new_gate(exec);
    blocker.begun = new_gate(exec);
    blocker.may_end = new_gate(exec);
    lane_post(lane, &blocker.task);
    CHECK(gate_wait(blocker.begun, 0));
    for (int i = 0; i < 4; i++)
        lane_post(lane, &noters[i].task);
    lane_post_at(lane, &noters[4].task, INT64_MAX - 1);

    CHECK(!lane_cancel(lane, &blocker.task));
    CHECK(lane_cancel(lane, &noters[3].task));
    CHECK(lane_cancel(lane, &noters[0].task));
    CHECK(!lane_cancel(lane, &noters[0].task));
    CHECK(lane_cancel(lane, &noters[4].task));
    gate_open(blocker.may_end);
    CHECK(gate_wait(notes.gate, 0));
    CHECK_EQ(notes.number[0], 1);
    CHECK_EQ(notes.number[1], 2);
    CHECK(!lane_cancel(lane, &noters[1].task));

    gate_free(blocker.begun);
    gate_free(blocker.may_end);
    gate_free(notes.gate);
    executor_free(exec);
    mem_free(noters);
}

ON_BOTH(a_cancelled_task_can_be_posted_again)
{
    struct notes notes = {.last = 2, .gate = new_gate(exec)};
    struct lane *lane = new_lane(exec, "heart", 1);
    struct noter *noters = new_noters(&notes, 2);
    int64_t now_us = clock_mono_us(executor_clock(exec));

    lane_post_at(lane, &noters[0].task, now_us + 60000000);
    CHECK(lane_cancel(lane, &noters[0].task));
    CHECK(!lane_cancel(lane, &noters[0].task));
    CHECK(!lane_cancel(lane, &noters[1].task));
    lane_post(lane, &noters[0].task);
    lane_post(lane, &noters[1].task);
    CHECK(gate_wait(notes.gate, 0));
    CHECK_EQ(notes.number[0], 0);
    gate_free(notes.gate);
    mem_free(noters);
}

/* Posts itself again a few times, then frees itself. */
struct repeater {
    struct work task;
    struct lane *lane;
    struct lane *other;
    struct gate *gate;
    int left;
};

static void repeat(struct work *task)
{
    struct repeater *repeater = CONTAINER_OF(task, struct repeater, task);
    struct gate *gate = repeater->gate;
    struct lane *lane = repeater->left % 2 ? repeater->lane : repeater->other;

    if (repeater->left-- > 0) {
        lane_post(lane, task);
        return;
    }
    mem_free(repeater);
    gate_open(gate);
}

ON_BOTH(a_task_may_post_itself_again_and_free_itself)
{
    struct repeater *repeater = mem_new(struct repeater);
    struct gate *gate = new_gate(exec);

    *repeater = (struct repeater){WORK_INIT(repeat), new_lane(exec, "one", 1),
                                  new_lane(exec, "two", 2), gate, 1000};
    lane_post(repeater->lane, &repeater->task);
    CHECK(gate_wait(gate, 0));
    gate_free(gate);
}

ON_BOTH(waiting_ends_at_the_deadline)
{
    struct gate *gate = new_gate(exec);
    int64_t deadline_us = clock_mono_us(executor_clock(exec)) + 2000;

    CHECK(!gate_wait(gate, deadline_us));
    CHECK(clock_mono_us(executor_clock(exec)) >= deadline_us);
    CHECK(!gate_wait(gate, deadline_us));
    gate_open(gate);
    CHECK(gate_wait(gate, deadline_us));
    CHECK(gate_wait(gate, 0));
    gate_free(gate);
    gate_free(NULL);
}

ON_BOTH(an_executor_can_go_with_work_still_waiting)
{
    static struct notes notes;
    static struct noter noters[2];
    struct lane *lane = new_lane(exec, "heart", 1);

    /* On threads the first may run or not; the second is due when nobody is left. */
    for (int i = 0; i < 2; i++)
        noters[i] = (struct noter){WORK_INIT(note), &notes, i};
    notes = (struct notes){.last = -1};
    lane_post(lane, &noters[0].task);
    lane_post_at(lane, &noters[1].task, INT64_MAX - 1);
}

ON_BOTH(out_of_memory_makes_no_lane_and_no_gate)
{
    EACH_ALLOCATION_FAILS() {
        struct gate *gate = NULL;
        struct lane *lane = NULL;
        det_status status = lane_new(exec, "heart", 1, &lane, NULL);

        if (!status)
            status = gate_new(exec, &gate, NULL);
        CHECK_EQ(status, fault_fired() ? DET_NOMEM : DET_OK);
        gate_free(gate);
    }
}

TEST(out_of_memory_makes_no_executor)
{
    struct clock_manual clock;

    clock_manual_init(&clock, 0);
    EACH_ALLOCATION_FAILS() {
        struct executor *threads = NULL, *single = NULL;
        det_status status = executor_threads_new(&clock_system, &threads, NULL);

        if (!status)
            status = executor_single_new(&clock, 1, &single, NULL);
        CHECK_EQ(status, fault_fired() ? DET_NOMEM : DET_OK);
        executor_free(threads);
        executor_free(single);
    }
}

/* ---- only threads ---- */

struct looker {
    struct work task;
    struct gate *gate;
    char name[16];
    bool may_be_disturbed;
};

static void look_around(struct work *task)
{
    struct looker *looker = CONTAINER_OF(task, struct looker, task);
    sigset_t blocked;

    pthread_getname_np(pthread_self(), looker->name, sizeof(looker->name));
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    looker->may_be_disturbed =
        !sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGCHLD);
    gate_open(looker->gate);
}

TEST(threads_have_the_name_of_their_lane_and_no_signals)
{
    struct looker looker = {WORK_INIT(look_around)};
    struct executor *exec;

    CHECK_OK(executor_threads_new(&clock_system, &exec, &test_err));
    looker.gate = new_gate(exec);
    lane_post(new_lane(exec, "a-name-that-is-much-too-long", 1), &looker.task);
    CHECK(gate_wait(looker.gate, 0));
    CHECK_STR(looker.name, "a-name-that-is-");
    CHECK(!looker.may_be_disturbed);
    CHECK(!executor_is_single(exec));
    gate_free(looker.gate);
    executor_free(exec);
}

/* All tasks of a wide lane wait for the last one: it runs them at once, or hangs. */
struct meeting {
    atomic_int missing;
    struct gate *all_there;
    struct gate *all_gone;
    atomic_int left;
};

struct guest {
    struct work task;
    struct meeting *meeting;
};

static void meet(struct work *task)
{
    struct meeting *meeting = CONTAINER_OF(task, struct guest, task)->meeting;

    if (atomic_fetch_sub(&meeting->missing, 1) == 1)
        gate_open(meeting->all_there);
    gate_wait(meeting->all_there, 0);
    if (atomic_fetch_sub(&meeting->left, 1) == 1)
        gate_open(meeting->all_gone);
}

TEST(a_wide_lane_runs_as_many_tasks_at_once_as_it_is_wide)
{
    struct meeting meeting = {.missing = 4, .left = 4};
    struct guest guests[4];
    struct executor *exec;
    struct lane *lane;

    CHECK_OK(executor_threads_new(&clock_system, &exec, &test_err));
    lane = new_lane(exec, "workers", 4);
    meeting.all_there = new_gate(exec);
    meeting.all_gone = new_gate(exec);
    for (int i = 0; i < 4; i++) {
        guests[i] = (struct guest){WORK_INIT(meet), &meeting};
        lane_post(lane, &guests[i].task);
    }
    CHECK(gate_wait(meeting.all_gone, 0));
    gate_free(meeting.all_there);
    gate_free(meeting.all_gone);
    executor_free(exec);
}

/* Many posters, many lanes: every post is run once, also under a race detector. */
struct ping {
    struct work task;
    struct lane **lanes;
    struct lock *lock;
    struct rng64 rng;
    struct gate *gate;
    int *total;
    int *alive;
    int left;
};

static void ping(struct work *task)
{
    struct ping *self = CONTAINER_OF(task, struct ping, task);
    bool is_last = false;

    lock_take(self->lock);
    ++*self->total;
    if (self->left == 0)
        is_last = --*self->alive == 0;
    lock_give(self->lock);
    if (self->left-- > 0)
        lane_post(self->lanes[rng64_below(&self->rng, 3)], task);
    else if (is_last)
        gate_open(self->gate);
}

ON_BOTH(posts_from_many_sides_are_all_run)
{
    struct ping pings[16];
    struct lane *lanes[] = {new_lane(exec, "a", 1), new_lane(exec, "b", 2),
                            new_lane(exec, "c", 3)};
    struct gate *gate = new_gate(exec);
    struct lock lock;
    int total = 0, alive = 16;

    CHECK_OK(lock_init(&lock, &test_err));
    for (uint64_t i = 0; i < 16; i++) {
        pings[i] = (struct ping){WORK_INIT(ping), lanes,  &lock, {i}, gate,
                                 &total,          &alive, 500};
        lane_post(lanes[i % 3], &pings[i].task);
    }
    CHECK(gate_wait(gate, 0));
    CHECK_EQ(total, 16 * 501);
    lock_done(&lock);
    gate_free(gate);
}

/* ---- only the twin ---- */

static void run_all(uint64_t seed, struct notes *notes)
{
    struct clock_manual clock;
    struct executor *exec;
    struct noter *noters = new_noters(notes, 100);
    struct lane *lanes[4];

    clock_manual_init(&clock, 0);
    CHECK_OK(executor_single_new(&clock, seed, &exec, &test_err));
    for (int i = 0; i < 4; i++)
        lanes[i] = new_lane(exec, "lane", 1u + (uint32_t)i % 2);
    for (int i = 0; i < 100; i++) {
        if (i % 3)
            lane_post(lanes[i % 4], &noters[i].task);
        else
            lane_post_at(lanes[i % 4], &noters[i].task, i % 7 * 100);
    }
    while (executor_pump(exec))
        ;
    executor_free(exec);
    mem_free(noters);
}

TEST(the_same_seed_gives_the_same_order_and_another_seed_another)
{
    struct notes one = {.last = -1}, same = {.last = -1}, other = {.last = -1};

    run_all(7, &one);
    run_all(7, &same);
    run_all(8, &other);
    CHECK_EQ(one.count, 100);
    CHECK_EQ(memcmp(one.number, same.number, sizeof(one.number)), 0);
    CHECK(memcmp(one.number, other.number, sizeof(one.number)) != 0);
}

TEST(time_stands_still_while_there_is_work_and_then_jumps)
{
    struct notes notes = {.last = -1};
    struct noter *noters = new_noters(&notes, 3);
    struct clock_manual clock;
    struct executor *exec;
    struct lane *lane;

    clock_manual_init(&clock, 5000);
    CHECK_OK(executor_single_new(&clock, 1, &exec, &test_err));
    CHECK(executor_is_single(exec));
    lane = new_lane(exec, "heart", 1);
    lane_post_at(lane, &noters[0].task, 1000000);
    lane_post_at(lane, &noters[1].task, 3000000);
    lane_post(lane, &noters[2].task);
    CHECK(executor_pump(exec));
    CHECK_EQ(notes.number[0], 2);
    CHECK_EQ(clock.mono_us, 1);
    CHECK(executor_pump(exec));
    CHECK_EQ(clock.mono_us, 1000000);
    CHECK_EQ(clock.wall_us, 5000 + 999999);
    CHECK(executor_pump(exec));
    CHECK_EQ(clock.mono_us, 3000000);
    CHECK(!executor_pump(exec));
    executor_free(exec);
    mem_free(noters);
}

struct setter {
    struct work task;
    struct executor *exec;
    struct lane *to;
    struct setter *then;
    bool done;
    bool was_done;
};

static void set_done(struct work *task)
{
    CONTAINER_OF(task, struct setter, task)->done = true;
}

static void post_and_wait(struct work *task)
{
    struct setter *self = CONTAINER_OF(task, struct setter, task);

    lane_post(self->to, &self->then->task);
    self->was_done = executor_pump_until(self->exec, &self->then->done);
    self->done = true;
}

TEST(a_task_may_wait_for_another_lane_but_not_for_its_own)
{
    struct clock_manual clock;
    struct executor *exec;
    struct lane *heart, *writer, *workers;

    clock_manual_init(&clock, 0);
    CHECK_OK(executor_single_new(&clock, 3, &exec, &test_err));
    heart = new_lane(exec, "heart", 1);
    writer = new_lane(exec, "writer", 1);
    workers = new_lane(exec, "workers", 2);
    {
        struct setter end = {WORK_INIT(set_done)};
        struct setter waits = {WORK_INIT(post_and_wait), exec, writer, &end};

        lane_post(heart, &waits.task);
        CHECK(executor_pump_until(exec, &waits.done));
        CHECK(waits.was_done);
    }
    {
        struct setter end = {WORK_INIT(set_done)};
        struct setter waits = {WORK_INIT(post_and_wait), exec, heart, &end};

        lane_post(heart, &waits.task);
        CHECK(executor_pump_until(exec, &waits.done));
        CHECK(!waits.was_done);
        CHECK(executor_pump_until(exec, &end.done));
    }
    {
        struct setter end = {WORK_INIT(set_done)};
        struct setter waits = {WORK_INIT(post_and_wait), exec, workers, &end};

        lane_post(workers, &waits.task);
        CHECK(executor_pump_until(exec, &waits.done));
        CHECK(waits.was_done);
    }
    executor_free(exec);
}

TEST(waiting_does_not_move_the_clock_beyond_the_deadline)
{
    struct notes notes = {.last = -1};
    struct noter *noters = new_noters(&notes, 2);
    struct clock_manual clock;
    struct executor *exec;
    struct lane *lane;
    struct gate *gate;

    clock_manual_init(&clock, 0);
    CHECK_OK(executor_single_new(&clock, 1, &exec, &test_err));
    lane = new_lane(exec, "heart", 1);
    gate = new_gate(exec);
    lane_post_at(lane, &noters[0].task, 500);
    lane_post_at(lane, &noters[1].task, 5000);
    CHECK(!gate_wait(gate, 1000));
    CHECK_EQ(clock.mono_us, 1000);
    CHECK_EQ(notes.count, 1);
    CHECK(!gate_wait(gate, 0));
    CHECK_EQ(notes.count, 2);
    gate_free(gate);
    executor_free(exec);
    mem_free(noters);
}
