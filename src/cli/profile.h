/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - reports of a trial's profiler, added up: what `det trial profile` shows.
 *
 * A report is {"<agent>": {"name": number, "<path>": {"name": number}}}; each number is
 * a line, of which the last, the mean, the largest value and a curve are kept, however
 * many reports there are.  What is no number is passed over.  Of timings the seconds of
 * each kind add up as well. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

struct arena;
struct json;

enum { PROFILE_CURVE = 48 };

/* A curve of at most PROFILE_CURVE points, each the mean of `span` values; where there
 * are more, two become one. */
struct profile_curve {
    double point[PROFILE_CURVE];
    uint32_t count;
    uint64_t span;
    double sum; /* of the point that is being made */
    uint64_t in_sum;
};
void profile_curve_add(struct profile_curve *curve, double value);

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
    struct map seconds; /* of an agent's timings: a double */
    struct buf key;     /* of the line looked for last */
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

/* Copies what it keeps into the profile's arena.  DET_NOMEM is the only failure. */
det_status profile_add(struct profile *profile, const char *group,
                       const struct json *report, struct err *err);
/* By agent, group and name. */
void profile_sort(struct profile *profile);
/* How long an agent's timings cover; 0: there are none. */
double profile_seconds(const struct profile *profile, const char *agent);

#endif
