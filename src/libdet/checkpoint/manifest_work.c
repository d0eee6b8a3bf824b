/* SPDX-License-Identifier: Apache-2.0 */
/* manifest_work.c - syncs and checksums the files of a checkpoint.
 *
 * A sync waits for the disk and a checksum for the processor, so both are done at once:
 * two jobs per file, on a few threads.  Each sync waits for the disk; for many files one
 * sync of the file system replaces them all, and then checksums read what is cached.
 * For little work the caller does it alone; so it does in a memory file system, because
 * tests inject faults into one thread. */
#include "libdet/checkpoint/manifest_work.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "libdet/checkpoint/manifest.h"

/* MANY: so many syncs, one after the other, cost more than one sync of the whole file
 * system, which also writes the files of others. */
enum { CHUNK = 1 << 20, MUCH = 8 << 20, THREADS = 4, MANY = 256 };

struct job_group {
    struct io *io;
    const char *root;
    struct gate *gate;
    atomic_size_t left;
};

/* One file to sync or to checksum. */
struct job {
    struct work task;
    struct job_group *group;
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

static void run_job(struct work *task)
{
    struct job *job = CONTAINER_OF(task, struct job, task);
    struct job_group *group = job->group;
    CLEANUP(mem_freep) struct err *err = mem_new(struct err);

    if (job->work == MANIFEST_SYNC)
        job->status = sync_one(group->io, group->root, job->file, err);
    else
        job->status = sum_one(group->io, group->root, job->file, err);
    if (job->status && err)
        memcpy(job->text, err->text, sizeof(job->text) - 1);
    if (atomic_fetch_sub(&group->left, 1) == 1)
        gate_open(group->gate);
}

/* Syncs first, because the disk takes longest. */
static size_t list_jobs(struct job_group *group, struct manifest *manifest,
                        unsigned work, struct job *jobs)
{
    size_t count = 0;

    for (unsigned kind = MANIFEST_SYNC; kind <= MANIFEST_SUM; kind <<= 1)
        for (size_t i = 0; i < manifest->files.count; i++) {
            struct manifest_file *file = &manifest->files.at[i];

            if (!(work & kind) || (kind == MANIFEST_SUM && file->has_crc))
                continue;
            jobs[count++] = (struct job){.task = WORK_INIT(run_job),
                                         .group = group,
                                         .file = file,
                                         .work = (enum manifest_work)kind};
        }
    return count;
}

/* Checksums and syncs have a lane each, so neither waits behind the other. */
static det_status run_all(struct executor *exec, struct job_group *group,
                          struct job *jobs, size_t count, struct err *err)
{
    struct lane *sync, *sum;
    det_status st = lane_new(exec, "det-sync", THREADS, &sync, err);

    if (!st)
        st = lane_new(exec, "det-sum", THREADS, &sum, err);
    if (!st)
        st = gate_new(exec, &group->gate, err);
    if (st)
        return st;
    atomic_store(&group->left, count);
    for (size_t i = 0; i < count; i++)
        lane_post(jobs[i].work == MANIFEST_SYNC ? sync : sum, &jobs[i].task);
    (void)gate_wait(group->gate, 0);
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
    struct job_group group = {.io = io, .root = root};
    CLEANUP(mem_freep)
    struct job *jobs = mem_array(manifest->files.count * 2, sizeof(*jobs));
    struct executor *exec = NULL;
    size_t count;
    det_status st = jobs ? DET_OK : err_default(err, DET_NOMEM);

    if (st)
        return st;
    count = list_jobs(&group, manifest, work, jobs);
    if (!count)
        return DET_OK;
    st = executor_threads_new(&clock_system, &exec, err);
    if (!st)
        st = run_all(exec, &group, jobs, count, err);
    if (exec)
        executor_free(exec);
    if (group.gate)
        gate_free(group.gate);
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

det_status manifest_sync_all(struct io_file *disk, size_t count, struct err *err)
{
    return disk && count >= MANY ? io_sync_all(disk, err) : DET_UNSUPPORTED;
}

det_status manifest_work(struct io *io, struct io_file *disk, const char *root,
                         struct manifest *manifest, unsigned work, struct err *err)
{
    det_status st = work & MANIFEST_SYNC
                        ? manifest_sync_all(disk, manifest->files.count, err)
                        : DET_UNSUPPORTED;

    if (st && st != DET_UNSUPPORTED)
        return st;
    if (!st)
        work &= ~(unsigned)MANIFEST_SYNC;
    if (io_is_memory(io) || manifest->size_bytes < MUCH)
        return work_alone(io, root, manifest, work, err);
    return work_together(io, root, manifest, work, err);
}
