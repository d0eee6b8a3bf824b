/* SPDX-License-Identifier: Apache-2.0 */
/* _average_kernel.c - one call of an op, from TensorFlow's thread to its end.
 *
 * TensorFlow has as many threads for ops as there are processors, and runs any op that
 * is ready on them. If an op waited for other ranks on such a thread, it would block
 * the ops that those ranks wait for. For example, two threads train two models on two
 * ranks with two processors each: if the ranks start the models in opposite order, they
 * wait for each other forever (always with `inter_op_parallelism_threads` 1 or 2, never
 * with 4). So the op is asynchronous. It waits for the other ranks for two milliseconds.
 * If they do not come, the call continues in its own thread and TensorFlow gets its
 * thread back. Once all ranks have come, the rest does not depend on other threads.
 *
 * The C API lends the callback that ends an asynchronous op only until kernel_compute()
 * returns. It is a std::function of libstdc++, so we move it into the job, after a check
 * that its two pointers point at code. If they do not, the call waits on TensorFlow's
 * thread.
 *
 * The calls of one kernel run one after the other: nothing else orders MPI's
 * messages. */
#include <dlfcn.h>
#include <fenv.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "_average.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"

/* std::function<void()> of libstdc++. */
struct callback {
    void *functor[2];
    bool (*manage)(void *into, const void *from, int what); /* NULL: it is empty */
    void (*invoke)(const void *functor);
};

enum { CALLBACK_DESTROY = 3 }; /* for manage() */

struct job {
    struct kernel *kernel;
    TF_OpKernelContext *context;
    struct callback done;
    struct job *next;
    bool has_begun;
};

static void start_job(struct job *job);

/* ---- one call -------------------------------------------------------------------- */

static void set_failure(TF_Status *status, const struct err *err)
{
    char text[ERR_TEXT_SIZE + 64];

    snprintf(text, sizeof(text), "gradients cannot be averaged: %s", err->text);
    tf_api()->SetStatus(status, det_status_grpc(err->status), text);
}

static det_status greet_peers(struct job *job, TF_Status *status, struct err *err)
{
    struct kernel *kernel = job->kernel;
    struct peers_greeting greeting = {0};
    det_status st = DET_OK;

    if (!average.is_open)
        st = err_set(err, DET_STATE,
                     "the ranks are not joined yet, or have already left");
    if (!st)
        st = kernel->op->begin(kernel, job->context, status, &greeting, err);
    if (!st)
        st = peers_greet(&average.peers, &kernel->scratch, kernel->stream, &greeting,
                         err);
    return st;
}

/* Ends a job and starts the next one of its kernel. */
static void finish_job(struct job *job)
{
    struct kernel *kernel = job->kernel;
    struct callback done = job->done;
    struct job *next;

    lock_take(&kernel->lock);
    next = kernel->jobs = job->next;
    lock_give(&kernel->lock);
    mem_free(job);
    tf_api()->RunAsyncOpKernelDoneCallback((void *)&done);
    (void)done.manage(&done, &done, CALLBACK_DESTROY);
    if (next)
        start_job(next);
}

/* TensorFlow's threads treat denormal floats as zero, and so do threads that they
 * start; other threads do not. Sums use the default mode on all of them, so a repeated
 * training gives the same bits. */
static det_status finish_exchange(struct job *job, TF_Status *status, struct err *err)
{
    fenv_t usual;
    det_status st;

    fegetenv(&usual);
    fesetenv(FE_DFL_ENV);
    st = job->kernel->op->work(job->kernel, job->context, status, err);
    fesetenv(&usual);
    return st;
}

/* Returns false if other ranks have not come yet. */
static bool advance_job(struct job *job, bool briefly)
{
    struct kernel *kernel = job->kernel;
    TF_Status *status = tf_api()->NewStatus();
    struct err err = {0};
    bool all_came = false;
    det_status st = job->has_begun ? DET_OK : greet_peers(job, status, &err);

    job->has_begun = true;
    if (!st)
        st = peers_listen(&average.peers, &kernel->scratch, briefly, &all_came, &err);
    if (!st && all_came)
        st = finish_exchange(job, status, &err);
    if (st || all_came)
        kernel->op->end(kernel);
    if (st) {
        set_failure(status, &err);
        tf_api()->OpKernelContext_Failure(job->context, status);
    }
    tf_api()->DeleteStatus(status);
    return st || all_came;
}

/* ---- on which thread ------------------------------------------------------------- */

static void *wait_apart(void *arg)
{
    (void)advance_job(arg, false);
    finish_job(arg);
    return NULL;
}

/* Waits on this thread if no other thread can be started. */
static void wait_elsewhere(struct job *job)
{
    pthread_attr_t detached;
    pthread_t thread;

    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, wait_apart, job))
        (void)wait_apart(job);
    pthread_attr_destroy(&detached);
}

static void start_job(struct job *job)
{
    if (advance_job(job, true))
        finish_job(job);
    else
        wait_elsewhere(job);
}

static bool is_code(const void *address)
{
    Dl_info info;

    return address && dladdr(address, &info) != 0;
}

/* Checks the two code pointers. The last ones are remembered: dladdr() takes
 * milliseconds in a library as large as TensorFlow. */
static bool is_callback(struct kernel *kernel, const struct callback *callback)
{
    const void *code[2];
    bool is_known;

    memcpy(code, &callback->manage, sizeof(code));
    lock_take(&kernel->lock);
    is_known = code[0] && !memcmp(code, kernel->code, sizeof(code));
    lock_give(&kernel->lock);
    if (is_known)
        return true;
    if (!is_code(code[0]) || !is_code(code[1]))
        return false;
    lock_take(&kernel->lock);
    memcpy(kernel->code, code, sizeof(code));
    lock_give(&kernel->lock);
    return true;
}

/* Moves the callback out of its place, which is empty afterwards. */
static bool move_callback(struct kernel *kernel, struct callback *from,
                          struct callback *ret_callback)
{
    if (!is_callback(kernel, from))
        return false;
    *ret_callback = *from;
    from->manage = NULL;
    return true;
}

/* One call at a time; it waits on the thread it came on. */
static void run_job_here(struct job *job, TF_AsyncOpKernelDoneCallback *done)
{
    lock_take(&job->kernel->turn);
    (void)advance_job(job, false);
    lock_give(&job->kernel->turn);
    tf_api()->RunAsyncOpKernelDoneCallback(done);
}

void kernel_compute(void *self, TF_OpKernelContext *context,
                    TF_AsyncOpKernelDoneCallback *done)
{
    struct kernel *kernel = self;
    struct job *job = mem_new(struct job);
    struct job here = {.kernel = kernel, .context = context};
    struct job **last;
    bool is_first;

    if (!job || !move_callback(kernel, (void *)done, &here.done)) {
        mem_free(job);
        run_job_here(&here, done);
        return;
    }
    *job = here;
    lock_take(&kernel->lock);
    is_first = !kernel->jobs;
    for (last = &kernel->jobs; *last; last = &(*last)->next)
        continue;
    *last = job;
    lock_give(&kernel->lock);
    if (is_first)
        start_job(job);
}

/* ---- from creation to end -------------------------------------------------------- */

static det_status kernel_set_up(struct kernel *kernel,
                                TF_OpKernelConstruction *construction,
                                TF_Status *status, struct err *err)
{
    const struct tf *tf = tf_api();
    int64_t stream = 0;
    unsigned char half = 0;
    det_status st;

    tf->OpKernelConstruction_GetAttrInt64(construction, "stream", &stream, status);
    st = tf_failure(tf, status, err);
    if (st)
        return st;
    if (tf->OpKernelConstruction_HasAttr(construction, "as_half", status))
        tf->OpKernelConstruction_GetAttrBool(construction, "as_half", &half, status);
    st = tf_failure(tf, status, err);
    if (!st && (stream < 0 || stream >= PEERS_STREAMS))
        st = err_set(err, DET_INVALID, "stream is %" PRId64 "; expected 0 to %d",
                     stream, PEERS_STREAMS - 1);
    kernel->stream = (int)stream;
    kernel->travels_as_half = half != 0;
    if (!st)
        st = lock_init(&kernel->lock, err);
    return st ? st : lock_init(&kernel->turn, err);
}

void *kernel_new(const struct op *op, TF_OpKernelConstruction *construction)
{
    TF_Status *status = tf_api()->NewStatus();
    struct kernel *kernel = mem_new(struct kernel);
    struct err err = {0};
    det_status st = kernel ? kernel_set_up(kernel, construction, status, &err)
                           : err_default(&err, DET_NOMEM);

    if (st) {
        set_failure(status, &err);
        tf_api()->OpKernelConstruction_Failure(construction, status);
        kernel_free(kernel);
        kernel = NULL;
    } else {
        kernel->op = op;
    }
    tf_api()->DeleteStatus(status);
    return kernel;
}

void kernel_free(void *self)
{
    struct kernel *kernel = self;

    if (!kernel)
        return;
    peers_scratch_done(&kernel->scratch);
    mem_free(kernel->inputs);
    mem_free(kernel->fused);
    lock_done(&kernel->lock);
    lock_done(&kernel->turn);
    mem_free(kernel);
}
