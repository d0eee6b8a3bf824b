/* SPDX-License-Identifier: Apache-2.0 */
/* distributed_env.c - finds out which rank this is, from the variables that the
 * launcher sets.
 *
 * To add another launcher: a row in `launchers`, and a value of enum det_ranks_from. */
#include "libdet/ranks/distributed_env.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "data/text.h"
#include "libdet/ranks/distributed.h"

enum { RENDEZVOUS_BYTES = 1 << 20, RANKS_MOST = 1 << 16, PORT = 12360 };

struct launcher {
    const char *what; /* its name in messages */
    const char *sign; /* the variable by which it is recognised */
    const char *rank, *size, *local_rank, *local_size;
    const char *cross_rank, *cross_size; /* NULL: it has none */
};

/* In the order in which DET_RANKS_ANY tries them. */
static const struct launcher launchers[] = {
    {"the launcher", "CROSS_RANK", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_SIZE",
     "CROSS_RANK", "CROSS_SIZE"},
    {"torchrun", "GROUP_RANK", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
     "GROUP_RANK", "GROUP_WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", NULL, NULL},
};

struct reader {
    const struct context_world *world;
    struct arena *mem;
    const char *what;
    const struct json *nodes; /* rendezvous.json; NULL: there is none */
};

static const char *variable(const struct reader *reader, const char *name)
{
    const struct context_world *world = reader->world;
    const char *value =
        world->variable ? world->variable(world->arg, name) : getenv(name);

    return value && *value ? value : NULL;
}

/* ---- numbers --------------------------------------------------------------------- */

static det_status read_number(const struct reader *reader, const char *name,
                              int64_t least, int64_t most, int *ret_value)
{
    const char *text = variable(reader, name);
    int64_t value;

    if (!text)
        return DET_NOT_FOUND;
    if (!parse_i64(text, &value) || value < least || value > most)
        return DET_INVALID;
    *ret_value = (int)value;
    return DET_OK;
}

static det_status need_number(const struct reader *reader, const char *name, int least,
                              int *ret_value, struct err *err)
{
    det_status st = read_number(reader, name, least, RANKS_MOST, ret_value);

    if (st == DET_NOT_FOUND)
        return err_set(
            err, DET_INVALID,
            "%s is not set, but %s should set it: did it start this process?", name,
            reader->what);
    if (st)
        return err_set(err, st, "%s is '%s'; expected a whole number from %d to %d",
                       name, variable(reader, name), least, RANKS_MOST);
    return DET_OK;
}

/* Reads what the supervisor has written about the nodes of this task. */
static det_status read_nodes(struct reader *reader, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(RENDEZVOUS_BYTES);
    const char *run = variable(reader, "DET_RUN_DIR");
    const char *path;
    struct json *tree;
    det_status st;

    if (!run)
        return DET_OK;
    path = arena_printf(reader->mem, "%s/info/rendezvous.json", run);
    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_read_file(reader->world->io, path, &text, err);
    if (st == DET_NOT_FOUND)
        return DET_OK;
    if (!st)
        st = json_parse(text.data, text.len, reader->mem, &tree, err);
    if (st)
        return err_prefix(err, "'%s'", path);
    reader->nodes = tree;
    return DET_OK;
}

static const struct json *addresses(const struct reader *reader)
{
    const struct json *list =
        reader->nodes ? json_get(reader->nodes, "container_addrs") : NULL;

    return list && list->kind == JSON_ARRAY && list->list.count ? list : NULL;
}

/* For a launcher that does not say which node this is. */
static det_status find_node(const struct reader *reader, det_ranks *ranks,
                            struct err *err)
{
    const struct json *list = addresses(reader);
    det_status st;

    if (variable(reader, "CROSS_RANK") || variable(reader, "CROSS_SIZE")) {
        st = need_number(reader, "CROSS_RANK", 0, &ranks->cross_rank, err);
        return st ? st : need_number(reader, "CROSS_SIZE", 1, &ranks->cross_size, err);
    }
    ranks->cross_rank = 0;
    ranks->cross_size = 1;
    if (ranks->local_size == ranks->size)
        return DET_OK;
    if (!list)
        return err_set(err, DET_INVALID,
                       "%s does not say on which node this is: set CROSS_RANK and "
                       "CROSS_SIZE",
                       reader->what);
    ranks->cross_size = (int)MIN(list->list.count, (size_t)RANKS_MOST);
    ranks->cross_rank = (int)MIN(
        json_i64(json_get(reader->nodes, "container_rank"), -1), (int64_t)RANKS_MOST);
    return DET_OK;
}

static det_status read_launcher(struct reader *reader, const struct launcher *launcher,
                                det_ranks *ranks, struct err *err)
{
    det_status st;

    reader->what = launcher->what;
    st = need_number(reader, launcher->rank, 0, &ranks->rank, err);
    if (!st)
        st = need_number(reader, launcher->size, 1, &ranks->size, err);
    if (!st)
        st = need_number(reader, launcher->local_rank, 0, &ranks->local_rank, err);
    if (!st)
        st = need_number(reader, launcher->local_size, 1, &ranks->local_size, err);
    if (!st && !launcher->cross_rank)
        return find_node(reader, ranks, err);
    if (!st)
        st = need_number(reader, launcher->cross_rank, 0, &ranks->cross_rank, err);
    if (!st)
        st = need_number(reader, launcher->cross_size, 1, &ranks->cross_size, err);
    return st;
}

/* ---- choosing the launcher ------------------------------------------------------- */

static det_status check_pair(const char *what, int rank, int size, struct err *err)
{
    if (size < 1 || size > RANKS_MOST)
        return err_set(err, DET_INVALID, "%ssize is %d; expected 1 to %d", what, size,
                       RANKS_MOST);
    if (rank < 0 || rank >= size)
        return err_set(err, DET_INVALID, "%srank is %d; expected 0 to %d", what, rank,
                       size - 1);
    return DET_OK;
}

static det_status check_ranks(const det_ranks *ranks, struct err *err)
{
    det_status st = check_pair("", ranks->rank, ranks->size, err);

    if (!st)
        st = check_pair("local ", ranks->local_rank, ranks->local_size, err);
    if (!st)
        st = check_pair("cross ", ranks->cross_rank, ranks->cross_size, err);
    if (st)
        return st;
    if ((ranks->cross_size == 1) != (ranks->local_size == ranks->size) ||
        ranks->local_size > ranks->size || ranks->cross_size > ranks->size)
        return err_set(err, DET_INVALID,
                       "%d processes on %d nodes, %d of them on this one: that cannot "
                       "be",
                       ranks->size, ranks->cross_size, ranks->local_size);
    if (ranks->cross_size == 1 && ranks->rank != ranks->local_rank)
        return err_set(err, DET_INVALID,
                       "rank %d has local rank %d; on a single node they are the same",
                       ranks->rank, ranks->local_rank);
    return DET_OK;
}

static det_status choose_ranks(struct reader *reader,
                               const det_distributed_options *options, det_ranks *ranks,
                               struct err *err)
{
    static const det_ranks alone = {0, 1, 0, 1, 0, 1};

    *ranks = options->from == DET_RANKS_GIVEN ? options->ranks : alone;
    switch ((enum det_ranks_from)options->from) {
    case DET_RANKS_GIVEN:
        return DET_OK;
    case DET_RANKS_LAUNCHER:
        return read_launcher(reader, &launchers[0], ranks, err);
    case DET_RANKS_TORCH:
        return read_launcher(reader, &launchers[1], ranks, err);
    case DET_RANKS_MPI:
        return read_launcher(reader, &launchers[2], ranks, err);
    case DET_RANKS_ANY:
        for (size_t i = 0; i < ARRAY_LEN(launchers); i++)
            if (variable(reader, launchers[i].sign) &&
                variable(reader, launchers[i].rank))
                return read_launcher(reader, &launchers[i], ranks, err);
        return DET_OK;
    }
    return err_set(err, DET_INVALID, "`from` is %d; expected an enum det_ranks_from",
                   options->from);
}

/* ---- places and secrets ---------------------------------------------------------- */

static det_status find_port(const struct reader *reader,
                            const det_distributed_options *options, uint16_t *ret_port,
                            struct err *err)
{
    static const char name[] = "INTER_TRAIN_PROCESS_COMM_PORT_1";
    int port = options->port ? options->port : PORT;
    det_status st =
        options->port ? DET_OK : read_number(reader, name, 1, UINT16_MAX, &port);

    if (st == DET_INVALID)
        return err_set(err, st, "%s is '%s'; expected a port", name,
                       variable(reader, name));
    if (port < 1 || port > UINT16_MAX)
        return err_set(err, DET_INVALID, "port is %d; expected 1 to 65535", port);
    *ret_port = (uint16_t)port;
    return DET_OK;
}

static const char *find_chief(const struct reader *reader,
                              const det_distributed_options *options)
{
    const struct json *list = addresses(reader);
    const char *chief = options->chief;

    if (!chief)
        chief = variable(reader, "DET_CHIEF_IP");
    if (!chief && list && list->list.first->kind == JSON_STRING)
        chief = list->list.first->string.text;
    return chief ? chief : variable(reader, "MASTER_ADDR");
}

/* Only the processes of an allocation know its session token. */
static const char *find_secret(const struct reader *reader,
                               const det_distributed_options *options)
{
    const char *secret = options->secret;

    if (!secret)
        secret = variable(reader, "DET_DISTRIBUTED_SECRET");
    return secret ? secret : variable(reader, "DET_SESSION_TOKEN");
}

/* The same on all ranks of a run and different in other runs: taken from what launchers
 * say about the run. */
static const char *find_job(const struct reader *reader,
                            const det_distributed_options *options)
{
    static const char *const names[] = {"DET_ALLOCATION_ID", "TORCHELASTIC_RUN_ID",
                                        "MASTER_PORT", "PMIX_NAMESPACE"};
    CLEANUP(buf_done) struct buf job = BUF_INIT;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = variable(reader, names[i]);

        if (i && options->from == DET_RANKS_GIVEN)
            break;
        buf_printf(&job, "%s ", value ? value : "");
    }
    return job.status ? NULL : arena_strdup(reader->mem, job.data);
}

static det_status check_options(const det_distributed_options *options, struct err *err)
{
    if (options->open_timeout_ms < 0 || options->timeout_ms < 0)
        return err_set(err, DET_INVALID, "a timeout cannot be negative");
    if (options->flags & ~(unsigned)DET_DISTRIBUTED_TCP)
        return err_set(err, DET_INVALID, "the flags %#x are unknown", options->flags);
    return DET_OK;
}

det_status distributed_env_plan(const struct context_world *world,
                                const det_distributed_options *options,
                                struct arena *mem, struct distributed_plan *ret_plan,
                                struct err *err)
{
    struct reader reader = {.world = world, .mem = mem};
    struct distributed_plan plan = {0};
    det_status st = check_options(options, err);

    if (!st)
        st = read_nodes(&reader, err);
    if (!st)
        st = choose_ranks(&reader, options, &plan.ranks, err);
    if (!st)
        st = check_ranks(&plan.ranks, err);
    if (!st)
        st = find_port(&reader, options, &plan.port, err);
    if (st)
        return st;
    plan.chief = find_chief(&reader, options);
    plan.secret = find_secret(&reader, options);
    plan.job = find_job(&reader, options);
    if (!plan.job)
        return err_default(err, DET_NOMEM);
    *ret_plan = plan;
    return DET_OK;
}
