// SPDX-License-Identifier: Apache-2.0
// compare.js - experiments or trials side by side.
//
//   /compare?experiments=1,2,3    each by its best trial, or by its first before a validation
//   /compare?trials=4,5           trials of any experiments
//
// All charts use the same colours and share one legend; only visible charts are read.  Tables have one column per item and
// mark rows that differ.  In the address: x (steps, time), smooth, logx, logy, metrics (words of names), all (1: equal rows, too).

import {get, isAbort} from "../api.js";
import {lineChart, lineColors, lineColour, lineDash, lineSwatch} from "../chart.js";
import {logButtons, smoothSlider} from "../chart_controls.js";
import {pageLegend} from "../chart_legend.js";
import {debounce, fill, h, throttle} from "../dom.js";
import {bytes, duration, isOver, number, plural, time, value, workTime} from "../format.js";
import {go, link, setQuery} from "../router.js";
import {seriesFeed} from "../series.js";
import {tablePlace} from "../table.js";
import {badge, button, chip, empty, select, shownOf, toast} from "../widgets.js";

const MOST = 100;
const CHARTS = 24; // at first, and with each "Show more"
const VALUES_MOST = 200; // rows of last values
const LIVE_MS = 1000;
const AT_ONCE = 12; // concurrent calls

const numbersIn = (text) => [...new Set(String(text || "").split(",").map(Number).filter((id) => Number.isInteger(id) && id > 0))];

// Calls `work` for every item, a few at a time; resolves with the results in order.
async function mapInParallel(list, work) {
    const out = new Array(list.length);
    let next = 0;
    const worker = async () => {
        while (next < list.length) {
            const at = next++;
            out[at] = await work(list[at]);
        }
    };
    await Promise.all(Array.from({length: Math.min(AT_ONCE, list.length)}, worker));
    return out;
}

const nullIfMissing = (promise) => promise.catch((error) => {
    if (error.status === 404) return null;
    throw error;
});

// ---- the compared items: {id, trial: v1Trial or null, sums: its metrics, experiment, config, label, address}

async function readExperiments(ids, options) {
    const {experiments} = await get("/api/v1/experiments", {"experimentIdFilter.incl": ids, limit: MOST, sortBy: "SORT_BY_ID"}, options);
    const found = new Map(experiments.map((one) => [one.id, one]));
    return mapInParallel(ids.filter((id) => found.has(id)), async (id) => {
        const experiment = found.get(id);
        const trial = experiment.bestTrialId
            ? (await nullIfMissing(get(`/api/v1/trials/${experiment.bestTrialId}`, {}, options)))?.trial
            : (await nullIfMissing(get(`/api/v1/experiments/${id}/trials`, {limit: 1}, options)))?.trials[0];
        return {id, experiment, config: experiment.config || {}, trial: trial || null, sums: summaries(trial), label: `${id} ${experiment.name}`, short: String(id), address: `/experiments/${id}`};
    });
}

async function readTrials(ids, options) {
    const trials = (await mapInParallel(ids, (id) => nullIfMissing(get(`/api/v1/trials/${id}`, {}, options)))).filter(Boolean).map((one) => one.trial);
    const wanted = [...new Set(trials.map((trial) => trial.experimentId))];
    const {experiments} = wanted.length ? await get("/api/v1/experiments", {"experimentIdFilter.incl": wanted, limit: MOST}, options) : {experiments: []};
    const byId = new Map(experiments.map((one) => [one.id, one]));
    return trials.map((trial) => {
        const experiment = byId.get(trial.experimentId) || {};
        return {id: trial.id, experiment, config: experiment.config || {}, trial, sums: summaries(trial), label: `trial ${trial.id} of ${experiment.name || "?"}`, short: `trial ${trial.id}`, address: `/trials/${trial.id}`};
    });
}

// ---- the rows of the tables

const GROUPS = {avg_metrics: "training", validation_metrics: "validation"};

// "training.loss" -> {last, min, max, count, …}
function summaries(trial) {
    const out = new Map();
    for (const [group, metrics] of Object.entries(trial?.summaryMetrics || {})) {
        for (const [name, summary] of Object.entries(metrics || {})) out.set(`${GROUPS[group] || group}.${name}`, summary);
    }
    return out;
}

function flatten(any, prefix = "", out = new Map()) {
    if (any && typeof any === "object" && !Array.isArray(any) && Object.keys(any).length) {
        for (const [name, inner] of Object.entries(any)) flatten(inner, prefix ? `${prefix}.${name}` : name, out);
    } else if (prefix) out.set(prefix, any);
    return out;
}

const unionOf = (maps) => [...new Set(maps.flatMap((map) => [...map.keys()]))];
const sameText = (any) => any === undefined ? undefined : JSON.stringify(any);

function bestItem(items) {
    const names = new Set(items.map((one) => one.experiment.searcherMetric));
    const scored = items.filter((one) => typeof one.experiment.bestTrialSearcherMetric === "number");
    if (names.size !== 1 || scored.length < 2) return null;
    const isSmaller = items[0].config.searcher?.smaller_is_better !== false;
    return scored.reduce((a, b) => (a.experiment.bestTrialSearcherMetric < b.experiment.bestTrialSearcherMetric) === isSmaller ? a : b);
}

function experimentFacts(items) {
    const winner = bestItem(items);
    const metric = new Set(items.map((one) => one.experiment.searcherMetric)).size === 1 ? ` (${items[0].experiment.searcherMetric || "none"})` : "";
    return [
        ["State", (one) => badge(one.experiment.state)],
        [`Best metric${metric}`, (one) => [number(one.experiment.bestTrialSearcherMetric), one === winner && [" ", h("span", {class: "badge good"}, "best")]]],
        ["Best trial", (one) => one.experiment.bestTrialId ? link(`/trials/${one.experiment.bestTrialId}`, {}, String(one.experiment.bestTrialId)) : ""],
        ["Trials", (one) => number(one.experiment.numTrials)],
        ["Duration", (one) => duration(workTime(one.experiment))],
        ["Started", (one) => time(one.experiment.startTime)],
        ["Owner", (one) => one.experiment.username],
        ["Pool", (one) => one.experiment.resourcePool],
        ["Labels", (one) => (one.experiment.labels || []).map((label) => chip(label))],
        ["Checkpoints", (one) => `${number(one.experiment.checkpointCount)}, ${bytes(one.experiment.checkpointSize)}`],
    ];
}

function trialFacts(items) {
    return [
        ["Experiment", (one) => link(`/experiments/${one.trial.experimentId}`, {}, `${one.trial.experimentId} ${one.experiment.name || ""}`)],
        ["State", (one) => badge(one.trial.state)],
        [`Best metric${new Set(items.map((one) => one.experiment.searcherMetric)).size === 1 ? ` (${items[0].experiment.searcherMetric || "none"})` : ""}`, (one) => number(one.trial.searcherMetricValue)],
        ["Steps", (one) => number(one.trial.totalBatchesProcessed)],
        ["Slot time", (one) => duration(one.trial.wallClockTime)],
        ["Started", (one) => time(one.trial.startTime)],
        ["Restarts", (one) => number(one.trial.restarts)],
        ["Checkpoints", (one) => `${number(one.trial.checkpointCount)}, ${bytes(one.trial.totalCheckpointSize)}`],
    ];
}

// The name of a row, which may be broken after its separators but not within a word.
const rowName = (name, ...more) => h("th", {scope: "row"}, h("div", {class: "row-name"}, name.split(/(?<=[._/])/).map((part, i) => [i > 0 && h("wbr"), part]), ...more));

// rows: [name, (item) => any value]; differences are marked against the first column.
function diffTable(label, items, rows, {onlyDifferent, colours, head}) {
    const lines = rows.map(([name, of]) => ({name, cells: items.map(of)}))
        .map((line) => ({...line, differs: new Set(line.cells.map(sameText)).size > 1}))
        .filter((line) => !onlyDifferent || line.differs);
    if (!lines.length) return h("p", {class: "dim"}, rows.length ? "All values are the same." : "None");
    return sideBySide(label, items, lines.map(({name, cells, differs}) => h("tr", {class: differs && "differs"},
        rowName(name, differs && h("span", {class: "mark-differs", title: "Values differ", role: "img", "aria-label": "differs"}, "≠")),
        cells.map((cell) => h("td", {class: differs && sameText(cell) !== sameText(cells[0]) && "other"}, cell === undefined ? h("span", {class: "dim"}, "–") : h("span", {class: "cell", title: value(cell)}, value(cell)))))), {colours, head});
}

// Replaces the content of `place` if it differs and no control in it has the focus.  Keeps the scroll position.
function replaceIfChanged(place, node) {
    const old = place.firstElementChild;
    if (old && (old.isEqualNode(node) || (old !== document.activeElement && old.contains(document.activeElement)))) return;
    const hadFocus = old === document.activeElement;
    const [left, top] = [old?.scrollLeft, old?.scrollTop];
    fill(place, node);
    if (!old) return;
    [node.scrollLeft, node.scrollTop] = [left, top];
    if (hadFocus) node.focus();
}

function sideBySide(label, items, lines, {head}) {
    return tablePlace(h("table", {class: "data"}, h("caption", {class: "hidden"}, label), h("thead", h("tr", h("td"), items.map(head))), h("tbody", lines)),
        {class: "side-by-side", role: "region", "aria-label": label, tabindex: 0});
}

// `isPane`: only charts and hyperparameters, for a place beside a table (compare_pane.js).
export async function page({root, query, title, signal, live, onLeave, keepQuery = setQuery, isPane = false}) {
    title("Compare");
    const isTrials = query.trials !== undefined && query.experiments === undefined;
    const kind = isTrials ? "trials" : "experiments";
    const asked = numbersIn(isTrials ? query.trials : query.experiments);
    const ids = asked.slice(0, MOST);
    const view = {x: query.x === "time" ? "time" : "steps", smooth: Math.min(0.99, Math.max(0, Number(query.smooth) || 0)), isLogX: query.logx === "1", isLogY: query.logy === "1" || query.log === "1", all: query.all === "1", metrics: String(query.metrics || "")};
    const heading = h("h1", "Compare");

    const add = () => {
        const input = h("input", {inputmode: "numeric", pattern: "[0-9, ]+", required: true, size: 8, "aria-label": `IDs of ${kind} to add`, placeholder: "ID"});
        return h("form", {class: "bar", onsubmit: (event) => {
            event.preventDefault();
            show([...ids, ...numbersIn(input.value.replaceAll(" ", ","))]);
        }}, input, h("button", {type: "submit", class: "button"}, isTrials ? "Add trial" : "Add experiment"));
    };
    const show = (list) => {
        const rest = new URLSearchParams(location.search);
        rest.delete(kind);
        go(`/compare?${kind}=${[...new Set(list)].join(",")}${rest.size ? "&" + rest : ""}`);
    };

    if (!ids.length) {
        return void fill(root, heading, empty(h("p", "Nothing is selected."), h("p", "Select experiments in ", link("/experiments", {}, "the table"), " and press Compare, or add one by its ID:"), add()));
    }
    const read = () => (isTrials ? readTrials : readExperiments)(ids, {signal});
    let items = await read();
    if (!items.length) return void fill(root, heading, empty(h("p", `None of these ${kind} exists.`), add()));

    // ---- colours and heads

    const places = lineColors();
    for (const one of items) places(one.id);
    const itemOf = () => new Map(items.filter((one) => one.trial).map((one) => [one.trial.id, one]));
    let byTrial = itemOf();
    const colourOf = (place) => place < 8 ? `var(--line-${place + 1})` : lineColour(place); // CSS variables follow the theme
    const dashOf = (one) => lineDash(places(one.id));
    const swatch = (one) => lineSwatch(colourOf(places(one.id)), dashOf(one));
    const head = (one) => h("th", {scope: "col"}, h("div", {class: "bar"}, swatch(one), link(one.address, {class: "cell", title: one.label}, one.label),
        items.length > 1 && !isPane && h("button", {type: "button", class: "chip-x", "aria-label": `Remove ${one.short}`, onclick: () => show(ids.filter((id) => id !== one.id))}, "×")));

    // ---- charts

    const feed = seriesFeed({trials: [...byTrial.keys()], x: view.x, onError: (error) => isAbort(error) || error.status === 401 || toast(error.message, "bad")});
    onLeave(() => feed.close());
    const chartPlace = h("div", {class: "charts"});
    const moreCharts = h("div", {class: "bar"});
    let drawn = [];
    let limit = CHARTS;

    const nothing = () => items.every((one) => isOver((one.trial || one.experiment).state)) ? "No metrics were reported." : "No metrics yet.";
    const isNumber = (name) => items.some((one) => one.sums.has(name) && (one.sums.get(name).type || "number") === "number");
    function metricNames({isDrawn = false} = {}) {
        const searched = new Set(items.map((one) => one.experiment.searcherMetric));
        const rank = (name) => (searched.has(name.slice(name.indexOf(".") + 1)) ? 0 : 10) + (name.startsWith("validation.") ? 0 : name.startsWith("training.") ? 1 : 2);
        const text = view.metrics.toLowerCase();
        return unionOf(items.map((one) => one.sums)).filter((name) => name.toLowerCase().includes(text) && (!isDrawn || isNumber(name))).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
    }
    const settings = () => ({smoothing: view.smooth, isLogX: view.isLogX && view.x !== "time", isLogY: view.isLogY, xName: view.x, isTime: view.x === "time"});
    const keyOf = (line) => String(byTrial.get(line.trial)?.id ?? line.trial);
    const legend = pageLegend({onHide: (keys) => drawn.forEach((one) => one.chart.hide(keys)), onPoint: (key) => drawn.forEach((one) => one.chart.point(key))});
    const drawLegend = () => legend.lines([...byTrial.values()].map((one) => ({key: String(one.id), label: one.label, colour: colourOf(places(one.id)), dash: dashOf(one)})));
    function makeChart(name) {
        const node = h("div", {"data-metric": name});
        const chart = lineChart(node, {title: name, sync: "compare", ...settings(), labelOf: (line) => byTrial.get(line.trial)?.label || `trial ${line.trial}`,
            colorOf: (line) => places(byTrial.get(line.trial)?.id ?? line.trial), dashOf: (line) => lineDash(places(byTrial.get(line.trial)?.id ?? line.trial)),
            legend: false, keyOf, onPoint: (line) => legend.mark(line && keyOf(line)), onRange: (range) => feed.range(node, range),
            onPick: (line) => byTrial.has(line.trial) && go(byTrial.get(line.trial).address)});
        chart.hide(legend.hidden);
        feed.watch(node, name, (data) => chart.update(data));
        return {name, node, chart};
    }
    function drop(one) {
        feed.unwatch(one.node);
        one.chart.destroy();
        one.node.remove();
    }
    onLeave(() => drawn.forEach((one) => one.chart.destroy()));
    function drawCharts() {
        drawLegend();
        const names = metricNames({isDrawn: true});
        const wanted = names.slice(0, limit);
        const old = new Map(drawn.map((one) => [one.name, one]));
        drawn = wanted.map((name) => old.get(name) || makeChart(name));
        for (const one of old.values()) if (!wanted.includes(one.name)) drop(one);
        drawn.forEach((one, i) => chartPlace.children[i] === one.node || chartPlace.insertBefore(one.node, chartPlace.children[i] || null));
        fill(moreCharts, !names.length && h("p", {class: "dim"}, view.metrics ? "No metric name matches." : nothing()),
            names.length > limit && button(`Show ${number(Math.min(CHARTS, names.length - limit))} more of ${number(names.length)}`, () => {
                limit += CHARTS;
                drawCharts();
            }));
    }
    const keep = () => keepQuery({x: view.x === "steps" ? "" : view.x, smooth: view.smooth || "", logx: view.isLogX ? 1 : "", logy: view.isLogY ? 1 : "", all: view.all ? 1 : "", metrics: view.metrics});
    const reset = () => {
        keep();
        for (const one of drawn) one.chart.set(settings());
    };
    const log = logButtons(view, (changes) => {
        Object.assign(view, changes);
        reset();
    });
    log.x.disabled = view.x === "time";
    const chartBar = h("div", {class: "bar"}, h("h2", "Metrics"), h("span", {class: "grow"}),
        h("input", {type: "search", "aria-label": "Search metrics by name", placeholder: "Search metrics", value: view.metrics, oninput: debounce((event) => {
            view.metrics = event.target.value.trim();
            limit = CHARTS;
            keep();
            drawCharts();
        }, 150)}),
        select([["steps", "by steps"], ["time", "by time"]], view.x, (x) => {
            view.x = x;
            log.x.disabled = x === "time";
            reset();
            feed.set({x});
        }, {"aria-label": "Horizontal axis"}),
        smoothSlider(view.smooth, (weight) => {
            view.smooth = weight;
            reset();
        }), h("span", {class: "bar"}, log.x, log.y));

    // ---- tables

    const facts = h("div");
    const hparams = h("div");
    const config = h("div");
    const metrics = h("div");
    const cut = h("div"); // how many of them are shown
    const onlyDifferent = h("label", {class: "bar"}, h("input", {type: "checkbox", checked: !view.all, onchange: (event) => {
        view.all = !event.target.checked;
        keep();
        drawTables();
    }}), "Only differences");

    function drawTables() {
        const options = {head, onlyDifferent: !view.all};
        replaceIfChanged(facts, sideBySide("Overview", items, (isTrials ? trialFacts : experimentFacts)(items).map(([name, of]) => h("tr", rowName(name), items.map((one) => h("td", of(one))))), options));
        const hps = items.map((one) => flatten(one.trial?.hparams));
        replaceIfChanged(hparams, diffTable("Hyperparameters", items, unionOf(hps).sort().map((name) => [name, (one) => hps[items.indexOf(one)].get(name)]), options));
        const configs = items.map((one) => flatten(one.config));
        for (const map of configs) for (const key of [...map.keys()]) if (key === "hyperparameters" || key.startsWith("hyperparameters.")) map.delete(key);
        replaceIfChanged(config, diffTable("Configuration", items, unionOf(configs).sort().map((name) => [name, (one) => configs[items.indexOf(one)].get(name)]), options));
        const all = metricNames();
        const names = all.slice(0, VALUES_MOST);
        fill(cut, shownOf(VALUES_MOST, all.length, "metrics"));
        const last = (one, name) => one.sums.get(name)?.last;
        replaceIfChanged(metrics, names.length ? sideBySide("Last values", items, names.map((name) => h("tr", rowName(name), items.map((one) => h("td", number(last(one, name)))))), options) : h("p", {class: "dim"}, nothing()));
    }
    const draw = () => {
        drawCharts();
        drawTables();
    };

    const missing = ids.filter((id) => !items.some((one) => one.id === id));
    const charts = h("section", {class: "compare-charts"}, chartBar, legend.node, chartPlace, moreCharts);
    const hparamsPart = h("section", h("div", {class: "bar"}, h("h2", "Hyperparameters"), !isTrials && h("span", {class: "dim"}, "of the best trial of each experiment"), h("span", {class: "grow"}), onlyDifferent), hparams);
    if (isPane) fill(root, missing.length > 0 && h("p", {class: "error", role: "alert"}, `Not found: ${missing.join(", ")}.`), charts, hparamsPart);
    else fill(root, h("div", {class: "head"}, h("h1", `Compare ${plural(items.length, isTrials ? "trial" : "experiment")}`), add()),
        asked.length > MOST && h("p", {class: "error", role: "alert"}, `Only the first ${MOST} are shown.`),
        missing.length > 0 && h("p", {class: "error", role: "alert"}, `Not found: ${missing.join(", ")}.`),
        facts, charts, hparamsPart,
        h("section", h("h2", "Configuration"), config),
        h("section", h("h2", "Last values"), metrics, cut));
    draw();
    title(`Compare ${items.map((one) => one.short).slice(0, 5).join(", ")}`);

    // ---- changes

    const again = throttle(async () => {
        const found = await read();
        if (!found.length) return void fill(root, heading, empty(h("p", `These ${kind} were deleted.`)));
        items = found;
        const before = [...byTrial.keys()].join();
        byTrial = itemOf();
        if ([...byTrial.keys()].join() !== before) feed.set({trials: [...byTrial.keys()]});
        else feed.refresh();
        draw();
    }, LIVE_MS);
    live({kinds: ["experiments", "trials", "metrics"], [isTrials ? "trial" : "experiment"]: ids.join(",")}, again);
}
