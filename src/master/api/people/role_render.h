/* SPDX-License-Identifier: Apache-2.0 */
/* role_render.h - roles and their assignments as the API shows them. */
#ifndef MASTER_API_PEOPLE_ROLE_RENDER_H
#define MASTER_API_PEOPLE_ROLE_RENDER_H

#include <stdint.h>

struct json_writer;
struct role;
struct role_assignment;

/* v1Role. */
void render_role(struct json_writer *w, const char *key, const struct role *role);
/* "PERMISSION_TYPE_CREATE_EXPERIMENT", ... under `key`. */
void render_permissions(struct json_writer *w, const char *key, uint64_t mask);
/* v1RoleWithAssignments of one role; `rows` may hold other roles, too. */
void render_role_with(struct json_writer *w, const struct role *role,
                      const struct role_assignment *rows, uint32_t count);
/* The members `roles` and `assignments` (v1RoleAssignmentSummary) of the open object.  `rows`
 * are ordered as store_role_list() returns them. */
void render_role_summary(struct json_writer *w, const struct role_assignment *rows,
                         uint32_t count);

#endif
