/* SPDX-License-Identifier: Apache-2.0 */
/* The list of changes: which reader gets which change, once, and when it gets a reset. */
#include "master/changes/changes.h"

#include <pthread.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "tests/support/test.h"

enum { ALL = ~0 };

struct world {
    struct changes *changes;
    struct arena mem;
    uint32_t noted; /* how often */
    struct change_list heard;
};

static void noted(void *arg)
{
    struct world *w = arg;

    w->noted++;
}

static void setup(struct world *w, uint32_t most)
{
    const struct changes_config config = {.most = most, .noted = noted, .arg = w};

    *w = (struct world){.mem = ARENA_INIT(16 << 20)};
    CHECK_OK(changes_new(&config, &w->changes, &test_err));
}

static void world_done(struct world *w)
{
    changes_free(w->changes);
    arena_done(&w->mem);
}

static uint64_t join(struct world *w)
{
    uint64_t cursor;

    CHECK(changes_join(w->changes, 0, &cursor));
    return cursor;
}

static const struct changes_filter everything = {.kinds = (uint32_t)ALL};

static void read_as(struct world *w, const struct changes_filter *filter,
                    uint64_t *cursor)
{
    arena_clear(&w->mem);
    CHECK_OK(changes_read(w->changes, filter, &w->mem, cursor, &w->heard, &test_err));
}

static void read_all(struct world *w, uint64_t *cursor)
{
    read_as(w, &everything, cursor);
}

/* Whether a record was in the last list read. */
static bool has(const struct world *w, enum change_kind kind, int64_t id)
{
    for (uint32_t i = 0; i < w->heard.count; i++)
        if (w->heard.at[i].kind == kind && w->heard.at[i].id == id)
            return true;
    return false;
}

static bool has_text(const struct world *w, enum change_kind kind, const char *text)
{
    for (uint32_t i = 0; i < w->heard.count; i++)
        if (w->heard.at[i].kind == kind && w->heard.at[i].text &&
            !strcmp(w->heard.at[i].text, text))
            return true;
    return false;
}

/* ---- reading --------------------------------------------------------------------- */

TEST(a_change_is_read_once)
{
    struct world w;
    uint64_t cursor;

    setup(&w, 100);
    cursor = join(&w);
    changes_note(w.changes, CHANGE_EXPERIMENT, 1, 0);
    changes_note(w.changes, CHANGE_TRIAL, 1, 1);
    changes_note_text(w.changes, CHANGE_LOGS, "1.a");
    changes_note_text(w.changes, CHANGE_QUEUE, "");
    read_all(&w, &cursor);
    CHECK_EQ(w.heard.count, 4);
    CHECK(has(&w, CHANGE_EXPERIMENT, 1));
    CHECK(has(&w, CHANGE_TRIAL, 1));
    CHECK(has_text(&w, CHANGE_LOGS, "1.a"));
    CHECK(has_text(&w, CHANGE_QUEUE, ""));
    read_all(&w, &cursor);
    CHECK_EQ(w.heard.count, 0);
    CHECK(!w.heard.is_reset);
    world_done(&w);
}

TEST(a_million_reports_of_one_trial_are_one_change)
{
    struct world w;
    uint64_t cursor;

    setup(&w, 2);
    cursor = join(&w);
    changes_note(w.changes, CHANGE_TRIAL, 7, 1);
    for (int i = 0; i < 1000000; i++)
        changes_note(w.changes, CHANGE_METRICS, 7, 1);
    read_all(&w, &cursor);
    CHECK_EQ(w.heard.count, 2);
    CHECK_EQ(w.heard.at[0].kind, CHANGE_METRICS); /* the newest first */
    CHECK(!w.heard.is_reset);
    world_done(&w);
}

TEST(each_reader_has_its_own_cursor)
{
    struct world w;
    uint64_t early, late;

    setup(&w, 100);
    early = join(&w);
    changes_note(w.changes, CHANGE_TRIAL, 1, 0);
    late = early;
    read_all(&w, &late);
    changes_note(w.changes, CHANGE_TRIAL, 2, 0);
    read_all(&w, &late);
    CHECK_EQ(w.heard.count, 1);
    read_all(&w, &early);
    CHECK_EQ(w.heard.count, 2);
    world_done(&w);
}

TEST(a_repeated_change_is_read_again)
{
    struct world w;
    uint64_t cursor;

    setup(&w, 100);
    cursor = join(&w);
    changes_note(w.changes, CHANGE_TRIAL, 1, 0);
    changes_note(w.changes, CHANGE_TRIAL, 2, 0);
    read_all(&w, &cursor);
    changes_note(w.changes, CHANGE_TRIAL, 1, 0);
    read_all(&w, &cursor);
    CHECK_EQ(w.heard.count, 1);
    CHECK(has(&w, CHANGE_TRIAL, 1));
    world_done(&w);
}

/* ---- filters --------------------------------------------------------------------- */

TEST(a_filter_restricts_the_kinds_it_applies_to)
{
    int64_t experiments[] = {3, 5};
    int64_t trials[] = {70};
    const char *tasks[] = {"job-1"};
    const struct changes_filter filter = {.kinds =
                                              (uint32_t)ALL & ~(1u << CHANGE_METRICS),
                                          .experiments = {experiments, 2},
                                          .trials = {trials, 1},
                                          .tasks = {tasks, 1}};
    struct world w;
    uint64_t cursor;

    setup(&w, 100);
    cursor = join(&w);
    changes_note(w.changes, CHANGE_EXPERIMENT, 3, 0);
    changes_note(w.changes, CHANGE_EXPERIMENT, 4, 0);
    changes_note(w.changes, CHANGE_DELETED, 5, 0);
    changes_note(w.changes, CHANGE_DELETED, 6, 0);
    changes_note(w.changes, CHANGE_TRIAL, 50, 5); /* passes: trials has it */
    changes_note(w.changes, CHANGE_TRIAL, 70, 9);
    changes_note(w.changes, CHANGE_TRIAL, 71, 9);
    changes_note(w.changes, CHANGE_METRICS, 70, 9); /* a kind that is not wanted */
    changes_note_text(w.changes, CHANGE_LOGS, "job-1");
    changes_note_text(w.changes, CHANGE_LOGS, "job-2");
    changes_note_text(w.changes, CHANGE_AGENT, "a");
    read_as(&w, &filter, &cursor);
    CHECK_EQ(w.heard.count, 5);
    CHECK(has(&w, CHANGE_EXPERIMENT, 3));
    CHECK(has(&w, CHANGE_DELETED, 5));
    CHECK(has(&w, CHANGE_TRIAL, 70));
    CHECK(has_text(&w, CHANGE_LOGS, "job-1"));
    CHECK(has_text(&w, CHANGE_AGENT, "a"));
    world_done(&w);
}

TEST(the_experiment_of_a_trial_is_remembered)
{
    int64_t experiments[] = {3};
    const struct changes_filter filter = {.kinds = (uint32_t)ALL,
                                          .experiments = {experiments, 1}};
    struct world w;
    uint64_t cursor;

    setup(&w, 100);
    cursor = join(&w);
    changes_note(w.changes, CHANGE_METRICS, 8, 3);
    changes_note(w.changes, CHANGE_METRICS, 8, 0);
    read_as(&w, &filter, &cursor);
    CHECK_EQ(w.heard.count, 1);
    world_done(&w);
}

TEST(a_trial_of_an_unknown_experiment_passes_every_filter)
{
    int64_t experiments[] = {3};
    const struct changes_filter filter = {.kinds = (uint32_t)ALL,
                                          .experiments = {experiments, 1}};
    struct world w;
    uint64_t cursor;

    setup(&w, 100);
    cursor = join(&w);
    changes_note(w.changes, CHANGE_METRICS, 8, 0);
    read_as(&w, &filter, &cursor);
    CHECK_EQ(w.heard.count, 1);
    world_done(&w);
}

/* ---- resets -------------------------------------------------------------- */

TEST(a_reader_behind_the_floor_gets_a_reset)
{
    struct world w;
    uint64_t slow, quick;

    setup(&w, 3);
    slow = join(&w);
    changes_note(w.changes, CHANGE_TRIAL, 1, 0);
    changes_note_text(w.changes, CHANGE_AGENT, "a");
    quick = slow;
    read_all(&w, &quick);
    for (int64_t id = 2; id < 5; id++)
        changes_note(w.changes, CHANGE_TRIAL, id, 0);
    read_all(&w, &slow);
    CHECK(w.heard.is_reset);
    CHECK_EQ(w.heard.count, 0);
    read_all(&w, &quick);
    CHECK(!w.heard.is_reset);
    CHECK_EQ(w.heard.count, 3);
    read_all(&w, &slow); /* after the reset it continues as before */
    CHECK(!w.heard.is_reset);
    changes_note(w.changes, CHANGE_TRIAL, 1, 0);
    read_all(&w, &slow);
    CHECK(has(&w, CHANGE_TRIAL, 1));
    world_done(&w);
}

TEST(too_many_changes_at_once_give_a_reset)
{
    struct world w;
    uint64_t cursor;

    setup(&w, 100000);
    cursor = join(&w);
    for (int64_t id = 0; id < 3000; id++)
        changes_note(w.changes, CHANGE_TRIAL, id, 0);
    read_all(&w, &cursor);
    CHECK(w.heard.is_reset);
    read_all(&w, &cursor);
    CHECK_EQ(w.heard.count, 0);
    CHECK(!w.heard.is_reset);
    world_done(&w);
}

/* ---- joining and leaving ------------------------------------------------------------ */

TEST(a_reader_that_returns_gets_the_missed_changes)
{
    struct world w;
    uint64_t cursor, again;

    setup(&w, 100);
    cursor = join(&w);
    changes_note(w.changes, CHANGE_TRIAL, 1, 0);
    read_all(&w, &cursor);
    changes_leave(w.changes);
    changes_note(w.changes, CHANGE_TRIAL, 2, 0);
    CHECK(changes_join(w.changes, cursor, &again));
    read_all(&w, &again);
    CHECK_EQ(w.heard.count, 1);
    CHECK(has(&w, CHANGE_TRIAL, 2));
    CHECK(!changes_join(w.changes, cursor + 1000,
                        &again)); /* a cursor that was never given out */
    read_all(&w, &again);
    CHECK_EQ(w.heard.count, 0);
    world_done(&w);
}

TEST(a_reader_that_returns_too_late_gets_a_reset)
{
    struct world w;
    uint64_t cursor, again;

    setup(&w, 2);
    cursor = join(&w);
    changes_leave(w.changes);
    for (int64_t id = 1; id < 5; id++)
        changes_note(w.changes, CHANGE_TRIAL, id, 0);
    CHECK(!changes_join(w.changes, cursor, &again));
    read_all(&w, &again);
    CHECK(!w.heard.is_reset); /* changes_join() has reported it */
    CHECK_EQ(w.heard.count, 0);
    world_done(&w);
}

TEST(nothing_is_noted_while_nobody_listens)
{
    struct world w;
    uint64_t cursor, again;

    setup(&w, 100);
    CHECK(!changes_is_heard(w.changes));
    changes_note(w.changes, CHANGE_TRIAL, 1, 0);
    CHECK_EQ(w.noted, 0);
    CHECK(!changes_join(w.changes, 0,
                        &cursor)); /* it may have read its page before that */
    CHECK(changes_is_heard(w.changes));
    CHECK(!changes_rest(w.changes));
    changes_leave(w.changes);
    CHECK(changes_rest(w.changes));
    CHECK(!changes_is_heard(w.changes));
    /* Nothing was noted meanwhile: no reset. */
    CHECK(changes_join(w.changes, cursor, &again));
    changes_leave(w.changes);
    changes_note(w.changes, CHANGE_TRIAL, 1, 0);
    CHECK(changes_rest(w.changes));
    CHECK(!changes_join(w.changes, again, &cursor));
    world_done(&w);
}

TEST(a_reader_that_joins_at_its_position_misses_nothing)
{
    struct world w;
    uint64_t before, place, cursor;

    setup(&w, 100);
    before = changes_position(w.changes);
    changes_note(w.changes, CHANGE_TRIAL, 1, 0); /* nobody listens */
    place = changes_position(w.changes);
    CHECK(!changes_join(w.changes, 0, &cursor)); /* a reader without a position */
    changes_leave(w.changes);
    CHECK(changes_join(w.changes, place, &cursor)); /* it has read that */
    read_all(&w, &cursor);
    CHECK_EQ(w.heard.count, 0);
    CHECK(!changes_join(w.changes, before, &cursor)); /* this one has not */
    changes_leave(w.changes);
    changes_leave(w.changes);
    CHECK(changes_rest(w.changes));
    place = changes_position(w.changes);
    changes_note(w.changes, CHANGE_TRIAL, 2, 0);
    CHECK(!changes_join(w.changes, place, &cursor)); /* noted after its position */
    place = changes_position(w.changes);
    changes_note(w.changes, CHANGE_TRIAL, 3, 0); /* somebody listens: it is noted */
    CHECK(changes_join(w.changes, place, &cursor));
    read_all(&w, &cursor);
    CHECK_EQ(w.heard.count, 1);
    CHECK(has(&w, CHANGE_TRIAL, 3));
    world_done(&w);
}

TEST(a_new_listener_starts_a_little_in_the_past)
{
    struct world w;
    uint64_t first, second;

    setup(&w, 100);
    first = join(&w);
    (void)changes_beat(w.changes, 10000000);
    changes_note(w.changes, CHANGE_TRIAL, 1, 0);
    (void)changes_beat(w.changes, 10200000);
    CHECK(changes_join(w.changes, 0, &second));
    read_all(&w, &second);
    CHECK(has(&w, CHANGE_TRIAL, 1));
    /* Later listeners do not see it. */
    (void)changes_beat(w.changes, 13000000);
    (void)changes_beat(w.changes, 16000000);
    CHECK(changes_join(w.changes, 0, &second));
    read_all(&w, &second);
    CHECK_EQ(w.heard.count, 0);
    read_all(&w, &first);
    CHECK(has(&w, CHANGE_TRIAL, 1));
    world_done(&w);
}

TEST(only_the_first_note_after_a_beat_calls_noted)
{
    struct world w;

    setup(&w, 100);
    (void)join(&w);
    changes_note(w.changes, CHANGE_TRIAL, 1, 0);
    changes_note(w.changes, CHANGE_TRIAL, 2, 0);
    CHECK_EQ(w.noted, 1);
    CHECK(changes_beat(w.changes, 1));
    CHECK(!changes_beat(w.changes, 2));
    changes_note(w.changes, CHANGE_TRIAL, 2, 0);
    CHECK_EQ(w.noted, 2);
    world_done(&w);
}

/* ---- failures and threads -------------------------------------------------------- */

TEST(a_note_without_memory_resets_all_readers)
{
    EACH_ALLOCATION_FAILS() {
        const struct changes_config config = {.most = 10, .noted = noted};
        struct world w = {.mem = ARENA_INIT(1 << 20)};
        struct changes_config own = config;
        struct err err = {0};
        uint64_t cursor;
        det_status st;

        own.arg = &w;
        if (changes_new(&own, &w.changes, &err))
            continue;
        CHECK(changes_join(w.changes, 0, &cursor));
        changes_note(w.changes, CHANGE_TRIAL, 1, 1);
        changes_note_text(w.changes, CHANGE_AGENT, "a");
        do
            st = changes_read(w.changes, &everything, &w.mem, &cursor, &w.heard, &err);
        while (st == DET_NOMEM);
        CHECK(!st);
        CHECK(w.heard.is_reset || w.heard.count == 2);
        world_done(&w);
    }
}

enum { NOTES = 20000 };

static void *note_many(void *arg)
{
    struct changes *changes = arg;

    for (int i = 0; i < NOTES; i++) {
        changes_note(changes, CHANGE_METRICS, i % 100, 1);
        changes_note_text(changes, CHANGE_LOGS, "task");
    }
    return NULL;
}

TEST(notes_may_come_from_many_threads)
{
    struct world w;
    pthread_t thread[3];
    uint64_t cursor;
    uint64_t sum = 0;

    setup(&w, 50);
    w.noted = 0;
    cursor = join(&w);
    for (size_t i = 0; i < ARRAY_LEN(thread); i++)
        CHECK(!pthread_create(&thread[i], NULL, note_many, w.changes));
    for (int i = 0; i < 1000; i++) {
        read_all(&w, &cursor);
        sum += w.heard.count;
        (void)changes_beat(w.changes, i);
    }
    for (size_t i = 0; i < ARRAY_LEN(thread); i++)
        CHECK(!pthread_join(thread[i], NULL));
    changes_note(w.changes, CHANGE_TRIAL, 1000, 1);
    read_all(&w, &cursor);
    CHECK(w.heard.is_reset || has(&w, CHANGE_TRIAL, 1000));
    (void)sum;
    world_done(&w);
}
