/* SPDX-License-Identifier: Apache-2.0 */
/* _det_run.c - the trial for Python: what the search wants of it, and its metadata. */
#include "_det.h"

enum { NOTES = 4096 }; /* the first attempt */

/* ---- the searcher ---------------------------------------------------------------- */

/* (count, enum det_unit); None if the configuration does not say. */
PyObject *context_searcher_length(struct context *self, PyObject *unused)
{
    det_operation operation = {.size = sizeof(operation)};
    det_status status;
    PyObject *result;

    (void)unused;
    if (!method_enter(self))
        return NULL;
    status = det_searcher_operation(self->det, &operation);
    if (status == DET_NOT_FOUND)
        result = none();
    else if (status)
        result = raise_status(status, det_context_error(self->det));
    else
        result = Py_BuildValue("(Li)", (long long)operation.length.count,
                               operation.length.unit);
    method_leave(self);
    return result;
}

PyObject *context_searcher_progress(struct context *self, PyObject *args)
{
    det_operation operation = {.size = sizeof(operation)};
    det_status status;
    double done;

    if (!PyArg_ParseTuple(args, "d:searcher_progress", &done) || !method_enter(self))
        return NULL;
    status = det_searcher_operation(self->det, &operation);
    if (!status)
        status = det_operation_progress(self->det, &operation, done);
    return method_end(self, status);
}

/* A float; None if there is none yet. */
PyObject *context_searcher_best(struct context *self, PyObject *unused)
{
    det_context *det = method_enter(self);
    double metric = 0;
    det_status status;
    PyObject *result;

    (void)unused;
    if (!det)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = det_searcher_best(det, &metric);
    Py_END_ALLOW_THREADS
    if (status == DET_NOT_FOUND)
        result = none();
    else if (status)
        result = raise_status(status, det_context_error(det));
    else
        result = PyFloat_FromDouble(metric);
    method_leave(self);
    return result;
}

/* ---- notes ----------------------------------------------------------------------- */

/* The first call changes the metadata if `added` is not NULL; the second call, with
 * enough room, only reads. */
static PyObject *run_metadata(struct context *self, const char *added)
{
    char few[NOTES] = "";
    char *text = few;
    size_t size = sizeof(few), len = 0;
    det_context *det = method_enter(self);
    det_status status;

    if (!det)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = added ? det_metadata_set(det, added, text, size, &len)
                   : det_metadata_get(det, text, size, &len);
    Py_END_ALLOW_THREADS
    while (!status && text && len >= size) {
        if (text != few)
            PyMem_Free(text);
        size = len + 1;
        text = PyMem_Malloc(size);
        if (!text)
            break;
        Py_BEGIN_ALLOW_THREADS
        status = det_metadata_get(det, text, size, &len);
        Py_END_ALLOW_THREADS
    }
    return method_end_text(self, status, text, few);
}

PyObject *context_metadata_get(struct context *self, PyObject *unused)
{
    (void)unused;
    return run_metadata(self, NULL);
}

PyObject *context_metadata_set(struct context *self, PyObject *args)
{
    const char *added;

    if (!PyArg_ParseTuple(args, "s:metadata_set", &added))
        return NULL;
    return run_metadata(self, added);
}
