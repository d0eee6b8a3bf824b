/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/frame/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/output/table.h"
#include "cli/output/term.h"
#include "data/json/json.h"
#include "data/yaml/yaml.h"

/* ---- failing --------------------------------------------------------------------- */

det_status cli_hint(struct cli *cli, const char *fmt, ...)
{
    size_t len = strlen(cli->err->text);
    va_list args;

    if (strstr(cli->err->text, "\nhint: "))
        return cli->err->status; /* the first hint is the most specific */
    snprintf(cli->err->text + len, ERR_TEXT_SIZE - len, "\nhint: ");
    len = strlen(cli->err->text);
    va_start(args, fmt);
    vsnprintf(cli->err->text + len, ERR_TEXT_SIZE - len, fmt, args);
    va_end(args);
    return cli->err->status;
}

/* How to find what a sentence calls unknown: "experiment '99' not found", "no trial 99". */
static const struct list_hint {
    const char *noun;
    const char *command;
} list_hints[] = {
    {"experiment", "experiment list --all"},
    {"trial", "experiment list-trials EXPERIMENT"},
    {"checkpoint", "checkpoint list --experiment EXPERIMENT"},
    {"task", "task list --all"},
    {"tensorboard", "tensorboard list --all"},
    {"job", "job list"},
    {"agent", "agent list"},
    {"workspace", "workspace list --all"},
    {"project", "project list WORKSPACE --all"},
    {"user", "user list --all"},
    {"group", "user-group list"},
    {"token", "token list"},
    {"Token", "token list"},
};

/* Whether `text` begins with the word `noun`, after "no ", or before "... not found". */
static bool is_about(const char *text, const char *noun)
{
    size_t len = strlen(noun);
    bool has_no = strncmp(text, "no ", 3) == 0;

    text += has_no ? 3 : 0;
    return strncmp(text, noun, len) == 0 && text[len] == ' ' &&
           (has_no || strstr(text, " not found"));
}

void cli_hint_list(struct cli *cli)
{
    if (cli->err->status != DET_NOT_FOUND || cli->local)
        return;
    for (size_t i = 0; i < ARRAY_LEN(list_hints); i++)
        if (is_about(cli->err->text, list_hints[i].noun))
            (void)cli_hint(cli, "'det %s' shows all", list_hints[i].command);
}

det_status cli_nomem(struct cli *cli)
{
    return err_set(cli->err, DET_NOMEM, "%s", det_status_text(DET_NOMEM));
}

/* ---- printing -------------------------------------------------------------------- */

static det_status write_all(struct cli *cli, const char *bytes, size_t len)
{
    while (len) {
        ssize_t count = write(STDOUT_FILENO, bytes, len);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return err_errno(cli->err, errno, "cannot write the output");
        bytes += count;
        len -= (size_t)count;
    }
    return DET_OK;
}

/* Names and labels are other people's: whatever a command prints, no escape sequence in it
 * reaches a terminal, except colours. */
det_status cli_flush(struct cli *cli)
{
    CLEANUP(buf_done) struct buf safe = BUF_INIT;
    struct buf *out = &cli->out;
    enum term_escapes how = cli->in->format == CLI_JSON ? TERM_JSON
                            : cli->term.is_terminal     ? TERM_COLORS
                                                        : TERM_PLAIN;
    bool ends_line;
    det_status st;

    if (!out->status && !cli->is_raw && !term_is_harmless(out->data, out->len)) {
        term_escape(&safe, out->data, out->len, how);
        out = &safe;
    }
    if (out->status)
        return cli_nomem(cli);
    if (!out->len)
        return DET_OK;
    ends_line = out->data[out->len - 1] == '\n';
    progress_line_hide(&cli->progress);
    st = write_all(cli, out->data, out->len);
    if (ends_line)
        progress_line_show(&cli->progress);
    buf_clear(&cli->out);
    return st;
}

void cli_note(struct cli *cli, const char *fmt, ...)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf safe = BUF_INIT;
    va_list args;

    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    term_escape(&safe, text.data, text.len, TERM_PLAIN);
    progress_line_hide(&cli->progress);
    fprintf(stderr, "%s\n", safe.data);
    progress_line_show(&cli->progress);
}

det_status cli_print_table(struct cli *cli, struct table *table)
{
    if (cli->mem.has_failed) {
        table_done(table);
        return cli_nomem(cli);
    }
    if (cli->in->format == CLI_CSV)
        table_csv(table, &cli->out);
    else
        table_print(table, &cli->term, &cli->out);
    if (cli->in->format == CLI_TEXT && !table->cells.count)
        cli_note(cli, "the list is empty");
    table_done(table);
    return cli->out.status ? cli_nomem(cli) : DET_OK;
}

det_status cli_print_json(struct cli *cli, const struct json *value)
{
    struct json_writer w = JSON_WRITER(&cli->out);

    w.is_pretty = true;
    jw_json(&w, NULL, value);
    cli_put(cli, "\n");
    return cli->out.status ? cli_nomem(cli) : DET_OK;
}

det_status cli_print_tree(struct cli *cli, const struct json *value)
{
    if (cli->in->format == CLI_JSON)
        return cli_print_json(cli, value);
    yaml_write(&cli->out, value);
    return cli->out.status ? cli_nomem(cli) : DET_OK;
}

void cli_keep_first(struct cli *cli, struct err *first)
{
    if (first->status)
        cli_note(cli, "det: %s", cli->err->text);
    else
        *first = *cli->err;
}

void cli_print_field(struct cli *cli, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    cli_put(cli, "  %-12s ", name);
    term_put(&cli->out, value, SIZE_MAX);
    cli_put(cli, "\n");
}

void cli_sleep(int64_t milliseconds)
{
    struct timespec time = {.tv_sec = milliseconds / 1000,
                            .tv_nsec = milliseconds % 1000 * 1000000};

    nanosleep(&time, NULL);
}
