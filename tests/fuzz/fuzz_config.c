/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_config.c - any text as any configuration file: it loads or is refused with
 * words, and what loaded as an experiment loads again as the same. */
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/experiment_config.h"
#include "config/keys/key_tables.h"
#include "data/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct experiment_defaults defaults = {
    .checkpoint_directory = "/tmp/ck",
    .name = "fuzzed",
};

static void demand(bool is_so)
{
    if (!is_so)
        __builtin_trap();
}

static void demand_report(det_status st, const struct config_report *report)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    config_report_write(report, CONFIG_NOTICE, &out);
    demand(st != DET_INVALID || (report->errors && out.len));
    demand(st != DET_UNSUPPORTED || report->errors == report->unsupported);
}

static void load_experiment(const char *text, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT((size_t)64 << 20);
    struct config_report report = CONFIG_REPORT(&mem, "fuzz");
    struct config_report again = CONFIG_REPORT(&mem, "again");
    struct experiment_config config, same;
    det_status st;

    st = experiment_config_load(text, len, &defaults, &mem, &report, &config, NULL);
    if (st == DET_NOMEM)
        return;
    demand_report(st, &report);
    if (st)
        return;
    st = experiment_config_load(config.json, strlen(config.json), &defaults, &mem,
                                &again, &same, NULL);
    demand(st == DET_NOMEM || (!st && strcmp(config.json, same.json) == 0));
    st = experiment_config_open(config.json, strlen(config.json), &mem, &same, NULL);
    demand(st == DET_NOMEM || !st);
}

static void load_file(enum config_kind kind, const char *text, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT((size_t)64 << 20);
    struct config_report report = CONFIG_REPORT(&mem, "fuzz");
    struct json *tree;
    det_status st;

    st = config_load(kind, text, len, NULL, &report, &tree, NULL);
    if (st != DET_NOMEM)
        demand_report(st, &report);
}

/* The first byte says which file it is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum config_kind kinds[] = {CONFIG_EXPERIMENT, CONFIG_MASTER,
                                             CONFIG_AGENT, CONFIG_JOB};
    enum config_kind kind;

    if (!size)
        return 0;
    kind = kinds[data[0] % ARRAY_LEN(kinds)];
    if (kind == CONFIG_EXPERIMENT)
        load_experiment((const char *)data + 1, size - 1);
    else
        load_file(kind, (const char *)data + 1, size - 1);
    return 0;
}
