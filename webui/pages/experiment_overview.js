// SPDX-License-Identifier: Apache-2.0
// experiment_overview.js - the first look: how the metric goes, how good it got, how trials stand.

import {get} from "../api.js";
import {lineChart} from "../chart.js";
import {fill, h} from "../dom.js";
import {bytes, isOver as isEnded, number, plural, stateKind, value as shown} from "../format.js";
import {rampColour} from "../picture.js";
import {go, link, readQuery, setQuery} from "../router.js";
import {readSearch} from "../search_data.js";
import {seriesFeed} from "../series.js";
import {empty, facts, select, toastError} from "../widgets.js";

const METRIC_LINES_MOST = 1000; // in a chart of the metrics' tab
const LINES_MOST = 200; // of more trials the best ones, and those that run
const CHARTS_MOST = 6; // of a single trial

// ---- how trials stand ----

function statesCard(search) {
    const counts = new Map();
    for (const trial of search.trials) counts.set(trial.state, (counts.get(trial.state) || 0) + 1);
    const all = [...counts].sort((a, b) => b[1] - a[1]);
    return h("section", {class: "card"}, h("h2", "Trials"), h("div", {class: "states-bar", "aria-hidden": "true"}, all.map(([state, count]) => h("span", {class: stateKind(state), style: {flexGrow: count}}))),
        h("ul", {class: "states-list"}, all.map(([state, count]) => h("li", h("span", {class: ["badge", stateKind(state)]}, state), " ", number(count)))));
}

function bestCard(search, tools) {
    const {best} = search;
    if (!best) return h("section", {class: "card"}, h("h2", "Best trial"), h("p", {class: "dim"}, "No trial has been validated yet."));
    return h("section", {class: "card"}, h("h2", "Best trial"), h("p", {class: "best-figure"}, h("span", {class: "big num"}, number(best.best)), " ", search.metric.name),
        h("p", link(tools.trialAddress(best.id), {}, `Trial ${best.id}`), ` after ${plural(best.steps, "step")}`),
        facts(search.hparams.slice(0, 8).map((name) => [name, best.values[name] === null ? "–" : shown(best.values[name])])),
        search.hparams.length > 8 && h("p", link(tools.trialAddress(best.id) + "/hyperparameters", {}, `All ${search.hparams.length} hyperparameters`)));
}

function summaryCard({experiment, config}) {
    const resources = config?.resources || {};
    const entrypoint = config?.entrypoint;
    return h("section", {class: "card"}, h("h2", "Summary"), facts([
        ["Entrypoint", entrypoint && h("code", Array.isArray(entrypoint) ? entrypoint.join(" ") : String(entrypoint))],
        ["Slots a trial", number(resources.slots_per_trial)],
        ["Priority", experiment.priority || resources.priority],
        ["Restarts allowed", number(config?.max_restarts)],
        ["Checkpoints", `${number(experiment.checkpointCount)}, ${bytes(experiment.checkpointSize)}`],
        ["Seed", config?.reproducibility?.experiment_seed],
        ["Code", experiment.modelDefinitionSize ? `${bytes(experiment.modelDefinitionSize)}, packed` : "none"],
    ]));
}

// ---- best so far ----

// In the order in which trials ended: what each reached, and the best until then.
function bestSoFar(search) {
    const done = search.trials.filter((trial) => trial.best !== null && Number.isFinite(trial.best)).sort((a, b) => (a.end ?? Infinity) - (b.end ?? Infinity) || a.id - b.id);
    const better = search.smallerIsBetter ? Math.min : Math.max;
    let best = NaN;
    const curve = done.map((trial) => best = Number.isNaN(best) ? trial.best : better(best, trial.best));
    return {isExact: true, x: Float64Array.from(done, (_, i) => i + 1), lines: [
        {trial: 0, name: "best so far", y: Float64Array.from(curve), count: done.length},
        {trial: 1, name: "this trial", y: Float64Array.from(done, (trial) => trial.best), count: done.length}]};
}

// ---- lines ----

// The best, and those that run: more lines than `most` nobody can tell apart.
function linesOf(search, most) {
    if (search.trials.length <= most) return search.trials.map((trial) => trial.id);
    const running = search.trials.filter((trial) => !isEnded(trial.state)).slice(0, most / 4);
    const best = [...search.trials].sort((a, b) => (b.rank ?? -1) - (a.rank ?? -1)).slice(0, most - running.length);
    return [...new Set([...best, ...running].map((trial) => trial.id))].sort((a, b) => a - b);
}

// ---- all metrics: the charts of a trial's page, with a line for every trial ----

export async function metricsView(place, tools) {
    const stops = [];
    let search = readSearch(tools.state.table, tools.config());
    let trials = linesOf(search, METRIC_LINES_MOST);
    const names = async () => (await get(`/api/v1/det/experiments/${tools.id}/metric-names`, null, {signal: tools.signal})).metricNames;
    const inner = h("div", {class: "pile"});
    const note = h("p", {class: "dim"});
    const tell = () => fill(note, search.trials.length > trials.length && `${number(trials.length)} of ${plural(search.trials.length, "trial")} are drawn: the best, and those that run.`);
    const {metricsTab} = await import("./trial_metrics.js");
    const view = await metricsTab(inner, {config: tools.config(), many: {
        trials, names, labelOf: (line) => `trial ${line.trial}`, onPick: (line) => go(tools.trialAddress(line.trial)),
        colorOf: (line) => search.trials.length < 2 ? 0 : rampColour(search.byId.get(line.trial)?.rank ?? 0),
    }}, {signal: tools.signal, onLeave: (fn) => stops.push(fn)});
    fill(place, note, inner);
    tell();
    return {
        update(table) {
            search = readSearch(table, tools.config());
            const now = linesOf(search, METRIC_LINES_MOST);
            if (now.join() !== trials.join()) view.trials(now);
            trials = now;
            tell();
        },
        updateMetrics: view.metrics,
        destroy: () => stops.forEach((stop) => stop()),
    };
}

// ---- the tab ----

export function overviewTab(place, tools) {
    const cards = h("div", {class: "cards"});
    const charts = h("div", {class: "cards two"});
    const feed = seriesFeed({trials: [], points: 600});
    const all = [];
    let search = null;
    let names = null; // of metrics
    let metric = readQuery().metric || null;
    let curve = null;
    fill(place, h("div", {class: "pile"}, charts, cards));

    const isSingle = () => search.trials.length < 2 && tools.config()?.searcher?.name === "single";

    function addChart(key, {head}) {
        const node = h("div", {class: "chart-place"});
        const chart = lineChart(node, {title: key.replace(/^(validation|training)\./, (all) => isSingle() ? all : ""), xName: "steps", height: isSingle() ? 220 : 260, labelOf: (line) => `trial ${line.trial}`, ...(isSingle() ? {} : {colorOf: rankColour}),
            onPick: (line) => go(tools.trialAddress(line.trial)), onRange: (range) => feed.range(node, range)});
        feed.watch(node, key, (data) => chart.update(data), (error) => fill(node, h("p", {class: "dim"}, error.message)));
        all.push({destroy() {
            feed.unwatch(node);
            chart.destroy();
        }});
        return h("section", head, node);
    }

    // The colours of the search's pictures: the better, the further along the ramp.
    function rankColour(line) {
        const trial = search.byId.get(line.trial);
        return rampColour(trial?.rank ?? 0);
    }

    function choose(chosen) {
        metric = chosen;
        setQuery({metric: chosen});
        drawCharts();
    }

    // Before the first metric the log tells what goes on: an environment that is built, an error.
    function soleLog() {
        const [trial] = search.trials;
        return trial && search.trials.length === 1 && h("p", "What it does meanwhile stands in ", link(`/trials/${trial.id}/logs`, {}, `the log of trial ${trial.id}`), ".");
    }

    function drawCharts() {
        for (const one of all.splice(0)) one.destroy();
        curve = null;
        const wanted = tools.config()?.searcher?.metric;
        const keys = names.map((one) => `${one.group}.${one.name}`);
        const first = keys.find((key) => key === `validation.${wanted}`) || keys.find((key) => key.startsWith("validation.")) || keys[0];
        if (!first) return fill(charts, empty(h("p", "No metrics yet. Charts appear as soon as a trial reports."), soleLog()));
        if (isSingle()) {
            const trial = search.trials[0];
            const order = [first, ...keys.filter((key) => key !== first)];
            return fill(charts, order.slice(0, CHARTS_MOST).map((key) => addChart(key, {head: null})),
                order.length > CHARTS_MOST && trial && h("p", link(`/trials/${trial.id}/metrics`, {}, `All ${order.length} metrics of the trial`)));
        }
        const current = keys.includes(metric) ? metric : first;
        const place = h("div", {class: "chart-place"});
        curve = lineChart(place, {title: `best ${search.metric.name}`, xName: "trial", height: 260, keyOf: (line) => line.name, labelOf: (line) => line.name, colorOf: (line) => line.trial ? 1 : 0});
        all.push(curve);
        fill(charts, addChart(current, {head: h("div", {class: "bar over-chart"}, h("h2", "All trials"), h("span", {class: "grow"}), select(keys, current, choose, {"aria-label": "Metric"}))}),
            h("section", h("div", {class: "bar over-chart"}, h("h2", "Best so far")), place));
        curve.update(bestSoFar(search));
    }

    async function readNames() {
        const reply = await get(`/api/v1/det/experiments/${tools.id}/metric-names`, null, {signal: tools.signal});
        const now = JSON.stringify(reply.metricNames);
        if (isOver || now === JSON.stringify(names)) return;
        names = reply.metricNames;
        drawCharts();
    }

    // Only when something of it is new: a link that is replaced under the mouse loses the click.
    let shownCards = "";
    function drawCards() {
        const {experiment} = tools.state;
        const now = JSON.stringify([search.best?.id, search.best?.best, search.best?.steps, search.trials.length, search.trials.map((trial) => trial.state), experiment.checkpointSize, experiment.checkpointCount, experiment.priority]);
        if (now === shownCards) return;
        shownCards = now;
        fill(cards, !isSingle() && bestCard(search, tools), statesCard(search), summaryCard(tools.state));
    }

    let isReading = false;
    let isOver = false; // another tab is shown
    return {
        update(table) {
            const before = search?.trials.length;
            search = readSearch(table, tools.config());
            drawCards();
            if (before !== search.trials.length) feed.set({trials: linesOf(search, LINES_MOST)});
            else feed.refresh();
            if (names && (before < 2) !== (search.trials.length < 2)) drawCharts();
            else if (curve) curve.update(bestSoFar(search));
            if (isReading) return;
            isReading = true;
            tools.careful(readNames).catch(toastError).finally(() => isReading = false);
        },
        updateExperiment: () => search && drawCards(),
        updateMetrics: () => feed.refresh(),
        destroy() {
            isOver = true;
            feed.close();
            for (const one of all) one.destroy();
        },
    };
}
