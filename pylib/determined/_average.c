/* SPDX-License-Identifier: Apache-2.0 */
/* _average.c - joins the ranks; called by Python (keras/_distribute.py):
 * det_average_open() before the first step, det_average_close() after the last. */
#include "_average.h"

struct average average;

static int copy_error(const struct err *err, char *text, size_t size)
{
    snprintf(text, size, "%s", err->text);
    return (int)err->status;
}

/* Returns 0, or a det_status and writes its sentence to `text`. */
DET_API int det_average_open(int rank, int size, int64_t notice_us, char *text,
                             size_t text_size);
/* Waits for the other ranks, unless `at_once`. Does nothing if nothing is open. */
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
                   : copy_error(
                         &(struct err){DET_STATE,
                                       "the ranks are already joined, with other "
                                       "numbers"},
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
        st = peers_share_memory(peers, &err);
        if (st)
            peers_close(peers, true);
    }
    average.is_open = !st;
    err.status = st;
    return copy_error(&err, text, text_size);
}

void det_average_close(int at_once)
{
    if (average.is_open && !at_once)
        peers_close(&average.peers, false);
    else if (average.is_open) /* other threads may still use it */
        peers_give_up(&average.peers);
    average.is_open = false;
}
