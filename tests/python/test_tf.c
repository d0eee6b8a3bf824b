/* SPDX-License-Identifier: Apache-2.0 */
/* Registering operations with a TensorFlow that refuses, and without TensorFlow. */
#include <string.h>

#include "_tf.h"
#include "tests/support/test.h"

struct TF_Status {
    int code;
    const char *text;
};

/* What TensorFlow was told about the operation, and the call that fails. */
struct notes {
    const char *refuses; /* "definition" or "kernel" */
    const char *device;
    bool is_stateful;
    bool is_async;
    bool has_shapes;
    int kernels;
    int statuses; /* not freed yet */
    struct TF_Status status;
    struct tf tf;
};
static struct notes notes; /* one test at a time */

const struct tf *tf_api(void)
{
    return &notes.tf;
}

static TF_Status *new_status(void)
{
    notes.status = (struct TF_Status){0};
    notes.statuses++;
    return &notes.status;
}

static void delete_status(TF_Status *status)
{
    (void)status;
    notes.statuses--;
}

static int get_code(const TF_Status *status)
{
    return status->code;
}

static const char *message(const TF_Status *status)
{
    return status->text;
}

static TF_OpDefinitionBuilder *new_definition(const char *name)
{
    (void)name;
    return (TF_OpDefinitionBuilder *)(void *)&notes;
}

static void set_stateful(TF_OpDefinitionBuilder *op, bool is_stateful)
{
    (void)op;
    notes.is_stateful = is_stateful;
}

static void set_shapes(TF_OpDefinitionBuilder *op, tf_shape_fn *infer)
{
    (void)op;
    notes.has_shapes = infer != NULL;
}

static void refuse(const char *what, TF_Status *status)
{
    if (notes.refuses && !strcmp(notes.refuses, what))
        *status = (struct TF_Status){6, "it is there already"};
}

static void register_definition(TF_OpDefinitionBuilder *op, TF_Status *status)
{
    (void)op;
    refuse("definition", status);
}

static TF_KernelBuilder *new_kernel(const char *op, const char *device,
                                    tf_create_fn *create, tf_compute_fn *compute,
                                    tf_delete_fn *delete)
{
    (void)op;
    (void)create;
    (void)compute;
    (void)delete;
    notes.device = device;
    return (TF_KernelBuilder *)(void *)&notes;
}

static TF_KernelBuilder *new_async_kernel(const char *op, const char *device,
                                          tf_create_fn *create,
                                          tf_compute_async_fn *compute,
                                          tf_delete_fn *delete)
{
    (void)compute;
    notes.is_async = true;
    return new_kernel(op, device, create, NULL, delete);
}

static void register_kernel(const char *name, TF_KernelBuilder *kernel,
                            TF_Status *status)
{
    (void)name;
    (void)kernel;
    notes.kernels++;
    refuse("kernel", status);
}

static void begin(const char *refuses)
{
    notes = (struct notes){
        .refuses = refuses,
        .tf = {.NewStatus = new_status,
               .DeleteStatus = delete_status,
               .GetCode = get_code,
               .Message = message,
               .NewOpDefinitionBuilder = new_definition,
               .OpDefinitionBuilderSetIsStateful = set_stateful,
               .OpDefinitionBuilderSetShapeInferenceFunction = set_shapes,
               .RegisterOpDefinition = register_definition,
               .NewKernelBuilder = new_kernel,
               .NewAsyncKernelBuilder = new_async_kernel,
               .RegisterKernelBuilder = register_kernel}};
}

static void describe(const struct tf *tf, TF_OpDefinitionBuilder *op)
{
    CHECK(tf == &notes.tf && op);
}

static void compute(void *kernel, TF_OpKernelContext *context)
{
    (void)kernel;
    (void)context;
}

static void compute_async(void *kernel, TF_OpKernelContext *context,
                          TF_AsyncOpKernelDoneCallback *done)
{
    (void)kernel;
    (void)context;
    (void)done;
}

TEST(an_operation_gets_its_kernel_of_its_kind)
{
    struct tf_op op = {.name = "DetTest", .describe = describe, .compute = compute};
    struct err err = {0};

    begin(NULL);
    CHECK_OK(tf_register(&notes.tf, &op, &err));
    CHECK(notes.is_stateful && notes.has_shapes && !notes.is_async);
    CHECK_STR(notes.device, "CPU");
    CHECK_EQ(notes.statuses, 0);
    op.compute = NULL;
    op.compute_async = compute_async;
    begin(NULL);
    CHECK_OK(tf_register(&notes.tf, &op, &err));
    CHECK(notes.is_async && notes.kernels == 1);
}

TEST(what_tensorflow_refuses_is_told_with_its_own_words)
{
    static const char *const places[] = {"definition", "kernel"};
    struct tf_op op = {.name = "DetTest", .describe = describe, .compute = compute};

    for (size_t i = 0; i < 2; i++) {
        struct err err = {0};

        begin(places[i]);
        CHECK_EQ(tf_register(&notes.tf, &op, &err), DET_FAILED);
        CHECK_STR(err.text,
                  "TensorFlow rejected the operation DetTest: it is there already");
        CHECK_EQ(notes.kernels, (int)i); /* none for what is not defined */
        CHECK_EQ(notes.statuses, 0);
    }
}

TEST(without_tensorflow_there_are_no_operations)
{
    struct tf tf = {0};
    struct err err = {0};

    CHECK_EQ(tf_find(&tf, &err), DET_UNSUPPORTED);
    CHECK_STR(err.text,
              "these operations belong to TensorFlow, and this process has not "
              "loaded libtensorflow_framework.so.2");
}
