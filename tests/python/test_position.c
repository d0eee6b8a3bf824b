/* SPDX-License-Identifier: Apache-2.0 */
/* Where the next pass through a cached data set begins, set by several threads. */
#include <pthread.h>
#include <stdatomic.h>

#include "_cache_position.h"
#include "base/fault.h"
#include "tests/support/test.h"

enum { PASSES = 2000000, READERS = 2 };

TEST(the_next_epoch_follows_unless_somebody_said_something)
{
    struct position *position;
    struct position_state now;
    struct err err = {0};

    CHECK_OK(position_new(&position, &err));
    position_set(position, 3, 7);
    now = position_get(position);
    CHECK(now.epoch == 3 && now.first == 7);
    CHECK(position_move_on(position, 3, now.changes));
    now = position_get(position);
    CHECK(now.epoch == 4 && now.first == 0);
    position_set(position, 9, 2);
    CHECK(!position_move_on(position, 4, now.changes));
    now = position_get(position);
    CHECK(now.epoch == 9 && now.first == 2);
    position_free(position);
}

struct race {
    struct position *position;
    _Atomic int readers; /* threads that still run */
    _Atomic int mixed;   /* states that no thread has set */
};

/* Like a pipeline that reads ahead. */
static void *read_passes(void *arg)
{
    struct race *race = arg;

    for (int pass = 0; pass < PASSES; pass++) {
        struct position_state now = position_get(race->position);

        /* set: an epoch and ten times that; moved on: the next epoch, from 0 */
        race->mixed += now.first != 0 && now.first != 10 * now.epoch;
        (void)position_move_on(race->position, now.epoch, now.changes);
    }
    race->readers--;
    return NULL;
}

/* The last position is never lost or torn: another thread may set one between reading
 * the count of changes and writing. */
TEST(what_python_says_while_a_pass_ends_is_kept_whole)
{
    struct race race = {.readers = READERS};
    pthread_t threads[READERS];
    struct err err = {0};
    int lost = 0;

    CHECK_OK(position_new(&race.position, &err));
    for (int i = 0; i < READERS; i++)
        pthread_create(&threads[i], NULL, read_passes, &race);
    for (int64_t epoch = PASSES; race.readers; epoch += PASSES) {
        position_set(race.position, epoch, 10 * epoch);
        lost += position_get(race.position).epoch < epoch;
    }
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(race.mixed, 0);
    CHECK_EQ(lost, 0);
    position_free(race.position);
}

TEST(running_out_of_memory_is_an_ordinary_error)
{
    EACH_ALLOCATION_FAILS() {
        struct position *position = NULL;
        struct err err = {0};
        det_status st = position_new(&position, &err);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        position_free(position);
    }
}
