/* SPDX-License-Identifier: Apache-2.0 */
/* star_chief.c - the chief's end of a star: collects the bytes of all ranks, and
 * answers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory/mem.h"
#include "libdet/ranks/star_impl.h"

/* `data` of a part is never NULL. */
static const uint64_t nothing[STAR_ALIGN / 8] = {0};

enum { BODY = 32, LAST_WORD_MS = 1000 }; /* BODY: the offset of a result in its block */

/* ---- errors ---------------------------------------------------------------------- */

static void died(struct err *why, const struct star *star, int rank, uint32_t kind)
{
    char moment[STAR_MOMENT];

    (void)err_set(why, DET_UNREACHABLE, "%s %d died %s", star->config.word, rank,
                  star_moment(star, kind, "in", moment));
}

/* The head does not belong to this operation. */
static void wrong_head(struct star *star, int rank, const struct star_head *head,
                       uint32_t kind, struct err *why)
{
    int64_t until = clock_mono_us(&clock_system) + LAST_WORD_MS * 1000;
    char moment[STAR_MOMENT];
    char text[STAR_SENTENCE + 1] = "";
    const char *word = star->config.word;

    if (head->kind == STAR_LEAVE)
        (void)err_set(why, DET_UNREACHABLE, "%s %d left %s", word, rank,
                      star_moment(star, kind, "before", moment));
    else if (head->kind != STAR_ABORT)
        (void)err_set(why, DET_STATE,
                      "%s %d calls %s number %" PRIu64 " where %s 0 calls %s number "
                      "%" PRIu64 ": all ranks must call the same operations in the "
                      "same order",
                      word, rank, star_operation(head->kind), head->number, word,
                      star_operation(kind), star->number);
    else if (head->len > STAR_SENTENCE ||
             stream_receive(&star->peers[rank].stream, text, (size_t)head->len, until,
                            NULL))
        died(why, star, rank, kind);
    else
        (void)err_set(why, star_status(head->status), "%s", text);
}

/* The last message of a rank that should be silent, or that it sent none. */
static void last_word(struct star *star, int rank, uint32_t kind, struct err *why)
{
    int64_t until = clock_mono_us(&clock_system) + LAST_WORD_MS * 1000;
    unsigned char bytes[STAR_HEAD];
    struct star_head head;

    if (stream_receive(&star->peers[rank].stream, bytes, STAR_HEAD, until, NULL)) {
        died(why, star, rank, kind);
        return;
    }
    star_head_read(bytes, &head);
    wrong_head(star, rank, &head, kind, why);
}

det_status star_interrupted(struct star *star, int rank, uint32_t kind, struct err *err)
{
    struct err why = {0};

    last_word(star, rank, kind, &why);
    return star_break(star, &why, err);
}

/* Names the ranks that have not called, as far as there is room. */
static det_status too_late(struct star *star, uint32_t kind, struct err *err)
{
    char missing[256] = "";
    size_t len = 0;
    struct err why = {0};

    for (int i = 1; i < star->config.size; i++)
        if (!star->peers[i].has_all && len < sizeof(missing) - 16)
            len += (size_t)snprintf(missing + len, sizeof(missing) - len, "%s%d",
                                    len ? ", " : "", i);
    (void)err_set(&why, DET_TIMEOUT,
                  "%s number %" PRIu64 " took longer than %" PRId64
                  " ms; not there yet: %s %s",
                  star_operation(kind), star->number, star->config.timeout_ms,
                  star->config.word, missing);
    return star_break(star, &why, err);
}

/* The first reason counts. */
static void refuse_much(struct star *star, int rank, uint32_t kind, uint64_t len)
{
    if (!star->refused.status)
        (void)err_set(&star->refused, DET_TOO_LARGE,
                      "%s number %" PRIu64 " carries more than the limit of %zu bytes, "
                      "%" PRIu64 " of them from %s %d; send less, or raise limit_bytes",
                      star_operation(kind), star->number, star->config.limit_bytes, len,
                      star->config.word, rank);
}

static void refuse_memory(struct star *star, uint32_t kind)
{
    if (!star->refused.status)
        (void)err_set(&star->refused, DET_NOMEM,
                      "%s 0 has no memory for the bytes of %s number %" PRIu64,
                      star->config.word, star_operation(kind), star->number);
}

/* ---- collecting ------------------------------------------------------------------ */

static bool adds_too_much(struct star *star, uint64_t len)
{
    if (len > star->config.limit_bytes || star->sum > star->config.limit_bytes - len)
        return true;
    star->sum += len;
    return false;
}

/* A complete head has arrived: makes room for the bytes. */
static det_status take_head(struct star *star, int rank, uint32_t kind, struct err *err)
{
    struct star_peer *peer = &star->peers[rank];
    struct star_head head;
    struct err why = {0};

    star_head_read(peer->head, &head);
    if (head.kind != kind || head.number != star->number) {
        wrong_head(star, rank, &head, kind, &why);
        return star_break(star, &why, err);
    }
    peer->is_dropped = adds_too_much(star, head.len);
    if (peer->is_dropped)
        refuse_much(star, rank, kind, head.len);
    peer->len = head.status ? 0 : (size_t)head.len;
    if (!peer->is_dropped && peer->len) {
        peer->bytes = star->refused.status ? NULL : mem_alloc(peer->len);
        peer->is_dropped = !peer->bytes;
        if (peer->is_dropped)
            refuse_memory(star, kind);
    }
    return DET_OK;
}

/* Reads what has arrived of a rank's head or bytes. */
static det_status take_bytes(struct star *star, int rank, uint32_t kind,
                             struct err *err)
{
    struct star_peer *peer = &star->peers[rank];
    bool is_head = peer->head_got < STAR_HEAD;
    size_t want = is_head ? STAR_HEAD - peer->head_got : peer->len - peer->got;
    void *to = is_head            ? (void *)(peer->head + peer->head_got)
               : peer->is_dropped ? star->scratch
                                  : peer->bytes + peer->got;
    size_t count;
    struct err why = {0};
    det_status st = DET_OK;

    if (!is_head && peer->is_dropped)
        want = MIN(want, (size_t)STAR_SCRATCH);
    if (stream_try_receive(&peer->stream, to, want, &count, NULL)) {
        died(&why, star, rank, kind);
        return star_break(star, &why, err);
    }
    *(is_head ? &peer->head_got : &peer->got) += count;
    if (is_head && peer->head_got == STAR_HEAD)
        st = take_head(star, rank, kind, err);
    peer->has_all = !st && peer->head_got == STAR_HEAD && peer->got == peer->len;
    return st;
}

/* Reads until all bytes have arrived.  Also watches ranks that are done and should be
 * silent. */
static det_status collect_parts(struct star *star, uint32_t kind, int64_t deadline_us,
                                struct err *err)
{
    int size = star->config.size;
    int missing = size - 1;

    while (missing) {
        struct err why = {0};
        det_status st;

        for (int i = 1; i < size; i++)
            star->rows[i] = stream_row(&star->peers[i].stream, POLLIN);
        st = star_wait(star, star->rows + 1, (size_t)size - 1, deadline_us, &why);
        if (star->is_interrupted)
            return star_stop(star, kind, err);
        if (st)
            return st == DET_TIMEOUT ? too_late(star, kind, err)
                                     : star_break(star, &why, err);
        for (int i = 1; !st && i < size; i++) {
            if (!star->rows[i].revents)
                continue;
            if (star->peers[i].has_all)
                return star_interrupted(star, i, kind, err);
            st = take_bytes(star, i, kind, err);
            missing -= !st && star->peers[i].has_all;
        }
        if (st)
            return st;
    }
    return DET_OK;
}

/* ---- the answer ------------------------------------------------------------------ */

static void lose(struct star *star, int rank, uint32_t kind)
{
    if (!star->broken.status)
        last_word(star, rank, kind, &star->broken);
    stream_close(&star->peers[rank].stream);
}

/* Sends what fits now to all ranks; returns how many have not got all. */
static int send_some(struct star *star, uint32_t kind, const char *bytes, size_t len)
{
    int waiting = 0;

    for (int i = 1; i < star->config.size; i++) {
        struct star_peer *peer = &star->peers[i];
        size_t count = 0;
        bool is_open = peer->stream.fd >= 0 && peer->sent < len;

        if (is_open && stream_try_send(&peer->stream, bytes + peer->sent,
                                       len - peer->sent, &count, NULL))
            lose(star, i, kind);
        peer->sent += count;
        is_open = peer->stream.fd >= 0 && peer->sent < len;
        star->rows[i] =
            (struct pollfd){.fd = is_open ? peer->stream.fd : -1, .events = POLLOUT};
        waiting += is_open;
    }
    return waiting;
}

void star_answer(struct star *star, uint32_t kind, const void *bytes, size_t len,
                 int64_t deadline_us)
{
    for (int i = 1; i < star->config.size; i++)
        star->peers[i].sent = 0;
    while (send_some(star, kind, bytes, len)) {
        if (!star_wait(star, star->rows + 1, (size_t)star->config.size - 1, deadline_us,
                       NULL))
            continue;
        if (star->is_interrupted)
            (void)star_stop(star, kind, NULL);
        for (int i = 1; i < star->config.size; i++) {
            if (star->rows[i].fd < 0)
                continue;
            if (!star->broken.status)
                (void)err_set(&star->broken, DET_TIMEOUT,
                              "%s %d did not take the result of %s number %" PRIu64
                              " in time",
                              star->config.word, i, star_operation(kind), star->number);
            stream_close(&star->peers[i].stream);
        }
        return;
    }
}

static det_status send_refusal(struct star *star, uint32_t kind, int64_t deadline_us,
                               struct err *err)
{
    unsigned char bytes[STAR_HEAD + STAR_SENTENCE];
    size_t len = star_sentence(bytes, STAR_REFUSED, star, &star->refused);

    star_answer(star, kind, bytes, len, deadline_us);
    return err_set(err, star->refused.status, "%s", star->refused.text);
}

/* Builds the block: a head, then the result for all ranks; for a gather, the result for
 * this rank.  `parts` points to what this rank gets. */
static bool compose(struct star *star, uint32_t kind, const det_part *own,
                    size_t *ret_len)
{
    uint32_t plain = kind & ~(uint32_t)STAR_LOCAL;
    det_part *parts = star->parts;
    size_t keep = own->len;
    char *body;

    parts[0] = *own;
    for (int i = 1; i < star->config.size; i++)
        parts[i] = (det_part){star->peers[i].bytes ? (const void *)star->peers[i].bytes
                                                   : nothing,
                              star->peers[i].len};
    if (plain == STAR_ALLGATHER)
        keep = star_packed_size(star, parts);
    star->block = mem_alloc(BODY + keep);
    if (!star->block)
        return false;
    body = star->block + BODY;
    *ret_len = plain == STAR_GATHER ? 0 : keep;
    if (plain == STAR_ALLGATHER) {
        star_pack(star, parts, body);
        return star_unpack(star, body, keep);
    }
    if (own->len)
        memcpy(body, own->data, own->len);
    parts[0].data = keep ? (const void *)body : nothing;
    return true;
}

static void begin_operation(struct star *star)
{
    for (int i = 1; i < star->config.size; i++) {
        struct star_peer *peer = &star->peers[i];

        mem_free(peer->bytes);
        *peer = (struct star_peer){.stream = peer->stream};
    }
    star->refused.status = DET_OK;
    star->sum = 0;
}

det_status star_chief_run(struct star *star, uint32_t kind, const det_part *own,
                          struct err *err)
{
    int64_t deadline_us = star_deadline(star, 0);
    struct star_head head = {.kind = kind, .number = star->number};
    size_t len = 0;
    det_status st;

    begin_operation(star);
    if (adds_too_much(star, own->len))
        refuse_much(star, 0, kind, own->len);
    st = collect_parts(star, kind, deadline_us, err);
    if (st)
        return st;
    if (!star->refused.status && !compose(star, kind, own, &len))
        refuse_memory(star, kind);
    if (star->refused.status)
        return send_refusal(star, kind, deadline_us, err);
    head.len = len;
    star_head_write((unsigned char *)star->block + BODY - STAR_HEAD, &head);
    star_answer(star, kind, star->block + BODY - STAR_HEAD, STAR_HEAD + len,
                deadline_us);
    return DET_OK;
}
