/* SPDX-License-Identifier: Apache-2.0 */
/* offline.h - runs without a master, as they lie on disk, and how they are brought into
 * one.
 *
 * There is one way to look at such a run and one to import it, and they are the same:
 * bring_run() tells a master about it by the REST calls.  `det import` tells a real
 * one.  For `--local` a master is made that lives in the memory of this command and
 * dies with it (local_master.c); it is told of the runs in the folder, and then the
 * command asks it as it would ask any other.  So both show the same tables from the
 * same rows. */
#ifndef CLI_OFFLINE_H
#define CLI_OFFLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct cli;
struct json;
struct local_master;
struct ring_reader;

/* ---- folders --------------------------------------------------------------------- */

enum offline_state {
    OFFLINE_RUNNING,
    OFFLINE_COMPLETED,
    OFFLINE_FAILED,
    OFFLINE_KILLED
};

struct offline_run {
    const char *path; /* absolute */
    const char *name; /* of the folder */
    const char *id;   /* never changes, wherever the folder goes */
    int64_t created_us;
    int64_t begun_us; /* the last run */
    int64_t ended_us; /* 0: it runs */
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
    struct offline_run *at; /* the oldest first */
    uint32_t count;
};

/* DET_NOT_FOUND: there is no run in the folder.  DET_CORRUPT: there is, but it cannot
 * be read. */
det_status offline_run_read(const char *path, struct arena *mem,
                            struct offline_run *ret_run, struct err *err);
/* The run in `path`, or all runs in folders below it; those that cannot be read are
 * said on stderr and left out. */
det_status offline_runs_find(struct cli *cli, const char *path,
                             struct offline_runs *ret_runs);
/* Where runs lie that nobody gave a folder of their own. */
det_status offline_home(struct arena *mem, const char **ret_path, struct err *err);
/* The one that a word means: its number, counted from 1, its name or its path; NULL:
 * none. */
const struct offline_run *offline_run_named(const struct offline_runs *runs,
                                            const char *word, uint32_t *ret_number);

/* ---- telling a master ------------------------------------------------------------ */

enum bring_flag {
    BRING_OUTLINE = 1,  /* what lists show: neither training metrics nor output */
    BRING_IN_PLACE = 2, /* checkpoints stay where they are, unread */
    BRING_NAMES = 4,    /* neither reports nor output: those follow later */
};

struct brought {
    int64_t experiment_id;
    int64_t trial_id;
    bool was_there;
    uint64_t reports; /* that are new */
    uint64_t refused;
    uint64_t lost; /* damaged in the folder */
    uint64_t output_bytes;
    uint32_t checkpoints;
    uint32_t checkpoints_left; /* damaged or gone: not brought */
};

/* Idempotent: what the master has already is not stored again. */
det_status bring_run(struct cli *cli, const struct offline_run *run, unsigned flags,
                     struct brought *ret_brought);

/* A run that the master has, followed while it goes on: each call brings what it has
 * reported and printed since, and costs little where that is nothing.  Starts as
 * {.trial_id = ...}; bring_follow_end() frees what it holds. */
struct bring_follow {
    int64_t trial_id;
    bool is_known;   /* `stored` is */
    uint64_t stored; /* the last report that the master has */
    struct ring_reader *reader;
    bool knows_output;
    uint64_t output[2]; /* how far the master has each stream */
};
det_status bring_follow(struct cli *cli, const struct offline_run *run,
                        struct bring_follow *f, bool *ret_did);
void bring_follow_end(struct bring_follow *f);
/* How it is now, and its notes. */
det_status bring_end(struct cli *cli, const struct offline_run *run, int64_t trial_id);

/* What it has printed since, of a run that the master has. */
det_status bring_more_output(struct cli *cli, const struct offline_run *run,
                             int64_t trial_id, uint64_t *ret_bytes);

/* ---- a master of this command's own ---------------------------------------------- */

/* The configuration of a master that runs nothing; in `mem`. */
det_status local_master_config(struct arena *mem, struct json **ret_tree,
                               struct err *err);
/* Opens cli->client to it.  Called by cli_connect() where --local was given. */
det_status local_master_open(struct cli *cli);
void local_master_close(struct local_master *local); /* NULL does nothing */
/* The number of the run that a word means. */
det_status local_master_id(struct cli *cli, const char *word, int64_t *ret_id);
/* Looks at the folder again for what run `id` has printed since.  *ret_is_over: the run
 * has ended, and there was nothing new. */
det_status local_master_renew_output(struct cli *cli, int64_t id, bool *ret_is_over);

#endif
