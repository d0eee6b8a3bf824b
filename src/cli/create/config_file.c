/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/create/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "cli/frame/cli.h"
#include "cli/nouns/checkpoint.h"
#include "config/config_load.h"
#include "data/json/json.h"
#include "data/yaml/yaml.h"

/* A pipe has no size and no positions: `create <(make-config) .` names one. */
static det_status read_stream(struct cli *cli, int fd, const char *name,
                              struct buf *text)
{
    ssize_t count = 1;

    while (count) {
        char *room = buf_room(text, 1 << 16);

        if (!room)
            return cli_fail(cli, text->status, "%s is too large", name);
        count = read(fd, room, 1 << 16);
        if (count < 0 && errno != EINTR)
            return err_errno(cli->err, errno, "cannot read %s", name);
        if (count > 0)
            buf_took(text, (size_t)count);
    }
    return DET_OK;
}

static det_status read_pipe(struct cli *cli, const char *path, struct buf *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    det_status st;

    if (fd < 0)
        return err_errno(cli->err, errno, "cannot open '%s'", path);
    st = read_stream(cli, fd, path, text);
    close(fd);
    return st;
}

det_status config_file_read(struct cli *cli, const char *path, struct buf *text)
{
    struct stat found;
    bool is_there = !stat(path, &found);

    if (!strcmp(path, "-"))
        return read_stream(cli, STDIN_FILENO, "standard input", text);
    if (is_there && S_ISDIR(found.st_mode)) {
        (void)cli_fail(cli, DET_INVALID, "'%s' is a folder; expected a YAML file",
                       path);
        return cli_hint(cli, "the file comes first, then the folder with the code");
    }
    if (is_there && !S_ISREG(found.st_mode))
        return read_pipe(cli, path, text);
    return io_read_file(io_system(), path, text, cli->err);
}

/* Marks a value of the n-th option: problems with it name the option, not a line. */
static void mark_as_option(struct json *value, uint32_t number)
{
    if (!value)
        return;
    value->line = 0;
    value->column = number;
    json_each(item, value)
        mark_as_option(item, number);
}

/* Puts "a.b.c=VALUE" into the tree; creates missing maps on the way. */
static det_status apply_pair(struct cli *cli, struct json *tree, const char *pair,
                             uint32_t number)
{
    const char *equals = strchr(pair, '=');
    struct json *value;
    det_status st;

    if (!equals || equals == pair)
        return cli_fail(cli, DET_INVALID, "--config is '%s'; expected KEY=VALUE", pair);
    st = yaml_parse(equals + 1, strlen(equals + 1), NULL, &cli->mem, &value, cli->err);
    if (st)
        return err_prefix(cli->err, "--config %s", pair);
    mark_as_option(value, number);
    while (pair < equals) {
        size_t len = MIN(strcspn(pair, "."), (size_t)(equals - pair));
        char *key = arena_strndup(&cli->mem, pair, len);
        struct json *next;

        if (!key)
            return cli_nomem(cli);
        if (pair + len >= equals) {
            json_set(&cli->mem, tree, key, value);
            break;
        }
        next = json_get(tree, key);
        if (!next || next->kind != JSON_OBJECT) {
            next = json_set(&cli->mem, tree, key, json_new(&cli->mem, JSON_OBJECT));
            mark_as_option(next, number);
        }
        tree = next;
        pair += len + 1;
    }
    return cli->mem.has_failed ? cli_nomem(cli) : DET_OK;
}

/* The names of the options in reports of problems: "--config KEY=VALUE". */
static const char *const *option_names(struct cli *cli, const struct field_strs *pairs)
{
    const char **names = arena_array(&cli->mem, const char *, pairs->count + 1);

    for (size_t i = 0; names && i < pairs->count; i++)
        names[i] = arena_printf(&cli->mem, "--config %s", pairs->at[i]);
    return cli->mem.has_failed ? NULL : names;
}

det_status config_file_override(struct cli *cli, const char *name,
                                const struct field_strs *pairs, struct json **tree,
                                struct buf *text)
{
    det_status st = DET_OK;

    if (!pairs->count)
        return DET_OK;
    if ((*tree)->kind == JSON_NULL)
        *tree = json_new(&cli->mem, JSON_OBJECT);
    if (!*tree || (*tree)->kind != JSON_OBJECT)
        return cli_fail(cli, DET_INVALID, "%s does not hold keys and values", name);
    for (size_t i = 0; i < pairs->count && !st; i++)
        st = apply_pair(cli, *tree, pairs->at[i], (uint32_t)i + 1);
    if (st)
        return st;
    buf_clear(text);
    yaml_write(text, *tree);
    return text->status ? cli_nomem(cli) : DET_OK;
}

static det_status parse_and_check(struct cli *cli,
                                  const struct config_file_source *source,
                                  struct config_report *report, struct buf *text,
                                  void *ret_config)
{
    struct json *tree;
    det_status st = config_parse(text->data, text->len, report, &tree, cli->err);

    if (!st)
        st = config_file_override(cli, report->name, source->pairs, &tree, text);
    return st ? st : source->load(tree, &cli->mem, report, ret_config, cli->err);
}

det_status config_file_check(struct cli *cli, const struct config_file_source *source,
                             struct buf *text, void *ret_config)
{
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    const char *name = source->name;
    struct config_report report = CONFIG_REPORT(&cli->mem, name);
    det_status st;

    report.options = option_names(cli, source->pairs);
    if (!report.options)
        return cli_nomem(cli);
    st = parse_and_check(cli, source, &report, text, ret_config);
    config_report_write(&report, source->at_least, &lines);
    if (lines.len)
        fputs(lines.data, stderr);
    if (st && report.errors)
        return cli_fail(cli, st, "%s has %u problem%s", name, report.errors,
                        report.errors == 1 ? "" : "s");
    return st;
}

static det_status load_experiment(struct json *tree, struct arena *mem,
                                  struct config_report *report, void *ret_config,
                                  struct err *err)
{
    struct experiment_defaults defaults = {.checkpoint_directory = "/tmp",
                                           .name = "experiment"};

    return experiment_config_load_tree(tree, &defaults, mem, report, ret_config, err);
}

det_status config_file_check_experiment(struct cli *cli, const char *name,
                                        const struct field_strs *pairs,
                                        enum config_severity at_least, struct buf *text,
                                        struct experiment_config *ret_config)
{
    const struct config_file_source source = {name, pairs, at_least, load_experiment};

    return config_file_check(cli, &source, text, ret_config);
}

det_status config_file_load_experiment(struct cli *cli, const char *path,
                                       const struct field_strs *pairs, struct buf *text,
                                       struct experiment_config *ret_config)
{
    const char *name = strcmp(path, "-") ? path : "standard input";
    det_status st = config_file_read(cli, path, text);

    return st ? st
              : config_file_check_experiment(cli, name, pairs, CONFIG_NOTICE, text,
                                             ret_config);
}
