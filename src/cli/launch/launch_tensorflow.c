/* SPDX-License-Identifier: Apache-2.0 */
/* launch_tensorflow.c - `det launch tensorflow` and `tensorflow_distributed`: one process
 * per node, in which tf.distribute does the rest.
 *
 *   TF_CONFIG          several nodes: their addresses and the index of this one, for
 *                      MultiWorkerMirroredStrategy
 *   DET_CHIEF_IP       several nodes: the first one, for libdet's ranks
 *   DET_CPU_REPLICAS   several slots that are processors: their number.  TensorFlow sees
 *                      a single processor; the `determined` package divides it into
 *                      logical devices, one replica of MirroredStrategy per slot. */
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/launch/launch.h"
#include "cli/launch/launch_place.h"
#include "cli/launch/launch_rank.h"
#include "cli/output/format.h"
#include "data/json/json.h"

enum { DEFAULT_PORT = 29400 };

/* ---- several nodes --------------------------------------------------------------- */

/* Nodes that share a machine use consecutive ports. */
static int64_t own_port(const struct json *addresses, const struct json *node,
                        int64_t port)
{
    json_each(other, addresses) {
        if (other == node)
            break;
        port += strcmp(json_str(other, ""), json_str(node, "")) == 0;
    }
    return port;
}

static void put_worker(struct cli *cli, struct json_writer *w, const char *address,
                       int64_t port)
{
    /* an IPv6 address needs brackets before the port */
    bool is_six = strchr(address, ':') && address[0] != '[';

    jw_str(w, NULL,
           arena_printf(&cli->mem, "%s%s%s:%lld", is_six ? "[" : "", address,
                        is_six ? "]" : "", (long long)port));
}

/* The following ports must be valid, too. */
static det_status check_ports(struct cli *cli, const struct launch_place *place,
                              int64_t port)
{
    int64_t last = port;

    json_each(address, place->addresses)
        last = MAX(last, own_port(place->addresses, address, port));
    if (last <= LAUNCH_PORT_MOST)
        return DET_OK;
    return cli_fail(cli, DET_INVALID,
                    "the nodes on one machine need ports %lld to %lld, but the highest "
                    "port is %d: choose a lower one with --port",
                    (long long)port, (long long)last, LAUNCH_PORT_MOST);
}

/* MultiWorkerMirroredStrategy uses one processor device per node. */
static det_status check_replicas(struct cli *cli, const struct launch_place *place,
                                 int64_t wanted)
{
    if (wanted == CLI_UNSET || wanted == 1 || place->has_gpus)
        return DET_OK;
    return cli_fail(
        cli, DET_INVALID,
        "this task has %zu nodes, and without GPUs each node is one replica: "
        "leave out --replicas, or use one node",
        place->nodes);
}

static det_status set_tf_config(struct cli *cli, const struct launch_place *place,
                                int64_t port)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    jw_object(&w, NULL);
    jw_object(&w, "cluster");
    jw_array(&w, "worker");
    json_each(address, place->addresses)
        put_worker(cli, &w, json_str(address, ""),
                   own_port(place->addresses, address, port));
    jw_end_array(&w);
    jw_end_object(&w);
    jw_object(&w, "task");
    jw_str(&w, "type", "worker");
    jw_i64(&w, "index", place->rank);
    jw_end_object(&w);
    jw_end_object(&w);
    if (text.status || cli->mem.has_failed)
        return cli_nomem(cli);
    return launch_set(cli, "TF_CONFIG", text.data);
}

static det_status run_one_of_several(struct cli *cli, const struct cli_invocation *in,
                                     const struct launch_place *place)
{
    const struct launch_tensorflow_options *options = in->options;
    const char *chief = json_str(place->addresses->list.first, NULL);
    const char *rank = format_i64(cli, place->rank);
    int64_t port = DEFAULT_PORT;
    det_status st = rank ? launch_place_port(cli, options->port, DEFAULT_PORT, &port)
                         : cli_nomem(cli);

    if (!st)
        st = check_ports(cli, place, port);
    if (!st)
        st = check_replicas(cli, place, options->replicas);
    if (!st)
        st = set_tf_config(cli, place, port);
    if (!st)
        st = launch_set(cli, "DET_CHIEF_IP", chief);
    return st ? st : launch_rank_run(cli, in, rank, "the task ends with it");
}

/* ---- a single node --------------------------------------------------------------- */

static det_status set_replicas(struct cli *cli, const struct launch_place *place,
                               int64_t wanted)
{
    int64_t count = wanted != CLI_UNSET ? wanted : (int64_t)place->slots;
    const char *text = format_i64(cli, count);

    if (!text)
        return cli_nomem(cli);
    return place->has_gpus || count < 2 ? DET_OK
                                        : launch_set(cli, "DET_CPU_REPLICAS", text);
}

/* On a single node there is nothing to supervise. */
static det_status become_command(struct cli *cli, const struct cli_invocation *in)
{
    const char **argv = arena_array(&cli->mem, const char *, in->arg_count + 1);

    if (!argv)
        return cli_nomem(cli);
    memcpy(argv, in->args, in->arg_count * sizeof(*argv));
    return launch_become(cli, argv);
}

det_status run_launch_tensorflow(struct cli *cli, const struct cli_invocation *in)
{
    const struct launch_tensorflow_options *options = in->options;
    struct launch_place place;
    det_status st = launch_place_read(cli, &place);

    if (!st)
        st = launch_set(cli, "DET_LAUNCH", "tensorflow");
    if (!st && place.nodes > 1)
        return run_one_of_several(cli, in, &place);
    if (!st)
        st = set_replicas(cli, &place, options->replicas);
    return st ? st : become_command(cli, in);
}

det_status run_launch_tensorflow_distributed(struct cli *cli,
                                             const struct cli_invocation *in)
{
    const struct launch_tensorflow_options *options = in->options;
    struct launch_place place;
    det_status st = launch_place_read(cli, &place);

    if (!st)
        st = launch_place_is_one(cli, &place, "tensorflow_distributed",
                                 ", or use 'det launch tensorflow' with "
                                 "MultiWorkerMirroredStrategy");
    if (!st)
        st = launch_set(cli, "DET_LAUNCH", "tensorflow_distributed");
    if (!st)
        st = set_replicas(cli, &place, options->replicas);
    return st ? st : become_command(cli, in);
}
