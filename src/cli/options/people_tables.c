/* SPDX-License-Identifier: Apache-2.0 */
/* people_tables.c - the options of workspaces, projects, users, groups, roles and tokens. */
#include "cli/frame/options.h"
#include "cli/frame/people_options.h"
#include "cli/options/option_rows.h"
#include "cli/options/option_tables.h"

const struct cli_opt space_list_opts[] = {
    FLAG('a', "all", space_list_options, all, "also archived ones"),
    TEXT(0, "sort-by", space_list_options, sort_by, "KEY", "order of the list",
         CHOICES("id", "name"), .def = "id"),
    TEXT(0, "order-by", space_list_options, order_by, "ORDER", "asc or desc",
         CHOICES("asc", "desc"), .def = "asc"),
    END,
};

#define WORKSPACE_OPTS                                                                 \
    TEXT(0, "checkpoint-storage-config", workspace_options, storage, "YAML",           \
         "checkpoint_storage of experiments that name none"),                          \
        TEXT(0, "checkpoint-storage-config-file", workspace_options, storage_file,     \
             "FILE", "the same, from a file"),                                         \
        NUMBER(0, "agent-uid", workspace_options, agent_uid, "UID", 0, 4294967294,     \
               "Unix user of its tasks"),                                              \
        NUMBER(0, "agent-gid", workspace_options, agent_gid, "GID", 0, 4294967294,     \
               "Unix group of its tasks"),                                             \
        TEXT(0, "agent-user", workspace_options, agent_user, "NAME",                   \
             "name of that user"),                                                     \
        TEXT(0, "agent-group", workspace_options, agent_group, "NAME",                 \
             "name of that group"),                                                    \
        TEXT(0, "default-compute-pool", workspace_options, compute_pool, "POOL",       \
             "pool of tasks with slots that name none"),                               \
        TEXT(0, "default-aux-pool", workspace_options, aux_pool, "POOL",               \
             "pool of tasks without slots that name none")

const struct cli_opt workspace_create_opts[] = {
    WORKSPACE_OPTS,
    END,
};

const struct cli_opt workspace_edit_opts[] = {
    TEXT('n', "name", workspace_options, name, "NAME", "its new name"),
    WORKSPACE_OPTS,
    END,
};

const struct cli_opt project_create_opts[] = {
    TEXT('d', "description", project_options, description, "TEXT", "describes it"),
    TEXT('k', "key", project_options, key, "KEY",
         "short name, 1 to 5 letters or digits (default: made from the name)"),
    END,
};

const struct cli_opt project_edit_opts[] = {
    TEXT('n', "name", project_options, name, "NAME", "its new name", ALSO("new_name")),
    TEXT('d', "description", project_options, description, "TEXT",
         "its new description"),
    TEXT('k', "key", project_options, key, "KEY", "its new short name"),
    END,
};

const struct cli_opt user_create_opts[] = {
    FLAG(0, "admin", user_create_options, admin, "make the user an administrator"),
    FLAG(0, "remote", user_create_options, remote,
         "another service signs the user in; no password here"),
    TEXT(0, "password", user_create_options, password, "PASSWORD",
         "the password (default: det asks for it)"),
    END,
};

const struct cli_opt user_list_opts[] = {
    FLAG('a', "all", user_list_options, all, "also inactive users"),
    END,
};

const struct cli_opt login_opts[] = {
    TEXT('p', "password", login_options, password, "PASSWORD",
         "the password (default: det asks for it)"),
    TEXT(0, "sso", login_options, sso, "PROVIDER",
         "sign in with a browser on this computer", .is_optional = true),
    FLAG(0, "device", login_options, device,
         "sign in with a browser on any computer: prints a short code"),
    END,
};

const struct cli_opt password_opts[] = {
    TEXT('p', "password", password_options, password, "PASSWORD",
         "the password (default: det asks for it)"),
    END,
};

const struct cli_opt audit_list_opts[] = {
    TEXT(0, "by", audit_list_options, by, "NAME", "only what this user did"),
    TEXT(0, "action", audit_list_options, action, "CALL",
         "only this call, by name: patch_user"),
    TEXT(0, "object", audit_list_options, object, "OBJECT",
         "only this kind ('experiment'), or one of it ('experiment 3')"),
    TEXT(0, "since", audit_list_options, since, "TIME", "only after this time"),
    NUMBER(0, "limit", audit_list_options, limit, "N", 1, 1000000, "at most N entries",
           .def = "100"),
    END,
};

#define TRUE_OR_FALSE CHOICES("true", "false")

const struct cli_opt user_edit_opts[] = {
    TEXT(0, "username", user_edit_options, username, "NAME",
         "a new name to log in with"),
    TEXT(0, "display-name", user_edit_options, display_name, "NAME",
         "name to display; '' removes it"),
    TEXT(0, "admin", user_edit_options, admin, "BOOL", "whether it is an administrator",
         TRUE_OR_FALSE),
    TEXT(0, "active", user_edit_options, active, "BOOL", "whether it may log in",
         TRUE_OR_FALSE),
    TEXT(0, "remote", user_edit_options, remote, "BOOL",
         "whether another service signs it in", TRUE_OR_FALSE),
    END,
};

const struct cli_opt user_link_opts[] = {
    NUMBER(0, "agent-uid", user_link_options, uid, "UID", 0, 4294967294,
           "user number of the tasks"),
    NUMBER(0, "agent-gid", user_link_options, gid, "GID", 0, 4294967294,
           "group number of the tasks"),
    TEXT(0, "agent-user", user_link_options, user, "NAME", "user name of the tasks"),
    TEXT(0, "agent-group", user_link_options, group, "NAME", "group name of the tasks"),
    FLAG(0, "remove", user_link_options, remove, "end the link"),
    END,
};

const struct cli_opt user_reset_opts[] = {
    TEXT(0, "data-dir", user_reset_options, data_dir, "DIR",
         "data directory of the master (default: ~/.local/share/det)"),
    END,
};

const struct cli_opt user_group_create_opts[] = {
    TEXTS(0, "add-user", user_group_create_options, add_user, "USER",
          "a member; may be repeated"),
    END,
};

const struct cli_opt user_group_list_opts[] = {
    TEXT(0, "groups-user-belongs-to", user_group_list_options, user, "USER",
         "only groups of this user"),
    END,
};

const struct cli_opt role_list_opts[] = {
    FLAG(0, "exclude-global-permissions", role_list_options, exclude_global,
         "only roles that fit a workspace"),
    END,
};

const struct cli_opt role_assign_opts[] = {
    TEXT(0, "username-to-assign", role_assign_options, user, "USER",
         "the user who gets the role"),
    TEXT(0, "group-name-to-assign", role_assign_options, group, "GROUP",
         "the group that gets the role"),
    TEXT('w', "workspace-name", role_assign_options, workspace, "WORKSPACE",
         "only in this workspace (default: the cluster)"),
    END,
};

const struct cli_opt token_create_opts[] = {
    NUMBER('e', "expiration-days", token_create_options, days, "DAYS", -1, DAYS_MOST,
           "days until it expires; -1: the longest allowed"),
    TEXT(0, "lifespan", token_create_options, lifespan, "TIME",
         "the same as a duration, such as 12h"),
    TEXT('d', "description", token_create_options, description, "TEXT",
         "what it is for"),
    END,
};

const struct cli_opt token_list_opts[] = {
    FLAG('a', "show-inactive", token_list_options, show_inactive,
         "also expired and revoked tokens"),
    TEXT(0, "sort-by", token_list_options, sort_by, "KEY", "order of the list",
         .def = "id",
         CHOICES("id", "user", "expiry", "created", "revoked", "description")),
    FLAG('r', "reverse", token_list_options, reverse, "largest first"),
    END,
};

const struct cli_opt token_edit_opts[] = {
    TEXT('d', "description", token_edit_options, description, "TEXT",
         "a new description"),
    END,
};
