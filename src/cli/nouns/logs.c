/* SPDX-License-Identifier: Apache-2.0 */
/* logs.c - log lines of trials and tasks.
 *
 * Following survives a restart of the master: the stream is opened again after the last
 * line that was printed.  The master filters by time only.  So it is asked for lines from
 * the microsecond of the last one, and lines that were printed before are dropped here,
 * by their id.  --tail with --follow works the same way: first the last lines, then a
 * stream that starts after them.
 *
 * A line that is being rewritten (a progress bar) is shown on a terminal only: it is drawn over
 * until it ends, and then printed as it was last.  A pipe and a file get only the latter.
 *
 * An offline run is followed by reading its folder again and again.  The pause after a
 * reading is ten times as long as the reading, and at least 200 ms. */
#include "cli/nouns/logs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/memory/vec.h"
#include "base/text/pattern.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/offline/local_master.h"
#include "cli/output/format.h"
#include "cli/output/term.h"
#include "data/json/json.h"
#include "data/text.h"
#include "data/time.h"
#include "data/url.h"

enum {
    FLUSH_BYTES = 1 << 16,
    LINE_TREE = 16 << 20,
    TRIES_MOST = 60,
    FIRST_POLL_MS = 100,
    LOCAL_POLL_MS = 200,
    LOCAL_SLACK_US = 1000 * 1000, /* stdout and stderr are read one after the other */
};

struct reader {
    struct cli *cli;
    const struct log_options *options;
    const char *path; /* "/api/v1/trials/7/logs" */
    int64_t trial_id; /* 0: the logs of a task */
    struct arena line;
    FILE *file; /* NULL: stdout */
    int64_t last_id;
    int64_t last_us; /* 0: nothing was printed yet */
    bool shows_live; /* also lines that are being rewritten */
    bool has_live;   /* such a line stands where the cursor is */
    bool collects;   /* lines come newest first and are collected in `lines` */
    VEC(char *) lines;
    det_status status; /* of printing */
};

/* ---- the query ------------------------------------------------------------------- */

static void add_text(struct buf *query, const char *key, const char *value)
{
    buf_printf(query, "&%s=", key);
    url_encode(query, value);
}

static void add_texts(struct buf *query, const char *key,
                      const struct field_strs *values)
{
    for (size_t i = 0; i < values->count; i++)
        add_text(query, key, values->at[i]);
}

/* The level and all higher ones. */
static void add_levels(struct buf *query, const char *level)
{
    static const char *const levels[] = {"TRACE",   "DEBUG", "INFO",
                                         "WARNING", "ERROR", "CRITICAL"};
    bool counts = false;

    for (size_t i = 0; level && i < ARRAY_LEN(levels); i++) {
        counts |= !strcmp(levels[i], level);
        if (counts)
            buf_printf(query, "&levels=LOG_LEVEL_%s", levels[i]);
    }
}

/* "2026-11-15T10:00:00Z", "2026-11-15 10:00:00", "2026-11-15"; UTC without a zone. */
static det_status add_time(struct reader *reader, struct buf *query, const char *key,
                           const char *option, const char *text)
{
    char whole[64];
    int64_t time_us;

    if (!text)
        return DET_OK;
    snprintf(whole, sizeof(whole), "%s%s", text,
             strlen(text) == 10   ? "T00:00:00"
             : strlen(text) == 16 ? ":00"
                                  : "");
    if (strlen(whole) > 10 && whole[10] == ' ')
        whole[10] = 'T';
    if (!time_parse(whole, &time_us)) {
        size_t len = strlen(whole);

        snprintf(whole + len, sizeof(whole) - len, "Z");
        if (!time_parse(whole, &time_us))
            return cli_fail(reader->cli, DET_INVALID,
                            "--%s is '%s'; expected a time like 2026-11-15T10:00:00Z",
                            option, text);
    }
    add_text(query, key, whole);
    return DET_OK;
}

static det_status add_filters(struct reader *reader, struct buf *query)
{
    const struct log_options *options = reader->options;
    det_status st = DET_OK;
    int64_t rank;

    for (size_t i = 0; i < options->rank_ids.count; i++)
        if (!parse_i64(options->rank_ids.at[i], &rank))
            return cli_fail(reader->cli, DET_INVALID,
                            "--rank-id is '%s'; expected a whole number",
                            options->rank_ids.at[i]);
    add_levels(query, options->level);
    add_texts(query, "rankIds", &options->rank_ids);
    add_texts(query, "agentIds", &options->agent_ids);
    add_texts(query, "containerIds", &options->container_ids);
    add_texts(query, "allocationIds", &options->allocation_ids);
    add_texts(query, "sources", &options->sources);
    add_texts(query, "stdtypes", &options->stdtypes);
    if (options->search)
        add_text(query, "searchText", options->search);
    if (options->regex)
        buf_puts(query, "&enableRegex=true");
    if (reader->last_us) {
        char time[TIME_TEXT];

        time_format(reader->last_us - (reader->cli->local ? LOCAL_SLACK_US : 1), time);
        add_text(query, "timestampAfter", time);
    } else {
        st = add_time(reader, query, "timestampAfter", "timestamp-after",
                      options->after);
    }
    if (!st)
        st = add_time(reader, query, "timestampBefore", "timestamp-before",
                      options->before);
    if (!st && query->status)
        st = cli_nomem(reader->cli);
    return st;
}

/* ---- lines ----------------------------------------------------------------------- */

/* Our own control characters, which cli_flush() would write out. */
static det_status write_control(struct reader *reader, const char *text)
{
    struct cli *cli = reader->cli;
    det_status st = cli_flush(cli);

    if (st)
        return st;
    cli->is_raw = true;
    buf_puts(&cli->out, text);
    st = cli_flush(cli);
    cli->is_raw = false;
    return st;
}

static det_status erase_live(struct reader *reader)
{
    if (!reader->has_live)
        return DET_OK;
    reader->has_live = false;
    return write_control(reader, "\r\033[K");
}

/* Draws the text over the one before.  It must fit in one row of the terminal, or it could not
 * be erased. */
static det_status draw_live(struct reader *reader, const struct json *line)
{
    struct cli *cli = reader->cli;
    const char *text = json_str(json_get(line, "message"), "");
    char *plain = arena_strdup(&reader->line, text);
    det_status st = erase_live(reader);

    if (!plain)
        return cli_nomem(cli);
    plain[strcspn(plain, "\n")] = '\0';
    if (st)
        return st;
    term_strip(plain);
    term_put(&cli->out, plain, cli->term.width - 1);
    reader->has_live = true;
    return cli_flush(cli);
}

static det_status write_out(struct reader *reader, const char *text, size_t len)
{
    struct cli *cli = reader->cli;
    det_status st = erase_live(reader);

    if (st)
        return st;
    if (reader->file) {
        if (fwrite(text, 1, len, reader->file) != len)
            return err_errno(cli->err, errno, "cannot write '%s'",
                             reader->options->output);
        return DET_OK;
    }
    cli->is_raw = !cli->term.is_terminal;
    buf_add(&cli->out, text, len);
    /* when following, print each line at once; otherwise large pieces are cheaper */
    if (cli->out.len > FLUSH_BYTES || reader->options->follow)
        return cli_flush(cli);
    return DET_OK;
}

static det_status show_line(struct reader *reader, const struct json *line)
{
    const struct json *message = json_get(line, "message");
    char *text;

    if (reader->cli->in->format == CLI_JSON) {
        text = json_text(&reader->line, line);
        if (!text)
            return cli_nomem(reader->cli);
        if (reader->collects)
            text = arena_printf(&reader->line, "%s\n", text);
        else {
            det_status st = write_out(reader, text, strlen(text));

            return st ? st : write_out(reader, "\n", 1);
        }
    } else {
        if (!message || message->kind != JSON_STRING)
            return DET_OK;
        if (!reader->collects)
            return write_out(reader, message->string.text, message->string.len);
        text = (char *)(uintptr_t)message->string.text;
    }
    text = arena_strdup(&reader->cli->mem, text);
    return text && vec_push(&reader->lines, text) ? DET_OK : cli_nomem(reader->cli);
}

static int on_line(void *arg, const char *text, size_t len)
{
    struct reader *reader = arg;
    struct json *tree, *line;
    int64_t id, time_us;

    arena_clear(&reader->line);
    if (json_parse(text, len, &reader->line, &tree, NULL))
        return 0; /* not a log line */
    line = json_get(tree, "result");
    if (json_bool(json_get(line, "isLive"), false)) {
        reader->status = draw_live(reader, line);
        return reader->status != DET_OK;
    }
    id = json_i64(json_get(line, "id"), 0);
    if (!line || (!reader->collects && id && id <= reader->last_id))
        return 0;
    if (time_parse(json_str(json_get(line, "timestamp"), ""), &time_us))
        reader->last_us = MAX(reader->last_us, time_us);
    reader->last_id = MAX(reader->last_id, id);
    reader->status = show_line(reader, line);
    return reader->status != DET_OK;
}

static det_status stream_lines(struct reader *reader, const char *extra)
{
    CLEANUP(buf_done) struct buf query = BUF_INIT;
    det_status st;

    buf_printf(&query, "%s?%s%s", reader->path, extra,
               reader->shows_live ? "&live=true" : "");
    st = add_filters(reader, &query);
    if (!st)
        st = cli_stream(reader->cli, query.data, on_line, reader);
    return st ? st : reader->status;
}

/* ---- reading --------------------------------------------------------------------- */

static det_status read_tail(struct reader *reader)
{
    char extra[96];
    det_status st;

    snprintf(extra, sizeof(extra), "follow=false&orderBy=ORDER_BY_DESC&limit=%" PRId64,
             reader->options->tail);
    reader->collects = true;
    st = stream_lines(reader, extra);
    reader->collects = false;
    while (!st && reader->lines.count) {
        const char *line = vec_pop(&reader->lines);

        st = write_out(reader, line, strlen(line));
    }
    vec_done(&reader->lines);
    return st;
}

static det_status read_local(struct reader *reader)
{
    det_status st = stream_lines(reader, "follow=false");
    bool is_over = !reader->trial_id;

    while (!st && !is_over) {
        int64_t began_us = clock_mono_us(&clock_system);

        st = local_master_renew_output(reader->cli, reader->trial_id, &is_over);
        if (!st)
            st = stream_lines(reader, "follow=false");
        if (!st && !is_over)
            cli_sleep(MAX((int64_t)LOCAL_POLL_MS,
                          (clock_mono_us(&clock_system) - began_us) / 100));
    }
    return st;
}

static det_status read_following(struct reader *reader)
{
    int tries = 0;

    if (reader->cli->local)
        return read_local(reader);
    for (;;) {
        int64_t before = reader->last_id;
        det_status st = stream_lines(reader, "follow=true");

        if (reader->last_id > before)
            tries = 0;
        if (st != DET_UNREACHABLE && st != DET_BUSY && st != DET_TIMEOUT)
            return st;
        if (++tries >= TRIES_MOST)
            return st;
        if (tries == 1)
            cli_note(reader->cli, "the master does not answer, retrying");
        cli_sleep(1000);
    }
}

static det_status read_all(struct reader *reader)
{
    const struct log_options *options = reader->options;
    char extra[64];
    det_status st;

    if (options->tail != CLI_UNSET) {
        st = read_tail(reader);
        if (st || !options->follow)
            return st;
    }
    if (options->follow) {
        reader->shows_live = reader->cli->term.is_terminal && !reader->file &&
                             reader->cli->in->format != CLI_JSON;
        return read_following(reader);
    }
    if (options->head != CLI_UNSET)
        snprintf(extra, sizeof(extra), "follow=false&limit=%" PRId64, options->head);
    else
        snprintf(extra, sizeof(extra), "follow=false");
    return stream_lines(reader, extra);
}

static det_status check_options(struct cli *cli, const struct log_options *options)
{
    CLEANUP(pattern_freep) struct pattern *pattern = NULL;

    if (options->head != CLI_UNSET && options->tail != CLI_UNSET)
        return cli_fail(cli, DET_INVALID, "--head and --tail cannot be used together");
    if (options->head != CLI_UNSET && options->follow)
        return cli_fail(cli, DET_INVALID,
                        "--head and --follow cannot be used together");
    if (options->regex && !options->search)
        return cli_fail(cli, DET_INVALID, "--regex needs --search");
    if (options->regex && pattern_new(options->search, &pattern, cli->err))
        return err_prefix(cli->err, "--search '%s'", options->search);
    return DET_OK;
}

static det_status read_logs(struct cli *cli, const struct log_options *options,
                            int64_t trial_id, const char *path)
{
    struct reader reader = {.cli = cli,
                            .options = options,
                            .path = path,
                            .trial_id = trial_id,
                            .line = ARENA_INIT(LINE_TREE)};
    det_status st;

    if (!path)
        return cli_nomem(cli);
    st = check_options(cli, options);
    if (st)
        return st;
    if (options->output) {
        reader.file = fopen(options->output, "we");
        if (!reader.file)
            return err_errno(cli->err, errno, "cannot write '%s'", options->output);
    }
    st = read_all(&reader);
    if (reader.has_live) /* it stays as it is */
        (void)write_control(&reader, "\n");
    if (reader.file && fclose(reader.file) && !st)
        st = err_errno(cli->err, errno, "cannot write '%s'", options->output);
    arena_done(&reader.line);
    vec_done(&reader.lines);
    return st;
}

/* ---- commands -------------------------------------------------------------------- */

static det_status print_trial(struct cli *cli, const struct log_options *options,
                              int64_t trial_id)
{
    return read_logs(
        cli, options, trial_id,
        arena_printf(&cli->mem, "/api/v1/trials/%" PRId64 "/logs", trial_id));
}

det_status logs_print_end(struct cli *cli, int64_t trial_id, int64_t lines)
{
    const struct log_options options = {.tail = lines, .head = CLI_UNSET};

    return print_trial(cli, &options, trial_id);
}

static det_status find_first_trial(struct cli *cli, int64_t experiment_id,
                                   int64_t *ret_id, bool *ret_is_over)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    struct json *reply;
    const char *state;
    det_status st =
        cli_get_in(cli, &mem, &reply, "/api/v1/experiments/%" PRId64, experiment_id);

    if (st)
        return st;
    *ret_id = 0;
    json_each(id, json_path(reply, "experiment.trialIds"))
        if (!*ret_id || json_i64(id, 0) < *ret_id)
            *ret_id = json_i64(id, 0);
    state = format_state(json_path(reply, "experiment.state"));
    *ret_is_over = format_state_is_final(state);
    return DET_OK;
}

det_status logs_print_first_trial(struct cli *cli, int64_t experiment_id,
                                  const struct log_options *options)
{
    int64_t trial_id = 0;
    bool is_over = false;

    for (;;) {
        det_status st = find_first_trial(cli, experiment_id, &trial_id, &is_over);

        if (st)
            return st;
        if (trial_id || is_over || !options->follow)
            break;
        cli_sleep(FIRST_POLL_MS);
    }
    if (!trial_id && options->follow)
        return DET_OK; /* it ended without a trial */
    if (!trial_id)
        return cli_fail(cli, DET_NOT_FOUND, "experiment %" PRId64 " has no trials yet",
                        experiment_id);
    return print_trial(cli, options, trial_id);
}

det_status run_experiment_logs(struct cli *cli, const struct cli_invocation *in)
{
    int64_t id;
    det_status st = cli_id(cli, "experiment", in->args[0], &id);

    return st ? st : logs_print_first_trial(cli, id, in->options);
}

det_status run_trial_logs(struct cli *cli, const struct cli_invocation *in)
{
    int64_t id;
    det_status st = cli_id(cli, "trial", in->args[0], &id);

    return st ? st : print_trial(cli, in->options, id);
}

det_status logs_print_task(struct cli *cli, const char *task_id,
                           const struct log_options *options)
{
    return read_logs(
        cli, options, 0,
        arena_printf(&cli->mem, "/api/v1/tasks/%s/logs", cli_url(cli, task_id)));
}
