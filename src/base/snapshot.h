/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - memory that is copied into, forgotten all at once, and kept.
 *
 * Fresh memory is slow: the system finds and clears a page at its first use, which
 * costs many times what the copy does.  So a snapshot keeps its pages, as large ones
 * where the system has them, and a second copy of the same size runs at the speed of
 * memcpy().
 *
 * It is one range of offsets, cut into blocks: it grows without moving anything.  What
 * was used last is given back by snapshot_done() only.  A forked child does not see the
 * pages, so that a fork neither doubles them nor slows the next copy down.
 *
 * Threads: one at a time, but for reading and writing what was reserved. */
#ifndef BASE_SNAPSHOT_H
#define BASE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum { SNAPSHOT_BLOCK = 32 << 20 };

struct snapshot {
    VEC(unsigned char *) blocks;
    uint64_t used; /* reserved since the last snapshot_forget() */
};

/* Room for `len` bytes more, at `*ret_offset`.  Grows to at most `limit_bytes`; 0: so
 * that as much stays free as it takes.  False: there is no room, nothing changed but
 * that it may have grown. */
bool snapshot_take(struct snapshot *snapshot, uint64_t len, uint64_t limit_bytes,
                   uint64_t *ret_offset);
/* The bytes at an offset, and how many of them lie together. */
unsigned char *snapshot_at(const struct snapshot *snapshot, uint64_t offset,
                           size_t *ret_len);
/* Empty, with all its pages. */
void snapshot_forget(struct snapshot *snapshot);
/* As large as that, and every page used once; as far as there is memory. */
void snapshot_warm(struct snapshot *snapshot, uint64_t size_bytes,
                   uint64_t limit_bytes);
/* `is_child`: in a forked process, which does not have the pages. */
void snapshot_done(struct snapshot *snapshot, bool is_child);

/* Bytes that this process could take before the machine or its control group is out of
 * memory, as the system estimates; UINT64_MAX: nobody knows. */
uint64_t memory_free_bytes(void);

#endif
