/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct err test_err;

static struct test_case *first_case;
static size_t case_count;

void test_register(struct test_case *test)
{
    struct test_case **at = &first_case;

    while (*at)
        at = &(*at)->next;
    *at = test;
    case_count++;
}

void test_check_has(const char *text, const char *part, const char *file, int line)
{
    if (!text || !strstr(text, part)) {
        print_error("%s:%d: '%s' does not contain '%s'\n", file, line,
                    text ? text : "(null)", part);
        _fail(file, line);
    }
}

bool fault_fired(void)
{
    return fault_state.fired[FAULT_MEMORY];
}

bool test_next_allocation(int64_t *nth)
{
    if (*nth > 0 && !fault_disarm(FAULT_MEMORY))
        return false;
    fault_arm(FAULT_MEMORY, ++*nth);
    return true;
}

/* It takes no arguments, and must not: code under test starts "its own program" with
 * words that, not understood, would run these tests again, which start it again. */
int main(int argc, char **argv)
{
    struct CMUnitTest *tests = calloc(case_count, sizeof(*tests));
    size_t count = 0;
    int failed;

    if (argc > 1)
        fprintf(stderr, "%s: a test takes no arguments, and '%s' is one\n", argv[0],
                argv[1]);
    if (!tests || argc > 1)
        return 99;
    for (struct test_case *c = first_case; c; c = c->next)
        tests[count++] = (struct CMUnitTest){.name = c->name, .test_func = c->run};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed = _cmocka_run_group_tests("det", tests, count, NULL, NULL);
    free(tests);
    return failed ? 1 : 0;
}
