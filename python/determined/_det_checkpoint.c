/* SPDX-License-Identifier: Apache-2.0 */
/* _det_checkpoint.c - checkpoints for Python: saving and the way back. */
#include "_det.h"

#include <limits.h>
#include <string.h>

enum { METADATA = 4096 }; /* of a checkpoint, at the first attempt */

/* ---- checkpoints under way ------------------------------------------------------- */

PyObject *context_checkpoint_begin(struct context *self, PyObject *args)
{
    struct types *types = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    const char *metadata = NULL;
    long long steps;
    struct checkpoint *made;
    det_checkpoint *det = NULL;
    det_status status;

    if (!PyArg_ParseTuple(args, "L|z:checkpoint_begin", &steps, &metadata))
        return NULL;
    made = (struct checkpoint *)PyType_GenericAlloc(types->checkpoint, 0);
    if (!made || !enter(self)) {
        Py_XDECREF((PyObject *)made);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = det_checkpoint_begin(self->det, steps, metadata, &det);
    Py_END_ALLOW_THREADS
    if (status) {
        Py_DECREF((PyObject *)made);
        return end(self, status);
    }
    /* It stays inside of the context until it is committed or aborted. */
    made->owner = (struct context *)Py_NewRef((PyObject *)self);
    made->det = det;
    return (PyObject *)made;
}

static det_checkpoint *checkpoint_take(struct checkpoint *self)
{
    if (!self->det || self->is_busy) {
        fail(DET_STATE, self->is_busy ? "this checkpoint is in use by another thread"
                                      : "this checkpoint is committed or aborted");
        return NULL;
    }
    self->is_busy = 1;
    return self->det;
}

static void checkpoint_drop(struct checkpoint *self)
{
    self->det = NULL;
    leave(self->owner);
    Py_CLEAR(self->owner);
}

static PyObject *checkpoint_commit(struct checkpoint *self, PyObject *unused)
{
    det_checkpoint *det = checkpoint_take(self);
    det_status status;

    (void)unused;
    if (!det)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = det_checkpoint_commit(det);
    Py_END_ALLOW_THREADS
    self->is_busy = 0;
    if (status)
        return fail(status, det_context_error(self->owner->det));
    checkpoint_drop(self);
    return none();
}

static PyObject *checkpoint_abort(struct checkpoint *self, PyObject *unused)
{
    det_checkpoint *det = self->det ? checkpoint_take(self) : NULL;

    (void)unused;
    if (!det)
        return self->det ? NULL : none();
    Py_BEGIN_ALLOW_THREADS
    det_checkpoint_abort(det);
    Py_END_ALLOW_THREADS
    self->is_busy = 0;
    checkpoint_drop(self);
    return none();
}

static PyObject *checkpoint_path(struct checkpoint *self, void *unused)
{
    (void)unused;
    if (!self->det)
        return fail(DET_STATE, "this checkpoint is committed or aborted");
    return PyUnicode_DecodeFSDefault(det_checkpoint_path(self->det));
}

static PyObject *checkpoint_uuid(struct checkpoint *self, void *unused)
{
    (void)unused;
    if (!self->det)
        return fail(DET_STATE, "this checkpoint is committed or aborted");
    return text_or_none(det_checkpoint_uuid(self->det));
}

static void checkpoint_dealloc(struct checkpoint *self)
{
    if (self->det) {
        det_checkpoint_abort(self->det);
        checkpoint_drop(self);
    }
    give_back((PyObject *)self);
}

/* ---- checkpoints that are whole -------------------------------------------------- */

PyObject *context_checkpoint_store(struct context *self, PyObject *args)
{
    PyObject *directory = NULL;
    const char *metadata = NULL;
    char uuid[DET_UUID_SIZE] = "";
    PyObject *result = NULL;
    long long steps;
    det_status status;

    if (!PyArg_ParseTuple(args, "O&L|z:checkpoint_store", PyUnicode_FSConverter,
                          &directory, &steps, &metadata))
        return NULL;
    if (enter(self)) {
        const char *path = PyBytes_AsString(directory);

        Py_BEGIN_ALLOW_THREADS
        status = det_checkpoint_store(self->det, path, steps, metadata, uuid);
        Py_END_ALLOW_THREADS
        result =
            status ? fail(status, det_context_error(self->det)) : text_or_none(uuid);
        leave(self);
    }
    Py_DECREF(directory);
    return result;
}

PyObject *context_checkpoint_restore(struct context *self, PyObject *args)
{
    char path[PATH_MAX + 1] = "";
    const char *uuid = NULL;
    int is_unchecked = 0;
    PyObject *result;
    det_status status;

    if (!PyArg_ParseTuple(args, "|zp:checkpoint_restore", &uuid, &is_unchecked) ||
        !enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = det_checkpoint_restore(
        self->det, uuid, is_unchecked ? DET_RESTORE_UNCHECKED : 0, path, sizeof(path));
    Py_END_ALLOW_THREADS
    result = status ? fail(status, det_context_error(self->det))
                    : PyUnicode_DecodeFSDefault(path);
    leave(self);
    return result;
}

PyObject *context_checkpoint_download(struct context *self, PyObject *args)
{
    PyObject *directory = NULL, *result = NULL;
    const char *uuid = NULL;
    int is_unchecked = 0;
    det_status status;

    if (!PyArg_ParseTuple(args, "zO&|p:checkpoint_download", &uuid,
                          PyUnicode_FSConverter, &directory, &is_unchecked))
        return NULL;
    if (enter(self)) {
        const char *path = PyBytes_AsString(directory);

        Py_BEGIN_ALLOW_THREADS
        status = det_checkpoint_download(
            self->det, uuid, is_unchecked ? DET_RESTORE_UNCHECKED : 0, path);
        Py_END_ALLOW_THREADS
        result = end(self, status);
    }
    Py_DECREF(directory);
    return result;
}

/* The text grows between two calls only when somebody writes into the checkpoint. */
PyObject *context_checkpoint_metadata(struct context *self, PyObject *args)
{
    char few[METADATA] = "";
    char *text = few;
    size_t size = sizeof(few), len = 0;
    const char *uuid = NULL;
    PyObject *result;
    det_status status;

    if (!PyArg_ParseTuple(args, "|z:checkpoint_metadata", &uuid) || !enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = det_checkpoint_metadata(self->det, uuid, text, size, &len);
    Py_END_ALLOW_THREADS
    if (!status && len >= size) {
        size = len + 1;
        text = PyMem_Malloc(size);
        if (text)
            status = det_checkpoint_metadata(self->det, uuid, text, size, &len);
    }
    if (!text)
        result = PyErr_NoMemory();
    else if (status)
        result = fail(status, det_context_error(self->det));
    else
        result = text_or_none(text);
    if (text != few)
        PyMem_Free(text);
    leave(self);
    return result;
}

/* ---- the type -------------------------------------------------------------------- */

static PyMethodDef checkpoint_methods[] = {
    METHOD("commit", checkpoint_commit, METH_NOARGS),
    METHOD("abort", checkpoint_abort, METH_NOARGS),
    {0},
};

static PyGetSetDef checkpoint_members[] = {
    {"path", (getter)checkpoint_path, NULL, NULL, NULL},
    {"uuid", (getter)checkpoint_uuid, NULL, NULL, NULL},
    {0},
};

PyType_Slot checkpoint_slots[] = {
    SLOT(Py_tp_dealloc, checkpoint_dealloc),
    SLOT(Py_tp_methods, checkpoint_methods),
    SLOT(Py_tp_getset, checkpoint_members),
    {0},
};
