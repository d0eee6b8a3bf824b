/* SPDX-License-Identifier: Apache-2.0 */
/* _average_tf.h - the part of TensorFlow's C API that an op needs, found in the
 * TensorFlow that the process has loaded.
 *
 * Nothing of TensorFlow is needed to build.  The API is the stable one (tensorflow/c:
 * ops.h, kernels.h, tf_tensor.h, tf_status.h); its types are opaque, its enums have
 * fixed numbers. */
#ifndef AVERAGE_TF_H
#define AVERAGE_TF_H

#include <stdbool.h>
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
enum { TF_FLOAT = 1, TF_DOUBLE = 2, TF_BFLOAT16 = 14, TF_HALF = 19 };

typedef void tf_shape_fn(TF_ShapeInferenceContext *context, TF_Status *status);
typedef void *tf_create_fn(TF_OpKernelConstruction *construction);
typedef void tf_compute_fn(void *kernel, TF_OpKernelContext *context,
                           TF_AsyncOpKernelDoneCallback *done);
typedef void tf_delete_fn(void *kernel);

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
       tf_compute_fn *compute, tf_delete_fn *free))                                    \
    X(void, RegisterKernelBuilder,                                                     \
      (const char *name, TF_KernelBuilder *kernel, TF_Status *status))                 \
    X(void, OpKernelConstruction_GetAttrInt64,                                         \
      (TF_OpKernelConstruction * construction, const char *name, int64_t *ret_value,   \
       TF_Status *status))                                                             \
    X(void, OpKernelConstruction_GetAttrBool,                                          \
      (TF_OpKernelConstruction * construction, const char *name,                       \
       unsigned char *ret_value, TF_Status *status))                                   \
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
    X(void *, TensorData, (const TF_Tensor *tensor))                                   \
    X(void, DeleteTensor, (TF_Tensor * tensor))

struct tf {
#define TF_MEMBER(type, name, parameters) type(*name) parameters;
    TF_FUNCTIONS(TF_MEMBER)
#undef TF_MEMBER
};

/* Fills the table from the TensorFlow of this process; loads none.  DET_UNSUPPORTED
 * when there is none, or one that has no such function. */
det_status tf_find(struct tf *tf, struct err *err);

#endif
