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
 * its tasks. */
#include "agent/tasks.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/master_link.h"
#include "agent/privileged.h"
#include "agent/task/control.h"
#include "agent/task/master_cert.h"
#include "agent/task/output/ship.h"
#include "agent/task/output/spool.h"
#include "agent/task/prepare/child.h"
#include "agent/task/process_tree.h"
#include "agent/task/ring_drain.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
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
    KILL_ROUNDS = 50,
    ROOM_BYTES = 256 << 10, /* free space that a task needs to begin */
};

enum entry_state { STARTING, WAITING, ALIVE, ENDED };

struct entry {
    enum entry_state state; /* this and wants_kill: under the registry's lock */
    bool wants_kill;
    char *name; /* "<allocation>/<rank>", the key */
    char *allocation;
    int64_t rank;
    char *dir;
    char *spec;            /* WAITING: the task to start once there is room */
    int64_t cert_us;       /* when the certificate that it has was written */
    bool knows_master;     /* its supervisor uses our master's address */
    struct io_file *lock;  /* held once it ended */
    bool has_output;       /* ENDED: its supervisor may have left some */
    struct task_exit exit; /* ENDED; strings in `mem` */
    struct arena mem;
};

struct tasks {
    struct lock lock; /* guards `entries`, and the members marked above */
    struct map entries;
    struct io *io;
    char *root;
    char *program;
    char *agent_id;
    char *master_url;
    const char *cert_file; /* in `mem` */
    struct arena mem;
    const char *boot_id;
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
    mem_free(entry->spec);
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
    const char **names;
    det_status status = io_mkdir(tasks->io, tasks->root, true, err);

    if (!status)
        status = io_list(tasks->io, tasks->root, &mem, &names, err);
    for (; !status && *names; names++)
        status = adopt(tasks, *names, err);
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
    tasks->program = mem_strdup(config->program);
    tasks->agent_id = mem_strdup(config->agent_id);
    tasks->master_url = mem_strdup(config->master_url);
    tasks->boot_id = task_dir_boot_id(&tasks->mem);
    tasks->cert_file = arena_strdup(&tasks->mem, config->cert_file);
    if (tasks->root && tasks->program && tasks->agent_id && tasks->master_url &&
        tasks->boot_id && !tasks->mem.has_failed)
        status = lock_init(&tasks->lock, err);
    else
        status = err_default(err, DET_NOMEM);
    if (!status)
        status = adopt_all(tasks, err);
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
    status = io_remove_tree(tasks->io, entry->dir, err);
    if (!status)
        status = io_mkdir(tasks->io, entry->dir, true, err);
    if (!status)
        status = master_cert_pass(tasks->io, tasks->cert_file, entry->dir,
                                  &entry->cert_us, err);
    if (!status)
        status = task_dir_write(tasks->io, path, &text, err);
    return status;
}

/* A task of another user must pass through the agent's directory and that of its
 * tasks (identity.c).  If this fails, the task says why. */
static void open_way(const struct tasks *tasks)
{
    const char *slash = strrchr(tasks->root, '/');
    CLEANUP(mem_freep)
    char *above =
        slash ? mem_strndup(tasks->root, (size_t)(slash - tasks->root)) : NULL;
    struct err err = {0};

    if (above && *above && privileged_let_pass(above, &err))
        log_warn("%s", err.text);
    if (privileged_let_pass(tasks->root, &err))
        log_warn("%s", err.text);
}

/* Whether the disk has room for a task's first files.  Not zeroes: some file systems
 * need no room for those. */
static bool has_room(struct tasks *tasks)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(2 * ROOM_BYTES);
    CLEANUP(io_closep) struct io_file *file = NULL;
    char *path = arena_printf(&mem, "%s.room", tasks->root); /* beside the tasks */
    char *bytes = arena_alloc(&mem, ROOM_BYTES);
    det_status status = DET_OK;

    if (!path || !bytes)
        return true; /* memory is short; the start reports that */
    memset(bytes, 'x', ROOM_BYTES);
    status = io_open(tasks->io, path, IO_WRITE | IO_CREATE | IO_TRUNCATE, &file, NULL);
    if (!status)
        status = io_write_at(file, 0, bytes, ROOM_BYTES, NULL);
    if (file)
        (void)io_remove(tasks->io, path, NULL);
    return status != DET_FULL;
}

static void start_entry(struct tasks *tasks, struct entry *entry,
                        const struct json *spec, bool is_others)
{
    const char *argv[] = {tasks->program, "task", "run", entry->dir, NULL};
    struct err why = {0};
    det_status status = lay_down(tasks, entry, spec, &why);

    if (!status && is_others)
        open_way(tasks);
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
    end_as(tasks, entry, "FAILED", 1, why.text);
}

/* Keeps the spec.  A full disk is not the task's fault: the task neither fails nor
 * moves from one full agent to the next; it starts when there is room. */
static det_status wait_for_room(struct tasks *tasks, struct entry *entry,
                                const struct json *spec, struct err *err)
{
    struct buf text = BUF_INIT;

    json_write(&text, spec);
    entry->spec = buf_take(&text);
    if (!entry->spec) {
        end_as(tasks, entry, "TRANSIENT", 1, "the agent is out of memory");
        return err_default(err, DET_NOMEM);
    }
    log_warn("no space left on the disk for '%s': %s starts when there is some",
             tasks->root, entry->name);
    set_state(tasks, entry, WAITING);
    return DET_OK;
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
    if (!has_room(tasks))
        return wait_for_room(tasks, entry, spec, err);
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

static void pass_kill(struct tasks *tasks, struct entry *entry)
{
    struct err err = {0};
    bool wants_kill;

    lock_take(&tasks->lock);
    wants_kill = entry->wants_kill;
    entry->wants_kill = false;
    lock_give(&tasks->lock);
    if (!wants_kill || !control_send(entry->dir, CONTROL_KILL, CONTROL_MS, &err))
        return;
    /* No supervisor listens: it is just ending or starting.  The next look knows
     * more. */
    if (err.status != DET_UNREACHABLE)
        log_warn("cannot kill %s, retrying: %s", entry->name, err.text);
    lock_take(&tasks->lock);
    entry->wants_kill = true;
    lock_give(&tasks->lock);
}

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

/* Ends the processes that a dead supervisor left, and returns why it died. */
static const char *clean_up(struct tasks *tasks, const struct entry *entry)
{
    static const char vanished[] = "its supervisor vanished";
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    const char *run_dir = task_dir_path(&mem, entry->dir, TASK_DIR_RUN);
    struct task_dir_pid pid = {0};
    struct err err = {0};
    size_t count = 1;
    det_status status = task_dir_read_pid(tasks->io, entry->dir, &mem, &pid, &err);

    if (!run_dir)
        return vanished;
    /* Its processes are known by their environment, too. */
    if (status && status != DET_NOT_FOUND)
        log_warn("%s", err.text);
    if (!status && pid.boot_id && strcmp(pid.boot_id, tasks->boot_id) != 0)
        return "its machine was restarted"; /* these numbers belong to others now */
    for (int i = 0; count && i < KILL_ROUNDS; i++)
        if (process_tree_kill_rest(&pid, run_dir, &count, &err)) {
            log_error("%s", err.text);
            break;
        }
    return vanished;
}

static det_status ship_spools(const struct entry *entry, struct master_link *link,
                              struct spool *spool[SHIP_STREAMS], struct err *err)
{
    const struct ship_config config = {.spool = {spool[0], spool[1]},
                                       .link = link,
                                       .allocation = entry->allocation,
                                       .rank = entry->rank};
    struct ship *ship = NULL;
    det_status status = ship_new(&config, &ship, err);

    if (!status)
        status = ship_rest(ship, err);
    ship_free(ship);
    return status;
}

static det_status drain_ring(struct tasks *tasks, const struct entry *entry,
                             struct master_link *link, struct spool *log,
                             struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct ring_drain_config config = {.io = tasks->io,
                                       .link = link,
                                       .allocation = entry->allocation,
                                       .rank = entry->rank};
    struct ring_drain *drain = NULL;
    char text[ERR_TEXT_SIZE];
    struct io_stat found;
    det_status status;

    config.dir = task_dir_path(&mem, entry->dir, TASK_DIR_REPORTS);
    if (!config.dir)
        return err_default(err, DET_NOMEM);
    status = io_stat(tasks->io, config.dir, &found, err);
    if (status)
        return status == DET_NOT_FOUND ? DET_OK : status; /* it never began */
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

/* A refusal is not a reason to keep the rest; but a wrong token is the agent's
 * problem. */
static det_status retry_or_lose(const struct entry *entry, const char *what,
                                det_status status, const struct err *err)
{
    if (master_link_may_retry(status) || status == DET_UNAUTHENTICATED)
        return status;
    if (status)
        log_warn("the end of the %s of %s was lost: %s", what, entry->name, err->text);
    return DET_OK;
}

/* Sends the reports and the output that the supervisor could not send, with the
 * agent's own token: the task's may be the reason. */
static det_status ship_left(struct tasks *tasks, const struct entry *entry,
                            struct master_link *link)
{
    struct spool_config config = {.io = tasks->io, .dir = entry->dir};
    struct spool *spool[SHIP_STREAMS] = {NULL};
    struct err err = {0};
    struct err why = {0};
    bool is_empty = true;
    det_status status = DET_OK;
    det_status drained;

    for (size_t i = 0; !status && i < SHIP_STREAMS; i++) {
        config.name = ship_streams[i];
        status = spool_open(&config, &spool[i], &err);
    }
    drained = drain_ring(tasks, entry, link, spool[1], &why);
    drained = retry_or_lose(entry, "reports", drained, &why);
    for (size_t i = 0; !status && !drained && i < SHIP_STREAMS; i++) {
        spool_end(spool[i], 0);
        is_empty = is_empty && spool_end_offset(spool[i]) == 0;
    }
    if (!status && !drained && !is_empty)
        status = ship_spools(entry, link, spool, &err);
    for (size_t i = 0; i < SHIP_STREAMS; i++)
        spool_close(spool[i]);
    return drained ? drained : retry_or_lose(entry, "output", status, &err);
}

/* Looks whether a supervisor still works on it; if not, takes over what it left. */
static void look_for_end(struct tasks *tasks, struct entry *entry)
{
    struct task_exit exit;
    struct err err = {0};
    enum task_dir_state state;
    det_status status =
        task_dir_look(tasks->io, entry->dir, &state, &entry->lock, &err);

    if (status == DET_NOT_FOUND) {
        end_as(tasks, entry, "TRANSIENT", 1, "its directory was removed");
        return;
    }
    if (status) {
        log_error("%s", err.text);
        return;
    }
    if (state == TASK_DIR_ALIVE) {
        pass_kill(tasks, entry);
        (void)master_cert_pass(tasks->io, tasks->cert_file, entry->dir, &entry->cert_us,
                               NULL); /* retried at the next look */
        pass_master(tasks, entry);
        return;
    }
    if (state == TASK_DIR_VANISHED) {
        const char *why = clean_up(tasks, entry);

        entry->has_output = true;
        end_as(tasks, entry, "TRANSIENT", 1, why);
        return;
    }
    status = task_dir_read_exit(tasks->io, entry->dir, &entry->mem, &exit, &err);
    if (status == DET_NOMEM) { /* there is an exit.json: the next look reads it */
        io_closep(&entry->lock);
        return;
    }
    entry->has_output = true;
    if (status) { /* then nothing says that its processes are gone */
        (void)clean_up(tasks, entry);
        end_as(tasks, entry, "TRANSIENT", 1, err.text);
        return;
    }
    end_as(tasks, entry, exit.exit, exit.code, exit.reason ? exit.reason : "ended");
    entry->exit.is_final = exit.is_final;
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
    struct err err = {0};

    /* If the directory stays, the next agent finds, reports and removes it. */
    if (io_remove_tree(tasks->io, entry->dir, &err))
        log_error("%s", err.text);
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

static void look_for_room(struct tasks *tasks, struct entry *entry)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SPEC_MEM);
    struct task_spec read;
    struct json *spec;
    struct err err = {0};
    bool wants_kill;

    lock_take(&tasks->lock);
    wants_kill = entry->wants_kill;
    lock_give(&tasks->lock);
    if (wants_kill) {
        end_as(tasks, entry, "KILLED", 128 + SIGKILL, "it had not started");
        return;
    }
    if (!has_room(tasks) ||
        json_parse(entry->spec, strlen(entry->spec), &mem, &spec, &err) ||
        spec_read(spec, &mem, &read, &err))
        return; /* or no memory: the next look */
    start_entry(tasks, entry, spec, read.user.uid && geteuid() == 0);
}

static bool look_at_entry(struct tasks *tasks, struct entry *entry,
                          struct master_link *link)
{
    if (state_of(tasks, entry) == WAITING)
        look_for_room(tasks, entry);
    if (state_of(tasks, entry) == ALIVE)
        look_for_end(tasks, entry);
    if (state_of(tasks, entry) != ENDED)
        return true;
    if (entry->has_output && ship_left(tasks, entry, link))
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

size_t tasks_running(struct tasks *tasks)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct entry **entry;
    size_t count = 0;

    if (!list_entries(tasks, &mem, &entry))
        return 0;
    for (; *entry; entry++) {
        const char *exit = task_dir_path(&mem, (*entry)->dir, TASK_DIR_EXIT);
        struct io_stat found;

        /* After exit.json only the supervisor is left, which may stay. */
        count += state_of(tasks, *entry) != WAITING &&
                 state_of(tasks, *entry) != ENDED && exit &&
                 io_stat(tasks->io, exit, &found, NULL) != DET_OK;
    }
    return count;
}
