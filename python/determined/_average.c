/* SPDX-License-Identifier: Apache-2.0 */
/* _average.c - the library that Python and TensorFlow load: its ops, and how the ranks
 * are joined.
 *
 *   DetAverage   gradients in, their means over all ranks out      (_average_mean.c)
 *   DetGather    the rows of all ranks, one behind the other       (_average_gather.c)
 *
 * Both have an attribute `stream`: whose gradients they are; the optimizers of a
 * process are numbered.  They are stateful, so that TensorFlow neither merges nor drops
 * nor reorders calls: the calls of a stream follow one another on every rank alike.
 *
 * TensorFlow notes which ops a library registers while it is loaded: that is done by a
 * constructor, whose failure det_average_ready() tells.  The rest of the interface is
 * called by Python (keras/_distribute.py): det_average_open() joins the ranks before
 * the first step, det_average_close() leaves them. */
#include "_average.h"

struct average average;

det_status average_tf_failure(TF_Status *status, struct err *err)
{
    const struct tf *tf = &average.tf;

    if (!tf->GetCode(status))
        return DET_OK;
    return err_set(err, DET_FAILED, "%s", tf->Message(status));
}

static det_status register_op(const struct op *op, struct err *err)
{
    const struct tf *tf = &average.tf;
    TF_Status *status = tf->NewStatus();
    TF_OpDefinitionBuilder *builder = tf->NewOpDefinitionBuilder(op->name);
    det_status st;

    op->describe(builder);
    tf->OpDefinitionBuilderAddAttr(builder, "stream: int");
    tf->OpDefinitionBuilderSetIsStateful(builder, true);
    tf->RegisterOpDefinition(builder, status);
    st = average_tf_failure(status, err);
    if (!st) {
        tf->RegisterKernelBuilder(op->name,
                                  tf->NewAsyncKernelBuilder(op->name, "CPU", op->create,
                                                            kernel_compute,
                                                            kernel_free),
                                  status);
        st = average_tf_failure(status, err);
    }
    tf->DeleteStatus(status);
    return st;
}

__attribute__((constructor)) static void when_loaded(void)
{
    det_status st = tf_find(&average.tf, &average.failure);

    if (!st)
        st = register_op(&mean_op, &average.failure);
    if (!st)
        st = register_op(&gather_op, &average.failure);
    average.failure.status = st;
}

/* ---- for Python ----------------------------------------------------------------- */

static int tell(const struct err *err, char *text, size_t size)
{
    snprintf(text, size, "%s", err->text);
    return (int)err->status;
}

/* 0, or a status of det with its sentence: here and below. */
DET_API int det_average_ready(char *text, size_t size);
DET_API int det_average_open(int rank, int size, int64_t notice_us, char *text,
                             size_t text_size);
/* Waits for the other ranks, unless `at_once`.  Does nothing where nothing is open. */
DET_API void det_average_close(int at_once);

int det_average_ready(char *text, size_t size)
{
    return tell(&average.failure, text, size);
}

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
    if (!st)
        st = peers_share(peers, &err);
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
