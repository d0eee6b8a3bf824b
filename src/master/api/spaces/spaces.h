/* SPDX-License-Identifier: Apache-2.0 */
/* spaces.h - what the calls about workspaces and those about projects have in common. */
#ifndef MASTER_API_SPACES_SPACES_H
#define MASTER_API_SPACES_SPACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct field_i64s;
struct field_strs;
struct json_writer;
struct project_view;
struct request;

enum { SPACE_NAME_MOST = 80 };

/* Whether an owner is one of those that a list is asked for; without any, all are. */
bool spaces_is_owner(const struct field_strs *users, const struct field_i64s *ids,
                     const char *username, int64_t user_id);
/* The API's name of a state of the store: "WORKSPACE_STATE_DELETING". */
void spaces_render_state(struct json_writer *w, const char *state, const char *error);
/* {"completed": true} if the request's `state`, a bool, says so. */
det_status spaces_reply_completed(struct request *req);

void spaces_render_project(struct json_writer *w, const char *key,
                           const struct project_view *view);
/* The project in the path. */
det_status spaces_path_project(struct request *req, struct project_view *ret_view);

#endif
