/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - a group as the API shows it, with its members. */
#ifndef MASTER_API_PEOPLE_GROUPS_H
#define MASTER_API_PEOPLE_GROUPS_H

#include <stdint.h>

#include "base/err.h"

struct request;

det_status groups_render(struct request *req, const char *key, int64_t id);

#endif
