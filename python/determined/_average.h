/* SPDX-License-Identifier: Apache-2.0 */
/* _average.h - what the ops that average have in common: the ranks, and the way a call
 * of an op goes.
 *
 *     begin()   takes the inputs, says what this rank is about to do
 *               the ranks tell each other, and wait for the last
 *     work()    exchanges and writes the outputs
 *     end()     gives the inputs back, also after a failure
 *
 * Their attribute `stream` says whose gradients they are: the optimizers of a process
 * are numbered, and the calls of a stream follow one another on every rank alike. */
#ifndef AVERAGE_H
#define AVERAGE_H

#include "_average_peers.h"
#include "_tf.h"

struct job;
struct kernel;

/* One a process: MPI has one world. */
struct average {
    struct peers peers;
    bool is_open;
};
extern struct average average;

struct op {
    det_status (*begin)(struct kernel *kernel, TF_OpKernelContext *context,
                        TF_Status *status, struct peers_greeting *ret_greeting,
                        struct err *err);
    det_status (*work)(struct kernel *kernel, TF_OpKernelContext *context,
                       TF_Status *status, struct err *err);
    void (*end)(struct kernel *kernel);
};

/* One op in a graph. */
struct kernel {
    const struct op *op;
    int stream;
    bool travels_as_half;
    struct peers_scratch scratch;
    void *inputs; /* the op's own, and how many */
    int input_count;
    char *fused;
    size_t fused_size;
    bool is_in_slot;     /* what is small */
    struct lock lock;    /* of: */
    const void *code[2]; /* of the last callback */
    struct job *jobs;    /* the first is on its way, the others wait for it */
    struct lock turn;    /* of a call that waits where it is */
};

void *kernel_new(const struct op *op, TF_OpKernelConstruction *construction);
void kernel_free(void *kernel);
void kernel_compute(void *kernel, TF_OpKernelContext *context,
                    TF_AsyncOpKernelDoneCallback *done);

#endif
