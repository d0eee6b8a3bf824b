/* SPDX-License-Identifier: Apache-2.0 */
/* mhd.h - libmicrohttpd, opened when a server starts.
 *
 * The library pulls GnuTLS and a dozen more behind it; a command that only asks the
 * master something must not pay for them.  Every function used is a row below; its type
 * comes from the library's own header, so that a wrong call does not compile. */
#ifndef NET_MHD_H
#define NET_MHD_H

#include <microhttpd.h>

#include "base/err.h"

#define MHD_FUNCTIONS(X)                                                               \
    X(start_daemon)                                                                    \
    X(stop_daemon)                                                                     \
    X(suspend_connection)                                                              \
    X(resume_connection)                                                               \
    X(get_connection_info)                                                             \
    X(get_connection_values)                                                           \
    X(queue_response)                                                                  \
    X(create_response_from_buffer)                                                     \
    X(create_response_from_buffer_with_free_callback)                                  \
    X(create_response_from_callback)                                                   \
    X(create_response_for_upgrade)                                                     \
    X(upgrade_action)                                                                  \
    X(add_response_header)                                                             \
    X(destroy_response)

struct mhd {
#define MHD_MEMBER(name) __typeof__(MHD_##name) *name;
    MHD_FUNCTIONS(MHD_MEMBER)
#undef MHD_MEMBER
};

/* Fills the table.  The library stays loaded for good: threads of its own may still be
 * on their way out of it.  DET_UNSUPPORTED, naming the package, when it is not there.
 */
det_status mhd_load(struct mhd *mhd, struct err *err);

#endif
