/* SPDX-License-Identifier: Apache-2.0 */
/* _tf.h - TensorFlow's C interface for operations, found at run time; and how
 * operations are registered.
 *
 * Nothing of TensorFlow is needed to build: the functions are looked up in the library
 * that Python has loaded by then (libtensorflow_framework.so.2, and for strings
 * libtensorflow_cc.so.2). The API is the stable one (tensorflow/c: ops.h, kernels.h,
 * tf_tensor.h, tf_status.h, tf_tstring.h); its types are opaque, its enums have fixed
 * numbers.
 *
 * An operation in C takes its tensors without a copy and without Python's lock.
 *
 * To add an operation: write a row (struct tf_op) in a new file, and add its name to
 * _tf_ops.c. */
#ifndef DETERMINED_TF_H
#define DETERMINED_TF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct TF_Status TF_Status;
typedef struct TF_Tensor TF_Tensor;
typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
typedef struct TF_ShapeInferenceContext TF_ShapeInferenceContext;
typedef struct TF_ShapeHandle TF_ShapeHandle;
typedef struct TF_KernelBuilder TF_KernelBuilder;
typedef struct TF_OpKernelConstruction TF_OpKernelConstruction;
typedef struct TF_OpKernelContext TF_OpKernelContext;
typedef struct TF_AsyncOpKernelDoneCallback TF_AsyncOpKernelDoneCallback;

/* TF_DataType */
enum tf_type {
    TF_FLOAT = 1,
    TF_DOUBLE = 2,
    TF_STRING = 7,
    TF_INT64 = 9,
    TF_BFLOAT16 = 14,
    TF_HALF = 19
};
/* TF_Code */
enum tf_code {
    TF_CODE_OK = 0,
    TF_CODE_INVALID_ARGUMENT = 3,
    TF_CODE_RESOURCE_EXHAUSTED = 8,
    TF_CODE_DATA_LOSS = 15
};
enum { TF_STRING_BYTES = 24 }; /* of one string in a tensor */

typedef void tf_shape_fn(TF_ShapeInferenceContext *context, TF_Status *status);
typedef void *tf_create_fn(TF_OpKernelConstruction *construction);
typedef void tf_compute_fn(void *kernel, TF_OpKernelContext *context);
typedef void tf_compute_async_fn(void *kernel, TF_OpKernelContext *context,
                                 TF_AsyncOpKernelDoneCallback *done);
typedef void tf_delete_fn(void *kernel);

/* X(result, name, parameters); a name is TensorFlow's without TF_. */
#define TF_FUNCTIONS(X)                                                                \
    X(TF_Status *, NewStatus, (void))                                                  \
    X(void, DeleteStatus, (TF_Status * status))                                        \
    X(void, SetStatus, (TF_Status * status, int code, const char *text))               \
    X(int, GetCode, (const TF_Status *status))                                         \
    X(const char *, Message, (const TF_Status *status))                                \
    X(TF_OpDefinitionBuilder *, NewOpDefinitionBuilder, (const char *name))            \
    X(void, OpDefinitionBuilderAddAttr,                                                \
      (TF_OpDefinitionBuilder * op, const char *spec))                                 \
    X(void, OpDefinitionBuilderAddInput,                                               \
      (TF_OpDefinitionBuilder * op, const char *spec))                                 \
    X(void, OpDefinitionBuilderAddOutput,                                              \
      (TF_OpDefinitionBuilder * op, const char *spec))                                 \
    X(void, OpDefinitionBuilderSetIsStateful,                                          \
      (TF_OpDefinitionBuilder * op, bool is_stateful))                                 \
    X(void, OpDefinitionBuilderSetShapeInferenceFunction,                              \
      (TF_OpDefinitionBuilder * op, tf_shape_fn * infer))                              \
    X(void, RegisterOpDefinition, (TF_OpDefinitionBuilder * op, TF_Status * status))   \
    X(int64_t, ShapeInferenceContextNumInputs, (TF_ShapeInferenceContext * context))   \
    X(TF_ShapeHandle *, NewShapeHandle, (void))                                        \
    X(void, DeleteShapeHandle, (TF_ShapeHandle * shape))                               \
    X(void, ShapeInferenceContextGetInput,                                             \
      (TF_ShapeInferenceContext * context, int i, TF_ShapeHandle *shape,               \
       TF_Status *status))                                                             \
    X(void, ShapeInferenceContextSetOutput,                                            \
      (TF_ShapeInferenceContext * context, int i, TF_ShapeHandle *shape,               \
       TF_Status *status))                                                             \
    X(void, ShapeInferenceContextSetUnknownShape,                                      \
      (TF_ShapeInferenceContext * context, TF_Status * status))                        \
    X(TF_KernelBuilder *, NewAsyncKernelBuilder,                                       \
      (const char *op, const char *device, tf_create_fn *create,                       \
       tf_compute_async_fn *compute, tf_delete_fn *free))                              \
    X(TF_KernelBuilder *, NewKernelBuilder,                                            \
      (const char *op, const char *device, tf_create_fn *create,                       \
       tf_compute_fn *compute, tf_delete_fn *free))                                    \
    X(void, RegisterKernelBuilder,                                                     \
      (const char *name, TF_KernelBuilder *kernel, TF_Status *status))                 \
    X(void, OpKernelConstruction_GetAttrInt64,                                         \
      (TF_OpKernelConstruction * construction, const char *name, int64_t *ret_value,   \
       TF_Status *status))                                                             \
    X(void, OpKernelConstruction_GetAttrBool,                                          \
      (TF_OpKernelConstruction * construction, const char *name,                       \
       unsigned char *ret_value, TF_Status *status))                                   \
    X(void, OpKernelConstruction_GetAttrSize,                                          \
      (TF_OpKernelConstruction * construction, const char *name, int32_t *ret_count,   \
       int32_t *ret_bytes, TF_Status *status))                                         \
    X(void, OpKernelConstruction_GetAttrInt64List,                                     \
      (TF_OpKernelConstruction * construction, const char *name, int64_t *ret_values,  \
       int count, TF_Status *status))                                                  \
    X(void, OpKernelConstruction_GetAttrTypeList,                                      \
      (TF_OpKernelConstruction * construction, const char *name, int *ret_types,       \
       int count, TF_Status *status))                                                  \
    X(bool, OpKernelConstruction_HasAttr,                                              \
      (TF_OpKernelConstruction * construction, const char *name, TF_Status *status))   \
    X(void, OpKernelConstruction_Failure,                                              \
      (TF_OpKernelConstruction * construction, TF_Status * status))                    \
    X(void, RunAsyncOpKernelDoneCallback, (TF_AsyncOpKernelDoneCallback * done))       \
    X(int, NumInputs, (TF_OpKernelContext * context))                                  \
    X(void, GetInput,                                                                  \
      (TF_OpKernelContext * context, int i, TF_Tensor **ret_tensor,                    \
       TF_Status *status))                                                             \
    X(TF_Tensor *, AllocateOutput,                                                     \
      (TF_OpKernelContext * context, int i, int type, const int64_t *dims,             \
       int dim_count, size_t size, TF_Status *status))                                 \
    X(TF_Tensor *, ForwardInputOrAllocateOutput,                                       \
      (TF_OpKernelContext * context, const int *inputs, int input_count, int output,   \
       const int64_t *dims, int dim_count, int *ret_forwarded, TF_Status *status))     \
    X(void, OpKernelContext_Failure,                                                   \
      (TF_OpKernelContext * context, TF_Status * status))                              \
    X(size_t, DataTypeSize, (int type))                                                \
    X(int, TensorType, (const TF_Tensor *tensor))                                      \
    X(int, NumDims, (const TF_Tensor *tensor))                                         \
    X(int64_t, Dim, (const TF_Tensor *tensor, int i))                                  \
    X(int64_t, TensorElementCount, (const TF_Tensor *tensor))                          \
    X(size_t, TensorByteSize, (const TF_Tensor *tensor))                               \
    X(void, StringCopy, (void *string, const char *bytes, size_t len))                 \
    X(void *, TensorData, (const TF_Tensor *tensor))                                   \
    X(void, DeleteTensor, (TF_Tensor * tensor))

struct tf {
#define TF_MEMBER(type, name, parameters) type(*name) parameters;
    TF_FUNCTIONS(TF_MEMBER)
#undef TF_MEMBER
};

/* Fills the table from the TensorFlow of this process; never loads it. DET_UNSUPPORTED
 * without TensorFlow, or if it lacks one of the functions. */
det_status tf_find(struct tf *tf, struct err *err);

/* The table of this process; complete before any operation is called. */
const struct tf *tf_api(void);

/* DET_OK, or a failure with TensorFlow's own sentence. */
det_status tf_failure(const struct tf *tf, TF_Status *status, struct err *err);

/* One operation. All are stateful, so TensorFlow neither merges nor drops nor reorders
 * calls. */
struct tf_op {
    const char *name;
    void (*describe)(const struct tf *tf, TF_OpDefinitionBuilder *op);
    tf_shape_fn *infer_shapes; /* NULL: Python sets the output shapes */
    tf_create_fn *create;
    tf_compute_fn *compute;
    tf_compute_async_fn *compute_async; /* instead */
    tf_delete_fn *free;
};
det_status tf_register(const struct tf *tf, const struct tf_op *op, struct err *err);

/* Returns zeroed memory for a kernel; NULL after it has told TensorFlow. */
void *tf_new_kernel(TF_OpKernelConstruction *construction, size_t size);
/* Ends the creation of a kernel with a sentence. */
void tf_refuse(TF_OpKernelConstruction *construction, enum tf_code code,
               const char *text);

/* _cache_op.c, _order_op.c, _average_mean.c, _average_gather.c */
extern const struct tf_op tf_cache_pass;
extern const struct tf_op tf_cache_read;
extern const struct tf_op tf_order;
extern const struct tf_op tf_mean;
extern const struct tf_op tf_gather;

#endif
