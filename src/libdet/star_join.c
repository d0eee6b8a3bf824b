/* SPDX-License-Identifier: Apache-2.0 */
/* star_join.c - how the ranks of a star find each other, and nobody else gets in.
 *
 *   chief   greeting  MAGIC, nonce
 *   worker  answer    MAGIC, rank, size, nonce, mac("w", both nonces, rank, size)
 *   chief   verdict   limit, mac("c", both nonces, limit)
 *   chief   START, or ABORT and why
 *
 * The key itself never travels, and what does is of no use a second time. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "libdet/star_impl.h"

static const unsigned char magic[8] = {'d', 'e', 't', 's', 't', 'a', 'r', '1'};

enum {
    NONCE = 32,
    MAC = crypto_auth_BYTES,
    GREETING = sizeof(magic) + NONCE,
    CLAIM = sizeof(magic) + 4 + 4 + NONCE, /* an answer without its mac */
    ANSWER = CLAIM + MAC,
    VERDICT = 8 + MAC,
    KNOCKS = 64,  /* who is heard at the same time; the oldest makes room */
    AT_ONCE = 16, /* who is let in before those inside are heard */
    TRIES = 5,    /* a rank may have been taken for one of many strangers */
    ATTEMPT_MS = 10000,
    ATTEMPT_SHORT_MS = 2000, /* where somebody may interrupt */
    GRACE_MS = 1000,         /* the chief says first who is missing */
    PAUSE_FIRST_US = 2000,
    PAUSE_MOST_US = 200000,
};

_Static_assert(crypto_auth_KEYBYTES == STAR_KEY, "the key fits");

/* ---- proofs ---------------------------------------------------------------------- */

/* Over the chief's nonce and what the worker claims. */
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

struct knock {
    struct stream stream;
    unsigned char nonce[NONCE];
    unsigned char answer[ANSWER];
    size_t got;
};

struct door {
    struct star *star;
    struct stream listener;
    int missing;
    uint32_t next; /* which knock makes room */
    struct knock knocks[KNOCKS];
    struct pollfd *rows; /* the listener, the ranks from 1 on, the knocks */
};

/* Room for one more: whoever has been silent for longest makes it. */
static struct knock *make_room(struct door *door)
{
    struct knock *oldest;

    for (size_t i = 0; i < KNOCKS; i++)
        if (door->knocks[i].stream.fd < 0)
            return &door->knocks[i];
    oldest = &door->knocks[door->next++ % KNOCKS];
    stream_close(&oldest->stream);
    return oldest;
}

/* Takes some of those who wait at the door and greets them; who does not take the
 * greeting is let go. */
static det_status let_knock(struct door *door, struct err *err)
{
    for (int i = 0; i < AT_ONCE; i++) {
        struct knock knock = {.stream = STREAM_NONE};
        unsigned char greeting[GREETING];
        size_t count = 0;
        det_status st = stream_accept(&door->listener, &knock.stream, err);

        if (st)
            return st == DET_BUSY ? DET_OK : st;
        st = rng_secret(knock.nonce, NONCE, err);
        memcpy(greeting, magic, sizeof(magic));
        memcpy(greeting + sizeof(magic), knock.nonce, NONCE);
        if (!st && stream_is_same_user(&knock.stream))
            (void)stream_try_send(&knock.stream, greeting, GREETING, &count, NULL);
        if (count == GREETING)
            *make_room(door) = knock;
        else
            stream_close(&knock.stream);
        if (st)
            return st;
    }
    return DET_OK;
}

/* Somebody who knows the key: a rank, if the numbers agree. */
static det_status seat(struct door *door, struct knock *knock, struct err *err)
{
    struct star *star = door->star;
    uint64_t rank = get_u32(knock->answer + sizeof(magic));
    uint64_t size = get_u32(knock->answer + sizeof(magic) + 4);
    struct err why = {.status = DET_OK};
    unsigned char verdict[VERDICT];
    size_t count;

    put_u64(verdict, star->config.limit_bytes);
    verdict_mac(star, knock->nonce, knock->answer + sizeof(magic) + 8, verdict,
                verdict + 8);
    (void)stream_try_send(&knock->stream, verdict, VERDICT, &count, NULL);
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

        (void)stream_try_send(&knock->stream, bytes, len, &count, NULL);
        return star_break(star, &why, err);
    }
    star->peers[rank].stream = knock->stream;
    knock->stream = (struct stream)STREAM_NONE;
    door->missing--;
    return DET_OK;
}

static det_status hear_knock(struct door *door, struct knock *knock, struct err *err)
{
    unsigned char mac[MAC];
    size_t count;

    if (stream_try_receive(&knock->stream, knock->answer + knock->got,
                           ANSWER - knock->got, &count, NULL)) {
        stream_close(&knock->stream);
        return DET_OK;
    }
    knock->got += count;
    if (knock->got < ANSWER)
        return DET_OK;
    answer_mac(door->star, knock->nonce, knock->answer, mac);
    if (memcmp(knock->answer, magic, sizeof(magic)) != 0 ||
        sodium_memcmp(mac, knock->answer + CLAIM, MAC) != 0) {
        stream_close(&knock->stream);
        return DET_OK;
    }
    return seat(door, knock, err);
}

static det_status nobody_came(struct door *door, struct err *err)
{
    struct star *star = door->star;
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
                  star->config.size - door->missing, star->config.size,
                  star->config.word, missing);
    return star_break(star, &why, err);
}

/* One wait, and everybody who has something to say. */
static det_status open_door(struct door *door, struct err *err)
{
    struct star *star = door->star;
    size_t size = (size_t)star->config.size;
    det_status st;

    door->rows[0] = stream_row(&door->listener, POLLIN);
    for (size_t i = 1; i < size; i++)
        door->rows[i] = stream_row(&star->peers[i].stream, POLLIN);
    for (size_t i = 0; i < KNOCKS; i++)
        door->rows[size + i] = stream_row(&door->knocks[i].stream, POLLIN);
    st = star_wait(star, door->rows, size + KNOCKS, star->config.join_deadline_us, err);
    if (star->is_interrupted)
        return star_stop(star, 0, err);
    if (st == DET_TIMEOUT)
        return nobody_came(door, err);
    for (size_t i = 1; !st && i < size; i++)
        if (door->rows[i].revents)
            st = star_interrupted(star, (int)i, 0, err);
    for (size_t i = 0; !st && i < KNOCKS; i++)
        if (door->rows[size + i].revents)
            st = hear_knock(door, &door->knocks[i], err);
    if (!st && door->rows[0].revents)
        st = let_knock(door, err);
    return st;
}

static det_status door_run(struct door *door, struct err *err)
{
    struct star *star = door->star;
    unsigned char bytes[STAR_HEAD];
    struct star_head head = {.kind = STAR_START};
    det_status st = stream_listen(&star->config.at, &door->listener, NULL, err);

    while (!st && door->missing)
        st = open_door(door, err);
    if (st && !star->broken.status) {
        struct err why = {.status = DET_OK};

        (void)err_set(&why, st, "%s 0 cannot take the others", star->config.word);
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
    struct door *door = mem_new(struct door);
    det_status st;

    if (door)
        door->rows = mem_array((size_t)star->config.size + KNOCKS, sizeof(*door->rows));
    if (!door || !door->rows) {
        mem_free(door);
        return err_default(err, DET_NOMEM);
    }
    door->star = star;
    door->missing = star->config.size - 1;
    door->listener = (struct stream)STREAM_NONE;
    for (size_t i = 0; i < KNOCKS; i++)
        door->knocks[i].stream = (struct stream)STREAM_NONE;
    st = door_run(door, err);
    for (size_t i = 0; i < KNOCKS; i++)
        stream_close(&door->knocks[i].stream);
    stream_close(&door->listener);
    mem_free(door->rows);
    mem_free(door);
    return st;
}

/* ---- worker ---------------------------------------------------------------------- */

/* Until the chief listens. */
static det_status reach(struct star *star, struct err *err)
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
            return err ? err_prefix(err, "%s 0 did not come in time", star->config.word)
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
                   "%s 0 at %s has another secret than %s %d, or is of another "
                   "program, or died just now",
                   star->config.word, place, star->config.word, star->config.rank);
}

/* DET_BUSY: the door closed before anybody greeted; DET_FORBIDDEN: later. */
static det_status introduce(struct star *star, struct err *err)
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

/* Who listens there may still be another than the chief, or the chief may have had too
 * many at its door. */
static det_status get_in(struct star *star, struct err *err)
{
    for (int tries = TRIES;;) {
        det_status st = reach(star, err);

        if (!st)
            st = introduce(star, err);
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
    det_status st = get_in(star, err);

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

/* ---- either ---------------------------------------------------------------------- */

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
