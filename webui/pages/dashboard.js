// SPDX-License-Identifier: Apache-2.0
// dashboard.js - the home page: recent experiments, running and waiting jobs, the use of the cluster.
import {get} from "../api.js";
import {fill, h, throttle} from "../dom.js";
import {ago, duration, isOver, number, percent, plural, slotsOf, stateName, time} from "../format.js";
import {link, setQuery} from "../router.js";
import {maySomewhere, seesOnlySome} from "../rights.js";
import {mayChange, session} from "../session.js";
import {newExperiment} from "../spaces.js";
import {dataTable} from "../table.js";
import {badge, copyButton, empty, progressBar, toastError} from "../widgets.js";

const RECENT = 10;
const RUNNING = 8;
const SQUARES = 96; // more slots than this are shown as a bar
const TICK_MS = 15000; // updates "3 min ago"

// ---- the cluster

function squares({used, usable}) {
    if (usable > SQUARES) {
        return h("div", {class: "track big"}, h("span", {class: "done", style: {width: `${Math.min(100, used / usable * 100)}%`}}));
    }
    return h("div", {class: "squares"}, Array.from({length: usable}, (_, i) => h("i", {class: i < used && "on"})));
}

function poolRow(pool) {
    const {queuedCount: waiting = 0} = pool.stats || {};
    const slots = slotsOf([pool]);
    const label = `${slots.used} of ${slots.usable} slots of pool ${pool.name} are in use${slots.off ? `, ${slots.offText}` : ""}`;
    return h("li", {class: "pool"},
        h("div", {class: "pool-head"}, h("strong", pool.name),
            h("span", {class: "dim"}, plural(pool.numAgents, "agent"), waiting > 0 && ` · ${number(waiting)} waiting`)),
        h("div", {class: "pool-use"}, h("span", {class: "figure"}, number(slots.used)), h("span", {class: "dim"}, ` / ${plural(slots.usable, "slot")} in use`, slots.off > 0 && ` · ${slots.offText}`)),
        h("div", {role: "img", "aria-label": label}, squares(slots)));
}

function drawCluster(node, pools) {
    const isBare = pools.every((pool) => !pool.numAgents);
    fill(node, h("h2", link("/cluster", {}, "Cluster")), isBare
        ? empty(h("p", "No agent provides slots."), h("pre", h("code", `det agent run --master ${location.origin}`)))
        : h("ul", {class: "plain"}, pools.map(poolRow)));
}

// ---- running and waiting jobs

const KINDS = {TYPE_EXPERIMENT: "Experiment", TYPE_GENERIC: "Job", TYPE_TENSORBOARD: "TensorBoard"};
const addressOf = (job) => job.type === "TYPE_EXPERIMENT" ? `/experiments/${job.entityId}` : `/tasks/${job.entityId}`;

function jobRow(job) {
    const isRunning = stateName(job.summary.state) !== "QUEUED";
    const slots = isRunning ? plural(job.allocatedSlots, "slot") : `needs ${plural(job.requestedSlots, "slot")}`;
    return h("li", {class: "job"}, h("div", {class: "job-name"}, link(addressOf(job), {title: job.name}, job.name),
        h("small", {class: "dim"}, `${KINDS[job.type] || "Task"} · ${slots} · ${job.username}`)), badge(isRunning ? "RUNNING" : "QUEUED"));
}

function drawRunning(node, jobs, total) {
    fill(node, h("h2", "Running and waiting", total > 0 && h("span", {class: "count"}, number(total))),
        jobs.length ? h("ul", {class: "plain"}, jobs.map(jobRow)) : h("p", {class: "dim"}, seesOnlySome() ? "Nothing that you may see is running or waiting." : "Nothing is running or waiting."),
        total > jobs.length && h("p", link("/cluster", {}, `Show all ${number(total)}`)));
}

// ---- recent experiments

const COLUMNS = [
    {id: "name", label: "Experiment", class: "cut wide-name", cell: (e) => [link(`/experiments/${e.id}`, {title: e.name}, e.name), h("small", {class: "dim"}, `#${e.id}`,
        e.searcherType !== "single" && ` · ${e.searcherType}`, ` · ${plural(e.trials, "trial")}`,
        !isOver(e.state) && h("span", {class: "phone-only"}, ` · ${percent(e.progress)}`), e.description && ` · ${e.description}`)]},
    {id: "state", label: "State", cell: (e) => badge(e.state)},
    {id: "progress", label: "Progress", class: "phone-off", cell: (e) => isOver(e.state) ? h("span", {class: "dim"}, `took ${duration(e.duration)}`) : stateName(e.state) === "QUEUED" ? h("span", {class: "dim"}, "waiting for slots")
        : progressBar(e.progress, `progress of experiment ${e.id}`)},
    {id: "best", label: "Best", isNumber: true, class: "phone-off", cell: (e) => e.bestMetric === null ? h("span", {class: "dim"}, "–")
        : [number(e.bestMetric), h("small", {class: "dim"}, e.searcherMetric)]},
    {id: "owner", label: "Owner", class: "phone-off", cell: (e) => e.username},
    {id: "started", label: "Started", isQuiet: true, isNumber: true, class: "phone-off", cell: (e) => h("time", {datetime: e.startTime, title: time(e.startTime)}, ago(e.startTime))},
];

const FIRST = `mkdir first && cd first
cat >train.sh <<'END'
#!/bin/sh
lr=$(det hparam lr)
for step in 1 2 3 4 5 6 7 8 9 10; do
    det report --steps $step --validation loss=$(awk "BEGIN { print exp(-$lr * $step) }")
done
END
chmod +x train.sh
cat >const.yaml <<'END'
name: first
entrypoint: ./train.sh
hyperparameters: {lr: 0.1}
searcher: {name: single, metric: loss}
END`;

// Shown while there are no experiments: commands to type.
function firstSteps() {
    if (!maySomewhere("CREATE_EXPERIMENT")) return h("section", {class: "card first"}, h("h2", "No experiments"),
        h("p", session.permissions.cluster.length || Object.keys(session.permissions.workspaces).length ? "There are no experiments that you may see yet." : "You have no role in any workspace. Ask an administrator for one."));
    const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
    const submit = `${isHere && location.port === "8080" ? "" : `export DET_MASTER=${location.origin}\n`}det experiment create const.yaml . --follow`;
    const step = (title, text, code) => h("li", h("h3", title), text && h("p", {class: "dim"}, text),
        h("div", {class: "command"}, h("pre", h("code", code)), copyButton(code)));
    return h("section", {class: "card first"}, h("h2", "Run your first experiment"),
        h("p", "An experiment is a folder with a program, in any language, and a small YAML file. Run these commands:"),
        h("ol", {class: "steps"}, step("Create a folder", "A shell script is enough. The metrics it reports appear here.", FIRST),
            step("Submit it", "It runs on the slots of this cluster. Your terminal shows its output.", submit)),
        h("p", {class: "dim"}, "The experiment appears on this page automatically."),
        h("p", "Or without a terminal: ", newExperiment()));
}

function recent(query, refresh) {
    let isMine = query.of !== "everyone" && mayChange(); // `det ui` has no users
    const columns = () => COLUMNS.filter((column) => column.id !== "owner" || (!isMine && mayChange()));
    const table = dataTable({label: "Recent experiments", columns: columns(), href: (e) => `/experiments/${e.id}`});
    const choose = (mine, label) => h("button", {type: "button", class: "button", "aria-pressed": String(mine === isMine), onclick: (event) => {
        isMine = mine;
        setQuery({of: mine ? null : "everyone"});
        table.columns(columns());
        for (const one of event.target.parentNode.children) one.setAttribute("aria-pressed", String(one === event.target));
        refresh();
    }}, label);
    const place = h("div");
    const node = h("section", {class: "recent"}, h("div", {class: "head"}, h("h2", "Recent experiments"),
        h("div", {class: "bar"}, mayChange() && h("div", {class: "joined", role: "group", "aria-label": "Owner"}, choose(true, "Mine"), choose(false, "Everyone’s")), link("/experiments", {class: "button"}, "All"), maySomewhere("CREATE_EXPERIMENT") && newExperiment(null, "New"))), place);
    return {
        node,
        query: () => ({limit: RECENT, sort: "-id", archived: false, users: isMine ? session.user.username : null}),
        draw(experiments) {
            table.rows(experiments);
            if (!experiments.length) fill(place, empty(h("p", isMine ? "You have no experiments yet." : "No experiments.")));
            else if (table.node.parentNode !== place) fill(place, table.node);
        },
    };
}

export async function page({root, query, title, live, onLeave, signal}) {
    title("");
    const cluster = h("section", {class: "card"});
    const running = h("section", {class: "card"});
    const side = h("div", {class: "side"}, cluster, running);
    const list = recent(query, () => refresh().catch(toastError));
    const main = h("div", list.node);
    let shown = [];

    const refresh = throttle(async () => {
        const [experiments, pools, jobs] = await Promise.all([
            get("/api/v1/det/experiments", list.query(), {signal}),
            get("/api/v1/resource-pools", {}, {signal}),
            get("/api/v1/job-queues-v2", {limit: RUNNING}, {signal}),
        ]);
        shown = experiments.experiments;
        const isNew = !experiments.all && mayChange(); // there are no experiments at all
        if (isNew !== !!main.querySelector(".first")) fill(main, isNew ? firstSteps() : list.node);
        list.draw(shown);
        drawCluster(cluster, pools.resourcePools);
        drawRunning(running, jobs.jobs.map((job) => job.full || job.limited).filter(Boolean), jobs.pagination.total);
    });
    await refresh();
    fill(root, h("h1", {class: "hidden"}, "Home"), h("div", {class: ["split", !mayChange() && "alone"]}, main, mayChange() && side));
    live({kinds: ["experiments", "trials", "jobs", "agents", "queue"]}, refresh);
    const tick = setInterval(() => list.draw(shown), TICK_MS);
    onLeave(() => clearInterval(tick));
}
