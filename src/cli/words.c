/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - small texts that commands read and print: ids, times, sizes, answers. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "cli/chart.h"
#include "cli/ctx.h"
#include "cli/interrupt.h"
#include "cli/offline.h"
#include "data/text.h"

/* ---- reading --------------------------------------------------------------------- */

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

const char *cli_url(struct cli *cli, const char *text)
{
    CLEANUP(buf_done) struct buf encoded = BUF_INIT;
    char *copy;

    url_encode(&encoded, text);
    copy = arena_strndup(&cli->mem, encoded.data, encoded.len);
    if (encoded.status)
        cli->mem.has_failed = true;
    return copy ? copy : "";
}

/* ---- showing --------------------------------------------------------------------- */

/* What memory has no room for is shown as nothing; the arena remembers it. */
static const char *or_blank(const char *text)
{
    return text ? text : "";
}

const char *cli_state(const struct json *state)
{
    const char *text = json_str(state, "");

    return strncmp(text, "STATE_", 6) ? text : text + 6;
}

enum term_color cli_state_color(const char *state)
{
    static const struct {
        const char *state;
        enum term_color color;
    } rows[] = {
        {"COMPLETED", COLOR_GREEN}, {"ERROR", COLOR_RED},
        {"CANCELED", COLOR_YELLOW}, {"RUNNING", COLOR_CYAN},
        {"ACTIVE", COLOR_CYAN},     {"STARTING", COLOR_CYAN},
        {"PULLING", COLOR_CYAN},    {"SCHEDULED", COLOR_CYAN},
        {"PAUSED", COLOR_YELLOW},   {"QUEUED", COLOR_DIM},
        {"DELETED", COLOR_DIM},     {"DELETING", COLOR_DIM},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (!strcmp(rows[i].state, state))
            return rows[i].color;
    if (strstr(state, "ERROR") || strstr(state, "FAILED"))
        return COLOR_RED;
    return COLOR_NONE;
}

const char *cli_time(struct cli *cli, const struct json *time)
{
    const char *text = json_str(time, NULL);
    char local[32];
    struct tm parts;
    int64_t at_us;
    time_t seconds;

    if (!text || !time_parse(text, &at_us))
        return "";
    seconds = (time_t)(at_us / 1000000);
    if (!localtime_r(&seconds, &parts) ||
        !strftime(local, sizeof(local), "%Y-%m-%d %H:%M:%S", &parts))
        return text;
    return or_blank(arena_strdup(&cli->mem, local));
}

const char *cli_duration(struct cli *cli, int64_t seconds)
{
    int64_t s = MAX(seconds, 0);

    if (s >= 86400)
        return or_blank(arena_printf(&cli->mem, "%" PRId64 "d %02" PRId64 "h",
                                     s / 86400, s % 86400 / 3600));
    if (s >= 3600)
        return or_blank(arena_printf(&cli->mem, "%" PRId64 "h %02" PRId64 "m", s / 3600,
                                     s % 3600 / 60));
    if (s >= 60)
        return or_blank(
            arena_printf(&cli->mem, "%" PRId64 "m %02" PRId64 "s", s / 60, s % 60));
    return or_blank(arena_printf(&cli->mem, "%" PRId64 "s", s));
}

const char *cli_took(struct cli *cli, const struct json *start, const struct json *end)
{
    int64_t from_us, to_us;

    if (!time_parse(json_str(start, ""), &from_us))
        return "";
    if (!time_parse(json_str(end, ""), &to_us))
        to_us = clock_wall_us(&clock_system);
    return cli_duration(cli, (to_us - from_us) / 1000000);
}

const char *cli_number(struct cli *cli, const struct json *value)
{
    char text[CHART_NUMBER];
    double number;

    if (json_is_null(value) || !json_number(value, &number))
        return "";
    chart_number(number, text);
    return or_blank(arena_strdup(&cli->mem, text));
}

const char *cli_percent(struct cli *cli, const struct json *value)
{
    double number;

    if (json_is_null(value) || !json_number(value, &number) || !isfinite(number))
        return "";
    return or_blank(arena_printf(&cli->mem, "%.0f%%", number * 100));
}

const char *cli_i64(struct cli *cli, int64_t value)
{
    return or_blank(arena_printf(&cli->mem, "%" PRId64, value));
}

const char *cli_size(struct cli *cli, uint64_t bytes)
{
    char text[16];

    size_format(bytes, text);
    return or_blank(arena_strdup(&cli->mem, text));
}

/* ---- asking ---------------------------------------------------------------------- */

/* Without its line break; false at the end of the input. */
static bool read_line(char *line, size_t size)
{
    size_t len = 0;
    char c = '\0';

    while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
        if (len + 1 < size)
            line[len++] = c;
    line[len] = '\0';
    return c == '\n' || len;
}

det_status cli_confirm(struct cli *cli, const char *question, bool *ret_yes)
{
    char line[64];

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        (void)cli_fail(cli, DET_INVALID, "there is no terminal to ask: %s", question);
        return cli_hint(cli, "--yes says so beforehand");
    }
    fprintf(stderr, "%s [y/N] ", question);
    *ret_yes = read_line(line, sizeof(line)) &&
               (!strcasecmp(line, "y") || !strcasecmp(line, "yes"));
    return DET_OK;
}

/* The terminal is silent only while we wait: a signal that would end or stop us is held
 * back until it speaks again.  One that was stopped and goes on asks anew. */
static bool read_silently(const char *prompt, const struct termios *before, char *line,
                          size_t size)
{
    struct termios silent = *before;
    bool is_read = false, has_input = false;

    silent.c_lflag &= (tcflag_t)~ECHO;
    while (!has_input) {
        struct interrupt hold;

        interrupt_hold(&hold);
        /* silent before we ask: who answers at once is not seen, nor lost */
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
        fprintf(stderr, "%s: ", prompt);
        has_input = interrupt_wait_for_input(&hold);
        if (has_input)
            is_read = read_line(line, size);
        tcsetattr(STDIN_FILENO, TCSAFLUSH, before);
        fputc('\n', stderr);
        interrupt_release(&hold);
    }
    return is_read;
}

det_status cli_password(struct cli *cli, const char *prompt, const char **ret_password)
{
    struct termios before;
    char line[1024];
    bool is_read;

    if (isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0)
        is_read = read_silently(prompt, &before, line, sizeof(line));
    else
        is_read = read_line(line, sizeof(line));
    *ret_password = arena_strdup(&cli->mem, is_read ? line : "");
    explicit_bzero(line, sizeof(line));
    return *ret_password ? DET_OK : cli_nomem(cli);
}
