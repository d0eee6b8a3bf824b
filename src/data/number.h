/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - decimals and doubles, independent of the locale (libdet runs inside
 * programs that may have set one with a decimal comma). */
#ifndef DATA_NUMBER_H
#define DATA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whole text: [-+]digits.  False for any other text, and when it does not fit. */
bool number_to_i64(const char *text, size_t len, int64_t *ret_value);

/* Whole text: [-+]digits[.digits][e[-+]digits], with digits on at least one side of
 * the point.  Gives the nearest double.  False for any other text, and when out of
 * range. */
bool number_to_real(const char *text, size_t len, double *ret_value);

/* The fewest digits that read back as `value`, which is finite and above 0; at most
 * 17, no zero at either end, no NUL.  The value is 0.DIGITS times 10 to *ret_point.
 * Returns their number. */
enum { NUMBER_DIGITS = 17 };
size_t number_digits(double value, char digits[NUMBER_DIGITS], int *ret_point);

/* Puts the decimal digits of `value` at the end of `text`; returns where they begin. */
enum { NUMBER_I64_TEXT = 20 };
const char *number_from_i64(int64_t value, char text[NUMBER_I64_TEXT]);

#endif
