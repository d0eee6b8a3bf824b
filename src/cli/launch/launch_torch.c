/* SPDX-License-Identifier: Apache-2.0 */
/* launch_torch.c - `det launch torch_distributed`: one process per slot, with the
 * environment that torchrun would set.
 *
 * torch.distributed needs nothing but environment variables, so the ranks are started
 * here, without mpirun or torchrun.  Each runs under `det internal rank`, which prefixes
 * its lines and reports its failure.  Only then are the others told to end: the log shows
 * the cause first.  A rank that does not end is killed, with all its children.
 *
 * On several nodes the same command runs on each.  The ranks of a node follow those of
 * the nodes before it, which may have different numbers of slots. */
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/frame/program_path.h"
#include "cli/launch/launch.h"
#include "cli/launch/launch_place.h"
#include "cli/launch/launched.h"
#include "cli/output/format.h"
#include "data/json/json.h"
#include "net/stream.h"

enum { PORT_OF_NODES = 29400, GRACE_US = 5000000, WORDS_BEFORE = 5 };

/* The ranks of this node among all ranks. */
struct team {
    int64_t node, nodes;
    int64_t here;  /* ranks on this node */
    int64_t first; /* the rank of the first of them */
    int64_t size;  /* on all nodes */
    const char *address;
    int64_t port;
};

struct local_ranks {
    struct launched *ranks; /* by local rank; the first one has the signalfd */
    size_t count;
    size_t alive;
    bool was_told;       /* a signal from outside told all to end */
    int64_t deadline_us; /* when the remaining ones are killed; 0: none has failed */
    int code;            /* exit code of the first that failed */
};

/* ---- nodes and ranks ------------------------------------------------------------- */

/* A port that nobody listens on. */
static det_status find_free_port(struct cli *cli, int64_t *ret_port)
{
    const struct stream_at at = {.host = "127.0.0.1"};
    struct stream listener;
    uint16_t port;
    det_status st = stream_listen(&at, &listener, &port, cli->err);

    if (st)
        return err_prefix(cli->err, "no free port was found (choose one with "
                                    "--master-port)");
    stream_close(&listener);
    *ret_port = port;
    return DET_OK;
}

/* Applies --nnodes and --node-rank. */
static det_status apply_node_options(struct cli *cli,
                                     const struct launch_torch_options *options,
                                     struct launch_place *place)
{
    if (options->nodes == CLI_UNSET && options->node_rank == CLI_UNSET)
        return DET_OK;
    place->nodes = options->nodes == CLI_UNSET ? place->nodes : (size_t)options->nodes;
    if (options->node_rank != CLI_UNSET)
        place->rank = options->node_rank;
    if (place->nodes > 1 && options->node_rank == CLI_UNSET && !place->addresses)
        return cli_fail(
            cli, DET_INVALID,
            "the rank of this node among %zu is unknown: give --node-rank N",
            place->nodes);
    if (place->rank < 0 || (size_t)place->rank >= place->nodes)
        return cli_fail(cli, DET_INVALID,
                        "--node-rank is %lld; with %zu nodes, expected 0 to %zu",
                        (long long)place->rank, place->nodes, place->nodes - 1);
    if (place->counts && place->counts->list.count != place->nodes)
        place->counts = NULL;
    return DET_OK;
}

/* Counts all ranks, and finds the first of this node. */
static void count_team(const struct launch_place *place,
                       const struct launch_torch_options *options, struct team *team)
{
    bool is_even = options->ranks != CLI_UNSET || !place->counts;
    int64_t node = 0;

    team->nodes = (int64_t)place->nodes;
    team->node = place->rank;
    team->first = team->node * team->here;
    team->size = team->nodes * team->here;
    if (is_even)
        return;
    team->first = team->size = 0;
    json_each(count, place->counts) {
        int64_t there = node == team->node ? team->here : json_i64(count, 1);

        team->first += node < team->node ? MAX(there, (int64_t)1) : 0;
        team->size += MAX(there, (int64_t)1);
        node++;
    }
}

static det_status find_address(struct cli *cli, const struct launch_place *place,
                               const struct launch_torch_options *options,
                               struct team *team)
{
    bool is_one = team->nodes == 1;
    det_status st =
        launch_place_port(cli, options->port, is_one ? 0 : PORT_OF_NODES, &team->port);

    team->address = options->address;
    if (!team->address && !is_one && place->addresses)
        team->address = json_str(place->addresses->list.first, NULL);
    if (!st && !team->address && !is_one)
        return cli_fail(
            cli, DET_INVALID,
            "the address of the first of %lld nodes is unknown: give --master-addr "
            "HOST",
            (long long)team->nodes);
    if (!team->address)
        team->address = "127.0.0.1";
    return st || team->port ? st : find_free_port(cli, &team->port);
}

static det_status find_team(struct cli *cli, const struct launch_torch_options *options,
                            struct team *ret_team)
{
    struct launch_place place;
    struct team team = {0};
    det_status st = launch_place_read(cli, &place);

    if (!st)
        st = launch_place_ranks(cli, options->ranks, &place, &team.here);
    if (!st)
        st = apply_node_options(cli, options, &place);
    if (st)
        return st;
    count_team(&place, options, &team);
    st = find_address(cli, &place, options, &team);
    if (!st)
        *ret_team = team;
    return st;
}

/* ---- environment ----------------------------------------------------------------- */

static det_status set_number(struct cli *cli, const char *name, int64_t value)
{
    const char *text = format_i64(cli, value);

    return text ? launch_set(cli, name, text) : cli_nomem(cli);
}

static det_status set_numbers(struct cli *cli, const struct team *team)
{
    const struct {
        const char *name;
        int64_t value;
    } rows[] = {
        {"WORLD_SIZE", team->size},
        {"LOCAL_WORLD_SIZE", team->here},
        {"GROUP_RANK", team->node},
        {"GROUP_WORLD_SIZE", team->nodes},
        {"ROLE_WORLD_SIZE", team->size},
        {"MASTER_PORT", team->port},
        {"TORCHELASTIC_RESTART_COUNT", 0},
        {"TORCHELASTIC_MAX_RESTARTS", 0},
        /* the names of other launchers, for DistributedContext.from_deepspeed() */
        {"LOCAL_SIZE", team->here},
        {"CROSS_RANK", team->node},
        {"CROSS_SIZE", team->nodes},
    };
    det_status st = DET_OK;

    for (size_t i = 0; i < ARRAY_LEN(rows) && !st; i++)
        st = set_number(cli, rows[i].name, rows[i].value);
    return st;
}

/* Sets a variable that the user has not set. */
static det_status set_default(struct cli *cli, const char *name, const char *value)
{
    const char *now = getenv(name);

    return now && *now ? DET_OK : launch_set(cli, name, value);
}

/* The network interface between nodes. */
static det_status set_interface(struct cli *cli, const struct team *team)
{
    const char *name = getenv("DET_INTER_NODE_NETWORK_INTERFACE");
    det_status st;

    if (team->nodes == 1 || !name || !*name)
        return DET_OK;
    st = set_default(cli, "GLOO_SOCKET_IFNAME", name);
    return st ? st : set_default(cli, "NCCL_SOCKET_IFNAME", name);
}

static det_status set_environment(struct cli *cli, const struct team *team)
{
    const char *run = getenv("DET_ALLOCATION_ID");
    const char *const rows[][2] = {
        {"DET_LAUNCH", "torch_distributed"},
        {"USE_TORCH_DISTRIBUTED", "True"},
        {"MASTER_ADDR", team->address},
        {"ROLE_NAME", "default"},
        {"TORCHELASTIC_RUN_ID", run && *run ? run : "none"},
        {"DET_CHIEF_IP", team->nodes > 1 ? team->address : NULL},
    };
    det_status st = set_numbers(cli, team);

    for (size_t i = 0; i < ARRAY_LEN(rows) && !st; i++)
        st = launch_set(cli, rows[i][0], rows[i][1]);
    if (!st)
        st = set_interface(cli, team);
    /* the ranks share the processors, as with torchrun */
    if (!st && team->here > 1)
        st = set_default(cli, "OMP_NUM_THREADS", "1");
    /* rank 0 holds the store: there is no torchrun agent to do it */
    unsetenv("TORCHELASTIC_USE_AGENT_STORE");
    return st;
}

static det_status set_rank(struct cli *cli, const struct team *team, int64_t local)
{
    det_status st = set_number(cli, "RANK", team->first + local);

    if (!st)
        st = set_number(cli, "ROLE_RANK", team->first + local);
    return st ? st : set_number(cli, "LOCAL_RANK", local);
}

/* ---- the ranks ------------------------------------------------------------------- */

static det_status rank_words(struct cli *cli, const struct cli_invocation *in,
                             const char ***ret_words)
{
    const char **words =
        arena_array(&cli->mem, const char *, in->arg_count + WORDS_BEFORE);
    const char *self;
    size_t count = 0;
    det_status st = program_path(&cli->mem, &self, cli->err);

    if (st)
        return st;
    if (!words)
        return cli_nomem(cli);
    words[count++] = self;
    words[count++] = "internal";
    words[count++] = "rank";
    words[count++] = "--";
    assert(count < WORDS_BEFORE); /* room for the arguments and a NULL */
    memcpy(words + count, in->args, in->arg_count * sizeof(*words));
    *ret_words = words;
    return DET_OK;
}

static det_status start_ranks(struct cli *cli, const struct team *team,
                              const char *const *words, struct local_ranks *local)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int fds[3] = {null, -1, -1};
    det_status st = DET_OK;

    for (int64_t i = 0; i < team->here && !st; i++) {
        struct launched *rank = &local->ranks[i];

        *rank =
            (struct launched){.death_signal = SIGTERM, .usual = local->ranks[0].usual};
        st = set_rank(cli, team, i);
        if (!st)
            st = i ? launched_start_beside(rank, words, fds, cli->err)
                   : launched_start(rank, words, fds, cli->err);
        local->count += !st;
    }
    local->alive = local->count;
    if (null >= 0)
        close(null);
    return st;
}

static void signal_ranks(const struct local_ranks *local, int number)
{
    for (size_t i = 0; i < local->count; i++)
        if (local->ranks[i].pid > 0)
            kill(local->ranks[i].pid, number);
}

/* Collects ended ranks.  After the first failure the others are told to end. */
static void collect_ended(struct local_ranks *local)
{
    for (size_t i = 0; i < local->count; i++) {
        int code = 0;

        if (local->ranks[i].pid <= 0 || !launched_has_ended(&local->ranks[i], &code))
            continue;
        local->ranks[i].pid = -1;
        local->alive--;
        local->code = local->code ? local->code : code;
    }
    if (!local->code || local->deadline_us || !local->alive)
        return;
    local->deadline_us = clock_mono_us(&clock_system) + GRACE_US;
    if (!local->was_told)
        signal_ranks(local, SIGTERM);
}

static void forward_signals(struct local_ranks *local)
{
    struct signalfd_siginfo info;

    while (read(local->ranks[0].signals, &info, sizeof(info)) == sizeof(info)) {
        int number = (int)info.ssi_signo;

        if (number == SIGCHLD)
            collect_ended(local);
        else
            signal_ranks(local, number);
        local->was_told =
            local->was_told || (number != SIGCHLD && launched_is_end_signal(number));
    }
}

static void wait_for_ranks(struct local_ranks *local)
{
    while (local->alive) {
        struct pollfd row = {.fd = local->ranks[0].signals, .events = POLLIN};
        int64_t left_us = local->deadline_us - clock_mono_us(&clock_system);

        if (local->deadline_us && left_us <= 0) {
            signal_ranks(local, SIGKILL); /* their programs die with them */
            local->deadline_us += GRACE_US;
            continue;
        }
        (void)poll(&row, 1, local->deadline_us ? (int)(left_us / 1000) + 1 : -1);
        forward_signals(local);
    }
}

static det_status run_ranks(struct cli *cli, const struct cli_invocation *in,
                            const struct team *team)
{
    struct local_ranks local = {0};
    const char **words = NULL;
    det_status st = rank_words(cli, in, &words);

    if (st)
        return st;
    local.ranks = arena_array(&cli->mem, struct launched, (size_t)team->here);
    if (!local.ranks)
        return cli_nomem(cli);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    st = start_ranks(cli, team, words, &local);
    if (st)
        signal_ranks(&local, SIGKILL);
    if (local.count)
        wait_for_ranks(&local);
    if (local.count)
        launched_done(&local.ranks[0]);
    launched_kill_orphans();
    cli->exit_code = local.code;
    return st;
}

det_status run_launch_torch(struct cli *cli, const struct cli_invocation *in)
{
    const struct launch_torch_options *options = in->options;
    struct team team;
    det_status st = find_team(cli, options, &team);

    if (!st)
        st = set_environment(cli, &team);
    return st ? st : run_ranks(cli, in, &team);
}
