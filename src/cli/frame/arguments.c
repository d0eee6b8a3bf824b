/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/arguments.h"

#include <string.h>

#include "cli/frame/cli.h"
#include "cli/offline/local_master.h"
#include "data/text.h"

det_status cli_id(struct cli *cli, const char *what, const char *word, int64_t *ret_id)
{
    if (cli->in->globals.local)
        return local_master_id(cli, word, ret_id);
    if (!parse_i64(word, ret_id) || *ret_id <= 0)
        return cli_fail(cli, DET_INVALID, "'%s' is not the number of %s %s", word,
                        strchr("aeiou", what[0]) ? "an" : "a", what);
    return DET_OK;
}

static size_t count_ids(const char *const *words, size_t count)
{
    size_t ids = 0;

    for (size_t i = 0; i < count; i++) {
        ids++;
        for (const char *at = words[i]; *at; at++)
            ids += *at == ',';
    }
    return ids;
}

det_status cli_ids(struct cli *cli, const char *what, const char *const *words,
                   size_t count, struct cli_ids *ret_ids)
{
    struct cli_ids ids = {.at =
                              arena_array(&cli->mem, int64_t, count_ids(words, count))};

    for (size_t i = 0; ids.at && i < count; i++)
        for (const char *at = words[i]; *at;) {
            size_t len = strcspn(at, ",");
            const char *word = arena_strndup(&cli->mem, at, len);
            det_status st =
                word ? cli_id(cli, what, word, &ids.at[ids.count++]) : cli_nomem(cli);

            if (st)
                return st;
            at += len;
            at += *at == ',';
        }
    if (!ids.at)
        return cli_nomem(cli);
    if (!ids.count)
        return cli_fail(cli, DET_INVALID, "which %s?", what);
    *ret_ids = ids;
    return DET_OK;
}
