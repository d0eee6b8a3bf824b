/* SPDX-License-Identifier: Apache-2.0 */
/* _det.h - what the parts of the module determined._det share (see _det.c). */
#ifndef DETERMINED_DET_H
#define DETERMINED_DET_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "det/det.h"

struct types {
    PyTypeObject *context;
    PyTypeObject *checkpoint;
    PyTypeObject *client;
    PyTypeObject *distributed;
    PyTypeObject *trainer;
};

struct context {
    PyObject_HEAD
    det_context *det;           /* NULL: ended */
    int is_closed;              /* no more calls begin */
    unsigned users;             /* calls and checkpoints in progress */
    struct distributed *saving; /* ranks of an overlapped checkpoint, until its
                                   outcome is known; NULL: none */
};

struct checkpoint {
    PyObject_HEAD
    struct context *owner;
    struct distributed *group; /* NULL: of this process alone */
    det_checkpoint *det;       /* NULL: committed or aborted */
    int is_busy;
    int is_overlapped;
};

struct distributed {
    PyObject_HEAD
    det_distributed *det;
    PyThreadState *thread; /* of the call that waits */
    int is_busy;
    int is_closed;        /* no more calls begin */
    int is_interrupted;   /* an exception is set */
    unsigned checkpoints; /* in progress: the group lives until they are gone */
};

/* Raises the exception of determined.errors for the status; returns NULL. */
PyObject *raise_status(det_status status, const char *text);
/* None, and a text as a string; NULL is None. */
PyObject *none(void);
PyObject *text_or_none(const char *text);

/* Returns the context for one call; NULL and an exception if it is closed. */
det_context *method_enter(struct context *self);
void method_leave(struct context *self);
/* Ends a call that returns nothing. */
PyObject *method_end(struct context *self, det_status status);
/* Ends a call that returns a text, NULL without memory. Frees the text, unless it is
 * `few`. */
PyObject *method_end_text(struct context *self, det_status status, char *text,
                          const char *few);

/* Frees an object of a type of this module. */
void object_free(PyObject *self);

/* _det_checkpoint.c */
extern PyType_Slot checkpoint_slots[];
PyObject *context_checkpoint_begin(struct context *self, PyObject *args,
                                   PyObject *kwargs);
PyObject *context_checkpoint_wait(struct context *self, PyObject *args);
PyObject *context_checkpoint_reserve(struct context *self, PyObject *args);
PyObject *context_checkpoint_store(struct context *self, PyObject *args);
PyObject *context_checkpoint_restore(struct context *self, PyObject *args);
PyObject *context_checkpoint_download(struct context *self, PyObject *args);
PyObject *context_checkpoint_metadata(struct context *self, PyObject *args);
PyObject *context_checkpoint_delete(struct context *self, PyObject *args);

/* _det_distributed.c */
/* Returns the group for a call that waits for other ranks; NULL and an exception. The
 * call itself must not hold the GIL; around it the thread state goes into `thread`:
 *     self->thread = PyEval_SaveThread(); ...; PyEval_RestoreThread(self->thread);
 * distributed_end() drops `result` and returns NULL if a signal raised meanwhile. */
det_distributed *distributed_take(struct distributed *self);
/* The same for a checkpoint in progress, which may end after the group is closed. */
det_distributed *distributed_take_again(struct distributed *self);
PyObject *distributed_end(struct distributed *self, PyObject *result);
/* Holds a group for a checkpoint, and releases it: a closed group ends with the last
 * one. */
struct distributed *distributed_hold(struct distributed *self);
void distributed_let_go(struct distributed *self);
PyTypeObject *make_distributed_type(PyObject *module);
/* _det_exit.c: to be called before each det_init(). */
void exit_prepare(void);
PyObject *module_leave(PyObject *module, PyObject *args);

PyObject *module_distributed(PyObject *module, PyObject *args, PyObject *kwargs);

/* _det_data.c */
PyObject *module_order(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *module_gather(PyObject *module, PyObject *args);
int add_data_types(PyObject *module);

/* _det_profiler.c */
PyObject *context_profiler_on(struct context *self, PyObject *args);
PyObject *context_profiler_off(struct context *self, PyObject *unused);
PyObject *context_timing_begin(struct context *self, PyObject *unused);
PyObject *context_timing_end(struct context *self, PyObject *args);

/* _det_report.c */
PyObject *context_report_numbers(struct context *self, PyObject *const *args,
                                 Py_ssize_t count);
PyObject *context_report_json(struct context *self, PyObject *args);
PyObject *context_report_media(struct context *self, PyObject *args);
PyObject *context_report_image(struct context *self, PyObject *args);
PyObject *context_progress(struct context *self, PyObject *args);
PyObject *context_status(struct context *self, PyObject *args);
PyObject *context_early_exit(struct context *self, PyObject *args);
PyObject *context_alert(struct context *self, PyObject *args);
PyObject *context_tensorboard(struct context *self, PyObject *unused);
PyObject *context_flush(struct context *self, PyObject *args);

/* _det_run.c */
PyObject *context_searcher_length(struct context *self, PyObject *unused);
PyObject *context_searcher_progress(struct context *self, PyObject *args);
PyObject *context_searcher_best(struct context *self, PyObject *unused);
PyObject *context_metadata_get(struct context *self, PyObject *unused);
PyObject *context_metadata_set(struct context *self, PyObject *args);

/* _det_trainer.c */
PyObject *context_trainer(struct context *self, PyObject *args);
PyTypeObject *make_trainer_type(PyObject *module);

/* Casts through a type that every function may be cast to and from without a
 * warning. */
#define METHOD(name, function, flags)                                                  \
    {                                                                                  \
        name, (PyCFunction)(void (*)(void))(function), flags, NULL                     \
    }
#define SLOT(slot, value)                                                              \
    {                                                                                  \
        slot, (void *)(value)                                                          \
    }

#endif
