/* SPDX-License-Identifier: Apache-2.0 */
/* _det_report.c - reports, and what else a run tells about itself, for Python.
 *
 * Reporting numbers keeps the GIL: releasing and taking it again would take longer, and
 * the names borrow from the caller's dict. */
#include "_det.h"

#include <stdint.h>
#include <string.h>

enum {
    ON_STACK = 64,       /* metrics of a report that need no allocation */
    FLUSH_SLICE_MS = 200 /* how often we check for Ctrl-C */
};

/* A larger double may not be an exact whole number. */
static const double exact_most = 9007199254740992.0;

/* A number that a double holds exactly, or a float. Runs none of the caller's code. */
static int is_number(PyObject *value, double *ret_number)
{
    if (PyFloat_Check(value)) {
        *ret_number = PyFloat_AsDouble(value);
        return 1;
    }
    if (!PyLong_Check(value) || PyBool_Check(value))
        return 0;
    *ret_number = PyLong_AsDouble(value);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return *ret_number <= exact_most && *ret_number >= -exact_most;
}

/* The name of a metric, borrowed from the key; NULL and an exception if it has none. */
static const char *name_of(PyObject *key)
{
    Py_ssize_t len;
    const char *name = PyUnicode_AsUTF8AndSize(key, &len);

    if (name && strlen(name) != (size_t)len) {
        raise_status(DET_INVALID, "the name of a metric holds a NUL character");
        return NULL;
    }
    return name;
}

/* Returns 1 if all are numbers, 0 if not, -1 with an exception. The names borrow from
 * the dict. */
static int collect_numbers(PyObject *dict, det_metric *metrics, size_t count)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    size_t i = 0;

    while (i < count && PyDict_Next(dict, &position, &key, &value)) {
        if (!PyUnicode_Check(key) || !is_number(value, &metrics[i].value))
            return 0;
        metrics[i].name = name_of(key);
        if (!metrics[i++].name)
            return -1;
    }
    return i == count;
}

/* The number in an array or tensor that holds one; returns the same. */
static int number_in(PyObject *value, double *ret_number)
{
    PyObject *number;
    int is_one;

    if (is_number(value, ret_number))
        return 1;
    if (PyUnicode_Check(value) || !PyObject_HasAttrString(value, "item"))
        return 0;
    number = PyObject_CallMethod(value, "item", NULL);
    if (!number) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return -1;
        PyErr_Clear();
        return 0;
    }
    is_one = is_number(number, ret_number);
    Py_DECREF(number);
    return is_one;
}

/* The same for a list of (name, value): asking a tensor runs foreign code, which may
 * change the dict. The names borrow from the list. */
static int collect_items(PyObject *items, det_metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(items, (Py_ssize_t)i);
        PyObject *key = item ? PyTuple_GetItem(item, 0) : NULL;
        PyObject *value = item ? PyTuple_GetItem(item, 1) : NULL;
        int is_one;

        if (!key || !value)
            return -1;
        is_one = PyUnicode_Check(key) ? number_in(value, &metrics[i].value) : 0;
        if (is_one <= 0)
            return is_one;
        metrics[i].name = name_of(key);
        if (!metrics[i].name)
            return -1;
    }
    return 1;
}

static PyObject *report_dict(struct context *self, const char *group, int64_t steps,
                             PyObject *dict)
{
    det_metric few[ON_STACK];
    size_t count = (size_t)PyDict_Size(dict);
    det_metric *metrics =
        count > ON_STACK ? PyMem_Malloc(count * sizeof(*metrics)) : few;
    PyObject *result = NULL;
    PyObject *items = NULL;
    int numbers;

    if (!metrics)
        return PyErr_NoMemory();
    numbers = collect_numbers(dict, metrics, count);
    if (!numbers) {
        items = PyDict_Items(dict);
        numbers = items ? collect_items(items, metrics, count) : -1;
    }
    if (!numbers) {
        result = Py_NewRef(Py_False);
    } else if (numbers > 0) {
        det_status status = det_report(self->det, group, steps, metrics, count);

        result = status ? raise_status(status, det_context_error(self->det))
                        : Py_NewRef(Py_True);
    }
    if (metrics != few)
        PyMem_Free(metrics);
    Py_XDECREF(items);
    return result;
}

/* (group, steps, dict): returns True; False if they have other types or the dict holds
 * anything but numbers, and then nothing was reported. */
PyObject *context_report_numbers(struct context *self, PyObject *const *args,
                                 Py_ssize_t count)
{
    const char *group;
    long long steps;
    PyObject *result;

    if (count != 3 || !PyUnicode_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError,
                        "a report takes the name of a group, a step and a dict");
        return NULL;
    }
    if (!PyLong_Check(args[1]) || !PyDict_Check(args[2]))
        return Py_NewRef(Py_False);
    steps = PyLong_AsLongLong(args[1]);
    if (steps == -1 && PyErr_Occurred())
        return NULL;
    if (steps < 0)
        return Py_NewRef(Py_False);
    group = PyUnicode_AsUTF8AndSize(args[0], NULL);
    if (!group || !method_enter(self))
        return NULL;
    result = report_dict(self, group, steps, args[2]);
    method_leave(self);
    return result;
}

PyObject *context_report_json(struct context *self, PyObject *args)
{
    const char *group, *metrics, *batches = NULL;
    long long steps;
    det_context *det;
    det_status status;

    if (!PyArg_ParseTuple(args, "sLs|z:report_json", &group, &steps, &metrics,
                          &batches))
        return NULL;
    det = method_enter(self);
    if (!det)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = det_report_json(det, group, steps, metrics, batches);
    Py_END_ALLOW_THREADS
    return method_end(self, status);
}

/* (name, steps, type, bytes or a path as text). */
PyObject *context_report_media(struct context *self, PyObject *args)
{
    det_media media = {.size = sizeof(media)};
    Py_buffer bytes = {0};
    PyObject *content;
    long long steps;
    det_context *det;
    det_status status;

    if (!PyArg_ParseTuple(args, "sLiO:report_media", &media.name, &steps, &media.type,
                          &content))
        return NULL;
    if (PyUnicode_Check(content))
        media.path = PyUnicode_AsUTF8AndSize(content, NULL);
    else if (!PyObject_GetBuffer(content, &bytes, PyBUF_SIMPLE))
        media.bytes = bytes.buf;
    if (!media.path && !media.bytes)
        return NULL;
    media.len = (size_t)bytes.len;
    media.steps = steps;
    det = method_enter(self);
    if (!det) {
        PyBuffer_Release(&bytes);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = det_report_media(det, &media);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&bytes);
    return method_end(self, status);
}

/* (name, steps, pixels, width, height, channels). */
PyObject *context_report_image(struct context *self, PyObject *args)
{
    det_image image = {.size = sizeof(image)};
    const char *name;
    PyObject *pixels;
    Py_buffer bytes;
    unsigned width, height, channels;
    long long steps;
    det_context *det;
    det_status status;

    if (!PyArg_ParseTuple(args, "sLOIII:report_image", &name, &steps, &pixels, &width,
                          &height, &channels) ||
        PyObject_GetBuffer(pixels, &bytes, PyBUF_SIMPLE))
        return NULL;
    image.pixels = bytes.buf;
    image.width = width;
    image.height = height;
    image.channels = channels;
    det = (uint64_t)width * height * channels == (uint64_t)bytes.len
              ? method_enter(self)
              : NULL;
    if (!det) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError,
                            "the pixels are not as many bytes as their shape says");
        PyBuffer_Release(&bytes);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = det_report_image(det, name, steps, &image);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&bytes);
    return method_end(self, status);
}

PyObject *context_progress(struct context *self, PyObject *args)
{
    double progress;

    if (!PyArg_ParseTuple(args, "d:progress", &progress) || !method_enter(self))
        return NULL;
    return method_end(self, det_report_progress(self->det, progress));
}

PyObject *context_status(struct context *self, PyObject *args)
{
    const char *word;

    if (!PyArg_ParseTuple(args, "s:status", &word) || !method_enter(self))
        return NULL;
    return method_end(self, det_set_status(self->det, word));
}

PyObject *context_early_exit(struct context *self, PyObject *args)
{
    int reason;

    if (!PyArg_ParseTuple(args, "i:early_exit", &reason) || !method_enter(self))
        return NULL;
    return method_end(self,
                      det_report_early_exit(self->det, (enum det_exit_reason)reason));
}

PyObject *context_alert(struct context *self, PyObject *args)
{
    const char *title, *description = NULL;
    int level;

    if (!PyArg_ParseTuple(args, "is|z:alert", &level, &title, &description) ||
        !method_enter(self))
        return NULL;
    return method_end(
        self, det_alert(self->det, (enum det_alert_level)level, title, description));
}

PyObject *context_tensorboard(struct context *self, PyObject *unused)
{
    det_context *det = method_enter(self);
    const char *path;
    PyObject *result;

    (void)unused;
    if (!det)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    path = det_tensorboard_directory(det);
    Py_END_ALLOW_THREADS
    result = path ? PyUnicode_DecodeFSDefault(path)
                  : raise_status(DET_FAILED, det_context_error(det));
    method_leave(self);
    return result;
}

/* Waits in slices to notice Ctrl-C. */
PyObject *context_flush(struct context *self, PyObject *args)
{
    long long left_ms = -1;
    det_context *det;
    det_status status;

    if (!PyArg_ParseTuple(args, "|L:flush", &left_ms))
        return NULL;
    det = method_enter(self);
    if (!det)
        return NULL;
    for (;;) {
        long long slice_ms =
            left_ms >= 0 && left_ms < FLUSH_SLICE_MS ? left_ms : FLUSH_SLICE_MS;

        Py_BEGIN_ALLOW_THREADS
        status = det_flush(det, slice_ms);
        Py_END_ALLOW_THREADS
        if (left_ms >= 0)
            left_ms -= slice_ms;
        if (status != DET_TIMEOUT || left_ms == 0)
            return method_end(self, status);
        if (PyErr_CheckSignals()) {
            method_leave(self);
            return NULL;
        }
    }
}
