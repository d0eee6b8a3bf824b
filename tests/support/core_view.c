/* SPDX-License-Identifier: Apache-2.0 */
/* core_view.c - see core_view.h.
 *
 * The dump has one line per object, in the order of ids.  It prints rows by their field
 * tables, so a new field cannot be forgotten. */
#include "tests/support/core_view.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory/buf.h"
#include "core/core_impl.h"
#include "data/json/json.h"
#include "tests/support/pool_ahead.h"

enum { DUMP_BYTES = 1 << 30 };

/* ---- sorted lists ---------------------------------------------------------------- */

static int64_t id_of(const struct live *live)
{
    switch (live->kind) {
    case LIVE_EXPERIMENT:
        return CONTAINER_OF(live, struct live_experiment, live)->row.id;
    case LIVE_TRIAL:
        return CONTAINER_OF(live, struct live_trial, live)->row.id;
    case LIVE_JOB:
        return CONTAINER_OF(live, struct live_job, live)->row.id;
    case LIVE_ALLOCATION:
        return CONTAINER_OF(live, struct live_allocation, live)->row.id;
    case LIVE_SHARE:
        break;
    case LIVE_AGENT:
        return CONTAINER_OF(live, struct live_agent, live)->row.id;
    }
    return 0;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = id_of(*(struct live *const *)a);
    int64_t y = id_of(*(struct live *const *)b);

    return (x > y) - (x < y);
}

static void **core_sorted(const struct core *core, enum live_kind kind,
                          struct arena *mem, size_t *ret_count)
{
    const struct map *map = kind == LIVE_EXPERIMENT   ? &core->experiments
                            : kind == LIVE_TRIAL      ? &core->trials
                            : kind == LIVE_JOB        ? &core->jobs
                            : kind == LIVE_ALLOCATION ? &core->allocations
                                                      : &core->agents;
    void **list = arena_array(mem, void *, map->count + 1);
    size_t count = 0;
    void *it;

    if (!list)
        return NULL;
    for (size_t i = 0; (it = map_next(map, &i));)
        list[count++] = it;
    qsort(list, count, sizeof(*list), compare_ids);
    *ret_count = count;
    return list;
}

/* ---- lines ----------------------------------------------------------------------- */

static void dump_row(struct buf *out, const char *what, const struct field *fields,
                     const void *row)
{
    struct json_writer w = JSON_WRITER(out);

    buf_printf(out, "%s ", what);
    fields_write_object(&w, NULL, fields, row);
    buf_putc(out, '\n');
}

static void dump_experiment(struct buf *out, const struct live_experiment *it)
{
    dump_row(out, "experiment", experiment_fields, &it->row);
    buf_printf(out,
               "  trials=%zu slots=%" PRIu32 " restarts=%" PRIu32
               " single_node=%d,%d timeout=%" PRId64 " warm=%s broken=%d\n  search ",
               it->trials.count, it->slots, it->max_restarts, it->is_single_node,
               it->prefers_single_node, it->preemption_timeout_us,
               it->warm_start ? it->warm_start : "", it->is_search_broken);
    /* A search that broke halfway through an input is over. */
    if (!it->is_search_broken)
        searcher_save(it->searcher, out);
    buf_putc(out, '\n');
}

static void dump_task(struct buf *out, const struct live_task *it)
{
    buf_printf(
        out, "  run=%" PRId64 " blocked=", it->allocation ? it->allocation->row.id : 0);
    for (size_t i = 0; i < it->blocked.count; i++)
        buf_printf(out, "%" PRId64 ",", it->blocked.at[i]);
    buf_putc(out, '\n');
}

static void dump_trial(struct buf *out, const struct live_trial *it)
{
    dump_row(out, "trial", trial_fields, &it->row);
    dump_task(out, &it->task);
}

static void dump_job(struct buf *out, const struct live_job *it)
{
    dump_row(out, "job", job_fields, &it->row);
    dump_task(out, &it->task);
}

static void dump_allocation(struct buf *out, const struct live_allocation *it)
{
    dump_row(out, "allocation", allocation_fields, &it->row);
    buf_printf(out, "  left=%" PRIu32 " deadline=%" PRId64 " ahead=%" PRId64 "\n",
               it->shares_left, it->timer.at_us,
               pool_ahead(it->pool->pool, it->row.id));
    for (int64_t i = 0; it->share && i < it->row.shares; i++) {
        dump_row(out, "  share", share_fields, &it->share[i].row);
        buf_printf(out, "    on=%" PRId64 " slots=%" PRIu32 "\n",
                   it->share[i].agent ? it->share[i].agent->row.id : 0,
                   it->share[i].slot_count);
    }
}

static void dump_agent(struct buf *out, const struct live_agent *it)
{
    dump_row(out, "agent", agent_fields, &it->row);
    buf_printf(out, "  shares=%zu deadline=%" PRId64 " slots=", it->shares.count,
               it->timer.at_us);
    for (int64_t i = 0; i < it->row.slots; i++)
        buf_puts(out, it->is_slot_off[i] ? "x" : it->is_slot_open[i] ? "o" : "-");
    buf_putc(out, '\n');
}

static void dump_live(struct buf *out, const struct live *live)
{
    switch (live->kind) {
    case LIVE_EXPERIMENT:
        dump_experiment(out, CONTAINER_OF(live, struct live_experiment, live));
        return;
    case LIVE_TRIAL:
        dump_trial(out, CONTAINER_OF(live, struct live_trial, live));
        return;
    case LIVE_JOB:
        dump_job(out, CONTAINER_OF(live, struct live_job, live));
        return;
    case LIVE_ALLOCATION:
        dump_allocation(out, CONTAINER_OF(live, struct live_allocation, live));
        return;
    case LIVE_SHARE:
        return;
    case LIVE_AGENT:
        dump_agent(out, CONTAINER_OF(live, struct live_agent, live));
        return;
    }
}

static void dump_pool(struct buf *out, const struct pool_entry *entry)
{
    struct pool_stats stats;

    pool_get_stats(entry->pool, &stats);
    buf_printf(out,
               "pool %s agents=%" PRIu32 " slots=%" PRIu32 " used=%" PRIu32
               " aux=%" PRIu32 " waiting=%" PRIu32 " running=%" PRIu32 "\n",
               entry->name, stats.agents, stats.slots, stats.slots_used,
               stats.aux_running, stats.waiting, stats.running);
}

void core_dump(const struct core *core, struct buf *out)
{
    static const enum live_kind kinds[] = {LIVE_EXPERIMENT, LIVE_TRIAL, LIVE_JOB,
                                           LIVE_ALLOCATION, LIVE_AGENT};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(DUMP_BYTES);
    const struct core_counters *c = &core->counters;
    size_t count;

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct live **list = (struct live **)core_sorted(core, kinds[k], &mem, &count);

        if (!list) {
            out->status = DET_NOMEM;
            return;
        }
        for (size_t i = 0; i < count; i++)
            dump_live(out, list[i]);
    }
    for (uint32_t i = 0; i < core->config.pool_count; i++)
        dump_pool(out, &core->pool[i]);
    buf_printf(out,
               "next experiment=%" PRId64 " trial=%" PRId64 " job=%" PRId64
               " allocation=%" PRId64 " agent=%" PRId64 " journal=%" PRId64
               " ports=%" PRIu32 " deadline=%" PRId64 "\n",
               c->next_experiment, c->next_trial, c->next_job, c->next_allocation,
               c->next_agent, c->journal_seq, core->ports_used,
               core_next_deadline_us(core));
}

/* ---- single rows ----------------------------------------------------------------- */

const struct experiment *core_experiment(const struct core *core, int64_t id)
{
    const struct live_experiment *it = map_get(&core->experiments, id);

    return it ? &it->row : NULL;
}

const struct trial *core_trial(const struct core *core, int64_t id)
{
    const struct live_trial *it = map_get(&core->trials, id);

    return it ? &it->row : NULL;
}

const struct job *core_job(const struct core *core, int64_t id)
{
    const struct live_job *it = map_get(&core->jobs, id);

    return it ? &it->row : NULL;
}

const struct allocation *core_allocation(const struct core *core, int64_t id)
{
    const struct live_allocation *it = map_get(&core->allocations, id);

    return it ? &it->row : NULL;
}

const struct allocation *core_allocation_named(const struct core *core,
                                               const char *name)
{
    const struct live_allocation *it = smap_get(&core->allocation_names, name);

    return it ? &it->row : NULL;
}

const struct agent *core_agent(const struct core *core, const char *name)
{
    const struct live_agent *it = smap_get(&core->agent_names, name);

    return it ? &it->row : NULL;
}
