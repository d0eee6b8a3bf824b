/* SPDX-License-Identifier: Apache-2.0 */
#include "_tf.h"

#include <dlfcn.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/mem.h"

#define TF_LIBRARY "libtensorflow_framework.so.2"

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define TF_SYMBOL(type, name, parameters) {"TF_" #name, offsetof(struct tf, name)},
    TF_FUNCTIONS(TF_SYMBOL)
#undef TF_SYMBOL
};

det_status tf_find(struct tf *tf, struct err *err)
{
    void *library = dlopen(TF_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    void *more = dlopen("libtensorflow_cc.so.2", RTLD_NOW | RTLD_NOLOAD);

    if (!library)
        return err_set(
            err, DET_UNSUPPORTED,
            "these operations belong to TensorFlow, and this process has not "
            "loaded " TF_LIBRARY);
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *found = dlsym(library, symbols[i].name);

        if (!found && more)
            found = dlsym(more, symbols[i].name);
        if (!found)
            return err_set(err, DET_UNSUPPORTED,
                           "this TensorFlow has no %s: version 2.10 or later is needed",
                           symbols[i].name);
        memcpy((char *)tf + symbols[i].offset, &found, sizeof(found));
    }
    return DET_OK;
}

det_status tf_failure(const struct tf *tf, TF_Status *status, struct err *err)
{
    if (!tf->GetCode(status))
        return DET_OK;
    return err_set(err, DET_FAILED, "%s", tf->Message(status));
}

/* ---- registering ----------------------------------------------------------------- */

static void any_shape(TF_ShapeInferenceContext *context, TF_Status *status)
{
    tf_api()->ShapeInferenceContextSetUnknownShape(context, status);
}

static void add_definition(const struct tf *tf, const struct tf_op *op,
                           TF_Status *status)
{
    TF_OpDefinitionBuilder *builder = tf->NewOpDefinitionBuilder(op->name);

    op->describe(tf, builder);
    tf->OpDefinitionBuilderSetIsStateful(builder, true);
    tf->OpDefinitionBuilderSetShapeInferenceFunction(
        builder, op->infer_shapes ? op->infer_shapes : any_shape);
    tf->RegisterOpDefinition(builder, status);
}

static void add_kernel(const struct tf *tf, const struct tf_op *op, TF_Status *status)
{
    TF_KernelBuilder *builder =
        op->compute
            ? tf->NewKernelBuilder(op->name, "CPU", op->create, op->compute, op->free)
            : tf->NewAsyncKernelBuilder(op->name, "CPU", op->create, op->compute_async,
                                        op->free);

    tf->RegisterKernelBuilder(op->name, builder, status);
}

det_status tf_register(const struct tf *tf, const struct tf_op *op, struct err *err)
{
    TF_Status *status = tf->NewStatus();

    add_definition(tf, op, status);
    if (!tf->GetCode(status))
        add_kernel(tf, op, status);
    if (tf->GetCode(status))
        (void)err_set(err, DET_FAILED, "TensorFlow rejected the operation %s: %s",
                      op->name, tf->Message(status));
    else
        op = NULL;
    tf->DeleteStatus(status);
    return op ? DET_FAILED : DET_OK;
}

/* ---- kernels --------------------------------------------------------------------- */

void tf_refuse(TF_OpKernelConstruction *construction, enum tf_code code,
               const char *text)
{
    const struct tf *tf = tf_api();
    TF_Status *status = tf->NewStatus();

    tf->SetStatus(status, (int)code, text);
    tf->OpKernelConstruction_Failure(construction, status);
    tf->DeleteStatus(status);
}

void *tf_new_kernel(TF_OpKernelConstruction *construction, size_t size)
{
    void *kernel = mem_alloc(size);

    if (!kernel)
        tf_refuse(construction, TF_CODE_RESOURCE_EXHAUSTED, "out of memory");
    return kernel;
}
