/* SPDX-License-Identifier: Apache-2.0 */
/* Meetings: guests, their data, and rounds. */
#include "master/heart/rendezvous.h"

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "tests/support/test.h"

struct world {
    struct rendezvous *rendezvous;
    struct arena mem;
};

static void setup(struct world *w)
{
    *w = (struct world){.mem = ARENA_INIT(1 << 20)};
    CHECK_OK(rendezvous_new(&w->rendezvous, &test_err));
}

static void world_done(struct world *w)
{
    rendezvous_free(w->rendezvous);
    arena_done(&w->mem);
}

static bool join(struct world *w, uint32_t seats, const char *guest, const char *data)
{
    bool is_full = false;

    CHECK_OK(
        rendezvous_join(w->rendezvous, "a m", seats, guest, data, &is_full, &test_err));
    return is_full;
}

static struct gathered read(struct world *w, const char *guest)
{
    struct gathered all;

    CHECK_OK(rendezvous_read(w->rendezvous, "a m", guest, &w->mem, &all, &test_err));
    return all;
}

TEST(a_meeting_is_full_when_all_seats_are_taken)
{
    struct world w;

    setup(&w);
    CHECK(!join(&w, 3, "2", "two"));
    CHECK(!join(&w, 3, "1", "one"));
    CHECK(!join(&w, 3, "1", "uno")); /* again with other data: still one guest */
    CHECK_EQ(read(&w, "1").count, 0);
    CHECK(join(&w, 3, "3", "three"));
    CHECK_EQ(read(&w, "1").count, 3);
    CHECK_STR(read(&w, "2").data[0], "uno");
    CHECK_STR(read(&w, "2").data[2], "three");
    world_done(&w);
}

TEST(a_new_guest_begins_the_next_round_and_the_last_round_stays_readable)
{
    struct world w;

    setup(&w);
    CHECK(!join(&w, 2, "a1", "x"));
    CHECK(join(&w, 2, "b1", "y"));
    CHECK(!join(&w, 2, "a2", "z"));
    CHECK_EQ(read(&w, "b1").count, 2);
    CHECK_EQ(read(&w, "a2").count, 0);
    CHECK(join(&w, 2, "b2", "w"));
    CHECK_STR(read(&w, "a2").data[1], "w");
    CHECK(!join(&w, 2, "a3", "v"));
    CHECK_EQ(read(&w, "a1").count, 0); /* two rounds ago */
    rendezvous_drop(w.rendezvous, "a ");
    CHECK_EQ(read(&w, "a2").count, 0);
    world_done(&w);
}

TEST(a_guest_takes_no_seat_if_memory_is_short)
{
    EACH_ALLOCATION_FAILS() {
        struct rendezvous *rendezvous = NULL;
        bool is_full = false;
        det_status st = rendezvous_new(&rendezvous, NULL);

        if (!st)
            st = rendezvous_join(rendezvous, "m", 1, "g", "data", &is_full, NULL);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(is_full, !st);
        rendezvous_free(rendezvous);
    }
}
