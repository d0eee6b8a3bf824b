/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - opens and closes contexts, and keeps their error messages.
 *
 * Failures are kept per thread, so threads do not overwrite each other's messages: the
 * last CONTEXT_FAILURES threads that failed have a slot each.  There is no thread-local
 * variable, because contexts share nothing. */
#include "libdet/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "libdet/checkpoint/latest_checkpoint.h"
#include "libdet/checkpoint/saver.h"
#include "libdet/environment.h"
#include "libdet/offline/offline.h"
#include "libdet/offline/output_recorder.h"
#include "libdet/profile/profiler.h"
#include "libdet/report/tensorboard_reports.h"
#include "libdet/ring/ring.h"
#include "libdet/train/preempt.h"

enum { STRINGS = 256 << 20 };

/* A run without a master keeps all its reports: only the disk is the limit. */
static const uint64_t offline_limit_bytes = UINT64_C(1) << 50;

static const char forked_text[] =
    "this process was forked: the context belongs to its parent; make one of your own "
    "with det_init()";

/* While the context is being opened it has no mark yet, and no children either. */
static bool is_child(const det_context *context)
{
    return context->mark.is_ours && !fork_mark_is_ours(&context->mark);
}

/* ---- failures -------------------------------------------------------------------- */

static struct context_failure *slot_of(const det_context *context, uintptr_t thread)
{
    for (size_t i = 0; i < CONTEXT_FAILURES; i++)
        if (atomic_load_explicit(&context->failure[i].thread, memory_order_acquire) ==
            thread)
            return (struct context_failure *)&context->failure[i];
    return NULL;
}

static struct context_failure *take_slot(det_context *context, uintptr_t thread)
{
    struct context_failure *slot;

    lock_take(&context->lock);
    slot = &context->failure[context->next_failure++ % CONTEXT_FAILURES];
    slot->err.text[0] = '\0';
    atomic_store_explicit(&slot->thread, thread, memory_order_release);
    lock_give(&context->lock);
    return slot;
}

det_status context_end(det_context *context, det_status status, const struct err *err)
{
    uintptr_t thread = thread_self();
    struct context_failure *slot;

    if (!status || !context || is_child(context))
        return status;
    slot = slot_of(context, thread);
    if (!slot)
        slot = take_slot(context, thread);
    slot->err.status = status;
    snprintf(slot->err.text, sizeof(slot->err.text), "%s",
             err->text[0] ? err->text : det_status_text(status));
    return status;
}

const char *det_context_error(const det_context *context)
{
    const struct context_failure *slot;

    if (!context)
        return "there is no context";
    if (is_child(context))
        return forked_text;
    slot = slot_of(context, thread_self());
    return slot ? slot->err.text : "";
}

const char *context_failure_text(const det_context *context, det_status status)
{
    const struct context_failure *slot = slot_of(context, thread_self());

    return slot && slot->err.status == status && slot->err.text[0]
               ? slot->err.text
               : det_status_text(status);
}

/* ---- checks ---------------------------------------------------------------------- */

det_status context_check(const det_context *context, struct err *err)
{
    if (!context)
        return err_set(err, DET_INVALID, "there is no context");
    if (is_child(context))
        return err_set(err, DET_STATE, "%s", forked_text);
    return DET_OK;
}

static bool is_job(const det_context *context)
{
    return context->info.is_on_cluster &&
           strcmp(context->info.task_type, "GENERIC") == 0;
}

det_status context_check_trial(const det_context *context, struct err *err)
{
    det_status st = context_check(context, err);

    if (!st && !context->ring && is_job(context))
        st = err_set(err, DET_STATE,
                     "this task is a job, not a trial: it has no reports, no "
                     "checkpoints and no search; see 'det job run' in the guide");
    else if (!st && !context->ring)
        st = err_set(err, DET_STATE, "this task is a %s; only trials report",
                     context->info.task_type);
    return st;
}

const det_info *det_get_info(const det_context *context)
{
    return context && !is_child(context) ? &context->info : NULL;
}

const char *context_variable(const det_context *context, const char *name)
{
    const struct context_world *world = &context->world;
    const char *value =
        world->variable ? world->variable(world->arg, name) : getenv(name);

    return value && *value ? value : NULL;
}

/* ---- opening --------------------------------------------------------------------- */

static det_status open_ring(det_context *context, struct err *err)
{
    struct ring_config config = {
        .io = context->world.io,
        .dir = context->ring_dir,
        .makes = context->info.is_on_cluster ? RING_MAKES_NOTHING : RING_MAKES_ALL,
        .limit_bytes = context->info.is_on_cluster ? 0 : offline_limit_bytes,
    };

    return context->ring_dir ? ring_open(&config, &context->ring, err) : DET_OK;
}

/* Starts the threads that work beside the program. */
static det_status start_threads(det_context *context, unsigned flags, struct err *err)
{
    bool is_quiet = flags & DET_INIT_QUIET;
    det_status st = DET_OK;

    if (context->info.is_on_cluster && !is_quiet && (context->ring || is_job(context)))
        st = preempt_start(context, err);
    if (!st && !context->ring)
        return DET_OK;
    if (!st)
        st = profiler_open(context, is_quiet, err);
    if (!st && flags & DET_INIT_TENSORBOARD)
        st = tensorboard_reports_start(context, err);
    return st;
}

static det_status set_up(det_context *context, const det_init_options *options,
                         struct err *err)
{
    bool is_task = context_variable(context, "DET_ALLOCATION_ID") != NULL &&
                   !(options->flags & DET_INIT_APART);
    det_status st;

    if (!is_task && options->flags & DET_INIT_TASK_ONLY)
        return err_set(err, DET_STATE,
                       "this is not inside a task: DET_ALLOCATION_ID is not set");
    st = fork_mark_init(&context->mark, err);
    if (!st)
        st = lock_init(&context->lock, err);
    if (!st)
        st = is_task ? environment_read(context, err)
                     : offline_open(context, options, err);
    if (!st)
        st = latest_checkpoint_read(context, &context->strings,
                                    &context->info.latest_checkpoint,
                                    &context->info.steps_completed, err);
    if (!st)
        st = open_ring(context, err);
    return st ? st : start_threads(context, options->flags, err);
}

det_status context_open(const struct context_world *world,
                        const det_init_options *options, det_context **ret_context,
                        struct err *err)
{
    det_context *context = mem_new(det_context);
    det_status st;

    if (!context)
        return err_default(err, DET_NOMEM);
    context->world = *world;
    context->strings = (struct arena)ARENA_INIT(STRINGS);
    context->info.size = sizeof(context->info);
    st = set_up(context, options, err);
    if (st) {
        det_close(context);
        return st;
    }
    *ret_context = context;
    return DET_OK;
}

det_status det_init(const det_init_options *options, det_context **ret_context)
{
    struct context_world world = {.io = io_system(), .clock = &clock_system};
    det_init_options all = {.size = sizeof(all)};
    CONTEXT_ERR(err);
    det_status st;

    if (!ret_context || (options && (!options->size || options->size > sizeof(all))))
        return DET_INVALID;
    if (options)
        memcpy(&all, options, options->size);
    st = context_open(&world, &all, ret_context, &err);
    if (!st && (*ret_context)->info.directory &&
        !(all.flags & (DET_INIT_FOLLOW | DET_INIT_APART)))
        output_recorder_start(*ret_context,
                              !(all.flags & (DET_INIT_NO_LOGS | DET_INIT_QUIET)));
    if (st && all.error && all.error_size)
        snprintf(all.error, all.error_size, "%s",
                 err.text[0] ? err.text : det_status_text(st));
    return st;
}

/* ---- closing --------------------------------------------------------------------- */

void det_interrupted(det_context *context)
{
    if (context)
        output_recorder_interrupt(context);
}

/* A forked child has neither the threads nor control of the files: what the threads
 * held stays until the child ends. */
void det_close(det_context *context)
{
    if (!context)
        return;
    saver_end(context, is_child(context));
    tensorboard_reports_stop(context);
    profiler_close(context, is_child(context));
    if (!is_child(context)) {
        preempt_stop(context);
        output_recorder_close(context);
    }
    io_close(context->run_lock);
    map_done(&context->names);
    map_done(&context->groups);
    lock_done(&context->lock);
    ring_close(context->ring);
    fork_mark_done(&context->mark);
    arena_done(&context->strings);
    mem_free(context);
}
