/* SPDX-License-Identifier: Apache-2.0 */
#include "master/signin/names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/memory/arena.h"
#include "model/name.h"
#include "store/people/user.h"

enum { NAME_MOST = 64 };

static bool is_ascii(const char *text)
{
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at > '~')
            return false;
    return true;
}

static const char *trim(const char *text, struct arena *mem)
{
    size_t len;

    while (isspace((unsigned char)*text))
        text++;
    len = strlen(text);
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    return arena_strndup(mem, text, len);
}

det_status name_check(const char *what, size_t least, const char **name,
                      struct arena *mem, struct err *err)
{
    const char *trimmed = trim(*name ? *name : "", mem);
    size_t len;

    if (!trimmed)
        return err_default(err, DET_NOMEM);
    if (given_name_has_control(trimmed))
        return err_set(err, DET_INVALID,
                       "a %s name must not contain control characters", what);
    len = strlen(trimmed);
    if (len < least || len > NAME_MOST)
        return err_set(err, DET_INVALID, "a %s name must have %zu to %d characters",
                       what, least, NAME_MOST);
    if (least && given_name_is_path(trimmed))
        return err_set(err, DET_INVALID,
                       "a %s name must not be a path: no '/', '\\', '.' or '..'", what);
    *name = trimmed;
    return DET_OK;
}

det_status user_name_check(const char *what, size_t least, const char **name,
                           struct arena *mem, struct err *err)
{
    det_status st = name_check(what, least, name, mem, err);

    if (!st && !is_ascii(*name))
        return err_set(
            err, DET_INVALID,
            "Display name and username cannot contain non-ASCII characters.");
    return st;
}

/* `name` is new to the user. */
static det_status check_reserved(const struct user *user, const char *name,
                                 struct err *err)
{
    if (!strcasecmp(name, "admin") && !user->is_admin)
        return err_set(err, DET_INVALID, "Non-admin user cannot be renamed 'admin'");
    if (!strcasecmp(name, "determined") && strcmp(user->username, "determined") != 0)
        return err_set(err, DET_INVALID, "User cannot be renamed 'determined'");
    return DET_OK;
}

det_status user_check_names(struct db *db, const struct user *user, bool new_username,
                            bool new_display_name, struct arena *mem, struct err *err)
{
    const char *display = user->display_name;
    const char *other = NULL;
    det_status st = DET_OK;

    /* Case counts: the user named exactly `determined` exists, so the store refuses it. */
    if (new_username && strcmp(user->username, "determined") != 0)
        st = check_reserved(user, user->username, err);
    if (st || !new_display_name || !display || !*display)
        return st;
    st = check_reserved(user, display, err);
    if (!st)
        st = store_user_clash(db, user->id, display, mem, &other, err);
    if (!st && other)
        return err_set(err, DET_INVALID,
                       "the display name '%s' is the name of user '%s'; choose another",
                       display, other);
    return st;
}
