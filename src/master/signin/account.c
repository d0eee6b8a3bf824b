/* SPDX-License-Identifier: Apache-2.0 */
/* account.c - see account.h. */
#include "master/signin/account.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory/arena.h"
#include "master/signin/identity.h"
#include "master/signin/names.h"
#include "store/people/role_assignment.h"
#include "store/people/subject.h"
#include "store/people/user.h"

static det_status check_named(struct db *db, const struct identity *identity,
                              const struct user *user, struct arena *mem,
                              struct err *err)
{
    const char *subject = NULL;
    det_status st = DET_OK;

    if (!user->is_remote)
        return err_set(err, DET_FORBIDDEN,
                       "user '%s' has a password on this master and does not sign in "
                       "through %s; an administrator can mark the user as remote",
                       user->username, identity->source);
    if (identity->issuer)
        st = store_subject_of(db, identity->issuer, user->id, mem, &subject, err);
    if (!st && subject)
        return err_set(err, DET_FORBIDDEN,
                       "user '%s' belongs to another account of %s; an administrator "
                       "must decide whose it is",
                       user->username, identity->source);
    return st;
}

static det_status find_named(struct db *db, const struct identity *identity,
                             struct arena *mem, struct user *ret_user, struct err *err)
{
    struct user named;
    det_status st = store_user_named(db, identity->username, mem, ret_user, err);

    if (!st)
        return check_named(db, identity, ret_user, mem, err);
    if (st != DET_NOT_FOUND)
        return st;
    if (!identity->may_provision)
        return err_set(err, DET_FORBIDDEN,
                       "there is no user '%s' on this master; an administrator must "
                       "add one and mark it as remote",
                       identity->username);
    if (err)
        *err = (struct err){0};
    *ret_user = (struct user){
        .username = identity->username, .is_active = true, .is_remote = true};
    named = *ret_user;
    named.is_admin = identity->decides_admin && identity->is_admin;
    st = user_check_names(db, &named, true, false, mem, err);
    return st == DET_INVALID ? err_set(err, DET_FORBIDDEN,
                                       "the name '%s' is reserved on this master; %s "
                                       "must use another name for this account",
                                       identity->username, identity->source)
                             : st;
}

det_status account_find(struct db *db, const struct identity *identity,
                        struct arena *mem, struct user *ret_user, struct err *err)
{
    int64_t known = 0;
    det_status st = DET_OK;

    if (identity->issuer)
        st = store_subject_user(db, identity->issuer, identity->subject, &known, err);
    if (!st && known)
        st = store_user_get(db, known, mem, ret_user, err);
    else if (!st)
        st = find_named(db, identity, mem, ret_user, err);
    if (!st && known && !ret_user->is_remote)
        return err_set(err, DET_FORBIDDEN,
                       "user '%s' is no longer remote and signs in with a password",
                       ret_user->username);
    if (!st && !ret_user->is_active)
        return err_set(err, DET_FORBIDDEN, "user is not active");
    return st;
}

/* The provider may not take the rights of the last administrator. */
static det_status is_last_admin(struct db *db, const struct user *user,
                                bool *ret_is_last, struct err *err)
{
    const struct admin_rule rule = {.counts_remote = true};
    int64_t count = 0;
    det_status st = store_user_count_admins(db, &rule, &count, err);

    *ret_is_last = user->is_admin && user->is_active && count == 1;
    return st;
}

/* People may choose the name that their provider displays, so it obeys the rules of this
 * master: nobody shows up under the name of somebody else.  Otherwise the old name stays. */
static det_status choose_display_name(struct db *db, const struct identity *identity,
                                      struct arena *mem, struct user *user,
                                      struct err *err)
{
    struct user changed = *user;
    struct err why = {0};
    det_status st;

    changed.display_name = identity->display_name;
    if (!identity->display_name)
        return DET_OK;
    st = name_check("display", 0, &changed.display_name, mem, &why);
    if (!st)
        st = user_check_names(db, &changed, false, true, mem, &why);
    if (!st)
        user->display_name = changed.display_name;
    return st == DET_OK || st == DET_INVALID ? DET_OK
                                             : err_set(err, st, "%s", why.text);
}

static bool is_same_text(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

static det_status update_user(struct db *db, const struct identity *identity,
                              int64_t now_us, struct arena *mem, struct user *user,
                              struct err *err)
{
    struct user before = *user;
    bool is_last = false;
    det_status st;

    if (identity->decides_admin)
        user->is_admin = identity->is_admin;
    st = choose_display_name(db, identity, mem, user, err);
    if (!st && before.is_admin && !user->is_admin)
        st = is_last_admin(db, &before, &is_last, err);
    if (is_last)
        user->is_admin = true;
    if (st || (user->is_admin == before.is_admin &&
               is_same_text(user->display_name, before.display_name)))
        return st;
    user->modified_us = now_us;
    st = store_user_put(db, user, err);
    if (!st && user->is_admin != before.is_admin)
        st = store_role_follow_admin(db, user->id, user->is_admin, err);
    return st;
}

det_status account_write(struct db *db, const struct identity *identity, int64_t now_us,
                         struct arena *mem, struct user *ret_user, struct err *err)
{
    int64_t known = 0;
    det_status st = account_find(db, identity, mem, ret_user, err);

    if (!st && !ret_user->id) {
        ret_user->modified_us = now_us;
        st = store_user_add(db, ret_user, &ret_user->id, err);
    }
    if (!st)
        st = update_user(db, identity, now_us, mem, ret_user, err);
    if (!st && identity->issuer)
        st = store_subject_user(db, identity->issuer, identity->subject, &known, err);
    if (!st && identity->issuer && !known)
        st = store_subject_add(db, identity->issuer, identity->subject, ret_user->id,
                               err);
    if (!st && identity->has_groups)
        st = store_remote_groups_set(db, ret_user->id, identity->groups,
                                     identity->group_count, err);
    return st;
}
