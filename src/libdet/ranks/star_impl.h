/* SPDX-License-Identifier: Apache-2.0 */
/* star_impl.h - what star.c, star_chief.c and star_join.c share. */
#ifndef LIBDET_RANKS_STAR_IMPL_H
#define LIBDET_RANKS_STAR_IMPL_H

#include "libdet/ranks/star.h"

enum { STAR_ALIGN = 16, STAR_MOMENT = 80 };

void star_head_write(unsigned char bytes[STAR_HEAD], const struct star_head *head);
void star_head_read(const unsigned char bytes[STAR_HEAD], struct star_head *ret_head);
/* Writes a head and the message after it; returns the length of both. */
size_t star_sentence(unsigned char bytes[STAR_HEAD + STAR_SENTENCE], uint32_t kind,
                     const struct star *star, const struct err *why);

/* "allgather", and "in allgather number 17". */
const char *star_operation(uint32_t kind);
const char *star_moment(const struct star *star, uint32_t kind, const char *how,
                        char text[STAR_MOMENT]);
int64_t star_deadline(const struct star *star, int64_t grace_ms); /* 0: none */
/* A chief has one per rank, a worker has one. */
int star_peer_count(const struct star *star);

/* A result of allgather in one piece: lengths, then parts, each aligned for any type.
 * Unpacking points `parts` into it; false: it is damaged. */
size_t star_table_size(const struct star *star);
size_t star_packed_size(const struct star *star, const det_part *parts);
void star_pack(const struct star *star, const det_part *parts, char *body);
bool star_unpack(struct star *star, const char *body, size_t len);

/* As stream_wait() and stream_receive(), but DET_STATE if this rank was interrupted;
 * star_stop() then breaks the star with that error. */
det_status star_wait(struct star *star, struct pollfd *rows, size_t count,
                     int64_t deadline_us, struct err *err);
det_status star_receive(struct star *star, struct stream *stream, void *bytes,
                        size_t len, int64_t deadline_us);
bool star_is_interrupted(struct star *star);
det_status star_stop(struct star *star, uint32_t kind, struct err *err);

/* Checks the status of a head, which may come from a stranger. */
det_status star_status(uint32_t status);

/* Breaks the star: keeps the error, tells the peers, and returns it. */
det_status star_break(struct star *star, const struct err *why, struct err *err);
det_status star_broken(struct star *star, struct err *err);

/* Worker: handles a `head` other than the expected one. */
det_status star_hear(struct star *star, const struct star_head *head, uint32_t kind,
                     int64_t deadline_us, struct err *err);
/* Chief: `rank` sent something or left out of turn; breaks the star. */
det_status star_interrupted(struct star *star, int rank, uint32_t kind,
                            struct err *err);
/* Chief: sends the same to all; a rank that does not take it in time is reported in the
 * next operation. */
void star_answer(struct star *star, uint32_t kind, const void *bytes, size_t len,
                 int64_t deadline_us);

det_status star_chief_run(struct star *star, uint32_t kind, const det_part *own,
                          struct err *err);
det_status star_worker_run(struct star *star, uint32_t kind, const det_part *own,
                           struct err *err);

#endif
