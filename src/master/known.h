/* SPDX-License-Identifier: Apache-2.0 */
/* known.h - callers seen before, by their token.
 *
 * Checking a token costs a message authentication code and up to three queries, which
 * is more than storing a report.  What the check found is therefore remembered, and
 * stands until something may have changed it: an allocation ended, or a user's call
 * wrote something.  Then everything is forgotten at once; that is rare beside reports.
 *
 * A table of fixed size in which a newcomer takes the place of whoever has it.
 *
 * Threading: from any thread. */
#ifndef MASTER_KNOWN_H
#define MASTER_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct caller;
struct known;

det_status known_new(struct known **ret_known, struct err *err);
void known_free(struct known *known);

/* Which age it is: what was looked up in one age is not kept in a later one. */
uint64_t known_age(struct known *known);
void known_forget(struct known *known);

/* Copies the caller, its strings into `mem`.  False: not known, or no memory. */
bool known_find(struct known *known, const char *token, int64_t now_us,
                struct arena *mem, struct caller *ret_caller);
/* Copies.  What was found in `age` holds until `expires_us`. */
void known_keep(struct known *known, const char *token, uint64_t age,
                int64_t expires_us, const struct caller *caller);

#endif
