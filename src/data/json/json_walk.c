/* SPDX-License-Identifier: Apache-2.0 */
#include "data/json/json_walk.h"

static void skip_blanks(struct json_walk *walk)
{
    while (walk->at < walk->end && (*walk->at == ' ' || *walk->at == '\n' ||
                                    *walk->at == '\t' || *walk->at == '\r'))
        walk->at++;
}

static bool take_char(struct json_walk *walk, char c)
{
    skip_blanks(walk);
    if (walk->at >= walk->end || *walk->at != c)
        return false;
    walk->at++;
    return true;
}

/* From its opening quote to behind its closing one. */
static bool skip_string(struct json_walk *walk)
{
    for (walk->at++; walk->at < walk->end; walk->at++) {
        if (*walk->at == '"') {
            walk->at++;
            return true;
        }
        if (*walk->at == '\\')
            walk->at++;
    }
    return false;
}

/* To the end of a list or an object: brackets are counted, not paired. */
static bool skip_nested(struct json_walk *walk)
{
    size_t depth = 0;

    while (walk->at < walk->end) {
        char c = *walk->at;

        if (c == '"') {
            if (!skip_string(walk))
                return false;
            continue;
        }
        walk->at++;
        if (c == '[' || c == '{')
            depth++;
        else if ((c == ']' || c == '}') && --depth == 0)
            return true;
    }
    return false;
}

static bool skip_value(struct json_walk *walk)
{
    const char *from = walk->at;

    if (walk->at >= walk->end)
        return false;
    if (*walk->at == '"')
        return skip_string(walk);
    if (*walk->at == '[' || *walk->at == '{')
        return skip_nested(walk);
    while (walk->at < walk->end && *walk->at != ',' && *walk->at != '}' &&
           *walk->at != ' ' && *walk->at != '\n' && *walk->at != '\t' &&
           *walk->at != '\r')
        walk->at++;
    return walk->at > from;
}

struct json_walk json_walk_begin(const char *text, size_t len)
{
    struct json_walk walk = {.at = text, .end = text + len, .is_first = true};

    walk.is_broken = !take_char(&walk, '{');
    return walk;
}

bool json_walk_next(struct json_walk *walk, struct json_part *ret_part)
{
    struct json_part part = {0};

    if (walk->is_broken || take_char(walk, '}'))
        return false;
    walk->is_broken = true; /* until the member is complete */
    if (!walk->is_first && !take_char(walk, ','))
        return false;
    skip_blanks(walk);
    part.key = walk->at + 1;
    if (walk->at >= walk->end || *walk->at != '"' || !skip_string(walk))
        return false;
    part.key_len = (size_t)(walk->at - 1 - part.key);
    if (!take_char(walk, ':'))
        return false;
    skip_blanks(walk);
    part.value = walk->at;
    if (!skip_value(walk))
        return false;
    part.value_len = (size_t)(walk->at - part.value);
    walk->is_broken = walk->is_first = false;
    *ret_part = part;
    return true;
}
