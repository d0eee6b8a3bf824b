/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_quoted.h - what quoted text means, read from the file itself.
 *
 * libfyaml 0.7.12 finds where it begins and ends, and refuses escapes that are none,
 * but loses letters of some text that has lines or quotes in it and adds others. */
#ifndef DATA_YAML_QUOTED_H
#define DATA_YAML_QUOTED_H

#include <stddef.h>

struct arena;

/* `raw` is what stands between two quotes, which libfyaml has accepted; the one behind
 * it is there, too, and says of which kind they are.  NULL: no memory. */
char *yaml_unquote(struct arena *mem, const char *raw, size_t len, size_t *ret_len);

#endif
