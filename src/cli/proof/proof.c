/* SPDX-License-Identifier: Apache-2.0 */
/* proof.c - `det resume-proof`: does an experiment resume exactly after it was killed?
 *
 * The experiment runs undisturbed.  Then a fork with the same configuration, seeds and
 * files is killed again and again, and the results of both are compared.  They run on the
 * user's own master, so the proof is about the real setup.  If a fork ends before all
 * kills have landed, another fork is started, until all have landed or a fork ends before
 * a single kill reaches it.  If something differs, a last fork runs undisturbed: it tells
 * whether the resume is the cause, or the program itself. */
#include "cli/proof/proof.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/rng.h"
#include "cli/create/config_file.h"
#include "cli/create/create.h"
#include "cli/create/pack.h"
#include "cli/create/python_choice.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/connect.h"
#include "cli/frame/interrupt.h"
#include "cli/frame/options.h"
#include "cli/nouns/checkpoint.h"
#include "cli/output/format.h"
#include "cli/proof/proof_compare.h"
#include "cli/proof/proof_plan.h"
#include "cli/proof/proof_profile.h"
#include "cli/proof/proof_show.h"
#include "cli/proof/proof_watch.h"
#include "data/json/json.h"
#include "data/yaml/yaml.h"
#include "libdet/checkpoint/manifest.h"
#include "model/determinism.h"

enum {
    CONFIG_LIMIT = 16 << 20,
    PAIRS_MOST = 8, /* added to those of --config */
    ROUNDS_MOST = 10,
    SEED_MOST = 1000000,
};

#define PROOF_LABEL "resume-proof"

/* ---- the configuration ----------------------------------------------------------- */

struct pairs {
    struct cli *cli;
    const char *at[PAIRS_MOST];
    size_t count;
};

/* "key=VALUE", the value as JSON, which is also YAML. */
static void add_pair(struct pairs *pairs, const char *key, const struct json *value)
{
    struct arena *mem = &pairs->cli->mem;
    const char *text = value ? json_text(mem, value) : NULL;

    assert(pairs->count < PAIRS_MOST);
    pairs->at[pairs->count++] = text ? arena_printf(mem, "%s=%s", key, text) : NULL;
}

/* Replaces a search by the single searcher; keeps the keys that both have. */
static void reduce_search(struct pairs *pairs, const struct experiment_config *config)
{
    static const char *const common[] = {"metric", "smaller_is_better", "max_length",
                                         "source_trial_id", "source_checkpoint_uuid"};
    struct arena *mem = &pairs->cli->mem;
    struct json *searcher;

    if (!strcmp(config->searcher_name, "single"))
        return;
    cli_note(pairs->cli, "the search '%s' is reduced to one trial",
             config->searcher_name);
    searcher = json_new(mem, JSON_OBJECT);
    (void)json_set(mem, searcher, "name", json_new_str(mem, "single"));
    for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++) {
        const struct json *value = json_get(config->searcher, common[i]);

        if (!json_is_null(value))
            (void)json_set(mem, searcher, common[i], json_copy(mem, value));
    }
    add_pair(pairs, "searcher", searcher);
}

static void add_name(struct pairs *pairs, const char *name, const char *what)
{
    struct arena *mem = &pairs->cli->mem;

    add_pair(pairs, "name",
             json_new_str(mem, arena_printf(mem, "%s (%s)", name, what)));
}

static det_status apply_pairs(struct pairs *pairs, const char *name, struct buf *text,
                              struct experiment_config *ret_config)
{
    struct field_strs strs = {.at = pairs->at, .count = pairs->count};

    if (pairs->cli->mem.has_failed)
        return cli_nomem(pairs->cli);
    /* The notices were printed when the file was read. */
    return config_file_check_experiment(pairs->cli, name, &strs, CONFIG_ERROR, text,
                                        ret_config);
}

static det_status load_undisturbed(struct proof *proof, struct buf *text,
                                   const char **ret_name)
{
    struct cli *cli = proof->cli;
    const struct proof_options *options = cli->in->options;
    struct pairs pairs = {.cli = cli};
    struct experiment_config config;
    struct json *labels;
    det_status st = config_file_load_experiment(cli, cli->in->args[0], &options->config,
                                                text, &config);

    if (st)
        return st;
    *ret_name = config.name;
    proof->is_deterministic = determinism_is_wanted(config.tree);
    labels = config.labels ? json_copy(&cli->mem, config.labels)
                           : json_new(&cli->mem, JSON_ARRAY);
    if (!labels)
        return cli_nomem(cli);
    (void)json_push(labels, json_new_str(&cli->mem, PROOF_LABEL));
    add_pair(&pairs, "labels", labels);
    add_name(&pairs, config.name, "undisturbed");
    reduce_search(&pairs, &config);
    pairs.at[pairs.count++] = "max_restarts=0";
    if (!config.save_trial_latest) /* else the final checkpoint would be collected */
        pairs.at[pairs.count++] = "checkpoint_storage.save_trial_latest=1";
    return apply_pairs(&pairs, cli->in->args[0], text, &config);
}

/* The complete configuration of the undisturbed one: the seed must be the same. */
static det_status load_fork(struct proof *proof, const char *name, const char *what,
                            struct buf *text)
{
    struct cli *cli = proof->cli;
    struct pairs pairs = {.cli = cli};
    struct experiment_config config;
    struct json *reply;
    det_status st =
        cli_get(cli, &reply, "/api/v1/experiments/%" PRId64, proof->experiments.at[0]);

    if (st)
        return st;
    yaml_write(text, json_get(reply, "config"));
    if (text->status)
        return cli_nomem(cli);
    add_name(&pairs, name, what);
    return apply_pairs(&pairs, "the configuration", text, &config);
}

/* ---- the experiments ------------------------------------------------------------- */

/* Lists the files of the first experiment, and chooses its Python. */
static det_status scan_files(struct cli *cli, struct pack *pack, struct buf *config)
{
    struct json *parsed;
    const struct json *tree;
    det_status st = DET_OK;

    if (cli->in->arg_count > 1)
        st = pack_scan(io_system(), cli->in->args[1], &cli->mem, pack, cli->err);
    for (size_t i = 0; !st && i < pack->left_out.count; i++)
        cli_note(cli, "left out %s", pack->left_out.at[i]);
    if (!st)
        st = yaml_parse(config->data, config->len, NULL, &cli->mem, &parsed, cli->err);
    if (st)
        return st;
    tree = parsed;
    return python_choice_make(cli, pack, config, &tree);
}

/* The first one is sent with its files, the others are forks of it. */
static det_status write_experiment(struct proof *proof, struct buf *config,
                                   struct buf *body)
{
    struct json_writer w = JSON_WRITER(body);
    struct cli *cli = proof->cli;
    bool is_first = !proof->experiments.count;
    struct pack pack = {0};
    det_status st = is_first ? scan_files(cli, &pack, config) : DET_OK;

    jw_object(&w, NULL);
    jw_strn(&w, "config", config->data, config->len);
    jw_bool(&w, "activate", true);
    if (!is_first)
        jw_i64(&w, "parentId", proof->experiments.at[0]);
    else if (!st)
        st = pack_write(&pack, &w, "modelDefinition", NULL, NULL, cli->err);
    jw_end_object(&w);
    pack_done(&pack);
    return st;
}

static det_status create_experiment(struct proof *proof, struct buf *config,
                                    int64_t *ret_id)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct cli *cli = proof->cli;
    struct json *reply;
    det_status st = write_experiment(proof, config, &body);

    if (!st && body.status)
        st = cli_nomem(cli);
    if (!st)
        st = cli_send(cli, "POST", body.data, &reply, "/api/v1/experiments");
    if (st)
        return st;
    create_show_warnings(cli, reply);
    *ret_id = json_i64(json_path(reply, "experiment.id"), 0);
    if (!vec_push(&proof->experiments, *ret_id)) {
        proof_watch_clean_up(proof, *ret_id);
        return cli_nomem(cli);
    }
    return DET_OK;
}

/* ---- their results --------------------------------------------------------------- */

/* The results of an experiment that are compared. */
struct run_result {
    int64_t steps;
    const char *directory; /* of its final checkpoint */
    const struct json *metadata;
    struct proof_reports reports;
};

static det_status read_checkpoint(struct cli *cli, const struct proof_outcome *outcome,
                                  struct run_result *result)
{
    const struct json *last = NULL;
    struct json *reply;
    det_status st =
        cli_get(cli, &reply,
                "/api/v1/trials/%" PRId64 "/checkpoints?sortByAttr=SORT_BY_END_TIME",
                outcome->trial_id);

    json_each(c, st ? NULL : json_get(reply, "checkpoints")) {
        int64_t steps = json_i64(json_path(c, "metadata.steps_completed"), 0);

        if (strcmp(format_state(json_get(c, "state")), "COMPLETED") != 0 ||
            (last && steps < result->steps))
            continue;
        last = c;
        result->steps = steps;
        result->metadata = json_get(c, "metadata");
    }
    if (st)
        return st;
    if (!last)
        return cli_fail(cli, DET_FAILED,
                        "experiment %" PRId64 " has saved no checkpoint: there is "
                        "nothing to resume from or to compare; save one at the end of "
                        "the training, and more often on the way",
                        outcome->experiment_id);
    st = cli_get(cli, &reply, "/api/v1/checkpoints/%s",
                 json_str(json_get(last, "uuid"), ""));
    return st ? st
              : checkpoint_directory(cli, json_get(reply, "checkpoint"),
                                     &result->directory);
}

struct reading {
    struct cli *cli;
    struct run_result *result;
    det_status status;
};

static int on_line(void *arg, const char *line, size_t len)
{
    struct reading *reading = arg;
    struct cli *cli = reading->cli;
    struct json *tree;

    reading->status = json_parse(line, len, &cli->mem, &tree, cli->err);
    json_each(row, reading->status ? NULL : json_path(tree, "result.metrics")) {
        const struct json *metrics = json_get(row, "metrics");
        const struct json *values = json_get(metrics, "validation_metrics");
        struct proof_report report = {
            .group = json_str(json_get(row, "group"), ""),
            .steps = json_i64(json_get(row, "totalBatches"), 0),
            .values = values ? values : json_get(metrics, "avg_metrics"),
            .order = reading->result->reports.all.count};

        if (!vec_push(&reading->result->reports.all, report))
            reading->status = cli_nomem(cli);
    }
    return reading->status != DET_OK;
}

static det_status read_result(struct cli *cli, const struct proof_outcome *outcome,
                              struct run_result *ret_result)
{
    struct reading reading = {cli, ret_result, DET_OK};
    const char *path = arena_printf(
        &cli->mem, "/api/v1/trials/metrics/trial_metrics?trialIds=%" PRId64,
        outcome->trial_id);
    det_status st = path ? read_checkpoint(cli, outcome, ret_result) : cli_nomem(cli);

    if (!st)
        st = cli_stream(cli, path, on_line, &reading);
    return st ? st : reading.status;
}

/* Adds the comparison with the first undisturbed run to `parts`. */
static det_status compare_results(struct proof *proof, struct run_result *undisturbed,
                                  const struct proof_outcome *outcome,
                                  struct proof_parts *parts)
{
    struct cli *cli = proof->cli;
    struct run_result other = {0};
    size_t before = parts->all.count;
    det_status st = read_result(cli, outcome, &other);
    struct proof_directories directories = {io_system(), undisturbed->directory,
                                            other.directory};

    if (!st)
        st = proof_compare_files(&directories, &proof->rules, &cli->mem, parts,
                                 cli->err);
    if (!st)
        st = proof_compare_reports(&undisturbed->reports, &other.reports, &proof->rules,
                                   &cli->mem, parts, cli->err);
    for (size_t i = before; i < parts->all.count; i++)
        parts->all.at[i].experiment_id = outcome->experiment_id;
    vec_done(&other.reports.all);
    return st;
}

/* ---- the command ----------------------------------------------------------------- */

/* Chooses what is not compared, by the first checkpoint. */
static det_status choose_rules(struct proof *proof, const struct run_result *result)
{
    CLEANUP(manifest_done) struct manifest files = {0};
    const struct proof_options *options = proof->cli->in->options;
    struct cli *cli = proof->cli;
    det_status st = DET_OK;

    if (!proof->profile) {
        st = manifest_walk(io_system(), result->directory, &cli->mem, &files, cli->err);
        proof->profile = proof_profile_detect(result->metadata, &files);
    }
    proof->rules = (struct proof_rules){.files = options->ignored_files,
                                        .metrics = options->ignored_metrics,
                                        .keys = options->ignored_keys};
    return st ? st
              : proof_rules_add(proof->profile, result->metadata, &cli->mem,
                                &proof->rules, cli->err);
}

static det_status run_undisturbed(struct proof *proof, const char **ret_name,
                                  struct run_result *ret_result)
{
    CLEANUP(buf_done) struct buf config = BUF_LIMITED(CONFIG_LIMIT);
    struct proof_outcome outcome = {0};
    det_status st = load_undisturbed(proof, &config, ret_name);

    if (!st)
        st = create_experiment(proof, &config, &outcome.experiment_id);
    if (st)
        return st;
    cli_note(proof->cli, "experiment %" PRId64 " runs undisturbed",
             outcome.experiment_id);
    st = proof_watch(proof, &outcome);
    if (!st)
        st = read_result(proof->cli, &outcome, ret_result);
    if (!st)
        st = choose_rules(proof, ret_result);
    proof->steps = ret_result->steps;
    proof->framework = json_str(json_get(ret_result->metadata, "framework"), NULL);
    return st;
}

static det_status run_killed(struct proof *proof, const char *name,
                             struct run_result *undisturbed)
{
    CLEANUP(buf_done) struct buf config = BUF_LIMITED(CONFIG_LIMIT);
    struct proof_outcome outcome = {.role = PROOF_KILLED};
    det_status st = load_fork(proof, name, "killed and resumed", &config);

    if (!st)
        st = create_experiment(proof, &config, &outcome.experiment_id);
    if (st)
        return st;
    cli_note(proof->cli, "experiment %" PRId64 " is killed and resumed",
             outcome.experiment_id);
    st = proof_watch(proof, &outcome);
    return st ? st : compare_results(proof, undisturbed, &outcome, &proof->parts);
}

static det_status find_gpus(struct proof *proof)
{
    struct json *reply;
    det_status st = cli_get(proof->cli, &reply, "/api/v1/agents");

    if (st)
        return st;
    json_each(agent, json_get(reply, "agents"))
        json_each(slot, json_get(agent, "slots"))
            if (strcmp(json_str(json_path(slot, "device.type"), ""), "TYPE_CPU") != 0)
                proof->has_gpus = true;
    return DET_OK;
}

/* Without a twin, the result is shown without a cause. */
static det_status run_twin(struct proof *proof, const char *name,
                           struct run_result *undisturbed)
{
    CLEANUP(buf_done) struct buf config = BUF_LIMITED(CONFIG_LIMIT);
    struct proof_outcome outcome = {.role = PROOF_TWIN};
    struct cli *cli = proof->cli;
    det_status st = load_fork(proof, name, "undisturbed again", &config);

    if (!st)
        st = create_experiment(proof, &config, &outcome.experiment_id);
    if (!st) {
        cli_note(cli,
                 "the results differ: experiment %" PRId64
                 " runs undisturbed again, to find the cause",
                 outcome.experiment_id);
        st = proof_watch(proof, &outcome);
    }
    if (!st)
        st = compare_results(proof, undisturbed, &outcome, &proof->twin);
    if (!st)
        proof->twin_id = outcome.experiment_id;
    if (!st || st == DET_NOMEM || proof->is_interrupted)
        return st;
    cli_note(cli, "the cause of the difference stays unknown: %s", cli->err->text);
    *cli->err = (struct err){0};
    return DET_OK;
}

static det_status run_experiments(struct proof *proof)
{
    struct run_result undisturbed = {0};
    const char *name = "";
    int64_t before = -1;
    det_status st = run_undisturbed(proof, &name, &undisturbed);

    for (int i = 0; !st && i < ROUNDS_MOST && proof->landed < proof->kills &&
                    proof->landed > before && proof_is_same(&proof->parts);
         i++) {
        before = proof->landed;
        st = run_killed(proof, name, &undisturbed);
    }
    if (!st && !proof_is_same(&proof->parts))
        st = find_gpus(proof);
    if (!st && !proof_is_same(&proof->parts))
        st = run_twin(proof, name, &undisturbed);
    vec_done(&undisturbed.reports.all);
    return st;
}

static det_status choose_seed(struct proof *proof, int64_t wanted)
{
    det_status st = DET_OK;

    proof->seed = (uint64_t)wanted;
    if (wanted == CLI_UNSET) {
        st = rng_secret(&proof->seed, sizeof(proof->seed), proof->cli->err);
        proof->seed %= SEED_MOST; /* short enough to type */
    }
    return st;
}

det_status run_resume_proof(struct cli *cli, const struct cli_invocation *in)
{
    const struct proof_options *options = in->options;
    struct proof proof = {.cli = cli, .kills = options->kills};
    det_status st = options->profile
                        ? proof_profile_find(options->profile, &proof.profile, cli->err)
                        : DET_OK;

    if (!st)
        st = cli_connect(cli);
    if (!st)
        st = choose_seed(&proof, options->seed);
    if (st)
        return st;
    interrupt_hold(&proof.hold);
    interrupt_let_stop(&proof.hold);
    st = run_experiments(&proof);
    if (proof.is_interrupted)
        cli_note(cli, "interrupted: stopping the experiments");
    for (size_t i = 0; i < proof.experiments.count; i++)
        proof_watch_clean_up(&proof, proof.experiments.at[i]);
    if (!st)
        st = proof_show(&proof);
    interrupt_release(&proof.hold);
    proof_timeline_done(&proof.timeline);
    proof_parts_done(&proof.parts);
    proof_parts_done(&proof.twin);
    vec_done(&proof.experiments);
    return st;
}
