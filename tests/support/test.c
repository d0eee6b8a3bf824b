/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { TMP_ROOM = 1 << 30 };

struct err test_err;

static struct test_case *first_case;
static size_t case_count;

static struct test_case *current_case;

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

/* cmocka prints the name when the case has ended.  Its own skip() is of no use: that
 * prints "not ok # SKIP", which Meson takes for a failure. */
void test_skip(const char *why)
{
    snprintf(current_case->skipped_name, sizeof(current_case->skipped_name),
             "%s # SKIP %s", current_case->name, why);
    current_case->line->name = current_case->skipped_name;
}

const char *test_tmp_dir(void)
{
    const char *dir = getenv("TMPDIR");
    struct statvfs disk;

    if (dir && *dir)
        return dir;
    if (!statvfs("/dev/shm", &disk) && disk.f_bavail * disk.f_frsize >= TMP_ROOM &&
        access("/dev/shm", W_OK) == 0)
        return "/dev/shm";
    return "/tmp";
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

static void run_case(void **state)
{
    current_case = *state;
    current_case->run(state);
}

/* Refuses arguments: code under test starts "its own program" with arguments.  If they
 * were ignored, these tests would run again, and start it again. */
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
    for (struct test_case *c = first_case; c; c = c->next) {
        c->line = &tests[count++];
        *c->line = (struct CMUnitTest){
            .name = c->name, .test_func = run_case, .initial_state = c};
    }
    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed = _cmocka_run_group_tests("det", tests, count, NULL, NULL);
    free(tests);
    return failed ? 1 : 0;
}
