// SPDX-License-Identifier: Apache-2.0
// tasks.js - the list of jobs and TensorBoards.
//
// The address holds all choices: ?q=&state=&type=&owner=&slots=&since=&ended=1&sort=-start.

import {get, post} from "../api.js";
import {debounce, fill, h, throttle} from "../dom.js";
import {ago, isOver, number, plural, stateName, time, took} from "../format.js";
import {mayControlTask, maySomewhere, seesOnlySome, whyNot} from "../rights.js";
import {link, setQuery} from "../router.js";
import {dataTable} from "../table.js";
import {badge, button, confirm, empty, select, toast, toastError} from "../widgets.js";

const TYPES = {TASK_TYPE_GENERIC: "Job", TASK_TYPE_TENSORBOARD: "TensorBoard"};
const TICK_MS = 15000;
const SLOTS = {none: (slots) => slots === 0, some: (slots) => slots > 0};
const SINCE_S = {hour: 3600, day: 86400, week: 7 * 86400};

// A TensorBoard is listed with the state of its server; a job with its own state.
async function readTasks(withEnded, signal) {
    const [{tasks}, {tensorboards}] = await Promise.all([
        get("/api/v1/generic-tasks", {all: withEnded || undefined}, {signal}),
        get("/api/v1/tensorboards", {all: withEnded || undefined}, {signal}),
    ]);
    const boards = new Map(tensorboards.map((one) => [one.id, one]));
    return tasks.map((task) => {
        const board = boards.get(task.taskId);
        return {
            id: task.taskId, name: task.name, owner: task.username, userId: task.userId, workspaceId: task.workspaceId, slots: task.slots, pool: task.resourcePool, start: task.startTime, end: task.endTime,
            type: TYPES[task.taskType] || "Task", board,
            state: isOver(task.taskState) || !board ? stateName(task.taskState) : stateName(board.state),
        };
    });
}

const shows = (board) => [board.experimentIds?.length && `experiment ${board.experimentIds.join(", ")}`, board.trialIds?.length && `trial ${board.trialIds.join(", ")}`]
    .filter(Boolean).join("; ");

async function killTasks(ids) {
    const many = plural(ids.length, "task");
    if (!await confirm(`Kill ${many}?`, "Their processes are stopped at once.", "Kill", "danger")) return;
    const results = await Promise.allSettled(ids.map((id) => post(`/api/v1/tasks/${id}/kill`)));
    const bad = results.filter((one) => one.status === "rejected");
    if (bad.length) toastError(bad[0].reason);
    else toast(`Killed ${many}`);
}

const COLUMNS = [
    {id: "name", label: "Name", class: "cut wide-name", sortable: true, cell: (t) => [link(`/tasks/${t.id}`, {title: t.name}, t.name), h("small", {class: "dim mono"}, t.id.slice(0, 8),
        t.board && ` · ${shows(t.board)}`)]},
    {id: "type", label: "Type", sortable: true, class: "phone-off", cell: (t) => t.type},
    {id: "state", label: "State", sortable: true, cell: (t) => badge(t.state)},
    {id: "owner", label: "Owner", sortable: true, class: "phone-off", cell: (t) => t.owner},
    {id: "slots", label: "Slots", sortable: true, isNumber: true, class: "phone-off", cell: (t) => number(t.slots)},
    {id: "pool", label: "Pool", class: "phone-off", cell: (t) => t.pool},
    {id: "start", label: "Started", isQuiet: true, sortable: true, isNumber: true, cell: (t) => h("time", {datetime: t.start, title: time(t.start)}, ago(t.start))},
    {id: "took", label: "Duration", isQuiet: true, isNumber: true, class: "phone-off", cell: (t) => took(t.start, t.end)},
    {id: "open", label: "", cell: (t) => t.board && !isOver(t.state) && t.state !== "TERMINATING" &&
        h("a", {class: "button small", href: t.board.serviceAddress, target: "_blank", rel: "noopener"}, "Open")},
];

function sorted(rows, sort) {
    const name = sort.replace("-", "");
    const sign = sort.startsWith("-") ? -1 : 1;
    const valueOf = (row) => row[name] ?? "";
    return [...rows].sort((a, b) => sign * (typeof valueOf(a) === "number" ? valueOf(a) - valueOf(b) : String(valueOf(a)).localeCompare(String(valueOf(b)))));
}

const HELP = `det job run job.yaml .          # a generic job
det tensorboard start 1         # a TensorBoard of experiment 1`;

export async function page({root, query, title, live, onLeave, signal}) {
    title("Tasks");
    const chosen = {q: "", state: "", type: "", owner: "", slots: "", since: "", ended: "", sort: "-start", ...query};
    const selection = new Set();
    let all = [];

    const counted = h("span", {class: "dim", role: "status"});
    const place = h("div");
    const killer = button("Kill", () => killTasks([...selection]).then(refresh).catch(toastError), {kind: "danger", disabled: true});
    const table = dataTable({
        label: "Tasks", columns: COLUMNS, sort: chosen.sort, selection, href: (task) => `/tasks/${task.id}`,
        onSort: (sort) => choose({sort}), onSelect: drawKiller,
    });
    const search = h("input", {type: "search", placeholder: "Name or ID", "aria-label": "Search tasks", value: chosen.q, oninput: debounce((event) => choose({q: event.target.value}), 150)});
    const states = h("select", {"aria-label": "State", onchange: (event) => choose({state: event.target.value})});
    const owners = h("select", {"aria-label": "Owner", onchange: (event) => choose({owner: event.target.value})});
    const ended = h("input", {type: "checkbox", checked: Boolean(chosen.ended), onchange: (event) => choose({ended: event.target.checked ? "1" : ""}, true)});

    function drawKiller() {
        const isAllowed = all.filter((task) => selection.has(task.id)).every(mayControlTask);
        killer.disabled = !selection.size || !isAllowed;
        killer.title = whyNot(isAllowed) ?? "";
    }
    function choose(changes, readsAgain) {
        Object.assign(chosen, changes);
        setQuery({...changes, sort: chosen.sort === "-start" ? "" : chosen.sort});
        if (readsAgain) refresh().catch(toastError);
        else draw();
    }
    function offer(node, label, name) {
        const values = [...new Set([...all.map((task) => task[name]), chosen[name]].filter(Boolean))].sort();
        fill(node, h("option", {value: ""}, label), values.map((one) => h("option", {value: one}, one)));
        node.value = chosen[name];
    }
    function draw() {
        const words = chosen.q.toLowerCase();
        const rows = sorted(all.filter((task) => (!words || task.name.toLowerCase().includes(words) || task.id.startsWith(words)) &&
            ["state", "type", "owner"].every((name) => !chosen[name] || task[name] === chosen[name]) &&
            (SLOTS[chosen.slots]?.(task.slots) ?? true) &&
            (!SINCE_S[chosen.since] || Date.now() - new Date(task.start) < SINCE_S[chosen.since] * 1000)), chosen.sort);
        offer(states, "Any state", "state");
        offer(owners, "Any owner", "owner");
        for (const id of selection) if (!rows.some((row) => row.id === id)) selection.delete(id);
        drawKiller();
        counted.textContent = plural(rows.length, "task");
        table.rows(rows);
        if (rows.length) fill(place, table.node);
        else if (all.length) fill(place, empty(h("p", "No tasks match.")));
        else fill(place, empty(h("p", chosen.ended ? "No tasks yet." : `No tasks ${seesOnlySome() ? "that you may see " : ""}are running or waiting. “Show ended” lists the others.`), maySomewhere("CREATE_NSC") && h("pre", h("code", HELP))));
    }
    const refresh = throttle(async () => {
        all = await readTasks(Boolean(chosen.ended), signal);
        draw();
    });

    fill(root, h("div", {class: "head"}, h("h1", "Tasks"), h("div", {class: "bar"}, maySomewhere("UPDATE_NSC") && killer)),
        h("div", {class: "bar"}, search, select([["", "Any type"], "Job", "TensorBoard"], chosen.type, (type) => choose({type}), {"aria-label": "Type"}), states, owners,
            select([["", "Any slots"], ["some", "With slots"], ["none", "Without slots"]], chosen.slots, (slots) => choose({slots}), {"aria-label": "Slots"}),
            select([["", "Any time"], ["hour", "Last hour"], ["day", "Last day"], ["week", "Last week"]], chosen.since, (since) => choose({since}), {"aria-label": "Started"}),
            h("label", ended, " Show ended"), counted),
        place);
    await refresh();
    live({kinds: "jobs,queue"}, refresh);
    const timer = setInterval(draw, TICK_MS);
    onLeave(() => clearInterval(timer));
}
