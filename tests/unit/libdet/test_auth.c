/* SPDX-License-Identifier: Apache-2.0 */
/* test_auth.c - password hashes, and the file that stores sessions. */
#include "libdet/client/auth.h"

#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "tests/support/test.h"

#define PATH "/home/ann/.config/determined/auth.json"
#define URL  "http://127.0.0.1:8080"

static struct io *new_disk(void)
{
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    return io;
}

static void store(struct io *io, const char *url, const char *user, const char *token,
                  int activates)
{
    struct auth_place place = {io, PATH, url};
    struct auth_change change = {user, token, activates};

    CHECK_OK(auth_store(&place, &change, &test_err));
}

static const char *load(struct io *io, const char *url, const char *user,
                        struct arena *mem)
{
    struct auth_place place = {io, PATH, url};
    struct auth_session session = {0};

    CHECK_OK(auth_load(&place, user, mem, &session, &test_err));
    return session.token;
}

TEST(a_password_travels_as_a_salted_hash)
{
    char text[AUTH_HASH_TEXT];

    auth_hash("secret", text);

    CHECK_STR(text, "f6b1a15b3e3f6c5978ad185a85efc1c91f2da442e66c4ce48b12a36b5b4c04a4"
                    "dbfe79f4fe07bf1eb0016e63d7613827e4c0ed3c8e3c305755792a556866a723");
}

TEST(a_blank_password_stays_blank)
{
    char text[AUTH_HASH_TEXT] = "x";

    auth_hash("", text);

    CHECK_STR(text, "");
}

TEST(a_token_is_found_again_for_its_user_and_master_only)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct io *io = new_disk();

    store(io, URL, "ann", "t1", 0);
    store(io, URL, "bob", "t2", 0);
    store(io, "http://other:80", "ann", "t3", 0);

    CHECK_STR(load(io, URL, "ann", &mem), "t1");
    CHECK_STR(load(io, URL, "bob", &mem), "t2");
    CHECK_STR(load(io, "http://other:80", "ann", &mem), "t3");
    CHECK_NULL(load(io, "http://other:80", "bob", &mem));
    io_free(io);
}

TEST(the_user_who_logged_in_last_is_the_active_one)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct auth_session session = {0};
    struct io *io = new_disk();

    store(io, URL, "ann", "t1", 1);
    store(io, URL, "bob", "t2", 0);
    CHECK_OK(auth_load(&(struct auth_place){io, PATH, URL}, NULL, &mem, &session,
                       &test_err));

    CHECK_STR(session.user, "ann");
    CHECK_STR(session.token, "t1");
    io_free(io);
}

TEST(a_forgotten_token_is_gone_and_nobody_is_active_then)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct auth_session session = {0};
    struct io *io = new_disk();

    store(io, URL, "ann", "t1", 1);
    store(io, URL, "ann", NULL, 0);
    CHECK_OK(auth_load(&(struct auth_place){io, PATH, URL}, NULL, &mem, &session,
                       &test_err));

    CHECK_NULL(session.user);
    CHECK_NULL(load(io, URL, "ann", &mem));
    io_free(io);
}

TEST(the_file_is_private_and_in_the_form_that_others_read)
{
    struct io *io = new_disk();
    struct buf text = BUF_INIT;
    struct io_stat found;

    store(io, URL, "ann", "t1", 1);
    CHECK_OK(io_read_file(io, PATH, &text, &test_err));
    CHECK_OK(io_stat(io, PATH, &found, &test_err));

    CHECK_EQ(found.mode & 0777, 0600);
    CHECK_STR(text.data, "{\n  \"version\": 2,\n  \"masters\": {\n"
                         "    \"http://127.0.0.1:8080\": {\n"
                         "      \"tokens\": {\n        \"ann\": \"t1\"\n      },\n"
                         "      \"active_user\": \"ann\"\n    }\n  }\n}\n");
    buf_done(&text);
    io_free(io);
}

TEST(a_damaged_file_or_one_of_another_version_counts_as_empty)
{
    static const char *const texts[] = {"", "{", "[]", "{\"version\":1,\"masters\":{}}",
                                        "{\"version\":2,\"masters\":7}"};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct io *io = new_disk();

        CHECK_OK(io_mkdir(io, "/home/ann/.config/determined", true, &test_err));
        CHECK_OK(io_replace(io, PATH, texts[i], strlen(texts[i]), true, &test_err));
        CHECK_NULL(load(io, URL, "ann", &mem));
        store(io, URL, "ann", "t1", 0);
        CHECK_STR(load(io, URL, "ann", &mem), "t1");
        io_free(io);
    }
}

TEST(without_memory_the_file_stays_as_it_was)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        struct auth_change first = {"ann", "t1", 0};
        struct auth_change second = {"ann", "t2", 0};
        int64_t left = fault_state.left[FAULT_MEMORY];
        struct auth_place place = {.path = PATH, .url = URL};
        struct io *io;
        det_status st;

        fault_state.left[FAULT_MEMORY] = 0;
        CHECK_OK(io_memory_new(&io, &test_err));
        place.io = io;
        CHECK_OK(auth_store(&place, &first, &test_err));
        fault_state.left[FAULT_MEMORY] = left;
        st = auth_store(&place, &second, NULL);
        left = fault_state.left[FAULT_MEMORY];
        fault_state.left[FAULT_MEMORY] = 0;
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_STR(load(io, URL, "ann", &mem), fault_fired() ? "t1" : "t2");
        io_free(io);
        fault_state.left[FAULT_MEMORY] = left;
    }
}
