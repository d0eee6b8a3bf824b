/* SPDX-License-Identifier: Apache-2.0 */
/* proof_show.c - prints a table, one sentence and the differences. */
#include "cli/proof/proof_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/cli.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/output/term.h"
#include "cli/proof/proof.h"
#include "cli/proof/proof_compare.h"
#include "data/json/json.h"

enum { DIFFERENCES_MOST = 20, VALUE_MOST = 60 };

void proof_show_count(int64_t count, char text[PROOF_COUNT])
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRId64, count);
    size_t at = 0;

    for (size_t i = 0; i < len; i++) {
        if (i > (digits[0] == '-') && (len - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
}

static enum proof_cause find_cause(const struct proof *proof,
                                   struct proof_origin *ret_origin)
{
    struct proof_evidence evidence = {.killed = &proof->parts,
                                      .twin = proof->twin_id ? &proof->twin : NULL,
                                      .first_resume = proof->first_resume,
                                      .may_agree_by_chance =
                                          proof->has_gpus && !proof->is_deterministic};

    return proof_find_cause(&evidence, ret_origin);
}

/* ---- for programs ---------------------------------------------------------------- */

static void write_value(struct json_writer *w, const char *key, const char *text,
                        bool is_json)
{
    if (!text)
        jw_null(w, key);
    else if (is_json)
        jw_raw(w, key, text);
    else
        jw_str(w, key, text);
}

static void write_part(struct json_writer *w, const struct proof_part *part)
{
    bool is_files = !part->group;

    jw_object(w, NULL);
    jw_str(w, "what", is_files ? "checkpoint" : "metrics");
    jw_str(w, "group", part->group);
    jw_i64(w, "experiment", part->experiment_id);
    jw_i64(w, is_files ? "files" : "reports", (int64_t)part->items);
    if (is_files)
        jw_i64(w, "bytes", (int64_t)part->size_bytes);
    jw_i64(w, "leftOut", (int64_t)(part->left_out + part->unplaced));
    if (is_files) {
        jw_array(w, "sameContents");
        for (size_t i = 0; i < part->same_contents.count; i++)
            jw_str(w, NULL, part->same_contents.at[i]);
        jw_end_array(w);
    }
    jw_array(w, "differences");
    for (size_t i = 0; i < part->differences.count; i++) {
        const struct proof_difference *it = &part->differences.at[i];

        jw_object(w, NULL);
        jw_str(w, is_files ? "file" : "name", it->name);
        jw_i64(w, is_files ? "offset" : "batches", it->place);
        if (is_files)
            jw_str(w, "where", it->where);
        write_value(w, "undisturbed", it->undisturbed, !is_files);
        write_value(w, "killed", it->killed, !is_files);
        jw_i64(w, "count", (int64_t)it->count);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
}

static void write_parts(struct json_writer *w, const struct proof_parts *parts)
{
    jw_array(w, "parts");
    for (size_t i = 0; i < parts->all.count; i++)
        write_part(w, &parts->all.at[i]);
    jw_end_array(w);
}

static void write_twin(struct json_writer *w, const struct proof *proof)
{
    if (!proof->twin_id) {
        jw_null(w, "twin");
        return;
    }
    jw_object(w, "twin");
    jw_i64(w, "experiment", proof->twin_id);
    jw_bool(w, "same", proof_is_same(&proof->twin));
    write_parts(w, &proof->twin);
    jw_end_object(w);
}

static det_status show_json(struct proof *proof, bool is_proven)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    struct cli *cli = proof->cli;
    struct proof_origin origin;
    struct json *tree;
    det_status st;

    jw_object(&w, NULL);
    jw_bool(&w, "proven", is_proven);
    jw_bool(&w, "same", proof_is_same(&proof->parts));
    jw_str(&w, "cause", proof_cause_name(find_cause(proof, &origin)));
    jw_i64(&w, "kills", proof->kills);
    jw_i64(&w, "landed", proof->landed);
    jw_i64(&w, "resumed", proof->resumed);
    jw_i64(&w, "seed", (int64_t)proof->seed);
    jw_i64(&w, "batches", proof->steps);
    jw_str(&w, "profile", proof_profile_name(proof->profile));
    jw_array(&w, "experiments");
    for (size_t i = 0; i < proof->experiments.count; i++)
        jw_i64(&w, NULL, proof->experiments.at[i]);
    jw_end_array(&w);
    write_parts(&w, &proof->parts);
    write_twin(&w, proof);
    jw_end_object(&w);
    if (text.status)
        return cli_nomem(cli);
    st = json_parse(text.data, text.len, &cli->mem, &tree, cli->err);
    return st ? st : cli_print_json(cli, tree);
}

/* ---- for people ------------------------------------------------------------------ */

static const char *format_amount(struct cli *cli, const struct proof_part *part)
{
    char items[PROOF_COUNT], left[PROOF_COUNT];
    const char *plural = part->items == 1 ? "" : "s";

    proof_show_count((int64_t)part->items, items);
    proof_show_count((int64_t)(part->left_out + part->unplaced), left);
    return arena_printf(
        &cli->mem, "%s %s%s%s%s%s%s%s", items, part->group ? "report" : "file", plural,
        part->group ? "" : ", ", part->group ? "" : format_size(cli, part->size_bytes),
        part->left_out + part->unplaced ? " (" : "",
        part->left_out + part->unplaced ? left : "",
        part->left_out + part->unplaced ? " left out)" : "");
}

static void add_rows(struct proof *proof, const struct proof_parts *parts,
                     const char *what, struct table *table)
{
    struct cli *cli = proof->cli;
    char steps[PROOF_COUNT];

    proof_show_count(proof->steps, steps);
    for (size_t i = 0; i < parts->all.count; i++) {
        const struct proof_part *part = &parts->all.at[i];

        table_add(table,
                  part->group
                      ? arena_printf(&cli->mem, "%s metrics", part->group)
                      : arena_printf(&cli->mem, "checkpoint of batch %s", steps));
        table_add(table, format_amount(cli, part));
        table_add(table,
                  arena_printf(&cli->mem, "%" PRId64 " and %" PRId64 "%s",
                               proof->experiments.at[0], part->experiment_id, what));
        table_add_colored(table, part->differences.count ? "DIFFERENT" : "the same",
                          part->differences.count ? COLOR_RED : COLOR_GREEN);
    }
}

static det_status show_parts(struct proof *proof)
{
    static const struct table_column columns[] = {{"COMPARED", TABLE_LEFT},
                                                  {"", TABLE_LEFT},
                                                  {"EXPERIMENTS", TABLE_LEFT},
                                                  {"RESULT", TABLE_LEFT},
                                                  {0}};
    struct table table;

    table_init(&table, &proof->cli->mem, columns);
    add_rows(proof, &proof->parts, "", &table);
    add_rows(proof, &proof->twin, ", both undisturbed", &table);
    return cli_print_table(proof->cli, &table);
}

/* Long values are cut: a value may be a whole report. */
static const char *cut_value(struct cli *cli, const char *text)
{
    const char *cut = text ? arena_printf(&cli->mem, "%.*s%s", VALUE_MOST, text,
                                          strlen(text) > VALUE_MOST ? "..." : "")
                           : "nothing";

    return cut ? cut : "";
}

static void show_file(struct cli *cli, const struct proof_difference *it)
{
    const char *where =
        it->where ? arena_printf(&cli->mem, "; its contents differ at %s", it->where)
                  : "";

    if (!it->undisturbed || !it->killed)
        cli_put(cli, "  file '%s' is only in the checkpoint of the %s run\n", it->name,
                it->killed ? "killed" : "undisturbed");
    else if (strcmp(it->undisturbed, it->killed) != 0)
        cli_put(cli,
                "  file '%s' differs from byte %" PRId64
                " on; it has %s undisturbed, %s killed%s\n",
                it->name, it->place, it->undisturbed, it->killed, where ? where : "");
    else
        cli_put(cli, "  file '%s' differs from byte %" PRId64 " on (of %s)%s\n",
                it->name, it->place, it->killed, where ? where : "");
}

/* Files whose bytes differ for other reasons than their contents. */
static void show_same_contents(struct proof *proof)
{
    struct cli *cli = proof->cli;

    for (size_t i = 0; i < proof->parts.all.count; i++) {
        const struct proof_part *part = &proof->parts.all.at[i];

        for (size_t k = 0; k < part->same_contents.count; k++)
            cli_put(cli,
                    "file '%s' has other bytes, but the same contents: its format "
                    "writes equal objects in several ways\n",
                    part->same_contents.at[k]);
    }
    if (strcmp(proof_profile_name(proof->profile), "none") != 0)
        cli_put(cli,
                "profile '%s': times and paths of this framework are left out "
                "(--profile none compares them)\n",
                proof_profile_name(proof->profile));
}

static void show_metric(struct cli *cli, const struct proof_part *part,
                        const struct proof_difference *it)
{
    char steps[PROOF_COUNT], count[PROOF_COUNT], all[PROOF_COUNT];

    proof_show_count(it->place, steps);
    proof_show_count((int64_t)it->count, count);
    proof_show_count((int64_t)part->items, all);
    cli_put(cli, "  %s %s at batch %s: %s undisturbed, %s killed (%s of %s reports)\n",
            part->group, it->name ? it->name : "report", steps,
            cut_value(cli, it->undisturbed), cut_value(cli, it->killed), count, all);
}

static void show_differences(struct proof *proof)
{
    struct cli *cli = proof->cli;
    size_t shown = 0, left = 0;

    for (size_t i = 0; i < proof->parts.all.count; i++) {
        const struct proof_part *part = &proof->parts.all.at[i];

        for (size_t k = 0; k < part->differences.count; k++) {
            const struct proof_difference *it = &part->differences.at[k];

            if (shown >= DIFFERENCES_MOST) {
                left++;
            } else if (part->group) {
                show_metric(cli, part, it);
                shown++;
            } else {
                show_file(cli, it);
                shown++;
            }
        }
    }
    if (left)
        cli_put(cli, "  and %zu more; --json lists them all\n", left);
}

/* "from batch 3 on (training loss)" */
static const char *format_origin(struct cli *cli, const struct proof_origin *origin)
{
    const char *text;
    char steps[PROOF_COUNT];

    proof_show_count(origin->difference->place, steps);
    text = origin->group
               ? arena_printf(
                     &cli->mem, "from batch %s on (%s %s)", steps, origin->group,
                     origin->difference->name ? origin->difference->name : "reports")
               : arena_printf(&cli->mem, "in file '%s' of the checkpoint",
                              origin->difference->name);
    return text ? text : "";
}

/* The differences that the twin does not have: the resume may be a second cause. */
static size_t count_own_differences(const struct proof *proof)
{
    size_t count = 0;

    for (size_t i = 0; i < proof->parts.all.count; i++) {
        const struct proof_part *part = &proof->parts.all.at[i];

        for (size_t k = 0; k < part->differences.count; k++)
            count += !proof_has_difference(&proof->twin, part->group,
                                           part->differences.at[k].name);
    }
    return count;
}

static void show_program(struct proof *proof, const struct proof_origin *origin)
{
    struct cli *cli = proof->cli;
    const char *const *advice = proof_advice(proof->framework);
    size_t own = count_own_differences(proof);

    cli_put(cli,
            "Not proven: the program is not deterministic, so its resume cannot be "
            "tested (seed %" PRIu64 ").\n",
            proof->seed);
    if (proof_is_same(&proof->twin))
        cli_put(cli, "The killed run differs %s: before its first kill.\n",
                format_origin(cli, origin));
    else
        cli_put(cli,
                "Experiments %" PRId64 " and %" PRId64
                " were not disturbed, and differ %s.\n",
                proof->experiments.at[0], proof->twin_id, format_origin(cli, origin));
    show_differences(proof);
    if (!proof_is_same(&proof->twin) && own)
        cli_put(cli,
                "%zu of these do not differ between the undisturbed runs: the resume "
                "may be a second cause.\n",
                own);
    cli_put(cli, "To make the program deterministic, set:\n");
    if (!proof->is_deterministic)
        cli_put(cli,
                "  - reproducibility: {deterministic: true} in the configuration; for "
                "PyTorch, TensorFlow and JAX it sets most of the rest\n");
    for (; *advice; advice++)
        cli_put(cli, "  - %s\n", *advice);
    cli_put(cli,
            "  - --ignore-metric for a metric that measures time, --ignore-file for "
            "a file that is not state\n");
}

static void show_cause(struct proof *proof)
{
    struct cli *cli = proof->cli;
    struct proof_origin origin;
    enum proof_cause cause = find_cause(proof, &origin);

    if (cause == PROOF_CAUSE_PROGRAM) {
        show_program(proof, &origin);
        return;
    }
    cli_put(cli, "Not proven: it does not resume exactly (seed %" PRIu64 ").\n",
            proof->seed);
    if (cause == PROOF_CAUSE_RESUME)
        cli_put(cli,
                "Experiment %" PRId64
                ", undisturbed again, ended with the same bits as "
                "experiment %" PRId64 ": the cause is the resume.\n",
                proof->twin_id, proof->experiments.at[0]);
    else if (cause == PROOF_CAUSE_UNSURE)
        cli_put(cli,
                "Experiment %" PRId64
                ", undisturbed again, ended with the same bits as "
                "experiment %" PRId64 ", but on GPUs that may be chance. Set "
                "reproducibility: {deterministic: true} and prove it again: if it "
                "still differs, the cause is the resume.\n",
                proof->twin_id, proof->experiments.at[0]);
    else
        cli_put(cli,
                "The second undisturbed run failed: the cause may be the resume, or "
                "a program that is not deterministic.\n");
    show_differences(proof);
}

static det_status show_text(struct proof *proof, bool is_proven)
{
    struct cli *cli = proof->cli;
    det_status st = show_parts(proof);

    if (st)
        return st;
    show_same_contents(proof);
    cli_put(cli, "\n");
    if (is_proven)
        cli_put(cli,
                "Proven: killed %" PRId64 " time%s, resumed from a checkpoint %" PRId64
                " time%s, it ended with the same bits (seed %" PRIu64 ").\n",
                proof->landed, proof->landed == 1 ? "" : "s", proof->resumed,
                proof->resumed == 1 ? "" : "s", proof->seed);
    else if (!proof_is_same(&proof->parts))
        show_cause(proof);
    else if (proof->landed >= proof->kills)
        cli_put(cli,
                "Not proven: no kill came after its first checkpoint, so it always "
                "started again.  Let it train longer, or save more often.\n");
    else
        cli_put(cli,
                "Not proven: only %" PRId64 " of %" PRId64
                " kills came before its end; everything is the same so far.  Let it "
                "train longer, or ask for fewer kills with --kills.\n",
                proof->landed, proof->kills);
    return DET_OK;
}

det_status proof_show(struct proof *proof)
{
    bool is_proven = proof->landed >= proof->kills && proof->resumed > 0 &&
                     proof_is_same(&proof->parts);

    proof->cli->exit_code = is_proven ? 0 : 1;
    return proof->cli->in->format == CLI_JSON ? show_json(proof, is_proven)
                                              : show_text(proof, is_proven);
}
