/* SPDX-License-Identifier: Apache-2.0 */
/* space.h - workspaces and projects by their names, and waiting for their end. */
#ifndef CLI_TEAMS_SPACE_H
#define CLI_TEAMS_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cli;
struct space_list_options;
struct json;

/* The workspace of exactly this name.  DET_NOT_FOUND. */
det_status space_find_workspace(struct cli *cli, const char *name,
                                struct json **ret_workspace);
/* A project by the names of its workspace and itself. */
det_status space_find_project(struct cli *cli, const char *workspace, const char *name,
                              struct json **ret_project);
int64_t space_id(const struct json *space);

/* POST /api/v1/<kind>s/<id>/<verb>, then prints "<done> <kind> <name>". */
det_status space_post(struct cli *cli, const char *kind, const struct json *space,
                      const char *verb, const char *done);
/* Asks unless `yes`, deletes, and waits until it is gone. */
det_status space_delete(struct cli *cli, const char *kind, const struct json *space,
                        bool yes);

/* Prints "  archived     yes" and similar for what both kinds have. */
void space_print_common(struct cli *cli, const struct json *space);
/* "&archived=false&sortBy=..." of a list. */
const char *space_list_query(struct cli *cli, const struct space_list_options *options);

#endif
