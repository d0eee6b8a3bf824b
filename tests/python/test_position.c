/* SPDX-License-Identifier: Apache-2.0 */
/* Where the next pass through a cached data set begins, said by several threads. */
#include <pthread.h>
#include <stdatomic.h>

#include "_cache_position.h"
#include "base/fault.h"
#include "tests/support/test.h"

enum { TIMES = 20000 };

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
}

struct race {
    struct position *position;
    _Atomic bool is_over;
    _Atomic int mixed; /* states that nobody made */
};

/* As a pipeline that reads ahead. */
static void *read_passes(void *arg)
{
    struct race *race = arg;

    while (!race->is_over) {
        struct position_state now = position_get(race->position);

        /* said: an epoch and ten times that; moved on: the epoch after, from 0 */
        race->mixed += now.first != 0 && now.first != 10 * now.epoch;
        (void)position_move_on(race->position, now.epoch, now.changes);
    }
    return NULL;
}

/* The last word is never lost, and never half of it: between looking at the count of
 * changes and writing, another one may come. */
TEST(what_python_says_while_a_pass_ends_is_kept_whole)
{
    struct race race = {0};
    pthread_t threads[2];
    struct err err = {0};
    int lost = 0;

    CHECK_OK(position_new(&race.position, &err));
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, read_passes, &race);
    for (int64_t epoch = 1; epoch <= TIMES; epoch++) {
        struct position_state now;

        position_set(race.position, 1000 * epoch, 10000 * epoch);
        now = position_get(race.position);
        lost += now.epoch < 1000 * epoch;
    }
    race.is_over = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(race.mixed, 0);
    CHECK_EQ(lost, 0);
}

TEST(running_out_of_memory_is_an_ordinary_error)
{
    EACH_ALLOCATION_FAILS() {
        struct position *position = NULL;
        struct err err = {0};
        det_status st = position_new(&position, &err);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
    }
}
