/* SPDX-License-Identifier: Apache-2.0 */
/* worker_processes.c - see worker_processes.h. */
#include "libdet/data/worker_processes.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/memory/mem.h"
#include "base/thread/shared_lock.h"

enum {
    READY = 0,
    POSTED = 1,
    TAKEN = 2, /* plus the worker's number above NUMBER_SHIFT */
    NUMBER_SHIFT = 8,
    LOOK_MS = 100,    /* a waiting parent looks for dead workers this often */
    ORPHAN_MS = 1000, /* a waiting worker looks for its parent this often */
};

struct worker_slot {
    _Atomic uint32_t state;
    det_status status;
    int64_t position;
    char text[ERR_TEXT_SIZE];
};

/* Shared by parent and workers. */
struct worker_shared {
    _Atomic uint32_t bell; /* incremented when a slot is posted, and at the end */
    _Atomic uint32_t is_over;
    struct worker_slot slots[];
};

struct worker_processes {
    struct worker_plan plan;
    struct worker_shared *shared;
    size_t shared_len;
    pid_t *pids; /* 0: not running */
};

/* ---- in a worker ----------------------------------------------------------------- */

/* The posted slot with the lowest position; NULL: none. */
static struct worker_slot *find_posted(struct worker_processes *workers)
{
    struct worker_slot *first = NULL;

    for (uint32_t i = 0; i < workers->plan.slots; i++) {
        struct worker_slot *slot = &workers->shared->slots[i];

        if (atomic_load_explicit(&slot->state, memory_order_acquire) == POSTED &&
            (!first || slot->position < first->position))
            first = slot;
    }
    return first;
}

static void make_slot(struct worker_processes *workers, struct worker_slot *slot)
{
    struct err err = {0};

    slot->status =
        workers->plan.make(workers->plan.arg, (uint32_t)(slot - workers->shared->slots),
                           slot->position, &err);
    memcpy(slot->text, err.text, sizeof(slot->text));
    atomic_store_explicit(&slot->state, READY, memory_order_release);
    shared_wake(&slot->state);
}

/* Ignores Ctrl-C and SIGTERM: the parent handles them. */
static void run_worker(struct worker_processes *workers, uint32_t number, pid_t parent)
{
    struct worker_shared *shared = workers->shared;

    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    while (!atomic_load_explicit(&shared->is_over, memory_order_acquire)) {
        uint32_t heard = atomic_load_explicit(&shared->bell, memory_order_acquire);
        struct worker_slot *slot = find_posted(workers);
        uint32_t seen = POSTED;

        if (!slot) {
            if (getppid() != parent)
                return;
            shared_wait(&shared->bell, heard, ORPHAN_MS);
        } else if (atomic_compare_exchange_strong_explicit(
                       &slot->state, &seen, TAKEN | (number + 1) << NUMBER_SHIFT,
                       memory_order_acq_rel, memory_order_relaxed))
            make_slot(workers, slot);
    }
}

/* ---- in the parent --------------------------------------------------------------- */

static void ring_bell(struct worker_processes *workers)
{
    atomic_fetch_add_explicit(&workers->shared->bell, 1, memory_order_release);
    shared_wake(&workers->shared->bell);
}

static det_status start_worker(struct worker_processes *workers, uint32_t number,
                               struct err *err)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0)
        return err_errno(err, errno, "cannot start a worker process");
    if (!pid) {
        run_worker(workers, number, parent);
        _exit(0); /* runs none of the parent's exit handlers */
    }
    workers->pids[number] = pid;
    return DET_OK;
}

static void fail_slot(struct worker_slot *slot, const char *text)
{
    slot->status = DET_FAILED;
    (void)snprintf(slot->text, sizeof(slot->text), "batch %" PRId64 ": %s",
                   slot->position, text);
    atomic_store_explicit(&slot->state, READY, memory_order_release);
}

/* Returns true if the process is gone; `text` says how. */
static bool has_died(pid_t pid, char *text, size_t size)
{
    int status = 0;
    pid_t got = waitpid(pid, &status, WNOHANG);

    if (!got || (got < 0 && !kill(pid, 0)))
        return false;
    if (got > 0 && WIFSIGNALED(status))
        (void)snprintf(text, size, "the worker process %d was killed by signal %d",
                       (int)pid, WTERMSIG(status));
    else if (got > 0)
        (void)snprintf(text, size, "the worker process %d ended with status %d",
                       (int)pid, WEXITSTATUS(status));
    else /* another part of the program has waited for it */
        (void)snprintf(text, size, "the worker process %d is gone", (int)pid);
    return true;
}

/* Fails the slot that the dead worker had taken. */
static void bury_worker(struct worker_processes *workers, uint32_t number,
                        const char *text)
{
    for (uint32_t i = 0; i < workers->plan.slots; i++) {
        struct worker_slot *slot = &workers->shared->slots[i];

        if (atomic_load_explicit(&slot->state, memory_order_acquire) ==
            (TAKEN | (number + 1) << NUMBER_SHIFT))
            fail_slot(slot, text);
    }
    workers->pids[number] = 0;
}

static void replace_dead_workers(struct worker_processes *workers)
{
    uint32_t living = 0;

    for (uint32_t i = 0; i < workers->plan.workers; i++) {
        char text[128];

        if (workers->pids[i] && has_died(workers->pids[i], text, sizeof(text)))
            bury_worker(workers, i, text);
        if (!workers->pids[i])
            (void)start_worker(workers, i, NULL);
        living += workers->pids[i] != 0;
    }
    for (uint32_t i = 0; !living && i < workers->plan.slots; i++) {
        struct worker_slot *slot = &workers->shared->slots[i];

        if (atomic_load_explicit(&slot->state, memory_order_acquire) == POSTED)
            fail_slot(slot, "no worker process could be started");
    }
}

void worker_processes_post(struct worker_processes *workers, uint32_t slot,
                           int64_t position)
{
    struct worker_slot *to = &workers->shared->slots[slot];

    assert(slot < workers->plan.slots);
    assert(atomic_load_explicit(&to->state, memory_order_acquire) == READY);
    to->position = position;
    atomic_store_explicit(&to->state, POSTED, memory_order_release);
    ring_bell(workers);
}

static void wait_ready(struct worker_processes *workers, struct worker_slot *slot)
{
    for (;;) {
        uint32_t seen = atomic_load_explicit(&slot->state, memory_order_acquire);

        if (seen == READY)
            return;
        shared_wait(&slot->state, seen, LOOK_MS);
        if (atomic_load_explicit(&slot->state, memory_order_acquire) == seen)
            replace_dead_workers(workers);
    }
}

det_status worker_processes_wait(struct worker_processes *workers, uint32_t slot,
                                 struct err *err)
{
    struct worker_slot *at = &workers->shared->slots[slot];

    wait_ready(workers, at);
    return at->status ? err_set(err, at->status, "%s", at->text) : DET_OK;
}

void worker_processes_recall(struct worker_processes *workers, uint32_t slot)
{
    struct worker_slot *at = &workers->shared->slots[slot];
    uint32_t seen = POSTED;

    if (!atomic_compare_exchange_strong_explicit(
            &at->state, &seen, READY, memory_order_acq_rel, memory_order_relaxed))
        wait_ready(workers, at);
}

/* ---- start and end --------------------------------------------------------------- */

det_status worker_processes_new(const struct worker_plan *plan,
                                struct worker_processes **ret_workers, struct err *err)
{
    struct worker_processes *workers = mem_new(struct worker_processes);
    det_status st = DET_OK;

    if (!workers)
        return err_default(err, DET_NOMEM);
    workers->plan = *plan;
    workers->pids = mem_array(plan->workers, sizeof(*workers->pids));
    workers->shared_len =
        sizeof(struct worker_shared) + plan->slots * sizeof(struct worker_slot);
    workers->shared = workers->pids ? shared_memory_new(workers->shared_len) : NULL;
    if (!workers->shared)
        st = err_default(err, DET_NOMEM);
    for (uint32_t i = 0; !st && i < plan->workers; i++)
        st = start_worker(workers, i, err);
    if (st) {
        worker_processes_free(workers);
        return st;
    }
    *ret_workers = workers;
    return DET_OK;
}

void worker_processes_free(struct worker_processes *workers)
{
    if (!workers)
        return;
    if (workers->shared) {
        atomic_store_explicit(&workers->shared->is_over, 1, memory_order_release);
        ring_bell(workers);
        for (uint32_t i = 0; i < workers->plan.workers; i++)
            while (workers->pids[i] && waitpid(workers->pids[i], NULL, 0) < 0 &&
                   errno == EINTR)
                ;
    }
    shared_memory_free(workers->shared, workers->shared_len);
    mem_free(workers->pids);
    mem_free(workers);
}
