/* SPDX-License-Identifier: Apache-2.0 */
/* config_report.c - see config_report.h. */
#include "config/config_report.h"

#include <stdarg.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"

/* Problems without a place in the file come last. */
static uint64_t file_order(const struct config_problem *problem)
{
    uint64_t line = problem->line ? problem->line : UINT32_MAX;

    return line << 32 | problem->column;
}

/* Unsupported values come first: they decide whether the file can be used at all. */
static bool comes_before(const struct config_problem *a, const struct config_problem *b)
{
    if (a->is_unsupported != b->is_unsupported)
        return a->is_unsupported;
    return file_order(a) <= file_order(b);
}

/* Keeps the list in the order of the file; the checks find problems in another order. */
static void insert_problem(struct config_report *report, struct config_problem *problem)
{
    struct config_problem **at = &report->first;

    while (*at && comes_before(*at, problem))
        at = &(*at)->next;
    problem->next = *at;
    *at = problem;
    report->count++;
}

/* One value of the file may be at several places of the tree, such as a list of variables
 * for every type of device.  It is reported once. */
static bool is_reported(const struct config_report *report,
                        const struct config_problem *problem)
{
    for (const struct config_problem *p = report->first; p; p = p->next)
        if (problem->line && file_order(p) == file_order(problem) &&
            p->severity == problem->severity && !strcmp(p->path, problem->path) &&
            !strcmp(p->text, problem->text))
            return true;
    return false;
}

static void count_problem(struct config_report *report,
                          const struct config_problem *problem)
{
    if (problem->severity == CONFIG_NOTICE)
        report->notices++;
    else
        report->errors++;
    report->unsupported += problem->is_unsupported;
}

static void add_problem(struct config_report *report, const struct json *at,
                        struct config_problem problem, const char *fmt, va_list args)
    PRINTF_LIKE(4, 0);

static void add_problem(struct config_report *report, const struct json *at,
                        struct config_problem problem, const char *fmt, va_list args)
{
    struct config_problem *copy;

    if (report->count >= CONFIG_PROBLEMS_MOST) {
        count_problem(report, &problem);
        return;
    }
    problem.line = at ? at->line : 0;
    problem.column = at ? at->column : 0;
    problem.path = arena_strdup(report->mem, problem.path);
    problem.text = arena_vprintf(report->mem, fmt, args);
    if (problem.text && problem.path && is_reported(report, &problem))
        return;
    count_problem(report, &problem);
    copy = arena_new(report->mem, struct config_problem);
    if (!copy || !problem.text || !problem.path)
        return;
    *copy = problem;
    insert_problem(report, copy);
}

void config_report_error(struct config_report *report, const struct json *at,
                         const char *path, const char *fmt, ...)
{
    struct config_problem problem = {.severity = CONFIG_ERROR, .path = path};
    va_list args;

    va_start(args, fmt);
    add_problem(report, at, problem, fmt, args);
    va_end(args);
}

void config_report_unsupported(struct config_report *report, const struct json *at,
                               const char *path, const char *fmt, ...)
{
    struct config_problem problem = {
        .severity = CONFIG_ERROR, .is_unsupported = true, .path = path};
    va_list args;

    va_start(args, fmt);
    add_problem(report, at, problem, fmt, args);
    va_end(args);
}

void config_report_notice(struct config_report *report, const struct json *at,
                          const char *path, const char *fmt, ...)
{
    struct config_problem problem = {.severity = CONFIG_NOTICE, .path = path};
    va_list args;

    va_start(args, fmt);
    add_problem(report, at, problem, fmt, args);
    va_end(args);
}

void config_report_out_of_memory(struct config_report *report)
{
    report->mem->has_failed = true;
}

static void write_place(const struct config_report *report,
                        const struct config_problem *problem, struct buf *out)
{
    bool is_option = !problem->line && problem->column && report->options;

    if (is_option)
        buf_printf(out, "%s:", report->options[problem->column - 1]);
    else if (report->name)
        buf_printf(out, "%s:", report->name);
    if (problem->line)
        buf_printf(out, "%u:%u:", problem->line, problem->column);
    if (is_option || report->name || problem->line)
        buf_putc(out, ' ');
    if (problem->path[0])
        buf_printf(out, "%s: ", problem->path);
}

void config_report_write(const struct config_report *report,
                         enum config_severity at_least, struct buf *out)
{
    for (const struct config_problem *p = report->first; p; p = p->next) {
        if (p->severity < at_least)
            continue;
        write_place(report, p, out);
        buf_puts(out, p->text);
        buf_putc(out, '\n');
    }
}

det_status config_report_status(const struct config_report *report, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    det_status status = DET_INVALID;

    if (report->mem->has_failed)
        return err_set(err, DET_NOMEM, "%s", det_status_text(DET_NOMEM));
    if (!report->errors)
        return DET_OK;
    if (report->errors == report->unsupported)
        status = DET_UNSUPPORTED;

    config_report_write(report, CONFIG_ERROR, &text);
    if (text.status)
        return err_default(err, text.status);
    buf_cut(&text, text.len - 1); /* the last newline */
    return err_set(err, status, "%s", text.data);
}
