// SPDX-License-Identifier: Apache-2.0
// experiment_search.js - the searcher's picture: what was tried, what came of it, what mattered.
//
// One reply of the master (trials-table) feeds all of it; a brush on an axis of the parallel
// coordinates counts in every picture and in the table below, and stands in the address.

import {fill, h} from "../dom.js";
import {number, plural, value as shown} from "../format.js";
import {LINES_MOST, parallel} from "../parallel.js";
import {legend, rampColour, scatter} from "../picture.js";
import {go, link, readQuery, setQuery} from "../router.js";
import {isInside, readBrushes, readSearch, tendency, verdict, writeBrushes} from "../search_data.js";
import {dataTable} from "../table.js";
import {badge, button, empty, select} from "../widgets.js";

const AXES_MOST = 10; // more are chosen by how much they explain
const SCATTERS_MOST = 12;
const ROWS_MOST = 50;

const shareOf = (axis) => axis.importance?.share ?? -1;

// ---- importance ----

function importanceRow(axis, search) {
    const share = axis.importance?.share;
    const words = tendency(axis.importance, search.smallerIsBetter);
    const isKnown = share !== null && share !== undefined;
    return h("tr", h("th", {scope: "row"}, axis.name), h("td", {class: "bar-cell"}, h("span", {class: "share-bar", "aria-hidden": "true"}, h("span", {style: {width: `${Math.max(isKnown ? share * 100 : 0, isKnown ? 0.5 : 0)}%`}}))),
        h("td", {class: "num"}, isKnown ? `${Math.round(share * 100)} %` : "–"), h("td", {class: "dim phone-off"}, words || (axis.kind === "category" ? "categories" : isKnown && share > 0.1 ? "best in between" : "")));
}

function importanceCard(search) {
    const sorted = [...search.axes].sort((a, b) => shareOf(b) - shareOf(a));
    const isFew = search.judged < search.fewTrials;
    return h("section", {class: "card"}, h("h2", "What mattered"), verdict(search) && h("p", verdict(search)),
        h("table", {class: "importance"}, h("caption", {class: "hidden"}, `How much of ${search.metric.name} each hyperparameter explains`),
            h("thead", {class: "hidden"}, h("tr", ["Hyperparameter", "", "Share explained", "Tendency"].map((text) => h("th", {scope: "col", class: text === "Tendency" && "phone-off"}, text)))),
            h("tbody", sorted.map((axis) => importanceRow(axis, search)))),
        isFew && h("p", {class: "note"}, h("strong", "Few trials. "), `${plural(search.judged, "trial has", "trials have")} a metric so far; take this as a hint, not as a finding, until there are about ${search.fewTrials}.`),
        h("details", h("summary", "How this is worked out"), h("p", "For each hyperparameter on its own: trials with alike values are put together, and the share is how much of what differs between the trials’ ranks lies between those groups (an analysis of variance on ranks), less what chance alone would give. Values that matter only together with another do not show here: look for them in the picture.")));
}

// ---- the tab ----

// tools: {experiment, config, table() -> reply, trialAddress(id)}; gives {update(), destroy()}.
export function searchTab(place, tools) {
    let search = null;
    let brushes = null;
    let order = readQuery().axes === "configured" ? "configured" : "importance";
    const show = legend();
    const pick = (trial) => go(tools.trialAddress(trial.id));
    const picture = parallel({label: "Parallel coordinates: every line is a trial", onPick: pick, onBrush: brushed});
    const count = h("span", {role: "status"});
    const clear = button("Show all", () => brushed({}, true, true), {kind: "plain"});
    const scatters = h("div", {class: "scatters"});
    const pair = {x: null, y: null, picture: scatter({label: "Two hyperparameters", height: 320, onPick: pick}), controls: h("div", {class: "bar"})};
    const side = h("div");
    const fixed = h("p", {class: "dim"});
    const thinned = h("p", {class: "dim"});
    const small = new Map();
    const rows = dataTable({label: "Trials inside the brushes, the best first", columns: [], href: (row) => tools.trialAddress(row.id)});
    const nothing = h("div");
    const body = h("div", {class: "pile"},
        h("section", {class: "card"},
            h("div", {class: "bar"}, h("h2", "The search"), h("span", {class: "grow"}), count, clear,
                select([["importance", "Axes by importance"], ["configured", "Axes as configured"]], order, (value) => {
                    order = value;
                    setQuery({axes: value === "configured" ? value : null});
                    draw();
                }, {"aria-label": "Order of the axes"}), show.node),
            picture.node, thinned, fixed,
            h("details", {class: "dim"}, h("summary", "How to use it"), h("p", "Drag along an axis to keep only the trials inside; drag the brush to move it, its ends to change it, click to take it away. With the keyboard: Tab to an axis; up and down move the brush, with Shift they resize it, Escape takes it away, left and right go to the next axis. Point at a line to see its trial, click to go there. The address keeps the brushes."))),
        h("div", {class: "cards"}, side, h("section", {class: "card pair"}, h("div", {class: "bar"}, h("h2", "Two at a time"), h("span", {class: "grow"}), pair.controls), pair.picture.node)),
        h("section", {class: "card"}, h("h2", "Each against the metric"), scatters),
        h("section", {class: "card"}, h("h2", "Trials"), rows.node));
    fill(place, nothing, body);

    function brushed(next, isDone, isFresh) {
        brushes = next;
        if (isDone) setQuery({brush: writeBrushes(search, brushes)});
        if (isFresh) picture.update(search, axes(), brushes);
        drawRest();
    }

    // The most important one stands beside the metric.
    function axes() {
        const top = new Set([...search.axes].sort((a, b) => shareOf(b) - shareOf(a)).slice(0, AXES_MOST));
        const chosen = search.axes.filter((axis) => top.has(axis));
        return order === "configured" ? chosen : chosen.sort((a, b) => shareOf(a) - shareOf(b));
    }

    function columns() {
        return [
            {id: "id", label: "Trial", isNumber: true, cell: (row) => link(tools.trialAddress(row.id), {}, row.id)},
            {id: "rank", label: search.metric.name, isNumber: true, cell: (row) => h("span", {class: "metric-cell"}, row.rank !== null && h("span", {class: "dot", "aria-hidden": "true", style: {background: rampColour(row.rank)}}), row.best === null ? "–" : number(row.best))},
            {id: "state", label: "State", cell: (row) => badge(row.state)},
            {id: "steps", label: "Steps", isNumber: true, cell: (row) => number(row.steps)},
            ...search.axes.map((axis) => ({id: "h." + axis.name, label: axis.name, isNumber: axis.kind !== "category", cell: (row) => row.values[axis.name] === null ? "–" : shown(row.values[axis.name])})),
        ];
    }

    function drawPair() {
        const all = [...search.axes, search.metric];
        const sorted = [...search.axes].sort((a, b) => shareOf(b) - shareOf(a));
        const axisOf = (name, fallback) => all.find((axis) => axis.name === name) || fallback;
        const x = axisOf(pair.x, sorted[0]);
        const y = axisOf(pair.y, sorted[1] || search.metric);
        if (!pair.controls.firstChild) {
            const choice = (key, label, current) => select(all.map((axis) => axis.name), current.name, (value) => {
                pair[key] = value;
                drawPair();
            }, {"aria-label": label});
            fill(pair.controls, choice("x", "Across", x), h("span", {class: "dim"}, "×"), choice("y", "Upwards", y));
        }
        pair.picture.node.setAttribute("aria-label", `Trials by ${x.name}, across, and ${y.name}, upwards; coloured by ${search.metric.name}`);
        pair.picture.update(search, x, y, brushes);
    }

    function drawScatters() {
        const sorted = [...search.axes].sort((a, b) => shareOf(b) - shareOf(a)).slice(0, SCATTERS_MOST);
        const names = sorted.map((axis) => axis.name);
        if (names.join("\n") !== [...small.keys()].join("\n")) {
            for (const one of small.values()) one.destroy();
            small.clear();
            for (const axis of sorted) small.set(axis.name, scatter({label: `${search.metric.name} by ${axis.name}`, onPick: pick}));
            fill(scatters, sorted.map((axis) => h("figure", h("figcaption", axis.name), small.get(axis.name).node)));
        }
        for (const axis of sorted) small.get(axis.name).update(search, axis, search.metric, brushes);
    }

    function drawRest() {
        const inside = search.trials.filter((trial) => isInside(trial, search, brushes)).sort((a, b) => (b.rank ?? -1) - (a.rank ?? -1) || a.id - b.id);
        const isBrushed = Object.keys(brushes).length > 0;
        fill(thinned, inside.length > LINES_MOST && `${number(LINES_MOST)} of ${number(inside.length)} lines are drawn: the best, and an even choice of the rest. A brush brings out those inside it.`);
        fill(count, isBrushed ? `${number(inside.length)} of ${plural(search.trials.length, "trial")} inside` : plural(search.trials.length, "trial"));
        clear.hidden = !isBrushed;
        rows.rows(inside.slice(0, ROWS_MOST));
        drawPair();
        drawScatters();
    }

    function words() {
        if (!search.trials.length) return "No trial has begun yet. The picture draws itself as they come.";
        if (search.trials.length === 1) return "There is one trial, so there is nothing to compare: the picture of a search needs several trials with different hyperparameters.";
        return search.axes.length ? "" : "All trials have the same hyperparameters, so there is nothing to compare.";
    }

    function draw() {
        const text = words();
        fill(nothing, text && empty(h("p", text)));
        body.hidden = !!text;
        if (text) return;
        brushes ??= readBrushes(search, readQuery().brush);
        rows.columns(columns());
        fill(side, importanceCard(search));
        fill(fixed, search.fixed.length > 0 && ["The same in all trials: ", search.fixed.map(([name, value], i) => [i ? ", " : "", h("code", `${name} = ${shown(value)}`)]), "."]);
        picture.update(search, axes(), brushes);
        drawRest();
    }

    return {
        update(reply) {
            search = readSearch(reply, tools.config());
            draw();
        },
        destroy() {
            show.destroy();
            picture.destroy();
            pair.picture.destroy();
            for (const one of small.values()) one.destroy();
        },
    };
}
