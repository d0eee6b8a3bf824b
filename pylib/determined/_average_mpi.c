/* SPDX-License-Identifier: Apache-2.0 */
#include "_average_mpi.h"

#include <dlfcn.h>
#include <string.h>

enum { THREAD_SERIALIZED = 2, THREAD_MULTIPLE = 3 };

struct mpi_symbol {
    const char *name;
    size_t offset;
};

static const struct mpi_symbol symbols[] = {
#define MPI_SYMBOL(name, symbol, parameters) {#symbol, offsetof(struct mpi, name)},
    MPI_FUNCTIONS(MPI_SYMBOL)
#undef MPI_SYMBOL
#define MPI_SYMBOL(name, symbol) {#symbol, offsetof(struct mpi, name)},
        MPI_OBJECTS(MPI_SYMBOL)
#undef MPI_SYMBOL
};

det_status mpi_load(struct mpi *mpi, struct err *err)
{
    /* global: MPI's plugins look for symbols of the library */
    void *library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);

    if (!library)
        library = dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return err_set(
            err, DET_UNSUPPORTED,
            "training with several processes needs Open MPI, but libmpi.so.40 "
            "was not found: install openmpi-bin");
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *found = dlsym(library, symbols[i].name);

        if (!found)
            return err_set(err, DET_UNSUPPORTED,
                           "the MPI library of this machine is not Open MPI (it has no "
                           "%s): install openmpi-bin",
                           symbols[i].name);
        memcpy((char *)mpi + symbols[i].offset, &found, sizeof(found));
    }
    return DET_OK;
}

det_status mpi_check(const struct mpi *mpi, int code, const char *what, struct err *err)
{
    char text[MPI_SENTENCE + 1] = "";
    int len = 0;

    if (!code)
        return DET_OK;
    if (mpi->error_string(code, text, &len))
        snprintf(text, sizeof(text), "MPI's error %d", code);
    return err_set(err, DET_FAILED, "%s: %s", what, text);
}

det_status mpi_begin(const struct mpi *mpi, struct err *err)
{
    int is_up = 0;
    int is_down = 0;
    int level = 0;
    det_status st = mpi_check(mpi, mpi->initialized(&is_up), "cannot start MPI", err);

    if (!st && is_up)
        st = mpi_check(mpi, mpi->finalized(&is_down), "cannot start MPI", err);
    if (st)
        return st;
    if (is_down)
        return err_set(err, DET_STATE,
                       "MPI has been shut down in this process and cannot be started "
                       "again: average before MPI_Finalize");
    /* Without this, MPI yields whenever it finds nothing; see rest_between_looks() in
     * _average_peers.c. */
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
    st = mpi_check(mpi,
                   is_up ? mpi->query_thread(&level)
                         : mpi->init(NULL, NULL, THREAD_MULTIPLE, &level),
                   "cannot start MPI", err);
    if (!st && level < THREAD_SERIALIZED)
        return err_set(err, DET_UNSUPPORTED,
                       "MPI runs for a single thread here, and TensorFlow has many: "
                       "initialise it with MPI_THREAD_MULTIPLE, or not at all");
    return st;
}
