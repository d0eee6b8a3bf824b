/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

#include "base/compiler.h"

static int64_t read_us(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t system_wall_us(const struct clock *clock UNUSED)
{
    return read_us(CLOCK_REALTIME);
}

static int64_t system_mono_us(const struct clock *clock UNUSED)
{
    return read_us(CLOCK_MONOTONIC);
}

static void system_pause(const struct clock *clock UNUSED, int64_t us)
{
    struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

const struct clock clock_system = {system_wall_us, system_mono_us, system_pause};

static int64_t manual_wall_us(const struct clock *clock)
{
    return CONTAINER_OF(clock, struct clock_manual, clock)->wall_us;
}

static int64_t manual_mono_us(const struct clock *clock)
{
    return CONTAINER_OF(clock, struct clock_manual, clock)->mono_us;
}

static void manual_pause(const struct clock *clock, int64_t us)
{
    struct clock_manual *manual =
        CONTAINER_OF((struct clock *)(uintptr_t)clock, struct clock_manual, clock);

    clock_manual_advance(manual, us);
}

/* Monotonic time starts at 1: a due time of 0 often means "none". */
void clock_manual_init(struct clock_manual *manual, int64_t wall_us)
{
    *manual =
        (struct clock_manual){.clock = {manual_wall_us, manual_mono_us, manual_pause},
                              .wall_us = wall_us,
                              .mono_us = 1};
}

void clock_manual_advance(struct clock_manual *manual, int64_t by_us)
{
    manual->wall_us += by_us;
    manual->mono_us += by_us;
}
