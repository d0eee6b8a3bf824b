/* SPDX-License-Identifier: Apache-2.0 */
/* spec.h - what a supervisor is to run: the "spec" of the master's START command, with
 * the agent's own additions, as it lies in DIR/spec.json. */
#ifndef AGENT_TASK_SPEC_H
#define AGENT_TASK_SPEC_H

#include "agent/task/prepare/limits.h"
#include "model/field.h"

struct arena;
struct io;
struct json;

/* Which user runs the task. */
struct task_user {
    int64_t uid;      /* 0 or absent: the agent's user */
    int64_t gid;      /* 0 or absent: the user's group on the machine */
    const char *name; /* for a machine that does not know the number */
    bool is_link;     /* of the task's owner: both numbers count, 0 too */
};

struct task_spec {
    const char *allocation; /* its name, "3.uuid.1" */
    int64_t rank;
    int64_t shares; /* of the allocation, one a node; 0 or absent: 1 */
    const char *task_id;
    const char *container_id;
    const char *supervisor_token; /* NULL: of a master that did not give one */
    struct field_i64s slots;
    const char *device_type;       /* "cpu" or "cuda" */
    const struct json *entrypoint; /* a string, a list of strings, or null */
    const struct json *environment;
    bool context; /* there are files to fetch */
    const struct json *info;
    const char *tcd_startup_hook;
    struct task_user user;
    const struct json *requirements; /* a file in work/, a list of lines, or null */
    const char *python;              /* an interpreter; NULL: python3 */
    bool measures_load;              /* of the machine, for the page of a trial */
    struct field_strs keep;          /* patterns of new files to save at its end */
    struct field_strs gpu_uuids;     /* by the agent, as the next */
    struct field_strs gpu_names;
    const char *master_url;
    int64_t shm_size;                /* of /dev/shm; 0: not configured */
    int64_t shm_default;             /* then, if it is isolated */
    const struct json *bind_mounts;  /* a list, or null */
    struct field_strs storage_roots; /* where checkpoints may be */
    const char *storage_directory;   /* where its own are; NULL: not in a directory */
    bool is_shared;                  /* its master serves more than this machine */
    bool is_isolated;                /* by the agent, as the next */
    struct field_strs bind_mount_roots;
    struct field_strs hidden; /* what a task with the agent's user must not see */
    struct field_strs pass_environment; /* variables of ours that it gets */
    struct task_limits limits;
    const char *control_group;    /* in which the task gets its own; NULL: none */
    bool has_group_limits;        /* that one has the limits, too */
    const char *master_cert_file; /* the agent's; the task has a copy of it */
    const char *envs; /* where its machine keeps environments; NULL: it does not */
};
extern const struct field task_spec_fields[];

/* DET_INVALID: something is missing or could not be a file's name. */
det_status spec_read(const struct json *tree, struct arena *mem,
                     struct task_spec *ret_spec, struct err *err);
/* Likewise; DET_CORRUPT: the file is damaged. */
det_status spec_load(struct io *io, const char *dir, struct arena *mem,
                     struct task_spec *ret_spec, struct err *err);

/* Where the supervisor finds the master, whatever the task's variables say; NULL:
 * the spec does not say. */
const char *spec_master(const struct task_spec *spec);

/* A variable of its environment, or NULL. */
const char *spec_variable(const struct task_spec *spec, const char *name);

#endif
