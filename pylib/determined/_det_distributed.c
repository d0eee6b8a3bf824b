/* SPDX-License-Identifier: Apache-2.0 */
/* _det_distributed.c - the processes of one training for Python: bytes in, bytes out.
 *
 * core/_distributed.py gives the bytes their meaning. The GIL is released while a call
 * waits, and taken a few times per second to check for Ctrl-C, which ends the group and
 * so informs the other ranks. */
#include "_det.h"

enum { SENTENCE_BYTES = 1024 };

/* ---- waiting --------------------------------------------------------------------- */

static int look_for_signals(void *arg)
{
    struct distributed *self = arg;

    PyEval_RestoreThread(self->thread);
    self->is_interrupted = PyErr_CheckSignals() != 0;
    self->thread = PyEval_SaveThread();
    return self->is_interrupted;
}

det_distributed *distributed_take_again(struct distributed *self)
{
    if (!self->det || self->is_busy) {
        raise_status(DET_STATE, self->is_busy ? "the group is in use by another thread"
                                              : "the group of processes is closed");
        return NULL;
    }
    self->is_busy = 1;
    return self->det;
}

det_distributed *distributed_take(struct distributed *self)
{
    if (!self->is_closed)
        return distributed_take_again(self);
    raise_status(DET_STATE, "the group of processes is closed");
    return NULL;
}

static void end_group(struct distributed *self)
{
    det_distributed *det = self->det;

    self->det = NULL;
    Py_BEGIN_ALLOW_THREADS
    det_distributed_close(det);
    Py_END_ALLOW_THREADS
}

PyObject *distributed_end(struct distributed *self, PyObject *result)
{
    self->is_busy = 0;
    if (self->is_closed && !self->checkpoints)
        end_group(self);
    if (!self->is_interrupted)
        return result;
    self->is_interrupted = 0;
    Py_XDECREF(result);
    return NULL;
}

struct distributed *distributed_hold(struct distributed *self)
{
    self->checkpoints++;
    return (struct distributed *)Py_NewRef((PyObject *)self);
}

void distributed_let_go(struct distributed *self)
{
    if (!self)
        return;
    self->checkpoints--;
    if (self->is_closed && !self->is_busy && !self->checkpoints)
        end_group(self);
    Py_DECREF((PyObject *)self);
}

/* Nothing may be called while an exception is set: the exception is the result. */
static PyObject *group_failure(struct distributed *self, det_status status)
{
    if (!self->is_interrupted)
        raise_status(status, det_distributed_error(self->det));
    return distributed_end(self, NULL);
}

/* ---- operations ------------------------------------------------------------------ */

static PyObject *bytes_of(const det_part *part)
{
    return PyBytes_FromStringAndSize(part->data, (Py_ssize_t)part->len);
}

static PyObject *list_of(const det_part *parts, int count)
{
    PyObject *list = PyList_New(count);

    for (int i = 0; list && i < count; i++) {
        PyObject *bytes = bytes_of(&parts[i]);

        if (!bytes || PyList_SetItem(list, i, bytes))
            Py_CLEAR(list);
    }
    return list;
}

typedef det_status gather_fn(det_distributed *group, const void *bytes, size_t len,
                             const det_part **ret_parts);

static PyObject *gather_bytes(struct distributed *self, PyObject *args,
                              gather_fn *globally, gather_fn *locally)
{
    const det_part *parts = NULL;
    det_distributed *det;
    const char *bytes;
    Py_ssize_t len;
    int is_local = 0;
    const det_ranks *ranks;
    det_status status;

    if (!PyArg_ParseTuple(args, "y#|p", &bytes, &len, &is_local))
        return NULL;
    det = distributed_take(self);
    if (!det)
        return NULL;
    self->thread = PyEval_SaveThread();
    status = (is_local ? locally : globally)(det, bytes, (size_t)len, &parts);
    PyEval_RestoreThread(self->thread);
    if (status)
        return group_failure(self, status);
    ranks = det_distributed_ranks(det);
    if (self->is_interrupted || !parts)
        return distributed_end(self, self->is_interrupted ? NULL : none());
    return distributed_end(self,
                           list_of(parts, is_local ? ranks->local_size : ranks->size));
}

/* (bytes, local=False): returns a list by rank at rank 0, None elsewhere. */
static PyObject *distributed_gather(struct distributed *self, PyObject *args)
{
    return gather_bytes(self, args, det_distributed_gather,
                        det_distributed_gather_local);
}

/* (bytes, local=False): returns a list by rank. */
static PyObject *distributed_allgather(struct distributed *self, PyObject *args)
{
    return gather_bytes(self, args, det_distributed_allgather,
                        det_distributed_allgather_local);
}

/* (bytes or None, local=False): returns the bytes of rank 0. */
static PyObject *distributed_broadcast(struct distributed *self, PyObject *args)
{
    det_distributed *det;
    const char *bytes = NULL;
    Py_ssize_t len = 0;
    det_part part = {0};
    int is_local = 0;
    det_status status;

    if (!PyArg_ParseTuple(args, "z#|p:broadcast", &bytes, &len, &is_local))
        return NULL;
    det = distributed_take(self);
    if (!det)
        return NULL;
    self->thread = PyEval_SaveThread();
    status = is_local ? det_distributed_broadcast_local(det, bytes, (size_t)len, &part)
                      : det_distributed_broadcast(det, bytes, (size_t)len, &part);
    PyEval_RestoreThread(self->thread);
    if (status)
        return group_failure(self, status);
    return distributed_end(self, self->is_interrupted ? NULL : bytes_of(&part));
}

static PyObject *distributed_barrier(struct distributed *self, PyObject *args)
{
    det_distributed *det;
    int is_local = 0;
    det_status status;

    if (!PyArg_ParseTuple(args, "|p:barrier", &is_local))
        return NULL;
    det = distributed_take(self);
    if (!det)
        return NULL;
    self->thread = PyEval_SaveThread();
    status =
        is_local ? det_distributed_barrier_local(det) : det_distributed_barrier(det);
    PyEval_RestoreThread(self->thread);
    return status ? group_failure(self, status) : distributed_end(self, none());
}

/* Waits for the other ranks, if there are any. Alone it is one load from memory, and
 * releasing the GIL would cost many times as much. */
static det_status ask_preempted(struct distributed *self, det_context *context,
                                int mode, int *ret_preempted)
{
    det_status status;

    if (det_distributed_ranks(self->det)->size == 1)
        return det_distributed_preempted(self->det, context, mode, ret_preempted);
    self->thread = PyEval_SaveThread();
    status = det_distributed_preempted(self->det, context, mode, ret_preempted);
    PyEval_RestoreThread(self->thread);
    return status;
}

/* (context, enum det_preempt_mode): whether to stop. */
static PyObject *distributed_preempted(struct distributed *self, PyObject *const *args,
                                       Py_ssize_t count)
{
    struct types *types = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    struct context *context;
    int is_preempted = 0;
    det_status status;
    long mode;

    if (count != 2 || !PyObject_TypeCheck(args[0], types->context)) {
        PyErr_SetString(PyExc_TypeError, "preempted() takes a context and a mode");
        return NULL;
    }
    mode = PyLong_AsLong(args[1]);
    if (mode == -1 && PyErr_Occurred())
        return NULL;
    context = (struct context *)args[0];
    if (!method_enter(context))
        return NULL;
    if (!distributed_take(self)) {
        method_leave(context);
        return NULL;
    }
    status = ask_preempted(self, context->det, (int)mode, &is_preempted);
    method_leave(context);
    return status ? group_failure(self, status)
                  : distributed_end(self, PyBool_FromLong(is_preempted));
}

/* (sentence): ends the group for all ranks. */
static PyObject *distributed_fail(struct distributed *self, PyObject *args)
{
    const char *why;
    det_distributed *det;

    if (!PyArg_ParseTuple(args, "s:fail", &why))
        return NULL;
    det = distributed_take(self);
    if (!det)
        return NULL;
    det_distributed_fail(det, DET_FAILED, why);
    return distributed_end(self, none());
}

/* ---- coming and going ------------------------------------------------------------ */

static PyObject *distributed_close(struct distributed *self, PyObject *unused)
{
    (void)unused;
    self->is_closed = 1;
    if (!self->is_busy && !self->checkpoints)
        end_group(self);
    return none();
}

static void distributed_dealloc(struct distributed *self)
{
    det_distributed_close(self->det);
    object_free((PyObject *)self);
}

/* (rank, size, local_rank, local_size, cross_rank, cross_size) */
static PyObject *distributed_ranks(struct distributed *self, void *unused)
{
    const det_ranks *ranks = det_distributed_ranks(self->det);

    (void)unused;
    if (!self->det)
        return raise_status(DET_STATE, "the group of processes is closed");
    return Py_BuildValue("(iiiiii)", ranks->rank, ranks->size, ranks->local_rank,
                         ranks->local_size, ranks->cross_rank, ranks->cross_size);
}

static int parse_options(PyObject *args, PyObject *kwargs,
                         det_distributed_options *options)
{
    static char *names[] = {"from_",       "ranks",  "chief",           "port",
                            "tcp",         "secret", "open_timeout_ms", "timeout_ms",
                            "limit_bytes", NULL};
    long long open_ms = 0, timeout_ms = 0;
    Py_ssize_t limit = 0;
    int is_tcp = 0;
    det_ranks *ranks = &options->ranks;

    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "i|(iiiiii)zi$pzLLn:distributed", names, &options->from,
            &ranks->rank, &ranks->size, &ranks->local_rank, &ranks->local_size,
            &ranks->cross_rank, &ranks->cross_size, &options->chief, &options->port,
            &is_tcp, &options->secret, &open_ms, &timeout_ms, &limit))
        return 0;
    options->flags = is_tcp ? DET_DISTRIBUTED_TCP : 0u;
    options->open_timeout_ms = open_ms;
    options->timeout_ms = timeout_ms;
    options->limit_bytes = limit > 0 ? (size_t)limit : 0;
    return 1;
}

PyObject *module_distributed(PyObject *module, PyObject *args, PyObject *kwargs)
{
    struct types *types = PyModule_GetState(module);
    char error[SENTENCE_BYTES] = "";
    det_distributed_options options = {.size = sizeof(options),
                                       .error = error,
                                       .error_size = sizeof(error),
                                       .interrupted = look_for_signals};
    struct distributed *self;
    det_status status;

    if (!parse_options(args, kwargs, &options))
        return NULL;
    self = (struct distributed *)PyType_GenericAlloc(types->distributed, 0);
    if (!self)
        return NULL;
    options.interrupted_arg = self;
    self->thread = PyEval_SaveThread();
    status = det_distributed_open(&options, &self->det);
    PyEval_RestoreThread(self->thread);
    if (!status && !self->is_interrupted)
        return (PyObject *)self;
    if (!self->is_interrupted)
        raise_status(status, error);
    Py_DECREF((PyObject *)self);
    return NULL;
}

/* ---- the type -------------------------------------------------------------------- */

static PyMethodDef distributed_methods[] = {
    METHOD("gather", distributed_gather, METH_VARARGS),
    METHOD("allgather", distributed_allgather, METH_VARARGS),
    METHOD("broadcast", distributed_broadcast, METH_VARARGS),
    METHOD("barrier", distributed_barrier, METH_VARARGS),
    METHOD("preempted", distributed_preempted, METH_FASTCALL),
    METHOD("fail", distributed_fail, METH_VARARGS),
    METHOD("close", distributed_close, METH_NOARGS),
    {0},
};

static PyGetSetDef distributed_members[] = {
    {"ranks", (getter)distributed_ranks, NULL, NULL, NULL},
    {0},
};

static PyType_Slot distributed_slots[] = {
    SLOT(Py_tp_dealloc, distributed_dealloc),
    SLOT(Py_tp_methods, distributed_methods),
    SLOT(Py_tp_getset, distributed_members),
    {0},
};

PyTypeObject *make_distributed_type(PyObject *module)
{
    PyType_Spec spec = {.name = "determined._det.Distributed",
                        .basicsize = (int)sizeof(struct distributed),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = distributed_slots};

    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
