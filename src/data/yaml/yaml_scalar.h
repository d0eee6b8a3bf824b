/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_scalar.h - the meaning of YAML's plain words, by the rules of YAML 1.1 as Go's
 * converter reads them. */
#ifndef DATA_YAML_YAML_SCALAR_H
#define DATA_YAML_YAML_SCALAR_H

#include "data/json/json.h"

/* Fills kind and value of `value` from an unquoted scalar; strings borrow `text`, which
 * ends with a NUL.  Infinities and NaN come out as JSON_REAL: the caller refuses them.
 */
void yaml_resolve(const char *text, size_t len, struct json *value);

/* Whether it is written as a number but too large for a double: then it is a string. */
bool yaml_is_huge(const char *text, size_t len);

/* The name of a scalar as a key: true -> "true", 1e6 -> "1e+06". 32 bytes are enough
 * for all kinds except strings.  NULL when it cannot be a key. */
const char *yaml_key_text(const struct json *value, char text[32]);

#endif
