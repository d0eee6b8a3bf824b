/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - `det audit`. */
#include <inttypes.h>

#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "data/json/json.h"

enum { PAGE = 1000 };

static void add_filter(struct cli *cli, struct buf *query, const char *key,
                       const char *value)
{
    if (value)
        buf_printf(query, "&%s=%s", key, cli_url(cli, value));
}

static void add_entry(struct cli *cli, struct table *table, const struct json *entry)
{
    const char *id = json_str(json_get(entry, "objectId"), "");

    table_add_raw(table, format_time(cli, json_get(entry, "time")),
                  json_str(json_get(entry, "time"), ""));
    table_add(table, json_str(json_get(entry, "username"), ""));
    table_add(table, json_str(json_get(entry, "action"), ""));
    table_add(table, arena_printf(&cli->mem, "%s%s%s",
                                  json_str(json_get(entry, "objectKind"), ""),
                                  *id ? " " : "", id));
    table_add(table, json_str(json_get(entry, "address"), ""));
    table_add(table, format_i64(cli, json_i64(json_get(entry, "status"), 0)));
    table_add(table, json_str(json_get(entry, "detail"), ""));
}

det_status run_audit_list(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {
        {"TIME", TABLE_LEFT},    {"USER", TABLE_LEFT},
        {"ACTION", TABLE_LEFT},  {"OBJECT", TABLE_LEFT},
        {"ADDRESS", TABLE_LEFT}, {"STATUS", TABLE_RIGHT},
        {"FIELDS", TABLE_FLEX},  {0}};
    CLEANUP(buf_done) struct buf query = BUF_INIT;
    const struct audit_list_options *options = in->options;
    struct json *all = json_new(&cli->mem, JSON_ARRAY);
    struct json *reply;
    struct table table;
    int64_t before = 0, left = options->limit;
    det_status st = DET_OK;

    add_filter(cli, &query, "user", options->by);
    add_filter(cli, &query, "action", options->action);
    add_filter(cli, &query, "object", options->object);
    add_filter(cli, &query, "since", options->since);
    if (query.status)
        return cli_nomem(cli);
    do {
        int64_t limit = MIN(left, (int64_t)PAGE);

        st = cli_get(cli, &reply,
                     "/api/v1/det/audit?limit=%" PRId64 "&before=%" PRId64 "%s", limit,
                     before, query.data);
        if (st)
            return st;
        json_each(entry, json_get(reply, "entries")) {
            struct json *copy = json_copy(&cli->mem, entry);

            json_push(all, copy);
        }
        left -= limit;
        before = json_i64(json_get(reply, "next"), 0);
    } while (before && left > 0);
    if (in->format == CLI_JSON)
        return cli_print_json(cli, all);
    table_init(&table, &cli->mem, columns);
    json_each(entry, all)
        add_entry(cli, &table, entry);
    return cli_print_table(cli, &table);
}
