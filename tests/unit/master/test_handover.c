/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h and flow.h: codes work once, with their verifier, for a while. */
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "master/signin/flow.h"
#include "master/signin/handover.h"
#include "tests/support/test.h"

static const char verifier[] = "0123456789012345678901234567890123456789abc";

struct place {
    struct handovers *handovers;
    char challenge[FLOW_SECRET_TEXT];
    struct handover_result found;
};

static struct place place_open(void)
{
    struct place place = {0};

    CHECK_OK(handovers_new(&place.handovers, &test_err));
    flow_challenge(verifier, place.challenge);
    return place;
}

static det_status redeem(struct place *place, const char *code, const char *with,
                         int64_t now_us)
{
    return handovers_redeem(place->handovers, code, with, now_us, &place->found, NULL);
}

TEST(a_code_works_once_and_only_with_its_verifier)
{
    struct place place = place_open();
    char code[HANDOVER_CODE_TEXT];

    CHECK_OK(
        handovers_add_code(place.handovers, 7, place.challenge, 1, code, &test_err));
    CHECK_OK(redeem(&place, code, verifier, 2));
    CHECK(place.found.is_allowed);
    CHECK_EQ(place.found.user_id, 7);
    CHECK_EQ(redeem(&place, code, verifier, 3), DET_UNAUTHENTICATED);

    CHECK_OK(
        handovers_add_code(place.handovers, 7, place.challenge, 1, code, &test_err));
    CHECK_EQ(redeem(&place, code, "a wrong verifier", 2), DET_UNAUTHENTICATED);
    CHECK_EQ(redeem(&place, code, verifier, 3), DET_UNAUTHENTICATED); /* it is burnt */

    CHECK_OK(
        handovers_add_code(place.handovers, 7, place.challenge, 1, code, &test_err));
    CHECK_EQ(redeem(&place, code, verifier, 1 + HANDOVER_CODE_S * INT64_C(1000000)),
             DET_UNAUTHENTICATED);
    CHECK_EQ(redeem(&place, "", verifier, 1), DET_UNAUTHENTICATED);
    CHECK_EQ(handovers_add_code(place.handovers, 7, "short", 1, code, NULL),
             DET_INVALID);
    CHECK_EQ(handovers_add_code(place.handovers, 7, NULL, 1, code, NULL), DET_INVALID);
    handovers_free(place.handovers);
}

TEST(a_device_waits_for_a_person)
{
    struct place place = place_open();
    struct handover_device device = {.host = "box", .address = "10.0.0.1"}, seen;
    char typed[HANDOVER_USER_CODE_TEXT];

    CHECK_OK(
        handovers_add_device(place.handovers, &device, place.challenge, 1, &test_err));
    CHECK_OK(redeem(&place, device.code, verifier, 2));
    CHECK(!place.found.is_allowed);
    for (size_t i = 0; i < sizeof(typed); i++) /* as people type it */
        typed[i] = device.user_code[i] == '-'   ? ' '
                   : device.user_code[i] >= 'A' ? (char)(device.user_code[i] + 32)
                                                : device.user_code[i];
    CHECK_OK(handovers_find_device(place.handovers, typed, 2, &seen, &test_err));
    CHECK_STR(seen.host, "box");
    CHECK_STR(seen.code, ""); /* the person does not learn it */
    CHECK_OK(handovers_decide(place.handovers, typed, 7, 2, &test_err));
    CHECK_EQ(handovers_decide(place.handovers, typed, 8, 2, NULL), DET_NOT_FOUND);
    CHECK_OK(redeem(&place, device.code, verifier, 3));
    CHECK_EQ(place.found.user_id, 7);
    CHECK_EQ(redeem(&place, device.code, verifier, 3), DET_UNAUTHENTICATED);

    CHECK_OK(
        handovers_add_device(place.handovers, &device, place.challenge, 1, &test_err));
    CHECK_OK(handovers_decide(place.handovers, device.user_code, 0, 2, &test_err));
    CHECK_EQ(redeem(&place, device.code, verifier, 3), DET_FORBIDDEN);
    CHECK_EQ(handovers_find_device(place.handovers, "", 2, &seen, NULL), DET_NOT_FOUND);
    CHECK_EQ(handovers_find_device(place.handovers, "BCDF-GHJK-L", 2, &seen, NULL),
             DET_NOT_FOUND);
    handovers_free(place.handovers);
}

TEST(one_address_cannot_fill_the_table)
{
    struct place place = place_open();
    struct handover_device device = {.address = "10.0.0.1"};
    char code[HANDOVER_CODE_TEXT];
    int added = 0;

    while (added < 1000 &&
           !handovers_add_device(place.handovers, &device, place.challenge, 1, NULL))
        added++;
    CHECK_EQ(added, 8);
    snprintf(device.address, sizeof(device.address), "10.0.0.2");
    CHECK_OK(
        handovers_add_device(place.handovers, &device, place.challenge, 1, &test_err));
    for (int i = 0; i < 1000; i++) {
        snprintf(device.address, sizeof(device.address), "10.0.1.%d", i);
        (void)handovers_add_device(place.handovers, &device, place.challenge, 1, NULL);
    }
    /* devices of strangers leave room for people who are signed in */
    CHECK_OK(
        handovers_add_code(place.handovers, 7, place.challenge, 1, code, &test_err));
    /* and all of it is free again later */
    CHECK_OK(handovers_add_device(place.handovers, &device, place.challenge,
                                  1 + HANDOVER_DEVICE_S * INT64_C(1000000), &test_err));
    handovers_free(place.handovers);
}

TEST(a_sealed_flow_opens_only_unchanged_and_in_time)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const unsigned char key[FLOW_KEY_BYTES] = {1}, other[FLOW_KEY_BYTES] = {2};
    struct flow flow, back;
    char *sealed;

    CHECK_OK(flow_begin(1000, "/det/x?a=b", &flow, &test_err));
    sealed = arena_strdup(&mem, flow_seal(&flow, key, &mem));
    CHECK_OK(flow_open(sealed, key, 1000 + FLOW_S, &mem, &back, &test_err));
    CHECK_STR(back.state, flow.state);
    CHECK_STR(back.nonce, flow.nonce);
    CHECK_STR(back.verifier, flow.verifier);
    CHECK_STR(back.return_to, "/det/x?a=b");
    CHECK_EQ(flow_open(sealed, key, 1001 + FLOW_S, &mem, &back, NULL),
             DET_UNAUTHENTICATED);
    CHECK_EQ(flow_open(sealed, other, 1000, &mem, &back, NULL), DET_UNAUTHENTICATED);
    CHECK_EQ(flow_open("", key, 1000, &mem, &back, NULL), DET_UNAUTHENTICATED);
    for (size_t i = 0; i < strlen(sealed); i += 5) {
        char was = sealed[i];

        sealed[i] = was == 'A' ? 'B' : 'A';
        CHECK_EQ(flow_open(sealed, key, 1000, &mem, &back, NULL), DET_UNAUTHENTICATED);
        sealed[i] = was;
    }
}

TEST(a_sign_in_returns_only_to_paths_of_this_master)
{
    static const char *const bad[] = {"",     "x",      "//evil",        "/\\evil",
                                      "/a b", "/a\tb",  "https://evil",  "/\t/evil",
                                      "\\\\", "/a\\..", "javascript:a()"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_EQ(flow_check_return(bad[i], NULL), DET_INVALID);
    CHECK_OK(flow_check_return("/", &test_err));
    CHECK_OK(flow_check_return("/det/experiments?user=a%20b#c", &test_err));
}
