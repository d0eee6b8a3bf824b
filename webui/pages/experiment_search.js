// SPDX-License-Identifier: Apache-2.0
// experiment_search.js - the plots of a search: hyperparameters, results and importance.
//
// All plots use one reply of the master (trials-table).  A brush on an axis of the parallel coordinates applies to every
// plot and to the table below, and is part of the address.

import {fill, h} from "../dom.js";
import {number, plural, value as shown} from "../format.js";
import {LINES_MOST, parallel} from "../parallel_plot.js";
import {rampColour, rampLegend} from "../plot_canvas.js";
import {go, link, readQuery, setQuery} from "../router.js";
import {DOTS_MOST, scatter} from "../scatter_plot.js";
import {isInside, readBrushes, readSearch, tendency, verdict, writeBrushes} from "../search_data.js";
import {dataTable} from "../table.js";
import {badge, button, empty, select, shownOf} from "../widgets.js";

const AXES_MOST = 10; // of more axes, those that explain most
const SCATTERS_MOST = 12;
const ROWS_MOST = 50;

const shareOf = (axis) => axis.importance?.share ?? -1;

// ---- importance ----

function importanceRow(axis, search) {
    const share = axis.importance?.share;
    const words = tendency(axis, search);
    const isKnown = share !== null && share !== undefined;
    return h("tr", h("th", {scope: "row"}, axis.name), h("td", {class: "bar-cell"}, h("span", {class: "share-bar", "aria-hidden": "true"}, h("span", {style: {width: `${Math.max(isKnown ? share * 100 : 0, isKnown ? 0.5 : 0)}%`}}))),
        h("td", {class: "num"}, isKnown ? `${Math.round(share * 100)} %` : "–"), h("td", {class: "dim phone-off"}, words || (axis.kind === "category" ? "categorical" : "")));
}

function importanceCard(search) {
    const sorted = [...search.axes].sort((a, b) => shareOf(b) - shareOf(a));
    const isFew = search.judged < search.fewTrials;
    return h("section", {class: "card"}, h("h2", "Hyperparameter importance"), verdict(search) && h("p", verdict(search)),
        h("table", {class: "importance"}, h("caption", {class: "hidden"}, `Share of the variation in ${search.metric.name} that each hyperparameter explains`),
            h("thead", {class: "hidden"}, h("tr", ["Hyperparameter", "", "Share explained", "Tendency"].map((text) => h("th", {scope: "col", class: text === "Tendency" && "phone-off"}, text)))),
            h("tbody", sorted.map((axis) => importanceRow(axis, search)))),
        isFew && h("p", {class: "note"}, h("strong", "Few trials. "), `${plural(search.judged, "trial has", "trials have")} a metric so far. Treat this as a hint until there are about ${search.fewTrials}.`),
        h("details", h("summary", "How this is calculated"), h("p", "Each hyperparameter is examined on its own: trials with similar values form a group. Its share is the part of the variance of the trials’ ranks that lies between the groups (an analysis of variance on ranks), minus what chance alone would give. Effects of combinations do not show here: look for them in the plots.")));
}

// ---- the tab ----

// tools: {experiment, config, table() -> reply, trialAddress(id)}.  Returns {update(), destroy()}.
export function searchTab(place, tools) {
    let search = null;
    let brushes = null;
    let order = readQuery().axes === "configured" ? "configured" : "importance";
    const show = rampLegend();
    const pick = (trial) => go(tools.trialAddress(trial.id));
    const plot = parallel({label: "Parallel coordinates: every line is a trial", onPick: pick, onBrush: brushed});
    const count = h("span", {role: "status"});
    const clear = button("Show all", () => brushed({}, true, true), {kind: "plain"});
    const scatters = h("div", {class: "scatters"});
    const pair = {x: null, y: null, plot: scatter({label: "Two hyperparameters", height: 335, onPick: pick}), controls: h("div", {class: "bar"})};
    const side = h("div");
    const fixed = h("p", {class: "dim"});
    const thinned = h("p", {class: "dim"});
    const cut = {axes: h("div"), dots: h("div"), scatters: h("div"), rows: h("div")}; // how many of them are shown
    const small = new Map();
    const rows = dataTable({label: "Trials inside the brushes, best first", columns: [], href: (row) => tools.trialAddress(row.id)});
    const nothing = h("div");
    const body = h("div", {class: "pile"},
        h("section", {class: "card"},
            h("div", {class: "bar"}, h("h2", "Parallel coordinates"), h("span", {class: "grow"}), count, clear,
                select([["importance", "Axes by importance"], ["configured", "Axes as configured"]], order, (value) => {
                    order = value;
                    setQuery({axes: value === "configured" ? value : null});
                    draw();
                }, {"aria-label": "Order of the axes"}), show.node),
            plot.node, cut.axes, thinned, fixed,
            h("details", {class: "dim"}, h("summary", "How to use this plot"), h("p", "Drag along an axis to keep only the trials inside. Drag the brush to move it, drag its ends to resize it, click it to remove it. With the keyboard: Tab to an axis; Up and Down move the brush, with Shift they resize it, Escape removes it, Left and Right go to the next axis. Point at a line to see its trial; click the line to open the trial. The address includes the brushes."))),
        h("div", {class: "cards"}, side, h("section", {class: "card pair"}, h("div", {class: "bar"}, h("h2", "Two hyperparameters"), h("span", {class: "grow"}), pair.controls), pair.plot.node)),
        h("section", {class: "card"}, h("h2", "Each hyperparameter and the metric"), scatters, cut.scatters, cut.dots),
        h("section", {class: "card"}, h("h2", "Trials"), rows.node, cut.rows));
    fill(place, nothing, body);

    function brushed(next, isDone, isFresh) {
        brushes = next;
        if (isDone) setQuery({brush: writeBrushes(search, brushes)});
        if (isFresh) plot.update(search, axes(), brushes);
        drawRest();
    }

    // The most important axis is next to the metric.
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
            fill(pair.controls, choice("x", "Horizontal axis", x), h("span", {class: "dim"}, "×"), choice("y", "Vertical axis", y));
        }
        pair.plot.node.setAttribute("aria-label", `Trials by ${x.name} (horizontal) and ${y.name} (vertical), coloured by ${search.metric.name}`);
        pair.plot.update(search, x, y, brushes);
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
        fill(thinned, inside.length > LINES_MOST && `${number(LINES_MOST)} of ${number(inside.length)} lines shown: the best and an even sample of the rest. Brush an axis to see the others.`);
        fill(count, isBrushed ? `${number(inside.length)} of ${plural(search.trials.length, "trial")} inside` : plural(search.trials.length, "trial"));
        clear.hidden = !isBrushed;
        rows.rows(inside.slice(0, ROWS_MOST));
        fill(cut.rows, shownOf(ROWS_MOST, inside.length, "trials", ": the best ones"));
        fill(cut.dots, shownOf(DOTS_MOST, inside.filter((trial) => trial.rank !== null).length, "dots", " in each plot: the best and an even sample of the rest"));
        fill(cut.scatters, shownOf(SCATTERS_MOST, search.axes.length, "hyperparameters", ": the most important ones"));
        fill(cut.axes, shownOf(AXES_MOST, search.axes.length, "hyperparameters", ": the most important ones"));
        drawPair();
        drawScatters();
    }

    function emptyText() {
        if (!search.trials.length) return "No trial has started yet. The plots appear as soon as trials report.";
        if (search.trials.length === 1) return "There is one trial, so there is nothing to compare. These plots need several trials with different hyperparameters.";
        return search.axes.length ? "" : "All trials have the same hyperparameters, so there is nothing to compare.";
    }

    function draw() {
        const text = emptyText();
        fill(nothing, text && empty(h("p", text)));
        body.hidden = !!text;
        if (text) return;
        brushes ??= readBrushes(search, readQuery().brush);
        rows.columns(columns());
        fill(side, importanceCard(search));
        fill(fixed, search.fixed.length > 0 && ["The same in all trials: ", search.fixed.map(([name, value], i) => [i ? ", " : "", h("code", `${name} = ${shown(value)}`)]), "."]);
        plot.update(search, axes(), brushes);
        drawRest();
    }

    return {
        update(reply) {
            search = readSearch(reply, tools.config());
            draw();
        },
        destroy() {
            show.destroy();
            plot.destroy();
            pair.plot.destroy();
            for (const one of small.values()) one.destroy();
        },
    };
}
