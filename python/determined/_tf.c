/* SPDX-License-Identifier: Apache-2.0 */
/* _tf.c - finds TensorFlow, and registers the operations. */
#include "_tf.h"

#include <dlfcn.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

bool tf_find(struct tf *tf)
{
    static const char *const names[] = {"libtensorflow_framework.so.2",
                                        "libtensorflow_cc.so.2"};
    void *libraries[ARRAY_LEN(names)];
    bool has_all = true;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        libraries[i] = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
#define TF_LOOK_UP(name, result, parameters)                                           \
    {                                                                                  \
        void *found = libraries[0] ? dlsym(libraries[0], "TF_" #name) : NULL;          \
                                                                                       \
        if (!found && libraries[1])                                                    \
            found = dlsym(libraries[1], "TF_" #name);                                  \
        memcpy(&tf->name, &found, sizeof(found));                                      \
        has_all = has_all && found;                                                    \
    }
    TF_FUNCTIONS(TF_LOOK_UP)
#undef TF_LOOK_UP
    return has_all;
}

void tf_refuse(const struct tf *tf, void *construction, int code, const char *text)
{
    void *status = tf->NewStatus();

    tf->SetStatus(status, code, text);
    tf->OpKernelConstruction_Failure(construction, status);
    tf->DeleteStatus(status);
}

void *tf_new_kernel(void *construction, size_t size)
{
    struct tf tf, *kernel;

    if (!tf_find(&tf)) /* it was, when the operation was registered */
        return NULL;
    kernel = mem_alloc(size);
    if (kernel)
        *kernel = tf;
    else
        tf_refuse(&tf, construction, TF_CODE_RESOURCE_EXHAUSTED, "out of memory");
    return kernel;
}

/* Python says what shapes come out. */
static void any_shape(void *context, void *status)
{
    struct tf tf;

    if (tf_find(&tf))
        tf.ShapeInferenceContextSetUnknownShape(context, status);
}

void tf_add_kernel(const struct tf *tf, const char *name, tf_create_fn *create,
                   tf_compute_fn *compute, tf_delete_fn *delete)
{
    void *status = tf->NewStatus();
    void *builder = tf->NewKernelBuilder(name, "CPU", create, compute, delete);

    tf->RegisterKernelBuilder(name, builder, status);
    tf->DeleteStatus(status);
}

void tf_add_op(const struct tf *tf, void *builder)
{
    void *status = tf->NewStatus();

    tf->OpDefinitionBuilderSetIsStateful(builder, 1);
    tf->OpDefinitionBuilderSetShapeInferenceFunction(builder, any_shape);
    tf->RegisterOpDefinition(builder, status);
    tf->DeleteStatus(status);
}

/* When TensorFlow loads it; without TensorFlow nothing happens. */
__attribute__((constructor)) static void add_operations(void)
{
    struct tf tf;

    if (!tf_find(&tf))
        return;
    add_cache_ops(&tf);
    add_order_op(&tf);
}
