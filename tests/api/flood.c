/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/api/flood.h"

#include "master/master_impl.h"

static size_t taken[ALLOWANCE_GROUPS];

void flood_begin(struct master *master)
{
    for (uint32_t group = 0; group < ALLOWANCE_GROUPS; group++)
        for (size_t part = (size_t)1 << 28; part >= 1024; part /= 2)
            while (allowance_take(&master->memory, group, part))
                taken[group] += part;
}

void flood_end(struct master *master)
{
    for (uint32_t group = 0; group < ALLOWANCE_GROUPS; group++) {
        allowance_give(&master->memory, group, taken[group]);
        taken[group] = 0;
    }
}
