/* SPDX-License-Identifier: Apache-2.0 */
/* left.c - the files may be anything that a process of the task made of them: they are opened as
 * plain files or not at all, and whatever cannot be read is lost and said to be. */
#include "agent/task/left.h"

#include <signal.h>
#include <string.h>

#include "agent/master_link.h"
#include "agent/privileged.h"
#include "agent/task/output/ship.h"
#include "agent/task/output/spool.h"
#include "agent/task/process_tree.h"
#include "agent/task/ring_drain.h"
#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"

enum { SCRATCH = 1 << 20, KILL_ROUNDS = 50 };

/* Its numbers, as far as they mean anything: the task can write this file, and after a restart
 * of the machine they belong to others.  Its processes are known by other signs, too. */
static struct task_dir_pid read_pid(const struct left *left, struct arena *mem,
                                    const char **ret_why)
{
    struct task_dir_pid pid = {0};
    struct err err = {0};
    det_status status = task_dir_read_pid(left->io, left->dir, mem, &pid, &err);

    *ret_why = "its supervisor vanished";
    if (status && status != DET_NOT_FOUND)
        log_warn("%s", err.text);
    if (status || !pid.boot_id || strcmp(pid.boot_id, left->boot_id) == 0)
        return pid;
    *ret_why = "its machine was restarted";
    return (struct task_dir_pid){0};
}

/* The agent that started the task may have had another control group than we have. */
static bool end_groups(const struct left *left, const struct task_dir_pid *pid)
{
    bool is_ended = !pid->groups || privileged_group_end(pid->groups, left->dir);

    return (!left->control_group ||
            privileged_group_end(left->control_group, left->dir)) &&
           is_ended;
}

det_status left_end(const struct left *left, const char **ret_why, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct task_dir_pid pid = read_pid(left, &mem, ret_why);
    bool has_group = false;
    size_t count = 1;

    /* The supervisor, should it be alive, before its task: it would report an end of its own. */
    for (int i = 0; count && i < KILL_ROUNDS; i++) {
        det_status status =
            process_tree_signal_rest(&pid, left->dir, SIGKILL, &count, err);

        if (status)
            return status;
        if (i == 0)
            has_group = !end_groups(left, &pid);
    }
    count = MAX(count, (size_t)has_group);
    return count ? err_set(err, DET_TIMEOUT, "%zu processes of %s have not ended yet",
                           count, left->name)
                 : DET_OK;
}

/* ---- output ---------------------------------------------------------------------- */

static det_status send_spools(const struct left *left, struct master_link *link,
                              struct spool *spool[SHIP_STREAMS], struct err *err)
{
    const struct ship_config config = {.spool = {spool[0], spool[1]},
                                       .link = link,
                                       .allocation = left->allocation,
                                       .rank = left->rank};
    struct ship *ship = NULL;
    det_status status = ship_new(&config, &ship, err);

    if (!status)
        status = ship_rest(ship, err);
    ship_free(ship);
    return status;
}

static det_status drain_ring(const struct left *left, struct master_link *link,
                             struct spool *log, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct ring_drain_config config = {.io = left->io,
                                       .link = link,
                                       .allocation = left->allocation,
                                       .rank = left->rank};
    struct ring_drain *drain = NULL;
    char text[ERR_TEXT_SIZE];
    struct io_stat found;
    det_status status;

    config.dir = task_dir_path(&mem, left->dir, TASK_DIR_REPORTS);
    if (!config.dir)
        return err_default(err, DET_NOMEM);
    status = io_stat(left->io, config.dir, &found, err);
    if (status == DET_NOT_FOUND || err_is_lack(status))
        return status == DET_NOT_FOUND ? DET_OK : status; /* it never began */
    if (status)
        return DET_FAILED; /* not a failure of the link: it will fail again */
    status = ring_drain_new(&config, &drain, err);
    if (!status)
        status = ring_drain_rest(drain, err);
    while (drain && ring_drain_take_note(drain, text)) {
        char line[ERR_TEXT_SIZE + 16];
        int len = snprintf(line, sizeof(line), "[det] %s\n", text);

        if (log)
            spool_write(log, 0, line, MIN((size_t)len, sizeof(line) - 1));
    }
    ring_drain_free(drain);
    return status;
}

/* A refusal is not a reason to keep the rest; but a wrong token is the agent's problem. */
static det_status retry_or_lose(const struct left *left, const char *what,
                                det_status status, const struct err *err)
{
    if (master_link_may_retry(status) || status == DET_UNAUTHENTICATED)
        return status;
    if (status)
        log_warn("the end of the %s of %s was lost: %s", what, left->name, err->text);
    return DET_OK;
}

/* What cannot be opened here will not be sent by trying again, unless only memory or descriptors
 * are lacking. */
static det_status open_spools(const struct left *left,
                              struct spool *spool[SHIP_STREAMS], struct err *ret_lost)
{
    struct spool_config config = {.io = left->io, .dir = left->dir};
    struct err err = {0};
    det_status status = DET_OK;

    for (size_t i = 0; !status && i < SHIP_STREAMS; i++) {
        config.name = ship_streams[i];
        status = spool_open(&config, &spool[i], &err);
    }
    if (!status || err_is_lack(status))
        return status;
    log_warn("the end of the output of %s was lost: %s", left->name, err.text);
    *ret_lost = err;
    return status;
}

det_status left_send(const struct left *left, struct master_link *link,
                     struct err *ret_lost)
{
    struct spool *spool[SHIP_STREAMS] = {NULL};
    struct err err = {0};
    struct err why = {0};
    bool is_empty = true;
    det_status status = open_spools(left, spool, ret_lost);
    bool is_lost = status && !err_is_lack(status);
    det_status drained = drain_ring(left, link, spool[1], &why);

    drained = retry_or_lose(left, "reports", drained, &why);
    for (size_t i = 0; !status && !drained && i < SHIP_STREAMS; i++) {
        spool_end(spool[i], 0);
        is_empty = is_empty && spool_end_offset(spool[i]) == 0;
    }
    if (!status && !drained && !is_empty)
        status = send_spools(left, link, spool, &err);
    for (size_t i = 0; i < SHIP_STREAMS; i++)
        spool_close(spool[i]);
    if (drained || is_lost)
        return drained;
    return retry_or_lose(left, "output", status, &err);
}
