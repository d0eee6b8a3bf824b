/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - what `det doctor` has seen; plain data, so a test can make any of it up.
 *
 * gather.h fills it in, judge.h reads it.  Texts live in the arena of the command.  A text
 * named `..._problem` is the sentence of what failed; NULL: nothing did. */
#ifndef CLI_DOCTOR_FACTS_H
#define CLI_DOCTOR_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io/io.h"

/* A number that is not known, and a limit that is none. */
#define DOCTOR_UNKNOWN   INT64_MIN
#define DOCTOR_UNLIMITED INT64_MAX

struct disk_facts {
    bool is_gathered;
    const char *data_dir;         /* NULL: there is none */
    const char *data_dir_problem; /* why */
    bool is_named;                /* by --data-dir: it should be there */
    bool has_data_dir;
    bool has_database;
    struct io_stat stat; /* of the data directory */
    const char *place;   /* where the disk was looked at: it, or the folder above it */
    bool is_writable;    /* `place`, for this user */
    struct io_space space;
    const char *space_problem;
    int64_t sync_us; /* DOCTOR_UNKNOWN: not tried */
    const char *sync_problem;
    uint64_t type; /* as statfs(2) numbers it; 0: unknown */
    bool has_tried_locks;
    bool locks_exclude; /* a second holder was refused */
    const char *lock_problem;
};

/* A file that nobody but its owner may read. */
struct secret_fact {
    const char *path;
    const char *harm; /* what somebody who has read it can do */
    uint32_t mode;
    uint32_t uid;
};

struct keys_facts {
    bool is_gathered;
    struct secret_fact at[4]; /* those that exist */
    size_t count;
    const char *problem;
};

struct limits_facts {
    bool is_gathered;
    int64_t open_files;      /* now */
    int64_t open_files_most; /* this user may raise it so far */
    int64_t processes;       /* of this user; of root: not limited */
    int64_t threads;         /* of the whole machine */
    int64_t group_processes; /* of this control group */
};

struct isolation_facts {
    bool is_gathered;
    const char *namespace_problem;
    const char *group_problem;
    const char *group;       /* path of this process's */
    const char *controllers; /* "memory pids" */
};

struct libraries_facts {
    bool is_gathered;
    const char *http_problem;
    const char *tls_problem;
    const char *archive_problem;
    const char *libdet; /* path; NULL: none is near the program */
    const char *libdet_version;
    const char *libdet_problem;
};

struct python_facts {
    bool is_gathered;
    const char *path; /* of python3; NULL: there is none */
    const char *version;
    int major, minor;
    const char *package; /* folder; NULL: it cannot be imported */
    const char *package_version;
    const char *libdet_version; /* of the libdet in it */
    const char *problem;        /* the last line that Python printed */
};

struct gpus_facts {
    bool is_gathered;
    bool has_device; /* on the bus */
    bool has_driver;
    size_t count;
    const char *brand; /* of the first */
    int64_t cores;     /* slots without GPUs */
    const char *problem;
};

enum master_state {
    MASTER_NONE,        /* none runs here, and none is named */
    MASTER_UNREACHABLE, /* it does not answer, or not as a master */
    MASTER_DISTRUSTED,  /* it answers with a certificate that is not trusted */
    MASTER_ANSWERS,
};

struct master_facts {
    bool is_gathered;
    enum master_state state;
    const char *problem;
    const char *url;
    const char *host;
    bool is_tls;
    const char *version;
    bool is_up;
    bool is_read_only;          /* its disk is full */
    int64_t certificate_end_us; /* DOCTOR_UNKNOWN: none was shown */
    const char *certificate_names;
    /* The second in which it answered, by its clock, and ours before and after. */
    int64_t date_us;
    int64_t asked_us;
    int64_t answered_us;
    int64_t disk_free_bytes; /* where it keeps its data */
    int64_t disk_size_bytes;
};

struct agent_fact {
    const char *name;
    const char *version;
    bool is_connected;
    bool is_enabled;
    int64_t quiet_us; /* since its last sign of life */
    int64_t disk_free_bytes;
    int64_t clock_ahead_us; /* of the master's */
};

struct agents_facts {
    bool is_gathered;
    const char *problem; /* why the master does not list them */
    bool is_not_logged_in;
    const struct agent_fact *at;
    size_t count;
};

struct doctor_facts {
    const char *version;    /* of this program */
    uint32_t uid;           /* of this process */
    int64_t now_us;         /* wall clock */
    bool is_cluster_wanted; /* by name: a missing master is a failure */
    struct disk_facts disk;
    struct keys_facts keys;
    struct limits_facts limits;
    struct isolation_facts isolation;
    struct libraries_facts libraries;
    struct python_facts python;
    struct gpus_facts gpus;
    struct master_facts master;
    struct agents_facts agents;
};

#endif
