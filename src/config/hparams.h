/* SPDX-License-Identifier: Apache-2.0 */
/* hparams.h - hyperparameters: checked, and brought into the one form that is stored.
 */
#ifndef CONFIG_HPARAMS_H
#define CONFIG_HPARAMS_H

#include <stdbool.h>

struct arena;
struct config_report;
struct json;

/* A new map in `mem`, in the order of names: plain values as {type: const, val: ...},
 * everything else with its keys in order.  A grid needs a count for every range.  What
 * is wrong goes to `report`, and the map is then not complete. */
struct json *hparams_check(const struct json *hyperparameters, bool is_grid,
                           struct arena *mem, struct config_report *report);

#endif
