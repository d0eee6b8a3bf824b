/* SPDX-License-Identifier: Apache-2.0 */
/* _tf.h - what TensorFlow's C interface offers to operations, found at run time.
 *
 * Nothing of TensorFlow is needed to build this: the functions are looked up in the
 * library that Python has loaded by then (libtensorflow_framework.so.2, and for strings
 * libtensorflow_cc.so.2).  The types are opaque, and the numbers are those of
 * tensorflow/c, which do not change. */
#ifndef DETERMINED_TF_H
#define DETERMINED_TF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tf_type { TF_TYPE_INT64 = 9, TF_TYPE_STRING = 7 };
enum tf_code {
    TF_CODE_OK = 0,
    TF_CODE_INVALID_ARGUMENT = 3,
    TF_CODE_RESOURCE_EXHAUSTED = 8,
    TF_CODE_DATA_LOSS = 15
};
enum { TF_STRING_BYTES = 24 }; /* of one string in a tensor */

typedef void *tf_create_fn(void *construction);
typedef void tf_compute_fn(void *kernel, void *context);
typedef void tf_delete_fn(void *kernel);
typedef void tf_shape_fn(void *context, void *status);

/* X(name, result, parameters); statuses, tensors, contexts and builders are void *. */
#define TF_FUNCTIONS(X)                                                                \
    X(NewStatus, void *, (void))                                                       \
    X(DeleteStatus, void, (void *))                                                    \
    X(GetCode, int, (const void *))                                                    \
    X(SetStatus, void, (void *, int, const char *))                                    \
    X(NewOpDefinitionBuilder, void *, (const char *))                                  \
    X(OpDefinitionBuilderAddAttr, void, (void *, const char *))                        \
    X(OpDefinitionBuilderAddInput, void, (void *, const char *))                       \
    X(OpDefinitionBuilderAddOutput, void, (void *, const char *))                      \
    X(OpDefinitionBuilderSetIsStateful, void, (void *, unsigned char))                 \
    X(OpDefinitionBuilderSetShapeInferenceFunction, void, (void *, tf_shape_fn *))     \
    X(RegisterOpDefinition, void, (void *, void *))                                    \
    X(ShapeInferenceContextSetUnknownShape, void, (void *, void *))                    \
    X(NewKernelBuilder, void *,                                                        \
      (const char *, const char *, tf_create_fn *, tf_compute_fn *, tf_delete_fn *))   \
    X(RegisterKernelBuilder, void, (const char *, void *, void *))                     \
    X(OpKernelConstruction_Failure, void, (void *, void *))                            \
    X(OpKernelConstruction_GetAttrSize, void,                                          \
      (void *, const char *, int32_t *, int32_t *, void *))                            \
    X(OpKernelConstruction_GetAttrInt64, void,                                         \
      (void *, const char *, int64_t *, void *))                                       \
    X(OpKernelConstruction_GetAttrInt64List, void,                                     \
      (void *, const char *, int64_t *, int, void *))                                  \
    X(OpKernelConstruction_GetAttrTypeList, void,                                      \
      (void *, const char *, int *, int, void *))                                      \
    X(GetInput, void, (void *, int, void **, void *))                                  \
    X(AllocateOutput, void *,                                                          \
      (void *, int, int, const int64_t *, int, size_t, void *))                        \
    X(OpKernelContext_Failure, void, (void *, void *))                                 \
    X(TensorData, void *, (const void *))                                              \
    X(TensorByteSize, size_t, (const void *))                                          \
    X(DeleteTensor, void, (void *))                                                    \
    X(StringCopy, void, (void *, const char *, size_t))

/* By their names without TF_. */
struct tf {
#define TF_MEMBER(name, result, parameters) result(*name) parameters;
    TF_FUNCTIONS(TF_MEMBER)
#undef TF_MEMBER
};

/* False: TensorFlow is not loaded, or lacks one of them. */
bool tf_find(struct tf *tf);
/* A kernel, which begins with a struct tf; the rest is zero.  NULL: TensorFlow was
 * told.
 */
void *tf_new_kernel(void *construction, size_t size);
/* Ends the creation of a kernel with a sentence. */
void tf_refuse(const struct tf *tf, void *construction, int code, const char *text);
/* Registers an operation, which is stateful and says nothing of its shapes (Python
 * does), and its kernel. */
void tf_add_op(const struct tf *tf, void *builder);
void tf_add_kernel(const struct tf *tf, const char *name, tf_create_fn *create,
                   tf_compute_fn *compute, tf_delete_fn *delete);

/* _cache_op.c and _order_op.c */
void add_cache_ops(const struct tf *tf);
void add_order_op(const struct tf *tf);

#endif
