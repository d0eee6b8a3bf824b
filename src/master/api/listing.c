/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/listing.h"

#include <string.h>

#include "base/fsm.h"
#include "model/field.h"
#include "store/experiment/experiment.h"
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

/* 0: there is no such state. */
static uint32_t bit_of_state(const char *name, const char *const *known)
{
    for (uint32_t i = 0; known[i]; i++)
        if (!strcmp(known[i], name))
            return TO(i);
    return 0;
}

static uint32_t bit_of_live_state(const char *name)
{
    for (uint32_t live = LIVE_QUEUED; live_state_names[live]; live++)
        if (!strcmp(live_state_names[live], name))
            return LIVE_BIT(live);
    return 0;
}

static det_status read_states(const struct field_strs *names, const char *const *known,
                              uint32_t (*other)(const char *name), uint32_t *ret_set,
                              struct err *err)
{
    uint32_t set = 0;

    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->at[i];
        const char *state = strncmp(name, "STATE_", 6) ? name : name + 6;
        uint32_t bit = bit_of_state(state, known);

        if (!bit && other)
            bit = other(state);
        if (!bit)
            return err_set(err, DET_INVALID, "there is no state '%s'", name);
        set |= bit;
    }
    *ret_set = set;
    return DET_OK;
}

det_status listing_states(const struct field_strs *names, const char *const *known,
                          uint32_t *ret_set, struct err *err)
{
    return read_states(names, known, NULL, ret_set, err);
}

det_status listing_live_states(const struct field_strs *names, const char *const *known,
                               uint32_t *ret_set, struct err *err)
{
    return read_states(names, known, bit_of_live_state, ret_set, err);
}
