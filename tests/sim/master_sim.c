/* SPDX-License-Identifier: Apache-2.0 */
/* master_sim.c - runs the whole master through many seeds, or traces one of them.
 *
 *   master_sim [--seeds N] [--first K]   TAP, one line per seed
 *   master_sim --seed K [--trace]        one seed (also: SEED=K in the environment) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tests/sim/master_world.h"

enum { SEEDS = 60 };

struct options {
    uint64_t first;
    uint64_t seeds;
    bool traces;
};

/* A loss of power throws the master's memory away with whatever it was working on: no
 * leak.  Visible, or the sanitizer does not find it. */
__attribute__((visibility("default"))) const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "detect_leaks=0";
}

static bool read_options(int argc, char **argv, struct options *options)
{
    const char *seed = getenv("SEED");

    if (seed)
        *options = (struct options){strtoull(seed, NULL, 10), 1, true};
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;

        if (!strcmp(argv[i], "--trace"))
            options->traces = true;
        else if (!strcmp(argv[i], "--seeds") && has_value)
            options->seeds = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--first") && has_value)
            options->first = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--seed") && has_value)
            *options =
                (struct options){strtoull(argv[++i], NULL, 10), 1, options->traces};
        else
            return false;
    }
    return true;
}

static bool run_seed(uint64_t seed, bool traces, uint64_t nth, int64_t *lived_us)
{
    struct world_result result = {0};
    bool is_fine = world_run(seed, traces, &result);

    *lived_us += result.lived_us;

    printf("%s %" PRIu64 " - seed %" PRIu64 ": %" PRIu64 " calls, %" PRIu32 " lives\n",
           is_fine ? "ok" : "not ok", nth, seed, result.calls, result.lives);
    if (!is_fine)
        printf("# %s\n# SEED=%" PRIu64 " shows it\n", result.why, seed);
    fflush(stdout);
    return is_fine;
}

/* The same seed lives the same life, or no failure could be shown again. */
static bool run_twice(uint64_t seed, uint64_t nth)
{
    struct world_result one = {0}, two = {0};
    bool is_same;

    (void)world_run(seed, false, &one);
    (void)world_run(seed, false, &two);
    is_same = one.hash == two.hash && one.calls == two.calls;
    printf("%s %" PRIu64 " - seed %" PRIu64 " lives the same life twice\n",
           is_same ? "ok" : "not ok", nth, seed);
    return is_same;
}

int main(int argc, char **argv)
{
    struct options options = {.first = 1, .seeds = SEEDS};
    int64_t lived_us = 0;
    int status = 0;

    if (!read_options(argc, argv, &options)) {
        fprintf(stderr, "usage: master_sim [--seeds N] [--first K] [--seed K] "
                        "[--trace]\n");
        return 2;
    }
    log_setup(LOG_ERROR, options.traces ? 2 : -1);
    printf("1..%" PRIu64 "\n", options.seeds + (options.seeds > 1));
    for (uint64_t i = 0; i < options.seeds; i++)
        if (!run_seed(options.first + i, options.traces, i + 1, &lived_us))
            status = 1;
    if (options.seeds > 1 && !run_twice(options.first, options.seeds + 1))
        status = 1;
    printf("# %.1f simulated hours\n", (double)lived_us / 3.6e9);
    return status;
}
