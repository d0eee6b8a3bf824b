/* SPDX-License-Identifier: Apache-2.0 */
/* people_find.h - users, groups, roles and workspaces by the names that people type. */
#ifndef CLI_PEOPLE_PEOPLE_FIND_H
#define CLI_PEOPLE_PEOPLE_FIND_H

#include <stdint.h>

#include "base/err.h"

struct cli;
struct json;

/* v1User; DET_NOT_FOUND. */
det_status people_find_user(struct cli *cli, const char *name, struct json **ret_user);
det_status people_find_user_id(struct cli *cli, const char *name, int64_t *ret_id);
det_status people_find_group(struct cli *cli, const char *name, int64_t *ret_id);
/* By name in any case, or by number; v1Role. */
det_status people_find_role(struct cli *cli, const char *name, struct json **ret_role);
/* By name, or by number. */
det_status people_find_workspace(struct cli *cli, const char *name, int64_t *ret_id);
/* The name of a workspace; its number as text if it has none that the caller may see. */
const char *people_workspace_name(struct cli *cli, int64_t id);
/* "PERMISSION_TYPE_VIEW_NSC" -> "VIEW_NSC" */
const char *people_permission(const struct json *id);

#endif
