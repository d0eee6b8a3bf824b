/* SPDX-License-Identifier: Apache-2.0 */
/* config_report.h - a list of everything that is wrong with a configuration file.
 *
 * The checks report every problem, not only the first: with line, column, key path, the
 * value found, the values allowed and the nearest known key.
 *
 * Adding is sticky: when the report's arena is full, `report->mem->has_failed` is set
 * and config_report_status() returns DET_NOMEM. */
#ifndef CONFIG_CONFIG_REPORT_H
#define CONFIG_CONFIG_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct arena;
struct buf;
struct json;

enum config_severity { CONFIG_NOTICE, CONFIG_ERROR };

struct config_problem {
    enum config_severity severity;
    uint32_t line;       /* 0: not from a file */
    uint32_t column;     /* if line is 0: the number of an option, from 1; or 0 */
    bool is_unsupported; /* an error because it is not built yet */
    const char *path;    /* "searcher.max_trials" */
    const char *text;    /* "found 'many'; expected a whole number >= 1" */
    struct config_problem *next;
};

/* More problems than this are counted, but not kept. */
enum { CONFIG_PROBLEMS_MOST = 200 };

struct config_report {
    struct arena *mem;            /* the problems live here */
    const char *name;             /* the file, for messages; may be NULL */
    const char *const *options;   /* options like "--config a.b=1"; may be NULL */
    struct config_problem *first; /* in the order of the file */
    uint32_t count;               /* how many are kept */
    uint32_t errors;
    uint32_t unsupported; /* of the errors, those with is_unsupported */
    uint32_t notices;
};

#define CONFIG_REPORT(arena, file)                                                     \
    {                                                                                  \
        .mem = (arena), .name = (file)                                                 \
    }

/* One line per problem: "c.yaml:4:3: searcher.max_trials: found ...; expected ...". */
void config_report_write(const struct config_report *report,
                         enum config_severity at_least, struct buf *out);
/* DET_OK if there are no errors, DET_UNSUPPORTED if all of them are unsupported values,
 * DET_NOMEM if the report ran out of memory, else DET_INVALID.  The text of `err` has
 * all lines. */
det_status config_report_status(const struct config_report *report, struct err *err);

/* Adds an error.  `at` gives line and column and may be NULL; copies `path`. */
void config_report_error(struct config_report *report, const struct json *at,
                         const char *path, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Adds an error about a value that is not built yet. */
void config_report_unsupported(struct config_report *report, const struct json *at,
                               const char *path, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void config_report_notice(struct config_report *report, const struct json *at,
                          const char *path, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Makes the report end as DET_NOMEM. */
void config_report_out_of_memory(struct config_report *report);

#endif
