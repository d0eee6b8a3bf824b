/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h - loading a configuration in a test. */
#ifndef TESTS_CONFIG_FIXTURE_H
#define TESTS_CONFIG_FIXTURE_H

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/experiment_config.h"
#include "config/keys/key_tables.h"
#include "data/json/json.h"
#include "tests/support/test.h"

struct fixture {
    struct arena mem;
    struct config_report report;
    struct experiment_defaults defaults;
    struct experiment_config config;
    struct json *tree; /* load_file() */
    struct buf text;   /* what lines() wrote */
    struct err err;
    det_status status;
};

static UNUSED void fixture_done(struct fixture *f)
{
    arena_done(&f->mem);
    buf_done(&f->text);
}

#define FIXTURE(name_)                                                                 \
    CLEANUP(fixture_done)                                                              \
    struct fixture name_ = {                                                           \
        .mem = ARENA_INIT((size_t)16 << 20),                                           \
        .defaults = {.checkpoint_directory = "/tmp/ck", .seed = 42, .name = "none"},   \
        .text = BUF_INIT,                                                              \
    }

static UNUSED det_status load(struct fixture *f, const char *yaml)
{
    f->report = (struct config_report)CONFIG_REPORT(&f->mem, "c.yaml");
    f->status = experiment_config_load(yaml, strlen(yaml), &f->defaults, &f->mem,
                                       &f->report, &f->config, &f->err);
    return f->status;
}

static UNUSED det_status load_file(struct fixture *f, enum config_kind kind,
                                   const char *yaml, const struct json *overrides)
{
    f->report = (struct config_report)CONFIG_REPORT(&f->mem, "c.yaml");
    f->status = config_load(kind, yaml, yaml ? strlen(yaml) : 0, overrides, &f->report,
                            &f->tree, &f->err);
    return f->status;
}

/* All lines of the report, notices too. */
static UNUSED const char *lines(struct fixture *f)
{
    buf_clear(&f->text);
    config_report_write(&f->report, CONFIG_NOTICE, &f->text);
    return f->text.data;
}

/* The value at `path` of the loaded tree, as JSON. */
static UNUSED const char *at(struct fixture *f, const char *path)
{
    const struct json *value = json_path(f->tree ? f->tree : f->config.tree, path);

    return value ? json_text(&f->mem, value) : "(absent)";
}

#define CHECK_LOADS(f, yaml)                                                           \
    do {                                                                               \
        if (load((f), (yaml)))                                                         \
            fail_msg("%s: %s", det_status_name((f)->status), (f)->err.text);           \
    } while (0)

/* The only error of `yaml` (which has a searcher and more put in front). */
#define CHECK_REFUSES(f, yaml, status_, sentence)                                      \
    do {                                                                               \
        CHECK_EQ(load((f), (yaml)), (status_));                                        \
        CHECK_STR((f)->err.text, (sentence));                                          \
    } while (0)

#define SINGLE "searcher: {name: single, metric: loss}\n"

#endif
