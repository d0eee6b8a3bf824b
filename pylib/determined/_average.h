/* SPDX-License-Identifier: Apache-2.0 */
/* _average.h - the common part of the ops that average: the ranks, and the course of a
 * call.
 *
 *     begin()   takes the inputs, says what this rank is about to do
 *               (the ranks tell each other, and wait for the last)
 *     work()    exchanges and writes the outputs
 *     end()     releases the inputs, also after a failure
 *
 * The attribute `stream` says whose gradients they are: the optimizers of a process are
 * numbered, and the calls of one stream come in the same order on every rank. */
#ifndef AVERAGE_H
#define AVERAGE_H

#include "_average_peers.h"
#include "_tf.h"
#include "base/thread/lock.h"

struct job;
struct kernel;

/* One per process: MPI has one world. */
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
    void *inputs; /* of the op's own type */
    int input_count;
    char *fused;
    size_t fused_size;
    bool is_in_slot;     /* the small gradients */
    struct lock lock;    /* guards: */
    const void *code[2]; /* of the last callback */
    struct job *jobs;    /* the first is running, the others wait for it */
    struct lock turn;    /* of a call that waits on its own thread */
};

void *kernel_new(const struct op *op, TF_OpKernelConstruction *construction);
void kernel_free(void *kernel);
void kernel_compute(void *kernel, TF_OpKernelContext *context,
                    TF_AsyncOpKernelDoneCallback *done);

#endif
