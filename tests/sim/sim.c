/* SPDX-License-Identifier: Apache-2.0 */
/* sim.c - simulates many seeds, or traces one of them; or measures the core.
 *
 *   sim [--seeds N] [--first K]   TAP, one line for every hundred seeds
 *   sim --seed K [--trace]        one seed (also: SEED=K in the environment)
 *   sim --bench                   events per second with few and with many trials */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/bench.h"
#include "tests/sim/world.h"

enum { SEEDS = 2000, GROUP = 100 };

struct options {
    uint64_t first;
    uint64_t seeds;
    bool traces;
    bool benches;
};

static int usage(void)
{
    fprintf(stderr,
            "usage: sim [--seeds N] [--first K] [--seed K] [--trace] [--bench]\n");
    return 2;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    const char *seed = getenv("SEED");

    if (seed) {
        options->first = strtoull(seed, NULL, 10);
        options->seeds = 1;
        options->traces = true;
    }
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;

        if (!strcmp(argv[i], "--trace"))
            options->traces = true;
        else if (!strcmp(argv[i], "--bench"))
            options->benches = true;
        else if (!strcmp(argv[i], "--seeds") && has_value)
            options->seeds = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--first") && has_value)
            options->first = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--seed") && has_value) {
            options->first = strtoull(argv[++i], NULL, 10);
            options->seeds = 1;
        } else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options options = {.first = 1, .seeds = SEEDS};
    uint64_t groups, events = 0, crashes = 0;
    int64_t lived_us = 0;
    int status = 0;

    if (!read_options(argc, argv, &options))
        return usage();
    if (options.benches)
        return bench_run();
    groups = (options.seeds + GROUP - 1) / GROUP;
    printf("1..%" PRIu64 "\n", groups);
    for (uint64_t g = 0; g < groups; g++) {
        uint64_t from = options.first + g * GROUP;
        uint64_t to = options.first + options.seeds;
        bool is_fine = true;

        if (to > from + GROUP)
            to = from + GROUP;
        for (uint64_t seed = from; seed < to && is_fine; seed++) {
            struct world_result result;

            is_fine = world_run(seed, options.traces, &result);
            events += result.events;
            crashes += result.crashes;
            lived_us += result.lived_us;
            if (!is_fine)
                printf("not ok %" PRIu64 " - seed %" PRIu64 ": %s\n# SEED=%" PRIu64
                       " shows it\n",
                       g + 1, seed, result.why, seed);
        }
        if (is_fine)
            printf("ok %" PRIu64 " - seeds %" PRIu64 "..%" PRIu64 "\n", g + 1, from,
                   to - 1);
        else
            status = 1;
        fflush(stdout);
    }
    printf("# %" PRIu64 " events, %" PRIu64 " restarts of the master, %.0f simulated "
           "hours\n",
           events, crashes, (double)lived_us / 3.6e9);
    return status;
}
