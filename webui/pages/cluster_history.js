// SPDX-License-Identifier: Apache-2.0
// cluster_history.js - who used the slots of the cluster, per day or month; for administrators.
//
// The address holds all choices: ?span=&by=.  Days and months are in UTC, as the master sums them.

import {get} from "../api.js";
import {fill, h} from "../dom.js";
import {number, plural} from "../format.js";
import {link, setQuery} from "../router.js";
import {loadStylesheet} from "../stylesheet.js";
import {dataTable} from "../table.js";
import {empty, errorBox, icon, select, toastError} from "../widgets.js";

const PERIOD = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_";
const SPANS = {"7d": ["Last 7 days", 7], "30d": ["Last 30 days", 30], "90d": ["Last 90 days", 90], "12m": ["Last 12 months", 12]};
const BYS = {user: ["By user", "byUsername", "User"], pool: ["By resource pool", "byResourcePool", "Pool"], label: ["By label", "byExperimentLabel", "Label"], experiment: ["By experiment", "byExperiment", "Experiment"]};
const COLOURED = 7; // the others share one colour
const REST = "others";

const slotTime = (seconds) => seconds >= 3600 ? `${number(Number((seconds / 3600).toFixed(1)))} h` : seconds >= 60 ? `${number(Math.round(seconds / 60))} min` : `${number(Number(seconds.toFixed(seconds < 10 ? 1 : 0)))} s`;
const isMonthly = (span) => span.endsWith("m");

// The first and the last day or month of a span that ends now.
function datesOf(span, now = new Date()) {
    const count = SPANS[span][1] - 1;
    const first = isMonthly(span) ? new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 1)) : new Date(now.getTime() - count * 86400000);
    const text = (date) => date.toISOString().slice(0, isMonthly(span) ? 7 : 10);
    return {startDate: text(first), endDate: text(now), period: PERIOD + (isMonthly(span) ? "MONTHLY" : "DAILY")};
}

// [{key, seconds}], the largest first.
function totalsOf(entries, by) {
    const sums = new Map();
    for (const entry of entries) for (const [key, seconds] of Object.entries(entry[by])) sums.set(key, (sums.get(key) || 0) + seconds);
    return [...sums].map(([key, seconds]) => ({key, seconds})).sort((a, b) => b.seconds - a.seconds || a.key.localeCompare(b.key));
}

function chart(entries, by, totals) {
    const shown = totals.slice(0, COLOURED).map((one) => one.key);
    const colour = (i) => i < 0 ? "var(--dim)" : `var(--line-${i + 1})`;
    const most = Math.max(...entries.map((entry) => entry.seconds), 1);
    const partsOf = (entry) => {
        const parts = shown.map((key, i) => ({key, i, seconds: entry[by][key] || 0})).filter((one) => one.seconds > 0);
        // Several labels may count the same time, and time without a label has none: the bar is as high as the total.
        const rest = Object.entries(entry[by]).reduce((sum, [key, seconds]) => sum + (shown.includes(key) ? 0 : seconds), 0);
        return rest > 0 ? [...parts, {key: REST, i: -1, seconds: rest}] : parts;
    };
    const bar = (entry) => {
        const parts = partsOf(entry);
        const all = Math.max(parts.reduce((sum, one) => sum + one.seconds, 0), entry.seconds, 1);
        const text = `${entry.periodStart}: ${slotTime(entry.seconds)}${parts.length ? ` (${parts.map((one) => `${one.key} ${slotTime(one.seconds)}`).join(", ")})` : ""}`;
        return h("li", {class: "use-bar", title: text, "aria-label": text, style: {height: `${entry.seconds / most * 100}%`}},
            parts.map((one) => h("span", {style: {height: `${one.seconds / all * 100}%`, background: colour(one.i)}})));
    };
    const marks = entries.length > 1 ? [entries[0], entries[Math.floor((entries.length - 1) / 2)], entries[entries.length - 1]] : entries;
    return h("section", {class: "card", "aria-label": "Slot time per day or month"},
        h("div", {class: "use-plot"}, h("div", {class: "use-scale dim num", "aria-hidden": "true"}, h("span", slotTime(most)), h("span", slotTime(most / 2)), h("span", "0")),
            h("ol", {class: "use-bars"}, entries.map(bar))),
        h("div", {class: "use-dates dim", "aria-hidden": "true"}, [...new Set(marks.map((entry) => entry.periodStart))].map((text) => h("span", text))),
        h("div", {class: "legend"}, shown.map((key, i) => h("span", h("i", {class: "dot", style: {background: colour(i)}}), key)),
            totals.length > shown.length && h("span", h("i", {class: "dot", style: {background: colour(-1)}}), REST)));
}

const columnsFor = (by, all) => [
    {id: "key", label: BYS[by][2], class: "cut", cell: (row) => by === "experiment" ? link(`/experiments/${row.key}`, {}, `experiment ${row.key}`) : row.key},
    {id: "hours", label: "Slot time", isNumber: true, title: "Slots times hours", cell: (row) => slotTime(row.seconds)},
    {id: "share", label: "Share", isNumber: true, title: "Of all slot time in these days or months", cell: (row) => `${(all ? 100 * row.seconds / all : 0).toFixed(1)} %`},
];

export async function page({root, query, title, signal}) {
    title("Cluster history");
    await loadStylesheet(new URL("cluster_history.css", import.meta.url));
    const chosen = {span: SPANS[query.span] ? query.span : "30d", by: BYS[query.by] ? query.by : "user"};
    const place = h("div", {class: "stack"});
    const counted = h("span", {class: "dim", role: "status"});
    const csv = h("a", {class: "button", download: ""}, icon("download"), " Save as CSV");

    async function read() {
        const dates = datesOf(chosen.span);
        const [, member, label] = BYS[chosen.by];
        const {resourceEntries: entries} = await get("/api/v1/resources/allocation/aggregated", {...dates, experiments: chosen.by === "experiment"}, {signal});
        const all = entries.reduce((sum, entry) => sum + entry.seconds, 0);
        const totals = totalsOf(entries, member);
        const table = dataTable({label: `Slot time by ${label.toLowerCase()}`, columns: columnsFor(chosen.by, all), key: (row) => row.key});
        csv.setAttribute("href", `/resources/allocation/aggregated?start_date=${dates.startDate}&end_date=${dates.endDate}&period=${dates.period}&experiments=true`);
        csv.setAttribute("download", `slot-seconds-${dates.startDate}-${dates.endDate}.csv`);
        counted.textContent = `${slotTime(all)} of slot time in ${plural(entries.length, isMonthly(chosen.span) ? "month" : "day")}`;
        table.rows(totals);
        fill(place, all > 0 ? [chart(entries, member, totals), totals.length ? table.node : empty("No experiment of this time has a label.")]
            : empty(h("p", "No slots were used in this time.")));
    }
    const choose = (changes) => {
        Object.assign(chosen, changes);
        setQuery(changes);
        read().catch(toastError);
    };
    fill(root, h("div", {class: "head"}, h("div", h("p", link("/cluster", {}, "Cluster")), h("h1", "Cluster history"))),
        h("p", {class: "dim"}, "How long slots were held by trials and jobs: slots times hours, per day or month in UTC. Deleted experiments count."),
        h("div", {class: "bar"}, select(Object.entries(SPANS).map(([key, [label]]) => [key, label]), chosen.span, (span) => choose({span}), {"aria-label": "Time"}),
            select(Object.entries(BYS).map(([key, [label]]) => [key, label]), chosen.by, (by) => choose({by}), {"aria-label": "Divided"}), csv, counted), place);
    try {
        await read();
    } catch (error) {
        if (error.status !== 403) throw error;
        csv.hidden = true;
        fill(place, errorBox("Only administrators may see the history of the cluster."));
    }
}
