/* SPDX-License-Identifier: Apache-2.0 */
/* test.h - a test is a sentence.
 *
 *   TEST(a_finished_trial_makes_room_for_the_next)
 *   {
 *       arrange;
 *
 *       act;
 *
 *       CHECK_EQ(count, 1);
 *   }
 *
 * Tests register themselves; main() comes from tests/support and prints TAP through
 * cmocka.  A test that cannot run here says so with UNLESS(), and is counted as
 * skipped.
 *
 * EACH_ALLOCATION_FAILS() runs its block repeatedly.  In the n-th run the n-th
 * allocation fails; the loop ends when no allocation has failed.  fault_fired() returns
 * whether the allocation of this run has failed. */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/fault.h"

struct test_case {
    const char *name;
    CMUnitTestFunction run;
    struct test_case *next;
    struct CMUnitTest *line; /* what cmocka knows of it */
    char skipped_name[240];  /* "NAME # SKIP why" */
};

void test_register(struct test_case *test);
void test_skip(const char *why);

#define TEST(name_)                                                                    \
    static void test_##name_(void **state);                                            \
    static struct test_case test_case_##name_ = {.name = #name_, .run = test_##name_}; \
    __attribute__((constructor)) static void test_add_##name_(void)                    \
    {                                                                                  \
        test_register(&test_case_##name_);                                             \
    }                                                                                  \
    static void test_##name_(void **state __attribute__((unused)))

#define CHECK(x) assert_true(x)
#define CHECK_EQ(a, b)                                                                 \
    do {                                                                               \
        int64_t check_a = (int64_t)(a), check_b = (int64_t)(b);                        \
        if (check_a != check_b)                                                        \
            fail_msg("%s is %" PRId64 ", not %s = %" PRId64, #a, check_a, #b,          \
                     check_b);                                                         \
    } while (0)
#define CHECK_STR(a, b) assert_string_equal(a, b)
#define CHECK_NULL(a)   assert_null(a)
#define CHECK_OK(call)                                                                 \
    do {                                                                               \
        det_status check_st = (call);                                                  \
        if (check_st)                                                                  \
            fail_msg("%s: %s: %s", #call, det_status_name(check_st),                   \
                     test_err.status == check_st ? test_err.text : "");                \
    } while (0)
/* The text contains the part. */
#define CHECK_HAS(text, part) test_check_has((text), (part), __FILE__, __LINE__)

/* Leaves the test unless `x` holds.  Only for the body of the test itself: it returns.
 */
#define UNLESS(x, why)                                                                 \
    do {                                                                               \
        if (!(x)) {                                                                    \
            test_skip(why);                                                            \
            return;                                                                    \
        }                                                                              \
    } while (0)

/* Pass &test_err to a function if CHECK_OK() should print its error text. */
extern struct err test_err;

/* Where a test makes its directory: $TMPDIR, else /dev/shm if it has room (a test need
 * not wait for the disk), else /tmp. */
const char *test_tmp_dir(void);

void test_check_has(const char *text, const char *part, const char *file, int line);
bool test_next_allocation(int64_t *nth);
bool fault_fired(void);

#define EACH_ALLOCATION_FAILS()                                                        \
    for (int64_t each_nth = 0; test_next_allocation(&each_nth);)

#endif
