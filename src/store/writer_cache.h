/* SPDX-License-Identifier: Apache-2.0 */
/* writer_cache.h - rows that the writer's connection caches, to store a report or a
 * batch of lines with one small insert.
 *
 * Everything except the two work lists is a copy of rows.  The copies are dropped after
 * a rollback, or when the cache has grown too large.  The work lists are hints: their
 * entries are examined again before anything is done. */
#ifndef STORE_WRITER_CACHE_H
#define STORE_WRITER_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/map.h"
#include "base/memory/vec.h"
#include "store/engine/db_impl.h"
#include "store/metric/metric.h"

struct metric_group {
    struct metric_group *next;
    const char *name;
    int64_t group_id;
    struct metric_place block_end; /* no block has later places */
    uint32_t tail_rows;
    uint32_t shape_count;
    struct metric_shape *shapes; /* the most recently used first */
};

struct metric_trial {
    int64_t run_id; /* the current run; of late reports: theirs (metric.h) */
    int64_t floor;  /* older runs are already cut at these steps */
    struct metric_group *groups;
    uint32_t names;   /* of all groups; see metric/metric_admit.h */
    bool knows_names; /* they are counted, and in the cache */
};

struct log_task {
    int64_t number;
    int64_t next_line;
    int64_t high_us;    /* the latest time of all lines */
    int64_t small_from; /* the first of the small chunks at its end; 0: none */
    uint64_t small_bytes;
    uint64_t ranks;      /* bit set of ranks 0..62 that were seen, bit 63: none */
    uint32_t streams;    /* bit set */
    uint64_t origins[4]; /* hashes of those seen last */
    uint32_t next_origin;
};

struct log_stretch {
    int64_t task;
    int64_t first; /* lines */
    int64_t last;
};

struct writer_cache {
    struct db_cache base;
    struct arena mem;
    struct map trials; /* writer_cache_place() -> struct metric_trial */
    struct map tasks;  /* task id -> struct log_task */
    struct map names;  /* hashes of the names of metrics; see metric/metric_admit.c */
    int64_t next_id;   /* of metric rows; reserved up to id_end */
    int64_t id_end;
    VEC(struct metric_key) full; /* tails to compact */
    bool has_scanned;        /* `full` includes the tails from before this process */
    struct metric_key still; /* the last tail that was examined for its end */
    bool has_levels;         /* all blocks of older versions have their pages */
    VEC(struct log_stretch) small;
    struct buf row; /* the row that is being written, and its JSON */
    struct buf rest;
};

/* The cache of this connection; the first call makes it.  NULL: out of memory. */
struct writer_cache *writer_cache_of(struct db *db);
/* Late reports of a trial do not displace its current run. */
static inline int64_t writer_cache_place(const struct metric_key *key)
{
    return key->run_id < 0 ? -key->trial_id : key->trial_id;
}
/* The cached trial with that run; NULL: not cached. */
struct metric_trial *writer_cache_trial(struct writer_cache *cache,
                                        const struct metric_key *key);
/* Call it when the trial's row changes. */
void writer_cache_drop_trial(struct db *db, int64_t trial_id);
/* Drops all copies if the cache has grown too large.  Call it only while nothing
 * borrows from the cache. */
void writer_cache_trim(struct writer_cache *cache);

#endif
