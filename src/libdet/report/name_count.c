/* SPDX-License-Identifier: Apache-2.0 */
/* name_count.c - see name_count.h.
 *
 * A program mostly reports the same names again and again.  A checksum over all names of a
 * report that was seen lately says so without a lock; equal checksums of different names
 * cost nothing but a name that is not counted here. */
#include "libdet/report/name_count.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/crc32c.h"
#include "base/memory/map.h"
#include "base/thread/lock.h"
#include "libdet/context.h"
#include "wire/report.h"

static uint32_t sum_of(const struct report_metrics *metrics)
{
    uint32_t sum = crc32c(metrics->count, metrics->group, metrics->group_len);

    for (uint32_t i = 0; i < metrics->count; i++)
        sum = crc32c(sum ^ (uint32_t)metrics->value[i].name_len, metrics->value[i].name,
                     metrics->value[i].name_len);
    return sum ? sum : 1;
}

static int64_t name_key(const struct report_metrics *metrics, uint32_t i)
{
    const struct report_value *value = &metrics->value[i];
    uint64_t hash = hash_bytes(metrics->group, metrics->group_len);

    return (int64_t)hash_number(hash ^ hash_bytes(value->name, value->name_len));
}

/* Its value is `mark` until settle_names().  False: out of memory. */
static bool count_name(det_context *context, int64_t key, void *mark, bool *ret_fits)
{
    if (map_get(&context->names, key))
        return true;
    *ret_fits = context->names.count < (size_t)context->names_most;
    return !*ret_fits || map_put(&context->names, key, mark);
}

/* The names of a report that is refused do not count. */
static void settle_names(det_context *context, const struct report_metrics *metrics,
                         const void *mark, bool is_taken)
{
    for (uint32_t i = 0; i < metrics->count; i++) {
        int64_t key = name_key(metrics, i);

        if (map_get(&context->names, key) != mark)
            continue;
        if (is_taken)
            (void)map_put(&context->names, key, context); /* its place is there */
        else
            (void)map_remove(&context->names, key);
    }
}

/* With the lock held. */
static det_status count_names(det_context *context,
                              const struct report_metrics *metrics, void *mark,
                              struct err *err)
{
    bool has_memory = true;
    bool fits = true;
    uint32_t i = 0;

    while (fits && has_memory && i < metrics->count)
        has_memory = count_name(context, name_key(metrics, i++), mark, &fits);
    if (!has_memory)
        return err_default(err, DET_NOMEM);
    if (fits)
        return DET_OK;
    return err_set(err, DET_INVALID,
                   "this process has used %" PRId64 " names of metrics, and a trial "
                   "may use no more (max_metric_names of the master): '%.*s' is new; "
                   "report fewer names",
                   context->names_most, (int)metrics->value[i - 1].name_len,
                   metrics->value[i - 1].name);
}

/* The same for its group. */
static det_status count_group(det_context *context,
                              const struct report_metrics *metrics, struct err *err)
{
    int64_t key = (int64_t)hash_bytes(metrics->group, metrics->group_len);

    if (map_get(&context->groups, key))
        return DET_OK;
    if (context->groups.count >= REPORT_GROUPS_MOST)
        return err_set(
            err, DET_INVALID,
            "this process has used %d groups of metrics, and a trial may use "
            "no more: '%.*s' is new; report fewer groups",
            REPORT_GROUPS_MOST, (int)metrics->group_len, metrics->group);
    return map_put(&context->groups, key, context) ? DET_OK
                                                   : err_default(err, DET_NOMEM);
}

det_status name_count_check(det_context *context, const struct report_metrics *metrics,
                            struct err *err)
{
    uint32_t sum = context->names_most > 0 ? sum_of(metrics) : 0;
    _Atomic uint32_t *last = &context->names_seen[sum % ARRAY_LEN(context->names_seen)];
    char mark; /* only its address counts */
    det_status st;

    if (!sum || atomic_load_explicit(last, memory_order_relaxed) == sum)
        return DET_OK;
    lock_take(&context->lock);
    st = count_names(context, metrics, &mark, err);
    if (!st)
        st = count_group(context, metrics, err);
    settle_names(context, metrics, &mark, !st);
    lock_give(&context->lock);
    if (!st)
        atomic_store_explicit(last, sum, memory_order_relaxed);
    return st;
}
