// SPDX-License-Identifier: Apache-2.0
// chart_data.js - turns the master's series into data for uPlot.  No elements here, only numbers.
//
// In the master's arrays NaN means "this line has no value at this x": the lines of several trials share one x array, and a
// line continues across the x values of other lines.  A reported NaN or infinity is listed in `notNumbers`: the line has a
// gap and a mark there.  uPlot expects `undefined` for the first and `null` for the second.

// Exponential smoothing with bias correction at the beginning; missing values are skipped.
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

// One line: {y, first, last, min, max, count, alone: indices of points without neighbours, dropped}.
function prepareLine(line, x, from, count, isLog) {
    const source = line.y;
    const strange = new Map((line.notNumbers || []).map(([x, what]) => [x, what]));
    const y = new Array(count);
    const out = {y, count: 0, min: Infinity, max: -Infinity, last: undefined, alone: [], dropped: 0};
    let before = -1; // index of the previous value, -1 after a gap
    let isLonely = false; // it has no left neighbour
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

// Stacks lines: each stands on the sum of the lines before it.
function stack(lines, count) {
    const sum = new Float64Array(count);
    for (const line of lines) {
        line.own = line.y;
        line.y = line.y.map((value, i) => sum[i] += value || 0);
        line.alone = [];
    }
}

// `chart` has the form of series.js.  Returns {x, lines: [{line, y, smoothed, …}], dropped, strange}.
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

// The value of a line at index i of x, interpolated between its neighbours; undefined outside the line.
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

// The index nearest to i at which the line has a value.
export function ownIndex(y, i) {
    for (let d = 0; d < y.length; d++) {
        if (y[i - d] !== undefined && y[i - d] !== null) return i - d;
        if (y[i + d] !== undefined && y[i + d] !== null) return i + d;
    }
    return -1;
}

const quoted = (text) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

// One row per x; a cell is empty where a line has no value.
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

// The labels of an axis, with enough digits to tell neighbours apart.
export function texts(values, format) {
    for (let more = 0; ; more++) {
        const out = values.map((value) => format(value, more));
        if (more === 10 || out.every((text, i) => text !== out[i - 1])) return out;
    }
}

// Date and time, as precise as the visible range needs.
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

// A diverging training reports anything that a double can hold.  The span of a scale must be finite, too: values beyond
// LARGEST lie outside the plot.
const LARGEST = Number.MAX_VALUE / 4;
const SMALLEST = 1e-300;
const within = (value) => Math.max(-LARGEST, Math.min(LARGEST, value));

// The ends of a scale, with a margin; a flat line lies in the middle.
export function yRange(least, greatest, {isLog, isStacked}) {
    if (least === null || greatest === null || !Number.isFinite(least) || !Number.isFinite(greatest)) return isLog ? [0.1, 10] : [0, 1];
    const [min, max] = isLog ? [least, greatest].map((value) => Math.max(SMALLEST, within(value))) : [least, greatest].map(within);
    if (isLog) {
        const air = min === max ? 0.5 : Math.max(0.03, (Math.log10(max) - Math.log10(min)) * 0.05);
        return [10 ** (Math.log10(min) - air), Math.min(LARGEST, 10 ** (Math.log10(max) + air))];
    }
    if (max - min < SMALLEST && Math.abs(min) < SMALLEST) return [0, 1]; // practically zero
    if (isStacked) return [0, max === 0 ? 1 : max * 1.04];
    if (min === max) return min === 0 ? [0, 1] : [min - Math.abs(min) * 0.1, max + Math.abs(max) * 0.1];
    const air = (max - min) * 0.06;
    const low = min >= 0 && min < (max - min) * 0.35 ? 0 : min - air; // start at zero if the values are near it
    return [low, max + air];
}

export function xRange(min, max, isLog) {
    if (min === null || max === null) return isLog ? [1, 10] : [0, 1];
    if (min === max) return isLog ? [min / 2, max * 2] : [min - 0.5, max + 0.5];
    return [min, max];
}

// A round tick step for an axis that spans `span` and has room for `most` ticks; works for every double.
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

// The position of a value on an axis from 0 to 1.
export const place = (value, min, max, isLog) => isLog ? (Math.log10(value) - Math.log10(min)) / (Math.log10(max) - Math.log10(min)) : (value - min) / (max - min);

// The multiples of `step` between min and max.
export function splits(min, max, step) {
    const out = [];
    if (!(step > 0)) return out;
    for (let i = Math.ceil(min / step - 1e-9); i * step <= max + step * 1e-9 && out.length < 100; i++) out.push(Number((i * step).toPrecision(15)));
    return out;
}

// 1, 2 and 5 of each decade; over many decades only the powers of ten.
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
