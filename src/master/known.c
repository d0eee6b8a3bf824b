/* SPDX-License-Identifier: Apache-2.0 */
#include "master/known.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/task.h"
#include "master/request.h"

enum { PLACES = 1024, TOKEN_MOST = 96, NAME_MOST = 96 };

struct place {
    uint64_t age; /* 0: free */
    int64_t expires_us;
    struct caller caller; /* its strings are these: */
    char token[TOKEN_MOST];
    char username[NAME_MOST];
    char allocation[NAME_MOST];
    char task_id[NAME_MOST];
};

struct known {
    struct lock lock; /* guards everything below */
    uint64_t age;     /* from 1 */
    struct place place[PLACES];
};

det_status known_new(struct known **ret_known, struct err *err)
{
    struct known *known = mem_new(struct known);
    det_status st;

    if (!known)
        return err_default(err, DET_NOMEM);
    st = lock_init(&known->lock, err);
    if (st) {
        mem_free(known);
        return st;
    }
    known->age = 1;
    *ret_known = known;
    return DET_OK;
}

void known_free(struct known *known)
{
    if (!known)
        return;
    lock_done(&known->lock);
    sodium_memzero(known, sizeof(*known));
    mem_free(known);
}

uint64_t known_age(struct known *known)
{
    uint64_t age;

    lock_take(&known->lock);
    age = known->age;
    lock_give(&known->lock);
    return age;
}

void known_forget(struct known *known)
{
    lock_take(&known->lock);
    known->age++;
    lock_give(&known->lock);
}

/* By its first part, the number; the rest is the code. */
static struct place *place_of(struct known *known, const char *token)
{
    return &known->place[hash_bytes(token, strcspn(token, ".")) % PLACES];
}

static const char *copy(struct arena *mem, const char *text, bool *ok)
{
    const char *ret = text ? arena_strdup(mem, text) : NULL;

    *ok = *ok && (ret || !text);
    return ret;
}

/* Compared in a time that does not tell how far they agree. */
static bool is_at(const struct known *known, const struct place *place,
                  const char *token, int64_t now_us)
{
    size_t len = strlen(token);

    return place->age == known->age && place->expires_us >= now_us &&
           len < TOKEN_MOST && place->token[len] == '\0' &&
           !sodium_memcmp(place->token, token, len);
}

bool known_find(struct known *known, const char *token, int64_t now_us,
                struct arena *mem, struct caller *ret_caller)
{
    struct place *place = place_of(known, token);
    bool ok;

    lock_take(&known->lock);
    ok = is_at(known, place, token, now_us);
    if (ok) {
        struct caller caller = place->caller;

        caller.username = copy(mem, caller.username, &ok);
        caller.allocation = copy(mem, caller.allocation, &ok);
        caller.task_id = copy(mem, caller.task_id, &ok);
        if (ok)
            *ret_caller = caller;
    }
    lock_give(&known->lock);
    return ok;
}

/* NULL stays NULL; *ok becomes false when the text does not fit. */
static const char *put(char *to, size_t size, const char *text, bool *ok)
{
    if (!text)
        return NULL;
    *ok = (size_t)snprintf(to, size, "%s", text) < size && *ok;
    return to;
}

void known_keep(struct known *known, const char *token, uint64_t age,
                int64_t expires_us, const struct caller *caller)
{
    struct place *place = place_of(known, token);
    bool ok = true;

    lock_take(&known->lock);
    place->age = 0;
    memset(place->token, 0, sizeof(place->token)); /* is_at() looks behind the end */
    put(place->token, sizeof(place->token), token, &ok);
    place->caller = *caller;
    place->caller.username =
        put(place->username, sizeof(place->username), caller->username, &ok);
    place->caller.allocation =
        put(place->allocation, sizeof(place->allocation), caller->allocation, &ok);
    place->caller.task_id =
        put(place->task_id, sizeof(place->task_id), caller->task_id, &ok);
    place->expires_us = expires_us;
    if (ok)
        place->age = age;
    lock_give(&known->lock);
}
