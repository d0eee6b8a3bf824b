/* SPDX-License-Identifier: Apache-2.0 */
/* map_guard.h - survives a mapped file that another process truncates.
 *
 * Touching a page behind the end of its file raises SIGBUS.  A check of the length before
 * every access does not help: the file may be truncated in between.  A process that maps
 * files of others installs the guard; the signal's handler then puts empty memory in the
 * place of a guarded map, and the access that failed is repeated there.
 *
 * Threading: any thread may call. */
#ifndef BASE_IO_MAP_GUARD_H
#define BASE_IO_MAP_GUARD_H

#include <stdbool.h>

#include "base/err.h"
#include "base/io/io.h"

/* For the whole process, at its start.  A SIGBUS elsewhere still ends the process. */
void map_guard_install(void);

/* DET_BUSY: too many maps are guarded.  Remove it before io_unmap(). */
det_status map_guard_add(const struct io_map *map, struct err *err);
void map_guard_remove(const struct io_map *map);
/* Whether the map was replaced by empty memory. */
bool map_guard_is_broken(const struct io_map *map);

#endif
