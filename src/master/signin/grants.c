/* SPDX-License-Identifier: Apache-2.0 */
/* grants.c - see grants.h. */
#include "master/signin/grants.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "base/thread/lock.h"
#include "master/signin/flow.h"

enum {
    GRANTS_MOST = 256,
    DEVICES_MOST = 192,      /* the rest is for codes of signed-in people */
    DEVICES_PER_ADDRESS = 8, /* several people may share one */
    REFUSED = -1,
};

/* Consonants that are not mistaken for each other; without vowels no word appears. */
static const char letters[] = "BCDFGHJKLMNPQRSTVWXZ";

struct grant {
    struct grant_device device; /* user_code "": the loopback form */
    char challenge[FLOW_SECRET_TEXT];
    int64_t user_id;    /* 0: not decided; REFUSED */
    int64_t expires_us; /* 0: free */
};

struct grants {
    struct lock lock; /* guards what follows */
    struct grant grant[GRANTS_MOST];
};

det_status grants_new(struct grants **ret_grants, struct err *err)
{
    struct grants *grants = mem_new(struct grants);
    det_status st =
        grants ? lock_init(&grants->lock, err) : err_default(err, DET_NOMEM);

    if (st) {
        mem_free(grants);
        return st;
    }
    *ret_grants = grants;
    return DET_OK;
}

void grants_free(struct grants *grants)
{
    if (!grants)
        return;
    lock_done(&grants->lock);
    mem_free(grants);
}

/* ---- codes ----------------------------------------------------------------------- */

static det_status make_code(char code[GRANT_CODE_TEXT], struct err *err)
{
    unsigned char random[32];
    det_status st = rng_secret(random, sizeof(random), err);

    if (!st)
        sodium_bin2base64(code, GRANT_CODE_TEXT, random, sizeof(random),
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return st;
}

/* 20 letters divide 240: a byte below that gives each with the same probability. */
static det_status make_user_code(char code[GRANT_USER_CODE_TEXT], struct err *err)
{
    int at = 0;

    while (at < GRANT_USER_CODE_TEXT - 1) {
        unsigned char random;
        det_status st = rng_secret(&random, 1, err);

        if (st)
            return st;
        if (at == 4)
            code[at++] = '-';
        if (random < 240)
            code[at++] = letters[random % 20];
    }
    code[at] = '\0';
    return DET_OK;
}

/* "bcdf ghjk" is "BCDF-GHJK". */
static void normalize_user_code(const char *typed, char code[GRANT_USER_CODE_TEXT])
{
    int at = 0;

    memset(code, 0, GRANT_USER_CODE_TEXT);
    for (; *typed && at < GRANT_USER_CODE_TEXT - 1; typed++) {
        if (*typed == '-' || *typed == ' ')
            continue;
        if (at == 4)
            code[at++] = '-';
        code[at++] = (char)toupper((unsigned char)*typed);
    }
    if (*typed)
        code[0] = '\0'; /* too long: matches nothing */
}

static det_status check_challenge(const char *challenge, struct err *err)
{
    unsigned char bytes[32];
    size_t len = 0;
    const char *end;

    if (challenge && strlen(challenge) == FLOW_SECRET_TEXT - 1 &&
        !sodium_base642bin(bytes, sizeof(bytes), challenge, strlen(challenge), NULL,
                           &len, &end, sodium_base64_VARIANT_URLSAFE_NO_PADDING) &&
        len == sizeof(bytes) && !*end)
        return DET_OK;
    return err_set(err, DET_INVALID,
                   "'challenge' must be the SHA-256 of the verifier in base64url");
}

/* ---- the table, with the lock held ----------------------------------------------- */

static bool is_open(const struct grant *grant, int64_t now_us)
{
    return grant->expires_us > now_us;
}

static struct grant *find_by_user_code(struct grants *grants, const char *user_code,
                                       int64_t now_us)
{
    for (size_t i = 0; *user_code && i < GRANTS_MOST; i++) {
        struct grant *grant = &grants->grant[i];

        if (is_open(grant, now_us) && !strcmp(grant->device.user_code, user_code))
            return grant;
    }
    return NULL;
}

static struct grant *find_by_code(struct grants *grants, const char *code,
                                  int64_t now_us)
{
    for (size_t i = 0; i < GRANTS_MOST; i++) {
        struct grant *grant = &grants->grant[i];

        if (is_open(grant, now_us) &&
            !sodium_memcmp(grant->device.code, code, GRANT_CODE_TEXT))
            return grant;
    }
    return NULL;
}

/* NULL: the table, or the part of this address, is full. */
static struct grant *find_room(struct grants *grants, const struct grant *wanted,
                               int64_t now_us)
{
    bool is_device = *wanted->device.user_code != '\0';
    struct grant *room = NULL;
    int devices = 0, here = 0;

    for (size_t i = 0; i < GRANTS_MOST; i++) {
        struct grant *grant = &grants->grant[i];

        if (!is_open(grant, now_us)) {
            room = room ? room : grant;
        } else if (*grant->device.user_code) {
            devices++;
            here += !strcmp(grant->device.address, wanted->device.address);
        }
    }
    if (is_device && (devices >= DEVICES_MOST || here >= DEVICES_PER_ADDRESS))
        return NULL;
    return room;
}

static det_status add_grant(struct grants *grants, const struct grant *wanted,
                            int64_t now_us, struct err *err)
{
    struct grant *room;

    lock_take(&grants->lock);
    room = find_room(grants, wanted, now_us);
    if (room)
        *room = *wanted;
    lock_give(&grants->lock);
    return room ? DET_OK
                : err_set(err, DET_BUSY,
                          "too many sign-ins wait for their confirmation; try again in "
                          "a few minutes");
}

/* ---- both forms ------------------------------------------------------------------ */

det_status grants_add_code(struct grants *grants, int64_t user_id,
                           const char *challenge, int64_t now_us,
                           char ret_code[GRANT_CODE_TEXT], struct err *err)
{
    struct grant grant = {.user_id = user_id,
                          .expires_us = now_us + GRANT_CODE_S * INT64_C(1000000)};
    det_status st = check_challenge(challenge, err);

    if (!st)
        st = make_code(grant.device.code, err);
    if (st)
        return st;
    snprintf(grant.challenge, sizeof(grant.challenge), "%s", challenge);
    st = add_grant(grants, &grant, now_us, err);
    if (!st)
        memcpy(ret_code, grant.device.code, GRANT_CODE_TEXT);
    return st;
}

det_status grants_add_device(struct grants *grants, struct grant_device *device,
                             const char *challenge, int64_t now_us, struct err *err)
{
    struct grant grant = {.expires_us = now_us + GRANT_DEVICE_S * INT64_C(1000000)};
    det_status st = check_challenge(challenge, err);

    if (!st)
        st = make_code(device->code, err);
    if (!st)
        st = make_user_code(device->user_code, err);
    if (st)
        return st;
    device->created_us = now_us;
    grant.device = *device;
    snprintf(grant.challenge, sizeof(grant.challenge), "%s", challenge);
    return add_grant(grants, &grant, now_us, err);
}

static det_status report_unknown(struct err *err)
{
    return err_set(err, DET_NOT_FOUND,
                   "no sign-in waits for this code; check it, or begin again");
}

det_status grants_find_device(struct grants *grants, const char *user_code,
                              int64_t now_us, struct grant_device *ret_device,
                              struct err *err)
{
    char code[GRANT_USER_CODE_TEXT];
    struct grant *grant;

    normalize_user_code(user_code, code);
    lock_take(&grants->lock);
    grant = find_by_user_code(grants, code, now_us);
    if (grant && !grant->user_id) {
        *ret_device = grant->device;
        memset(ret_device->code, 0, sizeof(ret_device->code));
    } else {
        grant = NULL;
    }
    lock_give(&grants->lock);
    return grant ? DET_OK : report_unknown(err);
}

det_status grants_decide(struct grants *grants, const char *user_code, int64_t user_id,
                         int64_t now_us, struct err *err)
{
    char code[GRANT_USER_CODE_TEXT];
    struct grant *grant;

    normalize_user_code(user_code, code);
    lock_take(&grants->lock);
    grant = find_by_user_code(grants, code, now_us);
    if (grant && !grant->user_id)
        grant->user_id = user_id ? user_id : REFUSED;
    else
        grant = NULL;
    lock_give(&grants->lock);
    return grant ? DET_OK : report_unknown(err);
}

det_status grants_redeem(struct grants *grants, const char *code, const char *verifier,
                         int64_t now_us, enum grant_state *ret_state,
                         int64_t *ret_user_id, char ret_user_code[GRANT_USER_CODE_TEXT],
                         struct err *err)
{
    char challenge[FLOW_SECRET_TEXT];
    char given[GRANT_CODE_TEXT] = "";
    struct grant *grant;
    int64_t user_id = 0;
    bool fits = false;

    flow_challenge(verifier, challenge);
    if (strlen(code) == GRANT_CODE_TEXT - 1)
        memcpy(given, code, GRANT_CODE_TEXT);
    lock_take(&grants->lock);
    grant = *given ? find_by_code(grants, given, now_us) : NULL;
    if (grant) {
        fits = !sodium_memcmp(grant->challenge, challenge, FLOW_SECRET_TEXT);
        user_id = grant->user_id;
        memcpy(ret_user_code, grant->device.user_code, GRANT_USER_CODE_TEXT);
        if (!fits || user_id)
            *grant = (struct grant){0};
    }
    lock_give(&grants->lock);
    if (!grant || !fits)
        return err_set(err, DET_UNAUTHENTICATED,
                       "this code is unknown, used or expired; begin again");
    if (user_id == REFUSED)
        return err_set(err, DET_FORBIDDEN, "the sign-in was refused in the browser");
    *ret_state = user_id ? GRANT_IS_ALLOWED : GRANT_WAITS;
    *ret_user_id = user_id;
    return DET_OK;
}
