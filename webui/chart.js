// SPDX-License-Identifier: Apache-2.0
// chart.js - line charts on uPlot, which is loaded with the first chart.
//
//   const chart = lineChart(node, {
//       title: "loss", xName: "steps", yName,     title, and the labels of the axes; yName: the title unless given
//       labelOf: (line) => "trial 3",             label of a line
//       colorOf: (line) => 0,                     index in the palette (lineColors()), or a colour
//       dashOf: (line) => [6, 4],                 dash pattern of a line, null: solid
//       legend: false, onPoint: (line) => …,      no legend of its own (chart_legend.js); the mouse points at a line, or at none
//       format: number, isTime: false,            (value, additional digits) => text; whether x is in unix seconds
//       isLogX, isLogY, smoothing,                smoothing: 0 … 0.99
//       isStacked, height, sync: "key",           charts with the same key share a cursor
//       yBounds: [0, 100],                        fixed y axis, independent of the values
//       onRange: (range) => …,                    the user zoomed to [from, to], or null: reset; the callee reads the data
//       onPick: (line) => …, xOf: (x) => …,       the user clicked a line; monotonic function applied to x for display
//   });
//   chart.update(data)      new data, in the form of series.js
//   chart.set({smoothing})  changes settings
//   chart.zoom(range)       sets the zoom; null: everything
//   chart.hide(keys)        hides the lines with these keys (keyOf) and shows all others
//   chart.point(key)        highlights a line; null: none
//   chart.fail(text)        shows why new data could not be read
//   chart.destroy()
//
// Layers, from below: uPlot's canvas with all lines; our canvas with a translucent veil and the highlighted line, so
// highlighting redraws one line only; the cursor.
//
// Keys while the plot has the focus: left and right move the cursor, up and down select a line, + and - zoom, Escape resets
// the zoom.  Screen readers announce the value at the cursor.

import {csv, logSplits, ownIndex, place, prepare, splits, stepOf, texts, tick, timeTick, valueAt, xRange, yRange} from "./chart_data.js";
import {debounce, fill, h, svg} from "./dom.js";
import {number, plural, time} from "./format.js";
import {loadStylesheet} from "./stylesheet.js";
import {button, dialog, icon, menu, saveAs, toast} from "./widgets.js";

const MANY = 12; // more lines than this: thinner lines, no points, a shortened legend
const FAINT_MAX = 50; // more lines than this: a smoothed line is drawn without the raw one
const TABLE_ROWS = 1000;
const NEAR_PX = 60;
const LABEL_PX = 15; // the label of an axis
const EDGE_PX = 18; // between the plot and the right edge, at least
const WHOLE_STEPS = Array.from({length: 48}, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3)); // for axes of whole numbers

// ---- the library, loaded once ----

let library = null;
function loadLibrary() {
    library ||= Promise.all([import("./vendor/uplot.js"), loadStylesheet(new URL("vendor/uplot.css", import.meta.url))]).then(([module]) => module.default, (error) => {
        library = null; // the next chart tries again
        throw error;
    });
    return library;
}

// ---- colours ----

const charts = new Set();
let colours = null;
function theme() {
    if (colours) return colours;
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    colours = {
        lines: Array.from({length: 8}, (_, i) => of(`--line-${i + 1}`)), card: of("--card"), grid: of("--line"), dim: of("--dim"), text: of("--text"),
        isDark: style.colorScheme.includes("dark"), font: `11px ${of("--sans") || "sans-serif"}`,
    };
    return colours;
}
const repaint = () => {
    colours = null;
    for (const chart of charts) chart.repaint();
};
new MutationObserver(repaint).observe(document.documentElement, {attributes: true, attributeFilter: ["data-theme"]});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

// Eight colours that colour-blind readers can tell apart, then hues that are far from each other.
export function lineColour(place) {
    if (typeof place === "string") return place;
    const {lines, isDark} = theme();
    if (place < lines.length) return lines[place];
    return `oklch(${(isDark ? 0.7 : 0.5) + (place % 2 ? 0.12 : 0)} 0.13 ${(place * 137.508) % 360})`;
}

// For lines whose colours cannot all be told apart: the palette solid, then dashed, then dotted, and so on.
const DASHES = [null, [7, 4], [2, 3], [10, 3, 2, 3]];
export const lineDash = (place) => DASHES[Math.floor(place / 8) % DASHES.length];

// Gives every key (a trial) an index in the palette, the same for all charts of a page.
export function lineColors() {
    const places = new Map();
    return (key) => {
        if (!places.has(key)) places.set(key, places.size);
        return places.get(key);
    };
}

const ruler = h("canvas").getContext("2d");
function textWidth(text) {
    ruler.font = theme().font;
    return ruler.measureText(text).width;
}
function fitText(text, room) {
    if (textWidth(text) <= room) return text;
    let kept = text.length;
    while (kept > 1 && textWidth(text.slice(0, kept) + "…") > room) kept--;
    return text.slice(0, kept) + "…";
}

const faded = (colour, part) => `color-mix(in srgb, ${colour} ${Math.round(part * 100)}%, transparent)`;

const fileName = (title, end) => `${title.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-|-$/g, "") || "chart"}.${end}`;

export const lineSwatch = (colour, dash, kind) => svg("svg", {class: ["chart-swatch", kind], viewBox: "0 0 22 4", "aria-hidden": "true", style: {"--colour": colour}},
    svg("line", {x1: 0, y1: 2, x2: 22, y2: 2, "stroke-dasharray": dash ? dash.join(" ") : null}));

export function lineChart(node, options) {
    let settings = {title: "", xName: "steps", height: 220, smoothing: 0, isLogX: false, isLogY: false, format: number, isTime: false, ...options};
    let data = null; // as given to update()
    let shown = null; // the result of prepare()
    let u = null; // uPlot
    let uPlot = null;
    let signature = ""; // the settings and lines that `u` was made for
    let range = settings.range || null;
    const hidden = new Set(); // keys of hidden lines
    let pointed = -1; // the highlighted line
    let isPinned = false; // the keyboard placed the cursor
    let isHere = false; // the mouse is in this chart, not in another one with the same cursor
    let isExpanded = false; // the legend shows all lines
    let isGone = false;

    const order = lineColors();
    const keyOf = settings.keyOf || ((line) => `${line.trial}/${line.archived ? `lost ${line.run}` : ""}`);
    const labelOf = (line) => (settings.labelOf ? settings.labelOf(line) : `trial ${line.trial}`) + (line.archived ? ` (lost, run ${line.run})` : "");
    const colourOf = (line) => lineColour(settings.colorOf ? settings.colorOf(line) : order(line.trial));
    const tall = () => settings.height + LABEL_PX;
    const dashOf = (line) => line.archived ? [5, 4] : settings.dashOf?.(line) || undefined;
    const xText = (x) => settings.isTime ? time(x * 1000) : `${settings.xName} ${number(x)}`;

    // ---- elements ----
    const now = h("span", {class: "chart-now num"});
    const reset = button("Reset zoom", () => chooseRange(null), {kind: "plain small", hidden: true});
    const more = menu("", () => [
        ["Show as table", asTable],
        [settings.isLogY ? "Linear y axis" : "Logarithmic y axis", () => handle.set({isLogY: !settings.isLogY}), {disabled: settings.isStacked}],
        [settings.isLogX ? "Linear x axis" : "Logarithmic x axis", () => handle.set({isLogX: !settings.isLogX}), {disabled: settings.isTime}],
        ["Save as PNG", savePng], ["Save as CSV", saveCsv],
    ], {kind: "small chart-more", icon: "more", title: "Table, logarithmic axes, download", "aria-label": `More actions for ${settings.title}`});
    const table = button("as table", asTable, {kind: "plain small chart-table", "aria-label": `${settings.title} as table`});
    const title = h("h3", {title: settings.title}, settings.title);
    const tip = h("div", {class: "chart-tip", hidden: true});
    const veil = h("canvas", {class: "chart-veil"});
    const plot = h("div", {class: "chart-plot", tabindex: 0, role: "application", "aria-roledescription": "line chart", "aria-label": settings.title, onkeydown: keys,
        onblur: () => isPinned && leaveCursor()});
    plot.style.height = `${tall()}px`;
    const legend = h("div", {class: "chart-legend"});
    const note = h("p", {class: "chart-note dim", hidden: true});
    const liveRegion = h("span", {class: "hidden", "aria-live": "polite"});
    const figure = h("figure", {class: ["chart", settings.class]}, h("figcaption", {class: "chart-head"}, title, now, h("span", {class: "grow"}), reset, table, more), plot, legend, note, liveRegion);
    node.append(figure);

    const announce = debounce((text) => liveRegion.textContent = text, 200);

    // ---- the options of uPlot ----

    const isMany = () => data.lines.length > MANY;
    const lineWidth = () => isMany() ? 1 : 1.75; // width 1 is drawn several times faster

    // A single line has a faint area of its colour below it.
    function areaFill(line, isAlone) {
        if (settings.isStacked) return () => `color-mix(in srgb, ${colourOf(line)} 78%, ${theme().card})`;
        if (!isAlone || line.archived) return null;
        return (self) => {
            const {top, height} = self.bbox;
            if (!(height > 0)) return "transparent";
            const colour = colourOf(line);
            const gradient = self.ctx.createLinearGradient(0, top, 0, top + height);
            gradient.addColorStop(0, faded(colour, 0.2));
            gradient.addColorStop(1, faded(colour, 0.01));
            return gradient;
        };
    }

    // The series to draw, in order: for each line the raw one and, with smoothing, the smoothed one above it.
    function seriesOf() {
        const out = [];
        const hasRaw = data.lines.length <= FAINT_MAX;
        const isAlone = data.lines.filter((line) => !line.archived).length === 1;
        shown.lines.forEach((prepared, i) => {
            const {line} = prepared;
            const isOn = !hidden.has(keyOf(line));
            const isSmooth = Boolean(prepared.smoothed);
            const strength = (line.archived ? 0.45 : 1) * (data.lines.length > 200 ? 0.6 : 1);
            const points = {show: !isMany() && !line.archived && !settings.isStacked && prepared.count * 12 < width(), size: 5, width: 1, fill: () => colourOf(line), stroke: () => colourOf(line)};
            const one = (y, width, alpha, extra) => out.push({at: i, y, isOn, spec: {
                scale: "y", show: isOn, width, points: {show: false}, dash: dashOf(line),
                alpha, stroke: () => colourOf(line), ...extra,
            }});
            if (!isSmooth) one(prepared.y, settings.isStacked ? 0.5 : lineWidth(), strength, {points, fill: areaFill(line, isAlone)});
            else {
                if (hasRaw) one(prepared.y, 1, 0.28 * strength, {});
                one(prepared.smoothed, lineWidth() + 0.25, strength, {fill: areaFill(line, isAlone)});
            }
        });
        return settings.isStacked ? out.reverse() : out; // the tallest first: the others are painted over it
    }

    const axis = (extra) => ({stroke: () => theme().dim, font: theme().font, labelFont: theme().font, labelSize: LABEL_PX, grid: {stroke: () => theme().grid, width: 1}, ticks: {show: false}, gap: 6, ...extra});
    const width = () => Math.max(120, plot.clientWidth);
    const widest = (list) => Math.max(0, ...(list || []).filter(Boolean).map(textWidth));
    const logMark = (isLog) => isLog ? " (log)" : "";

    function specOf(list) {
        const {isLogX, isLogY, isStacked, isTime, format} = settings;
        // uPlot finds no tick step if the ends of an axis need many digits.  So the y axis has a separate scale from 0 to 1, and
        // the ticks are computed here.
        let at = [];
        let step = 0;
        const findStep = (self, i, from, to, tall, space) => {
            step = stepOf(self.scales.y.max - self.scales.y.min, tall / space);
            return [1];
        };
        const findSplits = ({scales: {y: {min, max}}}) => {
            at = isLogY ? logSplits(min, max) : splits(min, max, step);
            return at.map((v) => place(v, min, max, isLogY));
        };
        const spec = {
            width: width(), height: tall(), legend: {show: false, live: false},
            padding: [8, (self) => Math.max(EDGE_PX, Math.ceil(widest(self.axes[0]._values) / 2) + 2), 0, 0], // room for half a label
            series: [{}, ...list.map((one) => one.spec)],
            scales: {
                x: {time: isTime, distr: isLogX ? 3 : 1, range: (self, min, max) => range || xRange(min, max, isLogX)},
                y: {distr: isLogY ? 3 : 1, range: (self, min, max) => settings.yBounds && !isLogY ? settings.yBounds : yRange(min, max, {isLog: isLogY, isStacked})},
                axis: {auto: false, range: [0, 1]},
            },
            axes: [
                axis({size: 24, label: `${isTime ? "time" : settings.xName}${logMark(isLogX)}`, space: 80, ...(isTime || settings.xName === "epoch" ? {} : {incrs: WHOLE_STEPS}), values: (self, list) => list.map((v) => v === null ? "" : isTime ? timeTick(v, self.scales.x) : tick(v)), ...(isLogX ? {splits: (self) => logSplits(self.scales.x.min, self.scales.x.max), filter: (self, s) => s} : {})}),
                axis({scale: "axis", side: 3, space: 34, label: fitText((settings.yName ?? settings.title) + logMark(isLogY), settings.height - 34), size: (self, list) => 12 + Math.max(18, Math.ceil(widest(list))),
                    incrs: findStep, splits: findSplits, values: () => texts(at, format === number ? tick : format)}),
            ],
            cursor: {
                points: {show: false}, y: false, drag: {x: true, y: false, setScale: false, dist: 4}, focus: {prox: -1},
                ...(settings.sync ? {sync: {key: settings.sync, scales: ["x", null], setSeries: false, filters: {pub: (type) => type === "mousemove" || type === "mouseleave", sub: () => true}}} : {}),
            },
            hooks: {setCursor: [cursorMoved], setSelect: [rangeSelected], draw: [drawMarks]},
        };
        return spec;
    }

    // ---- drawing ----

    function makePlot(list) {
        u?.destroy();
        fill(plot, tip);
        u = new uPlot(specOf(list), [shown.x, ...list.map((one) => one.y)], plot);
        widenSingleX();
        u.root.querySelector(".u-wrap").append(veil);
        const over = u.root.querySelector(".u-over");
        over.addEventListener("mouseenter", () => {
            isHere = true;
            isPinned = false;
        });
        over.addEventListener("mouseleave", () => {
            isHere = false;
            leaveCursor();
        });
        over.addEventListener("dblclick", () => chooseRange(null));
        over.addEventListener("click", () => pointed >= 0 && isHere && settings.onPick?.(shown.lines[pointed].line));
    }

    // For a single x uPlot would make an axis of days.
    function widenSingleX() {
        if (shown.x.length !== 1 || range) return;
        const [x] = shown.x;
        const air = settings.isTime ? 30 : 0.5;
        u.setScale("x", settings.isLogX ? {min: x / 2, max: x * 2} : {min: x - air, max: x + air});
    }

    // If settings or lines have changed, creates uPlot again; if only numbers have changed, updates them.
    function draw() {
        if (!uPlot || !data || isGone) return;
        shown = prepare(data, settings);
        if (!shown.x.length || !shown.lines.length) {
            u?.destroy();
            u = null;
            signature = "";
            fill(plot, h("p", {class: "chart-empty dim"}, settings.empty || "No values."));
            drawWords();
            return;
        }
        const list = seriesOf();
        const {isLogX, isLogY, smoothing, isStacked, isTime, height} = settings;
        const next = JSON.stringify([isLogX, isLogY, smoothing > 0, isStacked, isTime, height, list.length, data.lines.map(keyOf), [...hidden]]);
        if (next !== signature || !u) {
            signature = next;
            makePlot(list);
        } else {
            u.batch(() => {
                u.setData([shown.x, ...list.map((one) => one.y)], !range);
                if (range) u.setScale("x", {min: range[0], max: range[1]});
            });
            widenSingleX();
        }
        drawWords();
        point(pointed < shown.lines.length ? pointed : -1);
        figure.dataset.drawn = Number(figure.dataset.drawn || 0) + 1; // tests and benchmarks wait for it
    }

    function swatch(line) {
        return lineSwatch(colourOf(line), dashOf(line), line.archived && "lost");
    }

    function drawLegend() {
        const lines = shown?.lines || [];
        if (lines.length < 2 || settings.legend === false) return fill(legend);
        const cut = isExpanded ? lines.slice(0, 400) : lines.slice(0, MANY);
        fill(legend, cut.map((prepared, i) => {
            const key = keyOf(prepared.line);
            return h("button", {type: "button", class: "chart-key", "aria-pressed": String(!hidden.has(key)), title: "Click to show or hide; Shift-click to show only this line",
                onclick: (event) => {
                    if (event.shiftKey) {
                        const isOnly = hidden.size === lines.length - 1 && !hidden.has(key);
                        hidden.clear();
                        if (!isOnly) for (const one of lines) if (one !== prepared) hidden.add(keyOf(one.line));
                    } else if (!hidden.delete(key)) hidden.add(key);
                    draw();
                    legend.children[i]?.focus();
                },
                onmouseenter: () => point(shown.lines.indexOf(prepared)), onmouseleave: () => point(-1),
            }, swatch(prepared.line), h("span", {class: "chart-name"}, labelOf(prepared.line)), h("span", {class: "num chart-value"}));
        }), lines.length > cut.length && button(`and ${number(lines.length - cut.length)} more`, () => {
            isExpanded = true;
            drawLegend();
        }, {kind: "plain small"}), isExpanded && lines.length > MANY && button("show fewer", () => {
            isExpanded = false;
            drawLegend();
        }, {kind: "plain small"}));
        legendValues(null);
    }

    function drawNotes() {
        const lost = (shown?.lines || []).filter((one) => one.line.archived && one.count).length;
        const notes = [
            shown?.strange && `${plural(shown.strange, "value is", "values are")} NaN or infinite (marked × at the edge).`,
            shown?.dropped && `${plural(shown.dropped, "value")} at or below zero cannot be shown on a logarithmic axis.`,
            lost && "Dashed: steps lost at a restart and repeated.",
            data.note,
        ].filter(Boolean);
        note.hidden = !notes.length;
        fill(note, notes.join(" "));
    }

    function drawWords() {
        reset.hidden = !range;
        drawLegend();
        drawNotes();
        drawValues(null);
        const last = shown?.lines.find((one) => one.count)?.last;
        plot.setAttribute("aria-label", `${settings.title}: ${plural(shown?.lines.length || 0, "line")}, ${plural(shown?.x.length || 0, "point")}` +
            (shown?.x.length ? `, from ${xText(shown.x[0])} to ${xText(shown.x.at(-1))}${last === undefined ? "" : `, last ${settings.format(last)}`}. Arrow keys read values, plus and minus zoom.` : "."));
    }

    // Crosses and arrows at the edges for NaN and infinities; dots for points without neighbours.
    function drawMarks(self) {
        const {ctx, bbox} = self;
        const ratio = devicePixelRatio || 1;
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left - 5 * ratio, bbox.top - 5 * ratio, bbox.width + 10 * ratio, bbox.height + 10 * ratio);
        ctx.clip();
        for (const prepared of shown.lines) {
            if (hidden.has(keyOf(prepared.line))) continue;
            ctx.strokeStyle = ctx.fillStyle = colourOf(prepared.line);
            ctx.lineWidth = 1.5 * ratio;
            ctx.globalAlpha = prepared.line.archived ? 0.45 : 1;
            const y = prepared.smoothed || prepared.y;
            for (const i of prepared.alone) {
                ctx.beginPath();
                ctx.arc(self.valToPos(shown.x[i], "x", true), self.valToPos(y[i], "y", true), 2.5 * ratio, 0, 7);
                ctx.fill();
            }
            for (const [x, what] of prepared.line.notNumbers || []) {
                const at = self.valToPos(settings.xOf ? settings.xOf(x) : x, "x", true);
                const isUp = what === "Infinity" || what === Infinity;
                const isDown = what === "-Infinity" || what === -Infinity;
                const edge = isUp ? bbox.top + 6 * ratio : bbox.top + bbox.height - 6 * ratio;
                const r = 3.5 * ratio;
                ctx.beginPath();
                if (isUp || isDown) {
                    const way = isUp ? -1 : 1;
                    ctx.moveTo(at - r, edge - way * r);
                    ctx.lineTo(at, edge + way * r);
                    ctx.lineTo(at + r, edge - way * r);
                } else {
                    ctx.moveTo(at - r, edge - r);
                    ctx.lineTo(at + r, edge + r);
                    ctx.moveTo(at + r, edge - r);
                    ctx.lineTo(at - r, edge + r);
                }
                ctx.stroke();
            }
        }
        ctx.restore();
    }

    // The highlighted line, above a veil over all others.
    function drawVeil() {
        const ctx = veil.getContext("2d");
        const canvas = u.ctx.canvas;
        if (pointed < 0 || settings.isStacked || shown.lines.length < 2) {
            veil.hidden = true;
            return;
        }
        veil.hidden = false;
        if (veil.width !== canvas.width || veil.height !== canvas.height) {
            veil.width = canvas.width;
            veil.height = canvas.height;
        } else ctx.clearRect(0, 0, veil.width, veil.height);
        const ratio = devicePixelRatio || 1;
        const {left, top, width: w, height: tall} = u.bbox;
        const {card} = theme();
        const prepared = shown.lines[pointed];
        const y = prepared.smoothed || prepared.y;
        ctx.save();
        ctx.beginPath();
        ctx.rect(left, top, w, tall);
        ctx.clip();
        ctx.fillStyle = faded(card, 0.55);
        ctx.fillRect(left, top, w, tall);
        ctx.beginPath();
        let isDown = false;
        for (let i = 0; i < y.length; i++) {
            if (y[i] === null) isDown = false;
            if (y[i] === null || y[i] === undefined) continue;
            const px = u.valToPos(shown.x[i], "x", true);
            const py = u.valToPos(y[i], "y", true);
            isDown ? ctx.lineTo(px, py) : ctx.moveTo(px, py);
            isDown = true;
        }
        ctx.lineJoin = ctx.lineCap = "round";
        ctx.setLineDash((dashOf(prepared.line) || []).map((part) => part * ratio));
        ctx.strokeStyle = card;
        ctx.lineWidth = 6 * ratio;
        ctx.stroke();
        ctx.strokeStyle = colourOf(prepared.line);
        ctx.lineWidth = 2.5 * ratio;
        ctx.stroke();
        ctx.restore();
    }

    function point(i) {
        pointed = i;
        if (u) drawVeil();
        const keysShown = legend.querySelectorAll(".chart-key");
        keysShown.forEach((one, at) => one.classList.toggle("on", at === i));
    }

    function tellPointed(i) {
        point(i);
        settings.onPoint?.(i < 0 ? null : shown.lines[i].line);
    }

    // ---- the cursor ----

    function nearest(i, top) {
        let best = -1;
        let least = NEAR_PX;
        shown.lines.forEach((prepared, at) => {
            if (hidden.has(keyOf(prepared.line))) return;
            const value = valueAt(shown.x, prepared.smoothed || prepared.y, i);
            if (value === undefined) return;
            const apart = Math.abs(u.valToPos(value, "y") - top);
            if (apart < least) [best, least] = [at, apart];
        });
        return best;
    }

    const readable = (prepared, i) => {
        const y = prepared.own || prepared.y;
        const value = valueAt(shown.x, y, i);
        return value === undefined ? "" : settings.format(value);
    };

    function legendValues(i) {
        legend.querySelectorAll(".chart-key").forEach((one, at) => {
            const prepared = shown.lines[at];
            one.lastChild.textContent = i === null ? (prepared.count ? settings.format(lastOf(prepared)) : "") : readable(prepared, i);
        });
    }
    const lastOf = (prepared) => {
        const y = prepared.own || prepared.y;
        for (let i = y.length - 1; i >= 0; i--) if (y[i] !== undefined && y[i] !== null) return y[i];
        return undefined;
    };

    function drawValues(i) {
        if (!shown) return;
        legendValues(i);
        const main = shown.lines.find((one) => !one.line.archived && one.count);
        if (!main || shown.lines.filter((one) => !one.line.archived).length > 1) return fill(now);
        const at = i === null ? -1 : ownIndex(main.y, i);
        fill(now, settings.format(at < 0 ? lastOf(main) : main.y[at]));
    }

    function drawTip(i) {
        const isOn = (isHere || isPinned) && i !== null;
        tip.hidden = !isOn || !shown.lines.length;
        if (tip.hidden) return;
        const chosen = pointed >= 0 ? [shown.lines[pointed]] : shown.lines.length <= 6 ? shown.lines : [];
        fill(tip, h("div", {class: "dim num"}, xText(shown.x[i])), chosen.map((prepared) => {
            const text = readable(prepared, i);
            const smoothed = prepared.smoothed && valueAt(shown.x, prepared.smoothed, i);
            return text && h("div", {class: "chart-tip-line"}, swatch(prepared.line), shown.lines.length > 1 && labelOf(prepared.line), h("b", {class: "num"}, text),
                smoothed !== undefined && prepared.smoothed && h("span", {class: "dim num"}, `smoothed ${settings.format(smoothed)}`));
        }), !chosen.length && h("div", plural(shown.lines.length, "line")));
        const offset = u.bbox.left / (devicePixelRatio || 1);
        const left = offset + u.cursor.left;
        const isRight = left > plot.clientWidth / 2;
        tip.style.left = isRight ? "auto" : `${left + 14}px`;
        tip.style.right = isRight ? `${plot.clientWidth - left + 14}px` : "auto";
        tip.style.top = `${Math.max(4, Math.min(u.cursor.top - 10, settings.height - tip.offsetHeight - 30))}px`;
    }

    function cursorMoved(self) {
        if (!shown || self !== u) return;
        const {idx, left, top} = self.cursor;
        const i = left < 0 || idx === null || idx === undefined ? null : idx;
        if (i === null) {
            if (!isPinned && pointed >= 0) tellPointed(-1);
        } else if (isHere && !isPinned) {
            const next = nearest(i, top);
            if (next !== pointed) tellPointed(next);
        }
        drawValues(i);
        drawTip(i);
    }

    function leaveCursor() {
        isPinned = false;
        tip.hidden = true;
        u?.setCursor({left: -10, top: -10}, true, true);
        tellPointed(-1);
    }

    // ---- zoom ----

    function chooseRange(next) {
        if (next && !(next[1] > next[0])) return;
        handle.zoom(next);
        settings.onRange?.(next);
    }

    function rangeSelected(self) {
        const {left, width: wide} = self.select;
        if (wide < 4) return;
        const next = [self.posToVal(left, "x"), self.posToVal(left + wide, "x")];
        self.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
        chooseRange(next);
    }

    function zoomBy(factor) {
        const {min, max} = u.scales.x;
        const at = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : (min + max) / 2;
        chooseRange([at - (at - min) * factor, at + (max - at) * factor]);
    }

    // ---- keys ----

    function moveBy(step) {
        const main = shown.lines[pointed] || shown.lines.find((one) => one.count && !hidden.has(keyOf(one.line)));
        if (!main) return;
        const y = main.smoothed || main.y;
        const has = (k) => y[k] !== undefined && y[k] !== null;
        const {min, max} = u.scales.x;
        const isIn = (k) => shown.x[k] >= min && shown.x[k] <= max;
        let i = isPinned && u.cursor.idx !== null ? u.cursor.idx : step > 0 ? -1 : shown.x.length;
        const way = Math.sign(step);
        for (let left = Math.abs(step); left > 0; left--) {
            let k = i + way;
            while (k >= 0 && k < y.length && !(has(k) && isIn(k))) k += way;
            if (k < 0 || k >= y.length) break;
            i = k;
        }
        if (i < 0 || i >= y.length) return;
        isPinned = true;
        u.setCursor({left: u.valToPos(shown.x[i], "x"), top: u.valToPos(y[i], "y")}, true, true);
        announceAt(i);
    }

    function announceAt(i) {
        const list = pointed >= 0 ? [shown.lines[pointed]] : shown.lines.filter((one) => !hidden.has(keyOf(one.line))).slice(0, 5);
        announce(`${xText(shown.x[i])}: ${list.map((one) => `${shown.lines.length > 1 ? labelOf(one.line) + " " : ""}${readable(one, i) || "no value"}`).join(", ")}`);
    }

    function choose(step) {
        if (shown.lines.length < 2) return;
        isPinned = true;
        point((pointed + step + shown.lines.length) % shown.lines.length);
        if (u.cursor.idx !== null && u.cursor.left >= 0) announceAt(u.cursor.idx);
        else announce(labelOf(shown.lines[pointed].line));
        drawTip(u.cursor.left >= 0 ? u.cursor.idx : null);
    }

    function keys(event) {
        if (!u || event.ctrlKey || event.metaKey || event.altKey) return;
        const acts = {
            ArrowRight: () => moveBy(1), ArrowLeft: () => moveBy(-1), PageDown: () => moveBy(10), PageUp: () => moveBy(-10),
            End: () => moveBy(1e9), Home: () => moveBy(-1e9), ArrowDown: () => choose(1), ArrowUp: () => choose(-1),
            "+": () => zoomBy(0.5), "-": () => range && zoomBy(2), Escape: () => range ? chooseRange(null) : leaveCursor(),
            Enter: () => pointed >= 0 && settings.onPick?.(shown.lines[pointed].line),
        };
        const act = acts[event.key];
        if (!act) return;
        event.preventDefault();
        act();
    }

    // ---- table, CSV and PNG ----

    const plainLines = () => data.lines.map((line) => ({label: labelOf(line), y: line.y}));
    const xs = () => settings.xOf ? data.x.map(settings.xOf) : data.x;

    function asTable() {
        if (!data) return;
        const lines = plainLines().slice(0, 20);
        const x = xs();
        const count = Math.min(x.length, TABLE_ROWS);
        const cell = (value) => value === undefined || Number.isNaN(value) ? "" : settings.format(value);
        const rows = Array.from({length: count}, (_, i) => h("tr", h("th", {scope: "row", class: "num"}, settings.isTime ? time(x[i] * 1000) : number(x[i])), lines.map(({y}) => h("td", {class: "num"}, cell(y[i])))));
        const isCut = x.length > count || data.lines.length > lines.length;
        return dialog(settings.title, () => [
            h("div", {class: "chart-as-table", tabindex: 0}, h("table", {class: "data"}, h("caption", {class: "hidden"}, settings.title),
                h("thead", h("tr", h("th", {scope: "col", class: "num"}, settings.isTime ? "time" : settings.xName), lines.map(({label}) => h("th", {scope: "col", class: "num"}, label)))), h("tbody", rows))),
            isCut && h("p", {class: "dim"}, `Showing the first ${number(count)} of ${plural(x.length, "row")} and ${number(lines.length)} of ${plural(data.lines.length, "line")}. Save as CSV to get all of them.`),
            !data.isExact && h("p", {class: "dim"}, "Downsampled to the width of the screen: each interval shows its smallest and its largest value. Zoom in to see every report."),
            h("footer", button("Save as CSV", saveCsv, {icon: "download"})),
        ], {wide: true});
    }

    function saveCsv() {
        if (data) saveAs(fileName(settings.title, "csv"), new Blob([csv(settings.xName, xs(), plainLines())], {type: "text/csv"}));
    }

    function savePng() {
        if (!u) return;
        const ratio = devicePixelRatio || 1;
        const source = u.ctx.canvas;
        const head = 30 * ratio;
        const list = shown.lines.length > 1 ? shown.lines.slice(0, MANY) : [];
        const canvas = h("canvas", {width: source.width, height: source.height + head + (list.length ? 24 * ratio : 0)});
        const ctx = canvas.getContext("2d");
        const {card, text, dim} = theme();
        ctx.fillStyle = card;
        ctx.fillRect(0, 0, canvas.width, canvas.height);
        ctx.fillStyle = text;
        ctx.font = `600 ${14 * ratio}px sans-serif`;
        ctx.fillText(settings.title, 10 * ratio, 20 * ratio);
        ctx.drawImage(source, 0, head);
        ctx.font = `${11 * ratio}px sans-serif`;
        let at = 10 * ratio;
        for (const {line} of list) {
            ctx.fillStyle = colourOf(line);
            ctx.fillRect(at, canvas.height - 15 * ratio, 12 * ratio, 3 * ratio);
            ctx.fillStyle = dim;
            ctx.fillText(labelOf(line), at + 16 * ratio, canvas.height - 9 * ratio);
            at += 30 * ratio + ctx.measureText(labelOf(line)).width;
        }
        canvas.toBlob((blob) => blob ? saveAs(fileName(settings.title, "png"), blob) : toast("The image could not be created.", "bad"));
    }

    // ---- the handle ----

    const fit = new ResizeObserver(() => {
        if (!u || Math.abs(u.width - width()) < 1) return;
        u.setSize({width: width(), height: tall()});
        point(pointed);
    });
    fit.observe(plot);

    const handle = {
        node: figure,
        update(next) {
            data = next;
            draw();
        },
        set(changes) {
            settings = {...settings, ...changes};
            if (changes.title !== undefined) fill(title, settings.title);
            if (changes.height !== undefined) plot.style.height = `${tall()}px`;
            if ("xOf" in changes || "xName" in changes || "title" in changes || "format" in changes) signature = "";
            settings.onSet?.(changes);
            draw();
        },
        hide(keys) {
            hidden.clear();
            for (const key of keys) hidden.add(key);
            draw();
        },
        point: (key) => shown && point(key === null ? -1 : shown.lines.findIndex((one) => keyOf(one.line) === key && !hidden.has(key))),
        // Shows an error below the chart until new data arrives.
        fail(text) {
            note.hidden = false;
            fill(note, icon("warn"), " ", text);
        },
        zoom(next) {
            range = next;
            reset.hidden = !range;
            if (!u) return;
            u.setCursor({left: -10, top: -10}, true, true);
            if (range) u.setScale("x", {min: range[0], max: range[1]});
            else draw();
        },
        repaint() {
            if (!u) return;
            signature = "";
            draw();
        },
        data: () => data,
        settings: () => settings,
        asTable, saveCsv, savePng,
        // For tests: the state of uPlot.
        drawn: () => u && {lines: u.series.length - 1, x: u.scales.x, y: u.scales.y, xLabels: u.axes[0]._values, labels: u.axes[1]._show && u.axes[1]._values, cursor: u.cursor, pointed, hidden: [...hidden]},
        destroy() {
            isGone = true;
            charts.delete(handle);
            fit.disconnect();
            announce.cancel();
            u?.destroy();
            figure.remove();
        },
    };
    charts.add(handle);
    figure.chart = handle;
    loadLibrary().then((found) => {
        uPlot = found;
        draw();
    }, () => isGone || fill(plot, h("p", {class: "chart-empty dim"}, "The charting library could not be loaded.")));
    return handle;
}
