/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that ranks of one machine share: which ranks can join, and which are gone. Its
 * use: test_average.c. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "_average_shm.h"
#include "tests/support/test.h"

TEST(ranks_of_two_machines_share_no_memory)
{
    struct shm shm = {0}, other = {0};
    struct shm_address addresses[2];
    struct err err = {0};

    CHECK_OK(shm_create(&shm, 0, 2, 4096, &addresses[0], &err));
    CHECK_OK(shm_create(&other, 1, 2, 4096, &addresses[1], &err));
    addresses[0].machine++;
    CHECK_EQ(shm_join(&other, addresses, &err), DET_UNSUPPORTED);
    CHECK_STR(err.text, "rank 1 is on another machine");
    addresses[0].machine--;
    addresses[0].secret++;
    CHECK_EQ(shm_join(&other, addresses, &err), DET_UNSUPPORTED);
    CHECK_STR(err.text, "the shared memory belongs to other ranks");
    shm_done(&shm);
    shm_done(&other);
}

/* Another process; it posts one turn and is killed. */
static void be_killed(const struct shm_address *addresses)
{
    struct shm shm = {0};
    struct shm_address unused;

    if (!shm_create(&shm, 1, 2, 4096, &unused, NULL) &&
        !shm_join(&shm, addresses, NULL)) {
        memcpy(shm_slot(&shm, 0), "last", 5);
        shm_post(&shm, 0, "w", 2);
    }
    (void)raise(SIGKILL);
}

TEST(a_rank_that_is_killed_is_noticed_and_what_it_said_before_counts)
{
    struct shm shm = {0};
    struct shm_address addresses[2];
    struct err err = {0};
    pid_t child;

    CHECK_OK(shm_create(&shm, 0, 2, 4096, &addresses[0], &err));
    addresses[1] = addresses[0];
    child = fork();
    if (!child)
        be_killed(addresses);
    addresses[1].process = child;
    CHECK_OK(shm_join(&shm, addresses, &err));
    shm_post(&shm, 0, "w", 2);
    while (!shm_wait(&shm, 0, 1, 20))
        continue;
    CHECK_STR(shm_bytes(&shm, 0, 1), "last");
    shm_post(&shm, 0, "x", 2);
    while (shm_rank_state(&shm, 1) == RANK_HERE)
        CHECK(!shm_wait(&shm, 0, 1, 20));
    CHECK_EQ(shm_rank_state(&shm, 1), RANK_DIED);
    CHECK(!shm_wait(&shm, 0, 1, 0));
    waitpid(child, NULL, 0);
    shm_done(&shm);
}

/* A rank that failed is also closed; its first state counts. */
TEST(a_rank_that_failed_and_then_left_has_failed)
{
    struct shm shm = {0}, other = {0};
    struct shm_address addresses[2];
    struct err err = {0};

    CHECK_OK(shm_create(&shm, 0, 2, 4096, &addresses[0], &err));
    CHECK_OK(shm_create(&other, 1, 2, 4096, &addresses[1], &err));
    CHECK_OK(shm_join(&shm, addresses, &err));
    CHECK_OK(shm_join(&other, addresses, &err));
    shm_set_state(&shm, RANK_FAILED);
    shm_set_state(&shm, RANK_LEFT);
    CHECK_EQ(shm_rank_state(&other, 0), RANK_FAILED);
    shm_done(&shm);
    shm_done(&other);
}
