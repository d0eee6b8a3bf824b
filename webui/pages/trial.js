// SPDX-License-Identifier: Apache-2.0
// trial.js - one trial: a header and the views below it.
//
//   overview, metrics (trial_metrics.js), hyperparameters, profiler (trial_profile.js), media (trial_media.js; if it has any),
//   checkpoints (trial_checkpoints.js), logs (logview.js)
//
// The header is read again when the trial changes, at most every two seconds: the reply for a trial with thousands of
// metrics is large.

import {get, post} from "../api.js";
import {fill, h, throttle} from "../dom.js";
import {failureCard} from "../failure_card.js";
import {ago, bytes, duration, isOver, longTitle, number, stateName, time, took, value} from "../format.js";
import {BASE, isId, link} from "../router.js";
import {rightsOnExperiment} from "../rights.js";
import {loadStylesheet} from "../stylesheet.js";
import {tablePlace} from "../table.js";
import {badge, confirm, copyButton, empty, errorBox, facts, menu, progressBar, tabs, toast, toastError, workButton} from "../widgets.js";

const READ_MS = 2000;
const LIST = [["overview", "Overview"], ["metrics", "Metrics"], ["hyperparameters", "Hyperparameters"], ["profiler", "Profiler"], ["media", "Media"], ["checkpoints", "Checkpoints"], ["logs", "Logs"]];

// Like throttle(), for callers that do not wait: an error becomes a toast.
export function throttleInBackground(fn, ms) {
    const run = throttle(fn, ms);
    return () => void run().catch(toastError);
}

// {a: {b: 1}} -> [["a", undefined, 0, "a"], ["b", 1, 1, "a.b"]]: [name, value, depth, path].
export function flatten(tree, depth = 0, path = "") {
    return Object.entries(tree || {}).flatMap(([name, one]) => {
        const here = path ? `${path}.${name}` : name;
        const isMap = one !== null && typeof one === "object" && !Array.isArray(one) && Object.keys(one).length > 0;
        return isMap ? [[name, undefined, depth, here], ...flatten(one, depth + 1, here)] : [[name, one, depth, here]];
    });
}

const leaves = (hparams) => flatten(hparams).filter(([, one]) => one !== undefined);

// "log 1e-4 … 0.1" for {type: "log", …}; "" for a constant.
function rangeText(space) {
    if (!space || typeof space !== "object" || !space.type || space.type === "const") return "";
    if (space.type === "categorical") return `one of ${(space.vals || []).map(value).join(", ")}`;
    if (space.type === "log") return `${number(Number(space.base) ** space.minval)} … ${number(Number(space.base) ** space.maxval)}, logarithmic`;
    return `${value(space.minval)} … ${value(space.maxval)}`;
}

const at = (tree, path) => path.split(".").reduce((node, name) => node?.[name], tree);

// ---- actions ----

async function kill(trial) {
    if (!await confirm(`Kill trial ${trial.id}?`, "Its processes are stopped at once. Work since the last checkpoint is lost.", "Kill", "danger")) return;
    await post(`/api/v1/trials/${trial.id}/kill`);
    toast(`Trial ${trial.id} is being killed.`);
}

// Forks a new experiment with this trial only, optionally from a checkpoint.
export async function forkTrial({trial, experiment, config}, uuid) {
    const [{forkDialog, withoutUnsaid}] = await Promise.all([import("./experiment_fork.js"), loadStylesheet(new URL("experiment.css", import.meta.url))]);
    const searcher = {name: "single", metric: config.searcher?.metric, smaller_is_better: config.searcher?.smaller_is_better};
    if (config.searcher?.max_length !== undefined) searcher.max_length = config.searcher.max_length;
    if (uuid) searcher.source_checkpoint_uuid = uuid;
    for (const name of Object.keys(searcher)) if (searcher[name] === undefined || searcher[name] === null) delete searcher[name];
    return forkDialog({...experiment, originalConfig: ""}, {...withoutUnsaid(config, experiment.originalConfig), searcher, hyperparameters: trial.hparams});
}

function actions(state) {
    const {trial, experiment} = state;
    const isEnded = isOver(trial.state);
    const best = trial.bestCheckpoint?.uuid;
    const isSingle = experiment.searcherType === "single" || experiment.numTrials === 1;
    const rights = rightsOnExperiment(experiment);
    return h("div", {class: "bar changes"},
        (rights.fork || (rights.control && isSingle)) && menu("Fork or continue", [
            rights.fork && ["Fork with these hyperparameters", () => forkTrial(state).catch(toastError)],
            rights.fork && ["Fork from the best checkpoint", () => forkTrial(state, best).catch(toastError), {disabled: !best, title: best ? "" : "This trial has no checkpoint"}],
            rights.control && isSingle && ["Continue the experiment", async () => {
                try {
                    const [{continueDialog}] = await Promise.all([import("./experiment_fork.js"), loadStylesheet(new URL("experiment.css", import.meta.url))]);
                    await continueDialog(experiment, state.config);
                } catch (error) {
                    toastError(error);
                }
            }, {disabled: !isOver(experiment.state), title: isOver(experiment.state) ? "" : "The experiment is still running"}],
        ]),
        rights.task && workButton("TensorBoard", async () => {
            const {openTensorBoard} = await import("../tensorboard.js");
            await openTensorBoard({trialIds: [trial.id], workspaceId: experiment.workspaceId});
        }, {title: "Open this trial in TensorBoard"}),
        rights.control && !isEnded && !experiment.unmanaged && workButton("Kill", () => kill(trial), {kind: "danger", icon: "stop"}));
}

// ---- header ----

// A trial that waits for its first slots has not begun; its start is when it was created.
const hasBegun = (trial) => trial.wallClockTime > 0 || !["QUEUED", "PAUSED"].includes(stateName(trial.state));
const tile = (name, shown, under) => h("div", {class: "tile"}, h("div", {class: "dim"}, name), h("div", {class: "tile-value num"}, shown), under && h("div", {class: "dim tile-under"}, under));

function tiles({trial, experiment, config}) {
    const metric = config.searcher?.metric;
    const best = trial.searcherMetricValue ?? trial.bestValidation?.metrics?.avgMetrics?.[metric];
    const steps = trial.bestValidation?.totalBatches;
    return h("div", {class: "tiles"},
        tile(metric ? `Best ${metric}` : "Best validation", best === undefined || best === null ? "–" : number(best), steps ? `at step ${number(steps)}` : ""),
        tile("Steps", number(trial.totalBatchesProcessed || 0)),
        tile(experiment.unmanaged ? "Duration" : "Slot time", duration(trial.wallClockTime), hasBegun(trial) ? trial.startTime && `started ${ago(trial.startTime)}` : "has not begun"),
        tile("Restarts", number(trial.restarts || 0), config.max_restarts ? `of ${config.max_restarts} allowed` : ""),
        tile("Checkpoints", number(trial.checkpointCount || 0), bytes(trial.totalCheckpointSize)),
        experiment.numTrials === 1 && !isOver(trial.state) && tile("Progress", progressBar(experiment.progress ?? 0)));
}

function shortHparams(trial) {
    const all = leaves(trial.hparams);
    if (!all.length) return null;
    const shown = all.slice(0, 8);
    return h("p", {class: "dim hparams-short"}, shown.map(([, one, , path]) => h("span", {class: "pair"}, `${path} `, h("b", {class: "num"}, value(one)))), all.length > shown.length && ` and ${all.length - shown.length} more`);
}

// Redraws a part only if its content has changed, to keep focus and open menus.
function head(state, tab) {
    const parts = {badge: h("span", {class: "bar"}), actions: h("div"), tiles: h("div"), tabs: h("div")};
    const drawnKeys = {};
    const draw = (name, what, make) => {
        const key = JSON.stringify(what);
        if (drawnKeys[name] === key) return;
        drawnKeys[name] = key;
        fill(parts[name], make());
    };
    const {trial: {id}, experiment: {id: experimentId, name}, base} = state;
    const node = h("header", {class: "trial-head"},
        h("div", {class: "head"},
            h("div",
                h("p", {class: "crumb"}, link(`/experiments/${experimentId}`, {}, `Experiment ${experimentId}`), h("span", {class: "dim", title: longTitle(name)}, ` · ${name}`)),
                h("div", {class: "bar"}, h("h1", `Trial ${id}`), state.trial.localId && h("span", {class: "chip mono", title: "The trial’s number in its project"}, state.trial.localId), parts.badge)),
            parts.actions),
        shortHparams(state.trial), parts.tiles, parts.tabs);
    const update = () => {
        const {trial, experiment} = state;
        draw("badge", [trial.state, trial.runnerState], () => [badge(trial.state), trial.runnerState && !isOver(trial.state) && h("span", {class: "dim"}, trial.runnerState)]);
        draw("actions", [trial.state, experiment.state, experiment.numTrials, trial.bestCheckpoint?.uuid], () => actions(state));
        fill(parts.tiles, tiles(state));
        const list = LIST.filter(([one]) => one !== "media" || state.hasMedia || tab === one);
        draw("tabs", [trial.checkpointCount, list.length], () => tabs(list.map(([one, label]) => [one, label, one === "checkpoints" ? trial.checkpointCount : undefined]), tab,
            (one) => one === "overview" ? base : `${base}/${one}`));
    };
    update();
    return {node, update};
}

// ---- overview ----

// The trial's runs as bars on a common time axis.
function drawRuns(node, runs, lost) {
    node.hidden = !runs.length;
    if (!runs.length) return;
    const list = [...runs].reverse().map((run, i) => ({...run, number: i + 1}));
    const begin = Math.min(...list.map((run) => new Date(run.startTime || Date.now()).getTime()));
    const end = Math.max(...list.map((run) => run.endTime ? new Date(run.endTime).getTime() : Date.now()));
    const part = (iso) => `${Math.max(0, Math.min(100, (new Date(iso || Date.now()).getTime() - begin) / Math.max(1, end - begin) * 100))}%`;
    fill(node, h("h2", list.length === 1 ? "Run" : "Runs"), h("ol", {class: "runs"}, list.map((run) => {
        const kind = !run.endTime ? "busy" : run.statusCode ? "bad" : "good";
        const gone = lost.get(run.number);
        return h("li", h("div", {class: "run-words"}, h("b", `Run ${run.number}`), h("span", {class: "dim num"}, took(run.startTime, run.endTime)),
            h("span", {class: kind === "bad" ? "bad-text" : "dim"}, run.endTime ? run.exitReason || "ended" : stateName(run.state).toLowerCase()),
            gone && h("span", {class: "dim"}, `steps ${number(gone[0])} to ${number(gone[1])} were lost and repeated`)),
        h("div", {class: "run-track"}, h("span", {class: ["run-bar", kind], style: {left: part(run.startTime), right: `calc(100% - ${part(run.endTime)})`}})));
    })));
}

// A validation counts if it has the searcher's metric.
function noLatest({trial, config}) {
    if (Object.keys(trial.summaryMetrics?.validation_metrics || {}).length) return `No validation has the metric of the searcher, ${config.searcher?.metric}.`;
    return isOver(trial.state) ? "No validation was reported." : "No validation yet.";
}

async function overview(place, state, ctx) {
    const {trial, config} = state;
    const {metricsOverview} = await import("./trial_metrics.js");
    const chartsNode = h("div");
    const runsNode = h("section", {class: "card wide", "aria-label": "Runs", hidden: true});
    const about = h("section", {class: "card", "aria-label": "Details"});
    const validation = h("section", {class: "card", "aria-label": "Latest validation"});
    const why = h("div", {class: "failure-place"});
    const updateFailure = failureCard(why, ctx);
    fill(place, why, chartsNode, h("div", {class: "trial-cards"}, about, validation, runsNode));

    function draw() {
        const {trial: now} = state;
        updateFailure(stateName(now.state) === "ERROR" ? now.id : 0, now.endTime).catch(toastError);
        fill(about, h("h2", "Details"), facts([
            ["State", h("span", {}, badge(now.state))], hasBegun(now) ? ["Started", time(now.startTime)] : ["Submitted", time(now.startTime)], ["Ended", time(now.endTime)],
            ["Warm start", now.warmStartCheckpointUuid && h("code", now.warmStartCheckpointUuid)], ["Task", h("code", now.taskId)],
            now.logPolicyMatched && ["Log policy", now.logPolicyMatched],
            ["Best checkpoint", now.bestCheckpoint?.uuid && link(`${state.base}/checkpoints?checkpoint=${now.bestCheckpoint.uuid}`, {}, h("code", now.bestCheckpoint.uuid.slice(0, 8)))]]));
        const latest = Object.entries(now.latestValidation?.metrics?.avgMetrics || {});
        fill(validation, h("h2", "Latest validation"), latest.length
            ? [h("p", {class: "dim"}, `at step ${number(now.latestValidation.totalBatches)}, ${ago(now.latestValidation.endTime)}`), facts(latest.slice(0, 20).map(([name, one]) => [name, h("span", {class: "num"}, value(one))]))]
            : h("p", {class: "dim"}, noLatest(state)));
    }
    const lost = new Map();
    const readRuns = async () => { // unmanaged trials have no task here
        if (!trial.taskId || state.experiment.unmanaged) return;
        const {task} = await get(`/api/v1/tasks/${encodeURIComponent(trial.taskId)}`, {}, {signal: ctx.signal});
        drawRuns(runsNode, task.allocations || [], lost);
    };
    draw();
    const charts = await metricsOverview(chartsNode, state, ctx, (archived) => {
        for (const {run, first, last} of archived) { // the lost range of each metric
            if (!first || !last) continue;
            const [from, to] = lost.get(run) || [Infinity, -Infinity];
            lost.set(run, [Math.min(from, first[0]), Math.max(to, last[0])]);
        }
        void readRuns().catch(() => {});
    });
    await readRuns().catch((error) => {
        if (error.status !== 404) throw error;
    });
    return {
        trial() {
            draw();
            if (isOver(state.trial.state)) charts.metrics();
            void readRuns().catch(() => {});
        },
        metrics: charts.metrics, config,
    };
}

// ---- hyperparameters ----

function hyperparameters(place, state) {
    const rows = flatten(state.trial.hparams);
    const space = state.config.hyperparameters || {};
    if (!rows.length) return fill(place, empty("This trial has no hyperparameters."));
    fill(place, h("div", {class: "bar"}, copyButton(() => JSON.stringify(state.trial.hparams, null, 2), "Copy as JSON")),
        tablePlace(h("table", {class: "data"}, h("caption", {class: "hidden"}, "Hyperparameters"),
            h("thead", h("tr", h("th", {scope: "col"}, "Name"), h("th", {scope: "col"}, "Value"), h("th", {scope: "col"}, "Search range"))),
            h("tbody", rows.map(([name, one, depth, path]) => h("tr", h("th", {scope: "row", class: "hparam", style: {paddingLeft: `${0.75 + depth * 1.25}rem`}}, name),
                h("td", {class: "num-left"}, one === undefined ? "" : value(one)), h("td", {class: "dim"}, rangeText(at(space, path)))))))));
}

// ---- the page ----

async function read(id, ctx) {
    const {trial} = await get(`/api/v1/trials/${id}`, {}, {signal: ctx.signal});
    const {experiment, config} = await get(`/api/v1/experiments/${trial.experimentId}`, {}, {signal: ctx.signal});
    return {trial, experiment, config: config || experiment.config || {}};
}

async function view(tab, place, state, ctx) {
    if (tab === "overview") return overview(place, state, ctx);
    if (tab === "metrics") return (await import("./trial_metrics.js")).metricsTab(place, state, ctx);
    if (tab === "profiler") return (await import("./trial_profile.js")).profilerTab(place, state, ctx);
    if (tab === "media") return (await import("./trial_media.js")).mediaTab(place, state, ctx);
    if (tab === "checkpoints") return (await import("./trial_checkpoints.js")).checkpointsTab(place, state, ctx);
    if (tab === "hyperparameters") return hyperparameters(place, state);
    if (!state.trial.taskId) return fill(place, empty("The master has no logs of this trial."));
    const {logView} = await import("../logview.js");
    const {readNewLines} = await logView(place, {taskId: state.trial.taskId, ctx, name: `trial-${state.trial.id}`, isFed: true});
    return {logs: readNewLines};
}

export async function page(ctx) {
    const id = ctx.params.id;
    if (!isId(id)) throw Object.assign(new Error(`there is no trial '${id}'`), {status: 404});
    const tab = ctx.params.tab || "overview";
    const [state] = await Promise.all([read(id, ctx), loadStylesheet(new URL("trial.css", import.meta.url))]);
    state.base = ctx.params.experiment ? `/experiments/${ctx.params.experiment}/trials/${id}` : `/trials/${id}`;
    ctx.title(`Trial ${id} · ${state.experiment.name}`);
    const top = head(state, tab);
    const place = h("div", {class: "trial-view"});
    fill(ctx.root, top.node, place);
    top.node.querySelector(".tabs [aria-current]")?.scrollIntoView({block: "nearest", inline: "center"});

    let shown = {};
    try {
        shown = await view(tab, place, state, ctx) || {};
    } catch (error) {
        if (error.name === "AbortError" || error.status === 401) throw error;
        fill(place, errorBox(error));
        if (error.status === undefined) throw error;
    }

    const findMedia = throttleInBackground(async () => { // whether it has any; TensorBoard's files are read if it reported none
        for (const source of ["media", "events"]) state.hasMedia ||= (await get(`/api/v1/det/trials/${id}/${source}`, {}, {signal: ctx.signal})).media.length > 0;
        top.update();
    }, READ_MS);
    if (tab !== "media") findMedia();

    let isGone = false;
    const gone = () => {
        isGone = true;
        fill(ctx.root, empty(h("p", `Experiment ${state.experiment.id} was deleted, and this trial with it.`), h("p", h("a", {href: `${BASE}/experiments`}, "All experiments"))));
    };
    const again = throttleInBackground(async () => {
        if (isGone) return;
        try {
            Object.assign(state, await read(id, ctx));
        } catch (error) {
            if (error.status !== 404) throw error;
            return gone(); // its experiment is deleted after it and reported later
        }
        top.update();
        shown.trial?.();
    }, READ_MS);
    // Started only now: before, the view could not handle changes.  Changes since the view was read are sent (change_stream.js).
    const logs = tab === "logs" ? {kinds: "experiments,trials,logs", task: state.trial.taskId} : {kinds: "experiments,trials,metrics,checkpoints,media"};
    ctx.live({...logs, trial: id, experiment: state.experiment.id}, (changes) => {
        if (changes.deleted?.includes(state.experiment.id)) gone();
        if (isGone) return;
        const isMine = (list) => changes.reset || list?.includes(state.trial.id); // the experiment may have thousands of trials
        if (isMine(changes.trials) || changes.experiments || isMine(changes.metrics) || isMine(changes.checkpoints)) again();
        if (isMine(changes.metrics)) shown.metrics?.();
        if (isMine(changes.checkpoints)) shown.checkpoints?.();
        if (isMine(changes.media)) shown.media?.();
        if (isMine(changes.media) && !state.hasMedia) findMedia();
        return (changes.reset || changes.logs) && shown.logs?.();
    });
}
