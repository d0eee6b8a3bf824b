/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/sweep.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"

struct way {
    enum fault_kind kind;
    enum fault_how how;
    const char *name;
};

static const struct way ways[] = {
    {FAULT_WRITE, FAULT_FAILS, "write/fails"},
    {FAULT_WRITE, FAULT_TORN, "write/torn"},
    {FAULT_WRITE, FAULT_FULL, "write/full"},
    {FAULT_WRITE, FAULT_POWER, "write/power"},
    {FAULT_WRITE, FAULT_DEATH, "write/death"},
    {FAULT_SYNC, FAULT_FAILS, "sync/fails"},
    {FAULT_SYNC, FAULT_FULL, "sync/full"},
    {FAULT_SYNC, FAULT_POWER, "sync/power"},
    {FAULT_SYNC, FAULT_DEATH, "sync/death"},
    {FAULT_SEND, FAULT_FAILS, "send/fails"},
    {FAULT_SEND, FAULT_TWICE, "send/twice"},
    {FAULT_RECEIVE, FAULT_FAILS, "receive/fails"},
    {FAULT_RECEIVE, FAULT_TORN, "receive/torn"},
    {FAULT_RECEIVE, FAULT_DEATH, "receive/death"},
    {FAULT_MEMORY, FAULT_FAILS, "memory/fails"},
};

/* Where the sweep stands, for failures; tests have one thread. */
static const struct sweep *current;
static const char *current_way;

/* A process that loses power frees nothing; that is not a leak.  Weak: only some builds
 * have the leak sanitizer. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

void sweep_fail(const char *file, int line, const char *fmt, ...)
{
    va_list args;

    fault_light();
    if (current)
        print_error("SWEEP_ONLY='%s/%s/%" PRId64 "': ", current->story, current_way,
                    current->nth);
    va_start(args, fmt);
    vprint_error(fmt, args);
    va_end(args);
    print_error("\n");
    _fail(file, line);
    abort();
}

void sweep_check_sentence(const char *text)
{
    size_t len = strlen(text);

    if (!len || strchr(text, '\n') || text[len - 1] == '.' ||
        (isupper((unsigned char)text[0]) && islower((unsigned char)text[1])))
        fail_msg("'%s' is no plain sentence", text);
}

void sweep_begin(struct sweep *sweep)
{
    sweep->has_struck = sweep->was_dark = false;
    for (int i = 0; sweep->nth == 0 && i < FAULT_KINDS; i++)
        fault_count((enum fault_kind)i);
    if (sweep->nth)
        fault_arm_as(sweep->kind, sweep->nth, sweep->how);
}

bool sweep_has_struck(const struct sweep *sweep)
{
    return sweep->has_struck || (sweep->nth && fault_state.fired[sweep->kind]);
}

void sweep_end(struct sweep *sweep)
{
    for (int i = 0; sweep->nth == 0 && i < FAULT_KINDS; i++)
        if (fault_state.left[i])
            sweep->count[i] = fault_counted((enum fault_kind)i);
    sweep->has_struck = sweep_has_struck(sweep);
    if (fault_light())
        sweep->was_dark = true;
}

static int64_t number_from(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

static void tell_one(struct sweep *sweep, story_fn *tell, const struct way *way,
                     int64_t nth)
{
    bool is_end = way->how == FAULT_POWER || way->how == FAULT_DEATH ||
                  way->kind == FAULT_SYNC; /* a store that ends its process */

    sweep->kind = way->kind;
    sweep->how = way->how;
    sweep->nth = nth;
    current = sweep;
    current_way = way->name;
    if (is_end && __lsan_disable)
        __lsan_disable();
    tell(sweep);
    fault_light();
    if (is_end && __lsan_enable)
        __lsan_enable();
    current = NULL;
}

/* Takes one n from each of equal ranges: the sample covers the whole story. */
static int64_t tell_way(struct sweep *sweep, story_fn *tell, const struct way *way,
                        int64_t most)
{
    int64_t count = sweep->count[way->kind];
    int64_t runs = MIN(count, most);
    struct rng64 rng = {.state = (uint64_t)number_from("SWEEP_SEED", 1)};
    int64_t struck = 0;

    for (int64_t i = number_from("SWEEP_FROM", 0); i < runs; i++) {
        int64_t from = count * i / runs;
        int64_t to = count * (i + 1) / runs;

        tell_one(sweep, tell, way,
                 1 + from + (int64_t)rng64_below(&rng, (uint64_t)(to - from)));
        struck += sweep->has_struck;
    }
    if (count)
        print_message("# %-12s %-14s %8" PRId64 " operations %6" PRId64
                      " runs %6" PRId64 " struck\n",
                      sweep->story, way->name, count, runs, struck);
    return runs;
}

static bool tell_only(struct sweep *sweep, story_fn *tell, const char *only)
{
    size_t len = strlen(sweep->story);

    if (!only || strncmp(only, sweep->story, len) != 0 || only[len] != '/')
        return false;
    only += len + 1;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        size_t name = strlen(ways[i].name);

        if (!strncmp(only, ways[i].name, name) && only[name] == '/')
            tell_one(sweep, tell, &ways[i], strtoll(only + name + 1, NULL, 10));
    }
    return true;
}

void sweep_run(const char *story, story_fn *tell, unsigned kinds, int64_t most)
{
    static const struct way none = {FAULT_MEMORY, FAULT_FAILS, "nothing"};
    const char *how_many = getenv("SWEEP");
    const char *only = getenv("SWEEP_ONLY");
    struct sweep sweep = {.story = story};
    int64_t runs = 0;

    if (how_many && !strcmp(how_many, "all"))
        most = INT64_MAX;
    if (only) {
        (void)tell_only(&sweep, tell, only);
        return;
    }
    tell_one(&sweep, tell, &none, 0);
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        if (kinds & 1u << ways[i].kind)
            runs += tell_way(&sweep, tell, &ways[i], most);
    print_message("# %s: %" PRId64 " faults, seed %" PRId64 "\n", story, runs,
                  number_from("SWEEP_SEED", 1));
}
