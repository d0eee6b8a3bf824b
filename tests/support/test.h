/* SPDX-License-Identifier: Apache-2.0 */
/* test.h - tests as sentences.
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
 * Tests register themselves; main() comes from tests/support and speaks TAP through
 * cmocka.  EACH_ALLOCATION_FAILS() runs its block again and again with the n-th
 * allocation failing, until none does; `fault_fired()` says whether it struck. */
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
};

void test_register(struct test_case *test);

#define TEST(name_)                                                                    \
    static void test_##name_(void **state);                                            \
    static struct test_case test_case_##name_ = {#name_, test_##name_, NULL};          \
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

/* Pass &test_err where a test wants the sentence of a failure shown. */
extern struct err test_err;

void test_check_has(const char *text, const char *part, const char *file, int line);
bool test_next_allocation(int64_t *nth);
bool fault_fired(void);

#define EACH_ALLOCATION_FAILS()                                                        \
    for (int64_t each_nth = 0; test_next_allocation(&each_nth);)

#endif
