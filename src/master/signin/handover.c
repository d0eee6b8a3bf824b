/* SPDX-License-Identifier: Apache-2.0 */
/* handover.c - see handover.h. */
#include "master/signin/handover.h"

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
    HANDOVERS_MOST = 256,
    DEVICES_MOST = 192,      /* the rest is for codes of signed-in people */
    DEVICES_PER_ADDRESS = 8, /* several people may share one */
    REFUSED = -1,
};

/* Consonants that are not mistaken for each other; without vowels no word appears. */
static const char letters[] = "BCDFGHJKLMNPQRSTVWXZ";

struct handover {
    struct handover_device device; /* user_code "": the loopback form */
    char challenge[FLOW_SECRET_TEXT];
    int64_t user_id;    /* 0: not decided; REFUSED */
    int64_t expires_us; /* 0: free */
};

struct handovers {
    struct lock lock; /* guards what follows */
    struct handover handover[HANDOVERS_MOST];
};

det_status handovers_new(struct handovers **ret_handovers, struct err *err)
{
    struct handovers *handovers = mem_new(struct handovers);
    det_status st =
        handovers ? lock_init(&handovers->lock, err) : err_default(err, DET_NOMEM);

    if (st) {
        mem_free(handovers);
        return st;
    }
    *ret_handovers = handovers;
    return DET_OK;
}

void handovers_free(struct handovers *handovers)
{
    if (!handovers)
        return;
    lock_done(&handovers->lock);
    mem_free(handovers);
}

/* ---- codes ----------------------------------------------------------------------- */

static det_status make_code(char code[HANDOVER_CODE_TEXT], struct err *err)
{
    unsigned char random[32];
    det_status st = rng_secret(random, sizeof(random), err);

    if (!st)
        sodium_bin2base64(code, HANDOVER_CODE_TEXT, random, sizeof(random),
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return st;
}

/* 20 letters divide 240: a byte below that gives each with the same probability. */
static det_status make_user_code(char code[HANDOVER_USER_CODE_TEXT], struct err *err)
{
    int at = 0;

    while (at < HANDOVER_USER_CODE_TEXT - 1) {
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
static void normalize_user_code(const char *typed, char code[HANDOVER_USER_CODE_TEXT])
{
    int at = 0;

    memset(code, 0, HANDOVER_USER_CODE_TEXT);
    for (; *typed && at < HANDOVER_USER_CODE_TEXT - 1; typed++) {
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

static bool is_open(const struct handover *handover, int64_t now_us)
{
    return handover->expires_us > now_us;
}

static struct handover *find_by_user_code(struct handovers *handovers,
                                          const char *user_code, int64_t now_us)
{
    for (size_t i = 0; *user_code && i < HANDOVERS_MOST; i++) {
        struct handover *handover = &handovers->handover[i];

        if (is_open(handover, now_us) && !strcmp(handover->device.user_code, user_code))
            return handover;
    }
    return NULL;
}

static struct handover *find_by_code(struct handovers *handovers, const char *code,
                                     int64_t now_us)
{
    for (size_t i = 0; i < HANDOVERS_MOST; i++) {
        struct handover *handover = &handovers->handover[i];

        if (is_open(handover, now_us) &&
            !sodium_memcmp(handover->device.code, code, HANDOVER_CODE_TEXT))
            return handover;
    }
    return NULL;
}

/* NULL: the table, or the part of this address, is full. */
static struct handover *find_room(struct handovers *handovers,
                                  const struct handover *wanted, int64_t now_us)
{
    bool is_device = *wanted->device.user_code != '\0';
    struct handover *room = NULL;
    int devices = 0, here = 0;

    for (size_t i = 0; i < HANDOVERS_MOST; i++) {
        struct handover *handover = &handovers->handover[i];

        if (!is_open(handover, now_us)) {
            room = room ? room : handover;
        } else if (*handover->device.user_code) {
            devices++;
            here += !strcmp(handover->device.address, wanted->device.address);
        }
    }
    if (is_device && (devices >= DEVICES_MOST || here >= DEVICES_PER_ADDRESS))
        return NULL;
    return room;
}

static det_status add_handover(struct handovers *handovers,
                               const struct handover *wanted, int64_t now_us,
                               struct err *err)
{
    struct handover *room;

    lock_take(&handovers->lock);
    room = find_room(handovers, wanted, now_us);
    if (room)
        *room = *wanted;
    lock_give(&handovers->lock);
    return room ? DET_OK
                : err_set(err, DET_BUSY,
                          "too many sign-ins wait for their confirmation; try again in "
                          "a few minutes");
}

/* ---- both forms ------------------------------------------------------------------ */

det_status handovers_add_code(struct handovers *handovers, int64_t user_id,
                              const char *challenge, int64_t now_us,
                              char ret_code[HANDOVER_CODE_TEXT], struct err *err)
{
    struct handover handover = {
        .user_id = user_id, .expires_us = now_us + HANDOVER_CODE_S * INT64_C(1000000)};
    det_status st = check_challenge(challenge, err);

    if (!st)
        st = make_code(handover.device.code, err);
    if (st)
        return st;
    snprintf(handover.challenge, sizeof(handover.challenge), "%s", challenge);
    st = add_handover(handovers, &handover, now_us, err);
    if (!st)
        memcpy(ret_code, handover.device.code, HANDOVER_CODE_TEXT);
    return st;
}

det_status handovers_add_device(struct handovers *handovers,
                                struct handover_device *device, const char *challenge,
                                int64_t now_us, struct err *err)
{
    struct handover handover = {.expires_us =
                                    now_us + HANDOVER_DEVICE_S * INT64_C(1000000)};
    det_status st = check_challenge(challenge, err);

    if (!st)
        st = make_code(device->code, err);
    if (!st)
        st = make_user_code(device->user_code, err);
    if (st)
        return st;
    device->created_us = now_us;
    handover.device = *device;
    snprintf(handover.challenge, sizeof(handover.challenge), "%s", challenge);
    return add_handover(handovers, &handover, now_us, err);
}

static det_status report_unknown(struct err *err)
{
    return err_set(err, DET_NOT_FOUND,
                   "no sign-in waits for this code; check it, or begin again");
}

det_status handovers_find_device(struct handovers *handovers, const char *user_code,
                                 int64_t now_us, struct handover_device *ret_device,
                                 struct err *err)
{
    char code[HANDOVER_USER_CODE_TEXT];
    struct handover *handover;

    normalize_user_code(user_code, code);
    lock_take(&handovers->lock);
    handover = find_by_user_code(handovers, code, now_us);
    if (handover && !handover->user_id) {
        *ret_device = handover->device;
        memset(ret_device->code, 0, sizeof(ret_device->code));
    } else {
        handover = NULL;
    }
    lock_give(&handovers->lock);
    return handover ? DET_OK : report_unknown(err);
}

det_status handovers_decide(struct handovers *handovers, const char *user_code,
                            int64_t user_id, int64_t now_us, struct err *err)
{
    char code[HANDOVER_USER_CODE_TEXT];
    struct handover *handover;

    normalize_user_code(user_code, code);
    lock_take(&handovers->lock);
    handover = find_by_user_code(handovers, code, now_us);
    if (handover && !handover->user_id)
        handover->user_id = user_id ? user_id : REFUSED;
    else
        handover = NULL;
    lock_give(&handovers->lock);
    return handover ? DET_OK : report_unknown(err);
}

det_status handovers_redeem(struct handovers *handovers, const char *code,
                            const char *verifier, int64_t now_us,
                            struct handover_result *ret_result, struct err *err)
{
    char challenge[FLOW_SECRET_TEXT];
    char given[HANDOVER_CODE_TEXT] = "";
    struct handover found = {0};
    struct handover *handover;
    bool fits = false;

    flow_challenge(verifier, challenge);
    if (strlen(code) == HANDOVER_CODE_TEXT - 1)
        memcpy(given, code, HANDOVER_CODE_TEXT);
    lock_take(&handovers->lock);
    handover = *given ? find_by_code(handovers, given, now_us) : NULL;
    if (handover) {
        found = *handover;
        fits = !sodium_memcmp(found.challenge, challenge, FLOW_SECRET_TEXT);
        if (!fits || found.user_id)
            *handover = (struct handover){0};
    }
    lock_give(&handovers->lock);
    if (!fits)
        return err_set(err, DET_UNAUTHENTICATED,
                       "this code is unknown, used or expired; begin again");
    if (found.user_id == REFUSED)
        return err_set(err, DET_FORBIDDEN, "the sign-in was refused in the browser");
    *ret_result = (struct handover_result){.is_allowed = found.user_id != 0,
                                           .user_id = found.user_id};
    memcpy(ret_result->user_code, found.device.user_code,
           sizeof(ret_result->user_code));
    return DET_OK;
}
