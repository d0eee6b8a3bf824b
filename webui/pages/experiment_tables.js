// SPDX-License-Identifier: Apache-2.0
// experiment_tables.js - the tables of an experiment's trials and checkpoints.

import {get} from "../api.js";
import {checkMenu} from "../check_menu.js";
import {fill, h} from "../dom.js";
import {ago, duration, number, time, value as shown} from "../format.js";
import {queryLine} from "../query_line.js";
import {go, link, readQuery, setQuery} from "../router.js";
import {readSearch} from "../search_data.js";
import {dataTable, pager} from "../table.js";
import {badge, button, empty, errorBox, errorSentence, icon, select} from "../widgets.js";
import {checkpointTable} from "./checkpoint_table.js";

const PAGE = 100;

// ---- trials ----

const compare = (a, b) => {
    if (a === b) return 0;
    if (a === null || a === undefined || Number.isNaN(a)) return 1; // missing values come last in both directions
    if (b === null || b === undefined || Number.isNaN(b)) return -1;
    return typeof a === typeof b ? (a < b ? -1 : 1) : String(a) < String(b) ? -1 : 1;
};

function sorted(trials, sort) {
    const name = sort.replace(/^-/, "");
    const key = name.startsWith("h.") ? (trial) => {
        const value = trial.values[name.slice(2)];
        return typeof value === "object" ? JSON.stringify(value) : value;
    } : name.startsWith("m.") ? (trial) => trial.metrics[name.slice(2)] : name === "duration" ? (trial) => trial.onSlots : (trial) => trial[name];
    const isDown = sort.startsWith("-");
    const isNone = (value) => value === null || value === undefined || Number.isNaN(value);
    return [...trials].sort((a, b) => {
        const x = key(a);
        const y = key(b);
        if (isNone(x) || isNone(y)) return compare(x, y) || a.id - b.id;
        return (isDown ? compare(y, x) : compare(x, y)) || a.id - b.id;
    });
}

export function trialsTab(place, tools) {
    const query = readQuery();
    let sort = query.sort || "id";
    let states = query.state || "";
    let offset = Number(query.offset) || 0;
    let chosenColumns = query.columns ? String(query.columns).split(",") : null; // null: all but metrics
    let search = null;
    let columnNames = "";
    const selection = new Set();
    const top = h("div", {class: "bar"});
    const foot = h("div");
    const nothing = h("div");
    const table = dataTable({label: "Trials", columns: [], sort, selection, key: (row) => row.id, href: (row) => tools.trialAddress(row.id),
        onSort: (next) => {
            sort = next;
            offset = 0;
            setQuery({sort: next, offset: null});
            draw();
        }, onSelect: () => drawTop()});
    // The master applies the query; the order of the trials that match is made here, because all of them are here.
    const fixedNames = [["id", "number"], ["state", "text"], ["steps", "number"], ["best", "number"], ["latest", "number"], ["restarts", "number"], ["start", "time"], ["end", "time"], ["duration", "seconds"]];
    const kindOf = (values) => values.every((one) => one === null || typeof one === "number") ? "number" : "text";
    const line = queryLine({label: "Query trials", value: tools.trialQuery,
        columns: async () => [...fixedNames.map(([name, kind]) => ({name, kind})),
            ...search.hparams.map((name) => ({name: "hp." + name, kind: kindOf(search.trials.map((trial) => trial.values[name]))})),
            ...search.metrics.map((name) => ({name: "validation." + name, kind: "number"}))],
        values: async (typed) => {
            const name = typed.replace(/^(hp|validation)\./, "");
            const of = search.hparams.includes(name) ? (trial) => trial.values[name] : typed === "state" ? (trial) => trial.state : () => null;
            return [...new Set(search.trials.map(of).filter((one) => one !== null && typeof one !== "object"))].slice(0, 200);
        },
        onQuery: (text) => {
            tools.trialQuery = text;
            offset = 0;
            setQuery({query: text, offset: null});
            void tools.reloadTable();
        }});
    const chosen = () => chosenColumns || !search ? chosenColumns || [] : allColumns().map((column) => column.id).filter((id) => !id.startsWith("m."));
    const choose = (ids) => {
        chosenColumns = ids && ids.length ? ids : null;
        setQuery({columns: chosenColumns ? chosenColumns.join() : null});
        table.columns(columns());
        draw();
    };
    const columnMenu = checkMenu("Columns", {isQuiet: true, options: () => allColumns().filter((column) => !column.id.includes(",")).map((column) => ({value: column.id, label: column.label})), chosen, onChange: choose,
        footer: (again) => button("Reset", () => {
            choose(null);
            again();
        }, {kind: "plain"})});
    fill(place, h("div", {class: "pile"}, top, h("div", {class: "bar query-bar"}, line.node, columnMenu.node), nothing, table.node, foot));

    const bestId = () => tools.trialQuery ? tools.state.experiment.bestTrialId : search.best?.id; // a query may hide the best
    const columns = () => allColumns().filter((column) => chosen().includes(column.id));
    function allColumns() {
        return [
            {id: "id", label: "Trial", sortable: true, isNumber: true, cell: (row) => h("span", row.id === bestId() && h("span", {title: "Best trial"}, icon("star"), h("span", {class: "hidden"}, "best "), " "), link(tools.trialAddress(row.id), {}, row.id))},
            {id: "state", label: "State", sortable: true, cell: (row) => badge(row.state)},
            {id: "best", label: `Best ${search.metric.name}`, sortable: true, isNumber: true, cell: (row) => row.best === null ? "–" : number(row.best)},
            {id: "latest", label: "Latest", sortable: true, isNumber: true, cell: (row) => row.latest === null ? "–" : number(row.latest)},
            {id: "steps", label: "Steps", sortable: true, isNumber: true, cell: (row) => number(row.steps)},
            ...search.hparams.map((name) => ({id: "h." + name, label: name, sortable: true, isNumber: search.axes.find((axis) => axis.name === name)?.kind !== "category", class: "cut", cell: (row) => row.values[name] === null ? "–" : shown(row.values[name])})),
            ...search.metrics.filter((name) => name !== search.metric.name).map((name) => ({id: "m." + name, label: name, title: `Metric of the best validation: ${name}`, sortable: true, isNumber: true, class: "cut", cell: (row) => row.metrics[name] === null ? "–" : shown(row.metrics[name])})),
            {id: "restarts", label: "Restarts", sortable: true, isNumber: true, cell: (row) => number(row.restarts)},
            {id: "start", label: "Started", isQuiet: true, sortable: true, cell: (row) => h("span", {title: time(row.start)}, ago(row.start))},
            {id: "duration", label: "Slot time", sortable: true, isNumber: true, cell: (row) => duration(row.onSlots / 1000)},
        ];
    }

    function drawTop() {
        const counts = new Map();
        for (const trial of search.trials) counts.set(trial.state, (counts.get(trial.state) || 0) + 1);
        const chosen = [...selection];
        const had = top.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") || document.activeElement.textContent : null;
        fill(top, select([["", `All states (${number(search.trials.length)})`], ...[...counts].map(([state, count]) => [state, `${state} (${number(count)})`])], states, (value) => {
            states = value;
            offset = 0;
            setQuery({state: value, offset: null});
            draw();
        }, {"aria-label": "State"}), h("span", {class: "grow"}),
        chosen.length > 0 && h("span", {class: "dim"}, `${number(chosen.length)} selected`),
        button("Compare", () => go(`/compare?trials=${chosen.sort((a, b) => a - b).join(",")}`), {disabled: chosen.length < 2, title: "Select two or more trials"}));
        if (had) [...top.querySelectorAll("select, button")].find((one) => (one.getAttribute("aria-label") || one.textContent) === had)?.focus();
    }

    function draw() {
        const kept = sorted(states ? search.trials.filter((trial) => trial.state === states) : search.trials, sort);
        if (offset >= kept.length) offset = 0;
        const names = JSON.stringify([search.hparams, search.metrics, search.metric.name, search.axes.map((axis) => axis.kind)]);
        if (names !== columnNames) table.columns(columns());
        columnNames = names;
        drawTop();
        table.rows(kept.slice(offset, offset + PAGE));
        table.node.hidden = !kept.length;
        fill(nothing, !kept.length && empty(h("p", search.trials.length ? "No trials in this state." : tools.trialQuery ? "No trials match." : "No trial has started yet.")));
        fill(foot, pager(offset, kept.length, PAGE, (next) => {
            offset = next;
            setQuery({offset: next || null});
            draw();
            table.node.scrollIntoView({block: "nearest"});
        }));
    }

    return {
        update(reply) {
            line.fail(reply.problem ? errorSentence(reply.problem) : "");
            search = readSearch(reply, tools.config());
            draw();
        },
    };
}

// ---- checkpoints ----

export function checkpointsTab(place, tools) {
    const {experiment} = tools.state;
    const table = checkpointTable(place, {
        address: `/api/v1/experiments/${tools.id}/checkpoints`, metric: experiment.searcherMetric, experiment, signal: tools.signal, trialAddress: tools.trialAddress,
        total: () => [tools.state.experiment.checkpointCount, tools.state.experiment.checkpointSize],
        details: async (row) => {
            const [{details}, {trial}] = await Promise.all([import("./trial_checkpoints.js"), get(`/api/v1/trials/${row.training.trialId}`, {}, {signal: tools.signal})]);
            await details(row, {trial, experiment: tools.state.experiment, config: tools.config()});
        },
    });
    tools.unlessDeleted(table.read).then(table.openNamed).catch((error) => fill(place, errorBox(error)));
    return {updateCheckpoints: () => void tools.unlessDeleted(table.read).catch(() => {}), updateExperiment: table.drawTop};
}
