/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the time; all code reads the clock through this seam.
 *
 * `wall` is the time of day, for people.  `mono` never jumps, for deadlines.  Both are
 * in microseconds.  Simulations pass a clock that they move. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct clock {
    int64_t (*wall_us)(const struct clock *clock);
    int64_t (*mono_us)(const struct clock *clock);
    void (*pause)(const struct clock *clock, int64_t us); /* NULL: does not wait */
};

extern const struct clock clock_system;

/* A clock that stands still until it is moved. */
struct clock_manual {
    struct clock clock;
    int64_t wall_us;
    int64_t mono_us;
};

void clock_manual_init(struct clock_manual *manual, int64_t wall_us);
void clock_manual_advance(struct clock_manual *manual, int64_t by_us);

static inline int64_t clock_wall_us(const struct clock *clock)
{
    return clock->wall_us(clock);
}

static inline int64_t clock_mono_us(const struct clock *clock)
{
    return clock->mono_us(clock);
}

/* The calling thread sleeps for so long; a manual clock moves on instead. */
static inline void clock_pause(const struct clock *clock, int64_t us)
{
    if (clock->pause && us > 0)
        clock->pause(clock, us);
}

#endif
