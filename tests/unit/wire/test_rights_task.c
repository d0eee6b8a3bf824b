/* SPDX-License-Identifier: Apache-2.0 */
/* test_rights_task.c - a task's token opens only what a rule names: over all rows and all
 * kinds of object. */
#include "tests/support/test.h"
#include "wire/rights.h"

static const struct caller task = {.kind = CALLER_TASK,
                                   .user_id = 7,
                                   .allocation_id = 11,
                                   .allocation = "1.a.1",
                                   .task_id = "1.a",
                                   .trial_id = 12,
                                   .experiment_id = 13};

static enum rights_answer answer_on(const struct route *row,
                                    struct rights_object object, int kind)
{
    object.kind = (enum route_object)kind;
    return rights_decide(row, &task, &object);
}

/* Every kind of object that a row could have, with the numbers of somebody else. */
TEST(a_task_gets_nothing_that_is_not_its_own)
{
    static const struct rights_object other = {.owner_id = 8,
                                               .workspace_id = 1,
                                               .experiment_id = 23,
                                               .trial_id = 22,
                                               .allocation_id = 21,
                                               .task_id = "2.a"};

    for (int i = 0; i < ROUTE_COUNT; i++) {
        if (routes[i].who == ROUTE_OPEN || routes[i].task == ROUTE_TASK_AS_USER)
            continue;
        for (int kind = ROUTE_OBJECT_none + 1; kind <= ROUTE_OBJECT_named; kind++)
            if (answer_on(&routes[i], other, kind) != RIGHTS_FORBIDDEN)
                fail_msg("row %s, object %d", routes[i].path, kind);
    }
}

/* An object whose numbers are not known yet, or do not apply, belongs to no task. */
TEST(an_object_without_numbers_is_no_tasks)
{
    static const struct rights_object unknown = {0};
    static const struct caller nothing = {.kind = CALLER_TASK};
    struct rights_object object = {0};

    for (int kind = ROUTE_OBJECT_none + 1; kind <= ROUTE_OBJECT_named; kind++) {
        object.kind = (enum route_object)kind;
        CHECK(!rights_is_own(&task, &object));
        CHECK(!rights_is_own(&nothing, &object));
    }
    for (int i = 0; i < ROUTE_COUNT; i++)
        if (routes[i].who != ROUTE_OPEN && routes[i].task == ROUTE_TASK_OWN &&
            routes[i].object != ROUTE_OBJECT_none &&
            answer_on(&routes[i], unknown, (int)routes[i].object) != RIGHTS_FORBIDDEN)
            fail_msg("row %s", routes[i].path);
}

TEST(a_row_that_is_not_for_tasks_is_closed_for_them)
{
    static const struct rights_object own = {.owner_id = 7,
                                             .experiment_id = 13,
                                             .trial_id = 12,
                                             .allocation_id = 11,
                                             .task_id = "1.a"};

    for (int i = 0; i < ROUTE_COUNT; i++) {
        bool is_closed = routes[i].who != ROUTE_OPEN && routes[i].task == ROUTE_TASK_NO;

        if (is_closed &&
            (rights_admit(&routes[i], &task) != RIGHTS_FORBIDDEN ||
             answer_on(&routes[i], own, (int)routes[i].object) != RIGHTS_FORBIDDEN))
            fail_msg("row %s", routes[i].path);
    }
}
