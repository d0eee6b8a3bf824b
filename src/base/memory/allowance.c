/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/allowance.h"

#include <assert.h>
#include <stdatomic.h>

static bool take_one(_Atomic size_t *taken, size_t most, size_t bytes)
{
    size_t now = atomic_load(taken);

    do
        if (bytes > most || now > most - bytes)
            return false;
    while (!atomic_compare_exchange_weak(taken, &now, now + bytes));
    return true;
}

static void give_one(_Atomic size_t *taken, size_t bytes)
{
    size_t before = atomic_fetch_sub(taken, bytes);

    assert(before >= bytes);
    (void)before;
}

bool allowance_take(struct allowance *allowance, uint32_t group, size_t bytes)
{
    _Atomic size_t *own = &allowance->group[group % ALLOWANCE_GROUPS];

    if (!allowance->most)
        return true;
    if (!take_one(own, allowance->group_most, bytes))
        return false;
    if (take_one(&allowance->taken, allowance->most, bytes))
        return true;
    give_one(own, bytes);
    return false;
}

void allowance_give(struct allowance *allowance, uint32_t group, size_t bytes)
{
    if (!allowance->most)
        return;
    give_one(&allowance->group[group % ALLOWANCE_GROUPS], bytes);
    give_one(&allowance->taken, bytes);
}
