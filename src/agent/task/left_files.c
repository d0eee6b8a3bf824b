/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/left_files.h"

#include <string.h>
#include <sys/wait.h>

#include "agent/task/ring_drain.h"
#include "agent/task/supervisor_loop.h"
#include "base/log.h"

static bool is_watched(const struct supervisor *s)
{
    return !s->spec.rank && !s->is_removed && spec_variable(&s->spec, "DET_TRIAL_ID");
}

void left_files_note(struct supervisor *s)
{
    const char *work = task_dir_path(&s->mem, s->dir, TASK_DIR_WORK);
    struct err err = {0};

    if (!is_watched(s))
        return;
    if (!work || new_files_begin(&s->new_files, work, &s->mem, &err)) {
        log_warn("the files of the task are not watched: out of memory");
        s->new_files.is_huge = true;
    }
}

static const char **list_kept(struct supervisor *s)
{
    size_t count = s->new_files.kept.count;
    const char **paths = arena_array(&s->mem, const char *, count + 1);

    for (size_t i = 0; paths && i < count; i++)
        paths[i] = s->new_files.kept.at[i].path;
    if (paths)
        paths[count] = NULL;
    return paths;
}

bool left_files_keep(struct supervisor *s, struct child *ret_child, struct err *err)
{
    const char *work = task_dir_path(&s->mem, s->dir, TASK_DIR_WORK);
    const char **paths;
    det_status status;

    if (!is_watched(s) || strcmp(s->exit.exit, "CLEAN") != 0)
        return false;
    status = work ? new_files_find(&s->new_files, work, &s->spec.keep, &s->mem, err)
                  : err_default(err, DET_NOMEM);
    s->has_kept = !status && s->new_files.kept.count;
    if (!status && !s->has_kept)
        return false;
    paths = status ? NULL : list_kept(s);
    if (!status && !paths)
        status = err_default(err, DET_NOMEM);
    if (!status)
        status = task_start_keeper(&s->start, paths, &s->mem, ret_child, err);
    if (status)
        (void)err_prefix(err, "the files of 'keep' are lost");
    return !status;
}

const char *left_files_keeper_ended(struct supervisor *s, int status)
{
    if (!WIFSIGNALED(status))
        return NULL;
    return arena_printf(&s->mem,
                        "files of 'keep' may be lost: the process that saved them was "
                        "killed by signal %d (%s)",
                        WTERMSIG(status), strsignal(WTERMSIG(status)));
}

/* A run that saved checkpoints knows how to keep what it needs; still, the log names files
 * of `keep` that were not saved. */
const char *left_files_sentence(struct supervisor *s)
{
    if (ring_drain_checkpoints(s->drain) > (s->has_kept ? 1 : 0) &&
        !new_files_lose_some(&s->new_files))
        return NULL;
    return new_files_sentence(&s->new_files, &s->mem);
}

const char *left_files_unmatched(struct supervisor *s)
{
    return new_files_unmatched(&s->new_files, &s->mem);
}
