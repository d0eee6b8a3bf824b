/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - rows of generic jobs, and lists of them for the API. */
#ifndef STORE_TASK_JOB_H
#define STORE_TASK_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/records.h"

struct arena;
struct buf;
struct db;
struct page;

/* ---- the heart's rows (inside a job of the writer) ------------------------------- */

/* The type that people see; the core treats all jobs alike. */
#define JOB_GENERIC     "GENERIC"
#define JOB_TENSORBOARD "TENSORBOARD"

struct job_texts {
    const char *name;
    const char *config;      /* complete, JSON */
    const char *forked_from; /* a task id; NULL: none */
    const char *type;        /* JOB_TENSORBOARD; NULL: JOB_GENERIC */
    const char *sources;     /* JSON; NULL: none */
    int64_t workspace_id;    /* 0: the first one */
    const void *files;
    uint64_t files_len;
};
det_status store_job_add(struct db *db, const struct job *row,
                         const struct job_texts *texts, struct err *err);
det_status store_job_put(struct db *db, const struct job *row, struct err *err);

/* ---- looking --------------------------------------------------------------------- */

struct job_view {
    struct job row;
    const char *name;
    const char *forked_from; /* NULL: none */
    int64_t files_size;
    const char *username; /* of its owner; "": the user was deleted */
    const char *type;     /* JOB_GENERIC, JOB_TENSORBOARD */
    const char *sources;  /* JSON: {"experimentIds":[..],"trialIds":[..]}; NULL: none */
    int64_t workspace_id;
    const char *workspace_name; /* NULL: it was deleted */
    const char *config;
};

/* DET_NOT_FOUND ("task '...' not found") also for the task of a trial. */
det_status store_job_get(struct db *db, const char *task_id, struct arena *mem,
                         struct job_view *ret_row, struct err *err);
det_status store_job_by_id(struct db *db, int64_t id, struct arena *mem,
                           struct job_view *ret_row, struct err *err);
/* COMPLETED, CANCELED or ERROR. */
det_status store_job_is_over(struct db *db, int64_t id, bool *ret_is_over,
                             struct err *err);
/* A page of jobs, the newest first, without their configurations; a limit of 0 means
 * all.  Ended jobs only if `with_ended`. */
det_status store_job_list(struct db *db, bool with_ended, struct page *page,
                          struct arena *mem, struct job_view **ret_rows,
                          uint32_t *ret_count, struct err *err);
/* Appends its folder of code, tar.gz; nothing if it has none. */
det_status store_job_files(struct db *db, int64_t id, struct buf *ret_tgz,
                           struct err *err);
/* The jobs that are not over, by id, for core_restore(). */
det_status store_jobs_alive(struct db *db, struct arena *mem, struct job **ret_rows,
                            uint32_t *ret_count, struct err *err);

#endif
