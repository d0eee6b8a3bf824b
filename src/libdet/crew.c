/* SPDX-License-Identifier: Apache-2.0 */
#include "libdet/crew.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/shared.h"

enum {
    READY = 0,
    POSTED = 1,
    TAKEN = 2, /* and the worker's number above NUMBER_SHIFT */
    NUMBER_SHIFT = 8,
    LOOK_MS = 100,    /* a parent that waits looks for dead workers */
    ORPHAN_MS = 1000, /* a worker that waits looks for its parent */
};

struct crew_slot {
    _Atomic uint32_t state;
    det_status status;
    int64_t position;
    char text[ERR_TEXT_SIZE];
};

/* What parent and workers share. */
struct crew_shared {
    _Atomic uint32_t bell; /* rings when something was posted, and when it is over */
    _Atomic uint32_t is_over;
    struct crew_slot slots[];
};

struct crew {
    struct crew_plan plan;
    struct crew_shared *shared;
    size_t shared_len;
    pid_t *pids; /* 0: there is none */
};

/* ---- in a worker ----------------------------------------------------------------- */

/* The lowest position that nobody has taken; NULL: there is none. */
static struct crew_slot *find_posted(struct crew *crew)
{
    struct crew_slot *first = NULL;

    for (uint32_t i = 0; i < crew->plan.slots; i++) {
        struct crew_slot *slot = &crew->shared->slots[i];

        if (atomic_load_explicit(&slot->state, memory_order_acquire) == POSTED &&
            (!first || slot->position < first->position))
            first = slot;
    }
    return first;
}

static void make(struct crew *crew, struct crew_slot *slot)
{
    struct err err = {0};

    slot->status = crew->plan.make(
        crew->plan.arg, (uint32_t)(slot - crew->shared->slots), slot->position, &err);
    memcpy(slot->text, err.text, sizeof(slot->text));
    atomic_store_explicit(&slot->state, READY, memory_order_release);
    shared_wake(&slot->state);
}

/* Ctrl-C and requests to stop are the parent's to hear. */
static void work(struct crew *crew, uint32_t number, pid_t parent)
{
    struct crew_shared *shared = crew->shared;

    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    while (!atomic_load_explicit(&shared->is_over, memory_order_acquire)) {
        uint32_t heard = atomic_load_explicit(&shared->bell, memory_order_acquire);
        struct crew_slot *slot = find_posted(crew);
        uint32_t seen = POSTED;

        if (!slot) {
            if (getppid() != parent)
                return;
            shared_wait(&shared->bell, heard, ORPHAN_MS);
        } else if (atomic_compare_exchange_strong_explicit(
                       &slot->state, &seen, TAKEN | (number + 1) << NUMBER_SHIFT,
                       memory_order_acq_rel, memory_order_relaxed))
            make(crew, slot);
    }
}

/* ---- in the parent --------------------------------------------------------------- */

static void ring(struct crew *crew)
{
    atomic_fetch_add_explicit(&crew->shared->bell, 1, memory_order_release);
    shared_wake(&crew->shared->bell);
}

static det_status start(struct crew *crew, uint32_t number, struct err *err)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0)
        return err_errno(err, errno, "cannot start a worker process");
    if (!pid) {
        work(crew, number, parent);
        _exit(0); /* nothing of the parent's is to be ended here */
    }
    crew->pids[number] = pid;
    return DET_OK;
}

static void fail_slot(struct crew_slot *slot, const char *text)
{
    slot->status = DET_FAILED;
    (void)snprintf(slot->text, sizeof(slot->text), "batch %" PRId64 ": %s",
                   slot->position, text);
    atomic_store_explicit(&slot->state, READY, memory_order_release);
}

/* True: it is gone, and `text` says how. */
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
    else /* somebody else has waited for it */
        (void)snprintf(text, size, "the worker process %d is gone", (int)pid);
    return true;
}

/* What a worker was at when it died has failed; the rest is for the one that takes its
 * place. */
static void bury(struct crew *crew, uint32_t number, const char *text)
{
    for (uint32_t i = 0; i < crew->plan.slots; i++) {
        struct crew_slot *slot = &crew->shared->slots[i];

        if (atomic_load_explicit(&slot->state, memory_order_acquire) ==
            (TAKEN | (number + 1) << NUMBER_SHIFT))
            fail_slot(slot, text);
    }
    crew->pids[number] = 0;
}

static void look_after(struct crew *crew)
{
    uint32_t living = 0;

    for (uint32_t i = 0; i < crew->plan.workers; i++) {
        char text[128];

        if (crew->pids[i] && has_died(crew->pids[i], text, sizeof(text)))
            bury(crew, i, text);
        if (!crew->pids[i])
            (void)start(crew, i, NULL);
        living += crew->pids[i] != 0;
    }
    for (uint32_t i = 0; !living && i < crew->plan.slots; i++) {
        struct crew_slot *slot = &crew->shared->slots[i];

        if (atomic_load_explicit(&slot->state, memory_order_acquire) == POSTED)
            fail_slot(slot, "no worker process could be started");
    }
}

void crew_post(struct crew *crew, uint32_t slot, int64_t position)
{
    struct crew_slot *to = &crew->shared->slots[slot];

    to->position = position;
    atomic_store_explicit(&to->state, POSTED, memory_order_release);
    ring(crew);
}

static void wait_ready(struct crew *crew, struct crew_slot *slot)
{
    for (;;) {
        uint32_t seen = atomic_load_explicit(&slot->state, memory_order_acquire);

        if (seen == READY)
            return;
        shared_wait(&slot->state, seen, LOOK_MS);
        if (atomic_load_explicit(&slot->state, memory_order_acquire) == seen)
            look_after(crew);
    }
}

det_status crew_wait(struct crew *crew, uint32_t slot, struct err *err)
{
    struct crew_slot *at = &crew->shared->slots[slot];

    wait_ready(crew, at);
    return at->status ? err_set(err, at->status, "%s", at->text) : DET_OK;
}

void crew_recall(struct crew *crew, uint32_t slot)
{
    struct crew_slot *at = &crew->shared->slots[slot];
    uint32_t seen = POSTED;

    if (!atomic_compare_exchange_strong_explicit(
            &at->state, &seen, READY, memory_order_acq_rel, memory_order_relaxed))
        wait_ready(crew, at);
}

/* ---- made and freed -------------------------------------------------------------- */

det_status crew_new(const struct crew_plan *plan, struct crew **ret_crew,
                    struct err *err)
{
    struct crew *crew = mem_new(struct crew);
    det_status st = DET_OK;

    if (!crew)
        return err_default(err, DET_NOMEM);
    crew->plan = *plan;
    crew->pids = mem_array(plan->workers, sizeof(*crew->pids));
    crew->shared_len =
        sizeof(struct crew_shared) + plan->slots * sizeof(struct crew_slot);
    crew->shared = crew->pids ? shared_memory_new(crew->shared_len) : NULL;
    if (!crew->shared)
        st = err_default(err, DET_NOMEM);
    for (uint32_t i = 0; !st && i < plan->workers; i++)
        st = start(crew, i, err);
    if (st) {
        crew_free(crew);
        return st;
    }
    *ret_crew = crew;
    return DET_OK;
}

void crew_free(struct crew *crew)
{
    if (!crew)
        return;
    if (crew->shared) {
        atomic_store_explicit(&crew->shared->is_over, 1, memory_order_release);
        ring(crew);
        for (uint32_t i = 0; i < crew->plan.workers; i++)
            while (crew->pids[i] && waitpid(crew->pids[i], NULL, 0) < 0 &&
                   errno == EINTR)
                ;
    }
    shared_memory_free(crew->shared, crew->shared_len);
    mem_free(crew->pids);
    mem_free(crew);
}
