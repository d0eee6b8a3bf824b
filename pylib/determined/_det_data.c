/* SPDX-License-Identifier: Apache-2.0 */
/* _det_data.c - the order of data, and files of records, for Python.
 *
 *   order()       the items of the batches of a stretch: two arrays of int64, the
 *                 indices and the number of indices in each batch
 *   gather()      copies rows of an array, given their indices
 *   RecordWriter  a det_records
 *   Records       a det_dataset of a file of records */
#include "_det.h"

#include <stdint.h>
#include <string.h>

enum { SENTENCE_BYTES = 1024 };

struct writer {
    PyObject_HEAD
    det_records *det; /* NULL: finished or aborted */
    int is_busy;
};

struct records {
    PyObject_HEAD
    det_dataset *det; /* a mapping, which any number of threads may read */
};

/* ---- the order ------------------------------------------------------------------- */

struct stretch {
    long long items;
    det_loader_options options;
    long long first;
    long long count;
    int64_t *indices;
    int64_t *counts;
    size_t found; /* indices written so far */
};

static det_status walk_order(struct stretch *stretch, det_loader *loader)
{
    det_status status = det_loader_seek(loader, stretch->first);

    for (long long i = 0; i < stretch->count && !status; i++) {
        const det_batch *batch;

        status = det_loader_next(loader, &batch);
        if (status)
            break;
        memcpy(stretch->indices + stretch->found, batch->indices,
               (size_t)batch->count * sizeof(int64_t));
        stretch->found += (size_t)batch->count;
        stretch->counts[i] = batch->count;
    }
    return status;
}

/* Runs without the GIL. */
static det_status order_batches(struct stretch *stretch, char *error)
{
    det_dataset *dataset = NULL;
    det_loader *loader = NULL;
    det_status status =
        det_dataset_arrays(NULL, 0, stretch->items, &dataset, error, SENTENCE_BYTES);

    if (!status)
        status =
            det_loader_new(dataset, &stretch->options, &loader, error, SENTENCE_BYTES);
    if (!status) {
        status = walk_order(stretch, loader);
        if (status)
            (void)PyOS_snprintf(error, SENTENCE_BYTES, "%s", det_loader_error(loader));
    }
    det_loader_free(loader);
    det_dataset_free(dataset);
    return status;
}

/* The most items of a batch that belong to one shard. */
static int64_t largest_part(const struct stretch *stretch)
{
    int64_t whole = stretch->options.batch_size < stretch->items
                        ? stretch->options.batch_size
                        : stretch->items;
    int shards = stretch->options.shard_count > 1 ? stretch->options.shard_count : 1;

    return whole > 0 ? whole / shards + (whole % shards != 0) : 0;
}

static PyObject *order_of(struct stretch *stretch)
{
    char error[SENTENCE_BYTES] = "";
    int64_t most = largest_part(stretch);
    PyObject *indices, *counts;
    det_status status;

    if (stretch->count < 0 ||
        stretch->count > (long long)(PY_SSIZE_T_MAX / 16) / (most > 0 ? most : 1))
        return raise_status(DET_INVALID, "too many batches to list at once");
    indices =
        PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(stretch->count * most * 8));
    counts = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(stretch->count * 8));
    if (!indices || !counts) {
        Py_XDECREF(indices);
        Py_XDECREF(counts);
        return NULL;
    }
    stretch->indices = (int64_t *)(void *)PyByteArray_AsString(indices);
    stretch->counts = (int64_t *)(void *)PyByteArray_AsString(counts);
    Py_BEGIN_ALLOW_THREADS
    status = order_batches(stretch, error);
    Py_END_ALLOW_THREADS
    if (status || PyByteArray_Resize(indices, (Py_ssize_t)(stretch->found * 8))) {
        Py_DECREF(indices);
        Py_DECREF(counts);
        return status ? raise_status(status, error) : NULL;
    }
    return Py_BuildValue("(NN)", indices, counts);
}

PyObject *module_order(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"items", "batch_size", "shuffle",     "seed",      "first",
                            "count", "shard",      "shard_count", "drop_last", NULL};
    struct stretch stretch = {.options = {.size = sizeof(det_loader_options)}};
    det_loader_options *options = &stretch.options;
    long long batch_size;
    unsigned long long seed = 0;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "LL|pKLLii$p:order", names, &stretch.items, &batch_size,
            &options->shuffle, &seed, &stretch.first, &stretch.count, &options->shard,
            &options->shard_count, &options->drop_last))
        return NULL;
    options->batch_size = batch_size;
    options->seed = seed;
    return order_of(&stretch);
}

/* ---- rows ------------------------------------------------------------------------ */

/* As in libdet's data set of arrays: prefetches a row some rows ahead, piece by piece
 * between the copies. */
enum { ROWS_AHEAD = 3, PIECE_BYTES = 1600, LINE_BYTES = 64 };

struct rows {
    Py_buffer source;
    Py_buffer indices;
    Py_buffer to;
    size_t row_bytes;
};

/* A negative index counts from the end; returns -1 without such a row. */
static int64_t row_at(const struct rows *rows, size_t at)
{
    const int64_t *indices = rows->indices.buf;
    int64_t count = rows->source.len / (Py_ssize_t)rows->row_bytes;
    int64_t row = indices[at] < 0 ? indices[at] + count : indices[at];

    return row >= 0 && row < count ? row : -1;
}

static void copy_row(unsigned char *to, const unsigned char *from,
                     const unsigned char *ahead, size_t size)
{
    for (size_t at = 0; at < size; at += PIECE_BYTES) {
        size_t len = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;

        for (size_t line = 0; line < len; line += LINE_BYTES)
            __builtin_prefetch(ahead + at + line, 0, 2);
        memcpy(to + at, from + at, len);
    }
}

/* Runs without the GIL.  Returns the position of the first index without a row, or -1. */
static Py_ssize_t copy_rows(const struct rows *rows)
{
    size_t count = (size_t)rows->indices.len / sizeof(int64_t);
    const unsigned char *source = rows->source.buf;
    unsigned char *to = rows->to.buf;

    for (size_t i = 0; i < count; i++) {
        int64_t row = row_at(rows, i);
        int64_t ahead = row_at(rows, i + ROWS_AHEAD < count ? i + ROWS_AHEAD : i);

        if (row < 0)
            return (Py_ssize_t)i;
        copy_row(to + i * rows->row_bytes, source + (size_t)row * rows->row_bytes,
                 source + (size_t)(ahead < 0 ? row : ahead) * rows->row_bytes,
                 rows->row_bytes);
    }
    return -1;
}

static PyObject *gather_rows(const struct rows *rows)
{
    size_t count = (size_t)rows->indices.len / sizeof(int64_t);
    Py_ssize_t missing;

    if ((size_t)rows->indices.len % sizeof(int64_t) ||
        (size_t)rows->to.len / rows->row_bytes != count ||
        (size_t)rows->to.len % rows->row_bytes)
        return raise_status(DET_INVALID,
                            "the target must hold one row for each 64-bit index");
    Py_BEGIN_ALLOW_THREADS
    missing = copy_rows(rows);
    Py_END_ALLOW_THREADS
    if (missing < 0)
        return none();
    return PyErr_Format(PyExc_IndexError, "there is no row %lld: the array has %zd",
                        (long long)((const int64_t *)rows->indices.buf)[missing],
                        rows->source.len / (Py_ssize_t)rows->row_bytes);
}

/* (source, row_bytes, indices, to): memory to read, and memory to write to. */
PyObject *module_gather(PyObject *module, PyObject *args)
{
    struct rows rows = {0};
    Py_ssize_t row_bytes;
    PyObject *result;

    (void)module;
    if (!PyArg_ParseTuple(args, "y*ny*w*:gather", &rows.source, &row_bytes,
                          &rows.indices, &rows.to))
        return NULL;
    rows.row_bytes = (size_t)row_bytes;
    result = row_bytes > 0
                 ? gather_rows(&rows)
                 : raise_status(DET_INVALID, "a row must have one byte or more");
    PyBuffer_Release(&rows.source);
    PyBuffer_Release(&rows.indices);
    PyBuffer_Release(&rows.to);
    return result;
}

/* ---- writing records ------------------------------------------------------------- */

/* Opens the object that `self` wraps; for all types here. */
typedef det_status open_fn(PyObject *self, const char *path, char *error);

/* (path), for every type here. */
static PyObject *open_at_path(PyTypeObject *type, PyObject *args, PyObject *kwargs,
                              open_fn *open)
{
    static char *names[] = {"path", NULL};
    char error[SENTENCE_BYTES] = "";
    PyObject *path = NULL, *self;
    det_status status = DET_OK;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&", names, PyUnicode_FSConverter,
                                     &path))
        return NULL;
    self = PyType_GenericAlloc(type, 0);
    if (self) {
        const char *name = PyBytes_AsString(path);

        Py_BEGIN_ALLOW_THREADS
        status = open(self, name, error);
        Py_END_ALLOW_THREADS
    }
    Py_DECREF(path);
    if (status) {
        Py_CLEAR(self);
        raise_status(status, error);
    }
    return self;
}

static det_status writer_open(PyObject *self, const char *path, char *error)
{
    return det_records_create(path, &((struct writer *)self)->det, error,
                              SENTENCE_BYTES);
}

static PyObject *writer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    return open_at_path(type, args, kwargs, writer_open);
}

static det_records *writer_take(struct writer *self)
{
    if (!self->det || self->is_busy) {
        raise_status(DET_STATE, self->is_busy
                                    ? "this writer is in use by another thread"
                                    : "this file is finished or aborted");
        return NULL;
    }
    self->is_busy = 1;
    return self->det;
}

static PyObject *writer_add(struct writer *self, PyObject *args)
{
    Py_buffer bytes;
    det_records *det;
    det_status status;
    PyObject *result = NULL;

    if (!PyArg_ParseTuple(args, "y*:add", &bytes))
        return NULL;
    det = writer_take(self);
    if (det) {
        Py_BEGIN_ALLOW_THREADS
        status = det_records_add(det, bytes.buf, (size_t)bytes.len);
        Py_END_ALLOW_THREADS
        self->is_busy = 0;
        result = status ? raise_status(status, det_records_error(det)) : none();
    }
    PyBuffer_Release(&bytes);
    return result;
}

static det_status add_rows(det_records *det, const char *bytes, size_t len, size_t size)
{
    det_status status = DET_OK;

    for (size_t at = 0; at < len && !status; at += size)
        status = det_records_add(det, bytes + at, size);
    return status;
}

/* (bytes, size): adds as many records of that size as there are. */
static PyObject *writer_add_rows(struct writer *self, PyObject *args)
{
    Py_buffer bytes;
    Py_ssize_t size;
    det_records *det = NULL;
    det_status status;
    PyObject *result = NULL;

    if (!PyArg_ParseTuple(args, "y*n:add_rows", &bytes, &size))
        return NULL;
    if (size <= 0 || bytes.len % size)
        raise_status(DET_INVALID,
                     "these bytes are not a whole number of records of that size");
    else
        det = writer_take(self);
    if (det) {
        Py_BEGIN_ALLOW_THREADS
        status = add_rows(det, bytes.buf, (size_t)bytes.len, (size_t)size);
        Py_END_ALLOW_THREADS
        self->is_busy = 0;
        result = status ? raise_status(status, det_records_error(det)) : none();
    }
    PyBuffer_Release(&bytes);
    return result;
}

static PyObject *writer_finish(struct writer *self, PyObject *unused)
{
    det_records *det = writer_take(self);
    det_status status;

    (void)unused;
    if (!det)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = det_records_finish(det);
    Py_END_ALLOW_THREADS
    self->is_busy = 0;
    if (status)
        return raise_status(status, det_records_error(det));
    self->det = NULL;
    return none();
}

static PyObject *writer_abort(struct writer *self, PyObject *unused)
{
    (void)unused;
    if (!self->det)
        return none();
    if (!writer_take(self))
        return NULL;
    det_records_abort(self->det);
    self->det = NULL;
    self->is_busy = 0;
    return none();
}

static void writer_dealloc(struct writer *self)
{
    det_records_abort(self->det);
    object_free((PyObject *)self);
}

/* ---- reading records ------------------------------------------------------------- */

static det_status record_file_open(PyObject *self, const char *path, char *error)
{
    return det_dataset_records(path, &((struct records *)self)->det, error,
                               SENTENCE_BYTES);
}

static PyObject *records_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    return open_at_path(type, args, kwargs, record_file_open);
}

static Py_ssize_t records_len(struct records *self)
{
    return (Py_ssize_t)det_dataset_items(self->det);
}

static PyObject *records_item(struct records *self, Py_ssize_t index)
{
    char error[SENTENCE_BYTES] = "";
    const void *bytes;
    size_t len;
    det_status status;

    if (index < 0 || index >= records_len(self)) {
        PyErr_SetString(PyExc_IndexError, "there is no such record");
        return NULL;
    }
    status = det_dataset_record(self->det, index, &bytes, &len, error, sizeof(error));
    return status ? raise_status(status, error)
                  : PyBytes_FromStringAndSize(bytes, (Py_ssize_t)len);
}

static void records_dealloc(struct records *self)
{
    det_dataset_free(self->det);
    object_free((PyObject *)self);
}

/* ---- the types ------------------------------------------------------------------- */

static PyMethodDef writer_methods[] = {
    METHOD("add", writer_add, METH_VARARGS),
    METHOD("add_rows", writer_add_rows, METH_VARARGS),
    METHOD("finish", writer_finish, METH_NOARGS),
    METHOD("abort", writer_abort, METH_NOARGS),
    {0},
};

static PyType_Slot writer_slots[] = {
    SLOT(Py_tp_new, writer_new),
    SLOT(Py_tp_dealloc, writer_dealloc),
    SLOT(Py_tp_methods, writer_methods),
    {0},
};

static PyType_Slot records_slots[] = {
    SLOT(Py_tp_new, records_new),
    SLOT(Py_tp_dealloc, records_dealloc),
    SLOT(Py_sq_length, records_len),
    SLOT(Py_sq_item, records_item),
    {0},
};

/* The module holds the types; nothing here needs them. */
int add_data_types(PyObject *module)
{
    PyType_Spec specs[] = {
        {.name = "determined._det.RecordWriter",
         .basicsize = (int)sizeof(struct writer),
         .flags = Py_TPFLAGS_DEFAULT,
         .slots = writer_slots},
        {.name = "determined._det.Records",
         .basicsize = (int)sizeof(struct records),
         .flags = Py_TPFLAGS_DEFAULT,
         .slots = records_slots},
    };

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        PyObject *type = PyType_FromModuleAndSpec(module, &specs[i], NULL);
        int failed = !type || PyModule_AddType(module, (PyTypeObject *)type);

        Py_XDECREF(type);
        if (failed)
            return -1;
    }
    return 0;
}
