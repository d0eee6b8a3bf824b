/* SPDX-License-Identifier: Apache-2.0 */
/* preview.h - how many trials a search would run, without running it. */
#ifndef SEARCH_PREVIEW_H
#define SEARCH_PREVIEW_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct json;

/* The trials that the search would create: [{"count":..,"unit":{...}}], as the preview
 * call returns them.  DET_INVALID for a method that has no preview. */
det_status search_preview(const struct json *searcher_config,
                          const struct json *hyperparameters, struct arena *mem,
                          struct json **ret_trials, struct err *err);

/* For methods.  Appends {"count": count, "unit": {"maxLength": true}}: `count` trials
 * that train as long as their code says. */
void search_preview_row(struct arena *mem, struct json *trials, uint32_t count);

#endif
