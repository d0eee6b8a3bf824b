/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h - repeats a story; in each run another operation fails.
 *
 * A story arranges a world, calls sweep_begin(), acts, calls sweep_end(), restarts
 * whatever has died and checks that nothing was lost, doubled or left half done.  The
 * sweep first runs it without faults and counts its operations of each kind.  Then, for
 * every way in which an operation can fail and for every n, it runs the story with a
 * failure of the n-th operation.
 *
 *   write    fails, is torn, finds the disk full, is the last before the power goes or
 *            the process dies
 *   sync     fails, is the last
 *   send     does not arrive, arrives twice
 *   receive  is lost, is torn, is the last
 *   memory   is out (SQLite's own allocations count, too)
 *
 * `make test` takes a sample of the n, from a seed that is printed; SWEEP=all takes
 * all. SWEEP_SEED=k takes another sample.  A failure names its story, way and n:
 * SWEEP_ONLY='create/write/torn/17' runs only that one.
 *
 * A failed check of tests/support/test.h also prints the position of the sweep. */
#ifndef TESTS_FAULT_SWEEP_H
#define TESTS_FAULT_SWEEP_H

#include "tests/support/test.h"

struct sweep {
    const char *story;
    enum fault_kind kind;
    enum fault_how how;
    int64_t nth;                /* 0: counts */
    int64_t count[FAULT_KINDS]; /* of the undisturbed run */
    bool has_struck;            /* after sweep_end() */
    bool was_dark;
};

typedef void story_fn(struct sweep *sweep);

/* Bits for the kinds a story has. */
enum {
    SWEEP_FILES = 1 << FAULT_WRITE | 1 << FAULT_SYNC,
    SWEEP_NET = 1 << FAULT_SEND | 1 << FAULT_RECEIVE,
    SWEEP_MEMORY = 1 << FAULT_MEMORY,
};

/* At most `most` runs for each way, unless all are wanted. */
void sweep_run(const char *story, story_fn *tell, unsigned kinds, int64_t most);

void sweep_begin(struct sweep *sweep);
/* Takes notice of what has struck and lets there be light again; may be called more
 * than once. */
void sweep_end(struct sweep *sweep);
/* So far: between begin and end. */
bool sweep_has_struck(const struct sweep *sweep);

/* A plain sentence: one line, no full stop, something in it. */
void sweep_check_sentence(const char *text);

void sweep_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), noreturn));

#undef fail_msg
#define fail_msg(...) sweep_fail(__FILE__, __LINE__, __VA_ARGS__)
#undef CHECK
#define CHECK(x)                                                                       \
    do {                                                                               \
        if (!(x))                                                                      \
            fail_msg("not so: %s", #x);                                                \
    } while (0)
#undef CHECK_STR
#define CHECK_STR(a, b)                                                                \
    do {                                                                               \
        if (strcmp((a), (b)) != 0)                                                     \
            fail_msg("'%s' is not '%s'", (a), (b));                                    \
    } while (0)

#endif
