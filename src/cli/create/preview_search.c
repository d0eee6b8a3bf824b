/* SPDX-License-Identifier: Apache-2.0 */
/* preview_search.c - `det preview-search`: what a search would run. */
#include <inttypes.h>

#include "base/compiler.h"
#include "cli/create/config_file.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "config/experiment_config.h"
#include "data/json/json.h"
#include "search/preview.h"
#include "search/searcher.h"

enum { CONFIG_LIMIT = 16 << 20 };

static det_status print_preview(struct cli *cli, const struct json *trials)
{
    static const struct table_column columns[] = {
        {"TRIALS", TABLE_RIGHT}, {"LENGTH", TABLE_LEFT}, {0}};
    struct table table;

    table_init(&table, &cli->mem, columns);
    json_each(row, trials) {
        const struct json *unit = json_get(row, "unit");
        const char *length = "to the end";

        if (!json_bool(json_find(unit, "max_length"), false))
            length = arena_printf(&cli->mem, "%" PRId64 " %s",
                                  json_i64(json_get(unit, "value"), 0),
                                  json_str(json_get(unit, "name"), "units"));
        table_add(&table, format_i64(cli, json_i64(json_get(row, "count"), 0)));
        table_add(&table, length);
    }
    return cli_print_table(cli, &table);
}

det_status run_preview_search(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(CONFIG_LIMIT);
    const struct field_strs none = {0};
    struct experiment_config config;
    struct json *trials;
    det_status st =
        config_file_load_experiment(cli, in->args[0], &none, &text, &config);

    if (!st)
        st = search_preview(config.searcher, config.hyperparameters, &cli->mem, &trials,
                            cli->err);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, trials);
    return print_preview(cli, trials);
}
