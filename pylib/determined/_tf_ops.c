/* SPDX-License-Identifier: Apache-2.0 */
/* _tf_ops.c - the library that TensorFlow loads, and its operations.
 *
 *   DetCachePass   begins a pass through a cached data set         (_cache_op.c)
 *   DetCacheRead   reads one step of it                            (_cache_op.c)
 *   DetOrder       which items a batch holds                       (_order_op.c)
 *   DetAverage     gradients in, their means over all ranks out    (_average_mean.c)
 *   DetGather      the rows of all ranks, one after the other      (_average_gather.c)
 *
 * TensorFlow notes the operations that a library registers while it is loaded. So a
 * constructor registers them; det_tf_ready() returns its failure (keras/_ops.py
 * asks). */
#include "_tf.h"
#include "base/compiler.h"

/* The TensorFlow that was found when this library was loaded. */
struct tf_library {
    struct tf tf;
    struct err failure;
};
static struct tf_library tf_library;

const struct tf *tf_api(void)
{
    return &tf_library.tf;
}

__attribute__((constructor)) static void when_loaded(void)
{
    static const struct tf_op *const ops[] = {&tf_cache_pass, &tf_cache_read, &tf_order,
                                              &tf_mean, &tf_gather};
    struct err *failure = &tf_library.failure;
    det_status st = tf_find(&tf_library.tf, failure);

    for (size_t i = 0; !st && i < ARRAY_LEN(ops); i++)
        st = tf_register(&tf_library.tf, ops[i], failure);
    failure->status = st;
}

/* Returns 0, or a det_status and writes its sentence to `text`. */
DET_API int det_tf_ready(char *text, size_t size);

int det_tf_ready(char *text, size_t size)
{
    (void)snprintf(text, size, "%s", tf_library.failure.text);
    return (int)tf_library.failure.status;
}
