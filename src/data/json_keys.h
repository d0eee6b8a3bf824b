/* SPDX-License-Identifier: Apache-2.0 */
/* json_keys.h - equal keys, for the parsers of JSON and YAML. */
#ifndef DATA_JSON_KEYS_H
#define DATA_JSON_KEYS_H

#include "data/json.h"

/* Of members with equal keys the last wins and stands where the first stood.  All
 * members have keys.  DET_OK or DET_NOMEM. */
det_status json_merge_equal_keys(struct json *object);

#endif
