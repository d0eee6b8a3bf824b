/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c - the tables of the program as JSON, one row a line, for tools/check-tables.
 *
 *   {"table": "route", "name": ..., "method": ..., "path": ..., "auth": ..., ...}
 *   {"table": "key", "kind": "experiment", "path": ..., "help": ..., "is_refused": ...,
 *    "has_no_effect": ..., "is_later": there is no choice yet, "is_map": ...}
 *   {"table": "reference", "kind": "experiment", "text": the generated page's table}
 *   {"table": "metric", "name": ..., "type": ..., "labels": [...], "help": ...}
 *   {"table": "command", "words": "experiment label add", "summary": ...}
 *   {"table": "check", "name": ..., "scope": "host", "help": ...} */
#include <stdio.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/doctor/checks.h"
#include "cli/frame/command_row.h"
#include "cli/frame/commands.h"
#include "cli/frame/parse.h"
#include "config/explain.h"
#include "config/keys/key.h"
#include "config/keys/key_tables.h"
#include "data/json/json.h"
#include "master/watch/metric_rows.h"
#include "wire/route.h"

static const char *const kind_names[] = {
    [CONFIG_EXPERIMENT] = "experiment",
    [CONFIG_MASTER] = "master",
    [CONFIG_AGENT] = "agent",
    [CONFIG_JOB] = "job",
};

static struct json_writer start_row(struct buf *out, const char *table)
{
    struct json_writer w = {.out = out};

    jw_object(&w, NULL);
    jw_str(&w, "table", table);
    return w;
}

static void end_row(struct json_writer *w)
{
    jw_end_object(w);
    buf_putc(w->out, '\n');
}

static void write_routes(struct buf *out)
{
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        struct json_writer w = start_row(out, "route");

        jw_str(&w, "name", routes[i].name);
        jw_str(&w, "method", route_method_names[routes[i].method]);
        jw_str(&w, "path", routes[i].path);
        jw_str(&w, "who", route_who_names[routes[i].who]);
        jw_str(&w, "object", route_object_names[routes[i].object]);
        jw_str(&w, "task", route_task_names[routes[i].task]);
        jw_str(&w, "permission",
               routes[i].permission == PERMISSION_NONE
                   ? ""
                   : permissions[routes[i].permission].name);
        jw_str(&w, "file", routes[i].file);
        jw_str(&w, "summary", routes[i].summary);
        end_row(&w);
    }
}

/* Whether nothing can be chosen yet: the value has one word, or the key belongs to kinds
 * that are not built. */
static bool is_later(const struct key_table *table, const struct config_key *row)
{
    size_t built = 0;

    for (size_t i = 0; row->words && row->words[i]; i++)
        built += !key_has_word(row->later_words, row->words[i]);
    if (row->words && built == 1)
        return true;
    for (size_t i = 0; row->kinds && i < table->count; i++) {
        const struct config_key *map = &table->keys[i];
        const struct config_key *teller;

        if (!map->union_key || !key_name_below(row, map->path))
            continue;
        teller = key_child(table, map->path, map->union_key, NULL);
        for (size_t j = 0; teller && teller->words && teller->words[j]; j++)
            if (key_fits_kind(row, teller->words[j]) &&
                !key_has_word(teller->later_words, teller->words[j]))
                return false;
        return true;
    }
    return false;
}

static void write_keys(enum config_kind kind, struct buf *out)
{
    CLEANUP(buf_done) struct buf page = BUF_INIT;
    struct json_writer w;
    const struct key_table table = key_table_of(kind);
    const struct config_key *keys = table.keys;

    for (size_t i = 0; i < table.count; i++) {
        w = start_row(out, "key");
        jw_str(&w, "kind", kind_names[kind]);
        jw_str(&w, "path", keys[i].path);
        jw_str(&w, "help", keys[i].help);
        jw_bool(&w, "is_refused", keys[i].refuse || keys[i].not_built);
        jw_bool(&w, "has_no_effect", keys[i].no_effect != NULL);
        jw_bool(&w, "is_later", is_later(&table, &keys[i]));
        jw_bool(&w, "is_map", keys[i].types & KEY_MAP);
        end_row(&w);
    }
    config_reference_write(kind, &page);
    w = start_row(out, "reference");
    jw_str(&w, "kind", kind_names[kind]);
    jw_str(&w, "text", page.data);
    end_row(&w);
    if (page.status)
        out->status = page.status;
}

static void write_commands(struct buf *out)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);

    for (const struct cli_command *c = cli_commands; c->noun; c++) {
        struct json_writer w = start_row(out, "command");

        jw_str(&w, "words", cli_command_words(c, &mem));
        jw_str(&w, "summary", c->summary);
        jw_bool(&w, "is_hidden", c->flags & CLI_HIDDEN);
        end_row(&w);
    }
}

static void write_checks(struct buf *out)
{
    for (size_t i = 0; i < doctor_check_count; i++) {
        struct json_writer w = start_row(out, "check");

        jw_str(&w, "name", doctor_checks[i].name);
        jw_str(&w, "scope", doctor_scope_names[doctor_checks[i].scope]);
        jw_str(&w, "help", doctor_checks[i].help);
        end_row(&w);
    }
}

static void write_metrics(struct buf *out)
{
    for (uint32_t i = 0; i < metric_row_count; i++) {
        struct json_writer w = start_row(out, "metric");

        jw_str(&w, "name", metric_rows[i].name);
        jw_str(&w, "type", metric_type_names[metric_rows[i].type]);
        jw_str(&w, "help", metric_rows[i].help);
        jw_array(&w, "labels");
        for (int j = 0; j < METRIC_LABELS; j++)
            if (metric_rows[i].labels[j])
                jw_str(&w, NULL, metric_rows[i].labels[j]);
        jw_end_array(&w);
        end_row(&w);
    }
}

int main(void)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    write_routes(&out);
    for (size_t kind = 0; kind < ARRAY_LEN(kind_names); kind++)
        write_keys((enum config_kind)kind, &out);
    write_commands(&out);
    write_checks(&out);
    write_metrics(&out);
    if (out.status)
        return 1;
    return fwrite(out.data, 1, out.len, stdout) == out.len ? 0 : 1;
}
