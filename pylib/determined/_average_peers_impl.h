/* SPDX-License-Identifier: Apache-2.0 */
/* _average_peers_impl.h - functions of _average_peers.c (joining, agreeing, leaving)
 * for _average_exchange.c. */
#ifndef AVERAGE_PEERS_IMPL_H
#define AVERAGE_PEERS_IMPL_H

#include "_average_peers.h"

/* Sets of requests: each has a receive from each rank, and a send to each. */
enum { PEERS_SETS = 3 };

enum tag { TAG_NONE, TAG_GREETING, TAG_PART, TAG_MEAN };
int peers_tag(int stream, enum tag tag);

det_status peers_send(struct peers *peers, const void *bytes, size_t len, int to,
                      int tag, mpi_handle *ret_request, struct err *err);
det_status peers_receive(struct peers *peers, void *bytes, size_t len, int from,
                         int tag, mpi_handle *ret_request, struct err *err);

/* Waits until all are done. They are ordered by rank, and may repeat that order. Fails
 * if one of those ranks leaves. */
det_status peers_wait_for(struct peers *peers, mpi_handle *requests, int count,
                          struct err *err);

/* After a failure no rank can be relied upon: outstanding messages are not awaited, and
 * the first sentence stays. Returns `st`. */
det_status peers_break_up(struct peers *peers, struct peers_scratch *scratch,
                          det_status st, struct err *err);

/* How much is exchanged with each of the others at a time. */
size_t peers_chunk_bytes(const struct peers *peers);

#endif
