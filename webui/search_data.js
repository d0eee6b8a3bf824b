// SPDX-License-Identifier: Apache-2.0
// search_data.js - the data of a search for its plots: trials, and axes that map values to positions.
//
//   const search = readSearch(reply of …/trials-table, configuration)
//   search.trials   [{id, state, steps, latest, best, rank, values: {name: value}, …}], rank 0 … 1, 1 is the best
//   search.axes     hyperparameters that vary: {name, kind, place(value) -> 0 … 1, label(value), ticks, importance}
//   search.metric   the axis of the metric; better values are higher
//   search.fixed    [[name, value]] of the hyperparameters that do not vary

import {number, value as shown} from "./format.js";

const groupsOf = (count) => count >= 80 ? 8 : 5; // of trials with similar values
const UNGROUPED_MOST = 10; // fewer trials are compared one by one
const RANK_DEVIATION = 0.29; // standard deviation of ranks from 0 to 1
const CHANCE_MOST = 0.15;
const LOG_FROM = 50; // max / min from which an axis is logarithmic

const asNumber = (value) => typeof value === "number" ? value : value === "NaN" ? NaN : value === "Infinity" ? Infinity : value === "-Infinity" ? -Infinity : null;

// ---- axes ----

function niceTicks(min, max, count = 5) {
    const raw = (max - min) / count || 1;
    const size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((one) => one * size >= raw) * size;
    const ticks = [];
    for (let at = Math.ceil(min / step - 1e-9) * step; at <= max + step * 1e-9; at += step) ticks.push(Number(at.toPrecision(12)));
    return ticks;
}

function logTicks(min, max) {
    const decades = Math.log10(max / min);
    const inner = decades > 2.5 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
    const ticks = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max) + 1e-9; power++) {
        for (const one of inner) {
            const at = Number((one * 10 ** power).toPrecision(6));
            if (at >= min * 0.999 && at <= max * 1.001) ticks.push(at);
        }
    }
    return ticks.length > 8 ? ticks.filter((_, i) => i % Math.ceil(ticks.length / 8) === 0) : ticks;
}

// Adds ticks at the smallest and the largest value and removes ticks too close to them.
const withEnds = (ticks, ends, up) => [ends[0], ...ticks.filter((one) => up(one) > 0.07 && up(one) < 0.93), ends[1]];

export function numberAxis(name, values, {isLog = null, isFlipped = false} = {}) {
    const finite = values.filter((one) => one !== null && Number.isFinite(one));
    let min = finite.reduce((a, b) => Math.min(a, b), Infinity);
    let max = finite.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!finite.length) min = 0, max = 1;
    const isWhole = finite.length > 0 && finite.every(Number.isInteger);
    const mayLog = min > 0 && max > min;
    const log = mayLog && (isLog ?? max / min >= LOG_FROM);
    if (min === max) {
        const room = Math.abs(min) / 2 || 0.5;
        min -= room;
        max += room;
    }
    const up = log ? (x) => Math.log(x / min) / Math.log(max / min) : (x) => (x - min) / (max - min);
    const down = log ? (p) => min * (max / min) ** p : (p) => min + p * (max - min);
    return {
        name, kind: log ? "log" : "linear", min, max, isFlipped,
        place: (value) => {
            const x = asNumber(value);
            if (x === null || !Number.isFinite(x)) return NaN;
            return isFlipped ? 1 - up(x) : up(x);
        },
        valueAt: (p) => down(isFlipped ? 1 - p : p),
        label: (value) => number(typeof value === "number" ? Number(value.toPrecision(4)) : value),
        ticks: withEnds((log ? logTicks(min, max) : niceTicks(min, max)).filter((one) => !isWhole || Number.isInteger(one)), [min, max], up),
    };
}

export function categoryAxis(name, values, order = []) {
    const key = (value) => JSON.stringify(value);
    const known = new Map();
    const all = [...order, ...values.filter((one) => one !== null && one !== undefined).sort((a, b) => typeof a === "number" && typeof b === "number" ? a - b : key(a) < key(b) ? -1 : 1)];
    const isUsed = new Set(values.map(key));
    for (const one of all) if (!known.has(key(one)) && isUsed.has(key(one))) known.set(key(one), {value: one, at: known.size});
    const list = [...known.values()].map((one) => one.value);
    return {
        name, kind: "category", categories: list,
        place: (value) => known.has(key(value)) ? (known.get(key(value)).at + 0.5) / list.length : NaN,
        valueAt: (p) => list[Math.max(0, Math.min(list.length - 1, Math.floor(p * list.length)))],
        label: shown, ticks: list,
    };
}

// "net.depth" in {net: {depth: {type: "int", …}}}
function hintOf(hyperparameters, name) {
    let at = hyperparameters;
    for (const part of name.split(".")) at = at?.[part];
    return at && typeof at === "object" ? at : {};
}

function axisOf(name, values, hint) {
    const numbers = values.map(asNumber);
    const isNumeric = values.every((one, i) => one === null || one === undefined || numbers[i] !== null);
    if (isNumeric && hint.type !== "categorical") return numberAxis(name, numbers, {isLog: hint.type === "log" ? true : hint.type === "double" || hint.type === "int" ? false : null});
    return categoryAxis(name, values, hint.type === "categorical" && Array.isArray(hint.vals) ? hint.vals : []);
}

// ---- trials ----

// Sets the rank of each trial: 1 for the best, 0 for the worst, the same for equal ones, null without a metric.  Returns
// the ranked trials, worst first.
function rank(trials, smallerIsBetter) {
    const worth = (trial) => {
        if (Number.isNaN(trial.best)) return -Infinity;
        return smallerIsBetter ? -trial.best : trial.best;
    };
    const known = trials.filter((trial) => trial.best !== null).sort((a, b) => worth(a) - worth(b) || b.id - a.id); // of equal trials the first is the best
    known.forEach((trial, i) => {
        const before = known[i - 1];
        trial.rank = before && worth(before) === worth(trial) ? before.rank : known.length > 1 ? i / (known.length - 1) : 1;
    });
    return known;
}

export function readSearch(reply, config) {
    const trials = reply.trials.map(([id, state, steps, latest, best, restarts, start, end, values, onSlots, metrics]) => ({
        id, state, steps, latest: asNumber(latest), best: asNumber(best), restarts, start, end, onSlots, rank: null,
        values: Object.fromEntries(reply.hparams.map((name, i) => [name, values[i] ?? null])),
        metrics: Object.fromEntries((reply.metrics || []).map((name, i) => [name, metrics?.[i] ?? null])),
    }));
    const ranked = rank(trials, reply.smallerIsBetter);
    const best = ranked.at(-1) || null;
    const axes = [];
    const fixed = [];
    reply.hparams.forEach((name, i) => {
        const values = trials.map((trial) => trial.values[name]);
        const texts = new Set(values.map((one) => JSON.stringify(one)));
        if (texts.size < 2) fixed.push([name, values[0]]);
        else axes.push({...axisOf(name, values, hintOf(config?.hyperparameters, name)), importance: reply.importance?.[i]});
    });
    const metric = numberAxis(reply.metric || "metric", trials.map((trial) => trial.best), {isFlipped: reply.smallerIsBetter});
    return {trials, ranked, best, byId: new Map(trials.map((trial) => [trial.id, trial])), axes, fixed, metric, isUnnamed: !reply.metric, smallerIsBetter: reply.smallerIsBetter, fewTrials: reply.fewTrials, hparams: reply.hparams, metrics: reply.metrics || [],
        judged: ranked.length};
}

// ---- sentences ----

// The mean rank of trials with similar values, in the order of the values: [{value, rank, size}].  Few trials are not grouped.
function meanRanks(axis, search) {
    const known = search.ranked.map((trial) => [asNumber(trial.values[axis.name]), trial.rank]).filter(([value]) => Number.isFinite(value) && value !== null).sort((a, b) => a[0] - b[0]);
    const size = known.length > UNGROUPED_MOST ? known.length / groupsOf(known.length) : 1;
    const groups = [];
    known.forEach(([value, rank], i) => {
        if (!i || (groups.at(-1).length >= size && value !== known[i - 1][0])) groups.push([]);
        groups.at(-1).push([value, rank]);
    });
    return groups.map((group) => ({value: group[Math.floor(group.length / 2)][0], rank: group.reduce((sum, [, rank]) => sum + rank, 0) / group.length, size: group.length}));
}

// The effect of a hyperparameter, in a few words: "larger is better" only if every group of larger values is better than the
// one before, apart from chance; "best near 0.01" if the best values lie between others; "" if it is not clear.
export function tendency(axis, search) {
    const r = axis.importance?.correlation;
    if (axis.kind === "category" || r === null || r === undefined) return "";
    const groups = meanRanks(axis, search);
    if (groups.length < 2) return "";
    const chance = Math.min(CHANCE_MOST, RANK_DEVIATION * Math.sqrt(1 - r * r) / Math.sqrt(Math.min(...groups.map((one) => one.size))));
    const way = Math.sign(groups.at(-1).rank - groups[0].rank);
    if (Math.abs(r) >= 0.5 && groups.every((one, i) => !i || (one.rank - groups[i - 1].rank) * way >= -chance)) return `larger is ${way > 0 ? "better" : "worse"}`;
    const best = groups.reduce((a, b) => b.rank > a.rank ? b : a);
    const end = Math.max(groups[0].rank, groups.at(-1).rank);
    return (axis.importance.share ?? 0) > 0.1 && best.rank - end > Math.max(2 * chance, 0.1) ? `best near ${axis.label(best.value)}` : "";
}

// A sentence about the most important hyperparameter.
export function verdict(search) {
    const known = search.axes.filter((axis) => axis.importance?.share !== null).sort((a, b) => b.importance.share - a.importance.share);
    if (!known.length || search.judged < 3) return "";
    const [first] = known;
    if (first.importance.share < 0.1) return `No single hyperparameter explains much of the variation in ${search.metric.name}. It comes from chance or from combinations.`;
    const words = tendency(first, search);
    return `${first.name} matters most: on its own it explains about ${Math.round(first.importance.share * 100)} % of the variation in ${search.metric.name}${words ? `; ${words}` : ""}.`;
}

// ---- brushes: {name: [from, to]}, positions from 0 to 1 ----

export const isInside = (trial, search, brushes) => Object.entries(brushes).every(([name, [from, to]]) => {
    const axis = name === search.metric.name + "()" ? search.metric : search.axes.find((one) => one.name === name);
    if (!axis) return true;
    const at = axis.place(axis === search.metric ? trial.best : trial.values[name]);
    return at >= from - 1e-9 && at <= to + 1e-9;
});

export const brushKey = (search, axis) => axis === search.metric ? search.metric.name + "()" : axis.name;

// Brushes in the form of the address: "lr~0.001~0.1"; categories by their index.
export function writeBrushes(search, brushes) {
    return Object.entries(brushes).map(([name, [from, to]]) => {
        const axis = name === search.metric.name + "()" ? search.metric : search.axes.find((one) => one.name === name);
        if (!axis) return null;
        const [a, b] = axis.kind === "category" ? [Math.round(from * axis.categories.length), Math.round(to * axis.categories.length)]
            : [axis.valueAt(from), axis.valueAt(to)].map((one) => Number(one.toPrecision(5)));
        return `${name}~${a}~${b}`;
    }).filter(Boolean);
}

export function readBrushes(search, list) {
    const brushes = {};
    for (const text of [].concat(list || [])) {
        const parts = text.split("~");
        const [a, b] = parts.slice(-2).map(Number);
        const name = parts.slice(0, -2).join("~");
        const axis = name === search.metric.name + "()" ? search.metric : search.axes.find((one) => one.name === name);
        if (!axis || !Number.isFinite(a) || !Number.isFinite(b)) continue;
        const places = axis.kind === "category" ? [a / axis.categories.length, b / axis.categories.length] : [axis.place(a), axis.place(b)];
        if (places.some(Number.isNaN)) continue;
        brushes[name] = [Math.max(0, Math.min(...places)), Math.min(1, Math.max(...places))];
    }
    return brushes;
}
