/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - sums over the reports of a trial's profiler: what `det trial profile` and
 * the page of a trial show, and the cause of lost time that both name.
 *
 * A report is {"<agent>": {"name": number, "<path>": {"name": number}}}.  Each number
 * belongs to a line.  A line keeps the last, the mean and the largest value and a curve,
 * however many reports there are.  Values that are not numbers are ignored.  Timings
 * also keep the total seconds of each kind. */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/buf.h"
#include "base/memory/map.h"
#include "base/memory/vec.h"

struct arena;
struct json;

enum {
    PROFILE_CURVE = 240,      /* the most points of a curve */
    PROFILE_CURVE_SHORT = 48, /* fits into a line of a terminal */
};

/* A curve whose owner sets the most points, an even number.  Each point is the mean of
 * `span` values and of their times.  When the curve is full, pairs of points become one
 * and `span` doubles. */
struct profile_curve {
    double point[PROFILE_CURVE];
    double time_s[PROFILE_CURVE];
    uint32_t count;
    uint64_t span;
    double sum; /* of the next point */
    double time_sum;
    uint64_t in_sum;
};
void profile_curve_add(struct profile_curve *curve, uint32_t most, double value,
                       double time_s);

struct profile_line {
    const char *agent;
    const char *group;
    const char *name; /* "disk_iops", "GPU-1.gpu_util"; for timings the kind */
    uint64_t count;
    double last;
    double max;
    double sum;
    double seconds; /* timings: total, and how often */
    uint64_t events;
    struct profile_curve curve;
};

struct profile {
    struct arena *mem;
    struct map by_key;
    VEC(struct profile_line *) lines;
    struct map seconds;    /* by agent: the total of its timings, a double */
    struct buf key;        /* scratch: the key of a line */
    uint32_t curve_points; /* 0: PROFILE_CURVE_SHORT */
};

/* Borrows the arena. */
#define PROFILE_INIT(arena)                                                            \
    {                                                                                  \
        .mem = (arena), .key = BUF_INIT                                                \
    }

void profile_done(struct profile *profile);

/* The groups of a profiler's reports, in the order of display; ends with NULL. */
extern const char *const profile_groups[];
/* Whether a value of a group comes from the profiler and is not a metric. */
bool profile_is_report(const char *group, const struct json *value);

/* Copies what it keeps into the profile's arena.  `time_s` is when it was reported (0 if
 * the caller does not need curves).  DET_NOMEM is the only failure. */
det_status profile_add(struct profile *profile, const char *group,
                       const struct json *report, double time_s, struct err *err);
/* The same for the load of an agent's machine as its supervisors measure it: {"cpu":
 * {"cpu_util_simple": 2.5}, ...}. */
det_status profile_add_load(struct profile *profile, const char *agent,
                            const struct json *load, double time_s, struct err *err);
/* Whether there is a line about the agent's machine, not only timings. */
bool profile_has_load(const struct profile *profile, const char *agent);
/* By agent, group and name. */
void profile_sort(struct profile *profile);
/* How many seconds the timings of an agent cover; 0: it has none. */
double profile_seconds(const struct profile *profile, const char *agent);

/* Why an agent lost time, as a sentence without a full stop. */
struct profile_cause {
    const char *kind; /* "data", "checkpoint", ..., "other"; "step": no cause found;
                         "": no timings */
    bool is_trouble;
    double share; /* of the time; 0 .. 1 */
    char text[160];
};
/* Of the kinds that take more time than usual, the one that takes most. */
void profile_find_cause(const struct profile *profile, const char *agent,
                        struct profile_cause *ret_cause);

#endif
