/* SPDX-License-Identifier: Apache-2.0 */
/* _average_mean.c - DetAverage: gradients of this rank in, their means over all ranks
 * out.
 *
 *   gradients: T     a list of floats, doubles, halves, bfloat16s
 *   means: T
 *   as_half: bool    send halves, whatever the gradients are
 *
 * Small gradients are packed into one vector for each kind of number and averaged
 * together. A large gradient is averaged in place, or from its buffer into that of the
 * output if the input is needed elsewhere; so nothing is copied. Halves and bfloat16s
 * travel as floats and are rounded once; doubles stay doubles.
 *
 * If the ranks share memory and all small gradients fit into a slot, this rank packs
 * them into its slot before the greeting, and computes the means from the slots of all
 * ranks directly into the outputs.
 *
 * The ops have kernels for processors only, and NCCL is not used: TensorFlow itself
 * copies the gradients of a GPU to the host's memory and the means back. That is correct,
 * but slower. A kernel for GPUs would have to queue its work on TensorFlow's stream. The
 * C API gives that stream to pluggable devices only ("Accessing device stream is only
 * supported for pluggable devices"), and we had no TensorFlow with GPUs to try it. */
#include "_average.h"

#include <string.h>

#include "base/memory/mem.h"

enum { LARGE_BYTES = 1 << 20, LINE = 64, DIMS = 254 };

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

/* ---- gradients ------------------------------------------------------------------- */

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
    return err_set(err, DET_INVALID, "gradients of TensorFlow's type %d have no mean",
                   type);
}

static enum number travels_as(const struct kernel *kernel, enum number kind)
{
    if (kernel->travels_as_half)
        return NUMBER_HALF;
    return kind == NUMBER_DOUBLE ? NUMBER_DOUBLE : NUMBER_FLOAT;
}

static det_status take_piece(const struct kernel *kernel, TF_OpKernelContext *context,
                             int i, struct piece *piece, TF_Status *status,
                             struct err *err)
{
    const struct tf *tf = tf_api();
    int64_t dims[DIMS];
    int dim_count;
    int forwarded;
    det_status st;

    tf->GetInput(context, i, &piece->input, status);
    st = tf_failure(tf, status, err);
    if (!st)
        st = number_of(tf->TensorType(piece->input), &piece->kind, err);
    dim_count = st ? 0 : tf->NumDims(piece->input);
    if (st || dim_count > DIMS)
        return st ? st : err_set(err, DET_INVALID, "a gradient has %d axes", dim_count);
    for (int axis = 0; axis < dim_count; axis++)
        dims[axis] = tf->Dim(piece->input, axis);
    piece->output = tf->ForwardInputOrAllocateOutput(context, &i, 1, i, dims, dim_count,
                                                     &forwarded, status);
    st = tf_failure(tf, status, err);
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

/* How many numbers travel together as `kind`. */
static size_t fused_count(const struct piece *pieces, int count, enum number kind)
{
    size_t numbers = 0;

    for (int i = 0; i < count; i++)
        if (pieces[i].is_fused && pieces[i].travels_as == kind)
            numbers += pieces[i].count;
    return numbers;
}

/* Sets where the vector of each kind begins, one after the other; returns the end of
 * the last. */
static size_t lay_out(const struct kernel *kernel, size_t begins[NUMBER_COUNT])
{
    size_t at = 0;

    for (int kind = 0; kind < NUMBER_COUNT; kind++) {
        size_t numbers =
            fused_count(kernel->inputs, kernel->input_count, (enum number)kind);

        begins[kind] = at;
        at += numbers * number_size((enum number)kind);
        at = (at + LINE - 1) / LINE * LINE;
    }
    return at;
}

/* Allocates before this rank greets: a rank that runs out of memory later would leave
 * the others waiting. */
static det_status fit_fused(struct kernel *kernel, size_t size, struct err *err)
{
    char *fused;

    if (size <= kernel->fused_size)
        return DET_OK;
    fused = mem_resize(kernel->fused, size, 1);
    if (!fused)
        return err_set(err, DET_NOMEM, "no memory for %zu bytes of gradients", size);
    kernel->fused = fused;
    kernel->fused_size = size;
    return DET_OK;
}

/* Packs the small gradients into vectors, or with `is_back` unpacks them. */
static void pack_fused(const struct kernel *kernel, char *vectors, bool is_back)
{
    const struct piece *pieces = kernel->inputs;
    size_t at[NUMBER_COUNT];

    (void)lay_out(kernel, at);
    for (int i = 0; i < kernel->input_count; i++) {
        const struct piece *piece = &pieces[i];
        char *place = vectors + at[piece->travels_as];

        if (!piece->is_fused)
            continue;
        if (is_back)
            number_convert(piece->into, piece->kind, place, piece->travels_as,
                           piece->count);
        else
            number_convert(place, piece->travels_as, piece->from, piece->kind,
                           piece->count);
        at[piece->travels_as] += piece->count * number_size(piece->travels_as);
    }
}

static det_status average_fused(struct kernel *kernel, struct err *err)
{
    size_t begins[NUMBER_COUNT];
    det_status st = DET_OK;

    (void)lay_out(kernel, begins);
    pack_fused(kernel, kernel->fused, false);
    for (int kind = 0; !st && kind < NUMBER_COUNT; kind++) {
        struct peers_vector vector = {
            .from = kernel->fused + begins[kind],
            .into = kernel->fused + begins[kind],
            .count =
                fused_count(kernel->inputs, kernel->input_count, (enum number)kind),
            .kind = (enum number)kind};

        if (vector.count)
            st = peers_average(&average.peers, &kernel->scratch, kernel->stream,
                               &vector, err);
    }
    if (!st)
        pack_fused(kernel, kernel->fused, true);
    return st;
}

/* Averages from the slots of all ranks. Gradients of another kind than the one that
 * travelled go through this rank's own vectors. */
static void average_slots(struct kernel *kernel)
{
    const struct piece *pieces = kernel->inputs;
    const void **from = kernel->scratch.from;
    size_t at[NUMBER_COUNT];

    (void)lay_out(kernel, at);
    for (int i = 0; i < kernel->input_count; i++) {
        const struct piece *piece = &pieces[i];
        enum number kind = piece->travels_as;
        bool is_direct = kind == piece->kind;
        void *into = is_direct ? piece->into : kernel->fused;

        if (!piece->is_fused)
            continue;
        for (int rank = 0; rank < average.peers.size; rank++)
            from[rank] =
                (const char *)peers_slot_of(&average.peers, kernel->stream, rank) +
                at[kind];
        number_mean(into, from, average.peers.size, piece->count, kind);
        if (!is_direct)
            number_convert(piece->into, piece->kind, into, kind, piece->count);
        at[kind] += piece->count * number_size(kind);
    }
}

static det_status average_pieces(struct kernel *kernel, TF_OpKernelContext *context,
                                 TF_Status *status, struct err *err)
{
    struct piece *pieces = kernel->inputs;
    int count = kernel->input_count;
    det_status st = DET_OK;

    (void)context;
    (void)status;
    for (int i = 0; !st && i < count; i++) {
        struct peers_vector vector = {.from = pieces[i].from,
                                      .into = pieces[i].into,
                                      .count = pieces[i].count,
                                      .kind = pieces[i].kind};

        if (!pieces[i].is_fused)
            st = peers_average(&average.peers, &kernel->scratch, kernel->stream,
                               &vector, err);
    }
    if (!st && kernel->is_in_slot)
        average_slots(kernel);
    else if (!st)
        st = average_fused(kernel, err);
    return st;
}

/* Puts the small gradients where they travel from. */
static det_status place_fused(struct kernel *kernel, struct err *err)
{
    size_t begins[NUMBER_COUNT];
    size_t size = lay_out(kernel, begins);
    void *slot = peers_slot(&average.peers, kernel->stream, size);
    det_status st = fit_fused(kernel, size, err);

    kernel->is_in_slot = slot != NULL;
    if (!st && slot)
        pack_fused(kernel, slot, false);
    return st;
}

/* ---- the op ---------------------------------------------------------------------- */

static det_status begin_mean(struct kernel *kernel, TF_OpKernelContext *context,
                             TF_Status *status, struct peers_greeting *ret_greeting,
                             struct err *err)
{
    int count = tf_api()->NumInputs(context);
    struct piece *pieces = kernel->inputs;
    det_status st = DET_OK;

    if (!pieces)
        pieces = kernel->inputs = mem_array((size_t)count, sizeof(*pieces));
    if (!pieces)
        return err_default(err, DET_NOMEM);
    kernel->input_count = count;
    memset(pieces, 0, (size_t)count * sizeof(*pieces));
    for (int i = 0; !st && i < count; i++)
        st = take_piece(kernel, context, i, &pieces[i], status, err);
    if (!st)
        st = place_fused(kernel, err);
    if (!st)
        *ret_greeting = greeting_of(kernel, pieces, count);
    return st;
}

static void release_pieces(struct kernel *kernel)
{
    struct piece *pieces = kernel->inputs;

    for (int i = 0; pieces && i < kernel->input_count; i++) {
        if (pieces[i].input)
            tf_api()->DeleteTensor(pieces[i].input);
        if (pieces[i].output)
            tf_api()->DeleteTensor(pieces[i].output);
        pieces[i].input = pieces[i].output = NULL;
    }
}

/* Each output has the shape of its input. */
static void infer_shapes(TF_ShapeInferenceContext *context, TF_Status *status)
{
    const struct tf *tf = tf_api();
    int count = (int)tf->ShapeInferenceContextNumInputs(context);
    TF_ShapeHandle *shape = tf->NewShapeHandle();

    for (int i = 0; i < count && !tf->GetCode(status); i++) {
        tf->ShapeInferenceContextGetInput(context, i, shape, status);
        if (!tf->GetCode(status))
            tf->ShapeInferenceContextSetOutput(context, i, shape, status);
    }
    tf->DeleteShapeHandle(shape);
}

static void describe_mean(const struct tf *tf, TF_OpDefinitionBuilder *op)
{
    tf->OpDefinitionBuilderAddAttr(op, "stream: int");
    tf->OpDefinitionBuilderAddAttr(op, "T: list({float, double, half, bfloat16}) >= 1");
    tf->OpDefinitionBuilderAddAttr(op, "as_half: bool = false");
    tf->OpDefinitionBuilderAddInput(op, "gradients: T");
    tf->OpDefinitionBuilderAddOutput(op, "means: T");
}

static void *create_mean(TF_OpKernelConstruction *construction)
{
    static const struct op op = {
        .begin = begin_mean, .work = average_pieces, .end = release_pieces};

    return kernel_new(&op, construction);
}

const struct tf_op tf_mean = {.name = "DetAverage",
                              .describe = describe_mean,
                              .infer_shapes = infer_shapes,
                              .create = create_mean,
                              .compute_async = kernel_compute,
                              .free = kernel_free};
