// SPDX-License-Identifier: Apache-2.0
// trial_checkpoints.js - one checkpoint in a dialog, and the checkpoints of a trial.

import {h} from "../dom.js";
import {ago, bytes, number, plural, time} from "../format.js";
import {rightsOnExperiment} from "../rights.js";
import {badge, button, copyButton, dialog, facts, icon, toastError} from "../widgets.js";
import {checkpointFiles} from "./checkpoint_files.js";
import {checkpointTable, filesOf, isWhole, sizeOf} from "./checkpoint_table.js";
import {forkTrial, throttleInBackground} from "./trial.js";

const FORMATS = [["tgz", "tar.gz"], ["zip", "zip"], ["tar", "tar"]];

const download = (row, format, label) => h("a", {class: "button", href: `/checkpoints/${row.uuid}?format=${format}`, download: `checkpoint-${row.uuid}.${format}`,
    "aria-label": `Download checkpoint ${row.uuid.slice(0, 8)} as ${label}`}, icon("download"), label);

export function details(row, state) {
    const files = filesOf(row);
    return dialog(`Checkpoint ${row.uuid.slice(0, 8)}`, () => [
        facts([["UUID", h("span", {class: "bar"}, h("code", row.uuid), copyButton(row.uuid))], ["State", badge(row.state)], ["Steps", number(row.metadata?.steps_completed)],
            row.training?.searcherMetric !== null && row.training?.searcherMetric !== undefined && [state.config.searcher?.metric || "Metric", number(row.training.searcherMetric)],
            ["Saved", `${time(row.reportTime)} (${ago(row.reportTime)})`], ["Size", `${bytes(sizeOf(row))} in ${plural(files.length, "file")}`]]),
        isWhole(row) ? [
            h("div", {class: "bar checkpoint-actions"}, FORMATS.map(([format, label]) => download(row, format, label)), rightsOnExperiment(state.experiment).fork && button("Fork from here", () => forkTrial(state, row.uuid).catch(toastError), {kind: "changes"})),
            h("p", {class: "dim"}, "On the command line: ", h("code", `det checkpoint download ${row.uuid}`))] : h("p", {class: "dim"}, "Its files were deleted."),
        files.length > 0 && checkpointFiles(row.uuid, files, isWhole(row)),
        h("h3", "Metadata"), h("pre", {tabindex: 0}, JSON.stringify(row.metadata || {}, null, 2)),
    ], {wide: true});
}

export async function checkpointsTab(place, state, ctx) {
    const table = checkpointTable(place, {
        address: `/api/v1/trials/${state.trial.id}/checkpoints`, metric: state.config.searcher?.metric, experiment: state.experiment, signal: ctx.signal,
        total: () => [state.trial.checkpointCount, state.trial.totalCheckpointSize], details: (row) => details(row, state),
    });
    await table.read();
    void table.openNamed();
    return {checkpoints: throttleInBackground(table.read, 1000), trial: table.drawTop};
}
