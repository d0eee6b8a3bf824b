/* SPDX-License-Identifier: Apache-2.0 */
/* _average_gather.c - DetGather: every rank gets the rows of all ranks.
 *
 *   rows: T   tensors with the same number of rows
 *   all: T    the rows of rank 0, then of rank 1, ...
 *
 * The gradient of an embedding is a list of row numbers and a list of rows: those that
 * the batch used. Concatenated, they are the gradient of the whole batch, as one
 * process would have computed it. Ranks may have any number of rows. If the rows of
 * every rank fit into its slot of the shared memory, they are read from there. */
#include <string.h>

#include "_average.h"
#include "base/memory/mem.h"

enum { INPUTS = 2, LINE = 64, DIMS = 254 };

struct rows {
    TF_Tensor *input;
    int64_t dims[DIMS];
    int dim_count;
    int type;
    size_t row_bytes;
};

static det_status take_rows(TF_OpKernelContext *context, int i, struct rows *rows,
                            TF_Status *status, struct err *err)
{
    const struct tf *tf = tf_api();
    det_status st;

    tf->GetInput(context, i, &rows->input, status);
    st = tf_failure(tf, status, err);
    if (st)
        return st;
    rows->dim_count = tf->NumDims(rows->input);
    if (rows->dim_count < 1 || rows->dim_count > DIMS)
        return err_set(err, DET_INVALID, "rows have %d axes", rows->dim_count);
    rows->type = tf->TensorType(rows->input);
    rows->row_bytes = tf->DataTypeSize(rows->type);
    for (int axis = 0; axis < rows->dim_count; axis++) {
        rows->dims[axis] = tf->Dim(rows->input, axis);
        rows->row_bytes *= axis ? (size_t)rows->dims[axis] : 1;
    }
    return DET_OK;
}

/* Where the rows of tensor `i` begin in the slot of a rank with `count` rows. */
static size_t place_of(const struct rows *rows, int i, size_t count)
{
    size_t at = 0;

    for (int before = 0; before < i; before++)
        at += (count * rows[before].row_bytes + LINE - 1) / LINE * LINE;
    return at;
}

static bool put_into_slot(const struct kernel *kernel, const struct rows *rows)
{
    size_t count = (size_t)rows[0].dims[0];
    char *slot =
        peers_slot(&average.peers, kernel->stream, place_of(rows, INPUTS, count));

    for (int i = 0; slot && count && i < INPUTS; i++)
        memcpy(slot + place_of(rows, i, count), tf_api()->TensorData(rows[i].input),
               count * rows[i].row_bytes);
    return slot != NULL;
}

static void take_from_slots(const struct kernel *kernel, const struct rows *rows, int i,
                            char *into)
{
    for (int rank = 0; rank < average.peers.size; rank++) {
        size_t count = peers_rows(&average.peers, &kernel->scratch, rank);
        const char *slot = peers_slot_of(&average.peers, kernel->stream, rank);

        if (count)
            memcpy(into, slot + place_of(rows, i, count), count * rows[i].row_bytes);
        into += count * rows[i].row_bytes;
    }
}

static det_status gather_rows(struct kernel *kernel, TF_OpKernelContext *context, int i,
                              TF_Status *status, struct err *err)
{
    struct rows *all_rows = kernel->inputs;
    struct rows *rows = &all_rows[i];
    const struct tf *tf = tf_api();
    size_t count = peers_all_rows(&average.peers, &kernel->scratch);
    TF_Tensor *output;
    det_status st;

    rows->dims[0] = (int64_t)count;
    output = tf->AllocateOutput(context, i, rows->type, rows->dims, rows->dim_count,
                                count * rows->row_bytes, status);
    st = tf_failure(tf, status, err);
    if (st)
        return st;
    if (peers_all_in_slots(&average.peers, &kernel->scratch))
        take_from_slots(kernel, all_rows, i, tf->TensorData(output));
    else
        st = peers_gather(&average.peers, &kernel->scratch, kernel->stream,
                          tf->TensorData(rows->input), tf->TensorData(output),
                          rows->row_bytes, err);
    tf->DeleteTensor(output);
    return st;
}

/* Takes two tensors: row numbers and rows. */
static det_status begin_gather(struct kernel *kernel, TF_OpKernelContext *context,
                               TF_Status *status, struct peers_greeting *ret_greeting,
                               struct err *err)
{
    struct rows *rows = kernel->inputs;
    struct peers_greeting greeting = {.tensors = INPUTS};
    det_status st = DET_OK;

    if (!rows)
        rows = kernel->inputs = mem_array(INPUTS, sizeof(*rows));
    if (!rows)
        return err_default(err, DET_NOMEM);
    for (int i = 0; !st && i < INPUTS; i++) {
        st = take_rows(context, i, &rows[i], status, err);
        greeting.bytes += rows[i].row_bytes; /* of one row: their number may differ */
        greeting.signature = greeting.signature * 64 + (uint64_t)rows[i].type;
    }
    if (!st && rows[0].dims[0] != rows[1].dims[0])
        st = err_set(err, DET_INVALID, "the numbers of rows and of row numbers differ");
    greeting.rows = (uint64_t)rows[0].dims[0];
    greeting.is_in_slot = !st && put_into_slot(kernel, rows);
    *ret_greeting = greeting;
    return st;
}

static det_status gather_tensors(struct kernel *kernel, TF_OpKernelContext *context,
                                 TF_Status *status, struct err *err)
{
    det_status st = DET_OK;

    for (int i = 0; !st && i < INPUTS; i++)
        st = gather_rows(kernel, context, i, status, err);
    return st;
}

static void release_inputs(struct kernel *kernel)
{
    struct rows *rows = kernel->inputs;

    for (int i = 0; rows && i < INPUTS; i++) {
        if (rows[i].input)
            tf_api()->DeleteTensor(rows[i].input);
        rows[i].input = NULL;
    }
}

static void describe_gather(const struct tf *tf, TF_OpDefinitionBuilder *op)
{
    tf->OpDefinitionBuilderAddAttr(op, "stream: int");
    tf->OpDefinitionBuilderAddAttr(op, "T: {float, double, half, bfloat16}");
    tf->OpDefinitionBuilderAddAttr(op, "I: {int32, int64}");
    tf->OpDefinitionBuilderAddInput(op, "indices: I");
    tf->OpDefinitionBuilderAddInput(op, "values: T");
    tf->OpDefinitionBuilderAddOutput(op, "all_indices: I");
    tf->OpDefinitionBuilderAddOutput(op, "all_values: T");
}

static void *create_gather(TF_OpKernelConstruction *construction)
{
    static const struct op op = {
        .begin = begin_gather, .work = gather_tensors, .end = release_inputs};

    return kernel_new(&op, construction);
}

const struct tf_op tf_gather = {.name = "DetGather",
                                .describe = describe_gather,
                                .create = create_gather,
                                .compute_async = kernel_compute,
                                .free = kernel_free};
