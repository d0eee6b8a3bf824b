/* SPDX-License-Identifier: Apache-2.0 */
/* json_keys.h - equal keys, for the parsers of JSON and YAML. */
#ifndef DATA_JSON_JSON_KEYS_H
#define DATA_JSON_JSON_KEYS_H

#include "data/json/json.h"

/* Of members with equal keys the last one wins and takes the place of the first.  All
 * members must have keys.  DET_OK or DET_NOMEM. */
det_status json_merge_equal_keys(struct json *object);

#endif
