/* SPDX-License-Identifier: Apache-2.0 */
/* _order_op.c - DetOrder, an operation of TensorFlow: which items a batch holds.
 *
 * Input: the number of a batch, counted over all epochs. Output: the items of our
 * shard, the same as a loader (det/data.h) with the same options would return. */
#include <string.h>

#include "_tf.h"
#include "base/compiler.h"
#include "base/memory/mem.h"
#include "base/permute.h"

struct order {
    int64_t items;
    int64_t batch_size;
    int64_t seed;
    int64_t shuffle;
    int64_t shard;
    int64_t shard_count;
};

static const struct {
    const char *name;
    size_t offset;
} order_attrs[] = {
    {"items", offsetof(struct order, items)},
    {"batch_size", offsetof(struct order, batch_size)},
    {"seed", offsetof(struct order, seed)},
    {"shuffle", offsetof(struct order, shuffle)},
    {"shard", offsetof(struct order, shard)},
    {"shard_count", offsetof(struct order, shard_count)},
};

static void *order_create(TF_OpKernelConstruction *construction)
{
    const struct tf *tf = tf_api();
    struct order *order = tf_new_kernel(construction, sizeof(*order));
    TF_Status *status;

    if (!order)
        return NULL;
    status = tf->NewStatus();
    for (size_t i = 0; i < ARRAY_LEN(order_attrs) && !tf->GetCode(status); i++) {
        int64_t *number = (int64_t *)(void *)((char *)order + order_attrs[i].offset);

        tf->OpKernelConstruction_GetAttrInt64(construction, order_attrs[i].name, number,
                                              status);
    }
    if (tf->GetCode(status) || order->items < 1 || order->batch_size < 1 ||
        order->shard_count < 1 || order->shard < 0 ||
        order->shard >= order->shard_count)
        tf_refuse(construction, TF_CODE_INVALID_ARGUMENT,
                  "the attributes of DetOrder are not valid");
    tf->DeleteStatus(status);
    return order;
}

static void order_delete(void *kernel)
{
    mem_free(kernel);
}

/* As in the loader: shards differ by one item at most. */
static int64_t part_begin(const struct order *order, int64_t count, int64_t shard)
{
    return count / order->shard_count * shard +
           count % order->shard_count * shard / order->shard_count;
}

static void list_items(const struct order *order, int64_t epoch, int64_t first,
                       int64_t count, int64_t *ret_items)
{
    struct permute permute;

    if (!order->shuffle) {
        for (int64_t i = 0; i < count; i++)
            ret_items[i] = first + i;
        return;
    }
    permute_init(&permute, (uint64_t)order->seed, (uint64_t)epoch,
                 (uint64_t)order->items);
    permute_run(&permute, (uint64_t)first, (size_t)count, (uint64_t *)ret_items);
}

static void order_compute(void *kernel, TF_OpKernelContext *context)
{
    const struct order *self = kernel;
    const struct tf *tf = tf_api();
    int64_t batches =
        self->items / self->batch_size + (self->items % self->batch_size != 0);
    TF_Status *status = tf->NewStatus();
    TF_Tensor *input = NULL, *output = NULL;
    int64_t number = -1, first, whole, begin, count;

    tf->GetInput(context, 0, &input, status);
    if (!tf->GetCode(status) && tf->TensorByteSize(input) == sizeof(number))
        memcpy(&number, tf->TensorData(input), sizeof(number));
    if (!tf->GetCode(status) && number < 0)
        tf->SetStatus(status, TF_CODE_INVALID_ARGUMENT,
                      "this is not the number of a batch");
    if (!tf->GetCode(status)) {
        first = number % batches * self->batch_size;
        whole = MIN(self->batch_size, self->items - first);
        begin = part_begin(self, whole, self->shard);
        count = part_begin(self, whole, self->shard + 1) - begin;
        output = tf->AllocateOutput(context, 0, TF_INT64, &count, 1,
                                    (size_t)count * sizeof(int64_t), status);
        if (!tf->GetCode(status) && count)
            list_items(self, number / batches, first + begin, count,
                       tf->TensorData(output));
    }
    if (tf->GetCode(status))
        tf->OpKernelContext_Failure(context, status);
    if (input)
        tf->DeleteTensor(input);
    if (output)
        tf->DeleteTensor(output);
    tf->DeleteStatus(status);
}

static void describe_order(const struct tf *tf, TF_OpDefinitionBuilder *op)
{
    static const char *const attrs[] = {"items: int", "batch_size: int",
                                        "seed: int",  "shuffle: int",
                                        "shard: int", "shard_count: int"};

    for (size_t i = 0; i < ARRAY_LEN(attrs); i++)
        tf->OpDefinitionBuilderAddAttr(op, attrs[i]);
    tf->OpDefinitionBuilderAddInput(op, "number: int64");
    tf->OpDefinitionBuilderAddOutput(op, "items_of_it: int64");
}

const struct tf_op tf_order = {.name = "DetOrder",
                               .describe = describe_order,
                               .create = order_create,
                               .compute = order_compute,
                               .free = order_delete};
