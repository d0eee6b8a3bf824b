/* SPDX-License-Identifier: Apache-2.0 */
/* login_limit.c - two tables of fixed size.
 *
 * Rows are found by a keyed hash of 128 bits, so nobody can choose a name that shares a row
 * with another.  A row may be in one of WAYS places; if all are taken, the one with the
 * least failures, and of those the oldest, gives way.  So a flood of names does not wash out
 * the count of the one that is attacked. */
#include "master/api/people/login_limit.h"

#include <sodium.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "base/thread/lock.h"
#include "net/peer/forwarded.h"

#define SECOND_US INT64_C(1000000)
#define WINDOW_US (60 * SECOND_US)

enum { WAYS = 8, PAIRS = 8192, NETWORKS = 2048, HASH_BYTES = 16 };

struct row {
    unsigned char hash[HASH_BYTES];
    int64_t seen_us; /* 0: the row is free */
    int64_t until_us;
    uint32_t failures; /* of a pair: in a row; of a network: in the current window */
    uint32_t pending;
    bool is_good; /* the last login was right */
};

struct login_limit {
    struct lock lock; /* guards everything below */
    unsigned char key[crypto_generichash_KEYBYTES];
    uint32_t slow;
    struct row pair[PAIRS];
    struct row network[NETWORKS];
};

det_status login_limit_new(struct login_limit **ret_limit, struct err *err)
{
    struct login_limit *limit = mem_new(struct login_limit);
    det_status st;

    if (!limit)
        return err_default(err, DET_NOMEM);
    st = rng_secret(limit->key, sizeof(limit->key), err);
    if (!st)
        st = lock_init(&limit->lock, err);
    if (st) {
        mem_free(limit);
        return st;
    }
    *ret_limit = limit;
    return DET_OK;
}

void login_limit_free(struct login_limit *limit)
{
    if (!limit)
        return;
    lock_done(&limit->lock);
    mem_free(limit);
}

/* ---- rows ------------------------------------------------------------------------- */

/* `name` NULL: of the network alone. */
static void hash_key(const struct login_limit *limit, const char *network,
                     const char *name, unsigned char hash[HASH_BYTES])
{
    crypto_generichash_state state;

    crypto_generichash_init(&state, limit->key, sizeof(limit->key), HASH_BYTES);
    crypto_generichash_update(&state, (const unsigned char *)network,
                              strlen(network) + 1);
    if (name)
        crypto_generichash_update(&state, (const unsigned char *)name,
                                  strlen(name) + 1);
    crypto_generichash_final(&state, hash, HASH_BYTES);
}

static bool is_old(const struct row *row, int64_t now_us)
{
    return !row->pending && now_us - row->seen_us > LOGIN_QUIET_US;
}

/* Which of two rows gives way to a new one. */
static bool is_cheaper(const struct row *a, const struct row *b)
{
    if (!a->pending != !b->pending)
        return !a->pending;
    if (a->failures != b->failures)
        return a->failures < b->failures;
    return a->seen_us < b->seen_us;
}

/* The row of that hash; a new one takes the place of the cheapest. */
static struct row *find_row(struct row *table, size_t count, const unsigned char *hash,
                            int64_t now_us)
{
    uint64_t number;
    struct row *set;
    struct row *worst;

    memcpy(&number, hash, sizeof(number));
    set = worst = &table[number % (count / WAYS) * WAYS];
    for (struct row *row = set; row < set + WAYS; row++) {
        if (row->seen_us && !memcmp(row->hash, hash, HASH_BYTES)) {
            if (is_old(row, now_us))
                row->failures = 0, row->until_us = 0, row->is_good = false;
            return row;
        }
        if (is_cheaper(row, worst))
            worst = row;
    }
    *worst = (struct row){.seen_us = now_us};
    memcpy(worst->hash, hash, HASH_BYTES);
    return worst;
}

static struct row *find_pair(struct login_limit *limit, const char *network,
                             const char *name, int64_t now_us)
{
    unsigned char hash[HASH_BYTES];

    hash_key(limit, network, name, hash);
    return find_row(limit->pair, PAIRS, hash, now_us);
}

/* A window begins with the first failure after the last one. */
static struct row *find_network(struct login_limit *limit, const char *network,
                                int64_t now_us)
{
    unsigned char hash[HASH_BYTES];
    struct row *row;

    hash_key(limit, network, NULL, hash);
    row = find_row(limit->network, NETWORKS, hash, now_us);
    if (now_us >= row->until_us)
        row->failures = 0;
    return row;
}

/* ---- decisions -------------------------------------------------------------------- */

static struct login_decision refuse(int64_t wait_us)
{
    return (struct login_decision){LOGIN_REFUSED,
                                   wait_us > SECOND_US ? wait_us : SECOND_US};
}

static struct login_decision decide(struct login_limit *limit, const struct row *pair,
                                    const struct row *network, int64_t now_us)
{
    if (now_us < pair->until_us)
        return refuse(pair->until_us - now_us);
    /* several at once must not be more guesses than one after the other */
    if (pair->pending >= LOGIN_PENDING ||
        (pair->failures && pair->pending &&
         pair->failures + pair->pending >= LOGIN_FREE))
        return refuse(0);
    if (pair->is_good || network->failures < LOGIN_DOUBTFUL)
        return (struct login_decision){.verdict = LOGIN_QUICK};
    if (limit->slow >= LOGIN_SLOW_MOST)
        return refuse(0);
    return (struct login_decision){.verdict = LOGIN_SLOW};
}

struct login_decision login_limit_begin(struct login_limit *limit, const char *address,
                                        const char *name, int64_t now_us)
{
    char network[NET_ADDRESS_TEXT];
    struct login_decision decision;
    struct row *pair;

    forwarded_network(address, network);
    lock_take(&limit->lock);
    pair = find_pair(limit, network, name, now_us);
    decision = decide(limit, pair, find_network(limit, network, now_us), now_us);
    pair->seen_us = now_us;
    if (decision.verdict != LOGIN_REFUSED)
        pair->pending++;
    limit->slow += decision.verdict == LOGIN_SLOW;
    lock_give(&limit->lock);
    return decision;
}

static void note_failure(struct row *pair, struct row *network, int64_t now_us)
{
    uint32_t over;

    pair->is_good = false;
    pair->failures++;
    if (!network->failures)
        network->until_us = now_us + WINDOW_US;
    network->failures++;
    network->seen_us = now_us;
    if (pair->failures < LOGIN_FREE)
        return;
    over = MIN(pair->failures - LOGIN_FREE, 6u);
    pair->until_us =
        now_us + MIN(SECOND_US << over, (int64_t)LOGIN_WAIT_MOST_S * SECOND_US);
}

void login_limit_end(struct login_limit *limit, const char *address, const char *name,
                     const struct login_decision *decision, enum login_result result,
                     int64_t now_us)
{
    char network[NET_ADDRESS_TEXT];
    struct row *pair;

    forwarded_network(address, network);
    lock_take(&limit->lock);
    pair = find_pair(limit, network, name, now_us);
    if (pair->pending) /* the row may have given way meanwhile */
        pair->pending--;
    limit->slow -= decision->verdict == LOGIN_SLOW;
    pair->seen_us = now_us;
    if (result == LOGIN_RIGHT) {
        pair->failures = 0;
        pair->until_us = 0;
        pair->is_good = true;
    } else if (result == LOGIN_WRONG) {
        note_failure(pair, find_network(limit, network, now_us), now_us);
    }
    lock_give(&limit->lock);
}
