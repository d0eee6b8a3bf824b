/* SPDX-License-Identifier: Apache-2.0 */
#include "data/duration.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    double us;
} units[] = {
    {"ns", 0.001}, {"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"m", 60e6}, {"h", 3600e6},
};

/* Moves *at behind a number such as "1.5"; false if there is none. */
static bool read_number(const char **at, double *ret_value)
{
    const char *p = *at;
    double value = 0;
    double place = 1;
    bool has_digits = false;

    for (; isdigit((unsigned char)*p); p++, has_digits = true)
        value = value * 10 + (*p - '0');
    if (*p == '.')
        for (p++; isdigit((unsigned char)*p); p++, has_digits = true) {
            place /= 10;
            value += place * (*p - '0');
        }
    *at = p;
    *ret_value = value;
    return has_digits;
}

static bool read_unit(const char **at, double *ret_us)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t len = strlen(units[i].name);
        char after = '\0';

        if (strncmp(*at, units[i].name, len))
            continue;
        after = (*at)[len];
        if (after && !isdigit((unsigned char)after) && after != '.')
            continue; /* "m" of "ms" */
        *at += len;
        *ret_us = units[i].us;
        return true;
    }
    return false;
}

bool duration_parse(const char *text, int64_t *ret_us)
{
    const double most = 9e18;
    double sum = 0;

    if (!strcmp(text, "0")) {
        *ret_us = 0;
        return true;
    }
    if (!*text)
        return false;
    while (*text) {
        double number;
        double us;

        if (!read_number(&text, &number) || !read_unit(&text, &us))
            return false;
        sum += number * us;
        if (!(sum < most))
            return false;
    }
    *ret_us = (int64_t)sum;
    return true;
}
