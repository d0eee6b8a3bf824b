/* SPDX-License-Identifier: Apache-2.0 */
/* mhd.h - libmicrohttpd, opened when a server starts.
 *
 * The library loads GnuTLS and a dozen others.  A command that only calls the master must
 * not pay for them.  Each function we use is a row below.  Its type comes from the
 * library's own header, so a wrong call does not compile. */
#ifndef NET_MHD_H
#define NET_MHD_H

#include <microhttpd.h>

#include "base/err.h"

#define MHD_FUNCTIONS(X)                                                               \
    X(start_daemon)                                                                    \
    X(stop_daemon)                                                                     \
    X(add_connection)                                                                  \
    X(suspend_connection)                                                              \
    X(resume_connection)                                                               \
    X(get_daemon_info)                                                                 \
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

/* Fills the table.  The library is never unloaded: its threads may still be leaving it.
 * DET_UNSUPPORTED, naming the package, if it is not installed. */
det_status mhd_load(struct mhd *mhd, struct err *err);

#endif
