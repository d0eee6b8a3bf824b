/* SPDX-License-Identifier: Apache-2.0 */
/* agents.c - agents and slots for users, and the calls of the agents themselves. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "data/text.h"
#include "master/api/api.h"
#include "master/api/cluster/disabled_slots.h"
#include "master/api/listing.h"
#include "master/api/render.h"
#include "master/background/collector.h"
#include "master/request/waits.h"
#include "master/rm/agents.h"
#include "master/rm/spec.h"
#include "store/page.h"
#include "store/task/agent.h"
#include "store/task/allocation.h"
#include "wire/bodies.h"
#include "wire/protocol.h"
#include "wire/queries.h"

enum {
    COMMANDS_WAIT_MOST_S = 60,
    COMMANDS_BYTES = 1 << 20, /* a reply with more ends; the rest comes with the next */
};

/* ---- reading --------------------------------------------------------------------- */

/* A slot that a share holds. */
struct held {
    int64_t agent_id;
    int64_t slot;
    const struct share *share;
};

/* The rows of all agents, and which share holds which slot. */
struct board {
    struct agent *agents;
    uint32_t agent_count;
    struct share *shares; /* of allocations that are not over */
    uint32_t share_count;
    struct held *held; /* by agent and slot */
    size_t held_count;
};

static int by_slot(const void *a, const void *b)
{
    const struct held *x = a, *y = b;

    if (x->agent_id != y->agent_id)
        return x->agent_id < y->agent_id ? -1 : 1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

/* Parses each share's list once. */
static det_status find_held_slots(struct request *req, struct board *board)
{
    struct json **slots =
        arena_array(&req->mem, struct json *, (size_t)board->share_count + 1);
    size_t most = 0;
    det_status st = slots ? DET_OK : DET_NOMEM;

    for (uint32_t i = 0; !st && i < board->share_count; i++) {
        const char *text = board->shares[i].slots;

        st = json_parse(text, strlen(text), &req->mem, &slots[i], req->err);
        if (!st && slots[i]->kind == JSON_ARRAY)
            most += slots[i]->list.count;
    }
    if (st)
        return st;
    board->held = arena_array(&req->mem, struct held, most + 1);
    if (!board->held)
        return DET_NOMEM;
    for (uint32_t i = 0; i < board->share_count; i++) {
        const struct share *share = &board->shares[i];

        if (share->has_exited || slots[i]->kind != JSON_ARRAY)
            continue;
        json_each(slot, slots[i])
            board->held[board->held_count++] =
                (struct held){share->agent_id, json_i64(slot, -1), share};
    }
    qsort(board->held, board->held_count, sizeof(*board->held), by_slot);
    return DET_OK;
}

static det_status load_board(struct request *req, struct board *ret_board)
{
    struct board board = {0};
    det_status st = store_agent_list(req->db, &req->mem, &board.agents,
                                     &board.agent_count, req->err);

    if (!st)
        st = store_shares_live(req->db, &req->mem, &board.shares, &board.share_count,
                               req->err);
    if (!st)
        st = find_held_slots(req, &board);
    if (!st)
        *ret_board = board;
    return st;
}

static const struct share *holder(const struct board *board, int64_t agent_id,
                                  int64_t slot)
{
    struct held key = {agent_id, slot, NULL};
    const struct held *held =
        bsearch(&key, board->held, board->held_count, sizeof(key), by_slot);

    return held ? held->share : NULL;
}

/* The JSON columns of an agent. */
struct parsed {
    struct json *devices;
    struct json *disabled; /* slot numbers */
};

static det_status parse_agent(struct request *req, const struct agent *agent,
                              struct parsed *ret_parsed)
{
    struct parsed parsed;
    det_status st = json_parse(agent->devices, strlen(agent->devices), &req->mem,
                               &parsed.devices, req->err);

    if (!st)
        st = disabled_slots_parse(req, agent, &parsed.disabled);
    if (!st)
        *ret_parsed = parsed;
    return st;
}

static void render_device(struct json_writer *w, const char *key,
                          const struct json *device)
{
    const char *type = json_str(json_get(device, "type"), "cpu");

    jw_object(w, key);
    jw_i64(w, "id", json_i64(json_get(device, "id"), 0));
    jw_str(w, "brand", json_str(json_get(device, "brand"), ""));
    jw_str(w, "uuid", json_str(json_get(device, "uuid"), ""));
    jw_str(w, "type", strcmp(type, "cuda") ? "TYPE_CPU" : "TYPE_CUDA");
    jw_end_object(w);
}

static void render_container(struct json_writer *w, const char *key,
                             const struct share *share)
{
    if (!share) {
        jw_null(w, key);
        return;
    }
    jw_object(w, key);
    jw_str(w, "id", share->container_id);
    jw_str(w, "parent", "");
    jw_str(w, "state", share->is_running ? "STATE_RUNNING" : "STATE_ASSIGNED");
    jw_array(w, "devices");
    jw_end_array(w);
    jw_bool(w, "permissionDenied", false);
    jw_end_object(w);
}

/* A disabled slot that still holds a task. */
static bool is_slot_draining(const struct board *board, const struct agent *agent,
                             const struct parsed *parsed, int64_t slot)
{
    return agent->is_draining ||
           (agent->is_enabled && disabled_slots_has(agent, parsed->disabled, slot) &&
            holder(board, agent->id, slot));
}

static void render_slot(struct json_writer *w, const char *key,
                        const struct board *board, const struct agent *agent,
                        const struct parsed *parsed, const struct json *device)
{
    int64_t id = json_i64(json_get(device, "id"), 0);
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, id);
    jw_object(w, key);
    jw_str(w, "id", text);
    render_device(w, "device", device);
    jw_bool(w, "enabled", !disabled_slots_has(agent, parsed->disabled, id));
    jw_bool(w, "draining", is_slot_draining(board, agent, parsed, id));
    render_container(w, "container", holder(board, agent->id, id));
    jw_end_object(w);
}

static void render_slot_stats(struct json_writer *w, const struct agent *agent,
                              const char *type, int64_t disabled, int64_t draining)
{
    jw_object(w, "slotStats");
    jw_object(w, "typeStats");
    jw_object(w, type);
    jw_i64(w, "total", agent->slots);
    jw_i64(w, "disabled", disabled);
    jw_i64(w, "draining", draining);
    jw_object(w, "states");
    jw_end_object(w);
    jw_end_object(w);
    jw_end_object(w);
    jw_object(w, "brandStats");
    jw_end_object(w);
    jw_end_object(w);
}

static void render_containers(struct json_writer *w, const struct board *board,
                              const struct agent *agent)
{
    jw_object(w, "containers");
    for (uint32_t i = 0; i < board->share_count; i++)
        if (board->shares[i].agent_id == agent->id && !board->shares[i].has_exited)
            render_container(w, board->shares[i].container_id, &board->shares[i]);
    jw_end_object(w);
}

static det_status render_agent(struct request *req, const char *key,
                               const struct board *board, const struct agent *agent)
{
    struct json_writer *w = &req->w;
    const char *type = "TYPE_CPU";
    struct parsed parsed;
    int64_t disabled = 0;
    int64_t draining = 0;
    det_status st = parse_agent(req, agent, &parsed);

    if (st)
        return st;
    jw_object(w, key);
    jw_str(w, "id", agent->name);
    jw_time(w, "registeredTime", agent->joined_us);
    jw_object(w, "slots");
    json_each(device, parsed.devices) {
        int64_t id = json_i64(json_get(device, "id"), 0);

        render_slot(
            w, arena_printf(&req->mem, "/agents/%s/slots/%" PRId64, agent->name, id),
            board, agent, &parsed, device);
        disabled += disabled_slots_has(agent, parsed.disabled, id);
        draining += is_slot_draining(board, agent, &parsed, id);
        if (!strcmp(json_str(json_get(device, "type"), ""), "cuda"))
            type = "TYPE_CUDA";
    }
    jw_end_object(w);
    render_containers(w, board, agent);
    jw_raw(w, "addresses", agent->addresses ? agent->addresses : "[]");
    jw_bool(w, "enabled", agent->is_enabled);
    jw_bool(w, "draining", agent->is_draining);
    jw_bool(w, "connected", agent->is_connected);
    jw_str(w, "version", agent->version);
    jw_array(w, "resourcePools");
    jw_str(w, NULL, agent->resource_pool);
    jw_end_array(w);
    render_slot_stats(w, agent, type, disabled, draining);
    jw_end_object(w);
    return DET_OK;
}

det_status api_list_agents(struct request *req)
{
    const struct list_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct board board;
    det_status st = load_board(req, &board);

    if (!st)
        st = listing_cut_page(&page, board.agent_count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "agents");
    for (int64_t i = page.start; i < page.end && !st; i++)
        st = render_agent(req, NULL, &board, &board.agents[i]);
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return st;
}

static det_status find_agent(struct request *req, const struct board *board,
                             const struct agent **ret_agent)
{
    for (uint32_t i = 0; i < board->agent_count; i++)
        if (!strcmp(board->agents[i].name, req->arg[0])) {
            *ret_agent = &board->agents[i];
            return DET_OK;
        }
    return err_set(req->err, DET_NOT_FOUND, "agent '%s' not found", req->arg[0]);
}

static det_status reply_agent(struct request *req)
{
    const struct agent *agent;
    struct board board;
    det_status st = load_board(req, &board);

    if (!st)
        st = find_agent(req, &board, &agent);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    st = render_agent(req, "agent", &board, agent);
    jw_end_object(&req->w);
    return st;
}

det_status api_get_agent(struct request *req)
{
    return reply_agent(req);
}

det_status api_list_slots(struct request *req)
{
    const struct agent *agent;
    struct parsed parsed;
    struct board board;
    det_status st = load_board(req, &board);

    if (!st)
        st = find_agent(req, &board, &agent);
    if (!st)
        st = parse_agent(req, agent, &parsed);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "slots");
    json_each(device, parsed.devices)
        render_slot(&req->w, NULL, &board, agent, &parsed, device);
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

static det_status reply_slot(struct request *req)
{
    const struct agent *agent;
    struct parsed parsed;
    struct board board;
    int64_t id;
    det_status st = request_id(req, 1, &id);

    if (!st)
        st = load_board(req, &board);
    if (!st)
        st = find_agent(req, &board, &agent);
    if (!st)
        st = parse_agent(req, agent, &parsed);
    if (st)
        return st;
    json_each(device, parsed.devices) {
        if (json_i64(json_get(device, "id"), -1) != id)
            continue;
        jw_object(&req->w, NULL);
        render_slot(&req->w, "slot", &board, agent, &parsed, device);
        jw_end_object(&req->w);
        return DET_OK;
    }
    return err_set(req->err, DET_NOT_FOUND, "agent '%s' has no slot %" PRId64,
                   agent->name, id);
}

det_status api_get_slot(struct request *req)
{
    return reply_slot(req);
}

/* ---- enabling and disabling ------------------------------------------------------------------- */

det_status api_enable_agent(struct request *req)
{
    struct core_event event = {.kind = EVENT_AGENT_ENABLE};

    event.agent_enable.name = req->arg[0];
    event.agent_enable.is_enabled = true;
    return request_event(req, &event, reply_agent);
}

det_status api_disable_agent(struct request *req)
{
    const struct enable_body *body = req->body;
    struct core_event event = {.kind = EVENT_AGENT_ENABLE};

    event.agent_enable.name = req->arg[0];
    event.agent_enable.drains = body->drain;
    return request_event(req, &event, reply_agent);
}

static det_status switch_slot(struct request *req, bool is_enabled, bool drains)
{
    struct core_event event = {.kind = EVENT_SLOT_ENABLE};
    int64_t slot;
    det_status st = request_id(req, 1, &slot);

    if (st)
        return st;
    event.slot_enable.name = req->arg[0];
    event.slot_enable.slot = (uint32_t)MIN(slot, UINT32_MAX);
    event.slot_enable.is_enabled = is_enabled;
    event.slot_enable.drains = drains;
    return request_event(req, &event, reply_slot);
}

det_status api_enable_slot(struct request *req)
{
    return switch_slot(req, true, false);
}

det_status api_disable_slot(struct request *req)
{
    const struct enable_body *body = req->body;

    return switch_slot(req, false, body->drain);
}

/* ---- the agents' own calls ------------------------------------------------------- */

static det_status reply_joined(struct request *req)
{
    const struct agent_hello_body *body = req->body;
    det_status st =
        agents_joined(req->master->agents, req->arg[0], body->instance, req->err);

    if (st)
        return st;
    collector_wake(req->master->collector);
    jw_object(&req->w, NULL);
    jw_str(&req->w, "epoch", req->master->id);
    jw_str(&req->w, "clusterId", req->master->cluster_id);
    jw_str(&req->w, "clusterName", req->master->cluster_name);
    jw_i64(&req->w, "protocol", AGENT_PROTOCOL);
    jw_end_object(&req->w);
    return DET_OK;
}

/* The master is upgraded first: it serves older agents, and no newer ones. */
static det_status check_protocol(const struct request *req)
{
    const struct agent_hello_body *body = req->body;
    const char *version = body->version ? body->version : "an unknown version";

    if (body->protocol > AGENT_PROTOCOL)
        return err_set(req->err, DET_INVALID,
                       "agent '%s' is newer (det %s, protocol %" PRId64
                       ") than this master (det " DET_VERSION
                       ", protocol %d): upgrade the master first",
                       req->arg[0], version, body->protocol, AGENT_PROTOCOL);
    if (body->protocol < AGENT_PROTOCOL_OLDEST)
        return err_set(req->err, DET_INVALID,
                       "agent '%s' is too old (det %s, protocol %" PRId64
                       ") for this master (det " DET_VERSION
                       ", protocol %d or newer): upgrade the agent",
                       req->arg[0], version, body->protocol, AGENT_PROTOCOL_OLDEST);
    return DET_OK;
}

det_status api_agent_hello(struct request *req)
{
    const struct agent_hello_body *body = req->body;
    struct core_event event = {.kind = EVENT_AGENT_JOINED};

    if (!*req->arg[0] || strlen(req->arg[0]) > 128 || strpbrk(req->arg[0], "/ \t\n"))
        return err_set(
            req->err, DET_INVALID,
            "an agent's id must have 1 to 128 characters, no spaces and no '/'");
    if (check_protocol(req))
        return DET_INVALID;
    if (body->devices->kind != JSON_ARRAY)
        return err_set(req->err, DET_INVALID, "devices must be a list");
    event.agent_joined.name = req->arg[0];
    event.agent_joined.resource_pool = body->resource_pool; /* NULL: the default one */
    event.agent_joined.devices = json_text(&req->mem, body->devices);
    event.agent_joined.addresses =
        body->addresses ? json_text(&req->mem, body->addresses) : "[]";
    event.agent_joined.slots = (int64_t)body->devices->list.count;
    event.agent_joined.boot_id = body->boot_id ? body->boot_id : "";
    event.agent_joined.version = body->version ? body->version : "";
    event.agent_joined.instance = body->instance;
    event.agent_joined.tasks = body->tasks.at;
    event.agent_joined.task_count = (uint32_t)body->tasks.count;
    if (req->mem.has_failed)
        return DET_NOMEM;
    return request_event(req, &event, reply_joined);
}

static det_status render_command(struct request *req,
                                 const struct agent_command *command)
{
    static const char *const kinds[] = {"START", "KILL", "CLEAN"};
    struct json_writer *w = &req->w;
    struct allocation row = {0};
    det_status st = DET_OK;

    if (command->allocation_id)
        st = store_allocation_by_id(req->db, command->allocation_id, &req->mem, &row,
                                    req->err);
    if (st == DET_NOT_FOUND) /* deleted meanwhile */
        return DET_OK;
    if (st)
        return st;
    if (command->kind == AGENT_START && row.state >= ALLOCATION_TERMINATING)
        return DET_OK;
    jw_object(w, NULL);
    jw_i64(w, "seq", command->seq);
    jw_str(w, "kind", kinds[command->kind]);
    if (command->kind == AGENT_CLEAN) {
        jw_end_object(w);
        return DET_OK;
    }
    if (command->allocation_id) {
        jw_str(w, "allocation", row.name);
        jw_i64(w, "rank", command->rank);
    } else {
        const char *slash = strrchr(command->task, '/');
        size_t len = slash ? (size_t)(slash - command->task) : strlen(command->task);
        int64_t rank = 0;

        if (slash)
            (void)parse_i64(slash + 1, &rank);
        jw_strn(w, "allocation", command->task, len);
        jw_i64(w, "rank", rank);
    }
    if (command->kind == AGENT_START)
        st = spec_write(req->master, req->db, command->allocation_id, command->rank, w,
                        req->err);
    jw_end_object(w);
    return st;
}

/* A command that cannot be rendered (the configuration of its task is unreadable) must not
 * block the commands after it.  A failure that passes must not lose it: the agent asks
 * again. */
static det_status render_command_or_skip(struct request *req,
                                         const struct agent_command *command)
{
    struct json_writer before = req->w;
    size_t len = req->out.len;
    det_status st = render_command(req, command);

    if (!st || st == DET_NOMEM || st == DET_BUSY || st == DET_IO || st == DET_FULL)
        return st;
    log_error("agent %s: command %" PRId64 " is skipped: %s", req->arg[0], command->seq,
              req->err->text);
    buf_cut(&req->out, len);
    req->w = before;
    return DET_OK;
}

/* The agent asks for the commands that do not fit into one reply as soon as it has obeyed
 * these. */
static det_status reply_commands(struct request *req,
                                 const struct agent_command *commands, uint32_t count)
{
    det_status st = DET_OK;
    uint32_t told = 0;

    jw_object(&req->w, NULL);
    jw_str(&req->w, "epoch", req->master->id);
    jw_array(&req->w, "commands");
    while (!st && told < count && req->out.len < COMMANDS_BYTES)
        st = render_command_or_skip(req, &commands[told++]);
    jw_end_array(&req->w);
    jw_i64(&req->w, "last", told ? commands[told - 1].seq : 0);
    jw_end_object(&req->w);
    return st;
}

static det_status wait_for_commands(struct request *req)
{
    const struct agent_commands_query *query = req->query;
    const char *key = arena_printf(&req->mem, "agent %s", req->arg[0]);
    const int64_t *deadline_us = req->state;
    struct agent_command *commands = NULL;
    uint32_t count = 0;
    uint64_t mark;
    det_status st;

    if (!key)
        return DET_NOMEM;
    mark = waits_mark(req->master->waits, key);
    st = agents_commands(req->master->agents, req->arg[0], query->after, &req->mem,
                         &commands, &count, req->err);
    if (!st && !count && !request_is_due(req, *deadline_us))
        return request_wait(req, key, mark, *deadline_us, wait_for_commands);
    return st ? st : reply_commands(req, commands, count);
}

static void poll_ended(struct request *req)
{
    agents_poll_ended(req->master->agents, req->arg[0], req->is_gone);
}

det_status api_agent_commands(struct request *req)
{
    const struct agent_commands_query *query = req->query;
    int64_t *deadline_us = arena_new(&req->mem, int64_t);
    int64_t seconds = MAX(MIN(query->timeout_seconds, COMMANDS_WAIT_MOST_S), 0);
    det_status st;

    if (!deadline_us)
        return DET_NOMEM;
    if (!query->epoch || strcmp(query->epoch, req->master->id))
        return reply_commands(req, NULL,
                              0); /* our epoch tells the agent to join again */
    *deadline_us = request_mono_us(req) + seconds * 1000000;
    st = agents_poll_began(req->master->agents, req->arg[0], query->instance, req->err);
    if (st)
        return st;
    agents_note_machine(req->master->agents, req->arg[0], query->disk_free,
                        query->clock);
    req->state = deadline_us;
    req->ended = poll_ended;
    return wait_for_commands(req);
}

det_status api_agent_bye(struct request *req)
{
    const struct agent_bye_body *body = req->body;

    agents_left(req->master->agents, req->arg[0], body->instance);
    return DET_OK;
}
