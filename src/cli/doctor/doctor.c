/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c - `det doctor`: looks, judges, prints.
 *
 *   check_list.h --> gather_*.c (facts.h) --> judge_*.c (finding.h) --> here
 *
 * Looking and judging are apart, so every judgement is tested with facts that no machine
 * of ours has. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "cli/doctor/checks.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/finding.h"
#include "cli/doctor/gather.h"
#include "cli/doctor/judge.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/output/term.h"
#include "data/json/json.h"
#include "data/text.h"

enum { MARK_COLUMNS = 6, NAME_COLUMNS = 15, INDENT = 2, WRAP_LEAST = 30 };

static const enum term_color mark_colors[] = {
    [FINDING_OK] = COLOR_GREEN,
    [FINDING_SKIP] = COLOR_DIM,
    [FINDING_WARN] = COLOR_YELLOW,
    [FINDING_FAIL] = COLOR_RED,
};

/* ---- choosing -------------------------------------------------------------------- */

static bool is_word_of(const struct doctor_check *check, const char *word)
{
    return !strcmp(word, check->name) ||
           !strcmp(word, doctor_scope_names[check->scope]);
}

/* Without words, all checks. */
static bool is_named(const struct cli_invocation *in, const struct doctor_check *check)
{
    for (size_t i = 0; i < in->arg_count; i++)
        if (is_word_of(check, in->args[i]))
            return true;
    return !in->arg_count;
}

static bool is_cluster_named(const struct cli_invocation *in)
{
    for (size_t i = 0; in->arg_count && i < doctor_check_count; i++)
        if (doctor_checks[i].scope == DOCTOR_CLUSTER && is_named(in, &doctor_checks[i]))
            return true;
    return false;
}

/* Other checks of the cluster rely on that of the master. */
static bool is_chosen(const struct cli_invocation *in, const struct doctor_check *check)
{
    return is_named(in, check) ||
           (check->judge == judge_master && is_cluster_named(in));
}

static det_status refuse_word(struct cli *cli, const char *word)
{
    const char **names = arena_array(&cli->mem, const char *, doctor_check_count + 1);
    const char *near;

    if (!names)
        return cli_nomem(cli);
    for (size_t i = 0; i < doctor_check_count; i++)
        names[i] = doctor_checks[i].name;
    near = nearest_word(word, names);
    (void)cli_fail(cli, DET_INVALID, "there is no check '%s'", word);
    return near ? cli_hint(cli, "did you mean '%s'?", near)
                : cli_hint(cli, "'det doctor --help' lists the checks");
}

static det_status check_words(struct cli *cli, const struct cli_invocation *in)
{
    for (size_t i = 0; i < in->arg_count; i++) {
        bool is_known = false;

        for (size_t j = 0; j < doctor_check_count; j++)
            is_known = is_known || is_word_of(&doctor_checks[j], in->args[i]);
        if (!is_known)
            return refuse_word(cli, in->args[i]);
    }
    return DET_OK;
}

/* ---- printing -------------------------------------------------------------------- */

/* On a terminal, breaks lines between words and indents them; elsewhere a finding is one
 * line. */
static void put_sentence(struct cli *cli, const char *text)
{
    size_t indent = INDENT + MARK_COLUMNS + NAME_COLUMNS;
    size_t width = cli->term.width;
    size_t column = indent;
    bool wraps = cli->term.is_terminal && width >= indent + WRAP_LEAST;

    while (*text) {
        size_t len = strcspn(text, " ");
        char *word = arena_strndup(&cli->mem, text, len);
        size_t columns = word ? term_width(word) : 0;

        if (wraps && column > indent && column + 1 + columns > width) {
            cli_put(cli, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            cli_put(cli, " ");
            column++;
        }
        term_put(&cli->out, word ? word : "", SIZE_MAX);
        column += columns;
        text += len;
        text += strspn(text, " ");
    }
    cli_put(cli, "\n");
}

static void put_finding(struct cli *cli, struct findings *all,
                        const struct finding *finding)
{
    enum term_color color =
        cli->term.has_color ? mark_colors[finding->mark] : COLOR_NONE;

    cli_put(cli, "%*s%s%-*s%s%-*s", INDENT, "", term_color_on(color), MARK_COLUMNS,
            finding_mark_names[finding->mark], term_color_off(color), NAME_COLUMNS,
            finding->check->name);
    put_sentence(cli, finding_sentence(all, finding));
}

static void put_heading(struct cli *cli, const struct doctor_facts *facts,
                        enum doctor_scope scope)
{
    enum term_color bold = cli->term.has_color ? COLOR_BOLD : COLOR_NONE;
    const char *url = scope == DOCTOR_CLUSTER ? facts->master.url : NULL;

    cli_put(cli, "%s%s%s%s%s%s\n", cli->out.len ? "\n" : "", term_color_on(bold),
            scope == DOCTOR_HOST ? "Host" : "Cluster", term_color_off(bold),
            url ? "  " : "", url ? url : "");
}

static void put_count(struct cli *cli, size_t count, const char *what,
                      enum finding_mark mark)
{
    enum term_color color =
        cli->term.has_color && count ? mark_colors[mark] : COLOR_NONE;

    cli_put(cli, "%s%zu %s%s", term_color_on(color), count, what,
            term_color_off(color));
}

static void print_text(struct cli *cli, const struct doctor_facts *facts,
                       struct findings *all)
{
    const struct doctor_check *before = NULL;
    const size_t *count = all->count;

    for (const struct finding *f = all->first; f; f = f->next) {
        if (!before || before->scope != f->check->scope)
            put_heading(cli, facts, f->check->scope);
        put_finding(cli, all, f);
        before = f->check;
    }
    cli_put(cli, "\n");
    put_count(cli, count[FINDING_OK], "ok, ", FINDING_OK);
    put_count(cli, count[FINDING_WARN],
              count[FINDING_WARN] == 1 ? "warning, " : "warnings, ", FINDING_WARN);
    put_count(cli, count[FINDING_FAIL],
              count[FINDING_FAIL] == 1 ? "failure" : "failures", FINDING_FAIL);
    cli_put(cli, "\n");
}

static void print_json(struct cli *cli, const struct doctor_facts *facts,
                       struct findings *all)
{
    struct json_writer w = JSON_WRITER(&cli->out);

    w.is_pretty = true;
    jw_object(&w, NULL);
    jw_str(&w, "version", facts->version);
    jw_str(&w, "dataDirectory", facts->disk.data_dir);
    jw_str(&w, "master", facts->master.url);
    jw_bool(&w, "isClusterChecked", facts->master.state == MASTER_ANSWERS);
    jw_array(&w, "findings");
    for (const struct finding *f = all->first; f; f = f->next) {
        jw_object(&w, NULL);
        jw_str(&w, "check", f->check->name);
        jw_str(&w, "scope", doctor_scope_names[f->check->scope]);
        jw_str(&w, "mark", finding_mark_names[f->mark]);
        jw_str(&w, "text", finding_sentence(all, f));
        jw_str(&w, "what", f->what);
        jw_str(&w, "why", f->why);
        jw_str(&w, "todo", f->todo);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    jw_object(&w, "counts");
    for (int mark = 0; mark < FINDING_MARKS; mark++)
        jw_i64(&w, finding_mark_names[mark], (int64_t)all->count[mark]);
    jw_end_object(&w);
    jw_end_object(&w);
    cli_put(cli, "\n");
}

/* ---- the command ----------------------------------------------------------------- */

det_status run_doctor(struct cli *cli, const struct cli_invocation *in)
{
    const struct doctor_options *options = in->options;
    const struct gather gather = {.cli = cli, .data_dir = options->data_dir};
    struct findings all = {.mem = &cli->mem};
    struct doctor_facts facts = {.version = DET_VERSION,
                                 .uid = geteuid(),
                                 .now_us = clock_wall_us(&clock_system),
                                 .is_cluster_wanted = is_cluster_named(in)};
    det_status st = check_words(cli, in);

    if (!st && options->data_dir && !*options->data_dir)
        st = cli_fail(cli, DET_INVALID, "--data-dir names no directory");
    if (st)
        return st;
    for (size_t i = 0; i < doctor_check_count; i++) {
        if (!is_chosen(in, &doctor_checks[i]))
            continue;
        all.check = &doctor_checks[i];
        all.check->gather(&gather, &facts);
        all.check->judge(&facts, &all);
    }
    if (in->format == CLI_JSON)
        print_json(cli, &facts, &all);
    else
        print_text(cli, &facts, &all);
    memset(cli->err, 0, sizeof(*cli->err));
    cli->exit_code = all.count[FINDING_FAIL] ? 1 : 0;
    return cli->mem.has_failed || cli->out.status ? cli_nomem(cli) : DET_OK;
}
