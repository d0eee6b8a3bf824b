/* SPDX-License-Identifier: Apache-2.0 */
/* _average_mpi.h - the part of Open MPI that we use, loaded when ranks first average.
 *
 * Neither its headers nor its library are needed to build, or to train with one
 * process. The types below are those of Open MPI's binary interface, which has been the
 * same since version 1.3: handles are addresses of objects that the library exports.
 * Another MPI has other handles; we recognise it because it does not export them.
 *
 * Only calls that never block are used: _average_peers.c does the waiting, and can say
 * for which rank. */
#ifndef AVERAGE_MPI_H
#define AVERAGE_MPI_H

#include "base/err.h"

typedef struct mpi_object *mpi_handle;

enum { MPI_SENTENCE = 256 }; /* MPI_MAX_ERROR_STRING of Open MPI */

#define MPI_FUNCTIONS(X)                                                               \
    X(initialized, MPI_Initialized, (int *ret_is))                                     \
    X(finalized, MPI_Finalized, (int *ret_is))                                         \
    X(init, MPI_Init_thread, (int *argc, char ***argv, int wanted, int *ret_level))    \
    X(query_thread, MPI_Query_thread, (int *ret_level))                                \
    X(finalize, MPI_Finalize, (void))                                                  \
    X(comm_rank, MPI_Comm_rank, (mpi_handle comm, int *ret_rank))                      \
    X(comm_size, MPI_Comm_size, (mpi_handle comm, int *ret_size))                      \
    X(comm_dup, MPI_Comm_dup, (mpi_handle comm, mpi_handle * ret_comm))                \
    X(set_handler, MPI_Comm_set_errhandler, (mpi_handle comm, mpi_handle handler))     \
    X(isend, MPI_Isend,                                                                \
      (const void *bytes, int count, mpi_handle type, int to, int tag,                 \
       mpi_handle comm, mpi_handle *ret_request))                                      \
    X(irecv, MPI_Irecv,                                                                \
      (void *bytes, int count, mpi_handle type, int from, int tag, mpi_handle comm,    \
       mpi_handle *ret_request))                                                       \
    X(testall, MPI_Testall,                                                            \
      (int count, mpi_handle *requests, int *ret_are_done, void *statuses))            \
    X(cancel, MPI_Cancel, (mpi_handle * request))                                      \
    X(free_request, MPI_Request_free, (mpi_handle * request))                          \
    X(error_string, MPI_Error_string, (int code, char *text, int *ret_len))

#define MPI_OBJECTS(X)                                                                 \
    X(world, ompi_mpi_comm_world)                                                      \
    X(byte, ompi_mpi_byte)                                                             \
    X(errors_return, ompi_mpi_errors_return)                                           \
    X(request_null, ompi_request_null)

struct mpi {
#define MPI_MEMBER(name, symbol, parameters) int(*name) parameters;
    MPI_FUNCTIONS(MPI_MEMBER)
#undef MPI_MEMBER
#define MPI_MEMBER(name, symbol) mpi_handle name;
    MPI_OBJECTS(MPI_MEMBER)
#undef MPI_MEMBER
};

/* Fills the table; the library stays loaded. DET_UNSUPPORTED, naming the package, if
 * Open MPI is not installed. */
det_status mpi_load(struct mpi *mpi, struct err *err);

/* Initialises MPI for calls from any thread, unless it is initialised already.
 * DET_UNSUPPORTED if it was initialised for one thread only. */
det_status mpi_begin(const struct mpi *mpi, struct err *err);

/* DET_OK for code 0, else DET_FAILED with "<what>: <MPI's own sentence>". */
det_status mpi_check(const struct mpi *mpi, int code, const char *what,
                     struct err *err);

#endif
