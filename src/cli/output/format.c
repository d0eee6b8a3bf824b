/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/format.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "cli/frame/cli.h"
#include "cli/output/chart.h"
#include "cli/output/term.h"
#include "data/json/json.h"
#include "data/text.h"
#include "data/time.h"

/* When memory runs out the text is empty, and the arena remembers the failure. */
static const char *or_blank(const char *text)
{
    return text ? text : "";
}

const char *format_state(const struct json *state)
{
    const char *text = json_str(state, "");

    return strncmp(text, "STATE_", 6) ? text : text + 6;
}

bool format_state_is_final(const char *state)
{
    return !strcmp(state, "COMPLETED") || !strcmp(state, "CANCELED") ||
           !strcmp(state, "ERROR");
}

enum term_color format_state_color(const char *state)
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

const char *format_time(struct cli *cli, const struct json *time)
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

const char *format_duration(struct cli *cli, int64_t seconds)
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

const char *format_elapsed(struct cli *cli, const struct json *start,
                           const struct json *end)
{
    int64_t from_us, to_us;

    if (!time_parse(json_str(start, ""), &from_us))
        return "";
    if (!time_parse(json_str(end, ""), &to_us))
        to_us = clock_wall_us(&clock_system);
    return format_duration(cli, (to_us - from_us) / 1000000);
}

const char *format_yes_no(const struct json *flag)
{
    return json_bool(flag, false) ? "yes" : "no";
}

const char *format_number(struct cli *cli, const struct json *value)
{
    char text[CHART_NUMBER];
    double number;

    if (json_is_null(value) || !json_number(value, &number))
        return "";
    chart_number(number, text);
    return or_blank(arena_strdup(&cli->mem, text));
}

const char *format_percent(struct cli *cli, const struct json *value)
{
    double number;

    if (json_is_null(value) || !json_number(value, &number) || !isfinite(number))
        return "";
    return or_blank(arena_printf(&cli->mem, "%.0f%%", number * 100));
}

const char *format_i64(struct cli *cli, int64_t value)
{
    return or_blank(arena_printf(&cli->mem, "%" PRId64, value));
}

const char *format_count(struct cli *cli, int64_t value)
{
    char digits[24], text[32];
    size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRId64, value);
    size_t at = 0;

    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0 && digits[i - 1] != '-')
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return or_blank(arena_strdup(&cli->mem, text));
}

const char *format_size(struct cli *cli, uint64_t bytes)
{
    char text[16];

    size_format(bytes, text);
    return or_blank(arena_strdup(&cli->mem, text));
}

const char *format_json(struct cli *cli, const struct json *value)
{
    const char *text = json_str(value, NULL);

    if (text)
        return text;
    if (json_is_null(value))
        return "";
    text = json_text(&cli->mem, value);
    return text ? text : "";
}

static void add_hparams(struct cli *cli, struct buf *out, const char *above,
                        const struct json *hparams)
{
    json_each(value, hparams) {
        if (value->kind == JSON_OBJECT) {
            const char *path = arena_printf(&cli->mem, "%s%s.", above, value->key);

            if (path)
                add_hparams(cli, out, path, value);
            continue;
        }
        if (out->len)
            buf_putc(out, ' ');
        buf_printf(out, "%s%s=%s", above, value->key,
                   value->kind == JSON_REAL ? format_number(cli, value)
                                            : format_json(cli, value));
    }
}

const char *format_hparams(struct cli *cli, const struct json *hparams)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const char *text;

    add_hparams(cli, &out, "", hparams);
    text = arena_strndup(&cli->mem, out.data, out.len);
    if (out.status)
        cli->mem.has_failed = true;
    return text ? text : "";
}
