/* SPDX-License-Identifier: Apache-2.0 */
/* trial_reproduce.c - `det trial reproduce`: runs a trial again.
 *
 * A trial is its code, its complete configuration, its hyperparameters and its seed.
 * They are submitted as an experiment with one trial.  trial_compare.c then shows what
 * differs. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/vec.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/interrupt.h"
#include "cli/frame/options.h"
#include "cli/nouns/experiment_control.h"
#include "cli/nouns/logs.h"
#include "cli/nouns/trial_compare.h"
#include "cli/nouns/trial_environment.h"
#include "data/json/json.h"
#include "data/yaml/yaml.h"

/* Hyperparameters as constants with the values of the trial. */
static struct json *constant_hparams(struct cli *cli, const struct json *hparams)
{
    struct json *all = json_new(&cli->mem, JSON_OBJECT);

    json_each(value, hparams) {
        struct json *one =
            json_set(&cli->mem, all, value->key, json_new(&cli->mem, JSON_OBJECT));

        json_set(&cli->mem, one, "type", json_new_str(&cli->mem, "const"));
        json_set(&cli->mem, one, "val", json_copy(&cli->mem, value));
    }
    return all;
}

/* `checkpoint` is the one that the trial started from; "": none. */
static struct json *single_searcher(struct cli *cli, const struct json *searcher,
                                    const char *checkpoint)
{
    static const char *const kept[] = {"metric", "smaller_is_better", "max_length"};
    struct json *now = json_new(&cli->mem, JSON_OBJECT);

    json_set(&cli->mem, now, "name", json_new_str(&cli->mem, "single"));
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const struct json *value = json_get(searcher, kept[i]);

        if (!json_is_null(value))
            json_set(&cli->mem, now, kept[i], json_copy(&cli->mem, value));
    }
    if (*checkpoint)
        json_set(&cli->mem, now, "source_checkpoint_uuid",
                 json_new_str(&cli->mem, checkpoint));
    return now;
}

static det_status write_config(struct cli *cli, int64_t id, const struct json *was,
                               const char *checkpoint, struct buf *text)
{
    struct arena *mem = &cli->mem;
    struct json *config = json_copy(mem, json_get(was, "config"));
    struct json *seeds = json_new(mem, JSON_OBJECT);
    const char *name =
        arena_printf(mem, "%s (trial %" PRId64 " again)",
                     json_str(json_get(config, "name"), "experiment"), id);

    json_set(mem, seeds, "experiment_seed",
             json_new_i64(mem, json_i64(json_get(was, "experimentSeed"), 0)));
    json_set(mem, seeds, "trial_seed",
             json_new_i64(mem, json_i64(json_get(was, "trialSeed"), 0)));
    json_set(mem, config, "reproducibility", seeds);
    json_set(mem, config, "name", json_new_str(mem, name));
    json_set(mem, config, "hyperparameters",
             constant_hparams(cli, json_get(was, "hparams")));
    json_set(mem, config, "searcher",
             single_searcher(cli, json_get(config, "searcher"), checkpoint));
    yaml_write(text, config);
    return mem->has_failed || text->status ? cli_nomem(cli) : DET_OK;
}

static det_status submit_experiment(struct cli *cli, int64_t parent,
                                    const struct buf *config, int64_t *ret_experiment)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct json *reply;
    det_status st;

    jw_object(&w, NULL);
    jw_strn(&w, "config", config->data, config->len);
    jw_bool(&w, "activate", true);
    jw_i64(&w, "parentId", parent);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", body.data, &reply, "/api/v1/experiments");
    if (!st)
        *ret_experiment = json_i64(json_path(reply, "experiment.id"), 0);
    return st;
}

static det_status only_trial(struct cli *cli, int64_t experiment, int64_t *ret_trial)
{
    struct json *reply;
    det_status st = cli_get(
        cli, &reply, "/api/v1/experiments/%" PRId64 "/trials?limit=1", experiment);

    *ret_trial =
        st ? 0 : json_i64(json_get(json_first(json_get(reply, "trials")), "id"), 0);
    if (!st && !*ret_trial)
        st = cli_fail(cli, DET_FAILED, "experiment %" PRId64 " ended without a trial",
                      experiment);
    return st;
}

static det_status follow_and_compare(struct cli *cli, int64_t trial, int64_t experiment)
{
    struct log_options options = {.follow = true, .tail = CLI_UNSET, .head = CLI_UNSET};
    struct interrupt_notice *notice;
    const char *state;
    char words[200];
    int64_t again;
    det_status st;

    snprintf(words, sizeof(words),
             "experiment %" PRId64
             " keeps running; when it has ended, 'det trial compare "
             "%" PRId64 " TRIAL' compares them",
             experiment, trial);
    interrupt_notice_begin(words, &notice);
    st = logs_print_first_trial(cli, experiment, &options);
    if (!st)
        st = experiment_control_wait(cli, experiment, NULL, &state);
    interrupt_notice_end(notice);
    if (!st)
        st = only_trial(cli, experiment, &again);
    if (st)
        return st;
    cli_note(cli, "experiment %" PRId64 " is %s", experiment, state);
    st = trial_compare(cli, trial, again);
    if (!st && strcmp(state, "COMPLETED"))
        cli->exit_code = 1;
    return st;
}

det_status run_trial_reproduce(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf config = BUF_INIT;
    const struct reproduce_options *options = in->options;
    struct json *was, *trial;
    int64_t id, parent, experiment = 0;
    det_status st = cli_id(cli, "trial", in->args[0], &id);

    if (!st)
        st = trial_environment_get(cli, id, &was);
    if (!st)
        st = cli_get(cli, &trial, "/api/v1/trials/%" PRId64, id);
    if (st)
        return st;
    parent = json_i64(json_get(was, "experimentId"), 0);
    st = write_config(cli, id, was,
                      json_str(json_path(trial, "trial.warmStartCheckpointUuid"), ""),
                      &config);
    if (!st)
        st = submit_experiment(cli, parent, &config, &experiment);
    if (st)
        return st;
    cli_put(cli, "Created experiment %" PRId64 ": trial %" PRId64 " again\n",
            experiment, id);
    st = cli_flush(cli);
    if (st || options->follow)
        return st ? st : follow_and_compare(cli, id, experiment);
    cli_note(cli,
             "when it has ended, 'det trial compare %" PRId64 " TRIAL' compares the "
             "trials; --follow does both",
             id);
    return DET_OK;
}
