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
    jw_array(w, "differences");
    for (size_t i = 0; i < part->differences.count; i++) {
        const struct proof_difference *it = &part->differences.at[i];

        jw_object(w, NULL);
        jw_str(w, is_files ? "file" : "name", it->name);
        jw_i64(w, is_files ? "offset" : "batches", it->place);
        write_value(w, "undisturbed", it->undisturbed, !is_files);
        write_value(w, "killed", it->killed, !is_files);
        jw_i64(w, "count", (int64_t)it->count);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
}

static det_status show_json(struct proof *proof, bool is_proven)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    struct cli *cli = proof->cli;
    struct json *tree;
    det_status st;

    jw_object(&w, NULL);
    jw_bool(&w, "proven", is_proven);
    jw_bool(&w, "same", proof_is_same(&proof->parts));
    jw_i64(&w, "kills", proof->kills);
    jw_i64(&w, "landed", proof->landed);
    jw_i64(&w, "resumed", proof->resumed);
    jw_i64(&w, "seed", (int64_t)proof->seed);
    jw_i64(&w, "batches", proof->steps);
    jw_array(&w, "experiments");
    for (size_t i = 0; i < proof->experiments.count; i++)
        jw_i64(&w, NULL, proof->experiments.at[i]);
    jw_end_array(&w);
    jw_array(&w, "parts");
    for (size_t i = 0; i < proof->parts.all.count; i++)
        write_part(&w, &proof->parts.all.at[i]);
    jw_end_array(&w);
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

static det_status show_parts(struct proof *proof)
{
    static const struct table_column columns[] = {{"COMPARED", TABLE_LEFT},
                                                  {"", TABLE_LEFT},
                                                  {"EXPERIMENTS", TABLE_LEFT},
                                                  {"RESULT", TABLE_LEFT},
                                                  {0}};
    struct cli *cli = proof->cli;
    struct table table;
    char steps[PROOF_COUNT];

    proof_show_count(proof->steps, steps);
    table_init(&table, &cli->mem, columns);
    for (size_t i = 0; i < proof->parts.all.count; i++) {
        const struct proof_part *part = &proof->parts.all.at[i];

        table_add(&table,
                  part->group
                      ? arena_printf(&cli->mem, "%s metrics", part->group)
                      : arena_printf(&cli->mem, "checkpoint of batch %s", steps));
        table_add(&table, format_amount(cli, part));
        table_add(&table, arena_printf(&cli->mem, "%" PRId64 " and %" PRId64,
                                       proof->experiments.at[0], part->experiment_id));
        table_add_colored(&table, part->differences.count ? "DIFFERENT" : "the same",
                          part->differences.count ? COLOR_RED : COLOR_GREEN);
    }
    return cli_print_table(cli, &table);
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
    if (!it->undisturbed || !it->killed)
        cli_put(cli, "  file '%s' is only in the checkpoint of the %s run\n", it->name,
                it->killed ? "killed" : "undisturbed");
    else if (strcmp(it->undisturbed, it->killed) != 0)
        cli_put(cli,
                "  file '%s' differs from byte %" PRId64
                " on; it has %s undisturbed, %s killed\n",
                it->name, it->place, it->undisturbed, it->killed);
    else
        cli_put(cli, "  file '%s' differs from byte %" PRId64 " on (of %s)\n", it->name,
                it->place, it->killed);
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

static det_status show_text(struct proof *proof, bool is_proven)
{
    struct cli *cli = proof->cli;
    det_status st = show_parts(proof);

    if (st)
        return st;
    cli_put(cli, "\n");
    if (is_proven)
        cli_put(cli,
                "Proven: killed %" PRId64 " time%s, resumed from a checkpoint %" PRId64
                " time%s, it ended with the same bits (seed %" PRIu64 ").\n",
                proof->landed, proof->landed == 1 ? "" : "s", proof->resumed,
                proof->resumed == 1 ? "" : "s", proof->seed);
    else if (!proof_is_same(&proof->parts))
        cli_put(cli, "Not proven: it does not resume exactly (seed %" PRIu64 ").\n",
                proof->seed);
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
    show_differences(proof);
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
