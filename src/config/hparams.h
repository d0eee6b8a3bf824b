/* SPDX-License-Identifier: Apache-2.0 */
/* hparams.h - checks hyperparameters and brings them into the form that is stored. */
#ifndef CONFIG_HPARAMS_H
#define CONFIG_HPARAMS_H

#include <stdbool.h>

struct arena;
struct config_report;
struct json;

/* A grid of more points is refused: it would not end in a lifetime. */
enum { CONFIG_GRID_MOST = 1000000 };

/* A new map in `mem`, in the order of names: plain values as {type: const, val: ...},
 * the others with their keys in order.  A grid needs a count for every range.  Problems
 * go to `report`; the map is then not complete. */
struct json *hparams_check(const struct json *hyperparameters, bool is_grid,
                           struct arena *mem, struct config_report *report);

#endif
