/* SPDX-License-Identifier: Apache-2.0 */
/* context_folder.h - the folder of code that goes with a submission. */
#ifndef CLI_CREATE_CONTEXT_FOLDER_H
#define CLI_CREATE_CONTEXT_FOLDER_H

#include <stdbool.h>

#include "base/err.h"

struct cli;
struct field_strs;
struct json;
struct json_writer;
struct pack;

/* Lists the files to send and prints their number and size.  Call pack_done() even
 * after a failure. */
det_status context_folder_scan(struct cli *cli, const char *folder,
                               const struct field_strs *includes, struct pack *pack);
/* Checks the folder for mistakes that would otherwise fail later, on an agent.  A fork
 * without a folder uses its parent's files, which were checked then. */
det_status context_folder_check(struct cli *cli, const struct json *config,
                                bool is_fork, const char *folder,
                                const struct pack *pack);
/* Whether that file, a path within the folder, is sent. */
bool context_folder_has(const struct pack *pack, const char *path);
/* Writes the files under `key`.  A large folder shows its progress on a terminal. */
det_status context_folder_write(struct cli *cli, const struct pack *pack,
                                struct json_writer *w, const char *key);

#endif
