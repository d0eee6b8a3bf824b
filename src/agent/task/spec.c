/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/spec.h"

#include <string.h>

#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "data/json/json.h"

enum { SPEC_LIMIT = 64 << 20 };

static const struct field task_user_fields[] = {
    FIELD(I64, task_user, uid, "user number"),
    FIELD(I64, task_user, gid, "group number"),
    FIELD(STR, task_user, name, "user name"),
    FIELD(BOOL, task_user, is_link, "whether both numbers count as they are"),
    FIELD_END,
};

const struct field task_spec_fields[] = {
    FIELD_REQUIRED(STR, task_spec, allocation, "the allocation's name"),
    FIELD(I64, task_spec, rank, "which share of it"),
    FIELD(I64, task_spec, shares, "how many there are"),
    FIELD_REQUIRED(STR, task_spec, task_id, "the task"),
    FIELD(STR, task_spec, container_id, "the share's own id"),
    FIELD(STR, task_spec, supervisor_token, "the credential of its supervisor"),
    FIELD(I64S, task_spec, slots, "its slots on the agent"),
    FIELD(STR, task_spec, device_type, "cpu or cuda"),
    FIELD(TREE, task_spec, entrypoint, "what to run"),
    FIELD(TREE, task_spec, environment, "variables"),
    FIELD(BOOL, task_spec, context, "whether there are files to fetch"),
    FIELD(TREE, task_spec, info, "what the trial is"),
    FIELD(STR, task_spec, tcd_startup_hook, "a script to run first"),
    FIELD_OF(RECORD, task_spec, user, task_user_fields, struct task_user,
             "who runs it"),
    FIELD(TREE, task_spec, requirements, "packages that it needs"),
    FIELD(STR, task_spec, python, "the interpreter that it needs"),
    FIELD(BOOL, task_spec, measures_load, "whether to send the machine's load"),
    FIELD(STRS, task_spec, keep, "new files to save at its end"),
    FIELD(STRS, task_spec, gpu_uuids, "its GPUs"),
    FIELD(STRS, task_spec, gpu_names, "what they are"),
    FIELD(STR, task_spec, master_url, "the master, as the agent knows it"),
    FIELD(STR, task_spec, master_cert_file, "by which the supervisor knows the master"),
    FIELD(STR, task_spec, envs, "where environments are"),
    FIELD(I64, task_spec, shm_size, "size of /dev/shm"),
    FIELD(I64, task_spec, shm_default, "the same, if it is not configured"),
    FIELD(TREE, task_spec, bind_mounts, "directories to mount"),
    FIELD(STRS, task_spec, storage_roots, "where checkpoints may be"),
    FIELD(STR, task_spec, storage_directory, "where its own are"),
    FIELD(BOOL, task_spec, is_shared, "the master serves more than its machine"),
    FIELD(BOOL, task_spec, is_isolated, "whether it has its own namespaces"),
    FIELD(STRS, task_spec, bind_mount_roots, "where bind mounts may be"),
    FIELD(STRS, task_spec, hidden, "files and directories with keys of the agent"),
    FIELD(STRS, task_spec, pass_environment, "variables of the agent for the task"),
    FIELD_OF(RECORD, task_spec, limits, task_limits_fields, struct task_limits,
             "how much it may use"),
    FIELD(STR, task_spec, control_group, "where it gets a control group"),
    FIELD(BOOL, task_spec, has_group_limits, "whether that one has the limits"),
    FIELD_END,
};

static bool is_name(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) < 200;
}

det_status spec_read(const struct json *tree, struct arena *mem,
                     struct task_spec *ret_spec, struct err *err)
{
    struct task_spec spec = {0};
    det_status status = fields_read(task_spec_fields, tree, mem, &spec, err);

    if (status)
        return status;
    if (!is_name(spec.allocation))
        return err_set(err, DET_INVALID, "'%s' is not the name of an allocation",
                       spec.allocation);
    if (spec.rank < 0)
        return err_set(err, DET_INVALID, "a rank cannot be negative");
    /* The largest allowed number is below -1, which means "unchanged" to chown(). */
    if (spec.user.uid < 0 || spec.user.uid >= UINT32_MAX || spec.user.gid < 0 ||
        spec.user.gid >= UINT32_MAX)
        return err_set(err, DET_INVALID, "there is no such user or group number");
    if (spec.shares < 1)
        spec.shares = 1;
    if (!spec.container_id)
        spec.container_id = "";
    *ret_spec = spec;
    return DET_OK;
}

det_status spec_load(struct io *io, const char *dir, struct arena *mem,
                     struct task_spec *ret_spec, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(SPEC_LIMIT);
    char *path = task_dir_path(mem, dir, TASK_DIR_SPEC);
    struct json *tree;
    det_status status;

    if (!path)
        return err_default(err, DET_NOMEM);
    status = task_dir_read(io, path, &text, mem, &tree, err);
    if (!status)
        status = spec_read(tree, mem, ret_spec, err);
    if (status == DET_INVALID) { /* it was checked when it was written */
        (void)err_prefix(err, "'%s' is damaged", path);
        if (err)
            err->status = DET_CORRUPT;
        return DET_CORRUPT;
    }
    return status;
}

const char *spec_variable(const struct task_spec *spec, const char *name)
{
    return json_str(json_get(spec->environment, name), NULL);
}

const char *spec_master(const struct task_spec *spec)
{
    return spec->master_url ? spec->master_url : spec_variable(spec, "DET_MASTER");
}
