/* SPDX-License-Identifier: Apache-2.0 */
/* distributed.c - the public functions of det/distributed.h, over one or two stars.
 *
 * On a single node the ranks and the local ranks are the same, so one star serves both;
 * its operations say as which they were called.  With several nodes each node has its
 * own star, besides that of all ranks. */
#include "libdet/ranks/distributed.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/mem.h"
#include "data/base64.h"
#include "libdet/ranks/distributed_env.h"

enum { NAME_SIZE = 48, OPEN_MS = 600000, MEMORY_BYTES = 4 << 20 };

struct det_distributed {
    struct fork_mark mark;
    det_ranks ranks;
    struct star all;
    struct star node; /* unused if `all` serves both */
    struct err last;
};

static const char forked_text[] =
    "this process was forked: the group belongs to its parent";

/* ---- keys and places ------------------------------------------------------------- */

/* One key per star, from the secret, the run, the port, and which star it is. */
static void make_key(const struct distributed_plan *plan, int node,
                     unsigned char ret_key[STAR_KEY])
{
    const char *texts[] = {plan->secret ? plan->secret : "", plan->job};
    crypto_generichash_state state;
    char numbers[64] = "";

    snprintf(numbers, sizeof(numbers), "det distributed 1 port %u node %d", plan->port,
             node);
    crypto_generichash_init(&state, NULL, 0, STAR_KEY);
    crypto_generichash_update(&state, (const unsigned char *)numbers,
                              sizeof(numbers) - 1);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) /* with its NUL, which marks the
                                                     end */
        crypto_generichash_update(&state, (const unsigned char *)texts[i],
                                  strlen(texts[i]) + 1);
    crypto_generichash_final(&state, ret_key, STAR_KEY);
}

/* A name that is derived from the key and does not reveal it. */
static void make_name(const unsigned char key[STAR_KEY], char ret_name[NAME_SIZE])
{
    unsigned char hash[crypto_generichash_BYTES_MIN];

    crypto_generichash(hash, sizeof(hash), (const unsigned char *)"name", 4, key,
                       STAR_KEY);
    memcpy(ret_name, "@det-", 5);
    hex_encode(ret_name + 5, hash, sizeof(hash));
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "localhost") == 0 ||
           strcmp(host, "::1") == 0;
}

static det_status place_tcp(const struct distributed_plan *plan, struct stream_at *at,
                            struct err *err)
{
    const char *chief = plan->chief;

    if (!plan->secret)
        return err_set(err, DET_INVALID,
                       "ranks on several machines need a secret to keep strangers out: "
                       "set `secret`, or DET_DISTRIBUTED_SECRET");
    if (!chief && plan->ranks.cross_size == 1)
        chief = "127.0.0.1";
    if (!chief)
        return err_set(err, DET_INVALID,
                       "the address of rank 0 is not known: set `chief`, or "
                       "DET_CHIEF_IP");
    at->port = plan->port;
    /* The public address need not be one of this machine's own, so rank 0 listens on
     * all. */
    at->host = plan->ranks.rank || is_loopback(chief) ? chief : NULL;
    return DET_OK;
}

/* ---- opening and closing --------------------------------------------------------- */

static det_status join_all(det_distributed *group, const struct distributed_plan *plan,
                           struct star_config *config, unsigned flags, struct err *err)
{
    char name[NAME_SIZE];
    det_status st = DET_OK;

    make_key(plan, -1, config->key);
    make_name(config->key, name);
    config->rank = plan->ranks.rank;
    config->size = plan->ranks.size;
    config->word = "rank";
    config->at = (struct stream_at){.name = name};
    if (plan->ranks.size > 1 &&
        (plan->ranks.cross_size > 1 || (flags & DET_DISTRIBUTED_TCP))) {
        config->at.name = NULL;
        st = place_tcp(plan, &config->at, err);
    }
    return st ? st : star_join(&group->all, config, err);
}

static det_status join_node(det_distributed *group, const struct distributed_plan *plan,
                            struct star_config *config, struct err *err)
{
    char name[NAME_SIZE];

    if (plan->ranks.cross_size == 1)
        return DET_OK;
    make_key(plan, plan->ranks.cross_rank, config->key);
    make_name(config->key, name);
    config->rank = plan->ranks.local_rank;
    config->size = plan->ranks.local_size;
    config->word = "local rank";
    config->at = (struct stream_at){.name = name};
    return star_join(&group->node, config, err);
}

static det_status join_stars(det_distributed *group,
                             const det_distributed_options *options,
                             const struct distributed_plan *plan, struct err *err)
{
    int64_t open_ms = options->open_timeout_ms ? options->open_timeout_ms : OPEN_MS;
    struct star_config config = {
        .join_deadline_us = clock_mono_us(&clock_system) + open_ms * 1000,
        .timeout_ms = options->timeout_ms,
        .limit_bytes =
            options->limit_bytes ? options->limit_bytes : (size_t)1024 * 1024 * 1024,
        .interrupted = options->interrupted,
        .interrupted_arg = options->interrupted_arg,
    };
    det_status st = fork_mark_init(&group->mark, err);

    if (!st && sodium_init() < 0)
        st = err_set(err, DET_FAILED, "libsodium cannot start");
    group->ranks = plan->ranks;
    if (!st)
        st = join_all(group, plan, &config, options->flags, err);
    if (!st)
        st = join_node(group, plan, &config, err);
    sodium_memzero(config.key, sizeof(config.key));
    return st;
}

det_status distributed_open(const struct context_world *world,
                            const det_distributed_options *options,
                            det_distributed **ret_group, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEMORY_BYTES);
    struct distributed_plan plan;
    det_status st = distributed_env_plan(world, options, &mem, &plan, err);
    det_distributed *group;

    if (st)
        return st;
    group = mem_new(det_distributed);
    if (!group)
        return err_default(err, DET_NOMEM);
    st = join_stars(group, options, &plan, err);
    if (st) {
        det_distributed_close(group);
        return st;
    }
    *ret_group = group;
    return DET_OK;
}

det_status det_distributed_open(const det_distributed_options *options,
                                det_distributed **ret_group)
{
    struct context_world world = {.io = io_system(), .clock = &clock_system};
    det_distributed_options all = {.size = sizeof(all)};
    CONTEXT_ERR(err);
    det_status st;

    if (!ret_group || !options || !options->size || options->size > sizeof(all))
        return DET_INVALID;
    memcpy(&all, options, options->size);
    st = distributed_open(&world, &all, ret_group, &err);
    if (st && all.error && all.error_size)
        snprintf(all.error, all.error_size, "%s",
                 err.text[0] ? err.text : det_status_text(st));
    return st;
}

static bool is_child(const det_distributed *group)
{
    return group->mark.is_ours && !fork_mark_is_ours(&group->mark);
}

void det_distributed_close(det_distributed *group)
{
    bool is_quiet;

    if (!group)
        return;
    is_quiet = is_child(group);
    star_done(&group->node, is_quiet);
    star_done(&group->all, is_quiet);
    fork_mark_done(&group->mark);
    mem_free(group);
}

void det_distributed_fail(det_distributed *group, det_status status, const char *why)
{
    struct err err = {0};

    if (!group || !status || is_child(group))
        return;
    (void)err_set(&err, status, "rank %d: %s", group->ranks.rank,
                  why && *why ? why : det_status_text(status));
    star_fail(&group->node, &err);
    star_fail(&group->all, &err);
}

const det_ranks *det_distributed_ranks(const det_distributed *group)
{
    static const det_ranks alone = {0, 1, 0, 1, 0, 1};

    return group ? &group->ranks : &alone;
}

const char *det_distributed_error(const det_distributed *group)
{
    if (!group)
        return "there is no group";
    return is_child(group) ? forked_text : group->last.text;
}

/* ---- operations ------------------------------------------------------------------ */

det_status distributed_keep_error(det_distributed *group, det_status status,
                                  const struct err *err)
{
    if (!status || !group || is_child(group))
        return status;
    group->last.status = status;
    snprintf(group->last.text, sizeof(group->last.text), "%s",
             err->text[0] ? err->text : det_status_text(status));
    return status;
}

static det_status run_operation(det_distributed *group, uint32_t kind,
                                const det_part *own, const det_part **ret_parts)
{
    bool is_local = kind & STAR_LOCAL;
    CONTEXT_ERR(err);
    det_status st;

    if (!group)
        return DET_INVALID;
    if (is_child(group))
        return DET_STATE;
    if (own->len && !own->data)
        st = err_set(&err, DET_INVALID,
                     "%zu bytes are to be sent, but the pointer is NULL", own->len);
    else if (!ret_parts)
        st = err_set(&err, DET_INVALID, "the pointer for the result is NULL");
    else
        st = star_run(is_local && group->ranks.cross_size > 1 ? &group->node
                                                              : &group->all,
                      kind, own, ret_parts, &err);
    return distributed_keep_error(group, st, &err);
}

static det_status bring(det_distributed *group, uint32_t kind, const void *bytes,
                        size_t len, const det_part **ret_parts)
{
    det_part own = {bytes, len};

    return run_operation(group, kind, &own, ret_parts);
}

static det_status broadcast(det_distributed *group, uint32_t kind, const void *bytes,
                            size_t len, det_part *ret_part)
{
    const det_ranks *ranks = det_distributed_ranks(group);
    bool is_chief = !(kind & STAR_LOCAL ? ranks->local_rank : ranks->rank);
    det_part own = {is_chief ? bytes : NULL, is_chief ? len : 0};
    const det_part *parts;
    det_status st = run_operation(group, kind, &own, ret_part ? &parts : NULL);

    if (!st)
        *ret_part = parts[0];
    return st;
}

static det_status barrier(det_distributed *group, uint32_t kind)
{
    const det_part *parts;
    det_part own = {NULL, 0};

    return run_operation(group, kind, &own, &parts);
}

det_status det_distributed_gather(det_distributed *group, const void *bytes, size_t len,
                                  const det_part **ret_parts)
{
    return bring(group, STAR_GATHER, bytes, len, ret_parts);
}

det_status det_distributed_allgather(det_distributed *group, const void *bytes,
                                     size_t len, const det_part **ret_parts)
{
    return bring(group, STAR_ALLGATHER, bytes, len, ret_parts);
}

det_status det_distributed_broadcast(det_distributed *group, const void *bytes,
                                     size_t len, det_part *ret_part)
{
    return broadcast(group, STAR_BROADCAST, bytes, len, ret_part);
}

det_status det_distributed_barrier(det_distributed *group)
{
    return barrier(group, STAR_BARRIER);
}

det_status det_distributed_gather_local(det_distributed *group, const void *bytes,
                                        size_t len, const det_part **ret_parts)
{
    return bring(group, STAR_GATHER | STAR_LOCAL, bytes, len, ret_parts);
}

det_status det_distributed_allgather_local(det_distributed *group, const void *bytes,
                                           size_t len, const det_part **ret_parts)
{
    return bring(group, STAR_ALLGATHER | STAR_LOCAL, bytes, len, ret_parts);
}

det_status det_distributed_broadcast_local(det_distributed *group, const void *bytes,
                                           size_t len, det_part *ret_part)
{
    return broadcast(group, STAR_BROADCAST | STAR_LOCAL, bytes, len, ret_part);
}

det_status det_distributed_barrier_local(det_distributed *group)
{
    return barrier(group, STAR_BARRIER | STAR_LOCAL);
}
