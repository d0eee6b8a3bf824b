/* SPDX-License-Identifier: Apache-2.0 */
/* caller_cache.h - a cache of callers, by their token.
 *
 * Checking a token costs a message authentication code and up to three queries, which is
 * more than storing a report.  The result is therefore cached until something may have
 * changed it: an allocation ended, or a user's call wrote something.  Then the whole cache
 * is dropped; this is rare compared with reports.
 *
 * The table has a fixed size; a new entry replaces the one in its place.
 *
 * Threading: from any thread. */
#ifndef MASTER_REQUEST_CALLER_CACHE_H
#define MASTER_REQUEST_CALLER_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct caller;
struct caller_cache;

det_status caller_cache_new(struct caller_cache **ret_cache, struct err *err);
void caller_cache_free(struct caller_cache *cache);

/* The current age.  A lookup that began in an earlier age is not kept. */
uint64_t caller_cache_age(struct caller_cache *cache);
/* Starts a new age, which drops all entries. */
void caller_cache_forget(struct caller_cache *cache);

/* Copies the caller; its strings are in `mem`.  False: not cached, or no memory. */
bool caller_cache_find(struct caller_cache *cache, const char *token, int64_t now_us,
                       struct arena *mem, struct caller *ret_caller);
/* Copies.  The entry was looked up in `age` and is valid until `expires_us`. */
void caller_cache_keep(struct caller_cache *cache, const char *token, uint64_t age,
                       int64_t expires_us, const struct caller *caller);

#endif
