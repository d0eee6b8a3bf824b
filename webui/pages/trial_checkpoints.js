// SPDX-License-Identifier: Apache-2.0
// trial_checkpoints.js - the checkpoints of a trial.  ?checkpoint=UUID opens one.

import {get} from "../api.js";
import {fill, h} from "../dom.js";
import {ago, bytes, number, plural, stateName, time} from "../format.js";
import {rightsOnExperiment} from "../rights.js";
import {readQuery, setQuery} from "../router.js";
import {dataTable} from "../table.js";
import {badge, button, copyButton, dialog, empty, facts, icon, toast, toastError} from "../widgets.js";
import {checkpointFiles} from "./checkpoint_files.js";
import {forkTrial, throttleInBackground} from "./trial.js";

const FORMATS = [["tgz", "tar.gz"], ["zip", "zip"], ["tar", "tar"]];
const filesOf = (row) => Object.entries(row.resources || {}).filter(([name]) => !name.endsWith("/"));
const sizeOf = (row) => filesOf(row).reduce((sum, [, size]) => sum + Number(size), 0);
const isWhole = (row) => stateName(row.state) === "COMPLETED";

const download = (row, format, label) => h("a", {class: "button", href: `/checkpoints/${row.uuid}?format=${format}`, download: `checkpoint-${row.uuid}.${format}`,
    "aria-label": `Download checkpoint ${row.uuid.slice(0, 8)} as ${label}`}, icon("download"), label);

function details(row, state) {
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
    let rows = [];
    const metric = state.config.searcher?.metric || "Metric";
    const info = h("p", {class: "dim"});
    const body = h("div");
    async function open(row) {
        setQuery({checkpoint: row.uuid});
        await details(row, state);
        setQuery({checkpoint: null});
    }
    const table = dataTable({
        label: "Checkpoints", key: (row) => row.uuid, onOpen: (row) => void open(row),
        columns: [
            {id: "uuid", label: "Checkpoint", cell: (row) => h("code", {title: row.uuid}, row.uuid.slice(0, 8))},
            {id: "steps", label: "Steps", isNumber: true, cell: (row) => number(row.metadata?.steps_completed)},
            {id: "metric", label: metric, isNumber: true, class: "phone-off", cell: (row) => row.training?.searcherMetric === null || row.training?.searcherMetric === undefined ? "–" : number(row.training.searcherMetric)},
            {id: "time", label: "Saved", isQuiet: true, class: "phone-off", cell: (row) => h("span", {title: time(row.reportTime)}, ago(row.reportTime))},
            {id: "size", label: "Size", isNumber: true, cell: (row) => isWhole(row) ? bytes(sizeOf(row)) : "–"},
            {id: "files", label: "Files", isNumber: true, class: "phone-off", cell: (row) => isWhole(row) ? number(filesOf(row).length) : "–"},
            {id: "state", label: "State", cell: (row) => badge(row.state)},
            {id: "actions", label: h("span", {class: "hidden"}, "Actions"), cell: (row) => h("span", {class: "bar nowrap"},
                button("Show", () => void open(row), {"aria-label": `Show checkpoint ${row.uuid.slice(0, 8)}`}), isWhole(row) && download(row, "tgz", "Download"))},
        ],
    });
    const read = async () => {
        const reply = await get(`/api/v1/trials/${state.trial.id}/checkpoints`, {sortByAttr: "SORT_BY_BATCH_NUMBER", orderBy: "ORDER_BY_DESC", limit: 500}, {signal: ctx.signal});
        rows = reply.checkpoints;
        table.rows(rows);
        const whole = rows.filter(isWhole);
        fill(info, `${plural(whole.length, "checkpoint")}, ${bytes(whole.reduce((sum, row) => sum + sizeOf(row), 0))}`,
            rows.length > whole.length && `; ${rows.length - whole.length} deleted by the experiment's policy or manually`);
        fill(body, rows.length ? table.node : empty("No checkpoint has been saved yet."));
    };
    fill(place, info, body);
    await read();
    const again = throttleInBackground(read, 1000);
    const wanted = readQuery().checkpoint;
    const found = wanted && rows.find((row) => row.uuid === wanted);
    if (found) void open(found);
    else if (wanted) toast("This trial has no such checkpoint.", "bad");
    return {checkpoints: again};
}
