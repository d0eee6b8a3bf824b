/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that ranks of one machine share: who gets in, and who is gone.  What they do
 * with it: test_average.c. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "_average_room.h"
#include "tests/support/test.h"

TEST(ranks_of_two_machines_share_no_memory)
{
    struct room room = {0}, other = {0};
    struct room_card cards[2];
    struct err err = {0};

    CHECK_OK(room_begin(&room, 0, 2, 4096, &cards[0], &err));
    CHECK_OK(room_begin(&other, 1, 2, 4096, &cards[1], &err));
    cards[0].machine++;
    CHECK_EQ(room_enter(&other, cards, &err), DET_UNSUPPORTED);
    CHECK_STR(err.text, "rank 1 is on another machine");
    cards[0].machine--;
    cards[0].secret++;
    CHECK_EQ(room_enter(&other, cards, &err), DET_UNSUPPORTED);
    CHECK_STR(err.text, "the memory of all ranks is not theirs");
    room_done(&room);
    room_done(&other);
}

/* A process of its own; it tells one turn and is killed. */
static void be_killed(const struct room_card *cards)
{
    struct room room = {0};
    struct room_card unused;

    if (!room_begin(&room, 1, 2, 4096, &unused, NULL) &&
        !room_enter(&room, cards, NULL)) {
        memcpy(room_slot(&room, 0), "last", 5);
        room_tell(&room, 0, "w", 2);
    }
    (void)raise(SIGKILL);
}

TEST(a_rank_that_is_killed_is_noticed_and_what_it_said_before_counts)
{
    struct room room = {0};
    struct room_card cards[2];
    struct err err = {0};
    pid_t child;

    CHECK_OK(room_begin(&room, 0, 2, 4096, &cards[0], &err));
    cards[1] = cards[0];
    child = fork();
    if (!child)
        be_killed(cards);
    cards[1].process = child;
    CHECK_OK(room_enter(&room, cards, &err));
    room_tell(&room, 0, "w", 2);
    while (!room_hear(&room, 0, 1, 20))
        continue;
    CHECK_STR(room_bytes(&room, 0, 1), "last");
    room_tell(&room, 0, "x", 2);
    while (room_fate(&room, 1) == ROOM_HERE)
        CHECK(!room_hear(&room, 0, 1, 20));
    CHECK_EQ(room_fate(&room, 1), ROOM_DIED);
    CHECK(!room_hear(&room, 0, 1, 0));
    waitpid(child, NULL, 0);
    room_done(&room);
}

/* A rank that failed is closed, too; why it is gone is what it said first. */
TEST(a_rank_that_failed_and_then_left_has_failed)
{
    struct room room = {0}, other = {0};
    struct room_card cards[2];
    struct err err = {0};

    CHECK_OK(room_begin(&room, 0, 2, 4096, &cards[0], &err));
    CHECK_OK(room_begin(&other, 1, 2, 4096, &cards[1], &err));
    CHECK_OK(room_enter(&room, cards, &err));
    CHECK_OK(room_enter(&other, cards, &err));
    room_say(&room, ROOM_FAILED);
    room_say(&room, ROOM_LEFT);
    CHECK_EQ(room_fate(&other, 0), ROOM_FAILED);
    room_done(&room);
    room_done(&other);
}
