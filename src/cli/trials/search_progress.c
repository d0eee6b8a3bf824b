/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trials/search_progress.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/connect.h"
#include "cli/output/format.h"
#include "cli/output/progress_line.h"
#include "data/json/json.h"
#include "search/preview.h"
#include "wire/report.h"

enum { ASK_EVERY_US = 1000 * 1000, REPLY_LIMIT = 64 << 20, START_LEAST_S = 10 };

/* A pace needs this much progress.  Before it, the time since the start counts, if it is
 * at least START_LEAST_S. */
static const double PACE_LEAST = 0.02;

void search_progress_begin(struct search_progress *progress, struct cli *cli,
                           int64_t experiment_id)
{
    *progress = (struct search_progress){.cli = cli, .id = experiment_id, .total = -1};
    if (cli->progress.is_on && cli->client && !cli->local)
        (void)cli_open_second(cli, &progress->client);
}

void search_progress_end(struct search_progress *progress)
{
    progress_line_end(&progress->cli->progress);
    det_client_close(progress->client);
    progress->client = NULL;
}

/* ---- asking ---------------------------------------------------------------------- */

/* NULL: no answer. */
static struct json *ask(struct search_progress *progress, const char *query,
                        struct arena *mem)
{
    return cli_try_get(
        progress->client,
        arena_printf(mem, "/api/v1/experiments/%" PRId64 "%s", progress->id, query),
        mem);
}

static int64_t count_trials(struct search_progress *progress, const char *states,
                            struct arena *mem)
{
    const char *query = arena_printf(mem, "/trials?limit=1%s", states);
    const struct json *reply = query ? ask(progress, query, mem) : NULL;

    return json_i64(json_path(reply, "pagination.total"), 0);
}

/* How many trials the search will have; 0: its method does not know. */
static int64_t count_planned(const struct json *config, struct arena *mem)
{
    struct json *rows = NULL;
    int64_t count = 0;

    if (search_preview(json_get(config, "searcher"),
                       json_get(config, "hyperparameters"), mem, &rows, NULL))
        return 0;
    json_each(row, rows)
        count += json_i64(json_get(row, "count"), 0);
    return count;
}

/* ---- saying ---------------------------------------------------------------------- */

static void put_trials(struct search_progress *progress, struct buf *text,
                       struct arena *mem)
{
    struct cli *cli = progress->cli;
    int64_t done = count_trials(
        progress, "&states=STATE_COMPLETED&states=STATE_CANCELED&states=STATE_ERROR",
        mem);
    int64_t running = count_trials(
        progress, "&states=STATE_RUNNING&states=STATE_STARTING&states=STATE_PULLING",
        mem);

    buf_printf(text, "%s", format_count(cli, done));
    if (progress->total > 0)
        buf_printf(text, " of %s", format_count(cli, MAX(progress->total, done)));
    buf_printf(text, " trials done, %s running", format_count(cli, running));
}

/* "about 3m 20s left", from the pace since we look, else from the time since the start. */
static void put_time_left(struct search_progress *progress, const struct json *e,
                          struct buf *text)
{
    int64_t now_us = clock_mono_us(&clock_system);
    double seconds = (double)json_i64(json_get(e, "duration"), 0);
    double done = 0;
    double left;

    if (!json_number(json_get(e, "progress"), &done) || !(done > 0) || done >= 1)
        return;
    if (!progress->first_us) {
        progress->first_us = now_us;
        progress->first = done;
    }
    left = seconds < START_LEAST_S ? INFINITY : seconds * (1 - done) / done;
    if (done - progress->first >= PACE_LEAST)
        left = (double)(now_us - progress->first_us) / 1e6 * (1 - done) /
               (done - progress->first);
    if (isfinite(left) && left < 1e9)
        buf_printf(text, ", about %s left",
                   format_duration(progress->cli, (int64_t)left));
}

/* What a trial does before it trains, as far as it is about its environment. */
static const char *build_status(struct search_progress *progress, struct arena *mem)
{
    const struct json *reply = ask(
        progress, "/trials?limit=1&states=STATE_RUNNING&states=STATE_STARTING", mem);
    const struct json *trials = json_get(reply, "trials");
    const char *status = json_str(json_get(json_first(trials), "runnerState"), "");

    return strncmp(status, STATUS_BUILDING, strlen(STATUS_BUILDING)) ? NULL : status;
}

static void put_line(struct search_progress *progress, const struct json *e,
                     struct arena *mem)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct cli *cli = progress->cli;
    const char *state = format_state(json_get(e, "state"));
    const char *type = json_str(json_get(e, "searcherType"), "single");
    const char *best = format_number(cli, json_get(e, "bestTrialSearcherMetric"));
    bool runs = !strcmp(state, "RUNNING");
    double done = 0;
    const char *build = NULL;

    buf_printf(&text, "experiment %" PRId64 ": ", progress->id);
    if (!json_number(json_get(e, "progress"), &done) || !(done > 0))
        build = build_status(progress, mem);
    if (build)
        buf_printf(&text, "%s; ", build);
    if (!runs)
        buf_printf(&text, "%s, ", state);
    if (strcmp(type, "single") != 0)
        put_trials(progress, &text, mem);
    else
        buf_printf(&text, "%s done", format_percent(cli, json_get(e, "progress")));
    if (*best)
        buf_printf(&text, ", best %s %s", json_str(json_get(e, "searcherMetric"), ""),
                   best);
    if (runs)
        put_time_left(progress, e, &text);
    if (!text.status)
        progress_line_set(&cli->progress, "%s", text.data);
}

void search_progress_look(struct search_progress *progress)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(REPLY_LIMIT);
    int64_t now_us = clock_mono_us(&clock_system);
    const struct json *reply;

    if (!progress->client || now_us < progress->next_us)
        return;
    progress->next_us = now_us + ASK_EVERY_US;
    reply = ask(progress, "", &mem);
    if (!reply)
        return;
    if (progress->total < 0)
        progress->total = count_planned(json_get(reply, "config"), &mem);
    put_line(progress, json_get(reply, "experiment"), &mem);
}

void search_progress_tick(void *progress, size_t sent_bytes, size_t body_bytes)
{
    (void)sent_bytes;
    (void)body_bytes;
    search_progress_look(progress);
}
