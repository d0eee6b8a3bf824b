/* SPDX-License-Identifier: Apache-2.0 */
/* _average.c - how the ranks are joined; called by Python (keras/_distribute.py):
 * det_average_open() before the first step, det_average_close() after the last. */
#include "_average.h"

struct average average;

static int tell(const struct err *err, char *text, size_t size)
{
    snprintf(text, size, "%s", err->text);
    return (int)err->status;
}

/* 0, or a status of det with its sentence. */
DET_API int det_average_open(int rank, int size, int64_t notice_us, char *text,
                             size_t text_size);
/* Waits for the other ranks, unless `at_once`.  Does nothing where nothing is open. */
DET_API void det_average_close(int at_once);

int det_average_open(int rank, int size, int64_t notice_us, char *text,
                     size_t text_size)
{
    struct peers *peers = &average.peers;
    struct err err = {0};
    int was_up = 0;
    det_status st;

    if (average.is_open)
        return peers->rank == rank && peers->size == size
                   ? 0
                   : tell(&(struct err){DET_STATE, "the ranks are joined already, as "
                                                   "others"},
                          text, text_size);
    *peers = (struct peers){.clock = &clock_system, .notice_us = notice_us};
    st = mpi_load(&peers->mpi, &err);
    if (!st) {
        (void)peers->mpi.initialized(&was_up);
        st = mpi_begin(&peers->mpi, &err);
    }
    peers->has_begun_mpi = !was_up;
    if (!st)
        st = peers_open(peers, rank, size, &err);
    if (!st) {
        st = peers_share(peers, &err);
        if (st)
            peers_close(peers, true);
    }
    average.is_open = !st;
    err.status = st;
    return tell(&err, text, text_size);
}

void det_average_close(int at_once)
{
    if (average.is_open && !at_once)
        peers_close(&average.peers, false);
    else if (average.is_open) /* what other threads still use is left to them */
        peers_give_up(&average.peers);
    average.is_open = false;
}
