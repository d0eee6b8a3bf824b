/* SPDX-License-Identifier: Apache-2.0 */
/* _det_profiler.c - the profiler and timings for Python. */
#include "_det.h"

/* interval_ms, samples_per_report, whether to obey the configuration only. */
PyObject *context_profiler_on(struct context *self, PyObject *args)
{
    det_profiler_options options = {.size = sizeof(options)};
    long long interval_ms = 0, samples = 0;
    int is_configured = 0;
    det_status status;

    if (!PyArg_ParseTuple(args, "|LLp:profiler_on", &interval_ms, &samples,
                          &is_configured))
        return NULL;
    if (!method_enter(self))
        return NULL;
    options.interval_ms = interval_ms;
    options.samples_per_report = samples;
    options.flags = is_configured ? DET_PROFILER_CONFIGURED : 0;
    Py_BEGIN_ALLOW_THREADS
    status = det_profiler_on(self->det, &options);
    Py_END_ALLOW_THREADS
    return method_end(self, status);
}

PyObject *context_profiler_off(struct context *self, PyObject *unused)
{
    det_status status;

    (void)unused;
    if (!method_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = det_profiler_off(self->det);
    Py_END_ALLOW_THREADS
    return method_end(self, status);
}

/* The argument of timing_end(). */
PyObject *context_timing_begin(struct context *self, PyObject *unused)
{
    det_timing timing = {0};

    (void)unused;
    if (!method_enter(self))
        return NULL;
    det_timing_begin(self->det, &timing);
    method_leave(self);
    return Py_BuildValue("LL", (long long)timing.begun_us, (long long)timing.inner_us);
}

PyObject *context_timing_end(struct context *self, PyObject *args)
{
    long long begun_us, inner_us;
    det_timing timing;
    int kind;

    if (!PyArg_ParseTuple(args, "i(LL):timing_end", &kind, &begun_us, &inner_us))
        return NULL;
    if (!method_enter(self))
        return NULL;
    timing.begun_us = begun_us;
    timing.inner_us = inner_us;
    det_timing_end(self->det, &timing, (enum det_timing_kind)kind);
    method_leave(self);
    return none();
}
