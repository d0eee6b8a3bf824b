/* SPDX-License-Identifier: Apache-2.0 */
/* json_index.h - the members of a large object by key.
 *
 * json_get() walks over the members: looking for every member of one large object in another
 * takes minutes with the bodies that callers may send.  An index sorts once, so no choice
 * of keys makes it slow.  It knows the members that were there when it was made. */
#ifndef DATA_JSON_JSON_INDEX_H
#define DATA_JSON_JSON_INDEX_H

#include "data/json/json.h"

struct json_index {
    struct json *first;   /* borrowed */
    size_t count;         /* members from it on; more may be added behind them */
    struct json **member; /* sorted by key, owned; NULL: few, they are walked over */
};

/* Of an object, or of anything else, which has no members.  Without memory the index works,
 * but is slow.  `looks`: how often it will be asked, about. */
void json_index_init(struct json_index *index, const struct json *object, size_t looks);
void json_index_done(struct json_index *index);
struct json *json_index_get(const struct json_index *index, const char *key);

#endif
