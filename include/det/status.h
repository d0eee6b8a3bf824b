/* SPDX-License-Identifier: Apache-2.0 */
/* det/status.h - the status codes.
 *
 * One row per code: its name, the HTTP status and gRPC number for it, the exit code of
 * the command line, and the default text.  New codes go at the end: the numbers are
 * stable. */
#ifndef DET_STATUS_H
#define DET_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__STDC_VERSION__) && __STDC_VERSION__ > 201710L
#define DET_NODISCARD [[nodiscard]]
#else
#define DET_NODISCARD
#endif

#if defined(__GNUC__)
#define DET_API __attribute__((visibility("default")))
#else
#define DET_API
#endif

/* clang-format off */
/*    code             HTTP  gRPC  exit  default text                           */
#define DET_STATUS_MAP(X)                                                            \
    X(OK,              200,  0,    0,    "ok")                                       \
    X(FAILED,          500,  13,   1,    "the operation failed")                     \
    X(INVALID,         400,  3,    2,    "the request is not valid")                 \
    X(UNAUTHENTICATED, 401,  16,   3,    "invalid credentials")                      \
    X(FORBIDDEN,       403,  7,    3,    "not allowed")                              \
    X(NOT_FOUND,       404,  5,    4,    "no such object")                           \
    X(STATE,           400,  9,    5,    "the current state does not allow this")    \
    X(EXISTS,          409,  6,    5,    "it already exists")                        \
    X(BUSY,            503,  14,   6,    "try again later")                          \
    X(NOMEM,           503,  14,   7,    "out of memory")                            \
    X(IO,              500,  13,   8,    "reading or writing failed")                \
    X(CORRUPT,         500,  13,   8,    "stored data is damaged")                   \
    X(TIMEOUT,         504,  4,    9,    "it took too long")                         \
    X(UNREACHABLE,     503,  14,   10,   "no answer from the other side")            \
    X(UNSUPPORTED,     501,  12,   11,   "not built yet")                            \
    X(TOO_LARGE,       413,  3,    2,    "it is larger than the limit")              \
    X(FULL,            503,  14,   8,    "no space left on the disk")
/* clang-format on */

typedef enum DET_NODISCARD det_status {
#define DET_STATUS_ENUM(code, http, grpc, exit, text) DET_##code,
    DET_STATUS_MAP(DET_STATUS_ENUM)
#undef DET_STATUS_ENUM
} det_status;

/* The name of a code: "NOT_FOUND".  An unknown code reads as FAILED, here and below. */
DET_API const char *det_status_name(det_status status);
/* The default text of a code. */
DET_API const char *det_status_text(det_status status);
/* The HTTP status of a code. */
DET_API int det_status_http(det_status status);
/* The gRPC number of a code. */
DET_API int det_status_grpc(det_status status);
/* The exit code of the command line for a code. */
DET_API int det_status_exit(det_status status);

#ifdef __cplusplus
}
#endif

#endif
