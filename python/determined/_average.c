/* SPDX-License-Identifier: Apache-2.0 */
/* _average.c - DetAverage, an op of TensorFlow: the gradients of this rank go in, their
 * means over all ranks come out.
 *
 *   gradients: T, a list of floats, doubles, halves, bfloat16s    means: T
 *   stream: int     whose gradients they are: the optimizers of a process are numbered
 *   as_half: bool   halves travel, whatever the gradients are
 *
 * What is small is packed into one vector and averaged together; a large gradient is
 * averaged where it is, or from its buffer into that of the output where the input is
 * needed elsewhere, so that nothing is copied.  Halves and bfloat16s travel as floats
 * and are rounded once; doubles stay doubles.
 *
 * The op is stateful, so that TensorFlow neither merges nor drops nor reorders calls:
 * the calls of a stream follow one another on every rank alike.  It blocks the thread
 * it runs on; what it waits for are other processes, which have threads of their own.
 *
 * TensorFlow notes which ops a library registers while it is loaded: that is done by a
 * constructor, whose failure det_average_ready() tells.  The rest of the interface is
 * called by Python (keras/_distribute.py): det_average_open() joins the ranks before
 * the first step, det_average_close() leaves them. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "_average_peers.h"
#include "_average_tf.h"
#include "base/mem.h"

enum { LARGE_BYTES = 1 << 18, DIMS = 254 };

/* One a process: MPI has one world, TensorFlow one registry. */
static struct {
    struct tf tf;
    struct err failure; /* of the registration */
    struct peers peers;
    bool is_open;
} average;

struct kernel {
    struct lock lock; /* a step at a time; held while it waits for other ranks */
    int stream;
    bool travels_as_half;
    struct peers_scratch scratch;
    struct piece *pieces;
    char *fused;
    size_t fused_size;
};

/* One gradient. */
struct piece {
    TF_Tensor *input;
    TF_Tensor *output;
    const void *from;
    void *into;
    size_t count;
    enum number kind;
    enum number travels_as;
    bool is_fused;
};

/* ---- what is to be averaged ------------------------------------------------------ */

static det_status number_of(int type, enum number *ret_kind, struct err *err)
{
    static const struct {
        int type;
        enum number kind;
    } rows[] = {{TF_FLOAT, NUMBER_FLOAT},
                {TF_DOUBLE, NUMBER_DOUBLE},
                {TF_HALF, NUMBER_HALF},
                {TF_BFLOAT16, NUMBER_BFLOAT16}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].type == type) {
            *ret_kind = rows[i].kind;
            return DET_OK;
        }
    return err_set(err, DET_INVALID,
                   "gradients of TensorFlow's type %d cannot be "
                   "averaged",
                   type);
}

static enum number travels_as(const struct kernel *kernel, enum number kind)
{
    if (kernel->travels_as_half)
        return NUMBER_HALF;
    return kind == NUMBER_DOUBLE ? NUMBER_DOUBLE : NUMBER_FLOAT;
}

/* TensorFlow's own sentence. */
static det_status tf_failure(TF_Status *status, struct err *err)
{
    const struct tf *tf = &average.tf;

    if (!tf->GetCode(status))
        return DET_OK;
    return err_set(err, DET_FAILED, "%s", tf->Message(status));
}

static det_status take_piece(const struct kernel *kernel, TF_OpKernelContext *context,
                             int i, struct piece *piece, TF_Status *status,
                             struct err *err)
{
    const struct tf *tf = &average.tf;
    int64_t dims[DIMS];
    int dim_count;
    int forwarded;
    det_status st;

    tf->GetInput(context, i, &piece->input, status);
    st = tf_failure(status, err);
    if (!st)
        st = number_of(tf->TensorType(piece->input), &piece->kind, err);
    dim_count = st ? 0 : tf->NumDims(piece->input);
    if (st || dim_count > DIMS)
        return st ? st : err_set(err, DET_INVALID, "a gradient has %d axes", dim_count);
    for (int axis = 0; axis < dim_count; axis++)
        dims[axis] = tf->Dim(piece->input, axis);
    piece->output = tf->ForwardInputOrAllocateOutput(context, &i, 1, i, dims, dim_count,
                                                     &forwarded, status);
    st = tf_failure(status, err);
    if (st)
        return st;
    piece->from = tf->TensorData(piece->input);
    piece->into = tf->TensorData(piece->output);
    piece->count = (size_t)tf->TensorElementCount(piece->input);
    piece->travels_as = travels_as(kernel, piece->kind);
    piece->is_fused = piece->travels_as != piece->kind ||
                      piece->count * number_size(piece->kind) < LARGE_BYTES;
    return DET_OK;
}

static void release_pieces(struct piece *pieces, int count)
{
    for (int i = 0; i < count; i++) {
        if (pieces[i].input)
            average.tf.DeleteTensor(pieces[i].input);
        if (pieces[i].output)
            average.tf.DeleteTensor(pieces[i].output);
    }
}

/* FNV-1a over numbers. */
static uint64_t mixed(uint64_t hash, uint64_t number)
{
    for (int i = 0; i < 8; i++) {
        hash = (hash ^ (number & 0xff)) * UINT64_C(0x100000001b3);
        number >>= 8;
    }
    return hash;
}

static struct peers_greeting greeting_of(const struct kernel *kernel,
                                         const struct piece *pieces, int count)
{
    struct peers_greeting greeting = {.tensors = (uint64_t)count,
                                      .signature = UINT64_C(0xcbf29ce484222325)};

    greeting.signature = mixed(greeting.signature, kernel->travels_as_half);
    for (int i = 0; i < count; i++) {
        greeting.bytes += pieces[i].count * number_size(pieces[i].kind);
        greeting.signature = mixed(greeting.signature, pieces[i].count);
        greeting.signature = mixed(greeting.signature, (uint64_t)pieces[i].kind);
    }
    return greeting;
}

/* ---- one step -------------------------------------------------------------------- */

/* Memory for everything that travels together as `kind`; how many numbers those are. */
static det_status fit_fused(struct kernel *kernel, const struct piece *pieces,
                            int count, enum number kind, size_t *ret_count,
                            struct err *err)
{
    size_t numbers = 0;
    size_t size;
    char *fused;

    for (int i = 0; i < count; i++)
        if (pieces[i].is_fused && pieces[i].travels_as == kind)
            numbers += pieces[i].count;
    *ret_count = numbers;
    size = numbers * number_size(kind);
    if (size <= kernel->fused_size)
        return DET_OK;
    fused = mem_resize(kernel->fused, size, 1);
    if (!fused)
        return err_set(err, DET_NOMEM, "no memory for %zu bytes of gradients", size);
    kernel->fused = fused;
    kernel->fused_size = size;
    return DET_OK;
}

/* Into the vector of those that travel together, or, `is_back`, from it. */
static void pack(struct kernel *kernel, struct piece *pieces, int count,
                 enum number kind, bool is_back)
{
    char *at = kernel->fused;

    for (int i = 0; i < count; i++) {
        struct piece *piece = &pieces[i];

        if (!piece->is_fused || piece->travels_as != kind)
            continue;
        if (is_back)
            number_convert(piece->into, piece->kind, at, kind, piece->count);
        else
            number_convert(at, kind, piece->from, piece->kind, piece->count);
        at += piece->count * number_size(kind);
    }
}

static det_status average_fused(struct kernel *kernel, struct piece *pieces, int count,
                                enum number kind, struct err *err)
{
    struct peers_vector vector = {.kind = kind};
    det_status st = fit_fused(kernel, pieces, count, kind, &vector.count, err);

    if (st || !vector.count)
        return st;
    vector.from = vector.into = kernel->fused;
    pack(kernel, pieces, count, kind, false);
    st = peers_average(&average.peers, &kernel->scratch, kernel->stream, &vector, err);
    if (!st)
        pack(kernel, pieces, count, kind, true);
    return st;
}

static det_status average_pieces(struct kernel *kernel, struct piece *pieces, int count,
                                 struct err *err)
{
    struct peers_greeting greeting = greeting_of(kernel, pieces, count);
    det_status st =
        peers_agree(&average.peers, &kernel->scratch, kernel->stream, &greeting, err);

    for (int i = 0; !st && i < count; i++) {
        struct peers_vector vector = {.from = pieces[i].from,
                                      .into = pieces[i].into,
                                      .count = pieces[i].count,
                                      .kind = pieces[i].kind};

        if (!pieces[i].is_fused)
            st = peers_average(&average.peers, &kernel->scratch, kernel->stream,
                               &vector, err);
    }
    for (int kind = 0; !st && kind < NUMBER_COUNT; kind++)
        st = average_fused(kernel, pieces, count, (enum number)kind, err);
    return st;
}

static det_status compute_all(struct kernel *kernel, TF_OpKernelContext *context,
                              TF_Status *status, struct err *err)
{
    int count = average.tf.NumInputs(context);
    struct piece *pieces = kernel->pieces;
    det_status st = DET_OK;

    if (!average.is_open)
        return err_set(err, DET_STATE,
                       "gradients are averaged before the ranks were joined, or after "
                       "they parted");
    if (!pieces)
        pieces = kernel->pieces = mem_array((size_t)count, sizeof(*pieces));
    if (!pieces)
        return err_default(err, DET_NOMEM);
    memset(pieces, 0, (size_t)count * sizeof(*pieces));
    for (int i = 0; !st && i < count; i++)
        st = take_piece(kernel, context, i, &pieces[i], status, err);
    if (!st)
        st = average_pieces(kernel, pieces, count, err);
    release_pieces(pieces, count);
    return st;
}

/* ---- the op ---------------------------------------------------------------------- */

static void set_failure(TF_Status *status, const struct err *err)
{
    char text[ERR_TEXT_SIZE + 64];

    snprintf(text, sizeof(text), "gradients cannot be averaged: %s", err->text);
    average.tf.SetStatus(status, det_status_grpc(err->status), text);
}

static void compute(void *self, TF_OpKernelContext *context)
{
    struct kernel *kernel = self;
    TF_Status *status;
    struct err err = {0};

    if (!kernel) /* its creation failed, and TensorFlow was told */
        return;
    status = average.tf.NewStatus();
    lock_take(&kernel->lock);
    if (compute_all(kernel, context, status, &err)) {
        set_failure(status, &err);
        average.tf.OpKernelContext_Failure(context, status);
    }
    lock_give(&kernel->lock);
    average.tf.DeleteStatus(status);
}

static void kernel_free(void *self)
{
    struct kernel *kernel = self;

    if (!kernel)
        return;
    peers_scratch_done(&kernel->scratch);
    mem_free(kernel->pieces);
    mem_free(kernel->fused);
    lock_done(&kernel->lock);
    mem_free(kernel);
}

static det_status kernel_set_up(struct kernel *kernel,
                                TF_OpKernelConstruction *construction,
                                TF_Status *status, struct err *err)
{
    const struct tf *tf = &average.tf;
    int64_t stream = 0;
    unsigned char half = 0;
    det_status st;

    tf->OpKernelConstruction_GetAttrInt64(construction, "stream", &stream, status);
    st = tf_failure(status, err);
    if (st)
        return st;
    tf->OpKernelConstruction_GetAttrBool(construction, "as_half", &half, status);
    st = tf_failure(status, err);
    if (!st && (stream < 0 || stream >= PEERS_STREAMS))
        st = err_set(err, DET_INVALID, "stream is %" PRId64 "; expected 0 to %d",
                     stream, PEERS_STREAMS - 1);
    kernel->stream = (int)stream;
    kernel->travels_as_half = half != 0;
    return st ? st : lock_init(&kernel->lock, err);
}

static void *kernel_new(TF_OpKernelConstruction *construction)
{
    TF_Status *status = average.tf.NewStatus();
    struct kernel *kernel = mem_new(struct kernel);
    struct err err = {0};
    det_status st = kernel ? kernel_set_up(kernel, construction, status, &err)
                           : err_default(&err, DET_NOMEM);

    if (st) {
        set_failure(status, &err);
        average.tf.OpKernelConstruction_Failure(construction, status);
        kernel_free(kernel);
        kernel = NULL;
    }
    average.tf.DeleteStatus(status);
    return kernel;
}

/* Each output has the shape of its input. */
static void infer_shapes(TF_ShapeInferenceContext *context, TF_Status *status)
{
    const struct tf *tf = &average.tf;
    int count = (int)tf->ShapeInferenceContextNumInputs(context);
    TF_ShapeHandle *shape = tf->NewShapeHandle();

    for (int i = 0; i < count && !tf->GetCode(status); i++) {
        tf->ShapeInferenceContextGetInput(context, i, shape, status);
        if (!tf->GetCode(status))
            tf->ShapeInferenceContextSetOutput(context, i, shape, status);
    }
    tf->DeleteShapeHandle(shape);
}

static det_status register_op(struct err *err)
{
    const struct tf *tf = &average.tf;
    TF_Status *status = tf->NewStatus();
    TF_OpDefinitionBuilder *op = tf->NewOpDefinitionBuilder("DetAverage");
    det_status st;

    tf->OpDefinitionBuilderAddAttr(op, "T: list({float, double, half, bfloat16}) >= 1");
    tf->OpDefinitionBuilderAddAttr(op, "stream: int");
    tf->OpDefinitionBuilderAddAttr(op, "as_half: bool = false");
    tf->OpDefinitionBuilderAddInput(op, "gradients: T");
    tf->OpDefinitionBuilderAddOutput(op, "means: T");
    tf->OpDefinitionBuilderSetIsStateful(op, true);
    tf->OpDefinitionBuilderSetShapeInferenceFunction(op, infer_shapes);
    tf->RegisterOpDefinition(op, status);
    st = tf_failure(status, err);
    if (!st) {
        tf->RegisterKernelBuilder(
            "DetAverage",
            tf->NewKernelBuilder("DetAverage", "CPU", kernel_new, compute, kernel_free),
            status);
        st = tf_failure(status, err);
    }
    tf->DeleteStatus(status);
    return st;
}

__attribute__((constructor)) static void when_loaded(void)
{
    det_status st = tf_find(&average.tf, &average.failure);

    if (!st)
        st = register_op(&average.failure);
    average.failure.status = st;
}

/* ---- for Python ------------------------------------------------------------------ */

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
    average.is_open = !st;
    err.status = st;
    return tell(&err, text, text_size);
}

void det_average_close(int at_once)
{
    if (average.is_open)
        peers_close(&average.peers, at_once != 0);
    average.is_open = false;
}
