/* SPDX-License-Identifier: Apache-2.0 */
/* duration.h - durations as Go writes them: "720h", "1h30m", "1.5s". */
#ifndef DATA_DURATION_H
#define DATA_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* Units: h, m, s, ms, us, ns; "0" needs none.  False for anything else, also for a negative
 * duration and for one that is too long for the result. */
bool duration_parse(const char *text, int64_t *ret_us);

#endif
