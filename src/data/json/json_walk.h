/* SPDX-License-Identifier: Apache-2.0 */
/* json_walk.h - the members of an object as parts of its text, without a tree.
 *
 * For objects that we wrote ourselves and only pass on: numbers are neither read nor
 * written again.  A text that is not well-formed ends the walk and sets is_broken;
 * nothing outside the text is touched.
 *
 *   struct json_walk walk = json_walk_begin(text, len);
 *   struct json_part part;
 *   while (json_walk_next(&walk, &part))
 *       use(part.key, part.key_len, part.value, part.value_len); */
#ifndef DATA_JSON_JSON_WALK_H
#define DATA_JSON_JSON_WALK_H

#include <stdbool.h>
#include <stddef.h>

struct json_walk {
    const char *at;
    const char *end;
    bool is_first;
    bool is_broken;
};

/* Borrows from the text. */
struct json_part {
    const char *key; /* as written between the quotes, with escapes */
    size_t key_len;
    const char *value; /* without blanks around it; its first byte tells the kind */
    size_t value_len;
};

struct json_walk json_walk_begin(const char *text, size_t len);
bool json_walk_next(struct json_walk *walk, struct json_part *ret_part);

#endif
