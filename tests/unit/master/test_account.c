/* SPDX-License-Identifier: Apache-2.0 */
/* account.h: what an identity provider can and cannot make of the users here. */
#include "master/signin/account.h"

#include "master/signin/identity.h"
#include "store/people/user.h"
#include "tests/unit/store/world.h"

static int64_t add_user(struct world *w, const char *name, bool is_admin)
{
    const struct user user = {
        .username = name, .is_admin = is_admin, .is_active = true, .modified_us = 1};
    int64_t id = 0;

    CHECK_OK(store_user_add(w->db, &user, &id, &test_err));
    return id;
}

static struct identity person(const char *name, const char *display_name)
{
    return (struct identity){.source = "the provider",
                             .issuer = "https://provider",
                             .subject = name,
                             .username = name,
                             .display_name = display_name,
                             .may_provision = true};
}

TEST(a_display_name_from_elsewhere_obeys_the_rules_of_this_master)
{
    static const char *const bad[] = {
        "admin", "ANN", "Determined", "a\x1b[31mb",
        "a name that is longer than sixty-four characters, which is the limit here"};
    struct world w;
    struct identity bert = person("bert", "Bert B.");
    struct user user;

    world_init(&w, true);
    (void)add_user(&w, "ann", false);
    CHECK_OK(account_write(w.db, &bert, 10, &w.mem, &user, &test_err));
    CHECK_STR(user.display_name, "Bert B.");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bert.display_name = bad[i];
        CHECK_OK(account_write(w.db, &bert, 20, &w.mem, &user, &test_err));
        CHECK_STR(user.display_name, "Bert B.");
    }
    CHECK_EQ(user.modified_us, 10); /* nothing was changed */
    bert.display_name = "J\xc3\xbcrgen";
    CHECK_OK(account_write(w.db, &bert, 30, &w.mem, &user, &test_err));
    CHECK_STR(user.display_name, "J\xc3\xbcrgen");
    CHECK_EQ(user.modified_us, 30);
    world_done(&w);
}

TEST(a_reserved_name_is_not_provisioned)
{
    struct world w;
    struct identity fake = person("Admin", NULL);
    struct user user;

    world_init(&w, true);
    CHECK_EQ(account_write(w.db, &fake, 1, &w.mem, &user, &test_err), DET_FORBIDDEN);
    CHECK_HAS(test_err.text, "reserved");
    fake.decides_admin = true;
    fake.is_admin = true;
    CHECK_OK(account_write(w.db, &fake, 1, &w.mem, &user, &test_err));
    CHECK(user.is_admin);
    world_done(&w);
}

TEST(the_provider_does_not_take_the_last_administrator_away)
{
    struct world w;
    struct identity ann = person("ann", NULL);
    struct user user;

    world_init(&w, true);
    ann.decides_admin = true;
    ann.is_admin = true;
    CHECK_OK(account_write(w.db, &ann, 1, &w.mem, &user, &test_err));
    ann.is_admin = false;
    CHECK_OK(account_write(w.db, &ann, 2, &w.mem, &user, &test_err));
    CHECK(user.is_admin);
    (void)add_user(&w, "root", true);
    CHECK_OK(account_write(w.db, &ann, 3, &w.mem, &user, &test_err));
    CHECK(!user.is_admin);
    world_done(&w);
}
