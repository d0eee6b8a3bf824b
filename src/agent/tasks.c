/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - memory holds only facts that the directories also hold, and the next step
 * of each task; a new agent finds the same by reading the directories.
 *
 * Starting is two forks and an exec (child.h), and waits until the supervisor holds its
 * lock.  Otherwise the next look could take a task that is starting for one that
 * vanished; an entry in the state STARTING is not looked at.
 *
 * A task's end is reported by its supervisor, and again from here: the master takes the
 * first report.  Only its answer makes us remove the directory; if the answer was lost,
 * the task is found and reported again.  A killed supervisor leaves processes (which
 * are ended) and output (which is sent from its spool before the end is reported).  The
 * agent sends it with its own token, which the master accepts for reports and output of
 * its tasks.
 *
 * A supervisor whose directory was removed is found by its command line. */
#include "agent/tasks.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/master_link.h"
#include "agent/task/control.h"
#include "agent/task/left.h"
#include "agent/task/master_cert.h"
#include "agent/task/prepare/child.h"
#include "agent/task/process_tree.h"
#include "agent/task/quarantine.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "agent/tasks_root.h"
#include "base/clock.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "data/text.h"
#include "data/url.h"

enum {
    SCRATCH = 1 << 20,
    SPEC_MEM = 128 << 20,
    START_MS = 10 * 1000,
    CONTROL_MS = 1000,
    FAILED_LOOKS = 5,
    FAILED_KILLS = 30,
    FAILED_SENDS = 30,
    UNHEARD_KILLS = 10,
};

enum entry_state { STARTING, ALIVE, ENDED };

struct entry {
    enum entry_state state; /* this and wants_kill: under the registry's lock */
    bool wants_kill;
    char *name; /* "<allocation>/<rank>", the key */
    char *allocation;
    int64_t rank;
    char *dir;
    int64_t cert_us;      /* when the certificate that it has was written */
    bool knows_master;    /* its supervisor uses our master's address */
    struct io_file *lock; /* held once it ended */
    bool has_output;      /* ENDED: its supervisor may have left some */
    bool is_spoiled;      /* ENDED: to be set aside */
    /* Consecutive looks that could not look, end its processes, send what is left, or pass on
     * a kill. */
    int failed_looks, failed_kills, failed_sends, unheard_kills;
    struct task_exit exit; /* ENDED; strings in `mem` */
    struct arena mem;
};

struct tasks {
    struct lock lock; /* guards `entries`, and the members marked above */
    struct map entries;
    struct io *io;
    char *root;
    char *quarantine;
    char *program;
    char *agent_id;
    char *master_url;
    const char *cert_file; /* in `mem` */
    struct arena mem;
    const char *boot_id;
    const char *control_group; /* in `mem`; NULL: none */
};

/* ---- entries --------------------------------------------------------------------- */

static void entry_free(struct entry *entry)
{
    if (!entry)
        return;
    io_close(entry->lock);
    arena_done(&entry->mem);
    mem_free(entry->name);
    mem_free(entry->allocation);
    mem_free(entry->dir);
    mem_free(entry);
}

static char *PRINTF_LIKE(1, 2) text_of(const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list args;

    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    return buf_take(&text);
}

static char *path_beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    return text_of("%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name);
}

static det_status entry_new(const struct tasks *tasks, const char *allocation,
                            int64_t rank, struct entry **ret_entry, struct err *err)
{
    struct entry *entry = mem_new(struct entry);

    if (!entry)
        return err_default(err, DET_NOMEM);
    entry->mem = (struct arena)ARENA_INIT(SCRATCH);
    entry->rank = rank;
    entry->allocation = mem_strdup(allocation);
    entry->name = text_of("%s/%" PRId64, allocation, rank);
    entry->dir = text_of("%s/%s-%" PRId64, tasks->root, allocation, rank);
    if (!entry->allocation || !entry->name || !entry->dir) {
        entry_free(entry);
        return err_default(err, DET_NOMEM);
    }
    *ret_entry = entry;
    return DET_OK;
}

static void set_state(struct tasks *tasks, struct entry *entry, enum entry_state state)
{
    lock_take(&tasks->lock);
    entry->state = state;
    lock_give(&tasks->lock);
}

static enum entry_state state_of(struct tasks *tasks, const struct entry *entry)
{
    enum entry_state state;

    lock_take(&tasks->lock);
    state = entry->state;
    lock_give(&tasks->lock);
    return state;
}

static void end_as(struct tasks *tasks, struct entry *entry, const char *exit,
                   int64_t code, const char *reason)
{
    const char *copy = arena_strdup(&entry->mem, reason);

    entry->exit =
        (struct task_exit){.exit = exit, .code = code, .reason = copy ? copy : "ended"};
    set_state(tasks, entry, ENDED);
}

/* Adds an entry; `ret_entry` NULL: it existed. */
static det_status add_entry(struct tasks *tasks, const char *allocation, int64_t rank,
                            struct entry **ret_entry, struct err *err)
{
    struct entry *entry = NULL;
    det_status status = entry_new(tasks, allocation, rank, &entry, err);
    bool is_old;
    bool is_kept;

    if (status)
        return status;
    lock_take(&tasks->lock);
    is_old = smap_get(&tasks->entries, entry->name) != NULL;
    is_kept = !is_old && smap_put(&tasks->entries, entry->name, entry);
    lock_give(&tasks->lock);
    *ret_entry = is_kept ? entry : NULL;
    if (!is_kept)
        entry_free(entry);
    return is_kept || is_old ? DET_OK : err_default(err, DET_NOMEM);
}

/* ---- life ------------------------------------------------------------------------ */

/* "<allocation>-<rank>" */
static det_status adopt(struct tasks *tasks, const char *name, struct err *err)
{
    const char *dash = strrchr(name, '-');
    CLEANUP(mem_freep) char *allocation = NULL;
    struct entry *entry;
    int64_t rank;
    det_status status;

    if (!dash || dash == name || !parse_i64(dash + 1, &rank) || rank < 0) {
        log_warn("'%s/%s' is not a task directory", tasks->root, name);
        return DET_OK;
    }
    allocation = mem_strndup(name, (size_t)(dash - name));
    if (!allocation)
        return err_default(err, DET_NOMEM);
    status = add_entry(tasks, allocation, rank, &entry, err);
    if (!status && entry)
        set_state(tasks, entry, ALIVE); /* until looked at */
    return status;
}

static det_status adopt_all(struct tasks *tasks, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT((size_t)SCRATCH * 16);
    const char **names[2];
    det_status status = io_mkdir(tasks->io, tasks->root, true, err);

    if (!status)
        status = io_list(tasks->io, tasks->root, &mem, &names[0], err);
    /* One may have been removed under its supervisor: the task is here until that ends. */
    if (!status)
        status = process_tree_supervised(tasks->root, &mem, &names[1], err);
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; !status && names[i][k]; k++)
            status = adopt(tasks, names[i][k], err);
    return status;
}

det_status tasks_new(const struct tasks_config *config, struct tasks **ret_tasks,
                     struct err *err)
{
    struct tasks *tasks = mem_new(struct tasks);
    det_status status;

    if (!tasks)
        return err_default(err, DET_NOMEM);
    tasks->io = config->io;
    tasks->mem = (struct arena)ARENA_INIT(SCRATCH);
    tasks->root = mem_strdup(config->root);
    tasks->quarantine = path_beside(config->root, "quarantine");
    tasks->program = mem_strdup(config->program);
    tasks->agent_id = mem_strdup(config->agent_id);
    tasks->master_url = mem_strdup(config->master_url);
    tasks->boot_id = task_dir_boot_id(&tasks->mem);
    tasks->cert_file = arena_strdup(&tasks->mem, config->cert_file);
    tasks->control_group = arena_strdup(&tasks->mem, config->control_group);
    if (tasks->root && tasks->quarantine && tasks->program && tasks->agent_id &&
        tasks->master_url && tasks->boot_id && !tasks->mem.has_failed)
        status = lock_init(&tasks->lock, err);
    else
        status = err_default(err, DET_NOMEM);
    if (!status)
        status = adopt_all(tasks, err);
    if (!status)
        quarantine_prune(tasks->io, tasks->quarantine, clock_wall_us(&clock_system));
    if (status) {
        tasks_free(tasks);
        return status;
    }
    *ret_tasks = tasks;
    return DET_OK;
}

void tasks_free(struct tasks *tasks)
{
    struct entry *entry;

    if (!tasks)
        return;
    for (size_t i = 0; (entry = map_next(&tasks->entries, &i));)
        entry_free(entry);
    map_done(&tasks->entries);
    lock_done(&tasks->lock);
    arena_done(&tasks->mem);
    mem_free(tasks->root);
    mem_free(tasks->quarantine);
    mem_free(tasks->program);
    mem_free(tasks->agent_id);
    mem_free(tasks->master_url);
    mem_free(tasks);
}

/* ---- commands -------------------------------------------------------------------- */

static det_status lay_down(struct tasks *tasks, struct entry *entry,
                           const struct json *spec, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    char *path = task_dir_path(&mem, entry->dir, TASK_DIR_SPEC);
    det_status status;

    json_write(&text, spec);
    if (!path || text.status)
        return err_default(err, path ? text.status : DET_NOMEM);
    /* The rest of an earlier run of the same name is useless. */
    status = io_remove_closed_tree(tasks->io, entry->dir, err);
    if (!status)
        status = io_mkdir(tasks->io, entry->dir, true, err);
    if (!status)
        status = master_cert_pass(tasks->io, tasks->cert_file, entry->dir,
                                  &entry->cert_us, err);
    if (!status)
        status = task_dir_write(tasks->io, path, &text, err);
    return status;
}

/* After exit.json only the supervisor is left, which may stay. */
static bool has_processes(struct tasks *tasks, const struct entry *entry,
                          enum entry_state state)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    const char *exit = task_dir_path(&mem, entry->dir, TASK_DIR_EXIT);
    struct io_stat found;

    return state != ENDED && exit && io_stat(tasks->io, exit, &found, NULL) != DET_OK;
}

/* DET_BUSY: another run of the same task ("<task>.<run>") has processes here, one that the
 * master has given up and that has not heard of it.  Two runs would disturb each other. */
static det_status check_alone(struct tasks *tasks, const struct entry *entry,
                              struct err *err)
{
    const char *dot = strrchr(entry->allocation, '.');
    size_t len = dot ? (size_t)(dot - entry->allocation) + 1 : 0;
    const struct entry *other;
    bool is_alone = true;

    lock_take(&tasks->lock);
    for (size_t i = 0; len && is_alone && (other = map_next(&tasks->entries, &i));)
        is_alone = strncmp(other->allocation, entry->allocation, len) != 0 ||
                   strcmp(other->allocation, entry->allocation) == 0 ||
                   !has_processes(tasks, other, other->state);
    lock_give(&tasks->lock);
    return is_alone ? DET_OK
                    : err_set(err, DET_BUSY,
                              "another run of it still has processes on this machine");
}

static void start_entry(struct tasks *tasks, struct entry *entry,
                        const struct json *spec, bool is_others)
{
    const char *argv[] = {tasks->program, "task", "run", entry->dir, NULL};
    struct err why = {0};
    det_status status = check_alone(tasks, entry, &why);
    bool is_wrong;

    if (!status)
        status = tasks_root_check_room(tasks->io, tasks->root, &why);
    if (!status)
        status = lay_down(tasks, entry, spec, &why);
    if (!status && is_others)
        tasks_root_open_way(tasks->root);
    if (!status)
        status = child_detach(argv, START_MS, &why);
    /* A slow supervisor may still start: then it holds its lock. */
    if (!status || status == DET_TIMEOUT) {
        entry->knows_master = true;
        set_state(tasks, entry, ALIVE);
        log_info("started %s", entry->name);
        return;
    }
    log_error("cannot start %s: %s", entry->name, why.text);
    /* No program has run: all but a wrong spec is a fault of this machine. */
    is_wrong = status == DET_INVALID || status == DET_TOO_LARGE;
    end_as(tasks, entry, is_wrong ? "FAILED" : "LACKING", 1, why.text);
}

det_status tasks_start(struct tasks *tasks, const struct json *spec, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SPEC_MEM);
    struct task_spec read;
    struct entry *entry = NULL;
    det_status status = spec_read(spec, &mem, &read, err);

    if (!status)
        status = add_entry(tasks, read.allocation, read.rank, &entry, err);
    if (status || !entry)
        return status;
    start_entry(tasks, entry, spec, read.user.uid && geteuid() == 0);
    return DET_OK;
}

det_status tasks_kill(struct tasks *tasks, const char *allocation, int64_t rank,
                      struct err *err)
{
    struct entry *entry;
    struct entry *known;
    det_status status = add_entry(tasks, allocation, rank, &entry, err);

    if (status)
        return status;
    if (entry) {
        end_as(tasks, entry, "KILLED", 128 + SIGKILL, "it was not running");
        return DET_OK;
    }
    CLEANUP(mem_freep) char *name = text_of("%s/%" PRId64, allocation, rank);

    if (!name)
        return err_default(err, DET_NOMEM);
    lock_take(&tasks->lock);
    known = smap_get(&tasks->entries, name);
    if (known)
        known->wants_kill = true;
    lock_give(&tasks->lock);
    return DET_OK;
}

void tasks_write(struct json_writer *w, const char *key, struct tasks *tasks)
{
    const struct entry *entry;

    jw_array(w, key);
    lock_take(&tasks->lock);
    for (size_t i = 0; (entry = map_next(&tasks->entries, &i));)
        jw_str(w, NULL, entry->name);
    lock_give(&tasks->lock);
    jw_end_array(w);
}

/* ---- looking --------------------------------------------------------------------- */

/* A supervisor started by an earlier agent may know the master by another address. */
static void pass_master(struct tasks *tasks, struct entry *entry)
{
    struct err err = {0};
    det_status status;

    if (entry->knows_master)
        return;
    status =
        control_tell(entry->dir, CONTROL_MASTER, tasks->master_url, CONTROL_MS, &err);
    /* Any other failure is retried at the next look. */
    entry->knows_master = !status || status == DET_UNSUPPORTED;
}

static struct left left_of(const struct tasks *tasks, const struct entry *entry)
{
    return (struct left){.io = tasks->io,
                         .dir = entry->dir,
                         .name = entry->name,
                         .allocation = entry->allocation,
                         .rank = entry->rank,
                         .boot_id = tasks->boot_id,
                         .control_group = tasks->control_group};
}

/* Whether all processes of the task have ended; *ret_why says why its supervisor has.  A run
 * that is reported too early would overlap with the next one, but nothing ends a process that
 * the kernel holds: after a while the report is better than none, unless only a lack of memory
 * or descriptors hides whether they have ended. */
static bool end_processes(struct tasks *tasks, struct entry *entry,
                          const char **ret_why)
{
    const struct left left = left_of(tasks, entry);
    struct err err = {0};
    det_status status = left_end(&left, ret_why, &err);

    if (err_is_lack(status) || (status && ++entry->failed_kills < FAILED_KILLS))
        return false;
    if (status)
        log_error("%s", err.text);
    else
        entry->failed_kills = 0;
    return true;
}

static void pass_kill(struct tasks *tasks, struct entry *entry)
{
    struct err err = {0};
    const char *unused;
    bool wants_kill;

    lock_take(&tasks->lock);
    wants_kill = entry->wants_kill;
    entry->wants_kill = false;
    lock_give(&tasks->lock);
    if (!wants_kill)
        return;
    if (!control_send(entry->dir, CONTROL_KILL, CONTROL_MS, &err)) {
        entry->unheard_kills = 0;
        return;
    }
    /* Somebody took its socket away, or stopped it. */
    if (++entry->unheard_kills >= UNHEARD_KILLS) {
        log_warn("killing %s and its supervisor: %s", entry->name, err.text);
        (void)end_processes(tasks, entry, &unused);
    }
    /* No supervisor listens: it is just ending or starting.  The next look knows
     * more. */
    if (err.status != DET_UNREACHABLE)
        log_warn("cannot kill %s, retrying: %s", entry->name, err.text);
    lock_take(&tasks->lock);
    entry->wants_kill = true;
    lock_give(&tasks->lock);
}

/* ---- ends ------------------------------------------------------------------------ */

static void end_left(struct tasks *tasks, struct entry *entry, const char *exit,
                     const char *reason)
{
    entry->has_output = true;
    end_as(tasks, entry, exit, 1, reason);
}

/* A process of the task has made something of its directory that no crash leaves.  That is a
 * failure of the program, and costs a restart. */
static void end_spoiled(struct tasks *tasks, struct entry *entry, const char *what)
{
    CLEANUP(buf_done) struct buf reason = BUF_INIT;

    buf_printf(&reason, TASK_DIR_SPOILED "%s", what);
    log_error("%s: %s", entry->name, reason.status ? what : reason.data);
    entry->is_spoiled = true;
    end_left(tasks, entry, "FAILED", reason.status ? what : reason.data);
}

/* The lock cannot be looked at: for a moment, or because somebody made it so. */
static void look_in_vain(struct tasks *tasks, struct entry *entry,
                         const struct err *why)
{
    struct err err = {0};
    const char *unused;

    if (err_is_lack(why->status) ||
        (task_dir_check(tasks->io, entry->dir, &err) != DET_CORRUPT &&
         ++entry->failed_looks < FAILED_LOOKS)) {
        log_error("%s", why->text);
        return;
    }
    if (end_processes(tasks, entry, &unused))
        end_spoiled(tasks, entry, err.status == DET_CORRUPT ? err.text : why->text);
}

/* There is an exit.json. */
static void find_exit(struct tasks *tasks, struct entry *entry)
{
    struct task_exit exit;
    struct err err = {0};
    det_status status =
        task_dir_read_exit(tasks->io, entry->dir, &entry->mem, &exit, &err);

    if (err_is_lack(status)) /* the next look reads it */
        return;
    if (status) {
        end_left(tasks, entry, "TRANSIENT", err.text);
        return;
    }
    entry->has_output = true;
    end_as(tasks, entry, exit.exit, exit.code, exit.reason ? exit.reason : "ended");
    entry->exit.is_final = exit.is_final;
}

/* No supervisor works on it: we take over what it left. */
static void take_over(struct tasks *tasks, struct entry *entry,
                      enum task_dir_state state)
{
    struct err err = {0};
    const char *why = NULL;
    det_status status = task_dir_check(tasks->io, entry->dir, &err);

    if (!end_processes(tasks, entry, &why))
        return;
    if (status == DET_CORRUPT)
        end_spoiled(tasks, entry, err.text);
    else if (state == TASK_DIR_VANISHED)
        end_left(tasks, entry, "TRANSIENT", why);
    else
        find_exit(tasks, entry);
}

/* Also if that cannot be found out now. */
static bool may_have_supervisor(const struct entry *entry)
{
    pid_t pid;

    return process_tree_supervisor(entry->dir, &pid, NULL) || pid;
}

/* Looks whether a supervisor still works on it. */
static void look_for_end(struct tasks *tasks, struct entry *entry)
{
    struct err err = {0};
    enum task_dir_state state;
    const char *unused;
    det_status status =
        task_dir_look(tasks->io, entry->dir, &state, &entry->lock, &err);

    if (status == DET_NOT_FOUND && !task_dir_check(tasks->io, entry->dir, &err)) {
        /* A supervisor ends the task and delivers what it holds. */
        pass_kill(tasks, entry);
        if (!may_have_supervisor(entry) && end_processes(tasks, entry, &unused))
            end_as(tasks, entry, "TRANSIENT", 1, "its directory was removed");
        return;
    }
    if (status) {
        look_in_vain(tasks, entry, &err);
        return;
    }
    entry->failed_looks = 0;
    if (state == TASK_DIR_ALIVE) {
        pass_kill(tasks, entry);
        (void)master_cert_pass(tasks->io, tasks->cert_file, entry->dir, &entry->cert_us,
                               NULL); /* retried at the next look */
        pass_master(tasks, entry);
        return;
    }
    if (state != TASK_DIR_VANISHED || !may_have_supervisor(entry) ||
        task_dir_check(tasks->io, entry->dir, &err) == DET_CORRUPT)
        take_over(tasks, entry, state);
    else /* its lock was removed, or it starts */
        pass_kill(tasks, entry);
    /* The next look takes the lock again. */
    if (state_of(tasks, entry) == ALIVE)
        io_closep(&entry->lock);
}

/* Whether reports and output were sent, or cannot be.  A listing that does not fit into memory
 * will not fit later either. */
static bool send_left(struct tasks *tasks, struct entry *entry,
                      struct master_link *link)
{
    const struct left left = left_of(tasks, entry);
    struct err lost = {0};
    det_status status = left_send(&left, link, &lost);

    if (status != DET_NOMEM)
        entry->failed_sends = 0;
    if (status == DET_NOMEM && ++entry->failed_sends >= FAILED_SENDS)
        (void)err_set(&lost, DET_TOO_LARGE, "reports and output need too much memory");
    else if (status)
        return false;
    if (lost.status && !entry->is_spoiled)
        end_spoiled(tasks, entry, lost.text);
    return true;
}

static det_status send_exit(struct tasks *tasks, const struct entry *entry,
                            struct master_link *link, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct master_link_request request = {.method = NET_POST, .body = &body};
    struct json *reply;

    buf_puts(&path, "/api/v1/det/agents/");
    url_encode(&path, tasks->agent_id);
    buf_puts(&path, "/allocations/");
    url_encode(&path, entry->allocation);
    buf_puts(&path, "/exit");
    jw_object(&w, NULL);
    jw_i64(&w, "rank", entry->rank);
    jw_str(&w, "exit", entry->exit.exit);
    jw_i64(&w, "code", entry->exit.code);
    jw_str(&w, "reason", entry->exit.reason);
    if (entry->exit.is_final)
        jw_bool(&w, "isFinal", true);
    jw_end_object(&w);
    if (path.status)
        return err_default(err, path.status);
    request.path = path.data;
    return master_link_call(link, &request, &mem, &reply, err);
}

/* The end is reported: nothing of the task is needed any more. */
static void forget_entry(struct tasks *tasks, struct entry *entry)
{
    int64_t now_us = clock_wall_us(&clock_system);
    struct err err = {0};
    struct err why = {0};
    det_status status = DET_FAILED;

    if (!entry->is_spoiled)
        status = io_remove_closed_tree(tasks->io, entry->dir, &err);
    if (status && err.status)
        log_error("%s", err.text);
    /* If the directory stays, the next agent finds, reports and removes it. */
    if (status &&
        quarantine_put(tasks->io, tasks->quarantine, entry->dir, now_us, &why))
        log_error("%s", why.text);
    lock_take(&tasks->lock);
    smap_remove(&tasks->entries, entry->name);
    lock_give(&tasks->lock);
    entry_free(entry);
}

static bool report_exit(struct tasks *tasks, struct entry *entry,
                        struct master_link *link)
{
    struct err err = {0};
    det_status status = send_exit(tasks, entry, link, &err);

    /* A wrong token is the agent's problem, not the task's end. */
    if (master_link_may_retry(status) || status == DET_UNAUTHENTICATED)
        return false;
    if (status)
        log_warn("the master refuses the end of %s: %s", entry->name, err.text);
    else
        log_info("%s %s (%s)", entry->name, entry->exit.reason, entry->exit.exit);
    forget_entry(tasks, entry);
    return true;
}

static bool look_at_entry(struct tasks *tasks, struct entry *entry,
                          struct master_link *link)
{
    if (state_of(tasks, entry) == ALIVE)
        look_for_end(tasks, entry);
    if (state_of(tasks, entry) != ENDED)
        return true;
    if (entry->has_output && !send_left(tasks, entry, link))
        return false;
    entry->has_output = false;
    return report_exit(tasks, entry, link);
}

/* Only this lane removes entries, so pointers to them stay valid. */
static bool list_entries(struct tasks *tasks, struct arena *mem,
                         struct entry ***ret_list)
{
    struct entry **entries;
    struct entry *entry;
    size_t count = 0;

    lock_take(&tasks->lock);
    entries = arena_array(mem, struct entry *, tasks->entries.count + 1);
    for (size_t i = 0; entries && (entry = map_next(&tasks->entries, &i));)
        entries[count++] = entry;
    lock_give(&tasks->lock);
    *ret_list = entries;
    return entries != NULL;
}

bool tasks_look(struct tasks *tasks, struct master_link *link)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct entry **entry;
    bool is_master_there = true;

    if (!list_entries(tasks, &mem, &entry))
        return true;
    for (; *entry; entry++)
        is_master_there = look_at_entry(tasks, *entry, link) && is_master_there;
    return is_master_there;
}

/* ---- the agent ends -------------------------------------------------------------- */

void tasks_term(struct tasks *tasks)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct err err = {0};
    struct entry **entry;

    if (!list_entries(tasks, &mem, &entry))
        return;
    for (; *entry; entry++)
        if (state_of(tasks, *entry) == ALIVE &&
            control_send((*entry)->dir, CONTROL_TERM, CONTROL_MS, &err) &&
            err.status != DET_UNREACHABLE) /* it has just ended */
            log_warn("cannot end %s: %s", (*entry)->name, err.text);
}

void tasks_end(struct tasks *tasks)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct entry **entry;
    const char *unused;

    if (!list_entries(tasks, &mem, &entry))
        return;
    for (; *entry; entry++)
        if (has_processes(tasks, *entry, state_of(tasks, *entry))) {
            log_warn("%s did not end in time, killing it", (*entry)->name);
            (void)end_processes(tasks, *entry, &unused);
        }
}

size_t tasks_running(struct tasks *tasks)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct entry **entry;
    size_t count = 0;

    if (!list_entries(tasks, &mem, &entry))
        return 0;
    for (; *entry; entry++)
        count += state_of(tasks, *entry) != ENDED;
    return count;
}
