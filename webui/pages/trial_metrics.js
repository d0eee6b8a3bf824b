// SPDX-License-Identifier: Apache-2.0
// trial_metrics.js - the charts of a trial's metrics, or of many trials with one line each.
//
// `state` is {trial, config}, or {many, config}: many = {trials: [ids], names: () => [{group, name, type}], isOver, labelOf, colorOf}.
//
// There may be thousands of metrics: one call reads the names, charts are created a page at a time, and series.js reads
// only the visible ones.  All charts share cursor and zoom.
//
// In the address: q (words that names must contain), group, metric (selected ones, several), smooth, x (steps, time, epoch),
// logx, logy, lost (0: lost steps are left out), from and to (the zoom), count (charts).
//
// Epochs come from a metric `epoch` or `epochs` of the trial, interpolated between reports.  Without it, records_per_epoch of
// the configuration and the hyperparameter global_batch_size give the steps per epoch.  Without these there is no such axis.

import {get} from "../api.js";
import {lineChart} from "../chart.js";
import {logButtons, smoothSlider, toggleButton} from "../chart_controls.js";
import {debounce, fill, h} from "../dom.js";
import {isOver, number, plural, value} from "../format.js";
import {readQuery, setQuery} from "../router.js";
import {fetchSeries, seriesFeed} from "../series.js";
import {tablePlace} from "../table.js";
import {button, dialog, empty, errorSentence, select, shownOf, toastError} from "../widgets.js";
import {throttleInBackground} from "./trial.js";

const CHARTS = 60; // created at once
const NAMES_MS = 3000;
const REFRESH_MS = 400;
const TEXTS_MOST = 200;

const PROFILER = new Set(["cpu", "memory", "gpu", "disk", "network", "timing"]); // shown in the Profiler tab
const keyOf = (row) => `${row.group}.${row.name}`;
const nothing = ({trial, many}) => (trial ? isOver(trial.state) : many.isOver()) ? "No metrics were reported." : "No metrics yet. Charts appear as soon as the trial reports.";
const isNumber = (row) => row.type === "number" || row.count > 0; // some or all reported values are numbers

async function readNames({trial, many}, ctx) {
    const names = many ? await many.names() : (await get(`/api/v1/det/trials/${trial.id}/metric-names`, {}, {signal: ctx.signal})).metricNames;
    return names.filter((row) => isNumber(row) || !PROFILER.has(row.group));
}

// The searcher's metric first, then validation, training, and other groups by name.
function inOrder(names, metric) {
    const rank = (row) => row.group === "validation" ? (row.name === metric ? 0 : 1) : row.group === "training" ? 2 : 3;
    return [...names].sort((a, b) => rank(a) - rank(b) || (a.group < b.group ? -1 : a.group > b.group ? 1 : a.name < b.name ? -1 : 1));
}

// ---- epochs ----

// Interpolates between the reported pairs of steps and epochs, in both directions.
function byPairs(x, y) {
    const pairs = [];
    for (let i = 0; i < x.length; i++) if (Number.isFinite(y[i]) && (!pairs.length || (x[i] > pairs.at(-1)[0] && y[i] > pairs.at(-1)[1]))) pairs.push([x[i], y[i]]);
    if (pairs.length < 2) return null;
    const between = (from, to) => (v) => {
        let high = pairs.findIndex((pair) => pair[from] >= v);
        if (high < 1) high = high < 0 ? pairs.length - 1 : 1;
        const [a, b] = [pairs[high - 1], pairs[high]];
        return a[to] + (v - a[from]) / (b[from] - a[from]) * (b[to] - a[to]);
    };
    return {of: between(0, 1), back: between(1, 0)};
}

export async function epochsOf({trial, config}, names, ctx) {
    if (!trial) return null; // the epochs of several trials differ
    const said = names.find((row) => /^epochs?$/.test(row.name) && (row.group === "training" || row.group === "validation"));
    if (said) {
        const {charts: [chart]} = await fetchSeries({trials: [trial.id], metrics: [keyOf(said)], points: 1000}, {signal: ctx.signal});
        const line = chart?.lines.find((one) => !one.archived);
        const found = line && byPairs(chart.x, line.y);
        if (found) return found;
    }
    const factor = Number(trial.hparams?.global_batch_size) / Number(config.records_per_epoch);
    return Number.isFinite(factor) && factor > 0 ? {of: (x) => x * factor, back: (e) => e / factor} : null;
}

const wider = ([from, to]) => [Math.max(0, from - (to - from) / 8), to + (to - from) / 8];

// ---- a set of charts that share cursor and zoom ----

function chartSet(place, {trial, many}, ctx, {x = "steps", onRange, onArchived, hasLost = true} = {}) {
    const charts = new Map(); // key -> {node, chart}
    const feed = seriesFeed({trials: many ? many.trials : [trial.id], x: x === "time" ? "time" : "steps", archived: hasLost && !many, points: 600});
    const lines = many ? {labelOf: many.labelOf, colorOf: many.colorOf, onPick: many.onPick, keyOf: (line) => String(line.trial)}
        : {legend: false, colorOf: () => 0, keyOf: (line) => line.archived ? `lost ${line.run}` : "line"};
    let look = {};
    ctx.onLeave(() => {
        feed.close();
        for (const {chart} of charts.values()) chart.destroy();
    });
    return {
        feed,
        add(row, heading) {
            const key = keyOf(row);
            const node = h("div", {class: "chart-place"});
            place.append(node);
            const chart = lineChart(node, {
                title: heading || row.name, sync: "trial", xName: "steps", labelOf: (line) => line.archived ? "" : row.name, ...lines, ...look,
                onRange: (range) => onRange(range),
            });
            charts.set(key, {node, chart});
            feed.watch(node, key, (data) => {
                onArchived?.(data.lines.filter((line) => line.archived));
                chart.update(data);
            }, (error) => error.status > 0 && chart.fail(errorSentence(error)));
        },
        clear() {
            for (const {node, chart} of charts.values()) {
                feed.unwatch(node);
                chart.destroy();
                node.remove();
            }
            charts.clear();
        },
        look(changes) {
            look = {...look, ...changes};
            for (const {chart} of charts.values()) chart.set(changes);
        },
        // Reads a little more than the visible range, so lines reach the edges.
        zoom(range, asked) {
            for (const {chart} of charts.values()) chart.zoom(range);
            feed.set({range: asked && wider(asked)});
        },
        size: () => charts.size,
    };
}

// ---- overview ----

const OVERVIEW = 4;

// The charts of the most important metrics.
export async function metricsOverview(place, state, ctx, onArchived) {
    const grid = h("div", {class: "charts few"});
    let zoom = null;
    const set = chartSet(grid, state, ctx, {onArchived, onRange: (range) => {
        zoom = range;
        set.zoom(zoom, zoom);
    }});
    const known = new Set();
    const readAll = async () => {
        const names = inOrder((await readNames(state, ctx)).filter(isNumber), state.config.searcher?.metric);
        const isLoss = (row) => /loss|error|acc/i.test(row.name) ? 0 : 1;
        const best = names.filter((row) => row.group === "validation").slice(0, 2);
        best.push(...names.filter((row) => row.group === "training").sort((a, b) => isLoss(a) - isLoss(b)).slice(0, OVERVIEW - best.length));
        if (best.length < OVERVIEW) best.push(...names.filter((row) => !best.includes(row)).slice(0, OVERVIEW - best.length));
        for (const row of best.slice(0, Math.max(0, OVERVIEW - known.size))) {
            if (known.has(keyOf(row))) continue;
            known.add(keyOf(row));
            set.add(row, `${row.group}.${row.name}`);
        }
        if (!known.size) fill(place, empty(nothing(state)));
        else if (!grid.isConnected) fill(place, grid);
    };
    await readAll();
    const more = throttleInBackground(async () => {
        if (known.size < OVERVIEW) await readAll();
    }, NAMES_MS);
    const refresh = throttleInBackground(() => set.feed.refresh(), REFRESH_MS);
    return {metrics() {
        more();
        refresh();
    }};
}

// ---- the tab ----

export async function metricsTab(place, state, ctx) {
    const query = readQuery();
    const chosen = {
        q: query.q || "", group: query.group || "", metrics: [].concat(query.metric || []), smooth: Math.min(0.99, Math.max(0, Number(query.smooth) || 0)), x: ["steps", "time", "epoch"].includes(query.x) ? query.x : "steps",
        isLogX: query.logx === "1", isLogY: query.logy === "1", hasLost: query.lost !== "0", count: Math.max(CHARTS, Number(query.count) || 0),
        range: query.from !== undefined && query.to !== undefined && Number(query.to) > Number(query.from) ? [Number(query.from), Number(query.to)] : null,
    };
    let names = await readNames(state, ctx);
    const epochs = await epochsOf(state, names, ctx);
    if (chosen.x === "epoch" && !epochs) chosen.x = "steps";

    const grid = h("div", {class: "metric-groups"});
    const info = h("p", {class: "dim", role: "status"});
    const texts = h("div");
    const moreNode = h("div", {class: "bar"});
    const isEpoch = () => chosen.x === "epoch";
    const shownRange = () => chosen.range && (isEpoch() ? chosen.range.map(epochs.of) : chosen.range);

    const set = chartSet(grid, state, ctx, {x: chosen.x, hasLost: chosen.hasLost, onRange: (range) => {
        chosen.range = range && (isEpoch() ? range.map(epochs.back) : range);
        setQuery({from: chosen.range && String(chosen.range[0]), to: chosen.range && String(chosen.range[1])});
        set.zoom(range, chosen.range);
    }});
    const looks = () => ({
        smoothing: chosen.smooth, isLogX: chosen.isLogX && chosen.x !== "time", isLogY: chosen.isLogY, isTime: chosen.x === "time",
        xName: chosen.x === "time" ? "time" : chosen.x === "epoch" ? "epoch" : "steps", xOf: isEpoch() ? epochs.of : null,
    });
    set.look({...looks(), range: shownRange()});
    if (chosen.range) set.feed.set({range: wider(chosen.range)});

    // Names must contain every word; if metrics are selected, only those.
    function wanted() {
        const words = chosen.q.toLowerCase().split(/\s+/).filter(Boolean);
        const only = new Set(chosen.metrics);
        return inOrder(names.filter(isNumber), state.config.searcher?.metric).filter((row) => (!chosen.group || row.group === chosen.group) &&
            (!only.size || only.has(keyOf(row))) && words.every((word) => keyOf(row).toLowerCase().includes(word)));
    }

    let drawn = null;
    function draw() {
        const list = wanted();
        const now = list.slice(0, chosen.count);
        const key = now.map(keyOf).join("\n");
        const total = names.filter(isNumber).length;
        fill(info, list.length === total ? plural(total, "metric") : `${number(list.length)} of ${plural(total, "metric")}`);
        drawTexts();
        fill(moreNode, list.length > now.length && button(`Show ${number(Math.min(CHARTS, list.length - now.length))} more of ${number(list.length)}`, () => {
            chosen.count += CHARTS;
            setQuery({count: String(chosen.count)});
            draw();
        }));
        if (key === drawn) return;
        drawn = key;
        set.clear();
        set.look({range: shownRange()});
        fill(grid);
        if (!now.length) return fill(grid, empty(total ? "No metric name matches." : nothing(state)));
        let group = null;
        let inner = null;
        for (const row of now) {
            if (row.group !== group) {
                group = row.group;
                inner = h("div", {class: "charts"});
                grid.append(h("section", {"aria-label": `${group} metrics`}, h("h2", group), inner));
            }
            grid.into = inner;
            addInto(inner, row);
        }
    }
    // chartSet appends to its place; this moves the chart into the grid of its group.
    function addInto(inner, row) {
        set.add(row);
        inner.append(grid.lastElementChild);
    }

    let drawnTexts = "[]";
    function drawTexts() {
        const others = names.filter((row) => !isNumber(row));
        if (drawnTexts === (drawnTexts = JSON.stringify(others))) return;
        fill(texts, others.length > 0 && h("details", {open: texts.firstChild?.open}, h("summary", plural(others.length, "non-numeric metric")),
            tablePlace(h("table", {class: "data"}, h("thead", h("tr", h("th", {scope: "col"}, "Metric"), h("th", {scope: "col"}, state.many ? "Type" : "Last value"))),
                h("tbody", others.slice(0, TEXTS_MOST).map((row) => h("tr", h("th", {scope: "row"}, keyOf(row)), h("td", {class: "cut"}, state.many ? row.type : value(row.last))))))), shownOf(TEXTS_MOST, others.length, "metrics")));
    }

    const controls = metricControls({state, chosen, epochs, names: () => names, draw, look: () => set.look(looks()),
        axis() {
            chosen.range = null;
            setQuery({from: null, to: null});
            set.look({...looks(), range: null});
            set.zoom(null, null);
            set.feed.set({x: chosen.x === "time" ? "time" : "steps", range: null});
        },
        lost: () => set.feed.set({archived: chosen.hasLost}),
    });
    fill(place, controls.node, info, grid, moreNode, texts);
    draw();

    let isLeft = false; // the page of an experiment shows another tab
    ctx.onLeave(() => isLeft = true);
    const again = throttleInBackground(async () => {
        const found = await readNames(state, ctx);
        if (isLeft) return;
        names = found;
        controls.groups();
        draw();
    }, NAMES_MS);
    const refresh = throttleInBackground(() => set.feed.refresh(), REFRESH_MS);
    return {
        metrics() {
            refresh();
            again();
        },
        trials: (ids) => set.feed.set({trials: ids}), // for many trials: the list has changed
    };
}

// ---- controls ----

function metricControls({state, chosen, epochs, names, draw, look, axis, lost}) {
    const search = h("input", {type: "search", placeholder: "Search metrics", "aria-label": "Search metrics by name", value: chosen.q, oninput: debounce((event) => {
        chosen.q = event.target.value;
        setQuery({q: chosen.q});
        draw();
    }, 150)});
    const groupPlace = h("span");
    const groups = () => {
        const list = [...new Set(names().filter(isNumber).map((row) => row.group))];
        fill(groupPlace, list.length > 1 && select([["", "All groups"], ...list.map((one) => [one, one])], chosen.group, (next) => {
            chosen.group = next;
            setQuery({group: next});
            draw();
        }, {"aria-label": "Group"}));
    };
    groups();
    const smooth = smoothSlider(chosen.smooth, (weight) => {
        chosen.smooth = weight;
        setQuery({smooth: weight || null});
        look();
    });
    const log = logButtons(chosen, (changes) => {
        Object.assign(chosen, changes);
        setQuery({logx: chosen.isLogX ? "1" : null, logy: chosen.isLogY ? "1" : null});
        look();
    });
    log.x.disabled = chosen.x === "time";
    const why = "No epochs: report a metric named epoch, or set records_per_epoch and the hyperparameter global_batch_size";
    const xs = select([["steps", "by steps"], ["time", "by time"], ["epoch", "by epochs"]], chosen.x, (next) => {
        chosen.x = next;
        log.x.disabled = next === "time";
        setQuery({x: next === "steps" ? null : next});
        axis();
    }, {"aria-label": "Horizontal axis", title: epochs ? null : why});
    if (!epochs) xs.options[2].disabled = true;
    const pick = button("Select …", () => chooseMetrics(names().filter(isNumber), chosen.metrics).then((next) => {
        if (!next) return;
        chosen.metrics = next;
        setQuery({metric: next.length ? next : null});
        pick.setAttribute("aria-pressed", String(next.length > 0));
        draw();
    }, toastError), {"aria-pressed": String(chosen.metrics.length > 0), title: "Select individual metrics"});
    const node = h("div", {class: "bar metric-controls"}, search, groupPlace, pick, h("span", {class: "grow"}),
        smooth, xs, h("span", {class: "bar"}, log.x, log.y,
            state.trial?.restarts > 0 && toggleButton("lost steps", chosen.hasLost, (isOn) => {
                chosen.hasLost = isOn;
                setQuery({lost: isOn ? null : "0"});
                lost();
            }, "Show steps that were lost at a restart and repeated")));
    return {node, groups};
}

// Resolves with the selected keys, [] for all, or undefined if the user cancelled.
function chooseMetrics(rows, before) {
    const picked = new Set(before);
    const list = h("div", {class: "choose-list"});
    const count = h("span", {class: "dim", role: "status"});
    const drawList = (words = "") => {
        const found = rows.filter((row) => keyOf(row).toLowerCase().includes(words.toLowerCase()));
        fill(list, found.slice(0, 300).map((row) => h("label", {class: "bar"}, h("input", {type: "checkbox", checked: picked.has(keyOf(row)), onchange: (event) => {
            event.target.checked ? picked.add(keyOf(row)) : picked.delete(keyOf(row));
            drawCount();
        }}), keyOf(row))), found.length > 300 && h("p", {class: "dim"}, `and ${number(found.length - 300)} more. Search to see them.`));
    };
    const drawCount = () => fill(count, picked.size ? `${plural(picked.size, "metric")} selected` : "None selected: all are shown");
    drawList();
    drawCount();
    return dialog("Select metrics", (close) => [
        h("input", {type: "search", "aria-label": "Search", placeholder: "Search", autofocus: true, oninput: (event) => drawList(event.target.value)}), list,
        h("footer", count, h("span", {class: "grow"}), button("Show all", () => close([])), button("Show selected", () => close([...picked]), {kind: "primary"}))]);
}
