/* SPDX-License-Identifier: Apache-2.0 */
/* people_options.h - the options of commands about users, groups, roles and tokens; see
 * options.h. */
#ifndef CLI_FRAME_PEOPLE_OPTIONS_H
#define CLI_FRAME_PEOPLE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/field.h"

struct user_edit_options {
    const char *username;
    const char *display_name;
    const char *admin;
    const char *active;
    const char *remote;
};

struct user_group_create_options {
    struct field_strs add_user;
};

struct user_group_list_options {
    const char *user;
};

struct role_list_options {
    bool exclude_global;
};

struct role_assign_options {
    const char *user;
    const char *group;
    const char *workspace;
};

struct token_create_options {
    int64_t days;
    const char *lifespan;
    const char *description;
};

struct token_list_options {
    bool show_inactive;
    const char *sort_by;
    bool reverse;
};

struct token_edit_options {
    const char *description;
};

struct user_create_options {
    bool remote;
    bool admin;
    const char *password;
};

struct password_options {
    const char *password;
};

struct user_link_options {
    int64_t uid; /* CLI_UNSET: not given */
    int64_t gid;
    const char *user;
    const char *group;
    bool remove;
};

struct user_reset_options {
    const char *data_dir;
};

struct login_options {
    const char *password;
    const char *sso; /* the provider; "": the only one */
    bool device;
};

struct user_list_options {
    bool all;
};

#endif
