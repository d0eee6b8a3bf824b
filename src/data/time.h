/* SPDX-License-Identifier: Apache-2.0 */
/* time.h - times as text. */
#ifndef DATA_TIME_H
#define DATA_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* "2022-03-02T02:15:18.299569Z"; TIME_TEXT bytes with the NUL. */
enum { TIME_TEXT = 28 };
void time_format(int64_t wall_us, char text[TIME_TEXT]);
/* RFC 3339, with Z or an offset, with or without a fraction. */
bool time_parse(const char *text, int64_t *ret_wall_us);

#endif
