/* SPDX-License-Identifier: Apache-2.0 */
/* _det_trainer.c - the policy of a training for Python: what is due after each batch.
 *
 * All calls here are quick and keep the GIL, which is also the lock of a trainer. */
#include "_det.h"

#include <limits.h>

enum { SENTENCE_BYTES = 1024 };

struct trainer {
    PyObject_HEAD
    det_trainer *det;
};

/* ---- options --------------------------------------------------------------------- */

/* None, or (unit, count). */
static int read_length(PyObject *value, det_length *ret_length)
{
    long long count;

    if (value == Py_None)
        return 1;
    if (!PyTuple_Check(value) ||
        !PyArg_ParseTuple(value, "iL:length", &ret_length->unit, &count))
        return 0;
    ret_length->count = count;
    return 1;
}

static int read_i64(PyObject *value, int64_t *ret_number)
{
    if (value == Py_None)
        return 1;
    *ret_number = PyLong_AsLongLong(value);
    return !PyErr_Occurred();
}

static int read_int(PyObject *value, int *ret_number)
{
    int64_t number = 0;

    if (!read_i64(value, &number))
        return 0;
    if (number < INT_MIN || number > INT_MAX) {
        PyErr_SetString(PyExc_OverflowError, "the number of an option is too large");
        return 0;
    }
    *ret_number = (int)number;
    return 1;
}

struct settings {
    det_trainer_options options;
    int is_configured;
};

enum option_kind { LENGTH, NUMBER, SMALL };

static const struct option {
    const char *name;
    enum option_kind kind;
    size_t offset;
} known[] = {
    {"max_length", LENGTH, offsetof(struct settings, options.max_length)},
    {"validation_period", LENGTH, offsetof(struct settings, options.validation_period)},
    {"checkpoint_period", LENGTH, offsetof(struct settings, options.checkpoint_period)},
    {"reporting_period", LENGTH, offsetof(struct settings, options.reporting_period)},
    {"batches_per_epoch", NUMBER, offsetof(struct settings, options.batches_per_epoch)},
    {"records_per_batch", NUMBER, offsetof(struct settings, options.records_per_batch)},
    {"keep", SMALL, offsetof(struct settings, options.keep)},
    {"initial_validation", SMALL,
     offsetof(struct settings, options.initial_validation)},
    {"larger_is_better", SMALL, offsetof(struct settings, options.larger_is_better)},
    {"configured", SMALL, offsetof(struct settings, is_configured)},
};

static int read_option(const struct option *option, PyObject *value,
                       struct settings *settings)
{
    void *at = (char *)settings + option->offset;
    int is_read = 0;

    switch (option->kind) {
    case LENGTH:
        is_read = read_length(value, at);
        break;
    case NUMBER:
        is_read = read_i64(value, at);
        break;
    case SMALL:
        is_read = read_int(value, at);
        break;
    }
    if (!is_read && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)))
        PyErr_Format(PyExc_TypeError, "%s is %R; expected %s", option->name, value,
                     option->kind == LENGTH ? "None or a tuple of a unit and a count"
                                            : "a whole number");
    return is_read;
}

static int read_options(PyObject *dict, struct settings *settings)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;

    while (PyDict_Next(dict, &position, &key, &value)) {
        const struct option *found = NULL;

        for (size_t i = 0; i < sizeof(known) / sizeof(*known) && !found; i++)
            if (PyUnicode_Check(key) &&
                !PyUnicode_CompareWithASCIIString(key, known[i].name))
                found = &known[i];
        if (!found) {
            PyErr_Format(PyExc_TypeError, "a trainer has no option %R", key);
            return 0;
        }
        if (!read_option(found, value, settings))
            return 0;
    }
    return 1;
}

/* The program's value, unless it has none. */
enum { NOT_CONFIGURED, CONFIGURATION_FIRST, PROGRAM_FIRST };

static void prefer_option(det_length *length, det_length said)
{
    if (said.unit != DET_NO_UNIT)
        *length = said;
}

/* Values from the program stay; the configuration fills in the others. */
static det_status configure_trainer(det_context *det, struct settings *settings)
{
    det_trainer_options *options = &settings->options;
    det_trainer_options said = *options;
    det_status status = DET_OK;

    if (settings->is_configured != NOT_CONFIGURED)
        status = det_trainer_configure(det, options);
    if (status || settings->is_configured != PROGRAM_FIRST)
        return status;
    prefer_option(&options->max_length, said.max_length);
    prefer_option(&options->validation_period, said.validation_period);
    prefer_option(&options->checkpoint_period, said.checkpoint_period);
    prefer_option(&options->reporting_period, said.reporting_period);
    if (said.keep != DET_KEEP_BEST)
        options->keep = said.keep;
    if (said.initial_validation)
        options->initial_validation = 1;
    return DET_OK;
}

PyObject *context_trainer(struct context *self, PyObject *args)
{
    struct types *types = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    struct settings settings = {.options = {.size = sizeof(det_trainer_options)}};
    char error[SENTENCE_BYTES] = "";
    struct trainer *made;
    PyObject *dict;
    det_status status = DET_OK;

    if (!PyArg_ParseTuple(args, "O!:trainer", &PyDict_Type, &dict) ||
        !read_options(dict, &settings) || !method_enter(self))
        return NULL;
    made = (struct trainer *)PyType_GenericAlloc(types->trainer, 0);
    if (made) {
        status = configure_trainer(self->det, &settings);
        if (status)
            raise_status(status, det_context_error(self->det));
    }
    if (made && !status) {
        status = det_trainer_new(&settings.options, &made->det, error, sizeof(error));
        if (status)
            raise_status(status, error);
    }
    if (status) {
        Py_DECREF((PyObject *)made);
        made = NULL;
    }
    method_leave(self);
    return (PyObject *)made;
}

/* ---- asking ---------------------------------------------------------------------- */

static PyObject *trainer_begin(struct trainer *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(det_trainer_begin(self->det));
}

/* (count=1): so many batches were trained at once; fewer if the epoch has ended. */
static PyObject *trainer_batch_end(struct trainer *self, PyObject *const *args,
                                   Py_ssize_t given)
{
    long count = given ? PyLong_AsLong(args[0]) : 1;
    unsigned due = 0;

    if (count == -1 && PyErr_Occurred())
        return NULL;
    for (long i = 0; i < count && !(due & DET_EPOCH_END); i++)
        due |= det_trainer_batch_end(self->det);
    return PyLong_FromUnsignedLong(due);
}

static PyObject *trainer_epoch_end(struct trainer *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(det_trainer_epoch_end(self->det));
}

static PyObject *trainer_validated(struct trainer *self, PyObject *value)
{
    double metric = PyFloat_AsDouble(value);

    if (PyErr_Occurred())
        return NULL;
    return PyLong_FromUnsignedLong(det_trainer_validated(self->det, metric));
}

static PyObject *trainer_saved(struct trainer *self, PyObject *unused)
{
    (void)unused;
    det_trainer_saved(self->det);
    return none();
}

static PyObject *trainer_stop(struct trainer *self, PyObject *unused)
{
    (void)unused;
    det_trainer_stop(self->det);
    return none();
}

static PyObject *trainer_batches(struct trainer *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLongLong(det_trainer_batches(self->det));
}

static PyObject *trainer_epochs(struct trainer *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLongLong(det_trainer_epochs(self->det));
}

static PyObject *trainer_epoch_position(struct trainer *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLongLong(det_trainer_epoch_position(self->det));
}

static PyObject *trainer_progress(struct trainer *self, PyObject *unused)
{
    (void)unused;
    return PyFloat_FromDouble(det_trainer_progress(self->det));
}

/* ---- windows --------------------------------------------------------------------- */

static PyObject *trainer_metric(struct trainer *self, PyObject *args)
{
    const char *name;
    double value;
    det_status status;

    if (!PyArg_ParseTuple(args, "sd:metric", &name, &value))
        return NULL;
    status = det_trainer_metric(self->det, name, value);
    if (status == DET_INVALID)
        return raise_status(status,
                            "the name of a metric is empty or has several lines");
    return status ? PyErr_NoMemory() : none();
}

/* Returns the means by name. The window is closed even if it is empty. */
static PyObject *trainer_window(struct trainer *self, PyObject *unused)
{
    const char *const *names;
    const double *means;
    size_t count = det_trainer_window(self->det, &names, &means);
    PyObject *dict = PyDict_New();

    (void)unused;
    for (size_t i = 0; dict && i < count; i++) {
        PyObject *mean = PyFloat_FromDouble(means[i]);

        if (!mean || PyDict_SetItemString(dict, names[i], mean))
            Py_CLEAR(dict);
        Py_XDECREF(mean);
    }
    return dict;
}

/* ---- state ----------------------------------------------------------------------- */

static PyObject *trainer_save(struct trainer *self, PyObject *unused)
{
    const char *text;

    (void)unused;
    return det_trainer_save(self->det, &text) ? PyErr_NoMemory() : text_or_none(text);
}

static PyObject *trainer_load(struct trainer *self, PyObject *args)
{
    const char *text;
    det_status status;

    if (!PyArg_ParseTuple(args, "s:load", &text))
        return NULL;
    status = det_trainer_load(self->det, text);
    if (status == DET_NOMEM)
        return PyErr_NoMemory();
    return status ? raise_status(status, "this is not the state of a trainer") : none();
}

static void trainer_dealloc(struct trainer *self)
{
    det_trainer_free(self->det);
    object_free((PyObject *)self);
}

/* ---- the type -------------------------------------------------------------------- */

static PyMethodDef trainer_methods[] = {
    METHOD("begin", trainer_begin, METH_NOARGS),
    METHOD("batch_end", trainer_batch_end, METH_FASTCALL),
    METHOD("epoch_end", trainer_epoch_end, METH_NOARGS),
    METHOD("validated", trainer_validated, METH_O),
    METHOD("saved", trainer_saved, METH_NOARGS),
    METHOD("stop", trainer_stop, METH_NOARGS),
    METHOD("batches", trainer_batches, METH_NOARGS),
    METHOD("epochs", trainer_epochs, METH_NOARGS),
    METHOD("epoch_position", trainer_epoch_position, METH_NOARGS),
    METHOD("progress", trainer_progress, METH_NOARGS),
    METHOD("metric", trainer_metric, METH_VARARGS),
    METHOD("window", trainer_window, METH_NOARGS),
    METHOD("save", trainer_save, METH_NOARGS),
    METHOD("load", trainer_load, METH_VARARGS),
    {0},
};

static PyType_Slot trainer_slots[] = {
    SLOT(Py_tp_dealloc, trainer_dealloc),
    SLOT(Py_tp_methods, trainer_methods),
    {0},
};

PyTypeObject *make_trainer_type(PyObject *module)
{
    static const struct {
        const char *name;
        int value;
    } bits[] = {
        {"REPORT", DET_REPORT},       {"VALIDATE", DET_VALIDATE},
        {"STOP", DET_STOP},           {"CHECKPOINT", DET_CHECKPOINT},
        {"BATCHES", DET_BATCHES},     {"RECORDS", DET_RECORDS},
        {"EPOCHS", DET_EPOCHS},       {"EPOCH_END", DET_EPOCH_END},
        {"KEEP_BEST", DET_KEEP_BEST}, {"KEEP_ALL", DET_KEEP_ALL},
        {"KEEP_NONE", DET_KEEP_NONE},
    };
    PyType_Spec spec = {.name = "determined._det.Trainer",
                        .basicsize = (int)sizeof(struct trainer),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = trainer_slots};

    for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
        if (PyModule_AddIntConstant(module, bits[i].name, bits[i].value))
            return NULL;
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
