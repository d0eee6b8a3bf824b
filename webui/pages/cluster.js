// SPDX-License-Identifier: Apache-2.0
// cluster.js - resource pools, agents with their slots, and the queue.
//
// The page reads four replies again whenever agents or the queue change.  It redraws a card only if its data differs, so
// thousands of idle slots cost nothing.

import {get, post} from "../api.js";
import {fill, h, throttle} from "../dom.js";
import {ago, number, plural, slotsOf, time} from "../format.js";
import {link} from "../router.js";
import {may, seesOnlySome} from "../rights.js";
import {dataTable} from "../table.js";
import {badge, chip, confirm, empty, menu, progressBar, select, toast, toastError} from "../widgets.js";

const PACE_MS = 500; // between two reads: a busy queue changes all the time
const TRIAL = /^Trial (\d+) \(Experiment (\d+)\)$/;
const KINDS = {TYPE_CPU: "CPU", TYPE_CUDA: "GPU", TYPE_ROCM: "GPU"};

// ---- tasks that hold slots ----

// Page address and names of the task in an allocation summary; `short` fits into a slot's cell.
function holder(summary) {
    const trial = TRIAL.exec(summary.name);
    if (trial) return {short: `trial ${trial[1]}`, name: summary.name, address: `/trials/${trial[1]}`};
    return {short: summary.name || "job", name: summary.name || summary.taskId, address: `/tasks/${summary.taskId}`};
}

function holders(tasks) {
    const found = new Map();
    for (const summary of Object.values(tasks.allocationIdToSummary || {})) {
        for (const part of summary.resources) found.set(part.containerId, holder(summary));
    }
    return found;
}

// The state of a slot in one word, and the class of its cell.
function slotState(agent, slot) {
    if (!agent.connected) return ["disconnected", "away"];
    if (slot.draining && slot.container) return ["draining", "drains"];
    if (slot.container) return [slot.enabled ? "busy" : "draining", slot.enabled ? "busy" : "drains"];
    return slot.enabled ? ["free", ""] : ["disabled", "off"];
}

// ---- pools ----

function poolCard(pool) {
    const kind = KINDS[pool.slotType] || "";
    const slots = slotsOf([pool]);
    const scheduler = pool.schedulerType.replace("SCHEDULER_TYPE_", "").toLowerCase().replaceAll("_", " ");
    return h("section", {class: ["card", "use"], "aria-label": `Pool ${pool.name}`},
        h("div", {class: "use-head"}, h("h2", pool.name), h("span", {class: "num"}, h("strong", number(slots.used)), ` of ${plural(slots.usable, "slot")} in use`)),
        h("div", {class: "track", "aria-hidden": "true"}, h("span", {class: "done", style: {width: `${slots.usable ? Math.min(100, slots.used / slots.usable * 100) : 0}%`}})),
        h("div", {class: "dim"}, [
            plural(pool.numAgents, "agent"), kind && `${kind} slots`, slots.offText,
            `${number(pool.stats.scheduledCount)} running`, `${number(pool.stats.queuedCount)} waiting`,
            `${scheduler} scheduler${pool.preemptible ? ", preemptive" : ""}`, `default priority ${pool.defaultPriority}`,
        ].filter(Boolean).join(" · ")),
        (pool.defaultComputePool || pool.defaultAuxPool) && h("div", {class: "bar"},
            pool.defaultComputePool && chip("default for trials"), pool.defaultAuxPool && chip("default for jobs without slots")));
}

// ---- agents ----

async function runAction(doneText, work) {
    try {
        await work();
        toast(doneText, "good");
    } catch (error) {
        toastError(error);
    }
}

const agentPath = (agent, rest = "") => `/api/v1/agents/${encodeURIComponent(agent.id)}${rest}`;

const aheadOf = (count) => count < 0 ? "waits for its share" : count ? `${plural(count, "job")} ahead` : "next";

const mayManageAgents = () => may("UPDATE_AGENTS", {owners: []});

function agentActions(agent, refresh) {
    const disable = async (drain) => {
        const sure = drain || await confirm(`Disable ${agent.id}?`, "Its tasks are stopped at once and restart on other agents from their latest checkpoint. To let them finish, drain the agent instead.", "Disable", "danger");
        if (sure) await runAction(drain ? `${agent.id} is draining` : `${agent.id} is disabled`, () => post(agentPath(agent, "/disable"), {drain}));
        refresh();
    };
    return menu("Actions", () => [
        ["Enable", () => runAction(`${agent.id} is enabled`, () => post(agentPath(agent, "/enable"))).then(refresh), {disabled: agent.enabled && !agent.draining}],
        ["Drain (no new tasks)", () => disable(true), {disabled: agent.draining}],
        ["Disable", () => disable(false), {disabled: !agent.enabled && !agent.draining, kind: "danger"}],
    ], {"aria-label": `Actions for ${agent.id}`});
}

function slotCell(agent, slot, held, refresh) {
    const [state, cls] = slotState(agent, slot);
    const who = held && agent.connected ? held.short : state;
    const label = `slot ${slot.id}, ${state}${held ? `: ${held.name}` : ""}`;
    const inside = [h("b", slot.id), h("span", who)];
    const attributes = {class: ["slot", cls], "aria-label": label, title: `${label}${slot.device.brand ? ` (${slot.device.brand})` : ""}`, "data-slot": slot.id};
    if (!mayManageAgents()) {
        return h("li", held ? link(held.address, attributes, inside) : h("span", {...attributes, role: "img"}, inside));
    }
    const path = agentPath(agent, `/slots/${slot.id}`);
    const actions = () => [
        held && [`Open ${held.name}`, () => link(held.address).click()],
        ["Enable this slot", () => runAction(`Slot ${slot.id} of ${agent.id} is enabled`, () => post(path + "/enable")).then(refresh), {disabled: slot.enabled}],
        ["Drain this slot", () => runAction(`Slot ${slot.id} of ${agent.id} is draining`, () => post(path + "/disable", {drain: true})).then(refresh), {disabled: !slot.enabled}],
        ["Disable this slot", () => runAction(`Slot ${slot.id} of ${agent.id} is disabled`, () => post(path + "/disable")).then(refresh), {disabled: !slot.enabled, kind: "danger"}],
    ];
    // The menu of a slot is created on the first click: there may be thousands of slots.
    const cell = h("button", {...attributes, type: "button", "aria-haspopup": "menu", onclick: () => {
        const made = menu("", actions);
        const opener = made.querySelector("button");
        for (const {name, value} of cell.attributes) opener.setAttribute(name, value);
        fill(opener, inside);
        cell.replaceWith(made);
        setTimeout(() => { // the current click would close it again
            if (!made.isConnected) return; // the card was redrawn
            opener.focus();
            made.querySelector("[popover]").showPopover();
        });
    }}, inside);
    return h("li", cell);
}

function agentBadge(agent) {
    if (!agent.connected) return h("span", {class: "badge bad"}, "DISCONNECTED");
    if (agent.draining) return h("span", {class: "badge wait"}, "DRAINING");
    return agent.enabled ? h("span", {class: "badge good"}, "READY") : h("span", {class: "badge still"}, "DISABLED");
}

function agentCard(agent, held, refresh) {
    const slots = Object.values(agent.slots).sort((a, b) => a.id - b.id);
    const brands = [...new Set(slots.map((slot) => slot.device.brand).filter(Boolean))];
    const inSlots = new Set(slots.map((slot) => slot.container?.id));
    const others = Object.keys(agent.containers || {}).filter((id) => !inSlots.has(id) && held.has(id)).map((id) => held.get(id));
    return h("section", {class: ["card", "agent"], "aria-label": `Agent ${agent.id}`, "data-agent": agent.id},
        h("div", {class: "head"}, h("div", {class: "agent-name"}, h("h3", agent.id), agentBadge(agent), agent.resourcePools.map((name) => chip(name))),
            mayManageAgents() && agentActions(agent, refresh)),
        slots.length ? h("ul", {class: "slots", "aria-label": `Slots of ${agent.id}`}, slots.map((slot) => slotCell(agent, slot, slot.container && held.get(slot.container.id), refresh)))
            : h("p", {class: "dim"}, "This agent has no slots."),
        others.length > 0 && h("p", "Tasks without slots: ", others.map((one, i) => [i > 0 && ", ", link(one.address, {}, one.short)])),
        h("div", {class: "dim"}, [brands.join(", "), agent.addresses.join(", "), agent.version && `det ${agent.version}`, h("span", {title: time(agent.registeredTime)}, `joined ${ago(agent.registeredTime)}`)]
            .filter(Boolean).map((part, i) => [i > 0 && " · ", part])));
}

// Draws cards by key.  A card whose data has not changed stays, with its focus and menus.
function cardList(place) {
    const shown = new Map();
    return (list, keyOf, signOf, make) => {
        const left = new Set(shown.keys());
        list.forEach((one, i) => {
            const key = keyOf(one);
            const sign = JSON.stringify(signOf(one));
            let card = shown.get(key);
            left.delete(key);
            if (!card || (card.sign !== sign && !card.node.querySelector(":popover-open"))) {
                const node = make(one);
                const focused = card?.node.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
                card?.node.replaceWith(node);
                if (focused) node.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
                shown.set(key, card = {node, sign});
            }
            if (place.children[i] !== card.node) place.insertBefore(card.node, place.children[i] || null);
        });
        for (const key of left) {
            shown.get(key).node.remove();
            shown.delete(key);
        }
    };
}

// ---- queue ----

const isExperiment = (job) => job.type === "TYPE_EXPERIMENT";
const jobAddress = (job) => isExperiment(job) ? `/experiments/${job.entityId}` : `/tasks/${job.entityId}`;

function queueColumns(pools, refresh) {
    const update = (job, change, what) => runAction(what, () => post("/api/v1/job-queues", {updates: [{jobId: job.jobId, ...change}]})).then(refresh);
    const mayUpdate = (job) => may(isExperiment(job) ? "UPDATE_EXPERIMENT" : "UPDATE_NSC", {workspaceId: job.workspaceId, owners: [job.userId]});
    const priority = (job) => mayUpdate(job) ? h("input", {
        type: "number", class: "priority", min: 1, max: 99, value: job.priority, "aria-label": `Priority of ${job.name}`,
        onchange: (event) => {
            if (!event.target.value || !event.target.checkValidity()) {
                toast("Priority must be a whole number from 1 to 99.", "bad");
                event.target.value = job.priority;
                return;
            }
            update(job, {priority: Number(event.target.value)}, `${job.name} has priority ${event.target.value}`);
        },
    }) : number(job.priority);
    const pool = (job) => mayUpdate(job) && pools.length > 1
        ? select(pools.map((one) => one.name), job.resourcePool, (name) => update(job, {resourcePool: name}, `${job.name} moved to pool ${name}`), {"aria-label": `Pool of ${job.name}`})
        : job.resourcePool;
    return [
        {id: "position", label: "#", isNumber: true, cell: (job) => number(job.position)},
        {id: "name", label: "Name", class: "cut", cell: (job) => link(jobAddress(job), {title: job.name}, job.name || job.entityId)},
        {id: "type", label: "Type", cell: (job) => isExperiment(job) ? `experiment ${job.entityId}` : job.type === "TYPE_TENSORBOARD" ? "TensorBoard" : "job"},
        {id: "state", label: "State", cell: (job) => job.summary.state === "STATE_SCHEDULED" ? badge("RUNNING")
            : [badge("QUEUED"), h("small", {class: "dim"}, aheadOf(job.summary.jobsAhead))]},
        {id: "slots", label: "Slots", isNumber: true, cell: (job) => `${number(job.allocatedSlots)} of ${number(job.requestedSlots)}`},
        {id: "priority", label: "Priority", isNumber: true, cell: priority},
        {id: "pool", label: "Pool", cell: pool},
        {id: "progress", label: "Progress", cell: (job) => isExperiment(job) ? progressBar(job.progress, `progress of ${job.name}`) : h("span", {class: "dim"}, "–")},
        {id: "user", label: "Owner", cell: (job) => job.username},
        {id: "submitted", label: "Submitted", isQuiet: true, cell: (job) => h("span", {title: time(job.submissionTime)}, ago(job.submissionTime))},
    ];
}

// ---- the page ----

const legend = () => h("div", {class: "legend", "aria-hidden": "true"},
    [["free", ""], ["busy", "busy"], ["draining", "drains"], ["disabled", "off"], ["disconnected", "away"]].map(([name, cls]) => h("span", h("i", {class: ["slot", cls]}), name)));

export async function page({root, title, live, signal, onLeave}) {
    title("Cluster");
    const summary = h("p", {class: "dim"});
    const poolPlace = h("div", {class: "cards"});
    const agentPlace = h("div", {class: "cards"});
    const noAgents = empty("No agents yet. ", h("code", "det serve"), " starts one together with the master; ", h("code", "det agent run -m URL"), " adds another machine.");
    const noJobs = empty(seesOnlySome() ? "Nothing that you may see is running or waiting." : "Nothing is running or waiting.");
    let pools = [];
    let columnsFor = "";
    const table = dataTable({label: "Queue", columns: [], key: (job) => job.jobId, href: jobAddress});
    const drawPools = cardList(poolPlace);
    const drawAgents = cardList(agentPlace);
    let timer = 0;

    const read = async () => {
        const [agents, found, queue, tasks] = await Promise.all([
            get("/api/v1/agents", null, {signal}), get("/api/v1/resource-pools", null, {signal}),
            get("/api/v1/job-queues-v2", null, {signal}), get("/api/v1/tasks", null, {signal})]);
        pools = found.resourcePools;
        const held = holders(tasks);
        const jobs = queue.jobs.map((job, i) => ({...job.full, position: i + 1}));
        const names = JSON.stringify(pools.map((pool) => pool.name));
        drawPools(pools, (pool) => pool.name, (pool) => pool, poolCard);
        drawAgents(agents.agents, (agent) => agent.id,
            (agent) => [agent, Object.keys(agent.containers || {}).map((id) => held.get(id))], (agent) => agentCard(agent, held, refreshNow));
        if (names !== columnsFor) table.columns(queueColumns(pools, refreshNow));
        columnsFor = names;
        table.rows(jobs);
        noAgents.hidden = agents.agents.length > 0;
        noJobs.hidden = jobs.length > 0;
        table.node.hidden = jobs.length === 0;
        const slots = slotsOf(pools);
        fill(summary, `${plural(agents.agents.length, "agent")}, ${number(slots.used)} of ${plural(slots.usable, "slot")} in use${slots.off ? ` (${slots.offText})` : ""}, ${number(jobs.filter((job) => job.summary.state !== "STATE_SCHEDULED").length)} waiting`);
    };
    const refresh = throttle(read);
    const refreshNow = () => refresh().catch(toastError); // after the user changed something
    const refreshSoon = () => timer ||= setTimeout(() => {
        timer = 0;
        refresh().catch(() => {});
    }, PACE_MS);
    onLeave(() => clearTimeout(timer));
    // A card is not redrawn while its menu is open.
    agentPlace.addEventListener("toggle", (event) => event.newState === "closed" && refresh().catch(() => {}), true);
    live({kinds: ["agents", "queue", "jobs"]}, (changes) => changes.reset ? refresh() : refreshSoon());
    await refresh();
    fill(root, h("div", {class: "head"}, h("div", h("h1", "Cluster"), summary), h("nav", {class: "bar", "aria-label": "More about the cluster"},
        may("VIEW_CLUSTER_USAGE", {owners: []}) && link("/cluster/history", {class: "button"}, "History"),
        may("VIEW_MASTER_LOGS", {owners: []}) && link("/cluster/log", {class: "button"}, "Master log"))),
        h("h2", {class: "hidden"}, "Pools"), poolPlace,
        h("div", {class: "head"}, h("h2", "Agents"), legend()), agentPlace, noAgents,
        h("h2", "Queue"), noJobs, table.node);
}
