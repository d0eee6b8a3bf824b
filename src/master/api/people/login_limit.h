/* SPDX-License-Identifier: Apache-2.0 */
/* login_limit.h - slows down guessing, and nobody else.
 *
 * Checking a password takes a tenth of a second of one thread.  So wrong logins cost time
 * that others wait for, and each is one more guess.  Two things are counted:
 *
 *   a name at an address   after FREE failures in a row the next check waits for 1 s, then
 *                          2 s, up to a minute.  Other names at the address, and the same
 *                          name at other addresses, are not affected.
 *   an address             after DOUBTFUL failures within a minute, whatever the names, its
 *                          logins are checked on a lane of their own, a few at a time.
 *                          Names that have logged in from there keep the usual lane.
 *
 * An address is what one customer of a provider has (net/peer/forwarded.h).  Names that do not
 * exist count like others, so the answers do not tell which exist.  Counts are forgotten
 * after QUIET_US, with the process, and when the tables are full: the least failures first.
 *
 * The module has no clock and no I/O; every call takes the time.  Any thread may call. */
#ifndef MASTER_API_PEOPLE_LOGIN_LIMIT_H
#define MASTER_API_PEOPLE_LOGIN_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define LOGIN_QUIET_US INT64_C(900000000)

enum {
    LOGIN_FREE = 5,
    LOGIN_DOUBTFUL = 10,
    LOGIN_PENDING = 16,  /* checks of one name at one address at a time */
    LOGIN_SLOW_MOST = 8, /* waiting on the lane of doubtful addresses */
    LOGIN_WAIT_MOST_S = 60,
};

enum login_verdict {
    LOGIN_QUICK,
    LOGIN_SLOW,    /* on the lane for doubtful addresses */
    LOGIN_REFUSED, /* without a check: try again after wait_us */
};

struct login_decision {
    enum login_verdict verdict;
    int64_t wait_us;
};

struct login_limit;

det_status login_limit_new(struct login_limit **ret_limit, struct err *err);
void login_limit_free(struct login_limit *limit);

/* Whether and where to check a login.  Unless it is refused, login_limit_end() must
 * follow. */
struct login_decision login_limit_begin(struct login_limit *limit, const char *address,
                                        const char *name, int64_t now_us);
enum login_result { LOGIN_RIGHT, LOGIN_WRONG, LOGIN_UNKNOWN /* the check failed */ };
void login_limit_end(struct login_limit *limit, const char *address, const char *name,
                     const struct login_decision *decision, enum login_result result,
                     int64_t now_us);

#endif
