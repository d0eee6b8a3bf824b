/* SPDX-License-Identifier: Apache-2.0 */
/* manifest_work.c - syncing and summing the files of a checkpoint.
 *
 * A sync waits for the disk and a sum for the processor, so that both are done at once:
 * two jobs a file, on a few threads, where there is enough to do.  What is small is
 * done by the caller alone; so is everything in a memory file system, whose faults
 * strike one thread. */
#include <stdatomic.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/task.h"
#include "libdet/manifest.h"

enum { CHUNK = 1 << 20, MUCH = 8 << 20, THREADS = 4 };

struct crew {
    struct io *io;
    const char *root;
    struct gate *gate;
    atomic_size_t left;
};

/* One file to be synced, or one to be summed. */
struct job {
    struct task task;
    struct crew *crew;
    struct manifest_file *file;
    enum manifest_work work;
    det_status status;
    char text[256]; /* of the failure */
};

static det_status open_one(struct io *io, const char *root, const char *path,
                           unsigned flags, struct io_file **ret_file, struct err *err)
{
    CLEANUP(buf_done) struct buf full = BUF_INIT;

    buf_printf(&full, "%s/%s", root, path);
    return full.status ? err_default(err, full.status)
                       : io_open(io, full.data, flags, ret_file, err);
}

static det_status sync_one(struct io *io, const char *root,
                           const struct manifest_file *file, struct err *err)
{
    CLEANUP(io_closep) struct io_file *open = NULL;
    det_status st = open_one(io, root, file->path, IO_READ, &open, err);

    return st ? st : io_sync(open, err);
}

static det_status sum_one(struct io *io, const char *root, struct manifest_file *file,
                          struct err *err)
{
    CLEANUP(io_closep) struct io_file *open = NULL;
    CLEANUP(mem_freep) char *chunk = NULL;
    uint64_t offset = 0;
    uint32_t crc = 0;
    size_t got = 1;
    det_status st = open_one(io, root, file->path, IO_READ, &open, err);

    if (!st) {
        chunk = mem_alloc(MIN((uint64_t)CHUNK, file->size_bytes + 1));
        if (!chunk)
            st = err_default(err, DET_NOMEM);
    }
    while (!st && got) {
        st = io_read_at(open, offset, chunk, MIN((uint64_t)CHUNK, file->size_bytes + 1),
                        &got, err);
        if (st)
            break;
        crc = crc32c(crc, chunk, got);
        offset += got;
    }
    if (st)
        return st;
    file->crc = crc;
    file->has_crc = true;
    file->size_bytes = offset;
    return DET_OK;
}

/* ---- several at once ------------------------------------------------------------- */

static void run_job(struct task *task)
{
    struct job *job = CONTAINER_OF(task, struct job, task);
    struct crew *crew = job->crew;
    CLEANUP(mem_freep) struct err *err = mem_new(struct err);

    if (job->work == MANIFEST_SYNC)
        job->status = sync_one(crew->io, crew->root, job->file, err);
    else
        job->status = sum_one(crew->io, crew->root, job->file, err);
    if (job->status && err)
        memcpy(job->text, err->text, sizeof(job->text) - 1);
    if (atomic_fetch_sub(&crew->left, 1) == 1)
        gate_open(crew->gate);
}

/* Syncs first: the disk is what is waited for. */
static size_t list_jobs(struct crew *crew, struct manifest *manifest, unsigned work,
                        struct job *jobs)
{
    size_t count = 0;

    for (unsigned kind = MANIFEST_SYNC; kind <= MANIFEST_SUM; kind <<= 1)
        for (size_t i = 0; i < manifest->files.count; i++) {
            struct manifest_file *file = &manifest->files.at[i];

            if (!(work & kind) || (kind == MANIFEST_SUM && file->has_crc))
                continue;
            jobs[count++] = (struct job){.task = TASK_INIT(run_job),
                                         .crew = crew,
                                         .file = file,
                                         .work = (enum manifest_work)kind};
        }
    return count;
}

/* Sums and syncs have a lane each, so that one never waits behind the other. */
static det_status run_all(struct exec *exec, struct crew *crew, struct job *jobs,
                          size_t count, struct err *err)
{
    struct lane *sync, *sum;
    det_status st = lane_new(exec, "det-sync", THREADS, &sync, err);

    if (!st)
        st = lane_new(exec, "det-sum", THREADS, &sum, err);
    if (!st)
        st = gate_new(exec, &crew->gate, err);
    if (st)
        return st;
    atomic_store(&crew->left, count);
    for (size_t i = 0; i < count; i++)
        lane_post(jobs[i].work == MANIFEST_SYNC ? sync : sum, &jobs[i].task);
    (void)gate_wait(crew->gate, 0);
    for (size_t i = 0; i < count && !st; i++)
        if (jobs[i].status)
            st = err_set(err, jobs[i].status, "%s",
                         jobs[i].text[0] ? jobs[i].text
                                         : det_status_text(jobs[i].status));
    return st;
}

static det_status work_together(struct io *io, const char *root,
                                struct manifest *manifest, unsigned work,
                                struct err *err)
{
    struct crew crew = {.io = io, .root = root};
    CLEANUP(mem_freep)
    struct job *jobs = mem_array(manifest->files.count * 2, sizeof(*jobs));
    struct exec *exec = NULL;
    size_t count;
    det_status st = jobs ? DET_OK : err_default(err, DET_NOMEM);

    if (st)
        return st;
    count = list_jobs(&crew, manifest, work, jobs);
    if (!count)
        return DET_OK;
    st = exec_threads_new(&clock_system, &exec, err);
    if (!st)
        st = run_all(exec, &crew, jobs, count, err);
    if (exec)
        exec_free(exec);
    if (crew.gate)
        gate_free(crew.gate);
    return st;
}

static det_status work_alone(struct io *io, const char *root, struct manifest *manifest,
                             unsigned work, struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; !st && i < manifest->files.count; i++) {
        struct manifest_file *file = &manifest->files.at[i];

        if (work & MANIFEST_SUM && !file->has_crc)
            st = sum_one(io, root, file, err);
        if (!st && work & MANIFEST_SYNC)
            st = sync_one(io, root, file, err);
    }
    return st;
}

det_status manifest_work(struct io *io, const char *root, struct manifest *manifest,
                         unsigned work, struct err *err)
{
    if (io_is_memory(io) || manifest->size_bytes < MUCH)
        return work_alone(io, root, manifest, work, err);
    return work_together(io, root, manifest, work, err);
}
