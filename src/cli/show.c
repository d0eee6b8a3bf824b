/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/show.h"

#include <string.h>

#include "cli/ctx.h"

const char *show_raw(struct cli *cli, const struct json *value)
{
    const char *text = json_str(value, NULL);

    if (text)
        return text;
    if (json_is_null(value))
        return "";
    text = json_text(&cli->mem, value);
    return text ? text : "";
}

static void put_hparams(struct cli *cli, struct buf *out, const char *above,
                        const struct json *hparams)
{
    json_each(value, hparams) {
        if (value->kind == JSON_OBJECT) {
            const char *path = arena_printf(&cli->mem, "%s%s.", above, value->key);

            if (path)
                put_hparams(cli, out, path, value);
            continue;
        }
        if (out->len)
            buf_putc(out, ' ');
        buf_printf(out, "%s%s=%s", above, value->key,
                   value->kind == JSON_REAL ? cli_number(cli, value)
                                            : show_raw(cli, value));
    }
}

const char *show_hparams(struct cli *cli, const struct json *hparams)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const char *text;

    put_hparams(cli, &out, "", hparams);
    text = arena_strndup(&cli->mem, out.data, out.len);
    if (out.status)
        cli->mem.has_failed = true;
    return text ? text : "";
}

void show_field(struct cli *cli, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    cli_put(cli, "  %-12s ", name);
    term_put(&cli->out, value, SIZE_MAX);
    cli_put(cli, "\n");
}

void show_reverse(struct json *list)
{
    struct json *turned = NULL;

    if (!list || (list->kind != JSON_ARRAY && list->kind != JSON_OBJECT))
        return;
    list->list.last = list->list.first;
    for (struct json *at = list->list.first, *next; at; at = next) {
        next = at->next;
        at->next = turned;
        turned = at;
    }
    list->list.first = turned;
}
