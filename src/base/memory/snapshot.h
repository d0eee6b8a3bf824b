/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - memory for copies that are dropped all at once; its pages are kept.
 *
 * Fresh memory is slow: the system finds and clears a page at its first use, which
 * costs many times as much as the copy.  A snapshot therefore keeps its pages, as large
 * ones where the system has them, and a second copy of the same size runs at the speed
 * of memcpy().
 *
 * A snapshot is one range of offsets, cut into blocks: it grows without moving
 * anything.  Only snapshot_done() gives the pages back.  A forked child does not see
 * the pages: a fork neither doubles them nor slows the next copy down.
 *
 * Threads: one at a time, except for reading and writing reserved bytes. */
#ifndef BASE_MEMORY_SNAPSHOT_H
#define BASE_MEMORY_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/vec.h"

enum { SNAPSHOT_BLOCK = 32 << 20 };

struct snapshot {
    VEC(unsigned char *) blocks;
    uint64_t used; /* reserved since the last snapshot_forget() */
};

/* Reserves `len` more bytes at `*ret_offset`.  Grows to at most `limit_bytes`; 0: to
 * at most half of the free memory.  False: there is no room; the snapshot may have
 * grown. */
bool snapshot_take(struct snapshot *snapshot, uint64_t len, uint64_t limit_bytes,
                   uint64_t *ret_offset);
/* The bytes at an offset, and how many of them are contiguous. */
unsigned char *snapshot_at(const struct snapshot *snapshot, uint64_t offset,
                           size_t *ret_len);
/* Makes it empty; keeps all pages. */
void snapshot_forget(struct snapshot *snapshot);
/* Grows to that size and touches every page, as far as there is memory. */
void snapshot_warm(struct snapshot *snapshot, uint64_t size_bytes,
                   uint64_t limit_bytes);
/* `is_child`: in a forked process, which does not have the pages. */
void snapshot_done(struct snapshot *snapshot, bool is_child);

/* Bytes that this process could take before the machine or its control group is out of
 * memory, as the system estimates; UINT64_MAX: unknown. */
uint64_t memory_free_bytes(void);

#endif
