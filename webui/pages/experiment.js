// SPDX-License-Identifier: Apache-2.0
// experiment.js - one experiment: a header and the views below it.
//
//   changes --> read again (the experiment; the table of trials if the view shows it) --> update the view
//
// A view is {update(state), destroy()}.  It is created when its tab is opened and updated when something changes.
// Another tab changes the address, not the page, so the keyboard focus stays.

import {del, get, isAbort, patch, post, prefetch, put} from "../api.js";
import {cancelDebounced, fill, h, throttle} from "../dom.js";
import {ago, bytes, duration, isOver, longTitle, noBest, number, plural, slotsOf, stateName, time, workTime} from "../format.js";
import {BASE, go, isId, link, readQuery} from "../router.js";
import {rightsOnExperiment} from "../rights.js";
import {mayChange} from "../session.js";
import {crumbs} from "../spaces.js";
import {loadStylesheet} from "../stylesheet.js";
import {badge, button, chip, confirm, errorBox, icon, menu, progressBar, tabs, toast, toastError, workButton} from "../widgets.js";

const TABS = [["overview", "Overview"], ["metrics", "Metrics"], ["logs", "Logs"], ["trials", "Trials"], ["search", "Search"], ["checkpoints", "Checkpoints"], ["configuration", "Configuration"],
    ["code", "Code"], ["notes", "Notes"], ["lineage", "Lineage"]];
const TABLE_EVERY_MS = 700; // between two reads of the table while trials report

// With a single trial there is nothing to compare, and its log belongs to the experiment.  Other experiments have a log
// for each trial.
const isSingle = (experiment) => experiment.numTrials < 2 && (experiment.searcherType === "single" || isOver(experiment.state));
const tabsOf = (experiment) => TABS.filter(([name]) => name !== (isSingle(experiment) ? "search" : "logs"));

// ---- sentences ----

// Describes the searcher in one sentence.
export function searcherSentence(searcher, smallerIsBetter = true) {
    if (!searcher) return "";
    const metric = searcher.metric || "the validation metric";
    const aim = `${smallerIsBetter ? "the smallest" : "the largest"} ${metric}`;
    const lanes = searcher.max_concurrent_trials ? `, ${searcher.max_concurrent_trials} at a time` : "";
    switch (searcher.name) {
    case "single": return `One trial, judged by ${metric} (${smallerIsBetter ? "smaller" : "larger"} is better).`;
    case "random": return `A random search of ${plural(searcher.max_trials, "trial")}${lanes}, for ${aim}.`;
    case "grid": return `A grid search over all combinations${lanes}, for ${aim}.`;
    case "adaptive_asha": case "async_halving": return `An adaptive search of up to ${plural(searcher.max_trials, "trial")}${lanes}, which stops trials that fall behind, for ${aim}.`;
    default: return `A ${searcher.name} search${lanes}, for ${aim}.`;
    }
}

// ---- text that can be edited in place ----

function editable({label, tag = "span", placeholder = "", className, save, mayEdit}) {
    const text = h(tag, {class: ["text", className]});
    const open = button("", () => edit(), {kind: "plain edit-button changes", icon: "edit", "aria-label": `Edit ${label}`, title: `Edit ${label}`});
    const node = h("div", {class: "editable"}, text, open);
    let now = "";
    let isOpen = false;

    function show() {
        fill(text, now || h("span", {class: "dim"}, placeholder));
        text.title = longTitle(now) ?? "";
        open.hidden = !mayEdit();
        if (open.parentNode !== node) fill(node, text, open); // a button that is replaced while pressed loses the click
    }
    function close() {
        isOpen = false;
        show();
        open.focus();
    }
    function edit() {
        isOpen = true;
        const input = h("input", {type: "text", value: now, "aria-label": label[0].toUpperCase() + label.slice(1), class: "edit-input"});
        const done = async () => {
            if (input.value === now) return close();
            input.disabled = true;
            try {
                await save(input.value);
                now = input.value;
                close();
            } catch (error) {
                toastError(error);
                input.disabled = false;
                input.focus();
            }
        };
        fill(node, h("form", {class: "bar grow", onsubmit: (event) => {
            event.preventDefault();
            void done();
        }}, input, h("button", {type: "submit", class: "button primary"}, "Save"), button("Cancel", close)));
        input.addEventListener("keydown", (event) => event.key === "Escape" && close());
        input.focus();
        input.select();
    }
    return {
        node,
        update(value) {
            now = value || "";
            if (!isOpen) show();
        },
    };
}

function labelEditor(id, isChanged, mayEdit) {
    const node = h("div", {class: "bar labels"});
    let now = "";
    const change = async (work) => {
        try {
            draw((await work()).labels);
            await isChanged();
        } catch (error) {
            toastError(error);
        }
    };
    const pathOf = (label) => `/api/v1/experiments/${id}/labels/${encodeURIComponent(label)}`;
    function add() {
        const input = h("input", {type: "text", "aria-label": "New label", size: 14, maxlength: 200});
        const form = h("form", {class: "bar", onsubmit: (event) => {
            event.preventDefault();
            const label = input.value.trim();
            if (label) void change(() => put(pathOf(label)));
            else draw();
        }}, input, h("button", {type: "submit", class: "button"}, "Add"));
        input.addEventListener("keydown", (event) => event.key === "Escape" && draw());
        node.lastChild.replaceWith(form);
        input.focus();
    }
    let labels = [];
    function draw(list = labels) {
        const isFocused = node.contains(document.activeElement);
        labels = list;
        now = JSON.stringify(labels);
        fill(node, labels.map((label) => chip(label, mayEdit() && (() => change(() => del(pathOf(label)))))), mayEdit() && button("Label", add, {kind: "plain changes", icon: "plus", "aria-label": "Add label"}));
        if (isFocused) node.lastChild?.focus();
    }
    return {
        node,
        update(list) {
            if (node.querySelector("form")) labels = list;
            else if (JSON.stringify(list) !== now) draw(list);
        },
    };
}

// ---- actions ----

function actions(id, state, reload) {
    const act = (name, words) => async () => {
        try {
            await post(`/api/v1/experiments/${id}/${name}`);
            toast(words, "good");
            await reload();
        } catch (error) {
            toastError(error);
        }
    };
    const erase = async () => {
        const {experiment} = state;
        const text = `Experiment ${id}, its ${plural(experiment.numTrials, "trial")}, their metrics and logs, and ${plural(experiment.checkpointCount, "checkpoint")} (${bytes(experiment.checkpointSize)}) are deleted permanently.`;
        if (!await confirm(`Delete experiment ${id}?`, text, "Delete", "danger")) return;
        state.isLeaving = true; // read nothing of it any more
        try {
            await del(`/api/v1/experiments/${id}`);
            toast(`Experiment ${id} is being deleted.`);
            go("/experiments");
        } catch (error) {
            state.isLeaving = false;
            toastError(error);
        }
    };
    const kill = async () => {
        if (await confirm(`Kill experiment ${id}?`, "Its trials are stopped at once, without a final checkpoint.", "Kill", "danger")) await act("kill", "Killed.")();
    };
    const fork = async () => (await import("./experiment_fork.js")).forkDialog(state.experiment, state.config);
    const openContinue = async () => {
        if (await (await import("./experiment_fork.js")).continueDialog(state.experiment, state.config)) await reload();
    };
    const board = async () => {
        const {openTensorBoard} = await import("../tensorboard.js");
        await openTensorBoard({experimentIds: [id], workspaceId: state.experiment.workspaceId});
    };
    return {act, erase, kill, fork, openContinue, board};
}

function actionBar(id, state, reload) {
    const todo = actions(id, state, reload);
    const node = h("div", {class: "bar actions"});
    let shown = "";
    function draw() {
        const {experiment} = state;
        const name = stateName(experiment.state);
        const over = isOver(experiment.state);
        const isStopping = name.startsWith("STOPPING") || name === "DELETING";
        const now = [name, experiment.archived, experiment.unmanaged, experiment.workspaceId].join();
        const rights = rightsOnExperiment(experiment);
        if (now === shown) return;
        const had = document.activeElement?.closest?.(".actions") === node ? document.activeElement.textContent : null;
        shown = now;
        fill(node,
            rights.control && !over && !isStopping && !experiment.unmanaged && (name === "PAUSED" ? workButton("Activate", todo.act("activate", "Activated."), {icon: "play", kind: "primary changes"}) : workButton("Pause", todo.act("pause", "Pausing: trials save a checkpoint first."), {icon: "pause", kind: "changes"})),
            rights.control && over && !experiment.unmanaged && name !== "DELETE_FAILED" && button("Continue", () => todo.openContinue().catch(toastError), {icon: "play", kind: "changes"}),
            rights.fork && !experiment.unmanaged && button("Fork", () => todo.fork().catch(toastError), {icon: "copy", kind: "changes"}),
            rights.task && workButton("TensorBoard", todo.board, {kind: "changes"}),
            menu("More", [
                ["Compare", () => go(`/compare?experiments=${id}`)],
                rights.control && !over && ["Cancel", todo.act("cancel", "Canceling: trials save a checkpoint first."), {disabled: isStopping, title: "Stop gracefully", kind: "changes"}],
                rights.control && !over && ["Kill", todo.kill, {kind: "danger changes"}],
                rights.edit && over && (experiment.archived ? ["Unarchive", todo.act("unarchive", "Unarchived: shown in lists again."), {kind: "changes"}] : ["Archive", todo.act("archive", "Archived: hidden from lists."), {kind: "changes"}]),
                rights.remove && over && ["Delete", todo.erase, {kind: "danger changes"}],
            ]));
        if (had) [...node.querySelectorAll("button")].find((one) => one.textContent === had)?.focus();
    }
    return {node, draw};
}

// ---- the header ----

// What a queued experiment needs from its pool, and what is free there: sentences, also for the overview.
export function needsOf({jobSummary, pool, config}) {
    const wanted = config?.resources?.slots_per_trial ?? 1;
    const {used, usable, offText} = slotsOf([pool]);
    const free = Math.max(0, usable - used);
    return {
        needs: wanted ? plural(wanted, "slot") : "no slot, only an agent",
        free: wanted ? usable ? `${number(free)} of ${plural(usable, "slot")}${offText && `; ${offText}`}` : `none: ${pool.numAgents ? `all slots are disabled` : "the pool has no agent"}` : plural(pool.numAgents, "agent"),
        isPossible: wanted ? usable >= wanted : pool.numAgents > 0,
        queue: jobSummary.waitReason ? `runs again at ${new Date(jobSummary.retryTime).toLocaleTimeString()}: ${jobSummary.waitReason}`
            : jobSummary.jobsAhead < 0 ? "waits for its share of the pool"
            : jobSummary.jobsAhead ? `${plural(jobSummary.jobsAhead, "job")} ahead in the queue` : "next in the queue",
        lacks: wanted ? `waiting for ${plural(wanted, "slot")}; the pool has ${usable ? number(usable) : "none"}` : "waiting for an agent",
    };
}

function waitsFor(state) {
    const {needs, free, isPossible, queue, lacks} = needsOf(state);
    if (state.jobSummary.waitReason) return queue;
    return isPossible ? `needs ${needs}, ${free} free · ${queue}` : lacks;
}

function header(id, state, reload) {
    const place = {crumbs: h("div"), badge: h("span"), archived: h("span"), progress: h("span"), line: h("p", {class: "dim facts-line"}), searcher: h("p", {class: "searcher"}), doubt: h("p", {class: "banner", role: "note", hidden: true}), best: h("p", {class: "best"})};
    const mayEdit = () => rightsOnExperiment(state.experiment).edit;
    const name = editable({label: "name", tag: "h1", mayEdit, save: async (text) => {
        await patch(`/api/v1/experiments/${id}`, {name: text});
        await reload();
    }});
    const description = editable({label: "description", tag: "p", placeholder: "No description", mayEdit, save: async (text) => {
        await patch(`/api/v1/experiments/${id}`, {description: text});
        await reload();
    }});
    const labels = labelEditor(id, reload, mayEdit);
    const bar = actionBar(id, state, reload);
    const node = h("header", {class: "experiment-head"}, place.crumbs,
        h("div", {class: "head"}, h("div", {class: "title"}, h("div", {class: "bar state-line"}, place.badge, h("span", {class: "dim num"}, `Experiment ${id}`), place.archived), name.node, description.node), bar.node),
        place.line, place.searcher, place.doubt, place.best, h("div", {class: "bar"}, place.progress, labels.node));

    function tick() {
        const {experiment} = state;
        const {beginTime} = state;
        fill(place.line, `by ${experiment.displayName || experiment.username}`, " · ", beginTime ? h("span", {title: `Submitted ${time(experiment.startTime)}, started ${time(beginTime)}`}, `started ${ago(beginTime)}`)
            : h("span", {title: time(experiment.startTime)}, `submitted ${ago(experiment.startTime)}`), " · ",
            beginTime ? `${experiment.endTime ? "took" : "for"} ${duration(workTime(experiment))}` : experiment.endTime ? "never began" : "has not begun", " · ", plural(experiment.numTrials, "trial"), experiment.resourcePool && ` · pool ${experiment.resourcePool}`,
            state.pool && ` · ${waitsFor(state)}`);
    }

    function draw() {
        const {experiment, config} = state;
        const where = [experiment.workspaceName, experiment.projectName].join();
        // In `det ui` there is only one place.  Drawn once, so that a link is not replaced while it is pressed.
        if (mayChange() && place.crumbs.dataset.shown !== where) fill(place.crumbs, crumbs([`/workspaces/${experiment.workspaceId}`, experiment.workspaceName], [`/projects/${experiment.projectId}`, experiment.projectName], [null, `Experiment ${id}`]));
        place.crumbs.dataset.shown = where;
        fill(place.badge, badge(experiment.state));
        fill(place.archived, experiment.archived && h("span", {class: "chip"}, "archived"), experiment.unmanaged && h("span", {class: "chip", title: "Its program runs outside the cluster; the master only records it"}, "unmanaged"));
        name.update(experiment.name);
        description.update(experiment.description);
        labels.update(experiment.labels || []);
        fill(place.searcher, searcherSentence(config?.searcher, config?.searcher?.smaller_is_better ?? true));
        place.doubt.hidden = !state.metricDoubt;
        if (state.metricDoubt) fill(place.doubt, icon("warn"), ` ${state.metricDoubt[0].toUpperCase()}${state.metricDoubt.slice(1)}.`);
        const isWaiting = !state.beginTime && !isOver(experiment.state);
        const best = [experiment.bestTrialId, experiment.bestTrialSearcherMetric, experiment.searcherMetric, isOver(experiment.state), state.metricIsMissing].join();
        place.best.hidden = isWaiting;
        const isUnnamed = experiment.bestTrialId && !experiment.searcherMetric; // without a metric there is no best trial
        if (place.best.dataset.shown !== best) fill(place.best, isUnnamed ? null : experiment.bestTrialId ? [icon("star"), isOver(experiment.state) ? " Best: " : " Best so far: ", link(`/trials/${experiment.bestTrialId}`, {}, `trial ${experiment.bestTrialId}`), " with ",
            h("b", `${experiment.searcherMetric} ${number(experiment.bestTrialSearcherMetric)}`)] : h("span", {class: "dim"}, noBest(state)));
        place.best.dataset.shown = best;
        place.progress.hidden = isWaiting || (experiment.progress ?? null) === null;
        fill(place.progress, progressBar(experiment.progress, "Progress of the experiment"));
        bar.draw();
        tick();
    }
    return {node, draw, tick};
}

// ---- views ----

async function makeView(tab, place, tools) {
    if (tab === "search") return (await import("./experiment_search.js")).searchTab(place, tools);
    if (tab === "overview" || tab === "metrics") return (await import("./experiment_overview.js"))[tab === "metrics" ? "metricsView" : "overviewTab"](place, tools);
    if (tab === "configuration" || tab === "code") return (await import("./experiment_files.js"))[tab === "code" ? "codeTab" : "configurationTab"](place, tools);
    if (tab === "notes") return (await import("./experiment_notes.js")).notesTab(place, tools);
    if (tab === "logs") return (await import("./experiment_logs.js")).logsTab(place, tools);
    if (tab === "lineage") return (await import("./experiment_lineage.js")).lineageTab(place, tools);
    return (await import("./experiment_tables.js"))[tab === "checkpoints" ? "checkpointsTab" : "trialsTab"](place, tools);
}

export const namesAddress = (id) => `/api/v1/det/experiments/${id}/metric-names`;
const NEEDS_TABLE = new Set(["overview", "metrics", "trials", "search"]);

// Shown when another user has deleted the experiment.
function showGone(root, id, title) {
    title(`Experiment ${id} was deleted`);
    for (const open of document.querySelectorAll("dialog")) open.close();
    fill(root, h("h1", `Experiment ${id} was deleted`), h("p", "It was deleted while this page was open, with its trials, metrics, logs and checkpoints."), h("p", link("/experiments", {}, "All experiments")));
    root.dataset.gone = "";
}

export async function page(ctx) {
    const {params, root, signal, title} = ctx;
    const id = Number(params.id);
    if (!isId(params.id)) throw Object.assign(new Error(`there is no experiment '${params.id}'`), {status: 404});
    const state = {experiment: null, config: null, jobSummary: null, beginTime: null, metricDoubt: null, metricIsMissing: false, pool: null, table: null}; // pool: only while it is queued
    let isGone = false;
    let view = null;
    let tab = params.tab || "overview";
    const viewPlace = h("div", {class: "view"});
    const tabPlace = h("div");

    const gone = () => {
        if (isGone) return;
        isGone = true;
        view?.destroy?.();
        showGone(root, id, title);
    };
    // Errors of an experiment that was deleted are not shown.
    async function unlessDeleted(work) {
        try {
            return await work();
        } catch (error) {
            if (isGone || isAbort(error)) return null;
            if (error.status === 404) return gone();
            throw error;
        }
    }
    async function readPool(name) {
        try {
            return (await get("/api/v1/resource-pools", null, {signal})).resourcePools.find((one) => one.name === name);
        } catch (error) {
            if (isAbort(error)) throw error;
            return null; // show the page without the state of the queue
        }
    }
    async function read() {
        const reply = await get(`/api/v1/experiments/${id}`, null, {signal});
        state.experiment = reply.experiment;
        state.config = reply.config;
        state.jobSummary = reply.jobSummary;
        state.beginTime = reply.beginTime; // null: none of its trials has got slots yet
        state.metricDoubt = reply.metricDoubt;
        state.metricIsMissing = reply.metricIsMissing; // from the validations
        state.pool = reply.jobSummary?.state === "STATE_QUEUED" ? await readPool(state.experiment.resourcePool) : null;
    }
    const tableQuestion = (query = tools.trialQuery) => [`/api/v1/det/experiments/${id}/trials-table`, {metric: tools.metric, withoutImportance: tab === "search" ? undefined : true,
        ...(tab === "trials" ? {withMetrics: true, query} : {})}, {signal}];
    let asked = 0;
    let answered = 0;
    async function readTable() {
        const mine = ++asked;
        const table = await get(...tableQuestion()).catch(async (error) => {
            // a mistake in the query is shown beside it, above all trials
            if (error.status !== 400 || tab !== "trials" || !tools.trialQuery) throw error;
            return {...await get(...tableQuestion("")), problem: error};
        });
        if (mine < answered) return; // a later call was faster
        answered = mine;
        state.table = table;
    }
    const reload = throttle(() => unlessDeleted(async () => { // one at a time: an old reply never replaces a newer one
        if (state.isLeaving) return;
        await read();
        if (isGone) return;
        head.draw();
        drawTabs();
        view?.updateExperiment?.(state);
    }));
    const reloadTable = throttle(() => unlessDeleted(async () => {
        if (isGone || state.isLeaving || !NEEDS_TABLE.has(tab)) return;
        await readTable();
        if (!isGone && NEEDS_TABLE.has(tab)) view?.update?.(state.table);
    }), TABLE_EVERY_MS);
    const tools = {id, state, reload, reloadTable, signal, keys: ctx.keys, isSingle: () => isSingle(state.experiment), metric: undefined, trialQuery: readQuery().query || "", config: () => state.config, trialAddress: (trial) => `/trials/${trial}`, unlessDeleted};

    if (NEEDS_TABLE.has(tab)) prefetch(...tableQuestion());
    if (tab === "overview" || tab === "metrics") prefetch(namesAddress(id), null, {signal});
    await Promise.all([read(), loadStylesheet(new URL("./experiment.css", import.meta.url))]);
    const head = header(id, state, reload);

    // The links stay: a link that is replaced while pressed loses the click.
    function drawTabs() {
        const {experiment} = state;
        const counts = {trials: experiment.numTrials, checkpoints: experiment.checkpointCount};
        const list = tabsOf(experiment);
        if (tabPlace.dataset.tabs !== list.join()) makeTabs(list, counts);
        for (const anchor of tabPlace.querySelectorAll("a")) {
            const name = anchor.getAttribute("href").split("/").pop();
            if (name === tab) anchor.setAttribute("aria-current", "page");
            else anchor.removeAttribute("aria-current");
            const count = anchor.querySelector(".count");
            if (count && count.textContent !== number(counts[name])) count.textContent = number(counts[name]);
        }
    }
    function makeTabs(list, counts) {
        const node = tabs(list.map(([name, label]) => [name, label, counts[name]]), tab, (name) => `/experiments/${id}/${name}`);
        node.addEventListener("click", (event) => {
            const anchor = event.target.closest("a");
            if (!anchor || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
            event.preventDefault();
            event.stopPropagation();
            void open(anchor.getAttribute("href").split("/").pop(), true);
        }, true);
        tabPlace.dataset.tabs = list.join();
        fill(tabPlace, node);
    }

    let opened = 0; // a counter: only the tab opened last is shown
    async function open(name, isMove) {
        const mine = ++opened;
        tab = name;
        cancelDebounced();
        if (isMove) history.pushState(null, "", `${BASE}/experiments/${id}/${name}`);
        view?.destroy?.();
        view = null;
        tools.metric = undefined;
        if (isMove) tools.trialQuery = "";
        const place = h("div", {class: `tab-${name}`});
        title(`${TABS.find(([one]) => one === name)[1]} · ${state.experiment.name}`);
        drawTabs();
        try {
            await unlessDeleted(async () => {
                if (NEEDS_TABLE.has(name)) await readTable();
                if (mine !== opened || isGone) return;
                const made = await makeView(name, place, tools);
                if (mine !== opened || isGone) return made?.destroy?.();
                fill(viewPlace, place);
                view = made;
                listen();
                if (NEEDS_TABLE.has(name)) view.update?.(state.table);
                viewPlace.dataset.tab = name;
            });
        } catch (error) {
            // If a module could not be fetched, it is tried again when the master is back (see below).
            if (mine === opened) fill(viewPlace, errorBox(error));
        }
    }

    // Called when the view changes: new lines of a log are reported only while the log is shown.
    let heard = null; // {task, stop}
    function listen() {
        const task = view?.taskId?.();
        if (!heard || isGone || heard.task === task) return;
        heard.stop();
        heard = {task, stop: ctx.live({kinds: `experiments,trials,metrics,checkpoints,agents,queue${task ? ",logs" : ""}`, experiment: id, task}, changed)};
    }
    tools.listen = listen;

    head.draw();
    fill(root, head.node, tabPlace, viewPlace);
    await open(tab, false);
    const clock = setInterval(() => isGone || head.tick(), 1000);
    ctx.onLeave(() => {
        clearInterval(clock);
        view?.destroy?.();
        isGone = true;
    });
    async function changed(changes) {
        if (changes.deleted?.includes(id)) return gone();
        if (isGone) return;
        if (changes.reset && !view) await open(tab, false);
        const isQueueChanged = state.pool && (changes.agents || changes.queue); // affects what it waits for
        const isJudging = changes.metrics && !state.experiment.bestTrialId && !state.metricIsMissing; // the first validation may lack the metric
        if (changes.reset || changes.experiments || changes.trials || changes.checkpoints || isQueueChanged || isJudging) await reload();
        if (changes.reset || changes.checkpoints) view?.updateCheckpoints?.();
        if (changes.reset || changes.metrics) view?.updateMetrics?.();
        if (changes.reset || changes.logs) view?.updateLogs?.();
        if (changes.reset || changes.trials || changes.metrics || changes.experiments) await reloadTable();
    }
    heard = {task: null, stop: () => {}};
    listen();
}
