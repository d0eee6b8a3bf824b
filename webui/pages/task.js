// SPDX-License-Identifier: Apache-2.0
// task.js - one job or TensorBoard: overview, configuration and log.

import {get, post} from "../api.js";
import {fill, h, throttle} from "../dom.js";
import {isOver, longTitle, number, stateName, time, took} from "../format.js";
import {mayControlTask, whyNot} from "../rights.js";
import {link} from "../router.js";
import {dataTable} from "../table.js";
import {badge, confirm, copyButton, facts, tabs, workButton} from "../widgets.js";

const RUNS = [
    {id: "run", label: "Run", class: "mono cut", cell: (run) => run.allocationId},
    {id: "state", label: "State", cell: (run) => badge(run.state)},
    {id: "slots", label: "Slots", isNumber: true, class: "phone-off", cell: (run) => number(run.slots)},
    {id: "start", label: "Started", isNumber: true, class: "phone-off", cell: (run) => time(run.startTime)},
    {id: "took", label: "Duration", isNumber: true, cell: (run) => took(run.startTime, run.endTime)},
    {id: "code", label: "Exit code", isNumber: true, cell: (run) => run.statusCode ?? ""},
    {id: "reason", label: "Reason", cell: (run) => run.exitReason || ""},
];

async function read(id, signal) {
    const {task} = await get(`/api/v1/tasks/${encodeURIComponent(id)}`, {}, {signal});
    if (task.taskType !== "TASK_TYPE_TENSORBOARD") return {task, board: null};
    const {tensorboard} = await get(`/api/v1/tensorboards/${encodeURIComponent(id)}`, {}, {signal});
    return {task, board: tensorboard};
}

const kindOf = (task) => ({TASK_TYPE_TENSORBOARD: "TensorBoard", TASK_TYPE_TRIAL: "Trial task"})[task.taskType] || "Job";
const stateOf = ({task, board}) => board && !isOver(task.taskState) ? stateName(board.state) : stateName(task.taskState);
const canOpen = (shown) => shown.board && ["QUEUED", "PULLING", "STARTING", "RUNNING"].includes(stateOf(shown));

function actions(shown, refresh) {
    const {task, board} = shown;
    const state = stateOf(shown);
    const act = (verb) => post(`/api/v1/tasks/${task.taskId}/${verb}`).then(refresh);
    const isAllowed = mayControlTask(task);
    const why = whyNot(isAllowed);
    if (!task.taskState || isOver(task.taskState)) return [];
    return [
        canOpen(shown) && h("a", {class: "button primary", href: board.serviceAddress, target: "_blank", rel: "noopener"}, "Open TensorBoard"),
        !task.noPause && state === "ACTIVE" && workButton("Pause", () => act("pause"), {icon: "pause", disabled: !isAllowed, title: why ?? "Stops the job. It starts from the beginning when it is unpaused."}),
        !task.noPause && state === "PAUSED" && workButton("Unpause", () => act("unpause"), {icon: "play", disabled: !isAllowed, title: why}),
        workButton("Kill", async () => {
            if (await confirm(`Kill ${task.name}?`, "Its processes are stopped at once.", "Kill", "danger")) await act("kill");
        }, {kind: "danger", disabled: !isAllowed || state.startsWith("STOPPING") || state === "TERMINATING", title: why}),
    ];
}

const links = (ids, address) => ids?.length ? ids.map((id, i) => [i > 0 && ", ", link(`${address}/${id}`, {}, id)]) : null;

function overview(node, shown) {
    const {task, board} = shown;
    const runs = dataTable({label: "Runs", columns: RUNS, key: (run) => run.allocationId});
    runs.rows(task.allocations);
    fill(node, facts([
        ["Type", kindOf(task)],
        ["ID", h("span", {class: "mono"}, task.taskId)],
        board && ["Experiments", links(board.experimentIds, "/experiments")],
        board && ["Trials", links(board.trialIds, "/trials")],
        canOpen(shown) && ["Address", h("a", {href: board.serviceAddress, target: "_blank", rel: "noopener"}, new URL(board.serviceAddress, location).href)],
        ["Owner", task.username],
        task.workspaceName && ["Workspace", link(`/workspaces/${task.workspaceId}`, {}, task.workspaceName)],
        ["Slots", number(task.slots)],
        ["Resource pool", task.resourcePool],
        ["Priority", number(task.priority)],
        ["Started", time(task.startTime)],
        task.endTime && ["Ended", time(task.endTime)],
        ["Duration", took(task.startTime, task.endTime)],
        task.forkedFrom && ["Forked from", link(`/tasks/${task.forkedFrom}`, {class: "mono"}, task.forkedFrom)],
    ]), h("h2", "Runs"), runs.node);
}

async function configuration(node, id, signal) {
    const {config} = await get(`/api/v1/tasks/${encodeURIComponent(id)}/config`, {}, {signal});
    fill(node, h("div", {class: "bar"}, copyButton(config)), h("pre", {class: "config", tabindex: 0}, h("code", config)));
}

export async function page(ctx) {
    const {params, root, title, live, signal} = ctx;
    const id = params.id;
    const tab = params.tab || "overview";
    let shown = await read(id, signal);
    const parts = {head: h("div"), tabs: h("div"), place: h("div")};
    const drawnKeys = {};

    // Redraws only changed parts: a link or button that is replaced while pressed loses the click.
    function part(name, what, make) {
        const key = JSON.stringify(what);
        if (drawnKeys[name] === key) return;
        drawnKeys[name] = key;
        make(parts[name]);
    }
    function draw() {
        const {task, board} = shown;
        const name = task.name || kindOf(task);
        title(name);
        part("head", [name, task.taskState, stateOf(shown), task.noPause, board?.serviceAddress], (node) => fill(node,
            h("div", {class: "head"}, h("div", {class: "bar"}, h("h1", {title: longTitle(name)}, name), task.taskState && badge(stateOf(shown))), h("div", {class: "bar"}, actions(shown, refresh)))));
        part("tabs", Boolean(task.taskState), (node) => fill(node,
            tabs([["overview", "Overview"], task.taskState && ["configuration", "Configuration"], ["logs", "Logs"]], tab,
                (to) => `/tasks/${encodeURIComponent(id)}${to === "overview" ? "" : "/" + to}`)));
        if (tab === "overview") part("place", shown, (node) => overview(node, shown));
    }
    const refresh = throttle(async () => {
        shown = await read(id, signal);
        draw();
    });

    fill(root, h("div", parts.head, parts.tabs), parts.place);
    draw();
    if (tab === "configuration") await configuration(parts.place, id, signal);
    let log = null;
    if (tab === "logs") {
        const {logView} = await import("../logview.js");
        log = await logView(parts.place, {taskId: id, ctx, name: `task-${id}`, isFed: true});
    }
    live({kinds: log ? "jobs,logs" : "jobs", task: id}, (changes) => {
        return Promise.all([(changes.reset || changes.jobs) && refresh(), (changes.reset || changes.logs) && log?.readNewLines()]);
    });
}
