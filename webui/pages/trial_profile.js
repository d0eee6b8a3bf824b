// SPDX-License-Identifier: Apache-2.0
// trial_profile.js - the profile of a trial: load of the machine, time by activity, and the cause of lost time.
//
// The master sums the reports and finds the cause (model/profile.c; `det trial profile` prints the same).

import {get} from "../api.js";
import {lineChart} from "../chart.js";
import {fill, h} from "../dom.js";
import {bytes, duration, isOver, number, plural} from "../format.js";
import {empty, icon} from "../widgets.js";
import {throttleInBackground} from "./trial.js";

const READ_MS = 5000;
const LOAD_MS = 15000; // supervisors measure so often
const KINDS = {step: "training steps", data: "waiting for data", validate: "validation", checkpoint: "checkpoints", report: "reports", other: "other"};
const PLACE = {step: 0, data: 1, validate: 2, checkpoint: 3, report: 5, other: 4}; // in the palette
const GROUPS = [["cpu", "Processors"], ["gpu", "GPUs"], ["memory", "Memory"], ["disk", "Disks"], ["network", "Network"]];

const percent = (part) => `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %`;
const isPercent = (name) => name.includes("_util");
const formatOf = (name) => isPercent(name) ? (v, more = 0) => `${number(Number(v.toFixed(1 + more)))} %` : name.includes("throughput") ? (v, more) => `${bytes(v, more)}/s` : name.includes("memory") ? bytes : number;
const kindOf = (name) => isPercent(name) ? "%" : name.includes("throughput") ? "bytes per second" : name.includes("memory") ? "free bytes" : "per second";

// Puts lines with different times on one time axis.
function alignLines(lines, ys = (line) => line.values) {
    const times = [...new Set(lines.flatMap((line) => line.times))].sort((a, b) => a - b);
    const at = new Map(times.map((one, i) => [one, i]));
    return {x: Float64Array.from(times), isExact: true, lines: lines.map((line, place) => {
        const y = new Float64Array(times.length).fill(NaN);
        ys(line).forEach((v, i) => y[at.get(line.times[i])] = v);
        return {trial: place, name: line.name, y};
    })};
}

function drawTimeBar(node, agent) {
    const timings = agent.lines.filter((line) => line.group === "timing");
    const parts = timings.map((line) => ({kind: line.name, share: line.share, seconds: line.seconds, count: line.count}));
    const rest = Math.max(0, 1 - parts.reduce((sum, one) => sum + one.share, 0));
    if (rest > 0.0005) parts.push({kind: "other", share: rest, seconds: rest * agent.seconds, count: 0});
    const all = Math.max(1, parts.reduce((sum, one) => sum + one.share, 0));
    const colour = (kind) => `var(--line-${(PLACE[kind] ?? 6) + 1})`;
    fill(node, h("h2", "Where the time went"), h("p", {class: "dim"}, `Measured for ${duration(agent.seconds)} on ${agent.agent}.`),
        h("div", {class: "time-bar", "aria-hidden": "true"}, parts.map((one) => h("span", {style: {width: `${one.share / all * 100}%`, background: colour(one.kind)}}))),
        h("table", {class: "time-table"}, h("caption", {class: "hidden"}, "Where the time went"), h("tbody", parts.map((one) => h("tr",
            h("th", {scope: "row"}, h("span", {class: "dot", style: {background: colour(one.kind)}}), KINDS[one.kind] || one.kind),
            h("td", {class: "num"}, percent(one.share)), h("td", {class: "num dim"}, duration(one.seconds)),
            h("td", {class: "num dim"}, one.count ? `${plural(one.count, "time")}, ${duration(one.seconds / one.count)} each` : ""))))));
}

const causeBox = (cause) => cause.text && h("p", {class: ["cause", cause.isTrouble ? "trouble" : "fine"]}, icon(cause.isTrouble ? "warn" : "check"), " ",
    h("strong", cause.text.charAt(0).toUpperCase() + cause.text.slice(1) + "."));

function agentView(agent, sync) {
    const cause = h("div");
    const bar = h("section", {class: "card", "aria-label": "Where the time went"});
    const grid = h("div", {class: "charts"});
    const charts = new Map();
    const chartOf = (key, options) => {
        if (!charts.has(key)) charts.set(key, lineChart(grid, {isTime: true, xName: "time", sync, height: 200, ...options}));
        return charts.get(key);
    };
    function update(now) {
        fill(cause, causeBox(now.cause));
        const timings = now.lines.filter((line) => line.group === "timing");
        bar.hidden = !timings.length;
        if (timings.length) {
            drawTimeBar(bar, now);
            timings.sort((a, b) => (PLACE[a.name] ?? 9) - (PLACE[b.name] ?? 9));
            chartOf("timing", {title: "Where the time went, over time", yName: "share of the time", isStacked: true, yBounds: [0, 100], format: formatOf("_util"), labelOf: (line) => KINDS[line.name] || line.name, keyOf: (line) => line.name,
                colorOf: (line) => PLACE[line.name] ?? 6}).update(alignLines(timings));
        }
        for (const [group, label] of GROUPS) {
            const lines = now.lines.filter((line) => line.group === group);
            for (const kind of [...new Set(lines.map((line) => kindOf(line.name)))]) {
                const some = lines.filter((line) => kindOf(line.name) === kind);
                chartOf(`${group} ${kind}`, {title: `${label}, ${kind}`, yName: kind, yBounds: kind === "%" ? [0, 100] : null, format: formatOf(some[0].name), labelOf: (line) => line.name, keyOf: (line) => line.name,
                    colorOf: (line) => line.trial}).update(alignLines(some));
            }
        }
    }
    update(agent);
    return {node: h("section", {class: "agent-profile", "aria-label": `On ${agent.agent}`}, cause, bar, grid), update, destroy: () => charts.forEach((chart) => chart.destroy())};
}

export async function profilerTab(place, state, ctx) {
    const views = new Map();
    const isOff = /\bprofiling\b/.test(state.experiment.originalConfig || "") && state.config.profiling?.enabled === false;
    const none = empty(isOff ? h("p", "The configuration of this experiment turns measuring off: ", h("code", "profiling: {enabled: false}"), ".")
        : h("p", isOver(state.trial.state) ? "Nothing was measured: the trial ran for less than two seconds, or on an older version." : "Nothing is measured yet. The load of the machine appears a few seconds after the trial has started."));
    const timings = h("p", {class: "dim", hidden: true}, "Set ", h("code", "profiling: {enabled: true}"), " in the experiment's configuration to measure once per second, and the time that each part of training takes.");
    const read = async () => {
        const {agents} = await get(`/api/v1/det/trials/${state.trial.id}/profile`, {}, {signal: ctx.signal});
        if (!agents.length) return fill(place, none);
        none.remove();
        if (!timings.isConnected) place.prepend(timings);
        timings.hidden = agents.some((agent) => agent.lines.some((line) => line.group === "timing"));
        for (const agent of agents) {
            if (views.has(agent.agent)) views.get(agent.agent).update(agent);
            else {
                const view = agentView(agent, `profile ${agent.agent}`);
                views.set(agent.agent, view);
                if (agents.length > 1) place.append(h("h2", agent.agent));
                place.append(view.node);
            }
        }
    };
    fill(place, timings);
    await read();
    const again = throttleInBackground(read, READ_MS);
    const timer = setInterval(() => !isOver(state.trial.state) && again(), LOAD_MS);
    ctx.onLeave(() => {
        clearInterval(timer);
        for (const view of views.values()) view.destroy();
    });
    return {metrics: again};
}
