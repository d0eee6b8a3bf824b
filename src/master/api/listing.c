/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/listing.h"

#include <string.h>

#include "base/fsm.h"
#include "model/field.h"
#include "store/page.h"

det_status listing_cut_page(struct page *page, int64_t total, struct err *err)
{
    int64_t start = page->offset < 0 ? total + page->offset : page->offset;
    int64_t left;

    if (start < 0 || start > total)
        return err_set(err, DET_INVALID, "offset out of bounds");
    left = total - start;
    page->total = total;
    page->start = start;
    page->end = start + (page->limit > 0 ? MIN(page->limit, left) : left);
    return DET_OK;
}

bool listing_is_descending(const char *order_by)
{
    return order_by && !strcmp(order_by, "ORDER_BY_DESC");
}

static int state_index(const char *name, const char *const *known)
{
    static const char *const running[] = {"QUEUED", "PULLING", "STARTING", "RUNNING"};

    if (!strncmp(name, "STATE_", 6))
        name += 6;
    for (int i = 0; known[i]; i++)
        if (!strcmp(known[i], name))
            return i;
    for (size_t i = 0; i < ARRAY_LEN(running); i++)
        if (!strcmp(running[i], name))
            return 0; /* ACTIVE is the first state of every machine that has these */
    return -1;
}

det_status listing_states(const struct field_strs *names, const char *const *known,
                          uint32_t *ret_set, struct err *err)
{
    uint32_t set = 0;

    for (size_t i = 0; i < names->count; i++) {
        int at = state_index(names->at[i], known);

        if (at < 0)
            return err_set(err, DET_INVALID, "there is no state '%s'", names->at[i]);
        set |= TO((uint32_t)at);
    }
    *ret_set = set;
    return DET_OK;
}
