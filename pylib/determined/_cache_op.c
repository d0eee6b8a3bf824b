/* SPDX-License-Identifier: Apache-2.0 */
/* _cache_op.c - two operations of TensorFlow that read a cached data set.
 *
 *   DetCachePass   begins a pass through the data: lists the steps to read
 *   DetCacheRead   reads one of these steps from a file of records
 *
 * A tf.data pipeline (keras/_cache.py) runs them without Python and its lock. A step is
 * a batch, or a run of items that TensorFlow takes apart. It is a row of numbers that,
 * with the attributes, determines everything, so several threads may read steps at
 * once:
 *
 *   epoch, where in the epoch's order it begins, items; then, for the last step of a
 *   pass, the count of changes, and -1 for the other steps
 *
 * Python says where the next pass begins (_cache_position.h), or the thread that reads
 * the last step. A process opens the file once and keeps it open: the first read of a
 * page maps it, which costs more than reading it again, and pipelines may run for a
 * while after Python has forgotten them.
 *
 * An item is a record: its components one after the other, each at a multiple of 8
 * bytes.
 *
 *   RAW      the bytes
 *   SHAPED   the number of dimensions, the dimensions, the bytes; numbers of 8 bytes
 *   STRINGS  the same for strings: first all lengths, then all bytes
 *
 * Records have checksums, and every length inside a record is compared with the
 * record's length before it is used. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "_cache_position.h"
#include "_tf.h"
#include "base/compiler.h"
#include "base/memory/mem.h"
#include "base/permute.h"
#include "det/data.h"
#include "libdet/data/dataset.h"
#include "libdet/data/record_file.h"

enum { SENTENCE_BYTES = 1024, FEW = 64, ALIGN = 8, RANK_MOST = 254 };

enum component_kind { RAW = 0, SHAPED = 1, STRINGS = 2 };

/* ---- plans ----------------------------------------------------------------------- */

enum row { ROW_EPOCH, ROW_BEGIN, ROW_COUNT, ROW_CHANGES, ROW_NUMBERS };

/* The plan of a pass; both operations have all of it as attributes. */
struct plan {
    int64_t position; /* addresses: a struct position, */
    int64_t records;  /* and the file of det_cache_open() */
    int64_t items;    /* in the file */
    int64_t seed;
    int64_t shuffle; /* 1: in every epoch, 2: once, 0: no */
    int64_t steps;   /* of a pass */
    int64_t step;    /* from step to step, in the epoch's order */
    int64_t begin;   /* of the first */
    int64_t count;   /* items of every step but the last */
    int64_t last_begin;
    int64_t last_count;
    int64_t stride;  /* from item to item */
    int64_t unit;    /* elements per step: 1, or `count` if it is taken apart */
    int64_t stacked; /* 0: the only item of a step is not stacked */
};

static const struct {
    const char *name;
    size_t offset;
} plan_attrs[] = {
    {"position", offsetof(struct plan, position)},
    {"records", offsetof(struct plan, records)},
    {"items", offsetof(struct plan, items)},
    {"seed", offsetof(struct plan, seed)},
    {"shuffle", offsetof(struct plan, shuffle)},
    {"steps", offsetof(struct plan, steps)},
    {"step", offsetof(struct plan, step)},
    {"begin", offsetof(struct plan, begin)},
    {"count", offsetof(struct plan, count)},
    {"last_begin", offsetof(struct plan, last_begin)},
    {"last_count", offsetof(struct plan, last_count)},
    {"stride", offsetof(struct plan, stride)},
    {"unit", offsetof(struct plan, unit)},
    {"stacked", offsetof(struct plan, stacked)},
};

static bool read_plan(TF_OpKernelConstruction *construction, struct plan *plan)
{
    const struct tf *tf = tf_api();
    TF_Status *status = tf->NewStatus();
    bool is_read;

    for (size_t i = 0; i < ARRAY_LEN(plan_attrs) && !tf->GetCode(status); i++) {
        int64_t *number = (int64_t *)(void *)((char *)plan + plan_attrs[i].offset);

        tf->OpKernelConstruction_GetAttrInt64(construction, plan_attrs[i].name, number,
                                              status);
    }
    is_read = !tf->GetCode(status) && plan->position && plan->records &&
              plan->unit > 0 && plan->steps > 0;
    if (!is_read)
        tf_refuse(construction, TF_CODE_INVALID_ARGUMENT,
                  "the attributes of a cached data set are not valid");
    tf->DeleteStatus(status);
    return is_read;
}

static struct position *position_of(const struct plan *plan)
{
    return (struct position *)(uintptr_t)plan->position;
}

static void end_pass(const struct plan *plan, const int64_t *row)
{
    if (row[ROW_CHANGES] >= 0)
        (void)position_move_on(position_of(plan), row[ROW_EPOCH], row[ROW_CHANGES]);
}

/* ---- passes ---------------------------------------------------------------------- */

/* The kernel is its plan. */
static void *pass_create(TF_OpKernelConstruction *construction)
{
    struct plan *plan = tf_new_kernel(construction, sizeof(*plan));

    if (plan && read_plan(construction, plan))
        return plan;
    mem_free(plan);
    return NULL;
}

static void pass_delete(void *kernel)
{
    mem_free(kernel);
}

static void write_rows(const struct plan *plan, const struct position_state *from,
                       int64_t *rows, int64_t count)
{
    int64_t skipped = from->first % plan->unit;

    for (int64_t i = 0; i < count; i++) {
        int64_t number = from->first / plan->unit + i, *row = rows + i * ROW_NUMBERS;
        bool is_last = number == plan->steps - 1;

        row[ROW_EPOCH] = from->epoch;
        row[ROW_BEGIN] = is_last ? plan->last_begin : number * plan->step + plan->begin;
        row[ROW_COUNT] = is_last ? plan->last_count : plan->count;
        row[ROW_CHANGES] = is_last ? from->changes : -1;
        if (!i) {
            row[ROW_BEGIN] += skipped * plan->stride;
            row[ROW_COUNT] -= MIN(skipped, row[ROW_COUNT]);
        }
    }
}

/* The steps that are left, one row each. */
static void pass_compute(void *kernel, TF_OpKernelContext *context)
{
    const struct plan *plan = kernel;
    const struct tf *tf = tf_api();
    TF_Status *status = tf->NewStatus();
    struct position_state from = position_get(position_of(plan));
    int64_t left = plan->steps - MIN(from.first / plan->unit, plan->steps);
    int64_t dims[2] = {left, ROW_NUMBERS};
    TF_Tensor *output =
        tf->AllocateOutput(context, 0, TF_INT64, dims, 2,
                           (size_t)(left * ROW_NUMBERS) * sizeof(int64_t), status);

    if (tf->GetCode(status))
        tf->OpKernelContext_Failure(context, status);
    else
        write_rows(plan, &from, tf->TensorData(output), left);
    if (output)
        tf->DeleteTensor(output);
    tf->DeleteStatus(status);
}

/* ---- the file -------------------------------------------------------------------- */

DET_API det_dataset *det_cache_open(const char *path, char *error, size_t error_size);

/* For ctypes. Returns NULL and writes the reason to `error`. */
det_dataset *det_cache_open(const char *path, char *error, size_t error_size)
{
    det_dataset *records = NULL;

    return det_dataset_records(path, &records, error, error_size) ? NULL : records;
}

/* ---- how items lie --------------------------------------------------------------- */

struct component {
    int type;       /* TensorFlow's */
    int64_t kind;   /* enum component_kind */
    int64_t width;  /* bytes of an element; of strings 0 */
    int64_t rank;   /* -1: the shapes of items differ, each is read alone */
    int64_t *dims;  /* of an item, after a place for the number of items */
    int64_t length; /* elements of an item */
};

struct reader {
    struct plan plan;
    const det_dataset *records;
    struct component *components;
    int64_t *dims; /* of all components */
    int component_count;
};

/* Fails the op with a sentence. */
struct failure {
    int code;
    char text[SENTENCE_BYTES];
};

static void read_delete(void *kernel)
{
    struct reader *reader = kernel;

    if (!reader)
        return;
    mem_free(reader->components);
    mem_free(reader->dims);
    mem_free(reader);
}

static bool read_list(TF_OpKernelConstruction *construction, const char *name,
                      int64_t **ret_list, int32_t *ret_count)
{
    const struct tf *tf = tf_api();
    TF_Status *status = tf->NewStatus();
    int32_t unused;
    bool is_read;

    tf->OpKernelConstruction_GetAttrSize(construction, name, ret_count, &unused,
                                         status);
    is_read = !tf->GetCode(status) && *ret_count >= 0;
    if (is_read)
        *ret_list = mem_array((size_t)*ret_count + 1, sizeof(int64_t));
    is_read = is_read && *ret_list;
    if (is_read)
        tf->OpKernelConstruction_GetAttrInt64List(construction, name, *ret_list,
                                                  *ret_count, status);
    is_read = is_read && !tf->GetCode(status);
    tf->DeleteStatus(status);
    return is_read;
}

/* RAW components have no shape in the record, so all items have the same. */
static bool is_sane(const struct component *component, int64_t dims_left)
{
    return component->kind >= RAW && component->kind <= STRINGS &&
           component->width >= 0 && component->rank <= MIN(dims_left, RANK_MOST) &&
           component->rank >= (component->kind == RAW ? 0 : -1);
}

/* `layout` has kind, width and rank of each component, then the dimensions of all. */
static bool lay_out(struct reader *reader, const int64_t *layout, int32_t layout_count)
{
    int32_t at = 3 * reader->component_count;
    int64_t *dims;

    if (layout_count < at)
        return false;
    reader->dims = mem_array((size_t)(layout_count - at + reader->component_count) + 1,
                             sizeof(int64_t));
    if (!reader->dims)
        return false;
    dims = reader->dims;
    for (int c = 0; c < reader->component_count; c++) {
        struct component *component = &reader->components[c];

        component->kind = layout[3 * c];
        component->width = layout[3 * c + 1];
        component->rank = layout[3 * c + 2];
        component->dims = dims;
        component->length = 1;
        if (!is_sane(component, layout_count - at))
            return false;
        for (int64_t d = 0; d < component->rank; d++) {
            dims[d + 1] = layout[at++];
            if (dims[d + 1] < 0 ||
                __builtin_mul_overflow(component->length, dims[d + 1],
                                       &component->length))
                return false;
        }
        dims += 1 + MAX(component->rank, INT64_C(0));
    }
    return true;
}

static bool read_components(struct reader *reader,
                            TF_OpKernelConstruction *construction)
{
    const struct tf *tf = tf_api();
    TF_Status *status = tf->NewStatus();
    int64_t *layout = NULL;
    int *types = NULL;
    int32_t count = 0, total = 0;
    bool is_read;

    tf->OpKernelConstruction_GetAttrSize(construction, "types", &count, &total, status);
    is_read = !tf->GetCode(status) && count > 0;
    if (is_read) {
        reader->component_count = count;
        reader->components = mem_array((size_t)count, sizeof(*reader->components));
        types = mem_array((size_t)count, sizeof(*types));
        is_read = reader->components && types;
    }
    if (is_read)
        tf->OpKernelConstruction_GetAttrTypeList(construction, "types", types, count,
                                                 status);
    for (int32_t c = 0; is_read && c < count; c++)
        reader->components[c].type = types[c];
    is_read = is_read && !tf->GetCode(status) &&
              read_list(construction, "layout", &layout, &total) &&
              lay_out(reader, layout, total);
    mem_free(types);
    mem_free(layout);
    tf->DeleteStatus(status);
    return is_read;
}

static void *read_create(TF_OpKernelConstruction *construction)
{
    struct reader *reader = tf_new_kernel(construction, sizeof(*reader));

    if (!reader || !read_plan(construction, &reader->plan)) {
        mem_free(reader);
        return NULL;
    }
    if (!read_components(reader, construction))
        tf_refuse(construction, TF_CODE_INVALID_ARGUMENT,
                  "the layout of a cached data set is not valid");
    reader->records = (const det_dataset *)(uintptr_t)reader->plan.records;
    return reader;
}

/* ---- one component of one item --------------------------------------------------- */

/* The unread rest of a record. */
struct rest {
    const unsigned char *bytes;
    size_t len;
};

static const unsigned char *take_bytes(struct rest *rest, uint64_t len)
{
    const unsigned char *bytes = rest->bytes;
    uint64_t padded = (len + ALIGN - 1) / ALIGN * ALIGN;

    if (len > rest->len)
        return NULL;
    padded = MIN(padded, (uint64_t)rest->len);
    rest->bytes += padded;
    rest->len -= (size_t)padded;
    return bytes;
}

static bool take_number(struct rest *rest, int64_t *ret_number)
{
    const unsigned char *bytes = take_bytes(rest, sizeof(*ret_number));

    if (bytes)
        memcpy(ret_number, bytes, sizeof(*ret_number));
    return bytes && *ret_number >= 0;
}

/* Reads the shape before the bytes. If all items have the same shape, it must be that
 * one; otherwise it goes to `dims`. */
static bool take_shape(struct rest *rest, const struct component *component,
                       int64_t *dims, int64_t *ret_rank, int64_t *ret_length)
{
    int64_t rank, length = 1;

    if (!take_number(rest, &rank) || rank > RANK_MOST)
        return false;
    if (component->rank >= 0 && rank != component->rank)
        return false;
    for (int64_t d = 0; d < rank; d++) {
        int64_t dim;

        if (!take_number(rest, &dim) ||
            (component->rank >= 0 && dim != component->dims[d + 1]) ||
            __builtin_mul_overflow(length, dim, &length))
            return false;
        if (dims)
            dims[d] = dim;
    }
    *ret_rank = rank;
    *ret_length = length;
    return true;
}

/* Whether the rest can hold so many elements; checked before memory is allocated. */
static bool may_hold(const struct rest *rest, const struct component *component,
                     int64_t length)
{
    size_t least = component->kind == STRINGS ? sizeof(int64_t) /* its length */
                                              : (size_t)MAX(component->width, 1);

    return (uint64_t)length <= rest->len / least;
}

static bool take_strings(const struct tf *tf, struct rest *rest, int64_t count,
                         unsigned char *to)
{
    struct rest lengths = *rest;
    size_t gap;

    if (count > (int64_t)(rest->len / sizeof(int64_t)) ||
        !take_bytes(rest, (uint64_t)count * sizeof(int64_t)))
        return false;
    for (int64_t i = 0; i < count; i++) {
        const unsigned char *bytes = rest->bytes;
        int64_t len;

        if (!take_number(&lengths, &len) || (uint64_t)len > rest->len)
            return false;
        rest->bytes += len;
        rest->len -= (size_t)len;
        tf->StringCopy(to + i * TF_STRING_BYTES, (const char *)bytes, (size_t)len);
    }
    gap = MIN((ALIGN - (uintptr_t)rest->bytes % ALIGN) % ALIGN, rest->len);
    rest->bytes += gap;
    rest->len -= gap;
    return true;
}

/* Copies the elements to their place. */
static bool take_elements(const struct tf *tf, const struct component *component,
                          struct rest *rest, int64_t length, unsigned char *to)
{
    const unsigned char *bytes;
    int64_t len;

    if (component->kind == STRINGS)
        return take_strings(tf, rest, length, to);
    if (__builtin_mul_overflow(length, component->width, &len))
        return false;
    bytes = take_bytes(rest, (uint64_t)len);
    if (bytes && len)
        memcpy(to, bytes, (size_t)len);
    return bytes != NULL;
}

/* ---- a batch --------------------------------------------------------------------- */

struct batch {
    const struct reader *reader;
    TF_OpKernelContext *context;
    TF_Status *status;
    int64_t epoch;
    int64_t begin;
    int64_t count;
    TF_Tensor **outputs;    /* one for each component */
    unsigned char **places; /* where the next item's elements go */
    struct failure *failure;
};

static size_t element_bytes(const struct component *component)
{
    return component->kind == STRINGS ? TF_STRING_BYTES : (size_t)component->width;
}

static bool fail_batch(struct batch *batch, int code, const char *text)
{
    batch->failure->code = code;
    (void)snprintf(batch->failure->text, sizeof(batch->failure->text), "%s", text);
    return false;
}

static bool allocate_output(struct batch *batch, int c, const int64_t *dims,
                            int64_t rank)
{
    const struct tf *tf = tf_api();
    const struct component *component = &batch->reader->components[c];
    int64_t length = 1;

    for (int64_t d = 0; d < rank; d++)
        length *= dims[d];
    batch->outputs[c] =
        tf->AllocateOutput(batch->context, c, component->type, dims, (int)rank,
                           (size_t)length * element_bytes(component), batch->status);
    if (tf->GetCode(batch->status) || !batch->outputs[c])
        return false;
    batch->places[c] = tf->TensorData(batch->outputs[c]);
    return true;
}

/* If all items are alike, the tensors can be allocated before any item is read. */
static bool allocate_stacks(struct batch *batch)
{
    for (int c = 0; c < batch->reader->component_count; c++) {
        struct component *component = &batch->reader->components[c];
        int64_t dims[RANK_MOST + 1];

        if (component->rank < 0)
            continue;
        dims[0] = batch->count;
        memcpy(dims + 1, component->dims + 1,
               (size_t)component->rank * sizeof(int64_t));
        if (!(batch->reader->plan.stacked
                  ? allocate_output(batch, c, dims, component->rank + 1)
                  : allocate_output(batch, c, dims + 1, component->rank)))
            return false;
    }
    return true;
}

static bool take_component(struct batch *batch, int c, struct rest *rest)
{
    const struct component *component = &batch->reader->components[c];
    int64_t dims[RANK_MOST], rank = component->rank, length = component->length;

    if (component->kind != RAW && !take_shape(rest, component, dims, &rank, &length))
        return false;
    if (component->rank < 0 &&
        (!may_hold(rest, component, length) || !allocate_output(batch, c, dims, rank)))
        return false;
    if (!take_elements(tf_api(), component, rest, length, batch->places[c]))
        return false;
    batch->places[c] += (size_t)length * element_bytes(component);
    return true;
}

static bool read_item(struct batch *batch, int64_t index)
{
    char error[SENTENCE_BYTES];
    const void *bytes;
    struct rest rest;
    size_t len;

    if (det_dataset_record(batch->reader->records, index, &bytes, &len, error,
                           sizeof(error)))
        return fail_batch(batch, TF_CODE_DATA_LOSS, error);
    rest = (struct rest){bytes, len};
    for (int c = 0; c < batch->reader->component_count; c++)
        if (!take_component(batch, c, &rest))
            return tf_api()->GetCode(batch->status)
                       ? false
                       : fail_batch(batch, TF_CODE_DATA_LOSS,
                                    "an item of the cache is not what its first "
                                    "lines promise");
    return true;
}

/* The items at `count` places of the order, from `first` on. */
static void list_items(const struct plan *plan, const struct permute *order,
                       int64_t first, size_t count, uint64_t *ret_items)
{
    if (plan->shuffle && plan->stride == 1) {
        permute_run(order, (uint64_t)first, count, ret_items);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)(first + (int64_t)i * plan->stride);

        ret_items[i] = plan->shuffle ? permute_at(order, at) : at;
    }
}

/* Shuffled items may lie anywhere, so the processor prefetches the next ones. */
static void ask_ahead(const struct batch *batch, const uint64_t *items, size_t count,
                      size_t at)
{
    enum { SOON = 6, NEXT = 2 };

    if (batch->reader->plan.shuffle)
        record_file_prefetch(batch->reader->records,
                             at + SOON < count ? (int64_t)items[at + SOON] : -1,
                             at + NEXT < count ? (int64_t)items[at + NEXT] : -1);
}

static bool read_items(struct batch *batch)
{
    const struct plan *plan = &batch->reader->plan;
    uint64_t few[FEW];
    struct permute order;

    if (plan->shuffle)
        permute_init(&order, (uint64_t)plan->seed,
                     plan->shuffle == 1 ? (uint64_t)batch->epoch : 0,
                     (uint64_t)plan->items);
    for (int64_t done = 0; done < batch->count; done += FEW) {
        size_t count = (size_t)MIN(batch->count - done, (int64_t)FEW);

        list_items(plan, &order, batch->begin + done * plan->stride, count, few);
        for (size_t i = 0; i < count; i++) {
            ask_ahead(batch, few, count, i);
            if (!read_item(batch, (int64_t)few[i]))
                return false;
        }
    }
    return true;
}

static bool find_batch(struct batch *batch, const int64_t *row)
{
    const struct plan *plan = &batch->reader->plan;

    batch->epoch = row[ROW_EPOCH];
    batch->begin = row[ROW_BEGIN];
    batch->count = row[ROW_COUNT];
    if (batch->begin >= 0 && batch->count >= 0 &&
        (plan->stacked || batch->count <= 1) &&
        (!batch->count ||
         batch->begin + (batch->count - 1) * plan->stride < plan->items))
        return true;
    return fail_batch(batch, TF_CODE_INVALID_ARGUMENT,
                      "a step of a cached data set lies outside of the data set");
}

static void read_compute(void *kernel, TF_OpKernelContext *context)
{
    const struct reader *self = kernel;
    const struct tf *tf = tf_api();
    TF_Tensor *outputs[FEW] = {0};
    unsigned char *places[FEW] = {0};
    struct failure failure = {TF_CODE_OK, ""};
    struct batch batch = {.reader = self,
                          .context = context,
                          .status = tf->NewStatus(),
                          .outputs = outputs,
                          .places = places,
                          .failure = &failure};
    TF_Tensor *request = NULL;

    tf->GetInput(context, 0, &request, batch.status);
    if (!tf->GetCode(batch.status) &&
        tf->TensorByteSize(request) != ROW_NUMBERS * sizeof(int64_t))
        (void)fail_batch(&batch, TF_CODE_INVALID_ARGUMENT, "this is not a step");
    else if (self->component_count > FEW)
        (void)fail_batch(&batch, TF_CODE_INVALID_ARGUMENT,
                         "an item of a cached data set has at most 64 components");
    else if (!tf->GetCode(batch.status) && find_batch(&batch, tf->TensorData(request)))
        (void)(allocate_stacks(&batch) && read_items(&batch));
    if (!failure.code && !tf->GetCode(batch.status))
        end_pass(&self->plan, tf->TensorData(request));
    if (failure.code)
        tf->SetStatus(batch.status, failure.code, failure.text);
    if (tf->GetCode(batch.status))
        tf->OpKernelContext_Failure(context, batch.status);
    for (int c = 0; c < FEW; c++)
        if (outputs[c])
            tf->DeleteTensor(outputs[c]);
    if (request)
        tf->DeleteTensor(request);
    tf->DeleteStatus(batch.status);
}

/* ---- the operations -------------------------------------------------------------- */

static void add_attrs(const struct tf *tf, TF_OpDefinitionBuilder *op)
{
    char attr[FEW];

    for (size_t i = 0; i < ARRAY_LEN(plan_attrs); i++) {
        (void)snprintf(attr, sizeof(attr), "%s: int", plan_attrs[i].name);
        tf->OpDefinitionBuilderAddAttr(op, attr);
    }
}

static void describe_pass(const struct tf *tf, TF_OpDefinitionBuilder *op)
{
    add_attrs(tf, op);
    tf->OpDefinitionBuilderAddOutput(op, "rows: int64");
}

static void describe_read(const struct tf *tf, TF_OpDefinitionBuilder *op)
{
    add_attrs(tf, op);
    tf->OpDefinitionBuilderAddAttr(op, "types: list(type) >= 1");
    tf->OpDefinitionBuilderAddAttr(op, "layout: list(int)");
    tf->OpDefinitionBuilderAddInput(op, "row: int64");
    tf->OpDefinitionBuilderAddOutput(op, "components: types");
}

const struct tf_op tf_cache_pass = {.name = "DetCachePass",
                                    .describe = describe_pass,
                                    .create = pass_create,
                                    .compute = pass_compute,
                                    .free = pass_delete};

const struct tf_op tf_cache_read = {.name = "DetCacheRead",
                                    .describe = describe_read,
                                    .create = read_create,
                                    .compute = read_compute,
                                    .free = read_delete};
