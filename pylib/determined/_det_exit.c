/* SPDX-License-Identifier: Apache-2.0 */
/* _det_exit.c - ends the process without shutting down the interpreter.
 *
 * The interpreter's shutdown may hang: an iterator of TensorFlow waits for a thread that
 * waits for the interpreter.  os._exit() would also skip the exit handler of an offline
 * run, which writes how the program ended and waits until its output has passed the
 * recorder.  exit() calls handlers in reverse order, so exit_prepare() registers ours
 * right before det_init() registers libdet's: libdet's runs first, and then ours ends the
 * process before older handlers, such as the destructors of frameworks. */
#include "_det.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_bool is_prepared;
static atomic_bool is_leaving;

static void end_process(int status, void *unused)
{
    (void)unused;
    if (atomic_load(&is_leaving))
        _exit(status);
}

void exit_prepare(void)
{
    if (!on_exit(end_process, NULL))
        atomic_store(&is_prepared, true);
}

/* Returns only if no context was made: then there is nothing to wait for. */
PyObject *module_leave(PyObject *module, PyObject *args)
{
    int code;

    (void)module;
    if (!PyArg_ParseTuple(args, "i:leave", &code))
        return NULL;
    if (!atomic_load(&is_prepared))
        return none();
    atomic_store(&is_leaving, true);
    exit(code);
}
