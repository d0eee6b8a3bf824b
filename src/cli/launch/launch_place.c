/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/launch/launch_place.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "cli/frame/cli.h"
#include "data/json/json.h"
#include "data/text.h"

enum { INFO_BYTES = 1 << 20 };

/* Reads an info file of the task; *ret_tree is NULL if it is missing or invalid. */
static det_status read_info(struct cli *cli, const char *name, struct json **ret_tree)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(INFO_BYTES);
    const char *run = getenv("DET_RUN_DIR");
    const char *path = arena_printf(&cli->mem, "%s/info/%s", run ? run : "", name);
    det_status st;

    *ret_tree = NULL;
    if (!path)
        return cli_nomem(cli);
    if (!run || io_read_file(io_system(), path, &text, NULL))
        return DET_OK;
    st = json_parse(text.data, text.len, &cli->mem, ret_tree, NULL);
    if (st)
        *ret_tree = NULL;
    return st == DET_NOMEM ? cli_nomem(cli) : DET_OK;
}

static size_t count_of(const struct json *list)
{
    return list && list->kind == JSON_ARRAY ? list->list.count : 0;
}

static det_status read_slots(struct cli *cli, struct launch_place *place)
{
    const char *slots = getenv("DET_SLOT_IDS");
    struct json *list;

    if (!slots || !*slots)
        return DET_OK;
    if (json_parse(slots, strlen(slots), &cli->mem, &list, NULL) ||
        list->kind != JSON_ARRAY)
        return cli_fail(cli, DET_INVALID, "DET_SLOT_IDS is '%s'; expected a JSON list",
                        slots);
    place->has_slots = true;
    place->slots = list->list.count;
    return DET_OK;
}

det_status launch_place_read(struct cli *cli, struct launch_place *ret_place)
{
    struct launch_place place = {.nodes = 1};
    struct json *nodes, *resources;
    det_status st = read_slots(cli, &place);

    if (!st)
        st = read_info(cli, "rendezvous.json", &nodes);
    if (!st)
        st = read_info(cli, "resources.json", &resources);
    if (st)
        return st;
    place.has_gpus = count_of(json_get(resources, "gpu_uuids")) > 0;
    if (count_of(json_get(nodes, "container_addrs")) > 1) {
        place.addresses = json_get(nodes, "container_addrs");
        place.nodes = place.addresses->list.count;
        if (count_of(json_get(nodes, "container_slot_counts")) == place.nodes)
            place.counts = json_get(nodes, "container_slot_counts");
        place.rank = json_i64(json_get(nodes, "container_rank"), -1);
        if (place.rank < 0 || (size_t)place.rank >= place.nodes)
            return cli_fail(cli, DET_INVALID,
                            "rendezvous.json of this task does not say which of its "
                            "%zu nodes this is",
                            place.nodes);
    }
    *ret_place = place;
    return DET_OK;
}

det_status launch_place_is_one(struct cli *cli, const struct launch_place *place,
                               const char *launcher, const char *instead)
{
    if (place->nodes == 1)
        return DET_OK;
    return cli_fail(cli, DET_UNSUPPORTED,
                    "this task has %zu nodes, but 'det launch %s' starts processes on "
                    "one node only: set resources.is_single_node: true%s",
                    place->nodes, launcher, instead);
}

/* The master gives each allocation its own port in C10D_PORT. */
det_status launch_place_port(struct cli *cli, int64_t wanted, int64_t or,
                             int64_t *ret_port)
{
    const char *text = getenv("C10D_PORT");
    int64_t port = or ;

    if (wanted != CLI_UNSET)
        port = wanted;
    else if (text && *text &&
             (!parse_i64(text, &port) || port < 1 || port > LAUNCH_PORT_MOST))
        return cli_fail(cli, DET_INVALID, "C10D_PORT is '%s'; expected a port", text);
    *ret_port = port;
    return DET_OK;
}

det_status launch_place_ranks(struct cli *cli, int64_t wanted,
                              const struct launch_place *place, int64_t *ret_count)
{
    if (wanted == CLI_UNSET && !place->has_slots)
        return cli_fail(
            cli, DET_INVALID,
            "the number of ranks is missing: give -n N (only a task has slots to "
            "count)");
    *ret_count = wanted != CLI_UNSET ? wanted : MAX((int64_t)place->slots, (int64_t)1);
    return DET_OK;
}
