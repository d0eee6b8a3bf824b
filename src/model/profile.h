/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - reports of a trial's profiler, added up: what `det trial profile` and the
 * page of a trial show, and the cause of time lost that both name.
 *
 * A report is {"<agent>": {"name": number, "<path>": {"name": number}}}; each number is
 * a line, of which the last, the mean, the largest value and a curve are kept, however
 * many reports there are.  What is no number is passed over.  Of timings the seconds of
 * each kind add up as well. */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

struct arena;
struct json;

enum {
    PROFILE_CURVE = 240,      /* the most there is room for */
    PROFILE_CURVE_SHORT = 48, /* what fits into a line of a terminal */
};

/* A curve of at most so many points as its owner says, an even number; each is the mean
 * of `span` values and of the times they are of; where there are more, two become one.
 */
struct profile_curve {
    double point[PROFILE_CURVE];
    double time_s[PROFILE_CURVE];
    uint32_t count;
    uint64_t span;
    double sum; /* of the point that is being made */
    double time_sum;
    uint64_t in_sum;
};
void profile_curve_add(struct profile_curve *curve, uint32_t most, double value,
                       double time_s);

struct profile_line {
    const char *agent;
    const char *group;
    const char *name; /* "disk_iops", "GPU-1.gpu_util"; of timings the kind */
    uint64_t count;
    double last;
    double max;
    double sum;
    double seconds; /* of timings: all of them, and how often */
    uint64_t events;
    struct profile_curve curve;
};

struct profile {
    struct arena *mem;
    struct map by_key;
    VEC(struct profile_line *) lines;
    struct map seconds;    /* of an agent's timings: a double */
    struct buf key;        /* of the line looked for last */
    uint32_t curve_points; /* 0: PROFILE_CURVE_SHORT */
};

/* Borrows the arena. */
#define PROFILE_INIT(arena)                                                            \
    {                                                                                  \
        .mem = (arena), .key = BUF_INIT                                                \
    }

void profile_done(struct profile *profile);

/* The groups of a profiler's reports, in the order they are shown in; ends with NULL.
 */
extern const char *const profile_groups[];
/* Whether a value of a group is a profiler's: an agent's numbers, and no metric. */
bool profile_is_report(const char *group, const struct json *value);

/* Copies what it keeps into the profile's arena.  `time_s` is when it was reported (0
 * where nobody asks).  DET_NOMEM is the only failure. */
det_status profile_add(struct profile *profile, const char *group,
                       const struct json *report, double time_s, struct err *err);
/* By agent, group and name. */
void profile_sort(struct profile *profile);
/* How long an agent's timings cover; 0: there are none. */
double profile_seconds(const struct profile *profile, const char *agent);

/* Why an agent's time was lost, in a sentence without its full stop. */
struct profile_cause {
    const char *kind; /* "data", "checkpoint", ..., "other"; "step": nothing stands out;
                         "": there are no timings */
    bool is_trouble;
    double share; /* of the time; 0 .. 1 */
    char text[160];
};
/* Of the kinds that take more of the time than is usual the one that takes most. */
void profile_find_cause(const struct profile *profile, const char *agent,
                        struct profile_cause *ret_cause);

#endif
