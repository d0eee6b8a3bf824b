/* SPDX-License-Identifier: Apache-2.0 */
/* launch_torch.c - `det launch torch_distributed`: one process a slot, with the
 * environment that torchrun would give it.
 *
 * Ranks are started here, without mpirun or torchrun: an environment is all that
 * torch.distributed needs.  Each runs under `det internal rank`, which marks its lines
 * and names it when it fails; the others are told to end after that, so that the cause
 * is read first.  One that does not end is killed, with whatever it has started.
 *
 * On several nodes the same command runs on each.  The ranks of a node follow those of
 * the nodes before it, which may have other numbers of slots. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "cli/ctx.h"
#include "cli/launch.h"
#include "cli/options.h"
#include "cli/run.h"
#include "net/stream.h"

enum { PORT_OF_NODES = 29400, GRACE_US = 5000000, WORDS_BEFORE = 5 };

/* Where the ranks of this node stand among all. */
struct team {
    int64_t node, nodes;
    int64_t here;  /* ranks on this node */
    int64_t first; /* the rank of the first of them */
    int64_t size;  /* on all nodes */
    const char *address;
    int64_t port;
};

struct crew {
    struct launched *ranks; /* by local rank; the first one has the signals of all */
    size_t count;
    size_t alive;
    bool was_told;       /* all of them, by somebody outside, that they should end */
    int64_t deadline_us; /* when those who are left are killed; 0: nobody failed yet */
    int code;            /* of the first that failed */
};

/* ---- who we are ------------------------------------------------------------------ */

/* One that nobody listens on. */
static det_status find_free_port(struct cli *cli, int64_t *ret_port)
{
    const struct stream_at at = {.host = "127.0.0.1"};
    struct stream listener;
    uint16_t port;
    det_status st = stream_listen(&at, &listener, &port, cli->err);

    if (st)
        return err_prefix(cli->err, "no free port was found (name one with "
                                    "--master-port)");
    stream_close(&listener);
    *ret_port = port;
    return DET_OK;
}

/* Nodes that the command line names. */
static det_status name_nodes(struct cli *cli,
                             const struct launch_torch_options *options,
                             struct launch_place *place)
{
    if (options->nodes == CLI_UNSET && options->node_rank == CLI_UNSET)
        return DET_OK;
    place->nodes = options->nodes == CLI_UNSET ? place->nodes : (size_t)options->nodes;
    if (options->node_rank != CLI_UNSET)
        place->rank = options->node_rank;
    if (place->nodes > 1 && options->node_rank == CLI_UNSET && !place->addresses)
        return cli_fail(cli, DET_INVALID,
                        "which of %zu nodes is this? say --node-rank N", place->nodes);
    if (place->rank < 0 || (size_t)place->rank >= place->nodes)
        return cli_fail(cli, DET_INVALID,
                        "--node-rank is %lld; of %zu nodes it is "
                        "0 to %zu",
                        (long long)place->rank, place->nodes, place->nodes - 1);
    if (place->counts && place->counts->list.count != place->nodes)
        place->counts = NULL;
    return DET_OK;
}

/* How many ranks there are, and which of them are ours. */
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

static det_status find_meeting(struct cli *cli, const struct launch_place *place,
                               const struct launch_torch_options *options,
                               struct team *team)
{
    bool is_one = team->nodes == 1;
    det_status st =
        launch_port(cli, options->port, is_one ? 0 : PORT_OF_NODES, &team->port);

    team->address = options->address;
    if (!team->address && !is_one && place->addresses)
        team->address = json_str(place->addresses->list.first, NULL);
    if (!st && !team->address && !is_one)
        return cli_fail(cli, DET_INVALID,
                        "where is the first of %lld nodes? say --master-addr HOST",
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
        st = launch_count_ranks(cli, options->ranks, &place, &team.here);
    if (!st)
        st = name_nodes(cli, options, &place);
    if (st)
        return st;
    count_team(&place, options, &team);
    st = find_meeting(cli, &place, options, &team);
    if (!st)
        *ret_team = team;
    return st;
}

/* ---- environment ----------------------------------------------------------------- */

static det_status set_number(struct cli *cli, const char *name, int64_t value)
{
    const char *text = cli_i64(cli, value);

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
        /* by the names of other launchers, for DistributedContext.from_deepspeed() */
        {"LOCAL_SIZE", team->here},
        {"CROSS_RANK", team->node},
        {"CROSS_SIZE", team->nodes},
    };
    det_status st = DET_OK;

    for (size_t i = 0; i < ARRAY_LEN(rows) && !st; i++)
        st = set_number(cli, rows[i].name, rows[i].value);
    return st;
}

/* Unless the user has said which. */
static det_status set_default(struct cli *cli, const char *name, const char *value)
{
    const char *now = getenv(name);

    return now && *now ? DET_OK : launch_set(cli, name, value);
}

/* What torch.distributed would talk through on several nodes. */
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
    /* the ranks share the processors; torchrun does the same */
    if (!st && team->here > 1)
        st = set_default(cli, "OMP_NUM_THREADS", "1");
    /* rank 0 has the store: there is no agent of torchrun that would */
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

static const char **rank_words(struct cli *cli, const struct cli_invocation *in)
{
    const char **words =
        arena_array(&cli->mem, const char *, in->arg_count + WORDS_BEFORE);
    const char *self = launch_own_path(cli);
    size_t count = 0;

    if (!words || !self)
        return NULL;
    words[count++] = self;
    words[count++] = "internal";
    words[count++] = "rank";
    words[count++] = "--";
    memcpy(words + count, in->args, in->arg_count * sizeof(*words));
    return words;
}

static det_status start_ranks(struct cli *cli, const struct team *team,
                              const char *const *words, struct crew *crew)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int fds[3] = {null, -1, -1};
    det_status st = DET_OK;

    for (int64_t i = 0; i < team->here && !st; i++) {
        struct launched *rank = &crew->ranks[i];

        *rank = (struct launched){.heir = SIGTERM, .usual = crew->ranks[0].usual};
        st = set_rank(cli, team, i);
        if (!st)
            st = i ? launched_start_beside(rank, words, fds, cli->err)
                   : launched_start(rank, words, fds, cli->err);
        crew->count += !st;
    }
    crew->alive = crew->count;
    if (null >= 0)
        close(null);
    return st;
}

static void tell(const struct crew *crew, int number)
{
    for (size_t i = 0; i < crew->count; i++)
        if (crew->ranks[i].pid > 0)
            kill(crew->ranks[i].pid, number);
}

/* The first one that fails takes the others along. */
static void look_for_ends(struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++) {
        int code = 0;

        if (crew->ranks[i].pid <= 0 || !launched_has_ended(&crew->ranks[i], &code))
            continue;
        crew->ranks[i].pid = -1;
        crew->alive--;
        crew->code = crew->code ? crew->code : code;
    }
    if (!crew->code || crew->deadline_us || !crew->alive)
        return;
    crew->deadline_us = clock_mono_us(&clock_system) + GRACE_US;
    if (!crew->was_told)
        tell(crew, SIGTERM);
}

static void take_signals(struct crew *crew)
{
    struct signalfd_siginfo info;

    while (read(crew->ranks[0].signals, &info, sizeof(info)) == sizeof(info)) {
        int number = (int)info.ssi_signo;

        if (number == SIGCHLD)
            look_for_ends(crew);
        else
            tell(crew, number);
        crew->was_told = crew->was_told || (number != SIGCHLD && launch_is_end(number));
    }
}

static void wait_for_ends(struct crew *crew)
{
    while (crew->alive) {
        struct pollfd row = {.fd = crew->ranks[0].signals, .events = POLLIN};
        int64_t left_us = crew->deadline_us - clock_mono_us(&clock_system);

        if (crew->deadline_us && left_us <= 0) {
            tell(crew, SIGKILL); /* and their programs with them */
            crew->deadline_us += GRACE_US;
            continue;
        }
        (void)poll(&row, 1, crew->deadline_us ? (int)(left_us / 1000) + 1 : -1);
        take_signals(crew);
    }
}

static det_status run_crew(struct cli *cli, const struct cli_invocation *in,
                           const struct team *team)
{
    struct crew crew = {0};
    const char **words = rank_words(cli, in);
    det_status st;

    crew.ranks = arena_array(&cli->mem, struct launched, (size_t)team->here);
    if (!words || !crew.ranks)
        return cli_nomem(cli);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    st = start_ranks(cli, team, words, &crew);
    if (st)
        tell(&crew, SIGKILL);
    if (crew.count)
        wait_for_ends(&crew);
    if (crew.count)
        launched_done(&crew.ranks[0]);
    launch_end_orphans();
    cli->exit_code = crew.code;
    return st;
}

det_status run_launch_torch(struct cli *cli, const struct cli_invocation *in)
{
    const struct launch_torch_options *options = in->options;
    struct team team;
    det_status st = find_team(cli, options, &team);

    if (!st)
        st = set_environment(cli, &team);
    return st ? st : run_crew(cli, in, &team);
}
