/* SPDX-License-Identifier: Apache-2.0 */
/* directory.h: filters.  tests/e2e asks a real directory. */
#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "master/signin/directory.h"
#include "master/signin/identity.h"
#include "tests/support/test.h"

TEST(names_in_filters_are_escaped)
{
    static const struct {
        const char *filter;
        const char *username;
        const char *dn;
        const char *becomes;
    } rows[] = {
        {"(uid=%s)", "anna", "", "(uid=anna)"},
        {"(uid=%s)", "*", "", "(uid=\\2a)"},
        {"(uid=%s)", "a)(uid=*", "", "(uid=a\\29\\28uid=\\2a)"},
        {"(uid=%s)", "a\\2a", "", "(uid=a\\5c2a)"},
        {"(uid=%s)", "%d", "secret", "(uid=%d)"}, /* values are not filters */
        {"(|(uid=%s)(mail=%s))", "a", "", "(|(uid=a)(mail=a))"},
        {"(member=%d)", "a", "cn=A (B),dc=x", "(member=cn=A \\28B\\29,dc=x)"},
        {"(x=100%)", "a", "", "(x=100%)"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;

        directory_write_filter(&out, rows[i].filter, rows[i].username, rows[i].dn);
        CHECK_STR(out.data, rows[i].becomes);
    }
}

/* Without a directory: nothing listens at the address. */
TEST(a_blank_password_is_refused_before_the_directory_is_asked)
{
    static const struct directory_config config = {
        .url = "ldap://127.0.0.1:1",
        .ca_file = "",
        .bind_dn = "",
        .bind_password = "",
        .user_base = "dc=x",
        .user_filter = "(uid=%s)",
        .display_name_attribute = "",
        .group_base = "",
        .group_filter = "",
        .group_attribute = "",
        .admin_group = "",
        .timeout_s = 1,
    };
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct directory *directory;
    struct identity identity;
    struct err err = {0};

    CHECK_OK(directory_new(&config, &directory, &test_err));
    CHECK_EQ(directory_check(directory, "anna", "", &mem, &identity, &err),
             DET_UNAUTHENTICATED);
    CHECK_STR(err.text, "invalid credentials");
    CHECK_EQ(directory_check(directory, "", "x", &mem, &identity, &err),
             DET_UNAUTHENTICATED);
    CHECK_EQ(directory_check(directory, "anna", "x", &mem, &identity, &err),
             DET_UNREACHABLE);
    directory_free(directory);
}

TEST(only_names_of_users_are_names)
{
    static const char *const bad[] = {"", "a", "a b", "a/b", "\xc3\xa4nna", "a\nb"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!identity_name_is_valid(bad[i]));
    CHECK(identity_name_is_valid("mia@example.org"));
}
