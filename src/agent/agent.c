/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c - three lanes around a directory of tasks.
 *
 *   poll   hello --> commands --> obey --> commands ...   (a call blocks up to POLL_S)
 *            ^________ another epoch, or a refusal __|
 *   look   every second, and after commands: tasks_look()
 *   clean  after a CLEAN command: remover_round(), until nothing is left
 *
 * The agent tries for ever to reach its master, and logs the trouble once.  If the
 * master refuses the hello, the agent ends.  If the reason is that another agent of
 * this name is connected, it ends only after a while: that may be our own connection
 * from before a restart.  Commands are idempotent, so a command that was obeyed but not
 * acknowledged (a crash in between) does no harm when it comes again.
 *
 * DATA/instance tells agents with the same name apart: an id made with the directory.
 *
 * Stopping: agent_stop() sets a flag and posts the work of all lanes under the lock;
 * each lane that sees the flag leaves, and the last one opens the gate of agent_wait().
 * Nothing is posted once the flag is set, so the struct can be freed.  A graceful stop
 * signs off first, so the master gives us no more work while the tasks end; any other
 * stop may be a restart and says nothing. */
#include "agent/agent.h"

#include <inttypes.h>
#include <string.h>

#include "agent/checkpoint_remover.h"
#include "agent/isolation.h"
#include "agent/machine_facts.h"
#include "agent/master_link.h"
#include "agent/slots.h"
#include "agent/task/task_dir.h"
#include "agent/tasks.h"
#include "base/io/folder_lock.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "base/thread/executor.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "data/url.h"
#include "wire/protocol.h"

enum {
    MEM_LIMIT = 16 << 20,
    REPLY_MEM = 256 << 20,
    POLL_S = 15, /* the master notices a vanished machine after this time */
    POLL_SLACK_MS = 15 * 1000,
    LOOK_US = 1000 * 1000,
    LOOK_STOPPING_US = 100 * 1000,
    STOP_US = 15 * 1000 * 1000, /* a little more than the tasks get */
    BYE_MS = 2 * 1000,
    TWIN_US = 90 * 1000 * 1000, /* longer than a poll of a machine that lost power */
    LANES = 3,
};

struct agent {
    struct lock lock; /* guards the stop and the outcome */
    bool is_stopping;
    bool is_graceful;
    uint32_t ended; /* lanes that are done */
    struct err outcome;

    struct io *io;
    struct executor *exec;
    struct arena mem; /* what lives as long as the agent */
    const char *data_dir;
    const char *pool;
    const char *boot_id;
    const char *instance;
    struct machine_facts facts;
    struct isolation isolation;
    struct folder_lock dir_lock;
    struct tasks *tasks;
    struct gate *over;

    /* the lane that talks */
    struct lane *poll_lane;
    struct work poll_task;
    struct master_link *poll_link;
    char *epoch; /* NULL: say hello first */
    char *cluster_id;
    int64_t after;
    uint32_t failures;
    struct err trouble;    /* the last one logged */
    int64_t twin_since_us; /* when we met another agent of our name; 0: none */

    /* the lane that looks */
    struct lane *look_lane;
    struct work look_task;
    struct master_link *look_link;
    int64_t stop_us; /* when a graceful stop is given up; 0: not begun */

    /* the lane that removes files, which may take long */
    struct lane *clean_lane;
    struct work clean_task;
    struct master_link *clean_link;
    const char *clean_path;
    uint32_t clean_failures;
};

static int64_t now_us(const struct agent *agent)
{
    return clock_mono_us(executor_clock(agent->exec));
}

/* ---- stopping -------------------------------------------------------------------- */

static bool is_stopping(struct agent *agent)
{
    bool is;

    lock_take(&agent->lock);
    is = agent->is_stopping;
    lock_give(&agent->lock);
    return is;
}

/* The last call of a lane.  Its work must not be queued any more: it may be freed. */
static void end_lane(struct agent *agent, struct lane *lane, struct work *task)
{
    bool is_last;

    lane_cancel(lane, task);
    lock_take(&agent->lock);
    is_last = ++agent->ended == LANES;
    lock_give(&agent->lock);
    if (is_last)
        gate_open(agent->over);
}

void agent_stop(struct agent *agent, bool is_graceful)
{
    lock_take(&agent->lock);
    if (!agent->is_stopping) {
        agent->is_stopping = true;
        agent->is_graceful = is_graceful;
        /* Under the lock: after the flag is visible, nothing may be posted. */
        lane_post(agent->poll_lane, &agent->poll_task);
        lane_post(agent->look_lane, &agent->look_task);
        lane_post(agent->clean_lane, &agent->clean_task);
    } else if (!is_graceful) {
        agent->is_graceful = false;
    }
    master_link_interrupt(agent->poll_link);
    master_link_interrupt(agent->clean_link);
    if (!is_graceful)
        master_link_interrupt(agent->look_link);
    lock_give(&agent->lock);
}

static void give_up(struct agent *agent, const struct err *err)
{
    lock_take(&agent->lock);
    agent->outcome = *err;
    lock_give(&agent->lock);
    agent_stop(agent, false);
}

/* ---- talking --------------------------------------------------------------------- */

static const char *agent_path(const struct agent *agent, const char *rest,
                              struct arena *mem)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    buf_puts(&path, "/api/v1/det/agents/");
    url_encode(&path, agent->facts.agent_id);
    buf_puts(&path, rest);
    return path.status ? NULL : arena_strdup(mem, path.data);
}

static void write_hello(const struct agent *agent, struct buf *body)
{
    struct json_writer w = JSON_WRITER(body);

    jw_object(&w, NULL);
    jw_str(&w, "resourcePool", agent->pool);
    slots_write(&w, "devices", &agent->facts.slots);
    machine_facts_write_addresses(&w, "addresses", &agent->facts);
    jw_str(&w, "bootId", agent->boot_id);
    jw_str(&w, "version", DET_VERSION);
    jw_i64(&w, "protocol", AGENT_PROTOCOL);
    jw_str(&w, "instance", agent->instance);
    tasks_write(&w, "tasks", agent->tasks);
    jw_end_object(&w);
}

static det_status hello(struct agent *agent, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEM_LIMIT);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct master_link_request request = {.method = NET_POST, .body = &body};
    struct json *reply;
    const char *epoch;
    det_status status;

    write_hello(agent, &body);
    request.path = agent_path(agent, "/hello", &mem);
    if (!request.path)
        return err_default(err, DET_NOMEM);
    status = master_link_call(agent->poll_link, &request, &mem, &reply, err);
    if (status)
        return status;
    epoch = json_str(json_get(reply, "epoch"), NULL);
    if (!epoch)
        return err_set(err, DET_INVALID, "the program at %s is not a master of det",
                       agent->facts.master.url);
    mem_free(agent->epoch);
    mem_free(agent->cluster_id);
    agent->epoch = mem_strdup(epoch);
    agent->cluster_id = mem_strdup(json_str(json_find(reply, "cluster_id"), ""));
    if (!agent->epoch || !agent->cluster_id)
        return err_default(err, DET_NOMEM);
    agent->facts.master_id = agent->epoch;
    agent->facts.cluster_id = agent->cluster_id;
    agent->after = 0;
    log_info("joined the master at %s with %zu slots", agent->facts.master.url,
             agent->facts.slots.count);
    return DET_OK;
}

static void clean_soon(struct agent *agent)
{
    lock_take(&agent->lock);
    if (!agent->is_stopping)
        lane_post(agent->clean_lane, &agent->clean_task);
    lock_give(&agent->lock);
}

static void obey(struct agent *agent, const struct json *command, struct arena *mem)
{
    const char *kind = json_str(json_get(command, "kind"), "");
    const char *allocation = json_str(json_get(command, "allocation"), NULL);
    struct json *spec = json_get(command, "spec");
    struct err err = {0};
    det_status status;
    LOG_SCOPE_AT(allocation, allocation ? "allocation" : NULL, allocation, -1);

    if (strcmp(kind, "START") == 0) {
        status = machine_facts_complete(&agent->facts, spec, mem, &err);
        if (!status)
            status = isolation_complete(&agent->isolation, spec, mem, &err);
        if (!status)
            status = tasks_start(agent->tasks, spec, &err);
    } else if (strcmp(kind, "KILL") == 0 && allocation) {
        status = tasks_kill(agent->tasks, allocation,
                            json_i64(json_get(command, "rank"), 0), &err);
    } else if (strcmp(kind, "CLEAN") == 0) {
        clean_soon(agent);
        status = DET_OK;
    } else {
        status = err_set(&err, DET_UNSUPPORTED, "unknown");
    }
    if (status)
        log_error("cannot obey the command %s for '%s': %s", kind,
                  allocation ? allocation : "", err.text);
}

/* There is something new to look at. */
static void look_soon(struct agent *agent)
{
    lock_take(&agent->lock);
    if (!agent->is_stopping)
        lane_post(agent->look_lane, &agent->look_task);
    lock_give(&agent->lock);
}

static det_status poll_commands(struct agent *agent, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(REPLY_MEM);
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct master_link_request request = {.method = NET_GET,
                                          .timeout_ms = POLL_S * 1000 + POLL_SLACK_MS};
    const char *base = agent_path(agent, "/commands", &mem);
    struct io_space space;
    struct json *reply;
    det_status status;

    if (!base)
        return err_default(err, DET_NOMEM);
    buf_printf(&path, "%s?after=%" PRId64 "&timeoutSeconds=%d&epoch=", base,
               agent->after, POLL_S);
    url_encode(&path, agent->epoch);
    buf_puts(&path, "&instance=");
    url_encode(&path, agent->instance);
    if (!io_space(agent->io, agent->data_dir, &space, NULL))
        buf_printf(&path, "&diskFree=%" PRIu64, space.free_bytes);
    buf_printf(&path, "&clock=%" PRId64, clock_wall_us(executor_clock(agent->exec)));
    if (path.status)
        return err_default(err, path.status);
    request.path = path.data;
    status = master_link_call(agent->poll_link, &request, &mem, &reply, err);
    if (status)
        return status;
    if (strcmp(json_str(json_get(reply, "epoch"), ""), agent->epoch) != 0)
        return err_set(err, DET_NOT_FOUND, "the master has started anew");
    json_each(command, json_get(reply, "commands")) {
        if (is_stopping(agent))
            break;
        obey(agent, command, &mem);
        agent->after = MAX(agent->after, json_i64(json_get(command, "seq"), 0));
    }
    /* The numbers after the last listed command may belong to commands that are
     * obsolete by now. */
    if (!is_stopping(agent))
        agent->after = MAX(agent->after, json_i64(json_get(reply, "last"), 0));
    if (json_first(json_get(reply, "commands")))
        look_soon(agent);
    return DET_OK;
}

/* Logs each trouble once, however long it lasts: a master that is back with a certificate
 * that nobody knows is another trouble than one that is away. */
static void complain(struct agent *agent, const struct err *err)
{
    if (agent->trouble.status == err->status && !strcmp(agent->trouble.text, err->text))
        return;
    agent->trouble = *err;
    log_warn("the master at %s cannot be reached, retrying: %s",
             agent->facts.master.url, err->text);
}

/* Whether to give up because another agent has our name.  Logs it once. */
static bool has_twin_for_long(struct agent *agent, const struct err *err)
{
    if (!agent->twin_since_us) {
        agent->twin_since_us = now_us(agent);
        log_warn("%s; trying again for %d s, in case it is just leaving", err->text,
                 TWIN_US / 1000000);
    }
    return now_us(agent) - agent->twin_since_us >= TWIN_US;
}

/* After a failed call: how long to wait before the next one, or -1: never. */
static int64_t after_failure(struct agent *agent, bool is_hello, const struct err *err)
{
    bool is_twin = is_hello && err->status == DET_EXISTS;

    if (is_twin ? has_twin_for_long(agent, err)
                : is_hello && !master_link_may_retry(err->status)) {
        give_up(agent, err);
        return -1;
    }
    if (!is_hello && !master_link_may_retry(err->status)) {
        log_info("saying hello again: %s", err->text);
        mem_free(agent->epoch);
        agent->epoch = NULL;
    } else if (!is_twin) {
        complain(agent, err);
    }
    return master_link_backoff_us(++agent->failures);
}

/* One call; how long to wait before the next, or -1: never. */
static int64_t call_once(struct agent *agent)
{
    struct err err = {0};
    bool is_hello = !agent->epoch;
    det_status status = is_hello ? hello(agent, &err) : poll_commands(agent, &err);

    if (!status) {
        /* A successful hello proves little: the next poll may be refused at once. */
        if (!is_hello)
            agent->failures = 0;
        agent->trouble.status = DET_OK;
        agent->twin_since_us = 0;
        return 0;
    }
    return is_stopping(agent) ? 0 : after_failure(agent, is_hello, &err);
}

static bool is_graceful(struct agent *agent)
{
    bool is;

    lock_take(&agent->lock);
    is = agent->is_graceful;
    lock_give(&agent->lock);
    return is;
}

/* Asks for no more work.  A master that is away notices by itself. */
static void sign_off(struct agent *agent)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEM_LIMIT);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct master_link_request request = {
        .method = NET_POST, .body = &body, .timeout_ms = BYE_MS};
    struct json *reply;

    if (!agent->epoch || !is_graceful(agent))
        return;
    jw_object(&w, NULL);
    jw_str(&w, "instance", agent->instance);
    jw_end_object(&w);
    request.path = agent_path(agent, "/bye", &mem);
    if (!request.path)
        return;
    master_link_resume(agent->poll_link);
    (void)master_link_call(agent->poll_link, &request, &mem, &reply, NULL);
}

static void run_poll(struct work *task)
{
    struct agent *agent = CONTAINER_OF(task, struct agent, poll_task);
    int64_t wait_us;

    wait_us = is_stopping(agent) ? 0 : call_once(agent);
    if (is_stopping(agent)) {
        sign_off(agent);
        end_lane(agent, agent->poll_lane, task);
        return;
    }
    if (wait_us)
        lane_post_at(agent->poll_lane, task, now_us(agent) + wait_us);
    else
        lane_post(agent->poll_lane, task);
}

/* ---- looking --------------------------------------------------------------------- */

/* Whether the stop is complete. */
static bool stop_looking(struct agent *agent)
{
    if (!is_graceful(agent))
        return true;
    if (!agent->stop_us)
        agent->stop_us = now_us(agent) + STOP_US;
    tasks_term(agent->tasks);
    if (tasks_running(agent->tasks) == 0)
        return true;
    if (now_us(agent) < agent->stop_us)
        return false;
    tasks_end(agent->tasks);
    return true;
}

static void run_look(struct work *task)
{
    struct agent *agent = CONTAINER_OF(task, struct agent, look_task);
    bool is_ending = is_stopping(agent);

    if (is_ending && stop_looking(agent)) {
        end_lane(agent, agent->look_lane, task);
        return;
    }
    tasks_look(agent->tasks, agent->look_link);
    lane_post_at(agent->look_lane, task,
                 now_us(agent) + (is_ending ? LOOK_STOPPING_US : LOOK_US));
}

/* ---- cleaning -------------------------------------------------------------------- */

static bool may_continue(void *arg)
{
    return !is_stopping(arg);
}

static void run_clean(struct work *task)
{
    struct agent *agent = CONTAINER_OF(task, struct agent, clean_task);
    struct checkpoint_remover remover = {.io = agent->io,
                                         .link = agent->clean_link,
                                         .path = agent->clean_path,
                                         .roots = &agent->isolation.storage_roots,
                                         .may_continue = may_continue,
                                         .arg = agent};
    struct err err = {0};
    bool has_more = false;
    det_status status = DET_OK;

    if (!is_stopping(agent))
        status = remover_round(&remover, &has_more, &err);
    if (is_stopping(agent)) {
        end_lane(agent, agent->clean_lane, task);
        return;
    }
    /* The master asks again for results that it does not accept now. */
    if (status && !master_link_may_retry(status))
        log_warn("the master refuses to say which checkpoints to remove: %s", err.text);
    agent->clean_failures =
        master_link_may_retry(status) ? agent->clean_failures + 1 : 0;
    lock_take(&agent->lock);
    if (!agent->is_stopping && has_more)
        lane_post(agent->clean_lane, task);
    else if (!agent->is_stopping && agent->clean_failures)
        lane_post_at(agent->clean_lane, task,
                     now_us(agent) + master_link_backoff_us(agent->clean_failures));
    lock_give(&agent->lock);
}

/* ---- life ------------------------------------------------------------------------ */

static det_status take_directory(struct agent *agent, const char *dir, struct err *err)
{
    det_status status = io_mkdir(agent->io, dir, true, err);

    if (!status)
        status = folder_lock_take(agent->io, dir, AGENT_LOCK, &agent->dir_lock, err);
    return status == DET_BUSY
               ? err_set(err, DET_BUSY, "another agent works in '%s'", dir)
               : status;
}

/* The first agent of the directory makes the id.  An unreadable id is replaced, and
 * then this counts as another agent. */
static det_status know_instance(struct agent *agent, const char *dir, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(256);
    const char *path = task_dir_path(&agent->mem, dir, "instance");
    unsigned char bytes[16];
    char id[UUID_TEXT + 1];
    det_status status;

    if (!path)
        return err_default(err, DET_NOMEM);
    status = io_read_plain(agent->io, path, &text, err);
    if (status == DET_NOMEM) /* nothing was read: it may be fine */
        return status;
    if (!status && strspn(text.data, "0123456789abcdef-") == UUID_TEXT - 1) {
        agent->instance = arena_strndup(&agent->mem, text.data, UUID_TEXT - 1);
        return agent->instance ? DET_OK : err_default(err, DET_NOMEM);
    }
    if (!status)
        log_warn("'%s' is damaged; this agent counts as another one", path);
    status = rng_secret(bytes, sizeof(bytes), err);
    if (status)
        return status;
    uuid_format(bytes, id);
    agent->instance = arena_strdup(&agent->mem, id);
    if (!agent->instance)
        return err_default(err, DET_NOMEM);
    id[UUID_TEXT - 1] = '\n';
    return io_replace(agent->io, path, id, UUID_TEXT, true, err);
}

static det_status open_link(const struct agent_config *config,
                            struct master_link **ret_link, struct err *err)
{
    det_status status = master_link_new(config->net, config->master_url, LINK_AGENT,
                                        config->token, ret_link, err);

    return status ? status
                  : master_link_trust(*ret_link, config->cert_file, config->cert_name,
                                      err);
}

static det_status equip(struct agent *agent, const struct agent_config *config,
                        struct err *err)
{
    struct tasks_config tasks = {
        .io = config->io,
        .root = task_dir_path(&agent->mem, config->data_dir, "tasks"),
        .program = config->program,
        .master_url = config->master_url,
        .cert_file = config->cert_file,
        .agent_id = config->id};
    det_status status;

    agent->data_dir = arena_strdup(&agent->mem, config->data_dir);
    agent->facts.agent_id = arena_strdup(&agent->mem, config->id);
    agent->facts.envs = task_dir_path(&agent->mem, config->data_dir, "envs");
    agent->facts.cert_file = arena_strdup(&agent->mem, config->cert_file);
    agent->facts.cert_name = arena_strdup(&agent->mem, config->cert_name);
    agent->facts.config = config->tree;
    agent->pool = arena_strdup(&agent->mem, config->resource_pool);
    agent->boot_id = task_dir_boot_id(&agent->mem);
    if (agent->mem.has_failed || !agent->boot_id)
        return err_default(err, DET_NOMEM);
    status = isolation_find(
        config->tree,
        &(struct isolation_keys){config->io, config->data_dir, config->token_file},
        &agent->mem, &agent->isolation, err);
    tasks.control_group = agent->isolation.control_group;
    if (!status)
        status = slots_detect(
            &(struct slots_wish){
                .count = config->slots,
                .type = json_str(json_get(config->tree, "slot_type"), NULL),
                .visible = json_str(json_get(config->tree, "visible_gpus"), NULL)},
            &agent->mem, &agent->facts.slots, err);
    if (!status)
        status = open_link(config, &agent->poll_link, err);
    if (!status)
        status = open_link(config, &agent->look_link, err);
    if (!status)
        status = open_link(config, &agent->clean_link, err);
    agent->clean_path = agent_path(agent, "/removals", &agent->mem);
    if (!status && !agent->clean_path)
        status = err_default(err, DET_NOMEM);
    if (!status)
        status = take_directory(agent, config->data_dir, err);
    if (!status)
        status = know_instance(agent, config->data_dir, err);
    if (!status)
        status = tasks_new(&tasks, &agent->tasks, err);
    if (!status)
        agent->facts.master = master_link_address(agent->poll_link);
    return status;
}

static det_status start_lanes(struct agent *agent, struct err *err)
{
    det_status status = lock_init(&agent->lock, err);

    if (!status)
        status = gate_new(agent->exec, &agent->over, err);
    if (!status)
        status = lane_new(agent->exec, "agent", 1, &agent->poll_lane, err);
    if (!status)
        status = lane_new(agent->exec, "agent-look", 1, &agent->look_lane, err);
    if (!status)
        status = lane_new(agent->exec, "agent-clean", 1, &agent->clean_lane, err);
    if (status)
        return status;
    agent->poll_task = (struct work)WORK_INIT(run_poll);
    agent->look_task = (struct work)WORK_INIT(run_look);
    agent->clean_task = (struct work)WORK_INIT(run_clean);
    lane_post(agent->look_lane, &agent->look_task);
    lane_post(agent->poll_lane, &agent->poll_task);
    return DET_OK;
}

static void release(struct agent *agent)
{
    tasks_free(agent->tasks);
    master_link_free(agent->poll_link);
    master_link_free(agent->look_link);
    master_link_free(agent->clean_link);
    gate_free(agent->over);
    lock_done(&agent->lock);
    folder_lock_give(&agent->dir_lock);
    mem_free(agent->epoch);
    mem_free(agent->cluster_id);
    arena_done(&agent->mem);
    mem_free(agent);
}

det_status agent_new(const struct agent_config *config, struct agent **ret_agent,
                     struct err *err)
{
    struct agent *agent = mem_new(struct agent);
    det_status status;

    if (!agent)
        return err_default(err, DET_NOMEM);
    agent->io = config->io;
    agent->exec = config->exec;
    agent->mem = (struct arena)ARENA_INIT(MEM_LIMIT);
    status = equip(agent, config, err);
    if (!status)
        status = start_lanes(agent, err);
    if (status) {
        release(agent);
        return status;
    }
    *ret_agent = agent;
    return DET_OK;
}

det_status agent_wait(struct agent *agent, int64_t deadline_us, struct err *err)
{
    det_status status;

    if (!gate_wait(agent->over, deadline_us))
        return err_set(err, DET_TIMEOUT, "the agent has not ended yet");
    lock_take(&agent->lock);
    status = agent->outcome.status
                 ? err_set(err, agent->outcome.status, "%s", agent->outcome.text)
                 : DET_OK;
    lock_give(&agent->lock);
    return status;
}

void agent_free(struct agent *agent)
{
    if (!agent)
        return;
    agent_stop(agent, false);
    (void)agent_wait(agent, 0, NULL);
    release(agent);
}
