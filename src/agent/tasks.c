/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - what is in memory here is only what the directories say, plus what is to be
 * done next; a new agent finds the same by looking.
 *
 * Starting is two forks and an exec (child.h), and waits until the supervisor holds its
 * lock, so that the first look afterwards cannot take a task that is just beginning for
 * one that vanished; an entry that is STARTING is not looked at.
 *
 * A task that ended is reported by its supervisor, and again from here: the master
 * takes the first word.  Only its answer makes us remove the directory; what the answer
 * was lost for is found and reported again.  A supervisor that was killed leaves
 * processes (which are ended) and output (which is sent from its spool before the end
 * is reported). */
#include "agent/tasks.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/talk.h"
#include "agent/task/child.h"
#include "agent/task/control.h"
#include "agent/task/drain.h"
#include "agent/task/family.h"
#include "agent/task/identity.h"
#include "agent/task/place.h"
#include "agent/task/ship.h"
#include "agent/task/spec.h"
#include "agent/task/spool.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/task.h"
#include "base/vec.h"
#include "data/json.h"
#include "data/text.h"

enum {
    SCRATCH = 1 << 20,
    SPEC_MEM = 128 << 20,
    START_MS = 10 * 1000,
    CONTROL_MS = 1000,
    KILL_ROUNDS = 50,
    ROOM_BYTES = 256 << 10, /* that a task needs to begin with */
};

enum entry_state { STARTING, WAITING, ALIVE, ENDED };

struct entry {
    enum entry_state state; /* this and wants_kill: under the registry's lock */
    bool wants_kill;
    char *name; /* "<allocation>/<rank>", the key */
    char *allocation;
    int64_t rank;
    char *dir;
    char *spec;            /* WAITING: what is to be started once there is room */
    bool knows_master;     /* its supervisor calls where we do */
    struct io_file *lock;  /* held once it ended */
    bool has_output;       /* ENDED: its supervisor may have left some */
    struct task_exit exit; /* ENDED; strings in `mem` */
    struct arena mem;
};

struct tasks {
    struct lock lock; /* guards `entries` and what entries say is */
    struct map entries;
    struct io *io;
    char *root;
    char *program;
    char *agent_id;
    char *master_url;
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

/* Adds an entry unless there is one; `ret_entry` NULL: there was. */
static det_status add(struct tasks *tasks, const char *allocation, int64_t rank,
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
        log_warn("'%s/%s' is no task's directory", tasks->root, name);
        return DET_OK;
    }
    allocation = mem_strndup(name, (size_t)(dash - name));
    if (!allocation)
        return err_default(err, DET_NOMEM);
    status = add(tasks, allocation, rank, &entry, err);
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
    tasks->boot_id = place_boot_id(&tasks->mem);
    if (tasks->root && tasks->program && tasks->agent_id && tasks->master_url &&
        tasks->boot_id)
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

static det_status lay_down(struct tasks *tasks, const struct entry *entry,
                           const struct json *spec, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    char *path = place_path(&mem, entry->dir, PLACE_SPEC);
    det_status status;

    json_write(&text, spec);
    if (!path || text.status)
        return err_default(err, path ? text.status : DET_NOMEM);
    /* What an earlier run of the same name may have left is of no use. */
    status = io_remove_tree(tasks->io, entry->dir, err);
    if (!status)
        status = io_mkdir(tasks->io, entry->dir, true, err);
    if (!status)
        status = place_write(tasks->io, path, &text, err);
    return status;
}

/* A task of another user has to get through the agent's directory and the one of its
 * tasks (identity.c).  Where that fails, it is the task that says why. */
static void open_way(const struct tasks *tasks)
{
    const char *slash = strrchr(tasks->root, '/');
    CLEANUP(mem_freep)
    char *above =
        slash ? mem_strndup(tasks->root, (size_t)(slash - tasks->root)) : NULL;
    struct err err = {0};

    if (above && *above && identity_open(above, &err))
        log_warn("%s", err.text);
    if (identity_open(tasks->root, &err))
        log_warn("%s", err.text);
}

/* Whether the disk would take a task's first files.  No zeroes: some file systems need
 * no room for those. */
static bool has_room(struct tasks *tasks)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(2 * ROOM_BYTES);
    CLEANUP(io_closep) struct io_file *file = NULL;
    char *path = arena_printf(&mem, "%s.room", tasks->root); /* beside the tasks */
    char *bytes = arena_alloc(&mem, ROOM_BYTES);
    det_status status = DET_OK;

    if (!path || !bytes)
        return true; /* then it is memory that is short, and the start says so */
    memset(bytes, 'x', ROOM_BYTES);
    status = io_open(tasks->io, path, IO_WRITE | IO_CREATE | IO_TRUNCATE, &file, NULL);
    if (!status)
        status = io_write_at(file, 0, bytes, ROOM_BYTES, NULL);
    if (file)
        (void)io_remove(tasks->io, path, NULL);
    return status != DET_FULL;
}

static void begin(struct tasks *tasks, struct entry *entry, const struct json *spec,
                  bool is_others)
{
    const char *argv[] = {tasks->program, "task", "run", entry->dir, NULL};
    struct err why = {0};
    det_status status = lay_down(tasks, entry, spec, &why);

    if (!status && is_others)
        open_way(tasks);
    if (!status)
        status = child_detach(argv, START_MS, &why);
    /* One that is slow may still come: its lock will tell. */
    if (!status || status == DET_TIMEOUT) {
        entry->knows_master = true;
        set_state(tasks, entry, ALIVE);
        log_info("started %s", entry->name);
        return;
    }
    log_error("cannot start %s: %s", entry->name, why.text);
    end_as(tasks, entry, "FAILED", 1, why.text);
}

/* Keeps what is to be started.  A full disk is no fault of the task: it neither fails
 * nor goes round between agents that are full, but begins when there is room. */
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
    log_warn("no space left on the disk for '%s': %s begins when there is some",
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
        status = add(tasks, read.allocation, read.rank, &entry, err);
    if (status || !entry)
        return status;
    if (!has_room(tasks))
        return wait_for_room(tasks, entry, spec, err);
    begin(tasks, entry, spec, read.user.uid && geteuid() == 0);
    return DET_OK;
}

det_status tasks_kill(struct tasks *tasks, const char *allocation, int64_t rank,
                      struct err *err)
{
    struct entry *entry;
    struct entry *known;
    det_status status = add(tasks, allocation, rank, &entry, err);

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
    /* Nobody listens: it is just ending, or just beginning.  The next look knows more.
     */
    if (err.status != DET_UNREACHABLE)
        log_warn("cannot kill %s, retrying: %s", entry->name, err.text);
    lock_take(&tasks->lock);
    entry->wants_kill = true;
    lock_give(&tasks->lock);
}

/* One that an earlier agent started may know the master by another address. */
static void pass_master(struct tasks *tasks, struct entry *entry)
{
    struct err err = {0};
    det_status status;

    if (entry->knows_master)
        return;
    status =
        control_tell(entry->dir, CONTROL_MASTER, tasks->master_url, CONTROL_MS, &err);
    /* Anything else is tried again at the next look, if it is still there then. */
    entry->knows_master = !status || status == DET_UNSUPPORTED;
}

/* What a supervisor that is no more has left running is ended.  How it came to be no
 * more. */
static const char *clean_up(struct tasks *tasks, const struct entry *entry)
{
    static const char vanished[] = "its supervisor vanished";
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    const char *run_dir = place_path(&mem, entry->dir, PLACE_RUN);
    struct place_pid pid = {0};
    struct err err = {0};
    size_t count = 1;
    det_status status = place_read_pid(tasks->io, entry->dir, &mem, &pid, &err);

    if (!run_dir)
        return vanished;
    /* Its processes are known by their environment, too. */
    if (status && status != DET_NOT_FOUND)
        log_warn("%s", err.text);
    if (!status && pid.boot_id && strcmp(pid.boot_id, tasks->boot_id) != 0)
        return "its machine was restarted"; /* these numbers belong to others now */
    for (int i = 0; count && i < KILL_ROUNDS; i++)
        if (family_kill_rest(&pid, run_dir, &count, &err)) {
            log_error("%s", err.text);
            break;
        }
    return vanished;
}

static det_status ship_spools(const struct entry *entry, struct talk *talk,
                              struct spool *spool[SHIP_STREAMS], struct err *err)
{
    const struct ship_config config = {.spool = {spool[0], spool[1]},
                                       .talk = talk,
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
                             struct talk *talk, struct spool *log, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct drain_config config = {.io = tasks->io,
                                  .talk = talk,
                                  .allocation = entry->allocation,
                                  .rank = entry->rank};
    struct drain *drain = NULL;
    char text[ERR_TEXT_SIZE];
    struct io_stat found;
    det_status status;

    config.dir = place_path(&mem, entry->dir, PLACE_REPORTS);
    if (!config.dir)
        return err_default(err, DET_NOMEM);
    status = io_stat(tasks->io, config.dir, &found, err);
    if (status)
        return status == DET_NOT_FOUND ? DET_OK : status; /* it never began */
    status = drain_new(&config, &drain, err);
    if (!status)
        status = drain_rest(drain, err);
    while (drain && drain_take_note(drain, text)) {
        char line[ERR_TEXT_SIZE + 16];
        int len = snprintf(line, sizeof(line), "[det] %s\n", text);

        if (log)
            spool_write(log, 0, line, MIN((size_t)len, sizeof(line) - 1));
    }
    drain_free(drain);
    return status;
}

/* A refusal is no reason to keep what is left; but a wrong token is the agent's
 * trouble. */
static det_status retry_or_lose(const struct entry *entry, const char *what,
                                det_status status, const struct err *err)
{
    if (talk_may_retry(status) || status == DET_UNAUTHENTICATED)
        return status;
    if (status)
        log_warn("the end of the %s of %s was lost: %s", what, entry->name, err->text);
    return DET_OK;
}

/* Sends the reports and the output that the supervisor could not, with the agent's own
 * token: the task's may be the reason. */
static det_status ship_left(struct tasks *tasks, const struct entry *entry,
                            struct talk *talk)
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
    drained = drain_ring(tasks, entry, talk, spool[1], &why);
    drained = retry_or_lose(entry, "reports", drained, &why);
    for (size_t i = 0; !status && !drained && i < SHIP_STREAMS; i++) {
        spool_end(spool[i], 0);
        is_empty = is_empty && spool_end_offset(spool[i]) == 0;
    }
    if (!status && !drained && !is_empty)
        status = ship_spools(entry, talk, spool, &err);
    for (size_t i = 0; i < SHIP_STREAMS; i++)
        spool_close(spool[i]);
    return drained ? drained : retry_or_lose(entry, "output", status, &err);
}

/* Whether a supervisor still works on it; what it left is taken over otherwise. */
static void look_for_end(struct tasks *tasks, struct entry *entry)
{
    struct task_exit exit;
    struct err err = {0};
    enum place_state state;
    det_status status = place_look(tasks->io, entry->dir, &state, &entry->lock, &err);

    if (status == DET_NOT_FOUND) {
        end_as(tasks, entry, "TRANSIENT", 1, "its directory was removed");
        return;
    }
    if (status) {
        log_error("%s", err.text);
        return;
    }
    if (state == PLACE_ALIVE) {
        pass_kill(tasks, entry);
        pass_master(tasks, entry);
        return;
    }
    if (state == PLACE_VANISHED) {
        const char *why = clean_up(tasks, entry);

        entry->has_output = true;
        end_as(tasks, entry, "TRANSIENT", 1, why);
        return;
    }
    status = place_read_exit(tasks->io, entry->dir, &entry->mem, &exit, &err);
    if (status == DET_NOMEM) { /* there is an end to be told: the next look reads it */
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
                            struct talk *talk, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct talk_request request = {.method = NET_POST, .body = &body};
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
    return talk_call(talk, &request, &mem, &reply, err);
}

/* The end was told: nothing of the task is needed any more. */
static void forget(struct tasks *tasks, struct entry *entry)
{
    struct err err = {0};

    /* A directory that stays is found, reported and tried again by the next agent. */
    if (io_remove_tree(tasks->io, entry->dir, &err))
        log_error("%s", err.text);
    lock_take(&tasks->lock);
    smap_remove(&tasks->entries, entry->name);
    lock_give(&tasks->lock);
    entry_free(entry);
}

static bool report(struct tasks *tasks, struct entry *entry, struct talk *talk)
{
    struct err err = {0};
    det_status status = send_exit(tasks, entry, talk, &err);

    /* A wrong token is the agent's trouble, not the task's end. */
    if (talk_may_retry(status) || status == DET_UNAUTHENTICATED)
        return false;
    if (status)
        log_warn("the end of %s is not wanted: %s", entry->name, err.text);
    else
        log_info("%s %s (%s)", entry->name, entry->exit.reason, entry->exit.exit);
    forget(tasks, entry);
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
        end_as(tasks, entry, "KILLED", 128 + SIGKILL, "it had not begun");
        return;
    }
    if (!has_room(tasks) ||
        json_parse(entry->spec, strlen(entry->spec), &mem, &spec, &err) ||
        spec_read(spec, &mem, &read, &err))
        return; /* or no memory: the next look */
    begin(tasks, entry, spec, read.user.uid && geteuid() == 0);
}

static bool look_at(struct tasks *tasks, struct entry *entry, struct talk *talk)
{
    if (state_of(tasks, entry) == WAITING)
        look_for_room(tasks, entry);
    if (state_of(tasks, entry) == ALIVE)
        look_for_end(tasks, entry);
    if (state_of(tasks, entry) != ENDED)
        return true;
    if (entry->has_output && ship_left(tasks, entry, talk))
        return false;
    entry->has_output = false;
    return report(tasks, entry, talk);
}

/* Entries are only removed by who looks, so that pointers to them stay good. */
static bool list(struct tasks *tasks, struct arena *mem, struct entry ***ret_list)
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

bool tasks_look(struct tasks *tasks, struct talk *talk)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct entry **entry;
    bool is_master_there = true;

    if (!list(tasks, &mem, &entry))
        return true;
    for (; *entry; entry++)
        is_master_there = look_at(tasks, *entry, talk) && is_master_there;
    return is_master_there;
}

/* ---- the agent ends -------------------------------------------------------------- */

void tasks_term(struct tasks *tasks)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct err err = {0};
    struct entry **entry;

    if (!list(tasks, &mem, &entry))
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

    if (!list(tasks, &mem, &entry))
        return 0;
    for (; *entry; entry++) {
        const char *exit = place_path(&mem, (*entry)->dir, PLACE_EXIT);
        struct io_stat found;

        /* With its end on record only the supervisor is left, which may stay. */
        count += state_of(tasks, *entry) != WAITING &&
                 state_of(tasks, *entry) != ENDED && exit &&
                 io_stat(tasks->io, exit, &found, NULL) != DET_OK;
    }
    return count;
}
