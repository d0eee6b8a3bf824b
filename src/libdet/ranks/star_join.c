/* SPDX-License-Identifier: Apache-2.0 */
/* star_join.c - how the ranks of a star connect, and strangers are kept out.
 *
 *   chief   greeting  MAGIC, nonce
 *   worker  answer    MAGIC, rank, size, nonce, mac("w", both nonces, rank, size)
 *   chief   verdict   limit, mac("c", both nonces, limit)
 *   chief   START, or ABORT and the reason
 *
 * The key itself is never sent, and recorded messages are useless later.  A candidate
 * is a connection that has not answered correctly yet. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "libdet/ranks/star_impl.h"

static const unsigned char magic[8] = {'d', 'e', 't', 's', 't', 'a', 'r', '1'};

enum {
    NONCE = 32,
    MAC = crypto_auth_BYTES,
    GREETING = sizeof(magic) + NONCE,
    CLAIM = sizeof(magic) + 4 + 4 + NONCE, /* an answer without its mac */
    ANSWER = CLAIM + MAC,
    VERDICT = 8 + MAC,
    CANDIDATES = 64, /* handled at the same time; a new one replaces the oldest */
    AT_ONCE = 16,    /* accepted before the others are served */
    TRIES = 5,       /* the chief may have dropped a rank among many strangers */
    ATTEMPT_MS = 10000,
    ATTEMPT_SHORT_MS = 2000, /* if the wait can be interrupted */
    GRACE_MS = 1000,         /* lets the chief say first who is missing */
    PAUSE_FIRST_US = 2000,
    PAUSE_MOST_US = 200000,
};

_Static_assert(crypto_auth_KEYBYTES == STAR_KEY, "the key fits");

/* ---- proofs ---------------------------------------------------------------------- */

/* Covers the chief's nonce and the worker's claim. */
static void answer_mac(const struct star *star, const unsigned char nonce[NONCE],
                       const unsigned char claim[CLAIM], unsigned char ret_mac[MAC])
{
    unsigned char text[1 + NONCE + CLAIM] = {'w'};

    memcpy(text + 1, nonce, NONCE);
    memcpy(text + 1 + NONCE, claim, CLAIM);
    crypto_auth(ret_mac, text, sizeof(text), star->config.key);
}

static void verdict_mac(const struct star *star, const unsigned char chiefs[NONCE],
                        const unsigned char workers[NONCE],
                        const unsigned char limit[8], unsigned char ret_mac[MAC])
{
    unsigned char text[1 + NONCE + NONCE + 8] = {'c'};

    memcpy(text + 1, chiefs, NONCE);
    memcpy(text + 1 + NONCE, workers, NONCE);
    memcpy(text + 1 + NONCE + NONCE, limit, 8);
    crypto_auth(ret_mac, text, sizeof(text), star->config.key);
}

/* ---- chief ----------------------------------------------------------------------- */

struct candidate {
    struct stream stream;
    unsigned char nonce[NONCE];
    unsigned char answer[ANSWER];
    size_t got;
};

struct joining {
    struct star *star;
    struct stream listener;
    int missing;
    uint32_t next; /* the candidate to replace next */
    struct candidate candidates[CANDIDATES];
    struct pollfd *rows; /* the listener, the ranks from 1 on, the candidates */
};

/* Returns a free place; replaces the oldest candidate if there is none. */
static struct candidate *make_room(struct joining *joining)
{
    struct candidate *oldest;

    for (size_t i = 0; i < CANDIDATES; i++)
        if (joining->candidates[i].stream.fd < 0)
            return &joining->candidates[i];
    oldest = &joining->candidates[joining->next++ % CANDIDATES];
    stream_close(&oldest->stream);
    return oldest;
}

/* Accepts some waiting connections and greets them; drops those that do not take the
 * greeting. */
static det_status accept_candidates(struct joining *joining, struct err *err)
{
    for (int i = 0; i < AT_ONCE; i++) {
        struct candidate candidate = {.stream = STREAM_NONE};
        unsigned char greeting[GREETING];
        size_t count = 0;
        det_status st = stream_accept(&joining->listener, &candidate.stream, err);

        if (st)
            return st == DET_BUSY ? DET_OK : st;
        st = rng_secret(candidate.nonce, NONCE, err);
        memcpy(greeting, magic, sizeof(magic));
        memcpy(greeting + sizeof(magic), candidate.nonce, NONCE);
        if (!st && stream_is_same_user(&candidate.stream))
            (void)stream_try_send(&candidate.stream, greeting, GREETING, &count, NULL);
        if (count == GREETING)
            *make_room(joining) = candidate;
        else
            stream_close(&candidate.stream);
        if (st)
            return st;
    }
    return DET_OK;
}

/* Admits a candidate that knows the key, if its numbers are right. */
static det_status admit_rank(struct joining *joining, struct candidate *candidate,
                             struct err *err)
{
    struct star *star = joining->star;
    uint64_t rank = get_u32(candidate->answer + sizeof(magic));
    uint64_t size = get_u32(candidate->answer + sizeof(magic) + 4);
    struct err why = {.status = DET_OK};
    unsigned char verdict[VERDICT];
    size_t count;

    put_u64(verdict, star->config.limit_bytes);
    verdict_mac(star, candidate->nonce, candidate->answer + sizeof(magic) + 8, verdict,
                verdict + 8);
    (void)stream_try_send(&candidate->stream, verdict, VERDICT, &count, NULL);
    if (size != (uint64_t)star->config.size || rank == 0 || rank >= size)
        (void)err_set(&why, DET_STATE,
                      "a process says that it is %s %" PRIu64 " of %" PRIu64
                      ", but there are %d",
                      star->config.word, rank, size, star->config.size);
    else if (star->peers[rank].stream.fd >= 0)
        (void)err_set(&why, DET_STATE, "two processes say that they are %s %" PRIu64,
                      star->config.word, rank);
    if (why.status) {
        unsigned char bytes[STAR_HEAD + STAR_SENTENCE];
        size_t len = star_sentence(bytes, STAR_ABORT, star, &why);

        (void)stream_try_send(&candidate->stream, bytes, len, &count, NULL);
        return star_break(star, &why, err);
    }
    star->peers[rank].stream = candidate->stream;
    candidate->stream = (struct stream)STREAM_NONE;
    joining->missing--;
    return DET_OK;
}

static det_status read_answer(struct joining *joining, struct candidate *candidate,
                              struct err *err)
{
    unsigned char mac[MAC];
    size_t count;

    if (stream_try_receive(&candidate->stream, candidate->answer + candidate->got,
                           ANSWER - candidate->got, &count, NULL)) {
        stream_close(&candidate->stream);
        return DET_OK;
    }
    candidate->got += count;
    if (candidate->got < ANSWER)
        return DET_OK;
    answer_mac(joining->star, candidate->nonce, candidate->answer, mac);
    if (memcmp(candidate->answer, magic, sizeof(magic)) != 0 ||
        sodium_memcmp(mac, candidate->answer + CLAIM, MAC) != 0) {
        stream_close(&candidate->stream);
        return DET_OK;
    }
    return admit_rank(joining, candidate, err);
}

static det_status ranks_missing(struct joining *joining, struct err *err)
{
    struct star *star = joining->star;
    char missing[256] = "";
    size_t len = 0;
    struct err why = {0};

    for (int i = 1; i < star->config.size; i++)
        if (star->peers[i].stream.fd < 0 && len < sizeof(missing) - 16)
            len += (size_t)snprintf(missing + len, sizeof(missing) - len, "%s%d",
                                    len ? ", " : "", i);
    (void)err_set(&why, DET_TIMEOUT,
                  "only %d of %d processes came in time; missing: "
                  "%s %s",
                  star->config.size - joining->missing, star->config.size,
                  star->config.word, missing);
    return star_break(star, &why, err);
}

/* Waits once, and serves every connection that has sent something. */
static det_status wait_for_ranks(struct joining *joining, struct err *err)
{
    struct star *star = joining->star;
    size_t size = (size_t)star->config.size;
    det_status st;

    joining->rows[0] = stream_row(&joining->listener, POLLIN);
    for (size_t i = 1; i < size; i++)
        joining->rows[i] = stream_row(&star->peers[i].stream, POLLIN);
    for (size_t i = 0; i < CANDIDATES; i++)
        joining->rows[size + i] = stream_row(&joining->candidates[i].stream, POLLIN);
    st = star_wait(star, joining->rows, size + CANDIDATES,
                   star->config.join_deadline_us, err);
    if (star->is_interrupted)
        return star_stop(star, 0, err);
    if (st == DET_TIMEOUT)
        return ranks_missing(joining, err);
    for (size_t i = 1; !st && i < size; i++)
        if (joining->rows[i].revents)
            st = star_interrupted(star, (int)i, 0, err);
    for (size_t i = 0; !st && i < CANDIDATES; i++)
        if (joining->rows[size + i].revents)
            st = read_answer(joining, &joining->candidates[i], err);
    if (!st && joining->rows[0].revents)
        st = accept_candidates(joining, err);
    return st;
}

static det_status accept_ranks(struct joining *joining, struct err *err)
{
    struct star *star = joining->star;
    unsigned char bytes[STAR_HEAD];
    struct star_head head = {.kind = STAR_START};
    det_status st = stream_listen(&star->config.at, &joining->listener, NULL, err);

    while (!st && joining->missing)
        st = wait_for_ranks(joining, err);
    if (st && !star->broken.status) {
        struct err why = {.status = DET_OK};

        (void)err_set(&why, st, "%s 0 cannot accept the others", star->config.word);
        (void)star_break(star, &why, NULL);
    }
    if (st)
        return st;
    star_head_write(bytes, &head);
    star_answer(star, 0, bytes, STAR_HEAD, star->config.join_deadline_us);
    return DET_OK;
}

static det_status join_chief(struct star *star, struct err *err)
{
    struct joining *joining = mem_new(struct joining);
    det_status st;

    if (joining)
        joining->rows =
            mem_array((size_t)star->config.size + CANDIDATES, sizeof(*joining->rows));
    if (!joining || !joining->rows) {
        mem_free(joining);
        return err_default(err, DET_NOMEM);
    }
    joining->star = star;
    joining->missing = star->config.size - 1;
    joining->listener = (struct stream)STREAM_NONE;
    for (size_t i = 0; i < CANDIDATES; i++)
        joining->candidates[i].stream = (struct stream)STREAM_NONE;
    st = accept_ranks(joining, err);
    for (size_t i = 0; i < CANDIDATES; i++)
        stream_close(&joining->candidates[i].stream);
    stream_close(&joining->listener);
    mem_free(joining->rows);
    mem_free(joining);
    return st;
}

/* ---- worker ---------------------------------------------------------------------- */

/* Connects, and retries until the chief listens. */
static det_status reach_chief(struct star *star, struct err *err)
{
    int64_t deadline_us = star->config.join_deadline_us;
    int64_t pause_us = PAUSE_FIRST_US;

    for (;;) {
        int64_t now_us = clock_mono_us(&clock_system);
        int64_t most_ms = star->config.interrupted ? ATTEMPT_SHORT_MS : ATTEMPT_MS;
        int64_t until_us = now_us + most_ms * 1000;
        det_status st = stream_connect(&star->config.at, MIN(until_us, deadline_us),
                                       &star->peers[0].stream, err);

        if (st != DET_UNREACHABLE)
            return st;
        if (now_us + pause_us >= deadline_us) {
            if (err)
                err->status = DET_TIMEOUT;
            return err ? err_prefix(err, "%s 0 did not start in time",
                                    star->config.word)
                       : DET_TIMEOUT;
        }
        clock_pause(&clock_system, pause_us);
        if (star_is_interrupted(star))
            return star_stop(star, 0, err);
        pause_us = MIN(2 * pause_us, (int64_t)PAUSE_MOST_US);
    }
}

static det_status refused_by_chief(const struct star *star, det_status how,
                                   struct err *err)
{
    char place[STREAM_TEXT];

    stream_at_text(&star->config.at, place);
    if (how == DET_TIMEOUT)
        return err_set(err, how, "%s 0 at %s does not answer", star->config.word,
                       place);
    return err_set(err, DET_FORBIDDEN,
                   "%s 0 at %s has another secret than %s %d, belongs to another "
                   "program, or has just died",
                   star->config.word, place, star->config.word, star->config.rank);
}

/* DET_BUSY: the connection was closed before the greeting; DET_FORBIDDEN: after it. */
static det_status prove_rank(struct star *star, struct err *err)
{
    struct stream *stream = &star->peers[0].stream;
    int64_t deadline_us = star->config.join_deadline_us;
    unsigned char greeting[GREETING], answer[ANSWER], verdict[VERDICT], mac[MAC];
    det_status st = star_receive(star, stream, greeting, GREETING, deadline_us);

    if (st == DET_UNREACHABLE)
        return DET_BUSY;
    if (!st && memcmp(greeting, magic, sizeof(magic)) != 0)
        st = DET_FORBIDDEN;
    if (!st && !stream_is_same_user(stream))
        st = DET_FORBIDDEN;
    memcpy(answer, magic, sizeof(magic));
    put_u32(answer + sizeof(magic), (uint32_t)star->config.rank);
    put_u32(answer + sizeof(magic) + 4, (uint32_t)star->config.size);
    if (!st) {
        st = rng_secret(answer + sizeof(magic) + 8, NONCE, err);
        if (st)
            return st;
    }
    answer_mac(star, greeting + sizeof(magic), answer, answer + CLAIM);
    if (!st)
        st = stream_send(stream, answer, ANSWER, deadline_us, NULL);
    if (!st)
        st = star_receive(star, stream, verdict, VERDICT, deadline_us);
    if (star->is_interrupted)
        return star_stop(star, 0, err);
    if (st)
        return refused_by_chief(star, st, err);
    verdict_mac(star, greeting + sizeof(magic), answer + sizeof(magic) + 8, verdict,
                mac);
    if (sodium_memcmp(mac, verdict + 8, MAC) != 0)
        return refused_by_chief(star, DET_FORBIDDEN, err);
    star->config.limit_bytes = (size_t)get_u64(verdict);
    return DET_OK;
}

/* Retries, because another program may still listen there, or the chief may have had
 * too many candidates. */
static det_status connect_to_chief(struct star *star, struct err *err)
{
    for (int tries = TRIES;;) {
        det_status st = reach_chief(star, err);

        if (!st)
            st = prove_rank(star, err);
        if (st != DET_BUSY && (st != DET_FORBIDDEN || !--tries))
            return st;
        stream_close(&star->peers[0].stream);
        if (clock_mono_us(&clock_system) >= star->config.join_deadline_us)
            return refused_by_chief(star, DET_TIMEOUT, err);
        if (star_is_interrupted(star))
            return star_stop(star, 0, err);
        clock_pause(&clock_system, PAUSE_MOST_US / 4);
    }
}

static det_status join_worker(struct star *star, struct err *err)
{
    int64_t deadline_us = star->config.join_deadline_us;
    unsigned char bytes[STAR_HEAD];
    struct star_head head;
    struct err why = {0};
    det_status st = connect_to_chief(star, err);

    if (st)
        return st;
    deadline_us += GRACE_MS * 1000;
    st = star_receive(star, &star->peers[0].stream, bytes, STAR_HEAD, deadline_us);
    if (star->is_interrupted)
        return star_stop(star, 0, err);
    if (st) {
        (void)err_set(&why, st, "%s 0 %s before all ranks were there",
                      star->config.word,
                      st == DET_TIMEOUT ? "has not said more" : "died");
        return star_break(star, &why, err);
    }
    star_head_read(bytes, &head);
    return head.kind == STAR_START ? DET_OK
                                   : star_hear(star, &head, 0, deadline_us, err);
}

/* ---- joining --------------------------------------------------------------------- */

det_status star_join(struct star *star, const struct star_config *config,
                     struct err *err)
{
    size_t size = (size_t)config->size;
    det_status st = DET_OK;
    size_t count;

    memset(star, 0, sizeof(*star));
    star->config = *config;
    count = (size_t)star_peer_count(star);
    star->rows = mem_array(size, sizeof(*star->rows));
    star->parts = mem_array(size, sizeof(*star->parts));
    star->scratch = mem_alloc(STAR_SCRATCH);
    star->peers = mem_array(count, sizeof(*star->peers));
    for (size_t i = 0; star->peers && i < count; i++)
        star->peers[i].stream = (struct stream)STREAM_NONE;
    if (!star->rows || !star->parts || !star->scratch || !star->peers)
        st = err_default(err, DET_NOMEM);
    if (!st && size > 1)
        st = config->rank ? join_worker(star, err) : join_chief(star, err);
    star->config.at = (struct stream_at){0};
    if (st)
        star_done(star, false);
    return st;
}
