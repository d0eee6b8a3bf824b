/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h and password.h without a caller: secret files, passwords, cookies, and the limit of
 * waiting logins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "master/request/auth.h"
#include "master/request/password.h"
#include "store/people/user.h"
#include "tests/support/test.h"

struct place {
    char dir[64];
    char token[80];
    struct arena mem;
};

static void place_open(struct place *place)
{
    snprintf(place->dir, sizeof(place->dir), "%s/det-auth-XXXXXX", P_tmpdir);
    CHECK(mkdtemp(place->dir) != NULL);
    snprintf(place->token, sizeof(place->token), "%s/agent.token", place->dir);
    place->mem = (struct arena)ARENA_INIT(1 << 20);
}

static void place_close(struct place *place)
{
    arena_done(&place->mem);
    CHECK_OK(io_remove_tree(io_system(), place->dir, &test_err));
}

static det_status open_with(struct place *place, const char *token)
{
    struct auth *auth = NULL;
    struct err err = {0};
    det_status st;

    CHECK_OK(
        io_replace(io_system(), place->token, token, strlen(token), true, &test_err));
    st = auth_new(io_system(), place->dir, &auth, &err);
    if (st)
        CHECK_HAS(err.text, "agent.token");
    auth_free(auth);
    return st;
}

TEST(the_agents_token_is_created_once_and_kept)
{
    CLEANUP(buf_done) struct buf first = BUF_INIT;
    CLEANUP(buf_done) struct buf second = BUF_INIT;
    struct place place;
    struct auth *auth;

    place_open(&place);
    CHECK_OK(auth_new(io_system(), place.dir, &auth, &test_err));
    auth_free(auth);
    CHECK_OK(io_read_file(io_system(), place.token, &first, &test_err));
    CHECK_OK(auth_new(io_system(), place.dir, &auth, &test_err));
    auth_free(auth);
    CHECK_OK(io_read_file(io_system(), place.token, &second, &test_err));
    CHECK_EQ(first.len, 49);
    CHECK_STR(first.data, second.data);
    place_close(&place);
}

TEST(a_token_file_without_a_token_is_refused)
{
    static const char hex[] = "0123456789abcdef0123456789abcdef0123456789abcdef";
    static const char *const wrong[] = {
        "",
        "\n",
        "0",
        "0123456789abcdef\n",
        "0123456789abcdef0123456789abcdef0123456789abcde\n",   /* one too few */
        "0123456789abcdef0123456789abcdef0123456789abcdef0\n", /* one too many */
        "0123456789abcdef0123456789abcdef0123456789abcdeg\n",
        "0123456789abcdef0123456789abcdef0123456789abcdef\nx",
    };
    struct place place;

    place_open(&place);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        CHECK_EQ(open_with(&place, wrong[i]), DET_CORRUPT);
    CHECK_EQ(open_with(&place, hex), DET_OK);
    CHECK_EQ(open_with(&place, arena_printf(&place.mem, "%s\r\n", hex)), DET_OK);
    place_close(&place);
}

TEST(a_password_matches_only_its_own_seal)
{
    struct place place;
    struct auth *auth;
    struct user user = {.username = "ann"};
    const char *hash;

    place_open(&place);
    CHECK_OK(auth_new(io_system(), place.dir, &auth, &test_err));
    hash = password_hash("Secret-Word-1", false, &place.mem);
    CHECK_OK(password_seal(hash, &place.mem, &user.password, &test_err));
    CHECK_OK(password_check(&user, hash, &test_err));
    CHECK_EQ(password_check(&user, "", NULL), DET_UNAUTHENTICATED);
    CHECK_EQ(password_check(&user, "x", NULL), DET_UNAUTHENTICATED);
    /* an unknown user matches no password, not even the blank one */
    CHECK_EQ(password_check(NULL, hash, NULL), DET_UNAUTHENTICATED);
    CHECK_EQ(password_check(NULL, "", NULL), DET_UNAUTHENTICATED);
    user.password = NULL;
    CHECK_OK(password_check(&user, "", &test_err));
    CHECK_EQ(password_check(&user, hash, NULL), DET_UNAUTHENTICATED);
    auth_free(auth);
    place_close(&place);
}

TEST(the_number_of_waiting_logins_is_limited)
{
    struct place place;
    struct auth *auth;
    struct err err = {0};
    int waiting = 0;

    place_open(&place);
    CHECK_OK(auth_new(io_system(), place.dir, &auth, &test_err));
    while (waiting < 10000 && !auth_login_begin(auth, 1, &err))
        waiting++;
    CHECK_EQ(waiting, 256);
    CHECK_EQ(auth_login_begin(auth, 1, &err), DET_BUSY);
    CHECK_HAS(err.text, "try again");
    auth_login_end(auth, 1);
    CHECK_OK(auth_login_begin(auth, 1, &test_err));
    CHECK_EQ(auth_login_begin(auth, 1, NULL), DET_BUSY);
    /* other addresses are not affected, up to the sum of all */
    while (waiting < 10000 && !auth_login_begin(auth, 2 + (uint32_t)waiting % 60, &err))
        waiting++;
    CHECK_EQ(waiting, 1024);
    auth_free(auth);
    place_close(&place);
}

/* Half a token would be refused at the next start, and anybody could use an empty one. */
TEST(a_failed_first_start_leaves_complete_secrets_or_none)
{
    EACH_ALLOCATION_FAILS() {
        int64_t nth = fault_state.left[FAULT_MEMORY];
        struct auth *auth = NULL;
        struct io *io;
        det_status st;

        fault_disarm(FAULT_MEMORY);
        CHECK_OK(io_memory_new(&io, &test_err));
        CHECK_OK(io_mkdir(io, "/d", true, &test_err));
        fault_arm(FAULT_MEMORY, nth);
        st = auth_new(io, "/d", &auth, NULL);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        nth = fault_state.left[FAULT_MEMORY];
        fault_state.left[FAULT_MEMORY] = 0;
        if (st)
            CHECK_OK(auth_new(io, "/d", &auth, &test_err));
        auth_free(auth);
        io_free(io);
        fault_state.left[FAULT_MEMORY] = nth;
    }
}

TEST(session_cookies_are_recognized)
{
    static const char *const yes[] = {"auth=x", "auth=", "auth_0123abcd=s1.2; a=b",
                                      "auth_f=x", "auth =x"};
    static const char *const no[] = {"",        "auth",   "oauth=x",  "authx=1",
                                     "auth_=x", "_auth=", "auth_xy=", "auth_12; x="};

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        CHECK(auth_is_cookie(yes[i]));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        CHECK(!auth_is_cookie(no[i]));
}

TEST(the_cookie_name_is_stable_and_unique_per_master)
{
    struct place here, there;
    struct auth *auth, *again, *other;

    place_open(&here);
    place_open(&there);
    CHECK_OK(auth_new(io_system(), here.dir, &auth, &test_err));
    CHECK_OK(auth_new(io_system(), here.dir, &again, &test_err));
    CHECK_OK(auth_new(io_system(), there.dir, &other, &test_err));
    CHECK_STR(auth_cookie(auth), auth_cookie(again));
    CHECK(strcmp(auth_cookie(auth), auth_cookie(other)) != 0);
    CHECK_EQ(strlen(auth_cookie(auth)), strlen("auth_01234567"));
    auth_free(auth);
    auth_free(again);
    auth_free(other);
    place_close(&here);
    place_close(&there);
}
