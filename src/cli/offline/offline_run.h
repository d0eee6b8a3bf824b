/* SPDX-License-Identifier: Apache-2.0 */
/* offline_run.h - the folders of offline runs, as they are on disk. */
#ifndef CLI_OFFLINE_OFFLINE_RUN_H
#define CLI_OFFLINE_OFFLINE_RUN_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct cli;
struct json;

enum offline_state {
    OFFLINE_RUNNING,
    OFFLINE_COMPLETED,
    OFFLINE_FAILED,
    OFFLINE_KILLED
};

struct offline_run {
    const char *path; /* absolute */
    const char *name; /* of the folder */
    const char *id;   /* stays the same when the folder moves */
    int64_t created_us;
    int64_t begun_us; /* the last run */
    int64_t ended_us; /* 0: it is running */
    int64_t run_id;
    int64_t seed;
    enum offline_state state;
    int64_t exit_code;
    const struct json *hparams; /* an object */
    const struct json *config;  /* an object */
    const struct json *storage; /* NULL: in the folder */
    const struct json *notes;   /* NULL: none */
};

struct offline_runs {
    struct offline_run *at; /* oldest first */
    uint32_t count;
};

/* DET_NOT_FOUND: there is no run in the folder.  DET_CORRUPT: it cannot be read. */
det_status offline_run_read(const char *path, struct arena *mem,
                            struct offline_run *ret_run, struct err *err);
/* The run in `path`, or all runs in folders directly below it.  Unreadable runs are
 * reported on stderr and left out. */
det_status offline_runs_find(struct cli *cli, const char *path,
                             struct offline_runs *ret_runs);
/* The default folder of runs. */
det_status offline_home(struct arena *mem, const char **ret_path, struct err *err);
/* Finds a run by its number, counted from 1, its name or its path; NULL: none. */
const struct offline_run *offline_run_named(const struct offline_runs *runs,
                                            const char *word, uint32_t *ret_number);

#endif
