/* SPDX-License-Identifier: Apache-2.0 */
/* signin.h - sign-in other than by a password of this master: the parts that the
 * configuration enables, and what their requests share.
 *
 * Calls to a provider or a directory may take seconds.  They run on their own lane, which
 * few threads serve: a provider that does not answer delays other sign-ins through it and
 * nothing else.  The number of requests that wait there is limited. */
#ifndef MASTER_SIGNIN_SIGNIN_H
#define MASTER_SIGNIN_SIGNIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct directory;
struct flow;
struct handovers;
struct json_writer;
struct lane;
struct master;
struct oidc;
struct signin;

enum { SIGNIN_THREADS = 3 };

/* Reads the configuration and the files with secrets that it names. */
det_status signin_new(struct master *master, struct signin **ret_signin,
                      struct err *err);
void signin_free(struct signin *signin);

/* NULL: not configured. */
struct oidc *signin_oidc(const struct signin *signin);
const struct directory *signin_directory(const struct signin *signin);
struct handovers *signin_handovers(const struct signin *signin);
struct lane *signin_lane(const struct signin *signin);
/* The key of flow_seal(). */
const unsigned char *signin_key(const struct signin *signin);
/* Whether browsers reach this master over TLS, as far as the configuration says. */
bool signin_is_secure(const struct signin *signin);

/* Around the work on the lane.  DET_BUSY: too many requests wait. */
det_status signin_begin(struct signin *signin, struct err *err);
void signin_end(struct signin *signin);

/* False: this flow was completed before. */
bool signin_use_flow(struct signin *signin, const struct flow *flow, int64_t now_s);

/* The members about sign-in of GET /info (snake_case) and GET /api/v1/master. */
void signin_render(const struct signin *signin, struct json_writer *w,
                   bool is_snake_case);

#endif
