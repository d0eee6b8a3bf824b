/* SPDX-License-Identifier: Apache-2.0 */
/* time.c - times as RFC 3339 text.
 *
 * Days are counted in years that begin in March: the leap day comes last, and the
 * months before it have a regular pattern.  Eras of 400 years repeat exactly. */
#include "data/time.h"

#include <string.h>

#include "base/compiler.h"

#define US_PER_S   INT64_C(1000000)
#define S_PER_DAY  INT64_C(86400)
#define ERA_DAYS   INT64_C(146097)
#define EPOCH_DAYS INT64_C(719468) /* from 0000-03-01 to 1970-01-01 */
/* 0000-01-01 and 9999-12-31T23:59:59.999999, the first and last times with a text. */
#define TIME_FIRST_US (INT64_C(-62167219200) * US_PER_S)
#define TIME_LAST_US  (INT64_C(253402300800) * US_PER_S - 1)

struct civil {
    int64_t year;
    int64_t month;
    int64_t day;
};

static int64_t days_of(struct civil c)
{
    int64_t year = c.month <= 2 ? c.year - 1 : c.year;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t month = c.month > 2 ? c.month - 3 : c.month + 9;
    int64_t day_of_year = (153 * month + 2) / 5 + c.day - 1;
    int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * ERA_DAYS + day_of_era - EPOCH_DAYS;
}

static struct civil civil_of(int64_t days)
{
    int64_t day = days + EPOCH_DAYS;
    int64_t era = (day >= 0 ? day : day - (ERA_DAYS - 1)) / ERA_DAYS;
    int64_t day_of_era = day - era * ERA_DAYS;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
                           day_of_era / (ERA_DAYS - 1)) /
                          365;
    int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct civil c = {
        .year = year_of_era + era * 400 + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = day_of_year - (153 * month + 2) / 5 + 1,
    };

    return c;
}

static char *put_digits(char *to, int64_t value, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        to[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return to + count;
}

void time_format(int64_t wall_us, char text[TIME_TEXT])
{
    int64_t us = MIN(MAX(wall_us, TIME_FIRST_US), TIME_LAST_US) - TIME_FIRST_US;
    int64_t seconds = us / US_PER_S;
    struct civil c =
        civil_of(seconds / S_PER_DAY + TIME_FIRST_US / US_PER_S / S_PER_DAY);
    int64_t second = seconds % S_PER_DAY;
    char *to = put_digits(text, c.year, 4);

    *to++ = '-';
    to = put_digits(to, c.month, 2);
    *to++ = '-';
    to = put_digits(to, c.day, 2);
    *to++ = 'T';
    to = put_digits(to, second / 3600, 2);
    *to++ = ':';
    to = put_digits(to, second / 60 % 60, 2);
    *to++ = ':';
    to = put_digits(to, second % 60, 2);
    *to++ = '.';
    to = put_digits(to, us % US_PER_S, 6);
    *to++ = 'Z';
    *to = '\0';
}

/* Takes exactly `count` digits of `*at`, with a value from `least` to `most`. */
static bool take_digits(const char **at, int count, int64_t least, int64_t most,
                        int64_t *ret_value)
{
    int64_t value = 0;

    for (int i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        value = value * 10 + (**at - '0');
    }
    *ret_value = value;
    return value >= least && value <= most;
}

static bool take_char(const char **at, const char *any_of)
{
    if (!**at || !strchr(any_of, **at))
        return false;
    (*at)++;
    return true;
}

static bool take_date(const char **at, struct civil *c)
{
    static const char month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap;

    if (!take_digits(at, 4, 0, 9999, &c->year) || !take_char(at, "-") ||
        !take_digits(at, 2, 1, 12, &c->month) || !take_char(at, "-") ||
        !take_digits(at, 2, 1, 31, &c->day))
        return false;
    is_leap = c->year % 4 == 0 && (c->year % 100 != 0 || c->year % 400 == 0);
    return c->day <= month_days[c->month - 1] + (is_leap && c->month == 2);
}

/* Microseconds of the fraction; further digits are dropped. */
static bool take_fraction(const char **at, int64_t *ret_us)
{
    int64_t unit = US_PER_S / 10;

    *ret_us = 0;
    if (!take_char(at, "."))
        return true;
    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; (*at)++, unit /= 10)
        *ret_us += (**at - '0') * unit;
    return true;
}

static bool take_offset(const char **at, int64_t *ret_seconds)
{
    int64_t sign = **at == '-' ? -1 : 1;
    int64_t hour;
    int64_t minute;

    *ret_seconds = 0;
    if (take_char(at, "Zz"))
        return true;
    if (!take_char(at, "+-") || !take_digits(at, 2, 0, 23, &hour) ||
        !take_char(at, ":") || !take_digits(at, 2, 0, 59, &minute))
        return false;
    *ret_seconds = sign * (hour * 3600 + minute * 60);
    return true;
}

bool time_parse(const char *text, int64_t *ret_wall_us)
{
    struct civil c;
    int64_t hour;
    int64_t minute;
    int64_t second;
    int64_t fraction_us;
    int64_t offset;

    /* 60 is a leap second: it reads as the second that follows. */
    if (!take_date(&text, &c) || !take_char(&text, "Tt ") ||
        !take_digits(&text, 2, 0, 23, &hour) || !take_char(&text, ":") ||
        !take_digits(&text, 2, 0, 59, &minute) || !take_char(&text, ":") ||
        !take_digits(&text, 2, 0, 60, &second) || !take_fraction(&text, &fraction_us) ||
        !take_offset(&text, &offset) || *text)
        return false;
    second += days_of(c) * S_PER_DAY + hour * 3600 + minute * 60 - offset;
    *ret_wall_us = second * US_PER_S + fraction_us;
    return true;
}
