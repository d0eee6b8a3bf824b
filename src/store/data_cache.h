/* SPDX-License-Identifier: Apache-2.0 */
/* data_cache.h - what the writer's connection remembers of the data road, so that a
 * report or a batch of lines is one small insert.
 *
 * Everything but the two work lists is a copy of rows and is forgotten when rows are
 * taken back, or when it has grown too large.  The work lists are hints: what they name
 * is looked at again before anything is done. */
#ifndef STORE_DATA_CACHE_H
#define STORE_DATA_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/db_impl.h"
#include "store/metric.h"

struct metric_group {
    struct metric_group *next;
    const char *name;
    int64_t group_id;
    struct metric_place block_end; /* places behind it are in no block */
    uint32_t tail_rows;
    uint32_t shape_count;
    struct metric_shape *shapes; /* the one used last comes first */
};

struct metric_trial {
    int64_t run_id; /* the run its row has */
    int64_t floor;  /* older runs were cut for these steps already */
    struct metric_group *groups;
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

struct data_cache {
    struct db_cache base;
    struct arena mem;
    struct map trials; /* id -> struct metric_trial */
    struct map tasks;  /* task id -> struct log_task */
    int64_t next_id;   /* of metric rows; reserved up to id_end */
    int64_t id_end;
    VEC(struct metric_key) full; /* tails to compact */
    bool has_scanned;            /* ... what was there when this process began, too */
    struct metric_key still;     /* the last tail that was looked at for being over */
    bool has_levels;             /* no block of an older version is without its page */
    VEC(struct log_stretch) small;
    struct buf row; /* the row that is being written, and its JSON */
    struct buf rest;
};

/* The cache of this connection, made when there is none; NULL: out of memory. */
struct data_cache *data_cache_of(struct db *db);
/* The trial's row changes: what is remembered of it may be wrong. */
void data_cache_drop_trial(struct db *db, int64_t trial_id);
/* Called where nothing of it is in use: forgets everything when it has grown large. */
void data_cache_trim(struct data_cache *cache);

#endif
