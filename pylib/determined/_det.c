/* SPDX-License-Identifier: Apache-2.0 */
/* _det.c - libdet for Python: the module determined._det.
 *
 * This module decides nothing: each method checks types, calls one function of
 * include/det, and turns its status into an exception (determined/errors.py) with
 * libdet's own sentence. One binary serves every Python from 3.11 on, because it uses
 * only the limited API. libdet is linked in, so nothing has to be found at run time.
 *
 *   Context     a det_context         made by open()
 *   Checkpoint  one in progress       made by Context.checkpoint_begin()
 *   Client      a det_client          made by client()
 *   Distributed a det_distributed     made by distributed()
 *   Trainer     a det_trainer         made by Context.trainer()
 *
 * The interpreter's lock (GIL) is released around every call that may wait. So one
 * thread may close a context while another thread is inside it: `users` counts the
 * threads inside, and the last one to leave a closed context ends it. A checkpoint in
 * progress counts as a user. All counts change under the GIL only. */
#include "_det.h"

#include <stdint.h>
#include <string.h>

enum { SENTENCE = 1024 }; /* of a failure before there is a context */

struct client {
    PyObject_HEAD
    det_client *det;
    int is_busy;
};

/* ---- failures -------------------------------------------------------------------- */

/* Raises the exception of determined.errors for the status. Sentences have a fixed
 * size, so their last character may be incomplete: it is replaced. */
PyObject *raise_status(det_status status, const char *text)
{
    PyObject *errors = PyImport_ImportModule("determined.errors");
    PyObject *sentence =
        PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    PyObject *error = NULL;

    if (errors && sentence)
        error = PyObject_CallMethod(errors, "of_status", "sO", det_status_name(status),
                                    sentence);
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    Py_XDECREF(sentence);
    Py_XDECREF(errors);
    return NULL;
}

PyObject *none(void)
{
    return Py_NewRef(Py_None);
}

PyObject *text_or_none(const char *text)
{
    return text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace")
                : none();
}

/* ---- contexts: coming and going -------------------------------------------------- */

/* Returns the context for one call; NULL and an exception if it is closed. */
det_context *method_enter(struct context *self)
{
    if (self->is_closed || !self->det) {
        raise_status(DET_STATE, "this context is closed");
        return NULL;
    }
    self->users++;
    return self->det;
}

/* May wait for its threads. A checkpoint that the ranks never finished is aborted, and
 * its group is released. */
static void end_context(struct context *self, det_context *det)
{
    struct distributed *saving = self->saving;

    self->saving = NULL;
    Py_BEGIN_ALLOW_THREADS
    det_close(det);
    Py_END_ALLOW_THREADS
    distributed_let_go(saving);
}

void method_leave(struct context *self)
{
    det_context *det = self->det;

    self->users--;
    if (!self->is_closed || self->users)
        return;
    self->det = NULL;
    end_context(self, det);
}

/* Ends a call that returns nothing. */
PyObject *method_end(struct context *self, det_status status)
{
    PyObject *result =
        status ? raise_status(status, det_context_error(self->det)) : none();

    method_leave(self);
    return result;
}

PyObject *method_end_text(struct context *self, det_status status, char *text,
                          const char *few)
{
    PyObject *result = !text    ? PyErr_NoMemory()
                       : status ? raise_status(status, det_context_error(self->det))
                                : text_or_none(text);

    if (text != few)
        PyMem_Free(text);
    method_leave(self);
    return result;
}

static PyObject *module_open(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"directory", "hparams",   "config", "checkpoint_storage",
                            "quiet",     "task_only", "follow", "tensorboard",
                            "apart",     NULL};
    struct types *types = PyModule_GetState(module);
    char error[SENTENCE] = "";
    det_init_options options = {
        .size = sizeof(options), .error = error, .error_size = sizeof(error)};
    int is_quiet = 0, is_task_only = 0, is_follower = 0, has_board = 0;
    int is_apart = 0;
    struct context *self;
    det_status status;

    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "|zzzz$ppppp:open", names, &options.directory,
            &options.hparams, &options.config, &options.checkpoint_storage, &is_quiet,
            &is_task_only, &is_follower, &has_board, &is_apart))
        return NULL;
    options.flags =
        (is_quiet ? DET_INIT_QUIET : 0u) | (is_task_only ? DET_INIT_TASK_ONLY : 0u) |
        (is_follower ? DET_INIT_FOLLOW : 0u) | (has_board ? DET_INIT_TENSORBOARD : 0u) |
        (is_apart ? DET_INIT_APART | DET_INIT_NO_LOGS : 0u);
    self = (struct context *)PyType_GenericAlloc(types->context, 0);
    if (!self)
        return NULL;
    exit_prepare();
    Py_BEGIN_ALLOW_THREADS
    status = det_init(&options, &self->det);
    Py_END_ALLOW_THREADS
    if (!status)
        return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return raise_status(status, error);
}

static PyObject *context_close(struct context *self, PyObject *unused)
{
    (void)unused;
    if (!self->is_closed && self->det) {
        self->users++;
        self->is_closed = 1;
        method_leave(self);
    }
    return none();
}

static PyObject *context_interrupted(struct context *self, PyObject *unused)
{
    (void)unused;
    if (!self->is_closed)
        det_interrupted(self->det);
    return none();
}

/* Frees an object of a type of this module. */
void object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    free_object(self);
    Py_DECREF((PyObject *)type);
}

static void context_dealloc(struct context *self)
{
    end_context(self, self->det);
    object_free((PyObject *)self);
}

/* ---- where we are ---------------------------------------------------------------- */

static PyObject *slots_of(const det_info *info)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < info->slot_count; i++) {
        PyObject *slot = PyLong_FromLongLong(info->slot_ids[i]);

        if (!slot || PyList_Append(list, slot))
            Py_CLEAR(list);
        Py_XDECREF(slot);
    }
    return list;
}

/* Takes the reference to `value`. An earlier failure stays. */
static int put_item(PyObject *dict, int failed, const char *name, PyObject *value)
{
    if (!failed && (!value || PyDict_SetItemString(dict, name, value)))
        failed = 1;
    Py_XDECREF(value);
    return failed;
}

static int put_words(PyObject *dict, const det_info *info)
{
    const struct {
        const char *name;
        const char *value;
    } words[] = {
        {"master_url", info->master_url},
        {"cluster_id", info->cluster_id},
        {"agent_id", info->agent_id},
        {"task_id", info->task_id},
        {"task_type", info->task_type},
        {"allocation_id", info->allocation_id},
        {"latest_checkpoint", info->latest_checkpoint},
        {"hparams", info->hparams},
        {"config", info->config},
        {"data", info->data},
        {"directory", info->directory},
    };
    int failed = 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        failed = put_item(dict, failed, words[i].name, text_or_none(words[i].value));
    return failed;
}

static int put_numbers(PyObject *dict, const det_info *info)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"experiment_id", info->experiment_id},
        {"trial_id", info->trial_id},
        {"run_id", info->run_id},
        {"seed", info->seed},
        {"node_rank", info->node_rank},
        {"node_count", info->node_count},
        {"rank", info->rank},
        {"world_size", info->world_size},
        {"local_rank", info->local_rank},
        {"local_size", info->local_size},
        {"steps_completed", info->steps_completed},
    };
    int failed = 0;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        failed = put_item(dict, failed, numbers[i].name,
                          PyLong_FromLongLong(numbers[i].value));
    return failed;
}

static PyObject *info_dict(const det_info *info)
{
    PyObject *dict = PyDict_New();
    int failed = !dict;

    if (!failed)
        failed = put_words(dict, info) || put_numbers(dict, info);
    if (!failed)
        failed = put_item(dict, failed, "slot_ids", slots_of(info));
    if (!failed)
        failed = put_item(dict, failed, "is_on_cluster",
                          PyBool_FromLong(info->is_on_cluster));
    if (!failed)
        failed = put_item(dict, failed, "is_trial", PyBool_FromLong(info->is_trial));
    if (failed)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *context_info(struct context *self, PyObject *unused)
{
    det_context *det = method_enter(self);
    const det_info *info;
    PyObject *result;

    (void)unused;
    if (!det)
        return NULL;
    info = det_get_info(det);
    result = info ? info_dict(info) : raise_status(DET_STATE, det_context_error(det));
    method_leave(self);
    return result;
}

/* ---- stopping -------------------------------------------------------------------- */

static PyObject *context_preempted(struct context *self, PyObject *unused)
{
    (void)unused;
    if (self->is_closed || !self->det)
        return raise_status(DET_STATE, "this context is closed");
    return PyBool_FromLong(det_preempted(self->det));
}

static PyObject *context_preempt_ack(struct context *self, PyObject *args)
{
    long long timeout_ms = 0;
    det_context *det;
    det_status status;

    if (!PyArg_ParseTuple(args, "|L:preempt_ack", &timeout_ms))
        return NULL;
    det = method_enter(self);
    if (!det)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = det_preempt_ack(det, timeout_ms);
    Py_END_ALLOW_THREADS
    return method_end(self, status);
}

/* ---- calls to the master --------------------------------------------------------- */

static PyObject *module_client(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"master", "as_task", NULL};
    struct types *types = PyModule_GetState(module);
    char error[SENTENCE] = "";
    det_client_options options = {
        .size = sizeof(options), .error = error, .error_size = sizeof(error)};
    struct client *self;
    int is_task = 0;
    det_status status;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|z$p:client", names,
                                     &options.master, &is_task))
        return NULL;
    options.identity = is_task ? DET_AS_TASK : DET_AS_USER;
    self = (struct client *)PyType_GenericAlloc(types->client, 0);
    if (!self)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = det_client_open(&options, &self->det);
    Py_END_ALLOW_THREADS
    if (!status)
        return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return raise_status(status, error);
}

static PyObject *client_call(struct client *self, PyObject *args)
{
    const char *method, *path, *body = NULL;
    det_reply *reply = NULL;
    PyObject *result = NULL;
    det_status status;

    if (!PyArg_ParseTuple(args, "ss|z:call", &method, &path, &body))
        return NULL;
    if (self->is_busy)
        return raise_status(DET_STATE, "this client is in use by another thread");
    self->is_busy = 1;
    Py_BEGIN_ALLOW_THREADS
    status = det_call(self->det, method, path, body, &reply);
    Py_END_ALLOW_THREADS
    if (status)
        raise_status(status, det_error_text(self->det));
    else
        result = text_or_none(det_reply_body(reply, NULL));
    det_reply_free(reply);
    self->is_busy = 0;
    return result;
}

static void client_dealloc(struct client *self)
{
    det_client_close(self->det);
    object_free((PyObject *)self);
}

/* ---- the module ------------------------------------------------------------------ */

static PyMethodDef context_methods[] = {
    METHOD("close", context_close, METH_NOARGS),
    METHOD("interrupted", context_interrupted, METH_NOARGS),
    METHOD("info", context_info, METH_NOARGS),
    METHOD("report_numbers", context_report_numbers, METH_FASTCALL),
    METHOD("report_json", context_report_json, METH_VARARGS),
    METHOD("report_media", context_report_media, METH_VARARGS),
    METHOD("report_image", context_report_image, METH_VARARGS),
    METHOD("progress", context_progress, METH_VARARGS),
    METHOD("status", context_status, METH_VARARGS),
    METHOD("early_exit", context_early_exit, METH_VARARGS),
    METHOD("alert", context_alert, METH_VARARGS),
    METHOD("flush", context_flush, METH_VARARGS),
    METHOD("tensorboard_directory", context_tensorboard, METH_NOARGS),
    METHOD("preempted", context_preempted, METH_NOARGS),
    METHOD("preempt_ack", context_preempt_ack, METH_VARARGS),
    METHOD("checkpoint_begin", context_checkpoint_begin, METH_VARARGS | METH_KEYWORDS),
    METHOD("checkpoint_wait", context_checkpoint_wait, METH_VARARGS),
    METHOD("checkpoint_reserve", context_checkpoint_reserve, METH_VARARGS),
    METHOD("checkpoint_store", context_checkpoint_store, METH_VARARGS),
    METHOD("checkpoint_restore", context_checkpoint_restore, METH_VARARGS),
    METHOD("checkpoint_download", context_checkpoint_download, METH_VARARGS),
    METHOD("checkpoint_metadata", context_checkpoint_metadata, METH_VARARGS),
    METHOD("checkpoint_delete", context_checkpoint_delete, METH_VARARGS),
    METHOD("profiler_on", context_profiler_on, METH_VARARGS),
    METHOD("profiler_off", context_profiler_off, METH_NOARGS),
    METHOD("timing_begin", context_timing_begin, METH_NOARGS),
    METHOD("timing_end", context_timing_end, METH_VARARGS),
    METHOD("searcher_length", context_searcher_length, METH_NOARGS),
    METHOD("searcher_progress", context_searcher_progress, METH_VARARGS),
    METHOD("searcher_best", context_searcher_best, METH_NOARGS),
    METHOD("metadata_get", context_metadata_get, METH_NOARGS),
    METHOD("metadata_set", context_metadata_set, METH_VARARGS),
    METHOD("trainer", context_trainer, METH_VARARGS),
    {0},
};

static PyMethodDef client_methods[] = {
    METHOD("call", client_call, METH_VARARGS),
    {0},
};

static PyType_Slot context_slots[] = {
    SLOT(Py_tp_dealloc, context_dealloc),
    SLOT(Py_tp_methods, context_methods),
    {0},
};

static PyType_Slot client_slots[] = {
    SLOT(Py_tp_dealloc, client_dealloc),
    SLOT(Py_tp_methods, client_methods),
    {0},
};

static PyTypeObject *make_type(PyObject *module, const char *name, int size,
                               PyType_Slot *slots)
{
    PyType_Spec spec = {.name = name,
                        .basicsize = size,
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};

    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}

static int module_exec(PyObject *module)
{
    struct types *types = PyModule_GetState(module);

    types->context = make_type(module, "determined._det.Context",
                               (int)sizeof(struct context), context_slots);
    types->checkpoint = make_type(module, "determined._det.Checkpoint",
                                  (int)sizeof(struct checkpoint), checkpoint_slots);
    types->client = make_type(module, "determined._det.Client",
                              (int)sizeof(struct client), client_slots);
    types->distributed = make_distributed_type(module);
    types->trainer = make_trainer_type(module);
    if (!types->context || !types->checkpoint || !types->client ||
        !types->distributed || !types->trainer)
        return -1;
    if (PyModule_AddType(module, types->context) ||
        PyModule_AddType(module, types->checkpoint) ||
        PyModule_AddType(module, types->client) ||
        PyModule_AddType(module, types->distributed) ||
        PyModule_AddType(module, types->trainer) || add_data_types(module))
        return -1;
    return PyModule_AddStringConstant(module, "version", det_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct types *types = PyModule_GetState(module);

    Py_VISIT(types->context);
    Py_VISIT(types->checkpoint);
    Py_VISIT(types->client);
    Py_VISIT(types->distributed);
    Py_VISIT(types->trainer);
    return 0;
}

static int module_clear(PyObject *module)
{
    struct types *types = PyModule_GetState(module);

    Py_CLEAR(types->context);
    Py_CLEAR(types->checkpoint);
    Py_CLEAR(types->client);
    Py_CLEAR(types->distributed);
    Py_CLEAR(types->trainer);
    return 0;
}

static PyMethodDef module_methods[] = {
    METHOD("open", module_open, METH_VARARGS | METH_KEYWORDS),
    METHOD("client", module_client, METH_VARARGS | METH_KEYWORDS),
    METHOD("distributed", module_distributed, METH_VARARGS | METH_KEYWORDS),
    METHOD("order", module_order, METH_VARARGS | METH_KEYWORDS),
    METHOD("gather", module_gather, METH_VARARGS),
    METHOD("leave", module_leave, METH_VARARGS),
    {0},
};

static PyModuleDef_Slot module_slots[] = {
    SLOT(Py_mod_exec, module_exec),
    {0},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,          .m_name = "determined._det",
    .m_size = sizeof(struct types), .m_methods = module_methods,
    .m_slots = module_slots,        .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__det(void);

PyMODINIT_FUNC PyInit__det(void)
{
    return PyModuleDef_Init(&module_def);
}
