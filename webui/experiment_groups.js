// SPDX-License-Identifier: Apache-2.0
// experiment_groups.js - the table of experiments, collapsed into groups with equal values.
//
// The master groups and computes (GET /api/v1/det/experiments with `by`).  A row shows how many experiments it stands for,
// and of each shown metric the mean, the standard deviation and the smallest and largest value.  A group opens as a query
// that finds its experiments.

import {h} from "./dom.js";
import {number, value as shown} from "./format.js";
import {isCell, quoted} from "./query_line.js";
import {dataTable} from "./table.js";
import {button} from "./widgets.js";

const METRICS_MOST = 16;
const WITH_MEAN = ["bestMetric", "trials", "checkpointSize"];

const exact = (any) => any === null ? "none" : typeof any === "number" ? String(any) : ["NaN", "Infinity", "-Infinity"].includes(any) ? any.toLowerCase() : quoted(any);

export function groupTable({columnNames, labelOf, onSort, onOpen}) {
    const nameOf = (id) => columnNames[id] || id;
    let drawn = "";
    let by = [];

    const metricsOf = (view) => {
        const chosen = view.columns.filter((id) => (isCell(id) ? id.startsWith("validation.") : WITH_MEAN.includes(id)) && !view.by.includes(id));
        return (chosen.length ? chosen : ["bestMetric"]).slice(0, METRICS_MOST);
    };
    const queryOf = (row) => by.map((id, i) => `${quoted(nameOf(id))} = ${exact(row.values[i])}`).join(" and ");
    const table = dataTable({label: "Groups of experiments", columns: [], key: (row) => JSON.stringify(row.values), onOpen: (row) => onOpen(queryOf(row)), onSort});

    function meanCell(stat) {
        if (!stat.count) return h("span", {class: "dim"}, "–");
        if (stat.count === 1) return number(stat.mean);
        return h("span", {title: `mean of ${stat.count}, standard deviation ${stat.deviation}, from ${stat.min} to ${stat.max}`}, `${number(stat.mean)} ± ${number(Number(stat.deviation.toPrecision(3)))}`,
            h("span", {class: "band"}, `${number(stat.min)} … ${number(stat.max)}`));
    }
    function columns(view) {
        return [
            ...view.by.map((id, i) => ({id: nameOf(id), label: labelOf(id), sortable: true, class: "cut",
                cell: (row) => i ? valueCell(row.values[i]) : button(row.values[i] === null || row.values[i] === "" ? "–" : shownValue(row.values[i]), () => onOpen(queryOf(row)), {kind: "plain link", title: "Show these experiments"})})),
            {id: "count", label: "Experiments", sortable: true, isNumber: true, cell: (row) => number(row.count)},
            ...metricsOf(view).map((id, i) => ({id: nameOf(id), label: labelOf(id), title: `Mean ± standard deviation, and smallest to largest ${labelOf(id)}`, sortable: true, isNumber: true, cell: (row) => meanCell(row.stats[i])})),
        ];
    }
    const shownValue = (any) => typeof any === "number" ? number(any) : shown(any);
    const valueCell = (any) => any === null ? h("span", {class: "dim"}, "–") : shownValue(any);

    return {
        node: table.node,
        // The parameters of the call that reads the groups.
        question(view) {
            const sort = view.sort.replace(/^-/, "");
            const known = ["count", ...view.by.map(nameOf), ...metricsOf(view).map(nameOf)];
            return {by: view.by.map(nameOf), metrics: metricsOf(view).map(nameOf), sort: known.includes(sort) ? view.sort : "-count"};
        },
        // A reply without groups empties the table.
        show(reply, view) {
            if (!reply.groups) return table.rows([]);
            by = view.by;
            const form = JSON.stringify([view.by, metricsOf(view)]);
            if (form !== drawn) table.columns(columns(view));
            drawn = form;
            table.sort(this.question(view).sort);
            table.rows(reply.groups);
        },
    };
}
