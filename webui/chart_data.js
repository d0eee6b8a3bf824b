// SPDX-License-Identifier: Apache-2.0
// chart_data.js - from the master's series to what is drawn.  No elements here, only numbers.
//
// In the master's arrays NaN means "this line has nothing at this x": lines of several trials share
// one x, and a line goes on over what only others have.  A value that *is* NaN or infinite is named in
// `notNumbers`: the line has a gap there, and a mark.  For the chart library the first is
// `undefined`, the second `null`.

// Exponential smoothing without the pull towards zero at the beginning; over what is there.
export function smooth(y, weight) {
    const out = new Array(y.length);
    let sum = 0;
    let norm = 0;
    for (let i = 0; i < y.length; i++) {
        const value = y[i];
        out[i] = value;
        if (value === undefined || value === null) continue;
        sum = sum * weight + value;
        norm = norm * weight + 1;
        out[i] = sum / norm;
    }
    return out;
}

// One line: {y, first, last, min, max, count, alone: indices of points that no line reaches, dropped}.
function prepareLine(line, x, from, count, isLog) {
    const source = line.y;
    const strange = new Map((line.notNumbers || []).map(([x, what]) => [x, what]));
    const y = new Array(count);
    const out = {y, count: 0, min: Infinity, max: -Infinity, last: undefined, alone: [], dropped: 0};
    let before = -1; // index of the value before, -1 after a gap
    let isLonely = false; // nothing on the left side of it
    for (let i = 0; i < count; i++) {
        const value = source[from + i];
        if (Number.isFinite(value) && !(isLog && value <= 0)) {
            y[i] = value;
            out.count++;
            out.last = value;
            if (value < out.min) out.min = value;
            if (value > out.max) out.max = value;
            isLonely = before < 0;
            before = i;
            continue;
        }
        const isGap = Number.isFinite(value) || value === Infinity || value === -Infinity || (strange.size > 0 && strange.has(x[from + i]));
        y[i] = isGap ? null : undefined;
        if (Number.isFinite(value)) out.dropped++;
        if (isGap) {
            if (before >= 0 && isLonely) out.alone.push(before);
            before = -1;
        }
    }
    if (before >= 0 && isLonely) out.alone.push(before);
    return out;
}

// What of several lines is drawn one over the other: each stands on the sum of those before.
function stack(lines, count) {
    const sum = new Float64Array(count);
    for (const line of lines) {
        line.own = line.y;
        line.y = line.y.map((value, i) => sum[i] += value || 0);
        line.alone = [];
    }
}

// chart: as series.js gives it.  Returns {x, lines: [{line, y, smoothed, …}], dropped, strange}.
export function prepare(chart, {isLogX = false, isLogY = false, smoothing = 0, isStacked = false, xOf = null} = {}) {
    let x = chart.x;
    if (xOf) x = x.map(xOf);
    let from = 0;
    if (isLogX) while (from < x.length && !(x[from] > 0)) from++;
    const count = x.length - from;
    const lines = chart.lines.map((line) => {
        const prepared = prepareLine(line, chart.x, from, count, isLogY);
        prepared.line = line;
        if (smoothing > 0 && !isStacked) prepared.smoothed = smooth(prepared.y, smoothing);
        return prepared;
    });
    if (isStacked) stack(lines, count);
    return {
        x: from ? x.subarray(from) : x, lines,
        dropped: lines.reduce((sum, one) => sum + one.dropped, 0),
        strange: chart.lines.reduce((sum, line) => sum + (line.notNumberCount ?? line.notNumbers?.length ?? 0), 0),
    };
}

// The value of a line at index i of x, else between its neighbours; undefined outside of the line.
export function valueAt(x, y, i) {
    if (y[i] !== undefined && y[i] !== null) return y[i];
    let left = i - 1;
    while (left >= 0 && y[left] === undefined) left--;
    let right = i + 1;
    while (right < y.length && y[right] === undefined) right++;
    if (left < 0 || right >= y.length || y[left] === null || y[right] === null || y[i] === null) return undefined;
    const part = (x[i] - x[left]) / (x[right] - x[left]);
    return y[left] + (y[right] - y[left]) * part;
}

// The index at which the line has something of its own, nearest to i.
export function ownIndex(y, i) {
    for (let d = 0; d < y.length; d++) {
        if (y[i - d] !== undefined && y[i - d] !== null) return i - d;
        if (y[i + d] !== undefined && y[i + d] !== null) return i + d;
    }
    return -1;
}

const quoted = (text) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

// One row an x; empty where a line has nothing.
export function csv(xName, x, lines) {
    const rows = [[xName, ...lines.map((line) => line.label)].map(quoted).join(",")];
    for (let i = 0; i < x.length; i++) {
        rows.push([x[i], ...lines.map(({y}) => y[i] === undefined || y[i] === null || Number.isNaN(y[i]) ? "" : y[i])].join(","));
    }
    return rows.join("\r\n") + "\r\n";
}

// ---- axes ----

const COMPACT = [["T", 1e12], ["B", 1e9], ["M", 1e6], ["k", 1e3]];
export function tick(value, more = 0) {
    const size = Math.abs(value);
    if (value === 0) return "0";
    if (size >= 1e15 || size < 1e-3) return Number(value.toPrecision(4 + more)).toExponential().replace("e+", "e").replace("-", "−").replace("e-", "e−");
    if (size >= 1e4) {
        const rounded = Number(value.toPrecision(4 + more));
        const [name, unit] = COMPACT.find(([, unit]) => Math.abs(rounded) >= unit);
        return String(rounded / unit).replace("-", "−") + name;
    }
    return String(Number(value.toPrecision(6 + more))).replace("-", "−");
}

// The labels of an axis, with as many digits as tell neighbours apart.
export function texts(values, format) {
    for (let more = 0; ; more++) {
        const out = values.map((value) => format(value, more));
        if (more === 10 || out.every((text, i) => text !== out[i - 1])) return out;
    }
}

// As much of a moment as the stretch that is shown needs.
export function timeTick(seconds, {min, max}) {
    const at = new Date(seconds * 1000);
    const two = (n) => String(n).padStart(2, "0");
    const span = max - min;
    const day = `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
    if (span < 5) return `${clock}:${two(Math.floor(at.getSeconds()))}.${Math.floor(at.getMilliseconds() / 100)}`;
    if (span < 600) return `${clock}:${two(Math.floor(at.getSeconds()))}`;
    if (span < 86400) return clock;
    return span < 86400 * 7 ? `${day} ${clock}` : span < 86400 * 300 ? day : `${at.getFullYear()}-${day}`;
}

// A training that diverges reports anything that a double can hold.  What a scale spans must be finite, too: values
// beyond LARGEST lie outside of the picture.
const LARGEST = Number.MAX_VALUE / 4;
const SMALLEST = 1e-300;
const within = (value) => Math.max(-LARGEST, Math.min(LARGEST, value));

// A scale's ends with some air; a flat line lies in the middle.
export function yRange(least, greatest, {isLog, isStacked}) {
    if (least === null || greatest === null || !Number.isFinite(least) || !Number.isFinite(greatest)) return isLog ? [0.1, 10] : [0, 1];
    const [min, max] = isLog ? [least, greatest].map((value) => Math.max(SMALLEST, within(value))) : [least, greatest].map(within);
    if (isLog) {
        const air = min === max ? 0.5 : Math.max(0.03, (Math.log10(max) - Math.log10(min)) * 0.05);
        return [10 ** (Math.log10(min) - air), Math.min(LARGEST, 10 ** (Math.log10(max) + air))];
    }
    if (max - min < SMALLEST && Math.abs(min) < SMALLEST) return [0, 1]; // as good as zero
    if (isStacked) return [0, max === 0 ? 1 : max * 1.04];
    if (min === max) return min === 0 ? [0, 1] : [min - Math.abs(min) * 0.1, max + Math.abs(max) * 0.1];
    const air = (max - min) * 0.06;
    const low = min >= 0 && min < (max - min) * 0.35 ? 0 : min - air; // near zero: from zero on
    return [low, max + air];
}

export function xRange(min, max, isLog) {
    if (min === null || max === null) return isLog ? [1, 10] : [0, 1];
    if (min === max) return isLog ? [min / 2, max * 2] : [min - 0.5, max + 0.5];
    return [min, max];
}

// A round step of an axis that spans so much and has room for so many; of any size that a double has.
export function stepOf(span, most) {
    const decade = Math.floor(Math.log10(span > 0 ? span : 1));
    for (let e = decade - 2; e <= decade + 1; e++) {
        for (const one of [1, 2, 2.5, 5]) {
            const step = Number(`${one}e${e}`);
            if (span / step <= most) return Math.min(step, Number.MAX_VALUE);
        }
    }
    return span;
}

// Where on an axis from 0 to 1 a value lies.
export const place = (value, min, max, isLog) => isLog ? (Math.log10(value) - Math.log10(min)) / (Math.log10(max) - Math.log10(min)) : (value - min) / (max - min);

// The multiples of a step between two ends.
export function splits(min, max, step) {
    const out = [];
    if (!(step > 0)) return out;
    for (let i = Math.ceil(min / step - 1e-9); i * step <= max + step * 1e-9 && out.length < 100; i++) out.push(Number((i * step).toPrecision(15)));
    return out;
}

// 1, 2 and 5 of each decade; of many decades only the ones.
export function logSplits(min, max) {
    const decades = Math.log10(max) - Math.log10(min);
    const steps = decades > 4 ? [1] : decades > 2 ? [1, 3] : decades > 0.7 ? [1, 2, 5] : null;
    const out = [];
    if (!steps) return splits(min, max, stepOf(max - min, 5));
    const every = Math.max(1, Math.ceil(decades / 8));
    for (let e = Math.floor(Math.log10(min)); e <= Math.log10(max); e++) {
        if (e % every) continue;
        for (const step of steps) {
            const v = Number((step * 10 ** e).toPrecision(12));
            if (v >= min && v <= max) out.push(v);
        }
    }
    return out;
}
