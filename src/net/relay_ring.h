/* SPDX-License-Identifier: Apache-2.0 */
/* relay_ring.h - the rings of a relay: RELAY_BYTES each, at both ends. */
#ifndef NET_RELAY_RING_H
#define NET_RELAY_RING_H

#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "net/relay.h"

static inline size_t relay_ring_room(const struct relay_ring *ring)
{
    return RELAY_BYTES - ring->len;
}

static inline void relay_ring_put(struct relay_ring *ring, const char *bytes,
                                  size_t len)
{
    size_t at = (ring->at + ring->len) % RELAY_BYTES;
    size_t first = MIN(len, RELAY_BYTES - at);

    assert(len <= relay_ring_room(ring));
    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, bytes + first, len - first);
    ring->len += len;
}

static inline void relay_ring_put_front(struct relay_ring *ring, const char *bytes,
                                        size_t len)
{
    ring->at = (ring->at + RELAY_BYTES - len) % RELAY_BYTES;
    for (size_t i = 0; i < len; i++)
        ring->bytes[(ring->at + i) % RELAY_BYTES] = bytes[i];
    ring->len += len;
}

/* The length of the first contiguous run of bytes. */
static inline size_t relay_ring_run(const struct relay_ring *ring)
{
    return MIN(ring->len, RELAY_BYTES - ring->at);
}

static inline void relay_ring_drop(struct relay_ring *ring, size_t len)
{
    assert(len <= ring->len);
    ring->at = (ring->at + len) % RELAY_BYTES;
    ring->len -= len;
}

#endif
