/* SPDX-License-Identifier: Apache-2.0 */
/* _det_checkpoint.c - checkpoints for Python: saving and restoring. */
#include "_det.h"

#include <limits.h>
#include <string.h>

enum { METADATA = 4096 }; /* of a checkpoint; the first attempt */

/* ---- calls that may wait for ranks, or ask Python -------------------------------- */

/* One call without the GIL. The thread of the group, if there is a group, is also the
 * one that checks for signals. */
struct call {
    struct distributed *group; /* NULL: none */
    PyThreadState *own;
    PyObject *selector;                 /* NULL: none */
    PyObject *type, *value, *traceback; /* what the selector raised */
};

static PyThreadState **thread_of(struct call *call)
{
    return call->group ? &call->group->thread : &call->own;
}

static void call_begin(struct call *call)
{
    *thread_of(call) = PyEval_SaveThread();
}

static void call_end(struct call *call)
{
    PyEval_RestoreThread(*thread_of(call));
}

/* Calls the Python selector; an exception is kept until the call is over. */
static int select_path(void *self, const char *path)
{
    struct call *call = self;
    PyObject *answer;
    int is_wanted = -1;

    call_end(call);
    answer =
        PyObject_CallFunction(call->selector, "N", PyUnicode_DecodeFSDefault(path));
    if (answer)
        is_wanted = PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    if (is_wanted < 0)
        PyErr_Fetch(&call->type, &call->value, &call->traceback);
    call_begin(call);
    return is_wanted;
}

/* Takes the arguments from Python: None or a callable, and a group. */
static int call_open(struct call *call, struct context *self, PyObject *selector,
                     PyObject *group)
{
    struct types *types = PyType_GetModuleState(Py_TYPE((PyObject *)self));

    if (selector && selector != Py_None && !PyCallable_Check(selector)) {
        PyErr_SetString(PyExc_TypeError, "the selector is not callable");
        return 0;
    }
    if (group && group != Py_None && !PyObject_TypeCheck(group, types->distributed)) {
        PyErr_SetString(PyExc_TypeError, "the group is not a _det.Distributed");
        return 0;
    }
    call->selector = selector == Py_None ? NULL : selector;
    call->group = group == Py_None ? NULL : (struct distributed *)group;
    return !call->group || distributed_take(call->group) != NULL;
}

static det_distributed *call_group(const struct call *call)
{
    return call->group ? call->group->det : NULL;
}

/* Returns `result`, or NULL if a signal or the selector raised meanwhile. */
static PyObject *call_close(struct call *call, PyObject *result)
{
    if (call->type) {
        Py_CLEAR(result);
        PyErr_Clear();
    }
    if (call->group)
        result = distributed_end(call->group, result);
    if (call->type && !PyErr_Occurred())
        PyErr_Restore(call->type, call->value, call->traceback);
    return result;
}

/* Raises the failure of the call, unless an exception is already set. */
static PyObject *call_fail(struct call *call, det_status status, struct context *self)
{
    if (call->type || (call->group && call->group->is_interrupted))
        return NULL;
    return raise_status(status, det_context_error(self->det));
}

/* ---- checkpoints under way ------------------------------------------------------- */

/* The group of the previous checkpoint waits inside the same call. */
static int check_same_group(const struct context *self, const struct call *call)
{
    if (!self->saving || !call->group || self->saving == call->group)
        return 1;
    raise_status(DET_STATE,
                 "another group of ranks has not finished its checkpoint: all of them "
                 "must call checkpoint_wait() first");
    return 0;
}

/* Holds the group of an overlapped checkpoint until its outcome is known. */
static void swap_saving(struct context *self, struct distributed *group)
{
    struct distributed *before = self->saving;

    self->saving = group ? distributed_hold(group) : NULL;
    distributed_let_go(before);
}

static int parse_begin(PyObject *args, PyObject *kwargs,
                       det_checkpoint_options *options, PyObject **ret_group)
{
    static char *names[] = {"steps",      "metadata",     "group",
                            "overlapped", "memory_bytes", NULL};
    long long steps, memory = 0;
    int is_overlapped = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "L|zO$pL:checkpoint_begin", names,
                                     &steps, &options->metadata, ret_group,
                                     &is_overlapped, &memory))
        return 0;
    options->steps = steps;
    options->memory_bytes = memory > 0 ? (uint64_t)memory : 0;
    options->flags = is_overlapped ? DET_CHECKPOINT_OVERLAPPED : 0u;
    return 1;
}

PyObject *context_checkpoint_begin(struct context *self, PyObject *args,
                                   PyObject *kwargs)
{
    struct types *types = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    det_checkpoint_options options = {.size = sizeof(options)};
    struct call call = {0};
    PyObject *group = NULL;
    struct checkpoint *made;
    det_checkpoint *det = NULL;
    det_status status;

    if (!parse_begin(args, kwargs, &options, &group) ||
        !call_open(&call, self, NULL, group))
        return NULL;
    if (!check_same_group(self, &call))
        return call_close(&call, NULL);
    made = (struct checkpoint *)PyType_GenericAlloc(types->checkpoint, 0);
    if (!made || !method_enter(self)) {
        Py_XDECREF((PyObject *)made);
        return call_close(&call, NULL);
    }
    options.group = call_group(&call);
    call_begin(&call);
    status = det_checkpoint_begin_with(self->det, &options, &det);
    call_end(&call);
    if (status) {
        Py_DECREF((PyObject *)made);
        call_fail(&call, status, self);
        method_leave(self);
        return call_close(&call, NULL);
    }
    /* Stays inside the context until it is committed or aborted. */
    made->owner = (struct context *)Py_NewRef((PyObject *)self);
    made->det = det;
    made->is_overlapped = (options.flags & DET_CHECKPOINT_OVERLAPPED) != 0;
    if (call.group) {
        made->group = distributed_hold(call.group);
        swap_saving(self, NULL); /* the previous one is over */
    }
    return call_close(&call, (PyObject *)made);
}

/* Returns the checkpoint and its group for one call. */
static det_checkpoint *checkpoint_take(struct checkpoint *self, struct call *call)
{
    if (!self->det || self->is_busy) {
        raise_status(DET_STATE, self->is_busy
                                    ? "this checkpoint is in use by another thread"
                                    : "this checkpoint is committed or aborted");
        return NULL;
    }
    if (self->group && !distributed_take_again(self->group))
        return NULL;
    call->group = self->group;
    self->is_busy = 1;
    return self->det;
}

static void checkpoint_drop(struct checkpoint *self)
{
    struct distributed *group = self->group;

    self->det = NULL;
    self->group = NULL;
    if (group && self->is_overlapped)
        swap_saving(self->owner, group);
    distributed_let_go(group);
    method_leave(self->owner);
    Py_CLEAR(self->owner);
}

/* Ends a checkpoint; its group, which `call` holds, outlives it. */
static PyObject *checkpoint_end(struct checkpoint *self, struct call *call)
{
    PyObject *group = (PyObject *)call->group;
    PyObject *result;

    Py_XINCREF(group);
    checkpoint_drop(self);
    result = call_close(call, none());
    Py_XDECREF(group);
    return result;
}

static PyObject *checkpoint_put(struct checkpoint *self, PyObject *args)
{
    struct call call = {0};
    PyObject *result = NULL;
    const char *name;
    Py_buffer bytes;
    det_checkpoint *det;

    if (!PyArg_ParseTuple(args, "sy*:put", &name, &bytes))
        return NULL;
    det = checkpoint_take(self, &call);
    if (det) {
        det_status status;

        call_begin(&call);
        status = det_checkpoint_put(det, name, bytes.buf, (size_t)bytes.len);
        call_end(&call);
        self->is_busy = 0;
        result = status ? call_fail(&call, status, self->owner) : none();
        result = call_close(&call, result);
    }
    PyBuffer_Release(&bytes);
    return result;
}

static PyObject *checkpoint_commit(struct checkpoint *self, PyObject *unused)
{
    struct call call = {0};
    det_checkpoint *det = checkpoint_take(self, &call);
    det_status status;

    (void)unused;
    if (!det)
        return NULL;
    call_begin(&call);
    status = det_checkpoint_commit(det);
    call_end(&call);
    self->is_busy = 0;
    if (!status)
        return checkpoint_end(self, &call);
    call_fail(&call, status, self->owner);
    return call_close(&call, NULL);
}

static PyObject *checkpoint_abort(struct checkpoint *self, PyObject *args)
{
    struct call call = {0};
    const char *why = NULL;
    det_checkpoint *det;

    if (!PyArg_ParseTuple(args, "|z:abort", &why))
        return NULL;
    if (!self->det)
        return none();
    det = checkpoint_take(self, &call);
    if (!det)
        return NULL;
    call_begin(&call);
    det_checkpoint_give_up(det, why);
    call_end(&call);
    self->is_busy = 0;
    return checkpoint_end(self, &call);
}

static PyObject *checkpoint_path(struct checkpoint *self, void *unused)
{
    (void)unused;
    if (!self->det)
        return raise_status(DET_STATE, "this checkpoint is committed or aborted");
    return PyUnicode_DecodeFSDefault(det_checkpoint_path(self->det));
}

static PyObject *checkpoint_uuid(struct checkpoint *self, void *unused)
{
    (void)unused;
    if (!self->det)
        return raise_status(DET_STATE, "this checkpoint is committed or aborted");
    return text_or_none(det_checkpoint_uuid(self->det));
}

/* An exception that is already set stays; a failure here cannot be reported. */
static void checkpoint_dealloc(struct checkpoint *self)
{
    PyObject *type, *value, *traceback;
    struct call call = {0};

    PyErr_Fetch(&type, &value, &traceback);
    if (self->det && checkpoint_take(self, &call)) {
        PyObject *result;

        call_begin(&call);
        det_checkpoint_abort(self->det);
        call_end(&call);
        result = checkpoint_end(self, &call);
        Py_XDECREF(result);
    }
    PyErr_Restore(type, value, traceback);
    object_free((PyObject *)self);
}

/* ---- overlapped ones ------------------------------------------------------------- */

enum { WAIT_SLICE_MS = 200 }; /* how often we check for Ctrl-C */

/* A group checks for signals itself, and its ranks wait equally long. */
static det_status wait_slices(struct context *self, struct call *call, int64_t left_ms,
                              det_checkpoint_outcome *outcome)
{
    for (;;) {
        int64_t slice_ms = call->group                               ? left_ms
                           : left_ms >= 0 && left_ms < WAIT_SLICE_MS ? left_ms
                                                                     : WAIT_SLICE_MS;
        det_status status;

        call_begin(call);
        status = det_checkpoint_wait(self->det, slice_ms, outcome);
        call_end(call);
        if (left_ms >= 0)
            left_ms -= slice_ms;
        if (status != DET_TIMEOUT || left_ms == 0 || call->group)
            return status;
        if (PyErr_CheckSignals())
            return status;
    }
}

/* (timeout_ms=-1): returns (uuid, copied bytes, bytes written while training waited) of
 * the checkpoint that has ended; None if it is still being written or there is none. */
PyObject *context_checkpoint_wait(struct context *self, PyObject *args)
{
    det_checkpoint_outcome outcome = {.size = sizeof(outcome)};
    struct call call = {0};
    PyObject *result = NULL;
    long long timeout_ms = -1;
    det_status status;

    if (!PyArg_ParseTuple(args, "|L:checkpoint_wait", &timeout_ms) ||
        !method_enter(self))
        return NULL;
    call.group = self->saving;
    if (call.group && !distributed_take_again(call.group)) {
        method_leave(self);
        return NULL;
    }
    Py_XINCREF((PyObject *)call.group);
    status = wait_slices(self, &call, timeout_ms < 0 ? -1 : timeout_ms, &outcome);
    if (PyErr_Occurred())
        result = NULL;
    else if (status && status != DET_TIMEOUT)
        call_fail(&call, status, self);
    else if (status || !outcome.uuid[0])
        result = none();
    else
        result = Py_BuildValue("(sKK)", outcome.uuid,
                               (unsigned long long)outcome.copied_bytes,
                               (unsigned long long)outcome.waited_bytes);
    if (status != DET_TIMEOUT)
        swap_saving(self, NULL);
    method_leave(self);
    result = call_close(&call, result);
    Py_XDECREF((PyObject *)call.group);
    return result;
}

PyObject *context_checkpoint_reserve(struct context *self, PyObject *args)
{
    long long bytes;

    if (!PyArg_ParseTuple(args, "L:checkpoint_reserve", &bytes))
        return NULL;
    if (bytes < 0)
        return raise_status(DET_INVALID, "the size of a checkpoint cannot be negative");
    return method_enter(self)
               ? method_end(self, det_checkpoint_reserve(self->det, (uint64_t)bytes))
               : NULL;
}

/* ---- checkpoints that are whole -------------------------------------------------- */

/* None or a path; returns false with an exception. */
static int path_or_none(PyObject *given, PyObject **ret_path)
{
    *ret_path = NULL;
    return given == Py_None || PyUnicode_FSConverter(given, ret_path);
}

PyObject *context_checkpoint_store(struct context *self, PyObject *args)
{
    det_checkpoint_options options = {.size = sizeof(options)};
    PyObject *given, *directory, *selector = NULL, *group = NULL, *result = NULL;
    char uuid[DET_UUID_SIZE] = "";
    struct call call = {0};
    long long steps;
    det_status status;

    if (!PyArg_ParseTuple(args, "OL|zOO:checkpoint_store", &given, &steps,
                          &options.metadata, &selector, &group) ||
        !path_or_none(given, &directory))
        return NULL;
    if (!call_open(&call, self, selector, group)) {
        Py_XDECREF(directory);
        return NULL;
    }
    if (method_enter(self)) {
        const char *path = directory ? PyBytes_AsString(directory) : NULL;

        options.steps = steps;
        options.group = call_group(&call);
        options.selector = call.selector ? select_path : NULL;
        options.selector_self = &call;
        call_begin(&call);
        status = det_checkpoint_store_with(self->det, path, &options, uuid);
        call_end(&call);
        result = status ? call_fail(&call, status, self) : text_or_none(uuid);
        method_leave(self);
    }
    Py_XDECREF(directory);
    return call_close(&call, result);
}

static det_restore_options restore_options(struct call *call, unsigned flags)
{
    return (det_restore_options){
        .size = sizeof(det_restore_options),
        .flags = flags,
        .group = call_group(call),
        .selector = call->selector ? select_path : NULL,
        .selector_self = call,
    };
}

PyObject *context_checkpoint_restore(struct context *self, PyObject *args)
{
    char path[PATH_MAX + 1] = "";
    PyObject *selector = NULL, *group = NULL, *result = NULL;
    const char *uuid = NULL;
    unsigned flags = 0;
    struct call call = {0};
    det_restore_options options;
    det_status status;

    if (!PyArg_ParseTuple(args, "|zIOO:checkpoint_restore", &uuid, &flags, &selector,
                          &group) ||
        !call_open(&call, self, selector, group))
        return NULL;
    options = restore_options(&call, flags);
    if (method_enter(self)) {
        call_begin(&call);
        status =
            det_checkpoint_restore_with(self->det, uuid, &options, path, sizeof(path));
        call_end(&call);
        result =
            status ? call_fail(&call, status, self) : PyUnicode_DecodeFSDefault(path);
        method_leave(self);
    }
    return call_close(&call, result);
}

PyObject *context_checkpoint_download(struct context *self, PyObject *args)
{
    PyObject *directory = NULL, *selector = NULL, *group = NULL, *result = NULL;
    const char *uuid = NULL;
    unsigned flags = 0;
    struct call call = {0};
    det_restore_options options;
    det_status status;

    if (!PyArg_ParseTuple(args, "zO&|IOO:checkpoint_download", &uuid,
                          PyUnicode_FSConverter, &directory, &flags, &selector, &group))
        return NULL;
    if (!call_open(&call, self, selector, group)) {
        Py_DECREF(directory);
        return NULL;
    }
    options = restore_options(&call, flags);
    if (method_enter(self)) {
        const char *path = PyBytes_AsString(directory);

        call_begin(&call);
        status = det_checkpoint_download_with(self->det, uuid, &options, path);
        call_end(&call);
        result = status ? call_fail(&call, status, self) : none();
        method_leave(self);
    }
    Py_DECREF(directory);
    return call_close(&call, result);
}

PyObject *context_checkpoint_delete(struct context *self, PyObject *args)
{
    const char *uuid;
    det_status status;

    if (!PyArg_ParseTuple(args, "s:checkpoint_delete", &uuid) || !method_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = det_checkpoint_delete(self->det, uuid);
    Py_END_ALLOW_THREADS
    return method_end(self, status);
}

/* The text grows between two calls only if the checkpoint is modified meanwhile. */
PyObject *context_checkpoint_metadata(struct context *self, PyObject *args)
{
    char few[METADATA] = "";
    char *text = few;
    size_t size = sizeof(few), len = 0;
    const char *uuid = NULL;
    det_status status;

    if (!PyArg_ParseTuple(args, "|z:checkpoint_metadata", &uuid) || !method_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = det_checkpoint_metadata(self->det, uuid, text, size, &len);
    Py_END_ALLOW_THREADS
    if (!status && len >= size) {
        size = len + 1;
        text = PyMem_Malloc(size);
        Py_BEGIN_ALLOW_THREADS
        if (text)
            status = det_checkpoint_metadata(self->det, uuid, text, size, &len);
        Py_END_ALLOW_THREADS
    }
    return method_end_text(self, status, text, few);
}

/* ---- the type -------------------------------------------------------------------- */

static PyMethodDef checkpoint_methods[] = {
    METHOD("put", checkpoint_put, METH_VARARGS),
    METHOD("commit", checkpoint_commit, METH_NOARGS),
    METHOD("abort", checkpoint_abort, METH_VARARGS),
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
