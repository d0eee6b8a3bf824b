/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fsm.h"

#include "tests/support/test.h"

enum { ACTIVE, PAUSED, COMPLETED };

static const struct fsm_state states[] = {
    {"ACTIVE", TO(PAUSED) | TO(COMPLETED)},
    {"PAUSED", TO(ACTIVE)},
    {"COMPLETED", 0},
};

static const struct fsm machine = {"trial", states, 3};

TEST(a_machine_moves_along_its_table)
{
    uint32_t at = ACTIVE;

    CHECK_OK(fsm_move(&machine, &at, PAUSED, &test_err));
    CHECK_OK(fsm_move(&machine, &at, ACTIVE, &test_err));
    CHECK_OK(fsm_move(&machine, &at, COMPLETED, &test_err));
    CHECK_EQ(at, COMPLETED);
}

TEST(a_forbidden_move_is_refused_in_a_sentence)
{
    uint32_t at = COMPLETED;
    struct err err = {0};

    CHECK_EQ(fsm_move(&machine, &at, PAUSED, &err), DET_STATE);
    CHECK_STR(err.text, "a COMPLETED trial cannot become PAUSED");
    CHECK_EQ(at, COMPLETED);
}

TEST(a_state_may_stay_what_it_is)
{
    uint32_t at = COMPLETED;

    CHECK_OK(fsm_move(&machine, &at, COMPLETED, &test_err));
    CHECK_EQ(at, COMPLETED);
}

TEST(states_have_names_both_ways)
{
    CHECK_STR(fsm_name(&machine, PAUSED), "PAUSED");
    CHECK_STR(fsm_name(&machine, 17), "?");
    CHECK_EQ(fsm_find(&machine, "COMPLETED"), COMPLETED);
    CHECK_EQ(fsm_find(&machine, "completed"), -1);
}
