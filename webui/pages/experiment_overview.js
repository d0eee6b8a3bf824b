// SPDX-License-Identifier: Apache-2.0
// experiment_overview.js - the overview: charts of the metric, the best trial, the states of the trials.

import {get} from "../api.js";
import {lineChart} from "../chart.js";
import {fill, h, throttle} from "../dom.js";
import {failureCard} from "../failure_card.js";
import {bytes, isOver as isEnded, noBest, number, plural, stateKind, stateName, time, value as shown} from "../format.js";
import {rampColour} from "../plot_canvas.js";
import {go, link, readQuery, setQuery} from "../router.js";
import {readSearch} from "../search_data.js";
import {seriesFeed} from "../series.js";
import {empty, facts, select, toastError} from "../widgets.js";
import {namesAddress, needsOf} from "./experiment.js";

const METRIC_LINES_MOST = 1000; // in a chart of the Metrics tab
const LINES_MOST = 200; // of more trials only the best and the running ones are drawn
const CHARTS_MOST = 6; // for a single trial

// ---- cards ----

function statesCard(search) {
    const counts = new Map();
    for (const trial of search.trials) counts.set(trial.state, (counts.get(trial.state) || 0) + 1);
    const all = [...counts].sort((a, b) => b[1] - a[1]);
    return h("section", {class: "card"}, h("h2", "Trials"), h("div", {class: "states-bar", "aria-hidden": "true"}, all.map(([state, count]) => h("span", {class: stateKind(state), style: {flexGrow: count}}))),
        h("ul", {class: "states-list"}, all.map(([state, count]) => h("li", h("span", {class: ["badge", stateKind(state)]}, state), " ", number(count)))));
}

function bestCard(search, tools) {
    const {best} = search;
    if (!best) return h("section", {class: "card"}, h("h2", "Best trial"), h("p", {class: "dim"}, noBest(tools.state)));
    return h("section", {class: "card"}, h("h2", "Best trial"), h("p", {class: "best-figure"}, h("span", {class: "big num"}, number(best.best)), " ", search.metric.name),
        h("p", link(tools.trialAddress(best.id), {}, `Trial ${best.id}`), ` after ${plural(best.steps, "step")}`),
        facts(search.hparams.slice(0, 8).map((name) => [name, best.values[name] === null ? "–" : shown(best.values[name])])),
        search.hparams.length > 8 && h("p", link(tools.trialAddress(best.id) + "/hyperparameters", {}, `All ${search.hparams.length} hyperparameters`)));
}

// What a queued experiment waits for.
function waitCard(state) {
    if (!state.pool) return null;
    const {needs, free, queue} = needsOf(state);
    const isSearch = state.config?.searcher?.name !== "single";
    return h("section", {class: "card waiting", "aria-label": "Waiting"}, h("h2", state.beginTime ? "Waiting for slots" : "Not begun: waiting for slots"), facts([
        [isSearch ? "Each trial needs" : "It needs", needs], ["Free now", [free, " in pool ", link("/cluster", {}, state.pool.name)]], ["Queue", queue],
        ["Submitted", time(state.experiment.startTime)]]));
}

function summaryCard({experiment, config}) {
    const resources = config?.resources || {};
    const entrypoint = config?.entrypoint;
    return h("section", {class: "card"}, h("h2", "Summary"), facts([
        ["Entrypoint", entrypoint && h("code", Array.isArray(entrypoint) ? entrypoint.join(" ") : String(entrypoint))],
        ["Slots per trial", number(resources.slots_per_trial)],
        ["Priority", experiment.priority || resources.priority],
        ["Maximum restarts", number(config?.max_restarts)],
        ["Checkpoints", `${number(experiment.checkpointCount)}, ${bytes(experiment.checkpointSize)}`],
        ["Seed", config?.reproducibility?.experiment_seed],
        ["Code", experiment.modelDefinitionSize ? `${bytes(experiment.modelDefinitionSize)}, compressed` : "none"],
    ]));
}

// ---- best so far ----

// Two lines over the trials in the order in which they ended: the result of each, and the best until then.
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

// The ids of at most `most` trials: the best and the running ones.  More lines could not be told apart.
function linesOf(search, most) {
    if (search.trials.length <= most) return search.trials.map((trial) => trial.id);
    const running = search.trials.filter((trial) => !isEnded(trial.state)).slice(0, most / 4);
    const best = [...search.trials].sort((a, b) => (b.rank ?? -1) - (a.rank ?? -1)).slice(0, most - running.length);
    return [...new Set([...best, ...running].map((trial) => trial.id))].sort((a, b) => a - b);
}

// "200 of 1 000 trials shown", where not all are.
const shownOf = (count, {trials}) => trials.length > count && `${number(count)} of ${number(trials.length)} trials shown: the best and the running ones.`;

// ---- the Metrics tab: the charts of a trial's page, with one line per trial ----

export async function metricsView(place, tools) {
    const stops = [];
    let search = readSearch(tools.state.table, tools.config());
    let trials = linesOf(search, METRIC_LINES_MOST);
    const names = async () => (await get(namesAddress(tools.id), null, {signal: tools.signal})).metricNames;
    const inner = h("div", {class: "pile"});
    const note = h("p", {class: "dim"});
    const drawNote = () => fill(note, shownOf(trials.length, search));
    const {metricsTab} = await import("./trial_metrics.js");
    const view = await metricsTab(inner, {config: tools.config(), many: {
        trials, names, isOver: () => isEnded(tools.state.experiment.state), labelOf: (line) => `trial ${line.trial}`, onPick: (line) => go(tools.trialAddress(line.trial)),
        colorOf: (line) => search.trials.length < 2 ? 0 : rampColour(search.byId.get(line.trial)?.rank ?? 0),
    }}, {signal: tools.signal, onLeave: (fn) => stops.push(fn)});
    fill(place, note, inner);
    drawNote();
    return {
        update(table) {
            search = readSearch(table, tools.config());
            const now = linesOf(search, METRIC_LINES_MOST);
            if (now.join() !== trials.join()) view.trials(now);
            trials = now;
            drawNote();
        },
        updateMetrics: view.metrics,
        destroy: () => stops.forEach((stop) => stop()),
    };
}

// ---- the Overview tab ----

export function overviewTab(place, tools) {
    const cards = h("div", {class: "cards"});
    const charts = h("div", {class: "cards two"});
    const feed = seriesFeed({trials: [], points: 600});
    const all = [];
    let search = null;
    let names = null; // metric names
    let metric = [].concat(readQuery().metric || []).at(-1) || null; // the Metrics tab may set several
    let curve = null;
    const why = h("div", {class: "failure-place"});
    const updateFailure = failureCard(why, tools);
    const wait = h("div", {class: "wait-place"});
    fill(place, h("div", {class: "pile"}, why, wait, charts, cards));

    let shownWait = "";
    function drawWait() {
        const {pool, jobSummary, beginTime} = tools.state;
        const now = JSON.stringify([pool && needsOf(tools.state), jobSummary, beginTime]);
        if (now === shownWait) return;
        shownWait = now;
        fill(wait, waitCard(tools.state));
    }

    // With one trial, or without a metric to compare by, there is no best trial to show.
    const isSingle = () => search.trials.length < 2 && (tools.config()?.searcher?.name === "single" || search.isUnnamed);

    function addChart(key, {head}) {
        const node = h("div", {class: "chart-place"});
        const chart = lineChart(node, {title: key.replace(/^(validation|training)\./, (all) => isSingle() ? all : ""), xName: "steps", height: isSingle() ? 220 : 260, labelOf: (line) => `trial ${line.trial}`, ...(isSingle() ? {} : {colorOf: rankColour}),
            onPick: (line) => go(tools.trialAddress(line.trial)), onRange: (range) => feed.range(node, range)});
        feed.watch(node, key, (data) => chart.update({...data, note: shownOf(feed.settings().trials.length, search)}), (error) => fill(node, h("p", {class: "dim"}, error.message)));
        all.push({destroy() {
            feed.unwatch(node);
            chart.destroy();
        }});
        return h("section", head, node);
    }

    // The colours of the search plots: from worst to best along the ramp.
    function rankColour(line) {
        const trial = search.byId.get(line.trial);
        return rampColour(trial?.rank ?? 0);
    }

    function choose(chosen) {
        metric = chosen;
        setQuery({metric: chosen});
        drawCharts();
    }

    // Before the first metric the log shows what happens: an environment that is being built, an error.
    function logLink() {
        const [trial] = search.trials;
        return trial && search.trials.length === 1 && h("p", "Until then, see ", link(`/trials/${trial.id}/logs`, {}, `the log of trial ${trial.id}`), ".");
    }

    // Redrawn only if something has changed, as with the cards.
    let shownNone = "";
    function drawNone() {
        const isEnd = isEnded(tools.state.experiment.state);
        const now = [isEnd, search.trials.length, !tools.state.beginTime].join();
        if (now === shownNone) return;
        shownNone = now;
        fill(charts, isEnd ? empty("No metrics were reported.") : empty(h("p", "No metrics yet. Charts appear as soon as a trial reports."), tools.state.beginTime && logLink()));
    }

    // Of several failed trials the first: the others may have failed because of it.
    function drawFailure() {
        const ended = search.trials.filter((trial) => trial.end).sort((a, b) => a.end - b.end);
        const hasFailed = (one) => stateName(one.state) === "ERROR";
        const failed = ended.find(hasFailed) || (hasFailed(tools.state.experiment) ? ended.at(-1) : null);
        const count = ended.filter(hasFailed).length;
        const among = count && search.trials.length > 1 ? {failed: count, of: search.trials.length, address: `/experiments/${tools.id}/trials?state=ERROR`} : null;
        tools.unlessDeleted(() => updateFailure(failed?.id, failed?.end, among)).catch(toastError);
    }

    function drawCharts() {
        for (const one of all.splice(0)) one.destroy();
        curve = null;
        const wanted = tools.config()?.searcher?.metric;
        const keys = names.map((one) => `${one.group}.${one.name}`);
        const first = keys.find((key) => key === `validation.${wanted}`) || keys.find((key) => key.startsWith("validation.")) || keys[0];
        if (!first) return drawNone();
        if (isSingle()) {
            const trial = search.trials[0];
            const order = [first, ...keys.filter((key) => key !== first)];
            return fill(charts, order.slice(0, CHARTS_MOST).map((key) => addChart(key, {head: null})),
                order.length > CHARTS_MOST && trial && h("p", link(`/trials/${trial.id}/metrics`, {}, `Show all ${order.length} metrics of the trial`)));
        }
        const current = keys.includes(metric) ? metric : first;
        const place = h("div", {class: "chart-place"});
        curve = lineChart(place, {title: `best ${search.metric.name}`, xName: "ended trials", yName: search.metric.name, height: 260, keyOf: (line) => line.name, labelOf: (line) => line.name, colorOf: (line) => line.trial ? 1 : 0});
        all.push(curve);
        fill(charts, addChart(current, {head: h("div", {class: "bar over-chart"}, h("h2", "All trials"), h("span", {class: "grow"}), select(keys, current, choose, {"aria-label": "Metric"}))}),
            h("section", h("div", {class: "bar over-chart"}, h("h2", "Best so far")), place));
        curve.update(bestSoFar(search));
    }

    async function readNames() {
        const reply = await get(namesAddress(tools.id), null, {signal: tools.signal});
        const found = reply.metricNames.filter((row) => row.type === "number");
        if (isOver || JSON.stringify(found) === JSON.stringify(names)) return;
        names = found;
        drawCharts();
    }
    const lookForNames = throttle(() => tools.unlessDeleted(readNames).catch(toastError));

    // Redrawn only if something has changed: a link that is replaced while pressed loses the click.
    let shownCards = "";
    function drawCards() {
        const {experiment} = tools.state;
        const now = JSON.stringify([search.best?.id, search.best?.best, search.best?.steps, search.trials.length, search.trials.map((trial) => trial.state), isEnded(experiment.state), tools.state.metricIsMissing, experiment.checkpointSize, experiment.checkpointCount, experiment.priority]);
        if (now === shownCards) return;
        shownCards = now;
        fill(cards, !isSingle() && bestCard(search, tools), statesCard(search), summaryCard(tools.state));
    }

    let isOver = false; // another tab is open
    return {
        update(table) {
            const before = search?.trials.length;
            const wasSingle = search && isSingle();
            search = readSearch(table, tools.config());
            drawCards();
            drawFailure();
            drawWait();
            if (before !== search.trials.length) feed.set({trials: linesOf(search, LINES_MOST)});
            else feed.refresh();
            if (names && wasSingle !== isSingle()) drawCharts();
            else if (curve) curve.update(bestSoFar(search));
            void lookForNames();
        },
        updateExperiment() {
            if (!search) return;
            drawCards();
            drawFailure();
            drawWait();
            if (names && !names.length) drawCharts();
        },
        updateMetrics: () => feed.refresh(),
        destroy() {
            isOver = true;
            feed.close();
            for (const one of all) one.destroy();
        },
    };
}
