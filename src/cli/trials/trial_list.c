/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trials/trial_list.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/options.h"
#include "cli/nouns/trial.h"
#include "cli/output/format.h"
#include "data/json/json.h"

enum {
    ROWS_LEAST = 5,  /* on a small screen */
    LINES_AROUND = 4 /* header, last line, an empty line and the prompt */
};

/* The words of --sort; options/experiment_tables.c has the same list. */
static const struct {
    const char *word;
    const char *sort_by;
} sorts[] = {
    {"id", "SORT_BY_ID"},
    {"state", "SORT_BY_STATE"},
    {"batches", "SORT_BY_BATCHES_PROCESSED"},
    {"best", "SORT_BY_BEST_VALIDATION_METRIC"},
    {"restarts", "SORT_BY_RESTARTS"},
    {"started", "SORT_BY_START_TIME"},
    {"ended", "SORT_BY_END_TIME"},
    {"took", "SORT_BY_DURATION"},
};

static const char *sort_by(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(sorts); i++)
        if (!strcmp(sorts[i].word, word))
            return sorts[i].sort_by;
    return "SORT_BY_ID";
}

static const char *order_word(const struct trial_list_options *options)
{
    if (options->best != CLI_UNSET)
        return "best";
    return options->sort ? options->sort : "id";
}

det_status trial_list_check(struct cli *cli, const struct trial_list_options *options)
{
    if (options->best != CLI_UNSET &&
        (options->limit != CLI_UNSET || options->sort || options->reverse))
        return cli_fail(cli, DET_INVALID,
                        "--best sorts and limits the list; it cannot be used with "
                        "--limit, --sort or --reverse");
    return DET_OK;
}

/* ---- asking ---------------------------------------------------------------------- */

/* Whether the best metric is the largest one. */
static det_status larger_is_better(struct cli *cli, int64_t experiment_id,
                                   bool *ret_larger)
{
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/experiments/%" PRId64, experiment_id);

    if (!st)
        *ret_larger =
            !json_bool(json_path(reply, "config.searcher.smaller_is_better"), true);
    return st;
}

/* 0: all. */
static int64_t count_to_show(const struct cli *cli,
                             const struct trial_list_options *options,
                             size_t lines_taken, bool *ret_is_cut_to_fit)
{
    size_t taken = lines_taken + LINES_AROUND;

    *ret_is_cut_to_fit = false;
    if (options->best != CLI_UNSET)
        return options->best;
    if (options->pages && !strcmp(options->pages, "all"))
        return 0;
    if (options->limit != CLI_UNSET)
        return options->limit;
    if (!cli->term.is_terminal || cli->in->format != CLI_TEXT)
        return 0;
    *ret_is_cut_to_fit = true;
    return (int64_t)MAX(cli->term.height > taken ? cli->term.height - taken : 0,
                        (size_t)ROWS_LEAST);
}

/* Trials without a metric come last; --best does not want them. */
static void drop_unmeasured(struct json *trials)
{
    struct json *last = NULL;
    size_t count = 0;

    json_each(t, trials) {
        if (json_is_null(json_get(t, "searcherMetricValue")))
            break;
        last = t;
        count++;
    }
    if (last)
        last->next = NULL;
    else
        trials->list.first = NULL;
    trials->list.last = last;
    trials->list.count = count;
}

det_status trial_list_get(struct cli *cli, int64_t experiment_id,
                          const struct trial_list_options *options, size_t lines_taken,
                          struct trial_list *ret_list)
{
    const char *word = order_word(options);
    struct trial_list list = {0};
    int64_t count = count_to_show(cli, options, lines_taken, &list.is_cut_to_fit);
    bool is_descending = options->reverse;
    bool is_larger = false;
    struct json *reply;
    det_status st = trial_list_check(cli, options);

    if (!st && !strcmp(word, "best"))
        st = larger_is_better(cli, experiment_id, &is_larger);
    is_descending ^= is_larger;
    if (!st)
        st = cli_get(cli, &reply,
                     "/api/v1/experiments/%" PRId64 "/trials?limit=%" PRId64
                     "&offset=%" PRId64 "&sortBy=%s&orderBy=ORDER_BY_%s",
                     experiment_id, count ? count : -1,
                     options->offset == CLI_UNSET ? 0 : options->offset, sort_by(word),
                     is_descending ? "DESC" : "ASC");
    if (st)
        return st;
    list.trials = json_get(reply, "trials");
    if (!list.trials || list.trials->kind != JSON_ARRAY)
        return cli_fail(cli, DET_FAILED, "the master sent no list of trials");
    if (options->best != CLI_UNSET)
        drop_unmeasured(list.trials);
    list.total = json_i64(json_path(reply, "pagination.total"), 0);
    list.shown = (int64_t)list.trials->list.count;
    *ret_list = list;
    return DET_OK;
}

det_status trial_list_failed(struct cli *cli, int64_t experiment_id,
                             const struct json **ret_first, int64_t *ret_failed)
{
    struct json *reply;
    det_status st =
        cli_get(cli, &reply,
                "/api/v1/experiments/%" PRId64
                "/trials?states=STATE_ERROR&sortBy=SORT_BY_END_TIME&limit=1",
                experiment_id);

    if (st)
        return st;
    *ret_first = json_first(json_get(reply, "trials"));
    *ret_failed = json_i64(json_path(reply, "pagination.total"), 0);
    return DET_OK;
}

/* ---- printing -------------------------------------------------------------------- */

det_status trial_list_print(struct cli *cli, const struct trial_list *list)
{
    det_status st = trial_print_table(cli, list->trials);

    if (st || !cli->term.is_terminal || cli->in->format != CLI_TEXT ||
        list->shown >= list->total || !list->shown)
        return st;
    cli_put(cli, "%s of %s trials shown%s\n", format_count(cli, list->shown),
            format_count(cli, list->total),
            list->is_cut_to_fit ? "; --best 10 shows the best, --limit 0 shows all"
                                : "");
    return DET_OK;
}
