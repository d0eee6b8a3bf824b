/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "data/number.h"

bool parse_i64(const char *text, int64_t *ret_value)
{
    return number_to_i64(text, strlen(text), ret_value);
}

bool parse_real(const char *text, double *ret_value)
{
    return number_to_real(text, strlen(text), ret_value);
}

/* The power of 1024 that a unit stands for, or -1. */
static int power_of(const char *unit)
{
    static const char letters[] = "kmgtpe";
    const char *at = *unit ? strchr(letters, tolower((unsigned char)*unit)) : NULL;
    int power = 0;

    if (at) {
        power = (int)(at - letters) + 1;
        unit++;
        if (*unit == 'i' || *unit == 'I')
            unit++;
    }
    if (*unit == 'b' || *unit == 'B')
        unit++;
    return *unit ? -1 : power;
}

bool parse_size(const char *text, uint64_t *ret_bytes)
{
    size_t len = strspn(text, "0123456789.");
    const char *unit = text + len + (text[len] == ' ');
    int power = power_of(unit);
    int64_t whole;
    double number;

    if (power < 0 || text[0] == '.')
        return false;
    /* Whole numbers keep all their digits; fractions are rounded down to a byte. */
    if (number_to_i64(text, len, &whole)) {
        uint64_t bytes = (uint64_t)whole << (10 * power);

        if (bytes >> (10 * power) != (uint64_t)whole)
            return false;
        *ret_bytes = bytes;
        return true;
    }
    if (!number_to_real(text, len, &number))
        return false;
    number = ldexp(number, 10 * power);
    if (number >= 0x1p64)
        return false;
    *ret_bytes = (uint64_t)number;
    return true;
}

void size_format(uint64_t bytes, char text[16])
{
    static const char units[] = "KMGTPE";
    double value = (double)bytes / 1024;
    size_t unit = 0;
    unsigned long tenths;

    if (bytes < 1024) {
        snprintf(text, 16, "%uB", (unsigned)bytes);
        return;
    }
    /* A value that would print as 1024.0 belongs to the next unit. */
    while (value >= 1023.95 && units[unit + 1]) {
        value /= 1024;
        unit++;
    }
    tenths = (unsigned long)(value * 10 + 0.5);
    snprintf(text, 16, "%lu.%lu%cB", tenths / 10, tenths % 10, units[unit]);
}

enum { WORD_MOST = 64 };

static char lower_letter(char c)
{
    return (char)tolower((unsigned char)c);
}

/* The number of edits that make `a` from `b`: insert, drop or replace a letter, swap
 * two neighbours.  Ignores case.  Both are at most WORD_MOST long. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned rows[3][WORD_MOST + 1];
    unsigned *before = rows[0]; /* two rows up */
    unsigned *above = rows[1];
    unsigned *row = rows[2];
    size_t width = strlen(b);

    for (unsigned j = 0; j <= width; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned *spare = before;

        before = above;
        above = row;
        row = spare;
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            bool differs = lower_letter(a[i - 1]) != lower_letter(b[j - 1]);
            unsigned edits = MIN(above[j], row[j - 1]) + 1;

            row[j] = MIN(edits, above[j - 1] + differs);
            if (i > 1 && j > 1 && lower_letter(a[i - 1]) == lower_letter(b[j - 2]) &&
                lower_letter(a[i - 2]) == lower_letter(b[j - 1]))
                row[j] = MIN(row[j], before[j - 2] + 1);
        }
    }
    return row[width];
}

const char *nearest_word(const char *word, const char *const *candidates)
{
    size_t len = strlen(word);
    /* One error per three letters, but at least one and at most four. */
    unsigned most = (unsigned)MIN(MAX(len / 3, (size_t)1), (size_t)4);
    const char *nearest = NULL;

    if (len < 2 || len > WORD_MOST)
        return NULL;
    for (; *candidates; candidates++) {
        unsigned edits;

        if (strlen(*candidates) > WORD_MOST)
            continue;
        edits = edit_distance(word, *candidates);
        /* The first of several that are equally near. */
        if (edits > most || (nearest && edits == most))
            continue;
        nearest = *candidates;
        most = edits;
    }
    return nearest;
}

bool path_is_inside(const char *path)
{
    if (!path || !*path || *path == '/')
        return false;
    while (*path) {
        size_t len = strcspn(path, "/");

        if (len == 2 && path[0] == '.' && path[1] == '.')
            return false;
        path += len;
        path += *path == '/';
    }
    return true;
}

const char *path_under(const char *path, const char *root)
{
    size_t len = strlen(root);

    if (*path != '/' || *root != '/')
        return NULL;
    while (len && root[len - 1] == '/')
        len--;
    if (strncmp(path, root, len) != 0 || (path[len] && path[len] != '/'))
        return NULL;
    path += len;
    path += strspn(path, "/");
    return !*path || path_is_inside(path) ? path : NULL;
}
