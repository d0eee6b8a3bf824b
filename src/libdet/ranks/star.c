/* SPDX-License-Identifier: Apache-2.0 */
/* star.c - the parts of a star that both ends share, and the worker's end. */
#include "libdet/ranks/star.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/memory/mem.h"
#include "libdet/ranks/star_impl.h"

/* The chief decides who is late; a worker gives up only if the chief does not decide.
 */
enum { GRACE_MS = 1000, LAST_WORD_MS = 1000, SLICE_MS = 200 };

/* ---- heads ----------------------------------------------------------------------- */

void star_head_write(unsigned char bytes[STAR_HEAD], const struct star_head *head)
{
    put_u32(bytes, head->kind);
    put_u32(bytes + 4, head->status);
    put_u64(bytes + 8, head->number);
    put_u64(bytes + 16, head->len);
}

void star_head_read(const unsigned char bytes[STAR_HEAD], struct star_head *ret_head)
{
    ret_head->kind = get_u32(bytes);
    ret_head->status = get_u32(bytes + 4);
    ret_head->number = get_u64(bytes + 8);
    ret_head->len = get_u64(bytes + 16);
}

size_t star_sentence(unsigned char bytes[STAR_HEAD + STAR_SENTENCE], uint32_t kind,
                     const struct star *star, const struct err *why)
{
    struct star_head head = {
        .kind = kind,
        .status = why->status,
        .number = star->number,
        .len = MIN(strlen(why->text), (size_t)STAR_SENTENCE),
    };

    star_head_write(bytes, &head);
    memcpy(bytes + STAR_HEAD, why->text, head.len);
    return STAR_HEAD + head.len;
}

const char *star_operation(uint32_t kind)
{
    static const char *const names[2][STAR_OPERATIONS] = {
        {"joining", "barrier", "gather", "allgather", "broadcast"},
        {"joining", "barrier_local", "gather_local", "allgather_local",
         "broadcast_local"},
    };
    uint32_t plain = kind & ~(uint32_t)STAR_LOCAL;

    return plain < STAR_OPERATIONS ? names[plain != kind][plain] : "something unknown";
}

/* "in allgather number 17"; before the first operation, while the ranks join. */
const char *star_moment(const struct star *star, uint32_t kind, const char *how,
                        char text[STAR_MOMENT])
{
    if (!star->number)
        snprintf(text, STAR_MOMENT, "before all ranks were there");
    else
        snprintf(text, STAR_MOMENT, "%s %s number %" PRIu64, how, star_operation(kind),
                 star->number);
    return text;
}

int64_t star_deadline(const struct star *star, int64_t grace_ms)
{
    if (!star->config.timeout_ms)
        return 0;
    return clock_mono_us(&clock_system) + (star->config.timeout_ms + grace_ms) * 1000;
}

/* ---- waiting --------------------------------------------------------------------- */

bool star_is_interrupted(struct star *star)
{
    if (!star->is_interrupted && star->config.interrupted)
        star->is_interrupted =
            star->config.interrupted(star->config.interrupted_arg) != 0;
    return star->is_interrupted;
}

/* Waits in slices if `interrupted` must be asked between them. */
det_status star_wait(struct star *star, struct pollfd *rows, size_t count,
                     int64_t deadline_us, struct err *err)
{
    while (star->config.interrupted) {
        int64_t slice_us = clock_mono_us(&clock_system) + SLICE_MS * 1000;
        det_status st;

        if (deadline_us && deadline_us <= slice_us)
            break;
        st = stream_wait(rows, count, slice_us, err);
        if (st != DET_TIMEOUT)
            return st;
        if (star_is_interrupted(star))
            return DET_STATE;
    }
    return stream_wait(rows, count, deadline_us, err);
}

det_status star_receive(struct star *star, struct stream *stream, void *bytes,
                        size_t len, int64_t deadline_us)
{
    char *at = bytes;
    det_status st = DET_OK;

    while (!st && len) {
        struct pollfd row = stream_row(stream, POLLIN);
        size_t count = 0;

        st = stream_try_receive(stream, at, len, &count, NULL);
        at += count;
        len -= count;
        if (!st && !count)
            st = star_wait(star, &row, 1, deadline_us, NULL);
    }
    return st;
}

/* ---- results --------------------------------------------------------------------- */

static size_t padded(size_t len)
{
    return (len + STAR_ALIGN - 1) & ~(size_t)(STAR_ALIGN - 1);
}

size_t star_table_size(const struct star *star)
{
    return padded((size_t)star->config.size * 8);
}

void star_pack(const struct star *star, const det_part *parts, char *body)
{
    char *at = body + star_table_size(star);

    for (int i = 0; i < star->config.size; i++) {
        put_u64((unsigned char *)body + (size_t)i * 8, parts[i].len);
        if (parts[i].len)
            memcpy(at, parts[i].data, parts[i].len);
        at += padded(parts[i].len);
    }
}

size_t star_packed_size(const struct star *star, const det_part *parts)
{
    size_t size = star_table_size(star);

    for (int i = 0; i < star->config.size; i++)
        size += padded(parts[i].len);
    return size;
}

bool star_unpack(struct star *star, const char *body, size_t len)
{
    size_t at = star_table_size(star);

    if (len < at)
        return false;
    for (int i = 0; i < star->config.size; i++) {
        uint64_t part = get_u64((const unsigned char *)body + (size_t)i * 8);

        if (part > len - at || padded((size_t)part) > len - at)
            return false;
        star->parts[i] = (det_part){body + at, (size_t)part};
        at += padded((size_t)part);
    }
    return at == len;
}

/* ---- the end --------------------------------------------------------------------- */

int star_peer_count(const struct star *star)
{
    return star->config.rank ? 1 : star->config.size;
}

/* Best effort: a connection that takes nothing counts as closed. */
static void tell_peers(struct star *star, uint32_t kind, const struct err *what)
{
    unsigned char bytes[STAR_HEAD + STAR_SENTENCE];
    size_t len = star_sentence(bytes, kind, star, what);
    size_t count;

    for (int i = 0; i < star_peer_count(star); i++)
        if (star->peers[i].stream.fd >= 0)
            (void)stream_try_send(&star->peers[i].stream, bytes, len, &count, NULL);
}

/* The chief tells the reason and stays for those who ask later.  A worker tells the
 * chief only if it timed out, was interrupted or failed; a closed connection needs no
 * message. */
det_status star_broken(struct star *star, struct err *err)
{
    if (!star->has_told) {
        star->has_told = true;
        if (!star->config.rank || star->broken.status == DET_TIMEOUT || star->has_word)
            tell_peers(star, STAR_ABORT, &star->broken);
        if (star->config.rank)
            stream_close(&star->peers[0].stream);
    }
    return err_set(err, star->broken.status, "%s", star->broken.text);
}

det_status star_break(struct star *star, const struct err *why, struct err *err)
{
    star->broken = *why;
    return star_broken(star, err);
}

det_status star_stop(struct star *star, uint32_t kind, struct err *err)
{
    char moment[STAR_MOMENT];
    struct err why = {0};

    (void)err_set(&why, DET_STATE, "%s %d was interrupted %s", star->config.word,
                  star->config.rank, star_moment(star, kind, "in", moment));
    star->has_word = true;
    return star_break(star, &why, err);
}

void star_fail(struct star *star, const struct err *why)
{
    if (!star->peers || star->broken.status)
        return;
    star->has_word = true;
    (void)star_break(star, why, NULL);
}

void star_done(struct star *star, bool is_quiet)
{
    struct err leaving = {.status = DET_UNREACHABLE};

    if (star->peers && !is_quiet && !star->broken.status)
        tell_peers(star, STAR_LEAVE, &leaving);
    else if (star->peers && !is_quiet)
        (void)star_broken(star, NULL);
    for (int i = 0; star->peers && i < star_peer_count(star); i++) {
        stream_close(&star->peers[i].stream);
        mem_free(star->peers[i].bytes);
    }
    mem_free(star->peers);
    mem_free(star->rows);
    mem_free(star->parts);
    mem_free(star->block);
    mem_free(star->scratch);
    memset(star, 0, sizeof(*star));
}

/* ---- worker: receiving ----------------------------------------------------------- */

static det_status chief_is_gone(struct star *star, uint32_t kind, det_status how,
                                struct err *err)
{
    char moment[STAR_MOMENT];
    struct err why = {0};

    if (star->is_interrupted)
        return star_stop(star, kind, err);
    star_moment(star, kind, "in", moment);
    if (how == DET_TIMEOUT)
        (void)err_set(&why, how, "%s %d waited too long for %s 0 %s", star->config.word,
                      star->config.rank, star->config.word, moment);
    else
        (void)err_set(&why, how == DET_NOMEM ? how : DET_UNREACHABLE, "%s 0 died %s",
                      star->config.word, moment);
    return star_break(star, &why, err);
}

det_status star_status(uint32_t status)
{
    return status && status <= DET_FULL ? (det_status)status : DET_FAILED;
}

/* Reads the message that follows a head. */
static det_status read_sentence(struct star *star, const struct star_head *head,
                                int64_t deadline_us, struct err *ret_why)
{
    char text[STAR_SENTENCE + 1] = "";

    if (head->len > STAR_SENTENCE ||
        stream_receive(&star->peers[0].stream, text, (size_t)head->len, deadline_us,
                       NULL))
        return DET_UNREACHABLE;
    (void)err_set(ret_why, star_status(head->status), "%s", text);
    return DET_OK;
}

det_status star_hear(struct star *star, const struct star_head *head, uint32_t kind,
                     int64_t deadline_us, struct err *err)
{
    char moment[STAR_MOMENT];
    struct err why = {0};

    if (head->kind == STAR_LEAVE)
        (void)err_set(&why, DET_UNREACHABLE, "%s 0 left %s", star->config.word,
                      star_moment(star, kind, "before", moment));
    else if (head->kind != STAR_ABORT && head->kind != STAR_REFUSED)
        (void)err_set(&why, DET_CORRUPT, "%s 0 answers out of turn %s",
                      star->config.word, star_moment(star, kind, "in", moment));
    else if (read_sentence(star, head, deadline_us, &why))
        return chief_is_gone(star, kind, DET_UNREACHABLE, err);
    else if (head->kind == STAR_REFUSED)
        return err_set(err, why.status, "%s", why.text);
    return star_break(star, &why, err);
}

/* ---- worker: an operation -------------------------------------------------------- */

/* Sends until the chief sends something; the rest is then useless.  A failed connection
 * may still hold the chief's last message, so waits a short time for it. */
static det_status send_unless_heard(struct star *star, const void *bytes, size_t len,
                                    int64_t *deadline_us)
{
    struct stream *stream = &star->peers[0].stream;
    const char *at = bytes;

    while (len) {
        struct pollfd row = stream_row(stream, POLLIN | POLLOUT);
        size_t count;

        if (stream_try_send(stream, at, len, &count, NULL)) {
            *deadline_us = clock_mono_us(&clock_system) + LAST_WORD_MS * 1000;
            return DET_UNREACHABLE;
        }
        at += count;
        len -= count;
        if (count)
            continue;
        if (star_wait(star, &row, 1, *deadline_us, NULL))
            return DET_TIMEOUT;
        if (row.revents & ~POLLOUT)
            return DET_BUSY;
    }
    return DET_OK;
}

static det_status bring(struct star *star, uint32_t kind, const det_part *own,
                        int64_t *deadline_us)
{
    uint32_t plain = kind & ~(uint32_t)STAR_LOCAL;
    bool has_bytes = plain == STAR_GATHER || plain == STAR_ALLGATHER;
    bool is_much = has_bytes && own->len > star->config.limit_bytes;
    struct star_head head = {
        .kind = kind,
        .status = is_much,
        .number = star->number,
        .len = has_bytes ? own->len : 0,
    };
    size_t len = is_much ? 0 : (size_t)head.len;
    size_t first = MIN(len, (size_t)STAR_SENTENCE);
    unsigned char bytes[STAR_HEAD + STAR_SENTENCE];
    det_status st;

    star_head_write(bytes, &head);
    if (first)
        memcpy(bytes + STAR_HEAD, own->data, first);
    st = send_unless_heard(star, bytes, STAR_HEAD + first, deadline_us);
    if (!st && len > first)
        st = send_unless_heard(star, (const char *)own->data + first, len - first,
                               deadline_us);
    return st;
}

/* Skips bytes, so the next operation starts at the right place. */
static det_status drop_bytes(struct star *star, uint64_t len, int64_t deadline_us)
{
    det_status st = DET_OK;

    while (!st && len) {
        size_t count = (size_t)MIN(len, (uint64_t)STAR_SCRATCH);

        st = star_receive(star, &star->peers[0].stream, star->scratch, count,
                          deadline_us);
        len -= count;
    }
    return st;
}

static det_status take_result(struct star *star, const struct star_head *head,
                              int64_t deadline_us, struct err *err)
{
    uint32_t plain = head->kind & ~(uint32_t)STAR_LOCAL;
    det_status st;

    star->block = mem_alloc((size_t)head->len + 1);
    if (!star->block) {
        st = drop_bytes(star, head->len, deadline_us);
        return st ? chief_is_gone(star, head->kind, st, err)
                  : err_default(err, DET_NOMEM);
    }
    st = star_receive(star, &star->peers[0].stream, star->block, (size_t)head->len,
                      deadline_us);
    if (st)
        return chief_is_gone(star, head->kind, st, err);
    if (plain == STAR_ALLGATHER && !star_unpack(star, star->block, (size_t)head->len)) {
        struct err why = {0};

        (void)err_set(&why, DET_CORRUPT, "%s 0 sent a result that is damaged",
                      star->config.word);
        return star_break(star, &why, err);
    }
    if (plain != STAR_ALLGATHER)
        star->parts[0] = (det_part){star->block, (size_t)head->len};
    return DET_OK;
}

det_status star_worker_run(struct star *star, uint32_t kind, const det_part *own,
                           struct err *err)
{
    int64_t deadline_us = star_deadline(star, GRACE_MS);
    uint64_t most = star->config.limit_bytes + star_table_size(star) +
                    (uint64_t)star->config.size * STAR_ALIGN;
    unsigned char bytes[STAR_HEAD];
    struct star_head head;
    det_status st = bring(star, kind, own, &deadline_us);
    bool is_cut_short = st == DET_UNREACHABLE || st == DET_BUSY;

    if (st != DET_TIMEOUT)
        st = star_receive(star, &star->peers[0].stream, bytes, STAR_HEAD, deadline_us);
    if (st)
        return chief_is_gone(star, kind, is_cut_short ? DET_UNREACHABLE : st, err);
    star_head_read(bytes, &head);
    if (is_cut_short || head.kind != kind || head.number != star->number ||
        head.len > most)
        return star_hear(star, &head, kind, deadline_us, err);
    return take_result(star, &head, deadline_us, err);
}

/* ---- operations and end ---------------------------------------------------------- */

det_status star_run(struct star *star, uint32_t kind, const det_part *own,
                    const det_part **ret_parts, struct err *err)
{
    bool is_chief = star->config.rank == 0;
    uint32_t plain = kind & ~(uint32_t)STAR_LOCAL;
    det_status st;

    if (star->broken.status)
        return star_broken(star, err);
    star->number++;
    mem_free(star->block);
    star->block = NULL;
    st = is_chief ? star_chief_run(star, kind, own, err)
                  : star_worker_run(star, kind, own, err);
    if (!st)
        *ret_parts = plain == STAR_BARRIER || (plain == STAR_GATHER && !is_chief)
                         ? NULL
                         : star->parts;
    return st;
}
