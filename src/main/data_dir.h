/* SPDX-License-Identifier: Apache-2.0 */
/* data_dir.h - the data directory of a master or an agent. */
#ifndef MAIN_DATA_DIR_H
#define MAIN_DATA_DIR_H

#include <stdbool.h>

#include "base/err.h"

struct arena;

/* `given` as an absolute path, or the default.  It may not exist.  DET_INVALID: it
 * exists, and is not a folder. */
det_status data_dir_find(const char *given, struct arena *mem, const char **ret_path,
                         bool *ret_is_there, struct err *err);
/* The same; creates it if it does not exist. */
det_status data_dir_open(const char *given, struct arena *mem, const char **ret_path,
                         struct err *err);

/* The directory of a master: `given`, or the one that its configuration file names.  NULL:
 * neither does.  `config` may be NULL. */
det_status data_dir_of_options(const char *given, const char *config, struct arena *mem,
                               const char **ret_path, struct err *err);

/* DET_STATE: a restore was killed before it put the directory in place.  A master that
 * starts there would begin with an empty database. */
det_status data_dir_check_restored(const char *path, struct err *err);

#endif
