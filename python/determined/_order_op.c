/* SPDX-License-Identifier: Apache-2.0 */
/* _order_op.c - DetOrder, an operation of TensorFlow: which items a batch holds.
 *
 * The number of a batch, counted over all epochs, comes in; the items of our shard go
 * out: those that a loader (det/data.h) with the same options would bring. */
#include <string.h>

#include "_tf.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/permute.h"

struct order {
    struct tf tf;
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

static void *order_create(void *construction)
{
    struct order *order = tf_new_kernel(construction, sizeof(*order));
    void *status;

    if (!order)
        return NULL;
    status = order->tf.NewStatus();
    for (size_t i = 0; i < ARRAY_LEN(order_attrs) && !order->tf.GetCode(status); i++) {
        int64_t *number = (int64_t *)(void *)((char *)order + order_attrs[i].offset);

        order->tf.OpKernelConstruction_GetAttrInt64(construction, order_attrs[i].name,
                                                    number, status);
    }
    if (order->tf.GetCode(status) || order->items < 1 || order->batch_size < 1 ||
        order->shard_count < 1 || order->shard < 0 ||
        order->shard >= order->shard_count)
        tf_refuse(&order->tf, construction, TF_CODE_INVALID_ARGUMENT,
                  "the attributes of DetOrder make no sense");
    order->tf.DeleteStatus(status);
    return order;
}

static void order_delete(void *kernel)
{
    mem_free(kernel);
}

/* As the loader has it: parts differ by one item at most. */
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

static void order_compute(void *kernel, void *context)
{
    const struct order *self = kernel;
    const struct tf *tf = &self->tf;
    int64_t batches =
        self->items / self->batch_size + (self->items % self->batch_size != 0);
    void *status = tf->NewStatus(), *input = NULL, *output = NULL;
    int64_t number = -1, first, whole, begin, count;

    tf->GetInput(context, 0, &input, status);
    if (!tf->GetCode(status) && tf->TensorByteSize(input) == sizeof(number))
        memcpy(&number, tf->TensorData(input), sizeof(number));
    if (!tf->GetCode(status) && number < 0)
        tf->SetStatus(status, TF_CODE_INVALID_ARGUMENT, "this is no number of a batch");
    if (!tf->GetCode(status)) {
        first = number % batches * self->batch_size;
        whole = MIN(self->batch_size, self->items - first);
        begin = part_begin(self, whole, self->shard);
        count = part_begin(self, whole, self->shard + 1) - begin;
        output = tf->AllocateOutput(context, 0, TF_TYPE_INT64, &count, 1,
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

void add_order_op(const struct tf *tf)
{
    static const char *const attrs[] = {"items: int", "batch_size: int",
                                        "seed: int",  "shuffle: int",
                                        "shard: int", "shard_count: int"};
    void *builder = tf->NewOpDefinitionBuilder("DetOrder");

    for (size_t i = 0; i < ARRAY_LEN(attrs); i++)
        tf->OpDefinitionBuilderAddAttr(builder, attrs[i]);
    tf->OpDefinitionBuilderAddInput(builder, "number: int64");
    tf->OpDefinitionBuilderAddOutput(builder, "items_of_it: int64");
    tf_add_op(tf, builder);
    tf_add_kernel(tf, "DetOrder", order_create, order_compute, order_delete);
}
